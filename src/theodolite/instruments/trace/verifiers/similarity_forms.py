"""The forms that a claim can take as captions: what a CLIP is measured by, and in which terms its verdicts answer."""

from __future__ import annotations

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim
from theodolite.instruments.trace.verifiers.captions import DOOR_STATES, EGO_SIDES, HUES, SIDES

TWO_THINGS, FROM_ME, MY_ROOM = "spatial, two things", "spatial, from me", "spatial, my room"
"""One thing left or right of another, of 2 captions; where it lies as I see it, of 4; the colour of the room I am in, of 11."""
FORMS = ("entity", "attribute", TWO_THINGS, FROM_ME, MY_ROOM, "state")


def form_of(claim: Claim) -> str:
    """Which question a claim puts to a picture: its kind, and for places what they are relative to.

    >>> from theodolite.instruments.trace.claims.types import Mention
    >>> form_of(Claim("spatial", Mention("ball"), "left of", Mention("i")))
    'spatial, from me'
    """
    if claim.kind != "spatial" or claim.object is None:
        return claim.kind
    if claim.subject.head in words.FIRST_PERSON:
        return MY_ROOM
    return FROM_ME if claim.object.head in words.FIRST_PERSON else TWO_THINGS


def values_of(claim: Claim, n: int) -> list[str]:
    """What each of the claim's n captions says, in the claim's own terms and in the order of the captions.

    >>> from theodolite.instruments.trace.claims.types import Mention
    >>> values_of(Claim("state", Mention("door"), "open"), 2), values_of(Claim("entity", Mention("cup")), 3)
    (['open', 'closed'], ['present', 'absent', 'absent'])
    """
    said, form = claim.predicate, form_of(claim)
    if form == "entity":
        return ["present"] + ["absent"] * (n - 1)
    if form == "state":
        return [said, DOOR_STATES[said]]
    if form == TWO_THINGS:
        return [said, SIDES[said]]
    if form == FROM_ME:
        return [said, *(side for side in EGO_SIDES if side != said)]
    if form == MY_ROOM:
        return [said] + [f"not {said}"] * (n - 1)
    return [said, *(hue for hue in HUES if hue != said)]
