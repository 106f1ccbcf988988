"""Episodes, traces, and what verifiers read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from fuzz.formats.sample import Files, Format, json_of, lines_of, picture


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
        "questions.json": json_of(
            [question, {**question, "question_id": "b"}, {**codes, "question_id": "c"}]
        ),
        "classes.json": json_of(classes),
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
    return json_of(
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


def trace_formats(made: Path) -> list[Format]:
    from theodolite.instruments.instrument import UserData
    from theodolite.instruments.trace.data.dataset import EpisodeSet, read_episodes, write_episodes
    from theodolite.instruments.trace.data.sources.r2r import read_r2r
    from theodolite.instruments.trace.data.sources.star import read_star
    from theodolite.instruments.trace.data.sources.teach import read_teach
    from theodolite.instruments.trace.data.sources.videos import read_videos
    from theodolite.instruments.trace.data.traces import logged_models, read_traces
    from theodolite.instruments.trace.experiments.agreement import score_labels
    from theodolite.instruments.trace.experiments.predict import read_model_rows
    from theodolite.instruments.trace.experiments.tau import read_pairs
    from theodolite.instruments.trace.verifiers.detection import read_recall
    from theodolite.instruments.trace.verifiers.similarity import read_bounds
    from theodolite.worlds.stories import make_world

    def written(read: Callable[[Path], EpisodeSet]) -> Callable[[Path, Path], Any]:
        return lambda folder, out: write_episodes(read(folder).episodes, out)

    def read_log(folder: Path, _: Path) -> None:
        read_traces(folder / "traces.jsonl", {e.id: e for e in read_episodes(folder).episodes})
        logged_models(UserData("trace", "traces", folder, logs=(folder / "traces.jsonl",)))

    few = [
        replace(episode, frames=episode.frames[:2]) for episode in list(make_world("video", 1, seed=3))[:2]
    ]
    write_episodes(few, made / "episodes")
    episodes = {
        p.relative_to(made / "episodes").as_posix(): p.read_bytes() for p in (made / "episodes").rglob("*.*")
    }
    first = json.loads(episodes["episodes.jsonl"].splitlines()[0])["id"]
    traces = lines_of(
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
    videos = lines_of(
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
        "identity": "d",
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
        Format("star", _star(), written(partial(read_star, video_fps=30))),
        Format(
            "star classes",
            _star(),
            lambda f, _: read_star(f, classes=f / "names", frames=f / "frames", video_fps=30),
        ),
        Format(
            "teach",
            {"valid_seen__g.edh0.json": _teach(), "g/driver.frame.1.0.jpeg": picture(kind="JPEG")},
            written(lambda f: read_teach(f, images=f)),
        ),
        Format(
            "r2r",
            {
                "R2R_x.json": json_of([path, {**path, "path_id": 2}]),
                "connectivity/s_connectivity.json": json_of(house),
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
            {"labels.jsonl": lines_of(label, {**label, "id": "e/0/1"})},
            lambda f, _: score_labels([f / "labels.jsonl"]),
        ),
        Format("tau", {"pairs.jsonl": lines_of(*pairs)}, lambda f, _: read_pairs(f / "pairs.jsonl")),
        Format(
            "recall",
            {"recall.json": json_of(recall)},
            lambda f, _: read_recall(f / "recall.json", identity="d", threshold=0.4),
        ),
        Format(
            "similarity",
            {"similarity.json": json_of(bounds)},
            lambda f, _: read_bounds(f / "similarity.json"),
        ),
        Format("model table", {"rows.csv": table.encode()}, lambda f, _: read_model_rows(f / "rows.csv")),
    ]
