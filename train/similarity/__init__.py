"""The small CLIP that ``trace`` compares sentences with frames by."""
