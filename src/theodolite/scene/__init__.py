"""Do a model's answers agree with its own 3D scene graph, and is perception or reasoning the bottleneck (CRISP)?

Everything below loads when it is first used: making scenes and questions needs numpy, SciPy and Pillow alone; reading and
writing files needs pydantic.

- graphs: `SceneGraph`, `SceneObject`, `StarGraph`, `Node`, `Edge`, `relation`
- questions: `Question`, `Option`, `GROUPS`, `KINDS`, `make_questions`, `answer_anew`, `thin_questions`
- asking: `qa_prompt`, `graph_prompt`, `Mode`, `Settings`, `plan_scenes`, `plan_with_graphs`, `run_items`
- data sets: `SceneData`, `read_data`, `write_data`, `make_data` with `MakeOptions`; `theodolite.scene.making` makes scenes and
  pictures in memory, `theodolite.scene.sources` reads nuScenes, ScanNet++, KITTI and SUN RGB-D
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.scene._engine import answer_anew, make_questions, thin_questions
    from theodolite.scene._files import (
        Manifest,
        SceneData,
        question_from_json,
        question_to_json,
        read_data,
        write_data,
    )
    from theodolite.scene._graph import Edge, Node, SceneGraph, SceneObject, StarGraph
    from theodolite.scene._make_data import MakeOptions, make_data
    from theodolite.scene._plan import Settings, plan_scenes, plan_with_graphs
    from theodolite.scene._prompts import graph_prompt, qa_prompt
    from theodolite.scene._questions import GROUPS, KINDS, Option, Question
    from theodolite.scene._relations import PAIRS, PREDICATES, relation
    from theodolite.scene._running import run_items
    from theodolite.scene._settings import GRAPH_SETTINGS, QA_SETTINGS, THINKING_BUDGET, Mode, ModeName

__all__ = [
    "GRAPH_SETTINGS",
    "GROUPS",
    "KINDS",
    "PAIRS",
    "PREDICATES",
    "QA_SETTINGS",
    "THINKING_BUDGET",
    "Edge",
    "MakeOptions",
    "Manifest",
    "Mode",
    "ModeName",
    "Node",
    "Option",
    "Question",
    "SceneData",
    "SceneGraph",
    "SceneObject",
    "Settings",
    "StarGraph",
    "answer_anew",
    "graph_prompt",
    "make_data",
    "make_questions",
    "plan_scenes",
    "plan_with_graphs",
    "qa_prompt",
    "question_from_json",
    "question_to_json",
    "read_data",
    "relation",
    "run_items",
    "thin_questions",
    "write_data",
]

_HOMES = {
    "_engine": ("answer_anew", "make_questions", "thin_questions"),
    "_make_data": ("MakeOptions", "make_data"),
    "_plan": ("Settings", "plan_scenes", "plan_with_graphs"),
    "_prompts": ("graph_prompt", "qa_prompt"),
    "_files": ("Manifest", "SceneData", "question_from_json", "question_to_json", "read_data", "write_data"),
    "_graph": ("Edge", "Node", "SceneGraph", "SceneObject", "StarGraph"),
    "_questions": ("GROUPS", "KINDS", "Option", "Question"),
    "_relations": ("PAIRS", "PREDICATES", "relation"),
    "_running": ("run_items",),
    "_settings": ("GRAPH_SETTINGS", "QA_SETTINGS", "THINKING_BUDGET", "Mode", "ModeName"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'theodolite.scene' has no attribute {name!r}")
    return getattr(import_module(f"theodolite.scene.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
