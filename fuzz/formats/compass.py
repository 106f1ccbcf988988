"""Pairs of objects, and the annotations that they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzz.formats.sample import Format, json_of, lines_of, picture


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


def compass_formats() -> list[Format]:
    from theodolite.core.files import Problem
    from theodolite.instruments.compass.data.coco import coco_pairs, find_pairs
    from theodolite.instruments.compass.data.gqa import gqa_pairs
    from theodolite.instruments.compass.data.pairs import Sieve, read_pairs, write_pairs
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
        "template": "Where is the {tgt} from the {ref}?",
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
        Format("coco", {"instances.json": json_of(_coco()), **shown}, read_coco),
        Format(
            "gqa", {"graphs.json": json_of(graphs), **shown}, lambda f, _: gqa_pairs(f / "graphs.json", f)
        ),
        Format(
            "vsr",
            {"test.jsonl": lines_of(*captions), "boxes.json": json_of(_coco()), **shown},
            lambda f, _: vsr_pairs(f / "test.jsonl", f / "boxes.json", f),
        ),
        Format(
            "whatsup",
            {"captions.json": json_of(whatsup), "boxes.json": json_of(_coco()), **shown},
            lambda f, _: whatsup_pairs(f / "captions.json", f, annotations=f / "boxes.json"),
        ),
        Format(
            "pairs",
            {"pairs.jsonl": lines_of(pair, {**pair, "id": "2", "picture": "000000000002.jpg"}), **shown},
            read_pair_file,
        ),
        Format(
            "prompts", {"prompts.jsonl": lines_of(prompt)}, lambda f, _: read_prompts(f / "prompts.jsonl")
        ),
    ]
