"""What hiding does to the answer: effects of sectors, deletion curves, MDF, DFS and leakage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.definitions import column
from theodolite.core.tables import Cell, Column, Estimate, Table
from theodolite.instruments.compass.experiments.faithfulness.plan import SectorOrder, Trial, mask_key
from theodolite.instruments.compass.experiments.framework import DAE, EA
from theodolite.instruments.compass.experiments.utility import auc_of
from theodolite.instruments.compass.formulas.baselines import UNIFORM_MAP
from theodolite.instruments.compass.formulas.dae import edge_hit
from theodolite.instruments.compass.formulas.projected import DEGREES
from theodolite.instruments.compass.measure import shown_key, split_key
from theodolite.runs import Result

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
    """The same, given that one of the options is said."""

    @classmethod
    def read(cls, results: Iterable[Result]) -> HiddenAnswers:
        """From the results of a run; items without an answer are in the run's tally."""
        found: dict[tuple[str, str, frozenset[int]], Floats] = {}
        among: dict[tuple[str, str, frozenset[int]], Floats] = {}
        for result in results:
            record, meta = result.record, result.item.meta
            if record is not None and record.choice is not None:
                hidden = frozenset(int(k) for k in meta["hidden"])  # type: ignore[union-attr, arg-type]
                key = str(meta["of"]), str(meta["fill"]), hidden
                found[key] = np.asarray(record.choice.log_probabilities)
                among[key] = found[key] - np.logaddexp.reduce(found[key])
        return cls(found, among)

    def confidence(self, trial: Trial, fill: str, hidden: Iterable[int], variant: Variant) -> float | None:
        """Log p(gt) with some sectors hidden; None if it was not measured."""
        source = self.among if variant == "sound" else self.found
        values = source.get((trial.item_id, *mask_key(trial, fill, frozenset(hidden))))
        return None if values is None else float(values[trial.gold])

    def delta_s(self, trial: Trial, fill: str, hidden: Iterable[int], variant: Variant) -> float | None:
        """ΔS of hidden sectors; None if it, or the whole picture, was not measured or is not finite."""
        base = self.confidence(trial, fill, (), variant)
        masked = self.confidence(trial, fill, hidden, variant)
        if base is None or masked is None or not np.isfinite(masked - base):
            return None
        return masked - base


def sector_effects(answers: HiddenAnswers, trial: Trial, fill: str, variant: Variant) -> Floats | None:
    """ΔS of each sector alone, shape (K,); None if one is missing."""
    effects = [answers.delta_s(trial, fill, (k,), variant) for k in range(len(trial.shares))]
    known = [effect for effect in effects if effect is not None]
    return np.array(known) if len(known) == len(effects) else None


def beyond_area(effects: Floats, shares: Floats, sector: int) -> float:
    """How much more hiding a sector costs than hiding as much elsewhere: β·a_k − ΔS_k, β = Σ_{j≠k} ΔS_j / Σ_{j≠k} a_j.

    a is the share of what the model sees. Above zero if the sector matters more than its size explains. If everything
    visible lies in the one sector, its whole cost counts.

    >>> round(beyond_area(np.array([-0.5, -0.1, -0.1]), np.array([0.2, 0.1, 0.1]), 0), 6)
    0.3
    """
    others = np.arange(len(effects)) != sector
    elsewhere = float(shares[others].sum())
    rate = float(effects[others].sum()) / elsewhere if elsewhere > 0 else 0.0
    return rate * float(shares[sector]) - float(effects[sector])


def cos_of(effects: Floats, trial: Trial, variant: Variant) -> float:
    """COS of one pair: ΔS_opposite − ΔS_true (equation 8), or the true sector's cost beyond its area (sound)."""
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
        """AUC by the trapezoidal rule, over k/K or over the share hidden.

        >>> curve = DeletionCurve(np.array([0.0, 0.9, 1.0]), np.array([0.0, -1.0, -1.0]))
        >>> curve.area("paper"), round(curve.area("sound"), 6)
        (-0.75, -0.55)
        """
        x = self.hidden_share if variant == "sound" else np.linspace(0.0, 1.0, len(self.effect))
        return float(np.trapezoid(self.effect, x))


def deletion_curve(
    answers: HiddenAnswers, trial: Trial, order: Sequence[int], *, fill: str, variant: Variant
) -> DeletionCurve | None:
    """The curve of one order; None if a step is missing."""
    steps = [answers.delta_s(trial, fill, order[:n], variant) for n in range(len(order) + 1)]
    known = [step for step in steps if step is not None]
    total = trial.shares.sum()
    if len(known) < len(steps) or total <= 0:
        return None
    shares = np.concatenate([[0.0], np.cumsum(trial.shares[list(order)])]) / total
    return DeletionCurve(shares, np.array(known))


@dataclass(frozen=True, slots=True)
class PairEffects:
    """What all maps share of one pair in one variant; None if something is missing."""

    singles: Mapping[str, Floats | None]
    """By fill: ΔS of each sector alone."""
    random: list[DeletionCurve] | None


def pair_effects(answers: HiddenAnswers, trial: Trial, fills: Sequence[str], variant: Variant) -> PairEffects:
    """Single sectors with every fill, and the curves of the random orders."""
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
        """AUC of one order; of the random orders, their mean."""
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
    """The pairs with complete measurements of a map, and counts of the others by reason."""
    found: list[MapOnPair] = []
    lost: Counter[str] = Counter()
    for i, trial in enumerate(trials):
        if key in trial.lost:
            lost[trial.lost[key].value] += 1
            continue
        if key not in trial.orders:
            lost["the pair has no such map"] += 1
            continue
        each = _map_on_pair(trial, key, {name: effects[name][i] for name in VARIANTS}, answers, fill)
        if each is None:
            lost["not everything of it was measured"] += 1
        else:
            found.append(each)
    return found, dict(lost)


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
    """A ratio as in the paper, and whether its denominator lets it mean anything."""

    estimate: stats.Estimate
    is_doubtful: bool
    """True unless the whole interval of the denominator is below zero."""


def mdf_of(
    own: Floats, random: Floats, clusters: Sequence[str], *, seed: int, hits: Floats | None = None
) -> Ratio | None:
    """MDF; with hits, DFS.

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
    """|mean ΔS_opp| / |mean ΔS_true|."""

    def statistic(opposite: Floats, true: Floats, weights: Floats) -> Floats:
        return np.abs(weights @ opposite) / np.abs(weights @ true)

    return _ratio((opposite, true), statistic, true, clusters, seed)


def bounded_leak_of(
    drops: tuple[Floats, Floats], shares: tuple[Floats, Floats], clusters: Sequence[str], *, seed: int
) -> stats.Estimate | None:
    """L, a ratio of rates: the opposite sector is often much smaller than the true one (a sixth on real COCO pairs).

    Args:
        drops: ΔS of the opposite and of the true sector, pair by pair.
        shares: The share of what the model sees in each of the two.
        clusters: The pairs' pictures.
        seed: Seed of the bootstrap.

    Returns:
        None if nothing ever drops, or one of the two is always empty.
    """
    opposite, true = (np.maximum(0.0, -each) for each in drops)
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
    """A ratio with its interval; None if too many resamples have a denominator of zero."""
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
            column("compass.delta_s", "effect"),
        ],
        [
            [each.name, order, point.step, point.hidden_share, point.effect]
            for each in scored
            if each.rows
            for order, points in each.curves().items()
            for point in points
        ],
    )
