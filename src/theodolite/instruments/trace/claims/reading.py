"""From texts to claims. Texts without any reasoning in English are *no trace*: they are counted, and neither right nor wrong.

The tests for this take time linear in the text, and look at words only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from theodolite.answers import Answer, cut_note, guarded, json_values
from theodolite.answers.reading import declines
from theodolite.answers.text import word_set
from theodolite.core.errors import ContractError
from theodolite.instruments.trace.claims import clauses as c
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.actions import action_claims, span_of
from theodolite.instruments.trace.claims.clauses import (
    comparison_claims,
    hedge_of,
    predicate_claims,
    quality,
    quality_kind,
)
from theodolite.instruments.trace.claims.language import (
    LONGEST_SENTENCE,
    Parser,
    Sentence,
    open_parser,
    sentence_spans,
)
from theodolite.instruments.trace.claims.spatial import spatial_claims
from theodolite.instruments.trace.claims.steps import (
    StepTexts,
    final_answer,
    heading_end,
    json_steps,
    read_steps,
)
from theodolite.instruments.trace.claims.trees import Token
from theodolite.instruments.trace.claims.types import (
    NOT_UNDERSTOOD,
    Alignment,
    Claim,
    ClaimKind,
    Extracted,
    Extractor,
    Mention,
    Step,
    Trace,
)
from theodolite.worlds.episodes import Episode

# Extracts typed claims from sentences, by rules on Universal Dependencies. `ClaimKind` lists the kinds.


MOST_CLAIMS = 1000
"""Further claims of a text are not extracted: subjects, verbs and objects in long lists multiply."""

_NOBODY = Mention("")
_WEAK_CUES = word_set("as next first during since following later prior")
"""Words that usually do not order two events."""
_CHANGING = word_set(
    "than except instead rather unlike besides twice only excluding partially partly barely nearly almost half scarcely"
)
"""Words that change the meaning of their clause."""
_UNASSERTED = word_set("? if unless whether suppose supposing provided lest")
"""Hedges of questions and conditions, in which nothing is claimed."""

_Reading = tuple[Claim, Token | None]


def extract_claims(text: str, *, parser: Parser | None = None) -> tuple[Claim, ...]:
    """Return all claims of a text, in order.

    >>> for claim in extract_claims("The red ball is left of the blue cube."): print(claim)
    attribute: ball red
    entity: red ball
    spatial: red ball left of blue cube
    attribute: cube blue
    entity: blue cube
    >>> for claim in extract_claims("The ball weighs more than the cube."): print(claim.kind, claim.hedge)
    unread not understood
    entity not understood
    entity not understood
    """
    return extract_many([text], parser=parser)[0]


def extract_many(texts: Sequence[str], *, parser: Parser | None = None) -> list[tuple[Claim, ...]]:
    """Return the claims of many texts, which is faster than one at a time."""
    parser = parser or open_parser()
    spans = [(number, span) for number, text in enumerate(texts) for span in sentence_spans(text)]
    written = [texts[number][a:b] for number, (a, b) in spans]
    parsed = parser.parse(dict.fromkeys(written))
    waiting: dict[str, Sentence] = {}
    read: dict[str, list[Claim]] = {}
    by_text: list[list[Claim]] = [[] for _ in texts]
    for (number, (offset, _)), sentence in zip(spans, written, strict=True):
        if sentence not in read and sentence not in waiting:
            waiting[sentence] = next(parsed)
        if len(by_text[number]) >= MOST_CLAIMS:
            continue
        if sentence in waiting:
            read[sentence] = sentence_claims(waiting.pop(sentence))
        by_text[number] += [claim.shifted(offset) for claim in read[sentence]]
    return [tuple(claims[:MOST_CLAIMS]) for claims in by_text]


def sentence_claims(sentence: Sentence) -> list[Claim]:
    """Return the claims of one parsed sentence."""
    things = list(_things(sentence))
    readings = list(
        islice(
            chain(
                _existences(sentence, things),
                predicate_claims(sentence),
                comparison_claims(sentence),
                spatial_claims(sentence),
                action_claims(sentence),
                _temporal(sentence),
            ),
            MOST_CLAIMS,
        )
    )
    understood, unread = _understood(sentence, readings)
    claims = chain(
        understood, islice(_named(sentence, things, unread), MOST_CLAIMS), _unread(sentence, unread)
    )
    asserted = [claim for claim in claims if claim.hedge not in _UNASSERTED or claim.kind == "entity"]
    return sorted(dict.fromkeys(asserted), key=lambda claim: (claim.span[0], KIND_ORDER[claim.kind]))


KIND_ORDER: dict[ClaimKind, int] = {
    "unread": -1,
    "entity": 0,
    "count": 1,
    "attribute": 2,
    "state": 3,
    "identity": 3,
    "comparison": 3,
    "action": 4,
    "ego-motion": 5,
    "spatial": 6,
    "temporal": 7,
}


# which clauses were read


def _understood(sentence: Sentence, readings: Sequence[_Reading]) -> tuple[list[Claim], set[int]]:
    """Return the claims of the clauses that were read, and the heads of those that were not."""
    compared = [claim.span for claim, _ in readings if claim.kind == "comparison"]
    lost = {
        head.index
        for word in sentence.tokens
        if _changes_meaning(sentence, word) and not any(a <= word.start < b for a, b in compared)
        for head in islice(_predicates_above(sentence, word), 1)
    }
    read = {head.index for _, head in readings if head is not None} - lost
    for index in list(read):  # *keeps holding*, *I see that*: the clause above is read with the one below
        below = sentence.tokens[index]
        while below.dep.partition(":")[0] in {"xcomp", "ccomp", "csubj", "acl"} and below.head != below.index:
            below = sentence.tokens[below.head]
            if below.index in read:
                break
            read.add(below.index)
    ranked = {
        head.index
        for claim, head in readings
        if claim.kind in {"comparison", "state", "attribute"} and head is not None
    }
    kept = [
        claim
        for claim, head in readings
        if head is None or not (head.index in lost or (claim.kind == "action" and head.index in ranked))
    ]
    stated = (t for t in sentence.parents("nsubj", "expl") if _is_statement(sentence, t))
    unread = {t.index for t in stated if t.index not in read - lost}
    return kept, unread


def _is_near(sentence: Sentence, word: Token) -> bool:
    """Return True for *closer to the window*, which is a place where nothing is compared."""
    after = sentence.tokens[word.index + 1 : word.index + 2]
    is_place = (
        word.text.casefold() in {"closer", "nearer"} and bool(after) and after[0].text.casefold() == "to"
    )
    return is_place and not any(t.text.casefold() == "than" for t in sentence.tokens)


def _is_compound(sentence: Sentence, word: Token) -> bool:
    """Return True for the first part of *half-eaten*."""
    return [t.tag for t in sentence.tokens[word.index + 1 : word.index + 2]] == ["HYPH"]


def _is_as_many(sentence: Sentence, word: Token) -> bool:
    if word.text.casefold() != "as":
        return False
    after = sentence.tokens[word.index + 1 : word.index + 2]
    return bool(after) and after[0].text.casefold() in {"many", "much", "few"}


def _changes_meaning(sentence: Sentence, word: Token) -> bool:
    return (
        (
            word.text.casefold() in _CHANGING
            or _is_as_many(sentence, word)
            or (word.tag in {"JJR", "JJ", "RB"} and c.is_comparative(word))
        )
        and word.tag != "DT"
        and word.lemma != "not"
        and not _is_near(sentence, word)
        and not _is_compound(sentence, word)
    )


def _predicates_above(sentence: Sentence, word: Token) -> Iterator[Token]:
    return (
        t for t in c.clause_of(sentence, word) if sentence.children(t, "nsubj", "expl", "cop") or c.is_verb(t)
    )


def _is_statement(sentence: Sentence, token: Token) -> bool:
    """Return True for the head of a clause that states something of what can be seen, and is not a guess."""
    own = sentence.children(token, "nsubj", "expl")
    if not own or hedge_of(sentence, token):
        return False
    if token.lemma in words.HEDGE_VERBS or c.is_the_writers_sight(sentence, token):
        return False
    inside = (*own, *sentence.children(token, "obj", "obl", "nmod", "iobj"))
    return any(_is_visible(sentence, t) for t in inside)


def _is_visible(sentence: Sentence, token: Token) -> bool:
    if token.tag == "PRP":
        return token.lemma in {"he", "she", "they", "it"} and not sentence.children(token, "expl")
    return c.is_noun(token) and words.can_be_seen(c.named(sentence, token).lemma)


def _unread(sentence: Sentence, heads: Iterable[int]) -> Iterator[Claim]:
    """Yield one claim for each clause that was not understood."""
    for index in heads:
        head = sentence.tokens[index]
        inside = [
            head,
            *(
                t
                for t in sentence.children(head)
                if t.dep.partition(":")[0] in {"nsubj", "obj", "obl", "cop", "aux", "advmod", "expl"}
            ),
        ]
        yield Claim(
            "unread", _NOBODY, span=span_of(*inside), anchor=(head.start, head.end), hedge=NOT_UNDERSTOOD
        )


# existence


def _existences(sentence: Sentence, things: Sequence[Token]) -> Iterator[_Reading]:
    """Yield claims from *there are three cups*, *I see a cup*, *the cup is visible*, or just *a cup*."""
    for noun in things:
        if not c.is_existence(sentence, noun):
            continue
        head = sentence.head(noun)
        first = noun
        while first.dep == "conj" and head is not None and c.is_noun(head):
            first, head = head, sentence.head(head)
        governor = head if head is not None else first
        yield _entity(sentence, noun, governor), governor


def _named(sentence: Sentence, things: Sequence[Token], unread: set[int]) -> Iterator[Claim]:
    """Yield the objects named, with their adjectives and their number: parts of the clauses' claims, once each."""
    seen: set[str] = set()
    for noun in things:
        mention, is_there = c.mention(sentence, noun), c.is_existence(sentence, noun)
        hedge = NOT_UNDERSTOOD if _is_in(sentence, noun, unread) else ""
        is_absent = c.is_none(sentence, noun) or (
            is_there and c.is_negated(sentence, sentence.head(noun) or noun)
        )
        if str(mention) not in seen and not is_there:
            seen.add(str(mention))
            at = (noun.start, noun.end)
            guess = hedge or _existence_hedge(sentence, noun)
            yield Claim(
                "entity", mention, span=at, anchor=at, is_negated=is_absent, hedge=guess, is_part=True
            )
        if is_absent:
            continue  # *no red cube* does not claim that anything is red
        thing = replace(mention, attributes=(), quantity="")
        for child in (
            t
            for first in sentence.children(noun, "amod", "compound")
            for t in (first, *sentence.children(first, "conj", "compound"))
        ):
            kind = quality_kind(child)
            if kind is not None and child.index < noun.index and not sentence.children(child, "cop"):
                yield replace(quality(kind, thing, child, span_of(child, noun)), hedge=hedge)
        if (
            mention.quantity
            and not is_there
            and mention.quantity[-1].isdigit()
            and " of " not in mention.quantity
        ):
            yield replace(
                _count(sentence, noun, mention), hedge=hedge or hedge_of(sentence, noun), is_part=True
            )


