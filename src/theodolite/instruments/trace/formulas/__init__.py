"""The published numbers of the trace instrument, one module each."""
