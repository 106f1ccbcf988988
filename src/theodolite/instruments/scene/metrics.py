"""What a run of scenes reads off each scene, one number at a time: the paper's scores, and whether they come from the picture.

A scene's questions are averaged, so that every metric has one value a scene. With s(q) the score of question q (1 or 0 of a
choice, MRA of a number):

qa                   mean s, with the picture
sgc, s_est, s_rel    of the scene graph that the model gives, with the picture
derived              mean s of the answers that the model's own graph implies
consistency          mean agreement of those answers with the ones that the model gives directly
direct_over_derived  qa − derived: answers that the model's own graph does not bear out
qa_drop, sgc_drop    with the picture minus without
blind_changes        share of answers that are others, or declined, without the picture
blind_graph_change   1 − SGC of the graph given without the picture, with the one given with it as the truth
other_changes, other_graph_change   the same for the picture of another scene with as many marks

Questions that the solver cannot settle from the true graph are left out of the three metrics of the model's own graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric, Origin
from theodolite.core.types import Item, Message, Picture
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.formulas.derived import Cases, derive, scores_of
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.questions import Settings, plan_scenes
from theodolite.instruments.scene.reading.answer import Answer
from theodolite.instruments.scene.results import GraphRow, QaRow, SceneRows, read_results, read_rows
from theodolite.runs import Run

__all__ = [
    "GRAPH_METRICS",
    "METRICS",
    "OTHER_PICTURE",
    "PICTURES",
    "changed_answers",
    "changed_graphs",
    "changed_questions",
    "plan_pictures",
    "readings",
    "with_picture",
]

INSTRUMENT = "scene"
PICTURES = "scene-pictures"
"""The instrument of a run in which every question is asked with its own picture and with another scene's."""
OTHER_PICTURE = "other picture"
"""The setting of an item that shows another scene's picture."""

_ROWS: tuple[tuple[str, str, Origin], ...] = (
    ("qa", "score of the answers", "paper"),
    ("sgc", "SGC of the graph", "paper"),
    ("s_est", "S_est of the graph", "paper"),
    ("s_rel", "S_rel of the graph", "paper"),
    ("qa_drop", "drop of the answers without the picture", "paper"),
    ("sgc_drop", "drop of SGC without the picture", "paper"),
    ("derived", "score of the answers that its own graph implies", "paper"),
    ("consistency", "answers agree with its own graph", "paper"),
    ("direct_over_derived", "answers beyond what its own graph bears out", "ours"),
    ("blind_changes", "answers change without the picture", "ours"),
    ("blind_graph_change", "graph changes without the picture", "ours"),
    ("other_changes", "answers change with another picture", "ours"),
    ("other_graph_change", "graph changes with another picture", "ours"),
)
_DIFFERENCES = {"qa_drop", "sgc_drop", "direct_over_derived"}
METRICS: tuple[Metric, ...] = tuple(
    Metric(
        f"scene.{key}",
        name,
        higher_is_grounded=key != "direct_over_derived",
        origin=origin,
        needs="text",
        bounds=(-1.0, 1.0) if key in _DIFFERENCES else (0.0, 1.0),
        unit="points" if key in _DIFFERENCES else "share",
    )
    for key, name, origin in _ROWS
)
GRAPH_METRICS = frozenset(
    f"scene.{key}"
    for key in ("sgc", "s_est", "s_rel", "sgc_drop", "blind_graph_change", "other_graph_change")
)
"""Those that read the graph of a scene alone: they are the same whatever questions are asked about it."""


def plan_pictures(data: SceneData, settings: Settings | None = None, *, seed: int = 0) -> Iterator[Item]:
    """Every question and every graph with its own picture, and with that of another scene with as many marks.

    A scene without such another has no items of the second kind.

    Args:
        data: with marked pictures.
        settings: how to ask; only the setting ``base`` is asked.
        seed: of which other scene.
    """
    mode = (settings or Settings()).mode
    others = _others(data, seed)
    for item in plan_scenes(data, Settings(qa=("base",), graph=("base",), mode=mode)):
        yield item
        other = others.get(str(item.meta["scene"]))
        if other is not None:
            yield with_picture(item, other)


def _others(data: SceneData, seed: int) -> dict[str, Picture]:
    """For every scene the picture of the next one with as many marks, in random order."""
    rng = np.random.default_rng(seed)
    by_size: dict[int, list[str]] = {}
    for scene in data.scenes.values():
        by_size.setdefault(len(scene.objects), []).append(scene.id)
    found: dict[str, Picture] = {}
    for names in by_size.values():
        order = [names[i] for i in rng.permutation(len(names))]
        for name, other in zip(order, [*order[1:], order[0]], strict=True):
            picture = data.picture(other) if other != name else None
            if picture is not None:
                found[name] = picture
    return found


def with_picture(item: Item, picture: Picture, *, setting: str = OTHER_PICTURE) -> Item:
    """The same question or graph asked with another picture, as an item of its own."""
    words = [part for part in item.request.messages[0].content if isinstance(part, str)]
    name = f"{item.name}/{setting}"
    hint = {**item.request.hint, "setting": "blind"}  # of this scene the other picture tells a script nothing
    request = replace(item.request, messages=(Message.user(picture, *words),), recall="content", hint=hint)
    return Item(
        name,
        replace(request, ref=f"{name}#{request.digest[:12]}"),
        item.options,
        {**item.meta, "setting": setting},
    )


