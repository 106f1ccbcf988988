"""Figures of the compass instrument."""
