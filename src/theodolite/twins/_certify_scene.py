"""The scene task: spatial questions and scene graphs on marked rooms, with the picture, without it, and with another one's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from theodolite.runs import Result
from theodolite.scene import GROUPS, Question, SceneData, Settings, plan_scenes, read_data
from theodolite.scene.readouts import OTHER_PICTURE, changed_answers, changed_graphs, plan_pictures
from theodolite.scene.scoring import SceneRows, mean_relative_accuracy, read_results, score_answer
from theodolite.twins._desk import Desk, Line, difference, macro, mean
from theodolite.twins.data import Split, scene_data, scene_shortcut
from theodolite.twins.measuring import made
from theodolite.types import Item, Record

_SPLITS: tuple[Split, ...] = ("aligned", "crossed")
_SAME = 0.8
"""A number says what the rule says if its mean relative accuracy against the rule's is at least this."""


def scene_lines(desk: Desk, n: int, folder: Path) -> Iterator[Line]:
    """All lines of the task.

    Args:
        desk: where to ask.
        n: rooms of each split, and questions: the same number of each of nine groups, as far as there are so many.
        folder: for the pictures.
    """
    for split in _SPLITS:
        data = _data(folder, n, desk.seed, split)
        plan = Settings(qa=("base", "blind"), graph=("base", "blind") if split == "crossed" else ())
        rows = _rows(desk, plan_scenes(data, plan), f"scene {split}")
        yield from _accuracy(rows, split, desk.seed)
        if split == "crossed":
            yield from _blind(rows, desk.seed)
            yield from _graphs(rows, desk.seed)
            yield from _changes(rows, "blind", "no picture", desk.seed)
            shown = _rows(desk, plan_pictures(data, seed=desk.seed), "scene, other pictures")
            yield from _changes(shown, OTHER_PICTURE, "another picture", desk.seed)


def _data(folder: Path, n: int, seed: int, split: Split) -> SceneData:
    per_group = math.ceil(n / len(GROUPS))
    place = made(
        folder / f"scene-{split}-{n}-{seed}",
        lambda draft: scene_data(draft, n, seed=seed * 1000 + 7, split=split, per_group=per_group),
    )
    return read_data(place)


def _rows(desk: Desk, items: Iterable[Item], what: str) -> SceneRows:
    planned = list(items)
    responses = desk.texts((item.request for item in planned), what)
    results = [
        Result(place, item, Record(item.id, response))
        for place, (item, response) in enumerate(zip(planned, responses, strict=True), 1)
    ]
    return read_results(results, model=desk.model.name)


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
    """With the picture less without it, question by question."""
    base, blind = rows.of("base"), rows.of("blind")
    keys = [key for key, row in base.items() if row.is_measured and key in blind and blind[key].is_measured]
    if keys:
        scores = [
            [score_answer(side[key].answer, side[key].question) for key in keys] for side in (base, blind)
        ]
        scenes = [base[key].question.scene for key in keys]
        yield Line("scene", "accuracy without the picture", "crossed", mean(scores[1], scenes, seed=seed))
        drop = difference(scores[0], scores[1], scenes, seed=seed)
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
