"""Composites of faithfulness and alignment, and how well they rank methods (Table 4 and A.1).

    DFS = MDF · EA      harmonic = 2 · MDF · EA / (MDF + EA)      geometric = √(MDF · EA)      (equation 10 and A.1)

MDF is a ratio of two areas of any sign (a random order can raise confidence). If it is not above zero, the harmonic and the
geometric mean are undefined; such methods are left out and counted. With four methods, as in the paper, ρ = 1 happens by chance in
1 of 24 orders: read ρ with its p.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Estimate, Table
from theodolite.instruments.compass.experiments.faithfulness.plan import (
    RUN_KIND,
    FaithfulnessOptions,
    SectorOrder,
    Trial,
    Trials,
    is_same_model,
    make_trials,
    mask_key,
    source_of,
)
from theodolite.instruments.compass.experiments.framework import DAE, EA
from theodolite.instruments.compass.experiments.utility import auc_of
from theodolite.instruments.compass.formulas.baselines import UNIFORM_MAP, is_baseline
from theodolite.instruments.compass.formulas.dae import edge_hit
from theodolite.instruments.compass.formulas.projected import DEGREES
from theodolite.instruments.compass.formulas.resampling import paper_key
from theodolite.instruments.compass.measure import read_samples, shown_key, split_key
from theodolite.instruments.compass.published import published_correlations
from theodolite.runs import Result, Run

# What hiding does to the answer: effects of sectors, deletion curves, MDF, DFS and leakage.


# What hiding sectors does to the answer: effects of single sectors, and deletion curves, from stored answers.
#
#     ΔS(H) = log p_H(gt) − log p_0(gt)                     H: the hidden sectors (equation 8)
#     C_m(k) = ΔS(first k sectors of order m)               the deletion curve, 0 at k = 0
#     AUC_m  = ∫₀¹ C_m dx,  x = k/K (paper)  or  x = the share of what the model sees that is hidden (sound)
#
# p(gt) is over the whole vocabulary (paper) or among the options alone (sound); the first also falls if a model, shown a spoilt
# picture, starts to say something else altogether. The share hidden is used because sectors differ in size: from a reference near
# the edge the opposite sector may lie outside the picture, and hiding it costs nothing whatever the model looks at; and any order
# that takes large sectors first drops fast.


Variant: TypeAlias = Literal["paper", "sound"]
"""``paper``: p over the vocabulary, steps counted. ``sound``: p among the options, steps by the share hidden."""

VARIANTS: tuple[Variant, ...] = ("paper", "sound")
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HiddenAnswers:
    """Log-probabilities of the options, by pair, fill and hidden sectors."""

    found: Mapping[tuple[str, str, frozenset[int]], Floats]
    among: Mapping[tuple[str, str, frozenset[int]], Floats]
    """The same, normalised over the options."""

    @classmethod
    def read(cls, results: Iterable[Result]) -> HiddenAnswers:
        """Read the answers from the results of a run; items without an answer are in the run's tally."""
        log_probabilities: dict[tuple[str, str, frozenset[int]], Floats] = {}
        among: dict[tuple[str, str, frozenset[int]], Floats] = {}
        for result in results:
            record, meta = result.record, result.item.meta
            if record is not None and record.choice is not None:
                hidden = frozenset(int(k) for k in meta["hidden"])  # type: ignore[union-attr, arg-type]
                key = str(meta["of"]), str(meta["fill"]), hidden
                log_probabilities[key] = np.asarray(record.choice.log_probabilities)
                among[key] = log_probabilities[key] - np.logaddexp.reduce(log_probabilities[key])
        return cls(log_probabilities, among)

    def confidence(self, trial: Trial, fill: str, hidden: Iterable[int], variant: Variant) -> float | None:
        """Return log p(gt) with some sectors hidden; None if it was not measured."""
        source = self.among if variant == "sound" else self.found
        values = source.get((trial.item_id, *mask_key(trial, fill, frozenset(hidden))))
        return None if values is None else float(values[trial.gold])

    def delta_s(self, trial: Trial, fill: str, hidden: Iterable[int], variant: Variant) -> float | None:
        """Return ΔS of hidden sectors; None if it, or the whole picture, was not measured or is not finite.

        Args:
            trial: The pair.
            fill: What replaces hidden pixels.
            hidden: The hidden sectors.
            variant: ``paper`` or ``sound``.
        """
        base = self.confidence(trial, fill, (), variant)
        masked = self.confidence(trial, fill, hidden, variant)
        if base is None or masked is None or not np.isfinite(masked - base):
            return None
        return masked - base


def sector_effects(answers: HiddenAnswers, trial: Trial, fill: str, variant: Variant) -> Floats | None:
    """Return ΔS of each sector alone, shape (K,); None if one is missing."""
    effects = [answers.delta_s(trial, fill, (k,), variant) for k in range(len(trial.shares))]
    known = [effect for effect in effects if effect is not None]
    return np.array(known) if len(known) == len(effects) else None


