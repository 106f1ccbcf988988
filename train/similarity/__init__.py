"""Training of the small CLIP with which ``trace`` compares sentences and frames."""
