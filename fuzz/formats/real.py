"""Pieces of real data sets, where they lie beside the checkout; none otherwise."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.formats.sample import Format, json_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def real_formats() -> list[Format]:
    """Return small pieces of COCO, Lyft, STAR, TEACh, R2R, VSR and a real keyframe."""
    from theodolite.instruments.compass.data.coco import coco_pairs
    from theodolite.instruments.compass.data.vsr import vsr_audit
    from theodolite.instruments.scene.data.sources.nuscenes import camera_box_views, nuscenes_views
    from theodolite.instruments.trace.data.sources.r2r import read_r2r
    from theodolite.instruments.trace.data.sources.star import read_star
    from theodolite.instruments.trace.data.sources.teach import read_teach

    if not DATA.is_dir():
        return []
    coco = json.loads((DATA / "coco_tiny_val" / "instances.json").read_bytes())
    images = coco["images"][:2]
    few = {image["id"] for image in images}
    coco |= {"images": images, "annotations": [a for a in coco["annotations"] if a["image_id"] in few]}
    shown = {
        image["file_name"]: (DATA / "coco_tiny_val" / "images" / image["file_name"]).read_bytes()
        for image in images
    }
    star, teach, r2r = DATA / "star", min((DATA / "teach_edh").glob("*.json"), key=_size), DATA / "r2r"
    questions = json.loads((star / "questions.json").read_bytes())[:2]
    paths = json.loads(next(r2r.glob("R2R*.json")).read_bytes())[:2]
    seen = {name for path in paths for name in path["path"]}
    names = sorted({f"connectivity/{path['scan']}_connectivity.json" for path in paths})
    houses = {
        name: [v for v in json.loads((r2r / name).read_bytes()) if v["image_id"] in seen] for name in names
    }
    captions = (DATA / "vsr" / "test.jsonl").read_bytes().splitlines(keepends=True)[:12]
    frame = DATA / "nuscenes_demo"
    boxes = json.loads((frame / "boxes.json").read_bytes())
    boxes["cameras"] = dict(list(boxes["cameras"].items())[:1])
    pictures = {row["image"]: (frame / row["image"]).read_bytes() for row in boxes["cameras"].values()}
    return [
        Format(
            "real coco",
            {"instances.json": json_of(coco), **shown},
            lambda f, _: coco_pairs(f / "instances.json", f),
            fixed=tuple(shown),
        ),
        Format(
            "real lyft",
            {p.name: p.read_bytes() for p in (DATA / "lyft_tables").glob("*.json")},
            lambda f, _: list(nuscenes_views(f)),
        ),
        Format(
            "real keyframe",
            {"boxes.json": json_of(boxes), **pictures},
            lambda f, _: list(camera_box_views(f)),
            fixed=tuple(pictures),
        ),
        Format(
            "real star",
            {"questions.json": json_of(questions), "classes.json": (star / "classes.json").read_bytes()},
            lambda f, _: read_star(f, video_fps=30),
        ),
        Format(
            "real released star",
            {"q.json": (star / "released_format_sample.json").read_bytes()},
            lambda f, _: read_star(f / "q.json", video_fps=30),
        ),
        Format("real teach", {teach.name: teach.read_bytes()}, lambda f, _: read_teach(f)),
        Format(
            "real r2r",
            {"R2R.json": json_of(paths), **{name: json_of(rows) for name, rows in houses.items()}},
            lambda f, _: read_r2r(f),
        ),
        Format("real vsr", {"test.jsonl": b"".join(captions)}, lambda f, _: vsr_audit(f / "test.jsonl")),
    ]


def _size(path: Path) -> int:
    return path.stat().st_size
