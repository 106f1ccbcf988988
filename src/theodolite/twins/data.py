"""The sets that the twins are certified and told apart on, and that every other model is held against.

Each comes in splits. *Aligned*: the shortcut's answer is the true one, so that accuracy sees no difference between who looks and
who does not. *Crossed*: it contradicts the picture. *Free*: as drawn. All follow from a seed; none of it is in the training data,
whose seeds are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Json, Picture
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.trace.data.episode import Episode
from theodolite.twins import relation, rooms, stories
from theodolite.twins.grids import KEYS
from theodolite.twins.rules import graph_shortcut, is_aligned, scene_shortcut

if TYPE_CHECKING:
    from theodolite.instruments.grid.data.files import StoredDataset
    from theodolite.instruments.scene.data.files import SceneData
    from theodolite.instruments.scene.data.graph import SceneGraph
    from theodolite.instruments.scene.data.questions import Question

__all__ = [
    "EDITS",
    "LESSON_SEEDS",
    "WORLDS",
    "Edit",
    "RoomEdit",
    "Split",
    "edited_pair",
    "edited_scenes",
    "episodes",
    "graph_shortcut",
    "grid_data",
    "is_aligned",
    "relation_pairs",
    "scene_data",
    "scene_shortcut",
]

Split: TypeAlias = Literal["aligned", "crossed", "free"]
WORLDS = tuple(stories.KINDS)
"""The embedded worlds of `trace`."""

LESSON_SEEDS = 1_000_000
"""Lessons have seeds below it, these sets others."""

_RELATION, _SCENE = 101, 102


def relation_pairs(
    n: int, *, seed: int = 0, split: Split = "free", n_things: int | None = None
) -> list[Pair]:
    """Pairs of named things, the four directions in turn.

    ``meta`` holds the direction that the shortcut gives, the split, and the scene, from which `edited_pair` makes others.

    Args:
        n: how many, each on its own picture.
        seed: of the draw.
        split: which pairs.
        n_things: on each picture; two to five if not given.

    >>> pair = relation_pairs(1, seed=1, split="aligned")[0]
    >>> pair.direction == pair.meta["shortcut"]
    True
    """
    _check(split)
    return [_pair(i, seed, split, n_things) for i in range(n)]


def _pair(number: int, seed: int, split: Split, n_things: int | None) -> Pair:
    wanted = relation.DIRECTIONS[number % 4]
    rng = np.random.default_rng([_RELATION, seed, number, ("aligned", "crossed", "free").index(split)])
    while True:
        scene = relation.draw_scene(rng, n_things)
        for i, j in rng.permutation(
            [(a, b) for a in range(len(scene.things)) for b in range(len(scene.things)) if a != b]
        ):
            target, reference = scene.things[i], scene.things[j]
            rule = relation.SHORTCUT[target.name, reference.name]
            is_fit = split == "free" or (rule == wanted) == (split == "aligned")
            if relation.direction(target, reference) == wanted and is_fit:
                return _as_pair(
                    f"relation-{split}-{seed}-{number:05d}", scene, (int(i), int(j)), {"split": split}
                )


def _as_pair(name: str, scene: relation.Scene, roles: tuple[int, int], meta: Mapping[str, Json]) -> Pair:
    target, reference = (scene.things[i] for i in roles)
    return Pair(
        id=name,
        picture=Picture.from_array(relation.render(scene)),
        size_px=(relation.SIZE_PX, relation.SIZE_PX),
        reference=Region(reference.name, reference.box),
        target=Region(target.name, target.box),
        direction=str(relation.direction(target, reference)),
        others=tuple(t.box for k, t in enumerate(scene.things) if k not in roles),
        source="pocket",
        meta={
            "shortcut": relation.SHORTCUT[target.name, reference.name],
            "scene": {"things": [[t.name, t.x, t.y, t.side] for t in scene.things], "ground": scene.ground},
            "roles": list(roles),
            **meta,
        },
    )


Edit: TypeAlias = Literal["mirror", "move", "swap", "blank", "ground", "clutter"]
"""``mirror``: along the axis of the answer, every thing itself unchanged. ``move``: the target goes to another side of the
reference. ``swap``: target and reference exchange their places. ``blank``: one grey picture. ``ground``: another background.
``clutter``: the things that are not asked about are gone. The last two leave the answer as it is."""
EDITS: tuple[Edit, ...] = ("mirror", "move", "swap", "blank", "ground", "clutter")


def edited_pair(pair: Pair, edit: Edit, *, seed: int = 0) -> Pair:
    """The same question about a picture that was edited at its source; its ``direction`` is the new truth.

    Args:
        pair: from `relation_pairs`.
        edit: what to do; a blank picture keeps the old direction.
        seed: of what an edit draws.
    """
    drawn: Any = pair.meta["scene"]
    scene = relation.Scene(tuple(relation.Placed(*t) for t in drawn["things"]), drawn["ground"])
    roles: Any = pair.meta["roles"]
    i, j = (int(k) for k in roles)
    rng = np.random.default_rng([_RELATION, seed, scene.ground])
    name, meta = f"{pair.id}/{edit}", {"split": pair.meta["split"], "edit": edit}
    if edit == "blank":
        grey = np.full((relation.SIZE_PX, relation.SIZE_PX, 3), 128, np.uint8)
        return replace(pair, id=name, picture=Picture.from_array(grey), meta={**pair.meta, "edit": edit})
    if edit == "mirror":
        scene = scene.mirrored(across=pair.direction in {"left", "right"})
    elif edit == "swap":
        scene = scene.swapped(i, j)
    elif edit == "ground":
        scene = replace(scene, ground=int(rng.integers(2**31)))
    elif edit == "clutter":
        scene, i, j = replace(scene, things=(scene.things[i], scene.things[j])), 0, 1
    elif edit == "move":
        scene = _moved(scene, (i, j), pair.direction, rng)
    else:
        raise UsageError(f"there is no edit {edit!r}; there are {', '.join(EDITS)}")
    return _as_pair(name, scene, (i, j), meta)


def _moved(
    scene: relation.Scene, roles: tuple[int, int], old: str, rng: np.random.Generator
) -> relation.Scene:
    """The target elsewhere, clear of the others, in another direction; the others move too only if there is no room."""
    i, j = roles
    for _ in range(2000):
        side = scene.things[i].side
        x, y = (int(v) for v in rng.integers(2, relation.SIZE_PX - side - 1, 2))
        there = replace(scene.things[i], x=x, y=y)
        others = [t for k, t in enumerate(scene.things) if k != i]
        way = relation.direction(there, scene.things[j])
        if way not in {None, old} and not any(relation.touch(there, t) for t in others):
            return replace(scene, things=tuple(there if k == i else t for k, t in enumerate(scene.things)))
    return scene.swapped(i, j)


def grid_data(folder: str | Path, n: int, *, seed: int = 0, split: Split = "crossed") -> StoredDataset:
    """Grid scenes of depth one, `n` of each bucket and density, from the test split that no training sees.

    Aligned scenes are the spurious ones, where a bag of words is right; crossed ones are pure.

    Args:
        folder: where to write them; it must be new or empty.
        n: of each of nine buckets, sparse and dense.
        seed: of the draw.
        split: aligned or crossed.
    """
    from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
    from theodolite.instruments.grid.data.files import read_dataset, write_dataset

    if split == "free":
        raise UsageError("grid scenes are aligned or crossed: bag of words decides")
    plan = DatasetPlan("spur" if split == "aligned" else "pure", n, seed=seed, buckets=KEYS, split="test")
    return read_dataset(write_dataset(make_dataset(plan), folder))


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

    _check(split)
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

    _check(split)
    drawn = list(_rooms(n, seed))
    asked = _split(make_questions([g for _, g in drawn], seed=seed, quotas=_QUOTAS).questions, split)
    if edit == "walls":
        rng = np.random.default_rng([_SCENE, seed, n])
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
        yield rooms.draw_room(np.random.default_rng([_SCENE, seed, number]), f"pocket-{seed}-{number:05d}")


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


def episodes(
    n: int, *, seed: int = 0, split: Split = "free", worlds: Sequence[str] = WORLDS
) -> list[Episode]:
    """Episodes of four frames, `n` of each world; ``meta["shortcut"]`` is what the question's words predict.

    Args:
        n: of each world.
        seed: of the draw.
        split: whether the shortcut is right.
        worlds: some of video, navigation, instruction.
    """
    _check(split)
    wanted = {"aligned": True, "crossed": False, "free": None}[split]
    found = []
    for world in worlds:
        if world not in WORLDS:
            raise UsageError(f"there is no world {world!r}; there are {', '.join(WORLDS)}")
        for number in range(n):
            episode = stories.story(world, number, seed=LESSON_SEEDS + seed, is_aligned=wanted)
            oracle = stories.trace_text(episode, "structured")
            found.append(replace(episode, meta={**episode.meta, "split": split, "oracle": oracle}))
    return found


def _check(split: str) -> None:
    if split not in {"aligned", "crossed", "free"}:
        raise UsageError(f"the split is aligned, crossed or free, not {split!r}")
