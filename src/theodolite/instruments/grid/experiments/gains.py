"""Differences of RMA that section 5.2 of the paper discusses.

Multimodal gain: DIME's interaction map minus its unimodal map, scene by scene. Form gap: counting (form 0) minus existence
(form 1), over buckets of equal type, depth and density.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theodolite import stats
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.experiments.explained import ExplainedRun

FEWEST = 5
"""Maps on each side that a comparison of two groups needs."""


def gains_table(runs: Sequence[ExplainedRun], *, seed: int = 0) -> Table:
    """The multimodal gain of every run, and the form gap of every explainer with enough maps."""
    rows: list[list[Cell]] = []
    for run in runs:
        found = {("multimodal gain", "dime"): multimodal_gain(run)}
        for name in dict.fromkeys(each.explainer for each in run.maps):
            found["form 0 minus form 1", name] = form_gap(run, name, seed=seed)
        rows += [
            [run.scenario, difference, explainer, estimate, estimate.n]
            for (difference, explainer), estimate in found.items()
            if estimate is not None
        ]
    columns = [
        Column("scenario", "scenario"),
        Column("difference", "difference"),
        Column("explainer", "explainer"),
        Column("value", "points", "points", "grid.multimodal_gain"),
        Column("n", "scenes", "count"),
    ]
    return Table.of("grid.gains", "Differences of RMA", columns, rows)


def multimodal_gain(run: ExplainedRun) -> stats.Estimate | None:
    """The mean of RMA(MI map) − RMA(UC map), paired by scene; None without such pairs."""
    rma = {(each.explainer, each.scene): each.truth.rma for each in run.maps if each.truth}
    scenes = [scene for name, scene in rma if name == "dime" and ("dime-unimodal", scene) in rma]
    sides = [[rma[name, scene] for scene in scenes] for name in ("dime", "dime-unimodal")]
    return stats.clustered_difference(sides[0], sides[1], scenes or None)


def form_gap(run: ExplainedRun, explainer: str, *, seed: int = 0) -> stats.Estimate | None:
    """Mean RMA of counting minus that of existence, with a bootstrap interval; None with too few maps."""
    scored = [each for each in run.maps if each.explainer == explainer and each.truth]
    places = {(each.bucket.qtype, each.bucket.depth, each.density, each.bucket.form) for each in scored}
    some = [
        each
        for each in scored
        if (each.bucket.qtype, each.bucket.depth, each.density, 1 - each.bucket.form) in places
    ]
    if min(sum(each.bucket.form == form for each in some) for form in (0, 1)) < FEWEST:
        return None
    values = [each.truth.rma for each in some if each.truth]
    counts = [each.bucket.form == 0 for each in some]
    return stats.bootstrap(
        (values, counts), _difference, bounds=(-1.0, 1.0), interval="percentile", n_resamples=500, seed=seed
    )


def _difference(values: np.ndarray, is_count: np.ndarray) -> float:
    is_count = is_count.astype(bool)
    if is_count.all() or not is_count.any():
        return float("nan")
    return float(values[is_count].mean() - values[~is_count].mean())
