"""Extracts typed claims from sentences, by rules on Universal Dependencies. `ClaimKind` lists the kinds.

Constructors read clauses: each yields claims together with the head of the clause that asserts them. A clause that none of
them reads, or that holds a word which changes its meaning and was not read (*than*, *except*), becomes one claim of the kind
``unread``; what else is said in it is not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from theodolite.answers.normalise import word_set
from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.actions import action_claims, span_of
from theodolite.instruments.trace.claims.clauses import hedge_of
from theodolite.instruments.trace.claims.language import Parser, Sentence, open_parser, sentence_spans
from theodolite.instruments.trace.claims.predicates import (
    comparison_claims,
    predicate_claims,
    quality,
    quality_kind,
)
from theodolite.instruments.trace.claims.spatial import spatial_claims
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import NOT_UNDERSTOOD, Claim, ClaimKind, Mention

EXTRACTOR = "claims/4"
"""Name and version, stored beside what was extracted."""

MOST_CLAIMS = 1000
"""Further claims of a text are not extracted: subjects, verbs and objects in long lists multiply."""

_NOBODY = Mention("")
_WEAK_CUES = word_set("as next first during since following later prior")
"""Words that usually do not order two events."""
_CHANGING = word_set(
    "than except instead rather unlike besides twice only excluding partially partly barely nearly almost half scarcely"
)
"""Words that change the meaning of their clause."""
_UNASSERTED = word_set("? if unless whether suppose supposing provided lest")
"""Hedges of questions and conditions, in which nothing is claimed."""

_Reading = tuple[Claim, Token | None]


def extract_claims(text: str, *, parser: Parser | None = None) -> tuple[Claim, ...]:
    """All claims of a text, in order.

    >>> for claim in extract_claims("The red ball is left of the blue cube."): print(claim)
    attribute: ball red
    entity: red ball
    spatial: red ball left of blue cube
    attribute: cube blue
    entity: blue cube
    >>> for claim in extract_claims("The ball weighs more than the cube."): print(claim.kind, claim.hedge)
    unread not understood
    entity not understood
    entity not understood
    """
    return extract_many([text], parser=parser)[0]


def extract_many(texts: Sequence[str], *, parser: Parser | None = None) -> list[tuple[Claim, ...]]:
    """The claims of many texts, which is faster than one at a time."""
    parser = parser or open_parser()
    spans = [(number, span) for number, text in enumerate(texts) for span in sentence_spans(text)]
    written = [texts[number][a:b] for number, (a, b) in spans]
    parsed = parser.parse(dict.fromkeys(written))
    waiting: dict[str, Sentence] = {}
    read: dict[str, list[Claim]] = {}
    found: list[list[Claim]] = [[] for _ in texts]
    for (number, (offset, _)), sentence in zip(spans, written, strict=True):
        if sentence not in read and sentence not in waiting:
            waiting[sentence] = next(parsed)
        if len(found[number]) >= MOST_CLAIMS:
            continue
        if sentence in waiting:
            read[sentence] = sentence_claims(waiting.pop(sentence))
        found[number] += [claim.shifted(offset) for claim in read[sentence]]
    return [tuple(claims[:MOST_CLAIMS]) for claims in found]


def sentence_claims(sentence: Sentence) -> list[Claim]:
    """The claims of one parsed sentence."""
    things = list(_things(sentence))
    readings = list(
        islice(
            chain(
                _existences(sentence, things),
                predicate_claims(sentence),
                comparison_claims(sentence),
                spatial_claims(sentence),
                action_claims(sentence),
                _temporal(sentence),
            ),
            MOST_CLAIMS,
        )
    )
    understood, unread = _understood(sentence, readings)
    claims = chain(
        understood, islice(_named(sentence, things, unread), MOST_CLAIMS), _unread(sentence, unread)
    )
    said = [claim for claim in claims if claim.hedge not in _UNASSERTED or claim.kind == "entity"]
    return sorted(dict.fromkeys(said), key=lambda claim: (claim.span[0], KIND_ORDER[claim.kind]))


KIND_ORDER: dict[ClaimKind, int] = {
    "unread": -1,
    "entity": 0,
    "count": 1,
    "attribute": 2,
    "state": 3,
    "identity": 3,
    "comparison": 3,
    "action": 4,
    "ego-motion": 5,
    "spatial": 6,
    "temporal": 7,
}


# which clauses were read


def _understood(sentence: Sentence, readings: Sequence[_Reading]) -> tuple[list[Claim], set[int]]:
    """The claims of the clauses that were read, and the heads of those that were not."""
    compared = [claim.span for claim, _ in readings if claim.kind == "comparison"]
    lost = {
        head.index
        for word in sentence.tokens
        if _changes_meaning(sentence, word) and not any(a <= word.start < b for a, b in compared)
        for head in islice(_predicates_above(sentence, word), 1)
    }
    read = {head.index for _, head in readings if head is not None} - lost
    for index in list(read):  # *keeps holding*, *I see that*: the clause above is read with the one below
        below = sentence.tokens[index]
        while below.dep.partition(":")[0] in {"xcomp", "ccomp", "csubj", "acl"} and below.head != below.index:
            below = sentence.tokens[below.head]
            if below.index in read:
                break
            read.add(below.index)
    ranked = {
        head.index
        for claim, head in readings
        if claim.kind in {"comparison", "state", "attribute"} and head is not None
    }
    kept = [
        claim
        for claim, head in readings
        if head is None or not (head.index in lost or (claim.kind == "action" and head.index in ranked))
    ]
    stated = (t for t in sentence.parents("nsubj", "expl") if _is_statement(sentence, t))
    unread = {t.index for t in stated if t.index not in read - lost}
    return kept, unread


def _is_near(sentence: Sentence, word: Token) -> bool:
    """True for *closer to the window*, which is a place where nothing is compared."""
    after = sentence.tokens[word.index + 1 : word.index + 2]
    is_place = (
        word.text.casefold() in {"closer", "nearer"} and bool(after) and after[0].text.casefold() == "to"
    )
    return is_place and not any(t.text.casefold() == "than" for t in sentence.tokens)


def _is_compound(sentence: Sentence, word: Token) -> bool:
    """True for the first part of *half-eaten*."""
    return [t.tag for t in sentence.tokens[word.index + 1 : word.index + 2]] == ["HYPH"]


def _is_as_many(sentence: Sentence, word: Token) -> bool:
    if word.text.casefold() != "as":
        return False
    after = sentence.tokens[word.index + 1 : word.index + 2]
    return bool(after) and after[0].text.casefold() in {"many", "much", "few"}


def _changes_meaning(sentence: Sentence, word: Token) -> bool:
    return (
        (
            word.text.casefold() in _CHANGING
            or _is_as_many(sentence, word)
            or (word.tag in {"JJR", "JJ", "RB"} and c.is_comparative(word))
        )
        and word.tag != "DT"
        and word.lemma != "not"
        and not _is_near(sentence, word)
        and not _is_compound(sentence, word)
    )


def _predicates_above(sentence: Sentence, word: Token) -> Iterator[Token]:
    return (
        t for t in c.clause_of(sentence, word) if sentence.children(t, "nsubj", "expl", "cop") or c.is_verb(t)
    )


def _is_statement(sentence: Sentence, token: Token) -> bool:
    """True for the head of a clause that states something of what can be seen, and is not a guess."""
    own = sentence.children(token, "nsubj", "expl")
    if not own or hedge_of(sentence, token):
        return False
    if token.lemma in words.HEDGE_VERBS or c.is_the_writers_sight(sentence, token):
        return False
    inside = (*own, *sentence.children(token, "obj", "obl", "nmod", "iobj"))
    return any(_is_visible(sentence, t) for t in inside)


def _is_visible(sentence: Sentence, token: Token) -> bool:
    if token.tag == "PRP":
        return token.lemma in {"he", "she", "they", "it"} and not sentence.children(token, "expl")
    return c.is_noun(token) and words.can_be_seen(c.named(sentence, token).lemma)


def _unread(sentence: Sentence, heads: Iterable[int]) -> Iterator[Claim]:
    """One claim for each clause that was not understood."""
    for index in heads:
        head = sentence.tokens[index]
        inside = [
            head,
            *(
                t
                for t in sentence.children(head)
                if t.dep.partition(":")[0] in {"nsubj", "obj", "obl", "cop", "aux", "advmod", "expl"}
            ),
        ]
        yield Claim(
            "unread", _NOBODY, span=span_of(*inside), anchor=(head.start, head.end), hedge=NOT_UNDERSTOOD
        )


# what is there


def _existences(sentence: Sentence, things: Sequence[Token]) -> Iterator[_Reading]:
    """*There are three cups*, *I see a cup*, *the cup is visible*, or just *a cup*."""
    for noun in things:
        if not c.is_existence(sentence, noun):
            continue
        head = sentence.head(noun)
        first = noun
        while first.dep == "conj" and head is not None and c.is_noun(head):
            first, head = head, sentence.head(head)
        governor = head if head is not None else first
        yield _entity(sentence, noun, governor), governor


def _named(sentence: Sentence, things: Sequence[Token], unread: set[int]) -> Iterator[Claim]:
    """What is named, with its adjectives and its number: parts of what the clauses say, once each."""
    seen: set[str] = set()
    for noun in things:
        said, is_there = c.mention(sentence, noun), c.is_existence(sentence, noun)
        hedge = NOT_UNDERSTOOD if _is_in(sentence, noun, unread) else ""
        is_absent = c.is_none(sentence, noun) or (
            is_there and c.is_negated(sentence, sentence.head(noun) or noun)
        )
        if str(said) not in seen and not is_there:
            seen.add(str(said))
            at = (noun.start, noun.end)
            guess = hedge or _existence_hedge(sentence, noun)
            yield Claim("entity", said, span=at, anchor=at, is_negated=is_absent, hedge=guess, is_part=True)
        if is_absent:
            continue  # *no red cube* does not claim that anything is red
        thing = replace(said, attributes=(), quantity="")
        for child in (
            t
            for first in sentence.children(noun, "amod", "compound")
            for t in (first, *sentence.children(first, "conj", "compound"))
        ):
            kind = quality_kind(child)
            if kind is not None and child.index < noun.index and not sentence.children(child, "cop"):
                yield replace(quality(kind, thing, child, span_of(child, noun)), hedge=hedge)
        if said.quantity and not is_there and said.quantity[-1].isdigit() and " of " not in said.quantity:
            yield replace(_count(sentence, noun, said), hedge=hedge or hedge_of(sentence, noun), is_part=True)


def _is_in(sentence: Sentence, noun: Token, clauses: set[int]) -> bool:
    """True if a noun is part of one of some clauses, or of what completes it: *weighs more than the box*."""
    for clause in c.clause_of(sentence, noun):
        if clause.index in clauses:
            return True
        if clause.dep not in {"xcomp", "ccomp"}:
            return False
    return False


def _things(sentence: Sentence) -> Iterator[Token]:
    for token in sentence.tokens:
        if (
            not c.is_noun(token)
            or token.dep.partition(":")[0] in {"compound", "amod", "flat"}
            or token.text.casefold() in {"left", "right", "center", "centre", "middle"}
            or _is_part_of_phrase(sentence, token)
        ):
            continue
        if token.text.endswith("ing") and not words.can_be_seen(token.text.casefold()):
            continue  # *for drinking*: an activity, not an object
        head = c.mention(sentence, token).head
        lemma = c.named(sentence, token).lemma
        is_generic = lemma in words.GENERIC_NOUNS - {"one"} and c.is_existence(sentence, token)
        if is_generic or (words.can_be_seen(head) and words.can_be_seen(lemma)):
            yield token


def _entity(sentence: Sentence, noun: Token, governor: Token) -> Claim:
    """The claim that something is there, or how many there are."""
    said, at = c.mention(sentence, noun), (noun.start, noun.end)
    negated = c.is_negated(sentence, governor, noun) != (governor.text.casefold() in {"missing", "absent"})
    hedge = _existence_hedge(sentence, noun) or hedge_of(sentence, governor)
    if said.quantity and said.quantity not in {"all", "most", "half"} and " of " not in said.quantity:
        return replace(_count(sentence, noun, said), is_negated=negated, hedge=hedge)
    is_lasting = c.is_lasting(sentence, governor)
    return Claim("entity", said, span=at, anchor=at, is_negated=negated, hedge=hedge, is_lasting=is_lasting)


def _count(sentence: Sentence, noun: Token, said: Mention) -> Claim:
    number = next(
        (t for t in sentence.children(noun, "det") if t.tag == "DT" and t.text.casefold() in said.quantity),
        noun,
    )
    return Claim(
        "count",
        replace(said, quantity=""),
        said.quantity,
        span=span_of(number, noun),
        anchor=(number.start, number.end),
    )


def _is_part_of_phrase(sentence: Sentence, token: Token) -> bool:
    """True for a noun that names no object: *in front of*, *on top of*, *kitchen-related*."""
    after = sentence.tokens[token.index + 1].text if token.index + 1 < len(sentence.tokens) else ""
    return after.startswith("-") or (token.lemma in {"front", "top", "back", "side"} and after == "of")


def _existence_hedge(sentence: Sentence, token: Token) -> str:
    """The word that hedges the existence of an object: *perhaps a cup*, *there might be a cup*, *it may be a cup*."""
    marks = sentence.children(token, "advmod")
    near = next((t.lemma for t in marks if t.lemma in words.HEDGE_WORDS), "")
    if near or sentence.children(token, "cop"):
        return near or hedge_of(sentence, token)
    head = sentence.head(token)
    is_there = token.dep.partition(":")[0] == "nsubj" and head is not None and sentence.children(head, "expl")
    if is_there and head is not None:
        return hedge_of(sentence, head)
    said = hedge_of(sentence, token)
    return said if said in _UNASSERTED else ""


# time


def _temporal(sentence: Sentence) -> Iterator[_Reading]:
    """Words that order events: *before*, *after*, *while*, *then*."""
    for cue in sentence.tokens:
        order = words.TEMPORAL_CUES.get(cue.text.casefold())
        if order is None or cue.text.casefold() in _WEAK_CUES:
            continue
        head = sentence.head(cue)
        if head is None or cue.tag.startswith("NN"):
            continue
        inner = head if cue.dep in {"mark", "advmod", "case"} else None
        if inner is None or (cue.dep == "case" and c.is_noun(inner)):
            continue
        outer = sentence.head(inner) if order in {"before", "after", "while"} else None
        claim = Claim(
            "temporal",
            _event(sentence, outer if outer is not None else inner),
            order,
            _event(sentence, inner) if outer is not None else None,
            span=(cue.start, cue.end),
            anchor=(cue.start, cue.end),
            hedge=hedge_of(sentence, outer or inner),
        )
        if claim.object is None or (claim.subject.verb and claim.object.verb):
            yield claim, None  # *is red, while the other is blue* orders no events


def _event(sentence: Sentence, head: Token) -> Mention:
    """An event as subject, verb and object."""
    if not c.is_verb(head):
        verbs = [t for t in sentence.children(head, "acl", "advcl", "xcomp") if c.is_verb(t)]
        if not verbs:
            return c.mention(sentence, head)
        head = verbs[0]
    carried = [
        t for t in sentence.children(head, "xcomp") if head.lemma in words.CARRIER_VERBS and c.is_verb(t)
    ]
    head = carried[0] if carried else head
    clause = c.Clause(sentence, head)
    who = c.agent(sentence, head) if clause.is_passive else c.subjects(sentence, head)
    what = c.objects(sentence, clause)
    actor = c.mention(sentence, who[0]) if who else _NOBODY
    return Mention(
        actor.head,
        actor.attributes,
        verb=clause.lemma,
        object=c.mention(sentence, what[0]).head if what else "",
    )
