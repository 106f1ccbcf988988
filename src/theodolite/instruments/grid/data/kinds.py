"""What questions name: descriptions of targets and anchors, and the classes of all other objects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.world import (
    COLOUR_OF,
    COLOURS,
    MATCHES,
    MOST_ANCHORS,
    MOST_SIDES,
    N_CLASSES,
    SHAPE_OF,
    SHAPES,
    Bucket,
    Cells,
    Flags,
    Integers,
    kind_code,
)


def shared_attributes(rng: np.random.Generator, bucket: Bucket, n: int) -> tuple[Integers, Integers]:
    """Colours and shapes of targets and anchors, from 0, (n, things). Descriptions differ; colours and shapes may be shared."""
    things = bucket.sides + bucket.n_anchors
    colour, shape = np.divmod(rng.random((n, N_CLASSES)).argsort(axis=1)[:, :things], len(SHAPES))
    if bucket.qtype == "SO":
        shape = rng.random((n, len(SHAPES))).argsort(axis=1)[:, :things]
        colour = rng.integers(0, len(COLOURS), (n, things))
    if bucket.qtype == "CO":
        colour = rng.random((n, len(COLOURS))).argsort(axis=1)[:, :things]
        shape = rng.integers(0, len(SHAPES), (n, things))
    return colour, shape


def describe(
    bucket: Bucket, colour: Integers, shape: Integers
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Descriptions of targets and anchors, (n, 2 + 4), and the classes of the anchors, (n, 4)."""
    said = kind_code(
        np.zeros_like(colour) if bucket.qtype == "SO" else colour + 1,
        np.zeros_like(shape) if bucket.qtype == "CO" else shape + 1,
    )
    n, sides = len(said), bucket.sides
    kinds = np.zeros((n, MOST_SIDES + MOST_ANCHORS), np.uint8)
    kinds[:, :sides] = said[:, :sides]
    kinds[:, MOST_SIDES : MOST_SIDES + bucket.n_anchors] = said[:, sides:]
    classes = np.zeros((n, MOST_ANCHORS), np.uint8)
    classes[:, : bucket.n_anchors] = (1 + len(SHAPES) * colour + shape)[:, sides:]
    return kinds, classes


def paint(rng: np.random.Generator, cells: Cells, where: Flags, classes: Flags) -> None:
    """Paints cells with random classes of those allowed in their scenes, (n, 1 + classes)."""
    row, cell = np.nonzero(where)
    cells[row, cell] = (rng.random((len(row), classes.shape[1])) * classes[row]).argmax(axis=1)


class Palette:
    """Which classes may be painted as what, for each scene."""

    def __init__(self, bucket: Bucket, kinds: NDArray[np.uint8]) -> None:
        n = len(kinds)
        taken = np.zeros((n, N_CLASSES + 1), bool)
        taken[:, 0] = True
        for k in range(bucket.n_anchors):
            taken |= MATCHES[kinds[:, MOST_SIDES + k]]
        self.alike = [MATCHES[kinds[:, side]] for side in range(bucket.sides)]
        target = np.logical_or.reduce(self.alike)
        self.other = ~taken & ~target
        colours, shapes = np.divmod(kinds[:, : bucket.sides], 5)
        has_colour = [COLOUR_OF[None] == colours[:, side, None] for side in range(bucket.sides)]
        has_shape = [SHAPE_OF[None] == shapes[:, side, None] for side in range(bucket.sides)]
        any_colour, any_shape = np.logical_or.reduce(has_colour), np.logical_or.reduce(has_shape)
        self.colour = [each & ~any_shape & self.other for each in has_colour]
        self.shape = [each & ~any_colour & self.other for each in has_shape]
        self.neither = (
            ~any_colour & ~any_shape & self.other if bucket.qtype not in {"SO", "CO"} else self.other
        )
        self.is_ok = self.neither.any(axis=1)
        for each in (*self.colour, *self.shape) if bucket.qtype not in {"SO", "CO"} else ():
            self.is_ok &= each.any(axis=1)


def kinds_with_decoys(
    rng: np.random.Generator, bucket: Bucket, n: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], Palette]:
    """Descriptions, anchors' classes, decoys' classes (n, decoys), and what other objects can be.

    Of two anchors and more, decoy k has the colour of anchor k and the shape of the next one; of one anchor, one decoy has its colour
    and one its shape. The two groups of a comparison share nothing.
    """
    kinds, classes, decoys, is_ok = _try_decoys(rng, bucket, n)
    while not is_ok.all():
        rows = np.flatnonzero(~is_ok)
        kinds[rows], classes[rows], decoys[rows], is_ok[rows] = _try_decoys(rng, bucket, len(rows))
    return kinds, classes, decoys, Palette(bucket, kinds)


def _try_decoys(
    rng: np.random.Generator, bucket: Bucket, n: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], Flags]:
    """The same, and whether decoys and all other objects can be had."""
    colour, shape = shared_attributes(rng, bucket, n)
    kinds, classes = describe(bucket, colour, shape)
    is_ok = Palette(bucket, kinds).is_ok
    if bucket.is_comparison:
        is_ok &= (colour[:, 0] != colour[:, 1]) & (shape[:, 0] != shape[:, 1])
    if not bucket.n_anchors or bucket.qtype in {"SO", "CO"}:
        return kinds, classes, np.zeros((n, 0), np.uint8), is_ok
    first, second = colour[:, bucket.sides :], shape[:, bucket.sides :]
    if bucket.n_anchors == 1:
        other_shape = (second[:, 0] + rng.integers(1, len(SHAPES), n)) % len(SHAPES)
        other_colour = (first[:, 0] + rng.integers(1, len(COLOURS), n)) % len(COLOURS)
        first = np.stack([first[:, 0], other_colour], axis=1)
        second = np.stack([other_shape, second[:, 0]], axis=1)
    else:
        second = np.roll(second, -1, axis=1)
    decoys = (1 + len(SHAPES) * first + second).astype(np.uint8)
    named = 1 + len(SHAPES) * colour + shape
    is_ok &= ~(decoys[:, :, None] == named[:, None]).any(axis=(1, 2))
    return kinds, classes, decoys, is_ok
