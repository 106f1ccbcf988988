"""Anchor positions that leave room in the valid region and in every confuser region."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import permutations, product
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.question_types import (
    BUCKETS,
    MOST_ANCHORS,
    MOST_SIDES,
    Asks,
    Bucket,
    QuestionTable,
    describe,
)
from theodolite.instruments.grid.data.world import (
    COLOURS,
    N_CLASSES,
    SHAPES,
    Flags,
    GridShape,
    Integers,
    RowTable,
    offsets,
)


@dataclass(frozen=True, slots=True)
class Lines:
    """All arrangements of the anchors of one group, sorted by the room they leave for targets.

    A half-plane depends only on the anchor's column (left of, right of) or row (above, below): its line. Directions
    are drawn without replacement: of two equal ones, the weaker would be redundant.
    """

    directions: NDArray[np.uint8]
    """(arrangements, anchors)."""
    lines: NDArray[np.int64]
    """Row or column of each anchor, (arrangements, anchors)."""
    room: NDArray[np.int64]
    """|V_T| before the anchors take cells, ascending."""


@lru_cache(maxsize=64)
def anchor_lines(world: GridShape, n_anchors: int, margin: int) -> Lines:
    """Return the arrangements with V_T and every C_k non-empty.

    Args:
        world: The grid.
        n_anchors: Anchors of one group.
        margin: Cells that a target lies beyond its anchor, at least.

    Raises:
        UsageError: The grid is too small or the margin too large.
    """
    parts = [_lines_of(world, chosen, margin) for chosen in permutations((1, 2, 3, 4), n_anchors)]
    directions = np.concatenate([part.directions for part in parts])
    lines = np.concatenate([part.lines for part in parts])
    room = np.concatenate([part.room for part in parts])
    if not len(room):
        raise UsageError(
            f"on a grid of {world.rows}×{world.columns} with margin {margin} no {n_anchors} anchors leave room for targets "
            "and confusers; make the grid larger or the margin smaller"
        )
    order = np.argsort(room, kind="stable")
    return Lines(directions[order], lines[order], room[order])


def _lines_of(world: GridShape, chosen: tuple[int, ...], margin: int) -> Lines:
    sizes = [world.columns if d <= 2 else world.rows for d in chosen]
    lines = np.array(list(product(*map(range, sizes))), np.int64)
    along = {True: np.arange(world.columns), False: np.arange(world.rows)}
    holds, fails = [], []
    for k, direction in enumerate(chosen):
        sign = -1 if direction in {1, 3} else 1
        offset = sign * (along[direction <= 2][None] - lines[:, k : k + 1])
        holds.append(offset >= margin)
        fails.append(offset <= 1 - margin)

    def area(which: list[Flags]) -> Integers:
        sides = []
        for is_horizontal, positions in along.items():
            fits = np.ones((len(lines), len(positions)), bool)
            for k, direction in enumerate(chosen):
                if (direction <= 2) == is_horizontal:
                    fits &= which[k]
            sides.append(fits.sum(axis=1))
        return np.asarray(sides[0] * sides[1])

    room = area(holds)
    is_fit = room > 0
    for k in range(len(chosen)):
        is_fit &= area([*holds[:k], fails[k], *holds[k + 1 :]]) > 0
    directions = np.tile(np.array(chosen, np.uint8), (len(lines), 1))
    return Lines(directions[is_fit], lines[is_fit], room[is_fit])


def most_room(world: GridShape, n_anchors: int, *, margin: int, least_share: float) -> int:
    """Return the largest number of targets that at least `least_share` of the arrangements can hold.

    >>> most_room(GridShape(), 1, margin=1, least_share=0.05), most_room(GridShape(), 3, margin=1, least_share=0.05)
    (20, 9)
    """
    if not n_anchors:
        return world.n_cells
    room = anchor_lines(world, n_anchors, margin).room
    return int(room[min(len(room) - 1, int(np.floor((1 - least_share) * len(room))))])


def draw_anchors(
    rng: np.random.Generator, world: GridShape, *, n_anchors: int, room: Integers, margin: int
) -> tuple[NDArray[np.uint8], Integers]:
    """Draw directions and cells of the anchors of one group, each (n, anchors), with room for `room` targets.

    All arrangements with enough room are equally likely; so are the cells along an anchor's line.

    Args:
        rng: Random generator.
        world: The grid.
        n_anchors: Anchors of the group.
        room: Number of targets in each scene, (n,).
        margin: Cells that a target lies beyond its anchor, at least.
    """
    table = anchor_lines(world, n_anchors, margin)
    start = np.searchsorted(table.room, np.maximum(room, 1))
    start = np.minimum(start, len(table.room) - 1)
    pick = start + (rng.random(len(room)) * (len(table.room) - start)).astype(np.int64)
    directions, lines = table.directions[pick], table.lines[pick]
    is_horizontal = directions <= 2
    free = np.where(is_horizontal, world.rows, world.columns)
    along = (rng.random(lines.shape) * free).astype(np.int64)
    row, column = np.where(is_horizontal, along, lines), np.where(is_horizontal, lines, along)
    return directions, row * world.columns + column


@dataclass(frozen=True, slots=True)
class Regions:
    """The regions of one group of targets, each (n, cells) or (n, anchors, cells), with the margin applied."""

    valid: Flags
    """V_T: every relation holds by at least the margin."""
    confusers: Flags
    """C_k: all relations but the k-th hold, and the k-th fails by the margin."""
    wrong: Flags
    """Every relation holds or fails by the margin, and at least one fails."""


def group_regions(
    world: GridShape, directions: NDArray[np.uint8], anchors: Integers, *, margin: int
) -> Regions:
    """Return the regions around given anchors.

    Args:
        world: The grid.
        directions: (n, anchors), with at least one anchor.
        anchors: Their cells, (n, anchors).
        margin: Cells that a target lies beyond its anchor, at least.
    """
    offset = offsets(world.rows, world.columns)[directions, anchors]
    holds = offset >= margin
    fails = ~holds if margin == 1 else offset <= 1 - margin
    count = holds.sum(axis=1, dtype=np.int8)
    n_anchors = directions.shape[1]
    valid = count == n_anchors
    all_but_one = (count == n_anchors - 1)[:, None]
    wrong = ~valid if margin == 1 else (holds | fails).all(axis=1) & fails.any(axis=1)
    return Regions(valid, fails & all_but_one, np.asarray(wrong))


# How scenes are made: the presets, their parameters, and what each bucket guarantees under them.


Density: TypeAlias = Literal["sparse", "dense"] | int | float
"""A density's name, a number of objects (int), or a share of the cells (float)."""
Law: TypeAlias = Literal["theorem", "balanced", "released"]
"""How scenes are laid out. ``theorem``: as the paper's Theorem 1 says. ``balanced``: each scene has counterparts with the other answers.
``released``: as the public generator does."""


