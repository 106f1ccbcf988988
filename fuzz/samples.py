"""Small valid files of every format, and the readers that they are for."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Format:
    """A small valid data set, and what reads it."""

    name: str
    files: Files
    """Contents by name, relative to the folder of the data set."""
    read: Callable[[Path, Path], Any]
    """The real reader. It is given the folder, and a folder that it may write into."""
    fixed: tuple[str, ...] = ()
    """Files that are not changed."""


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _lines(*rows: Any) -> bytes:
    return b"".join(_json(row) + b"\n" for row in rows)


@cache
def picture(width: int = 80, height: int = 60, kind: str = "PNG", seed: int = 0) -> bytes:
    """A picture of noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def formats(made: Path) -> tuple[Format, ...]:
    """All formats.

    Args:
        made: An empty folder, in which the project's own makers make their data sets.
    """
    return (*_compass(), *_scene(made), *_trace(made), *_records(made), *_logs(), *_pictures())


# Compass


def _coco() -> dict[str, Any]:
    images = [{"id": i, "file_name": f"{i:012d}.jpg", "width": 80, "height": 60} for i in (1, 2)]
    boxes = [[5, 20, 20, 20], [50, 22, 20, 20], [30, 2, 12, 12]]
    annotations = [
        {
            "id": 10 * i + k,
            "image_id": i,
            "category_id": k,
            "bbox": box,
            "area": 400.0,
            "iscrowd": 0,
            "segmentation": [[5, 5, 20, 5, 20, 20]],
        }
        for i in (1, 2)
        for k, box in enumerate(boxes)
    ]
    names = [{"id": k, "name": name} for k, name in enumerate(("dog", "cat", "dining table"))]
    return {"images": images, "annotations": annotations, "categories": names}


def _compass() -> list[Format]:
    from theodolite.core.files import Problem
    from theodolite.instruments.compass.data.coco import coco_pairs
    from theodolite.instruments.compass.data.gqa import gqa_pairs
    from theodolite.instruments.compass.data.pair_files import read_pairs, write_pairs
    from theodolite.instruments.compass.data.selection import Sieve
    from theodolite.instruments.compass.data.user_data import find_pairs
    from theodolite.instruments.compass.data.vsr import vsr_pairs
    from theodolite.instruments.compass.data.whatsup import whatsup_pairs
    from theodolite.instruments.compass.questions import read_prompts

    shown = {f"{i:012d}.jpg": picture(kind="JPEG") for i in (1, 2)}
    things = {
        "a": {
            "name": "dog",
            "x": 5,
            "y": 20,
            "w": 20,
            "h": 20,
            "relations": [{"name": "to the left of", "object": "b"}],
        },
        "b": {"name": "cat", "x": 50, "y": 20, "w": 20, "h": 20, "relations": []},
    }
    graphs = {f"{i:012d}": {"width": 80, "height": 60, "objects": things} for i in (1, 2)}
    captions = [
        {
            "image": "000000000001.jpg",
            "caption": "The dog is left of the cat.",
            "relation": "left of",
            "label": 1,
        },
        {
            "image": "000000000002.jpg",
            "caption": "The cat is right of the dog.",
            "relation": "right of",
            "label": 1,
        },
        {
            "image": "000000000002.jpg",
            "caption": "The dog is above the cat.",
            "relation": "above",
            "label": 0,
        },
    ]
    whatsup = [
        {
            "image_path": "x/000000000001.jpg",
            "caption_options": ["A dog to the left of a cat", "A dog on a cat"],
        },
        [2, "A photo of a cat to the right of a dog", "A photo of a dog"],
    ]
    pair = {
        "id": "1",
        "picture": "000000000001.jpg",
        "direction": "left",
        "reference": {"name": "cat", "box": [50, 20, 70, 40]},
        "target": {"name": "dog", "xywh": [5, 20, 20, 20]},
        "others": [[1, 1, 4, 4]],
        "meta": {"a": [1, {"b": 2}]},
    }
    prompt = {
        "name": "p",
        "template": "Where is the {target} from the {reference}? {options}",
        "options": {"1": "left", "2": "right"},
    }

    def read_pair_file(folder: Path, out: Path) -> None:
        find_pairs(folder / "pairs.jsonl", None)
        read_pairs(folder / "pairs.jsonl", sieve=Sieve("x", {}))
        problems: list[Problem] = []
        write_pairs(read_pairs(folder / "pairs.jsonl", problems=problems), out)

    def read_coco(folder: Path, out: Path) -> None:
        find_pairs(folder / "instances.json", None)
        write_pairs(coco_pairs(folder / "instances.json", folder).pairs, out)

    return [
        Format("coco", {"instances.json": _json(_coco()), **shown}, read_coco),
        Format("gqa", {"graphs.json": _json(graphs), **shown}, lambda f, _: gqa_pairs(f / "graphs.json", f)),
        Format(
            "vsr",
            {"test.jsonl": _lines(*captions), "boxes.json": _json(_coco()), **shown},
            lambda f, _: vsr_pairs(f / "test.jsonl", f / "boxes.json", f),
        ),
        Format(
            "whatsup",
            {"captions.json": _json(whatsup), "boxes.json": _json(_coco()), **shown},
            lambda f, _: whatsup_pairs(f / "captions.json", f, annotations=f / "boxes.json"),
        ),
        Format(
            "pairs",
            {"pairs.jsonl": _lines(pair, {**pair, "id": "2", "picture": "000000000002.jpg"}), **shown},
            read_pair_file,
        ),
        Format("prompts", {"prompts.jsonl": _lines(prompt)}, lambda f, _: read_prompts(f / "prompts.jsonl")),
    ]


