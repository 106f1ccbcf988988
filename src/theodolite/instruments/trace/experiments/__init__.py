"""The experiments of the step-grounding paper, one module each."""
