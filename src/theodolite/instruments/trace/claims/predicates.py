"""What is said with *is*: qualities (*the cup is red*), states (*the door is closed*) and identity (*the animal is a dog*)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.hedges import hedge_of
from theodolite.instruments.trace.claims.language import Sentence
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Mention

_GENERIC = words.word_set("object item thing one")
"""Nouns that say nothing of what they name: *is a red object* says that it is red."""


def predicate_claims(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """All claims of this kind, each with the head of its clause."""
    linked = {t.index for t in sentence.parents("cop")}
    for word in sentence.tokens:
        if word.index in linked:
            for said in _joined(sentence, word):
                if said is not word and sentence.children(word, "case"):
                    break
                yield from _said(sentence, word, said)
        elif _is_secondary(sentence, word):
            yield from _said(sentence, word, word)
        elif word.tag in {"VBN", "VBD", "JJ"} or word.text.casefold() in {"on", "off", "asleep", "awake"}:
            for said in (word, *sentence.children(word, "conj")):
                if said is word or (
                    said.text.casefold() in words.STATES and not sentence.children(said, "nsubj", "obj")
                ):
                    yield from _participle(sentence, word, said)


def _is_secondary(sentence: Sentence, word: Token) -> bool:
    """True for a state in which something lies or stands: *the book lies open*."""
    verb = sentence.head(word)
    is_after = verb is not None and word.index == verb.index + 1 and verb.lemma in words.POSTURES
    return is_after and word.tag == "JJ" and word.text.casefold() in words.STATES


def _joined(sentence: Sentence, word: Token) -> Iterator[Token]:
    """A predicate and those joined to it: *black and white*."""
    yield word
    for child in sentence.children(word, "conj"):
        if any(t.text.casefold() in {"with", "without"} for t in sentence.tokens[word.index : child.index]):
            continue
        if not sentence.children(child, "nsubj", "cop", "aux", "case") and (
            not c.is_verb(child) or child.text.casefold() in words.STATES
        ):
            yield from _joined(sentence, child)


def quality_kind(token: Token) -> ClaimKind | None:
    """Whether an adjective or participle names an attribute or a state."""
    word = token.text.casefold()
    if token.tag in {"JJR", "RBR", "JJS"} or c.is_comparative(token):
        return None
    if word in words.ATTRIBUTES or (token.lemma in words.ATTRIBUTES and token.tag.startswith(("JJ", "NN"))):
        return "attribute"
    return (
        "state"
        if word in words.STATES and token.tag in {"JJ", "VBN", "RB", "VBD", "IN", "RP", "VB", "VBG", "VBP"}
        else None
    )


def quality(kind: ClaimKind, thing: Mention, word: Token, span: tuple[int, int]) -> Claim:
    """One attribute or state of something."""
    text = word.text.casefold()
    said = text if text in words.ATTRIBUTES or text in words.STATES else word.lemma
    return Claim(kind, thing, said, span=span, anchor=(word.start, word.end))


def _subjects(sentence: Sentence, word: Token) -> list[Token]:
    found = []
    for said in c.subjects(sentence, word):
        thing = c.bearer(sentence, said)
        named = c.named(sentence, thing)
        is_seen = not c.is_noun(thing) or words.can_be_seen(named.lemma) or thing.lemma in _GENERIC
        if is_seen and thing.lemma not in {"this", "that", "there", "which", "what"}:
            found.append(thing)
    return found


def _said(sentence: Sentence, first: Token, said: Token) -> Iterator[tuple[Claim, Token | None]]:
    """One predicate of a copula; `first` is the one that holds the subject."""
    kind = quality_kind(said)
    is_place = bool(sentence.children(said, "case")) or said.text.casefold() in {"left", "right", "ahead"}
    if said.text.casefold() in {"on", "off"}:
        kind, is_place = "state", bool(sentence.children(said, "obl", "nmod"))
    if is_place or _is_compared(sentence, said):
        return
    if kind is not None and not (c.is_noun(said) and sentence.children(said, "det", "amod")):
        for thing in _subjects(sentence, first):
            claim = quality(kind, c.mention(sentence, thing), said, (said.start, said.end))
            yield _marked(sentence, claim, first, said, thing), first
    elif c.is_noun(said):
        yield from _identity(sentence, first, said)


def _is_compared(sentence: Sentence, said: Token) -> bool:
    """True if the predicate is a comparison: *is taller than*, *is the tallest*, *is as tall as*."""
    around = (
        said,
        *sentence.children(said, "amod", "compound"),
        *(x for t in sentence.children(said, "amod") for x in sentence.children(t, "conj")),
    )
    if any(c.is_superlative(sentence, t) or c.is_comparative(t) for t in around):
        return True
    return not _is_also(sentence, said) and _has_degree(sentence, said)


def _has_degree(sentence: Sentence, said: Token) -> bool:
    return any(
        t.text.casefold() in {"as", "less", "more", "most", "least", "compared"}
        for t in sentence.children(said, "advmod", "advcl", "case", "mark")
    ) or any(
        t.text.casefold() in {"as", "compared"} for t in sentence.tokens[said.index + 1 : said.index + 2]
    )


def _is_also(sentence: Sentence, said: Token) -> bool:
    """True for *is brown as well*, which compares nothing."""
    return [t.text.casefold() for t in sentence.tokens[said.index + 1 : said.index + 3]] == ["as", "well"]


def _identity(sentence: Sentence, first: Token, said: Token) -> Iterator[tuple[Claim, Token | None]]:
    kind = c.mention(sentence, said)
    things = _subjects(sentence, first)
    if kind.head in _GENERIC:
        for thing in things:
            for word in kind.attributes:
                which: ClaimKind = "state" if word in words.STATES else "attribute"
                claim = replace(
                    quality(which, c.mention(sentence, thing), said, (said.start, said.end)), predicate=word
                )
                yield _marked(sentence, claim, first, said, thing), first
        return
    if not words.can_be_seen(kind.head) or sentence.children(first, "expl"):
        return
    for thing in things:
        claim = Claim(
            "identity",
            c.mention(sentence, thing),
            "is",
            kind,
            span=(said.start, said.end),
            anchor=(said.start, said.end),
        )
        yield _marked(sentence, claim, first, said, thing), first


def _marked(sentence: Sentence, claim: Claim, first: Token, said: Token, thing: Token) -> Claim:
    is_apart = said is not first
    negated = c.is_none(sentence, thing) or (
        any(
            t.text.casefold() in {"not", "n't", "nor", "neither", "never"}
            for t in sentence.children(said, "advmod", "cc", "cc:preconj")
        )
        if is_apart
        else c.is_negated(sentence, said, thing)
    )
    hedge = hedge_of(sentence, first) or ("" if negated else _alternative(sentence, first))
    return replace(claim, is_negated=negated, hedge=hedge, is_lasting=c.is_lasting(sentence, first))


def _alternative(sentence: Sentence, first: Token) -> str:
    """*or* in *is a phone or a remote*, of which neither is claimed."""
    joined = sentence.children(first, "conj")
    is_open = any(t.text.casefold() == "or" for each in joined for t in sentence.children(each, "cc"))
    return "or" if is_open else ""


def _participle(sentence: Sentence, word: Token, joined: Token) -> Iterator[tuple[Claim, Token | None]]:
    """*Is closed*, *is turned on*, *filled with flowers*, *is made of wood*, *is painted white*."""
    if c.agent(sentence, word) or any(t.text.casefold() == "being" for t in sentence.children(word)):
        return
    is_passive = bool(sentence.children(word, "aux:pass"))
    is_after = word.dep in {"acl", "advcl", "conj", "acl:relcl", "parataxis"} and word.tag in {"VBN", "VBD"}
    value = _outcome(sentence, word) if is_passive or is_after else None
    if value is not None:
        said = value
    elif word.text.casefold() in {"on", "off"} and word.dep != "case":
        head = sentence.head(word)
        is_switched = (
            head is not None
            and head.lemma in {"turn", "switch"}
            and bool(sentence.children(head, "aux:pass"))
        )
        if not is_switched or head is None:
            return
        word, said = head, word
    elif quality_kind(word) == "state" and (is_passive or (is_after and sentence.children(word, "obl"))):
        said = joined
    elif word.text.casefold() in {"asleep", "awake"} and sentence.children(word, "aux"):
        said = word
    else:
        return
    kind = quality_kind(said) or "attribute"
    for thing in _subjects(sentence, word):
        claim = quality(kind, c.mention(sentence, thing), said, (word.start, max(word.end, said.end)))
        is_asserted = bool(sentence.children(word, "nsubj", "aux:pass")) or word.dep == "conj"
        yield _marked(sentence, claim, word, word, thing), word if is_asserted else None


def _outcome(sentence: Sentence, word: Token) -> Token | None:
    """The material of *made of wood*, the colour of *painted white*."""
    if word.text.casefold() == "made":
        return next((t for t in sentence.children(word, "obl", "nmod") if t.lemma in words.MATERIALS), None)
    if word.text.casefold() in {"painted", "colored", "coloured", "dyed"}:
        after = sentence.tokens[word.index + 1 : word.index + 4]
        return next((t for t in (*sentence.children(word), *after) if t.lemma in words.COLOURS), None)
    return None
