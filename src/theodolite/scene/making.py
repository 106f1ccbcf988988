"""The made world: scenes of rooms and streets, their pictures, and the marks on them. Needs numpy, SciPy and Pillow alone.

>>> made = make_scenes(1, 0, seed=4).scenes[0]
>>> made.graph.domain, len(made.graph.objects) >= 2
('indoor', True)
"""

from __future__ import annotations

from theodolite.scene._make import MadeScene, MadeScenes, Recipe, make_scenes, render_made, scene_of, world_of
from theodolite.scene._mark_drawing import draw_marks
from theodolite.scene._marks import PlacedMark, place_marks
from theodolite.scene._pipeline import Candidate, KeepOptions, View, build_graph
from theodolite.scene._render.shade import Light, Render, Solid, render
from theodolite.scene._world.room_shell import Room, room_shell
from theodolite.scene._world.things import CATALOGUE, INDOOR, OUTDOOR, Thing, World, look, thing_of

__all__ = [
    "CATALOGUE",
    "INDOOR",
    "OUTDOOR",
    "Candidate",
    "KeepOptions",
    "Light",
    "MadeScene",
    "MadeScenes",
    "PlacedMark",
    "Recipe",
    "Render",
    "Room",
    "Solid",
    "Thing",
    "View",
    "World",
    "build_graph",
    "draw_marks",
    "look",
    "make_scenes",
    "place_marks",
    "render",
    "render_made",
    "room_shell",
    "scene_of",
    "thing_of",
    "world_of",
]
