"""Phase 1 of the generator, shared by both modes: questions, cells of anchors and targets, cells reserved for confusers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.question_types import (
    BUCKETS,
    MOST_ANCHORS,
    MOST_SIDES,
    Asks,
    Bucket,
    describe,
)
from theodolite.instruments.grid.data.recipe import Recipe, draw_anchors, group_regions, most_targets
from theodolite.instruments.grid.data.wording import Questions
from theodolite.instruments.grid.data.world import COLOURS, N_CLASSES, SHAPES, Flags, Integers, RowTable


@dataclass(frozen=True, slots=True)
class Counts(RowTable):
    """How many objects of each kind a scene has. Drawn once, so that the distribution of answers is as planned."""

    targets: Integers
    """Of each group, (n, 2)."""
    confusers: Integers
    """In each anchor's confuser region, (n, 4)."""
    look_alikes: Integers
    """Further look-alikes of each group, anywhere outside its valid region, (n, 2)."""
    is_boosted: Flags
    """True if the target is made the most frequent kind, (n,)."""
    table: Integers
    """For comparisons: which table of `comparison_table` the numbers come from, (n,)."""


def draw_counts(rng: np.random.Generator, bucket: Bucket, *, n: int, objects: int, recipe: Recipe) -> Counts:
    """The numbers of targets and confusers of n scenes."""
    is_boosted = rng.random(n) < recipe.boost
    draw = bucket.asks.draw
    if draw is None:
        return _comparison_counts(rng, bucket, (objects, recipe), is_boosted, rng.integers(0, 4, n))
    number = draw(rng, is_boosted, most_targets(bucket, objects, recipe), recipe.existence)
    targets = np.stack([number, np.zeros(n, np.int64)], axis=1)
    anchors = bucket.n_anchors
    confusers = np.zeros((n, MOST_ANCHORS), np.int64)
    if anchors:  # one each, or as many as there are objects for, at random anchors
        rank = rng.random((n, anchors)).argsort(axis=1)
        confusers[:, :anchors] = rank < (objects - anchors - number)[:, None]
    none = np.zeros((n, MOST_SIDES), np.int64)
    return Counts(targets, confusers, none, is_boosted, none[:, 0])


def redraw_counts(
    rng: np.random.Generator, bucket: Bucket, counts: Counts, *, rows: Integers, objects: int, recipe: Recipe
) -> Counts:
    """The same plan with new numbers for some comparisons that did not fit; answers stay."""
    again = _comparison_counts(rng, bucket, (objects, recipe), counts.is_boosted[rows], counts.table[rows])
    for array, new in zip(
        (counts.targets, counts.confusers, counts.look_alikes),
        (again.targets, again.confusers, again.look_alikes),
        strict=True,
    ):
        array[rows] = new
    return counts


