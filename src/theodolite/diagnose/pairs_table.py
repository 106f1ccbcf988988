"""Tables of pairs: the verdict by model and instrument, and the outcomes by edit or relation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from theodolite.core.estimates import Estimate
from theodolite.core.tables import Cell, Column, Table
from theodolite.diagnose.record import Diagnosis, Figure, InstrumentOfModel, LookingForm, PairsForm
from theodolite.diagnose.verdict import label_of

__all__ = ["looking_table", "lookings", "pairs_table"]

_SHARES = ("followed", "moved", "unmoved", "lost", "kept")
_NOTES = (
    "Followed: right before and after an edit that changes the right answer.",
    "A model that ignores what was edited follows no pair, or at most a quarter if it answers at random.",
    "Kept: the same answer after an edit that leaves the right answer unchanged.",
)


def lookings(diagnosis: Diagnosis) -> Iterator[tuple[str, InstrumentOfModel, LookingForm]]:
    """Yield every verdict of pairs with its label, those on the user's own data first."""
    for is_own in (True, False):
        for instrument in diagnosis.instruments:
            for view in instrument.models:
                for looking in view.looking:
                    if (looking.source == "own") == is_own:
                        yield label_of(instrument.name, looking.source), view, looking


def looking_table(diagnosis: Diagnosis) -> Table:
    """Build the table of verdicts: one row for each model and instrument with relevant pairs."""
    rows: list[list[Cell]] = [
        [
            view.model,
            label,
            looking.standing,
            looking.n_relevant,
            *_estimates(looking),
            ", ".join(looking.excluded) or "none",
            ", ".join(looking.not_excluded) or "none",
        ]
        for label, view, looking in lookings(diagnosis)
    ]
    columns = [
        Column("model", "model"),
        Column("instrument", "pictures"),
        Column("verdict", "verdict", key="diagnose.looking"),
        Column("pairs", "pairs", "count"),
        *(Column(name, name, "share", f"diagnose.{name}") for name in _SHARES),
        Column("excluded", "strategies excluded"),
        Column("not_excluded", "not excluded"),
    ]
    return Table.of("diagnose.looking", "Does it look?", columns, rows, _NOTES)


def pairs_table(diagnosis: Diagnosis, by: Literal["edits", "relations"] = "edits") -> Table:
    """Build the table with one row for each model, instrument and edit, or relation."""
    rows: list[list[Cell]] = [
        [
            view.model,
            label,
            form.name,
            form.n,
            *_estimates(form),
        ]
        for label, view, looking in lookings(diagnosis)
        for form in getattr(looking, by)
    ]
    columns = [
        Column("model", "model"),
        Column("instrument", "pictures"),
        Column("name", by.removesuffix("s")),
        Column("pairs", "pairs", "count"),
        *(Column(name, name, "share", f"diagnose.{name}") for name in _SHARES),
    ]
    return Table.of(f"diagnose.pairs_by_{by.removesuffix('s')}", f"By {by.removesuffix('s')}", columns, rows)


def _estimates(form: LookingForm | PairsForm) -> list[Estimate | None]:
    figures: list[Figure | None] = [getattr(form, name) for name in _SHARES]
    return [figure.estimate() if figure else None for figure in figures]
