"""The experiments of the GridVQA-X paper, one module each, and the metrics they score."""
