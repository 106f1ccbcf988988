"""Baselines: compasses that need no model. A map's direction is worth what it has beyond them.

On real COCO pairs a map that knows nothing has a DAE of about 42° and an edge accuracy of about .66, because seen from a
reference near an edge most of the picture lies where the target lies. So every method is shown with its excess over the
uniform map.

uniform-map       relevance spread evenly over the picture
random-map        relevance drawn for each token independently
box-only          relevance on the target's box alone
random-sector     all mass in one sector, drawn at random
geometry-oracle   the true direction itself
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid, direction_deg
from theodolite.instruments.compass.formulas.compass import KEPT, Compass
from theodolite.instruments.compass.formulas.exclusions import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.projection_options import PAPER, ProjectionOptions
from theodolite.instruments.compass.formulas.sectors import sector_centres_deg
from theodolite.instruments.compass.formulas.token_map import TokenMap, has_area, token_areas

ORACLE, BOX_ONLY, RANDOM_SECTOR, RANDOM_MAP, UNIFORM_MAP = (
    "geometry-oracle",
    "box-only",
    "random-sector",
    "random-map",
    "uniform-map",
)
BASELINES = (ORACLE, BOX_ONLY, RANDOM_SECTOR, RANDOM_MAP, UNIFORM_MAP)
"""From the one that knows the answer to the one that knows nothing."""


def baseline_maps(grid: TokenGrid, target: Box, rng: np.random.Generator) -> dict[str, TokenMap]:
    """The baselines that are maps, on one grid."""
    return {
        BOX_ONLY: box_only_map(grid, target),
        UNIFORM_MAP: uniform_map(grid),
        RANDOM_MAP: random_map(grid, rng),
    }


def uniform_map(grid: TokenGrid) -> TokenMap:
    """Relevance spread evenly over the picture: each token has the area that it covers of it.

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
) -> Compass:
    """The compass of the uniform map on each sample's grid, shape (samples,).

    Its values are amounts per token already, so they are not weighted by area again.
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
    """DAE − DAE of the uniform map on the same samples: below zero if a map knows more than the layout."""
    return error_deg - uniform_error_deg


def box_only_map(grid: TokenGrid, target: Box) -> TokenMap:
    """Relevance on the target alone: each token has the share of it that the target's box covers."""
    placed = has_area(grid)
    values = np.zeros(grid.n_tokens)
    values[placed] = target.covers(grid.rects_px[placed])
    return TokenMap(values, grid)


def random_map(grid: TokenGrid, rng: np.random.Generator) -> TokenMap:
    """Relevance drawn for each token, uniformly from 0 to 1."""
    return TokenMap(rng.random(grid.n_tokens), grid)


def random_sector(
    references: Sequence[Box],
    targets: Sequence[Box],
    *,
    seed: int,
    options: ProjectionOptions = PAPER,
) -> Compass:
    """All mass in one sector drawn at random: an error near 90° and an edge accuracy near .25.

    With bins centred on 0° and cardinal truths, three of eight sectors lie within 45°, and the accuracy is .375.
    """
    true = geometry_oracle(references, targets)
    drawn = np.random.default_rng(seed).integers(options.sectors, size=len(true))
    return Compass(
        np.eye(options.sectors)[drawn],
        sector_centres_deg(options),
        true,
        np.ones(len(true)),
        np.full(len(true), KEPT, np.uint8),
    )


def geometry_oracle(references: Sequence[Box], targets: Sequence[Box]) -> NDArray[np.float64]:
    """The true direction, shape (samples,). It is not binned, so its error is 0.

    Raises:
        DegenerateError: A reference and its target have the same centre.

    >>> geometry_oracle([Box(0, 0, 2, 2)], [Box(0, 10, 2, 12)]).tolist()
    [270.0]
    """
    if len(references) != len(targets) or not references:
        raise UsageError(f"{len(references)} references with {len(targets)} targets")
    origins, points = (np.array([box.centre_px for box in boxes]) for boxes in (references, targets))
    if (np.hypot(*(points - origins).T) < 1e-6).any():
        raise DegenerateError(Exclusion.COINCIDENT)
    return direction_deg(origins, points)
