"""What made the shipped weights. Not part of the wheel."""
