"""Table of the answers that could be read. Unread answers are not missing at random, so every diagnosis shows it."""

from __future__ import annotations

from theodolite.core.tables import Cell, Column, Table
from theodolite.diagnose.record import Diagnosis

__all__ = ["readability_table"]

_COLUMNS = [
    Column("model", "model"),
    Column("instrument", "instrument"),
    Column("asked", "asked", "count"),
    Column("read", "read", "share"),
    Column("refused", "refused", "count"),
    Column("none_of_these", "none of these", "count"),
    Column("cut_off", "cut off", "count"),
    Column("ambiguous", "ambiguous", "count"),
    Column("unreadable", "unreadable", "count"),
    Column("failed", "failed", "count"),
]


def readability_table(diagnosis: Diagnosis) -> Table:
    """Build the table, with one row for each model and instrument."""
    rows: list[list[Cell]] = []
    for model in diagnosis.models:
        for instrument in diagnosis.instruments:
            for view in instrument.models:
                c = view.counts
                if view.model != model.name or c is None or not c.planned:
                    continue
                asked = c.planned - c.pending
                read = 1 - c.lost / asked if asked else None
                lost = (c.refused, c.none_of_these, c.cut_off, c.ambiguous, c.unreadable, c.failed)
                rows.append([model.name, instrument.name, asked, read, *lost])
    return Table.of("diagnose.readability", "Answers that could be read", _COLUMNS, rows)