def beyond_area(effects: Floats, shares: Floats, sector: int) -> float:
    """Return how much more hiding a sector costs than hiding as much elsewhere: β·a_k − ΔS_k, β = Σ_{j≠k} ΔS_j / Σ_{j≠k} a_j.

    a is the share of the visible picture. Above zero if the sector matters more than its size explains. If everything
    visible lies in the one sector, its whole cost counts.

    Args:
        effects: ΔS of each sector alone.
        shares: The share of the visible picture in each sector.
        sector: The sector k.

    >>> round(beyond_area(np.array([-0.5, -0.1, -0.1]), np.array([0.2, 0.1, 0.1]), 0), 6)
    0.3
    """
    others = np.arange(len(effects)) != sector
    elsewhere = float(shares[others].sum())
    rate = float(effects[others].sum()) / elsewhere if elsewhere > 0 else 0.0
    return rate * float(shares[sector]) - float(effects[sector])


def cos_of(effects: Floats, trial: Trial, variant: Variant) -> float:
    """Return COS of one pair: ΔS_opposite − ΔS_true (equation 8), or the true sector's cost beyond its area (sound)."""
    if variant == "sound":
        return beyond_area(effects, trial.shares, trial.true)
    return float(effects[trial.opposite] - effects[trial.true])


@dataclass(frozen=True, slots=True, eq=False)
class DeletionCurve:
    """One deletion curve of one pair."""

    hidden_share: Floats
    """x by area, shape (K + 1,): 0 to 1, of all that can be hidden."""
    effect: Floats
    """C, shape (K + 1,): 0 at nothing hidden."""

    def area(self, variant: Variant) -> float:
        """Return AUC by the trapezoidal rule, over k/K or over the share hidden.

        >>> curve = DeletionCurve(np.array([0.0, 0.9, 1.0]), np.array([0.0, -1.0, -1.0]))
        >>> curve.area("paper"), round(curve.area("sound"), 6)
        (-0.75, -0.55)
        """
        x = self.hidden_share if variant == "sound" else np.linspace(0.0, 1.0, len(self.effect))
        return float(np.trapezoid(self.effect, x))


def deletion_curve(
    answers: HiddenAnswers, trial: Trial, order: Sequence[int], *, fill: str, variant: Variant
) -> DeletionCurve | None:
    """Return the curve of one order; None if a step is missing.

    Args:
        answers: The measured answers.
        trial: The pair.
        order: The sectors, first hidden first.
        fill: What replaces hidden pixels.
        variant: ``paper`` or ``sound``.
    """
    steps = [answers.delta_s(trial, fill, order[:n], variant) for n in range(len(order) + 1)]
    known = [step for step in steps if step is not None]
    total = trial.shares.sum()
    if len(known) < len(steps) or total <= 0:
        return None
    shares = np.concatenate([[0.0], np.cumsum(trial.shares[list(order)])]) / total
    return DeletionCurve(shares, np.array(known))


@dataclass(frozen=True, slots=True)
class PairEffects:
    """The measurements of one pair in one variant that all maps share; None if something is missing."""

    singles: Mapping[str, Floats | None]
    """By fill: ΔS of each sector alone."""
    random: list[DeletionCurve] | None


def pair_effects(answers: HiddenAnswers, trial: Trial, fills: Sequence[str], variant: Variant) -> PairEffects:
    """Collect the effects of single sectors with every fill, and the curves of the random orders.

    Args:
        answers: The measured answers.
        trial: The pair.
        fills: What replaces hidden pixels; the curves use the first.
        variant: ``paper`` or ``sound``.
    """
    curves = [
        deletion_curve(answers, trial, order, fill=fills[0], variant=variant) for order in trial.random_orders
    ]
    known = [curve for curve in curves if curve is not None]
    return PairEffects(
        {fill: sector_effects(answers, trial, fill, variant) for fill in fills},
        known if len(known) == len(curves) else None,
    )


@dataclass(frozen=True, slots=True)
class MapOnPair:
    """One map's deletion curves and single sectors on one pair, by variant."""

    trial: Trial
    order: SectorOrder
    curves: Mapping[str, Mapping[Variant, DeletionCurve]]
    """By order: ``own``, ``opposite`` and ``uniform``."""
    random: Mapping[Variant, list[DeletionCurve]]
    singles: Mapping[Variant, Floats]

    def area(self, order: str, variant: Variant) -> float:
        """Return AUC of one order; for the random orders, their mean."""
        if order == "random":
            return float(np.mean([curve.area(variant) for curve in self.random[variant]]))
        return self.curves[order][variant].area(variant)


