"""Edits of photographs."""
