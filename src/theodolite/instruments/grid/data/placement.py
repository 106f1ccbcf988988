"""Anchor positions that leave room in the valid region and in every confuser region."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import Flags, Integers, World, offsets


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
def anchor_lines(world: World, n_anchors: int, margin: int) -> Lines:
    """Arrangements with V_T and every C_k non-empty."""
    found = [_lines_of(world, chosen, margin) for chosen in permutations((1, 2, 3, 4), n_anchors)]
    directions = np.concatenate([each.directions for each in found])
    lines = np.concatenate([each.lines for each in found])
    room = np.concatenate([each.room for each in found])
    if not len(room):
        raise UsageError(
            f"on a grid of {world.rows}×{world.columns} with margin {margin} no {n_anchors} anchors leave room for targets "
            "and confusers; make the grid larger or the margin smaller"
        )
    order = np.argsort(room, kind="stable")
    return Lines(directions[order], lines[order], room[order])


def _lines_of(world: World, chosen: tuple[int, ...], margin: int) -> Lines:
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
        for is_horizontal, places in along.items():
            fits = np.ones((len(lines), len(places)), bool)
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


def most_room(world: World, n_anchors: int, *, margin: int, least_share: float) -> int:
    """The largest number of targets that at least `least_share` of the arrangements can hold.

    >>> most_room(World(), 1, margin=1, least_share=0.05), most_room(World(), 3, margin=1, least_share=0.05)
    (20, 9)
    """
    if not n_anchors:
        return world.n_cells
    room = anchor_lines(world, n_anchors, margin).room
    return int(room[min(len(room) - 1, int(np.floor((1 - least_share) * len(room))))])


def draw_anchors(
    rng: np.random.Generator, world: World, *, n_anchors: int, room: Integers, margin: int
) -> tuple[NDArray[np.uint8], Integers]:
    """Directions and cells of the anchors of one group, each (n, anchors), with room for `room` targets.

    All arrangements with enough room are equally likely; so are the cells along an anchor's line.
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


def group_regions(world: World, directions: NDArray[np.uint8], anchors: Integers, *, margin: int) -> Regions:
    """The regions around given anchors; ``directions`` and ``anchors`` are (n, anchors) with at least one anchor."""
    offset = offsets(world.rows, world.columns)[directions, anchors]
    holds = offset >= margin
    fails = ~holds if margin == 1 else offset <= 1 - margin
    count = holds.sum(axis=1, dtype=np.int8)
    n_anchors = directions.shape[1]
    valid = count == n_anchors
    all_but_one = (count == n_anchors - 1)[:, None]
    wrong = ~valid if margin == 1 else (holds | fails).all(axis=1) & fails.any(axis=1)
    return Regions(valid, fails & all_but_one, np.asarray(wrong))
