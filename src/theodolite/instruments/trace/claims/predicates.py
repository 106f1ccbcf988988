"""What is said with *is*: qualities, states, identity, comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from theodolite.answers.normalise import word_set
from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.clauses import hedge_of
from theodolite.instruments.trace.claims.language import Sentence
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Mention

# What is said with *is*: qualities (*the cup is red*), states (*the door is closed*) and identity (*the animal is a dog*).


_GENERIC = word_set("object item thing one")
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


# Comparisons: *larger than the box*, *as tall as*, *the leftmost object*, *more cups than plates*.


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
    yield from _each(sentence, _compared_subjects(sentence, head), said, standard, first, head)
    joined = sentence.head(first)
    between = sentence.tokens[joined.index : first.index] if joined is not None else ()
    is_shared = not any(t.text.casefold() == "than" for t in between)
    if first.dep == "conj" and joined is not None and is_shared and c.is_comparative(joined):
        # *bigger and heavier than*
        also = f"{joined.text.casefold()} {link.text.casefold()}"
        yield from _each(sentence, _compared_subjects(sentence, head), also, standard, joined, head)


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


def _compared_subjects(sentence: Sentence, head: Token) -> list[Token]:
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
