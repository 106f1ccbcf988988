"""Edited pictures: visual reliance over all edits, and Table 3, what each family of edits does to SGR and accuracy.

Here edits are pooled over episodes. The metrics of single episodes (``trace.vrs_paper`` …) are in
`theodolite.instruments.trace.score`; a mean of ratios differs from the ratio of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from theodolite import stats
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.claims.types import KINDS
from theodolite.instruments.trace.formulas.sgr import AS_PAPER, Counting, trace_sgr
from theodolite.instruments.trace.formulas.vrs import LARGEST_VRS, EditedTraces, Floats, vrs_paper, vrs_sound
from theodolite.instruments.trace.score import difference_over, mean_over
from theodolite.worlds.episodes import FAMILIES

EPSILONS, CLIPS = (0.001, 0.01, 0.1), (5.0, 10.0, 20.0)
"""The paper's sweep of equation 4; its choice is ε = 0.01 and a clip at 10, with Δ as fractions."""

Truth: TypeAlias = Literal["paper", "sound"]
"""``paper``: the new trace against the old truth. ``sound``: against the truth of the edited episode."""
_TRUTHS: dict[Truth, str] = {"paper": "the old truth (paper)", "sound": "the new truth (sound)"}


@dataclass(frozen=True, slots=True)
class Reliance:
    """The visual reliance of one model, over all edits."""

    vrs_paper: stats.Estimate | None
    """Equation 4 over all edits."""
    sweep: dict[str, float]
    """Equation 4 for every ε and clip of the paper's sweep, as ``"ε=0.01, clip=10"``."""
    vrs_sound: stats.Estimate | None
    """Visual reliance over all facts."""
    updated: stats.Estimate | None
    """Share of edited facts that are no longer stated."""
    correctly_updated: stats.Estimate | None
    """Share of edited facts that are stated as they are now."""
    changed: stats.Estimate | None
    """Share of unedited facts that are no longer stated."""
    n_pairs: int
    n_relevant: int
    n_irrelevant: int
    n_failed: int = 0
    """Pairs that the verifier failed on; they are in none of the other counts."""
    n_without_base: int = 0
    """Answered edits whose original was not answered."""


def reliance(
    pairs: Sequence[EditedTraces], *, how: Counting = AS_PAPER, n_without_base: int = 0, seed: int = 0
) -> Reliance:
    """Compute visual reliance over edited pairs, clustered by unit.

    Args:
        pairs: Edited pairs.
        how: Which claims count.
        n_without_base: Number of edits whose original has no answer, to report.
        seed: Seed of the bootstrap.
    """
    n_failed = sum(bool(pair.failure) for pair in pairs)
    pairs = [pair for pair in pairs if not pair.failure]
    known = [(pair, drop) for pair in pairs if (drop := _drop(pair, how)) is not None]
    relevant = np.array([float(pair.edit.is_relevant) for pair, _ in known])
    data = (
        np.array([drop for _, drop in known], float),
        np.array([pair.edit.magnitude for pair, _ in known], float),
        relevant,
    )
    units = [pair.before.unit for pair, _ in known]
    has_both = bool(relevant.any()) and not bool(relevant.all())
    sweep = {f"ε={e:g}, clip={c:g}": vrs_paper(*data, epsilon=e, clip=c) for e in EPSILONS for c in CLIPS}
    return Reliance(
        vrs_paper=_bootstrap(data, vrs_paper, units, seed, largest=LARGEST_VRS) if has_both else None,
        sweep=sweep if has_both else {},
        vrs_sound=_sound(pairs, seed),
        updated=_share(pairs, "n_updated", "n_edited"),
        correctly_updated=_share(pairs, "n_correctly_updated", "n_edited"),
        changed=_share(pairs, "n_changed", "n_unedited"),
        n_pairs=len(pairs),
        n_relevant=sum(pair.edit.is_relevant for pair in pairs),
        n_irrelevant=sum(not pair.edit.is_relevant for pair in pairs),
        n_failed=n_failed,
        n_without_base=n_without_base,
    )


def _drop(pair: EditedTraces, how: Counting) -> float | None:
    before, after = (trace_sgr(t, how) for t in (pair.before, pair.after_old))
    return None if before is None or after is None else before - after


