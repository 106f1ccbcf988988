"""What *it*, *they* and *she* stand for: the last thing, or person, that was named before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention

_PERSONAL = frozenset({"he", "she", "him", "her", "they", "them", "who"})
_THINGS = frozenset({"it"})


def resolve_pronouns(steps: Sequence[Sequence[Claim]]) -> list[tuple[Claim, ...]]:
    """The claims of successive steps with pronouns replaced by what they stand for.

    *He*, *she* and *they* take the last person named, *they* also the last thing if nobody was; *it* takes the last thing
    that is no person, the last subject before others. What stays a pronoun is unclear.
    """
    person: Mention | None = None
    thing: Mention | None = None
    resolved: list[tuple[Claim, ...]] = []
    for claims in steps:
        done = []
        for claim in claims:
            subject = _stands_for(claim.subject, person, thing)
            target = claim.object if claim.object is None else _stands_for(claim.object, person, thing)
            done.append(replace(claim, subject=subject, object=target))
            if claim.kind == "entity":
                if claim.subject.head in words.SYNONYMS["person"]:
                    person = claim.subject
                else:
                    thing = claim.subject
        resolved.append(tuple(done))
    return resolved


def _stands_for(said: Mention, person: Mention | None, thing: Mention | None) -> Mention:
    meant = None
    if said.head in _PERSONAL:
        meant = person or (thing if said.head in {"they", "them"} else None)
    elif said.head in _THINGS:
        meant = thing
    return said if meant is None else replace(said, head=meant.head, attributes=meant.attributes)
