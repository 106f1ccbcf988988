"""Claims as captions of pictures: the claim itself, and the same claim with other values of its slot.

The form of a claim decides how many captions there are, so a CLIP is calibrated by form.
"""

from __future__ import annotations

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.articles import with_article
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Mention
from theodolite.instruments.trace.data.episode import Episode

SIDES = tuple(relation for relation, (axis, _) in words.AXES.items() if axis == "side")
DOOR_STATES = ("open", words.opposite_state("open"))
FINE_KINDS: frozenset[ClaimKind] = frozenset({"spatial", "state"})
"""Kinds that CLIP models in general cannot judge; only a calibrated model judges them."""
TWO_THINGS, FROM_ME, MY_ROOM = "spatial, two things", "spatial, from me", "spatial, my room"
"""One object left or right of another, 2 captions; its place relative to the observer, 4; the colour of the observer's room, 11."""
FORMS = ("entity", "attribute", TWO_THINGS, FROM_ME, MY_ROOM, "state")


def captions_of(claim: Claim, episode: Episode) -> list[str]:
    """The claim as a caption, then the same with other values; empty if it cannot be expressed so."""
    head = claim.subject.head
    if claim.kind == "spatial":
        return _spatial(claim)
    if head in words.FIRST_PERSON or head in words.PRONOUNS:
        return []
    if claim.kind == "attribute" and words.ATTRIBUTES.get(claim.predicate) == "colour":
        return colours_of(head, claim.predicate)
    if claim.kind == "state" and claim.predicate in DOOR_STATES:
        return [in_state(looks_of(claim.subject), state) for state in _and_opposite(claim)]
    if claim.kind != "entity":
        return []
    labels = episode.vocabulary.get("objects") or words.THINGS
    others = [caption(label) for label in labels if not words.may_mean(head, label)]
    return [caption(looks_of(claim.subject)), *others] if others else []


def _spatial(claim: Claim) -> list[str]:
    target, predicate = claim.object, claim.predicate
    if target is None:
        return []
    if claim.subject.head in words.FIRST_PERSON:
        hues = [hue for hue in target.attributes if hue in words.HUES]
        return colours_of(target.head, hues[0]) if predicate == "in" and hues else []
    looks = looks_of(claim.subject)
    if target.head in words.FIRST_PERSON:
        return seen_from_me(looks, predicate) if predicate in words.FROM_ME else []
    if predicate not in SIDES or target.head in words.PRONOUNS:
        return []
    return [beside(looks, side, looks_of(target)) for side in _and_opposite(claim)]


def _and_opposite(claim: Claim) -> list[str]:
    """What a claim says of a state or a side, and the opposite."""
    said = claim.predicate
    return [said, words.opposite_state(said) if claim.kind == "state" else words.OPPOSITES[said]]


def looks_of(mention: Mention) -> str:
    """*red ball*."""
    return " ".join((*mention.attributes, mention.head))


def caption(looks: str) -> str:
    """*a picture of a red ball*."""
    return f"a picture of {with_article(looks)}"


def colours_of(head: str, colour: str) -> list[str]:
    """The object in this colour, then in each other one."""
    return [caption(f"{hue} {head}") for hue in (colour, *(hue for hue in words.HUES if hue != colour))]


def in_state(looks: str, state: str) -> str:
    """*a picture of an open red door*."""
    return caption(f"{state} {looks}")


def beside(first: str, side: str, second: str) -> str:
    """*a picture of a red ball left of a blue cube*."""
    return f"{caption(first)} {side} {with_article(second)}"


def seen_from_me(looks: str, side: str) -> list[str]:
    """The place of an object relative to the observer: on this side, then on each other one."""
    sides = (side, *(each for each in words.FROM_ME if each != side))
    return [f"{caption(looks)} {words.FROM_ME[each]}" for each in sides]


def form_of(claim: Claim) -> str:
    """The form of a claim: its kind, and for spatial claims what the place is relative to.

    >>> form_of(Claim("spatial", Mention("ball"), "left of", Mention("i")))
    'spatial, from me'
    """
    if claim.kind != "spatial" or claim.object is None:
        return claim.kind
    if claim.subject.head in words.FIRST_PERSON:
        return MY_ROOM
    return FROM_ME if claim.object.head in words.FIRST_PERSON else TWO_THINGS


def values_of(claim: Claim, n: int) -> list[str]:
    """The value that each of the n captions of a claim states, in order.

    >>> values_of(Claim("state", Mention("door"), "open"), 2), values_of(Claim("entity", Mention("cup")), 3)
    (['open', 'closed'], ['present', 'absent', 'absent'])
    """
    said, form = claim.predicate, form_of(claim)
    if form == "entity":
        return ["present"] + ["absent"] * (n - 1)
    if form in {"state", TWO_THINGS}:
        return _and_opposite(claim)
    if form == FROM_ME:
        return [said, *(side for side in words.FROM_ME if side != said)]
    if form == MY_ROOM:
        return [said] + [f"not {said}"] * (n - 1)
    return [said, *(hue for hue in words.HUES if hue != said)]