def _is_in(sentence: Sentence, noun: Token, clauses: set[int]) -> bool:
    """Return True if a noun is part of one of some clauses, or of its complement: *weighs more than the box*."""
    for clause in c.clause_of(sentence, noun):
        if clause.index in clauses:
            return True
        if clause.dep not in {"xcomp", "ccomp"}:
            return False
    return False


def _things(sentence: Sentence) -> Iterator[Token]:
    for token in sentence.tokens:
        if (
            not c.is_noun(token)
            or token.dep.partition(":")[0] in {"compound", "amod", "flat"}
            or token.text.casefold() in {"left", "right", "center", "centre", "middle"}
            or _is_part_of_phrase(sentence, token)
        ):
            continue
        if token.text.endswith("ing") and not words.can_be_seen(token.text.casefold()):
            continue  # *for drinking*: an activity, not an object
        head = c.mention(sentence, token).head
        lemma = c.named(sentence, token).lemma
        is_generic = lemma in words.GENERIC_NOUNS - {"one"} and c.is_existence(sentence, token)
        if is_generic or (words.can_be_seen(head) and words.can_be_seen(lemma)):
            yield token


def _entity(sentence: Sentence, noun: Token, governor: Token) -> Claim:
    """Return the claim that something is there, or how many there are."""
    mention, at = c.mention(sentence, noun), (noun.start, noun.end)
    negated = c.is_negated(sentence, governor, noun) != (governor.text.casefold() in {"missing", "absent"})
    hedge = _existence_hedge(sentence, noun) or hedge_of(sentence, governor)
    if (
        mention.quantity
        and mention.quantity not in {"all", "most", "half"}
        and " of " not in mention.quantity
    ):
        return replace(_count(sentence, noun, mention), is_negated=negated, hedge=hedge)
    is_lasting = c.is_lasting(sentence, governor)
    return Claim(
        "entity", mention, span=at, anchor=at, is_negated=negated, hedge=hedge, is_lasting=is_lasting
    )


