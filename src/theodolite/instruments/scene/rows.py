"""Rows of scenes: questions and graphs, with the scene from above as it is and as the model described it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.core.views import PlanView, SeenObject
from theodolite.geometry import SE3
from theodolite.instruments.rows import View, verdict
from theodolite.instruments.scene.data.files import MANIFEST, read_data
from theodolite.instruments.scene.formulas.layout import lay_out
from theodolite.instruments.scene.formulas.mra import score_value
from theodolite.instruments.scene.questions import BASE, PICTURES, is_graph, setting_of
from theodolite.instruments.scene.reading.results import GraphResult, read_answer_result, read_graph_result
from theodolite.runs import Result, Run
from theodolite.worlds.scene_graph import SceneGraph, SceneObject, StarGraph

RIGHT_FROM = 0.5
"""A number counts as right if its MRA is at least this."""
_HAND_M = 0.1
"""The drawn size of an object without one."""


def scene_view(run: Run) -> View:
    """Return a function that shows a question or a graph of a run with its scene from above."""
    folder = Path(str(run.info.settings["data"]))
    scenes = read_data(folder).scenes if (folder / MANIFEST).is_file() else {}
    graphs = {(r.item.cluster, setting_of(r.item)): r for r in run.results() if is_graph(r.item)}

    def view(result: Result) -> dict[str, Any] | None:
        item = result.item
        if run.info.instrument == PICTURES and item.truth.is_plain:
            return None  # the main run shows it
        asked = graphs.get((item.cluster, setting_of(item))) or graphs.get((item.cluster, BASE))
        return {
            **(_GRAPH_FIELDS if is_graph(item) else _question_fields(result)),
            "prompt": item.request.text,
            "plan": _view(scenes.get(item.cluster), asked),
        }

    return view


_GRAPH_FIELDS = {
    "question": "Write down the layout of this place as a 3D scene graph.",
    "gold": "the graph, from above",
}


def _question_fields(result: Result) -> dict[str, Any]:
    """A number is right if it is near enough; answers are shown as they were asked for, by their letters."""
    row = read_answer_result(result)
    question, answer = row.question, row.answer
    is_right = score_value(question, answer.value) >= RIGHT_FROM if answer.is_read else None
    return {
        "question": question.lines,
        "gold": question.gold,
        "read_as": str(answer.value) if answer.is_read else "",
        "correct": verdict(is_right, row.setting),
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
