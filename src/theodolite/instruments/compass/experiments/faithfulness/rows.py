"""One map's view of every pair: its own, opposite and random deletion curves, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.instruments.compass.estimates import mean_figure
from theodolite.instruments.compass.experiments.faithfulness.effects import (
    READINGS,
    Answers,
    Curve,
    Floats,
    ReadingName,
    deletion_curve,
    random_curve,
    sector_effects,
)
from theodolite.instruments.compass.experiments.faithfulness.trials import UNIFORM, Reading, Trial


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A deletion curve's mean at one step."""

    step: int
    hidden_share: float
    """Mean share of what the model sees that is hidden."""
    effect: stats.Estimate | None


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything measured of one pair in one reading; None where something is missing."""

    singles: Mapping[str, Floats | None]
    random: list[Curve] | None


def measured_effects(answers: Answers, trial: Trial, fills: Sequence[str], reading: ReadingName) -> Effects:
    """The effects that all methods share."""
    return Effects(
        {fill: sector_effects(answers, trial, fill, reading) for fill in fills},
        random_curve(answers, trial, fill=fills[0], reading=reading),
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One pair as one map sees it: curves and single sectors, by reading."""

    trial: Trial
    reading: Reading
    own: Mapping[ReadingName, Curve]
    opposite: Mapping[ReadingName, Curve]
    uniform: Mapping[ReadingName, Curve]
    random: Mapping[ReadingName, list[Curve]]
    singles: Mapping[ReadingName, Floats]

    def area(self, order: str, reading: ReadingName) -> float:
        """AUC of one of its orders; of the random ones their mean."""
        if order == "random":
            return float(np.mean([curve.area(reading) for curve in self.random[reading]]))
        curves: Mapping[ReadingName, Curve] = getattr(self, order)
        return curves[reading].area(reading)


def read_rows(
    key: str,
    trials: Sequence[Trial],
    effects: Mapping[ReadingName, Sequence[Effects]],
    answers: Answers,
    fill: str,
) -> tuple[list[Row], dict[str, int]]:
    """The pairs of which everything about a map was measured, and how many others there are, by reason."""
    rows: list[Row] = []
    lost: Counter[str] = Counter()
    for i, trial in enumerate(trials):
        if key in trial.lost:
            lost[trial.lost[key].value] += 1
            continue
        if key not in trial.readings:
            lost["the pair has no such map"] += 1
            continue
        row = _row(trial, trial.readings[key], {name: effects[name][i] for name in READINGS}, answers, fill)
        if row is None:
            lost["not everything of it was measured"] += 1
        else:
            rows.append(row)
    return rows, dict(lost)


def _row(
    trial: Trial, reading: Reading, effects: Mapping[ReadingName, Effects], answers: Answers, fill: str
) -> Row | None:
    orders = {
        "own": reading.order,
        "opposite": reading.order[::-1],
        "uniform": trial.readings[UNIFORM].order,
    }
    curves: dict[str, dict[ReadingName, Curve]] = {name: {} for name in orders}
    random: dict[ReadingName, list[Curve]] = {}
    singles: dict[ReadingName, Floats] = {}
    for name in READINGS:
        for which, order in orders.items():
            curve = deletion_curve(answers, trial, order, fill=fill, reading=name)
            if curve is None:
                return None
            curves[which][name] = curve
        drawn, alone = effects[name].random, effects[name].singles[fill]
        if drawn is None or alone is None:
            return None
        random[name], singles[name] = drawn, alone
    return Row(trial, reading, curves["own"], curves["opposite"], curves["uniform"], random, singles)


def mean_curves(rows: Sequence[Row], clusters: Sequence[str], seed: int) -> dict[str, tuple[CurvePoint, ...]]:
    """Mean curves in the paper's reading; a pair's random curve is the mean of its random orders."""
    if not rows:
        return {}
    per_order: dict[str, list[tuple[Floats, Floats]]] = {"own": [], "random": [], "opposite": []}
    for row in rows:
        for name, curves in (
            ("own", [row.own["paper"]]),
            ("random", row.random["paper"]),
            ("opposite", [row.opposite["paper"]]),
        ):
            x = np.mean([curve.hidden_share for curve in curves], axis=0)
            y = np.mean([curve.effect for curve in curves], axis=0)
            per_order[name].append((x, y))
    found = {}
    for name, pairs in per_order.items():
        shares, values = (np.array(side) for side in zip(*pairs, strict=True))
        found[name] = tuple(
            CurvePoint(k, float(shares[:, k].mean()), mean_figure(values[:, k], clusters, seed=seed))
            for k in range(values.shape[1])
        )
    return found
