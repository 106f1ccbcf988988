"""What hiding did: effects of single sectors and deletion curves, out of the stored answers.

    ΔS(H) = log p_H(gt) − log p_0(gt)                     H: the sectors that are hidden (equation 8)
    C_m(k) = ΔS(first k sectors of order m)               the deletion curve, 0 at k = 0
    AUC_m  = ∫₀¹ C_m dx,  x = k/K (paper)  or  x = the share of what the model sees that is hidden (sound)

p(gt) is taken over the whole vocabulary (paper), or among the options alone (sound): the first also falls when a model,
shown a spoilt picture, turns to saying something else altogether.

Why the share hidden: sectors differ in size. From a reference near the edge, the opposite sector may lie outside the
picture, and hiding it costs nothing whatever the model looks at; and any order that takes large sectors first drops fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.compass.experiments.faithfulness.measure import mask_key
from theodolite.instruments.compass.experiments.faithfulness.trials import Trial
from theodolite.runs import Result

ReadingName: TypeAlias = Literal["paper", "sound"]
"""``paper``: p over the vocabulary, steps counted. ``sound``: p among the options, steps by the share hidden."""

READINGS: tuple[ReadingName, ...] = ("paper", "sound")
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answers:
    """What a run that hides has measured: log-probabilities of the options, by pair, fill and hidden sectors."""

    found: Mapping[tuple[str, str, frozenset[int]], Floats]
    among: Mapping[tuple[str, str, frozenset[int]], Floats]
    """The same, given that one of the options is said."""

    @classmethod
    def read(cls, results: Iterable[Result]) -> Answers:
        """From the results of a run; what failed, was refused or waits is in the run's tally."""
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

    def confidence(
        self, trial: Trial, fill: str, hidden: Iterable[int], reading: ReadingName
    ) -> float | None:
        """Log p(gt) with some sectors hidden; None if it was not measured."""
        source = self.among if reading == "sound" else self.found
        values = source.get((trial.item_id, *mask_key(trial, fill, frozenset(hidden))))
        return None if values is None else float(values[trial.gold])

    def effect(self, trial: Trial, fill: str, hidden: Iterable[int], reading: ReadingName) -> float | None:
        """ΔS of some hidden sectors; None if it, or the whole picture, was not measured or is not finite."""
        base = self.confidence(trial, fill, (), reading)
        masked = self.confidence(trial, fill, hidden, reading)
        if base is None or masked is None or not np.isfinite(masked - base):
            return None
        return masked - base


def sector_effects(answers: Answers, trial: Trial, fill: str, reading: ReadingName) -> Floats | None:
    """ΔS of each sector alone, shape (K,); None if one is missing."""
    effects = [answers.effect(trial, fill, (k,), reading) for k in range(len(trial.shares))]
    known = [effect for effect in effects if effect is not None]
    return np.array(known) if len(known) == len(effects) else None


def beyond_area(effects: Floats, shares: Floats, sector: int) -> float:
    """How much more hiding a sector costs than hiding as much elsewhere: β·a_k − ΔS_k, β = Σ_{j≠k} ΔS_j / Σ_{j≠k} a_j.

    a is the share of what the model sees. Above zero where the sector matters more than its size explains. Where all
    that is seen lies in the one sector there is no elsewhere, and its whole cost counts.

    >>> round(beyond_area(np.array([-0.5, -0.1, -0.1]), np.array([0.2, 0.1, 0.1]), 0), 6)
    0.3
    """
    others = np.arange(len(effects)) != sector
    elsewhere = float(shares[others].sum())
    rate = float(effects[others].sum()) / elsewhere if elsewhere > 0 else 0.0
    return rate * float(shares[sector]) - float(effects[sector])


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One deletion curve of one pair."""

    hidden_share: Floats
    """x by area, shape (K + 1,): 0 to 1, of all that can be hidden."""
    effect: Floats
    """C, shape (K + 1,): 0 at nothing hidden."""

    def area(self, reading: ReadingName) -> float:
        """AUC by the trapezoidal rule, over k/K or over the share hidden.

        >>> curve = Curve(np.array([0.0, 0.9, 1.0]), np.array([0.0, -1.0, -1.0]))
        >>> curve.area("paper"), round(curve.area("sound"), 6)
        (-0.75, -0.55)
        """
        x = self.hidden_share if reading == "sound" else np.linspace(0.0, 1.0, len(self.effect))
        return float(np.trapezoid(self.effect, x))


def deletion_curve(
    answers: Answers, trial: Trial, order: Sequence[int], *, fill: str, reading: ReadingName
) -> Curve | None:
    """The curve of one order; None if a step is missing."""
    steps = [answers.effect(trial, fill, order[:n], reading) for n in range(len(order) + 1)]
    known = [step for step in steps if step is not None]
    total = trial.shares.sum()
    if len(known) < len(steps) or total <= 0:
        return None
    shares = np.concatenate([[0.0], np.cumsum(trial.shares[list(order)])]) / total
    return Curve(shares, np.array(known))


def random_curve(answers: Answers, trial: Trial, *, fill: str, reading: ReadingName) -> list[Curve] | None:
    """The curves of all random orders of a pair; None if a step of one is missing."""
    curves = [
        deletion_curve(answers, trial, order, fill=fill, reading=reading) for order in trial.random_orders
    ]
    known = [curve for curve in curves if curve is not None]
    return known if len(known) == len(curves) else None
