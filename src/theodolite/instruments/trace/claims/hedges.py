"""Hedges, questions and conditions: what is said, but not asserted."""

from __future__ import annotations

from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.language import Sentence, remembered
from theodolite.instruments.trace.claims.trees import Token

_MOODS = words.word_set("like if unless whether suppose supposing provided lest")
_MARKS = _MOODS | {"?", "long", "had", "were", "should"}
_HEDGES = words.HEDGE_WORDS | words.HEDGE_VERBS | words.HEDGE_ADJECTIVES | {"will"}


@remembered
def hedge_of(sentence: Sentence, token: Token) -> str:
    """The word that hedges the clause of a token; empty for a plain statement.

    Looked for in the clause itself (*might*, *possibly*) and in the clauses above that suggest, infer or consider it. A
    clause that is merely conjoined to a hedged one is not hedged.
    """
    if not _may_be_hedged(sentence, sentence.tokens[0]) or _goes_with(sentence, token):
        return ""
    return _hedge(sentence, token)


@remembered
def _may_be_hedged(sentence: Sentence, _: Token) -> bool:
    """False if no word of a sentence hedges anything."""
    return any(t.tag == "MD" or t.lemma in _HEDGES or t.text.casefold() in _MARKS for t in sentence.tokens)


def _hedge(sentence: Sentence, token: Token) -> str:
    below: Token | None = None
    is_apart = False  # beyond *and the cup is …*, which *seems to* does not cover
    for head in c.clause_of(sentence, token):
        if below is not None and below.dep == "conj" and sentence.children(below, "nsubj"):
            is_apart = True
        mood = _mood(sentence, head, below)
        if mood:
            return mood
        for child in sentence.children(head, "aux", "advmod"):
            is_near = (
                below is None or below.dep in {"xcomp", "ccomp", "advcl", "acl"} or child.index < below.index
            )
            if child.lemma in words.HEDGE_WORDS and is_near and _covers(below):
                return child.lemma
            if child.lemma == "will" and below is None:
                return "will"
        covered = {"ccomp", "csubj"} if is_apart else {"ccomp", "xcomp", "csubj"}
        taken = below is not None and below.dep.partition(":")[0] in covered
        if head.lemma in words.HEDGE_VERBS and taken:
            return head.lemma
        if head.lemma in words.HEDGE_ADJECTIVES and (taken or below is None) and not c.is_noun(head):
            return head.lemma
        below = head
    return ""


def _goes_with(sentence: Sentence, token: Token) -> bool:
    """True within *, with a cup on it*, which is said beside the clause that may be hedged."""
    here: Token | None = token
    seen: set[int] = set()
    while here is not None and here.index not in seen and not sentence.children(here, "aux", "cop"):
        seen.add(here.index)
        for case in sentence.children(here, "case", "mark"):
            if case.text.casefold() in {"with", "without"} and case.index:
                return sentence.tokens[case.index - 1].text == ","
        here = sentence.head(here)
    return False


def _mood(sentence: Sentence, head: Token, below: Token | None) -> str:
    """*?* in a question, *if* in a condition and in what depends on it, and modal verbs; empty for a plain clause."""
    if any(t.text == "?" for t in sentence.tokens[-3:]):
        return "?"
    return _condition(sentence, head, below) or _modal(sentence, head, below)


def _condition(sentence: Sentence, head: Token, below: Token | None) -> str:
    for child in sentence.children(head, "mark", "advmod", "case"):
        if child.text.casefold() == "like" and child.dep != "mark":
            continue
        if child.text.casefold() in _MOODS:
            return child.text.casefold()
    if _is_as_long(sentence, head):
        return "if"
    if below is None or below.dep not in {"advcl", "acl:relcl", "acl"}:
        for clause in sentence.children(head, "advcl"):
            marks = sentence.children(clause, "mark", "advmod")
            if any(t.text.casefold() in _MOODS for t in marks) or _is_as_long(sentence, clause):
                return "if"
    first = sentence.children(head)[:1]
    is_inverted = (
        bool(first) and first[0].text in {"Had", "Were", "Should"} and first[0].dep.startswith(("aux", "cop"))
    )
    return "if" if is_inverted else ""


def _is_as_long(sentence: Sentence, word: Token) -> bool:
    """True for *long* in *as long as*."""
    around = sentence.tokens[max(0, word.index - 1) : word.index + 2]
    return word.text == "long" and [t.text.casefold() for t in around] == ["as", "long", "as"]


def _modal(sentence: Sentence, head: Token, below: Token | None) -> str:
    modals = [t for t in sentence.children(head, "aux") if t.tag == "MD"]
    is_seen = head.lemma in words.SEEING_VERBS | {"count", "visible", "tell"}
    if below is None or below.dep in {"xcomp", "ccomp"}:
        for modal in modals:
            if not (modal.lemma in {"can", "ca", "could"} and is_seen):
                return modal.lemma
    return ""


def _covers(below: Token | None) -> bool:
    """True if a hedge on a clause also covers the clause below it."""
    return below is None or below.dep.partition(":")[0] in {"xcomp", "ccomp", "conj", "acl", "advcl"}
