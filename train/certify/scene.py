"""The scene task: spatial questions and scene graphs on rooms, with the picture, without, with another one, and edited."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from theodolite.core.scores import Split
from theodolite.core.types import Item, Picture, Record, Request, Response
from theodolite.instruments.instrument import made
from theodolite.instruments.scene.data.files import SceneData, SceneQuestion, read_data, scene_shortcut
from theodolite.instruments.scene.data.small_rooms import RoomEdit, edited_scenes, scene_data
from theodolite.instruments.scene.experiments.blind import changed_graphs, changed_questions
from theodolite.instruments.scene.formulas.mra import mean_relative_accuracy, score_value
from theodolite.instruments.scene.kinds import GROUPS
from theodolite.instruments.scene.questions import (
    OTHER_PICTURE,
    Settings,
    plan_pictures,
    plan_scenes,
    with_picture,
)
from theodolite.instruments.scene.results import SceneResults, read_results
from theodolite.runs import Result
from theodolite.runs.store import item_of_meta, meta_of
from theodolite.twins.certificate import Line
from train.certify.probes import Probe, Row, difference, macro, make_probes, mean

_SPLITS: tuple[Split, ...] = ("aligned", "crossed")
_PORTION = 50
"""Number of rooms made at a time."""
EDITS: dict[RoomEdit, str] = {"marks": "marks exchanged", "walls": "other walls and floor"}
"""``marks`` is a relevant edit, ``walls`` a neutral one."""
_BLANK = "blank"
_SAME = 0.8
"""A number agrees with the rule if its mean relative accuracy against the number of the rule is at least this."""


def scene_probes(n: int, seed: int, folder: Path, workers: int = 1) -> Iterator[Probe]:
    """Yield questions with and without the picture, and on the crossed split also graphs and another room's picture.

    Args:
        n: Number of rooms per split, and of questions. Each of the nine groups has the same number, if it has enough.
        seed: Seed of the draw.
        folder: The folder for the pictures.
        workers: Number of processes that draw pictures.
    """
    make = partial(_portion, per_group=_per_group(n), folder=folder)
    yield from make_probes(make, [task for split in _SPLITS for task in _tasks(n, seed, split)], workers)


def scene_edits(n: int, seed: int, folder: Path, workers: int = 1) -> Iterator[Probe]:
    """Yield aligned questions, where the rule is right, and graphs, after every edit of the room and with a grey picture.

    Questions that `scene_probes` does not include are also asked before the edit.

    Args:
        n: Number of rooms, and of questions after each edit, if there are enough.
        seed: Seed of the draw.
        folder: The folder for the pictures.
        workers: Number of processes that draw pictures.
    """
    yield from make_probes(partial(_edits, n=n, folder=folder), _tasks(n, seed, "aligned"), workers)


def _tasks(n: int, seed: int, split: Split) -> list[tuple[Split, int, int]]:
    return [
        (split, seed * 1000 + number, min(_PORTION, n - number * _PORTION))
        for number in range(math.ceil(n / _PORTION))
    ]


def _per_group(n: int) -> int:
    return math.ceil(n / len(GROUPS) / math.ceil(n / _PORTION))


def _portion(task: tuple[Split, int, int], *, per_group: int, folder: Path) -> list[Probe]:
    split, seed, _ = task
    data = _rooms(task, folder)
    data = replace(data, questions=_drawn(data.questions, per_group, seed))
    graphs = ("base", "blind") if split == "crossed" else ()
    plan = Settings(qa=("base", "blind"), graph=graphs)  # type: ignore[arg-type]  # two of the settings
    items: Iterable[Item] = plan_scenes(data, plan)
    if split == "crossed":
        others = (item for item in plan_pictures(data, seed=seed) if item.truth.condition == OTHER_PICTURE)
        items = [*items, *others]
    return [_probe(item, split, "plain") for item in items]


def _edits(task: tuple[Split, int, int], *, n: int, folder: Path) -> list[Probe]:
    split, seed, n_rooms = task
    before = _rooms(task, folder)
    plain = _drawn(before.questions, _per_group(n), seed)
    known = {question.id for question in plain}
    items = plan_scenes(replace(before, questions=plain), Settings(qa=("base",), graph=("base",)))
    probes = [_probe(_blanked(item), split, _BLANK) for item in items]
    for edit in EDITS:
        path = folder / f"scene-{split}-{n_rooms}-{seed}-{edit}"
        make = partial(edited_scenes, n=n_rooms, edit=edit, seed=seed, split=split)
        data = read_data(made(path, make))
        asked = _enough(data.questions, n_rooms, seed)
        items = plan_scenes(replace(data, questions=asked), Settings(qa=("base",), graph=("base",)))
        probes += [_probe(item, split, edit) for item in items]
        names = {question.id for question in asked} - known
        same = tuple(question for question in before.questions if question.id in names)
        items = plan_scenes(replace(before, questions=same), Settings(qa=("base",), graph=()))
        probes += [_probe(item, split, "before") for item in items]
    return probes


def _blanked(item: Item) -> Item:
    (picture,) = item.request.pictures
    return with_picture(item, Picture.from_array(np.full_like(picture.pixels(), 128)), setting=_BLANK)


def _rooms(task: tuple[Split, int, int], folder: Path) -> SceneData:
    """Make or read the unedited rooms of a portion, with all questions of the split."""
    split, seed, n = task
    path = folder / f"scene-{split}-{n}-{seed}"
    return read_data(made(path, partial(scene_data, n=n, seed=seed, split=split)))


def _probe(item: Item, split: str, kind: str) -> Probe:
    if kind in EDITS:
        item = replace(item, truth=replace(item.truth, condition=kind))
    return Probe(item.request, {"split": split, "kind": kind, "name": item.name, "meta": meta_of(item)})


def _drawn(questions: Sequence[SceneQuestion], per_group: int, seed: int) -> tuple[SceneQuestion, ...]:
    """Draw questions from all rooms, at most `per_group` of each group."""
    counts: Counter[tuple[str, str]] = Counter()
    kept = []
    for index in np.random.default_rng(seed).permutation(len(questions)):
        group = questions[index].group
        counts[group] += 1
        if counts[group] <= per_group:
            kept.append(index)
    return tuple(questions[index] for index in sorted(kept))


def _enough(questions: Sequence[SceneQuestion], n: int, seed: int) -> tuple[SceneQuestion, ...]:
    """Draw at least n questions, balanced over groups as far as possible."""
    per_group = math.ceil(n / len(GROUPS))
    while len(drawn := _drawn(questions, per_group, seed)) < min(n, len(questions)):
        per_group += 1
    return drawn


def scene_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Compute all lines of the task from stored rows."""
    by_split = {split: [row for row in rows if row["split"] == split] for split in _SPLITS}
    for split in _SPLITS:
        read = _read([row for row in by_split[split] if row["kind"] == "plain"])
        yield from _accuracy(read, split)
        if split == "crossed":
            yield from _blind(read)
            yield from _graphs(read)
            yield from _changes(read, "blind", "no picture")
            yield from _changes(read, OTHER_PICTURE, "another picture")
    before = [row for row in rows if row["kind"] in {"plain", "before"} and _is_base(row)]
    for edit, name in EDITS.items():
        edited = [row for row in rows if row["kind"] == edit]
        if not edited:
            continue
        if edit == "marks":
            yield from _follows(_read(edited), edit, name)
        both = _read([*before, *edited])
        yield from _changes(both, edit, name, split="aligned", is_kept=edit != "marks")
    both = _read([*before, *(row for row in rows if row["kind"] == _BLANK)])
    yield from _changes(both, _BLANK, "blank picture", split="aligned")


