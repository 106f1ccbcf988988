"""Phase 2, where the modes part: which objects stand beside anchors and targets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.layout import Counts, Layout, pick
from theodolite.instruments.grid.data.recipe import Recipe
from theodolite.instruments.grid.data.world import (
    BUCKETS,
    COLOURS,
    MATCHES,
    MOST_ANCHORS,
    N_CLASSES,
    SHAPES,
    Cells,
    Flags,
    Integers,
    Mode,
)


def fill(
    rng: np.random.Generator, layout: Layout, counts: Counts, *, mode: Mode, objects: int, recipe: Recipe
) -> Cells:
    """The finished scenes, (n, cells): exactly `objects` objects each."""
    cells = _with_anchors(layout)
    if not len(cells):
        return cells
    bucket = BUCKETS[int(layout.questions.bucket[0])]
    for side in range(bucket.sides):
        _paint(rng, cells, layout.targets[:, side], layout.questions.targets[:, side])
    if mode == "spur" or not bucket.is_relational:
        _balance(rng, cells, layout, counts, objects=objects)
        return cells
    for side in range(bucket.sides):
        _paint(rng, cells, layout.reserved[:, side], layout.questions.targets[:, side])
    if not bucket.is_comparison:
        _overload(rng, cells, layout, objects=objects, share=recipe.overload)
    _scatter(rng, cells, layout, objects=objects, with_look_alikes=not bucket.is_comparison)
    return cells


def _with_anchors(layout: Layout) -> Cells:
    n, _, n_cells = layout.valid.shape
    cells = np.zeros((n, n_cells), np.uint8)
    rows = np.arange(n)
    for k in range(MOST_ANCHORS):
        there = layout.anchor_cells[:, k] >= 0
        cells[rows[there], layout.anchor_cells[there, k]] = layout.anchor_classes[there, k]
    return cells


def _of_kind(rng: np.random.Generator, kinds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A random class of each description; what the description leaves open is drawn."""
    colour, shape = np.divmod(kinds, 5)
    is_open = colour == 0
    if is_open.any():
        colour = np.where(is_open, rng.integers(1, len(COLOURS) + 1, kinds.shape), colour)
    is_open = shape == 0
    if is_open.any():
        shape = np.where(is_open, rng.integers(1, len(SHAPES) + 1, kinds.shape), shape)
    return (len(SHAPES) * (colour - 1) + shape).astype(np.uint8)


def _paint(rng: np.random.Generator, cells: Cells, where: Flags, kinds: NDArray[np.uint8]) -> None:
    row, cell = np.nonzero(where)
    cells[row, cell] = _of_kind(rng, kinds[row])


def _free_classes(layout: Layout) -> Flags:
    """Which classes are neither a target's nor an anchor's, (n, 1 + classes)."""
    questions = layout.questions
    taken = np.zeros((len(questions), N_CLASSES + 1), bool)
    taken[:, 0] = True
    bucket = BUCKETS[int(questions.bucket[0])]
    for side in range(bucket.sides):
        taken |= MATCHES[questions.targets[:, side]]
    for k in range(bucket.n_anchors):
        taken |= MATCHES[questions.anchors[:, k]]
    return ~taken


def _overload(rng: np.random.Generator, cells: Cells, layout: Layout, *, objects: int, share: float) -> None:
    """Algorithm 3, phase 2: each object still to come is with probability `share` a look-alike in a random C_k.

    A random anchor and then a random cell of its region give a cell of C_k the weight 1/|C_k|; cells are drawn
    without replacement by an exponential race.
    """
    free = cells == 0
    wanted = rng.binomial(objects - (~free).sum(axis=1), share)
    open_cells = layout.confusers & free[:, None]
    size = open_cells.sum(axis=2, keepdims=True)
    # The C_k are disjoint: inside C_k all other relations hold, inside C_j the k-th one does.
    weight = (open_cells / np.maximum(size, 1)).sum(axis=1)
    allowed = weight > 0
    key = np.full(cells.shape, np.inf)
    key[allowed] = rng.standard_exponential(int(allowed.sum())) / weight[allowed]
    ordered = np.sort(key, axis=1)
    last = np.take_along_axis(ordered, np.maximum(wanted - 1, 0)[:, None], axis=1)
    chosen = (key <= last) & allowed & (wanted > 0)[:, None]
    _paint(rng, cells, chosen, layout.questions.targets[:, 0])