def _count(sentence: Sentence, noun: Token, mention: Mention) -> Claim:
    number = next(
        (
            t
            for t in sentence.children(noun, "det")
            if t.tag == "DT" and t.text.casefold() in mention.quantity
        ),
        noun,
    )
    return Claim(
        "count",
        replace(mention, quantity=""),
        mention.quantity,
        span=span_of(number, noun),
        anchor=(number.start, number.end),
    )


def _is_part_of_phrase(sentence: Sentence, token: Token) -> bool:
    """Return True for a noun that names no object: *in front of*, *on top of*, *kitchen-related*."""
    after = sentence.tokens[token.index + 1].text if token.index + 1 < len(sentence.tokens) else ""
    return after.startswith("-") or (token.lemma in {"front", "top", "back", "side"} and after == "of")


def _existence_hedge(sentence: Sentence, token: Token) -> str:
    """Return the word that hedges the existence of an object: *perhaps a cup*, *there might be a cup*, *it may be a cup*."""
    marks = sentence.children(token, "advmod")
    near = next((t.lemma for t in marks if t.lemma in words.HEDGE_WORDS), "")
    if near or sentence.children(token, "cop"):
        return near or hedge_of(sentence, token)
    head = sentence.head(token)
    is_there = token.dep.partition(":")[0] == "nsubj" and head is not None and sentence.children(head, "expl")
    if is_there and head is not None:
        return hedge_of(sentence, head)
    hedge = hedge_of(sentence, token)
    return hedge if hedge in _UNASSERTED else ""


# time


def _temporal(sentence: Sentence) -> Iterator[_Reading]:
    """Yield claims from words that order events: *before*, *after*, *while*, *then*."""
    for cue in sentence.tokens:
        order = words.TEMPORAL_CUES.get(cue.text.casefold())
        if order is None or cue.text.casefold() in _WEAK_CUES:
            continue
        head = sentence.head(cue)
        if head is None or cue.tag.startswith("NN"):
            continue
        inner = head if cue.dep in {"mark", "advmod", "case"} else None
        if inner is None or (cue.dep == "case" and c.is_noun(inner)):
            continue
        outer = sentence.head(inner) if order in {"before", "after", "while"} else None
        claim = Claim(
            "temporal",
            _event(sentence, outer if outer is not None else inner),
            order,
            _event(sentence, inner) if outer is not None else None,
            span=(cue.start, cue.end),
            anchor=(cue.start, cue.end),
            hedge=hedge_of(sentence, outer or inner),
        )
        if claim.object is None or (claim.subject.verb and claim.object.verb):
            yield claim, None  # *is red, while the other is blue* orders no events


def _event(sentence: Sentence, head: Token) -> Mention:
    """Return an event as subject, verb and object."""
    if not c.is_verb(head):
        verbs = [t for t in sentence.children(head, "acl", "advcl", "xcomp") if c.is_verb(t)]
        if not verbs:
            return c.mention(sentence, head)
        head = verbs[0]
    carried = [
        t for t in sentence.children(head, "xcomp") if head.lemma in words.CARRIER_VERBS and c.is_verb(t)
    ]
    head = carried[0] if carried else head
    clause = c.Clause(sentence, head)
    who = c.agent(sentence, head) if clause.is_passive else c.subjects(sentence, head)
    patients = c.objects(sentence, clause)
    actor = c.mention(sentence, who[0]) if who else _NOBODY
    return Mention(
        actor.head,
        actor.attributes,
        verb=clause.lemma,
        object=c.mention(sentence, patients[0]).head if patients else "",
    )