def _bootstrap(
    data: tuple[Floats, ...],
    statistic: Callable[..., float],
    units: Sequence[str],
    seed: int,
    *,
    largest: float,
) -> stats.Estimate | None:
    """Return a ratio with its interval over clusters; None if it is undefined in more than 5 % of the resamples."""
    if len(set(units)) < 2:
        return None
    distribution = stats.bootstrap_distribution(
        data, statistic, clusters=list(units), jackknife=False, seed=seed
    )
    return distribution.percentile((0.0, largest))


def _share(pairs: Sequence[EditedTraces], hits: str, of: str) -> stats.Estimate | None:
    """Return a share of facts over all pairs, clustered by unit."""
    facts = [
        (value, pair.before.unit)
        for pair in pairs
        for value, n in ((1.0, getattr(pair, hits)), (0.0, getattr(pair, of) - getattr(pair, hits)))
        for _ in range(n)
    ]
    return stats.clustered_mean([value for value, _ in facts], [unit for _, unit in facts] or None)


def _sound(pairs: Sequence[EditedTraces], seed: int) -> stats.Estimate | None:
    columns = tuple(
        np.array([getattr(pair, name) for pair in pairs], float)
        for name in ("n_updated", "n_edited", "n_changed", "n_unedited")
    )
    if not pairs or not columns[1].sum() or not columns[3].sum():
        return None
    largest = 2 * (float(columns[3].sum()) + 1)
    return _bootstrap(columns, vrs_sound, [pair.before.unit for pair in pairs], seed, largest=largest)


def reliance_table(found: Reliance) -> Table:
    """Return one row: VRS in both versions over all edits, and facts updated and changed."""
    columns = [
        column("trace.vrs_pooled", "vrs"),
        column("trace.vrs_sound_pooled", "vrs_sound"),
        column("trace.updated_pooled", "updated", "edited facts updated"),
        column("trace.correctly_updated", title="correctly"),
        column("trace.changed"),
        Column("edits", "edits", "count"),
        Column("failed", "failed", "count"),
        Column("without_original", "without original", "count"),
    ]
    row = [found.vrs_paper, found.vrs_sound, found.updated, found.correctly_updated, found.changed]
    counts = [found.n_pairs, found.n_failed, found.n_without_base]
    notes = []
    if found.sweep:
        sweep = "; ".join(f"{choice}: {value:.2f}" for choice, value in found.sweep.items())
        notes = [f"Equation 4 with other ε and clips: {sweep}"]
    return Table.of("trace.reliance", "Visual reliance over all edits", columns, [[*row, *counts]], notes)


def facts_table(pairs: Sequence[EditedTraces]) -> Table:
    """Return a table with one row per kind of fact that edits changed: how often traces drop it or state the new one."""
    facts = [(fact, pair.before.unit) for pair in pairs if not pair.failure for fact in pair.edited_facts]
    columns = [
        Column("fact", "edited fact"),
        column("trace.updated_pooled", "updated", "no longer stated"),
        column("trace.correctly_updated", "followed", "followed: stated as it is now"),
        Column("facts", "facts", "count"),
    ]
    rows: list[list[Cell]] = []
    for kind in KINDS:
        own = [(fact, unit) for fact, unit in facts if fact.kind == kind]
        if own:
            updated = mean_over([(float(fact.is_updated), unit) for fact, unit in own])
            followed = mean_over([(float(fact.is_followed), unit) for fact, unit in own])
            rows.append([kind, updated, followed, len(own)])
    return Table.of("trace.edited_facts", "Edited facts, by kind", columns, rows)


@dataclass(frozen=True, slots=True)
class SensitivityCell:
    """One family of edits in Table 3, against one truth."""

    family: str
    truth: Truth
    delta_sgr: stats.Estimate | None
    """SGR after − before."""
    delta_accuracy: stats.Estimate | None
    p_sgr: float | None
    """Sign-flip test over units, Holm-corrected over all cells."""
    p_accuracy: float | None
    p_sgr_falls_more: float | None
    """One-sided sign-flip test that ΔSGR < ΔAcc (Finding 7), of the pairs that have both, corrected likewise. The changes are
    signed, since chance changes answers both ways, and a mean of |ΔAcc| would count that as an effect."""
    n: int
    """Pairs of the family."""
    n_sgr: int
    """Pairs behind ΔSGR."""
    n_accuracy: int
    """Pairs behind ΔAcc."""


