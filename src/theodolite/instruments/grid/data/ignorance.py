r"""What can be learned of the answer while one thing is left out.

An *ignorance* is one part of a question that an observer leaves out: a half of the target's description or all of it, an anchor, half of
an anchor's description, a direction, a group. The observer sees the whole scene and everything else. Of each object it knows which of the
other parts hold: whether it fits the rest of the description, and on which side of every other anchor it lies. `view` puts that into
numbers, and two generic learners, gradient boosting and a small network, look for the answer in them. Nothing tells them where to look.

A learner is measured on scenes that it was not fitted to (cross-validation). Where no learner gains, `least_gain` says which gain they
could have shown with so many scenes. The learners need scikit-learn, the extra ``audit``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import MissingExtraError
from theodolite.instruments.grid.data.balanced import balance_of
from theodolite.instruments.grid.data.batch import SceneBatch, find_anchors, look, look_alikes
from theodolite.instruments.grid.data.question_types import BUCKETS, Bucket
from theodolite.instruments.grid.data.recipe import GridRecipe
from theodolite.instruments.grid.data.world import (
    COLOUR_OF,
    COLOURS,
    N_CLASSES,
    SHAPE_OF,
    SHAPES,
    Flags,
    Integers,
)
from theodolite.stats import Estimate, clustered_mean, holm, wilson_interval

FAMILIES = ("half target", "target", "word", "direction", "anchor", "places", "half anchor", "group")
"""The families of ignorances, in the order of tables."""
ALLOWED = 0.03
"""How far a learned shortcut may be above its baseline."""
LEAST_SCENES = 100
"""Of fewer scenes of a bucket nothing is learned."""
LEARNERS = ("boosting", "network")
_LEVEL = 0.01
"""The adjusted p below which a shortcut is above what is allowed."""
_FOLDS = 4
_SEED = 0
"""Of folds and learners."""
_MOST_CANDIDATES = 4
_HALVES = ("colour", "shape")
_CONSTANT, _OTHER_GROUP = "the best constant answer", "the best map from the other group's count"


@dataclass(frozen=True, slots=True)
class Ignorance:
    """One part of a question that is left out."""

    family: str
    name: str
    side: int
    """The group of targets that it belongs to, from 0."""
    anchor: int = -1
    """The anchor that it is about, from 0; −1 if it is about the target."""
    half: str = ""
    """``colour`` or ``shape`` where half a description is left out."""


def ignorances(bucket: Bucket) -> Iterator[Ignorance]:
    """Yield every ignorance of a bucket.

    >>> from theodolite.instruments.grid.data.question_types import bucket_index
    >>> [each.name for each in ignorances(BUCKETS[bucket_index("SO-F0-D1")])]
    ['the target', 'anchor 1', 'anchor 1, with places', 'direction 1']
    """
    for side in range(bucket.sides):
        target = f"target {side + 1}" if bucket.is_comparison else "the target"
        if bucket.names_whole:
            for half in _HALVES:
                yield Ignorance("half target", f"{target}'s {half}", side, half=half)
                yield Ignorance("word", f"{target}'s {half}, unread", side, half=half)
        if bucket.is_relational or bucket.names_whole:
            yield Ignorance("target", target, side)
        for k in range(side * bucket.anchors_per_side, (side + 1) * bucket.anchors_per_side):
            yield Ignorance("anchor", f"anchor {k + 1}", side, k)
            yield Ignorance("places", f"anchor {k + 1}, with places", side, k)
            for half in _HALVES if bucket.names_whole else ():
                yield Ignorance("half anchor", f"anchor {k + 1}'s {half}", side, k, half)
            yield Ignorance("direction", f"direction {k + 1}", side, k)
    if bucket.is_comparison:
        for side, name in enumerate(("the first group", "the second group")):
            yield Ignorance("group", name, side)


def chance_above(ignorance: Ignorance, bucket: Bucket, objects: int, recipe: GridRecipe) -> float | None:
    """Return how far above its baseline an ignorance can be right by the law of the preset ``sound``; None if nothing is promised.

    Args:
        ignorance: What is left out.
        bucket: Of the questions.
        objects: Number of objects in a scene.
        recipe: The parameters of the generator. Only the law without shortcuts promises anything.

    >>> from theodolite.instruments.grid.data.recipe import SOUND
    >>> from theodolite.instruments.grid.data.question_types import bucket_index
    >>> bucket = BUCKETS[bucket_index("SO-F0-D2")]
    >>> [(each.name, chance_above(each, bucket, 17, SOUND)) for each in ignorances(bucket)][1:4]
    [('anchor 1', 0.0), ('anchor 1, with places', None), ('direction 1', 0.333...)]
    """
    if recipe.law != "balanced":
        return None
    balance, family = balance_of(bucket, objects, recipe), ignorance.family
    constant = 1 / (balance.most + 1) if bucket.is_count else 1 / 2
    if family in {"target", "half target"}:
        return 0.0 if family == "target" or balance.has_halves else None
    if family == "group":  # n₁ of 1 to m is as frequent for both answers; n₂ of 0 or m belongs to one
        return 1 / (2 * balance.most) if ignorance.side == 0 else 0.0
    if family == "anchor":  # of three, each of the two on one axis holds for all units in half of the scenes
        return (1 - constant) / 3 if bucket.anchors_per_side > 2 else 0.0
    if family in {"word", "direction"} and not bucket.is_comparison:
        is_known = family == "word" or bucket.anchors_per_side <= 2
        return (balance.unread - constant if bucket.is_count else 0.0) if is_known else None
    return None


def view(scenes: SceneBatch, ignorance: Ignorance) -> NDArray[np.float32]:
    """Return what an observer sees of scenes of one bucket, (n, numbers).

    For each group of targets: how many objects there are of each combination of the parts that it knows. Further what is told by the
    question apart from the ignored part, how many objects of each colour, shape and class there are, and which cells are taken.
    """
    cells, bucket = scenes.cells, BUCKETS[int(scenes.bucket[0])]
    n, taken = len(cells), cells > 0
    positions, _ = find_anchors(cells, scenes.questions)
    parts: list[NDArray[np.generic]] = [taken, taken.sum(axis=1)[:, None]]
    for side in range(bucket.sides):
        is_hidden = side == ignorance.side
        if is_hidden and ignorance.family == "group":
            continue
        parts += _told(scenes, ignorance, side, positions)
        code, size = _known(scenes, ignorance, side, positions)
        table = np.zeros((n, size), np.int64)
        np.add.at(table, (np.nonzero(taken)[0], code[taken]), 1)
        parts.append(table)
        if is_hidden and ignorance.family in {"word", "direction", "half anchor", "places"}:
            parts.append(_completions(scenes, ignorance, positions))
    classes = np.stack([(cells == each).sum(axis=1) for each in range(1, N_CLASSES + 1)], axis=1)
    by_colour = classes.reshape(n, len(COLOURS), len(SHAPES))
    of_halves = {"shape": by_colour.sum(axis=1), "colour": by_colour.sum(axis=2)}
    if ignorance.family == "half target":  # blind to it, not only deaf
        parts.append(of_halves["colour" if ignorance.half == "shape" else "shape"])
    elif ignorance.family != "target":
        parts += [classes, *of_halves.values()]
    return np.concatenate(parts, axis=1).astype(np.float32)


def _is_hidden(ignorance: Ignorance, side: int, half: str) -> bool:
    """Return whether a half of the description of a group's target is left out."""
    return side == ignorance.side and ignorance.anchor < 0 and ignorance.half in {half, ""}


