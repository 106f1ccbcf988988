"""Figures of the grid instrument."""