# Scene

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
        **{f"v1.0/{name}.json": _json(rows) for name, rows in tables.items()},
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
        "s/dslr/nerfstudio/transforms_undistorted.json": _json(frames),
        "s/scans/segments_anno.json": _json({"segGroups": groups}),
        "s/scans/segments.json": _json({"segIndices": [1, 2, 3] * 10}),
        "s/scans/mesh_aligned_0.05.ply": header.encode() + points.tobytes(),
        "s/dslr/resized_undistorted_images/A.JPG": picture(kind="JPEG"),
    }


def _scene(made: Path) -> list[Format]:
    from theodolite.instruments.scene.data.build import BuildOptions, build_data
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.data.make import MakeOptions, make_data
    from theodolite.instruments.scene.data.pipeline import KeepOptions
    from theodolite.instruments.scene.data.sources.kitti import kitti_views
    from theodolite.instruments.scene.data.sources.nuscenes import camera_box_views, nuscenes_views
    from theodolite.instruments.scene.data.sources.scannetpp import scannetpp_views
    from theodolite.instruments.scene.data.sources.sunrgbd import sunrgbd_views
    from theodolite.instruments.scene.interop.crisp import read_crisp, write_crisp

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
                "boxes.json": _json({"sample": "s", "cameras": {"F": row, "B": row}}),
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
                read_crisp(f / "scene_graph.jsonl", f / "qa_data.jsonl", marks=f / "marks.jsonl"), out
            ),
        ),
        Format("scene data", own, lambda f, _: [read_data(f).picture(name) for name in read_data(f).scenes]),
    ]


# Trace


