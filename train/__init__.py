"""Training of the shipped weights. Not part of the wheel."""