def _comparison_counts(
    rng: np.random.Generator, bucket: Bucket, how: tuple[int, Recipe], is_boosted: Flags, which: Integers
) -> Counts:
    """Numbers from the table that `which` names: 2 · (the truth is no) + (the bag of words says no)."""
    objects, recipe = how
    n, per_side, anchors = len(which), bucket.anchors_per_side, bucket.n_anchors
    slots = objects - anchors
    most = most_targets(bucket, objects, recipe)
    assert bucket.asks.divide is not None  # noqa: S101 - two groups have it
    tables, is_full = bucket.asks.divide(per_side, slots, most)
    if not is_full:
        tables = _loose_tables(bucket.asks, slots, most)
    row = np.zeros((n, 6), np.int64)
    for number, table in enumerate(tables):
        mine = np.flatnonzero(which == number)
        row[mine] = table[rng.integers(0, len(table), len(mine))]
    targets, per_anchor, extra = row[:, :2], row[:, 2:4], row[:, 4:]
    confusers = np.zeros((n, MOST_ANCHORS), np.int64)
    if anchors and is_full:
        confusers[:, :anchors] = np.repeat(per_anchor, per_side, axis=1)
        left = slots - targets.sum(axis=1) - confusers.sum(axis=1) - extra.sum(axis=1)
        # Overload in pairs, one look-alike of each group, so that the bag of words' answer stays as drawn.
        extra = extra + rng.binomial(left // 2, recipe.overload)[:, None]
    elif anchors:
        rank = rng.random((n, anchors)).argsort(axis=1)
        confusers[:, :anchors] = rank < (slots - targets.sum(axis=1))[:, None]
    return Counts(targets, confusers, extra, is_boosted, which)


def _loose_tables(asks: Asks, slots: int, most: int) -> tuple[Integers, ...]:
    """List all numbers of targets that leave room for one confuser, where there are too few objects for all of them."""
    pairs = [(a, b) for a in range(most + 1) for b in range(most + 1) if 1 <= a + b <= max(1, slots - 1)]
    numbers = np.array([(a, b, 0, 0, 0, 0) for a, b in pairs], np.int64)
    assert asks.is_yes is not None  # noqa: S101 - two groups have it
    is_yes = asks.is_yes(numbers[:, :2])
    return numbers[is_yes], numbers[is_yes], numbers[~is_yes], numbers[~is_yes]


def draw_kinds(
    rng: np.random.Generator, bucket: Bucket, n: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Descriptions of targets and anchors, (n, 2 + 4), and the classes of the anchors, (n, 4).

    A question uses no colour and no shape twice; with more than four descriptions, no class twice.
    """
    things = bucket.sides + bucket.n_anchors
    if things > len(COLOURS):
        chosen = rng.random((n, N_CLASSES)).argsort(axis=1)[:, :things]
        colour, shape = np.divmod(chosen, len(SHAPES))
    else:
        colour = rng.random((n, len(COLOURS))).argsort(axis=1)[:, :things]
        shape = rng.random((n, len(SHAPES))).argsort(axis=1)[:, :things]
        if not bucket.type.naming.has_colour:
            colour = rng.integers(0, len(COLOURS), (n, things))
        if not bucket.type.naming.has_shape:
            shape = rng.integers(0, len(SHAPES), (n, things))
    return describe(bucket, colour, shape)


@dataclass(frozen=True, slots=True)
class Layout(RowTable):
    """Scenes after phase 1."""

    questions: Questions
    anchor_cells: Integers
    """(n, 4); −1 where there is no anchor."""
    anchor_classes: NDArray[np.uint8]
    """(n, 4)."""
    targets: Flags
    """Cells of the targets of each group, (n, 2, cells)."""
    reserved: Flags
    """Cells reserved for confusers and look-alikes of each group, (n, 2, cells). The spurious mode fills them with others."""
    valid: Flags
    """Where a look-alike would count or be within the margin, (n, 2, cells)."""
    confusers: Flags
    """All C_k, (n, 4, cells)."""
    is_ok: Flags
    """True if everything fits, (n,)."""


def pick(rng: np.random.Generator, allowed: Flags, count: Integers) -> Flags:
    """A random `count` of the allowed cells in each row; all if there are fewer."""
    most = int(count.max(initial=0))
    if most == 0:
        return np.zeros_like(allowed)
    key = rng.random(allowed.shape)
    key[~allowed] = 2.0
    if most == 1:
        chosen = np.zeros_like(allowed)
        chosen[np.arange(len(key)), key.argmin(axis=1)] = True
        return chosen & allowed & (count > 0)[:, None]
    ordered = np.sort(key, axis=1)
    last = np.take_along_axis(ordered, np.clip(count - 1, 0, key.shape[1] - 1)[:, None], axis=1)
    return np.asarray((key <= last) & allowed & (count > 0)[:, None])


def lay_out(rng: np.random.Generator, bucket: Bucket, counts: Counts, recipe: Recipe) -> Layout:
    """One attempt for every scene. Rows whose anchors collide or whose regions are too small are marked as not ok."""
    n, world, per_side = len(counts.is_boosted), recipe.world, bucket.anchors_per_side
    kinds, classes = draw_kinds(rng, bucket, n)
    directions = np.zeros((n, MOST_ANCHORS), np.uint8)
    places = np.full((n, MOST_ANCHORS), -1, np.int64)
    valid = np.ones((n, MOST_SIDES, world.n_cells), bool)
    wrong = np.zeros_like(valid)
    confusers = np.zeros((n, MOST_ANCHORS, world.n_cells), bool)
    free = np.ones((n, world.n_cells), bool)
    rows = np.arange(n)
    if per_side:
        for side in range(bucket.sides):
            own = slice(side * per_side, (side + 1) * per_side)
            directions[:, own], places[:, own] = draw_anchors(
                rng, world, n_anchors=per_side, room=counts.targets[:, side], margin=recipe.margin
            )
            regions = group_regions(world, directions[:, own], places[:, own], margin=recipe.margin)
            valid[:, side], confusers[:, own], wrong[:, side] = (
                regions.valid,
                regions.confusers,
                regions.wrong,
            )
        free[rows[:, None], places[:, : bucket.n_anchors]] = False
    is_ok = free.sum(axis=1) == world.n_cells - bucket.n_anchors
    targets, reserved = np.zeros_like(valid), np.zeros_like(valid)

    def place(into: Flags, allowed: Flags, count: Integers) -> None:
        chosen = pick(rng, allowed & free, count)
        np.logical_and(is_ok, chosen.sum(axis=1) == count, out=is_ok)
        np.logical_and(free, ~chosen, out=free)
        np.logical_or(into, chosen, out=into)

    for side in range(bucket.sides):
        place(targets[:, side], valid[:, side], counts.targets[:, side])
    for k in range(bucket.n_anchors):
        is_ok &= (confusers[:, k] & free).any(axis=1)
        place(reserved[:, k // per_side], confusers[:, k], counts.confusers[:, k])
    for side in range(bucket.sides):
        place(reserved[:, side], wrong[:, side], counts.look_alikes[:, side])
    questions = Questions(
        np.full(n, BUCKETS.index(bucket), np.uint8), kinds[:, :MOST_SIDES], kinds[:, MOST_SIDES:], directions
    )
    return Layout(questions, places, classes, targets, reserved, ~wrong, confusers, is_ok)