NO_TRACE = "no trace"
"""How the failure of such a trace begins."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE = re.compile(r"[.!?\n]+")
_ABOUT_ITSELF = re.compile(
    r"\b(?:image|picture|photo|video|frame|visual|ai|language model|assist|answer|sorry|comply|request)s?\b",
    re.IGNORECASE,
)
_FINAL = re.compile(r"\b(?:final )?answer\s*[:：][^\n]*", re.IGNORECASE)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
"""Characters of no width, and those that turn the direction of writing: they hide in words."""
_ENGLISH = word_set(
    "the a an is are was were be been of in on at to and or it this that there with for from by as not no has have had he she"
    " they his her their its i we you my then but so if which who what left right"
)
_FOREIGN = (
    word_set(
        "el la los las un una es está están del en y que con por para se no como pero más hay sobre"  # Spanish
        " le les des du une est sont et dans sur avec pour qui que il elle ne pas au aux ce cette"  # French
        " der die das ein eine ist sind und auf mit von zu im den dem nicht er sie wird eines einem links rechts"  # German
        " il lo gli uno è sono di che nel nella sul sulla con per non si della"  # Italian
        " o os um uma é são do da dos das em no na com para não se ao"  # Portuguese
        " de het een van en op met voor niet zijn naar dat"  # Dutch
    )
    - _ENGLISH
)
_FEW_WORDS, _MANY_WORDS, _GROUP = 3, 12, 6


def no_trace(text: str) -> str:
    r"""Return why a text is no trace; empty if it may be one.

    >>> no_trace("The red ball is left of the box."), no_trace(""), no_trace("ball ball ball ball")
    ('', 'empty', 'repeats itself')
    >>> no_trace("As an AI language model, I cannot see images."), no_trace('```json\n{"objects": ["cup"]}\n```')
    ('refused', 'JSON without steps')
    >>> no_trace("El perro está en la mesa y la pelota está debajo."), no_trace("I cannot see the red ball.")
    ('not English', '')
    """
    words = [word.casefold() for word in _WORD.findall(text)]
    if not words:
        return "empty"
    if _is_json(text):
        return "JSON without steps"
    if _is_foreign(text, words):
        return "not English"
    if _is_repetition(text, words):
        return "repeats itself"
    return "refused" if _is_refusal(text) else ""


def _is_json(text: str) -> bool:
    """Return True if the text is a table or list, perhaps in a fence, and no steps are listed in it."""
    bare = re.sub(r"```\w*", "", text).strip()
    if bare[:1] not in {"{", "["} or bare[-1:] not in {"}", "]"}:
        return False
    return bool(json_values(bare)) and json_steps(text) is None


def _is_foreign(text: str, words: list[str]) -> bool:
    """Return True if most letters are not Latin, or words of other languages outnumber those of English."""
    letters = [c for c in text if c.isalpha()]
    if sum(c > "ɏ" for c in letters) > len(letters) / 2:
        return True
    foreign, english = ([word for word in words if word in known] for known in (_FOREIGN, _ENGLISH))
    if not english and len(set(foreign)) >= 2:  # *Der Ball ist rot.*
        return True
    return len(foreign) >= _FEW_WORDS and len(foreign) > 2 * len(english)


def _is_repetition(text: str, words: list[str]) -> bool:
    """Return True if one word, one group of words or one sentence is written again and again."""
    if len(words) >= _FEW_WORDS and len(set(words)) == 1:
        return True
    if len(words) < _MANY_WORDS:
        return False
    sentences = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    if len(sentences) < len(words) / _MANY_WORDS:  # hardly any full stops: the words themselves repeat
        groups = {tuple(words[i : i + _GROUP]) for i in range(len(words) - _GROUP + 1)}
        return len(groups) < 0.25 * (len(words) - _GROUP + 1)
    _, most = Counter(sentences).most_common(1)[0]
    return most >= 10 and most > 0.8 * len(sentences)


def _is_refusal(text: str) -> bool:
    said = _FINAL.sub("", text)  # who answers has not refused: *I do not see a dog. Final answer: no*
    parts = [part for part in _SENTENCE.split(said) if part.strip()]
    is_short = len(parts) <= _FEW_WORDS
    return is_short and all(map(declines, parts[:1])) and _ABOUT_ITSELF.search(said) is not None


# Finds the frames that a step is about: by number, by time, by words of order, else by its position among the steps.


_FRAMES = re.compile(
    r"\bframes?\s*(?:no\.?|number|#)?\s*(\d+)(?:\s*(-|–|—|to|through|and|&)\s*(?:frame\s*)?#?(\d+))?",
    re.IGNORECASE,
)
_ORDINALS = {
    word: i
    for i, word in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    )
}
_ORDINAL_FRAME = re.compile(
    rf"\b({'|'.join(_ORDINALS)}|last|final)\s+(?:few\s+)?(?:frame|image|picture)s?\b", re.IGNORECASE
)
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):(\d{2}(?:\.\d+)?)(?![\d:])")
_SECONDS = re.compile(
    r"\b(?:(?:from|between)\s+)?(\d+(?:\.\d+)?)\s*(?:s|sec|secs|seconds?)?\s*(?:-|–|to|and|until)\s*(\d+(?:\.\d+)?)\s*(?:s|sec|secs|seconds?)\b"
    r"|\b(\d+(?:\.\d+)?)\s*(?:s|sec|secs|seconds?)\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(throughout|in (?:all|every|each) (?:of the )?frames?|the (?:whole|entire) (?:time|video|clip|sequence)|at all times|always)\b",
    re.IGNORECASE,
)
_START = re.compile(
    r"^\W*(?:(?:at|in) the (?:very )?(?:beginning|start|outset)|initially|to begin with|at first|first(?:ly)?)\b|\bat the (?:beginning|start)\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"^\W*(?:(?:at|in) the (?:very )?end|finally|lastly|in conclusion|ultimately|eventually)\b|\bat the end\b",
    re.IGNORECASE,
)
_MIDDLE = re.compile(r"\b(?:halfway|midway|in the middle of the (?:video|clip|sequence))\b", re.IGNORECASE)
_NEXT = re.compile(
    r"^\W*(?:then|next|after (?:that|this|which)|afterwards?|subsequently|later|now|following (?:that|this))\b",
    re.IGNORECASE,
)


MOST_CHARACTERS = 4000
"""The longest step that is read, about 650 words. Longer ones are cut, which is reported: parsing time is quadratic."""
_MOST_DIGITS = 10
"""Of a frame number that are read."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """The frames of one step, and how they were found."""

    frames: tuple[int, ...]
    how: Alignment
    problem: str = ""


def align(texts: Sequence[str], episode: Episode) -> list[Aligned]:
    """Find the frames of each step, in order.

    A frame number is preferred to a time, a time to a word of order, and that to the position. *Then* means the frame after
    those of the previous step. By position, step i of n takes the frames from ⌊iF/n⌋ to ⌈(i+1)F/n⌉ − 1 of F.

    >>> from theodolite.worlds.episodes import Episode, Frame
    >>> episode = Episode("e", "?", tuple(Frame(float(t)) for t in range(6)))
    >>> [a.frames for a in align(["In frame 2 it falls.", "Then it rolls.", "At 4 s it stops.", "At the end it is gone."], episode)]
    [(1,), (2,), (4,), (5,)]
    """
    alignments: list[Aligned] = []
    for index, text in enumerate(texts):
        before = alignments[-1].frames if alignments else ()
        alignments.append(_align(text, episode, place=index, of=len(texts), before=before))
    return alignments


def align_steps(texts: Sequence[str], episode: Episode) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Return steps with their frames, and the problems.

    >>> from theodolite.worlds.episodes import Episode, Frame
    >>> steps, problems = align_steps(["A cup. " * 1000], Episode("e", "?", (Frame(0.0),)))
    >>> len(steps[0].text), problems
    (4000, ('step 1: 7000 characters; only the first 4000 are read',))
    """
    kept = [text[:MOST_CHARACTERS] for text in texts]
    aligned = align(kept, episode)
    steps = tuple(Step(text, a.frames, a.how) for text, a in zip(kept, aligned, strict=True))
    problems = []
    for number, (text, alignment) in enumerate(zip(texts, aligned, strict=True), 1):
        if len(text) > MOST_CHARACTERS:
            problems.append(
                f"step {number}: {len(text)} characters; only the first {MOST_CHARACTERS} are read"
            )
        if alignment.problem:
            problems.append(f"step {number}: {alignment.problem}")
    return steps, tuple(problems)


