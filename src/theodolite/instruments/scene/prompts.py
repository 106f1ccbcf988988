"""What a model is told. No prompt holds a category, a 2D box, a coordinate or anything of the camera.

A prompt without a picture says so: it never claims that one is there, and asks for the best guess instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from theodolite.instruments.scene.data.graph import SceneGraph, StarGraph
from theodolite.instruments.scene.data.questions import Form, Question
from theodolite.instruments.scene.data.relations import PREDICATES
from theodolite.instruments.scene.settings import GraphSetting, Mode, ModeName, QaSetting

QA_TOKENS, GRAPH_TOKENS = 2048, 4096
"""The longest direct answer: the limits of the published runs."""
_FINAL_TOKENS = 64
"""Room for a short final answer after reasoning within a budget."""

_WITH_PICTURE = "The picture shows a place. Some objects in it carry a round mark with a number; object 3 is the one marked 3."
_WITHOUT_PICTURE = (
    "There is a place with objects that are known only by their numbers, 1 to {n}. There is no picture of it. "
    "Give the answer that you think most likely; do not decline."
)
_WITH_GRAPH_ALONE = (
    "There is a place with objects that are known only by their numbers, 1 to {n}. There is no picture of it, but there is a "
    "description of it in numbers."
)

GRAPH_KEY = (
    "In this 3D scene graph all lengths are in metres. For each object: its distance from the camera (dist_to_cam, to its "
    "middle) and its size as width w (the shorter horizontal side), length l (the longer horizontal side) and height h. For "
    "each edge: the distance between the middles of both objects, and where the object `to` is, seen from the camera, "
    "relative to the object `from`: left, right, in front of (nearer to the camera), behind (farther from it), up, down."
)

_HOW: Mapping[Form, Mapping[ModeName, str]] = {
    "choice": {
        "direct": "Answer with the letter of the right option only.",
        "chain of thought": "Think step by step. Then end with a line of the form: Answer: <letter>",
        "thinking": "You may think for up to about {budget} tokens. Then answer with the letter of the right option only.",
    },
    "number": {
        "direct": "Answer with a single number only.",
        "chain of thought": "Think step by step. Then end with a line of the form: Answer: <number>",
        "thinking": "You may think for up to about {budget} tokens. Then answer with a single number only.",
    },
}

_SCHEMA = """{
  "objects": [{"id": <number>, "dist_to_cam": <metres>, "size": {"w": <metres>, "l": <metres>, "h": <metres>}}],
  "edges": [{"from": <number>, "to": <number>, "distance": <metres>, "relation": [<words>]}]
}"""

_GRAPH_TASK = """Write down the layout of this place as a 3D scene graph in JSON.

- objects: one entry for each of the objects {marks}. `dist_to_cam` is the distance from the camera to the object's middle. \
`size` holds the real width (the shorter horizontal side), length (the longer horizontal side) and height. All in metres.
- edges: one entry from object {centre} to each of the other objects. `distance` is the distance between the two middles, in \
metres. `relation` lists every word that is true of the object `to`, seen from the camera, relative to object {centre}. Use \
only these words: {words}. "in front of" means nearer to the camera, "behind" farther from it.

The form:
```json
{schema}
```
"""

_GRAPH_HOW: Mapping[ModeName, str] = {
    "direct": "Answer with the JSON only.",
    "chain of thought": "Think step by step first. Then end with the JSON in a fenced block.",
    "thinking": "You may think for up to about {budget} tokens. Then answer with the JSON only.",
}


def qa_prompt(
    question: Question,
    n_objects: int,
    *,
    setting: QaSetting = "base",
    mode: Mode | None = None,
    graph: StarGraph | None = None,
) -> str:
    """The whole text of a question.

    Args:
        question: to ask.
        n_objects: in its scene.
        setting: decides what is said about a picture.
        mode: how to answer; directly if not given.
        graph: put before the question, in the settings that have one.
    """
    mode = mode or Mode()
    parts = [_opening(setting, n_objects)]
    if graph is not None:
        parts += [GRAPH_KEY, f"```json\n{graph_text(graph)}\n```"]
    parts += [question.lines, _HOW[question.form][mode.name].format(budget=mode.budget_tokens)]
    return "\n\n".join(parts)


def graph_prompt(scene: SceneGraph, *, setting: GraphSetting = "base", mode: Mode | None = None) -> str:
    """The whole text that asks for a scene's star graph."""
    mode = mode or Mode()
    task = _GRAPH_TASK.format(
        marks=", ".join(str(thing.id) for thing in scene.objects),
        centre=scene.centre,
        words=", ".join(PREDICATES),
        schema=_SCHEMA,
    )
    how = _GRAPH_HOW[mode.name].format(budget=mode.budget_tokens)
    return "\n\n".join([_opening(setting, len(scene.objects)), task.strip(), how])


def graph_text(graph: StarGraph) -> str:
    """A graph as it stands in a prompt: JSON, one object or edge a line.

    >>> from theodolite.instruments.scene.data.graph import Edge, Node
    >>> print(graph_text(StarGraph(1, (Node(1, 5.0, 1.0, 2.0, 0.5),), (Edge(2, 3.0, frozenset({"left"})),))))
    {"objects": [
      {"id": 1, "dist_to_cam": 5.0, "size": {"w": 1.0, "l": 2.0, "h": 0.5}}],
     "edges": [
      {"from": 1, "to": 2, "distance": 3.0, "relation": ["left"]}]}
    """
    whole = graph.as_json()
    lines = {key: ",\n".join(f"  {json.dumps(row)}" for row in rows) for key, rows in whole.items()}
    return f'{{"objects": [\n{lines["objects"]}],\n "edges": [\n{lines["edges"]}]}}'


def longest_answer(task: str, mode: Mode) -> int:
    """In tokens. Reasoning within a budget leaves room for the answer, and no more: that is the cap."""
    direct = QA_TOKENS if task == "qa" else GRAPH_TOKENS
    if mode.name == "thinking":
        return mode.budget_tokens + (_FINAL_TOKENS if task == "qa" else GRAPH_TOKENS)
    return direct


def _opening(setting: QaSetting | GraphSetting, n_objects: int) -> str:
    if setting == "blind":
        return _WITHOUT_PICTURE.format(n=n_objects)
    if setting == "true graph alone":
        return _WITH_GRAPH_ALONE.format(n=n_objects)
    return _WITH_PICTURE
