"""Verifiers that look at the pictures: detectors, image-text similarity, tracks, ego-motion."""
