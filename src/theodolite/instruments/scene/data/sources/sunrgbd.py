"""SUN RGB-D in the text format of detectors: ``image``, ``calib`` and ``label_v1`` side by side, one file per picture.

``calib`` has two lines of nine numbers, column by column: Rtilt, which turns the depth camera upright, and K. A label is a
class, a 2D box (corner and size), the middle of the 3D box, its three *half* sides (across, along the heading, up), and the
heading as a vector; all in the upright depth frame: x right, y forward, z up. Back to the camera:
x_depth = Rtiltᵀ x_upright, x_cam = (x, −z, y) of x_depth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import Candidate, View
from theodolite.instruments.scene.data.sources.views import SourceView, numbers, read_lines, up_in

CAM_FROM_DEPTH = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
_FIELDS = 13


def sunrgbd_views(root: str | Path) -> Iterator[SourceView]:
    """The labelled pictures of a folder such as ``sunrgbd_trainval``."""
    from PIL import Image

    root = Path(root)
    labels = sorted((root / "label_v1").glob("*.txt")) or sorted((root / "label").glob("*.txt"))
    if not labels:
        raise UsageError(
            f"{root} has no label_v1/*.txt; name the folder that holds image, calib and label_v1"
        )
    for label in labels:
        picture = root / "image" / f"{label.stem}.jpg"
        try:
            with Image.open(picture) as opened:
                size = opened.size
        except OSError as error:
            raise UsageError(f"cannot read the picture {picture}: {error}") from error
        lines = read_lines(root / "calib" / label.name)
        if len(lines) < 2:
            raise UsageError(f"{root / 'calib' / label.name}: expected two lines, Rtilt and K")
        tilt, intrinsic = (
            numbers(line.split(), f"{root / 'calib' / label.name}").reshape(3, 3, order="F")
            for line in lines[:2]
        )
        cam_SE3_upright = SE3.from_matrix(np.column_stack([CAM_FROM_DEPTH @ tilt.T, np.zeros(3)]))
        camera = PinholeCamera.from_matrix(intrinsic, size)
        candidates, skipped = _objects(label, cam_SE3_upright)
        view = View(f"sunrgbd-{label.stem}", "indoor", camera, up_in(cam_SE3_upright), source="sunrgbd")
        yield SourceView(view, tuple(candidates), picture, skipped)


def _objects(path: Path, cam_SE3_upright: SE3) -> tuple[list[Candidate], Counter[str]]:
    candidates: list[Candidate] = []
    skipped: Counter[str] = Counter()
    for place, line in enumerate(read_lines(path)):
        words = line.split()
        where = f"{path}, line {place + 1}"
        if len(words) < _FIELDS:
            raise UsageError(f"{where}: expected {_FIELDS} fields, got {len(words)}")
        values = numbers(words[1:_FIELDS], where)
        middle, (across, along, up), heading = values[4:7], values[7:10], values[10:12]
        if min(across, along, up) <= 0 or not heading.any():
            skipped["without extent or heading"] += 1
            continue
        angle = np.arctan2(heading[1], heading[0])
        c, s = np.cos(angle), np.sin(angle)
        upright = SE3(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), middle)
        cuboid = Cuboid(upright, 2 * float(along), 2 * float(across), 2 * float(up)).seen_from(
            cam_SE3_upright
        )
        candidates.append(Candidate(words[0], cuboid, key=f"{path.stem}-{place}"))
    return candidates, skipped
