"""Questions as word ids: one vocabulary, one template per bucket, written and read back.

Punctuation, singular and plural are words of their own, so each word is one token and one player.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.question_types import (
    ALL_ASKS,
    ANCHOR_SIDE,
    BUCKETS,
    MOST_ANCHORS,
    MOST_SIDES,
    Asks,
    Bucket,
)
from theodolite.instruments.grid.data.world import COLOURS, DIRECTIONS, SHAPES, RowTable, kind_code

_FIRST_WORDS = (
    *("<pad>", "<mask>", "?", ",", "how", "many", "is", "there", "any", "are", "more", "than", "that", "and"),
    *("left", "right", "of", "above", "below", "object", "objects"),
    *COLOURS,
    *SHAPES,
    *(f"{shape}s" for shape in SHAPES),
)
VOCABULARY = tuple(
    dict.fromkeys(
        (*_FIRST_WORDS, *(word for asks in ALL_ASKS for word in (*asks.head, *asks.link, *asks.than)))
    )
)
"""All words. The id of a word is its index, so words that a further question type needs come last."""
WORD = {word: index for index, word in enumerate(VOCABULARY)}
PAD, MASK = WORD["<pad>"], WORD["<mask>"]
MAX_WORDS = 28
"""The longest question has 27."""

PHRASES = (
    *(f"target_{side + 1}" for side in range(MOST_SIDES)),
    *(f"anchor_{k + 1}" for k in range(MOST_ANCHORS)),
    *(f"direction_{k + 1}" for k in range(MOST_ANCHORS)),
)
"""The phrases of a question, in the order of `SceneBatch.spans`."""
TARGET_PHRASE, ANCHOR_PHRASE, DIRECTION_PHRASE = 0, MOST_SIDES, MOST_SIDES + MOST_ANCHORS

_COLOUR_WORD = np.array([PAD, *(WORD[c] for c in COLOURS)], np.uint8)
_SHAPE_WORD = np.array(
    [[WORD["object"], *(WORD[s] for s in SHAPES)], [WORD["objects"], *(WORD[s + "s"] for s in SHAPES)]]
)
_DIRECTION_WORDS = np.array(
    [[WORD[w] for w in d.split()] + [PAD] * (2 - len(d.split())) for d in DIRECTIONS], np.uint8
)


@dataclass(frozen=True, slots=True)
class Questions(RowTable):
    """What is asked, one row per question: the logic without its words."""

    bucket: NDArray[np.uint8]
    """Index into `BUCKETS`, shape (n,)."""
    targets: NDArray[np.uint8]
    """Description of each group of targets (`kind_code`), shape (n, 2)."""
    anchors: NDArray[np.uint8]
    """Description of each anchor, shape (n, 4); anchors that the bucket does not have are 0."""
    directions: NDArray[np.uint8]
    """Where the targets lie relative to each anchor, shape (n, 4); 0 where there is no such anchor."""

    def __len__(self) -> int:
        return len(self.bucket)


def _template(bucket: Bucket) -> list[tuple[str, int]]:
    """Return the slots of a bucket's question: literal words, and phrases as (kind of slot, number)."""
    index, asks = BUCKETS.index(bucket), bucket.asks

    def relations(side: int) -> list[tuple[str, int]]:
        own = [k for k in range(MOST_ANCHORS) if ANCHOR_SIDE[index, k] == side]
        slots: list[tuple[str, int]] = []
        for place, k in enumerate(own):
            if place and len(own) > 2:
                slots.append((",", -1))
            if place and place == len(own) - 1:
                slots.append(("and", -1))
            slots += [("<direction>", k), ("<anchor>", k)]
        return slots

    slots = [(word, -1) for word in asks.head]
    for side in range(bucket.sides):
        slots += [(word, -1) for word in asks.than] if side else []
        slots.append(("<targets>" if asks.is_plural else "<target>", side))
        slots += [(word, -1) for word in asks.link] if bucket.n_anchors else []
        slots += relations(side + 1)
    return [*slots, ("?", -1)]


