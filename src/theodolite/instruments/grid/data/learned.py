"""Learned shortcuts: the best map from what an incomplete reasoning sees to the answer.

A named shortcut answers by a fixed rule; a trained model answers by any rule that pays. So each *clue* (a number that leaves out
a part of the question or of the scene) is given the best map to answers: the most frequent answer for each value, learned on a
random half of the scenes and measured on the rest. "One less than without anchor k" is among these maps. Nothing is reduced before: a clue of an
existence question is a count, not yes or no.

look-alikes     objects of the targets' description, anywhere
dropped anchor  those inside the regions of all other anchors
half target     objects of the target's colour alone, or shape alone, in its region
half, dropped   the same without an anchor: inside the regions of all others; alone, and with the dropped-anchor count
half anchor     targets, if an anchor is found by its colour alone, or shape alone; one that fits several objects is not found,
                and its relation is left out
objects         objects in the scene, of the target's colour or shape, and in the valid region
positions       an anchor's direction and line, and the size of the valid region
joint           all counts without any relation at once; look-alikes with those without an anchor
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.definitions import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.data.batch import SceneBatch, Sight, find_anchors, look, look_alikes
from theodolite.instruments.grid.data.question_types import BUCKETS, Bucket
from theodolite.instruments.grid.data.wording import Questions
from theodolite.instruments.grid.data.world import Integers
from theodolite.stats import Estimate, clustered_mean, holm, wilson_interval

FAMILIES = (
    "look-alikes",
    "dropped anchor",
    "half target",
    "half, dropped",
    "half anchor",
    "objects",
    "positions",
    "joint",
)
"""The families of clues, in the order of tables."""
ALLOWED = 0.03
"""How far a learned shortcut may be above the best constant answer."""
_LEVEL = 0.01
"""The adjusted p below which it is above that."""
_SEED = 0
"""Of the order in which scenes are split into halves."""
_CONSTANT, _OTHER_GROUP = "the best constant answer", "the best map from the other group's count"
_HALVES = ("colour", "shape")


@dataclass(frozen=True, slots=True)
class Clue:
    """What a shortcut sees of each scene."""

    family: str
    name: str
    values: Integers
    """(n, numbers)."""
    other_group: Integers | None = None
    """Comparisons: the right count of the group that is left whole, (n,). It alone tells something, so it is the baseline."""


@dataclass(frozen=True, slots=True)
class LearnedShortcut:
    """The best map from one clue, measured on scenes that it was not learned from."""

    family: str
    name: str
    baseline: str
    """What it is held against, in words: the best constant answer; with an `other_group`, the best map from that."""
    accuracy: Estimate
    base: Estimate
    """The accuracy of the baseline."""
    gain: Estimate
    """Accuracy minus that of the baseline."""
    above_constant: Estimate
    """Accuracy minus that of the best constant answer, whatever the baseline."""
    bits: Estimate
    """Information about the answer: mean of log₂ q(answer | clue) / q(answer), with q learned."""
    p_value: float
    """Of the hypothesis that the gain is at most `ALLOWED`."""


def learned_shortcuts(scenes: SceneBatch) -> list[LearnedShortcut]:
    """The best map from every clue, on scenes of one bucket and density; none for fewer than four scenes."""
    if len(scenes) < 4:
        return []
    mixed = scenes.take(
        np.random.default_rng(_SEED).permutation(len(scenes))
    )  # files may have answers in turn
    return [_learn(mixed, clue) for clue in clues(mixed)]


def clues(scenes: SceneBatch) -> Iterator[Clue]:
    """Every clue of one bucket."""
    world, cells, asked = scenes.world, scenes.cells, scenes.questions
    bucket = BUCKETS[int(scenes.bucket[0])]
    sight = look(world, cells, asked)
    alike, truth = _anywhere(cells, asked), sight.counts()
    n_objects = (cells > 0).sum(axis=1)[:, None]
    yield Clue("objects", "objects", n_objects)
    halves: list[Integers] = []
    for half in _HALVES if bucket.names_whole else ():
        half_targets = replace(asked, targets=_half(asked.targets, half))
        half_sight = look(world, cells, half_targets)
        yield Clue("half target", f"target by {half}", half_sight.counts())
        for k in range(bucket.n_anchors):
            seen, name = half_sight.counts(drop=k), f"target by {half} without anchor {k + 1}"
            yield Clue("half, dropped", name, seen)
            both = np.hstack([seen, sight.counts(drop=k)])
            yield Clue("half, dropped", f"{name}, and its count", both, _other_group(bucket, truth, k))
        halves.append(_anywhere(cells, half_targets))
        yield Clue("objects", f"objects of the target's {half}", halves[-1])
        yield from _half_anchors(scenes, bucket, half, truth)
    if not bucket.is_relational:
        return
    yield Clue("look-alikes", "look-alikes", alike)
    yield from _places(scenes, sight, bucket.n_anchors)
    yield Clue("joint", "all counts without relations", np.hstack([alike, *halves, n_objects]))
    for k in range(bucket.n_anchors):
        dropped, other = sight.counts(drop=k), _other_group(bucket, truth, k)
        yield Clue("dropped anchor", f"without anchor {k + 1}", dropped, other)
        yield Clue("joint", f"look-alikes and without anchor {k + 1}", np.hstack([alike, dropped]), other)


def _other_group(bucket: Bucket, truth: Integers, k: int) -> Integers | None:
    """Comparisons: the right count of the group that anchor k does not restrict."""
    return truth[:, 1 - k // bucket.anchors_per_side] if bucket.is_comparison else None


def _half_anchors(scenes: SceneBatch, bucket: Bucket, half: str, truth: Integers) -> Iterator[Clue]:
    asked = scenes.questions
    halved = _half(asked.anchors, half)
    for k in range(bucket.n_anchors):
        anchors = asked.anchors.copy()
        anchors[:, k] = halved[:, k]
        seen = look(scenes.world, scenes.cells, replace(asked, anchors=anchors), gaps=True)
        yield Clue("half anchor", f"anchor {k + 1} by {half}", seen.counts(), _other_group(bucket, truth, k))
    if bucket.n_anchors > 1:
        seen = look(scenes.world, scenes.cells, replace(asked, anchors=halved), gaps=True)
        yield Clue("half anchor", f"anchors by {half}", seen.counts())


def _half(kinds: NDArray[np.uint8], half: str) -> NDArray[np.uint8]:
    """Descriptions by colour alone, or by shape alone."""
    colour, shape = np.divmod(kinds, 5)
    return (5 * colour if half == "colour" else shape).astype(np.uint8)


def _anywhere(cells: NDArray[np.uint8], asked: Questions) -> Integers:
    sides = [
        look_alikes(cells, asked.targets[:, side]) & (asked.targets[:, side] > 0)[:, None] for side in (0, 1)
    ]
    return np.stack([each.sum(axis=1) for each in sides], axis=1)


def _places(scenes: SceneBatch, sight: Sight, n_anchors: int) -> Iterator[Clue]:
    regions = [sight.region(side) for side in range(sight.alike.shape[1])]
    inside = [(region & (scenes.cells > 0)).sum(axis=1) for region in regions]
    yield Clue("objects", "objects in the region", np.stack(inside, axis=1))
    places, _ = find_anchors(scenes.cells, scenes.questions)
    row, column = np.divmod(places, scenes.world.columns)
    ways = scenes.questions.directions[:, :n_anchors].astype(np.int64)
    line = np.where(ways <= 2, column, row)
    for k in range(n_anchors):
        yield Clue("positions", f"line of anchor {k + 1}", np.stack([ways[:, k], line[:, k]], axis=1))
    yield Clue("positions", "size of the region", np.stack([each.sum(axis=1) for each in regions], axis=1))


@dataclass(frozen=True, slots=True)
class _Map:
    """A map learned on every other row, tried on the rest."""

    is_right: NDArray[np.bool_]
    chance: NDArray[np.float64]
    """The probability that it gives to the right answer."""


def _learned(values: Integers, truth: Integers) -> _Map:
    """The most frequent answer for each value; where a value was not seen or answers tie, the more frequent one of all."""
    _, codes = np.unique(values, axis=0, return_inverse=True)
    codes = codes.ravel()
    n_answers = int(truth.max()) + 1
    learn, rest = slice(0, None, 2), slice(1, None, 2)
    table = np.zeros((int(codes.max()) + 1, n_answers))
    np.add.at(table, (codes[learn], truth[learn]), 1)
    prior = (table.sum(axis=0) + 1) / (table.sum() + n_answers)
    best = (table + prior / 2).argmax(axis=1)
    shares = (table + n_answers * prior) / (table.sum(axis=1, keepdims=True) + n_answers)
    return _Map(best[codes[rest]] == truth[rest], shares[codes[rest], truth[rest]])


def _learn(scenes: SceneBatch, clue: Clue) -> LearnedShortcut:
    _, truth = np.unique(scenes.answer, return_inverse=True)
    nothing = np.zeros(len(scenes), np.int64) if clue.other_group is None else clue.other_group
    base, found = _learned(nothing, truth), _learned(clue.values, truth)
    constant = truth[1::2] == np.bincount(truth).argmax()  # of all scenes, not of those learned from
    if clue.other_group is None:
        base = replace(base, is_right=constant)
    bits = np.log2(found.chance / base.chance)
    difference, above = (found.is_right * 1.0 - each for each in (base.is_right, constant))
    n = len(difference)
    gain, above_constant = (clustered_mean(each, bounds=(-1, 1)) for each in (difference, above))
    assert gain is not None and above_constant is not None  # noqa: S101, PT018 - there are scenes
    information = clustered_mean(bits, bounds=None)
    return LearnedShortcut(
        clue.family,
        clue.name,
        _CONSTANT if clue.other_group is None else _OTHER_GROUP,
        wilson_interval(int(found.is_right.sum()), n),
        wilson_interval(int(base.is_right.sum()), n),
        gain,
        above_constant,
        information or Estimate(float(bits.mean()), *(float(bits.mean()),) * 2, n, 0.95, "does not vary"),
        _p_above(difference),
    )


def _p_above(difference: NDArray[np.float64]) -> float:
    """One-sided, by the normal distribution; one scene's worth of variance is added, so that few scenes show nothing."""
    from scipy.stats import norm

    n = len(difference)
    return float(norm.sf((difference.mean() - ALLOWED) / _error(difference.var(), n)))


