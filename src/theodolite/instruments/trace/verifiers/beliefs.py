"""What a trace holds to be the case, step by step, as slots with values.

*The red chair is on my left* fills the slot (red chair, side of i) with *left of*; *on my right* would fill the same slot
with another value. Two steps contradict each other exactly if they fill a slot differently, however alike their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.steps import heading_end
from theodolite.instruments.trace.claims.types import Claim, Mention, Step

Slot = tuple[str, str, str]
"""Whom it is about, in what respect, relative to what."""

_AXES = {
    **dict.fromkeys(("left of", "right of"), "side"),
    **dict.fromkeys(("in front of", "behind"), "depth"),
    **dict.fromkeys(("above", "over", "below", "under"), "height"),
    **dict.fromkeys(("north of", "south of"), "latitude"),
    **dict.fromkeys(("east of", "west of"), "longitude"),
    **dict.fromkeys(("inside", "in", "outside", "within"), "inside"),
    **dict.fromkeys(("near", "far from", "next to", "beside"), "distance"),
}
_SAME = {
    "under": "below",
    "over": "above",
    "in": "inside",
    "within": "inside",
    "next to": "near",
    "beside": "near",
    "by": "near",
}


@dataclass(frozen=True, slots=True)
class Belief:
    """One slot filled by one claim."""

    slot: Slot
    value: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class BeliefState:
    """What one step says, and what is believed after it."""

    text: str
    """The step's own words: bᵢ of equation 2."""
    frames: tuple[int, ...]
    said: tuple[Belief, ...]
    """What this step says."""
    held: tuple[Belief, ...]
    """What is believed after it: the last value of every slot that was ever filled."""


def belief_log(steps: Sequence[Step]) -> list[BeliefState]:
    """The beliefs of a trace, step by step. Guesses and parts of larger claims are no beliefs."""
    log: list[BeliefState] = []
    held: dict[Slot, Belief] = {}
    for step in steps:
        said = [belief for claim in step.claims if not claim.hedge for belief in beliefs_of(claim)]
        held = held | {belief.slot: belief for belief in said}
        words_said = step.text[heading_end(step.text) :]
        log.append(BeliefState(words_said, step.frames, tuple(said), tuple(held.values())))
    return log


def beliefs_of(claim: Claim) -> list[Belief]:
    """The slots that a claim fills; none for an event or a movement, which is over when the next step comes.

    >>> from theodolite.instruments.trace.claims.types import Claim, Mention
    >>> beliefs_of(Claim("spatial", Mention("cup"), "left of", Mention("box")))[0].slot
    ('box', 'side', 'cup')
    """
    who = str(Mention(claim.subject.head, claim.subject.attributes))
    no = "not " if claim.is_negated else ""
    if claim.kind == "entity":
        return [Belief((who, "presence", ""), "absent" if claim.is_negated else "present", claim)]
    if claim.kind == "attribute":
        return [
            Belief(
                (claim.subject.head, words.ATTRIBUTES.get(claim.predicate, "look"), ""),
                no + claim.predicate,
                claim,
            )
        ]
    if claim.kind == "count":
        return [Belief((who, "count", ""), no + claim.predicate, claim)]
    if claim.kind == "state":
        name, holds = words.STATES.get(claim.predicate, (claim.predicate, True))
        return [Belief((who, name, ""), str(holds != claim.is_negated), claim)]
    if claim.kind == "spatial" and claim.object is not None:
        return [_place(claim, who, str(Mention(claim.object.head, claim.object.attributes)))]
    return []


def facts_of(claim: Claim) -> list[Belief]:
    """The slots that a claim fills, events and movements included: what an edit of the picture may change."""
    lasting = beliefs_of(claim)
    if lasting:
        return lasting
    no = "not " if claim.is_negated else ""
    who, what = str(claim.subject), str(claim.object or "")
    respect = {"action": "doing", "ego-motion": "motion", "temporal": "order"}[claim.kind]
    return [Belief((who, respect, what), no + claim.predicate, claim)]


def _place(claim: Claim, who: str, ground: str) -> Belief:
    """Places are kept in one direction: *the box is right of the cup* is the same belief as *the cup is left of the box*."""
    relation = _SAME.get(claim.predicate, claim.predicate)
    axis = _AXES.get(relation, relation)
    opposite = words.OPPOSITES.get(relation)
    if claim.is_negated:
        relation = "not " + relation
    elif ground < who and opposite is not None and axis not in {"inside", "distance"}:
        who, ground, relation = ground, who, opposite
    elif axis == "distance" and ground < who:
        who, ground = ground, who
    return Belief((who, axis, ground), relation, claim)
