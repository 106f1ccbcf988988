"""Comparisons: *larger than the box*, *as tall as*, *the leftmost object*, *more cups than plates*."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims.hedges import hedge_of
from theodolite.instruments.trace.claims.language import Sentence
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Claim, Mention

_DIMENSIONS = frozenset({"size", "height", "width", "length", "colour", "color"})


def comparison_claims(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """All comparisons of a sentence, each with the head of its clause."""
    for link in sentence.tokens:
        if link.text.casefold() in {"than", "as", "to"} and link.tag != "DT":
            yield from _comparative(sentence, link)
    yield from _superlatives(sentence)


def _comparative(sentence: Sentence, link: Token) -> Iterator[tuple[Claim, Token | None]]:
    first = _degree_word(sentence, link)
    standard = _standard(sentence, link.index + 1)
    if first is None or standard is None:
        return
    numerous = sentence.tokens[first.index]
    if first.text.casefold() in {"more", "fewer", "less"} and first.index + 1 < link.index:
        noun = sentence.tokens[first.index + 1]
        if c.is_noun(noun):
            degree = "more" if numerous.text.casefold() == "more" else "less"
            head = sentence.head(noun)
            if head is not None and sentence.children(head, "expl"):
                yield from _each(sentence, [noun], f"{degree} numerous than", standard, first, head)
            return
    inside = sentence.tokens[first.index : link.index + 1]
    is_sized = any(t.lemma in _DIMENSIONS for t in inside)  # *small in size compared to*
    inside = tuple(t for t in inside if not (is_sized and t.text.casefold() in {"in", *_DIMENSIONS}))
    said = " ".join(t.text.casefold() for t in inside)
    head = _clause_head(sentence, first)
    if head is None or any(c.is_noun(t) and not _is_far(sentence, t) for t in inside):
        return
    if c.is_verb(head):
        said = f"{head.lemma} {said}"
        is_bare = first.text.casefold() in {"more", "less", "fewer"} and first.index + 1 == link.index
        if is_bare or not (_is_manner(first, head) or any(t.tag.startswith("RB") for t in inside)):
            return  # *weighs more than*
    yield from _each(sentence, _subjects(sentence, head), said, standard, first, head)
    joined = sentence.head(first)
    between = sentence.tokens[joined.index : first.index] if joined is not None else ()
    is_shared = not any(t.text.casefold() == "than" for t in between)
    if first.dep == "conj" and joined is not None and is_shared and c.is_comparative(joined):
        # *bigger and heavier than*
        also = f"{joined.text.casefold()} {link.text.casefold()}"
        yield from _each(sentence, _subjects(sentence, head), also, standard, joined, head)


def _is_manner(word: Token, verb: Token) -> bool:
    """True for the word that tells how something is done: *moves faster*."""
    return word.head == verb.index and word.dep in {"advmod", "xcomp", "obj"} and c.is_comparative(word)


def _is_far(sentence: Sentence, noun: Token) -> bool:
    """True for the noun in *closer to the camera than*."""
    return any(
        t.text.casefold() in {"to", "from"} for t in sentence.tokens[max(0, noun.index - 2) : noun.index]
    )


def _degree_word(sentence: Sentence, link: Token) -> Token | None:
    """The first word of a comparison that ends in *than*, *as* or *compared to*."""
    before = list(reversed(sentence.tokens[max(0, link.index - 6) : link.index]))
    if link.text.casefold() == "to":
        if not before or before[0].text.casefold() != "compared":
            return None
        inside = [t for t in before[1:] if t.text.casefold() not in {"in", *_DIMENSIONS}]
        return next((t for t in inside[:1] if t.tag in {"JJ", "JJR"}), None)
    if (
        link.text.casefold() == "as"
        and before
        and before[0].text.casefold() in {"soon", "long", "well", "far"}
    ):
        return None
    if link.text.casefold() == "as":
        first = next((t for t in before[1:3] if t.text.casefold() == "as"), None)
        times = sentence.tokens[max(0, first.index - 1)] if first is not None else None
        is_multiple = times is not None and times.text.casefold() in {"twice", "half"}
        return times if is_multiple else first
    found = next(
        (t for t in before if c.is_comparative(t) or t.text.casefold() in {"more", "less", "fewer"}), None
    )
    return None if found is None or found.tag == "DT" else found


def _standard(sentence: Sentence, start: int) -> Token | None:
    """What it is compared with: the noun, *one* or ordinal that follows; a bare number is none."""
    last: Token | None = None
    if [t.tag for t in sentence.tokens[start : start + 2]] in (["CD"], ["CD", "."]):
        return None  # *is more than four*
    for token in sentence.tokens[start : start + 6]:
        if token.tag.startswith(("NN", "PRP")) and token.tag != "PRP$":
            last = token
            follower = sentence.tokens[token.index + 1] if token.index + 1 < len(sentence.tokens) else None
            if follower is None or not follower.tag.startswith("NN"):
                return token
        elif token.tag not in {"DT", "JJ", "PRP$", "CD", "JJR", "JJS"}:
            break
        elif token.tag in {"JJ", "CD"}:
            last = token
    return last


def _clause_head(sentence: Sentence, token: Token) -> Token | None:
    return next(
        (t for t in c.clause_of(sentence, token) if sentence.children(t, "nsubj", "cop") or c.is_verb(t)),
        None,
    )


def _subjects(sentence: Sentence, head: Token) -> list[Token]:
    return [c.bearer(sentence, own) for own in c.subjects(sentence, head)]


def _each(
    sentence: Sentence, things: list[Token], said: str, standard: Token | None, word: Token, head: Token
) -> Iterator[tuple[Claim, Token | None]]:
    standards: list[Token | None] = [None] if standard is None else [*c.conjuncts(sentence, standard)]
    for thing in things:
        for other in standards:
            last = other if other is not None else word
            yield (
                Claim(
                    "comparison",
                    c.mention(sentence, thing),
                    said,
                    None if other is None else c.mention(sentence, other),
                    span=(word.start, max(last.end, word.end)),
                    anchor=(word.start, word.end),
                    is_negated=c.is_negated(sentence, head, thing),
                    hedge=hedge_of(sentence, head),
                    is_lasting=c.is_lasting(sentence, head),
                ),
                head,
            )


def _superlatives(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """*Is the tallest*, *is the leftmost object*."""
    for word in sentence.tokens:
        if not c.is_superlative(sentence, word):
            continue
        noun = sentence.head(word)
        while noun is not None and noun.dep in {"amod", "conj"} and not c.is_noun(noun):
            noun = sentence.head(noun)
        is_predicate = bool(sentence.children(word, "cop", "nsubj"))
        said = c.superlative(sentence, word)
        if noun is not None and word.dep in {"obj", "advmod", "xcomp"} and c.is_verb(noun):
            yield from _each(sentence, c.subjects(sentence, noun), f"{noun.lemma} {said}", None, word, noun)
        elif is_predicate:
            yield from _each(sentence, c.subjects(sentence, word), said, None, word, word)
        elif noun is not None and sentence.children(noun, "cop") and word.index < noun.index:
            for claim, head in _each(sentence, c.subjects(sentence, noun), said, None, word, noun):
                kind = c.mention(sentence, noun)
                bare = Mention(
                    kind.head, tuple(a for a in kind.attributes if not _is_most(a)), span=kind.span
                )
                yield replace(claim, object=bare), head


def _is_most(attribute: str) -> bool:
    return attribute.startswith(("most ", "least ")) or attribute.endswith(("est", "most"))
