"""What editing the pictures does to a trace: the visual reliance score in the paper's form and in a sound one, and Table 3.

The paper's score asks how far the SGR falls, but of what: the new trace is judged against the *old* pictures, so that a
model which sees the edit, and says so, falls. The sound score asks directly: of the facts that were edited, how many did
the trace change, and of those that were not, how many?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import Claim, Trace, Verifier
from theodolite.instruments.trace.data.episode import Edit, Episode
from theodolite.instruments.trace.formulas.sgr import Handling, difference_estimate, trace_sgr
from theodolite.instruments.trace.verifiers.beliefs import Slot, facts_of
from theodolite.instruments.trace.verifiers.judging import Granularity, Hedges, JudgedTrace, judge

EPSILONS, CLIPS = (0.001, 0.01, 0.1), (5.0, 10.0, 20.0)
"""The paper's sweep; its choice is ε = 0.01 and a clip at 10. ε only makes sense with Δ as fractions, not as points."""

Reading: TypeAlias = Literal["paper", "sound"]
"""``paper``: the new trace against the old truth. ``sound``: against the truth of the edited episode."""

_Fact: TypeAlias = tuple[Claim, Slot, str]
_COUNTS = ("n_edited", "n_updated", "n_correctly_updated", "n_unedited", "n_changed")


@dataclass(frozen=True, slots=True)
class EditedPair:
    """A trace on an episode, and a trace of the same model on an edit of it, each judged against both truths."""

    before: JudgedTrace
    """The first trace against its own episode."""
    after_old: JudgedTrace
    """The second trace against the episode before the edit."""
    after_new: JudgedTrace
    """The second trace against the edited episode."""
    edit: Edit
    n_edited: int
    """Facts that the first trace states and the edit changed."""
    n_updated: int
    """Of these, how many the second trace no longer states."""
    n_correctly_updated: int
    """Of these, how many it states as they now are."""
    n_unedited: int
    """Facts that the first trace states and the edit left as they were."""
    n_changed: int
    """Of these, how many the second trace no longer states."""
    failure: str = ""
    """Why the verifier could not judge one of the two; then the pair counts nowhere but among the failed."""


def edited_pair(
    before: Trace,
    after: Trace,
    episodes: tuple[Episode, Episode],
    verifier: Verifier,
    *,
    hedges: Hedges = "abstract",
) -> EditedPair:
    """Compares two traces, with their claims, across an edit.

    If the verifier fails on one of them, the pair comes back with the reason and without facts.

    Args:
        before: of the episode as it was.
        after: of the edited episode.
        episodes: the episode, and its edit.
        verifier: who judges.
        hedges: what becomes of guesses; as if stated, they are facts too.
    """
    old, new = episodes
    if new.edit is None:
        raise UsageError(f"the episode {new.id!r} is no edit of another")
    judged = judge([before], {before.episode: old}, verifier, hedges=hedges)[0]
    against_old = judge([after], {after.episode: old}, verifier, hedges=hedges)[0]
    against_new = judge([after], {after.episode: new}, verifier, hedges=hedges)[0]
    failure = next((t.failure for t in (judged, against_old, against_new) if t.failure), "")
    counts = dict.fromkeys(_COUNTS, 0)
    if not failure:
        try:
            counts = _fact_counts(_facts(before, hedges), _facts(after, hedges), episodes, verifier)
        except UsageError as error:  # a broken picture that only these claims need
            failure = str(error)
    return EditedPair(judged, against_old, against_new, new.edit, **counts, failure=failure)


