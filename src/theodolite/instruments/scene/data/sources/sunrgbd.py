"""SUN RGB-D in the text format of detectors: ``image``, ``calib`` and ``label_v1`` side by side, one file per picture.

``calib`` has two lines of nine numbers, column by column: Rtilt, which turns the depth camera upright, and K. A label is a
class, a 2D box (corner and size), the middle of the 3D box, its three *half* sides (across, along the heading, up), and the
heading as a vector; all in the upright depth frame: x right, y forward, z up. Back to the camera:
x_depth = Rtiltᵀ x_upright, x_cam = (x, −z, y) of x_depth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import read_each
from theodolite.core.pictures import stored_size
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import Candidate, View
from theodolite.instruments.scene.data.sources.views import (
    Found,
    SourceView,
    numbers,
    read_view,
    text_lines,
    up_in,
)

CAM_FROM_DEPTH = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
_FIELDS = 13


def sunrgbd_views(root: str | Path) -> Iterator[Found]:
    """The labelled pictures of a folder such as ``sunrgbd_trainval``."""
    root = Path(root)
    labels = sorted((root / "label_v1").glob("*.txt")) or sorted((root / "label").glob("*.txt"))
    if not labels:
        raise UsageError(
            f"{root} has no label_v1/*.txt; name the folder that holds image, calib and label_v1"
        )
    for label in labels:
        yield from read_view(f"{label.parent.name}/{label.name}", partial(_view, root, label))


def _view(root: Path, label: Path) -> Iterator[Found]:
    picture = root / "image" / f"{label.stem}.jpg"
    size = stored_size(picture)
    tilt, intrinsic = _calibration(root / "calib" / label.name)
    cam_SE3_upright = SE3.from_matrix(np.column_stack([CAM_FROM_DEPTH @ tilt.T, np.zeros(3)]))
    camera = PinholeCamera.from_matrix(intrinsic, size)
    lines = [
        (where, (f"{label.stem}-{place}", line.split()))
        for place, (where, line) in enumerate(text_lines(label))
    ]
    found, problems = read_each(lines, lambda line: _object(*line, cam_SE3_upright))
    candidates = tuple(read for _, read in found if read is not None)
    skipped = Counter({"without extent or heading": len(found) - len(candidates)})
    view = View(f"sunrgbd-{label.stem}", "indoor", camera, up_in(cam_SE3_upright), source="sunrgbd")
    yield from problems
    yield SourceView(view, candidates, picture, +skipped)


def _calibration(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rtilt and K."""
    lines = text_lines(path)
    if len(lines) < 2:
        raise UsageError(f"{path}: expected two lines, Rtilt and K")
    try:
        tilt, intrinsic = (numbers(line.split(), 9).reshape(3, 3, order="F") for _, line in lines[:2])
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return tilt, intrinsic


def _object(key: str, words: list[str], cam_SE3_upright: SE3) -> Candidate | None:
    """The object of a line; None if it has no extent or no heading."""
    if len(words) < _FIELDS:
        raise UsageError(f"expected {_FIELDS} fields, got {len(words)}")
    values = numbers(words[1:_FIELDS], _FIELDS - 1)
    middle, (across, along, up), heading = values[4:7], values[7:10], values[10:12]
    if min(across, along, up) <= 0 or not heading.any():
        return None
    angle = np.arctan2(heading[1], heading[0])
    c, s = np.cos(angle), np.sin(angle)
    upright = SE3(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), middle)
    cuboid = Cuboid(upright, 2 * float(along), 2 * float(across), 2 * float(up))
    return Candidate(words[0], cuboid.seen_from(cam_SE3_upright), key=key)
