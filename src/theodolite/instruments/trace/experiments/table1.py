"""Table 1 for several models: SGR, HR, TCS and accuracy of each run, and paired differences from the first.

Runs are compared on the episodes that they share, with the interval over clusters, so that hard episodes count for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from theodolite import stats
from theodolite.core.scores import ItemScore
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.experiments.grounding import TraceGroup, caution_table, notes_of
from theodolite.instruments.trace.score import BY_KEY

_SHOWN = (
    "sgr",
    "sgr_low",
    "sgr_high",
    "hr",
    "refutable",
    "unverifiable",
    "not_understood",
    "tcs",
    "tcs_aware",
    "right",
)
_COMPARED = ("sgr", "hr", "right")


@dataclass(frozen=True, slots=True)
class ModelRun:
    """The groups of one run, in its first prompt style."""

    model: str
    groups: Sequence[TraceGroup]

    def of_split(self, split: str) -> TraceGroup | None:
        """The group of a split."""
        return next((group for group in self.groups if group.labels[1] == split), None)


def model_tables(runs: Sequence[ModelRun]) -> list[Table]:
    """One row per model and split; and, per split, each model minus the first one, over shared episodes."""
    splits = list(dict.fromkeys(group.labels[1] for run in runs for group in run.groups))
    rows: list[list[Cell]] = []
    paired: list[list[Cell]] = []
    shown: list[TraceGroup] = []
    for split in splits:
        known = [(run.model, group) for run in runs if (group := run.of_split(split)) is not None]
        for model, group in known:
            shown.append(replace(group, labels=(model, split)))
            rows.append([model, split, *(group.mean(key) for key in _SHOWN), len(group.judged)])
        for model, group in known[1:]:
            differences, n = _difference(group.scores, known[0][1].scores)
            paired.append([model, known[0][0], split, *differences, n])
    heads = [Column("model", "model"), Column("split", "split")]
    named = [Column(key, BY_KEY[f"trace.{key}"].name, "share", f"trace.{key}") for key in _SHOWN]
    columns = [
        *heads,
        *named,
        Column("traces", "traces", "count"),
    ]
    compared = [
        Column("model", "model"),
        Column("minus", "minus"),
        Column("split", "split"),
        *(Column(key, f"Δ {BY_KEY[f'trace.{key}'].name}", "points", f"trace.{key}") for key in _COMPARED),
        Column("episodes", "shared episodes", "count"),
    ]
    tables = [
        caution_table(shown, heads),
        Table.of("trace.models", "Models (Table 1)", columns, rows, [n for g in shown for n in notes_of(g)]),
        Table.of("trace.model_differences", "Paired differences, over shared episodes", compared, paired),
    ]
    return [table for table in tables if table.rows]


def _difference(
    first: Sequence[ItemScore], second: Sequence[ItemScore]
) -> tuple[list[stats.Estimate | None], int]:
    """The paired difference of each compared metric, and the number of shared episodes."""
    found = [stats.score_difference(BY_KEY[f"trace.{key}"], first, second) for key in _COMPARED]
    items = [{score.item for score in scores} for scores in (first, second)]
    return found, len(items[0] & items[1])