def _error(variance: float, n: int) -> float:
    return float(np.sqrt((variance + 1 / n) / n))


def least_gain(n: int, n_tests: int) -> float:
    """The smallest gain on n held-out scenes that `broken_promises` finds if it is the only one of `n_tests`; infinite if none is large enough.

    A gain g has the least variance, g − g², if the shortcut is never wrong where its baseline is right; otherwise it must be larger.

    >>> [round(least_gain(n, 800), 2) for n in (2, 25, 200, 2000)]
    [inf, 0.52, 0.14, 0.05]
    """
    from scipy.stats import norm

    needed = norm.isf(_LEVEL / n_tests)
    gains = np.arange(n + 1) / n
    found = [gain for gain in gains if gain - ALLOWED > needed * _error(gain - gain**2, n)]
    return float(found[0]) if found else float("inf")


def broken_promises(found: Sequence[LearnedShortcut]) -> list[LearnedShortcut]:
    """The learned shortcuts that are surely more than `ALLOWED` above the best constant answer (Holm over all given)."""
    if not found:
        return []
    adjusted = holm([each.p_value for each in found])
    return [each for each, p in zip(found, adjusted, strict=True) if p < _LEVEL]


def strongest(found: Sequence[LearnedShortcut], family: str = "") -> LearnedShortcut | None:
    """The learned shortcut with the largest gain, of one family or of all."""
    mine = [each for each in found if family in {"", each.family}]
    return max(mine, key=lambda each: each.gain.value) if mine else None


