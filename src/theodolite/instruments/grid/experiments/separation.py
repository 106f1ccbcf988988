"""Do an explainer's maps separate the model that evaluates from the one that counts words, on the same scenes?

The AUC of the mass on look-alikes (higher for the bag of words) and of the share on direction words (higher for the
evaluator), over relational scenes with look-alikes, clustered by scene; ½ means not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.tables import Column, Table
from theodolite.instruments.grid.experiments.explained import ExplainedRun
from theodolite.instruments.grid.experiments.gains import FEWEST
from theodolite.instruments.grid.experiments.map_quality import MEASURES

KINDS = {"adversarial_mass": 1, "direction_words": 0}
"""The measures, and the model for which each should be higher: 0 pure, 1 spur."""


@dataclass(frozen=True, slots=True)
class MapSeparation:
    """How well one measure of an explainer separates the two models."""

    explainer: str
    kind: str
    auc: stats.Estimate | None
    """None with fewer than five maps of a model."""
    pure: float | None
    """The mean of the model that evaluates."""
    spur: float | None
    """The mean of the model that counts words."""
    n_pure: int
    n_spur: int
    left_out: int
    """Maps without a value, of both models."""


def separate_maps(pure: ExplainedRun, spur: ExplainedRun, *, seed: int = 0) -> list[MapSeparation]:
    """The separation of every explainer that both runs have."""
    known = {each.explainer for each in spur.maps}
    names = [name for name in dict.fromkeys(each.explainer for each in pure.maps) if name in known]
    found = [_separate(pure, spur, name, kind, seed) for name in names for kind in KINDS]
    return [each for each in found if each is not None]


def _separate(
    pure: ExplainedRun, spur: ExplainedRun, explainer: str, kind: str, seed: int
) -> MapSeparation | None:
    maps = [
        (label, each)
        for label, run in enumerate((pure, spur))
        for each in run.maps
        if each.explainer == explainer and each.bucket.is_relational and each.has_look_alike
    ]
    read = MEASURES[kind].value
    values = [(label, value, each.scene) for label, each in maps if (value := read(each)) is not None]
    if not values:
        return None
    sides = [[value for label, value, _ in values if label == side] for side in (0, 1)]
    auc = None
    if min(map(len, sides)) >= FEWEST:
        auc = stats.roc_auc(
            [value for _, value, _ in values],
            [label == KINDS[kind] for label, _, _ in values],
            clusters=[scene for _, _, scene in values],
            seed=seed,
        )
    pure_mean, spur_mean = (float(np.mean(side)) if side else None for side in sides)
    n_pure, n_spur = map(len, sides)
    left_out = len(maps) - len(values)
    return MapSeparation(explainer, kind, auc, pure_mean, spur_mean, n_pure, n_spur, left_out)


def separation_table(found: Sequence[MapSeparation]) -> Table:
    """One row per explainer and measure."""
    return Table.of(
        "grid.separation",
        "Do the maps separate the two models, on the same scenes? AUC, clustered by scene; ½ means not at all",
        [
            Column("explainer", "explainer"),
            Column("measure", "measure"),
            Column("pure", "pure", "share"),
            Column("n_pure", "n, pure", "count"),
            Column("spur", "spur", "share"),
            Column("n_spur", "n, spur", "count"),
            Column("auc", "AUC", "number", "grid.separation"),
            Column("left_out", "no value", "count"),
        ],
        [
            [
                each.explainer,
                MEASURES[each.kind].name,
                each.pure,
                each.n_pure,
                each.spur,
                each.n_spur,
                each.auc,
                each.left_out,
            ]
            for each in found
        ],
    )