def _fact_counts(
    facts: Sequence[_Fact], later: Sequence[_Fact], episodes: tuple[Episode, Episode], verifier: Verifier
) -> dict[str, int]:
    """How many facts of the first trace the edit changed and left, and what became of them in the second."""
    claims = [claim for claim, *_ in facts]
    truths = [[v.truth for v in verifier.verify(claims, episode)] for episode in episodes]
    said_now: dict[tuple[Slot, int], set[str]] = {}
    for claim, slot, value in later:
        for frame in claim.frames or (-1,):
            said_now.setdefault((slot, frame), set()).add(value)
    supported = {
        (slot, frame)
        for (claim, slot, _), verdict in zip(
            later, verifier.verify([c for c, *_ in later], episodes[1]), strict=True
        )
        if verdict.label == "supported"
        for frame in claim.frames or (-1,)
    }
    counts = dict.fromkeys(_COUNTS, 0)
    for (claim, slot, value), was, now in zip(facts, *truths, strict=True):
        if not was or not now:
            continue
        places = [(slot, frame) for frame in claim.frames or (-1,)]
        still = any(value in said_now.get(place, ()) for place in places)
        if was != now:
            counts["n_edited"] += 1
            counts["n_updated"] += not still
            counts["n_correctly_updated"] += not still and any(place in supported for place in places)
        else:
            counts["n_unedited"] += 1
            counts["n_changed"] += not still
    return counts


def _facts(trace: Trace, hedges: Hedges) -> list[_Fact]:
    """What a trace states, whole claims only: *the red ball* in *the red ball is left of the box* is how the fact is named."""
    return [
        (claim, belief.slot, belief.value)
        for step in trace.steps
        for claim in step.claims
        if not claim.is_part and (hedges == "as stated" or not claim.hedge)
        for belief in facts_of(claim)
    ]


@dataclass(frozen=True, slots=True)
class Reliance:
    """The visual reliance of one model."""

    vrs_paper: stats.Estimate | None
    """Equation 4: clip(Δ_relevant/|P_relevant| ÷ (Δ_irrelevant/|P_irrelevant| + ε), 0, 10), ε = 0.01, Δ as fractions."""
    sweep: dict[str, float]
    """Its value for every ε and clip of the paper's sweep, as ``"ε=0.01, clip=10"``."""
    vrs_sound: stats.Estimate | None
    """Share of edited facts that were updated ÷ share of unedited facts that were changed."""
    updated: stats.Estimate | None
    correctly_updated: stats.Estimate | None
    changed: stats.Estimate | None
    n_pairs: int
    n_relevant: int
    n_irrelevant: int
    n_failed: int = 0
    """Pairs that the verifier could not judge; they are in none of the other counts."""
    n_without_base: int = 0
    """Answered edits of episodes that were not answered themselves, so that there is nothing to compare with."""


def reliance(
    pairs: Sequence[EditedPair],
    *,
    handling: Handling = "exclude",
    granularity: Granularity = "whole",
    n_without_base: int = 0,
    seed: int = 0,
) -> Reliance:
    """Sums up the edited pairs of one model; intervals are clustered by unit.

    A denominator of equation 4 below zero (irrelevant edits that happen to help) counts as zero, so that ε is what is
    left. In the sound form the share of changed facts is (c + ½)/(n + 1): without it a perfect looker would have no value.
    """
    n_failed = sum(bool(pair.failure) for pair in pairs)
    pairs = [pair for pair in pairs if not pair.failure]
    drops = [_drop(pair, handling, granularity) for pair in pairs]
    known = [(pair, drop) for pair, drop in zip(pairs, drops, strict=True) if drop is not None]
    relevant = np.array([pair.edit.is_relevant for pair, _ in known], bool)
    data = (
        np.array([drop for _, drop in known], float),
        np.array([pair.edit.magnitude for pair, _ in known], float),
        relevant.astype(float),
    )
    units = [pair.before.unit for pair, _ in known]
    has_both = bool(known) and bool(relevant.any()) and not bool(relevant.all())
    return Reliance(
        vrs_paper=_estimate(data, _equation_4, units, seed) if has_both else None,
        sweep={
            f"ε={e:g}, clip={c:g}": float(equation_4(*data, epsilon=e, clip=c))
            for e in EPSILONS
            for c in CLIPS
        }
        if has_both
        else {},
        vrs_sound=_sound(pairs, seed),
        updated=_ratio(pairs, "n_updated", "n_edited", seed),
        correctly_updated=_ratio(pairs, "n_correctly_updated", "n_edited", seed),
        changed=_ratio(pairs, "n_changed", "n_unedited", seed),
        n_pairs=len(pairs),
        n_relevant=sum(pair.edit.is_relevant for pair in pairs),
        n_irrelevant=sum(not pair.edit.is_relevant for pair in pairs),
        n_failed=n_failed,
        n_without_base=n_without_base,
    )


