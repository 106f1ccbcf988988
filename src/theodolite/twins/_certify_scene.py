"""The scene task: spatial questions and scene graphs on marked rooms, with the picture, without it, and with another one's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from theodolite.runs import Result
from theodolite.scene import GROUPS, Question, Settings, plan_scenes, read_data
from theodolite.scene.readouts import OTHER_PICTURE, changed_answers, changed_graphs, plan_pictures
from theodolite.scene.scoring import SceneRows, mean_relative_accuracy, read_results, score_answer
from theodolite.twins._desk import Line, Probe, Row, difference, macro, mean, spread
from theodolite.twins.data import Split, scene_data, scene_shortcut
from theodolite.twins.parts import made
from theodolite.types import Item, Record, Request, Response

_SPLITS: tuple[Split, ...] = ("aligned", "crossed")
_PORTION = 50
"""Rooms that are made at once."""
_SAME = 0.8
"""A number says what the rule says if its mean relative accuracy against the rule's is at least this."""


def scene_probes(n: int, seed: int, folder: Path, workers: int = 1) -> Iterator[Probe]:
    """Questions of both splits with and without the picture; crossed ones, and all graphs, also with another room's picture.

    Args:
        n: rooms of each split, and questions: the same number of each of nine groups, as far as there are so many.
        seed: of the draw.
        folder: for the pictures.
        workers: processes that draw.
    """
    n_portions = math.ceil(n / _PORTION)
    per_group = math.ceil(n / len(GROUPS) / n_portions)
    tasks = [
        (split, seed * 1000 + place, min(_PORTION, n - place * _PORTION))
        for split in _SPLITS
        for place in range(n_portions)
    ]
    yield from spread(partial(_portion, per_group=per_group, folder=folder), tasks, workers)


def _portion(task: tuple[Split, int, int], *, per_group: int, folder: Path) -> list[Probe]:
    split, seed, n = task
    place = made(
        folder / f"scene-{split}-{n}-{seed}",
        lambda draft: scene_data(draft, n, seed=seed, split=split),
    )
    data = read_data(place)
    data = replace(data, questions=_drawn(data.questions, per_group, seed))
    graphs = ("base", "blind") if split == "crossed" else ()
    plan = Settings(qa=("base", "blind"), graph=graphs)  # type: ignore[arg-type]  # two of the settings
    items: Iterable[Item] = plan_scenes(data, plan)
    if split == "crossed":
        others = (item for item in plan_pictures(data, seed=seed) if item.meta["setting"] == OTHER_PICTURE)
        items = [*items, *others]
    return [
        Probe(item.request, {"split": split, "name": item.name, "meta": dict(item.meta)}) for item in items
    ]


def _drawn(questions: Sequence[Question], per_group: int, seed: int) -> tuple[Question, ...]:
    """So many questions of each group, drawn from all rooms: questions of one room depend on one another."""
    counts: Counter[tuple[str, str]] = Counter()
    kept = []
    for place in np.random.default_rng(seed).permutation(len(questions)):
        group = questions[place].group
        counts[group] += 1
        if counts[group] <= per_group:
            kept.append(place)
    return tuple(questions[place] for place in sorted(kept))


def scene_lines(rows: Sequence[Row], seed: int) -> Iterator[Line]:
    """All lines of the task, from kept rows."""
    for split in _SPLITS:
        read = _read([row for row in rows if row["split"] == split])
        yield from _accuracy(read, split, seed)
        if split == "crossed":
            yield from _blind(read, seed)
            yield from _graphs(read, seed)
            yield from _changes(read, "blind", "no picture", seed)
            yield from _changes(read, OTHER_PICTURE, "another picture", seed)


def _read(rows: Sequence[Row]) -> SceneRows:
    results = []
    for place, row in enumerate(rows, 1):
        item = Item(row["name"], Request.ask("–"), meta=row["meta"])
        results.append(Result(place, item, Record(item.id, Response(row["status"], text=row["text"]))))
    return read_results(results, model="")


def _accuracy(rows: SceneRows, split: str, seed: int) -> Iterator[Line]:
    """QA as the mean over the nine groups, each group, and how often the rule's answer is given."""
    asked = [row for row in rows.of("base").values() if row.is_measured]
    if not asked:
        return
    unread = sum(not row.answer.is_read for row in rows.of("base").values())
    scores = [score_answer(row.answer, row.question) for row in asked]
    groups = [f"{row.question.competency}, {row.question.form}" for row in asked]
    scenes = [row.question.scene for row in asked]
    yield Line("scene", "accuracy", split, macro(scores, groups, scenes, seed=seed), unread=unread)
    for group in sorted(set(groups)):
        places = [i for i, name in enumerate(groups) if name == group]
        own = mean([scores[i] for i in places], [scenes[i] for i in places], seed=seed)
        yield Line("scene", "accuracy", split, own, group)
    if split == "crossed":
        says = [says_rule(row.question, row.answer.value) for row in asked]
        yield Line("scene", "says the shortcut", split, mean(says, scenes, seed=seed))


def says_rule(question: Question, value: str | float | None) -> float:
    """Whether an answer is the one that the wording and the marks predict: the same letter, or a number near it."""
    rule = scene_shortcut(question)
    if question.form == "choice":
        return float(value == rule)
    if not isinstance(value, float | int):
        return 0.0
    return float(mean_relative_accuracy(value, float(rule)) >= _SAME)


def _blind(rows: SceneRows, seed: int) -> Iterator[Line]:
    """With the picture less without it: the mean over groups without it, and the difference question by question."""
    base, blind = rows.of("base"), rows.of("blind")
    keys = [key for key, row in base.items() if row.is_measured and key in blind and blind[key].is_measured]
    if keys:
        questions = [base[key].question for key in keys]
        seen, unseen = (
            [score_answer(side[key].answer, side[key].question) for key in keys] for side in (base, blind)
        )
        groups = [f"{q.competency}, {q.form}" for q in questions]
        scenes = [q.scene for q in questions]
        dark = macro(unseen, groups, scenes, seed=seed)
        yield Line("scene", "accuracy without the picture", "crossed", dark)
        drop = difference(seen, unseen, scenes, seed=seed)
        yield Line("scene", "accuracy less the blind one", "crossed", drop)


def _graphs(rows: SceneRows, seed: int) -> Iterator[Line]:
    """SGC with the picture, without it, and the difference, scene by scene."""
    graphs, dark = rows.graphs.get("base", {}), rows.graphs.get("blind", {})
    shared = [
        scene
        for scene, row in graphs.items()
        if row.is_measured and scene in dark and dark[scene].is_measured
    ]
    if shared:
        unread = sum(not graphs[scene].reading.is_read for scene in shared)
        seen, unseen = ([side[scene].score.sgc for scene in shared] for side in (graphs, dark))
        yield Line("scene", "SGC", "crossed", mean(seen, shared, seed=seed), unread=unread)
        yield Line("scene", "SGC without the picture", "crossed", mean(unseen, shared, seed=seed))
        yield Line("scene", "SGC less the blind one", "crossed", difference(seen, unseen, shared, seed=seed))


def _changes(rows: SceneRows, setting: str, name: str, seed: int) -> Iterator[Line]:
    answers, graphs = changed_answers(rows, setting), changed_graphs(rows, setting)
    for what, found in ((f"changes: {name}", answers), (f"graph changes: {name}", graphs)):
        if found:
            yield Line("scene", what, "crossed", mean(list(found.values()), list(found), seed=seed))