def write_questions(questions: Questions) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Word ids ``(n, MAX_WORDS)``, padded with 0, and spans ``(n, phrases, 2)``: first word and the word after the last.

    A phrase that is not in a question has the span (0, 0).
    """
    n = len(questions)
    words = np.zeros((n, MAX_WORDS), np.uint8)
    spans = np.zeros((n, len(PHRASES), 2), np.uint8)
    for index in np.unique(questions.bucket):
        rows = np.flatnonzero(questions.bucket == index)
        words[rows], spans[rows] = _write_bucket(questions.take(rows), BUCKETS[int(index)])
    return words, spans


def _write_bucket(q: Questions, bucket: Bucket) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    columns: list[NDArray[np.uint8]] = []
    places: dict[int, tuple[int, int]] = {}
    for slot, number in _template(bucket):
        start = len(columns)
        if slot == "<direction>":
            columns += list(_DIRECTION_WORDS[q.directions[:, number]].T)
            places[DIRECTION_PHRASE + number] = (start, len(columns))
        elif slot.startswith("<"):
            kinds = q.anchors[:, number] if slot == "<anchor>" else q.targets[:, number]
            colour, shape = np.divmod(kinds, 5)
            columns += [_COLOUR_WORD[colour], _SHAPE_WORD[int(slot == "<targets>")][shape].astype(np.uint8)]
            places[(ANCHOR_PHRASE if slot == "<anchor>" else TARGET_PHRASE) + number] = (start, len(columns))
        else:
            columns.append(np.full(len(q), WORD[slot], np.uint8))
    return _compact(np.stack(columns, axis=1), places)


def _compact(
    loose: NDArray[np.uint8], places: dict[int, tuple[int, int]]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Closes the gaps of slots with fewer words: "above" has one, "left of" two."""
    is_word = loose != PAD
    before = np.cumsum(is_word, axis=1, dtype=np.uint8)
    words = np.zeros((len(loose), MAX_WORDS), np.uint8)
    row, column = np.nonzero(is_word)
    words[row, before[row, column] - 1] = loose[row, column]
    spans = np.zeros((len(loose), len(PHRASES), 2), np.uint8)
    for phrase, (start, stop) in places.items():
        spans[:, phrase, 0] = before[:, start - 1]
        spans[:, phrase, 1] = before[:, stop - 1]
    return words, spans


def text_of(words: NDArray[np.uint8]) -> str:
    """A question as a sentence.

    >>> text_of(np.array([WORD[w] for w in "is there any red circle ?".split()], np.uint8))
    'Is there any red circle?'
    """
    said = [VOCABULARY[w] for w in words if w != PAD]
    text = " ".join(said).replace(" ?", "?").replace(" ,", ",")
    return text[:1].upper() + text[1:]


def _starts(words: list[str], asks: Asks) -> bool:
    return tuple(words[: len(asks.head)]) == asks.head


_TOKEN = re.compile(r"[?,]|[^\s?,]+")


def _tokens(text: str) -> list[tuple[str, tuple[int, int]]]:
    """The words of a sentence in the grid's own wording, each with its characters: first, and one after the last.

    Published questions say "the", and "that are" where ours say "are" or, in comparisons, nothing; these are left out.
    """
    found = [(match.group().lower(), match.span()) for match in _TOKEN.finditer(text)]
    said = [word for word, _ in found]
    is_that = [said[i : i + 2] == ["that", "are"] for i in range(len(said))]
    is_left_out = [word == "the" or is_that[i] for i, word in enumerate(said)]
    if any(not asks.link and _starts(said, asks) for asks in ALL_ASKS):
        is_left_out = [each or (i > 0 and is_that[i - 1]) for i, each in enumerate(is_left_out)]
    return [each for each, left_out in zip(found, is_left_out, strict=True) if not left_out]


def words_of(text: str) -> NDArray[np.uint8]:
    """The word ids of a sentence, padded; of a published one, those of the same question in the grid's own words.

    >>> text_of(words_of("How many red circles are left of blue square?"))
    'How many red circles are left of blue square?'
    >>> text_of(words_of("How many red circles that are left of the blue square?"))
    'How many red circles are left of blue square?'
    """
    said = [word for word, _ in _tokens(text)]
    unknown = [word for word in said if word not in WORD]
    if unknown:
        raise UsageError(f"the grid's vocabulary has no word {unknown[0]!r} (in {text!r})")
    if len(said) > MAX_WORDS:
        raise UsageError(f"a question has at most {MAX_WORDS} words, not {len(said)}: {text!r}")
    return np.array([WORD[word] for word in said] + [PAD] * (MAX_WORDS - len(said)), np.uint8)


_HEADS = "|".join(dict.fromkeys(" ".join(asks.head).capitalize() for asks in ALL_ASKS))
_QUESTION = re.compile(rf"(?:{_HEADS})\b[^?]*\?")


def question_words(text: str) -> NDArray[np.uint8]:
    """The word ids of the question in a prompt, padded.

    Raises:
        UsageError: The prompt has no question of the grid.
    """
    asked = _QUESTION.search(text)
    if asked is None:
        raise UsageError(f"there is no question of the grid in {text[:200]!r}")
    return words_of(asked.group())


