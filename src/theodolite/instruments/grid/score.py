"""Scoring runs of explanations: every table of the paper, the two models against each other, and the check of depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.estimates import SPLITS, Cell, Gap, gaps, tables
from theodolite.instruments.grid.experiments.depth import DepthCheck, depth_checks
from theodolite.instruments.grid.experiments.separation import Separation, separations
from theodolite.instruments.grid.explainers.global_pid import SUMMARIES, Estimator
from theodolite.instruments.grid.formulas.synergy import CrossFigure, cross_figures
from theodolite.instruments.grid.published_explanations import (
    DEPTH,
    RMA,
    SOURCE,
    TABLES_SOURCE,
    Beside,
    beside_the_paper,
    paper_tables,
)
from theodolite.instruments.grid.stored import ExplainedRun, read_explained
from theodolite.runs import Run


@dataclass(frozen=True, slots=True)
class Cost:
    """What one explainer cost in one run."""

    scenario: str
    explainer: str
    measured: int
    not_measured: int
    no_relevance: int
    no_truth: int
    exact: int
    calls_mean: float
    calls_most: int
    reasons: dict[str, int]
    """Why it was not measured."""


@dataclass(frozen=True, slots=True)
class ExplainScore:
    """All figures of some runs."""

    runs: tuple[dict[str, Any], ...]
    tables: dict[str, tuple[Cell, ...]]
    """By name of the split: buckets, all, answer, correctness, form, words."""
    separations: tuple[Separation, ...]
    gaps: tuple[Gap, ...]
    crosses: tuple[CrossFigure, ...]
    depths: tuple[DepthCheck, ...]
    costs: tuple[Cost, ...]
    beside: tuple[Beside, ...] = ()
    """The paper's Tables 5 to 8 beside ours, column by column."""

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON."""
        return {
            "instrument": "grid-explain",
            "pid_summaries": SUMMARIES,
            "published": {
                "source": SOURCE,
                "rma": [{"explainer": e, "scenario": s, "mean": v} for (e, s), v in RMA.items()],
                "depth": [{"scalar": e, "depth": d, "mean": v} for (e, d), v in DEPTH.items()],
                "tables": {"source": TABLES_SOURCE, "cells": [asdict(each) for each in paper_tables()]},
            },
            **asdict(self),
            "depths": [{**asdict(each), "rises": each.rises, "stays": each.stays} for each in self.depths],
        }


def score_explanations(
    runs: Sequence[Run], *, pid: tuple[Estimator, ...] = ("convex", "gaussian"), seed: int = 0
) -> ExplainScore:
    """Scores runs of ``grid explain`` together; scores are kept in the first. Never calls a model.

    Args:
        runs: Of any models on any data; a pure and a spurious model on the same data are held against each other.
        pid: Estimators of PID; ``batch`` trains small networks and takes seconds for each bucket.
        seed: Of every resampling.
    """
    if not runs:
        raise UsageError("there is no run to score")
    return score_explained([read_explained(run) for run in runs], pid=pid, seed=seed)


def score_explained(
    explained: Sequence[ExplainedRun], *, pid: tuple[Estimator, ...] = ("convex", "gaussian"), seed: int = 0
) -> ExplainScore:
    """The same for runs that are read already."""
    scores = [score_run(run, score_buckets(run, pid=pid, seed=seed), seed=seed) for run in explained]
    return join_scores(scores, separate_all(explained, seed=seed), seed=seed)


@dataclass(frozen=True, slots=True)
class BucketScore:
    """What each bucket says by itself, so that buckets can be scored apart from one another."""

    cells: tuple[Cell, ...] = ()
    crosses: tuple[CrossFigure, ...] = ()

    def __add__(self, other: BucketScore) -> BucketScore:
        return BucketScore(self.cells + other.cells, self.crosses + other.crosses)


def score_buckets(
    run: ExplainedRun, *, pid: tuple[Estimator, ...] = ("convex", "gaussian"), seed: int = 0
) -> BucketScore:
    """Means and global figures of every bucket of a run, or of a part of it that holds whole buckets."""
    cells = tables(run, splits=("buckets",), seed=seed)["buckets"] if run.rows else []
    return BucketScore(tuple(cells), tuple(cross_figures(run, pid=pid, seed=seed)))


def score_run(run: ExplainedRun, buckets: BucketScore, *, seed: int = 0) -> ExplainScore:
    """One run by itself: what its buckets say, and what takes scenes of several."""
    rest = {name: tuple(cells) for name, cells in _rest(run, seed).items()} if run.rows else {}
    return ExplainScore(
        (_about(run),),
        {"buckets": buckets.cells, **rest} if run.rows else {},
        (),
        tuple(gaps(run, seed=seed)),
        buckets.crosses,
        tuple(depth_checks(run, seed=seed)),
        tuple(costs(run)),
    )


def _rest(run: ExplainedRun, seed: int) -> dict[str, list[Cell]]:
    return tables(run, splits=[name for name in SPLITS if name != "buckets"], seed=seed)


def separate_all(explained: Sequence[ExplainedRun], *, seed: int = 0) -> tuple[Separation, ...]:
    """Every pure model against every spurious one on the same data."""
    return tuple(
        each
        for pure in explained
        for spur in explained
        if (pure.logic, spur.logic) == ("pure", "spur") and pure.data == spur.data
        for each in separations(pure, spur, seed=seed)
    )


def join_scores(
    scores: Sequence[ExplainScore], separated: tuple[Separation, ...], *, seed: int = 0
) -> ExplainScore:
    """Scores of single runs as one, with how the models come apart, beside the paper."""
    joined: dict[str, tuple[Cell, ...]] = {}
    for score in scores:
        for name, cells in score.tables.items():
            joined[name] = joined.get(name, ()) + cells
    return ExplainScore(
        tuple(each for score in scores for each in score.runs),
        joined,
        separated,
        tuple(each for score in scores for each in score.gaps),
        tuple(each for score in scores for each in score.crosses),
        tuple(each for score in scores for each in score.depths),
        tuple(each for score in scores for each in score.costs),
        tuple(beside_the_paper(joined.get("buckets", ()), seed=seed)),
    )


def _about(run: ExplainedRun) -> dict[str, Any]:
    return {
        "run": run.name,
        "scenario": run.scenario,
        "model": run.model,
        "logic": run.logic,
        "mode": run.mode,
        "data": run.data,
        "scenes": len(run.said),
        "right": sum(int(run.batch.answer[row]) == said for row, said in run.said.items()),
        "pending": run.pending,
        "failed": run.failed,
        "settings": run.plan.as_json(),
    }


def costs(run: ExplainedRun) -> list[Cost]:
    """What each explainer cost, and what it could not give."""
    found = []
    for name in dict.fromkeys(row.explainer for row in run.rows):
        rows = [row for row in run.rows if row.explainer == name]
        measured = [row for row in rows if row.status != "not measured"]
        status = Counter(row.status for row in rows)
        calls = [row.calls for row in measured] or [0]
        found.append(
            Cost(
                run.scenario,
                name,
                len(measured),
                status["not measured"],
                status["no relevance"],
                status["no truth"],
                sum(row.is_exact for row in measured),
                sum(calls) / len(calls),
                max(calls),
                dict(Counter(row.reason for row in rows if row.reason)),
            )
        )
    return found
