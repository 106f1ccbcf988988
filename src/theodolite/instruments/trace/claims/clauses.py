"""Subjects and objects of verbs, negation and hedging."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.language import Sentence
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Mention

_NEGATIONS = frozenset({"not", "n't", "never", "no", "neither", "nor", "without", "hardly", "nobody", "none"})
_NO_VERBS = words.word_set("aux cop amod compound case fixed")
_SHOWING = words.word_set("see show capture catch watch find observe depict feature")
_INHERITING = words.word_set("conj xcomp advcl ccomp acl parataxis obl nmod dep")
"""Relations whose verb takes the subject of the clause above."""
_CLAUSES = ("ccomp", "xcomp", "advcl", "acl", "conj", "parataxis", "csubj", "ROOT", "root")


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb in its sentence."""

    sentence: Sentence
    verb: Token

    @property
    def lemma(self) -> str:
        """The verb with its particle: *pick up*."""
        particle = particle_of(self.sentence, self.verb)
        return f"{self.verb.lemma} {particle.lemma}" if particle is not None else self.verb.lemma

    @property
    def is_passive(self) -> bool:
        """True if the grammatical subject undergoes the action."""
        if self.sentence.children(self.verb, "nsubj:pass", "aux:pass"):
            return True
        is_modifier = self.verb.dep in {"acl", "advcl", "xcomp"} or (
            self.verb.dep == "conj" and not self.sentence.children(self.verb, "aux")
        )
        return self.verb.tag == "VBN" and is_modifier and not self.sentence.children(self.verb, "obj")


def is_noun(token: Token) -> bool:
    """True for a noun that is not a pronoun."""
    return token.tag.startswith("NN") and token.lemma not in words.PRONOUNS


def is_verb(token: Token) -> bool:
    """True for a verb that can carry a claim: neither auxiliary nor copula."""
    return token.tag.startswith("VB") and token.dep.partition(":")[0] not in _NO_VERBS


def particle_of(sentence: Sentence, verb: Token) -> Token | None:
    """The particle of a verb, according to the parse or as a tagged particle right after it."""
    for child in sentence.children(verb, "compound:prt"):
        if child.lemma in words.PARTICLES:
            return child
    follower = sentence.tokens[verb.index + 1] if verb.index + 1 < len(sentence.tokens) else None
    if follower is not None and follower.tag == "RP" and follower.lemma in words.PARTICLES:
        return follower
    return None


def conjuncts(sentence: Sentence, token: Token) -> list[Token]:
    """A token and its conjuncts."""
    found = [token]
    for child in sentence.children(token, "conj"):
        if is_noun(child) or child.tag.startswith("PRP"):
            found.extend(conjuncts(sentence, child))
    return found


def subjects(sentence: Sentence, verb: Token, seen: frozenset[int] = frozenset()) -> list[Token]:  # noqa: C901, PLR0911 - one return per construction
    """The subjects of a verb: its own, or those of the clause above.

    The subject of a participle after a noun (*the person holding …*) is the noun; a conjoined verb shares the subject of the
    first verb, an adverbial one (*while standing …*) that of the main clause.
    """
    own = sentence.children(verb, "nsubj")
    if own:
        return [t for each in conjuncts(sentence, own[0]) for t in [antecedent(sentence, each)]]
    above = sentence.head(verb)
    if above is None or above.index in seen:
        return []
    marks = {t.text.casefold() for t in sentence.children(verb, "mark", "case")}
    if (
        verb.dep.startswith("acl")
        and is_noun(above)
        and (marks & {"while", "after", "before", "when"} or _is_aside(sentence, verb, above))
    ):
        governor = next((t for t in clause_of(sentence, above) if is_verb(t)), None)
        if governor is not None and governor.index not in seen:
            return subjects(sentence, governor, seen | {verb.index})
    if verb.dep.startswith("acl") and (is_noun(above) or above.tag.startswith(("PRP", "DT", "CD"))):
        owner = sentence.children(above, "nmod:poss")
        is_process = above.lemma in {"process", "act", "action", "midst", "middle", "verge"}
        if not is_process:
            return [above]
        if owner:
            return list(owner)
        return subjects(sentence, above, seen | {verb.index})
    if verb.dep.partition(":")[0] in _INHERITING:
        if verb.dep == "xcomp" and above.tag.startswith("VB"):
            objects = sentence.children(above, "obj")
            if objects and above.lemma in _SHOWING:
                return list(objects)
        return subjects(sentence, above, seen | {verb.index})
    return []


