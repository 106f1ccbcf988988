"""Compasses that need no model: what a readout is worth is what it has beyond these.

A picture's mass lies where the target lies, seen from a reference near an edge: on real COCO pairs a map that knows nothing
scores an error of about 42° and an edge accuracy of about .66. So every method is shown with its excess over `uniform_compass`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid, direction_deg
from theodolite.instruments.compass.formulas.distribution import KEPT, Compass
from theodolite.instruments.compass.formulas.exclusions import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.projection_options import PAPER, ProjectionOptions
from theodolite.instruments.compass.formulas.sectors import sector_centres_deg
from theodolite.instruments.compass.formulas.token_map import TokenMap, has_area, token_areas


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
    """What the layout alone gives: the uniform map of each sample's grid, projected as a method's map is.

    Its values are amounts per token already, so it is never weighted by area a second time.
    """
    return project_batch(
        [uniform_map(grid) for grid in grids],
        references=references,
        targets=targets,
        options=replace(options, by_area=False),
    )


def box_only_map(grid: TokenGrid, target: Box) -> TokenMap:
    """Relevance on the target alone: each token has the share of it that the target's box covers."""
    placed = has_area(grid)
    values = np.zeros(grid.n_tokens)
    values[placed] = target.covers(grid.rects_px[placed])
    return TokenMap(values, grid)


def random_map(grid: TokenGrid, rng: np.random.Generator) -> TokenMap:
    """Relevance drawn for each token alone, evenly from 0 to 1."""
    return TokenMap(rng.random(grid.n_tokens), grid)


def random_sector(
    references: Sequence[Box],
    targets: Sequence[Box],
    *,
    seed: int,
    options: ProjectionOptions = PAPER,
) -> Compass:
    """All mass in one sector drawn at random: an error near 90° and an edge accuracy near .25.

    With centre-aligned bins and cardinal truths, three of eight sectors lie within 45°, and the accuracy is .375.
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
    """The readout that knows the boxes: θ_true itself, shape (samples,). It passes no bins, so its error is 0.

    Raises:
        DegenerateError: a reference and its target have the same centre.

    >>> geometry_oracle([Box(0, 0, 2, 2)], [Box(0, 10, 2, 12)]).tolist()
    [270.0]
    """
    if len(references) != len(targets) or not references:
        raise UsageError(f"{len(references)} references with {len(targets)} targets")
    origins, points = (np.array([box.centre_px for box in boxes]) for boxes in (references, targets))
    if (np.hypot(*(points - origins).T) < 1e-6).any():
        raise DegenerateError(Exclusion.COINCIDENT)
    return direction_deg(origins, points)


def excess_over_uniform(
    errors_deg: NDArray[np.float64], uniform_deg: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A method's error minus the uniform map's, sample by sample: below zero where the method knows more than the layout.

    Args:
        errors_deg: the method's DAE, shape (samples, ...).
        uniform_deg: the DAE of `uniform_compass` with the same grids, boxes and options, shape (samples,).
    """
    if errors_deg.ndim < 1 or uniform_deg.shape != errors_deg.shape[:1]:
        raise UsageError(
            f"errors of shape {errors_deg.shape} need one uniform map's error per sample, got {uniform_deg.shape}"
        )
    return errors_deg - uniform_deg.reshape(-1, *[1] * (errors_deg.ndim - 1))
