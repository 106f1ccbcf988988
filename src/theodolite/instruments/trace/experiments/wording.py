"""The two-way control: the pictures edited and the words kept, and the words paraphrased and the pictures kept.

Only edited pictures should make SGR fall. The paraphrase puts the unchanged task after another lead-in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.tables import Column, Table
from theodolite.instruments.trace.formulas.sgr import AS_PAPER, Counting, trace_sgr
from theodolite.instruments.trace.score import difference_over
from theodolite.instruments.trace.verifiers.judging import JudgedTrace


@dataclass(frozen=True, slots=True)
class TwoWayControl:
    """Changes of SGR and accuracy with edited pictures and with paraphrased tasks."""

    visual_sgr: stats.Estimate | None
    """Against the old truth."""
    visual_accuracy: stats.Estimate | None
    language_sgr: stats.Estimate | None
    language_accuracy: stats.Estimate | None
    p_visual_falls_more: float | None
    """Sign-flip test over units that SGR falls more for the pictures than for the words."""
    n_visual: int
    n_language: int


def two_way_control(
    visual: Sequence[tuple[JudgedTrace, JudgedTrace]],
    language: Sequence[tuple[JudgedTrace, JudgedTrace]],
    *,
    how: Counting = AS_PAPER,
    seed: int = 0,
) -> TwoWayControl:
    """Compares traces before and after.

    Args:
        visual: A trace, and one on edited pictures judged against the old truth.
        language: A trace, and one on the same pictures with a paraphrased task.
        how: Which claims count.
        seed: Seed of the sign flips.
    """
    falls = [
        [
            (g1 - g0, a.unit)
            for a, b in pairs
            if (g0 := trace_sgr(a, how)) is not None and (g1 := trace_sgr(b, how)) is not None
        ]
        for pairs in (visual, language)
    ]
    return TwoWayControl(
        *_changes(visual, how),
        *_changes(language, how),
        _falls_more(falls[0], falls[1], seed),
        len(visual),
        len(language),
    )


def _changes(
    pairs: Sequence[tuple[JudgedTrace, JudgedTrace]], how: Counting
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    """The changes of SGR and of accuracy, after − before."""
    return (
        difference_over([(trace_sgr(b, how), trace_sgr(a, how), a.unit) for a, b in pairs]),
        difference_over([(b.is_correct, a.is_correct, a.unit) for a, b in pairs]),
    )


def _falls_more(
    visual: Sequence[tuple[float, str]], language: Sequence[tuple[float, str]], seed: int
) -> float | None:
    """One-sided sign flips over the units that have both changes."""
    mean = [
        {unit: float(np.mean([v for v, u in side if u == unit])) for _, unit in side}
        for side in (visual, language)
    ]
    shared = sorted(set(mean[0]) & set(mean[1]))
    if len(shared) < 2:
        return None
    test = stats.sign_flip_test(
        [mean[0][u] for u in shared], [mean[1][u] for u in shared], alternative="less", seed=seed
    )
    return test.p_value


def two_way_table(found: TwoWayControl) -> Table:
    """One row for the pictures, one for the words."""
    columns = [
        Column("changed", "changed"),
        Column("delta_sgr", "ΔSGR", "points", "trace.delta_sgr"),
        Column("delta_accuracy", "ΔAcc", "points", "trace.delta_accuracy"),
        Column("traces", "pairs", "count"),
    ]
    rows = [
        ["pictures, words kept", found.visual_sgr, found.visual_accuracy, found.n_visual],
        ["words, pictures kept", found.language_sgr, found.language_accuracy, found.n_language],
    ]
    p = found.p_visual_falls_more
    notes = [] if p is None else [f"SGR falls more with the pictures than with the words: p = {p:.3f}"]
    return Table.of("trace.wording", "Two-way control", columns, rows, notes)