def map_on_pairs(
    key: str,
    trials: Sequence[Trial],
    effects: Mapping[Variant, Sequence[PairEffects]],
    answers: HiddenAnswers,
    fill: str,
) -> tuple[list[MapOnPair], dict[str, int]]:
    """Return the pairs with complete measurements of a map, and counts of the others by reason.

    Args:
        key: ``method@target``, or a baseline.
        trials: The pairs.
        effects: `pair_effects` of the same pairs, by variant.
        answers: The measured answers.
        fill: What replaces hidden pixels.
    """
    complete: list[MapOnPair] = []
    lost: Counter[str] = Counter()
    for i, trial in enumerate(trials):
        if key in trial.lost:
            lost[trial.lost[key].value] += 1
            continue
        if key not in trial.orders:
            lost["the pair has no such map"] += 1
            continue
        row = _map_on_pair(trial, key, {name: effects[name][i] for name in VARIANTS}, answers, fill)
        if row is None:
            lost["not everything of it was measured"] += 1
        else:
            complete.append(row)
    return complete, dict(lost)


def _map_on_pair(
    trial: Trial,
    key: str,
    effects: Mapping[Variant, PairEffects],
    answers: HiddenAnswers,
    fill: str,
) -> MapOnPair | None:
    order = trial.orders[key]
    orders = {
        "own": order.order,
        "opposite": order.order[::-1],
        "uniform": trial.orders[trial.uniform[key]].order,
    }
    curves: dict[str, dict[Variant, DeletionCurve]] = {name: {} for name in orders}
    random: dict[Variant, list[DeletionCurve]] = {}
    singles: dict[Variant, Floats] = {}
    for variant in VARIANTS:
        for which, sectors in orders.items():
            curve = deletion_curve(answers, trial, sectors, fill=fill, variant=variant)
            if curve is None:
                return None
            curves[which][variant] = curve
        drawn, alone = effects[variant].random, effects[variant].singles[fill]
        if drawn is None or alone is None:
            return None
        random[variant], singles[variant] = drawn, alone
    return MapOnPair(trial, order, curves, random, singles)