def _known(scenes: SceneBatch, ignorance: Ignorance, side: int, positions: Integers) -> tuple[Integers, int]:
    """Return which of the known parts each object has, for one group, as a number (n, cells), and how many numbers there are."""
    asked, bucket = scenes.questions, BUCKETS[int(scenes.bucket[0])]
    sight = look(scenes.world, scenes.cells, asked)
    code, size = np.zeros(scenes.cells.shape, np.int64), 1
    for half, of_class in _descriptions(bucket):
        if not _is_hidden(ignorance, side, half):
            named = _half(asked.targets[:, side], half)
            code, size = 2 * code + (of_class[scenes.cells] == named[:, None]), 2 * size
    for k in range(side * bucket.anchors_per_side, (side + 1) * bucket.anchors_per_side):
        if k != ignorance.anchor:
            code, size = 2 * code + sight.valid[:, k], 2 * size
    if side == ignorance.side and ignorance.family == "direction":
        code, size = 9 * code + _sectors(scenes, positions[:, ignorance.anchor]), 9 * size
    return code, size


def _descriptions(bucket: Bucket) -> list[tuple[str, NDArray[np.uint8]]]:
    naming = bucket.type.naming
    has = {"colour": naming.has_colour, "shape": naming.has_shape}
    return [(half, of_class) for half, of_class in _OF.items() if has[half]]


