"""Deletion and masking, map by map: MDF and DFS, their sound counterparts, and the map's own peak hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.estimates import Estimate
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.compass.experiments.faithfulness.effects import (
    Floats,
    MapOnPair,
    Variant,
    beyond_area,
)
from theodolite.instruments.compass.experiments.faithfulness.ratios import (
    Ratio,
    bounded_leak_of,
    leak_of,
    mdf_of,
)
from theodolite.instruments.compass.experiments.framework import DAE, EA
from theodolite.instruments.compass.experiments.utility import auc_of
from theodolite.instruments.compass.formulas.baselines import UNIFORM_MAP
from theodolite.instruments.compass.formulas.edge_accuracy import edge_hit
from theodolite.instruments.compass.formulas.projected import DEGREES
from theodolite.instruments.compass.measure import shown_key, split_key

ORDERS = ("own", "random", "opposite")
DOUBTFUL = Column("doubtful", "?")
PAIRS = Column("n_pairs", "pairs", "count")
_KEY = Column("map", "order by")


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A mean deletion curve at one step."""

    step: int
    hidden_share: float
    """Mean share of what the model sees that is hidden."""
    effect: Estimate | float
    """Without an interval if all pairs have the same value, as at step 0."""


def nats(values: Sequence[float] | Floats, clusters: Sequence[str]) -> Estimate | float | None:
    """The mean of log-probabilities, which have no bounds.

    Returns:
        The mean alone, without an interval, for one picture or if all values are equal; None if there is no value.
    """
    if not len(values):
        return None
    found = stats.clustered_mean(values, list(clusters), bounds=None)
    return float(np.mean(values)) if found is None else found


def p_of(values: Floats, clusters: Sequence[str], seed: int) -> float | None:
    """Two-sided p of a mean against zero, by flipping the signs of whole clusters."""
    if len(set(clusters)) < 2:
        return None
    return stats.sign_flip_test(values, clusters=list(clusters), seed=seed).p_value


def ratio_cells(ratio: Ratio | None) -> tuple[Cell, Cell]:
    """The ratio, and a mark if it is doubtful."""
    return (None, "") if ratio is None else (ratio.estimate, "?" if ratio.is_doubtful else "")


@dataclass(frozen=True, slots=True)
class MapScore:
    """One map on all pairs, and the numbers that several tables share."""

    key: str
    rows: Sequence[MapOnPair]
    lost: Mapping[str, int]
    """Counts of pairs that are left out, by reason."""
    seed: int

    @property
    def clusters(self) -> list[str]:
        """The picture of each pair."""
        return [row.trial.cluster for row in self.rows]

    @property
    def errors_deg(self) -> Floats:
        """DAE of each pair."""
        return np.array([row.order.error_deg for row in self.rows])

    @property
    def hits(self) -> Floats:
        """1 for pairs with DAE ≤ 45°."""
        return edge_hit(self.errors_deg).astype(float)

    @property
    def gain(self) -> Floats:
        """AUC_random − AUC_own over the share hidden, pair by pair."""
        return self.areas("random", "sound") - self.areas("own", "sound")

    def auc(self) -> Estimate | None:
        """ROC-AUC of −DAE for the answer being right."""
        right = np.array([row.trial.is_correct for row in self.rows], bool)
        return auc_of(-self.errors_deg, right, np.array(self.clusters), seed=self.seed)

    def mdf(self, *, with_hits: bool = False) -> Ratio | None:
        """MDF; DFS with hits."""
        if not self.rows:
            return None
        areas = self.areas("own", "paper"), self.areas("random", "paper")
        return mdf_of(*areas, self.clusters, seed=self.seed, hits=self.hits if with_hits else None)

    @property
    def name(self) -> str:
        """The value for tables."""
        return shown_key(self.key)

    def areas(self, order: str, variant: Variant) -> Floats:
        """AUC of one order, pair by pair."""
        return np.array([row.area(order, variant) for row in self.rows])

    def curves(self) -> dict[str, tuple[CurvePoint, ...]]:
        """Mean curves in the paper's variant; a pair's random curve is the mean of its random orders."""
        found = {}
        for order in ORDERS:
            curves = [
                row.random["paper"] if order == "random" else [row.curves[order]["paper"]]
                for row in self.rows
            ]
            shares = np.mean([np.mean([c.hidden_share for c in some], axis=0) for some in curves], axis=0)
            effects = np.array([np.mean([c.effect for c in some], axis=0) for some in curves])
            found[order] = tuple(
                CurvePoint(k, float(shares[k]), nats(column, self.clusters) or 0.0)
                for k, column in enumerate(effects.T)
            )
        return found