# MDF, DFS and leakage: ratios of means, with intervals by bootstrap over clusters.
#
#     MDF   = mean AUC_own / mean AUC_random                                 (equation 9)
#     DFS   = MDF · EA                                                       (equation 10)
#     leak  = |mean ΔS_opp| / |mean ΔS_true|                                 (Table 8: absolute values of means)
#     L     = r_opp / (r_opp + r_true),  r = mean max(0, −ΔS) / mean share hidden     (sound: 0 no leakage, ½ no direction)
#
# A ratio of two areas below zero has the paper's meaning only while the denominator is below zero for certain: near zero the
# ratio grows without bound, and beyond zero it changes sign. Such ratios are marked as doubtful.


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio as in the paper, and whether its denominator makes it meaningful."""

    estimate: stats.Estimate
    is_doubtful: bool
    """True unless the whole interval of the denominator is below zero."""


def mdf_of(
    own: Floats, random: Floats, clusters: Sequence[str], *, seed: int, hits: Floats | None = None
) -> Ratio | None:
    """Compute MDF; with hits, DFS.

    Args:
        own: AUC of the map's own order, pair by pair.
        random: AUC of random orders.
        clusters: The pairs' pictures.
        seed: Seed of the bootstrap.
        hits: 1 for pairs with DAE ≤ 45°.

    Returns:
        None if the ratio has no value.
    """
    factor = np.ones_like(own) if hits is None else hits

    def statistic(above: Floats, below: Floats, factor: Floats, weights: Floats) -> Floats:
        return np.asarray((weights @ above) / (weights @ below) * (weights @ factor) / weights.sum(axis=1))

    return _ratio((own, random, factor), statistic, random, clusters, seed)


def leak_of(opposite: Floats, true: Floats, clusters: Sequence[str], *, seed: int) -> Ratio | None:
    """Compute |mean ΔS_opp| / |mean ΔS_true|.

    Args:
        opposite: ΔS of the opposite sector, pair by pair.
        true: ΔS of the true sector.
        clusters: The pairs' pictures.
        seed: Seed of the bootstrap.
    """

    def statistic(opposite: Floats, true: Floats, weights: Floats) -> Floats:
        return np.abs(weights @ opposite) / np.abs(weights @ true)

    return _ratio((opposite, true), statistic, true, clusters, seed)


def bounded_leak_of(
    drops: tuple[Floats, Floats], shares: tuple[Floats, Floats], clusters: Sequence[str], *, seed: int
) -> stats.Estimate | None:
    """Compute L, a ratio of rates: the opposite sector is often much smaller than the true one (a sixth on real COCO pairs).

    Args:
        drops: ΔS of the opposite and of the true sector, pair by pair.
        shares: The share of the visible picture in each of the two.
        clusters: The pairs' pictures.
        seed: Seed of the bootstrap.

    Returns:
        None if nothing ever drops, or one of the two is always empty.
    """
    opposite, true = (np.maximum(0.0, -changes) for changes in drops)
    if len(set(clusters)) < 2 or opposite.sum() + true.sum() <= 0 or min(map(np.sum, shares)) <= 0:
        return None

    def statistic(
        opposite: Floats, true: Floats, opposite_share: Floats, true_share: Floats, weights: Floats
    ) -> Floats:
        rates = [
            weights @ drop / (weights @ share)
            for drop, share in ((opposite, opposite_share), (true, true_share))
        ]
        return np.asarray(rates[0] / (rates[0] + rates[1]))

    return _resampled((opposite, true, *shares), statistic, clusters, seed, bounds=stats.SHARE)


def _ratio(
    data: tuple[Floats, ...],
    statistic: Callable[..., Floats],
    below: Floats,
    clusters: Sequence[str],
    seed: int,
) -> Ratio | None:
    if len(set(clusters)) < 2 or below.mean() == 0:
        return None
    estimate = _resampled(data, statistic, clusters, seed)
    denominator = stats.clustered_mean(below, clusters, bounds=None)
    is_certain = bool((below < 0).all()) if denominator is None else denominator.high < 0
    return None if estimate is None else Ratio(estimate, not is_certain)


def _resampled(
    data: tuple[Floats, ...],
    statistic: Callable[..., Floats],
    clusters: Sequence[str],
    seed: int,
    *,
    bounds: stats.Bounds | None = None,
) -> stats.Estimate | None:
    """Return a ratio with its interval; None if too many resamples have a denominator of zero."""
    distribution = stats.bootstrap_distribution(
        data,
        stats.BatchStatistic(statistic, form="weights"),
        clusters=clusters,
        jackknife=False,
        seed=seed,
    )
    twice = max(1.0, 2 * abs(distribution.value))  # only used if no resample differs
    return distribution.percentile(bounds or (-twice, twice))


# Deletion and masking, map by map: MDF and DFS, their sound counterparts, and the map's own peak hidden.


ORDERS = ("own", "random", "opposite")
DOUBTFUL = Column("doubtful", "?")
PAIRS = Column("n_pairs", "pairs", "count")
_KEY = Column("map", "order by")


@dataclass(frozen=True, slots=True)
class DeletionPoint:
    """A mean deletion curve at one step."""

    step: int
    hidden_share: float
    """Mean share of what the model sees that is hidden."""
    effect: Estimate | float
    """Without an interval if all pairs have the same value, as at step 0."""


def nats(values: Sequence[float] | Floats, clusters: Sequence[str]) -> Estimate | float | None:
    """Return the mean of log-probabilities, which have no bounds.

    Returns:
        The mean alone, without an interval, for one picture or if all values are equal; None if there is no value.
    """
    if not len(values):
        return None
    estimate = stats.clustered_mean(values, list(clusters), bounds=None)
    return float(np.mean(values)) if estimate is None else estimate


def p_of(values: Floats, clusters: Sequence[str], seed: int) -> float | None:
    """Return the two-sided p of a mean against zero, by flipping the signs of whole clusters."""
    if len(set(clusters)) < 2:
        return None
    return stats.sign_flip_test(values, clusters=list(clusters), seed=seed).p_value


def ratio_cells(ratio: Ratio | None) -> tuple[Cell, Cell]:
    """Return the ratio, and a mark if it is doubtful."""
    return (None, "") if ratio is None else (ratio.estimate, "?" if ratio.is_doubtful else "")


@dataclass(frozen=True, slots=True)
class MapOnPairs:
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
        """Return ROC-AUC of −DAE for the answer being right."""
        right = np.array([row.trial.is_correct for row in self.rows], bool)
        return auc_of(-self.errors_deg, right, np.array(self.clusters), seed=self.seed)

    def mdf(self, *, with_hits: bool = False) -> Ratio | None:
        """Return MDF; DFS with hits."""
        if not self.rows:
            return None
        areas = self.areas("own", "paper"), self.areas("random", "paper")
        return mdf_of(*areas, self.clusters, seed=self.seed, hits=self.hits if with_hits else None)

    @property
    def name(self) -> str:
        """The value for tables."""
        return shown_key(self.key)

    def areas(self, order: str, variant: Variant) -> Floats:
        """Return AUC of one order, pair by pair."""
        return np.array([row.area(order, variant) for row in self.rows])

    def curves(self) -> dict[str, tuple[DeletionPoint, ...]]:
        """Return mean curves in the paper's variant; a pair's random curve is the mean of its random orders."""
        by_order = {}
        for order in ORDERS:
            curves = [
                row.random["paper"] if order == "random" else [row.curves[order]["paper"]]
                for row in self.rows
            ]
            shares = np.mean(
                [np.mean([c.hidden_share for c in of_pair], axis=0) for of_pair in curves], axis=0
            )
            effects = np.array([np.mean([c.effect for c in of_pair], axis=0) for of_pair in curves])
            by_order[order] = tuple(
                DeletionPoint(k, float(shares[k]), nats(column, self.clusters) or 0.0)
                for k, column in enumerate(effects.T)
            )
        return by_order


def paper_table(scored: Sequence[MapOnPairs]) -> Table:
    """Build the table of deletion as published."""
    rows = []
    for score in scored:
        mdf, doubtful = ratio_cells(score.mdf())
        areas = [nats(score.areas(order, "paper"), score.clusters) for order in ORDERS]
        rows.append(
            [
                score.name,
                stats.clustered_mean(score.errors_deg, score.clusters, bounds=DEGREES),
                stats.clustered_mean(score.hits, score.clusters),
                score.auc(),
                *areas,
                mdf,
                ratio_cells(score.mdf(with_hits=True))[0],
                doubtful,
                len(score.rows),
            ]
        )
    return Table.of(
        "compass.deletion_paper",
        "Deletion as published: log p over the vocabulary, steps counted",
        [
            _KEY,
            DAE,
            EA,
            column("compass.auc"),
            *(column("compass.deletion_area", f"area_{order}", f"area {order}") for order in ORDERS),
            column("compass.mdf"),
            column("compass.dfs"),
            DOUBTFUL,
            PAIRS,
        ],
        rows,
        ["?: the denominator of MDF and DFS is not below 0 for certain."],
    )


def sound_table(scored: Sequence[MapOnPairs]) -> Table:
    """Build the table of deletion as paired differences over the share hidden."""
    rows = []
    for score in scored:
        own = score.areas("own", "sound")
        over = {
            order: nats(score.areas(order, "sound") - own, score.clusters)
            for order in ("opposite", "uniform")
        }
        rows.append(
            [
                score.name,
                nats(score.gain, score.clusters),
                p_of(score.gain, score.clusters, score.seed),
                over["opposite"],
                None if split_key(score.key)[0] == UNIFORM_MAP else over["uniform"],
                nats(score.gain * score.hits, score.clusters),
                len(score.rows),
                "; ".join(f"{count} × {reason}" for reason, count in score.lost.items()),
            ]
        )
    return Table.of(
        "compass.deletion_sound",
        "Deletion, sound: log p among the options, by the share hidden; above 0 is better than chance",
        [
            _KEY,
            column("compass.gain"),
            Column("p", "p", "p"),
            column("compass.gain_over_opposite"),
            column("compass.gain_over_uniform"),
            column("compass.dfs_per_pair"),
            PAIRS,
            Column("lost", "left out"),
        ],
        rows,
    )


def masking_table(scored: Sequence[MapOnPairs]) -> Table:
    """Build the table of attribution-guided masking: each map's own peak sector hidden (Table 13)."""
    rows = []
    for score in scored:
        peaks = [row.order.peak for row in score.rows]
        across = [row.trial.opposite_of(peak) for row, peak in zip(score.rows, peaks, strict=True)]
        own, opposite = (_effects(score, sectors, "paper") for sectors in (peaks, across))
        shares = [
            np.array([row.trial.shares[k] for row, k in zip(score.rows, sectors, strict=True)])
            for sectors in (across, peaks)
        ]
        drops = _effects(score, across, "sound"), _effects(score, peaks, "sound")
        beyond = [
            beyond_area(row.singles["sound"], row.trial.shares, peak)
            for row, peak in zip(score.rows, peaks, strict=True)
        ]
        rows.append(
            [
                score.name,
                nats(own, score.clusters),
                nats(np.abs(own), score.clusters),
                nats(beyond, score.clusters),
                *ratio_cells(leak_of(opposite, own, score.clusters, seed=score.seed) if score.rows else None),
                bounded_leak_of(drops, (shares[0], shares[1]), score.clusters, seed=score.seed),
                len(score.rows),
            ]
        )
    return Table.of(
        "compass.masking",
        "Attribution-guided masking: the map's own peak hidden",
        [
            Column("map", "map"),
            column("compass.masked", title="ΔS"),
            column("compass.masked_size"),
            column("compass.masked_beyond_area"),
            column("compass.leak"),
            DOUBTFUL,
            column("compass.bounded_leak"),
            PAIRS,
        ],
        rows,
    )


