"""Training of the small English parser of ``trace``."""
