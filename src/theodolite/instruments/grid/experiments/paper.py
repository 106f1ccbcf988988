"""The paper's Tables 5 to 8 beside ours: do the same buckets score high?"""

from __future__ import annotations

from collections.abc import Sequence

from theodolite import stats
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.experiments.map_quality import MEASURES, MapMean
from theodolite.instruments.grid.published import EXPLAINERS, TABLES, TABLES_SOURCE, paper_tables

_KINDS = {"rma": ("rma",), "iou": ("iou", "iou_paper", "pixel_iou_paper")}
"""Our measures beside each of the paper's."""
_FEWEST_BUCKETS = 10
"""Buckets that a correlation needs."""


def paper_table(means: Sequence[MapMean], *, seed: int = 0) -> Table:
    """Each column of the paper's tables beside ours: means, and Spearman's correlation over buckets."""
    ours = {
        (each.scenario, each.kind, each.explainer, each.group): each.value
        for each in means
        if each.by == "bucket"
    }
    rows: list[list[Cell]] = []
    for number, (scenario, measure) in TABLES.items():
        for explainer in EXPLAINERS:
            theirs = [c for c in paper_tables() if (c.table, c.explainer) == (number, explainer)]
            for kind in _KINDS[measure]:
                pairs = [
                    (value, cell.mean)
                    for cell in theirs
                    if (value := ours.get((scenario, kind, explainer, cell.group))) is not None
                ]
                if pairs:
                    place = (number, scenario, explainer, MEASURES[kind].name)
                    rows.append([*place, *_beside(pairs, seed), len(pairs)])
    return Table.of(
        "grid.paper",
        "Beside the paper: means over the buckets that both have, and Spearman's correlation over buckets",
        [
            Column("table", "table", "count"),
            Column("scenario", "scenario"),
            Column("explainer", "explainer"),
            Column("measure", "measure"),
            Column("ours", "ours", "share"),
            Column("paper", "paper", "share"),
            Column("likeness", "likeness", "correlation", "grid.likeness"),
            Column("n", "buckets", "count"),
        ],
        rows,
        [f"Paper: {TABLES_SOURCE}."],
    )


def _beside(pairs: Sequence[tuple[float, float]], seed: int) -> tuple[float, float, stats.Estimate | None]:
    """Both means and the correlation; None with too few buckets, or if one side does not vary."""
    mine, paper = ([pair[side] for pair in pairs] for side in (0, 1))
    is_enough = len(pairs) >= _FEWEST_BUCKETS and min(len(set(mine)), len(set(paper))) > 1
    likeness = stats.spearman(mine, paper, seed=seed) if is_enough else None
    return sum(mine) / len(mine), sum(paper) / len(paper), likeness
