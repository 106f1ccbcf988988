"""The experiments of the CREG paper, one module each."""