def _star() -> Files:
    situation = {
        "bbox": [[1, 2, 30, 40], None],
        "bbox_labels": [1, 0],
        "rel_pairs": [[0, 1]],
        "rel_labels": [4],
        "actions": ["c030"],
    }
    question = {
        "question_id": "Interaction_T1_1",
        "question": "Which object was taken?",
        "video_id": "V",
        "start": 1.0,
        "end": 9.5,
        "answer": "The cup.",
        "choices": [{"choice_id": 0, "choice": "The cup."}, {"choice_id": 1, "choice": "The book."}],
        "situations": {"000030": situation, "000060": situation},
        "anno_actions": [["c030", "1.0", "2.0"]],
        "answer_action": ["c030"],
        "answer_keyword": ["take", "cup"],
    }
    classes = {"object": {"0": "person", "1": "cup"}, "relationships": {"4": "holding"}, "action": {}}
    codes = json.loads(json.dumps(question).replace("[1, 0]", '["o001", "o002"]'))
    return {
        "questions.json": _json([question, {**question, "question_id": "b"}, {**codes, "question_id": "c"}]),
        "classes.json": _json(classes),
        "names/object_classes.txt": b"o001 person\no002 cup\n",
        "names/relationship_classes.txt": b"r001 holding\n",
        "names/action_classes.txt": b"c030 take cup\n",
        "frames/V_000030.jpg": picture(kind="JPEG"),
    }


def _teach() -> bytes:
    step = {
        "agent_id": 1,
        "action_id": 2,
        "time_start": 1.0,
        "success": 1,
        "pose": [0, 1, 0, 0, 0, 90],
        "pose_delta": [0.2, 0, 0, 0, 0, 0],
    }
    take = {
        "agent_id": 1,
        "action_id": 200,
        "time_start": 2.5,
        "success": 1,
        "oid": "Cup|1|2|3",
        "pose": None,
    }
    state = {
        "objects": {
            "Cup|1|2|3": {"visible": True, "isOpen": False, "position": {"x": 1.0, "y": 0.5, "z": 2.0}}
        }
    }
    return _json(
        {
            "instance_id": "g.edh0",
            "game_id": "g",
            "interactions": [step, take, {**step, "time_start": 3.0, "action_id": 4}],
            "dialog_history_cleaned": [["Commander", "Take the cup."]],
            "dialog_history": [["Commander", "Take the cup."]],
            "driver_image_history": ["driver.frame.1.0.jpeg"],
            "driver_images_future": [],
            "init_state_diff": state,
            "final_state_diff": state,
        }
    )


