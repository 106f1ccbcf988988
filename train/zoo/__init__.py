"""Strangers: models of known reasoning in other architectures than the twins. Imports torch."""
