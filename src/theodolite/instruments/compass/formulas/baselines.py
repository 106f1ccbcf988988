"""Baselines: compasses that need no model. A map's direction is worth what it has beyond them.

On real COCO pairs a map that knows nothing has a DAE of about 42° and an edge accuracy of about .66, because seen from a
reference near an edge most of the picture lies where the target lies. So every method is shown with its excess over the
uniform map.

uniform-map       relevance spread evenly over the picture
random-map        relevance drawn for each token independently; every number is the mean over `DRAWS` such maps
box-only          relevance on the target's box alone
random-sector     all mass in one sector, drawn at random `DRAWS` times
geometry-oracle   the true direction itself

What such a map scores depends on the grid, so a method is compared with those of its own grid, which this module alone
makes. A draw depends on the seed and on the sample, and on nothing else.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid, direction_deg
from theodolite.instruments.compass.formulas.dae import KEPT, DegenerateError, DirectionMass, Exclusion
from theodolite.instruments.compass.formulas.projection import (
    PAPER,
    ProjectionOptions,
    TokenMap,
    has_area,
    project_batch,
    sector_centres_deg,
    token_areas,
)

ORACLE, BOX_ONLY, RANDOM_SECTOR, RANDOM_MAP, UNIFORM_MAP = (
    "geometry-oracle",
    "box-only",
    "random-sector",
    "random-map",
    "uniform-map",
)
BASELINES = (ORACLE, BOX_ONLY, RANDOM_SECTOR, RANDOM_MAP, UNIFORM_MAP)
"""From the one that knows the answer to the one that knows nothing."""
BASELINE_MAPS = (BOX_ONLY, UNIFORM_MAP, RANDOM_MAP)
"""Those that are maps."""
DRAWS = 100
"""Random maps and sectors per sample."""


def baseline_key(name: str, grid: str) -> str:
    """Return the name of a baseline on one of a run's grids.

    >>> baseline_key(UNIFORM_MAP, "576")
    'uniform-map@576'
    """
    return f"{name}@{grid}"


def is_baseline(key: str) -> bool:
    """Return True for the name of a baseline, with its grid or without.

    >>> is_baseline("uniform-map@576"), is_baseline("chefer@gt")
    (True, False)
    """
    return key.partition("@")[0] in BASELINES


class GridMark(NamedTuple):
    """Identifies a grid: equal grids have equal marks."""

    number: int
    cells: int
    """Tokens with a place."""

    @classmethod
    def of(cls, grid: TokenGrid) -> GridMark:
        """Return the mark of a grid."""
        number = zlib.crc32(grid.rects_px.tobytes(), zlib.crc32(grid.part.tobytes()))
        return cls(number, int(has_area(grid).sum()))


def name_grids(
    marks: Sequence[Mapping[str, GridMark]],
) -> tuple[dict[str, str], dict[str, list[GridMark | None]]]:
    """Name the grids of a run by their number of cells.

    Maps share a grid if they do in every sample that has both.

    Args:
        marks: For each sample, map to the mark of its grid.

    Returns:
        Map to the name of its grid; and name to the grid of each sample, None where it has none.

    >>> name_grids([{"chefer@": GridMark(7, 12), "gradcam@": GridMark(8, 48)}, {"chefer@": GridMark(9, 20)}])[0]
    {'chefer@': '12–20', 'gradcam@': '48'}
    """
    groups: list[tuple[list[str], list[GridMark | None]]] = []
    for key in dict.fromkeys(key for row in marks for key in row):
        own = [row.get(key) for row in marks]
        for keys, merged in groups:
            if all(a == b or a is None or b is None for a, b in zip(own, merged, strict=True)):
                keys.append(key)
                merged[:] = [a or b for a, b in zip(merged, own, strict=True)]
                break
        else:
            groups.append(([key], own))
    of_key: dict[str, str] = {}
    of_name: dict[str, list[GridMark | None]] = {}
    for keys, merged in groups:
        counts = sorted({mark.cells for mark in merged if mark is not None})
        name = "–".join(map(str, counts[:1] + counts[1:][-1:]))
        while name in of_name:  # as many cells, elsewhere in the picture
            name += "′"
        of_name[name] = merged
        of_key |= dict.fromkeys(keys, name)
    return of_key, of_name


def sample_seed(seed: int, item_id: str) -> list[int]:
    """Return the seed of one sample's draws, independent of the other samples."""
    return [seed, zlib.crc32(item_id.encode())]