def sensitivity(
    pairs: Sequence[EditedTraces], *, how: Counting = AS_PAPER, seed: int = 0
) -> list[SensitivityCell]:
    """Compute Table 3: the effect of each family of edits on SGR and accuracy, against both truths."""
    pairs = [pair for pair in pairs if not pair.failure]
    cells = [
        _cell([p for p in pairs if p.edit.family == family], family, truth, how, seed)
        for family in FAMILIES
        for truth in _TRUTHS
    ]
    raw = [p for _, ps in cells for p in ps if p is not None]
    adjusted = iter(stats.holm(raw).tolist() if raw else [])
    table_cells = []
    for fields, ps in cells:
        p_sgr, p_accuracy, p_more = (None if p is None else float(next(adjusted)) for p in ps)
        family, truth, sgr, accuracy, *counts = fields
        table_cells.append(SensitivityCell(family, truth, sgr, accuracy, p_sgr, p_accuracy, p_more, *counts))
    return table_cells


def _cell(
    pairs: Sequence[EditedTraces], family: str, truth: Truth, how: Counting, seed: int
) -> tuple[
    tuple[str, Truth, stats.Estimate | None, stats.Estimate | None, int, int, int], list[float | None]
]:
    """Return a cell without p-values, and its three p-values before correction."""
    sgr: list[tuple[float, float, str]] = []
    right: list[tuple[float, float, str]] = []
    more: list[tuple[float, str]] = []
    for pair in pairs:
        after, unit = pair.after_old if truth == "paper" else pair.after_new, pair.before.unit
        g0, g1 = trace_sgr(pair.before, how), trace_sgr(after, how)
        a0, a1 = pair.before.is_correct, after.is_correct
        if g0 is not None and g1 is not None:
            sgr.append((g1, g0, unit))
        if a0 is not None and a1 is not None:
            right.append((float(a1), float(a0), unit))
        if g0 is not None and g1 is not None and a0 is not None and a1 is not None:
            more.append((float(a1) - float(a0) - (g1 - g0), unit))
    ps = [
        _p([(a - b, unit) for a, b, unit in sgr], seed),
        _p([(a - b, unit) for a, b, unit in right], seed),
        _p(more, seed, one_sided=True),
    ]
    counts = (len(pairs), len(sgr), len(right))
    return (family, truth, difference_over(sgr), difference_over(right), *counts), ps


def _p(values: Sequence[tuple[float, str]], seed: int, *, one_sided: bool = False) -> float | None:
    if len({unit for _, unit in values}) < 2:
        return None
    return stats.sign_flip_test(
        [value for value, _ in values],
        clusters=[unit for _, unit in values],
        alternative="greater" if one_sided else "two-sided",
        seed=seed,
    ).p_value


def sensitivity_table(cells: Sequence[SensitivityCell]) -> Table:
    """Return a table with one row per family of edits and truth."""
    columns = [
        Column("family", "edit"),
        Column("truth", "judged against"),
        column("trace.delta_sgr"),
        Column("p_sgr", "p", "p"),
        column("trace.delta_accuracy"),
        Column("p_accuracy", "p", "p"),
        Column("p_more", "p, SGR falls more", "p"),
        Column("n_sgr", "pairs, ΔSGR", "count"),
        Column("n_accuracy", "pairs, ΔAcc", "count"),
    ]
    rows = [
        [
            c.family,
            _TRUTHS[c.truth],
            c.delta_sgr,
            c.p_sgr,
            c.delta_accuracy,
            c.p_accuracy,
            c.p_sgr_falls_more,
            c.n_sgr,
            c.n_accuracy,
        ]
        for c in cells
    ]
    title = "Sensitivity to edits (Table 3); p by sign flips over units, Holm over all cells"
    return Table.of("trace.sensitivity", title, columns, rows)