def _trace(made: Path) -> list[Format]:
    from theodolite.instruments.instrument import UserData
    from theodolite.instruments.trace.data.dataset import EpisodeSet, read_episodes, write_episodes
    from theodolite.instruments.trace.data.logs import logged_models
    from theodolite.instruments.trace.data.sources.r2r import read_r2r
    from theodolite.instruments.trace.data.sources.star import read_star
    from theodolite.instruments.trace.data.sources.teach import read_teach
    from theodolite.instruments.trace.data.sources.videos import read_videos
    from theodolite.instruments.trace.data.traces import read_traces
    from theodolite.instruments.trace.data.worlds.make import make_world
    from theodolite.instruments.trace.experiments.annotate import score_labels
    from theodolite.instruments.trace.experiments.prediction_rows import read_model_rows
    from theodolite.instruments.trace.experiments.tau import read_pairs
    from theodolite.instruments.trace.verifiers.recall import read_recall
    from theodolite.instruments.trace.verifiers.similarity import read_bounds

    def written(read: Callable[[Path], EpisodeSet]) -> Callable[[Path, Path], Any]:
        return lambda folder, out: write_episodes(read(folder).episodes, out)

    def read_log(folder: Path, _: Path) -> None:
        read_traces(folder / "traces.jsonl", {e.id: e for e in read_episodes(folder).episodes})
        logged_models(UserData("trace", "traces", folder, logs=(folder / "traces.jsonl",)))

    write_episodes(list(make_world("video", 1, seed=3))[:2], made / "episodes")
    episodes = {
        p.relative_to(made / "episodes").as_posix(): p.read_bytes() for p in (made / "episodes").rglob("*.*")
    }
    first = json.loads(episodes["episodes.jsonl"].splitlines()[0])["id"]
    traces = _lines(
        {"episode": first, "text": "Step 1 (frame 1): A red ball moves.\nFinal answer: left", "model": "m"},
        {
            "episode": first,
            "steps": ["The ball moves.", {"text": "It stops.", "frames": [1, 2]}],
            "answer": "left",
            "model": "n",
        },
        {
            "question_id": first,
            "object_descriptions": "A ball.",
            "action_analysis": "It moves.",
            "raw_response": ["left"],
        },
    )
    moving = io.BytesIO()
    Image.new("RGB", (8, 8)).save(
        moving, "WEBP", save_all=True, append_images=[Image.new("RGB", (8, 8), "red")], duration=500
    )
    videos = _lines(
        {"id": "a", "video": "v.webp", "task": "?"},
        {"id": "b", "video": "v.webp", "task": "?", "frames": [{"time_s": 0.2}]},
    )
    path = {
        "scan": "s",
        "path_id": 1,
        "path": ["a", "b"],
        "heading": 1.5,
        "instructions": ["Go.", "Walk."],
        "distance": 3.5,
    }
    house = [
        {"image_id": n, "pose": [1, 0, 0, x, 0, 1, 0, 2, 0, 0, 1, 1.5, 0, 0, 0, 1]}
        for n, x in (("a", 0), ("b", 2))
    ]
    label = {"id": "e/0/0", "episode": "e", "step": 0, "claim": "a ball", "label": "supported"}
    limit = {"value": 0.8, "low": 0.7, "high": 0.9, "n": 10, "level": 0.95, "method": "Wilson"}
    recall = {
        "detector": "d",
        "threshold": 0.4,
        "classes": {"cup": {"anywhere": limit, "recall": limit, "located": limit}},
    }
    bounds = {
        "by_world": {"video": {"entity": {"high": 0.6, "low": 0.2}}},
        "pooled": {"entity": {"high": None, "low": None}},
        "words": ["a", "ball"],
    }
    table = "model,benchmark,accuracy,ood_accuracy,sgr,parameters_b,cluster\nm,b,0.8,0.6,0.7,7,x\nn,b,0.7,0.5,0.6,,y\n"
    pairs = [
        {"first": "a cup", "second": "a mug", "same": True},
        {"first": "a cup", "second": "a dog", "same": False},
    ]
    return [
        Format("star", _star(), written(read_star)),
        Format("star classes", _star(), lambda f, _: read_star(f, classes=f / "names", frames=f / "frames")),
        Format(
            "teach",
            {"valid_seen__g.edh0.json": _teach(), "g/driver.frame.1.0.jpeg": picture(kind="JPEG")},
            written(lambda f: read_teach(f, images=f)),
        ),
        Format(
            "r2r",
            {
                "R2R_x.json": _json([path, {**path, "path_id": 2}]),
                "connectivity/s_connectivity.json": _json(house),
            },
            written(read_r2r),
        ),
        Format("episodes", episodes, written(read_episodes)),
        Format("traces", {**episodes, "traces.jsonl": traces}, read_log, fixed=tuple(episodes)),
        Format(
            "videos",
            {"list.jsonl": videos, "v.webp": moving.getvalue()},
            lambda f, out: read_videos(f / "list.jsonl", out, n_frames=2),
        ),
        Format(
            "labels",
            {"labels.jsonl": _lines(label, {**label, "id": "e/0/1"})},
            lambda f, _: score_labels([f / "labels.jsonl"]),
        ),
        Format("tau", {"pairs.jsonl": _lines(*pairs)}, lambda f, _: read_pairs(f / "pairs.jsonl")),
        Format("recall", {"recall.json": _json(recall)}, lambda f, _: read_recall(f / "recall.json")),
        Format(
            "similarity", {"similarity.json": _json(bounds)}, lambda f, _: read_bounds(f / "similarity.json")
        ),
        Format("model table", {"rows.csv": table.encode()}, lambda f, _: read_model_rows(f / "rows.csv")),
    ]


# The project's own records


