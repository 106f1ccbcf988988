"""Scenes in which no count that leaves out one thing tells the answer: the law of the preset ``sound``.

Everything but the answer is drawn first: the question, where the anchors are, how many objects there are of each kind, and the
cells in which targets and look-alikes may lie. Only then y, the number of targets, decides what those cells hold. With c for the
target's colour, s for its shape, and m the largest y:

valid region     y (c, s); m − y (c, other); m − y (other, s); y (other, other)
C_k              d_k − y (c, s): so d_k without anchor k, whatever y
elsewhere        as many (c, s) as make their number the same for every y
outside          y (c, other), y (other, s) and m − y (other, other), so that colours and shapes are as frequent for every y

So counts of look-alikes, without an anchor, by half a description, and of objects are the same for every y, and so is where anchors
lie. Not so half a description without an anchor, with two anchors and more: colours and shapes are balanced over everything outside the
valid region, not inside each C_k. That would need y (c, other) and y (other, s) in each C_k, and m − y of both for each look-alike that grows
elsewhere: with a anchors 3a·m + m objects, so with decoys at least 16 for three anchors, and for two a largest count of 1.

Every anchor's colour and shape are also those of another object. What logic forbids is rare, and the share of it is chosen so
that it pays less than the promise allows: a direction used twice (one of the two relations is then redundant), and two anchors with
opposite directions (no cell fails both, so counts must move with y; they are spread instead). Where the valid region has no cell, y is 0, which is rare too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.question_types import (
    BUCKETS,
    MOST_ANCHORS,
    MOST_SIDES,
    Bucket,
    Palette,
    QuestionTable,
    kinds_with_decoys,
    paint,
)
from theodolite.instruments.grid.data.recipe import GridRecipe
from theodolite.instruments.grid.data.world import Cells, Flags, GridShape, Integers, Mode, RowTable, offsets

VOID = 0.01
"""Share of scenes, except comparisons, whose valid region has no cell."""
REPEATED, OPPOSED = 0.02, 0.04
"""Shares of questions in which a direction is used twice, and of two-anchor questions with opposite directions."""
LARGEST = 6
"""The largest number of targets of a group, unless the recipe says less."""
_LEAST_ARRANGED = 0.02
"""Share of the placements of anchors, at least, that must have room for every y."""


@dataclass(frozen=True, slots=True)
class SortCounts:
    """How many objects of each sort the scenes of a bucket have."""

    most: int
    """m, the largest number of targets of a group."""
    inside: int
    """Reserved cells of the valid region."""
    spare: int
    """Objects beyond those that the law needs."""
    has_halves: bool
    """True if half a description of the targets is balanced too."""


@lru_cache(maxsize=256)
def room_of(bucket: Bucket, objects: int, recipe: GridRecipe) -> SortCounts:
    """Return the room of a bucket: the largest m for which objects suffice and anchors have many placements.

    Comparisons with two anchors on each side would need more objects than a picture can hold for half descriptions of the targets.

    >>> from theodolite.instruments.grid.data.recipe import SOUND
    >>> from theodolite.instruments.grid.data.question_types import bucket_index
    >>> [room_of(BUCKETS[bucket_index(key)], 17, SOUND).most for key in ("A-F0-D1", "SO-F0-D1", "M-F0-D1", "M-F0-D3")]
    [6, 6, 3, 1]
    """
    per_side, anchors = bucket.anchors_per_side, bucket.n_anchors
    has_halves = bucket.names_whole and not (bucket.is_comparison and per_side > 1)
    decoys = max(2, anchors) if anchors and bucket.names_whole else 0
    each = (2 if has_halves else 1) if not per_side else per_side + (3 if has_halves else 1)
    wanted = min(recipe.max_answer or LARGEST, recipe.world.max_count, LARGEST)
    for most in range(wanted, 0, -1):
        spare = objects - anchors - decoys - bucket.sides * each * most
        inside = (2 if has_halves else 1) * most
        if spare >= 0 and (not per_side or _is_arranged(recipe.world, per_side, most, inside)):
            return SortCounts(most, inside, spare, has_halves)
    raise UsageError(
        f"{objects} objects on a grid of {recipe.world.rows}×{recipe.world.columns} are too few or too many for {bucket.key} without "
        "shortcuts; use another number, or a larger grid"
    )


def _fits(table: _Arrangements, n_anchors: int, sort: int, most: int, inside: int) -> Flags:
    """Return which arrangements of a sort have room for every y."""
    wanted = n_anchors - (sort == 1)
    grown = most * (wanted - 1) if sort != 2 else 0
    is_open = table.confusers > 0
    fits = (table.sort == sort) & (table.valid >= inside) & (table.elsewhere >= grown)
    return np.asarray(
        fits & (is_open.sum(axis=1) == wanted) & (~is_open | (table.confusers >= most)).all(axis=1)
    )


def _is_arranged(world: GridShape, n_anchors: int, most: int, inside: int) -> bool:
    table = _arrangements(world, n_anchors)
    return float(_fits(table, n_anchors, 0, most, inside).mean()) >= _LEAST_ARRANGED


@dataclass(frozen=True, slots=True)
class BalancedPlan(RowTable):
    """What is drawn once for each scene."""

    targets: Integers
    """y of each group, (n, 2)."""
    is_void: Flags
    """True if the valid region has no cell, (n,)."""
    extra: Integers
    """Look-alikes beyond the least number in each C_k, (n, 4), and elsewhere, (n, 2): (n, 6)."""
    spread: Integers
    """Opposite directions: look-alikes in each C_k, whatever y, (n, 4)."""
    sort: Integers
    """Sort of the directions of each group: 0 distinct, 1 a direction twice, 2 opposite, (n, 2)."""


def draw_plan(
    rng: np.random.Generator, bucket: Bucket, n: int, *, objects: int, recipe: GridRecipe
) -> BalancedPlan:
    """Draw the numbers of n scenes.

    Args:
        rng: Random generator.
        bucket: The bucket.
        n: Number of scenes.
        objects: Number of objects in a scene.
        recipe: The parameters of the generator.
    """
    room = room_of(bucket, objects, recipe)
    most = room.most
    is_void = (rng.random(n) < VOID) if bucket.n_anchors and not bucket.is_comparison else np.zeros(n, bool)
    targets = np.where(is_void[:, None], 0, bucket.asks.draw_evenly(rng, n, most))
    extra = np.zeros((n, MOST_ANCHORS + MOST_SIDES), np.int64)
    if bucket.n_anchors:
        phrases = [*range(bucket.n_anchors)]
        if bucket.anchors_per_side > 1:
            phrases += [MOST_ANCHORS + side for side in range(bucket.sides)]
        for _ in range(room.spare):  # each spare object is a look-alike or an object of any other kind
            which = rng.integers(0, 2 * len(phrases), n)
            hit = which < len(phrases)
            np.add.at(extra, (np.flatnonzero(hit), np.array(phrases)[which[hit]]), 1)
    sort = np.zeros((n, MOST_SIDES), np.int64)
    if bucket.anchors_per_side > 1:
        drawn = rng.random((n, MOST_SIDES))
        is_opposed = (drawn < REPEATED + OPPOSED) & (bucket.anchors_per_side == 2)
        sort = np.where(drawn < REPEATED, 1, np.where(is_opposed, 2, 0))
    return BalancedPlan(targets, is_void, extra, rng.integers(0, most + 1, (n, MOST_ANCHORS)), sort)


@dataclass(frozen=True, slots=True)
class _Arrangements:
    """Directions and lines of the anchors of one group, with the sizes of their regions."""

    directions: NDArray[np.uint8]
    lines: Integers
    valid: Integers
    confusers: Integers
    """(arrangements, anchors)."""
    elsewhere: Integers
    """Cells where two relations fail, or more."""
    sort: Integers


@lru_cache(maxsize=16)
def _arrangements(world: GridShape, n_anchors: int) -> _Arrangements:
    """Return all arrangements, directions drawn with replacement."""
    table = [
        (ways, lines)
        for ways in product((1, 2, 3, 4), repeat=n_anchors)
        for lines in product(*(range(world.columns if way <= 2 else world.rows) for way in ways))
    ]
    directions = np.array([ways for ways, _ in table], np.uint8)
    lines = np.array([lines for _, lines in table], np.int64)
    cells = np.where(directions <= 2, lines, lines * world.columns)
    holds = offsets(world.rows, world.columns)[directions, cells] >= 1
    count = holds.sum(axis=1)
    confusers = (~holds & (count == n_anchors - 1)[:, None]).sum(axis=2)
    is_twice = np.array([len(set(ways)) < n_anchors for ways, _ in table])
    axis = (directions <= 2).sum(axis=1)
    is_opposed = ~is_twice & (n_anchors == 2) & (axis != 1)
    return _Arrangements(
        directions,
        lines,
        (count == n_anchors).sum(axis=1),
        confusers,
        (count < n_anchors - 1).sum(axis=1),
        np.where(is_twice, 1, np.where(is_opposed, 2, 0)),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """The anchors and regions of one group of targets."""

    directions: NDArray[np.uint8]
    cells: Integers
    valid: Flags
    """(n, cells)."""
    confusers: Flags
    """(n, anchors, cells)."""
    elsewhere: Flags
    is_lowered: Flags
    """Where look-alikes in C_k fall as y rises, (n, anchors)."""
    least: Integers
    """Look-alikes in C_k at y = 0, (n, anchors)."""
    growth: Integers
    """Look-alikes elsewhere for each target, (n,)."""
    base: Integers
    """Look-alikes elsewhere at y = 0, (n,)."""


def _draw_side(
    rng: np.random.Generator,
    bucket: Bucket,
    side: int,
    plan: BalancedPlan,
    *,
    most: int,
    inside: int,
    world: GridShape,
) -> _Side:
    """Draw anchors whose regions have room for every y."""
    per_side = bucket.anchors_per_side
    n = len(plan.is_void)
    own = slice(side * per_side, (side + 1) * per_side)
    least = most + plan.extra[:, own]
    base = plan.extra[:, MOST_ANCHORS + side]
    table = _arrangements(world, per_side)
    pick = np.zeros(n, np.int64)
    key = np.stack([plan.is_void * 1, plan.sort[:, side] * (~plan.is_void)], axis=1)
    for is_void, sort in np.unique(key, axis=0):
        rows = np.flatnonzero((key == (is_void, sort)).all(axis=1))
        fits = table.valid == 0 if is_void else _fits(table, per_side, int(sort), most, inside)
        known = np.flatnonzero(fits)
        if not len(known):
            raise UsageError(
                f"a grid of {world.rows}×{world.columns} has no room for the targets and look-alikes of {bucket.key}; "
                "make it larger"
            )
        pick[rows] = known[rng.integers(0, len(known), len(rows))]
    directions, lines = table.directions[pick], table.lines[pick]
    is_column = directions <= 2
    along = (rng.random(lines.shape) * np.where(is_column, world.rows, world.columns)).astype(np.int64)
    cells = np.where(is_column, along, lines) * world.columns + np.where(is_column, lines, along)
    holds = offsets(world.rows, world.columns)[directions, cells] >= 1
    count = holds.sum(axis=1)
    confusers = ~holds & (count == per_side - 1)[:, None]
    elsewhere = count < per_side - 1
    is_lowered = confusers.any(axis=2)
    is_opposed = (plan.sort[:, side] == 2) & ~plan.is_void
    is_lowered[is_opposed] = False
    growth = np.maximum(is_lowered.sum(axis=1) - 1, 0)
    growth[plan.is_void] = 0
    least = np.where(is_opposed[:, None], plan.spread[:, own], least)
    least = np.where(confusers.any(axis=2), least, 0)
    return _Side(
        directions,
        cells,
        count == per_side,
        confusers,
        elsewhere,
        is_lowered,
        least,
        growth,
        np.where(elsewhere.any(axis=1), base, 0),
    )


def _ranks(rng: np.random.Generator, mask: Flags) -> Integers:
    """Return the rank of each cell among those of its row in the mask, in random order; large outside the mask."""
    key = rng.random(mask.shape, np.float32)
    key[~mask] = 2.0
    ranks = np.empty(mask.shape, np.int64)
    np.put_along_axis(ranks, key.argsort(axis=1), np.arange(mask.shape[1])[None], axis=1)
    ranks[~mask] = mask.shape[1]
    return ranks


def attempt(
    rng: np.random.Generator,
    bucket: Bucket,
    plan: BalancedPlan,
    *,
    objects: int,
    mode: Mode,
    recipe: GridRecipe,
) -> tuple[QuestionTable, Cells, Flags]:
    """Make one attempt at every scene: questions, cells, and whether everything fits.

    Fitting does not depend on the answer.

    Args:
        rng: Random generator.
        bucket: The bucket.
        plan: The numbers of the scenes.
        objects: Number of objects in a scene.
        mode: ``pure`` or ``spur``.
        recipe: The parameters of the generator.
    """
    n, world, per_side = len(plan.is_void), recipe.world, bucket.anchors_per_side
    room = room_of(bucket, objects, recipe)
    kinds, classes, decoys, palette = kinds_with_decoys(rng, bucket, n)
    is_ok = np.ones(n, bool)
    cells = np.zeros((n, world.n_cells), np.uint8)
    free = np.ones((n, world.n_cells), bool)
    directions = np.zeros((n, MOST_ANCHORS), np.uint8)
    sides: list[_Side | None] = []
    rows = np.arange(n)
    for side in range(bucket.sides):
        if not per_side:
            sides.append(None)
            continue
        drawn = _draw_side(rng, bucket, side, plan, most=room.most, inside=room.inside, world=world)
        sides.append(drawn)
        for k in range(per_side):
            directions[:, side * per_side + k] = drawn.directions[:, k]
            is_ok &= free[rows, drawn.cells[:, k]]
            free[rows, drawn.cells[:, k]] = False
            cells[rows, drawn.cells[:, k]] = classes[:, side * per_side + k]

    def reserve(allowed: Flags, count: Integers) -> Integers:
        """Reserve `count` random free cells of those allowed, and return their ranks."""
        ranks = _ranks(rng, allowed & free)
        chosen = ranks < count[:, None]
        np.logical_and(is_ok, chosen.sum(axis=1) == count, out=is_ok)
        np.logical_and(free, ~chosen, out=free)
        return np.where(chosen, ranks, world.n_cells)

    painted: list[tuple[Flags, Flags]] = []
    every = np.ones_like(free)
    for side, region in enumerate(sides):
        y, size = plan.targets[:, side], np.where(plan.is_void, 0, room.inside)
        ranks = reserve(region.valid if region else every, size)
        painted += _in_region(ranks, y, room.most, size, palette, side, has_halves=room.has_halves)
        if region is not None:
            others = palette.alike[side] if mode == "pure" else palette.neither
            painted += _around(rng, reserve, region, y, room, (palette, side, others))
    for number in range(decoys.shape[1]):
        ranks = reserve(every, np.ones(n, np.int64))
        row, cell = np.nonzero(ranks < world.n_cells)
        cells[row, cell] = decoys[row, number]
    for where, allowed in painted:
        paint(rng, cells, where, allowed)
    left = objects - (cells > 0).sum(axis=1)
    is_ok &= left >= 0
    ranks = reserve(every, np.maximum(left, 0))
    paint(rng, cells, ranks < world.n_cells, palette.other)
    questions = QuestionTable(
        np.full(n, BUCKETS.index(bucket), np.uint8), kinds[:, :MOST_SIDES], kinds[:, MOST_SIDES:], directions
    )
    return questions, cells, is_ok


def _around(
    rng: np.random.Generator,
    reserve: Callable[[Flags, Integers], Integers],
    region: _Side,
    y: Integers,
    room: SortCounts,
    paints: tuple[Palette, int, Flags],
) -> list[tuple[Flags, Flags]]:
    """Return the objects outside the valid region; `paints`: the palette, the group, and how look-alikes are painted."""
    palette, side, alike = paints
    outside = _outside(reserve, region, y, room.most)
    spare = reserve(~region.valid, np.full(len(y), room.most if room.has_halves else 0))
    chosen = _ranks(rng, outside.freed) < y[:, None]
    ranks = _ranks(rng, (spare < spare.shape[1]) | chosen)
    return [
        (outside.alike, alike),
        *_outside_others(ranks, y, room.most, palette, side, has_halves=room.has_halves),
    ]


def _in_region(
    ranks: Integers, y: Integers, m: int, size: Integers, palette: Palette, side: int, *, has_halves: bool
) -> list[tuple[Flags, Flags]]:
    """Return the objects in the reserved cells of the valid region."""
    first, alike = y[:, None], palette.alike[side]
    total = size[:, None]
    if not has_halves:
        return [(ranks < first, alike), ((ranks >= first) & (ranks < total), palette.neither)]
    return [
        (ranks < first, alike),
        ((ranks >= first) & (ranks < np.minimum(m, total)), palette.colour[side]),
        ((ranks >= m) & (ranks < np.minimum(2 * m - first, total)), palette.shape[side]),
        ((ranks >= 2 * m - first) & (ranks < total), palette.neither),
    ]


@dataclass(frozen=True, slots=True)
class _Outside:
    """Look-alikes outside the valid region."""

    alike: Flags
    freed: Flags
    """Reserved cells of C_k without a look-alike."""


def _outside(take: Callable[[Flags, Integers], Integers], region: _Side, y: Integers, m: int) -> _Outside:
    """Reserve cells with `take`, and mark those that hold a look-alike."""
    n, n_anchors, n_cells = region.confusers.shape
    alike, freed = np.zeros((n, n_cells), bool), np.zeros((n, n_cells), bool)
    for k in range(n_anchors):
        ranks = take(region.confusers[:, k], region.least[:, k])
        last = region.least[:, k] - y * region.is_lowered[:, k]
        alike |= ranks < last[:, None]
        freed |= (ranks >= last[:, None]) & (ranks < n_cells)
    ranks = take(region.elsewhere, region.base + m * region.growth)
    alike |= ranks < (region.base + y * region.growth)[:, None]
    return _Outside(alike, freed)


def _outside_others(
    ranks: Integers, y: Integers, m: int, palette: Palette, side: int, *, has_halves: bool
) -> list[tuple[Flags, Flags]]:
    """Return the objects that keep the numbers of objects, colours and shapes the same."""
    first = y[:, None]
    if not has_halves:
        return [(ranks < first, palette.neither)]
    total = (m + y)[:, None]
    return [
        (ranks < first, palette.colour[side]),
        ((ranks >= first) & (ranks < 2 * first), palette.shape[side]),
        ((ranks >= 2 * first) & (ranks < total), palette.neither),
    ]
