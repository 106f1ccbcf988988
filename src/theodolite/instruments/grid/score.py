"""Scores of the grid: the item scores of every kind of run, and the tables of explained runs.

Item scores are declared and computed beside their experiment: `experiments.accuracy`, `.edits`, `.anchors` and
`.map_quality`. Tables, the diagnosis and exports all aggregate these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import (
    Condition,
    ItemScore,
    Signature,
    SignatureKind,
    judge_signature,
    metric_of,
    metrics_of,
)
from theodolite.core.tables import Table
from theodolite.core.types import PLAIN
from theodolite.core.views import Cell, CellsView, HeatMap
from theodolite.instruments.grid.data.files import SceneRecord, read_dataset
from theodolite.instruments.grid.data.world import GridShape
from theodolite.instruments.grid.experiments import accuracy
from theodolite.instruments.grid.experiments.depth import (
    BucketInteraction,
    DepthCheck,
    depth_checks,
    depth_table,
    interaction_table,
    interactions,
)
from theodolite.instruments.grid.experiments.explained import (
    ExplainedRun,
    cost_table,
    gains_table,
    read_explained,
    runs_table,
)
from theodolite.instruments.grid.experiments.map_quality import (
    MapMean,
    MapSeparation,
    bucket_tables,
    map_means,
    map_scores,
    measures_table,
    overall_tables,
    paper_table,
    separate_maps,
    separation_table,
    words_table,
)
from theodolite.instruments.grid.questions import ANCHORS_RUN, EDITS_RUN, EXPLAIN_RUN, EXPLAINED, PLAIN_RUN
from theodolite.instruments.instrument import View
from theodolite.runs import Result, Run
from theodolite.stats import score_mean


def item_scores(run: Run) -> list[ItemScore]:
    """Score every metric of every item of a run of any kind. No model is called.

    Raises:
        UsageError: It is a run of another instrument.
    """
    kind = run.info.instrument
    if kind == EXPLAIN_RUN:
        known = {metric.key for metric in metrics_of("grid")}
        return [score for score in map_scores(read_explained(run)) if score.metric in known]
    by_kind: dict[str, Callable[[Run], list[ItemScore]]] = {
        PLAIN_RUN: accuracy.accuracy_scores,
        EDITS_RUN: accuracy.edit_scores,
        ANCHORS_RUN: accuracy.anchor_scores,
    }
    if kind not in by_kind:
        raise UsageError(f"{run.folder} is a run of {kind}, not of the grid")
    return by_kind[kind](run)


def run_tables(run: Run) -> list[Table]:
    """Return the main tables of a plain or explained run; none for other kinds, whose metrics have one table."""
    kind = run.info.instrument
    if kind == PLAIN_RUN:
        return [accuracy.accuracy_table(run.info.model, item_scores(run))]
    if kind == EXPLAIN_RUN:
        return explain_tables(
            score_explanations([read_explained(run)], seed=run.info.seed), seed=run.info.seed
        )
    return []


@dataclass(frozen=True, slots=True)
class ExplainScore:
    """Explained runs with what is computed from them; everything but `runs` concerns all runs."""

    runs: tuple[ExplainedRun, ...]
    means: tuple[MapMean, ...]
    separations: tuple[MapSeparation, ...]
    interactions: tuple[BucketInteraction, ...]
    depths: tuple[DepthCheck, ...]


def score_explanations(
    runs: Sequence[ExplainedRun],
    crossed: Sequence[BucketInteraction] | None = None,
    *,
    pid: Sequence[str] = ("convex", "gaussian"),
    seed: int = 0,
) -> ExplainScore:
    """Score explained runs together. No model is called.

    Args:
        runs: Runs of any models on any data; a pure and a spurious model on the same data are compared.
        crossed: Their `interactions`, if they are known already.
        pid: Estimators of PID; ``batch`` trains small networks and takes seconds for each bucket.
        seed: Seed of every resampling.
    """
    if not runs:
        raise UsageError("there is no run to score")
    if crossed is None:
        crossed = [interaction for run in runs for interaction in interactions(run, pid=pid, seed=seed)]
    separations = [
        separation
        for pure in runs
        for spur in runs
        if (pure.logic, spur.logic) == ("pure", "spur") and pure.data == spur.data
        for separation in separate_maps(pure, spur, seed=seed)
    ]
    return ExplainScore(
        tuple(runs),
        tuple(mean for run in runs for mean in map_means(run, map_scores(run))),
        tuple(separations),
        tuple(crossed),
        tuple(check for run in runs for check in depth_checks(run, seed=seed)),
    )


TABLE_NAMES = (
    "buckets",
    "paper",
    "overall",
    "separation",
    "gains",
    "depth",
    "interaction",
    "cost",
    "measures",
)
"""The tables of explained runs; that of the runs themselves is always there."""


def explain_tables(score: ExplainScore, names: Sequence[str] = (), *, seed: int = 0) -> list[Table]:
    """Return the tables of explained runs that have rows.

    Args:
        score: From `score_explanations`.
        names: Which of `TABLE_NAMES`; by default all but ``measures``, which has every mean, one row each.
        seed: Seed of intervals that are computed for a table alone.
    """
    made: dict[str, Callable[[], Iterable[Table]]] = {
        "buckets": lambda: bucket_tables(score.means),
        "paper": lambda: [paper_table(score.means, seed=seed)],
        "overall": lambda: [*overall_tables(score.means), words_table(score.means)],
        "separation": lambda: [separation_table(score.separations)],
        "gains": lambda: [gains_table(score.runs, seed=seed)],
        "depth": lambda: [depth_table(score.depths)],
        "interaction": lambda: [interaction_table(score.interactions)],
        "cost": lambda: [cost_table(score.runs)],
        "measures": lambda: [measures_table(score.means)],
    }
    chosen = names or [name for name in TABLE_NAMES if name != "measures"]
    tables = [table for name in TABLE_NAMES if name in chosen for table in made[name]()]
    return [runs_table(score.runs), *(table for table in tables if table.rows)]


# Signatures of the grid.
#
# semantic shortcut   where a bag of words is wrong, the model gives its answer more often than not; and reversing the
#                     direction changes less than half of the answers


HALF = 0.5

SEMANTIC_SHORTCUT = SignatureKind(
    "semantic shortcut",
    "Reverse the direction word: a model that uses the relation changes its answer (`theodolite diagnose --instruments grid`).",
    "A larger vision encoder, to refine metric perception; or training that supervises where the model looks.",
    "GridVQA-X, appendix A.2; CRISP, section 6",
)


def grid_signatures(scores: Sequence[ItemScore]) -> list[Signature]:
    """Judge the semantic shortcut: the bag of words."""
    means = {key: score_mean(metric_of(key), scores) for key in ("grid.bag_of_words", "grid.swap_changes")}
    return [
        judge_signature(
            SEMANTIC_SHORTCUT,
            [
                Condition(
                    "agreement with a bag of words where it is wrong",
                    means["grid.bag_of_words"],
                    lambda x: x.low > HALF,
                    "above ½",
                ),
                Condition(
                    "answers that change with the direction",
                    means["grid.swap_changes"],
                    lambda x: x.high < HALF,
                    "below ½",
                ),
            ],
        )
    ]


# Rows of the grid: the cells of a scene with their roles, and explainers' maps.


def grid_view(run: Run) -> View:
    """Return a function that gives the cells of a scene as it is, with the maps of its explainers."""
    views = _explained_views(run) if run.info.instrument == EXPLAIN_RUN else _views(run)

    def view(result: Result) -> dict[str, Any]:
        item, record = result.item, result.record
        if item.meta.get("kind") == "cross":  # a matrix of outputs, not an answer to be read
            return {"status": record.response.status, "reason": record.response.reason} if record else {}
        is_shown = item.truth.condition in {PLAIN, EXPLAINED}
        return {"cells": views.get(item.subject)} if is_shown else {}

    return view


def _views(run: Run) -> dict[str, CellsView]:
    """Return the views by scene, from the data of the run; none if the data are gone."""
    data = run.info.settings.get("data")
    folders = cast("Mapping[str, str]", data) if isinstance(data, Mapping) else {}
    views: dict[str, CellsView] = {}
    for split, folder in folders.items():
        if Path(folder).is_dir():
            stored = read_dataset(folder)
            world = stored.plan.recipe.world
            views |= {f"{split}/{record.id}": _view(record, world) for record in stored.records}
    return views


def _view(record: SceneRecord, world: GridShape, **maps: Any) -> CellsView:
    cells = [
        Cell(
            row=int(thing["cell"]) // world.columns,
            column=int(thing["cell"]) % world.columns,
            name=str(thing["name"]),
            role=str(thing["role"]),
        )
        for thing in record.objects
    ]
    return CellsView(rows=world.rows, columns=world.columns, cells=cells, words=record.words, **maps)


def _explained_views(run: Run) -> dict[str, CellsView]:
    """Return the grid of every explained scene with the maps of its explainers."""
    folder = Path(str(run.info.settings.get("data", "")))
    if not folder.is_dir():
        return {}
    data = read_dataset(folder)
    world = data.plan.recipe.world
    width, height = world.size_px
    records = {record.id: record for record in data.records}
    views = {}
    for result in run.results(arrays=True):
        record = records.get(result.item.name)
        if record is None or result.record is None:
            continue
        arrays = result.record.arrays
        maps = [
            HeatMap(
                name=name,
                values=_scaled(arrays[f"cells@{name}"].reshape(world.rows, world.columns)),
                place_px=(0.0, 0.0, float(width), float(height)),
            )
            for name in _explainers(arrays, "cells")
        ]
        word_masses = {
            name: _shares(arrays[f"words@{name}"][: len(record.words)])
            for name in _explainers(arrays, "words")
        }
        views[record.id] = _view(record, world, maps=maps, word_masses=word_masses)
    return views


def _explainers(arrays: Mapping[str, Any], kind: str) -> Iterator[str]:
    return (name.partition("@")[2] for name in arrays if name.startswith(f"{kind}@"))


def _scaled(values: Any) -> list[list[float]]:
    largest = float(np.abs(values).max()) or 1.0
    rows: list[list[float]] = (values / largest).round(3).tolist()
    return rows


def _shares(values: Any) -> list[float]:
    positive = np.clip(values, 0.0, None)
    shares: list[float] = (positive / (float(positive.sum()) or 1.0)).round(4).tolist()
    return shares