def antecedent(sentence: Sentence, token: Token) -> Token:
    """The referent of a relative pronoun: the noun that its clause describes, else the last noun before it."""
    if token.tag not in {"WDT", "WP"} or token.lemma not in {"who", "which", "that"}:
        return token
    verb = sentence.head(token)
    described = sentence.head(verb) if verb is not None and verb.dep.startswith("acl") else None
    if described is not None:
        return described
    return next((t for t in reversed(sentence.tokens[: token.index]) if is_noun(t)), token)


def _is_aside(sentence: Sentence, verb: Token, noun: Token) -> bool:
    """True in *sits on a couch holding a book*: the couch holds nothing."""
    is_place = (
        noun.dep.startswith("obl") and not sentence.children(verb, "nsubj", "aux:pass") and verb.tag == "VBG"
    )
    return is_place and not words.is_a(noun.lemma, "person") and bool(sentence.children(verb, "obj"))


def objects(sentence: Sentence, clause: Clause) -> list[Token]:  # noqa: C901, PLR0911 - one return per construction
    """The objects of a verb: direct, the subject of a passive, or the noun of a preposition that belongs to the verb."""
    verb = clause.verb
    if clause.is_passive:
        return subjects(sentence, verb)
    direct = [t for t in sentence.children(verb, "obj") if t.dep == "obj"]
    if direct and direct[0].lemma in {"which", "that", "who", "whom"} and verb.dep.startswith("acl"):
        head = sentence.head(verb)
        return [] if head is None else [head]
    if direct:
        return [t for first in direct[:1] for t in conjuncts(sentence, first)]
    if verb.dep == "acl:relcl" and not _has_relative_subject(sentence, verb):
        head = sentence.head(verb)
        if head is not None and stranded(sentence, verb) is None and sentence.children(verb, "nsubj"):
            return [head]
    for child in sentence.children(verb, "obl"):
        case = preposition(sentence, child)
        if case == "to" and sentence.tokens[sentence.children(child, "case")[0].index - 1].lemma in {
            "next",
            "close",
            "adjacent",
        }:
            continue  # "next to" is a place
        if child.dep != "obl:agent" and (
            case in words.PATHS
            or case in {"with", "for"}
            or (case in {"at", "on", "in"} and verb.lemma in ATTENDING)
        ):
            return conjuncts(sentence, child)
    joined = sentence.children(verb, "conj")
    if joined and joined[0].tag == verb.tag and verb.dep != "acl":  # "organizing or packing her belongings"
        between = sentence.tokens[verb.index + 1 : joined[0].index]
        if all(t.dep in {"cc", "advmod", "punct"} for t in between):
            return objects(sentence, Clause(sentence, joined[0]))
    return []


ATTENDING = words.word_set(
    "look point aim stare gaze glance smile focus check engage participate involve wait knock interact"
)
"""Verbs whose *at*, *on* and *in* introduce a target, not a place."""


def agent(sentence: Sentence, verb: Token) -> list[Token]:
    """The agent of a passive: *held by the person*."""
    for child in sentence.children(verb, "obl"):
        if preposition(sentence, child) == "by":
            return conjuncts(sentence, child)
    return []


def preposition(sentence: Sentence, noun: Token) -> str:
    """The preposition of a noun in lower case; empty if there is none."""
    cases = sentence.children(noun, "case")
    return cases[0].text.casefold() if cases else ""


