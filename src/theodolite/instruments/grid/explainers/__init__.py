"""Explainers: the cooperative game, its indices, and one module per method."""
