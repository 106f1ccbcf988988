"""The temporal consistency score (TCS): equation 2 as printed, and a version that detects contradictions.

With bᵢ the text of step i, sim the cosine of its sentence embedding with that of the next step, and τ = 0.8,

    TCS = 1/(N−1) Σ sim(bᵢ, bᵢ₊₁) · j(bᵢ, bᵢ₊₁)

where j = 1 if sim > τ and the evidence at the next step supports bᵢ, or if sim ≤ τ and the evidence contradicts bᵢ and
supports bᵢ₊₁. A step is supported if none of its claims is unsupported and at least one is supported, and contradicted if one
is unsupported. Source: step grounding, equation 2.

Embeddings do not detect contradictions: *the red chair is on my left* and *… on my right* have a similarity of 0.97, so a
flipped belief counts as a stable one. The contradiction-aware score compares beliefs slot by slot instead: it is the share of
slots carried over to the next step whose value the evidence there supports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from theodolite.instruments.trace.claims.beliefs import Belief, BeliefState, belief_log
from theodolite.instruments.trace.claims.types import NOT_UNDERSTOOD, Claim, Trace, Verdict, Verifier
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.sentence_model import SENTENCE_MODEL, SentenceEmbedder, open_embedder
from theodolite.instruments.trace.verifiers.judging import Hedges, verdicts_on

TAU = 0.8
"""The paper's threshold between a stable and a changed belief."""


@dataclass(frozen=True, slots=True)
class Transition:
    """The transition from one step to the next."""

    similarity: float | str
    """Cosine of the embeddings of the two steps, or why there is no sentence model to compute it with."""
    is_justified: bool | None
    """j of equation 2; None if the evidence cannot judge a belief that it depends on, or without a similarity."""
    n_kept: int
    """Slots that the next step fills with the same value."""
    n_changed: int
    """Slots that it fills with another value."""
    n_justified: int
    """Of both, how many the evidence at the next step supports."""
    n_unverifiable: int
    """Of both, how many the evidence cannot judge; these do not count."""
    n_changed_wrongly: int
    """Of the changed ones, how many the evidence at the next step refutes."""


def trace_tcs(moves: Sequence[Transition]) -> float | None:
    """Equation 2 for the transitions of one trace; None if none can be judged."""
    found = [
        m.similarity * m.is_justified
        for m in moves
        if m.is_justified is not None and not isinstance(m.similarity, str)
    ]
    return sum(found) / len(found) if found else None


def why_not_computed(moves: Iterable[Transition]) -> str:
    """Why equation 2 was not computed; empty if it was.

    >>> why_not_computed([Transition("no model", None, 1, 0, 1, 0, 0)])
    'not computed: no model'
    """
    return next((f"not computed: {m.similarity}" for m in moves if isinstance(m.similarity, str)), "")


def trace_tcs_aware(moves: Sequence[Transition]) -> float | None:
    """The contradiction-aware score of one trace; None if no slot can be judged."""
    found = [m.n_justified / n for m in moves if (n := m.n_kept + m.n_changed - m.n_unverifiable)]
    return sum(found) / len(found) if found else None


def trace_contradictions(moves: Sequence[Transition]) -> float | None:
    """The share of transitions that change a slot against the evidence, of those that carry a slot over."""
    found = [float(m.n_changed_wrongly > 0) for m in moves if m.n_kept + m.n_changed]
    return sum(found) / len(found) if found else None


def transitions(
    trace: Trace,
    episode: Episode,
    verifier: Verifier,
    *,
    tau: float = TAU,
    embedder: SentenceEmbedder | str = SENTENCE_MODEL,
    hedges: Hedges = "abstract",
) -> list[Transition]:
    """Judges every transition of a trace with claims.

    Args:
        trace: A trace with claims.
        episode: Its episode.
        verifier: Judges the claims.
        tau: Above this similarity, two beliefs are the same.
        embedder: A sentence model, or its folder or hub id. If it cannot be loaded, all but equation 2 is judged.
        hedges: Hedged claims are no beliefs, or are judged as if stated.
    """
    if hedges == "as stated":
        trace = _as_stated(trace)
    log = belief_log(trace.steps)
    if len(log) < 2:
        return []
    opened = open_embedder(embedder) if isinstance(embedder, str) else embedder
    alike: Sequence[float | str] = (
        [opened] * (len(log) - 1)
        if isinstance(opened, str)
        else opened.similarity([b.text for b in log[:-1]], [b.text for b in log[1:]]).tolist()
    )
    found = []
    for (i, before), after in zip(enumerate(log[:-1]), log[1:], strict=True):
        carried = _carried(before, after)
        beliefs = [_lasting(trace, i), _lasting(trace, i + 1)]
        asked = [*beliefs[0], *beliefs[1], *(new.claim for _, new in carried)]
        (verdicts,) = verdicts_on([[replace(c, frames=after.frames) for c in asked]], episode, verifier)
        n_old, n_both = len(beliefs[0]), len(beliefs[0]) + len(beliefs[1])
        judged = verdicts[:n_old], verdicts[n_old:n_both]
        found.append(_transition(alike[i], judged, carried, verdicts[n_both:], tau=tau))
    return found


def _as_stated(trace: Trace) -> Trace:
    """The trace without its hedges; what was not understood stays so."""

    def plain(claim: Claim) -> Claim:
        return claim if claim.hedge == NOT_UNDERSTOOD else replace(claim, hedge="")

    return replace(
        trace, steps=tuple(replace(step, claims=tuple(map(plain, step.claims))) for step in trace.steps)
    )


def _lasting(trace: Trace, step: int) -> list[Claim]:
    """The claims of a step that hold beyond the moment."""
    return [
        c
        for c in trace.steps[step].claims
        if not c.hedge and not c.is_part and c.kind not in {"ego-motion", "temporal"}
    ]


def _carried(before: BeliefState, after: BeliefState) -> list[tuple[Belief, Belief]]:
    """The old and new values of the slots that a step fills and that were filled before."""
    held = {belief.slot: belief for belief in before.held}
    return [(held[new.slot], new) for new in after.said if new.slot in held and not new.claim.is_part]


def _transition(
    similarity: float | str,
    beliefs: tuple[Sequence[Verdict], Sequence[Verdict]],
    carried: Sequence[tuple[Belief, Belief]],
    slots: Sequence[Verdict],
    *,
    tau: float,
) -> Transition:
    old, new = (_is_supported(verdicts) for verdicts in beliefs)
    justified = None
    if not isinstance(similarity, str):
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


def _is_supported(verdicts: Sequence[Verdict]) -> bool | None:
    """Whether the evidence supports a belief; None if it can judge none of its claims."""
    labels = {verdict.label for verdict in verdicts}
    if "unsupported" in labels:
        return False
    return True if "supported" in labels else None
