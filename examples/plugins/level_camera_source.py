"""An example data source: pictures of a level camera, each with a JSON file of the boxes in it.

``FOLDER/*.json`` with ``{"picture": "a.jpg", "focal_px": 800, "camera_height_m": 1.5, "boxes": [{"category": "chair",
"centre_m": [x, y, z], "size_lwh_m": [l, w, h], "yaw_deg": 30}, …]}``; x right, y down, z forward, yaw to the right from +z.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import check, inside, read_each, read_json, read_list
from theodolite.core.pictures import stored_size
from theodolite.core.views import Form, Name, Number
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import Candidate, Found, Place, SourceView, View, read_view


class BoxRow(Form):
    """A box of a file."""

    category: Name
    centre_m: Place
    size_lwh_m: Place
    yaw_deg: Number


class ShotRow(Form):
    """A file."""

    picture: Name
    focal_px: Number
    camera_height_m: Number
    boxes: list[Any]


def level_camera_views(root: Path) -> Iterator[Found]:
    """Yield all objects of each picture, and what is broken. The pipeline then selects objects and counts the rest."""
    files = sorted(Path(root).glob("*.json"))
    if not files:
        raise UsageError(f"{root} contains no *.json; pass the folder with the pictures and their boxes")
    for file in files:
        yield from read_view(file.name, partial(_view, file))


def _view(file: Path) -> Iterator[Found]:
    row = check(ShotRow, read_json(file))
    picture = inside(file.parent, row.picture, "picture")
    width, height = stored_size(picture)
    camera = PinholeCamera(row.focal_px, row.focal_px, width / 2, height / 2, width, height)
    up = (0.0, -1.0, 0.0)
    view = View(f"level-{file.stem}", "indoor", camera, up, row.camera_height_m, "level-camera")
    rows, problems = read_list(row.boxes, f"{file.name}, boxes", BoxRow)
    boxes, wrong = read_each(rows, _candidate)
    yield from (*problems, *wrong)
    yield SourceView(view, tuple(box for _, box in boxes), picture)


def _candidate(row: BoxRow) -> Candidate:
    yaw = np.deg2rad(row.yaw_deg)
    ahead, up = np.array([np.sin(yaw), 0.0, np.cos(yaw)]), np.array([0.0, -1.0, 0.0])
    axes = np.stack([ahead, np.cross(up, ahead), up], axis=1)  # x along its length, y to its left, z up
    return Candidate(row.category, Cuboid(SE3(axes, np.array(row.centre_m)), *row.size_lwh_m))


def register(add: Any) -> None:
    """Register the source for `theodolite scene import --format level-camera --data FOLDER`."""
    add("source", "scene-level-camera", f"{__name__}:level_camera_views", summary="a level camera with boxes")
