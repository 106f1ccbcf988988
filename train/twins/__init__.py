"""Training of the twins. Imports torch."""
