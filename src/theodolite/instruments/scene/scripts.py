"""Scripted models with one known fault each, which must get exactly its signature: ``scripted:scene-<name>``.

They use the item's hint (task, setting, question, gold). Without a picture they know nothing, so all but the refuser and the
rambler then answer like `blind_prior`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from theodolite.answers import json_values
from theodolite.core.errors import UsageError
from theodolite.core.files import check
from theodolite.core.types import Request, Response
from theodolite.instruments.scene.data.files import LETTERS, SceneQuestion
from theodolite.instruments.scene.experiments.noise import noisy_graph, scene_rng
from theodolite.instruments.scene.formulas.solver import solve
from theodolite.instruments.scene.graph_parser import star_from_json
from theodolite.worlds.scene_graph import PAIRS, Edge, Node, StarGraph

Script: TypeAlias = Callable[[Request], str | Response]

_PRIOR_LENGTH_M = {"indoor": 1.0, "outdoor": 4.0}
_BLIND = ("blind",)
_TRUST_NOISE = 0.15


def _hint(request: Request) -> Mapping[str, Any]:
    if "task" not in request.hint:
        raise UsageError("the scripted models of scenes answer only the items of `theodolite scene run`")
    return request.hint


def _question(hint: Mapping[str, Any]) -> SceneQuestion:
    return check(SceneQuestion, hint["question"])


def _true(hint: Mapping[str, Any]) -> StarGraph:
    return star_from_json(json.loads(str(hint["gold"])))


def _write(graph: StarGraph) -> str:
    return json.dumps(graph.as_json())


def _is_blind(hint: Mapping[str, Any]) -> bool:
    return hint["setting"] in _BLIND


def oracle(request: Request) -> str:
    """Answer right everything that it can see."""
    hint = _hint(request)
    return blind_prior(request) if _is_blind(hint) else str(hint["gold"])


def blind_prior(request: Request) -> str:
    """Answer from the words of the question alone; its graph is the same for every scene."""
    hint = _hint(request)
    if hint["task"] == "graph":
        true = _true(hint)
        nodes = tuple(Node(n.id, distance_m=4.0, width_m=0.8, length_m=1.2, height_m=1.0) for n in true.nodes)
        edges = tuple(Edge(e.to, distance_m=3.0, relation=frozenset({"right"})) for e in true.edges)
        return _write(StarGraph(true.centre, nodes, edges))
    question = _question(hint)
    if question.form == "number":
        return f"{_PRIOR_LENGTH_M[question.domain]:.2f}"
    return question.letters[int(scene_rng(question.text, 0).integers(len(question.letters)))]


def shortcut(request: Request) -> str:
    """Answer right, with a graph that has nothing to do with the scene."""
    hint = _hint(request)
    if hint["task"] == "graph":
        return _write(_random_graph(_true(hint), f"{hint['scene']}/{hint['setting']}"))
    return oracle(request)


def disconnected(request: Request) -> str:
    """Give the right graph, and random answers, drawn anew in every setting."""
    hint = _hint(request)
    if hint["task"] == "graph":
        return oracle(request)
    question = _question(hint)
    rng = scene_rng(f"{question.id}/{hint['setting']}", 1)
    if question.form == "number":
        return f"{float(np.exp(rng.uniform(np.log(0.1), np.log(50)))):.2f}"
    return str(rng.choice(list(LETTERS[: len(question.options)])))


def trusting(request: Request) -> str:
    """Answer right from the picture, with a fair graph of its own, but follow any graph in the prompt."""
    hint = _hint(request)
    if _is_blind(hint):
        return blind_prior(request)
    if hint["task"] == "graph":
        true = _true(hint)
        return _write(noisy_graph(true, _TRUST_NOISE, scene_rng(str(hint["scene"]), 2)))
    graphs = [decoded.value for decoded in json_values(request.text) if isinstance(decoded.value, dict)]
    if not graphs:
        return str(hint["gold"])
    derived = solve(_question(hint), star_from_json(graphs[0]))
    return str(derived.value) if derived.is_solved else "The graph does not say."


def refuser(_: Request) -> Response:
    """Refuse everything."""
    return Response("refused", reason="scripted:scene-refuser refuses every request")


def rambler(_: Request) -> str:
    """Talk around the question and never answer it."""
    return (
        "What a rich and layered view. Much could be said of it, and much has been, by many and at length. "
        * 2
    )


def _random_graph(shape: StarGraph, name: str) -> StarGraph:
    """Draw lengths from centimetres to a hundred metres, and random words."""
    rng = scene_rng(name, 3)

    def length() -> float:
        return round(float(np.exp(rng.uniform(np.log(0.05), np.log(100)))), 2)

    nodes = tuple(
        Node(n.id, distance_m=length(), width_m=length(), length_m=length(), height_m=length())
        for n in shape.nodes
    )
    edges = tuple(
        Edge(e.to, distance_m=length(), relation=frozenset(pair[int(rng.integers(2))] for pair in PAIRS))
        for e in shape.edges
    )
    return StarGraph(shape.centre, nodes, edges)
