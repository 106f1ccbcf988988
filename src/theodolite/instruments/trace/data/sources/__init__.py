"""Readers of data sets that others made."""
