"""Scenes for tests: boxes strewn at random, indoors or outdoors. Nothing of the world maker is in here."""

import numpy as np

from theodolite.geometry import Box, PinholeCamera
from theodolite.worlds.scene_graph import SceneGraph, SceneObject

CAMERA = PinholeCamera.from_field_of_view(70, (800, 600))


def strewn_scene(name, domain, n_objects, seed, **more):
    """A level camera; sizes and spacings of a room of 4 m or a street of 40 m."""
    rng = np.random.default_rng(seed)
    far = 4 if domain == "indoor" else 40
    things = []
    for mark in range(1, n_objects + 1):
        centre = (rng.uniform(-far / 2, far / 2), rng.uniform(-0.5, 1.0), rng.uniform(1, far))
        width, length = sorted(rng.uniform(0.3, 2, 2))
        corner = rng.uniform(0, 500, 2)
        box = Box(*corner, *(corner + rng.uniform(40, 90, 2)))
        things.append(
            SceneObject(mark, "crate", centre, (1.0, 0, 0, 0), length, width, rng.uniform(0.3, 2), box)
        )
    return SceneGraph(name, domain, tuple(things), CAMERA, (0.0, -1.0, 0.0), **more)


def strewn_scenes(n, seed=0):
    """Half indoors, half outdoors, with 2 to 12 objects."""
    rng = np.random.default_rng(seed)
    return [
        strewn_scene(f"s{i:03d}", ("indoor", "outdoor")[i % 2], int(rng.integers(2, 13)), [seed, i])
        for i in range(n)
    ]
