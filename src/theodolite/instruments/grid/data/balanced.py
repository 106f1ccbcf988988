r"""Scenes whose counterparts have the other answers: the law of the preset ``sound``.

Give each object the bits of what a question says about targets: c, it has their colour; s, their shape; r_k, it lies in the direction of
anchor k. A target has all bits. Call an object *even* if it lacks an even number of bits. A *unit* is one object for each even
combination of bits, or one for each odd combination: half a cube. Leave out any one bit, and both are the same: each combination of
the other bits once. So a scene of m units, y of them even, has y targets, and whoever leaves out any bits at all sees the same for every
y. All else does not depend on y: the question, the anchors, which cells are taken, and all other objects. y only decides how the cells of
the units are painted. A reversed direction exchanges even and odd, so the same picture has m − y targets for it.

A unit has 2^(b − 1) objects for b bits, and no law needs fewer: what y = m adds on average must vanish wherever a bit is left out, so it is a
multiple of (−1)^(missing bits). So objects limit m, and what cannot be balanced is not promised but computed:

- Two directions on one axis never meet all four combinations, so two anchors have directions across each other. Of three, two
  lie on one axis; there one of them, at random, holds for all units. Who leaves it out sees y in half of the scenes.
- A colour, a shape or a direction that is not read, while the whole picture is seen, leaves y or m − y: m // 2 + 1 pairs of m + 1 answers. For
  yes and no, y is 0 or m, so nothing is left.
- Comparisons have n₁ − n₂ of 0 or 1, with n₁ of 1 to m as often for both. So n₁ alone tells nothing, and n₂ alone only at its ends.
- Places: a look-alike far to the left is left of most anchors. If v and w are the columns of target and anchor, “left of” is v < w, so one
  who knows v, one who knows w and one who knows the direction have it between them; no law on a finite grid balances all three. Who looks for
  an anchor by half its description finds it, or one of few others. Nothing is promised of these; `grid audit` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, permutations, product

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.question_types import (
    BUCKETS,
    MOST_ANCHORS,
    MOST_SIDES,
    Bucket,
    QuestionTable,
    describe,
    paint,
)
from theodolite.instruments.grid.data.recipe import GridRecipe
from theodolite.instruments.grid.data.world import (
    COLOUR_OF,
    MATCHES,
    N_CLASSES,
    OPPOSITE,
    SHAPE_OF,
    SHAPES,
    Cells,
    Flags,
    GridShape,
    Integers,
    Mode,
    RowTable,
    offsets,
)

LARGEST = 6
"""The largest number of targets of a group, unless the recipe says less."""
_MOST_DRAWS = 10_000
_LEAST_PLACEMENTS = 3
"""A larger m must leave at least so many lines of anchors for each choice of directions."""


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """What is balanced in a bucket with a number of objects."""

    most: int
    """m, the largest number of targets of a group."""
    has_halves: bool
    """True if half a description of the targets tells nothing."""
    decoys: int
    """Objects that share a half of their description with an anchor."""
    units: tuple[int, ...]
    """Units of each group."""

    @property
    def unread(self) -> float:
        """What one can have right of counts who does not read one word, but sees the whole picture."""
        return (self.most // 2 + 1) / (self.most + 1)


@lru_cache(maxsize=256)
def balance_of(bucket: Bucket, objects: int, recipe: GridRecipe) -> UnitCounts:
    """Return the balance of a bucket: the largest m for which objects suffice and anchors have placements.

    Where no two targets have room for balanced halves of their description, a comparison is balanced without them: with m = 1, its first
    group would always have one target, and could be left out.

    >>> from theodolite.instruments.grid.data.recipe import SOUND
    >>> from theodolite.instruments.grid.data.question_types import bucket_index
    >>> [balance_of(BUCKETS[bucket_index(key)], 17, SOUND).most for key in ("A-F0-D1", "SO-F0-D2", "M-F0-D1", "M-F0-D2")]
    [6, 2, 2, 1]
    """
    wanted = min(recipe.max_answer or LARGEST, recipe.world.max_count, LARGEST)
    halves = (True, False) if bucket.names_whole and bucket.is_comparison else (bucket.names_whole,)
    tried = [(most, half) for half in halves for most in range(wanted, 1, -1)] + [
        (1, half) for half in halves
    ]
    for most, has_halves in tried:
        found = _fitting(bucket, objects, recipe.world, most, has_halves=has_halves)
        if found is not None:
            return found
    raise UsageError(
        f"{objects} objects on a grid of {recipe.world.rows}×{recipe.world.columns} are too few or too many for {bucket.key} without "
        "shortcuts; use another number, or a larger grid"
    )


def _fitting(
    bucket: Bucket, objects: int, world: GridShape, most: int, *, has_halves: bool
) -> UnitCounts | None:
    anchors, per_side = bucket.n_anchors, bucket.anchors_per_side
    units = (most - 1, most) if bucket.is_comparison else (most,)
    each = 2 if has_halves else 1  # objects of a unit for each combination of relations
    needed = anchors + each * 2 ** min(per_side, 2) * sum(units) + bucket.is_comparison
    spare = objects - needed
    decoys = max(2, anchors) if anchors and bucket.names_whole else 0
    if (
        bucket.is_comparison and anchors > 2
    ):  # two groups leave classes for four anchors and one decoy of theirs
        decoys = 1
    if spare < 0 or (spare < decoys and most > 1 and not bucket.is_comparison):
        return None
    if per_side:
        table = _arrangements(world, per_side)
        fitting = (table.sizes >= each * max(units)).all(axis=1)
        if fitting.sum() < len(np.unique(table.directions, axis=0)) * (_LEAST_PLACEMENTS if most > 1 else 1):
            return None
    return UnitCounts(most, has_halves, min(decoys, spare), units)


@dataclass(frozen=True, slots=True)
class _Arrangements:
    """Directions and lines of the anchors of one group."""

    directions: NDArray[np.uint8]
    lines: Integers
    spare: Integers
    """The relation that holds for all units, of three anchors; else −1."""
    sizes: Integers
    """Cells for each combination of the other relations, (arrangements, combinations)."""


@lru_cache(maxsize=16)
def _arrangements(world: GridShape, n_anchors: int) -> _Arrangements:
    """Return all arrangements in which every combination of relations has a cell, clear of the anchors' lines."""
    known = [
        (ways, lines, spare)
        for ways in permutations((1, 2, 3, 4), n_anchors)
        for spare in _spares(ways)
        for lines in product(*(range(world.columns if way <= 2 else world.rows) for way in ways))
    ]
    if not known:
        raise UsageError(f"{n_anchors} relations of one group cannot be balanced")
    directions = np.array([each[0] for each in known], np.uint8)
    lines = np.array([each[1] for each in known], np.int64)
    spare = np.array([each[2] for each in known], np.int64)
    cells = np.where(directions <= 2, lines, lines * world.columns)
    sizes = np.stack([each.sum(axis=1) for each in _combinations(world, directions, cells, spare)], axis=1)
    is_open = (sizes > 0).all(axis=1)
    return _Arrangements(directions[is_open], lines[is_open], spare[is_open], sizes[is_open])