def _effects(score: MapOnPairs, sectors: Sequence[int], variant: Variant) -> Floats:
    """Return ΔS of one sector of each pair."""
    return np.array([row.singles[variant][k] for row, k in zip(score.rows, sectors, strict=True)])


def curves_table(scored: Sequence[MapOnPairs]) -> Table:
    """Build a table of every step of the deletion curves."""
    return Table.of(
        "compass.deletion_curves",
        "Deletion curves, paper's variant",
        [
            _KEY,
            Column("order", "order"),
            Column("step", "sectors hidden", "count"),
            Column("hidden_share", "share hidden", "share"),
            column("compass.delta_s", "effect"),
        ],
        [
            [score.name, order, point.step, point.hidden_share, point.effect]
            for score in scored
            if score.rows
            for order, points in score.curves().items()
            for point in points
        ],
    )


_MOST_COLUMNS = 6
"""The table shows the values of at most this many maps."""


def _harmonic(mdf: float, edge: float) -> float | None:
    return 2 * mdf * edge / (mdf + edge) if mdf > 0 else None


def _geometric(mdf: float, edge: float) -> float | None:
    return math.sqrt(mdf * edge) if mdf > 0 else None


COMPOSITES: Mapping[str, Callable[[float, float], float | None]] = {
    "EA": lambda _, edge: edge,
    "harmonic": _harmonic,
    "DFS": lambda mdf, edge: mdf * edge,
    "geometric": _geometric,
    "MDF": lambda mdf, _: mdf,
}
"""Name to function of MDF and EA; None if it is undefined."""