def _align(text: str, episode: Episode, *, place: int, of: int, before: tuple[int, ...]) -> Aligned:
    n = len(episode.frames)
    problem = ""
    by_number, wrong = _by_number(text, episode)
    if by_number:
        return Aligned(by_number, "index", wrong)
    problem = wrong
    by_time, late = _by_time(text, episode)
    if by_time:
        return Aligned(by_time, "time", problem or late)
    problem = problem or late
    if _WHOLE.search(text):
        return Aligned(tuple(range(n)), "whole", problem)
    by_order = _by_order(text, n, before)
    if by_order:
        return Aligned(by_order, "order", problem)
    first = place * n // of
    last = max(first, -(-(place + 1) * n // of) - 1)
    return Aligned(tuple(range(min(first, n - 1), min(last, n - 1) + 1)), "position", problem)


def _by_number(text: str, episode: Episode) -> tuple[tuple[int, ...], str]:
    """Return the frames named by number: counted from 1, or by the data set's own numbers if there are fewer frames."""
    n = len(episode.frames)
    own = {frame.number: index for index, frame in enumerate(episode.frames) if frame.number is not None}
    frames: set[int] = set()
    wrong = ""
    for match in _FRAMES.finditer(text):
        first, joint, last = match.groups()
        ends = [int(end[:_MOST_DIGITS]) for end in (first, last) if end]
        is_range = joint not in {"and", "&"}
        if all(1 <= end <= n for end in ends):
            frames.update(range(min(ends) - 1, max(ends)) if is_range else (end - 1 for end in ends))
        elif all(end in own for end in ends):
            places = [own[end] for end in ends]
            frames.update(range(min(places), max(places) + 1) if is_range else places)
        else:
            wrong = f"names frame {max(ends)}, but there are {n}"
    for match in _ORDINAL_FRAME.finditer(text):
        word = match.group(1).casefold()
        index = n - 1 if word in {"last", "final"} else _ORDINALS[word]
        if index < n:
            frames.add(index)
        else:
            wrong = f"names the {word} frame, but there are {n}"
    return tuple(sorted(frames)), wrong


def _by_time(text: str, episode: Episode) -> tuple[tuple[int, ...], str]:
    """Return the frames that cover a timestamp. A frame covers the time until the next one."""
    spans: list[tuple[float, float]] = []
    for match in _CLOCK.finditer(text):
        at = 60 * int(match.group(1)) + float(match.group(2))
        spans.append((at, at))
    for match in _SECONDS.finditer(text):
        start, end, single = match.groups()
        spans.append((float(single), float(single)) if single else (float(start), float(end)))
    first, last = episode.frames[0].time_s, episode.frames[-1].time_s
    step = (last - first) / max(1, len(episode.frames) - 1)
    slack = 0.05 * step  # a written time is rounded: 0.33 s means the frame at 1/3 s
    inside = [(a, b) for a, b in spans if first - step <= a <= last + 2 * step]
    frames = {
        i
        for a, b in inside
        for i, frame in enumerate(episode.frames)
        if frame.time_s <= max(b, first) + slack and episode.until_s(i) > a + slack
    }
    late = (
        f"names {max(a for a, _ in spans):g} s, but the last frame is at {last:g} s"
        if spans and not inside
        else ""
    )
    return tuple(sorted(frames)), late


def _by_order(text: str, n: int, before: tuple[int, ...]) -> tuple[int, ...]:
    if _END.search(text):
        return (n - 1,)
    if _START.search(text):
        return (0,)
    if _MIDDLE.search(text):
        return (n // 2,)
    if _NEXT.search(text) and before:
        return (min(max(before) + 1, n - 1),)
    return ()


# From the text of a model to a trace: steps with their frames and claims, and the final answer.


_GOVERNED = re.compile(
    r"\b(?:of|on|in|at|with|near|by|behind|under|against|beside)(?: [a-z-]+){0,3} $", re.IGNORECASE
)
_STOP = re.compile(r"[.!?;\n]")
_QUALITIES = {"attribute", "state"}
_MOST_KNOWN = 200
"""Earlier mentions that a pronoun may refer to."""
_REFLEXIVE = frozenset({"himself", "herself", "itself", "themselves"})
_PERSONAL = frozenset({"he", "she", "him", "her", "they", "them", "who"})


def read_trace(
    text: str,
    episode: Episode,
    *,
    style: str = "",
    model: str = "",
    reasoning: str = "",
    answer: Answer | None = None,
) -> Trace:
    """Read the steps, their frames and the answer. `with_claims` adds the claims.

    Args:
        text: The text of the model.
        episode: The episode that it is about.
        style: Prompt style.
        model: Name of the model.
        reasoning: Reasoning that was returned apart from the text.
        answer: The final answer, if it was parsed already.
    """
    text, reasoning = (_INVISIBLE.sub("", each) for each in (text, reasoning))
    answer = answer or final_answer(text, episode.format, reasoning=reasoning)
    empty = Trace(
        episode.id,
        (),
        str(answer.value) if answer.is_read else "",
        "" if answer.is_read else answer.status,
        style,
        model,
        is_lower_bound=True,
        problems=tuple(filter(None, [cut_note(text, reasoning)])),
    )
    return guarded(
        lambda text, reasoning: _read_trace(empty, text, reasoning, episode),
        text,
        reasoning,
        unread=lambda why: _failed(empty, why),
    )


def _read_trace(trace: Trace, text: str, reasoning: str, episode: Episode) -> Trace:
    why = no_trace(f"{reasoning}\n{text}" if reasoning.strip() else text)
    if why:
        return _failed(trace, f"{NO_TRACE}: {why}")
    return _with_steps(trace, read_steps(text, reasoning=reasoning), episode)


def _with_steps(trace: Trace, read: StepTexts, episode: Episode) -> Trace:
    steps, problems = align_steps(read.steps, episode)
    all_problems = (*trace.problems, *read.problems, *problems)
    return replace(trace, steps=steps, is_lower_bound=not read.has_steps, problems=all_problems)


def _failed(trace: Trace, why: str) -> Trace:
    return replace(trace, steps=(), is_lower_bound=True, problems=(*trace.problems, why), failure=why)


def with_claims(traces: Sequence[Trace], *, extractor: Extractor | None = None) -> list[Trace]:
    """Return the same traces with the claims of their steps, extracted together.

    Every claim takes the frames of its step and its sentence. A trace that cannot be read fails alone: those extracted together
    with it are tried again in halves.

    Args:
        traces: Traces with their steps.
        extractor: Finds the claims. Default: our rules.
    """
    chosen = extractor or RuleExtractor()

    def halves(why: str) -> list[Trace]:
        if len(traces) < 2:
            return [_failed(trace, why) for trace in traces]
        half = len(traces) // 2
        return [
            part for some in (traces[:half], traces[half:]) for part in with_claims(some, extractor=chosen)
        ]

    return guarded(lambda: _claimed(traces, chosen), unread=halves)


def _claimed(traces: Sequence[Trace], extractor: Extractor) -> list[Trace]:
    found = extractor.extract(traces)
    if len(found) != len(traces):
        raise ContractError(
            f"the extractor {extractor.name!r} gave {len(found)} results for {len(traces)} traces"
        )
    return [_with_extracted(trace, claims) for trace, claims in zip(traces, found, strict=True)]


def _with_extracted(trace: Trace, found: Extracted) -> Trace:
    steps = tuple(
        replace(step, claims=_placed(step, claims))
        for step, claims in zip(trace.steps, found.claims, strict=True)
    )
    return replace(trace, steps=steps, problems=(*trace.problems, *found.problems))


def _placed(step: Step, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return claims with the frames of their step, and with the sentence that each was read from."""
    spans = sentence_spans(step.text)
    starts, after = [start for start, _ in spans], heading_end(step.text)

    def sentence(claim: Claim) -> str:
        first, last = spans[max(0, bisect_right(starts, claim.span[0]) - 1)] if spans else (0, None)
        return step.text[max(first, after) : last].strip()

    return tuple(replace(claim, frames=step.frames, sentence=sentence(claim)) for claim in claims)


@dataclass(frozen=True, slots=True)
class RuleExtractor:
    """Our rules, on the trees of a spaCy pipeline; by default of the one that ships."""

    pipeline: str = "shipped"

    @property
    def name(self) -> str:
        """``rules``, or the pipeline under another than ours."""
        return "rules" if self.pipeline == "shipped" else f"spacy:{self.pipeline}"

    def extract(self, traces: Sequence[Trace]) -> list[Extracted]:
        """Return the claims of each trace. Frame headings are not parsed, and pronouns are resolved."""
        headed = [(step.text, heading_end(step.text)) for trace in traces for step in trace.steps]
        extracted = extract_many([text[start:] for text, start in headed], parser=open_parser(self.pipeline))
        in_place = (
            [claim.shifted(start) for claim in claims]
            for claims, (_, start) in zip(extracted, headed, strict=True)
        )
        return [_of_rules(trace, list(islice(in_place, len(trace.steps)))) for trace in traces]


def _of_rules(trace: Trace, claims: Sequence[Sequence[Claim]]) -> Extracted:
    full = tuple(
        f"step {number}: only the first {MOST_CLAIMS} claims are read"
        for number, of_step in enumerate(claims, 1)
        if len(of_step) >= MOST_CLAIMS
    )
    texts = [step.text for step in trace.steps]
    resolved = resolve_pronouns(claims, texts)
    return Extracted(tuple(map(_with_parts, resolved, texts)), full)


def _with_parts(claims: Sequence[Claim], text: str) -> tuple[Claim, ...]:
    parts = _Parts(claims, text)
    return tuple(replace(claim, is_part=claim.is_part or parts.has(claim)) for claim in claims)


class _Parts:
    """Finds the claims of a step that are contained in larger ones.

    An object is part of its action, of its place and of what is predicated of it with *is*, including where a pronoun of the same
    sentence stands for it: *a table with a cup on it*. An adjective before a noun is part of the object that it describes. A
    bare *then* is part of the step's place in time.
    """

    def __init__(self, claims: Sequence[Claim], text: str) -> None:
        larger = [
            c
            for c in claims
            if c.kind not in {"entity", "count", "temporal"}
            and (c.kind not in _QUALITIES or _is_predicated(c))
        ]
        self._places = {
            m.span
            for c in larger
            for m in (None if c.predicate == "have" else c.subject, c.object, c.other)
            if m is not None
        }
        self._described = Counter(pair for c in claims for pair in _described(c))
        self._text = text
        self._pronouns: dict[tuple[str, tuple[str, ...]], int] = {}
        for claim in larger:
            for m in (claim.subject, claim.object):
                if m is not None and m.span is not None and text[slice(*m.span)].casefold() in words.PRONOUNS:
                    self._pronouns.setdefault((m.head, m.attributes), m.span[0])

    def has(self, claim: Claim) -> bool:
        """Return True if a larger claim contains it."""
        if claim.kind in {"entity", "count"}:
            return claim.subject.span in self._places - {None} or self._is_meant(claim.subject)
        if claim.kind in _QUALITIES and not _is_predicated(claim):
            pair = (claim.subject.head, claim.predicate)
            return self._described[pair] > (pair in _described(claim))
        return claim.kind == "temporal" and claim.object is None

    def _is_meant(self, mention: Mention) -> bool:
        """Return True if the first pronoun that stands for an object is in the same sentence."""
        at = self._pronouns.get((mention.head, mention.attributes))
        end = mention.span[1] if mention.span is not None else 0
        is_near = at is not None and end < at < end + LONGEST_SENTENCE
        return is_near and _STOP.search(self._text, end, at or end) is None


def _described(claim: Claim) -> set[tuple[str, str]]:
    """Return the nouns of a claim with each of their adjectives."""
    things = [m for m in (claim.subject, claim.object, claim.other) if m is not None]
    return {(m.head, attribute) for m in things for attribute in m.attributes}


def _is_predicated(claim: Claim) -> bool:
    """Return True if a quality follows its noun, as in *the ball is red*."""
    return (
        claim.anchor is not None
        and claim.subject.span is not None
        and claim.anchor[0] >= claim.subject.span[1]
    )


def resolve_pronouns(steps: Sequence[Sequence[Claim]], texts: Sequence[str]) -> list[tuple[Claim, ...]]:
    """Return the claims of successive steps, with pronouns replaced by their referents.

    *He* and *she* refer to the last person named that fits, *they* also to the last thing if no person was named; *it* refers
    to the last thing that is not a person, preferably not one that only states where something is. No pronoun refers to
    another argument of its own claim, except *himself*, *herself* and *itself*. A pronoun without a referent stays, and its
    claims are unclear.
    """
    known = _Known()
    resolved: list[tuple[Claim, ...]] = []
    for claims, text in zip(steps, texts, strict=True):
        grounds = {c.object.span for c in claims if _is_ground(c) and c.object is not None}
        grounds -= {
            c.subject.span for c in claims if c.kind in {"action", "spatial"} and c.predicate != "have"
        }
        for claim in claims:  # everything named, before the pronouns that refer to it
            is_thing = claim.kind == "entity" and claim.subject.head not in words.MATERIALS
            if is_thing and claim.subject.span is not None:
                span = claim.subject.span
                is_ground = span in grounds or _is_governed(text, span[0])
                known.add(claim.subject, is_ground=is_ground, is_plural=_is_plural(claim.subject, text))
        resolved.append(tuple(known.resolve(claim) for claim in claims))
        known.end_step()
    return resolved


def _is_governed(text: str, start: int) -> bool:
    """Return True for a noun after a preposition that only states a place or content: *a bottle of orange juice*."""
    return _GOVERNED.search(text, max(0, start - 40), start) is not None


def _is_ground(claim: Claim) -> bool:
    """Return True if the object of a claim only states the place or kind of its subject, or something it has."""
    return claim.kind in {"spatial", "identity", "comparison"} or claim.predicate == "have"


class _Known:
    """The persons and things named so far, in order."""

    def __init__(self) -> None:
        self._before: list[tuple[Mention, bool]] = []
        self._here: list[tuple[Mention, bool]] = []
        self._plurals: set[Mention] = set()
        self._actor: Mention | None = None
        self._open = 10**9
        """Where an *it* stands that refers to nothing in the text: later ones refer to the same."""

    def add(self, said: Mention, *, is_ground: bool, is_plural: bool) -> None:
        """Add an object that a step names."""
        self._here.append((said, is_ground))
        if is_plural:
            self._plurals.add(said)

    def end_step(self) -> None:
        """Close the step: everything in it comes before the next one."""
        self._before = (self._before + self._here)[-_MOST_KNOWN:]
        self._here = []
        self._open = 10**9

    def resolve(self, claim: Claim) -> Claim:
        """Return the claim with its pronouns resolved."""
        subject, target, other = claim.subject, claim.object, claim.other
        if subject.head == "it" and target is not None and target.head == "it" and self._actor is not None:
            subject = _with_name(subject, self._actor)
        else:
            beside = [m for m in (target, other) if m is not None]
            is_named = (
                claim.kind == "identity" and target is not None
            )  # *it is a small glove* may be the glove
            subject = self._referent(subject, beside, is_named=is_named)
        if target is not None:
            target = self._referent(target, [m for m in (subject, other) if m is not None], subject)
        if other is not None:
            other = self._referent(other, [m for m in (subject, target) if m is not None], subject)
        if claim.kind == "action" and subject.head not in words.PRONOUNS:
            self._actor = subject
        if subject is claim.subject and target is claim.object and other is claim.other:
            return claim
        return replace(claim, subject=subject, object=target, other=other)

    def _referent(
        self,
        pronoun: Mention,
        beside: Sequence[Mention],
        actor: Mention | None = None,
        *,
        is_named: bool = False,
    ) -> Mention:
        if pronoun.head in _REFLEXIVE:
            return pronoun if actor is None else _with_name(pronoun, actor)
        if pronoun.head not in _PERSONAL | {"it"}:
            return pronoun
        at = pronoun.span[0] if pronoun.span is not None else 10**9
        if pronoun.head == "it" and at > self._open:
            return pronoun
        taken = {m.span for m in beside if m.span is not None}
        alike = [] if is_named else beside
        chosen = self._last(
            at, lambda m: m.span not in taken and _fits(pronoun.head, m) and not _is_alike(m, alike)
        )
        if chosen is None and pronoun.head in {"they", "them"}:
            chosen = self._last(at, lambda m: m in self._plurals and not _is_alike(m, alike))
        if chosen is None and pronoun.head == "it":
            self._open = min(self._open, at)
        return pronoun if chosen is None else _with_name(pronoun, chosen)

    def _last(self, at: int, fits: Callable[[Mention], bool]) -> Mention | None:
        """Return the last mention before a position that fits, preferably not one that only states where something is."""
        earlier = ((m, low) for m, low in reversed(self._here) if m.span is not None and m.span[0] < at)
        ground: Mention | None = None
        for mention, is_ground in chain(earlier, reversed(self._before)):
            if (ground is None or not is_ground) and fits(mention):
                if not is_ground:
                    return mention
                ground = mention
        return ground


def _is_plural(mention: Mention, text: str) -> bool:
    written = text[slice(*mention.span)].casefold() if mention.span is not None else ""
    return bool(mention.quantity) or written != mention.head.rpartition(" ")[2] or written.endswith("s")


def _is_alike(meant: Mention, beside: Sequence[Mention]) -> bool:
    """Return True if a mention may refer to the noun beside the pronoun: *car* and *red car*, but not *blue car* and *red car*."""
    return any(
        m.head == meant.head
        and (not m.attributes or not meant.attributes or m.attributes == meant.attributes)
        for m in beside
    )


def _with_name(pronoun: Mention, meant: Mention) -> Mention:
    return replace(
        pronoun, head=meant.head, attributes=meant.attributes, quantity=pronoun.quantity or meant.quantity
    )


def _is_person(mention: Mention) -> bool:
    return words.is_a(mention.head, "person")


def _fits(pronoun: str, meant: Mention) -> bool:
    """Return True if a pronoun may refer to a mention: person or thing, and not of the other sex."""
    if pronoun == "it":
        return not _is_person(meant)
    other = {"he": "she", "him": "she", "she": "he", "her": "he"}.get(pronoun)
    return _is_person(meant) and (other is None or meant.head not in words.SEXES[other])
