"""Scenes as the public generator of GridVQA-X makes them: the law of the preset ``released``.

Written from its published behaviour, for comparison and training; answers are right, but Theorem 1 does not hold:

- directions are drawn with replacement, and any two classes may be named together, so a relation may be redundant and colours or
  shapes are shared;
- a target may take the last slot, so that some C_k stays empty; questions with one anchor have no reserved confuser;
- a filler that lands outside the valid region is a look-alike in three of four cases, in a random C_k if there are several anchors;
- existence questions by shape or colour lose the fillers that would count, so their scenes have fewer objects;
- counts without a relation may have one object too many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.question_types import (
    BUCKETS,
    MOST_ANCHORS,
    MOST_SIDES,
    Bucket,
    QuestionTable,
    describe,
    paint,
    shared_attributes,
)
from theodolite.instruments.grid.data.recipe import GridRecipe, pick
from theodolite.instruments.grid.data.world import (
    COLOURS,
    MATCHES,
    N_CLASSES,
    SHAPES,
    Cells,
    Flags,
    GridShape,
    Integers,
    Mode,
    kind_code,
    offsets,
)

_ALIKE_OUTSIDE = 0.75
"""Probability that a filler outside the valid region is a look-alike."""
_BY_OUTSIDE = 0.5
"""Probability that a filler's cell is first sought outside the valid region."""
_LEAST_ROOM = 2
"""Between two anchors with opposite directions lies at least one free line."""


def attempt(
    rng: np.random.Generator, bucket: Bucket, n: int, *, objects: int, mode: Mode, recipe: GridRecipe
) -> tuple[QuestionTable, Cells, Flags]:
    """Make one attempt at each of n scenes: questions, cells, and whether there is a valid region.

    Args:
        rng: Random generator.
        bucket: The bucket.
        n: Number of scenes.
        objects: Number of objects in a scene.
        mode: ``pure`` or ``spur``.
        recipe: The parameters of the generator.
    """
    world = recipe.world
    kinds, classes = describe(bucket, *shared_attributes(rng, bucket, n))
    scene = _Scene(rng, bucket, world, kinds)
    directions = np.zeros((n, MOST_ANCHORS), np.uint8)
    if bucket.n_anchors:
        directions[:, : bucket.n_anchors] = rng.integers(1, 5, (n, bucket.n_anchors))
    scene.place_anchors(directions, classes)
    is_ok = np.ones(n, bool)
    for side in range(bucket.sides):
        is_ok &= scene.regions[side].any(axis=1)
        scene.place_targets(side, objects, mode, recipe)
    if mode == "pure":
        scene.place_confusers(objects)
    scene.fill(objects, mode)
    questions = QuestionTable(
        np.full(n, BUCKETS.index(bucket), np.uint8), kinds[:, :MOST_SIDES], kinds[:, MOST_SIDES:], directions
    )
    return questions, scene.cells, is_ok