_OF = {"colour": COLOUR_OF, "shape": SHAPE_OF}


def _fits(scenes: SceneBatch, kinds: NDArray[np.uint8], half: str) -> Flags:
    """Return which objects fit one half of a description, (n, cells)."""
    return np.asarray((_OF[half][scenes.cells] == _half(kinds, half)[:, None]) & (scenes.cells > 0))


def _half(kinds: NDArray[np.uint8], half: str) -> NDArray[np.uint8]:
    """Return the colours or the shapes of descriptions, 1 to 4; 0 where there is none."""
    colour, shape = np.divmod(kinds, 5)
    return colour if half == "colour" else shape


def _told(
    scenes: SceneBatch, ignorance: Ignorance, side: int, positions: Integers
) -> list[NDArray[np.generic]]:
    """Return what the question tells of a group: colour and shape, and of each anchor its direction, and the row and column where it is found."""
    asked, bucket = scenes.questions, BUCKETS[int(scenes.bucket[0])]
    told: list[NDArray[np.generic]] = [
        _half(asked.targets[:, side], half)[:, None] == np.arange(1, 5)
        for half, _ in _descriptions(bucket)
        if not _is_hidden(ignorance, side, half)
    ]
    for k in range(side * bucket.anchors_per_side, (side + 1) * bucket.anchors_per_side):
        is_ignored = k == ignorance.anchor
        if not (is_ignored and ignorance.family == "direction"):
            told.append(asked.directions[:, k, None] == np.arange(1, 5))
        if not is_ignored or ignorance.family == "direction":
            told.append(np.stack(np.divmod(positions[:, k], scenes.world.columns), axis=1))
    return told


def _sectors(scenes: SceneBatch, anchor: Integers) -> Integers:
    """Return on which side of an anchor each cell lies, by row and by column: 0 to 8, (n, cells)."""
    row, column = np.divmod(np.arange(scenes.world.n_cells), scenes.world.columns)
    own_row, own_column = np.divmod(anchor[:, None], scenes.world.columns)
    return np.asarray(4 + 3 * np.sign(row - own_row) + np.sign(column - own_column))