@dataclass(frozen=True, slots=True)
class Composite:
    """One composite over all methods."""

    name: str
    values: Mapping[str, float | None]
    """By method; None if it is undefined."""
    correlation: stats.Estimate | None
    """Spearman's ρ with the AUC, over the methods that have a value; None for fewer than three, or without variation.
    Its p is that of the permutation test."""
    undefined: int
    """Methods without a value."""


def composite_scores(
    methods: Sequence[str], *, edge_accuracy: ArrayLike, mdf: ArrayLike, auc: ArrayLike, seed: int = 0
) -> tuple[Composite, ...]:
    """Test which composite ranks methods as their diagnostic AUC does.

    Args:
        methods: Their names.
        edge_accuracy: EA of each.
        mdf: MDF of each.
        auc: AUC for correctness of each.
        seed: Seed of the permutation test, if not all orders are tried.

    >>> names = ["chefer", "contrastive", "rollout", "gradcam"]
    >>> composites = composite_scores(names, edge_accuracy=[.633, .553, .367, .310], mdf=[1.54, 2.50, 1.45, 3.85],
    ...                               auc=[.620, .575, .541, .476])
    >>> {each.name: round(each.correlation.value, 1) for each in composites}
    {'EA': 1.0, 'harmonic': 0.8, 'DFS': 0.0, 'geometric': 0.0, 'MDF': -0.4}
    """
    columns = [np.asarray(values, np.float64) for values in (edge_accuracy, mdf, auc)]
    if any(column.shape != (len(methods),) for column in columns) or not methods:
        raise UsageError(
            f"{len(methods)} methods need one EA, MDF and AUC each, got "
            f"{', '.join(str(column.shape) for column in columns)}"
        )
    if len(set(methods)) < len(methods) or not all(np.isfinite(column).all() for column in columns):
        raise UsageError("composites need different methods, and finite EA, MDF and AUC of each")
    edges, ratios, areas = columns
    if ((edges < 0) | (edges > 1)).any():
        raise UsageError(f"EA is a share between 0 and 1, got {edges.min():g} to {edges.max():g}")
    composites = []
    for name, function in COMPOSITES.items():
        values = [function(float(ratio), float(edge)) for ratio, edge in zip(ratios, edges, strict=True)]
        where = [i for i, value in enumerate(values) if value is not None]
        rho = _spearman([values[i] for i in where], areas[where], seed)
        composites.append(
            Composite(name, dict(zip(methods, values, strict=True)), rho, len(methods) - len(where))
        )
    return tuple(composites)


def _spearman(values: Sequence[float | None], areas: ArrayLike, seed: int) -> stats.Estimate | None:
    x, y = np.array(values, np.float64), np.asarray(areas)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    test = stats.correlation_permutation_test(x, y, kind="spearman", seed=seed)
    estimate = stats.spearman(x, y)
    return replace(estimate, method=f"{estimate.method}; p {test.method}", p_value=test.p_value)


def ranked_against(
    auc: Mapping[str, float], summaries: Mapping[str, Mapping[str, float]], *, seed: int
) -> tuple[Composite, ...]:
    """Compute Spearman's ρ over maps between summaries of them and their AUC for correctness.

    Args:
        auc: ROC-AUC of −DAE for the answer being right, by map.
        summaries: ``EA`` and ``MDF``, which give the paper's five composites, and others by name; each by map.
        seed: Seed of the permutations.

    Returns:
        The paper's composites, over the maps that have AUC, EA and MDF; then every other summary alone.
    """
    edges = summaries["EA"]
    ranked: list[Composite] = []
    for name, values in summaries.items():
        keys = [key for key in values if key in auc and key in edges]
        if name == "EA" or not keys:
            continue
        composites = composite_scores(
            keys,
            edge_accuracy=[edges[key] for key in keys],
            mdf=[values[key] for key in keys],
            auc=[auc[key] for key in keys],
            seed=seed,
        )
        if name == "MDF":
            ranked = [*composites, *ranked]
        else:
            ranked += [replace(composite, name=name) for composite in composites if composite.name == "MDF"]
    return tuple(ranked)


def composites_table(
    *, auc: Mapping[str, float], summaries: Mapping[str, Mapping[str, float]], model: str, seed: int
) -> Table:
    """Build a table of whether the summaries rank maps as their AUC for correctness does.

    Args:
        auc: As for `ranked_against`.
        summaries: As for `ranked_against`.
        model: Its name, to find the paper's numbers.
        seed: Seed of the permutations.
    """
    composites = ranked_against(auc, summaries, seed=seed)
    published = published_correlations(model)
    maps = list(composites[0].values) if composites else []
    named = maps if len(maps) <= _MOST_COLUMNS else []
    columns = [
        Column("composite", "composite"),
        *(Column(name, name, "number") for name in named),
        column("compass.composite_correlation", "correlation"),
        Column("p", "p", "p"),
        Column("maps", "maps", "count"),
        Column("undefined", "without a value", "count"),
        *([Column("reported", "CREG, A.1 (4 methods)", "correlation")] if published else []),
    ]
    rows: list[list[Cell]] = [
        [
            composite.name,
            *(composite.values.get(name) for name in named),
            composite.correlation,
            None if composite.correlation is None else composite.correlation.p_value,
            len(composite.values) - composite.undefined,
            composite.undefined,
            *([published.get(composite.name)] if published else []),
        ]
        for composite in composites
    ]
    notes = [] if composites else ["No map has both an MDF and an AUC for correctness."]
    return Table.of(
        "compass.composites",
        "Do the summaries rank maps as their AUC for correctness does?",
        columns,
        rows,
        notes,
    )


