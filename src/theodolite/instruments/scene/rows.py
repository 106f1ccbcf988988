"""Rows of scenes: questions and graphs, with the scene from above as it is and as the model said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from theodolite.core.views import ItemRow, PlanView, SeenObject
from theodolite.geometry import SE3
from theodolite.instruments.instrument import Place
from theodolite.instruments.rows import Values, common, rounded, verdict
from theodolite.instruments.scene.data.files import question_from_json, read_data
from theodolite.instruments.scene.data.graph import SceneGraph, SceneObject, StarGraph
from theodolite.instruments.scene.formulas.layout import lay_out
from theodolite.instruments.scene.formulas.sgc import score_answer
from theodolite.instruments.scene.metrics import PICTURES
from theodolite.instruments.scene.reading.answers import parse_answer
from theodolite.instruments.scene.reading.graph_parser import GraphReading, parse_graph
from theodolite.runs import Result, Run

RIGHT_FROM = 0.5
"""A number counts as right from this mean relative accuracy on: half of the tolerances hold."""


def scene_rows(run: Run, place: Place, values: Values) -> Iterator[ItemRow]:
    """Every question and every graph of a run."""
    folder = Path(str(run.info.settings["data"]))
    scenes = read_data(folder).scenes if folder.is_dir() else {}
    split = str(run.info.settings.get("split") or "")
    shown: set[str] = set()
    results = list(run.results())
    graphs = {
        (str(r.item.meta["scene"]), str(r.item.meta["setting"])): r
        for r in results
        if r.item.meta["task"] == "graph"
    }
    for result in results:
        meta = cast("Mapping[str, Any]", result.item.meta)
        scene, setting = str(meta["scene"]), str(meta["setting"])
        if run.info.instrument == PICTURES and setting == "base":
            continue  # the main run shows it
        view = _view(scenes.get(scene), graphs.get((scene, setting)) or graphs.get((scene, "base")))
        own = values.get((scene, split), {}) if setting == "base" and scene not in shown else {}
        if own:
            shown.add(scene)  # readings are of scenes: the first row of each carries them
        about = _graph(result) if meta["task"] == "graph" else _question(result)
        is_read = bool(about.pop("is_read"))
        yield ItemRow(
            id=result.item.name,
            instrument="scene",
            model=run.info.model,
            split=split,
            cluster=scene,
            condition="plain" if setting == "base" else setting,
            prompt=result.item.request.text,
            values=rounded(own),
            plan=view,
            **about,
            **common(result, place, is_read=is_read),
        )


def _question(result: Result) -> dict[str, Any]:
    question = question_from_json(cast("Mapping[str, Any]", result.item.meta["question"]))
    text = result.record.response.text if result.record and result.record.response.is_answered else None
    answer = parse_answer(text, question) if text is not None else None
    is_read = answer is not None and answer.is_read
    score = score_answer(answer, question) if answer is not None and is_read else None
    return {
        "question": question.lines,
        "kind": str(question.kind),
        "gold": str(question.gold),
        "read_as": str(answer.value) if answer is not None and is_read else "",
        "correct": verdict(None if score is None else score >= RIGHT_FROM, str(result.item.meta["setting"])),
        "is_read": is_read,
    }


def _graph(result: Result) -> dict[str, Any]:
    reading = _said(result)
    return {
        "question": "Write down the layout of this place as a 3D scene graph.",
        "kind": "scene graph",
        "gold": "the graph, from above",
        "read_as": "" if reading is None or reading.graph is None else f"{len(reading.graph.nodes)} objects",
        "correct": None,
        "is_read": reading is not None and reading.graph is not None,
    }


def _said(result: Result | None) -> GraphReading | None:
    """The graph that a model gave; None if it was not asked or gave nothing."""
    if result is None or result.record is None or not result.record.response.is_answered:
        return None
    meta = cast("Mapping[str, Any]", result.item.meta)
    marks = [int(thing["id"]) for thing in meta["graph"]["objects"]]
    return parse_graph(result.record.response.text, int(meta["centre"]), marks)


def _view(scene: SceneGraph | None, asked: Result | None) -> PlanView | None:
    if scene is None:
        return None
    true = [_seen(thing) for thing in scene.objects]
    reading = _said(asked)
    if asked is None or asked.record is None:
        return PlanView(true=true, said_problem="it was not asked for its graph")
    text = asked.record.response.text
    if reading is None or reading.graph is None:
        why = reading.reason if reading is not None else asked.record.response.reason
        return PlanView(true=true, said_text=text, said_problem=why or "its graph could not be read")
    said = said_objects(reading.graph)
    told = {node.id for node in reading.graph.nodes} | {edge.to for edge in reading.graph.edges}
    lost = len(told) - len(said)
    problem = f"{lost} of its objects have no place that its numbers allow" if lost else ""
    return PlanView(true=true, said=said, said_text=text, said_problem=problem)


def said_objects(graph: StarGraph) -> list[SeenObject]:
    """The objects of a model's graph that its numbers give a place; an edge may lead to one that it describes nowhere."""
    nodes = {node.id: node for node in graph.nodes}
    found = []
    for mark, (x, z) in lay_out(graph).places_m.items():
        if math.isfinite(x) and math.isfinite(z):
            node = nodes.get(mark)
            width, depth = (node.length_m, node.width_m) if node is not None else (None, None)
            found.append(
                SeenObject(
                    mark=mark, x_m=round(x, 3), z_m=round(z, 3), width_m=_or(width), depth_m=_or(depth)
                )
            )
    return found


def _or(length_m: float | None) -> float:
    """A length to draw; a hand's breadth where none was given."""
    return length_m if length_m is not None and math.isfinite(length_m) and length_m > 0 else 0.1


def _seen(thing: SceneObject) -> SeenObject:
    x, _, z = thing.centre_cam
    along = SE3.from_quaternion(thing.rotation_cam, (0.0, 0.0, 0.0)).apply(np.array([1.0, 0.0, 0.0]))
    return SeenObject(
        mark=thing.id,
        category=thing.category,
        x_m=round(x, 3),
        z_m=round(z, 3),
        width_m=thing.length_m,
        depth_m=thing.width_m,
        turn_deg=round(math.degrees(math.atan2(along[2], along[0])), 1),
    )
