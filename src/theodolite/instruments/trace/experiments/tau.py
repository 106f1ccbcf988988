"""Calibration of τ of equation 2, the similarity above which two beliefs are the same, on labelled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel, ConfigDict, StrictBool

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import read_lines
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.formulas.tcs import SENTENCE_MODEL, TAU, open_embedder


class LabelledPair(BaseModel):
    """A line of a pair file: two beliefs, and whether people call them the same."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    first: str
    second: str
    same: StrictBool


@dataclass(frozen=True, slots=True)
class TauCalibration:
    """The threshold that best separates stable from changed beliefs."""

    tau: float
    accuracy: stats.Estimate
    """Leave-one-out."""
    accuracy_at_paper: stats.Estimate
    """With τ = 0.8."""
    n_same: int
    n_changed: int


def read_pairs(path: Path) -> list[LabelledPair]:
    """Read labelled pairs, one JSON object per line.

    Raises:
        UsageError: A line is invalid.
    """
    rows, problems = read_lines(path, LabelledPair.model_validate)
    if problems:
        raise UsageError(
            f'{problems[0].where}: needs "first", "second" and "same": true or false ({problems[0].reason})'
        )
    return [pair for _, pair in rows]


def calibrate_tau(pairs: Sequence[LabelledPair], *, sentence_model: str = SENTENCE_MODEL) -> TauCalibration:
    """Choose τ.

    Args:
        pairs: At least four pairs, some the same and some changed.
        sentence_model: Folder or hub id of the sentence model.

    Raises:
        UsageError: There are too few pairs, or the sentence model cannot be loaded.
    """
    same = [pair.same for pair in pairs]
    if len(pairs) < 4 or len(set(same)) < 2:
        raise UsageError(
            f"calibrating τ needs at least 4 labelled pairs, some the same and some changed, got {len(pairs)}"
        )
    embedder = open_embedder(sentence_model)
    if isinstance(embedder, str):
        raise UsageError(embedder)
    sides = [pair.first for pair in pairs], [pair.second for pair in pairs]
    alike = embedder.similarity(*sides).tolist()
    left_out = [
        (alike[i] > _best(alike[:i] + alike[i + 1 :], same[:i] + same[i + 1 :])) == same[i]
        for i in range(len(pairs))
    ]
    at_paper = [(a > TAU) == s for a, s in zip(alike, same, strict=True)]
    return TauCalibration(
        _best(alike, same),
        stats.wilson_interval(sum(left_out), len(pairs)),
        stats.wilson_interval(sum(at_paper), len(pairs)),
        sum(same),
        len(pairs) - sum(same),
    )


def _best(alike: Sequence[float], same: Sequence[bool]) -> float:
    """Return the midpoint of two neighbouring similarities that classifies most pairs correctly; the lowest in a tie."""
    order = sorted(set(alike))
    middles = [(a + b) / 2 for a, b in pairwise(order)] or [order[0]]
    return max(middles, key=lambda tau: (sum((a > tau) == s for a, s in zip(alike, same, strict=True)), -tau))


def tau_table(found: TauCalibration) -> Table:
    """Return a table with one row."""
    key = "trace.tau_accuracy"
    columns = [
        Column("tau", "τ"),
        column(key, "accuracy", "accuracy, leave one out"),
        column(key, "accuracy_at_paper", "accuracy at τ = 0.8"),
        Column("same", "same", "count"),
        Column("changed", "changed", "count"),
    ]
    row: list[Cell] = [
        f"{found.tau:.3f}",
        found.accuracy,
        found.accuracy_at_paper,
        found.n_same,
        found.n_changed,
    ]
    return Table.of("trace.tau", "Threshold of similarity", columns, [row])