def readings(run: Run) -> list[ItemScore]:
    """Every metric of every scene that a run holds: one of the instrument's own, or one of `plan_pictures`. Calls no model.

    Raises:
        UsageError: the run is another instrument's.
    """
    split = str(run.info.settings.get("split") or "")
    if run.info.instrument == PICTURES:
        rows = read_results(run.results(), model=run.info.model)
        found = _changes(rows, OTHER_PICTURE, "other")
    elif run.info.instrument == INSTRUMENT:
        rows = read_rows(run)
        found = {**_scores(rows), **_changes(rows, "blind", "blind")}
    else:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT} or {PICTURES}")
    return [
        ItemScore(scene, f"scene.{key}", value, scene, split)
        for key, values in found.items()
        for scene, value in values.items()
    ]


_PerScene = dict[str, float]


def _scores(rows: SceneRows) -> dict[str, _PerScene]:
    base, blind = rows.of("base"), rows.of("blind")
    graphs, dark = ({s: row.score for s, row in _measured(rows, name).items()} for name in ("base", "blind"))
    both = [key for key in _asked(base) if key in blind and blind[key].is_measured]
    sides = [_mean_by_scene(rows_of, both) for rows_of in (base, blind)]
    found = {
        "qa": _mean_by_scene(base, _asked(base)),
        "sgc": {scene: score.sgc for scene, score in graphs.items()},
        "s_est": {scene: score.estimate for scene, score in graphs.items()},
        "s_rel": {scene: score.relation for scene, score in graphs.items()},
        "qa_drop": {scene: sides[0][scene] - sides[1][scene] for scene in sides[0]},
        "sgc_drop": {s: score.sgc - dark[s].sgc for s, score in graphs.items() if s in dark},
    }
    return {**found, **_own_graph(rows)} if graphs else found


def _own_graph(rows: SceneRows) -> dict[str, _PerScene]:
    cases = derive(rows, reading="geometric", comparison="<", seed=0)
    measured = _measured(rows, "base")
    sure = cases.where(cases.is_derivable & np.array([scene in measured for scene in cases.scenes], bool))
    return {
        "derived": _grouped(sure, sure.derived),
        "consistency": _grouped(sure, sure.agreement),
        "direct_over_derived": _grouped(sure, sure.base - sure.derived),
    }


def _grouped(cases: Cases, values: Any) -> _PerScene:
    return _means(zip(cases.scenes, values.tolist(), strict=True))


def _changes(rows: SceneRows, setting: str, prefix: str) -> dict[str, _PerScene]:
    return {
        f"{prefix}_changes": changed_answers(rows, setting),
        f"{prefix}_graph_change": changed_graphs(rows, setting),
    }


def changed_answers(rows: SceneRows, setting: str) -> dict[str, float]:
    """By scene: the share of readable answers of the base setting that are others, or none, in another setting."""
    base = rows.of("base")
    changed = changed_questions(rows, setting)
    return _means((base[key].question.scene, is_other) for key, is_other in changed.items())


def changed_questions(rows: SceneRows, setting: str) -> dict[str, float]:
    """By question with a readable answer in the base setting: 1 if another setting's is another, or none, else 0."""
    base, other = rows.of("base"), rows.of(cast("Any", setting))
    return {
        key: float(not _is_same(base[key].answer, other[key].answer))
        for key in _asked(base)
        if base[key].answer.is_read and key in other and other[key].is_measured
    }


def changed_graphs(rows: SceneRows, setting: str) -> dict[str, float]:
    """By scene: 1 − SGC of the graph given in another setting, with the base setting's as the truth."""
    graphs, changed = _measured(rows, "base"), _measured(rows, setting)
    return {
        scene: 1 - score_graph(changed[scene].reading, row.reading.graph).sgc
        for scene, row in graphs.items()
        if row.reading.graph is not None and scene in changed
    }


def _is_same(first: Answer, second: Answer) -> bool:
    return second.is_read and first.value == second.value


def _asked(rows: Mapping[str, QaRow]) -> list[str]:
    return [key for key, row in rows.items() if row.is_measured]


def _measured(rows: SceneRows, setting: str) -> dict[str, GraphRow]:
    given = rows.graphs.get(cast("Any", setting), {})
    return {scene: row for scene, row in given.items() if row.is_measured}


def _mean_by_scene(rows: Mapping[str, QaRow], keys: Sequence[str]) -> _PerScene:
    questions = [rows[key].question for key in keys]
    scores = scores_of(questions, [rows[key].answer.value for key in keys])
    return _means(zip((question.scene for question in questions), scores.tolist(), strict=True))


def _means(pairs: Any) -> _PerScene:
    """The mean of the values of each name."""
    sums: dict[str, list[float]] = {}
    for name, value in pairs:
        sums.setdefault(name, []).append(float(value))
    return {name: sum(values) / len(values) for name, values in sums.items()}
