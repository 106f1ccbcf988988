"""ScanNet++: DSLR pictures with nerfstudio poses, and oriented boxes of segmented objects.

The poses in ``transforms_undistorted.json`` are camera-to-world in OpenGL's axes (y up, z backward), and ScanNet++ stores them
with two world axes swapped and one inverted. This is undone by negating row 2, swapping rows 0 and 1, then negating the
camera's y and z. A box's height is along the axis nearest to the world's vertical, in whichever position it is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import check, inside, read_bytes, read_each, read_json, read_list
from theodolite.core.pictures import stored_size
from theodolite.core.views import Form, Name, Whole
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import (
    FARTHEST_M,
    Candidate,
    Found,
    Matrix,
    Metres,
    Place,
    SourceView,
    View,
    read_view,
    thumbnail_size,
    up_in,
)

BUILDING = frozenset(
    {"wall", "floor", "ceiling", "remove", "split", "door frame", "window frame", "beam", "pillar"}
)
"""Labels of parts of the building, and of no object at all."""
_WIDTH_PX = 240
_SPLAT_M = 0.03
"""Half the side of the square that a vertex covers: scans have one about every 5 cm."""
_MOST_REACH_PX = 8
_SLACK = 0.05, 0.02
"""A surface is visible if nothing is nearer by more than 5 cm plus 2 % of its depth."""

_PLY_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4", "double": "f8",
    "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8",
}  # fmt: skip
F = TypeVar("F", bound=Form)
_PLY_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """The vertices of a scan, and the object of each (−1 for none)."""

    points_world: NDArray[np.float64]
    object_ids: NDArray[np.int64]


def scannetpp_views(root: str | Path, *, every: int = 1) -> Iterator[Found]:
    """Yield the pictures of one scene folder, or of all scene folders in a folder.

    Args:
        root: A scene (with ``dslr/`` and ``scans/``), or a folder of scenes.
        every: Take every n-th picture.
    """
    root = Path(root)
    scenes = [root] if (root / "scans").is_dir() else sorted(p.parent for p in root.glob("*/scans"))
    if not scenes:
        raise UsageError(f"{root} holds no ScanNet++ scene: no folder with scans/ and dslr/")
    for scene in scenes:
        yield from read_view(scene.name, partial(_scene_views, scene, every))


class _Frame(Form):
    file_path: Name
    transform_matrix: Matrix
    is_bad: bool | None = None


class _Transforms(Form):
    fl_x: Metres
    fl_y: Metres
    cx: Metres
    cy: Metres
    w: Whole
    h: Whole
    frames: list[Any]


class _Obb(Form):
    centroid: Place
    axesLengths: Place  # noqa: N815 - as the file names it
    normalizedAxes: Annotated[list[Metres], Field(min_length=9, max_length=9)]  # noqa: N815


class _Group(Form):
    label: str
    objectId: Whole  # noqa: N815
    segments: list[Whole]
    obb: _Obb


class _Groups(Form):
    segGroups: list[Any]  # noqa: N815


class _Segments(Form):
    segIndices: list[Whole]  # noqa: N815


def _scene_views(scene: Path, every: int) -> Iterator[Found]:
    frames = _checked(scene / "dslr" / "nerfstudio" / "transforms_undistorted.json", _Transforms)
    annotated = scene / "scans" / "segments_anno.json"
    rows, problems = read_list(_checked(annotated, _Groups).segGroups, f"{annotated.name}, segGroups", _Group)
    yield from problems
    groups = [(where, group, group.label.strip().lower()) for where, group in rows]
    skipped = Counter("part of the building" for *_, label in groups if label in BUILDING)
    placed, problems = read_each(
        [(where, group) for where, group, label in groups if label not in BUILDING],
        lambda group: (group, _cuboid(group)),
    )
    yield from problems
    things = [thing for _, thing in placed]
    mesh = _mesh(scene, [group for _, group, _ in groups])
    listed, problems = read_list(frames.frames, f"{scene.name}, frames", _Frame)
    yield from problems
    for where, frame in sorted(listed, key=lambda each: each[1].file_path)[::every]:
        if not frame.is_bad:
            yield from read_view(where, partial(_view, scene, frames, frame, things, mesh, skipped))


def _checked(path: Path, form: type[F]) -> F:
    """Read a JSON file and check its form."""
    try:
        return check(form, read_json(path))
    except UsageError as error:
        raise UsageError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def _view(
    scene: Path,
    frames: _Transforms,
    frame: _Frame,
    things: Sequence[tuple[_Group, Cuboid]],
    mesh: Mesh | None,
    skipped: Counter[str],
) -> Iterator[Found]:
    picture = inside(scene / "dslr" / "resized_undistorted_images", Path(frame.file_path).name, "picture")
    cam_SE3_world = opencv_pose(np.array(frame.transform_matrix, np.float64)).inverse()
    camera = _camera(frames, picture)
    shares = _vertex_visibility(mesh, camera, cam_SE3_world) if mesh is not None else {}
    candidates = tuple(
        Candidate(
            group.label,
            cuboid.seen_from(cam_SE3_world),
            shares.get(group.objectId),
            key=f"{scene.name}-{group.objectId}",
        )
        for group, cuboid in things
    )
    view = View(
        f"scannetpp-{scene.name}-{picture.stem}",
        "indoor",
        camera,
        up_in(cam_SE3_world),
        camera_height_m=float(cam_SE3_world.inverse().translation_m[2]),
        source="scannetpp",
    )
    yield SourceView(view, candidates, picture, skipped)


def opencv_pose(stored: NDArray[np.float64]) -> SE3:
    """Convert a stored nerfstudio matrix to world_SE3_cam (x right, y down, z forward; world z up)."""
    if stored.shape != (4, 4):
        raise UsageError(f"a pose must be a 4×4 matrix, got {stored.shape}")
    matrix = stored.copy()
    matrix[2, :] *= -1
    matrix = matrix[[1, 0, 2, 3], :]
    return SE3.from_matrix(matrix @ np.diag([1.0, -1.0, -1.0, 1.0]))


def _camera(frames: _Transforms, picture: Path) -> PinholeCamera:
    """Return the declared camera, scaled to the actual size of the picture if it is there."""
    camera = PinholeCamera(frames.fl_x, frames.fl_y, frames.cx, frames.cy, frames.w, frames.h)
    if not picture.is_file():
        return camera
    size = stored_size(picture)
    return camera if size == (camera.width_px, camera.height_px) else camera.resized(size)


def _cuboid(group: _Group) -> Cuboid:
    """Return the box of an object in the world."""
    axes = np.array(group.obb.normalizedAxes, np.float64).reshape(3, 3)
    lengths = np.array(group.obb.axesLengths, np.float64)
    vertical = int(np.argmax(np.abs(axes[:, 2])))
    first, second = (k for k in range(3) if k != vertical)
    up = axes[vertical] * np.sign(axes[vertical, 2])
    forward = axes[first]
    rotation = np.column_stack([forward, np.cross(up, forward), up])
    motion = SE3.from_matrix(np.column_stack([rotation, np.array(group.obb.centroid, np.float64)]))
    sides = np.maximum(lengths, 1e-3)
    return Cuboid(motion, float(sides[first]), float(sides[second]), float(sides[vertical]))


def _mesh(scene: Path, groups: Sequence[_Group]) -> Mesh | None:
    """Return the scan's vertices with their objects; None if the scan is not there."""
    scan, segments = scene / "scans" / "mesh_aligned_0.05.ply", scene / "scans" / "segments.json"
    if not scan.is_file() or not segments.is_file():
        return None
    points = read_ply_vertices(scan)
    segment_of = _checked(segments, _Segments).segIndices
    if len(segment_of) != len(points):
        raise UsageError(f"{segments} has {len(segment_of)} vertices, but {scan} has {len(points)}")
    owner = {segment: group.objectId for group in groups for segment in group.segments}
    return Mesh(points, np.array([owner.get(segment, -1) for segment in segment_of], np.int64))