def paper_table(scored: Sequence[MapScore]) -> Table:
    """Deletion as published."""
    rows = []
    for each in scored:
        mdf, doubtful = ratio_cells(each.mdf())
        areas = [nats(each.areas(order, "paper"), each.clusters) for order in ORDERS]
        rows.append(
            [
                each.name,
                stats.clustered_mean(each.errors_deg, each.clusters, bounds=DEGREES),
                stats.clustered_mean(each.hits, each.clusters),
                each.auc(),
                *areas,
                mdf,
                ratio_cells(each.mdf(with_hits=True))[0],
                doubtful,
                len(each.rows),
            ]
        )
    return Table.of(
        "compass.deletion_paper",
        "Deletion as published: log p over the vocabulary, steps counted",
        [
            _KEY,
            DAE,
            EA,
            Column("auc", "AUC", "number", "compass.auc"),
            *(
                Column(f"area_{order}", f"area {order}", "nats", "compass.deletion_area", signed=True)
                for order in ORDERS
            ),
            Column("mdf", "MDF", "ratio", "compass.mdf"),
            Column("dfs", "DFS", "ratio", "compass.dfs"),
            DOUBTFUL,
            PAIRS,
        ],
        rows,
        ["?: the denominator of MDF and DFS is not below 0 for certain."],
    )


def sound_table(scored: Sequence[MapScore]) -> Table:
    """Deletion as paired differences over the share hidden."""
    rows = []
    for each in scored:
        own = each.areas("own", "sound")
        over = {
            order: nats(each.areas(order, "sound") - own, each.clusters) for order in ("opposite", "uniform")
        }
        rows.append(
            [
                each.name,
                nats(each.gain, each.clusters),
                p_of(each.gain, each.clusters, each.seed),
                over["opposite"],
                None if split_key(each.key)[0] == UNIFORM_MAP else over["uniform"],
                nats(each.gain * each.hits, each.clusters),
                len(each.rows),
                "; ".join(f"{count} × {reason}" for reason, count in each.lost.items()),
            ]
        )
    return Table.of(
        "compass.deletion_sound",
        "Deletion, sound: log p among the options, by the share hidden; above 0 is better than chance",
        [
            _KEY,
            Column("gain", "gain over random", "nats", "compass.gain", signed=True),
            Column("p", "p", "p"),
            Column("gain_over_opposite", "over opposite", "nats", "compass.gain_over_opposite", signed=True),
            Column("gain_over_uniform", "over uniform-map", "nats", "compass.gain_over_uniform", signed=True),
            Column("dfs_per_pair", "DFS per pair", "nats", "compass.dfs_per_pair", signed=True),
            PAIRS,
            Column("lost", "left out"),
        ],
        rows,
    )


def masking_table(scored: Sequence[MapScore]) -> Table:
    """Attribution-guided masking: each map's own peak sector hidden (Table 13)."""
    rows = []
    for each in scored:
        peaks = [row.order.peak for row in each.rows]
        across = [row.trial.opposite_of(peak) for row, peak in zip(each.rows, peaks, strict=True)]
        own, opposite = (_effects(each, sectors, "paper") for sectors in (peaks, across))
        shares = [
            np.array([row.trial.shares[k] for row, k in zip(each.rows, sectors, strict=True)])
            for sectors in (across, peaks)
        ]
        drops = _effects(each, across, "sound"), _effects(each, peaks, "sound")
        beyond = [
            beyond_area(row.singles["sound"], row.trial.shares, peak)
            for row, peak in zip(each.rows, peaks, strict=True)
        ]
        rows.append(
            [
                each.name,
                nats(own, each.clusters),
                nats(np.abs(own), each.clusters),
                nats(beyond, each.clusters),
                *ratio_cells(leak_of(opposite, own, each.clusters, seed=each.seed) if each.rows else None),
                bounded_leak_of(drops, (shares[0], shares[1]), each.clusters, seed=each.seed),
                len(each.rows),
            ]
        )
    return Table.of(
        "compass.masking",
        "Attribution-guided masking: the map's own peak hidden",
        [
            Column("map", "map"),
            Column("masked", "ΔS", "nats", "compass.masked", signed=True),
            Column("masked_size", "|ΔS|", "nats", "compass.masked_size"),
            Column(
                "masked_beyond_area", "beyond its area", "nats", "compass.masked_beyond_area", signed=True
            ),
            Column("leak", "leak", "ratio", "compass.leak"),
            DOUBTFUL,
            Column("bounded_leak", "leak, sound", "share", "compass.bounded_leak"),
            PAIRS,
        ],
        rows,
    )


def _effects(each: MapScore, sectors: Sequence[int], variant: Variant) -> Floats:
    """ΔS of one sector of each pair."""
    return np.array([row.singles[variant][k] for row, k in zip(each.rows, sectors, strict=True)])


def curves_table(scored: Sequence[MapScore]) -> Table:
    """Every step of the deletion curves."""
    return Table.of(
        "compass.deletion_curves",
        "Deletion curves, paper's variant",
        [
            _KEY,
            Column("order", "order"),
            Column("step", "sectors hidden", "count"),
            Column("hidden_share", "share hidden", "share"),
            Column("effect", "ΔS", "nats", "compass.delta_s", signed=True),
        ],
        [
            [each.name, order, point.step, point.hidden_share, point.effect]
            for each in scored
            if each.rows
            for order, points in each.curves().items()
            for point in points
        ],
    )
