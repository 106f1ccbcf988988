"""The published numbers of the compass instrument, one module each."""
