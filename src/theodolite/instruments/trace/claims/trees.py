"""Dependency trees prepared for the claim rules: spaCy's labels as Universal Dependencies, and known errors repaired.

spaCy's ``en_core_web_*`` put a noun under its preposition and everything under the copula. Universal Dependencies put the
preposition under the noun and the copula under the predicate. Only what the claim rules read is converted.

A small parser often fails on *the person holding the cup is standing*: it takes *holding* for the main verb, and the cup
for the thing that stands. A bare -ing form cannot be a main verb, so this is repaired: the -ing form describes the first noun, and
the cup is its object.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_FINITE = {"VBZ", "VBD", "VBP", "MD"}
_RENAMED = {
    "dobj": "obj",
    "dative": "iobj",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "prt": "compound:prt",
    "poss": "nmod:poss",
    "relcl": "acl:relcl",
    "npadvmod": "obl",
    "neg": "advmod",
    "oprd": "xcomp",
    "quantmod": "advmod",
    "predet": "det",
    "acomp": "xcomp",
    "attr": "xcomp",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A word with its place in the dependency tree."""

    index: int
    text: str
    lemma: str
    """Lower case."""
    tag: str
    """Penn Treebank part of speech."""
    dep: str
    """Universal Dependencies relation to the head."""
    head: int
    """The head's index; its own for the root."""
    start: int
    """Its first character in the parsed text."""
    quantity: str = ""
    """Of a noun: how many of them are meant, as `Mention.quantity`."""

    @property
    def end(self) -> int:
        """One past its last character."""
        return self.start + len(self.text)