def example(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one for each kind
    """A value that fits a JSON schema, with one entry in every list and object."""
    if "$ref" in schema:
        return example(known[schema["$ref"].rpartition("/")[2]], known)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return example(schema[key][0], known)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "array":
        items = schema.get("prefixItems") or [schema.get("items") or {"type": "string"}]
        return [example(each, known) for each in items]
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        plain = {name: example(each, known) for name, each in schema.get("properties", {}).items()}
        return plain or ({"a": example(inner, known)} if isinstance(inner, dict) else {})
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    return {"integer": 1, "number": 0.5, "boolean": True, "null": None}.get(schema.get("type", ""), "a")


def _records(made: Path) -> list[Format]:
    from theodolite.core.scores import ItemScore
    from theodolite.core.views import ItemRow
    from theodolite.diagnose.calibration import read_calibration, write_calibration
    from theodolite.diagnose.items import read_items
    from theodolite.diagnose.record import Diagnosis, read_diagnosis
    from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
    from theodolite.instruments.grid.data.files import read_dataset, write_dataset
    from theodolite.runs import RunInfo
    from theodolite.runs.run import Run, read_info
    from theodolite.twins.certify import _read_answers, read_certificate
    from theodolite.twins.separate import read_table

    scores = [ItemScore(f"i{n}", "compass.right", n / 3, f"c{n}", "aligned") for n in range(3)]
    twins = {"pocket:grounded": "x"}
    write_calibration(made / "c.json.gz", {"pocket:grounded": scores}, items="h", identities=twins)
    write_dataset(
        make_dataset(DatasetPlan("pure", 1, seed=0, buckets=("A-F0-D1",))),
        made / "grid",
        pictures=False,
        table=False,
    )
    grid = {path.name: path.read_bytes() for path in (made / "grid").glob("*.json*")}
    documents = {
        name: example(form.model_json_schema(), form.model_json_schema().get("$defs", {}))
        for name, form in (("d", Diagnosis), ("i", ItemRow), ("r", RunInfo))
    }
    estimate = {
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "n": 10,
        "level": 0.95,
        "method": "BCa",
        "n_items": 20,
        "p_value": None,
    }
    line = {
        "task": "grid",
        "what": "right",
        "split": "crossed",
        "estimate": estimate,
        "part": "",
        "unread": 0,
    }
    certificate = {
        "model": "pocket:grounded",
        "identity": "x",
        "n": 5,
        "seed": 1,
        "lines": [line, line],
        "theodolite": "1",
    }
    metric = {
        "key": "grid.right",
        "name": "right",
        "higher_is_grounded": True,
        "origin": "ours",
        "needs": "text",
        "bounds": [0, 1],
    }
    row = {
        "metric": metric,
        **dict.fromkeys(("auc", "grounded", "shortcut", "mixed", "position"), estimate),
        "n": [3, 4],
        "why": "",
    }
    sides = {"grounded": "a", "shortcut": "b", "mixed": "c"}
    separation = {"sides": sides, "split": "aligned", "seed": 9, "rows": [row, row]}
    answers = _lines({"identity": "x"}, {"gold": "left", "answer": "left"})

    def scored(folder: Path, _: Path) -> None:
        with Run.open(folder) as run:
            run.scores()

    return [
        Format("diagnosis", {"diagnosis.json": _json(documents["d"])}, lambda f, _: read_diagnosis(f)),
        Format(
            "items", {"items.jsonl": _lines(documents["i"], documents["i"])}, lambda f, _: list(read_items(f))
        ),
        Format("run", {"run.json": _json(documents["r"])}, lambda f, _: read_info(f)),
        Format(
            "calibration",
            {"c.json.gz": (made / "c.json.gz").read_bytes()},
            lambda f, _: read_calibration(f / "c.json.gz", items="h", identities=twins),
        ),
        Format(
            "certificate",
            {"certificate.json": _json(certificate)},
            lambda f, _: read_certificate(f / "certificate.json"),
        ),
        Format(
            "separation",
            {"s.json.gz": gzip.compress(_json(separation))},
            lambda f, _: read_table(f / "s.json.gz"),
        ),
        Format(
            "twin answers",
            {"a.jsonl.gz": gzip.compress(answers)},
            lambda f, _: _read_answers(f / "a.jsonl.gz"),
        ),
        Format("grid data", grid, lambda f, _: read_dataset(f)),
    ]


# Logs and tables


def _inspect_sample() -> dict[str, Any]:
    asked = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Where is the cup?"}, {"type": "image", "image": "a.png"}],
        },
    ]
    message = {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "low"}, {"type": "text", "text": "left"}],
    }
    output = {
        "choices": [{"message": message, "stop_reason": "stop"}],
        "usage": {"input_tokens": 11, "output_tokens": 3},
    }
    return {"id": "a", "epoch": 1, "messages": asked, "output": output, "attachments": {"1": "x"}}


