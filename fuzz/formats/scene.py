"""Scenes of other data sets, and our own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.formats.sample import Files, Format, json_of, picture

_K = [[62.0, 0.0, 40.0], [0.0, 62.0, 30.0], [0.0, 0.0, 1.0]]
_AHEAD = [[0.0, 0.0, 1.0, 1.7], [-1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 1.5], [0.0, 0.0, 0.0, 1.0]]
"""From a level camera that looks along +x to the world."""
_STORED = [[-1.0, 0.0, 0.0, 0.2], [0.0, 0.0, -1.0, 0.1], [0.0, -1.0, 0.0, -0.5], [0.0, 0.0, 0.0, 1.0]]
"""The same as ScanNet++ stores it."""


def _nuscenes() -> Files:
    quarter = [0.5, -0.5, 0.5, -0.5]
    camera = {
        "token": "c",
        "sensor_token": "s",
        "translation": [1.7, 0, 1.5],
        "rotation": quarter,
        "camera_intrinsic": _K,
    }
    data = {
        "token": "d",
        "sample_token": "x",
        "ego_pose_token": "e",
        "calibrated_sensor_token": "c",
        "filename": "samples/a.jpg",
        "width": 80,
        "height": 60,
        "is_key_frame": True,
    }
    tables: dict[str, list[Any]] = {
        "sensor": [{"token": "s", "channel": "CAM_FRONT", "modality": "camera"}],
        "calibrated_sensor": [camera],
        "ego_pose": [{"token": "e", "translation": [400.0, 1100.0, 0.0], "rotation": [1, 0, 0, 0]}],
        "sample_data": [data, {**data, "token": "d2", "is_key_frame": False}],
        "category": [{"token": "k", "name": "vehicle.car"}],
        "instance": [{"token": f"i{n}", "category_token": "k"} for n in range(3)],
        "sample_annotation": [
            {
                "token": f"a{n}",
                "sample_token": "x",
                "instance_token": f"i{n}",
                "visibility_token": "4",
                "translation": [414.0 + n, 1102.0 - 2 * n, 0.8],
                "size": [1.8, 4.4, 1.5],
                "rotation": [1.0, 0.0, 0.0, 0.2],
            }
            for n in range(3)
        ],
    }
    return {
        **{f"v1.0/{name}.json": json_of(rows) for name, rows in tables.items()},
        "samples/a.jpg": picture(kind="JPEG"),
    }


def _scannetpp() -> Files:
    groups = [
        {
            "objectId": n,
            "label": label,
            "segments": [n],
            "obb": {
                "centroid": [2.5, 0.4 * n, 0.4],
                "axesLengths": [0.5, 0.4, 0.6],
                "normalizedAxes": [1, 0, 0, 0, 1, 0, 0, 0, 1],
            },
        }
        for n, label in ((1, "table"), (2, "cup"), (3, "wall"))
    ]
    frames = {
        "fl_x": 62.0,
        "fl_y": 62.0,
        "cx": 40.0,
        "cy": 30.0,
        "w": 80,
        "h": 60,
        "frames": [{"file_path": "A.JPG", "transform_matrix": _STORED, "is_bad": False}],
    }
    points = np.random.default_rng(0).uniform(0, 3, (30, 3)).astype("<f4")
    header = "ply\nformat binary_little_endian 1.0\nelement vertex 30\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
    return {
        "s/dslr/nerfstudio/transforms_undistorted.json": json_of(frames),
        "s/scans/segments_anno.json": json_of({"segGroups": groups}),
        "s/scans/segments.json": json_of({"segIndices": [1, 2, 3] * 10}),
        "s/scans/mesh_aligned_0.05.ply": header.encode() + points.tobytes(),
        "s/dslr/resized_undistorted_images/A.JPG": picture(kind="JPEG"),
    }


def scene_formats(made: Path) -> list[Format]:
    from theodolite.instruments.scene.data.build import BuildOptions, build_data
    from theodolite.instruments.scene.data.crisp import read_crisp, write_crisp
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.data.make import MakeOptions, make_data
    from theodolite.instruments.scene.data.pipeline import KeepOptions
    from theodolite.instruments.scene.data.sources.kitti import kitti_views, sunrgbd_views
    from theodolite.instruments.scene.data.sources.nuscenes import camera_box_views, nuscenes_views
    from theodolite.instruments.scene.data.sources.scannetpp import scannetpp_views

    keep = KeepOptions(
        least_visibility=0.0, least_edge_px=1.0, most_truncation=1.0, unknown_visibility="keep"
    )
    options = BuildOptions(keep, is_balanced=False, n_questions=2)

    def built(reader: Callable[[Path], Any]) -> Callable[[Path, Path], Any]:
        return lambda folder, out: build_data(out, reader(folder), options=options)

    data = make_data(made / "scenes", MakeOptions(1, 1, n_questions=6, is_rendered=False))
    write_crisp(data, made / "crisp")
    box = {"label": "car", "bbox": [1, 2, 3, 4], "bbox_3d": [1.0, 0.5, 12.0, 4.0, 1.5, 1.8, 0.3]}
    row = {
        "image": "a.jpg",
        "cam2img": _K,
        "cam2ego": _AHEAD,
        "boxes": [box, {**box, "bbox_3d": [-2, 0.5, 9, 4, 1.5, 1.8, 1]}],
    }
    kitti = "Car 0.00 0 0 1 2 3 4 1.5 1.8 4.4 {} 1.0 14.0 0.3\n"
    calibration = "P2: " + " ".join(str(v) for row in _K for v in (*row, 0.1)) + "\n"
    sun = "bed 1 2 3 4 {} 3.1 -0.4 0.9 1.05 0.35 0.6 0.8\n"
    tilt = "1 0 0 0 1 0 0 0 1\n" + " ".join(str(_K[r][c]) for c in range(3) for r in range(3)) + "\n"
    crisp = {
        name: (made / "crisp" / name).read_bytes()
        for name in ("scene_graph.jsonl", "marks.jsonl", "qa_data.jsonl")
    }
    own = {path.name: path.read_bytes() for path in sorted((made / "scenes").glob("*.json*"))}
    return [
        Format("nuscenes", _nuscenes(), built(nuscenes_views)),
        Format(
            "camera-boxes",
            {
                "boxes.json": json_of({"sample": "s", "cameras": {"F": row, "B": row}}),
                "a.jpg": picture(kind="JPEG"),
            },
            built(camera_box_views),
        ),
        Format("scannetpp", _scannetpp(), built(scannetpp_views)),
        Format(
            "kitti",
            {
                "label_2/0.txt": (kitti.format(1) + kitti.format(-3) + "DontCare -1 -1\n").encode(),
                "calib/0.txt": calibration.encode(),
                "image_2/0.png": picture(),
            },
            built(kitti_views),
        ),
        Format(
            "sunrgbd",
            {
                "label_v1/0.txt": (sun.format(0.4) + sun.format(-0.9)).encode(),
                "calib/0.txt": tilt.encode(),
                "image/0.jpg": picture(kind="JPEG"),
            },
            built(sunrgbd_views),
        ),
        Format(
            "crisp",
            crisp,
            lambda f, out: write_crisp(
                read_crisp(f / "scene_graph.jsonl", f / "qa_data.jsonl", marks=[f / "marks.jsonl"]), out
            ),
        ),
        Format("scene data", own, lambda f, _: [read_data(f).picture(name) for name in read_data(f).scenes]),
    ]
