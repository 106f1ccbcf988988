"""Explained runs in short: what was measured, and what it cost in model calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.experiments.explained import ExplainedRun


def runs_table(runs: Sequence[ExplainedRun]) -> Table:
    """One row per run."""
    rows: list[list[Cell]] = []
    for run in runs:
        right = sum(int(run.batch.answer[row]) == said for row, said in run.said.items())
        reasons = Counter(run.unmeasured.values())
        counts = (len(run.said), right, reasons["pending"], reasons["failed"])
        rows.append([run.name, run.scenario, run.model, run.mode, *counts])
    columns = [
        Column("run", "run"),
        Column("scenario", "scenario"),
        Column("model", "model"),
        Column("data", "data"),
        *(Column(name, name, "count") for name in ("scenes", "right", "pending", "failed")),
    ]
    return Table.of("grid.runs", "Explained runs", columns, rows)


def cost_table(runs: Sequence[ExplainedRun]) -> Table:
    """Model calls of every explainer of every run, and what it could not give."""
    rows: list[list[Cell]] = []
    for run in runs:
        for name in dict.fromkeys(each.explainer for each in run.maps):
            maps = [each for each in run.maps if each.explainer == name]
            measured = [each for each in maps if each.status != "not measured"]
            status = Counter(each.status for each in maps)
            calls = [each.calls for each in measured] or [0]
            reason = next((each.reason for each in maps if each.reason), "")
            rows.append(
                [
                    run.scenario,
                    name,
                    sum(calls) / len(calls),
                    max(calls),
                    len(measured),
                    sum(each.is_exact for each in measured),
                    status["no relevance"],
                    status["no truth"],
                    status["not measured"],
                    reason,
                ]
            )
    columns = [
        Column("scenario", "scenario"),
        Column("explainer", "explainer"),
        Column("calls", "mean calls", "number"),
        *(
            Column(name.replace(" ", "_"), name, "count")
            for name in ("most", "measured", "exact", "no relevance", "no truth", "not measured")
        ),
        Column("reason", "reason"),
    ]
    return Table.of("grid.cost", "Cost: model calls per scene", columns, rows)
