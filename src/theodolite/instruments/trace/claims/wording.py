"""Claims as English sentences, and the smallest change that makes one false."""

from __future__ import annotations

from dataclasses import replace

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention
from theodolite.worlds.english import plural, with_article, with_right_articles

_CAMERA = "the camera"
_COPULA = frozenset({"am", "is", "are"})


def worded(claim: Claim) -> str:
    """Return a claim as a sentence. The observer is *the camera*.

    >>> cup = Mention("cup", ("red",))
    >>> worded(Claim("spatial", cup, "left of", Mention("book"), is_negated=True))
    'The red cup is not left of the book.'
    >>> worded(Claim("entity", cup)), worded(Claim("count", Mention("box"), "3"))
    ('There is a red cup.', 'There are 3 boxes.')
    >>> worded(Claim("action", Mention("person"), "pick up", cup))
    'The person picks up the red cup.'
    """
    text = _text(claim)
    return with_right_articles(text[:1].upper() + text[1:]) + "."


def _text(claim: Claim) -> str:  # noqa: PLR0911 - one return per kind
    if claim.is_negated and (claim.subject.quantity or claim.kind == "temporal"):
        return f"it is not true that {_text(replace(claim, is_negated=False))}"
    no = "not " if claim.is_negated else ""
    still = "still " if claim.is_lasting else ""
    who = _named(claim.subject)
    if claim.kind == "entity":
        if claim.subject.quantity:
            return f"there are {claim.subject.quantity} {_plural(_noun(claim.subject))}"
        return f"there is {'no ' + _noun(claim.subject) if no else with_article(_noun(claim.subject))}"
    if claim.kind == "count":
        noun = _noun(claim.subject)
        is_one = claim.predicate == "1"
        return f"there {'is' if is_one else 'are'} {no}{claim.predicate} {noun if is_one else _plural(noun)}"
    if claim.kind == "temporal":
        then = f" {_event(claim.object)}" if claim.object is not None else ""
        return f"{_event(claim.subject)} {claim.predicate}{then}"
    if claim.kind in {"action", "ego-motion"}:
        return " ".join(filter(None, (f"{who} {still}{_verb(claim.predicate, no)}".strip(), _objects(claim))))
    if claim.kind == "identity":
        target = _noun(claim.object) if claim.object is not None else ""
        return f"{who} is {no}{with_article(target)}"
    is_most = claim.kind == "comparison" and claim.predicate.endswith("est")
    predicate = f"the {claim.predicate}" if is_most else claim.predicate
    if is_most and claim.object is not None:
        return f"{who} is {no}{predicate} {_noun(claim.object)}"
    return " ".join(filter(None, (f"{who} is {still}{no}{predicate}", _objects(claim))))


def _objects(claim: Claim) -> str:
    if claim.object is None:
        return ""
    if claim.other is None:
        return _named(claim.object)
    link = "and" if claim.predicate == "between" else "with"
    return f"{_named(claim.object)} {link} {_named(claim.other)}"


_PLURALS = {"man": "men", "woman": "women", "person": "people", "child": "children"}


def _plural(noun: str) -> str:
    rest, space, last = noun.rpartition(" ")
    return f"{rest}{space}{_PLURALS.get(last) or plural(last)}"


def _noun(mention: Mention) -> str:
    return " ".join((*mention.attributes, mention.head))


def _named(mention: Mention) -> str:
    if mention.head in words.FIRST_PERSON:
        return _CAMERA
    if mention.quantity:
        return f"{mention.quantity} of the {_plural(_noun(mention))}"
    return (
        _noun(mention)
        if mention.head in words.PRONOUNS
        else f"the {_noun(mention)}"
        if mention.head
        else "something"
    )


def _event(event: Mention) -> str:
    who = _named(replace(event, verb="", object=""))
    if not event.verb:
        return who
    return " ".join(filter(None, (who, _verb(event.verb, ""), f"the {event.object}" if event.object else "")))


def _verb(verb: str, no: str) -> str:
    """Return a verb in the third person; negated with *does not*."""
    first, _, rest = verb.partition(" ")
    if no:
        return f"does not {verb}"
    if first == "have":
        third = "has"
    elif first in _COPULA or not first:
        third = "is"
    else:
        third = "goes" if first == "go" else plural(first)
    return f"{third} {rest}".strip()


def falsified(claim: Claim) -> Claim:
    """Return a claim that cannot be true together with another: its opposite word if it has one, else its negation.

    >>> str(falsified(Claim("spatial", Mention("cup"), "left of", Mention("book"))))
    'spatial: cup right of book'
    >>> str(falsified(Claim("attribute", Mention("cup"), "red")))
    'attribute: not cup red'
    """
    if claim.is_negated:
        return replace(claim, is_negated=False)
    opposite = _opposite(claim)
    return replace(claim, predicate=opposite) if opposite else replace(claim, is_negated=True)


def _opposite(claim: Claim) -> str:
    if claim.is_lasting or claim.subject.quantity:
        return ""
    if claim.kind == "state" and claim.predicate in words.STATES:
        return words.opposite_state(claim.predicate)
    if claim.kind in {"spatial", "temporal", "ego-motion", "action"}:
        relation = words.same_relation(claim.predicate)
        return "" if words.AXES.get(relation, ("", 0))[0] == "distance" else words.OPPOSITES.get(relation, "")
    return ""
