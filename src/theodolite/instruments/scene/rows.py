"""Rows of scenes: questions and graphs, with the scene from above as it is and as the model described it."""

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
from theodolite.instruments.scene.data.files import read_data
from theodolite.instruments.scene.data.graph import SceneGraph, SceneObject, StarGraph
from theodolite.instruments.scene.formulas.layout import lay_out
from theodolite.instruments.scene.formulas.mra import score_value
from theodolite.instruments.scene.questions import PICTURES
from theodolite.instruments.scene.reading.results import (
    GraphResult,
    read_answer_result,
    read_graph_result,
)
from theodolite.runs import Result, Run

RIGHT_FROM = 0.5
"""A number counts as right if its MRA is at least this."""
_HAND_M = 0.1
"""The drawn size of an object without one."""


def scene_rows(run: Run, place: Place, values: Values) -> Iterator[ItemRow]:
    """Every question and every graph of a run."""
    folder = Path(str(run.info.settings["data"]))
    scenes = read_data(folder).scenes if folder.is_dir() else {}
    split = str(run.info.settings.get("split") or "")
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
        about = _graph_fields(result) if meta["task"] == "graph" else _question_fields(result)
        read, item = about.pop("read"), str(about.pop("item"))
        own = values.get((item, split), {}) if setting == "base" else {}
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
            **common(result, place, **read),
        )


def _question_fields(result: Result) -> dict[str, Any]:
    row = read_answer_result(result)
    question, answer = row.question, row.answer
    is_right = score_value(question, answer.value) >= RIGHT_FROM if answer.is_read else None
    return {
        "item": question.id,
        "question": question.lines,
        "kind": str(question.kind),
        "gold": str(question.gold),
        "read_as": str(answer.value) if answer.is_read else "",
        "correct": verdict(is_right, row.setting),
        "read": {"answer": answer},
    }


def _graph_fields(result: Result) -> dict[str, Any]:
    row = read_graph_result(result)
    graph = row.reading.graph
    return {
        "item": row.scene,
        "question": "Write down the layout of this place as a 3D scene graph.",
        "kind": "scene graph",
        "gold": "the graph, from above",
        "read_as": "" if graph is None else f"{len(graph.nodes)} objects",
        "correct": None,
        "read": {"unread": row.reading.reason if graph is None else ""},
    }


def _view(scene: SceneGraph | None, asked: Result | None) -> PlanView | None:
    if scene is None:
        return None
    true = [_seen(thing) for thing in scene.objects]
    if asked is None or asked.record is None:
        return PlanView(true=true, said_problem="the model was not asked for its graph")
    text = asked.record.response.text
    row: GraphResult = read_graph_result(asked)
    graph = row.reading.graph
    if graph is None:
        return PlanView(true=true, said_text=text, said_problem=row.reading.reason)
    said = said_objects(graph)
    described = {node.id for node in graph.nodes} | {edge.to for edge in graph.edges}
    lost = len(described) - len(said)
    problem = f"{lost} of its objects cannot be placed by its numbers" if lost else ""
    return PlanView(true=true, said=said, said_text=text, said_problem=problem)


def said_objects(graph: StarGraph) -> list[SeenObject]:
    """The objects of a model's graph that its numbers place; an edge may lead to one that is not described."""
    nodes = {node.id: node for node in graph.nodes}
    found = []
    for mark, (x, z) in lay_out(graph).places_m.items():
        if math.isfinite(x) and math.isfinite(z):
            node = nodes.get(mark)
            width, depth = (node.length_m, node.width_m) if node is not None else (None, None)
            found.append(
                SeenObject(
                    mark=mark, x_m=round(x, 3), z_m=round(z, 3), width_m=_drawn(width), depth_m=_drawn(depth)
                )
            )
    return found


def _drawn(length_m: float | None) -> float:
    return length_m if length_m is not None and math.isfinite(length_m) and length_m > 0 else _HAND_M


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