def baseline_maps(
    grid: TokenGrid, target: Box, *, seed: Sequence[int], draws: int = DRAWS
) -> dict[str, TokenMap]:
    """Return `BASELINE_MAPS` on one grid; their values have shape (1, tokens), those of the random map (draws, tokens).

    Args:
        grid: The tokens.
        target: The target's box.
        seed: From `sample_seed`.
        draws: Number of random maps.
    """
    rng = np.random.default_rng(list(seed))
    return {
        BOX_ONLY: TokenMap(box_only_map(grid, target).values[None], grid),
        UNIFORM_MAP: TokenMap(uniform_map(grid).values[None], grid),
        RANDOM_MAP: TokenMap(rng.random((draws, grid.n_tokens)), grid),
    }


def uniform_map(grid: TokenGrid) -> TokenMap:
    """Return relevance spread evenly over the picture: each token has the area of the picture that it covers.

    >>> uniform_map(TokenGrid.regular((40, 20), (1, 2))).values.tolist()
    [400.0, 400.0]
    """
    return TokenMap(token_areas(grid), grid)


def uniform_compass(
    grids: Sequence[TokenGrid],
    *,
    references: Sequence[Box],
    targets: Sequence[Box],
    options: ProjectionOptions = PAPER,
) -> DirectionMass:
    """Return the compass of the uniform map on each sample's grid, shape (samples,).

    Its values are amounts per token already, so they are not weighted by area again.

    Args:
        grids: One per sample.
        references: A's box of each sample.
        targets: B's box of each sample.
        options: Sectors, bins, weight and so on.
    """
    return project_batch(
        [uniform_map(grid) for grid in grids],
        references=references,
        targets=targets,
        options=replace(options, by_area=False),
    )


def excess_over_uniform(
    error_deg: NDArray[np.float64], uniform_error_deg: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return DAE − DAE of the uniform map on the same samples: below zero if a map knows more than the layout."""
    return error_deg - uniform_error_deg


def box_only_map(grid: TokenGrid, target: Box) -> TokenMap:
    """Return relevance on the target alone: each token has the share of it that the target's box covers."""
    placed = has_area(grid)
    values = np.zeros(grid.n_tokens)
    values[placed] = target.covers(grid.rects_px[placed])
    return TokenMap(values, grid)


def random_sector(
    references: Sequence[Box],
    targets: Sequence[Box],
    *,
    seeds: Sequence[Sequence[int]],
    options: ProjectionOptions = PAPER,
) -> DirectionMass:
    """Put all mass into one random sector, shape (samples, `DRAWS`): an error near 90° and an edge accuracy near .25.

    With bins centred on 0° and cardinal truths, three of eight sectors lie within 45°, and the accuracy is .375.

    Args:
        references: A's box of each sample.
        targets: B's box of each sample.
        seeds: From `sample_seed`, one per sample.
        options: Number of sectors, and where the first begins.
    """
    true = geometry_oracle(references, targets)
    drawn = np.stack(
        [np.random.default_rng(list(seed)).integers(options.sectors, size=DRAWS) for seed in seeds]
    )
    return DirectionMass(
        np.eye(options.sectors)[drawn],
        sector_centres_deg(options),
        np.broadcast_to(true[:, None], drawn.shape),
        np.ones(drawn.shape),
        np.full(drawn.shape, KEPT, np.uint8),
    )


def geometry_oracle(references: Sequence[Box], targets: Sequence[Box]) -> NDArray[np.float64]:
    """Return the true direction, shape (samples,). It is not binned, so its error is 0.

    Raises:
        DegenerateError: If a reference and its target have the same centre.

    >>> geometry_oracle([Box(0, 0, 2, 2)], [Box(0, 10, 2, 12)]).tolist()
    [270.0]
    """
    if len(references) != len(targets) or not references:
        raise UsageError(f"{len(references)} references with {len(targets)} targets")
    origins, points = (np.array([box.centre_px for box in boxes]) for boxes in (references, targets))
    if (np.hypot(*(points - origins).T) < 1e-6).any():
        raise DegenerateError(Exclusion.COINCIDENT)
    return direction_deg(origins, points)