def equation_4(
    drop: NDArray[np.float64],
    magnitude: NDArray[np.float64],
    is_relevant: NDArray[np.float64],
    *,
    epsilon: float = 0.01,
    clip: float = 10.0,
) -> float:
    """VRS from the fall of the SGR (as a fraction) of each edited sample, its magnitude, and whether it was relevant.

    >>> drops = np.array([0.213, 0.242, 0.284, 0.028])
    >>> round(equation_4(drops, np.ones(4), np.array([1.0, 1.0, 1.0, 0.0])), 2)
    6.48
    """
    chosen = is_relevant > 0.5
    if not chosen.any() or chosen.all():
        return float("nan")
    above = drop[chosen].mean() / magnitude[chosen].mean()
    below = max(0.0, drop[~chosen].mean() / magnitude[~chosen].mean()) + epsilon
    return float(np.clip(above / below, 0.0, clip))


def _equation_4(
    drop: NDArray[np.float64], magnitude: NDArray[np.float64], is_relevant: NDArray[np.float64]
) -> float:
    return equation_4(drop, magnitude, is_relevant)


def _drop(pair: EditedPair, handling: Handling, granularity: Granularity) -> float | None:
    before, after = (
        trace_sgr(t, handling=handling, granularity=granularity) for t in (pair.before, pair.after_old)
    )
    return None if before is None or after is None else before - after


def _estimate(
    data: tuple[NDArray[np.float64], ...], statistic: Callable[..., float], units: Sequence[str], seed: int
) -> stats.Estimate | None:
    if len(set(units)) < 2:
        return None
    distribution = stats.bootstrap_distribution(
        data, statistic, clusters=list(units), jackknife=False, seed=seed
    )
    if distribution.n_undefined > 0.05 * distribution.resamples.size:
        return None
    return distribution.estimate("percentile")


def _ratio(pairs: Sequence[EditedPair], hits: str, of: str, seed: int) -> stats.Estimate | None:
    """A share of facts, pooled over pairs and clustered by unit; Wilson's over the units where all pairs are alike."""
    a = np.array([getattr(pair, hits) for pair in pairs], float)
    n = np.array([getattr(pair, of) for pair in pairs], float)
    units = [pair.before.unit for pair in pairs]
    if not n.sum():
        return None
    if a.sum() in {0, n.sum()}:
        k = len({unit for unit, count in zip(units, n, strict=True) if count})
        return stats.wilson_interval(k if a.sum() else 0, k)
    return _estimate((a, n), lambda x, y: x.sum() / y.sum() if y.sum() else float("nan"), units, seed)


def _sound(pairs: Sequence[EditedPair], seed: int) -> stats.Estimate | None:
    columns = tuple(
        np.array([getattr(pair, name) for pair in pairs], float)
        for name in ("n_updated", "n_edited", "n_changed", "n_unedited")
    )
    if not pairs or not columns[1].sum() or not columns[3].sum():
        return None
    return _estimate(columns, sound_reliance, [pair.before.unit for pair in pairs], seed)


def sound_reliance(
    updated: NDArray[np.float64],
    edited: NDArray[np.float64],
    changed: NDArray[np.float64],
    unedited: NDArray[np.float64],
) -> float:
    """(Σ updated / Σ edited) ÷ ((Σ changed + ½) / (Σ unedited + 1)).

    >>> one = np.array([4.0])
    >>> sound_reliance(one, one, 0 * one, 5 * one), sound_reliance(0 * one, one, 0 * one, 5 * one)
    (42.0, 0.0)
    """
    if not edited.sum() or not unedited.sum():
        return float("nan")
    return float((updated.sum() / edited.sum()) / ((changed.sum() + 0.5) / (unedited.sum() + 1)))


