"""Worlds whose truth is known exactly, drawn with numpy and Pillow alone."""
