"""The beliefs that a trace states, step by step, as slots with values.

*The red chair is on my left* fills the slot (red chair, side, i) with *left of*; *on my right* fills the same slot with
another value. Two steps contradict each other if and only if they fill a slot differently, however similar their words are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.steps import heading_end
from theodolite.instruments.trace.claims.types import Claim, Mention, Step

Slot = tuple[str, str, str]
"""Subject, respect, and what it is relative to."""


@dataclass(frozen=True, slots=True)
class Belief:
    """One slot filled by one claim."""

    slot: Slot
    value: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class BeliefState:
    """The beliefs that a step states, and all beliefs held after it."""

    text: str
    """The words of the step: bᵢ of equation 2."""
    frames: tuple[int, ...]
    said: tuple[Belief, ...]
    """Stated in this step."""
    held: tuple[Belief, ...]
    """Held after it: the last value of every slot filled so far."""


def belief_log(steps: Sequence[Step]) -> list[BeliefState]:
    """The beliefs of a trace, step by step. Hedged claims are not beliefs."""
    log: list[BeliefState] = []
    held: dict[Slot, Belief] = {}
    for step in steps:
        said = [belief for claim in step.claims if not claim.hedge for belief in beliefs_of(claim)]
        held = held | {belief.slot: belief for belief in said}
        words_said = step.text[heading_end(step.text) :]
        log.append(BeliefState(words_said, step.frames, tuple(said), tuple(held.values())))
    return log


def beliefs_of(claim: Claim) -> list[Belief]:
    """The slots that a claim fills; none for an event or a movement, which does not last until the next step.

    >>> from theodolite.instruments.trace.claims.types import Claim, Mention
    >>> beliefs_of(Claim("spatial", Mention("cup"), "left of", Mention("box")))[0].slot
    ('box', 'side', 'cup')
    """
    who = _name(claim.subject)
    no = "not " if claim.is_negated else ""
    if claim.kind == "entity":
        return [Belief((who, "presence", ""), "absent" if claim.is_negated else "present", claim)]
    if claim.kind == "attribute":
        return [
            Belief(
                (words.same_noun(claim.subject.head), words.ATTRIBUTES.get(claim.predicate, "look"), ""),
                no + words.same_attribute(claim.predicate),
                claim,
            )
        ]
    if claim.kind == "count":
        return [Belief((who, "count", ""), no + claim.predicate, claim)]
    if claim.kind == "state":
        name, holds = words.STATES.get(claim.predicate, (claim.predicate, True))
        return [Belief((who, name, ""), str(holds != claim.is_negated), claim)]
    if claim.kind == "spatial" and claim.object is not None and claim.other is None:
        return [_place(claim, who, _name(claim.object))]
    return []


def facts_of(claim: Claim) -> list[Belief]:
    """The slots that a claim fills, including events and movements: what an edit of the pictures may change."""
    lasting = beliefs_of(claim)
    if lasting:
        return lasting
    no = "not " if claim.is_negated else ""
    who, what = str(claim.subject), " ".join(str(m) for m in (claim.object, claim.other) if m is not None)
    if claim.kind == "unread":
        return []
    respect = {"action": "doing", "ego-motion": "motion", "temporal": "order"}.get(claim.kind, claim.kind)
    return [Belief((who, respect, what), no + claim.predicate, claim)]


def _name(said: Mention) -> str:
    """A mention in the one spelling of its words."""
    return " ".join((*map(words.same_attribute, said.attributes), words.same_noun(said.head)))


def _place(claim: Claim, who: str, ground: str) -> Belief:
    """Places are stored in one direction: *the box is right of the cup* equals *the cup is left of the box*."""
    relation = words.same_relation(claim.predicate)
    axis, _ = words.AXES.get(relation, (relation, 0))
    opposite = words.OPPOSITES.get(relation)
    if claim.is_negated:
        relation = "not " + relation
    elif ground < who and opposite is not None and axis not in {"inside", "distance"}:
        who, ground, relation = ground, who, opposite
    elif axis == "distance" and ground < who:
        who, ground = ground, who
    return Belief((who, axis, ground), relation, claim)
