"""nuScenes and data sets in its schema (Lyft Level 5): thirteen JSON tables, joined without another library.

x_ego = R(q_ego)ᵀ (x_global − t_ego), x_cam = R(q_cs)ᵀ (x_ego − t_cs), with the camera's *own* ego pose: every sensor has
one. ``size`` is width, length, height; the box's x axis points forward, z up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import Candidate, View
from theodolite.instruments.scene.data.sources.views import SourceView, read_json, up_in, yawed_about_down

TABLES = (
    "attribute",
    "calibrated_sensor",
    "category",
    "ego_pose",
    "instance",
    "log",
    "map",
    "sample",
    "sample_annotation",
    "sample_data",
    "scene",
    "sensor",
    "visibility",
)
VISIBILITY: Mapping[str, float] = {"1": 0.0, "2": 0.4, "3": 0.6, "4": 0.8}
"""The lower end of each level: 0–40, 40–60, 60–80, 80–100 % of the pixels over all six cameras."""
_NEEDED = (
    "calibrated_sensor",
    "category",
    "ego_pose",
    "instance",
    "sample_annotation",
    "sample_data",
    "sensor",
)

_CAMERA = ("image", "cam2img", "cam2ego", "boxes")


class NuscenesTables:
    """The tables of one folder, by name and token."""

    def __init__(self, folder: Path) -> None:
        missing = [name for name in _NEEDED if not (folder / f"{name}.json").is_file()]
        if missing:
            raise UsageError(
                f"{folder} lacks the tables {', '.join(missing)}; name the folder that holds the JSON tables"
            )
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: read_json(folder / f"{name}.json") for name in TABLES if (folder / f"{name}.json").is_file()
        }
        self.by_token = {name: {row["token"]: row for row in rows} for name, rows in self.rows.items()}
        self.annotations: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self.rows["sample_annotation"]:
            self.annotations[row["sample_token"]].append(row)

    def get(self, table: str, token: str) -> dict[str, Any]:
        """The row with a token.

        Raises:
            UsageError: There is none.
        """
        try:
            return self.by_token[table][token]
        except KeyError:
            raise UsageError(
                f"the table {table} has no row with the token {token!r}; the tables are incomplete"
            ) from None

    def motion(self, table: str, token: str) -> SE3:
        """From a row's translation and rotation."""
        row = self.get(table, token)
        return SE3.from_quaternion(row["rotation"], row["translation"])


def nuscenes_views(root: str | Path, *, version: str = "") -> Iterator[SourceView]:
    """The camera keyframes of a nuScenes folder, in the order of its tables.

    Args:
        root: The data set; its pictures are under ``samples/``.
        version: The folder of its tables, such as ``v1.0-mini``; found by itself if there is only one.
    """
    root = Path(root)
    tables = NuscenesTables(_table_folder(root, version))
    for row in tables.rows["sample_data"]:
        sensor = tables.get("calibrated_sensor", row["calibrated_sensor_token"])
        is_camera = tables.get("sensor", sensor["sensor_token"])["modality"] == "camera"
        if is_camera and row["is_key_frame"]:
            yield _view(tables, row, sensor, root)


def _table_folder(root: Path, version: str) -> Path:
    if version:
        return root / version
    if (root / "sample_data.json").is_file():
        return root
    found = sorted(path.parent for path in root.glob("*/sample_data.json"))
    if not found:
        raise UsageError(f"{root} has no tables (sample_data.json …); name the folder that holds them")
    if len(found) > 1:
        words = ", ".join(path.name for path in found)
        raise UsageError(f"{root} has the tables of {words}; name the folder of one version")
    return found[0]


def _view(
    tables: NuscenesTables, row: Mapping[str, Any], sensor: Mapping[str, Any], root: Path
) -> SourceView:
    ego_SE3_cam = tables.motion("calibrated_sensor", sensor["token"])
    global_SE3_ego = tables.motion("ego_pose", row["ego_pose_token"])
    cam_SE3_global = (global_SE3_ego @ ego_SE3_cam).inverse()
    channel = tables.get("sensor", sensor["sensor_token"])["channel"]
    camera = PinholeCamera.from_matrix(np.array(sensor["camera_intrinsic"]), (row["width"], row["height"]))
    view = View(
        f"nuscenes-{row['token']}",
        "outdoor",
        camera,
        up_in(cam_SE3_global),
        camera_height_m=float(ego_SE3_cam.translation_m[2]),
        source=f"nuscenes {channel}",
    )
    skipped: Counter[str] = Counter()
    candidates = []
    for annotation in tables.annotations[row["sample_token"]]:
        width, length, height = annotation["size"]
        if min(width, length, height) <= 0:
            skipped["without extent"] += 1
            continue
        motion = SE3.from_quaternion(annotation["rotation"], annotation["translation"])
        instance = tables.get("instance", annotation["instance_token"])
        candidates.append(
            Candidate(
                tables.get("category", instance["category_token"])["name"],
                Cuboid(motion, length, width, height).seen_from(cam_SE3_global),
                VISIBILITY.get(str(annotation.get("visibility_token") or "")),
                key=annotation["instance_token"],
            )
        )
    return SourceView(view, tuple(candidates), root / row.get("filename", ""), skipped)


def camera_box_views(path: str | Path) -> Iterator[SourceView]:
    """Cameras with boxes in one JSON file: ``cameras`` → ``image``, ``cam2img``, ``cam2ego``, ``boxes``.

    A box has ``label``, ``bbox`` (the stored 2D box) and ``bbox_3d``: x, y, z of its middle, length, height, width, and the
    angle about +y, in the camera's frame. Visibility is not stored.
    """
    from PIL import Image

    path = Path(path)
    whole = read_json(path / "boxes.json" if path.is_dir() else path)
    folder = path if path.is_dir() else path.parent
    for channel, row in _cameras(whole, path).items():
        picture = folder / row["image"]
        try:
            with Image.open(picture) as opened:
                size = opened.size
        except OSError as error:
            raise UsageError(f"cannot read the picture {picture}: {error}") from error
        ego_SE3_cam = SE3.from_matrix(np.array(row["cam2ego"]))
        view = View(
            f"{whole.get('sample', path.stem)}-{channel}",
            "outdoor",
            PinholeCamera.from_matrix(np.array(row["cam2img"]), size),
            up_in(ego_SE3_cam.inverse()),
            camera_height_m=float(ego_SE3_cam.translation_m[2]),
            source=f"boxes {channel}",
        )
        yield SourceView(view, tuple(_boxed(box) for box in row["boxes"]), picture)


def _cameras(whole: Any, path: Path) -> dict[str, Any]:
    """The cameras of a JSON file; a `UsageError` says what is missing."""
    cameras = whole.get("cameras") if isinstance(whole, dict) else None
    if not isinstance(cameras, dict):
        raise UsageError(f"{path} has no cameras: it must be a JSON object with `cameras`, by name")
    for channel, row in cameras.items():
        missing = [name for name in _CAMERA if not isinstance(row, dict) or name not in row]
        if missing:
            raise UsageError(f"{path}: the camera {channel} has no {missing[0]}")
    return cameras


def _boxed(row: Mapping[str, Any]) -> Candidate:
    x, y, z, length, height, width, yaw = row["bbox_3d"]
    cuboid = Cuboid(SE3(yawed_about_down(yaw), np.array([x, y, z])), length, width, height)
    return Candidate(str(row["label"]), cuboid)