def _completions(scenes: SceneBatch, ignorance: Ignorance, positions: Integers) -> NDArray[np.generic]:
    """Return how many targets there would be for each completion of the ignored part.

    *Word*: each colour or shape, and how many objects have it in all. *Direction*: each of the four. *Half anchor*: each object that fits the other half, the most central first; beyond four, none.
    *Places*: how many look-alikes there are in each row and column.
    """
    world, cells, asked = scenes.world, scenes.cells, scenes.questions
    k, side = ignorance.anchor, ignorance.side
    sight = look(world, cells, asked)
    if ignorance.family == "word":
        other = "shape" if ignorance.half == "colour" else "colour"
        fits, of_class = _fits(scenes, asked.targets[:, side], other), _OF[ignorance.half]
        masks = [fits & (of_class[cells] == value) for value in range(1, 5)]
        inside = np.stack([(mask & sight.region(side)).sum(axis=1) for mask in masks], axis=1)
        every = np.stack([mask.sum(axis=1) for mask in masks], axis=1)
        return np.concatenate([inside, np.sort(inside, axis=1), every, np.sort(every, axis=1)], axis=1)
    rest = sight.alike[:, side] & sight.region(side, drop=k)
    row, column = np.divmod(np.arange(world.n_cells), world.columns)
    rows = np.stack([(rest & (row == i)).sum(axis=1) for i in range(world.rows)], axis=1)
    columns = np.stack([(rest & (column == i)).sum(axis=1) for i in range(world.columns)], axis=1)
    if ignorance.family == "places":
        return np.concatenate([rows, columns], axis=1)
    if ignorance.family == "direction":
        own_row, own_column = np.divmod(positions[:, k, None], world.columns)
        sides = (column < own_column, column > own_column, row < own_row, row > own_row)
        counts = np.stack([(rest & each).sum(axis=1) for each in sides], axis=1)
        return np.concatenate([counts, np.sort(counts, axis=1)], axis=1)
    other = "shape" if ignorance.half == "colour" else "colour"
    fits = _fits(scenes, asked.anchors[:, k], other)
    for j in range(asked.anchors.shape[1]):
        if j != k and j < positions.shape[1]:
            fits &= ~look_alikes(cells, asked.anchors[:, j])
    order = np.argsort(abs(row - world.rows // 2) + abs(column - world.columns // 2), kind="stable")
    way = asked.directions[:, k, None]
    found = np.full((len(cells), _MOST_CANDIDATES), -1, np.int64)
    number = np.zeros(len(cells), np.int64)
    for cell in order.tolist():
        is_there = fits[:, cell] & (number < _MOST_CANDIDATES)
        own_row, own_column = divmod(cell, world.columns)
        lies = np.select(
            [way == 1, way == 2, way == 3],
            [column < own_column, column > own_column, row < own_row],
            row > own_row,
        )
        found[is_there, number[is_there]] = (rest & lies).sum(axis=1)[is_there]
        number += is_there
    return np.concatenate([found, np.sort(found, axis=1), fits.sum(axis=1)[:, None]], axis=1)


# Learners, on folds.


@dataclass(frozen=True, slots=True)
class LearnedShortcut:
    """What one learner got out of one ignorance, on scenes that it was not fitted to."""

    family: str
    name: str
    """What is left out."""
    learner: str
    baseline: str
    """What it is held against, in words: the best constant answer; in comparisons, the best map from the count of the group that is whole."""
    accuracy: Estimate
    base: Estimate
    """The accuracy of the baseline."""
    gain: Estimate
    """Accuracy minus that of the baseline."""
    above_constant: Estimate
    """Accuracy minus that of the best constant answer, whatever the baseline."""
    chance_above: float | None
    """How far above its baseline it may be by the law of the scenes; None if nothing is promised of it."""
    p_value: float
    """Of the hypothesis that the gain is at most `ALLOWED` more than that."""


def can_learn() -> bool:
    """Return whether the learners are installed."""
    return find_spec("sklearn") is not None


def learned_shortcuts(
    scenes: SceneBatch, recipe: GridRecipe | None = None, *, families: Sequence[str] = FAMILIES
) -> list[LearnedShortcut]:
    """Return what the learners get out of every ignorance, on scenes of one bucket and density.

    Args:
        scenes: Scenes of one bucket and density. Of fewer than `LEAST_SCENES`, nothing is learned.
        recipe: How they were made, for what is promised. None: nothing is.
        families: Only ignorances of these families.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    if len(scenes) < LEAST_SCENES:
        return []
    if not can_learn():
        raise MissingExtraError("scikit-learn", "audit", "learning shortcuts")
    rng = np.random.default_rng(_SEED)
    mixed = scenes.take(rng.permutation(len(scenes)))  # files may have answers in turn
    bucket = BUCKETS[int(mixed.bucket[0])]
    _, truth = np.unique(mixed.answer, return_inverse=True)
    constant = truth == np.bincount(truth).argmax()
    counts = look(mixed.world, mixed.cells, mixed.questions).counts()
    found = []
    for ignorance in ignorances(bucket):
        if ignorance.family not in families:
            continue
        base, baseline = constant, _CONSTANT
        if bucket.is_comparison and ignorance.family != "group":
            base, baseline = _mapped(counts[:, 1 - ignorance.side], truth), _OTHER_GROUP
        chance = None
        if recipe is not None and scenes.mode == "pure":
            chance = chance_above(ignorance, bucket, int(scenes.objects.max()), recipe)
        seen = view(mixed, ignorance)
        for learner in LEARNERS:
            is_right = _predicted(seen, truth, learner) == truth
            above, above_constant = is_right * 1.0 - base, is_right * 1.0 - constant
            gain, over = (clustered_mean(each, bounds=(-1, 1)) for each in (above, above_constant))
            assert gain is not None and over is not None  # noqa: S101, PT018 - there are scenes
            right, right_base = (wilson_interval(int(each.sum()), len(each)) for each in (is_right, base))
            shares = (right, right_base, gain, over)
            p_value = _p_above(above - (chance or 0.0))
            what = (ignorance.family, ignorance.name, learner, baseline)
            found.append(LearnedShortcut(*what, *shares, chance, p_value))
    return found


def _mapped(values: Integers, truth: Integers) -> NDArray[np.bool_]:
    """Return where the most frequent answer for each value, learned on the other folds, is right."""
    is_right = np.zeros(len(truth), bool)
    for fold in range(_FOLDS):
        rest = np.arange(len(truth)) % _FOLDS == fold
        table = np.zeros((int(values.max()) + 1, int(truth.max()) + 1))
        np.add.at(table, (values[~rest], truth[~rest]), 1)
        is_right[rest] = table[values[rest]].argmax(axis=1) == truth[rest]
    return is_right


def _predicted(seen: NDArray[np.float32], truth: Integers, learner: str) -> Integers:
    """Return the answers that a learner predicts for each fold, fitted to the other folds."""
    import warnings

    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    varies = seen.std(axis=0) > 0
    seen = seen[:, varies] if varies.any() else seen[:, :1]
    scaled = (seen - seen.mean(axis=0)) / np.maximum(seen.std(axis=0), 1e-6)
    said = np.zeros(len(truth), np.int64)
    for fold in range(_FOLDS):
        rest = np.arange(len(truth)) % _FOLDS == fold
        if len(np.unique(truth[~rest])) < 2:
            said[rest] = truth[~rest][0]
            continue
        model = (
            HistGradientBoostingClassifier(
                max_iter=60, max_leaf_nodes=10, learning_rate=0.15, early_stopping=False, random_state=_SEED
            )
            if learner == "boosting"
            else MLPClassifier((32,), max_iter=30, learning_rate_init=5e-3, alpha=0.1, random_state=_SEED)
        )
        values = seen if learner == "boosting" else scaled
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            said[rest] = model.fit(values[~rest], truth[~rest]).predict(values[rest])
    return said


def _p_above(difference: NDArray[np.float64]) -> float:
    """Return the one-sided p of a gain of at most `ALLOWED`, by the normal distribution.

    The variance of one scene is added, so that few scenes show nothing.
    """
    from scipy.stats import norm

    n = len(difference)
    return float(norm.sf((difference.mean() - ALLOWED) / _error(difference.var(), n)))


def _error(variance: float, n: int) -> float:
    return float(np.sqrt((variance + 1 / n) / n))


def least_gain(n: int, n_tests: int) -> float:
    """Return the smallest gain on n scenes that `broken_promises` detects as the only one of `n_tests`.

    It is infinite if no gain is large enough.

    A gain g has the least variance, g − g², if the shortcut is never wrong where its baseline is right; otherwise it must be larger.

    >>> [round(least_gain(n, 800), 2) for n in (2, 25, 200, 2000)]
    [inf, 0.52, 0.14, 0.05]
    """
    from scipy.stats import norm

    needed = norm.isf(_LEVEL / n_tests)
    gains = np.arange(n + 1) / n
    enough = [gain for gain in gains if gain - ALLOWED > needed * _error(gain - gain**2, n)]
    return float(enough[0]) if enough else float("inf")


def broken_promises(found: Sequence[LearnedShortcut]) -> list[LearnedShortcut]:
    """Return the learned shortcuts significantly more than `ALLOWED` above their baseline, or above what is known (Holm over all given)."""
    if not found:
        return []
    adjusted = holm([shortcut.p_value for shortcut in found])
    return [shortcut for shortcut, p in zip(found, adjusted, strict=True) if p < _LEVEL]


def strongest(found: Sequence[LearnedShortcut], family: str = "") -> LearnedShortcut | None:
    """Return the learned shortcut with the largest gain, of one family or of all."""
    mine = [shortcut for shortcut in found if family in {"", shortcut.family}]
    return max(mine, key=lambda shortcut: shortcut.gain.value) if mine else None