def _is_base(row: Row) -> bool:
    return _item(row).truth.is_plain


def _item(row: Row) -> Item:
    return item_of_meta(row["name"], Request.ask("–"), row["meta"])


def _follows(rows: SceneResults, edit: str, name: str) -> Iterator[Line]:
    """Compute how often answers and graphs are right for the edited room."""
    asked = [row for row in rows.answers(edit).values() if row.is_measured]
    if asked:
        scores = [score_value(row.question, row.answer.value) for row in asked]
        scenes = [row.question.scene for row in asked]
        unread = sum(not row.answer.is_read for row in asked)
        yield Line("scene", f"follows: {name}", "aligned", mean(scores, scenes), unread=unread)
    graphs = {s: row for s, row in rows.graphs.get(edit, {}).items() if row.is_measured}
    if graphs:
        sgc = mean([row.score.sgc for row in graphs.values()], list(graphs))
        unread = sum(not row.reading.is_read for row in graphs.values())
        yield Line("scene", f"graph follows: {name}", "aligned", sgc, unread=unread)


def _read(rows: Sequence[Row]) -> SceneResults:
    results = []
    for number, row in enumerate(rows, 1):
        item = _item(row)
        results.append(Result(number, item, Record(item.id, Response(row["status"], text=row["text"]))))
    return read_results(results, model="")


