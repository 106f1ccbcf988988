"""What hiding sectors does to the answer: effects of single sectors, and deletion curves, from stored answers.

    ΔS(H) = log p_H(gt) − log p_0(gt)                     H: the hidden sectors (equation 8)
    C_m(k) = ΔS(first k sectors of order m)               the deletion curve, 0 at k = 0
    AUC_m  = ∫₀¹ C_m dx,  x = k/K (paper)  or  x = the share of what the model sees that is hidden (sound)

p(gt) is over the whole vocabulary (paper) or among the options alone (sound); the first also falls if a model, shown a spoilt
picture, starts to say something else altogether. The share hidden is used because sectors differ in size: from a reference near
the edge the opposite sector may lie outside the picture, and hiding it costs nothing whatever the model looks at; and any order
that takes large sectors first drops fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.compass.experiments.faithfulness.measure import mask_key
from theodolite.instruments.compass.experiments.faithfulness.trials import SectorOrder, Trial
from theodolite.runs import Result

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
