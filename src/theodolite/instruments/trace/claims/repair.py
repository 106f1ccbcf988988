"""Mends a parse where a small parser is known to stumble: *the person holding the cup is standing*.

On its way from left to right it takes *holding* for the main verb, and the cup for what stands. A bare -ing form cannot
be a main verb, so the reading is not in doubt: the -ing form describes the first noun, and the cup is what is held.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theodolite.instruments.trace.claims.language import Token

_FINITE = {"VBZ", "VBD", "VBP", "MD"}


def repaired(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The same words with such verbs put right; the same tuple where there is nothing to mend."""
    tokens = _with_verb(tokens)
    for verb in tokens:
        if verb.tag == "VBG" and not _below(tokens, verb, "aux", "cop", "mark", "case"):
            mended = _mended(tokens, verb)
            if mended is not None:
                return repaired(mended)
    return tokens


def _with_verb(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """*A dog sleeps* is no plural of a dog sleep: where a sentence has no verb at all, such a noun is one."""
    if any(t.tag.startswith("VB") or t.tag == "MD" for t in tokens):
        return tokens
    verb = next(
        (t for t in tokens if t.tag == "NNS" and t.index and tokens[t.index - 1].tag in {"NN", "NNP"}), None
    )
    if verb is None or tokens[verb.index - 1].head != verb.index or verb.head != verb.index:
        return tokens
    subject = tokens[verb.index - 1]
    new = [
        replace(t, head=subject.index)
        if t.head == verb.index
        and t.index < subject.index
        and t.dep in {"det", "amod", "compound", "nmod:poss", "nummod"}
        else t
        for t in tokens
    ]
    new[verb.index] = replace(verb, tag="VBZ", dep="ROOT")
    new[subject.index] = replace(subject, dep="nsubj")
    return tuple(replace(t, dep="obl") if t.head == verb.index and t.dep == "nmod" else t for t in new)


def _mended(tokens: tuple[Token, ...], verb: Token) -> tuple[Token, ...] | None:
    described = _noun_before(tokens, verb)
    held = _noun_after(tokens, verb)
    if described is None or held is None or held.dep.partition(":")[0] != "nsubj":
        return None
    main = tokens[held.head]
    if main.index <= held.index or not _is_finite(tokens, main) or main.index == verb.index:
        return None
    if described.dep.partition(":")[0] == "nsubj" and described.head not in {verb.index, main.index}:
        return None
    new = list(tokens)
    outer = _outer(verb, main, described)
    if described.dep.partition(":")[0] == "nsubj":
        new[described.index] = replace(described, dep=held.dep, head=main.index)
        new[main.index] = replace(
            main, dep=outer.dep, head=main.index if outer.head == outer.index else outer.head
        )
    elif described.dep in {"ROOT", "root"}:
        new[described.index] = replace(described, dep=held.dep, head=main.index)
        new[main.index] = replace(main, dep="ROOT", head=main.index)
    else:
        return None
    new[verb.index] = replace(verb, dep="acl", head=described.index)
    new[held.index] = replace(held, dep="obj", head=verb.index)
    for (
        token
    ) in tokens:  # what stood under the wrong main verb, beyond the right one, belongs to the right one
        if (
            token.head == verb.index
            and token.index > held.index
            and token.index not in {main.index, verb.index}
        ):
            new[token.index] = replace(token, head=main.index)
    return tuple(new)


def _outer(verb: Token, main: Token, described: Token) -> Token:
    """The word whose place in the sentence the right main verb takes."""
    if main.head == verb.index:
        return verb
    return main if main.index in {described.head, main.head} else verb


def _below(tokens: tuple[Token, ...], head: Token, *deps: str) -> list[Token]:
    return [
        t
        for t in tokens
        if t.head == head.index and t.index != head.index and t.dep.partition(":")[0] in deps
    ]


def _noun_before(tokens: tuple[Token, ...], verb: Token) -> Token | None:
    before = tokens[verb.index - 1] if verb.index else None
    return before if before is not None and before.tag.startswith("NN") else None


def _noun_after(tokens: tuple[Token, ...], verb: Token) -> Token | None:
    """The head of the noun phrase that follows directly."""
    for token in tokens[verb.index + 1 : verb.index + 8]:
        if token.tag.startswith("NN"):
            follower = tokens[token.index + 1] if token.index + 1 < len(tokens) else None
            if follower is not None and follower.tag.startswith("NN"):
                continue
            return token
        if token.tag not in {"DT", "JJ", "PRP$", "CD", "VBN", "POS", "HYPH"}:
            return None
    return None


def _is_finite(tokens: tuple[Token, ...], verb: Token) -> bool:
    return verb.tag in _FINITE or any(t.tag in _FINITE for t in _below(tokens, verb, "aux", "cop"))
