"""Extracts typed claims from sentences, by rules on Universal Dependencies. `ClaimKind` lists the kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.actions import action_claims, span_of
from theodolite.instruments.trace.claims.language import Parser, Sentence, open_parser, sentence_spans
from theodolite.instruments.trace.claims.spatial import spatial_claims
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Mention

EXTRACTOR = "claims/1"
"""Name and version, stored beside what was extracted."""

MOST_CLAIMS = 1000
"""Further claims of a text are not extracted: subjects, verbs and objects in long lists multiply."""

_NOBODY = Mention("")
_EXISTING = words.word_set("visible present be there see exist shown")
_WEAK_CUES = words.word_set("as next first during since following later prior")
"""Words that usually do not order two events."""


def extract_claims(text: str, *, parser: Parser | None = None) -> tuple[Claim, ...]:
    """All claims of a text, in order.

    >>> for claim in extract_claims("The red ball is left of the blue cube."): print(claim)
    attribute: ball red
    entity: red ball
    spatial: red ball left of blue cube
    attribute: cube blue
    entity: blue cube
    """
    return extract_many([text], parser=parser)[0]


def extract_many(texts: Sequence[str], *, parser: Parser | None = None) -> list[tuple[Claim, ...]]:
    """The claims of many texts, which is faster than one at a time."""
    parser = parser or open_parser()
    spans = [(number, span) for number, text in enumerate(texts) for span in sentence_spans(text)]
    parsed = parser.parse(texts[number][a:b] for number, (a, b) in spans)
    found: list[list[Claim]] = [[] for _ in texts]
    for (number, (offset, _)), sentence in zip(spans, parsed, strict=True):
        if len(found[number]) < MOST_CLAIMS:
            found[number] += [claim.shifted(offset) for claim in sentence_claims(sentence)]
    return [tuple(claims[:MOST_CLAIMS]) for claims in found]


def sentence_claims(sentence: Sentence) -> list[Claim]:
    """The claims of one parsed sentence."""
    claims = chain(
        _entities(sentence),
        _qualities(sentence),
        _predicates(sentence),
        spatial_claims(sentence),
        action_claims(sentence),
        _temporal(sentence),
    )
    unique = dict.fromkeys(islice(claims, MOST_CLAIMS))
    return sorted(unique, key=lambda claim: (claim.span[0], KIND_ORDER[claim.kind]))


KIND_ORDER: dict[ClaimKind, int] = {
    "entity": 0,
    "count": 1,
    "attribute": 2,
    "state": 3,
    "action": 4,
    "ego-motion": 5,
    "spatial": 6,
    "temporal": 7,
}


def _entities(sentence: Sentence) -> Iterator[Claim]:
    """Every object that is named, once each."""
    seen: set[str] = set()
    for token in sentence.tokens:
        if (
            not c.is_noun(token)
            or token.dep.partition(":")[0] in {"compound", "amod", "flat"}
            or token.text.casefold() in {"left", "right"}
            or _is_part_of_phrase(sentence, token)
        ):
            continue
        said = c.mention(sentence, token)
        if token.text.endswith("ing") and not words.can_be_seen(token.text.casefold()):
            continue  # *for drinking*: an activity, not an object
        if str(said) in seen or not (words.can_be_seen(said.head) and words.can_be_seen(token.lemma)):
            continue
        seen.add(str(said))
        is_absent = any(t.lemma == "no" for t in sentence.children(token, "det")) or _is_absent(
            sentence, token
        )
        yield Claim(
            "entity",
            said,
            span=(token.start, token.end),
            anchor=(token.start, token.end),
            is_negated=is_absent,
            hedge=_existence_hedge(sentence, token),
        )


def _is_part_of_phrase(sentence: Sentence, token: Token) -> bool:
    """True for a noun that names no object: *in front of*, *on top of*, *kitchen-related*."""
    after = sentence.tokens[token.index + 1].text if token.index + 1 < len(sentence.tokens) else ""
    return after.startswith("-") or (token.lemma in {"front", "top", "back", "side"} and after == "of")


def _is_absent(sentence: Sentence, token: Token) -> bool:
    """True in *the cup is not visible*, *there is not a cup*, *I cannot see the cup*."""
    head = sentence.head(token)
    if head is None or not c.is_negated(sentence, head):
        return False
    if token.dep == "obj":
        return c.is_the_writers_sight(sentence, head)
    return token.dep == "nsubj" and head.lemma in _EXISTING


def _existence_hedge(sentence: Sentence, token: Token) -> str:
    """The word that hedges the existence of an object: *perhaps a cup*, *there might be a cup*, *it may be a cup*."""
    marks = sentence.children(token, "advmod")
    near = next((t.lemma for t in marks if t.lemma in words.HEDGE_WORDS), "")
    if near or sentence.children(token, "cop"):
        return near or c.hedge_of(sentence, token)
    head = sentence.head(token)
    is_there = token.dep.partition(":")[0] == "nsubj" and head is not None and sentence.children(head, "expl")
    return c.hedge_of(sentence, head) if is_there and head is not None else ""


def _qualities(sentence: Sentence) -> Iterator[Claim]:
    """Adjectives and numbers before a noun: *two red chairs*."""
    for noun in sentence.tokens:
        if not c.is_noun(noun) or not words.can_be_seen(noun.lemma):
            continue
        if any(t.lemma == "no" for t in sentence.children(noun, "det")) or _is_absent(sentence, noun):
            continue  # *no red cube* does not claim that anything is red
        thing = replace(c.mention(sentence, noun), attributes=())
        for child in (
            t
            for first in sentence.children(noun, "amod", "compound")
            for t in (first, *sentence.children(first, "conj", "compound"))
        ):
            kind = _quality_kind(child)
            if kind is not None and child.index < noun.index:
                yield _said_of(kind, thing, child, noun)
        for child in sentence.children(noun, "nummod"):
            number = _number(child)
            if number is not None:
                yield Claim(
                    "count",
                    c.mention(sentence, noun),
                    str(number),
                    span=span_of(child, noun),
                    anchor=(child.start, child.end),
                    is_negated=c.is_negated(sentence, noun),
                    hedge=_existence_hedge(sentence, noun),
                )


def _quality_kind(token: Token) -> ClaimKind | None:
    word = token.text.casefold()
    if token.lemma in words.ATTRIBUTES or word in words.ATTRIBUTES:
        return "attribute"
    return "state" if word in words.STATES and token.tag in {"JJ", "VBN", "RB", "VBD"} else None


def _said_of(kind: ClaimKind, thing: Mention, word: Token, noun: Token) -> Claim:
    said = (
        word.text.casefold() if word.text.casefold() in {**words.ATTRIBUTES, **words.STATES} else word.lemma
    )
    return Claim(kind, thing, said, span=span_of(word, noun), anchor=(word.start, word.end))


def _predicates(sentence: Sentence) -> Iterator[Claim]:
    """Predicates with *is*: *the laptop is black*, *the door is closed*, *the television is on*."""
    for word in sentence.tokens:
        kind = _quality_kind(word)
        is_participle = word.tag in {"VBN", "VBD"} and sentence.children(word, "aux:pass")
        if word.text.casefold() in {"on", "off"}:
            kind = "state"
        if kind is None or not (
            sentence.children(word, "cop") or is_participle or _is_state_particle(sentence, word)
        ):
            continue
        if is_participle and (
            kind != "state"
            or c.agent(sentence, word)
            or any(t.lemma == "be" and t.text.casefold() == "being" for t in sentence.children(word))
        ):
            continue
        if sentence.children(word, "nmod", "obl") and word.text.casefold() in {"on", "off", "left", "right"}:
            continue
        head = word if sentence.children(word, "nsubj") else sentence.head(word)
        for subject in sentence.children(head, "nsubj") if head is not None else ():
            for thing in c.conjuncts(sentence, subject):
                if c.is_noun(thing) and not words.can_be_seen(thing.lemma):
                    continue
                claim = _said_of(kind, c.mention(sentence, thing), word, word)
                yield replace(
                    claim, is_negated=c.is_negated(sentence, word), hedge=c.hedge_of(sentence, word)
                )


def _is_state_particle(sentence: Sentence, word: Token) -> bool:
    """True for a particle that names a state: *is turned on*, *is on*."""
    if word.text.casefold() not in {"on", "off"} or word.dep == "case":
        return False
    head = sentence.head(word)
    return (
        head is not None
        and head.lemma in {"be", "turn", "switch"}
        and (head.lemma == "be" or bool(sentence.children(head, "aux:pass")))
    )


def _number(token: Token) -> int | None:
    word = token.text.casefold()
    if word.isdecimal() and len(word) < 6:
        return int(word)
    return words.NUMBERS.get(word)


def _temporal(sentence: Sentence) -> Iterator[Claim]:
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
        yield Claim(
            "temporal",
            _event(sentence, outer if outer is not None else inner),
            order,
            _event(sentence, inner) if outer is not None else None,
            span=(cue.start, cue.end),
            anchor=(cue.start, cue.end),
            hedge=c.hedge_of(sentence, outer or inner),
        )


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
