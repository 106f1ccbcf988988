"""Scores made of two: how far a method's map is causal (MDF) and how well it points (EA), against what it is good for.

    DFS = MDF · EA      harmonic = 2 · MDF · EA / (MDF + EA)      geometric = √(MDF · EA)      (equation 10 and A.1)

MDF is a ratio of two areas that may have any sign (a random order can raise confidence); where it is not above zero, the
harmonic and the geometric mean have no meaning and are left out, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theodolite import stats
from theodolite.core.errors import UsageError


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
"""Name -> function of MDF and EA; None where it is undefined."""


@dataclass(frozen=True, slots=True)
class Composite:
    """One composite over all methods."""

    name: str
    values: Mapping[str, float | None]
    """Method -> value; None where it is undefined."""
    correlation: stats.Estimate | None
    """Spearman's ρ with the AUC, over the methods that have a value; None for fewer than three, or without variation.
    Its p is that of the permutation test."""
    undefined: int
    """Methods without a value."""


def composite_scores(
    methods: Sequence[str], *, edge_accuracy: ArrayLike, mdf: ArrayLike, auc: ArrayLike, seed: int = 0
) -> tuple[Composite, ...]:
    """Which composite ranks methods as their diagnostic AUC does.

    With four methods, as in the paper, ρ = 1 happens by chance in 1 of 24 orders: read ρ with its p.

    Args:
        methods: their names.
        edge_accuracy: EA of each.
        mdf: its faithfulness.
        auc: its AUC for correctness.
        seed: of the permutation test, where not all orders are tried.

    >>> names = ["chefer", "contrastive", "rollout", "gradcam"]
    >>> found = composite_scores(names, edge_accuracy=[.633, .553, .367, .310], mdf=[1.54, 2.50, 1.45, 3.85],
    ...                          auc=[.620, .575, .541, .476])
    >>> {each.name: round(each.correlation.value, 1) for each in found}
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
    found = []
    for name, function in COMPOSITES.items():
        values = [function(float(ratio), float(edge)) for ratio, edge in zip(ratios, edges, strict=True)]
        where = [i for i, value in enumerate(values) if value is not None]
        rho = _spearman([values[i] for i in where], areas[where], seed)
        found.append(Composite(name, dict(zip(methods, values, strict=True)), rho, len(methods) - len(where)))
    return tuple(found)


def _spearman(values: Sequence[float | None], areas: ArrayLike, seed: int) -> stats.Estimate | None:
    x, y = np.array(values, np.float64), np.asarray(areas)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    estimate = stats.spearman(x, y)
    test = stats.correlation_permutation_test(x, y, kind="spearman", seed=seed)
    return stats.Estimate(
        estimate.value,
        estimate.low,
        estimate.high,
        estimate.n,
        estimate.level,
        f"{estimate.method}; p {test.method}",
        p_value=test.p_value,
    )
