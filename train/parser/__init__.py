"""The small English parser of ``trace``."""
