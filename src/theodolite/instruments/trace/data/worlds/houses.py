"""Plans of houses with four rooms, and walks through them."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.trace.data.episode import Split

ROOM, N_MOVES = 4, 8
SIDE = 2 * ROOM + 3
_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Row and column, facing north, east, south and west."""
Place = tuple[int, int, int]
"""Row, column, and which of the four ways it faces: north, east, south, west."""


def layout_split(openings: Sequence[int]) -> Split:
    """Which split a layout belongs to: a quarter of all layouts is kept for the out-of-distribution one."""
    digest = hashlib.sha256(",".join(map(str, openings)).encode()).digest()
    return "ood" if digest[0] % 4 == 0 else "in-distribution"


def walls_of(openings: Sequence[int]) -> NDArray[np.bool_]:
    """Which cells are wall."""
    walls = np.zeros((SIDE, SIDE), bool)
    middle = ROOM + 1
    walls[[0, middle, SIDE - 1], :] = True
    walls[:, [0, middle, SIDE - 1]] = True
    upper, lower, left, right = openings
    for where, (row, column) in (
        (upper, (1 + upper, middle)),
        (lower, (middle + 1 + lower, middle)),
        (left, (middle, 1 + left)),
        (right, (middle, middle + 1 + right)),
    ):
        if where >= 0:
            walls[row, column] = False
    return walls


def room_of(row: int, column: int) -> int:
    """The number of the room that a cell belongs to; an opening belongs to the room north or west of it."""
    return 2 * (row > ROOM + 1) + (column > ROOM + 1)


def is_passage(walls: NDArray[np.bool_], row: int, column: int) -> bool:
    """Whether a cell lies next to an opening, where a thing would block it."""
    middle = ROOM + 1
    return any(
        (row + dr == middle or column + dc == middle) and not walls[row + dr, column + dc]
        for dr, dc in _STEPS
    )


def shortest_walk(walls: NDArray[np.bool_], rng: np.random.Generator) -> tuple[Place, ...] | None:
    """A shortest walk from a random cell to the farthest one; None if the house has no room for it."""
    cells = np.argwhere(~walls).tolist()
    row, column = cells[int(rng.integers(len(cells)))]
    start = (row, column, int(rng.integers(4)))
    came: dict[Place, Place | None] = {start: None}
    far: dict[Place, int] = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there in _neighbours(here, walls):
            if there not in came and far[here] < N_MOVES:
                came[there], far[there] = here, far[here] + 1
                queue.append(there)
    ends = [s for s, d in far.items() if d == N_MOVES and room_of(*s[:2]) != room_of(row, column)]
    for i in rng.permutation(len(ends)):
        path = [ends[int(i)]]
        while (before := came[path[-1]]) is not None:
            path.append(before)
        n_turns = sum(a[2] != b[2] for a, b in pairwise(path))
        if n_turns == 2:
            return tuple(path[::-1])
    return None


def _neighbours(state: Place, walls: NDArray[np.bool_]) -> list[Place]:
    row, column, facing = state
    down, right = _STEPS[facing]
    found = [(row, column, (facing + 1) % 4), (row, column, (facing - 1) % 4)]
    if not walls[row + down, column + right]:
        found.append((row + down, column + right, facing))
    return found
