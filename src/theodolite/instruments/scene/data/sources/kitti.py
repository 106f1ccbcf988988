"""KITTI's object benchmark, and SUN RGB-D in the text format of detectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import read_each
from theodolite.core.pictures import stored_size
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import (
    Candidate,
    Found,
    SourceView,
    View,
    numbers,
    read_view,
    text_lines,
    up_in,
    yawed_about_down,
)

# KITTI's object benchmark: ``image_2``, ``label_2`` and ``calib`` side by side, one file per picture.
#
# A label's (x, y, z) is the middle of the box's *underside* in the frame of rectified camera 0. The picture is from camera 2,
# whose projection P2 = K [I | t] is shifted by t = K⁻¹ P2[:, 3]; the fourth column is small, but not zero.


CAMERA_HEIGHT_M = 1.65
"""Of the cameras above the road, from KITTI's description of the car."""
VISIBILITY: Mapping[int, float | None] = {0: 1.0, 1: 0.5, 2: 0.25, 3: None}
"""Nominal: fully visible, partly and largely hidden (neither passes a limit of 0.8), unknown."""
_FIELDS = 15


def kitti_views(root: str | Path) -> Iterator[Found]:
    """Yield the labelled pictures of a folder such as ``training``."""
    root = Path(root)
    labels = sorted((root / "label_2").glob("*.txt"))
    if not labels:
        raise UsageError(
            f"{root} has no label_2/*.txt; name the folder that holds image_2, label_2 and calib"
        )
    for label in labels:
        yield from read_view(f"label_2/{label.name}", partial(_view, root, label))


def _view(root: Path, label: Path) -> Iterator[Found]:
    pictures = [
        path for end in ("png", "jpg") if (path := root / "image_2" / f"{label.stem}.{end}").is_file()
    ]
    if not pictures:
        raise UsageError(f"{root / 'image_2'} has no picture {label.stem}.png")
    camera, shift = _calibration(root / "calib" / label.name, stored_size(pictures[0]))
    skipped: Counter[str] = Counter()
    lines = [
        (where, (f"{label.stem}-{number}", line.split()))
        for number, (where, line) in enumerate(text_lines(label))
    ]
    things = [(where, line) for where, line in lines if line[1][0] != "DontCare"]
    skipped["DontCare regions"] = len(lines) - len(things)
    objects, problems = read_each(things, lambda line: _object(*line, shift))
    candidates = tuple(read for _, read in objects if read is not None)
    skipped["without extent"] = len(objects) - len(candidates)
    view = View(
        f"kitti-{label.stem}",
        "outdoor",
        camera,
        (0.0, -1.0, 0.0),
        camera_height_m=CAMERA_HEIGHT_M,
        source="kitti",
    )
    yield from problems
    yield SourceView(view, candidates, pictures[0], +skipped)


def _calibration(path: Path, size: tuple[int, int]) -> tuple[PinholeCamera, np.ndarray]:
    rows = dict(line.split(":", 1) for _, line in text_lines(path) if ":" in line)
    if "P2" not in rows:
        raise UsageError(f"{path} has no line P2")
    try:
        matrix = numbers(rows["P2"].split(), 12).reshape(3, 4)
        return PinholeCamera.from_matrix(matrix[:, :3], size), np.linalg.solve(matrix[:, :3], matrix[:, 3])
    except (UsageError, np.linalg.LinAlgError) as error:
        raise UsageError(f"{path}, P2: {error}") from None


def _object(key: str, words: list[str], shift: np.ndarray) -> Candidate | None:
    """Return the object of a line; None if it has no extent."""
    if len(words) < _FIELDS:
        raise UsageError(f"expected {_FIELDS} fields, got {len(words)}")
    values = numbers(words[1:_FIELDS], _FIELDS - 1)
    height, width, length, x, y, z, yaw = values[7:14]
    if min(height, width, length) <= 0:
        return None
    middle = np.array([x, y - height / 2, z]) + shift
    cuboid = Cuboid(SE3(yawed_about_down(float(yaw)), middle), float(length), float(width), float(height))
    return Candidate(words[0], cuboid, VISIBILITY.get(int(values[1])), key=key)


# SUN RGB-D in the text format of detectors: ``image``, ``calib`` and ``label_v1`` side by side, one file per picture.
#
# ``calib`` has two lines of nine numbers, column by column: Rtilt, which turns the depth camera upright, and K. A label is a
# class, a 2D box (corner and size), the middle of the 3D box, its three *half* sides (across, along the heading, up), and the
# heading as a vector; all in the upright depth frame: x right, y forward, z up. Back to the camera:
# x_depth = Rtiltᵀ x_upright, x_cam = (x, −z, y) of x_depth.


CAM_FROM_DEPTH = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
_SUN_FIELDS = 13


def sunrgbd_views(root: str | Path) -> Iterator[Found]:
    """Yield the labelled pictures of a folder such as ``sunrgbd_trainval``."""
    root = Path(root)
    labels = sorted((root / "label_v1").glob("*.txt")) or sorted((root / "label").glob("*.txt"))
    if not labels:
        raise UsageError(
            f"{root} has no label_v1/*.txt; name the folder that holds image, calib and label_v1"
        )
    for label in labels:
        yield from read_view(f"{label.parent.name}/{label.name}", partial(_sun_view, root, label))


def _sun_view(root: Path, label: Path) -> Iterator[Found]:
    picture = root / "image" / f"{label.stem}.jpg"
    size = stored_size(picture)
    tilt, intrinsic = _sun_calibration(root / "calib" / label.name)
    cam_SE3_upright = SE3.from_matrix(np.column_stack([CAM_FROM_DEPTH @ tilt.T, np.zeros(3)]))
    camera = PinholeCamera.from_matrix(intrinsic, size)
    lines = [
        (where, (f"{label.stem}-{number}", line.split()))
        for number, (where, line) in enumerate(text_lines(label))
    ]
    objects, problems = read_each(lines, lambda line: _sun_object(*line, cam_SE3_upright))
    candidates = tuple(read for _, read in objects if read is not None)
    skipped = Counter({"without extent or heading": len(objects) - len(candidates)})
    view = View(f"sunrgbd-{label.stem}", "indoor", camera, up_in(cam_SE3_upright), source="sunrgbd")
    yield from problems
    yield SourceView(view, candidates, picture, +skipped)


def _sun_calibration(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read Rtilt and K."""
    lines = text_lines(path)
    if len(lines) < 2:
        raise UsageError(f"{path}: expected two lines, Rtilt and K")
    try:
        tilt, intrinsic = (numbers(line.split(), 9).reshape(3, 3, order="F") for _, line in lines[:2])
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return tilt, intrinsic


def _sun_object(key: str, words: list[str], cam_SE3_upright: SE3) -> Candidate | None:
    """Return the object of a line; None if it has no extent or no heading."""
    if len(words) < _SUN_FIELDS:
        raise UsageError(f"expected {_SUN_FIELDS} fields, got {len(words)}")
    values = numbers(words[1:_SUN_FIELDS], _SUN_FIELDS - 1)
    middle, (across, along, up), heading = values[4:7], values[7:10], values[10:12]
    if min(across, along, up) <= 0 or not heading.any():
        return None
    angle = np.arctan2(heading[1], heading[0])
    c, s = np.cos(angle), np.sin(angle)
    upright = SE3(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), middle)
    cuboid = Cuboid(upright, 2 * float(along), 2 * float(across), 2 * float(up))
    return Candidate(words[0], cuboid.seen_from(cam_SE3_upright), key=key)