def _vertex_visibility(mesh: Mesh, camera: PinholeCamera, cam_SE3_world: SE3) -> dict[int, float]:
    """Return for each object the share that other things leave uncovered of the pixels that would show it alone.

    The vertices are drawn into small depth buffers, each as a square of a few centimetres, so that surfaces have no holes: all
    into one, and those of each object into one of its own, by which its own back does not count.
    """
    small = camera.resized(thumbnail_size(camera, _WIDTH_PX))
    points = cam_SE3_world.apply(mesh.points_world)
    is_ahead = points[:, 2] > 0.1
    points, owners = points[is_ahead], mesh.object_ids[is_ahead]
    pixels = np.floor(small.project(points)).astype(np.int64)
    inside = (pixels >= 0).all(axis=1) & (pixels[:, 0] < small.width_px) & (pixels[:, 1] < small.height_px)
    pixels, depths, owners = pixels[inside], points[inside, 2], owners[inside]
    numbers, own = np.unique(owners, return_inverse=True)
    buffer = np.full((small.height_px, small.width_px), np.inf, np.float32)
    alone = np.full((len(numbers), *buffer.shape), np.inf, np.float32)
    reach = np.clip(np.ceil(_SPLAT_M * small.fx_px / depths), 1, _MOST_REACH_PX)
    for dy in range(-_MOST_REACH_PX, _MOST_REACH_PX + 1):
        for dx in range(-_MOST_REACH_PX, _MOST_REACH_PX + 1):
            near = reach >= max(abs(dx), abs(dy))
            rows = np.clip(pixels[near, 1] + dy, 0, small.height_px - 1)
            columns = np.clip(pixels[near, 0] + dx, 0, small.width_px - 1)
            np.minimum.at(buffer, (rows, columns), depths[near])
            np.minimum.at(alone, (own[near], rows, columns), depths[near])
    is_shown = np.isfinite(alone)
    is_seen = is_shown & (alone <= buffer + _SLACK[0] + _SLACK[1] * buffer)
    shares = is_seen.sum(axis=(1, 2)) / is_shown.sum(axis=(1, 2))
    return {int(k): float(share) for k, share in zip(numbers, shares, strict=True) if k >= 0}