@dataclass(frozen=True, slots=True)
class GridRecipe:
    """All parameters of the generator except the seed. Defaults are the paper's."""

    name: str = "paper"
    law: Law = "theorem"
    world: GridShape = field(default_factory=GridShape)
    sparse: float = 0.3
    """Share of the cells that hold an object in sparse scenes."""
    dense: float = 0.7
    """The same in dense scenes."""
    boost: float = 0.5
    """Algorithm 2: probability that the target is made the most frequent kind; otherwise another kind is."""
    overload: float = 0.75
    """Algorithm 3: probability that a further object is a look-alike of the target in a confuser region."""
    existence: tuple[float, float, float] = (0.5, 0.25, 0.25)
    """Existence questions: probabilities of no target, one, and more."""
    margin: int = 1
    """Cells that a target lies beyond its anchor, at least. A look-alike lies at least ``margin − 1`` cells on the wrong
    side. With 1, every cell is on one side or the other."""
    least_share: float = 0.05
    """Counts stay small enough that at least this share of anchor placements has room for them. Otherwise a large count
    would give away where the anchors are."""
    max_answer: int | None = None
    """Largest count asked for. A fixed number makes the distribution of answers the same at every depth."""

    def __post_init__(self) -> None:
        shares = {"boost": self.boost, "overload": self.overload, "least_share": self.least_share}
        shares |= {"sparse": self.sparse, "dense": self.dense}
        for name, value in shares.items():
            if not 0 <= value <= 1:
                raise UsageError(f"{name} must lie between 0 and 1, not {value}")
        if min(self.existence) < 0 or not math.isclose(sum(self.existence), 1):
            raise UsageError(f"existence needs three probabilities that sum to 1, not {self.existence}")
        if not 1 <= self.margin <= max(self.world.rows, self.world.columns):
            raise UsageError(f"the margin must be between 1 and the size of the grid, not {self.margin}")
        if self.law != "theorem":
            own = {"boost", "overload", "existence", "margin", "least_share"}
            given = [
                parameter.name
                for parameter in fields(self)
                if parameter.name in own and getattr(self, parameter.name) != parameter.default
            ]
            if given:
                raise UsageError(
                    f"{given[0]} belongs to the preset paper; the preset {self.name} has no such parameter"
                )
        if self.max_answer is not None and self.max_answer < 1:
            raise UsageError(f"max_answer must be at least 1, not {self.max_answer}")

    def objects(self, density: Density) -> int:
        """Return the number of objects at a density.

        >>> PAPER.objects("sparse"), PAPER.objects("dense"), SOUND.objects("sparse"), PAPER.objects(9)
        (7, 17, 14, 9)
        """
        cells = self.world.n_cells
        if isinstance(density, str):
            if density not in {"sparse", "dense"}:
                raise UsageError(
                    f"a density is sparse, dense, a number of objects or a share, not {density!r}"
                )
            density = self.sparse if density == "sparse" else self.dense
        count = density if isinstance(density, int) else int(density * cells)
        if not 1 <= count <= cells:
            raise UsageError(
                f"{count} objects do not fit a grid of {self.world.rows}×{self.world.columns}: give 1 to {cells}"
            )
        return count


