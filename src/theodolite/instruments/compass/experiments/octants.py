"""Octant accuracy (A.4): how often the peak is within 22.5° of the truth, for diagonal truths and for the four directions.

The paper expects 1/8 of a guess. That holds for truths at any angle. Sectors from 0° have their centres at 22.5°, 67.5° and so
on, so a truth that is exactly one of the eight directions lies between two of them and both count: a guess has 1/4, and octant
and edge accuracy are the same. Sectors centred on 0° (``--bins centre``) stand on the directions themselves. The guess is
therefore computed for the samples at hand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theodolite.core.estimates import Estimate
from theodolite.core.tables import Column, Table
from theodolite.instruments.compass.experiments.framework import GRID, METHOD, TARGET, N, map_names
from theodolite.instruments.compass.formulas.baselines import BOX_ONLY, UNIFORM_MAP
from theodolite.instruments.compass.formulas.dae import dae
from theodolite.instruments.compass.formulas.edge_accuracy import octant_hit
from theodolite.instruments.compass.formulas.projected import MapAngles, ProjectedRun
from theodolite.instruments.compass.formulas.projection_options import ProjectionOptions
from theodolite.instruments.compass.formulas.sectors import sector_centres_deg
from theodolite.instruments.compass.measure import split_key
from theodolite.pairs.directions import is_diagonal
from theodolite.stats import clustered_difference, clustered_mean

__all__ = ["has_diagonals", "octant_guess", "octants_table"]


def has_diagonals(projected: ProjectedRun) -> bool:
    """True if the right answer to one of the samples is a diagonal."""
    return any(is_diagonal(sample.direction) for sample in projected.samples)


def octants_table(projected: ProjectedRun, projection: str, options: ProjectionOptions) -> Table:
    """One row per map: octant accuracy on all samples, on diagonal truths, and on the four directions.

    Args:
        projected: The samples to report on.
        projection: One of its projections.
        options: The options of that projection.
    """
    diagonal = np.array([is_diagonal(sample.direction) for sample in projected.samples])
    rows = []
    for key in (*projected.on_grids(BOX_ONLY), *projected.on_grids(UNIFORM_MAP), *projected.keys):
        angles = projected.angles[projection][key]
        rows.append(
            [
                *map_names(projected, key),
                _accuracy(angles.kept),
                None if split_key(key)[0] == UNIFORM_MAP else _excess(angles.kept),
                octant_guess(angles.kept.true_deg, options) if len(angles.kept) else None,
                _accuracy(angles[diagonal].kept),
                _accuracy(angles[~diagonal].kept),
                int((diagonal & angles.is_kept).sum()),
                len(angles.kept),
            ]
        )
    notes = [
        "octant: peaks within 22.5° of the truth (A.4). guess: what a sector drawn at random has on these pairs."
    ]
    if options.bins == "edge" and options.sectors == 8:
        notes.append(
            "Sectors from 0° have two centres within 22.5° of each of the eight directions; `--bins centre` has one."
        )
    return Table.of(
        f"compass.octants_{projection}",
        f"Octant accuracy, {projection} projection",
        [
            METHOD,
            TARGET,
            GRID,
            Column("octant", "octant", "share", "compass.octant"),
            Column("excess_octant", "− uniform", "points", "compass.excess_octant"),
            Column("guess", "guess", "share", "compass.octant_guess"),
            Column("diagonal", "diagonal", "share", "compass.octant"),
            Column("cardinal", "left, right, above, below", "share", "compass.octant"),
            Column("n_diagonal", "n diagonal", "count"),
            N,
        ],
        rows,
        notes,
    )


def octant_guess(true_deg: NDArray[np.float64], options: ProjectionOptions) -> float:
    """The octant accuracy of a sector drawn at random: the mean share of sector centres within 22.5° of the truth.

    >>> octant_guess(np.array([45.0]), ProjectionOptions()), octant_guess(np.array([45.0]), ProjectionOptions(bins="centre"))
    (0.25, 0.125)
    """
    return float(octant_hit(dae(sector_centres_deg(options), true_deg[:, None])).mean())


def _accuracy(kept: MapAngles) -> Estimate | None:
    return clustered_mean(kept.octant_hits, kept.clusters)


def _excess(kept: MapAngles) -> Estimate | None:
    uniform = octant_hit(kept.uniform_error_deg).astype(float)
    return clustered_difference(kept.octant_hits, uniform, kept.clusters)
