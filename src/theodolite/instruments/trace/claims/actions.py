"""Claims about actions and about the movements of the camera."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.language import Sentence
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import Claim, Mention

_NOBODY = Mention("")
_MOVING = words.word_set(
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


def action_claims(sentence: Sentence) -> Iterator[Claim]:
    """Asserted verbs with their subjects and objects."""
    for verb in sentence.tokens:
        if not c.is_verb(verb) or _is_way(sentence, verb) or not _is_asserted(sentence, verb):
            continue
        clause = c.Clause(sentence, verb)
        subjects = c.agent(sentence, verb) if clause.is_passive else c.subjects(sentence, verb)
        motion = _ego_motion(sentence, clause, subjects)
        if motion is not None:
            yield motion
            continue
        done_to = c.objects(sentence, clause)
        if (
            verb.lemma in words.META_VERBS
            or c.is_the_writers_sight(sentence, verb)
            or _is_state_of(sentence, clause)
            or not _is_anyone(subjects, done_to)
        ):
            continue
        hedge, negated = c.hedge_of(sentence, verb), c.is_negated(sentence, verb)
        whos: list[Token | None] = [*subjects] or [None]
        whats: list[Token | None] = [*done_to] or [None]
        for who in whos:
            for what in whats:
                yield Claim(
                    "action",
                    _NOBODY if who is None else c.mention(sentence, who),
                    clause.lemma,
                    None if what is None else c.mention(sentence, what),
                    span=span_of(*(t for t in (verb, what) if t is not None)),
                    anchor=(verb.start, verb.end),
                    is_negated=negated,
                    hedge=hedge,
                )


def _is_anyone(subjects: Iterable[Token], done_to: Iterable[Token]) -> bool:
    """True if the subject or, without one, the object is visible."""
    who = list(subjects)
    if any(t.lemma in {"we", "us"} for t in who):  # the writer
        return False
    if who:
        return any(
            not c.is_noun(t) or words.can_be_seen(t.lemma) or t.lemma in {"item", "object"} for t in who
        )
    return any(True for _ in done_to)


def _is_state_of(sentence: Sentence, clause: c.Clause) -> bool:
    """True for states (*is closed*, *is placed*, without an agent) and for carrier verbs such as *begins*."""
    verb = clause.verb
    if verb.lemma in words.CARRIER_VERBS and any(c.is_verb(t) for t in sentence.children(verb, "xcomp")):
        return True
    if (
        clause.is_passive
        and verb.lemma in {"place", "put", "set", "mount", "store", "park"}
        and not c.agent(sentence, verb)
    ):
        return not any(t.text.casefold() == "being" for t in sentence.children(verb))
    being = any(t.text.casefold() == "being" for t in sentence.children(verb))
    return (
        clause.is_passive
        and verb.text.casefold() in words.STATES
        and not c.agent(sentence, verb)
        and not being
    )


def _is_asserted(sentence: Sentence, verb: Token) -> bool:  # noqa: PLR0911 - one return per construction
    """True if the action is asserted, and not merely wanted, planned or named.

    Infinitives are asserted after *begins to* and *appears to*, not after *prepares to* or *in order to*; a bare -ing form
    after *while*, *by* and *the process of*, not after *for* or as a subject.
    """
    head = sentence.head(verb)
    marks = [t.text.casefold() for t in sentence.children(verb, "mark", "case")]
    if "to" in marks and verb.tag != "VBG":
        if verb.dep == "conj" and head is not None:
            return c.is_verb(head) and _is_asserted(sentence, head)
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
        return not c.is_verb(head) or _is_asserted(sentence, head)
    if verb.dep.partition(":")[0] in {"csubj", "obj", "nsubj"}:
        return False
    if verb.tag == "VBG" and not sentence.children(verb, "aux", "nsubj"):
        if any(
            mark in {"for", "of", "without", "in", "about", "on", "from", "to", "like", "than"}
            for mark in marks
        ):
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
    """True if the carrier verb itself is asserted."""
    return carrier.tag != "VB" or bool(sentence.children(carrier, "aux")) or carrier.dep in {"ROOT", "conj"}


def _ego_motion(sentence: Sentence, clause: c.Clause, subjects: Sequence[Token]) -> Claim | None:
    """A movement of the camera: *I turn left*, or the bare order *Turn left*."""
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
    end = max([verb.index, *(t.index for t in sentence.children(verb) if t.text.casefold() in _WAYS)])
    return Claim(
        "ego-motion",
        Mention("i"),
        motion,
        span=(verb.start, sentence.tokens[end].end),
        anchor=(verb.start, verb.end),
        is_negated=c.is_negated(sentence, verb),
        hedge=c.hedge_of(sentence, verb),
    )


def _is_way(sentence: Sentence, verb: Token) -> bool:
    """True for *left* after a verb of motion or before *of*, which is not the verb *leave*."""
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
    """The direction of a verb of motion, among its dependents or the next words."""
    near = sentence.tokens[verb.index + 1 : verb.index + 5]
    for token in (*sentence.children(verb), *near):
        if token.text.casefold() in _WAYS and token.index > verb.index:
            return _WAYS[token.text.casefold()]
    return None


def motion_name(verb: str, way: str) -> str:
    """The one name of a movement.

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
    """The span of some words: first character, and one past the last."""
    return min(t.start for t in tokens), max(t.end for t in tokens)
