"""Compass: is attribution organised by the queried direction, or by image layout (CREG)?

Relevance on image tokens is projected around a reference object into a distribution over directions. Its peak is
compared with the true direction to the target. A uniform map already scores well on real pictures, so every number
stands beside the uniform map's.
"""