def word_spans(text: str) -> list[tuple[int, int]]:
    """The characters of each word of a question: first, and one after the last. They are as many as `words_of` gives.

    >>> word_spans("Is there any red circle?")
    [(0, 2), (3, 8), (9, 12), (13, 16), (17, 23), (23, 24)]
    """
    return [place for _, place in _tokens(text)]


def character_spans(text: str, spans: NDArray[np.uint8]) -> dict[str, tuple[int, int]]:
    """The characters of each phrase of a question: first, and one after the last."""
    places = word_spans(text)
    return {
        phrase: (places[int(first)][0], places[int(last) - 1][1])
        for phrase, (first, last) in zip(PHRASES, spans, strict=True)
        if last > first
    }


_NOUNS = {"object": 0, "objects": 0}
_NOUNS |= {shape: i + 1 for i, shape in enumerate(SHAPES)} | {
    shape + "s": i + 1 for i, shape in enumerate(SHAPES)
}
_DIRECTION = {name.split()[0]: i for i, name in enumerate(DIRECTIONS) if name}


@dataclass(slots=True)
class _ParsedQuestion:
    """The descriptions found in one question."""

    targets: list[tuple[int, int]] = field(default_factory=list)
    relations: list[list[tuple[int, tuple[int, int]]]] = field(default_factory=list)


def read_questions(words: NDArray[np.uint8]) -> Questions:
    """What questions ask, from their word ids, (n, words). The inverse of `write_questions`.

    Raises:
        UsageError: A question follows no template.

    >>> q = read_questions(words_of("Is there any red object that is left of blue object?")[None])
    >>> BUCKETS[q.bucket[0]].key, q.directions[0].tolist()
    ('CO-F1-D1', [1, 0, 0, 0])
    """
    distinct, back = np.unique(words, axis=0, return_inverse=True)
    n = len(distinct)
    read = Questions(
        np.zeros(n, np.uint8),
        np.zeros((n, MOST_SIDES), np.uint8),
        np.zeros((n, MOST_ANCHORS), np.uint8),
        np.zeros((n, MOST_ANCHORS), np.uint8),
    )
    for row, said in enumerate(distinct):
        _read_into(read, row, said)
    if not (write_questions(read)[0] == distinct).all():
        row = int(np.argmax((write_questions(read)[0] != distinct).any(axis=1)))
        raise _unreadable(distinct[row])
    return read.take(back.ravel())


def _unreadable(said: NDArray[np.uint8]) -> UsageError:
    return UsageError(f"{text_of(said)!r} is not a question of the grid")


def _read_into(read: Questions, row: int, said: NDArray[np.uint8]) -> None:
    words = [VOCABULARY[w] for w in said if w != PAD]
    parsed = _parse_phrases(words)
    bucket = _bucket(words, parsed)
    if bucket is None:
        raise _unreadable(said)
    read.bucket[row] = BUCKETS.index(bucket)
    for side, kind in enumerate(parsed.targets):
        read.targets[row, side] = kind_code(*kind)
    for k, (direction, kind) in enumerate(pair for side in parsed.relations for pair in side):
        read.directions[row, k], read.anchors[row, k] = direction, kind_code(*kind)


def _parse_phrases(words: list[str]) -> _ParsedQuestion:
    """Descriptions in order: one after a direction is an anchor, any other is a target."""
    parsed, colour, direction = _ParsedQuestion(), 0, 0
    for word in words:
        if word in COLOURS:
            colour = COLOURS.index(word) + 1
        elif word in _DIRECTION:
            direction = _DIRECTION[word]
        elif word in _NOUNS:
            kind = (colour, _NOUNS[word])
            if direction and parsed.relations:
                parsed.relations[-1].append((direction, kind))
            else:
                parsed.targets.append(kind)
                parsed.relations.append([])
            colour = direction = 0
    return parsed


def _bucket(words: list[str], parsed: _ParsedQuestion) -> Bucket | None:
    """Return the bucket of a question: that of the longest head, where several fit."""
    anchors = {len(each) for each in parsed.relations}
    fitting = [
        bucket
        for bucket in BUCKETS
        if _starts(words, bucket.asks)
        and bucket.sides == len(parsed.targets)
        and anchors == {bucket.anchors_per_side}
        and (bucket.type.is_read_by_any_name or bucket.type.naming.fits(*parsed.targets[0]))
    ]
    return max(fitting, key=lambda bucket: len(bucket.asks.head), default=None)
