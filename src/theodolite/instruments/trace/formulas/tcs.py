"""The temporal consistency score: equation 2 as it is written, and a form that sees contradictions.

Equation 2 cannot do what it is for: *the red chair is on my left* and *… on my right* are 0.97 alike, so a flipped belief
counts as a stable one. The second form compares what is said slot by slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import Claim, Trace, Verdict, Verifier
from theodolite.instruments.trace.data.dataset import Problem
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.estimates import mean_estimate
from theodolite.instruments.trace.formulas.embedding import SentenceEmbedder, open_embedder
from theodolite.instruments.trace.verifiers.beliefs import Belief, BeliefState, belief_log

TAU = 0.8
"""The paper's threshold between a belief that stays and one that changes."""


@dataclass(frozen=True, slots=True)
class Transition:
    """From one step's belief to the next."""

    similarity: float
    """Cosine of the embeddings of the two steps."""
    is_justified: bool | None
    """j of equation 2; None where the evidence cannot judge a belief that it needs."""
    n_kept: int
    """Slots that the next step fills with the value they had."""
    n_changed: int
    """Slots that it fills with another value."""
    n_justified: int
    """How many of both the evidence at the next step bears out."""
    n_unverifiable: int
    """How many of both the evidence cannot judge; they count for nothing."""
    n_changed_wrongly: int
    """How many of the changed ones the evidence at the next step refutes."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """How consistent the beliefs of a set of traces are."""

    tcs: stats.Estimate | None
    """Equation 2: mean over transitions of similarity × j, mean over traces."""
    tcs_aware: stats.Estimate | None
    """Contradiction-aware: share of the slots carried over that the evidence bears out, mean over traces."""
    contradictions: stats.Estimate | None
    """Share of transitions that change a slot against the evidence, among those that carry one over; mean over traces."""
    tau: float
    n_transitions: int
    n_unverifiable: int
    """Transitions whose j cannot be judged."""
    n_without_slots: int
    """Transitions that carry no slot over."""
    failures: tuple[Problem, ...] = ()
    """Traces on which the verifier failed, and why; they count for nothing here."""


def transitions(
    trace: Trace,
    episode: Episode,
    verifier: Verifier,
    *,
    tau: float = TAU,
    embedder: SentenceEmbedder | None = None,
) -> list[Transition]:
    """Judges every step from one belief to the next.

    Equation 2: j = 1 if the similarity is above τ and the evidence at the next step supports the belief before, or if it
    is not and the evidence contradicts the belief before and supports the new one. A belief is supported if none of its
    claims is unsupported and at least one is supported, contradicted if one is unsupported.

    Slot by slot: a value that stays must hold at the next step; a value that changes must hold there, too.
    """
    log = belief_log(trace.steps)
    if len(log) < 2:
        return []
    embedder = embedder or open_embedder()
    alike = embedder.similarity([b.text for b in log[:-1]], [b.text for b in log[1:]])
    found = []
    for (i, before), after in zip(enumerate(log[:-1]), log[1:], strict=True):
        carried = _carried(before, after)
        asked = [
            *(_at(c, after) for c in _beliefs(trace, i)),
            *(_at(c, after) for c in _beliefs(trace, i + 1)),
            *(_at(new.claim, after) for _, new in carried),
        ]
        verdicts = list(verifier.verify(asked, episode))
        n_old, n_new = len(_beliefs(trace, i)), len(_beliefs(trace, i + 1))
        old, new, slots = verdicts[:n_old], verdicts[n_old : n_old + n_new], verdicts[n_old + n_new :]
        found.append(_transition(float(alike[i]), (old, new), carried, slots, tau=tau))
    return found


def consistency(
    per_trace: Sequence[tuple[Sequence[Transition], str]], *, tau: float = TAU, seed: int = 0
) -> Consistency:
    """Sums up the transitions of traces, each with its unit."""
    literal: list[tuple[float, str]] = []
    aware: list[tuple[float, str]] = []
    wrong: list[tuple[float, str]] = []
    for moves, unit in per_trace:
        judged = [m.similarity * m.is_justified for m in moves if m.is_justified is not None]
        slots = [m.n_justified / n for m in moves if (n := m.n_kept + m.n_changed - m.n_unverifiable)]
        bad = [float(m.n_changed_wrongly > 0) for m in moves if m.n_kept + m.n_changed]
        for values, into in ((judged, literal), (slots, aware), (bad, wrong)):
            if values:
                into.append((sum(values) / len(values), unit))
    everything = [move for moves, _ in per_trace for move in moves]
    tcs, tcs_aware, contradictions = (
        mean_estimate([v for v, _ in pairs], [u for _, u in pairs], seed=seed)
        for pairs in (literal, aware, wrong)
    )
    return Consistency(
        tcs,
        tcs_aware,
        contradictions,
        tau,
        n_transitions=len(everything),
        n_unverifiable=sum(move.is_justified is None for move in everything),
        n_without_slots=sum(move.n_kept + move.n_changed == 0 for move in everything),
    )


def consistency_of(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    tau: float = TAU,
    seed: int = 0,
) -> Consistency:
    """The consistency of traces with their claims; one without its episode is left to `judge` to report."""
    moves: list[tuple[list[Transition], str]] = []
    failures: list[Problem] = []
    for trace in traces:
        episode = episodes.get(trace.episode)
        if episode is None:
            continue
        try:
            moves.append((transitions(trace, episode, verifier, tau=tau), episode.unit))
        except UsageError as error:  # a broken picture, say: this trace fails, the others go on
            failures.append(Problem(trace.episode, str(error)))
    return replace(consistency(moves, tau=tau, seed=seed), failures=tuple(failures))


def _beliefs(trace: Trace, step: int) -> list[Claim]:
    """The claims of a step that hold beyond the moment."""
    return [
        c
        for c in trace.steps[step].claims
        if not c.hedge and not c.is_part and c.kind not in {"ego-motion", "temporal"}
    ]


def _at(claim: Claim, state: BeliefState) -> Claim:
    return replace(claim, frames=state.frames)


def _carried(before: BeliefState, after: BeliefState) -> list[tuple[Belief, Belief]]:
    """The slots that a step fills and that were filled before: their old and their new filling."""
    held = {belief.slot: belief for belief in before.held}
    return [(held[new.slot], new) for new in after.said if new.slot in held and not new.claim.is_part]


def _transition(
    similarity: float,
    beliefs: tuple[Sequence[Verdict], Sequence[Verdict]],
    carried: Sequence[tuple[Belief, Belief]],
    slots: Sequence[Verdict],
    *,
    tau: float,
) -> Transition:
    old, new = (_stands(verdicts) for verdicts in beliefs)
    revised = None if old is None or new is None else (not old) and new
    justified = old if similarity > tau else revised
    changed = [a.value != b.value for a, b in carried]
    return Transition(
        similarity,
        justified,
        n_kept=len(changed) - sum(changed),
        n_changed=sum(changed),
        n_justified=sum(v.label == "supported" for v in slots),
        n_unverifiable=sum(v.label == "unverifiable" for v in slots),
        n_changed_wrongly=sum(
            is_new and v.label == "unsupported" for is_new, v in zip(changed, slots, strict=True)
        ),
    )


def _stands(verdicts: Sequence[Verdict]) -> bool | None:
    """Whether the evidence supports a belief; None if it can judge none of its claims."""
    labels = {verdict.label for verdict in verdicts}
    if "unsupported" in labels:
        return False
    return True if "supported" in labels else None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The threshold that best tells beliefs that stay from beliefs that change."""

    tau: float
    accuracy: stats.Estimate
    """On pairs that were left out while choosing: leave-one-out."""
    accuracy_at_paper: stats.Estimate
    """With τ = 0.8."""
    n_same: int
    n_changed: int


