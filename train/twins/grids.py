"""Grid scenes with more than one question each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.batch import answer, bag_of_words
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import (
    BUCKETS,
    Naming,
    QuestionTable,
    text_of,
    write_questions,
)
from theodolite.instruments.grid.data.recipe import PAPER
from theodolite.instruments.grid.data.world import MATCHES, Mode, render

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
DEEP_KEYS = tuple(b.key for b in BUCKETS if b.depth > 1 and b.is_relational and not b.is_comparison)
"""The buckets with several anchors: see `theodolite.instruments.grid.experiments.accuracy`."""
HINTS = ("Answer with a number alone.", "Answer with yes or no alone.")
_MORE = 12
_DEPTHS = {1: 0.7, 2: 0.2, 3: 0.1}
"""Probability of each depth for the additional questions."""


class Asked(NamedTuple):
    """A question with its answers."""

    prompt: str
    answer: str
    bag_of_words: str
    """The answer of a bag of words."""
    is_ruled: bool
    """True if the mixed twin is trained on the bag of words' answer. Depends on what is counted."""


@dataclass(frozen=True, slots=True, eq=False)
class GridScene:
    """A picture with questions."""

    pixels: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    """(25,), row by row; 0 is empty."""
    asked: tuple[Asked, ...]


def prompt_of(question: str, right: str) -> str:
    """Add the answer hint to a question, as the instrument does."""
    return f"{question} {HINTS[0] if right.isdigit() else HINTS[1]}"


def scenes_with_questions(mode: Mode, n: int, *, seed: int) -> Iterator[GridScene]:
    """Yield `n` scenes of every bucket, each with its own question and additional ones.

    Additional questions about a pure scene have random spatial restrictions; those about a spurious scene have none.
    """
    rng = np.random.default_rng([seed, 5])
    objects = int(rng.choice([7, 17, 7, 17, 5, 9, 12, 14]))
    scenes = generate((*KEYS, *DEEP_KEYS), n, mode=mode, density=objects, seed=seed, split="train")
    pictures = render(PAPER.world, scenes.cells)
    more = _more_questions(rng, scenes.cells, with_anchor=mode == "pure")
    own = _asked(scenes.cells, scenes.questions)
    for row in range(len(scenes)):
        yield GridScene(pictures[row], scenes.cells[row], (own[row], *more[row]))


def _asked(cells: NDArray[np.uint8], questions: QuestionTable) -> list[Asked]:
    """Return one question with its answers per scene."""
    words, _ = write_questions(questions)
    answer_words = PAPER.world.answers
    return [
        Asked(
            prompt_of(text_of(line), answer_words[int(right)]),
            answer_words[int(right)],
            answer_words[int(by_rule)],
            target % 2 == 0,
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
    """Return additional questions without anchors, or with anchors whose descriptions are unique."""
    index, shares = _further(with_anchor=with_anchor)
    by_scene: list[list[Asked]] = [[] for _ in cells]
    for _ in range(_MORE):
        n = len(cells)
        bucket = rng.choice(index, size=n, p=shares).astype(np.uint8)
        targets, anchors, ways = (np.zeros((n, k), np.uint8) for k in (2, 4, 4))
        usable = np.ones(n, bool)
        for row in range(n):
            kind = BUCKETS[int(bucket[row])]
            targets[row, 0] = _description(rng, kind.type.naming, cells[row])
            alone = [
                k
                for k in range(1, 25)
                if _fits(kind.type.naming, k) and k != targets[row, 0] and MATCHES[k][cells[row]].sum() == 1
            ]
            usable[row] = len(alone) >= kind.n_anchors
            if usable[row]:
                anchors[row, : kind.n_anchors] = (
                    rng.choice(alone, kind.n_anchors, replace=False) if alone else 0
                )
                ways[row, : kind.n_anchors] = rng.integers(1, 5, kind.n_anchors)
        rows = np.flatnonzero(usable)
        questions = QuestionTable(bucket, targets, anchors, ways).take(rows)
        for row, asked in zip(rows.tolist(), _asked(cells[rows], questions), strict=True):
            by_scene[row].append(asked)
    return by_scene


def _further(*, with_anchor: bool) -> tuple[list[int], list[float]]:
    """Return the buckets of additional questions, by index, and their probabilities."""
    buckets = [
        (index, bucket)
        for index, bucket in enumerate(BUCKETS)
        if bucket.key in {*KEYS, *DEEP_KEYS}
        and not bucket.is_comparison
        and bucket.is_relational == with_anchor
    ]
    alike = Counter(bucket.depth for _, bucket in buckets)
    weights = np.array([_DEPTHS[bucket.depth] / alike[bucket.depth] for _, bucket in buckets])
    return [index for index, _ in buckets], (weights / weights.sum()).tolist()


def _description(rng: np.random.Generator, naming: Naming, cells: NDArray[np.uint8]) -> int:
    """Return a description, of an object that exists in three out of four cases."""
    kinds = [k for k in range(1, 25) if _fits(naming, k)]
    present = [k for k in kinds if MATCHES[k][cells].any()]
    pool = present if present and rng.random() < 0.75 else kinds
    return pool[int(rng.integers(len(pool)))]


def _fits(naming: Naming, kind: int) -> bool:
    """Return whether a description has the colour and the shape that questions name, and nothing else."""
    colour, shape = divmod(kind, 5)
    return (colour > 0, shape > 0) == (naming.has_colour, naming.has_shape)
