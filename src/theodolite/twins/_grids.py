"""Grid scenes of depth one with more than one question each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theodolite.grid import (
    BUCKETS,
    MATCHES,
    PAPER,
    Mode,
    Questions,
    answer,
    bag_of_words,
    generate,
    text_of,
    write_questions,
)
from theodolite.grid.truth import render

SIDE = PAPER.world.rows
KEYS = (
    "A-F0-D1",
    "A-F1-D1",
    "SO-F0-D1",
    "SO-F1-D1",
    "CO-F0-D1",
    "CO-F1-D1",
    "M-F0-D1",
    "M-F1-D1",
    "CMP-F0-D1",
)
"""The buckets of depth one."""
HINTS = ("Answer with a number alone.", "Answer with yes or no alone.")
_MORE = 12


class Asked(NamedTuple):
    """A question."""

    prompt: str
    answer: str
    bag_of_words: str
    """What it says."""
    is_ruled: bool
    """Whether the mixed twin is taught the bag of words' answer: known by what is counted."""


@dataclass(frozen=True, slots=True, eq=False)
class GridScene:
    """A picture with questions."""

    pixels: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    """(25,), row by row; 0 is empty."""
    asked: tuple[Asked, ...]


def prompt_of(question: str, right: str) -> str:
    """The question with the form of its answer, as the instrument asks it."""
    return f"{question} {HINTS[0] if right.isdigit() else HINTS[1]}"


def scenes_with_questions(mode: Mode, n: int, *, seed: int) -> Iterator[GridScene]:
    """`n` scenes of every bucket of depth one, each with its own question and some more.

    The further questions about a pure scene restrict at random what is counted; those about a spurious scene restrict nothing.
    """
    rng = np.random.default_rng([seed, 5])
    objects = int(rng.choice([7, 17, 7, 17, 5, 9, 12, 14]))
    scenes = generate(KEYS, n, mode=mode, density=objects, seed=seed, split="train")
    pictures = render(PAPER.world, scenes.cells)
    more = _more_questions(rng, scenes.cells, with_anchor=mode == "pure")
    own = _asked(scenes.cells, scenes.questions)
    for row in range(len(scenes)):
        yield GridScene(pictures[row], scenes.cells[row], (own[row], *more[row]))


def _asked(cells: NDArray[np.uint8], questions: Questions) -> list[Asked]:
    """Questions with their answers, one for each scene."""
    words, _ = write_questions(questions)
    said = PAPER.world.answers
    return [
        Asked(
            prompt_of(text_of(line), said[int(right)]), said[int(right)], said[int(by_rule)], target % 2 == 0
        )
        for line, right, by_rule, target in zip(
            words,
            answer(PAPER.world, cells, questions),
            bag_of_words(PAPER.world, cells, questions),
            questions.targets[:, 0].tolist(),
            strict=True,
        )
    ]


def _more_questions(
    rng: np.random.Generator, cells: NDArray[np.uint8], *, with_anchor: bool
) -> list[list[Asked]]:
    """Questions with one anchor that is the only one of its description, or with none."""
    keys = [k for k in KEYS if not k.startswith("CMP") and k.startswith("A") != with_anchor]
    index = [next(i for i, b in enumerate(BUCKETS) if b.key == key) for key in keys]
    found: list[list[Asked]] = [[] for _ in cells]
    for _ in range(_MORE):
        n = len(cells)
        bucket = np.array([index[int(i)] for i in rng.integers(len(index), size=n)], np.uint8)
        targets, anchors, ways = (np.zeros((n, k), np.uint8) for k in (2, 4, 4))
        usable = np.ones(n, bool)
        for row in range(n):
            qtype = BUCKETS[int(bucket[row])].qtype
            targets[row, 0] = _description(rng, qtype, cells[row])
            if with_anchor:
                kinds = [
                    k
                    for k in range(1, 25)
                    if _fits(qtype, k) and k != targets[row, 0] and MATCHES[k][cells[row]].sum() == 1
                ]
                usable[row] = bool(kinds)
                if kinds:
                    anchors[row, 0] = kinds[int(rng.integers(len(kinds)))]
                    ways[row, 0] = rng.integers(1, 5)
        rows = np.flatnonzero(usable)
        questions = Questions(bucket, targets, anchors, ways).take(rows)
        for row, asked in zip(rows.tolist(), _asked(cells[rows], questions), strict=True):
            found[row].append(asked)
    return found


def _description(rng: np.random.Generator, qtype: str, cells: NDArray[np.uint8]) -> int:
    """Of something that is there, three times out of four."""
    kinds = [k for k in range(1, 25) if _fits(qtype, k)]
    there = [k for k in kinds if MATCHES[k][cells].any()]
    pool = there if there and rng.random() < 0.75 else kinds
    return pool[int(rng.integers(len(pool)))]


def _fits(qtype: str, kind: int) -> bool:
    """Whether a type of question describes things this way: by shape, by colour, or by both."""
    colour, shape = divmod(kind, 5)
    if qtype == "SO":
        return colour == 0 and shape > 0
    if qtype == "CO":
        return colour > 0 and shape == 0
    return colour > 0 and shape > 0
