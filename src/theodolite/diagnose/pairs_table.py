"""Answers before and after edits with a known effect: followed, moved, unmoved, kept or lost, by model and edit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theodolite.core.estimates import Estimate
from theodolite.core.tables import Cell, Column, Table
from theodolite.diagnose.record import Diagnosis, Figure, LookingForm, PairsForm
from theodolite.pairs import AnsweredPair, Edit, judge_looking, pair_shares

__all__ = ["looking_form", "looking_table", "pair_forms", "pairs_table"]

_COLUMNS = [
    Column("model", "model"),
    Column("instrument", "instrument"),
    Column("edit", "edit"),
    Column("pairs", "pairs", "count"),
    Column("followed", "followed", "share", "diagnose.followed"),
    Column("moved", "moved", "share", "diagnose.moved"),
    Column("unmoved", "unmoved", "share", "diagnose.unmoved"),
    Column("kept", "kept", "share", "diagnose.kept"),
    Column("lost", "lost", "share", "diagnose.lost"),
]
_NOTES = (
    "Followed: right before and after an edit that changes the right answer.",
    "A model that ignores what was edited follows no pair, or at most a quarter if it answers at random.",
    "Kept: the same answer after an edit that leaves the right answer unchanged.",
)


def pair_forms(pairs: Iterable[AnsweredPair]) -> list[PairsForm]:
    """Summarise pairs by edit."""
    found: dict[Edit, list[AnsweredPair]] = {}
    for pair in pairs:
        found.setdefault(pair.edit, []).append(pair)
    return [_form(edit, some) for edit, some in found.items()]


def _form(edit: Edit, pairs: Sequence[AnsweredPair]) -> PairsForm:
    shares = pair_shares(pairs)
    figures = {
        name: _figure(getattr(shares, name)) for name in ("followed", "moved", "unmoved", "kept", "lost")
    }
    return PairsForm(
        edit=edit.name,
        is_relevant=edit.is_relevant,
        n=len(pairs),
        excludes=list(edit.excludes),
        **figures,
    )


def looking_form(pairs: Sequence[AnsweredPair], chance: float | None) -> LookingForm | None:
    """Judge from pairs whether a model looks. None if there is no relevant pair."""
    if not any(pair.edit.is_relevant for pair in pairs):
        return None
    found = judge_looking(pairs, chance=chance)
    return LookingForm(
        standing=found.standing,
        because=found.because,
        followed=_figure(found.followed),
        dependence=_figure(found.dependence),
        excluded=list(found.excluded),
    )


def looking_table(diagnosis: Diagnosis) -> Table:
    """Build the table of verdicts: one row for each model and instrument with relevant pairs."""
    rows: list[list[Cell]] = [
        [
            view.model,
            instrument.name,
            view.looking.standing,
            view.looking.followed.estimate() if view.looking.followed else None,
            ", ".join(view.looking.excluded),
        ]
        for instrument in diagnosis.instruments
        for view in instrument.models
        if view.looking is not None
    ]
    columns = [
        Column("model", "model"),
        Column("instrument", "instrument"),
        Column("verdict", "verdict", key="diagnose.looking"),
        Column("followed", "followed, 99 %", "share", "diagnose.followed"),
        Column("excluded", "strategies excluded"),
    ]
    return Table.of("diagnose.looking", "Does it look? By pairs alone", columns, rows)


def _figure(estimate: Estimate | None) -> Figure | None:
    return None if estimate is None else Figure.of(estimate)


def pairs_table(diagnosis: Diagnosis) -> Table:
    """Build the table: one row for each model, instrument and edit."""
    rows: list[list[Cell]] = []
    for instrument in diagnosis.instruments:
        for view in instrument.models:
            for form in view.pairs:
                shares = (form.followed, form.moved, form.unmoved, form.kept, form.lost)
                rows.append(
                    [
                        view.model,
                        instrument.name,
                        form.edit,
                        form.n,
                        *(figure.estimate() if figure else None for figure in shares),
                    ]
                )
    return Table.of("diagnose.pairs", "By edit", _COLUMNS, rows, _NOTES)
