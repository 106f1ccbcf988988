"""Small marked rooms with questions, and edits of them with their new truth. The pocket twins know these rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.splits import Split, check_split
from theodolite.instruments.scene.data import small_rooms as rooms
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.data.graph import SceneGraph
from theodolite.instruments.scene.data.questions import Question
from theodolite.instruments.scene.data.shortcut_rule import is_aligned

__all__ = ["RoomEdit", "edited_scenes", "scene_data"]

_SEED = 102


def scene_data(
    folder: str | Path, n: int, *, seed: int = 0, split: Split = "free", per_group: int | None = None
) -> SceneData:
    """Small marked rooms of two to five objects, with questions.

    Args:
        folder: where to write; it must be new or empty.
        n: how many rooms.
        seed: of the draw.
        split: of the questions: those that the rule of marks and wording answers rightly, those that it does not, or all.
        per_group: at most so many questions of each of the nine groups, spread over the rooms; all if not given.
    """
    from theodolite.instruments.scene.data.engine import make_questions
    from theodolite.instruments.scene.data.files import Manifest, read_data, write_data

    check_split(split)
    graphs = [graph for _, graph in _pictured(folder, _rooms(n, seed))]
    kept = _split(make_questions(graphs, seed=seed, quotas=_QUOTAS).questions, split)
    if per_group is not None:
        kept = _thinned(kept, per_group, lambda q: q.group)
    made: dict[str, Any] = {"source": "pocket", "seed": seed, "split": split, "rooms": n}
    return read_data(write_data(folder, graphs, kept, Manifest(made=made)))


RoomEdit: TypeAlias = Literal["marks", "walls"]
"""``marks``: the marks of the things round the centre go on to the next of them, so that each number names another thing; of two
things, both change. ``walls``: other walls, another floor."""


def edited_scenes(
    folder: str | Path, n: int, *, edit: RoomEdit, seed: int = 0, split: Split = "free"
) -> SceneData:
    """The rooms of `scene_data`, edited, under the same names, with the same questions and their new right answers.

    After an exchange of marks only questions whose answer is then another are asked, and clear. Counts are not among them: they
    name the centre alone.

    Args:
        folder: where to write; it must be new or empty.
        n: how many rooms.
        edit: what is done to each.
        seed: of the draw.
        split: of the questions before the edit. On the aligned one, the rule is wrong wherever the answer is another.
    """
    from theodolite.instruments.scene.data.engine import answer_anew, make_questions
    from theodolite.instruments.scene.data.files import Manifest, read_data, write_data

    check_split(split)
    drawn = list(_rooms(n, seed))
    asked = _split(make_questions([g for _, g in drawn], seed=seed, quotas=_QUOTAS).questions, split)
    if edit == "walls":
        rng = np.random.default_rng([_SEED, seed, n])
        rooms_now = [(replace(plan, shell=int(rng.integers(2**31))), graph) for plan, graph in drawn]
    else:
        rooms_now = [(plan, _moved_on(graph)) for plan, graph in drawn]
    graphs = [graph for _, graph in _pictured(folder, rooms_now)]
    if edit == "marks":
        old = {question.id: question for question in asked}
        anew = [q for g in graphs for q in answer_anew([q for q in asked if q.scene == g.id], g)]
        asked = [question for question in anew if _is_other(question, old[question.id])]
    made: dict[str, Any] = {"source": "pocket", "seed": seed, "split": split, "rooms": n, "edit": edit}
    return read_data(write_data(folder, graphs, asked, Manifest(made=made)))


def _rooms(n: int, seed: int) -> Iterator[tuple[rooms.RoomPlan, SceneGraph]]:
    for number in range(n):
        yield rooms.draw_room(np.random.default_rng([_SEED, seed, number]), f"pocket-{seed}-{number:05d}")


def _pictured(
    folder: str | Path, drawn: Iterable[tuple[rooms.RoomPlan, SceneGraph]]
) -> list[tuple[rooms.RoomPlan, SceneGraph]]:
    """The rooms with their pictures, which are written."""
    from PIL import Image

    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name a new folder for the data set")
    found = []
    for plan, graph in drawn:
        for kind, pixels in zip(("pictures", "marked"), rooms.picture_of(plan, graph), strict=True):
            (folder / kind).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / kind / f"{plan.id}.png")
        found.append((plan, rooms.marked(graph, f"pictures/{plan.id}.png", f"marked/{plan.id}.png")))
    return found


def _moved_on(graph: SceneGraph) -> SceneGraph:
    """The same room with the marks of all things but the centre exchanged in a circle; of two things, with both."""
    marks = [thing.id for thing in graph.objects if thing.id != graph.centre or len(graph.objects) == 2]
    next_of = dict(zip(marks, [*marks[1:], marks[0]], strict=True))
    things = [replace(thing, id=next_of.get(thing.id, thing.id)) for thing in graph.objects]
    return replace(graph, objects=tuple(sorted(things, key=lambda thing: thing.id)))


def _is_other(question: Question, old: Question) -> bool:
    """Whether the answer is another: another letter, or a number that the old one would score less than half for."""
    from theodolite.instruments.scene.formulas.sgc import mean_relative_accuracy

    if question.form == "choice":
        return question.gold != old.gold
    return bool(mean_relative_accuracy(old.gold_number, question.gold_number) < 0.5)


def _split(questions: Iterable[Question], split: Split) -> list[Question]:
    return [q for q in questions if split == "free" or is_aligned(q) == (split == "aligned")]


_EACH: Any = {
    "size": 4,
    "distance": 4,
    "direction": 3,
    "ranking": 2,
    "counting": 2,
    "deduction": 2,
    "transformation": 2,
}
_QUOTAS: Any = {"easy": _EACH, "medium": _EACH, "hard": _EACH}


def _thinned(questions: Iterable[Question], most: int, group: Callable[[Question], Any]) -> list[Question]:
    """The first so many of each group."""
    counts: dict[Any, int] = {}
    kept = []
    for question in questions:
        key = group(question)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= most:
            kept.append(question)
    return kept
