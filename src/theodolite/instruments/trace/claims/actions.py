"""Claims about actions and about the movements of the camera."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from theodolite.answers.text import word_set
from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.clauses import hedge_of
from theodolite.instruments.trace.claims.language import Sentence, remembered
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Claim, Mention

_NOBODY = Mention("")
_GENERIC = word_set(
    "item object one nobody everyone someone somebody anyone everybody anybody nothing something anything everything thing"
)
"""Words for what can be seen, though not for what it is."""
_STATIVE = word_set(
    "resemble remind weigh match matter cost understand confuse fit face_up refuse pretend fail deserve own lack equal miss"
    " symbolize symbolise complement contrast compare rule_out add feel sound smell"
)
"""Verbs for what no frame shows, beside `lexicon.META_VERBS`."""
_PLACED = word_set(
    "place put set mount store park stack pile arrange scatter spread lay locate position situate paint seat hang dress drape stop"
)
"""Verbs whose bare passive says where something is, or how it looks."""
_COMING_TO = word_set("enter reach approach leave")
"""Verbs whose object is a place, which *with* describes."""
_MOVING = word_set(
    "turn rotate pan spin move walk go step head proceed advance back look face pivot swivel run drive continue travel veer tilt stop"
    " strafe sidestep"
)
_WAYS = {
    **dict.fromkeys(("left", "leftward", "leftwards", "counterclockwise", "anticlockwise"), "left"),
    **dict.fromkeys(("right", "rightward", "rightwards", "clockwise"), "right"),
    **dict.fromkeys(("forward", "forwards", "ahead", "straight", "onward"), "forward"),
    **dict.fromkeys(("back", "backward", "backwards"), "backward"),
    **dict.fromkeys(("up", "upward", "upwards"), "up"),
    **dict.fromkeys(("down", "downward", "downwards"), "down"),
    "around": "around",
}


def action_claims(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """Yield claims about asserted verbs with subjects and objects, and about possession, each with the head of its clause."""
    for verb in sentence.tokens:
        if not c.is_verb(verb) or _is_way(sentence, verb) or not is_asserted(sentence, verb):
            continue
        clause = c.Clause(sentence, verb)
        subjects = c.agent(sentence, verb) if clause.is_passive else c.subjects(sentence, verb)
        motion = _ego_motion(sentence, clause, subjects)
        if motion is not None:
            yield motion, verb
            continue
        done_to = c.objects(sentence, clause)
        if any(t.lemma == "what" for t in done_to):
            continue
        if _is_no_action(sentence, clause, subjects, done_to):
            continue
        other = _other(sentence, clause, done_to)
        whos: list[Token | None] = [*subjects] or [None]
        whats: list[Token | None] = [*done_to] or [None]
        for who in whos:
            for patient in whats:
                yield _action(sentence, clause, who, patient, other), verb
    yield from _possessions(sentence)


def _is_no_action(
    sentence: Sentence, clause: c.Clause, subjects: Sequence[Token], done_to: Sequence[Token]
) -> bool:
    verb = clause.verb
    is_shown = verb.lemma == "show" and bool(sentence.children(verb, "iobj"))
    return (
        (verb.lemma in words.META_VERBS and not is_shown)
        or clause.lemma in _STATIVE
        or verb.lemma in _STATIVE
        or c.is_the_writers_sight(sentence, verb)
        or c.shows_picture(sentence, verb)
        or any(t.lemma in c.SHOWING for t in (done_to if clause.is_passive else subjects))
        or _is_like(sentence, verb)
        or _is_figure(subjects, done_to)
        or _is_state_of(sentence, clause)
        or _is_only_meant(sentence, verb)
        or not _is_anyone(sentence, subjects, done_to)
    )


def _action(
    sentence: Sentence, clause: c.Clause, who: Token | None, patient: Token | None, other: Token | None
) -> Claim:
    verb = clause.verb
    return Claim(
        "action",
        _NOBODY if who is None else c.mention(sentence, who),
        clause.lemma,
        None if patient is None else c.mention(sentence, patient),
        None if other is None else c.mention(sentence, other),
        span=span_of(*(t for t in (verb, patient, other) if t is not None)),
        anchor=(verb.start, verb.end),
        is_negated=c.is_negated(sentence, verb, who, patient),
        hedge=hedge_of(sentence, verb),
        is_lasting=c.is_lasting(sentence, verb),
    )


def is_goal(sentence: Sentence, verb: Token, noun: Token) -> bool:
    """Return True for the noun of the goal of a movement: *pushes the cart across the street*."""
    clause = c.Clause(sentence, verb)
    return _other(sentence, clause, c.objects(sentence, clause)) is noun


def _other(sentence: Sentence, clause: c.Clause, done_to: Sequence[Token]) -> Token | None:  # noqa: PLR0911 - one return per construction
    """Return the recipient of something, or the goal or origin of a movement."""
    verb = clause.verb
    if not done_to:
        return None
    for child in sentence.children(verb, "iobj"):
        return child
    if clause.is_passive and c.given(sentence, verb):
        return next(iter(c.subjects(sentence, verb)), None)
    by_case = {
        c.preposition(sentence, child): child
        for child in sentence.children(verb, "obl")
        if child not in done_to
        and (c.is_noun(child) or child.tag == "PRP")
        and c.is_place_like(child)
        and child.text.casefold() not in words.SIDES
        and not c.is_beside(sentence, child)
    }
    for child in sentence.children(done_to[0], "nmod"):
        if verb.lemma in words.GIVING_VERBS and c.preposition(sentence, child) == "to":
            return child
    if clause.is_passive and verb.lemma in {"cover", "wrap", "coat"} and "in" in by_case:
        return by_case["in"]
    is_put = verb.lemma in (words.PLACING_VERBS | _PLACED) - words.GIVING_VERBS
    for case in (
        "to",
        "into",
        "onto",
        "towards",
        "toward",
        "from",
        "out",
        "off",
        "over",
        "through",
        "across",
    ):
        if case in by_case and not (
            case in words.PLACES and is_put
        ):  # *hangs it over the chair* places it there
            return by_case[case]
    return by_case.get("with") if clause.is_passive else None


def _possessions(sentence: Sentence) -> Iterator[tuple[Claim, Token | None]]:
    """Yield claims from *the chair has a cushion*, and within noun phrases: *a chair with a cushion*, *a man without a hat*."""
    for token in sentence.tokens:
        if token.lemma in {"have", "lack"} and c.is_verb(token):
            things = c.objects(sentence, c.Clause(sentence, token))
            for owner in c.subjects(sentence, token):
                if _is_anyone(sentence, [owner], ()):
                    yield from ((claim, token) for t in things for claim in _had(sentence, owner, token, t))
        elif c.preposition(sentence, token) in {"with", "without"} and c.is_noun(token):
            yield from ((claim, None) for claim in _with(sentence, token))


def _had(sentence: Sentence, owner: Token, word: Token, thing: Token) -> Iterator[Claim]:
    yield from _described(sentence, owner, word, thing)
    if _is_seen(sentence, thing) and not _is_placed_at_owner(sentence, word, thing):
        yield _possession(sentence, owner, word, thing)


def _is_placed_at_owner(sentence: Sentence, word: Token, thing: Token) -> bool:
    """Return True in *has a fork next to it*, *with a fork in his hand*, which state a place."""
    phrase = [t for t in sentence.tokens[thing.index + 1 : thing.index + 6] if t.tag != "RB"]
    pronoun = next((t for t in phrase if t.tag == "PRP" or t.text.casefold() in {"his", "her"}), None)
    between = [t for t in phrase if pronoun is not None and t.index < pronoun.index]
    is_place = bool(between) and all(t.tag in {"IN", "TO", "NN", "JJ", "DT"} for t in between)
    return pronoun is not None and is_place and between[0].tag in {"IN", "JJ"} and word.index < thing.index


def _with(sentence: Sentence, token: Token) -> Iterator[Claim]:
    case, head = sentence.children(token, "case")[0], sentence.head(token)
    owner = None if head is None else _owner(sentence, token, head)
    if owner is None:
        return
    if sentence.children(owner, "cop"):  # *the table is a dining table with …*: the table has it
        own = sentence.children(owner, "nsubj")
        owner = own[0] if own and own[0].lemma == owner.lemma else owner
    for thing in c.conjuncts(sentence, token):
        after = sentence.tokens[thing.index + 1 : thing.index + 2]
        if sentence.children(thing, "acl") or any(t.text.casefold() in {"visible", "present"} for t in after):
            continue
        for claim in _had(sentence, owner, case, thing):
            subject = (
                replace(claim.subject, attributes=()) if sentence.children(owner, "cop") else claim.subject
            )
            is_negated = (case.text.casefold() == "without") != c.is_none(sentence, thing)
            yield replace(claim, subject=subject, is_negated=is_negated)


def _described(sentence: Sentence, owner: Token, word: Token, thing: Token) -> Iterator[Claim]:
    """Yield claims from *has a round shape*: it is round."""
    for adjective in _values(c.mention(sentence, thing)) if thing.lemma in words.ASPECTS else ():
        claim = replace(_possession(sentence, owner, word, thing), predicate=adjective, object=None)
        yield replace(
            claim, kind="state" if adjective in words.STATES else "attribute", anchor=(thing.start, thing.end)
        )


def _values(thing: Mention) -> Iterator[str]:
    """Yield the adjectives of an aspect, without *light* in *a light brown color*."""
    for adjective, after in zip_longest(thing.attributes, thing.attributes[1:]):
        if not (adjective in words.TONES and after in words.COLOURS):
            yield adjective


def _is_seen(sentence: Sentence, thing: Token) -> bool:
    """Return True for a visible noun, and for a part that is described: *a wooden frame*."""
    return (
        c.is_noun(thing)
        and thing.lemma not in words.ASPECTS
        and (words.can_be_seen(thing.lemma) or bool(c.mention(sentence, thing).attributes))
    )


def _owner(sentence: Sentence, token: Token, head: Token) -> Token | None:
    """Return the word that *with a cushion* describes: a noun, or the subject of *is blue with a cushion*."""
    if token.dep == "nmod" and c.is_noun(head) and words.can_be_seen(head.lemma):
        return head
    before = sentence.tokens[sentence.children(token, "case")[0].index - 1]
    is_described = (
        before.index < head.index
        or (head.lemma in _PLACED and c.preposition(sentence, before) in words.PLACES)
        or (c.is_noun(before) and (c.is_existence(sentence, before) or head.lemma in _COMING_TO))
    )
    if (
        token.dep == "obl"
        and c.is_verb(head)
        and c.is_noun(before)
        and words.can_be_seen(before.lemma)
        and is_described
    ):
        return before
    is_without = c.preposition(sentence, token) == "without" and c.is_verb(head)
    if token.dep.startswith("obl") and (is_without or head.tag.startswith("JJ")):
        return next(iter(c.subjects(sentence, head)), None)
    return None


def _possession(sentence: Sentence, owner: Token, word: Token, thing: Token) -> Claim:
    return Claim(
        "action",
        c.mention(sentence, owner),
        "have",
        c.mention(sentence, thing),
        span=span_of(word, thing),
        anchor=(word.start, word.end),
        is_negated=c.is_negated(sentence, word, owner, thing) != (word.lemma == "lack"),
        hedge=hedge_of(sentence, word),
        is_lasting=c.is_lasting(sentence, word),
    )


def _is_figure(subjects: Sequence[Token], done_to: Sequence[Token]) -> bool:
    """Return True for *the table occupies the majority*: a thing, and an object that cannot be seen."""
    are_things = bool(subjects) and all(
        t.lemma == "it" or (c.is_noun(t) and not words.is_a(t.lemma, "person")) for t in subjects
    )
    return (
        are_things
        and bool(done_to)
        and not any(
            not c.is_noun(t) or words.can_be_seen(t.lemma) or t.lemma in c.SHOWING | _GENERIC for t in done_to
        )
    )


def _is_like(sentence: Sentence, verb: Token) -> bool:
    """Return True for *looks like*, which is a comparison."""
    after = [t.text.casefold() for t in sentence.tokens[verb.index + 1 : verb.index + 3]]
    is_role = verb.lemma in {"serve", "act"} and after[:1] == ["as"]
    return is_role or (verb.lemma in {"look", "act"} and (after[:1] == ["like"] or after == ["as", "if"]))


def _is_only_meant(sentence: Sentence, verb: Token) -> bool:
    """Return True for *refuses to eat*, which asserts an attitude."""
    aims = [
        t
        for t in sentence.children(verb, "xcomp")
        if any(m.text == "to" for m in sentence.children(t, "mark"))
    ]
    return bool(aims) and verb.lemma not in words.CARRIER_VERBS


def _is_anyone(sentence: Sentence, subjects: Iterable[Token], done_to: Iterable[Token]) -> bool:
    """Return True if the subject or, without one, the object is visible."""
    who = list(subjects)
    if any(t.lemma in {"we", "us"} for t in who):  # the writer
        return False
    if who:
        return any(
            t.tag in {"PRP", "WP", "WDT", "CD"}
            or words.can_be_seen(c.named(sentence, t).lemma)
            or t.lemma in _GENERIC
            for t in who
            if t.lemma not in {"this", "that", "which"}
        )
    return any(
        not c.is_noun(t) or words.can_be_seen(c.named(sentence, t).lemma) or t.lemma in _GENERIC
        for t in done_to
    )


def _is_state_of(sentence: Sentence, clause: c.Clause) -> bool:
    """Return True for states (*is closed*, *is placed*, without an agent) and for carrier verbs such as *begins*."""
    verb = clause.verb
    if verb.lemma in words.CARRIER_VERBS and any(c.is_verb(t) for t in sentence.children(verb, "xcomp")):
        return True
    if clause.is_passive and verb.lemma in _PLACED and not c.agent(sentence, verb):
        return not any(t.text.casefold() == "being" for t in sentence.children(verb))
    being = any(t.text.casefold() == "being" for t in sentence.children(verb))
    return (
        clause.is_passive
        and verb.text.casefold() in words.STATES
        and not c.agent(sentence, verb)
        and not being
    )


@remembered
def is_asserted(sentence: Sentence, verb: Token) -> bool:  # noqa: PLR0911 - one return per construction
    """Return True if the action is asserted, and not merely wanted, planned or named.

    Infinitives are asserted after *begins to* and *appears to*, not after *prepares to* or *in order to*; a bare -ing form
    after *while*, *by* and *the process of*, not after *for* or as a subject.
    """
    if verb.index == 0 and verb.text.casefold() in {"given", "based", "considering", "assuming", "judging"}:
        return False
    head = sentence.head(verb)
    marks = [t.text.casefold() for t in sentence.children(verb, "mark", "case")]
    if "to" in marks and verb.tag != "VBG":
        if verb.dep == "conj" and head is not None:
            return c.is_verb(head) and is_asserted(sentence, head)
        return (
            verb.dep == "xcomp"
            and head is not None
            and head.lemma in words.CARRIER_VERBS
            and _is_carried(sentence, head)
        )
    if (
        verb.dep == "conj"
        and head is not None
        and verb.tag in {"VB", "VBG"}
        and not sentence.children(verb, "nsubj", "aux", "cop")
    ):
        return not c.is_verb(head) or is_asserted(sentence, head)
    if "without" in marks:
        return True  # and negated
    if verb.dep.partition(":")[0] in {"csubj", "obj", "nsubj"}:
        return False
    if verb.tag == "VBG" and not sentence.children(verb, "aux", "nsubj"):
        if any(mark in {"for", "of", "in", "about", "on", "from", "to", "like", "than"} for mark in marks):
            return (
                "of" in marks
                and head is not None
                and head.lemma in {"process", "act", "midst", "middle", "action"}
            )
        if verb.dep == "xcomp" and head is not None:
            return head.lemma in words.CARRIER_VERBS or head.tag.startswith("NN")
    is_bare = verb.tag == "VB" and not sentence.children(verb, "aux") and verb.dep == "xcomp"
    return not is_bare


def _is_carried(sentence: Sentence, carrier: Token) -> bool:
    """Return True if the carrier verb itself is asserted."""
    return carrier.tag != "VB" or bool(sentence.children(carrier, "aux")) or carrier.dep in {"ROOT", "conj"}


def _ego_motion(sentence: Sentence, clause: c.Clause, subjects: Sequence[Token]) -> Claim | None:
    """Return a movement of the camera: *I turn left*, or the bare order *Turn left*."""
    verb = clause.verb
    is_own = any(t.lemma in words.FIRST_PERSON | {"agent", "camera"} for t in subjects)
    is_order = not subjects and verb.tag in {"VB", "VBP"} and verb.dep in {"ROOT", "conj"} and verb.index <= 2
    is_order = is_order or (not subjects and _follows_order(sentence, verb))
    if verb.lemma not in _MOVING or not (is_own or is_order):
        return None
    way = _way(sentence, verb)
    if way is None:
        if verb.lemma not in {"walk", "move", "go", "step", "advance", "proceed", "stop", "continue"}:
            return None
        way = ""
    motion = motion_name(verb.lemma, way)
    passed = _passed(sentence, verb) if motion.startswith(("move", "look")) else []
    end = max([verb.index, *(t.index for t in sentence.children(verb) if t.text.casefold() in _WAYS)])
    return Claim(
        "ego-motion",
        Mention("i"),
        motion,
        c.mention(sentence, passed[0]) if passed else None,
        c.mention(sentence, passed[1]) if len(passed) > 1 else None,
        span=(verb.start, sentence.tokens[end].end),
        anchor=(verb.start, verb.end),
        is_negated=c.is_negated(sentence, verb),
        hedge=hedge_of(sentence, verb),
        is_lasting=c.is_lasting(sentence, verb),
    )


def _passed(sentence: Sentence, verb: Token) -> list[Token]:
    """Return the landmarks of a movement: *past the table*, *through the door into the kitchen*."""
    cases = words.PATHS | {"along", "at"} if verb.lemma == "look" else words.PATHS | {"along"}
    return [
        t
        for t in sentence.children(verb, "obl", "nmod", "obj")
        if (c.is_noun(t) or t.tag == "PRP")
        and words.can_be_seen(t.lemma)
        and t.text.casefold() not in _WAYS
        and any(
            m.text.casefold() in cases
            for m in (*sentence.children(t, "case"), *sentence.tokens[max(0, t.index - 3) : t.index])
        )
    ]


def _is_way(sentence: Sentence, verb: Token) -> bool:
    """Return True for *left* after a verb of motion or before *of*, which is not the verb *leave*."""
    if verb.text.casefold() not in _WAYS:
        return False
    before = sentence.tokens[verb.index - 1] if verb.index else None
    after = sentence.tokens[verb.index + 1].text if verb.index + 1 < len(sentence.tokens) else ""
    return after == "of" or (before is not None and before.lemma in _MOVING)


def _follows_order(sentence: Sentence, verb: Token) -> bool:
    head = sentence.head(verb)
    return (
        verb.dep in {"conj", "advcl"}
        and head is not None
        and head.tag in {"VB", "VBP"}
        and head.index <= 2
        and not c.subjects(sentence, head)
    )


def _way(sentence: Sentence, verb: Token) -> str | None:
    """Return the direction of a verb of motion, among its dependents or the next words."""
    near = sentence.tokens[verb.index + 1 : verb.index + 5]
    for token in (*sentence.children(verb), *near):
        if token.text.casefold() in _WAYS and token.index > verb.index:
            return _WAYS[token.text.casefold()]
    return None


def motion_name(verb: str, way: str) -> str:
    """Return the normal form of a movement.

    >>> motion_name("rotate", "left"), motion_name("walk", ""), motion_name("walk", "backward"), motion_name("tilt", "up")
    ('turn left', 'move forward', 'move backward', 'look up')
    """
    if verb == "stop":
        return "stop"
    if way in {"left", "right"}:
        return f"{_SIDEWAYS.get(verb, 'turn')} {way}"
    if way == "around":
        return "turn around"
    if way in {"up", "down"}:
        return f"look {way}" if verb in {"look", "tilt", "pan"} else f"go {way}"
    return f"move {way or 'forward'}"


_SIDEWAYS = {
    "look": "look",
    "pan": "pan",
    **dict.fromkeys(("step", "move", "strafe", "sidestep"), "move"),
}


def span_of(*tokens: Token) -> tuple[int, int]:
    """Return the span of some words: first character, and one past the last."""
    return min(t.start for t in tokens), max(t.end for t in tokens)
