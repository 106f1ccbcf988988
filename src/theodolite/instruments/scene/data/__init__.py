"""Scenes and questions: make, build from public data, read, write."""