def _scatter(
    rng: np.random.Generator, cells: Cells, layout: Layout, *, objects: int, with_look_alikes: bool
) -> None:
    """Fills up with random classes anywhere, none of them an anchor's; a target's only where it clearly does not count."""
    free = cells == 0
    chosen = pick(rng, free, objects - (~free).sum(axis=1))
    row, cell = np.nonzero(chosen)
    pool = _free_classes(layout)
    size = pool.sum(axis=1)
    order = np.argsort(~pool, axis=1, kind="stable")
    cells[row, cell] = order[row, (rng.random(len(row)) * size[row]).astype(np.int64)]
    if not with_look_alikes:
        return
    alike = MATCHES[layout.questions.targets[:, 0]].sum(axis=1)
    is_alike = (rng.random(len(row)) < (alike / (alike + size))[row]) & ~layout.valid[row, 0, cell]
    cells[row[is_alike], cell[is_alike]] = _of_kind(rng, layout.questions.targets[row[is_alike], 0])


def _balance(rng: np.random.Generator, cells: Cells, layout: Layout, counts: Counts, *, objects: int) -> None:
    """Algorithm 2: no further look-alikes; the target shall be the most frequent kind, or another one shall.

    Boosted, the other kinds take turns, so that each stays as rare as can be. Otherwise one of them comes more
    often than the target, as far as there are objects left. Kinds are shapes, colours or classes, as the question
    names them.
    """
    bucket = BUCKETS[int(layout.questions.bucket[0])]
    n, n_cells = cells.shape
    pool = _free_kinds(bucket.qtype, _free_classes(layout))
    order = (rng.random(pool.shape) + ~pool).argsort(axis=1)
    size = pool.sum(axis=1)[:, None]
    free = cells == 0
    left = objects - (~free).sum(axis=1)
    number = counts.targets.max(axis=1)
    turn = np.arange(n_cells)[None]
    rival = np.minimum(number + 1 + (rng.random(n) * np.maximum(left - number, 1)).astype(np.int64), left)
    drawn = (rng.random((n, n_cells)) * size).astype(np.int64)
    which = np.where(counts.is_boosted[:, None], turn % size, np.where(turn < rival[:, None], 0, drawn))
    chosen = np.take_along_axis(order, which, axis=1)
    kinds = _kind_of_pool(bucket.qtype, chosen)
    key = rng.random((n, n_cells))
    key[~free] = 2.0
    places = key.argsort(axis=1)
    row, rank = np.nonzero(turn < left[:, None])
    cells[row, places[row, rank]] = _of_kind(rng, kinds[row, rank])


def _free_kinds(qtype: str, classes: Flags) -> Flags:
    """Which shapes, colours or classes a question leaves free, (n, kinds)."""
    table = classes[:, 1:].reshape(-1, len(COLOURS), len(SHAPES))
    if qtype == "SO":
        return np.asarray(table.any(axis=1))
    if qtype == "CO":
        return np.asarray(table.any(axis=2))
    return classes[:, 1:]


def _kind_of_pool(qtype: str, chosen: Integers) -> NDArray[np.uint8]:
    if qtype == "SO":
        return (chosen + 1).astype(np.uint8)
    if qtype == "CO":
        return (5 * (chosen + 1)).astype(np.uint8)
    colour, shape = np.divmod(chosen, len(SHAPES))
    return (5 * (colour + 1) + shape + 1).astype(np.uint8)
