"""The published numbers of the grid instrument, one module each."""
