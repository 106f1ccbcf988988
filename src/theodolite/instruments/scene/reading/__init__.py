"""Reads what a model gave: scene graphs from its text, and all answers of a stored run."""