class _Scene:
    """Scenes being filled."""

    def __init__(
        self, rng: np.random.Generator, bucket: Bucket, world: GridShape, kinds: NDArray[np.uint8]
    ) -> None:
        n = len(kinds)
        self.rng, self.bucket, self.world = rng, bucket, world
        self.rows = np.arange(n)
        self.cells = np.zeros((n, world.n_cells), np.uint8)
        self.alike = [MATCHES[kinds[:, side]] for side in range(bucket.sides)]
        self.pool = np.ones((n, N_CLASSES + 1), np.int64)  # of classes that fillers are drawn from
        self.pool[:, 0] = 0
        for k in range(bucket.n_anchors):
            self.pool[MATCHES[kinds[:, MOST_SIDES + k]]] = 0
        self.regions = [np.ones((n, world.n_cells), bool) for _ in range(bucket.sides)]
        self.confusers: list[Flags] = []

    @property
    def free(self) -> Flags:
        return np.asarray(self.cells == 0)

    def place_anchors(self, directions: NDArray[np.uint8], classes: NDArray[np.uint8]) -> None:
        """Place anchors, then compute the regions without their cells.

        Room is left between anchors of one group with opposite directions.
        """
        per_side, n = self.bucket.anchors_per_side, len(self.cells)
        positions = np.zeros((n, MOST_ANCHORS), np.int64)

        def put(k: int, mine: Flags, allowed: Flags) -> None:
            positions[:, k] = np.where(mine, self._put(allowed, mine, classes[:, k]), positions[:, k])

        waiting: list[tuple[int, Flags, Flags]] = []
        row, column = np.divmod(np.arange(self.world.n_cells), self.world.columns)
        groups = [[side * per_side + k for k in range(per_side)] for side in range(self.bucket.sides)]
        for own in groups if per_side else ():
            for first, line, size in ((1, column, self.world.columns), (3, row, self.world.rows)):
                is_first, is_second = directions == first, directions == first + 1
                is_pair = is_first[:, own].any(axis=1) & is_second[:, own].any(axis=1)
                nearest = np.full(n, size - 1)
                for k in own:  # "left of" or "above" first: from the third line on
                    put(k, is_pair & is_first[:, k], np.broadcast_to(line >= _LEAST_ROOM, self.cells.shape))
                    is_nearer = is_pair & is_first[:, k] & (line[positions[:, k]] < nearest)
                    nearest[is_nearer] = line[positions[is_nearer, k]]
                for k in own:
                    put(
                        k,
                        is_pair & is_second[:, k],
                        line[None] <= np.maximum(0, nearest - _LEAST_ROOM)[:, None],
                    )
                    allowed = np.where(is_first[:, k, None], line[None] > 0, line[None] < size - 1)
                    waiting.append((k, ~is_pair & (is_first | is_second)[:, k], allowed))
        for k, mine, allowed in sorted(waiting, key=lambda entry: entry[0]):
            put(k, mine, allowed)
        holds = offsets(self.world.rows, self.world.columns)[directions, positions] >= 1
        for side, own in enumerate(groups):
            self.regions[side] = holds[:, own].all(axis=1) & self.free
        if per_side > 1 and not self.bucket.is_comparison:
            count = holds[:, :per_side].sum(axis=1)
            self.confusers = [~holds[:, k] & (count == per_side - 1) for k in range(per_side)]

    def _put(self, allowed: Flags, where: Flags, classes: NDArray[np.uint8]) -> Integers:
        """Paint a random free cell of those allowed in some scenes, and return the cells."""
        key = self.rng.random(self.cells.shape, np.float32)
        key[~(allowed & self.free)] = -1
        cell = key.argmax(axis=1)
        self.cells[self.rows[where], cell[where]] = classes[where]
        return np.asarray(cell)

    def _paint(self, where: Flags, classes: Flags) -> None:
        paint(self.rng, self.cells, where, classes)

    def place_targets(self, side: int, objects: int, mode: Mode, recipe: GridRecipe) -> None:
        """Place as many targets as the generator draws, in the valid region."""
        rng, bucket, n = self.rng, self.bucket, len(self.cells)
        region = self.regions[side] & self.free
        self.regions[side] = region
        room = region.sum(axis=1)
        left = objects - (~self.free).sum(axis=1)
        most = np.maximum(np.minimum(left, room), 1)
        if bucket.is_comparison:
            share = np.full(n, 0.6)
            if bucket.depth == 1 and side == 0:
                known = (share for share in (recipe.sparse, recipe.dense) if recipe.objects(share) == objects)
                density = next(known, objects / self.world.n_cells)
                share[:] = density / (1.65 if density < 0.5 else 1.8)
            high = np.minimum(share, left / np.maximum(room, 1))
            number = ((0.1 + rng.random(n) * (high - 0.1)) * room).astype(np.int64)
            number = np.clip(number, 1, np.maximum(room, 1))
        else:
            number = 1 + (rng.random(n) * most).astype(np.int64)
        majors = np.zeros(n, np.int64)
        is_plain = not (bucket.is_relational or bucket.is_comparison)
        if bucket.is_count and is_plain:
            number, majors = self._plain_counts(objects, n)
        elif bucket.is_count and mode == "spur":
            number, majors = self._spurious_counts(left, room)
        if bucket.is_existence:
            sort = rng.choice(3, n, p=(0.5, 0.25, 0.25))
            number = np.where(sort == 2, number, sort)
        if is_plain:
            self._put_majors(majors)
            self.regions[side] = self.regions[side] & self.free
            region = self.regions[side]
        self._paint(pick(rng, region, number), self.alike[side])
        if not is_plain:
            self._put_majors(majors)

    def _plain_counts(self, objects: int, n: int) -> tuple[Integers, Integers]:
        """Draw counts for questions without a relation: the target or another class is the most frequent."""
        rng, half = self.rng, objects // 2
        is_boosted = rng.random(n) < 0.5
        if objects < 10:
            high = rng.integers(half + 1, objects + 1, n)
        else:
            high = np.ceil((0.48 + 0.42 * rng.random(n)) * objects).astype(np.int64)
        low = rng.integers(1, half + 1, n)
        least = half + 1
        most = objects - low if objects < 10 else np.where(low >= half - 2, least + half - low, least + 4)
        majors = least + (rng.random(n) * (most - least + 1)).astype(np.int64)
        return np.where(is_boosted, high, low), np.where(is_boosted, 0, majors)

    def _spurious_counts(self, left: Integers, room: Integers) -> tuple[Integers, Integers]:
        """Draw spurious counts: few targets and more of another kind, or many targets."""
        rng, n = self.rng, len(left)
        half = np.maximum(1, left // 2)
        is_few = rng.random(n) < 0.5
        few = 1 + (rng.random(n) * np.minimum(half, room)).astype(np.int64)
        low, high = np.minimum(half + 1, room), np.minimum(left, room)
        many = low + (rng.random(n) * (high - low + 1)).astype(np.int64)
        return np.where(is_few, few, many), np.where(is_few, few + 1, 0)

    def _put_majors(self, number: Integers) -> None:
        """Place objects of one kind that is neither a target's nor an anchor's, if there is one."""
        if not number.any():
            return
        pool = (self.pool > 0) & ~self.alike[0]
        naming = self.bucket.type.naming
        if not naming.is_whole:
            table = pool[:, 1:].reshape(-1, len(COLOURS), len(SHAPES))
            axis = 2 if naming.has_colour else 1
            chosen = (self.rng.random((len(pool), 4)) * table.any(axis=axis)).argmax(axis=1)
            code = kind_code(chosen + 1, 0) if naming.has_colour else kind_code(0, chosen + 1)
        else:
            chosen = (self.rng.random(pool.shape) * pool).argmax(axis=1)
            code = kind_code((chosen - 1) // len(SHAPES) + 1, (chosen - 1) % len(SHAPES) + 1)
        self._paint(pick(self.rng, self.free, number), MATCHES[code])

    def place_confusers(self, objects: int) -> None:
        """Place one look-alike in each C_k that has a free cell, as long as objects are left."""
        for confuser in self.confusers:
            allowed = confuser & self.free
            is_left = (~self.free).sum(axis=1) < objects
            self._paint(
                pick(self.rng, allowed, (is_left & allowed.any(axis=1)).astype(np.int64)), self.alike[0]
            )

    def fill(self, objects: int, mode: Mode) -> None:
        """Place the remaining objects one by one."""
        valid = np.logical_or.reduce(self.regions)
        is_plain = not (self.bucket.is_relational or self.bucket.is_comparison)
        left = objects - (~self.free).sum(axis=1)
        gone = np.zeros_like(self.cells, bool)  # fillers that are removed in the end
        start = [confuser & self.free for confuser in self.confusers]
        for turn in range(int(left.max(initial=0))):
            is_more = turn < left
            free = self.free & ~gone
            outside = free & ~valid
            # A cell that is taken is drawn again, with a new choice of where to seek it.
            by_outside = _BY_OUTSIDE * outside.sum(axis=1) / np.maximum((~valid).sum(axis=1), 1)
            by_any = (1 - _BY_OUTSIDE) * free.sum(axis=1) / self.world.n_cells
            is_sought = self.rng.random(len(free)) * (by_outside + by_any) < by_outside
            cell = self._one_of(np.where(is_sought[:, None], outside, free))
            is_outside = ~valid[self.rows, cell]
            classes = self._drawn_class(self.pool)
            if mode == "spur" and not is_plain:
                others = self.pool * ~np.logical_or.reduce(self.alike)
                classes = self._drawn_class(others)
            elif not self.bucket.is_comparison:
                is_alike = is_outside & (self.rng.random(len(cell)) <= _ALIKE_OUTSIDE)
                classes = np.where(is_alike, self._drawn_class(self.alike[0] * 1), classes)
                cell = self._moved(cell, is_alike, free, start)
            counts = self.alike[0][self.rows, classes] & self.regions[0][self.rows, cell] & is_more
            if self.bucket.is_existence and counts.any():
                classes = self._without_target(counts, classes, cell, gone)
            self.cells[self.rows[is_more], cell[is_more]] = classes[is_more]
        self.cells[gone] = 0

    def _one_of(self, allowed: Flags) -> Integers:
        key = self.rng.random(allowed.shape, np.float32)
        key[~allowed] = -1
        return np.asarray(key.argmax(axis=1))

    def _drawn_class(self, weights: Integers) -> NDArray[np.uint8]:
        total = weights.cumsum(axis=1)
        drawn = self.rng.random(len(weights)) * total[:, -1]
        return np.asarray((total <= drawn[:, None]).sum(axis=1), np.uint8)

    def _moved(self, cell: Integers, is_alike: Flags, free: Flags, start: list[Flags]) -> Integers:
        """Move look-alikes into a random C_k that had a free cell, if it still has another one."""
        if not start:
            return cell
        there = np.stack([cells.any(axis=1) for cells in start], axis=1)
        which = (self.rng.random(there.shape) * there).argmax(axis=1)
        allowed = np.stack(start, axis=1)[self.rows, which] & free
        allowed[self.rows, cell] = False
        moves = is_alike & there.any(axis=1) & allowed.any(axis=1)
        return np.where(moves, self._one_of(allowed), cell)

    def _without_target(
        self, counts: Flags, classes: NDArray[np.uint8], cell: Integers, gone: Flags
    ) -> NDArray[np.uint8]:
        """Remove a filler that would count in an existence question (shape or colour alone), or change its class."""
        if not self.bucket.names_whole:
            gone[self.rows[counts], cell[counts]] = True
            return np.where(counts, np.uint8(N_CLASSES), classes)  # painted over in the end
        taken = np.where(counts, classes, 0)
        weights = self.pool.copy()
        weights[self.rows[counts], taken[counts]] -= 1
        again = self._drawn_class(np.maximum(weights, 0))
        weights[self.rows[counts], again[counts]] += 1
        self.pool = np.where(counts[:, None], weights, self.pool)
        return np.where(counts, again, classes)
