"""Samples made by hand, for controls: maps whose answer is known."""

import numpy as np

from theodolite.attribution import RelevanceMap
from theodolite.core.types import Picture
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.data.pairs import Region
from theodolite.instruments.compass.measure import Sample, map_key, with_answers

SIZE = (320, 240)
DIRECTIONS = ("left", "right", "above", "below")
GRID = TokenGrid.regular(SIZE, (12, 16))


def box_at(x, y, side=30.0):
    return Box(x - side / 2, y - side / 2, x + side / 2, y + side / 2)


def spot(x, y, sigma=18.0, grid=GRID):
    """Relevance as a round spot at a place."""
    distance = ((grid.centres_px - (x, y)) ** 2).sum(axis=1)
    return np.exp(-distance / (2 * sigma**2)).astype(np.float32) + np.float32(1e-6)


def sample(name, reference, target, maps, *, cluster=None, control=None, probe="", predicted=None, others=()):
    """A sample; `maps` is ``method@target`` -> values on `GRID`, or a whole map."""
    angle = np.degrees(
        np.arctan2(reference.centre_px[1] - target.centre_px[1], target.centre_px[0] - reference.centre_px[0])
    )
    gold = int(np.argmin([abs((angle - each + 180) % 360 - 180) for each in (180, 0, 90, 270)]))
    chosen = gold if predicted is None else predicted
    logits = np.where(np.arange(4) == chosen, 1.0, 0.0)
    condition = "plain" if control is None else f"{control}/{probe}"
    meta = {} if control is None else {"control": control, "probe": probe}
    made = {
        key: values
        if isinstance(values, RelevanceMap)
        else RelevanceMap(*key.split("@"), GRID, np.asarray(values, np.float32))
        for key, values in maps.items()
    }
    return Sample(
        id=name,
        item_id=f"{name}/{condition}",
        condition=condition,
        prompt="A",
        picture=Picture("bytes-0"),
        size_px=SIZE,
        reference=Region("cup", reference),
        target=Region("pen", target),
        others=tuple(others),
        directions=DIRECTIONS,
        gold=gold,
        logits=logits,
        log_probabilities=logits - 2.0,
        maps=with_answers(made, gold=gold, predicted=chosen),
        cluster=cluster or name,
        group="",
        meta=meta,
    )


def scattered(n, seed=0):
    """References and targets at random places, far enough from each other and from the edges."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < n:
        a, b = rng.uniform((40, 40), (SIZE[0] - 40, SIZE[1] - 40), (2, 2))
        if np.hypot(*(a - b)) > 60:
            found.append((box_at(*a), box_at(*b)))
    return found


def option_maps(method, values):
    """One map per option."""
    return {map_key(method, f"option:{i}"): each for i, each in enumerate(values)}