def read_ply_vertices(path: Path) -> NDArray[np.float64]:
    """Return the vertices of a PLY file, ASCII or binary; shape (n, 3).

    Raises:
        UsageError: It is no PLY file that begins with its vertices, or it ends early.
    """
    data = read_bytes(path)
    end = data.find(b"end_header\n")
    if not data.startswith(b"ply") or end < 0:
        raise UsageError(f"{path} is not a PLY file")
    header = [line.split() for line in data[:end].decode("ascii", "replace").splitlines()]
    try:
        points = _vertices(header, data[end + len(b"end_header\n") :])
    except (ValueError, IndexError) as error:
        raise UsageError(f"{path}: cannot read its vertices: {error}") from error
    if not (np.abs(points) <= FARTHEST_M).all():
        raise UsageError(f"{path}: a vertex is not a number, or is farther away than {FARTHEST_M:g} m")
    return points


def _vertices(header: list[list[str]], body: bytes) -> NDArray[np.float64]:
    form = next((words[1] for words in header if words[:1] == ["format"]), "")
    elements = [words for words in header if words[:1] == ["element"]]
    if not elements or elements[0][1] != "vertex":
        raise ValueError("expected the vertices first")
    n, first = int(elements[0][2]), header.index(elements[0])
    fields = []
    for words in header[first + 1 :]:
        if words[:1] != ["property"]:
            break
        fields.append((words[2], _PLY_TYPES.get(words[1], "")))
    names = [name for name, _ in fields]
    if not {"x", "y", "z"} <= set(names) or any(not kind for _, kind in fields):
        raise ValueError(f"unknown properties {names}")
    if form == "ascii":
        lines = body.decode("ascii").splitlines()[: max(0, n)]
        table = np.array([[float(word) for word in line.split()] for line in lines]).reshape(n, len(names))
        return table[:, [names.index(axis) for axis in "xyz"]]
    if form not in _PLY_ORDERS:
        raise ValueError(f"unknown format {form!r}")
    kind = np.dtype([(name, _PLY_ORDERS[form] + code) for name, code in fields])
    if not 0 <= n * kind.itemsize <= len(body):
        raise ValueError(f"the file ends before its {n} vertices")
    records = np.frombuffer(body, kind, count=n)
    return np.stack([records[axis].astype(np.float64) for axis in "xyz"], axis=1)
