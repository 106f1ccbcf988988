"""Do the figures of an explainer tell the two models apart, on the same scenes?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.instruments.grid.estimates import FEWEST, MEASURES, TEXT_MEASURES
from theodolite.instruments.grid.stored import ExplainedRun, MapRow


@dataclass(frozen=True, slots=True)
class Separation:
    """How well a figure tells the two models apart, on scenes that both have seen."""

    explainer: str
    figure: str
    """``adversarial mass`` or ``direction words``."""
    auc: stats.Estimate | None
    """Of spur above pure for mass, of pure above spur for words; clustered by scene. None: fewer than five maps of a model."""
    pure: float | None
    spur: float | None
    n_pure: int
    n_spur: int
    left_out: int
    """Maps without relevance or not measured, of both models, on relational scenes."""


def separations(pure: ExplainedRun, spur: ExplainedRun, *, seed: int = 0) -> list[Separation]:
    """Twin separation on the same data; buckets without a relation are the same for both and are left out."""
    found = []
    names = [
        n for n in dict.fromkeys(r.explainer for r in pure.rows) if any(r.explainer == n for r in spur.rows)
    ]
    for name in names:
        sides = [
            [
                row
                for row in run.rows
                if row.explainer == name and row.bucket.is_relational and _has_confuser(row)
            ]
            for run in (pure, spur)
        ]
        for figure, read, positive in (
            ("adversarial mass", MEASURES["adversarial mass"], 1),
            ("direction words", TEXT_MEASURES["direction words"], 0),
        ):
            values, labels, scenes = [], [], []
            for label, rows in enumerate(sides):
                for row in rows:
                    if (value := read(row)) is not None:
                        values.append(value)
                        labels.append(label == positive)
                        scenes.append(row.scene)
            counts = [sum(labels), len(labels) - sum(labels)]
            if not values:
                continue
            by_label = {
                flag: [v for v, is_it in zip(values, labels, strict=True) if is_it == flag]
                for flag in (True, False)
            }
            spur_values, pure_values = (
                (by_label[True], by_label[False]) if positive else (by_label[False], by_label[True])
            )
            found.append(
                Separation(
                    name,
                    figure,
                    stats.roc_auc(values, labels, clusters=scenes, seed=seed)
                    if min(counts) >= FEWEST
                    else None,
                    float(np.mean(pure_values)) if pure_values else None,
                    float(np.mean(spur_values)) if spur_values else None,
                    len(pure_values),
                    len(spur_values),
                    sum(map(len, sides)) - len(values),
                )
            )
    return found


def _has_confuser(row: MapRow) -> bool:
    return row.area.get("adversarial", 0.0) > 0 or row.status == "not measured"
