"""The experiments of the GridVQA-X paper, one module each."""
