"""Figures of the scene instrument."""
