"""The experiments of the CRISP paper, one module each."""
