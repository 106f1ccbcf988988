"""Benchmarks: ``make bench`` runs all, ``python -m bench store`` runs one. Each prints its results and their limits."""