# Faithfulness: does hiding what the compass points at change the answer? COS, deletion curves, MDF, DFS, masking, leakage.
#
# A second run hides sectors of the pictures of a compass run (`plan_faithfulness`), and `score_faithfulness` reads both. Each
# number of the paper stands beside a sound one:
#
#     COS   = ΔS_opp − ΔS_true                          (equation 8)   β·a_true − ΔS_true: beyond what as much elsewhere costs
#     MDF   = mean AUC_own / mean AUC_random            (equation 9)   gain = AUC_random − AUC_own, pair by pair, by share hidden
#     DFS   = MDF · EA                                  (equation 10)  mean of gain · 1[DAE ≤ 45°]
#     leak  = |mean ΔS_opp| / |mean ΔS_true|            (Table 8)      bounded leak
#
# ``opposite`` order means the emptiest sector first. COS is the same for every map, since it uses single sectors only; what differs
# by map is its peak, which attribution-guided masking hides (Table 13).


PAPER_MAPS = ("gradcam@gt", "contrastive-grad-act@pred", "chefer@gt", "attention-rollout@")
"""The methods of Table 3, with the target that the paper gives each."""


def paper_maps(run: Run) -> tuple[str, ...]:
    """Return the paper's maps that a run holds.

    Raises:
        UsageError: If it holds none of them.
    """
    held = {key for sample in read_samples(run) for key in sample.maps}
    named = {paper_key(key, held): key for key in sorted(held)}
    maps = tuple(named[key] for key in PAPER_MAPS if key in named)
    if not maps:
        raise UsageError(
            f"{run.folder} holds none of the paper's maps ({', '.join(PAPER_MAPS)}); it holds: "
            f"{', '.join(sorted(held)) or 'nothing'}; name some, or say all"
        )
    return maps


@dataclass(frozen=True, slots=True)
class FaithfulnessScore:
    """The tables of faithfulness, and the deletion curves behind them."""

    tables: tuple[Table, ...]
    curves: Mapping[str, Mapping[str, tuple[DeletionPoint, ...]]]
    """Map to order (``own``, ``random``, ``opposite``) to the mean deletion curve, in the paper's variant."""

    def table(self, name: str) -> Table:
        """Return a table by its name without ``compass.``."""
        return next(table for table in self.tables if table.name == f"compass.{name}")


def score_faithfulness(
    maps: Run, hidden: Run, *, seed: int = 0, with_curves: bool = False
) -> FaithfulnessScore:
    """Score a run that hid sectors, with the run that holds the maps. Store the tables in the former.

    Args:
        maps: The compass run.
        hidden: The run that hid sectors of its pictures.
        seed: Seed of bootstraps and permutations.
        with_curves: Add a table with every step of the deletion curves.

    Raises:
        UsageError: If the runs do not belong together.
    """
    if hidden.info.instrument != RUN_KIND:
        raise UsageError(f"{hidden.folder} is a run of {hidden.info.instrument}, not of {RUN_KIND}")
    if hidden.info.settings.get("source") != source_of(maps):
        raise UsageError(
            f"{hidden.folder} hid sectors for the maps of another run than {maps.folder}; name that run, or measure again"
        )
    options = FaithfulnessOptions.from_settings(hidden.info.settings)
    trials = make_trials(read_samples(maps), options)
    answers = HiddenAnswers.read(hidden.results())
    effects: dict[Variant, list[PairEffects]] = {
        variant: [pair_effects(answers, trial, options.fills, variant) for trial in trials.trials]
        for variant in VARIANTS
    }
    scored = [
        MapOnPairs(key, *map_on_pairs(key, trials.trials, effects, answers, options.fills[0]), seed)
        for key in trials.keys
    ]
    tables = [
        _sectors_table(trials.trials, effects, options, seed, _counts(maps, hidden, trials, answers)),
        paper_table(scored),
        sound_table(scored),
        masking_table(scored),
        _composites(scored, hidden.info.model, seed),
    ]
    curves = {score.key: score.curves() for score in scored if score.rows}
    if with_curves:
        tables.append(curves_table(scored))
    hidden.write_tables(tables)
    return FaithfulnessScore(tuple(tables), curves)