def _spares(ways: tuple[int, ...]) -> list[int]:
    """Return which relation may be the one that holds for all units, −1 if none needs to; empty if one is not enough."""
    sharing = [k for k, way in enumerate(ways) if sum((way <= 2) == (other <= 2) for other in ways) > 1]
    return [-1] if not sharing else sharing if len(sharing) < len(ways) else []


def _combinations(
    world: GridShape, directions: NDArray[np.uint8], anchors: Integers, spare: Integers
) -> list[Flags]:
    """Return where each combination of relations holds or is reversed, (n, cells) each; first where all hold.

    The number of a combination has a bit for each relation that is reversed. The spare relation holds in all.
    """
    n, n_anchors = directions.shape
    reach = offsets(world.rows, world.columns)
    order = np.argsort(np.arange(n_anchors)[None] == spare[:, None], axis=1, kind="stable")  # the spare last
    directions = np.take_along_axis(directions, order, axis=1)
    anchors = np.take_along_axis(anchors, order, axis=1)
    holds, fails = reach[directions, anchors] >= 1, reach[OPPOSITE[directions], anchors] >= 1
    n_kept = n_anchors - int(spare[0] >= 0)
    regions = []
    for number in range(2**n_kept):
        region = np.ones((n, world.n_cells), bool)
        for k in range(n_anchors):
            region &= fails[:, k] if number >> k & 1 else holds[:, k]
        regions.append(region)
    return regions


