"""Explainers of the grid: one game, many ways to share it out, and what their maps are worth."""