@dataclass(frozen=True, slots=True)
class SensitivityCell:
    """One family of edits in Table 3."""

    family: str
    reading: Reading
    delta_sgr: stats.Estimate | None
    """SGR after minus before: negative is a fall."""
    delta_accuracy: stats.Estimate | None
    p_sgr: float | None
    """Sign-flip test over units, corrected by Holm over all cells."""
    p_accuracy: float | None
    p_sgr_falls_more: float | None
    """One-sided sign-flip test over units that ΔSGR < ΔAcc, of the pairs that have both: SGR falls by more, Finding 7;
    corrected likewise. Signed, since chance changes answers to and fro, and a mean of |ΔAcc| would count that as an effect."""
    n: int
    """Edited pairs of the family."""
    n_sgr: int
    """Those on which ΔSGR rests."""
    n_accuracy: int
    """Those on which ΔAcc rests."""


def sensitivity(
    pairs: Sequence[EditedPair],
    *,
    handling: Handling = "exclude",
    granularity: Granularity = "whole",
    seed: int = 0,
) -> list[SensitivityCell]:
    """Table 3: what each family of edits does to SGR and accuracy, by both readings, with a test per cell."""
    pairs = [pair for pair in pairs if not pair.failure]
    rows = [
        (
            family,
            reading,
            *_changes([p for p in pairs if p.edit.family == family], reading, (handling, granularity), seed),
        )
        for family in ("position", "temporal", "visibility", "irrelevant")
        for reading in ("paper", "sound")
    ]
    raw = [p for row in rows for p in row[4]]
    adjusted = iter(
        stats.holm([p for p in raw if p is not None]).tolist() if any(p is not None for p in raw) else []
    )
    cells = []
    for family, reading, sgr, accuracy, ps, numbers in rows:
        n = sum(pair.edit.family == family for pair in pairs)
        p_sgr, p_accuracy, p_more = (None if p is None else float(next(adjusted)) for p in ps)
        cells.append(SensitivityCell(family, reading, sgr, accuracy, p_sgr, p_accuracy, p_more, n, *numbers))  # type: ignore[arg-type]  # one of the two readings
    return cells


def _changes(
    pairs: Sequence[EditedPair], reading: str, how: tuple[Handling, Granularity], seed: int
) -> tuple[
    stats.Estimate | None,
    stats.Estimate | None,
    tuple[float | None, float | None, float | None],
    tuple[int, int],
]:
    falls, right, both = [], [], []
    for pair in pairs:
        after = pair.after_old if reading == "paper" else pair.after_new
        g0, g1 = (trace_sgr(t, handling=how[0], granularity=how[1]) for t in (pair.before, after))
        a0, a1 = pair.before.is_correct, after.is_correct
        if g0 is not None and g1 is not None:
            falls.append((g1 - g0, pair.before.unit))
        if a0 is not None and a1 is not None:
            right.append((float(a1) - float(a0), pair.before.unit))
        if None not in {g0, g1, a0, a1}:
            both.append((float(a1) - float(a0) - (g1 - g0), pair.before.unit))  # type: ignore[operator, arg-type]  # none is None
    ps = (_p(falls, seed), _p(right, seed), _p(both, seed, one_sided=True))
    return _difference(falls, seed), _difference(right, seed), ps, (len(falls), len(right))


def _difference(values: Sequence[tuple[float, str]], seed: int) -> stats.Estimate | None:
    changes = [value for value, _ in values]
    return difference_estimate(changes, [0.0] * len(changes), [unit for _, unit in values], seed=seed)


def _p(values: Sequence[tuple[float, str]], seed: int, *, one_sided: bool = False) -> float | None:
    if len({unit for _, unit in values}) < 2:
        return None
    return stats.sign_flip_test(
        [value for value, _ in values],
        clusters=[unit for _, unit in values],
        alternative="greater" if one_sided else "two-sided",
        seed=seed,
    ).p_value