@dataclass(frozen=True, slots=True)
class BalancedPlan(RowTable):
    """What is drawn once for each scene."""

    even: Integers
    """Even units of each group, (n, 2)."""
    units: Integers
    """Units of each group, (n, 2)."""


def draw_plan(
    rng: np.random.Generator, bucket: Bucket, n: int, *, objects: int, recipe: GridRecipe
) -> BalancedPlan:
    """Draw the numbers of n scenes: counts evenly, yes and no evenly.

    Args:
        rng: Random generator.
        bucket: The bucket.
        n: Number of scenes.
        objects: Number of objects in a scene.
        recipe: The parameters of the generator.
    """
    balance = balance_of(bucket, objects, recipe)
    most = balance.most
    even, units = np.zeros((n, MOST_SIDES), np.int64), np.zeros((n, MOST_SIDES), np.int64)
    units[:, : bucket.sides] = balance.units
    is_yes = rng.random(n) < 0.5
    if bucket.is_comparison:
        first = rng.integers(1, most + 1, n)
        even[:, 0], even[:, 1] = first - 1, first - is_yes
    elif bucket.is_count:
        even[:, 0] = rng.integers(0, most + 1, n)
    else:  # all or none, so that the opposite direction has the other answer
        has_fillers = bucket.names_whole or 2 * bucket.sides + bucket.n_anchors < len(SHAPES)
        units[:, 0] = rng.integers(1 if has_fillers else most, most + 1, n)
        even[:, 0] = np.where(is_yes, units[:, 0], 0)
    return BalancedPlan(even, units)


@dataclass(frozen=True, slots=True)
class _Kinds:
    """What is named in each scene, and how its objects may be painted: masks over classes, (n, 1 + classes)."""

    kinds: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    """Of the anchors, (n, 4)."""
    decoys: NDArray[np.uint8]
    """(n, decoys)."""
    whole: list[Flags]
    """By group: the target's description."""
    colour: list[Flags]
    """Its colour, and the other shape."""
    shape: list[Flags]
    """Its shape, and the other colour."""
    neither: list[Flags]
    """The other colour and the other shape."""
    fillers: Flags
    """All that is neither of these nor fits an anchor's description."""


def _draw_kinds(rng: np.random.Generator, bucket: Bucket, n: int, n_decoys: int) -> _Kinds:
    """Draw what is named.

    Each group has two colours and two shapes: the target's, and the others. Exchange them, and the scene is as likely: so a colour or
    shape that is not read leaves y or m − y, as a direction does. Two groups share none.
    """
    naming, sides, anchors = bucket.type.naming, bucket.sides, bucket.n_anchors
    names, is_ok = _draw_names(rng, bucket, n, n_decoys)
    for _ in range(_MOST_DRAWS):
        if is_ok.all():
            break
        rows = np.flatnonzero(~is_ok)
        names[rows], is_ok[rows] = _draw_names(rng, bucket, len(rows), n_decoys)
    else:
        raise UsageError(f"the classes do not suffice for the anchors of {bucket.key} and their decoys")
    colours, shapes, colour, shape, decoys = np.split(names, np.cumsum([4, 4, anchors, anchors]), axis=1)
    every = np.ones((n, N_CLASSES + 1), bool) & (np.arange(N_CLASSES + 1) > 0)

    def of(half: NDArray[np.uint8], drawn: Integers, column: int, *, has_half: bool) -> Flags:
        return np.asarray(half[None] == drawn[:, column, None]) if has_half else every

    whole, by_colour, by_shape, neither = [], [], [], []
    for side in range(0, 2 * sides, 2):
        (c, other_c), (s, other_s) = (
            [of(half, drawn, side + i, has_half=has_half) for i in range(2)]
            for half, drawn, has_half in (
                (COLOUR_OF, colours, naming.has_colour),
                (SHAPE_OF, shapes, naming.has_shape),
            )
        )
        whole.append(c & s)
        by_colour.append(c & other_s)
        by_shape.append(other_c & s)
        neither.append(other_c & other_s)
    kinds, classes = describe(
        bucket,
        np.concatenate([colours[:, : 2 * sides : 2], colour], axis=1) - 1,
        np.concatenate([shapes[:, : 2 * sides : 2], shape], axis=1) - 1,
    )
    fillers = every & ~np.logical_or.reduce([*whole, *by_colour, *by_shape, *neither])
    for k in range(anchors):
        fillers &= ~MATCHES[kinds[:, MOST_SIDES + k]]
    return _Kinds(kinds, classes, decoys.astype(np.uint8), whole, by_colour, by_shape, neither, fillers)


