"""An example data source: pictures of a level camera, each with a JSON file of the boxes in it.

``FOLDER/*.json`` with ``{"picture": "a.jpg", "focal_px": 800, "camera_height_m": 1.5, "boxes": [{"category": "chair",
"centre_m": [x, y, z], "size_lwh_m": [l, w, h], "yaw_deg": 30}, …]}``; x right, y down, z forward, yaw to the right from +z.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import Candidate, View
from theodolite.instruments.scene.data.sources.views import SourceView


def level_camera_views(root: Path) -> Iterator[SourceView]:
    """Yield all objects of each picture. The pipeline then selects objects and counts the rest."""
    from PIL import Image

    files = sorted(Path(root).glob("*.json"))
    if not files:
        raise UsageError(f"{root} contains no *.json; pass the folder with the pictures and their boxes")
    for file in files:
        row = json.loads(file.read_text(encoding="utf-8"))
        picture = file.parent / row["picture"]
        with Image.open(picture) as opened:
            width, height = opened.size
        camera = PinholeCamera(row["focal_px"], row["focal_px"], width / 2, height / 2, width, height)
        view = View(
            f"level-{file.stem}",
            "indoor",
            camera,
            up_cam=(0.0, -1.0, 0.0),
            camera_height_m=row["camera_height_m"],
            source="level-camera",
        )
        yield SourceView(view, tuple(_candidate(box) for box in row["boxes"]), picture)


def _candidate(row: dict[str, Any]) -> Candidate:
    yaw = np.deg2rad(row["yaw_deg"])
    ahead = np.array([np.sin(yaw), 0.0, np.cos(yaw)])
    up = np.array([0.0, -1.0, 0.0])
    axes = np.stack(
        [ahead, np.cross(up, ahead), up], axis=1
    )  # box frame: x along its length, y to its left, z up
    return Candidate(row["category"], Cuboid(SE3(axes, np.array(row["centre_m"])), *row["size_lwh_m"]))


def register(add: Any) -> None:
    """Register the source for `theodolite scene build --source level-camera --data FOLDER`."""
    add("source", "scene-level-camera", f"{__name__}:level_camera_views", summary="a level camera with boxes")
