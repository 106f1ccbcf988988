"""The visual reliance score (VRS): what editing the pictures does to a trace.

Equation 4, with Δ the fall of SGR (as a fraction) under an edit and |P| its magnitude:

    VRS = clip( mean(Δ_relevant)/mean|P_relevant| ÷ (mean(Δ_irrelevant)/mean|P_irrelevant| + ε), 0, 10 ),   ε = 0.01

Source: step grounding, equation 4. The new trace is judged against the *old* pictures, so a model that sees the edit and says
so falls; and where irrelevant edits change nothing, ε and the clip decide the value.

The sound version asks directly how many of the edited facts the trace changed, and how many of the others:

    VRS_sound = (updated / edited) ÷ ((changed + ½) / (unedited + 1))

The ½ and 1 give a perfect model a finite value. A model that changes facts at random has 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.answers import guarded
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Slot, Trace, Verifier, facts_of
from theodolite.instruments.trace.verifiers.judging import Hedges, JudgedTrace, judge, verdicts_on
from theodolite.worlds.episodes import Episode, EpisodeEdit

Floats: TypeAlias = NDArray[np.float64]
_Fact: TypeAlias = tuple[Claim, Slot, str]
LARGEST_VRS = 10.0
"""Where the paper clips its value."""
_COUNTS = ("n_edited", "n_updated", "n_correctly_updated", "n_unedited", "n_changed")


def vrs_paper(
    drop: Floats, magnitude: Floats, is_relevant: Floats, *, epsilon: float = 0.01, clip: float = LARGEST_VRS
) -> float:
    """Compute equation 4; NaN without both kinds of edit.

    A denominator below zero, when irrelevant edits happen to help, counts as zero, so that ε remains.

    Args:
        drop: The fall of SGR, as a fraction, of each edited trace.
        magnitude: Magnitude of each edit.
        is_relevant: 1 for relevant edits, 0 for irrelevant ones.
        epsilon: ε.
        clip: The largest value.

    >>> drops = np.array([0.213, 0.242, 0.284, 0.028])
    >>> round(vrs_paper(drops, np.ones(4), np.array([1.0, 1.0, 1.0, 0.0])), 2)
    6.48
    """
    chosen = is_relevant > 0.5
    if not chosen.any() or chosen.all():
        return float("nan")
    above = drop[chosen].mean() / magnitude[chosen].mean()
    below = max(0.0, drop[~chosen].mean() / magnitude[~chosen].mean()) + epsilon
    return float(np.clip(above / below, 0.0, clip))


def vrs_sound(updated: Floats, edited: Floats, changed: Floats, unedited: Floats) -> float:
    """Compute (Σ updated / Σ edited) ÷ ((Σ changed + ½) / (Σ unedited + 1)); NaN without facts of both kinds.

    Args:
        updated: Number of edited facts that each trace changed.
        edited: Number of edited facts.
        changed: Number of other facts that each trace changed.
        unedited: Number of other facts.

    >>> one = np.array([4.0])
    >>> vrs_sound(one, one, 0 * one, 5 * one), vrs_sound(0 * one, one, 0 * one, 5 * one)
    (42.0, 0.0)
    """
    if not edited.sum() or not unedited.sum():
        return float("nan")
    return float((updated.sum() / edited.sum()) / ((changed.sum() + 0.5) / (unedited.sum() + 1)))


@dataclass(frozen=True, slots=True)
class EditedFact:
    """A fact that the first trace states and the edit changed."""

    kind: ClaimKind
    is_updated: bool
    """The second trace no longer states it."""
    is_followed: bool
    """The second trace states it as it is now."""


@dataclass(frozen=True, slots=True)
class EditedTraces:
    """The traces of one model on an episode and on an edit of it, judged against both truths."""

    before: JudgedTrace
    """The first trace against its own episode."""
    after_old: JudgedTrace
    """The second trace against the episode before the edit."""
    after_new: JudgedTrace
    """The second trace against the edited episode."""
    edit: EpisodeEdit
    n_edited: int
    """Facts that the first trace states and the edit changed."""
    n_updated: int
    """Of these, how many the second trace no longer states."""
    n_correctly_updated: int
    """Of these, how many it states as they are now."""
    n_unedited: int
    """Facts that the first trace states and the edit did not change."""
    n_changed: int
    """Of these, how many the second trace no longer states."""
    failure: str = ""
    """Why the verifier failed on one of the traces; then the pair counts only as failed."""
    edited_facts: tuple[EditedFact, ...] = ()
    """The facts behind `n_edited`, one by one."""


def edited_pair(
    before: Trace,
    after: Trace,
    episodes: tuple[Episode, Episode],
    verifier: Verifier,
    *,
    hedges: Hedges = "abstract",
) -> EditedTraces:
    """Compare two traces with claims across an edit.

    Args:
        before: The trace on the original episode.
        after: The trace on the edited episode.
        episodes: The original episode and its edit.
        verifier: Judges the claims.
        hedges: How hedged claims are judged; as if stated, they are facts too.

    Returns:
        A pair with a failure and without facts, if the verifier fails on one of the traces.
    """
    (old, new), edit = episodes, episodes[1].edit
    if edit is None:
        raise UsageError(f"the episode {new.id!r} is not an edit of another")
    judged = judge([before], {before.episode: old}, verifier, hedges=hedges)[0]
    against_old = judge([after], {after.episode: old}, verifier, hedges=hedges)[0]
    against_new = judge([after], {after.episode: new}, verifier, hedges=hedges)[0]
    failure = next((t.failure for t in (judged, against_old, against_new) if t.failure), "")

    def pair(failure: str = "") -> EditedTraces:
        edited: list[EditedFact] = []
        counts = dict.fromkeys(_COUNTS, 0)
        if not failure:
            facts = _facts(before, hedges), _facts(after, hedges)
            counts, edited = _fact_counts(*facts, episodes, verifier)
        return EditedTraces(
            judged, against_old, against_new, edit, **counts, failure=failure, edited_facts=tuple(edited)
        )

    return pair(failure) if failure else guarded(pair, unread=pair)


def _fact_counts(
    facts: Sequence[_Fact], later: Sequence[_Fact], episodes: tuple[Episode, Episode], verifier: Verifier
) -> tuple[dict[str, int], list[EditedFact]]:
    """Count the facts of the first trace that the edit changed or kept, and what the second trace states about them."""
    edited: list[EditedFact] = []
    claims = [claim for claim, *_ in facts]
    truths = [
        [v.truth for v in verdicts_on([claims], episode, verifier, hedges="as stated")[0]]
        for episode in episodes
    ]
    (verdicts,) = verdicts_on([[claim for claim, *_ in later]], episodes[1], verifier, hedges="as stated")
    values_now: dict[tuple[Slot, int], set[str]] = {}
    for claim, slot, value in later:
        for frame in claim.frames or (-1,):
            values_now.setdefault((slot, frame), set()).add(value)
    supported = {
        (slot, frame)
        for (claim, slot, _), verdict in zip(later, verdicts, strict=True)
        if verdict.label == "supported"
        for frame in claim.frames or (-1,)
    }
    counts = dict.fromkeys(_COUNTS, 0)
    for (claim, slot, value), was, now in zip(facts, *truths, strict=True):
        if not was or not now:
            continue
        slots_at = [(slot, frame) for frame in claim.frames or (-1,)]
        still = any(value in values_now.get(slot_at, ()) for slot_at in slots_at)
        if was != now:
            followed = not still and any(slot_at in supported for slot_at in slots_at)
            edited.append(EditedFact(claim.kind, not still, followed))
            counts["n_edited"] += 1
            counts["n_updated"] += not still
            counts["n_correctly_updated"] += followed
        else:
            counts["n_unedited"] += 1
            counts["n_changed"] += not still
    return counts, edited


def _facts(trace: Trace, hedges: Hedges) -> list[_Fact]:
    """Return the facts that a trace states, from whole claims only: a claim within a larger one only names its object."""
    return [
        (claim, belief.slot, belief.value)
        for step in trace.steps
        for claim in step.claims
        if not claim.is_part and (hedges == "as stated" or not claim.hedge)
        for belief in facts_of(claim)
    ]