def _counts(maps: Run, hidden: Run, trials: Trials, answers: HiddenAnswers) -> list[str]:
    """Return notes on what was measured, and on what to keep in mind."""
    tally = hidden.tally()
    counts = {
        "planned": tally.planned,
        "answered": tally.answered,
        "refused": tally.refused,
        "failed": tally.failed,
        "pending": tally.planned - tally.finished - tally.failed,
        "reused": tally.reused,
    }
    notes = ["Requests: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count) + "."]
    notes += [f"Left out: {count} pairs: {reason}." for reason, count in trials.excluded.items()]
    empty = sum(bool(trial.shares[trial.opposite] == 0) for trial in trials.trials)
    if empty:
        notes.append(f"{empty} pairs have nothing to hide in the opposite sector, so its ΔS is 0 there.")
    if trials.trials:
        shares = {
            "true": np.mean([trial.shares[trial.true] for trial in trials.trials]),
            "opposite": np.mean([trial.shares[trial.opposite] for trial in trials.trials]),
            "adjacent": np.mean([trial.shares[list(trial.adjacent)].mean() for trial in trials.trials]),
        }
        words = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
        notes.append(f"Mean share of what the model sees, by sector: {words}.")
    is_same = is_same_model(maps, hidden)
    if not is_same:
        notes.append(f"Orders come from maps of {maps.info.model}, answers from {hidden.info.model}.")
    gaps = [
        float(abs(values - trial.log_probabilities).max())
        for trial in trials.trials
        if (values := answers.found.get((trial.item_id, "", frozenset()))) is not None
    ]
    if is_same and max(gaps, default=0.0) > 0.01:
        notes.append(f"On whole pictures the two runs differ by up to {max(gaps):.3f} in log p.")
    return notes


def _sectors_table(
    trials: Sequence[Trial],
    effects: Mapping[Variant, Sequence[PairEffects]],
    options: FaithfulnessOptions,
    seed: int,
    notes: Sequence[str],
) -> Table:
    """Build the table of COS and its controls, with every fill."""
    rows = [
        _sectors_row(
            [
                (trial, single)
                for trial, measured in zip(trials, effects[variant], strict=True)
                if (single := measured.singles[fill]) is not None
            ],
            (fill, variant),
            seed,
        )
        for fill in options.fills
        for variant in VARIANTS
    ]
    pictures = len({trial.cluster for trial in trials})
    delta = [column("compass.delta_s", name, f"ΔS {name}") for name in ("true", "opposite", "adjacent")]
    return Table.of(
        "compass.hidden_sectors",
        f"Single sectors hidden, {len(trials)} pairs on {pictures} pictures",
        [
            Column("fill", "hidden with"),
            Column("variant", "variant"),
            *delta,
            column("compass.cos"),
            Column("p", "p", "p"),
            column("compass.beyond_adjacent"),
            column("compass.leak"),
            DOUBTFUL,
            column("compass.bounded_leak"),
            PAIRS,
        ],
        rows,
        [
            *notes,
            "Sound COS: beyond what hiding as much elsewhere costs. Sound leak: 50 % means no direction.",
            "?: the denominator is not below 0 for certain.",
        ],
    )


def _sectors_row(
    measured: Sequence[tuple[Trial, Floats]], labels: tuple[str, Variant], seed: int
) -> list[Cell]:
    fill, variant = labels
    clusters = [trial.cluster for trial, _ in measured]
    true = np.array([effects[trial.true] for trial, effects in measured])
    opposite = np.array([effects[trial.opposite] for trial, effects in measured])
    adjacent = np.array([effects[list(trial.adjacent)].mean() for trial, effects in measured])
    cos = np.array([cos_of(effects, trial, variant) for trial, effects in measured])
    shares = (
        np.array([trial.shares[trial.opposite] for trial, _ in measured]),
        np.array([trial.shares[trial.true] for trial, _ in measured]),
    )
    return [
        fill,
        variant,
        nats(true, clusters),
        nats(opposite, clusters),
        nats(adjacent, clusters),
        nats(cos, clusters),
        p_of(cos, clusters, seed),
        nats(adjacent - true, clusters),
        *ratio_cells(leak_of(opposite, true, clusters, seed=seed) if measured else None),
        bounded_leak_of((opposite, true), shares, clusters, seed=seed),
        len(measured),
    ]


def _composites(scored: Sequence[MapOnPairs], model: str, seed: int) -> Table:
    """Build the table of the paper's composites and the sound summaries against AUC for correctness, without baselines."""
    real = {score.name: score for score in scored if not is_baseline(score.key) and score.rows}
    ratios = {name: score.mdf() for name, score in real.items()}
    areas = {name: score.auc() for name, score in real.items()}
    return composites_table(
        auc={name: result.value for name, result in areas.items() if result is not None},
        summaries={
            "EA": {name: float(score.hits.mean()) for name, score in real.items()},
            "MDF": {name: result.estimate.value for name, result in ratios.items() if result is not None},
            "gain over random (sound)": {name: float(score.gain.mean()) for name, score in real.items()},
            "DFS per pair (sound)": {
                name: float((score.gain * score.hits).mean()) for name, score in real.items()
            },
        },
        model=model,
        seed=seed,
    )
