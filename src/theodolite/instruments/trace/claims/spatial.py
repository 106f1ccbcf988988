"""Spatial claims: *on the table*, *in front of the door*, *on my left*, *to the left of the cup*."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from theodolite.answers.text import word_set
from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.actions import is_asserted, is_goal
from theodolite.instruments.trace.claims.clauses import hedge_of
from theodolite.instruments.trace.claims.language import Sentence
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Claim, Mention

PICTURE = Mention("picture")
"""The ground of *on the left*, if no other is named."""
_WHOLES = words.PICTURES | {"screen", "room"}
_PHRASES = {
    phrase.partition(" ")[0]: (tuple(phrase.split()),)
    for phrase in (
        "ahead of",
        "in front of",
        "on top of",
        "next to",
        "close to",
        "adjacent to",
        "left of",
        "right of",
    )
}
"""The first word of a phrase of place -> the phrases."""
_SIDE_PHRASES = {"front": ("in",), "top": ("on",)}
_ENDS = frozenset({"side", "corner", "edge", "part", "end", "half"})
_GENERIC = words.GENERIC_NOUNS | {"nothing", "something", "anything"}
_NOUNS = word_set("front back rear middle centre center top bottom foot edge corner end")
"""Sides that are also parts: *covers the back of the chair*."""
_NO_PLACE = word_set(
    "resemble remind create add provide contribute draw serve make give extend stretch invite"
)
"""Verbs after which a place is not that of their subject: *creating a contrast in the room*."""
_MINE = {"my": "i", "our": "i", "me": "i", "us": "i"}


@dataclass(frozen=True, slots=True)
class _Place:
    """A place phrase: its relation, its words and its grounds."""

    relation: str
    words: tuple[Token, ...]
    top: Token
    """The word that links the phrase to the sentence."""
    grounds: tuple[Mention, ...]
    last: Token


def spatial_claims(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """Yield all spatial claims of a sentence, each with the head of the clause that asserts it; none within a noun phrase."""
    for place in _places(sentence):
        for located in _located(sentence, place):
            if _is_outnumbering(sentence, located) or located.lemma in words.PICTURES:
                continue
            governor = sentence.head(place.top)
            if governor is not None and governor.lemma in _NO_PLACE:
                continue
            if governor is not None and c.is_verb(governor) and not is_asserted(sentence, governor):
                continue  # *the goal is to put the ball in the box*
            if (
                c.is_noun(located)
                and not words.can_be_seen(c.named(sentence, located).lemma)
                and located.lemma not in _GENERIC
            ):
                continue
            head = _asserting(sentence, located, place)
            if place.relation == "between":
                yield _claim(sentence, located, place, place.grounds[:2]), head
                continue
            for ground in place.grounds:
                claim = _claim(sentence, located, place, (ground,))
                if not claim.subject.head == ground.head == "i":  # *turn to my left*
                    yield claim, head
    yield from _contents(sentence)


def _is_outnumbering(sentence: Sentence, token: Token) -> bool:
    """Return True for the plates in *more cups than plates on the table*."""
    than = next((t.index for t in sentence.children(token, "case") if t.text.casefold() == "than"), 0)
    return than > 1 and sentence.tokens[than - 2].text.casefold() in {"more", "fewer", "less"}


def _contents(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """Yield claims from *the kitchen contains a stove*, *the table is surrounded by chairs*."""
    for verb in sentence.tokens:
        if verb.lemma not in {"contain", "surround"} or not c.is_verb(verb):
            continue
        clause = c.Clause(sentence, verb)
        agents, own = c.agent(sentence, verb), c.subjects(sentence, verb)
        things, grounds = (
            (agents, own)
            if verb.lemma == "surround" and clause.is_passive
            else (c.objects(sentence, clause), own)
        )
        if verb.lemma == "surround" and not clause.is_passive:
            things, grounds = own, c.objects(sentence, clause)
        relation = "around" if verb.lemma == "surround" else "in"
        for thing in things:
            for ground in grounds:
                if ground.lemma in _WHOLES - {"room"} or not (_is_ground(ground) and _is_ground(thing)):
                    continue
                place = _Place(relation, (verb,), verb, (c.mention(sentence, ground),), verb)
                yield _claim(sentence, thing, place, place.grounds), verb


def _asserting(sentence: Sentence, located: Token, place: _Place) -> Token | None:
    """Return the head of the clause that asserts a place: None if it only describes a noun, unless *there is* asserts the noun."""
    top = place.top
    if sentence.children(top, "cop", "nsubj"):
        return top
    head = sentence.head(top)
    if head is None:
        return None
    if c.is_verb(head) or head.lemma == "be" or head.tag.startswith(("JJ", "RB")):
        return head
    if sentence.children(head, "cop") and located is not head:
        return head  # *it is the only chair in the room*
    above = sentence.head(located)
    is_there = (
        above is not None and located.dep.startswith("nsubj") and bool(sentence.children(above, "expl"))
    )
    if is_there or (above is not None and c.is_existence(sentence, located)):
        return above
    return located if above is None else None


def _claim(sentence: Sentence, located: Token, place: _Place, grounds: tuple[Mention, ...]) -> Claim:
    return Claim(
        "spatial",
        c.mention(sentence, located),
        place.relation,
        grounds[0],
        grounds[1] if len(grounds) > 1 else None,
        span=(min(t.start for t in place.words), max(place.last.end, *(t.end for t in place.words))),
        anchor=(place.words[0].start, place.words[-1].end),
        is_negated=_is_negated(sentence, located, place),
        hedge=hedge_of(sentence, place.top),
        is_lasting=_is_lasting(sentence, place),
    )


def _is_negated(sentence: Sentence, located: Token, place: _Place) -> bool:
    if place.top.dep.startswith(("nmod", "acl")) and c.is_noun(located) and place.top.head == located.index:
        above = sentence.head(located)
        return c.is_none(sentence, located) or (
            c.is_existence(sentence, located) and above is not None and c.is_negated(sentence, above)
        )
    by_words = any(t.text.casefold() == "not" for t in sentence.children(place.top, "advmod"))
    is_apart = place.top.dep == "conj" and not sentence.children(place.top, "nsubj")
    if is_apart:
        return by_words or c.is_none(sentence, located)
    return by_words or c.is_negated(sentence, place.top, located)


def _is_lasting(sentence: Sentence, place: _Place) -> bool:
    head = sentence.head(place.top)
    return any(c.is_lasting(sentence, t) for t in (place.top, head) if t is not None)


def _places(sentence: Sentence) -> Iterator[_Place]:
    taken: set[int] = set()
    for place in (*_sides(sentence), *_phrases(sentence)):
        if not taken & {t.index for t in place.words}:
            taken.update(t.index for t in place.words)
            yield place
    for token in sentence.tokens:
        if token.index not in taken and (c.is_noun(token) or token.tag == "PRP"):
            simple = _simple(sentence, token, taken)
            if simple is not None:
                yield simple
    yield from (place for place in _ahead(sentence) if place.top.index not in taken)
    for verb in sentence.tokens:
        if (
            verb.dep == "acl:relcl"
            and (loose := c.stranded(sentence, verb)) is not None
            and loose.index not in taken
        ):
            ground = sentence.head(verb)
            if ground is not None and c.is_noun(ground) and words.can_be_seen(ground.lemma):
                relation = words.PLACES[loose.text.casefold()]
                yield _Place(relation, (loose,), loose, (c.mention(sentence, ground),), loose)


def _ahead(sentence: Sentence) -> Iterator[_Place]:
    """Yield *is straight ahead*: in front of the camera."""
    for token in sentence.tokens:
        if token.text.casefold() == "ahead" and not _after(sentence, token, "of"):
            head = sentence.head(token)
            is_named = head is not None and (c.is_noun(head) or head.lemma == "one")  # *the one ahead*
            if sentence.children(token, "nsubj") or (
                head is not None and (is_named or head.lemma in {"be", *words.POSTURES})
            ):
                yield _Place("in front of", (token,), token, (Mention("i"),), token)


def _sides(sentence: Sentence) -> Iterator[_Place]:
    """Yield *on the left side of the person*, *to the right of it*, *on my left*, *in the middle of the room*."""
    for token in sentence.tokens:
        side = words.SIDES.get(token.text.casefold())
        if side is None or _is_no_side(sentence, token):
            continue
        anchor = token
        follower = _at(sentence, token.index + 1)
        noun = follower if follower is not None and follower.lemma in _ENDS else token
        cases = _before(sentence, token, {"on", "to", "at", "in", "from", "toward", "towards"})
        is_plain = noun is token and _after(sentence, token, "of") and token.text.casefold() not in _NOUNS
        if not cases and not is_plain:
            continue
        grounds, last = _grounds_of(sentence, noun, token)
        if not grounds and _is_course(sentence, noun, token):
            continue
        if token.lemma == "end" and PICTURE in grounds:
            continue  # *at the end of the clip*: a time
        if not grounds:
            if token.text.casefold() not in {"left", "right"}:
                continue
            grounds, last = (PICTURE,), noun
        top = _top(sentence, noun, {token.index, noun.index})
        yield _Place(side, (anchor,), top, grounds, last)


def _is_no_side(sentence: Sentence, token: Token) -> bool:
    """Return True within *in front of* and *on top of*, for the verb *left*, and for an adjective: *the left room*."""
    word, follower = token.text.casefold(), _at(sentence, token.index + 1)
    if any(_begins(sentence, token.index - 1, (case, word, "of")) for case in _SIDE_PHRASES.get(word, ())):
        return True
    if word in {"left", "right"} and token.tag.startswith("VB") and not _after(sentence, token, "of"):
        return True
    is_noun = follower is not None and (c.is_noun(follower) or follower.lemma == "one")
    is_noun = is_noun and follower is not None and follower.lemma not in _ENDS
    return token.dep == "amod" and is_noun


def _grounds_of(sentence: Sentence, noun: Token, side: Token) -> tuple[tuple[Mention, ...], Token]:
    """Return the grounds of a side: *of the person*, *my*, *her*."""
    for owner in (*sentence.children(noun, "nmod:poss"), *sentence.children(side, "nmod:poss")):
        word = owner.text.casefold()
        return (Mention(_MINE.get(word, _possessor(word, owner))),), noun
    for token in (*sentence.children(noun, "nmod", "obl"), *sentence.children(side, "nmod", "obl")):
        if c.preposition(sentence, token) == "of":
            nouns = [t for t in c.conjuncts(sentence, token) if _is_ground(t, is_side=True)]
            return tuple(_ground(sentence, t) for t in nouns), token
    after = _at(sentence, noun.index + 1)
    if after is not None and after.text.casefold() == "of":
        for token in sentence.tokens[noun.index + 2 : noun.index + 7]:
            if (c.is_noun(token) or token.tag == "PRP") and token.dep != "compound":
                return (
                    ((_ground(sentence, token),), token) if _is_ground(token, is_side=True) else ((), token)
                )
    return (), noun


def _is_course(sentence: Sentence, noun: Token, side: Token) -> bool:
    """Return True for a direction of movement, which is not a place: *rolls to the right*, *comes from the left*."""
    case = c.preposition(sentence, noun) or c.preposition(sentence, side)
    head = sentence.head(_top(sentence, noun, {noun.index, side.index}))
    return case in {"to", "from", "toward", "towards"} and head is not None and c.is_verb(head)


def _possessor(word: str, owner: Token) -> str:
    return {"his": "he", "her": "she", "their": "they", "its": "it", "your": "you"}.get(word, owner.lemma)


def _ground(sentence: Sentence, token: Token) -> Mention:
    word = token.text.casefold()
    if word in _MINE:
        return Mention("i")
    if token.lemma == "surface":
        for owner in sentence.children(token, "nmod:poss"):
            return c.mention(sentence, owner)
        token = next(
            (t for t in sentence.children(token, "nmod") if c.preposition(sentence, t) == "of"), token
        )
    return PICTURE if token.lemma in _WHOLES - {"room", "screen"} else c.mention(sentence, token)


def _is_ground(token: Token, *, is_side: bool = False) -> bool:
    if token.tag == "PRP":
        return True
    if token.text.casefold() in words.SIDES:
        return False
    return words.can_be_seen(token.lemma) or (is_side and token.lemma in _WHOLES) or token.lemma == "surface"


def _phrases(sentence: Sentence) -> Iterator[_Place]:
    """Yield *in front of*, *next to*, *on top of*, and *left of*."""
    for first in sentence.tokens:
        for phrase in _PHRASES.get(first.text.casefold(), ()):
            start = first.index
            if not _begins(sentence, start, phrase):
                continue
            noun = _noun_after(sentence, start + len(phrase))
            if noun is None or not _is_ground(noun):
                continue
            inside = sentence.tokens[start : start + len(phrase)]
            relation = words.SIDES.get(phrase[0]) or words.PLACES[" ".join(phrase)]
            grounds = tuple(_ground(sentence, t) for t in c.conjuncts(sentence, noun) if _is_ground(t))
            top = _top(sentence, noun, {t.index for t in inside} | {noun.index})
            yield _Place(relation, tuple(inside), top, grounds, noun)


def _simple(sentence: Sentence, noun: Token, taken: set[int]) -> _Place | None:
    """Return a noun with a preposition of place: *on the table*."""
    cases = [
        t
        for t in sentence.children(noun, "case")
        if t.text.casefold() in words.PLACES and t.index not in taken
    ]
    if not cases or not _is_ground(noun) or _is_contrast(sentence, noun):
        return None
    case = cases[0]
    if sentence.children(case, "fixed") or _is_talking(sentence, noun, case):
        return None  # *in case it rains*
    head = sentence.head(noun)
    if head is not None and c.is_verb(head):
        is_aimed = head.lemma in c.ATTENDING and case.text.casefold() in {"at", "on", "in"}
        is_by = case.text.casefold() == "by" and c.Clause(sentence, head).is_passive
        is_call = noun.lemma == "phone" and head.lemma in {"talk", "speak", "chat", "be"}
        is_cover = case.text.casefold() == "in" and head.lemma in {"cover", "wrap", "coat"}
        is_crossed = case.text.casefold() in {"over", "across"} and is_goal(sentence, head, noun)
        is_course = case.text.casefold() == "along" and _is_mine(sentence, head)
        if is_aimed or is_by or is_cover or is_call or is_crossed or is_course:
            return None
    if (
        head is not None
        and case.text.casefold() in {"at", "on"}
        and head.lemma in {"attention", "focus", "look", "information"}
    ):
        return None
    if case.text.casefold() in {"in", "within"} and noun.lemma in _WHOLES - {"room", "screen"}:
        return None  # *in the picture*: it is there
    grounds = [
        t for t in c.conjuncts(sentence, noun) if _is_ground(t) and not _has_own_case(sentence, t, noun)
    ]
    relation = words.PLACES[case.text.casefold()]
    return _Place(relation, (case,), noun, tuple(_ground(sentence, t) for t in grounds), grounds[-1])


def _is_talking(sentence: Sentence, noun: Token, case: Token) -> bool:
    """Return True for *she is on the phone*."""
    who = sentence.children(noun, "nsubj") if sentence.children(noun, "cop") else ()
    is_call = noun.lemma == "phone" and case.text.casefold() == "on"
    return is_call and any(t.lemma in {"he", "she", "they"} or words.is_a(t.lemma, "person") for t in who)


def _is_contrast(sentence: Sentence, noun: Token) -> bool:
    """Return True for *on the other hand*."""
    return noun.lemma == "hand" and any(t.lemma == "other" for t in sentence.children(noun, "amod"))


def _has_own_case(sentence: Sentence, token: Token, first: Token) -> bool:
    return token is not first and bool(sentence.children(token, "case"))


def _located(sentence: Sentence, place: _Place) -> list[Token]:  # noqa: PLR0911 - one return per construction
    """Return the located object: the subject of *is*, the noun that is described, or the object that the verb places there."""
    top = place.top
    own = sentence.children(top, "nsubj")
    if own and (sentence.children(top, "cop") or not c.is_verb(top)):
        return [c.antecedent(sentence, t) for t in c.conjuncts(sentence, own[0])]
    head = sentence.head(top)
    if head is None:
        return []
    if c.is_verb(head) or head.lemma == "be":
        return _located_by(sentence, head, top)
    if head.tag.startswith(("JJ", "RB")):  # "is present in the room"
        return [
            t for first in sentence.children(head, "nsubj")[:1] for t in c.conjuncts(sentence, first)
        ] or c.subjects(sentence, head)
    if top.dep == "conj" and sentence.children(head, "case"):
        return _located(sentence, _Place(place.relation, place.words, head, place.grounds, place.last))
    if c.is_noun(head) and sentence.children(head, "cop") and not sentence.children(head, "case"):
        return [] if _is_ranked(sentence, head) else c.subjects(sentence, head)
    if (
        c.preposition(sentence, head) == "of"
        and (whole := sentence.head(head)) is not None
        and _is_ranked(sentence, whole)
    ):
        return []  # *the largest piece of furniture in the room*
    if c.is_noun(head):
        return [head, *_joined(sentence, head, top)]
    return [head] if head.tag == "PRP" or head.lemma == "one" else []


def _joined(sentence: Sentence, noun: Token, top: Token) -> list[Token]:
    """Return the objects located together with a noun: *no cups or plates on it*."""
    last = (
        sentence.tokens[sentence.children(top, "case")[0].index - 1]
        if sentence.children(top, "case")
        else noun
    )
    between = sentence.tokens[noun.index + 1 : last.index]
    is_plain = all(t.tag in {"CC", "DT", "JJ", ","} for t in between)
    return [last] if last.dep == "conj" and last.head == noun.index and is_plain and c.is_noun(last) else []


def _is_ranked(sentence: Sentence, noun: Token) -> bool:
    return any(c.is_superlative(sentence, t) for t in sentence.children(noun, "amod", "compound"))


def _located_by(sentence: Sentence, verb: Token, top: Token) -> list[Token]:
    """Return the objects that a verb locates."""
    clause = c.Clause(sentence, verb)
    if clause.is_passive:
        return c.subjects(sentence, verb)
    things = [t for t in sentence.children(verb, "obj") if t.index < top.index]
    is_mine = any(t.tag == "PRP$" and t.text.casefold() in _MINE for t in sentence.children(top, "nmod:poss"))
    is_placed = verb.lemma in words.PLACING_VERBS or c.is_the_writers_sight(sentence, verb)
    if things and (is_placed or (is_mine and _is_mine(sentence, verb))):
        return c.conjuncts(sentence, things[0])
    if verb.dep == "acl:relcl" and verb.lemma in words.PLACING_VERBS and not things:
        return c.objects(sentence, clause) or c.subjects(sentence, verb)
    return c.subjects(sentence, verb)


def _is_mine(sentence: Sentence, verb: Token) -> bool:
    """Return True in *I pass a door on my right*: the door is there, not I."""
    return any(t.lemma == "i" for t in c.subjects(sentence, verb))


def _top(sentence: Sentence, noun: Token, inside: set[int]) -> Token:
    """Return the word of a phrase whose head lies outside it."""
    token, seen = noun, set[int]()
    while token.head in inside and token.index != token.head and token.index not in seen:
        seen.add(token.index)
        token = sentence.tokens[token.head]
    return token


def _noun_after(sentence: Sentence, start: int) -> Token | None:
    """Return the head of the noun phrase that begins at an index."""
    for token in sentence.tokens[start : start + 7]:
        if token.tag == "PRP":
            return token
        if c.is_noun(token):
            follower = _at(sentence, token.index + 1)
            if follower is not None and c.is_noun(follower) and follower.head != token.index:
                continue
            return token
        if token.tag in {"IN", ".", ","} or token.tag.startswith("VBZ"):
            return None
    return None


def _begins(sentence: Sentence, start: int, phrase: tuple[str, ...]) -> bool:
    return (
        start >= 0
        and tuple(t.text.casefold() for t in sentence.tokens[start : start + len(phrase)]) == phrase
    )


def _at(sentence: Sentence, index: int) -> Token | None:
    return sentence.tokens[index] if 0 <= index < len(sentence.tokens) else None


def _after(sentence: Sentence, token: Token, word: str) -> bool:
    follower = _at(sentence, token.index + 1)
    return follower is not None and follower.text.casefold() == word


def _before(sentence: Sentence, token: Token, cases: set[str]) -> bool:
    """Return True if one of some prepositions is among the three words before."""
    return any(t.text.casefold() in cases for t in sentence.tokens[max(0, token.index - 3) : token.index])
