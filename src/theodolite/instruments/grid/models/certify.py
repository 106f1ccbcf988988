"""The certificate of a model of the grid: what it answers, and what changes its answers.

A model's reasoning is known only as far as it has been tested. Four questions decide between evaluating the
question and counting as a bag of words:

- accuracy per bucket and density, on pure and on spurious scenes;
- agreement with the bag of words on pure scenes, where the two differ;
- *direction swap*: every direction turned into its opposite. An evaluator follows to the new answer; a bag of words
  says the same again;
- *distractor removal*: all target look-alikes outside the valid region taken away. An evaluator says the same again;
  a bag of words counts fewer.

Swapped scenes whose new count is 0 are left out and counted: no training scene has that answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Json
from theodolite.instruments.grid.data.batch import SceneBatch, join
from theodolite.instruments.grid.data.evaluate import IS_COUNT, bag_of_words
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.interventions import remove_roles, swap_directions
from theodolite.instruments.grid.data.recipe import Density
from theodolite.instruments.grid.data.world import BUCKET_KEYS, BUCKETS, Mode
from theodolite.stats import Estimate, wilson_interval

__all__ = [
    "ACCURACY",
    "AGREES",
    "FOLLOWS",
    "INVARIANT",
    "KEEPS",
    "Answerer",
    "Certificate",
    "Line",
    "certificate_from_json",
    "certify",
]

Answerer = Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.integer]]
"""From cells ``(n, cells)`` and words ``(n, longest)`` to answer indices ``(n,)``."""

DENSITIES: tuple[Density, ...] = ("sparse", "dense")
_RELATIONAL = np.array([bucket.is_relational for bucket in BUCKETS])
_ROWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: what was asked, where, and the share."""

    what: str
    """One of `ACCURACY`, `AGREES`, `FOLLOWS`, `INVARIANT` and `KEEPS`."""
    data: Mode
    density: str
    bucket: str
    share: Estimate


@dataclass(frozen=True, slots=True)
class Certificate:
    """All lines of one model."""

    model: str
    identity: str
    seed: int
    n: int
    """Scenes per bucket and density behind accuracy; behind each intervention, half as many from each density."""
    lines: tuple[Line, ...]
    left_out: int
    """Swapped scenes without a target left: no scene of training asks for 0."""

    def pooled(self, what: str, data: Mode, *, relational: bool = False) -> float:
        """The mean over buckets and densities of one kind of line."""
        found = [
            line.share.value
            for line in self.lines
            if line.what == what
            and line.data == data
            and (not relational or BUCKETS[BUCKET_KEYS.index(line.bucket)].is_relational)
        ]
        return float(np.mean(found))

    def lowest(self, what: str, data: Mode) -> Line:
        """The worst bucket of one kind of line."""
        return min(
            (line for line in self.lines if line.what == what and line.data == data),
            key=lambda x: x.share.value,
        )

    def as_json(self) -> dict[str, Json]:
        """The certificate as it lies beside the weights."""
        return {
            "model": self.model,
            "identity": self.identity,
            "seed": self.seed,
            "n": self.n,
            "left_out": self.left_out,
            "lines": [
                {
                    "what": line.what,
                    "data": line.data,
                    "density": line.density,
                    "bucket": line.bucket,
                    "share": round(line.share.value, 5),
                    "low": round(line.share.low, 5),
                    "high": round(line.share.high, 5),
                    "n": line.share.n,
                }
                for line in self.lines
            ],
        }


def certificate_from_json(value: Any) -> Certificate:
    """The inverse of `Certificate.as_json`.

    Raises:
        UsageError: it is something else.
    """
    try:
        lines = tuple(
            Line(
                str(line["what"]),
                line["data"],
                str(line["density"]),
                str(line["bucket"]),
                Estimate(line["share"], line["low"], line["high"], int(line["n"]), 0.95, "Wilson"),
            )
            for line in value["lines"]
        )
        return Certificate(
            str(value["model"]),
            str(value["identity"]),
            int(value["seed"]),
            int(value["n"]),
            lines,
            int(value["left_out"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"this is no certificate of the grid: {error!r}") from error


ACCURACY = "accuracy"
AGREES = "agrees with the bag of words"
FOLLOWS = "follows swapped directions"
INVARIANT = "same answer with directions swapped"
KEEPS = "same answer without distractors"


def certify(
    answer: Answerer,
    *,
    model: str,
    identity: str,
    n: int = 1000,
    seed: int = 2026,
    progress: Callable[[int, int], None] | None = None,
) -> Certificate:
    """Tests a model on fresh scenes of the test split, which no training stream ever holds.

    Args:
        answer: The model.
        model: Its name, for the record.
        identity: Its weights' hash, for the record.
        n: Scenes per bucket and density.
        seed: Of the scenes.
        progress: Called with scenes answered and scenes in all.
    """
    if n < 2:
        raise UsageError(f"a certificate needs at least 2 scenes a bucket, not {n}")
    desk = _Desk(answer, n, progress)
    lines: list[Line] = []
    for data in ("pure", "spur"):
        for density in DENSITIES:
            scenes = generate(n=n, mode=data, density=density, seed=seed, split="test")
            said = desk.ask(scenes)
            lines += _lines(ACCURACY, data, str(density), scenes, said == scenes.answer)
            if data == "pure":
                shortcut = bag_of_words(scenes.world, scenes.cells, scenes.questions)
                lines += _lines(AGREES, data, str(density), scenes, said == shortcut)
    few = join(
        [generate(n=-(-n // 2), mode="pure", density=d, seed=seed + 1, split="test") for d in DENSITIES]
    )
    few = few.take(_RELATIONAL[few.bucket])
    before = desk.ask(few)
    swapped = swap_directions(few)
    is_asked = (swapped.answer > 0) | ~IS_COUNT[swapped.bucket]
    after = desk.ask(swapped)
    lines += _lines(FOLLOWS, "pure", "both", swapped.take(is_asked), (after == swapped.answer)[is_asked])
    lines += _lines(INVARIANT, "pure", "both", few, after == before)
    lines += _lines(KEEPS, "pure", "both", few, desk.ask(remove_roles(few, ["adversarial"])) == before)
    return Certificate(model, identity, seed, n, tuple(lines), int((~is_asked).sum()))


class _Desk:
    """Asks in portions and tells how far it is."""

    def __init__(self, answer: Answerer, n: int, progress: Callable[[int, int], None] | None) -> None:
        self.answer = answer
        self.done = 0
        self.total = n * (4 * len(BUCKETS) + 3 * int(_RELATIONAL.sum()))
        self.progress = progress

    def ask(self, scenes: SceneBatch) -> NDArray[np.integer]:
        said = []
        for start in range(0, len(scenes), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            said.append(self.answer(scenes.cells[some], scenes.words[some]))
            self.done += len(said[-1])
            if self.progress:
                self.progress(self.done, self.total)
        return np.concatenate(said)


def _lines(what: str, data: Mode, density: str, scenes: SceneBatch, is_so: NDArray[np.bool_]) -> list[Line]:
    return [
        Line(
            what, data, density, BUCKET_KEYS[index], wilson_interval(int(is_so[rows].sum()), int(rows.sum()))
        )
        for index in np.unique(scenes.bucket)
        for rows in [scenes.bucket == index]
    ]