def _has_relative_subject(sentence: Sentence, verb: Token) -> bool:
    return any(t.lemma in {"who", "which", "that"} for t in sentence.children(verb, "nsubj"))


def stranded(sentence: Sentence, verb: Token) -> Token | None:
    """The stranded preposition at the end of a clause, if there is one: *the chair they lean on*."""
    for child in sentence.children(verb):
        if (
            child.index > verb.index
            and child.text.casefold() in words.PLACES
            and not sentence.children(child)
            and child.tag in {"IN", "RP", "RB"}
        ):
            return child
    return None


def clause_of(sentence: Sentence, token: Token) -> Iterator[Token]:
    """The heads of the clauses around a token, innermost first."""
    here: Token | None = token
    seen: set[int] = set()
    while here is not None and here.index not in seen:
        seen.add(here.index)
        if here.dep.partition(":")[0] in _CLAUSES or sentence.children(here, "cop", "aux") or is_verb(here):
            yield here
        here = sentence.head(here)


def is_negated(sentence: Sentence, token: Token) -> bool:
    """True if the clause of a token is negated."""
    head = next(clause_of(sentence, token), token)
    marks = (
        *sentence.children(head, "advmod", "det", "mark", "case", "aux", "cc", "neg"),
        *sentence.children(token, "det", "advmod"),
    )
    if any(t.text.casefold() in _NEGATIONS for t in marks):
        return True
    agents = agent(sentence, head) if is_verb(head) else []
    return any(t.lemma in {"nobody", "none"} for t in (*sentence.children(head, "nsubj"), *agents))


def is_the_writers_sight(sentence: Sentence, verb: Token) -> bool:
    """True for *I see* and *we cannot find*, which say what is there and describe no action."""
    return verb.lemma in words.SEEING_VERBS and any(
        t.text.casefold() in words.FIRST_PERSON for t in subjects(sentence, verb)
    )


def hedge_of(sentence: Sentence, token: Token) -> str:
    """The word that hedges the clause of a token; empty for a plain statement.

    Looked for in the clause itself (*might*, *possibly*) and in the clauses above that suggest, infer or consider it. A
    clause that is merely conjoined to a hedged one is not hedged.
    """
    below: Token | None = None
    for head in clause_of(sentence, token):
        for child in sentence.children(head, "aux", "advmod"):
            is_near = (
                below is None or below.dep in {"xcomp", "ccomp", "advcl", "acl"} or child.index < below.index
            )
            if child.lemma in words.HEDGE_WORDS and is_near and _covers(below):
                return child.lemma
            if child.lemma == "will" and below is None:
                return "will"
        taken = below is not None and below.dep.partition(":")[0] in {"ccomp", "xcomp", "csubj", "advcl"}
        if head.lemma in words.HEDGE_VERBS and taken:
            return head.lemma
        if head.lemma in words.HEDGE_ADJECTIVES and (taken or below is None) and not is_noun(head):
            return head.lemma
        below = head
    return ""


def _covers(below: Token | None) -> bool:
    """True if a hedge on a clause also covers the clause below it."""
    return below is None or below.dep.partition(":")[0] in {"xcomp", "ccomp", "conj", "acl", "advcl"}


def mention(sentence: Sentence, token: Token) -> Mention:
    """The mention of an object: its noun with compounds, and its visible adjectives."""
    parts = [
        t for t in sentence.children(token, "compound") if t.index < token.index and not t.dep.endswith("prt")
    ]
    parts += [
        t
        for t in sentence.children(token, "amod")
        if t.lemma in {"remote", "cell", "living", "dining", "washing", "mobile"}
    ]
    head = " ".join(t.lemma for t in (*sorted(parts, key=lambda t: t.index), token))
    seen = tuple(
        t.lemma
        for t in sentence.children(token, "amod", "compound")
        if t.lemma in words.ATTRIBUTES or t.lemma in words.STATES
    )
    head = " ".join(word for word in head.split() if word not in words.MATERIALS) or token.lemma
    return Mention(head.casefold(), seen, span=(token.start, token.end))
