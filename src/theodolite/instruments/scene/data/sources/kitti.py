"""KITTI's object benchmark: ``image_2``, ``label_2`` and ``calib`` side by side, one file per picture.

A label's (x, y, z) is the middle of the box's *underside* in the frame of rectified camera 0. The picture is from camera 2,
whose projection P2 = K [I | t] is shifted by t = K⁻¹ P2[:, 3]; the fourth column is small, but not zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import Candidate, View
from theodolite.instruments.scene.data.sources.views import SourceView, numbers, read_lines, yawed_about_down

CAMERA_HEIGHT_M = 1.65
"""Of the cameras above the road, from KITTI's description of the car."""
VISIBILITY: Mapping[int, float | None] = {0: 1.0, 1: 0.5, 2: 0.25, 3: None}
"""Nominal: fully visible, partly and largely hidden (neither passes a limit of 0.8), unknown."""
_FIELDS = 15


def kitti_views(root: str | Path) -> Iterator[SourceView]:
    """The labelled pictures of a folder such as ``training``."""
    from PIL import Image

    root = Path(root)
    labels = sorted((root / "label_2").glob("*.txt"))
    if not labels:
        raise UsageError(
            f"{root} has no label_2/*.txt; name the folder that holds image_2, label_2 and calib"
        )
    for label in labels:
        pictures = [
            path for end in ("png", "jpg") if (path := root / "image_2" / f"{label.stem}.{end}").is_file()
        ]
        if not pictures:
            raise UsageError(f"{root / 'image_2'} has no picture {label.stem}.png")
        with Image.open(pictures[0]) as opened:
            size = opened.size
        camera, shift = _calibration(root / "calib" / label.name, size)
        candidates, skipped = _objects(label, shift)
        view = View(
            f"kitti-{label.stem}",
            "outdoor",
            camera,
            (0.0, -1.0, 0.0),
            camera_height_m=CAMERA_HEIGHT_M,
            source="kitti",
        )
        yield SourceView(view, tuple(candidates), pictures[0], skipped)


def _calibration(path: Path, size: tuple[int, int]) -> tuple[PinholeCamera, np.ndarray]:
    rows = dict(line.split(":", 1) for line in read_lines(path) if ":" in line)
    if "P2" not in rows:
        raise UsageError(f"{path} has no line P2")
    values = numbers(rows["P2"].split(), f"{path}, P2")
    if values.shape != (12,):
        raise UsageError(f"{path}, P2: expected 12 numbers, got {len(values)}")
    matrix = values.reshape(3, 4)
    return PinholeCamera.from_matrix(matrix[:, :3], size), np.linalg.solve(matrix[:, :3], matrix[:, 3])


def _objects(path: Path, shift: np.ndarray) -> tuple[list[Candidate], Counter[str]]:
    candidates: list[Candidate] = []
    skipped: Counter[str] = Counter()
    for place, line in enumerate(read_lines(path)):
        words = line.split()
        if words[0] == "DontCare":
            skipped["DontCare regions"] += 1
            continue
        where = f"{path}, line {place + 1}"
        if len(words) < _FIELDS:
            raise UsageError(f"{where}: expected {_FIELDS} fields, got {len(words)}")
        values = numbers(words[1:_FIELDS], where)
        height, width, length, x, y, z, yaw = values[7:14]
        if min(height, width, length) <= 0:
            skipped["without extent"] += 1
            continue
        middle = np.array([x, y - height / 2, z]) + shift
        cuboid = Cuboid(SE3(yawed_about_down(float(yaw)), middle), float(length), float(width), float(height))
        key = f"{path.stem}-{place}"
        candidates.append(Candidate(words[0], cuboid, VISIBILITY.get(int(values[1])), key=key))
    return candidates, skipped