def to_universal(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the same words with the relations of Universal Dependencies."""
    heads = [token.head for token in tokens]
    deps = [
        "compound" if token.dep == "nmod" else token.dep for token in tokens
    ]  # a noun before a noun, there
    for token in tokens:
        if deps[token.index] in {"prep", "agent", "dative"} and token.tag in {"IN", "TO"}:
            _lift_complement(tokens, token.index, heads, deps)
    for token in tokens:
        if token.lemma == "be" and deps[token.index] not in {"aux", "auxpass"}:
            _lower_copula(tokens, token.index, heads, deps)
    deps = [_RENAMED.get(dep, dep) for dep in deps]
    return tuple(replace(t, head=heads[t.index], dep=deps[t.index]) for t in tokens)


def _lift_complement(tokens: tuple[Token, ...], preposition: int, heads: list[int], deps: list[str]) -> None:
    """Rewrite *on → table* under *stands* to *table → on* under *stands*."""
    governor = heads[preposition]
    noun = next((t.index for t in tokens if heads[t.index] == preposition and deps[t.index] == "pobj"), None)
    clause = next(
        (t.index for t in tokens if heads[t.index] == preposition and deps[t.index] == "pcomp"), None
    )
    if noun is None and clause is None:
        deps[preposition] = "case" if deps[preposition] == "prep" else deps[preposition]
        return
    is_agent = deps[preposition] == "agent"
    is_nominal = tokens[governor].tag.startswith(("NN", "PRP", "DT", "CD"))
    lifted = noun if noun is not None else clause
    if lifted is None:
        return
    if noun is not None:
        deps[lifted] = "obl:agent" if is_agent else "nmod" if is_nominal else "obl"
        deps[preposition] = "case"
    else:
        deps[lifted] = "acl" if is_nominal else "advcl"
        deps[preposition] = "mark"
    heads[lifted], heads[preposition] = governor, lifted


def _lower_copula(tokens: tuple[Token, ...], copula: int, heads: list[int], deps: list[str]) -> None:
    """Rewrite *is → red* to *red → is*, and likewise *is → on the table* if there is no other predicate."""
    below = [t.index for t in tokens if heads[t.index] == copula and t.index != copula]
    predicate = next((i for i in below if deps[i] in {"attr", "acomp"}), None)
    if predicate is None and not any(deps[i] == "expl" for i in below):
        predicate = next(
            (
                i
                for i in below
                if deps[i] in {"obl", "advmod"}
                and i > copula
                and tokens[i].text.casefold() not in {"not", "n't"}
            ),
            None,
        )
    if any(deps[i] == "expl" for i in below):  # "there is a cup": the cup is the subject
        if predicate is not None:
            deps[predicate] = "nsubj"
        return
    if predicate is None:
        return
    heads[predicate] = predicate if heads[copula] == copula else heads[copula]
    deps[predicate] = deps[copula]
    heads[copula], deps[copula] = predicate, "cop"
    for i in below:
        if i != predicate:
            heads[i] = predicate


def repaired(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the same words with these verbs repaired; the same tuple if there is nothing to repair."""
    tokens = _with_verb(tokens)
    for verb in tokens:
        if verb.tag == "VBG" and not _below(tokens, verb, "aux", "cop", "mark", "case"):
            mended = _mended(tokens, verb)
            if mended is not None:
                return repaired(mended)
    return tokens


def _with_verb(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Repair *a dog sleeps*, which is not a plural of *dog sleep*: in a sentence without any verb, such a noun is the verb."""
    if any(t.tag.startswith("VB") or t.tag == "MD" for t in tokens):
        return tokens
    verb = next(
        (t for t in tokens if t.tag == "NNS" and t.index and tokens[t.index - 1].tag in {"NN", "NNP"}), None
    )
    if verb is None or tokens[verb.index - 1].head != verb.index or verb.head != verb.index:
        return tokens
    if any(t.tag == "CD" or t.lemma == "several" for t in tokens[: verb.index]):
        return tokens  # *four dining tables*
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
    """Return the word whose position in the tree the right main verb takes."""
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
    """Return the head of the noun phrase that follows directly."""
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


# A dependency tree that is being edited.


INSIDE = frozenset({"DT", "PDT", "JJ", "JJS", "PRP$", "VBN", "VBG", "RB", "HYPH", "CD", "POS"})
"""Tags of words within a noun phrase, before its noun."""


class EditedTree:
    """Tokens that are being changed."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = list(tokens)
        self._texts = [t.text.casefold() for t in tokens]

    def _set(self, index: int, **changes: object) -> None:
        token = self.tokens[index]
        if any(getattr(token, name) != value for name, value in changes.items()):
            self.tokens[index] = replace(token, **changes)  # type: ignore[arg-type]

    def _children(self, index: int) -> list[Token]:
        return [t for t in self.tokens if t.head == index and t.index != index]

    def _take_place(self, new: int, old: int) -> None:
        """Move a token to the position of another in the tree; the other and its dependents hang below it."""
        if new == old:
            return
        above = self.tokens[old]
        is_root = above.head == old
        self._set(new, head=new if is_root else above.head, dep=above.dep)
        for child in self._children(old):
            if child.index != new:
                self._set(child.index, head=new)
        self._set(old, head=new)

    def _has(self, index: int, *deps: str) -> bool:
        return any(t.dep in deps for t in self._children(index))

    def _noun_from(self, start: int) -> int | None:
        """Return the head of the noun phrase that continues at an index."""
        for token in self.tokens[start : start + 5]:
            if token.tag.startswith("NN") or token.tag == "PRP":
                last = token.index
                while last + 1 < len(self.tokens) and self.tokens[last + 1].tag.startswith("NN"):
                    if token.tag == "PRP":
                        break
                    last += 1
                return last
            is_comma = token.text == "," and token.index > start
            if token.tag not in INSIDE and not is_comma:
                return None
        return None

    def _is_fresh(self, index: int) -> bool:
        """Return True if a noun phrase begins here."""
        return index < len(self.tokens) and self.tokens[index].tag in {"DT", "PRP$", "CD"}

    def _noun_before(self, index: int) -> int | None:
        return next((t.index for t in reversed(self.tokens[:index]) if t.tag.startswith(("NN", "PRP"))), None)
