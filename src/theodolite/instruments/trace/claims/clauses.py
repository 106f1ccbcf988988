"""Subjects and objects of verbs, negation, hedges and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from theodolite.answers.text import word_set
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.language import Sentence, remembered
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Mention

# Subjects and objects of verbs, and negation.


_NEGATIONS = frozenset({"not", "n't", "never", "no", "neither", "nor", "without", "hardly"})
_NO_VERBS = word_set("aux cop amod compound case fixed")
_SUPERLATIVES = word_set("leftmost rightmost topmost bottommost uppermost lowermost innermost outermost")
_NOT_SUPERLATIVE = word_set(
    "forest chest guest nest west rest test vest east harvest interest request contest honest modest pest quest crest priest"
)
_ORDINALS = word_set(
    "first second third fourth fifth last next left right front back top bottom upper lower middle"
)
_COLLECTIVES = word_set(
    "group pair bunch lot set variety collection row stack pile number piece kind couple crowd"
)
"""Nouns whose *of* names what is meant: *a group of people*."""
_ANYONE = {
    **dict.fromkeys(
        ("nobody", "somebody", "anybody", "everybody", "someone", "anyone", "everyone"), "person"
    ),
    **dict.fromkeys(("nothing", "something", "anything", "everything"), "thing"),
    **dict.fromkeys(("me", "us", "my", "our"), "i"),
    **dict.fromkeys(("him", "his"), "he"),
    **dict.fromkeys(("them", "their"), "they"),
    "her": "she",
    "its": "it",
    "people": "person",
}
_ADVERBS = word_set("up down off over around out away apart")
"""Adverbs that change what a verb means, as particles do: *sit down*, *turn around*."""
SHOWING = word_set("see show capture catch watch find observe depict feature")
_INHERITING = word_set("conj xcomp advcl advmod ccomp acl parataxis obl nmod dep")
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
        return _is_passive(self.sentence, self.verb)


@remembered
def _is_passive(sentence: Sentence, verb: Token) -> bool:
    helpers = sentence.children(verb, "aux")
    if any(t.lemma == "have" for t in helpers) and not any(t.lemma in {"be", "get"} for t in helpers):
        return False
    if sentence.children(verb, "nsubj:pass", "aux:pass"):
        return True
    if verb.tag == "VBN" and any(t.lemma == "be" for t in helpers):
        return True
    is_modifier = verb.dep in {"acl", "advcl", "xcomp"} or (
        verb.dep == "conj" and not sentence.children(verb, "aux")
    )
    return verb.tag == "VBN" and is_modifier and not sentence.children(verb, "obj")


def is_noun(token: Token) -> bool:
    """Return True for a noun that is not a pronoun."""
    return token.tag.startswith("NN") and token.lemma not in words.PRONOUNS


def is_verb(token: Token) -> bool:
    """Return True for a verb that can carry a claim: neither auxiliary nor copula."""
    return token.tag.startswith("VB") and token.dep.partition(":")[0] not in _NO_VERBS


@remembered
def particle_of(sentence: Sentence, verb: Token) -> Token | None:
    """Return the particle of a verb, according to the parse or as a tagged particle right after it."""
    for child in sentence.children(verb, "compound:prt"):
        if child.lemma in words.PARTICLES:
            return child
    follower = sentence.tokens[verb.index + 1] if verb.index + 1 < len(sentence.tokens) else None
    if follower is not None and follower.tag == "RP" and follower.lemma in words.PARTICLES:
        return follower
    for child in sentence.children(verb, "advmod"):
        if child.tag == "RB" and child.index > verb.index and child.lemma in _ADVERBS:
            return child
    return None


def conjuncts(sentence: Sentence, token: Token) -> list[Token]:
    """Return a token and its conjuncts."""
    tokens = [token]
    for child in sentence.children(token, "conj"):
        if is_noun(child) or child.tag.startswith("PRP"):
            tokens.extend(conjuncts(sentence, child))
    return tokens


def subjects(sentence: Sentence, verb: Token, seen: frozenset[int] = frozenset()) -> list[Token]:  # noqa: C901, PLR0911 - one return per construction
    """Return the subjects of a verb: its own, or those of the clause above.

    The subject of a participle after a noun (*the person holding …*) is the noun; a conjoined verb shares the subject of the
    first verb, an adverbial one (*while standing …*) that of the main clause.
    """
    own = sentence.children(verb, "nsubj")
    if own:
        return [t for conjunct in conjuncts(sentence, own[0]) for t in [antecedent(sentence, conjunct)]]
    above = sentence.head(verb)
    if above is None or above.index in seen:
        return []
    marks = {t.text.casefold() for t in sentence.children(verb, "mark", "case")}
    if (
        verb.dep.startswith("acl")
        and is_noun(above)
        and (marks & {"while", "after", "before", "when"} or _is_aside(sentence, verb, above))
    ):
        governor = next(
            (t for t in clause_of(sentence, above) if is_verb(t) or sentence.children(t, "cop", "nsubj")),
            None,
        )
        if governor is not None and governor.index not in seen:
            return subjects(sentence, governor, seen | {verb.index})
    if verb.dep.startswith("acl") and above.tag.startswith(("NN", "PRP", "DT", "CD")):
        owner = sentence.children(above, "nmod:poss")
        is_said = bool(sentence.children(above, "cop")) and not sentence.children(above, "case")
        if verb.dep == "acl" and is_said and not is_existence(sentence, above):
            return subjects(sentence, above, seen | {verb.index})  # *is a chair, placed near …*
        is_process = above.lemma in {"process", "act", "action", "midst", "middle", "verge"}
        if not is_process:
            return [above]
        if owner:
            return list(owner)
        return subjects(sentence, above, seen | {verb.index})
    if verb.dep.partition(":")[0] in _INHERITING:
        if verb.dep == "xcomp" and above.tag.startswith("VB"):
            objects = sentence.children(above, "obj")
            if objects and above.lemma in SHOWING:
                return list(objects)
        return subjects(sentence, above, seen | {verb.index})
    return []


def antecedent(sentence: Sentence, token: Token) -> Token:
    """Return the referent of a relative pronoun: the noun that its clause describes, else the last noun before it."""
    if token.tag not in {"WDT", "WP"} or token.lemma not in {"who", "which", "that"}:
        return token
    verb = sentence.head(token)
    described = sentence.head(verb) if verb is not None and verb.dep.startswith("acl") else None
    if described is not None and _is_content(sentence, described):
        described = sentence.head(described)  # *a loaf of bread, which is …*
    if described is not None and token.lemma == "which":
        before = next((t for t in reversed(sentence.tokens[: token.index]) if is_noun(t)), described)
        is_whole = before.head == described.index and preposition(sentence, before) == "of"
        is_whole = is_whole and not _is_content(sentence, before)
        return before if is_whole else described  # *on the arm of the chair, which is …*
    if described is not None and described.lemma in words.GENERIC_NOUNS:
        own = [t for t in sentence.children(described, "nsubj") if t is not token]
        return antecedent(sentence, own[0]) if own else described  # *is a small object that is …*
    if described is not None:
        return described
    return next((t for t in reversed(sentence.tokens[: token.index]) if is_noun(t)), token)


def _is_content(sentence: Sentence, noun: Token) -> bool:
    """Return True for *bread* in *a loaf of bread*, not for *the chair* in *the arm of the chair*."""
    return preposition(sentence, noun) == "of" and not sentence.children(noun, "det", "nmod:poss")


def _is_aside(sentence: Sentence, verb: Token, noun: Token) -> bool:
    """Return True in *sits on a couch holding a book*, where the couch holds nothing."""
    is_place = noun.dep.startswith(("obl", "nmod")) and not sentence.children(verb, "nsubj", "aux:pass")
    if is_place and verb.index and sentence.tokens[verb.index - 1].text == ",":
        return True  # *is in the middle of the room, surrounded by chairs*
    return (
        is_place
        and verb.tag == "VBG"
        and noun.dep.startswith("obl")
        and not words.is_a(noun.lemma, "person")
        and bool(sentence.children(verb, "obj"))
    )


def objects(sentence: Sentence, clause: Clause) -> list[Token]:  # noqa: C901, PLR0911 - one return per construction
    """Return the objects of a verb: direct, the subject of a passive, or the noun of a preposition that belongs to the verb."""
    verb = clause.verb
    if clause.is_passive:
        return given(sentence, verb) or subjects(sentence, verb)
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
        if is_beside(sentence, child):
            continue
        if (
            child.dep != "obl:agent"
            and child.text.casefold() not in words.SIDES
            and (
                case in words.PATHS
                or case in {"with", "for"}
                or (case in {"at", "on", "in"} and verb.lemma in ATTENDING)
            )
        ):
            return conjuncts(sentence, child)
    joined = sentence.children(verb, "conj")
    if joined and joined[0].tag == verb.tag and verb.dep != "acl":  # "organizing or packing her belongings"
        between = sentence.tokens[verb.index + 1 : joined[0].index]
        if all(t.dep in {"cc", "advmod", "punct"} for t in between) and sentence.children(joined[0], "obj"):
            return objects(sentence, Clause(sentence, joined[0]))
    return []


def given(sentence: Sentence, verb: Token) -> list[Token]:
    """Return the direct object after a passive recipient: *a biscuit* in *the boy is offered a biscuit*."""
    if verb.lemma not in words.GIVING_VERBS:
        return []
    return [t for t in sentence.children(verb, "obj") if is_noun(t)]


def is_beside(sentence: Sentence, noun: Token) -> bool:
    """Return True for *next to the box*, which is a place and not a direction."""
    cases = sentence.children(noun, "case")
    before = sentence.tokens[cases[0].index - 1].lemma if cases and cases[0].index else ""
    return bool(cases) and cases[0].text.casefold() == "to" and before in {"next", "close", "adjacent"}


ATTENDING = word_set(
    "look point aim stare gaze glance smile wave bark shout laugh focus check engage participate involve wait knock interact"
)
"""Verbs whose *at*, *on* and *in* introduce a target, not a place."""


def agent(sentence: Sentence, verb: Token) -> list[Token]:
    """Return the agent of a passive: *held by the person*."""
    for child in sentence.children(verb, "obl"):
        if preposition(sentence, child) == "by" and is_place_like(child):  # not *by the end*
            return conjuncts(sentence, child)
    return []


def preposition(sentence: Sentence, noun: Token) -> str:
    """Return the preposition of a noun in lower case; empty if there is none."""
    cases = sentence.children(noun, "case")
    return cases[0].text.casefold() if cases else ""


def _has_relative_subject(sentence: Sentence, verb: Token) -> bool:
    return any(t.lemma in {"who", "which", "that"} for t in sentence.children(verb, "nsubj"))


def stranded(sentence: Sentence, verb: Token) -> Token | None:
    """Return the stranded preposition at the end of a clause, if there is one: *the chair they lean on*."""
    for child in sentence.children(verb):
        if (
            child.index > verb.index
            and child.text.casefold() in words.PLACES
            and not sentence.children(child)
            and child.tag in {"IN", "RP", "RB"}
        ):
            return child
    return None


@remembered
def clause_of(sentence: Sentence, token: Token) -> tuple[Token, ...]:
    """Return the heads of the clauses around a token, innermost first."""
    heads: list[Token] = []
    here: Token | None = token
    seen: set[int] = set()
    while here is not None and here.index not in seen:
        seen.add(here.index)
        if here.dep.partition(":")[0] in _CLAUSES or sentence.children(here, "cop", "aux") or is_verb(here):
            heads.append(here)
        here = sentence.head(here)
    return tuple(heads)


def is_negated(sentence: Sentence, token: Token, *about: Token | None) -> bool:
    """Return True if the clause of a token is negated, by a word of its own or by the quantity of what it is about."""
    head = next(iter(clause_of(sentence, token)), token)
    marks = (
        *sentence.children(head, "advmod", "mark", "case", "aux", "cc", "cc:preconj", "neg"),
        *sentence.children(token, "advmod", "cc", "cc:preconj"),
    )
    if any(t.text.casefold() in _NEGATIONS or t.lemma == "not" for t in marks):
        return True
    own = sentence.children(head, "nsubj")
    return any(is_none(sentence, t) for t in (*own, *about) if t is not None)


@remembered
def is_none(sentence: Sentence, token: Token) -> bool:
    """Return True for *no cup*, *nobody*, *not all cups*, *neither a cup*."""
    if token.quantity.startswith("no") or token.lemma in {"nobody", "nothing", "none"}:
        return True
    if not sentence.children(token, "cop") and any(
        t.lemma == "not" and t.index < token.index for t in sentence.children(token, "advmod")
    ):
        return is_noun(token)  # *the teacher, not the student*
    above = sentence.head(token)
    if token.dep == "conj" and above is not None and is_noun(above):
        joint = {t.text.casefold() for t in sentence.children(token, "cc")}
        if joint & {"or", "nor"} and is_none(sentence, above):
            return True  # *no cups or plates*
    return any(
        t.text.casefold() in {"neither", "nor"}
        for t in sentence.children(token, "cc", "cc:preconj", "advmod", "det")
    )


def is_lasting(sentence: Sentence, head: Token) -> bool:
    """Return True for *remains*, *is still*, *keeps …ing*."""
    if any(t.lemma == "still" for t in sentence.children(head, "advmod")):
        return True
    if any(t.lemma in {"remain", "stay"} for t in sentence.children(head, "cop")):
        return True
    above = sentence.head(head)
    return head.dep == "xcomp" and above is not None and above.lemma in {"keep", "continue", "remain", "stay"}


def is_the_writers_sight(sentence: Sentence, verb: Token) -> bool:
    """Return True for *I see* and *we cannot find*, which state existence and describe no action."""
    return verb.lemma in words.SEEING_VERBS | {"count", "get"} and any(
        t.text.casefold() in words.FIRST_PERSON | {"you"} for t in subjects(sentence, verb)
    )


SHOWING = words.PICTURES | {"camera"}
"""What shows things: *the image shows*, *the camera captures*."""
_SHOWS = word_set("show depict feature include contain capture display present portray reveal have")
_THERE = word_set("visible present there exist shown seen depicted missing absent")


def shows_picture(sentence: Sentence, verb: Token) -> bool:
    """Return True for *the image shows*, which says that something is there."""
    return verb.lemma in _SHOWS and any(t.lemma in SHOWING for t in sentence.children(verb, "nsubj"))


@remembered
def is_existence(sentence: Sentence, noun: Token) -> bool:
    """Return True if the clause states only the existence of a noun: *there is a cup*, *I see a cup*, *the cup is visible*."""
    first = noun
    while first.dep == "conj" and (above := sentence.head(first)) is not None and is_noun(above):
        first = above
    head = sentence.head(first)
    if head is None:
        return not sentence.children(first, "cop", "nsubj") or _lists(sentence, first)
    if first.dep == "obj":
        return is_the_writers_sight(sentence, head) or shows_picture(sentence, head)
    if preposition(sentence, first) == "with":  # *with no one visible*
        last = conjuncts(sentence, first)[-1]
        return any(t.text.casefold() in _THERE for t in sentence.tokens[last.index + 1 : last.index + 2])
    is_subject = first.dep.startswith("nsubj")
    if is_subject and sentence.children(head, "expl"):
        return True
    return is_subject and (head.text.casefold() in _THERE or head.lemma in _THERE)


def _lists(sentence: Sentence, noun: Token) -> bool:
    """Return True for *the key targets are the man and the cup*."""
    own = sentence.children(noun, "nsubj")
    return (
        bool(own)
        and own[0].lemma in words.GENERIC_NOUNS | {"target", "element", "feature"}
        and not sentence.children(noun, "case")
    )


def is_place_like(token: Token) -> bool:
    """Return True for a noun that can be seen, or a pronoun."""
    return token.tag == "PRP" or words.can_be_seen(token.lemma)


def is_superlative(sentence: Sentence, token: Token) -> bool:
    """Return True for *tallest*, *leftmost*, *most colourful*."""
    word = token.text.casefold()
    if token.tag == "JJS" or word in _SUPERLATIVES:
        return word not in {"most", "least"}
    if word.endswith("est") and len(word) > 5 and word not in _NOT_SUPERLATIVE and token.lemma != word:
        return True
    return token.tag == "JJ" and any(
        t.text.casefold() in {"most", "least"} for t in sentence.children(token, "advmod")
    )


def superlative(sentence: Sentence, token: Token) -> str:
    """Return the words of a superlative: *tallest*, *most colourful*."""
    degree = [
        t.text.casefold()
        for t in sentence.children(token, "advmod")
        if t.text.casefold() in {"most", "least"}
    ]
    return " ".join((*degree, token.text.casefold()))


def is_comparative(token: Token) -> bool:
    """Return True for *taller* and *faster*, also where they were tagged as plain adjectives."""
    word = token.text.casefold()
    if token.tag in {"JJR", "RBR"}:
        return (
            word not in {"further", "later", "longer", "more", "less", "earlier", "lower", "upper"}
            or token.tag == "JJR"
        )
    is_form = word.endswith("er") and token.tag in {"JJ", "RB"} and len(word) > 5
    return is_form and (
        word[:-2] in words.ATTRIBUTES or word[:-1] in words.ATTRIBUTES or word[:-3] in words.ATTRIBUTES
    )


def named(sentence: Sentence, token: Token) -> Token:
    """Return the noun that names the object: *people* in *a group of people*."""
    if token.lemma in _COLLECTIVES:
        for child in sentence.children(token, "nmod"):
            if preposition(sentence, child) == "of":
                return child
    return token


def bearer(sentence: Sentence, token: Token) -> Token:
    """Return the bearer of an aspect: *its* in *its shape is round*, *box* in *the size of the box*."""
    if token.lemma not in words.ASPECTS:
        return token
    owners = sentence.children(token, "nmod:poss") or sentence.children(token, "nmod")
    return owners[0] if owners else token


@remembered
def mention(sentence: Sentence, token: Token) -> Mention:
    """Return the mention of an object: its noun with compounds, its visible adjectives and its quantity."""
    asked, token = token, named(sentence, token)
    parts = [
        t
        for t in sentence.children(token, "compound")
        if t.index < token.index and not t.dep.endswith("prt") and not is_superlative(sentence, t)
    ]
    around = sentence.children(token, "amod", "compound")
    if asked is not token:
        around = (*sentence.children(asked, "amod"), *around)
    around = tuple(
        t
        for first in around
        for t in (*(x for x in sentence.children(first, "amod", "conj") if x.index < token.index), first)
    )
    parts += [
        t
        for t in around
        if t.lemma in {"remote", "cell", "living", "dining", "washing", "mobile"} and t not in parts
    ]
    named_by = (*sorted(parts, key=lambda t: t.index), token)
    head = " ".join(t.text if t.tag == "VBG" else t.lemma for t in named_by)  # *cutting board*
    seen = tuple(dict.fromkeys(a for t in around if (a := _adjective(sentence, t)) and t.index < token.index))
    head = (
        " ".join(word for word in head.split() if word not in words.MATERIALS and word not in seen)
        or token.lemma
    )
    head = head.casefold()
    quantity = asked.quantity or token.quantity
    if head == "one" and quantity.startswith("no"):
        head = "person"
    quantity = {"no": "", "not all": "all"}.get(quantity, quantity)
    quantity = quantity or ("all" if head in {"everyone", "everybody", "everything"} else "")
    return Mention(_ANYONE.get(head, head), seen, quantity, span=(token.start, token.end))


def _adjective(sentence: Sentence, token: Token) -> str:
    """Return an adjective that narrows down a noun, as it is stored in a mention; empty for others."""
    word = token.text.casefold()
    if is_superlative(sentence, token):
        return superlative(sentence, token)
    if token.tag in {"JJR", "RBR"}:
        return ""
    if word in _ORDINALS and token.tag.startswith(("JJ", "RB", "VB")):
        return word
    if word in words.ATTRIBUTES or word in words.STATES:
        return word
    return token.lemma if token.lemma in words.ATTRIBUTES or token.lemma in words.STATES else ""


# Hedges, questions and conditions: clauses that assert nothing.


_MOODS = word_set("like if unless whether suppose supposing provided lest")
_MARKS = _MOODS | {"?", "long", "had", "were", "should"}
_HEDGES = words.HEDGE_WORDS | words.HEDGE_VERBS | words.HEDGE_ADJECTIVES | {"will"}


@remembered
def hedge_of(sentence: Sentence, token: Token) -> str:
    """Return the word that hedges the clause of a token; empty for a plain statement.

    The clause itself (*might*, *possibly*) and the clauses above that suggest, infer or consider it are searched. A
    clause that is merely conjoined to a hedged one is not hedged.
    """
    if not _may_be_hedged(sentence, sentence.tokens[0]) or _goes_with(sentence, token):
        return ""
    return _hedge(sentence, token)


@remembered
def _may_be_hedged(sentence: Sentence, _: Token) -> bool:
    """Return False if no word of a sentence hedges anything."""
    return any(t.tag == "MD" or t.lemma in _HEDGES or t.text.casefold() in _MARKS for t in sentence.tokens)


def _hedge(sentence: Sentence, token: Token) -> str:
    below: Token | None = None
    is_apart = False  # beyond *and the cup is …*, which *seems to* does not cover
    for head in clause_of(sentence, token):
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
        if head.lemma in words.HEDGE_ADJECTIVES and (taken or below is None) and not is_noun(head):
            return head.lemma
        below = head
    return ""


def _goes_with(sentence: Sentence, token: Token) -> bool:
    """Return True within *, with a cup on it*, which does not belong to the clause that may be hedged."""
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
    """Return *?* in a question, *if* in a condition and in what depends on it, or a modal verb; empty for a plain clause."""
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
    """Return True for *long* in *as long as*."""
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
    """Return True if a hedge on a clause also covers the clause below it."""
    return below is None or below.dep.partition(":")[0] in {"xcomp", "ccomp", "conj", "acl", "advcl"}


# Predicates of *is*: qualities, states, identity, comparisons.


# Predicates of *is*: qualities (*the cup is red*), states (*the door is closed*) and identity (*the animal is a dog*).


_GENERIC = word_set("object item thing one")
"""Nouns that say nothing of what they name: *is a red object* says that it is red."""


def predicate_claims(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """Yield all claims about predicates, each with the head of its clause."""
    linked = {t.index for t in sentence.parents("cop")}
    for word in sentence.tokens:
        if word.index in linked:
            for predicate in _joined(sentence, word):
                if predicate is not word and sentence.children(word, "case"):
                    break
                yield from _said(sentence, word, predicate)
        elif _is_secondary(sentence, word):
            yield from _said(sentence, word, word)
        elif word.tag in {"VBN", "VBD", "JJ"} or word.text.casefold() in {"on", "off", "asleep", "awake"}:
            for predicate in (word, *sentence.children(word, "conj")):
                if predicate is word or (
                    predicate.text.casefold() in words.STATES
                    and not sentence.children(predicate, "nsubj", "obj")
                ):
                    yield from _participle(sentence, word, predicate)


def _is_secondary(sentence: Sentence, word: Token) -> bool:
    """Return True for a state in which something lies or stands: *the book lies open*."""
    verb = sentence.head(word)
    is_after = verb is not None and word.index == verb.index + 1 and verb.lemma in words.POSTURES
    return is_after and word.tag == "JJ" and word.text.casefold() in words.STATES


def _joined(sentence: Sentence, word: Token) -> Iterator[Token]:
    """Yield a predicate and those joined to it: *black and white*."""
    yield word
    for child in sentence.children(word, "conj"):
        if any(t.text.casefold() in {"with", "without"} for t in sentence.tokens[word.index : child.index]):
            continue
        if not sentence.children(child, "nsubj", "cop", "aux", "case") and (
            not is_verb(child) or child.text.casefold() in words.STATES
        ):
            yield from _joined(sentence, child)


def quality_kind(token: Token) -> ClaimKind | None:
    """Return whether an adjective or participle names an attribute or a state."""
    word = token.text.casefold()
    if token.tag in {"JJR", "RBR", "JJS"} or is_comparative(token):
        return None
    if word in words.ATTRIBUTES or (token.lemma in words.ATTRIBUTES and token.tag.startswith(("JJ", "NN"))):
        return "attribute"
    return (
        "state"
        if word in words.STATES and token.tag in {"JJ", "VBN", "RB", "VBD", "IN", "RP", "VB", "VBG", "VBP"}
        else None
    )


def quality(kind: ClaimKind, thing: Mention, word: Token, span: tuple[int, int]) -> Claim:
    """Return the claim of one attribute or state."""
    text = word.text.casefold()
    value = text if text in words.ATTRIBUTES or text in words.STATES else word.lemma
    return Claim(kind, thing, value, span=span, anchor=(word.start, word.end))


def _subjects(sentence: Sentence, word: Token) -> list[Token]:
    bearers = []
    for subject in subjects(sentence, word):
        thing = bearer(sentence, subject)
        name = named(sentence, thing)
        is_seen = not is_noun(thing) or words.can_be_seen(name.lemma) or thing.lemma in _GENERIC
        if is_seen and thing.lemma not in {"this", "that", "there", "which", "what"}:
            bearers.append(thing)
    return bearers


def _said(sentence: Sentence, first: Token, predicate: Token) -> Iterator[tuple[Claim, Token | None]]:
    """Yield the claims of one predicate of a copula; `first` is the one that holds the subject."""
    kind = quality_kind(predicate)
    is_place = bool(sentence.children(predicate, "case")) or predicate.text.casefold() in {
        "left",
        "right",
        "ahead",
    }
    if predicate.text.casefold() in {"on", "off"}:
        kind, is_place = "state", bool(sentence.children(predicate, "obl", "nmod"))
    if is_place or _is_compared(sentence, predicate):
        return
    if kind is not None and not (is_noun(predicate) and sentence.children(predicate, "det", "amod")):
        for thing in _subjects(sentence, first):
            claim = quality(kind, mention(sentence, thing), predicate, (predicate.start, predicate.end))
            yield _marked(sentence, claim, first, predicate, thing), first
    elif is_noun(predicate):
        yield from _identity(sentence, first, predicate)


def _is_compared(sentence: Sentence, predicate: Token) -> bool:
    """Return True if the predicate is a comparison: *is taller than*, *is the tallest*, *is as tall as*."""
    around = (
        predicate,
        *sentence.children(predicate, "amod", "compound"),
        *(x for t in sentence.children(predicate, "amod") for x in sentence.children(t, "conj")),
    )
    if any(is_superlative(sentence, t) or is_comparative(t) for t in around):
        return True
    return not _is_also(sentence, predicate) and _has_degree(sentence, predicate)


def _has_degree(sentence: Sentence, predicate: Token) -> bool:
    return any(
        t.text.casefold() in {"as", "less", "more", "most", "least", "compared"}
        for t in sentence.children(predicate, "advmod", "advcl", "case", "mark")
    ) or any(
        t.text.casefold() in {"as", "compared"}
        for t in sentence.tokens[predicate.index + 1 : predicate.index + 2]
    )


def _is_also(sentence: Sentence, predicate: Token) -> bool:
    """Return True for *is brown as well*, which is no comparison."""
    return [t.text.casefold() for t in sentence.tokens[predicate.index + 1 : predicate.index + 3]] == [
        "as",
        "well",
    ]


def _identity(sentence: Sentence, first: Token, noun: Token) -> Iterator[tuple[Claim, Token | None]]:
    kind = mention(sentence, noun)
    things = _subjects(sentence, first)
    if kind.head in _GENERIC:
        for thing in things:
            for word in kind.attributes:
                which: ClaimKind = "state" if word in words.STATES else "attribute"
                claim = replace(
                    quality(which, mention(sentence, thing), noun, (noun.start, noun.end)), predicate=word
                )
                yield _marked(sentence, claim, first, noun, thing), first
        return
    if not words.can_be_seen(kind.head) or sentence.children(first, "expl"):
        return
    for thing in things:
        claim = Claim(
            "identity",
            mention(sentence, thing),
            "is",
            kind,
            span=(noun.start, noun.end),
            anchor=(noun.start, noun.end),
        )
        yield _marked(sentence, claim, first, noun, thing), first


def _marked(sentence: Sentence, claim: Claim, first: Token, predicate: Token, thing: Token) -> Claim:
    is_apart = predicate is not first
    negated = is_none(sentence, thing) or (
        any(
            t.text.casefold() in {"not", "n't", "nor", "neither", "never"}
            for t in sentence.children(predicate, "advmod", "cc", "cc:preconj")
        )
        if is_apart
        else is_negated(sentence, predicate, thing)
    )
    hedge = hedge_of(sentence, first) or ("" if negated else _alternative(sentence, first))
    return replace(claim, is_negated=negated, hedge=hedge, is_lasting=is_lasting(sentence, first))


def _alternative(sentence: Sentence, first: Token) -> str:
    """Return *or* in *is a phone or a remote*, neither of which is claimed."""
    joined = sentence.children(first, "conj")
    is_open = any(
        t.text.casefold() == "or" for predicate in joined for t in sentence.children(predicate, "cc")
    )
    return "or" if is_open else ""


def _participle(sentence: Sentence, word: Token, joined: Token) -> Iterator[tuple[Claim, Token | None]]:
    """Yield claims from *is closed*, *is turned on*, *filled with flowers*, *is made of wood*, *is painted white*."""
    if agent(sentence, word) or any(t.text.casefold() == "being" for t in sentence.children(word)):
        return
    is_passive = bool(sentence.children(word, "aux:pass"))
    is_after = word.dep in {"acl", "advcl", "conj", "acl:relcl", "parataxis"} and word.tag in {"VBN", "VBD"}
    value = _outcome(sentence, word) if is_passive or is_after else None
    if value is not None:
        complement = value
    elif word.text.casefold() in {"on", "off"} and word.dep != "case":
        head = sentence.head(word)
        is_switched = (
            head is not None
            and head.lemma in {"turn", "switch"}
            and bool(sentence.children(head, "aux:pass"))
        )
        if not is_switched or head is None:
            return
        word, complement = head, word
    elif quality_kind(word) == "state" and (is_passive or (is_after and sentence.children(word, "obl"))):
        complement = joined
    elif word.text.casefold() in {"asleep", "awake"} and sentence.children(word, "aux"):
        complement = word
    else:
        return
    kind = quality_kind(complement) or "attribute"
    for thing in _subjects(sentence, word):
        claim = quality(
            kind, mention(sentence, thing), complement, (word.start, max(word.end, complement.end))
        )
        is_asserted = bool(sentence.children(word, "nsubj", "aux:pass")) or word.dep == "conj"
        yield _marked(sentence, claim, word, word, thing), word if is_asserted else None


def _outcome(sentence: Sentence, word: Token) -> Token | None:
    """Return the material of *made of wood*, or the colour of *painted white*."""
    if word.text.casefold() == "made":
        return next((t for t in sentence.children(word, "obl", "nmod") if t.lemma in words.MATERIALS), None)
    if word.text.casefold() in {"painted", "colored", "coloured", "dyed"}:
        after = sentence.tokens[word.index + 1 : word.index + 4]
        return next((t for t in (*sentence.children(word), *after) if t.lemma in words.COLOURS), None)
    return None


# Comparisons: *larger than the box*, *as tall as*, *the leftmost object*, *more cups than plates*.


_DIMENSIONS = frozenset({"size", "height", "width", "length", "colour", "color"})


def comparison_claims(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """Yield all comparisons of a sentence, each with the head of its clause."""
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
        if is_noun(noun):
            degree = "more" if numerous.text.casefold() == "more" else "less"
            head = sentence.head(noun)
            if head is not None and sentence.children(head, "expl"):
                yield from _each(sentence, [noun], f"{degree} numerous than", standard, first, head)
            return
    inside = sentence.tokens[first.index : link.index + 1]
    is_sized = any(t.lemma in _DIMENSIONS for t in inside)  # *small in size compared to*
    inside = tuple(t for t in inside if not (is_sized and t.text.casefold() in {"in", *_DIMENSIONS}))
    comparison = " ".join(t.text.casefold() for t in inside)
    head = _clause_head(sentence, first)
    if head is None or any(is_noun(t) and not _is_far(sentence, t) for t in inside):
        return
    if is_verb(head):
        comparison = f"{head.lemma} {comparison}"
        is_bare = first.text.casefold() in {"more", "less", "fewer"} and first.index + 1 == link.index
        if is_bare or not (_is_manner(first, head) or any(t.tag.startswith("RB") for t in inside)):
            return  # *weighs more than*
    yield from _each(sentence, _compared_subjects(sentence, head), comparison, standard, first, head)
    joined = sentence.head(first)
    between = sentence.tokens[joined.index : first.index] if joined is not None else ()
    is_shared = not any(t.text.casefold() == "than" for t in between)
    if first.dep == "conj" and joined is not None and is_shared and is_comparative(joined):
        # *bigger and heavier than*
        also = f"{joined.text.casefold()} {link.text.casefold()}"
        yield from _each(sentence, _compared_subjects(sentence, head), also, standard, joined, head)


def _is_manner(word: Token, verb: Token) -> bool:
    """Return True for an adverb of manner: *moves faster*."""
    return word.head == verb.index and word.dep in {"advmod", "xcomp", "obj"} and is_comparative(word)


def _is_far(sentence: Sentence, noun: Token) -> bool:
    """Return True for the noun in *closer to the camera than*."""
    return any(
        t.text.casefold() in {"to", "from"} for t in sentence.tokens[max(0, noun.index - 2) : noun.index]
    )


def _degree_word(sentence: Sentence, link: Token) -> Token | None:
    """Return the first word of a comparison that ends in *than*, *as* or *compared to*."""
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
    degree = next(
        (t for t in before if is_comparative(t) or t.text.casefold() in {"more", "less", "fewer"}), None
    )
    return None if degree is None or degree.tag == "DT" else degree


def _standard(sentence: Sentence, start: int) -> Token | None:
    """Return the standard of comparison: the noun, *one* or ordinal that follows; never a bare number."""
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
        (t for t in clause_of(sentence, token) if sentence.children(t, "nsubj", "cop") or is_verb(t)),
        None,
    )


def _compared_subjects(sentence: Sentence, head: Token) -> list[Token]:
    return [bearer(sentence, own) for own in subjects(sentence, head)]


def _each(
    sentence: Sentence, things: list[Token], comparison: str, standard: Token | None, word: Token, head: Token
) -> Iterator[tuple[Claim, Token | None]]:
    standards: list[Token | None] = [None] if standard is None else [*conjuncts(sentence, standard)]
    for thing in things:
        for other in standards:
            last = other if other is not None else word
            yield (
                Claim(
                    "comparison",
                    mention(sentence, thing),
                    comparison,
                    None if other is None else mention(sentence, other),
                    span=(word.start, max(last.end, word.end)),
                    anchor=(word.start, word.end),
                    is_negated=is_negated(sentence, head, thing),
                    hedge=hedge_of(sentence, head),
                    is_lasting=is_lasting(sentence, head),
                ),
                head,
            )


def _superlatives(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """Yield claims from *is the tallest*, *is the leftmost object*."""
    for word in sentence.tokens:
        if not is_superlative(sentence, word):
            continue
        noun = sentence.head(word)
        while noun is not None and noun.dep in {"amod", "conj"} and not is_noun(noun):
            noun = sentence.head(noun)
        is_predicate = bool(sentence.children(word, "cop", "nsubj"))
        comparison = superlative(sentence, word)
        if noun is not None and word.dep in {"obj", "advmod", "xcomp"} and is_verb(noun):
            yield from _each(
                sentence, subjects(sentence, noun), f"{noun.lemma} {comparison}", None, word, noun
            )
        elif is_predicate:
            yield from _each(sentence, subjects(sentence, word), comparison, None, word, word)
        elif noun is not None and sentence.children(noun, "cop") and word.index < noun.index:
            for claim, head in _each(sentence, subjects(sentence, noun), comparison, None, word, noun):
                kind = mention(sentence, noun)
                bare = Mention(
                    kind.head, tuple(a for a in kind.attributes if not _is_most(a)), span=kind.span
                )
                yield replace(claim, object=bare), head


def _is_most(attribute: str) -> bool:
    return attribute.startswith(("most ", "least ")) or attribute.endswith(("est", "most"))