_PLACE = (Column("data", "data"), Column("bucket", "bucket"), Column("objects", "objects", "count"))


def learned_tables(rows: Sequence[tuple[str, str, int, Sequence[LearnedShortcut]]]) -> list[Table]:
    """The strongest clue of each family: its share of right answers, and its bits.

    Args:
        rows: Data set, bucket, number of objects and learned shortcuts.
    """
    right: list[list[Cell]] = []
    bits: list[list[Cell]] = []
    for data, bucket, objects, found in rows:
        if not found:
            continue
        best = [strongest(found, family) for family in FAMILIES]
        most = max(found, key=lambda each: each.gain.value)
        right.append(
            [
                data,
                bucket,
                objects,
                next(each.base for each in found if each.name == "objects"),
                *(each.accuracy if each else None for each in best),
                most.name,
                most.gain,
                max((each.above_constant for each in found), key=lambda each: each.value),
            ]
        )
        bits.append([data, bucket, objects, *(each.bits if each else None for each in best)])
    shares = [column("grid.learned_success", _name(family), family) for family in FAMILIES]
    notes = [
        "Of each family the clue with the largest gain; each map is measured on scenes it was not learned from.",
        "The baseline is the best constant answer; of a shortcut that counts one group of a comparison rightly, the best map from that count.",
    ]
    return [
        Table.of(
            "grid.learned_shortcuts",
            "Share of right answers by learned shortcut",
            [
                *_PLACE,
                column("grid.learned_success", "constant", "best constant"),
                *shares,
                Column("strongest", "strongest"),
                column("grid.learned_success", "gain", "above its baseline", difference=True),
                column("grid.learned_success", "above_constant", "most above constant", difference=True),
            ],
            right,
            notes,
        ),
        Table.of(
            "grid.learned_information",
            "Bits about the answer by learned shortcut",
            [
                *_PLACE,
                *(column("grid.learned_information", _name(family), family) for family in FAMILIES),
            ],
            bits,
            ["Measured on held-out scenes; below 0, the map learned nothing that holds there."],
        ),
    ]


def _name(family: str) -> str:
    return f"by_{family}".replace(",", "").replace(" ", "_").replace("-", "_")


def every_clue_table(rows: Sequence[tuple[str, str, int, Sequence[LearnedShortcut]]]) -> Table:
    """One row per clue."""
    cells: list[list[Cell]] = [
        [
            data,
            bucket,
            objects,
            each.family,
            each.name,
            each.accuracy,
            each.baseline,
            each.base,
            each.gain,
            each.above_constant,
            each.bits,
        ]
        for data, bucket, objects, found in rows
        for each in found
    ]
    columns = [
        *_PLACE,
        Column("family", "family"),
        Column("clue", "clue"),
        column("grid.learned_success", "right", "right"),
        Column("baseline", "baseline"),
        column("grid.learned_success", "base", "baseline right"),
        column("grid.learned_success", "gain", "above its baseline", difference=True),
        column("grid.learned_success", "above_constant", "above constant", difference=True),
        column("grid.learned_information", "bits", "bits"),
    ]
    return Table.of("grid.clues", "Every learned shortcut", columns, cells)
