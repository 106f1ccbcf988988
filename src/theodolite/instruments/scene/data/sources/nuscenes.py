"""nuScenes and data sets in its schema (Lyft Level 5): thirteen JSON tables, joined without another library.

x_ego = R(q_ego)ᵀ (x_global − t_ego), x_cam = R(q_cs)ᵀ (x_ego − t_cs), with the camera's *own* ego pose: every sensor has
one. ``size`` is width, length, height; the box's x axis points forward, z up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, inside, read_each, read_json, read_list
from theodolite.core.pictures import stored_size
from theodolite.core.views import Form, Name, Whole
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import (
    Candidate,
    Found,
    Matrix,
    Metres,
    Place,
    SourceView,
    Turn,
    View,
    read_view,
    up_in,
    yawed_about_down,
)

VISIBILITY: Mapping[str, float] = {"1": 0.0, "2": 0.4, "3": 0.6, "4": 0.8}
"""The lower end of each level: 0–40, 40–60, 60–80, 80–100 % of the pixels over all six cameras."""


class _Row(Form):
    token: Name


class _Sensor(_Row):
    channel: str
    modality: str


class _Motion(_Row):
    translation: Place
    rotation: Turn

    @property
    def motion(self) -> SE3:
        return SE3.from_quaternion(self.rotation, self.translation)


class _Calibrated(_Motion):
    sensor_token: str
    camera_intrinsic: Matrix


class _Category(_Row):
    name: str


class _Instance(_Row):
    category_token: str


class _Annotation(_Motion):
    sample_token: str
    instance_token: str
    visibility_token: str | int | None = None
    size: Place
    """Width, length, height."""


class _Data(_Row):
    sample_token: str
    ego_pose_token: str
    calibrated_sensor_token: str
    filename: str = ""
    width: Whole | None = None
    height: Whole | None = None
    is_key_frame: bool


_FORMS: Mapping[str, type[_Row]] = {
    "calibrated_sensor": _Calibrated,
    "category": _Category,
    "ego_pose": _Motion,
    "instance": _Instance,
    "sample_annotation": _Annotation,
    "sample_data": _Data,
    "sensor": _Sensor,
}
"""The tables that are read, and the forms of their rows."""

R = TypeVar("R", bound=_Row)


class NuscenesTables:
    """The tables of one folder, by name and token."""

    def __init__(self, folder: Path) -> None:
        missing = [name for name in _FORMS if not (folder / f"{name}.json").is_file()]
        if missing:
            raise UsageError(
                f"{folder} lacks the tables {', '.join(missing)}; name the folder that holds the JSON tables"
            )
        self.problems: list[Problem] = []
        self._rows: dict[str, dict[str, tuple[str, _Row]]] = {
            name: self._read(folder / f"{name}.json", form) for name, form in _FORMS.items()
        }
        self.skipped: Counter[str] = Counter()
        """Annotations without extent, by sample."""
        self.boxes: defaultdict[str, list[tuple[Candidate, Cuboid]]] = defaultdict(list)
        """The annotated objects of each sample, with their boxes in the world."""
        rows = self.rows("sample_annotation", _Annotation)
        boxed, problems = read_each(rows, self._box)
        self.problems += problems
        for _, (sample, box) in boxed:
            if box is None:
                self.skipped[sample] += 1
            else:
                self.boxes[sample].append(box)

    def rows(self, table: str, form: type[R]) -> list[tuple[str, R]]:
        """Return all rows of a table, each with its position in the file."""
        return [(where, row) for where, row in self._rows[table].values() if isinstance(row, form)]

    def get(self, table: str, token: str, form: type[R]) -> R:
        """Return the row with a token.

        Raises:
            UsageError: There is none.
        """
        _, row = self._rows[table].get(token, ("", None))
        if not isinstance(row, form):
            raise UsageError(
                f"the table {table} has no row with the token {token!r:.80}; the tables are incomplete"
            )
        return row

    def _read(self, path: Path, form: type[_Row]) -> dict[str, tuple[str, _Row]]:
        records, problems = read_list(read_json(path), path.name, form)
        self.problems += problems
        rows: dict[str, tuple[str, _Row]] = {}
        for where, row in records:
            if row.token in rows:
                self.problems.append(
                    Problem(where, f"the token {row.token!r:.80} occurs twice; the first is kept")
                )
            rows.setdefault(row.token, (where, row))
        return rows

    def _box(self, row: _Annotation) -> tuple[str, tuple[Candidate, Cuboid] | None]:
        """Return the sample of an annotation, and its object; None if it has no extent."""
        width, length, height = row.size
        if min(row.size) <= 0:
            return row.sample_token, None
        cuboid = Cuboid(row.motion, length, width, height)
        instance = self.get("instance", row.instance_token, _Instance)
        category = self.get("category", instance.category_token, _Category).name
        visibility = VISIBILITY.get(str(row.visibility_token or ""))
        return row.sample_token, (Candidate(category, cuboid, visibility, key=row.instance_token), cuboid)


def nuscenes_views(root: str | Path, *, version: str = "") -> Iterator[Found]:
    """Yield the camera keyframes of a nuScenes folder, in the order of its tables.

    Args:
        root: The data set; its pictures are under ``samples/``.
        version: The folder of its tables, such as ``v1.0-mini``; found by itself if there is only one.
    """
    root = Path(root)
    tables = NuscenesTables(_table_folder(root, version))
    yield from tables.problems
    for where, row in tables.rows("sample_data", _Data):
        yield from read_view(where, partial(_view, tables, row, root))


def _table_folder(root: Path, version: str) -> Path:
    if version:
        return root / version
    if (root / "sample_data.json").is_file():
        return root
    folders = sorted(path.parent for path in root.glob("*/sample_data.json"))
    if not folders:
        raise UsageError(f"{root} has no tables (sample_data.json …); name the folder that holds them")
    if len(folders) > 1:
        words = ", ".join(path.name for path in folders)
        raise UsageError(f"{root} has the tables of {words}; name the folder of one version")
    return folders[0]


def _view(tables: NuscenesTables, row: _Data, root: Path) -> Iterator[Found]:
    """Yield the view of a keyframe; nothing for other sensors, such as a lidar."""
    calibrated = tables.get("calibrated_sensor", row.calibrated_sensor_token, _Calibrated)
    sensor = tables.get("sensor", calibrated.sensor_token, _Sensor)
    if sensor.modality != "camera" or not row.is_key_frame:
        return
    ego_SE3_cam = calibrated.motion
    global_SE3_ego = tables.get("ego_pose", row.ego_pose_token, _Motion).motion
    cam_SE3_global = (global_SE3_ego @ ego_SE3_cam).inverse()
    size = row.width or 0, row.height or 0
    view = View(
        f"nuscenes-{row.token}",
        "outdoor",
        PinholeCamera.from_matrix(np.array(calibrated.camera_intrinsic), size),
        up_in(cam_SE3_global),
        camera_height_m=float(ego_SE3_cam.translation_m[2]),
        source=f"nuscenes {sensor.channel}",
    )
    candidates = tuple(
        replace(candidate, cuboid_cam=cuboid.seen_from(cam_SE3_global))
        for candidate, cuboid in tables.boxes[row.sample_token]
    )
    skipped = +Counter({"without extent": tables.skipped[row.sample_token]})
    yield SourceView(view, candidates, inside(root, row.filename, "picture"), skipped)


class _BoxRow(Form):
    label: str | int
    bbox_3d: tuple[Metres, Metres, Metres, Metres, Metres, Metres, Metres]


class _Camera(Form):
    image: Name
    cam2img: Matrix
    cam2ego: Matrix
    boxes: list[Any]


class _CameraFile(Form):
    sample: str = ""
    cameras: dict[str, Any]


def camera_box_views(path: str | Path) -> Iterator[Found]:
    """Yield cameras with boxes from one JSON file: ``cameras`` → ``image``, ``cam2img``, ``cam2ego``, ``boxes``.

    A box has ``label``, ``bbox`` (the stored 2D box) and ``bbox_3d``: x, y, z of its middle, length, height, width, and the
    angle about +y, in the camera's frame. Visibility is not stored.
    """
    path = Path(path)
    file, folder = (path / "boxes.json", path) if path.is_dir() else (path, path.parent)
    try:
        whole = check(_CameraFile, read_json(file))
    except UsageError as error:
        raise UsageError(f"{file} is not a file of cameras, by name under `cameras`: {error}") from None
    for channel, row in whole.cameras.items():
        where = f"{file.name}, cameras.{channel}"
        names = whole.sample or path.stem, channel
        yield from read_view(where, partial(_camera_view, row, folder, names, where))


def _camera_view(row: Any, folder: Path, names: tuple[str, str], where: str) -> Iterator[Found]:
    camera = check(_Camera, row)
    picture = inside(folder, camera.image, "picture")
    size = stored_size(picture)
    ego_SE3_cam = SE3.from_matrix(np.array(camera.cam2ego))
    rows, problems = read_list(camera.boxes, f"{where}.boxes", _BoxRow)
    placed, wrong = read_each(rows, _boxed)
    view = View(
        "-".join(names),
        "outdoor",
        PinholeCamera.from_matrix(np.array(camera.cam2img), size),
        up_in(ego_SE3_cam.inverse()),
        camera_height_m=float(ego_SE3_cam.translation_m[2]),
        source=f"boxes {names[1]}",
    )
    yield from (*problems, *wrong)
    yield SourceView(view, tuple(candidate for _, candidate in placed), picture)


def _boxed(row: _BoxRow) -> Candidate:
    x, y, z, length, height, width, yaw = row.bbox_3d
    cuboid = Cuboid(SE3(yawed_about_down(yaw), np.array([x, y, z])), length, width, height)
    return Candidate(str(row.label), cuboid)