PAPER = GridRecipe()
"""7 and 17 objects on 5×5 cells. With 7, some buckets have no full guarantee."""
SOUND = GridRecipe(name="sound", law="balanced", sparse=0.56)
"""14 and 17 objects on 5×5 cells: who leaves one thing out learns nothing, as far as `promise_of` says."""
RELEASED = GridRecipe(name="released", law="released")
"""As the public generator: 7 and 17 objects, directions with replacement, shared colours and shapes."""
PRESETS = {"paper": PAPER, "sound": SOUND, "released": RELEASED}


_WORLD = GridShape()


def find_recipe(preset: str | GridRecipe) -> GridRecipe:
    """Return a preset by name; a `GridRecipe` is returned unchanged."""
    if isinstance(preset, GridRecipe):
        return preset
    if preset not in PRESETS:
        raise UsageError(f"there is no preset {preset!r}; there are: {', '.join(PRESETS)}")
    return PRESETS[preset]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What Theorem 1 guarantees for every scene of a bucket with a given number of objects."""

    level: str
    """``full``, ``partial``, ``impossible`` or ``none``; see `GUARANTEES`."""
    by_answer: dict[str, str]
    """By group of answers, where they differ."""
    reason: str
    """Why it is not full."""


def guarantee_of(bucket: Bucket, objects: int) -> Guarantee:
    """Return the guarantee: whether every confuser region can be occupied, so that each dropped-anchor shortcut that can fail does.

    With a anchors, a count needs a anchors, a confusers and room for two different answers: 2a + 2 objects. A comparison
    needs all four tables of `comparison_table`.

    >>> from theodolite.instruments.grid.data.question_types import BUCKETS, bucket_index
    >>> [guarantee_of(BUCKETS[bucket_index(key)], 7).level for key in ("M-F0-D2", "M-F0-D3", "CMP-F0-D3", "A-F0-D1")]
    ['full', 'partial', 'impossible', 'none']
    """
    anchors = bucket.n_anchors
    if not anchors:
        return Guarantee("none", {}, "the question has no relation, so a bag of words is right")
    if bucket.is_comparison:
        return _guarantee_of_comparison(bucket, objects)
    if objects < 2 * anchors:
        reason = f"{anchors} anchors and {anchors} confusers are more than {objects} objects"
        return Guarantee("impossible", {}, reason)
    if bucket.is_existence:
        by_answer = _levels_by_answer(bucket.asks)
        hopeless = " or ".join(answer for answer, level in by_answer.items() if level == "impossible")
        reason = f"if the answer is {hopeless}, any superset of the targets is not empty either, so no shortcut can fail"
        return Guarantee("partial", by_answer, reason)
    if objects >= 2 * anchors + 2:
        return Guarantee("full", {}, "")
    reason = (
        f"{objects} objects leave no room for {anchors} anchors, {anchors} confusers and more than one target"
    )
    by_answer = {"1": "full", "more": "partial"} if objects == 2 * anchors + 1 else {}
    return Guarantee("partial", by_answer, reason)


def _levels_by_answer(asks: Asks) -> dict[str, str]:
    """Return the guarantee of existence questions by answer: look-alikes may be unable to change one of the answers."""
    counts = np.array([[0, 0], [1, 0]])
    answers = asks.answer(_WORLD, counts)
    levels = ["full" if can_fail else "impossible" for can_fail in asks.can_be_misled(counts, 0)]
    by_answer = {_WORLD.answers[i]: level for i, level in zip(answers, levels, strict=True)}
    return dict(sorted(by_answer.items(), reverse=True))  # yes first


def _guarantee_of_comparison(bucket: Bucket, objects: int) -> Guarantee:
    anchors = bucket.n_anchors

    def is_enough(count: int) -> bool:
        assert bucket.asks.divide is not None  # noqa: S101 - two groups have it
        return bucket.asks.divide(bucket.anchors_per_side, count - anchors, count)[1]

    if is_enough(objects):
        return Guarantee("full", {}, "")
    needed = next(count for count in range(objects, 8 * anchors) if is_enough(count))
    reason = f"{anchors} anchors, their confusers and targets need {needed} objects, not {objects}"
    return Guarantee("impossible" if objects < 2 * anchors else "partial", {}, reason)


def most_targets(bucket: Bucket, objects: int, recipe: GridRecipe) -> int:
    """Return the largest number of targets of one group that the objects, the geometry and the answers allow.

    Room is kept for all confusers if at least two different counts remain (existence: one target), otherwise for one.
    """
    anchors = bucket.n_anchors
    room = most_room(
        recipe.world, bucket.anchors_per_side, margin=recipe.margin, least_share=recipe.least_share
    )
    free = objects - 2 * anchors
    if anchors and free < (2 if bucket.is_count else 1):
        free = objects - anchors - 1
    most = min(free, room, recipe.world.max_count, recipe.max_answer or objects)
    if most < 1:
        raise UsageError(
            f"{objects} objects are too few for {bucket.key}: it needs {anchors} anchors, a target"
            + (" and a confuser" if anchors else "")
            if free < 1
            else f"a grid of {recipe.world.rows}×{recipe.world.columns} with margin {recipe.margin} has no room for "
            f"the targets and confusers of {bucket.key}; make it larger"
        )
    return most


# Phase 1 of the generator, shared by both modes: questions, cells of anchors and targets, cells reserved for confusers.


@dataclass(frozen=True, slots=True)
class KindCounts(RowTable):
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


def draw_counts(
    rng: np.random.Generator, bucket: Bucket, *, n: int, objects: int, recipe: GridRecipe
) -> KindCounts:
    """Draw the numbers of targets and confusers of n scenes."""
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
    return KindCounts(targets, confusers, none, is_boosted, none[:, 0])


def redraw_counts(
    rng: np.random.Generator,
    bucket: Bucket,
    counts: KindCounts,
    *,
    rows: Integers,
    objects: int,
    recipe: GridRecipe,
) -> KindCounts:
    """Redraw the numbers of comparisons that did not fit; answers stay.

    Args:
        rng: Random generator.
        bucket: The bucket.
        counts: The plan so far; changed in place.
        rows: The scenes to redraw.
        objects: Number of objects in a scene.
        recipe: The parameters of the generator.
    """
    again = _comparison_counts(rng, bucket, (objects, recipe), counts.is_boosted[rows], counts.table[rows])
    for array, new in zip(
        (counts.targets, counts.confusers, counts.look_alikes),
        (again.targets, again.confusers, again.look_alikes),
        strict=True,
    ):
        array[rows] = new
    return counts


def _comparison_counts(
    rng: np.random.Generator, bucket: Bucket, how: tuple[int, GridRecipe], is_boosted: Flags, which: Integers
) -> KindCounts:
    """Draw numbers from the table that `which` names: 2 · (the truth is no) + (the bag of words says no)."""
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
    return KindCounts(targets, confusers, extra, is_boosted, which)


def _loose_tables(asks: Asks, slots: int, most: int) -> tuple[Integers, ...]:
    """List all numbers of targets that leave room for one confuser, for scenes with too few objects for all confusers."""
    pairs = [(a, b) for a in range(most + 1) for b in range(most + 1) if 1 <= a + b <= max(1, slots - 1)]
    numbers = np.array([(a, b, 0, 0, 0, 0) for a, b in pairs], np.int64)
    assert asks.is_yes is not None  # noqa: S101 - two groups have it
    is_yes = asks.is_yes(numbers[:, :2])
    return numbers[is_yes], numbers[is_yes], numbers[~is_yes], numbers[~is_yes]


def draw_kinds(
    rng: np.random.Generator, bucket: Bucket, n: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Draw descriptions of targets and anchors, (n, 2 + 4), and the classes of the anchors, (n, 4).

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
class CellLayout(RowTable):
    """Scenes after phase 1."""

    questions: QuestionTable
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
    """Pick a random `count` of the allowed cells in each row; all if there are fewer."""
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


def lay_out(rng: np.random.Generator, bucket: Bucket, counts: KindCounts, recipe: GridRecipe) -> CellLayout:
    """Make one attempt at every scene. Rows whose anchors collide or whose regions are too small are marked as not ok."""
    n, world, per_side = len(counts.is_boosted), recipe.world, bucket.anchors_per_side
    kinds, classes = draw_kinds(rng, bucket, n)
    directions = np.zeros((n, MOST_ANCHORS), np.uint8)
    anchors = np.full((n, MOST_ANCHORS), -1, np.int64)
    valid = np.ones((n, MOST_SIDES, world.n_cells), bool)
    wrong = np.zeros_like(valid)
    confusers = np.zeros((n, MOST_ANCHORS, world.n_cells), bool)
    free = np.ones((n, world.n_cells), bool)
    rows = np.arange(n)
    if per_side:
        for side in range(bucket.sides):
            own = slice(side * per_side, (side + 1) * per_side)
            directions[:, own], anchors[:, own] = draw_anchors(
                rng, world, n_anchors=per_side, room=counts.targets[:, side], margin=recipe.margin
            )
            regions = group_regions(world, directions[:, own], anchors[:, own], margin=recipe.margin)
            valid[:, side], confusers[:, own], wrong[:, side] = (
                regions.valid,
                regions.confusers,
                regions.wrong,
            )
        free[rows[:, None], anchors[:, : bucket.n_anchors]] = False
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
    questions = QuestionTable(
        np.full(n, BUCKETS.index(bucket), np.uint8), kinds[:, :MOST_SIDES], kinds[:, MOST_SIDES:], directions
    )
    return CellLayout(questions, anchors, classes, targets, reserved, ~wrong, confusers, is_ok)
