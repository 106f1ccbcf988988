"""Scenes on a grid with known truth: generate, read, write, audit."""
