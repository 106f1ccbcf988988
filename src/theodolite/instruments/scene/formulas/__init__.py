"""The published numbers of the scene instrument, one module each."""
