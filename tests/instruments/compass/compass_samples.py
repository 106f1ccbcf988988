"""Samples made by hand, whose every number is known."""

import numpy as np

from theodolite.attribution import RelevanceMap
from theodolite.core.types import Picture
from theodolite.geometry import Box, TokenGrid
from theodolite.geometry.directions import CARDINAL
from theodolite.instruments.compass.data.pairs import Region
from theodolite.instruments.compass.measure import Sample

SIZE = (160, 120)
ROWS, COLUMNS = 12, 16
DIRECTIONS = ("left", "right", "above", "below")


def box_at(x, y, side=10):
    return Box(x - side / 2, y - side / 2, x + side / 2, y + side / 2)


def planted(box, *, grid=None, elsewhere=0.0, text=None, method="planted", target="pred"):
    """A map with its relevance on one box."""
    grid = grid or TokenGrid.regular(SIZE, (ROWS, COLUMNS))
    values = (box.covers(grid.rects_px) + elsewhere).astype(np.float32)
    return RelevanceMap(method, target, grid, values, text)


def make_sample(
    number,
    *,
    maps,
    reference=None,
    target=None,
    cluster=None,
    logits=None,
    prompt="A",
    condition="plain",
    source="mine",
):
    """One pair; the right answer is that of its boxes, and so is the given one unless logits say otherwise."""
    reference, target = reference or box_at(80, 60), target or box_at(130, 55)
    gold = DIRECTIONS.index(CARDINAL.between(reference, target).name)
    if logits is None:
        logits = np.eye(4)[gold] * 2.0
    elif isinstance(logits, int):
        logits = np.eye(4)[logits] * 2.0
    logits = np.asarray(logits, float)
    return Sample(
        id=f"pair-{number}",
        item_id=f"item-{number}-{prompt}-{condition}",
        condition=condition,
        prompt=prompt,
        picture=Picture(f"bytes-{cluster or number}"),
        size_px=SIZE,
        reference=Region("cup", reference),
        target=Region("pen", target),
        others=(),
        directions=DIRECTIONS,
        gold=gold,
        logits=logits,
        log_probabilities=logits - 3.0,
        maps={f"{each.method}@{each.target}": each for each in maps},
        cluster=str(cluster or number),
        group="",
        meta={"source": source},
    )


def around(n, *, seed=0):
    """References and targets in all directions, far enough apart."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        angle = 2 * np.pi * (i + rng.random()) / n
        x, y = rng.uniform(60, 100), rng.uniform(50, 70)
        found.append((box_at(x, y), box_at(x + 45 * np.cos(angle), y - 40 * np.sin(angle))))
    return found