def _accuracy(rows: SceneResults, split: str) -> Iterator[Line]:
    """Compute accuracy as the mean over the nine groups and for each group, and the agreement with the rule."""
    asked = [row for row in rows.answers("base").values() if row.is_measured]
    if not asked:
        return
    unread = sum(not row.answer.is_read for row in rows.answers("base").values())
    scores = [score_value(row.question, row.answer.value) for row in asked]
    groups = [f"{row.question.competency}, {row.question.form}" for row in asked]
    scenes = [row.question.scene for row in asked]
    yield Line("scene", "accuracy", split, macro(scores, groups, scenes), unread=unread)
    for group in sorted(set(groups)):
        places = [i for i, name in enumerate(groups) if name == group]
        own = mean([scores[i] for i in places], [scenes[i] for i in places])
        yield Line("scene", "accuracy", split, own, group)
    if split == "crossed":
        says = [says_rule(row.question, row.answer.value) for row in asked]
        yield Line("scene", "says the shortcut", split, mean(says, scenes))


def says_rule(question: SceneQuestion, value: str | float | None) -> float:
    """Return 1 if an answer agrees with the shortcut rule: the same letter, or a number close to it."""
    rule = scene_shortcut(question)
    if question.form == "choice":
        return float(value == rule)
    if not isinstance(value, float | int):
        return 0.0
    return float(mean_relative_accuracy(value, float(rule)) >= _SAME)


def _blind(rows: SceneResults) -> Iterator[Line]:
    """Compute accuracy without the picture, and the paired difference to accuracy with it."""
    base, blind = rows.answers("base"), rows.answers("blind")
    keys = [key for key, row in base.items() if row.is_measured and key in blind and blind[key].is_measured]
    if keys:
        questions = [base[key].question for key in keys]
        seen, unseen = (
            [score_value(side[key].question, side[key].answer.value) for key in keys]
            for side in (base, blind)
        )
        groups = [f"{q.competency}, {q.form}" for q in questions]
        scenes = [q.scene for q in questions]
        dark = macro(unseen, groups, scenes)
        yield Line("scene", "accuracy without the picture", "crossed", dark)
        drop = difference(seen, unseen, scenes)
        yield Line("scene", "accuracy less the blind one", "crossed", drop)


def _graphs(rows: SceneResults) -> Iterator[Line]:
    """Compute SGC with and without the picture, and their paired difference."""
    graphs, dark = rows.graphs.get("base", {}), rows.graphs.get("blind", {})
    shared = [
        scene
        for scene, row in graphs.items()
        if row.is_measured and scene in dark and dark[scene].is_measured
    ]
    if shared:
        unread = sum(not graphs[scene].reading.is_read for scene in shared)
        seen, unseen = ([side[scene].score.sgc for scene in shared] for side in (graphs, dark))
        yield Line("scene", "SGC", "crossed", mean(seen, shared), unread=unread)
        yield Line("scene", "SGC without the picture", "crossed", mean(unseen, shared))
        yield Line("scene", "SGC less the blind one", "crossed", difference(seen, unseen, shared))


def _changes(
    rows: SceneResults, setting: str, name: str, *, split: str = "crossed", is_kept: bool = False
) -> Iterator[Line]:
    """Compute the share of changed answers and the change of graphs; for a neutral edit, what is kept.

    Answers and graphs that cannot be read before the edit are left out. Those that cannot be read after it count as
    changed.
    """
    answers, graphs = changed_questions(rows, setting), changed_graphs(rows, setting)
    scene_of = {key: row.question.scene for key, row in rows.answers("base").items()}
    now, drawn = rows.answers(setting), rows.graphs.get(setting, {})
    unread = [
        sum(not now[key].answer.is_read for key in answers),
        sum(not drawn[scene].reading.is_read for scene in graphs),
    ]
    word = "keeps" if is_kept else "changes"
    for quantity, values_kept, scenes, n_unread in (
        (f"{word}: {name}", answers, [scene_of[key] for key in answers], unread[0]),
        (f"graph {word}: {name}", graphs, list(graphs), unread[1]),
    ):
        if values_kept:
            values = [1 - value if is_kept else value for value in values_kept.values()]
            yield Line("scene", quantity, split, mean(values, scenes), unread=n_unread)
