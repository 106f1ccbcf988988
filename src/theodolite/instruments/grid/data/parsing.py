"""Questions from their words: the inverse of writing them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.words import PAD, VOCABULARY, Questions, text_of, write_questions
from theodolite.instruments.grid.data.world import (
    BUCKETS,
    COLOURS,
    DIRECTIONS,
    MOST_ANCHORS,
    MOST_SIDES,
    SHAPES,
    Bucket,
    kind_code,
)

_NOUNS = {"object": 0, "objects": 0}
_NOUNS |= {shape: i + 1 for i, shape in enumerate(SHAPES)} | {
    shape + "s": i + 1 for i, shape in enumerate(SHAPES)
}
_DIRECTION = {name.split()[0]: i for i, name in enumerate(DIRECTIONS) if name}
_HEADS = {("how", "many"): "count", ("is", "there", "any"): "exists", ("are", "there", "more"): "compares"}


@dataclass(slots=True)
class _Reading:
    """What has been read of one question."""

    targets: list[tuple[int, int]] = field(default_factory=list)
    relations: list[list[tuple[int, tuple[int, int]]]] = field(default_factory=list)


def read_questions(words: NDArray[np.uint8]) -> Questions:
    """What questions ask, from their word ids, (n, words).

    Raises:
        UsageError: a question follows none of the 19 templates.

    >>> from theodolite.instruments.grid.data.words import words_of
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
    return UsageError(f"{text_of(said)!r} is none of the grid's questions")


def _read_into(read: Questions, row: int, said: NDArray[np.uint8]) -> None:
    words = [VOCABULARY[w] for w in said if w != PAD]
    head = next((form for start, form in _HEADS.items() if tuple(words[: len(start)]) == start), None)
    if head is None:
        raise _unreadable(said)
    reading = _read_phrases(words)
    bucket = _bucket(head, reading)
    if bucket is None:
        raise _unreadable(said)
    read.bucket[row] = BUCKETS.index(bucket)
    for side, kind in enumerate(reading.targets):
        read.targets[row, side] = kind_code(*kind)
    for k, (direction, kind) in enumerate(pair for side in reading.relations for pair in side):
        read.directions[row, k], read.anchors[row, k] = direction, kind_code(*kind)


def _read_phrases(words: list[str]) -> _Reading:
    """Descriptions in their order: a description after a direction is an anchor, any other one a target."""
    reading, colour, direction = _Reading(), 0, 0
    for word in words:
        if word in COLOURS:
            colour = COLOURS.index(word) + 1
        elif word in _DIRECTION:
            direction = _DIRECTION[word]
        elif word in _NOUNS:
            kind = (colour, _NOUNS[word])
            if direction and reading.relations:
                reading.relations[-1].append((direction, kind))
            else:
                reading.targets.append(kind)
                reading.relations.append([])
            colour = direction = 0
    return reading


def _bucket(head: str, reading: _Reading) -> Bucket | None:
    if len(reading.targets) != 1 + (head == "compares"):
        return None
    anchors = len(reading.relations[0])
    if any(len(each) != anchors for each in reading.relations):
        return None
    colour, shape = reading.targets[0]
    form = int(head == "exists")
    if head == "compares":
        found = Bucket("CMP", 0, anchors + 1)
    elif not anchors:
        found = Bucket("A", form, 1)
    else:
        found = Bucket("M" if colour and shape else "CO" if colour else "SO", form, anchors)
    return found if found in BUCKETS else None
