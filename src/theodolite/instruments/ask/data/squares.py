"""Generated pictures of coloured squares: where is one square relative to another?

The questions cannot be answered without the picture: the four answers are equally frequent for every pair of colours.
Distractors have the same size and other colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Pixels
from theodolite.instruments.ask.data.questions import Question
from theodolite.models import PAINTS

_SIDE = 224
_SQUARE = 40
DIRECTIONS = ("left", "right", "above", "below")
_STEP = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}


def make_squares(n: int, *, seed: int = 0) -> Iterator[Question]:
    """Generate questions with pictures. The four answers alternate.

    Args:
        n: Number of questions.
        seed: Seed of positions, distractors and backgrounds.

    >>> [question.answer for question in make_squares(4)]
    ['left', 'right', 'above', 'below']
    """
    if n < 1:
        raise UsageError(f"--size must be at least 1, not {n}")
    pairs = list(permutations(PAINTS, 2))
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        answer = DIRECTIONS[i % 4]
        target, reference = pairs[(i // 4) % len(pairs)]
        yield Question(
            id=f"square-{i:05d}",
            question=f"Where is the {target} square relative to the {reference} square?",
            answer=answer,
            pictures=(Picture.from_array(_draw(rng, target, reference, answer)),),
            options=DIRECTIONS,
            group="left or right" if answer in {"left", "right"} else "above or below",
        )


def _draw(rng: np.random.Generator, target: str, reference: str, answer: str) -> Pixels:
    """Draw target and reference far apart along the axis of the answer and close across it, and up to two distractors."""
    along = rng.integers(_SQUARE + 20, _SIDE - _SQUARE - 4)
    across = rng.integers(-along // 3, along // 3 + 1)
    step = np.array(_STEP[answer])
    offset = step * along + np.abs(step[::-1]) * across
    low, high = np.maximum(0, -offset), _SIDE - _SQUARE - np.maximum(0, offset)
    corner = rng.integers(low, high + 1)
    placed = [(reference, corner), (target, corner + offset)]
    others = [name for name in PAINTS if name not in {target, reference}]
    for name in rng.permutation(others)[: rng.integers(0, 3)]:
        spot = rng.integers(0, _SIDE - _SQUARE + 1, size=2)
        if all(np.abs(spot - taken).max() > _SQUARE + 2 for _, taken in placed):
            placed.append((str(name), spot))
    pixels = (
        np.clip(225 + 12 * rng.standard_normal((_SIDE, _SIDE, 1)), 0, 255).astype(np.uint8).repeat(3, axis=2)
    )
    for name, (x, y) in placed:
        pixels[y : y + _SQUARE, x : x + _SQUARE] = PAINTS[name]
    return pixels
