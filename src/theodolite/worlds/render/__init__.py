"""The renderer of rooms and streets: parts, depth, light, texture."""