def _draw_names(rng: np.random.Generator, bucket: Bucket, n: int, n_decoys: int) -> tuple[Integers, Flags]:
    """Draw colours and shapes, of the groups first (n, 4 + 4), those of the anchors, and decoys; and return where decoys are possible.

    Of two anchors and more, decoy k has the colour of anchor k and the shape of the next one; of one anchor, one decoy has its colour and
    one its shape.
    """
    naming, anchors, first = bucket.type.naming, bucket.n_anchors, 2 * bucket.sides
    colours, shapes = (rng.random((n, 4)).argsort(axis=1) + 1 for _ in range(2))
    own = np.zeros((n, N_CLASSES + 1), bool)
    own[:, 0] = True
    for side in range(0, first, 2):
        is_own = (COLOUR_OF[None, :, None] == colours[:, None, side : side + 2]).any(axis=2)
        own |= is_own & (SHAPE_OF[None, :, None] == shapes[:, None, side : side + 2]).any(axis=2)
    named = (rng.random(own.shape) + own).argsort(axis=1)[:, :anchors]
    colour, shape = COLOUR_OF[named].astype(np.int64), SHAPE_OF[named].astype(np.int64)
    if not naming.is_whole:
        colour, shape = rng.integers(1, 5, (n, anchors)), rng.integers(1, 5, (n, anchors))
    if not naming.has_shape:
        colour = colours[:, first : first + anchors]
    if not naming.has_colour:
        shape = shapes[:, first : first + anchors]
    decoys = np.zeros((n, 0), np.int64)
    if n_decoys:
        others = [(1 + (half[:, :1] - 1 + rng.integers(1, 4, (n, 1))) % 4) for half in (colour, shape)]
        paired = (np.hstack([colour, others[0]]), np.hstack([others[1], shape]))
        paired = (colour, np.roll(shape, -1, axis=1)) if anchors > 1 else paired
        decoys = (len(SHAPES) * (paired[0] - 1) + paired[1])[:, :n_decoys]
    taken = np.hstack([named, decoys])
    is_free = ~np.take_along_axis(own, decoys, axis=1).any(axis=1)
    if n_decoys:  # all anchors and decoys are of different classes
        is_free &= (np.diff(np.sort(taken, axis=1), axis=1) > 0).all(axis=1)
    return np.hstack([colours, shapes, colour, shape, decoys]), np.asarray(is_free)


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
    n, world, per_side = len(plan.even), recipe.world, bucket.anchors_per_side
    balance = balance_of(bucket, objects, recipe)
    named = _draw_kinds(rng, bucket, n, balance.decoys)
    is_ok, rows = np.ones(n, bool), np.arange(n)
    cells = np.zeros((n, world.n_cells), np.uint8)
    free = np.ones((n, world.n_cells), bool)
    directions = np.zeros((n, MOST_ANCHORS), np.uint8)
    regions: list[list[Flags]] = []
    for side in range(bucket.sides):
        drawn, anchors, found = _draw_side(rng, bucket, balance, side, n, world)
        regions.append(found)
        for k in range(per_side):
            number = side * per_side + k
            directions[:, number] = drawn[:, k]
            is_ok &= free[rows, anchors[:, k]]
            free[rows, anchors[:, k]] = False
            cells[rows, anchors[:, k]] = named.classes[:, number]

    def reserve(allowed: Flags, count: Integers) -> Integers:
        """Reserve `count` random free cells of those allowed, and return their ranks."""
        key = rng.random(allowed.shape, np.float32)
        key[~(allowed & free)] = 2.0
        ranks = np.empty(allowed.shape, np.int64)
        np.put_along_axis(ranks, key.argsort(axis=1), np.arange(world.n_cells)[None], axis=1)
        chosen = (ranks < count[:, None]) & allowed & free
        np.logical_and(is_ok, chosen.sum(axis=1) == count, out=is_ok)
        np.logical_and(free, ~chosen, out=free)
        return np.where(chosen, ranks, world.n_cells)

    for side in range(bucket.sides):
        units, even = plan.units[:, side], plan.even[:, side]
        if bucket.is_comparison and not side:  # the one target of the first group that is always there
            one = reserve(regions[0][0], np.ones(n, np.int64))
            paint(rng, cells, one < world.n_cells, named.whole[0])
        for number, region in enumerate(regions[side]):
            ranks = reserve(region, units * (1 + balance.has_halves))
            is_reversed = number.bit_count() % 2 == 1
            kind = named if mode == "pure" or not number else _without_look_alikes(named, side)
            here = units - even if is_reversed else even
            _paint_units(rng, cells, ranks, (here, units), (kind, side), has_halves=balance.has_halves)
    anywhere = np.ones_like(free)
    for decoy in named.decoys.T:
        row, cell = np.nonzero(reserve(anywhere, np.ones(n, np.int64)) < world.n_cells)
        cells[row, cell] = decoy[row]
    left = np.maximum(objects - (~free).sum(axis=1), 0)
    fillers = named.fillers
    if (
        not fillers.any()
    ):  # all kinds are named: look-alikes and others, on lines of anchors, where nothing counts
        anywhere = ~np.logical_or.reduce([each for found in regions for each in found])
        fillers = named.neither[0] | (named.whole[0] if mode == "pure" else False)
    paint(rng, cells, reserve(anywhere, left) < world.n_cells, fillers)
    questions = QuestionTable(
        np.full(n, BUCKETS.index(bucket), np.uint8),
        named.kinds[:, :MOST_SIDES],
        named.kinds[:, MOST_SIDES:],
        directions,
    )
    return questions, cells, is_ok


