"""What a set of episodes can refute: false claims made from its annotation, and how a verifier judges them."""

from __future__ import annotations

from collections.abc import Sequence

from theodolite.core.files import Problem
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.claims.types import Label, Verifier
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.formulas.refutable import SWAPS, Swap, refuted_or_why
from theodolite.instruments.trace.score import mean_over


def refutation_table(episodes: Sequence[Episode], verifier: Verifier) -> tuple[Table, list[Problem]]:
    """One row per kind of false claim and one for all; episodes that the verifier fails on are problems. Edits are left out."""
    rows: list[tuple[Swap, Label, str]] = []
    problems = []
    base = [episode for episode in episodes if episode.edit is None]
    for episode in base:
        found = refuted_or_why(episode, verifier)
        if isinstance(found, str):
            problems.append(Problem(episode.id, f"{verifier.name}: {found}"))
        else:
            rows += [(swap, label, episode.unit) for swap, label in found]
    made = [swap for swap in SWAPS if any(each == swap for each, *_ in rows)]
    lacking = [swap for swap in SWAPS if swap not in made]
    notes = []
    if lacking:
        notes = [
            f"nothing annotated can be made false by another {', '.join(lacking)}; claims about these are not refuted either"
        ]
    shown = [_row(swap, [row for row in rows if row[0] == swap]) for swap in made]
    columns = [
        Column("swap", "made false by another"),
        Column("refuted", "refuted", "share", "trace.refutable"),
        Column("credited", "taken for true", "share", "trace.refutable"),
        Column("unverifiable", "unverifiable", "share", "trace.refutable"),
        Column("claims", "false claims", "count"),
    ]
    title = f"What {verifier.name} can refute in {len(base)} episodes"
    return Table.of("trace.refutation", title, columns, [*shown, _row("any of these", rows)], notes), problems


def _row(name: str, rows: Sequence[tuple[Swap, Label, str]]) -> list[Cell]:
    shares = [
        mean_over([(float(label == wanted), unit) for _, label, unit in rows])
        for wanted in ("unsupported", "supported", "unverifiable")
    ]
    return [name, *shares, len(rows)]