def _logs() -> list[Format]:
    from theodolite.core.types import Request
    from theodolite.instruments.ask.data.questions import find_question_file, load_questions, write_questions
    from theodolite.models import open_model

    def replayed(name: str) -> Callable[[Path, Path], Any]:
        def read(folder: Path, _: Path) -> Any:
            return open_model(f"replay:{folder / name}").generate([Request.ask("Where is the cup?", ref="a")])

        return read

    def asked(name: str) -> Callable[[Path, Path], Any]:
        def read(folder: Path, out: Path) -> None:
            find_question_file(folder)
            write_questions(load_questions(folder / name).questions, out)

        return read

    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("header.json", _json({"version": 2}))
        for number in (1, 2):
            members.writestr(f"samples/{number}_epoch_1.json", _json({**_inspect_sample(), "id": number}))
    lmms = {
        "doc_id": 1,
        "input": "<image>\nWhere is the cup?",
        "resps": [["left"]],
        "filtered_resps": ["left"],
        "target": "left",
    }
    question = {
        "id": "q",
        "question": "Where is the cup?",
        "options": ["left", "right"],
        "answer": "left",
        "picture": "a.png",
        "group": "g",
    }
    answer = {"image": "a.png", "question": "Where is the cup?", "prediction": "left", "answer": "left"}
    talk = {
        "id": "t",
        "image": "a.png",
        "conversations": [{"from": "human", "value": "<image>\nWhere?"}, {"from": "gpt", "value": "left"}],
    }
    table = b"image,question,prediction\na.png,Where is the cup?,left\na.png,Who?,right\n"
    return [
        Format(
            "lmms-eval",
            {"x_samples_y.jsonl": _lines(lmms, {**lmms, "doc_id": 2})},
            replayed("x_samples_y.jsonl"),
        ),
        Format(
            "inspect json",
            {"log.json": _json({"version": 2, "samples": [_inspect_sample(), _inspect_sample()]})},
            replayed("log.json"),
        ),
        Format("inspect eval", {"log.eval": archive.getvalue()}, replayed("log.eval")),
        Format("answers jsonl", {"a.jsonl": _lines(answer, talk)}, replayed("a.jsonl")),
        Format("answers csv", {"a.csv": table}, replayed("a.csv")),
        Format("answers tsv", {"a.tsv": table.replace(b",", b"\t")}, replayed("a.tsv")),
        Format(
            "questions",
            {"questions.jsonl": _lines(question, {**question, "id": "r"}), "a.png": picture()},
            asked("questions.jsonl"),
        ),
        Format(
            "question list",
            {"q.json": _json({"questions": [question, talk]}), "a.png": picture()},
            asked("q.json"),
        ),
    ]


# Pictures


def _pictures() -> list[Format]:
    from theodolite.core.types import Picture

    def decoded(name: str) -> Callable[[Path, Path], Any]:
        def read(folder: Path, _: Path) -> None:
            shown = Picture.from_path(folder / name)
            if shown.pixels().shape[:2] != shown.size[::-1]:
                raise AssertionError(f"{shown.pixels().shape} is not {shown.size}")

        return read

    kinds = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp", "TIFF": "tif"}
    return [
        Format(f"picture {kind}", {f"a.{ending}": picture(24, 16, kind)}, decoded(f"a.{ending}"))
        for kind, ending in kinds.items()
    ]