def _draw_side(
    rng: np.random.Generator, bucket: Bucket, balance: UnitCounts, side: int, n: int, world: GridShape
) -> tuple[NDArray[np.uint8], Integers, list[Flags]]:
    """Draw the anchors of a group: directions, cells, and the region of each combination of relations, all that hold first."""
    per_side = bucket.anchors_per_side
    if not per_side:
        return np.zeros((n, 0), np.uint8), np.zeros((n, 0), np.int64), [np.ones((n, world.n_cells), bool)]
    table = _arrangements(world, per_side)
    known = np.flatnonzero((table.sizes >= balance.units[side] * (1 + balance.has_halves)).all(axis=1))
    pick = known[rng.integers(0, len(known), n)]
    directions, lines, spare = table.directions[pick], table.lines[pick], table.spare[pick]
    is_column = directions <= 2
    along = (rng.random(lines.shape) * np.where(is_column, world.rows, world.columns)).astype(np.int64)
    anchors = np.where(is_column, along, lines) * world.columns + np.where(is_column, lines, along)
    return directions, anchors, _combinations(world, directions, anchors, spare)


def _without_look_alikes(named: _Kinds, side: int) -> _Kinds:
    """Return the kinds of a spurious scene, for where nothing counts."""
    whole = [named.neither[i] if i == side else each for i, each in enumerate(named.whole)]
    return replace(named, whole=whole)


def _paint_units(
    rng: np.random.Generator,
    cells: Cells,
    ranks: Integers,
    numbers: tuple[Integers, Integers],
    kinds: tuple[_Kinds, int],
    *,
    has_halves: bool,
) -> None:
    """Paint the reserved cells of one region.

    Args:
        rng: Random generator.
        cells: The scenes; changed in place.
        ranks: The rank of each reserved cell.
        numbers: How many units have there an object with both halves of the description and one with neither, and how many there are;
            the others have one with each half.
        kinds: What is named, and the group.
        has_halves: True if there are halves. Otherwise a unit has one object there, with the whole description or nothing of it.
    """
    named, side = kinds
    first, total = (number[:, None] for number in numbers)
    edges, masks = [0 * first, first, total], [named.whole, named.neither]
    if has_halves:
        edges = [0 * first, first, 2 * first, first + total, 2 * total]
        masks += [named.colour, named.shape]
    for (low, high), mask in zip(pairwise(edges), masks, strict=True):
        paint(rng, cells, (ranks >= low) & (ranks < high), mask[side])