def calibrate_tau(
    pairs: Sequence[tuple[str, str, bool]], *, embedder: SentenceEmbedder | None = None
) -> Calibration:
    """Chooses τ on labelled pairs of beliefs.

    Args:
        pairs: two beliefs, and whether people call them the same.
        embedder: by default all-MiniLM-L6-v2.
    """
    same = [label for *_, label in pairs]
    if len(pairs) < 4 or len(set(same)) < 2:
        raise UsageError(
            f"calibrating τ needs at least 4 labelled pairs, some the same and some changed, got {len(pairs)}"
        )
    alike = (
        (embedder or open_embedder()).similarity([a for a, *_ in pairs], [b for _, b, _ in pairs]).tolist()
    )
    tau = _best(alike, same)
    left_out = [
        (alike[i] > _best(alike[:i] + alike[i + 1 :], same[:i] + same[i + 1 :])) == same[i]
        for i in range(len(pairs))
    ]
    at_paper = sum((a > TAU) == s for a, s in zip(alike, same, strict=True))
    n = len(pairs)
    return Calibration(
        tau,
        stats.wilson_interval(sum(left_out), n),
        stats.wilson_interval(at_paper, n),
        sum(same),
        n - sum(same),
    )


def _best(alike: Sequence[float], same: Sequence[bool]) -> float:
    """The middle between two neighbouring similarities that classifies most pairs rightly; the lowest of equals."""
    order = sorted(set(alike))
    middles = [(a + b) / 2 for a, b in pairwise(order)] or [order[0]]
    return max(middles, key=lambda tau: (sum((a > tau) == s for a, s in zip(alike, same, strict=True)), -tau))
