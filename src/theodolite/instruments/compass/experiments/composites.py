"""Composites of faithfulness and alignment, and how well they rank methods (Table 4 and A.1).

    DFS = MDF · EA      harmonic = 2 · MDF · EA / (MDF + EA)      geometric = √(MDF · EA)      (equation 10 and A.1)

MDF is a ratio of two areas of any sign (a random order can raise confidence). If it is not above zero, the harmonic and the
geometric mean are undefined; such methods are left out and counted. With four methods, as in the paper, ρ = 1 happens by chance in
1 of 24 orders: read ρ with its p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.compass.published import published_correlations

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
    """Which composite ranks methods as their diagnostic AUC does.

    Args:
        methods: Their names.
        edge_accuracy: EA of each.
        mdf: MDF of each.
        auc: AUC for correctness of each.
        seed: Seed of the permutation test, if not all orders are tried.

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
    test = stats.correlation_permutation_test(x, y, kind="spearman", seed=seed)
    estimate = stats.spearman(x, y)
    return replace(estimate, method=f"{estimate.method}; p {test.method}", p_value=test.p_value)


def ranked_against(
    auc: Mapping[str, float], summaries: Mapping[str, Mapping[str, float]], *, seed: int
) -> tuple[Composite, ...]:
    """Spearman's ρ over maps between summaries of them and their AUC for correctness.

    Args:
        auc: ROC-AUC of −DAE for the answer being right, by map.
        summaries: ``EA`` and ``MDF``, which give the paper's five composites, and others by name; each by map.
        seed: Seed of the permutations.

    Returns:
        The paper's composites, over the maps that have AUC, EA and MDF; then every other summary alone.
    """
    edges = summaries["EA"]
    found: list[Composite] = []
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
            found = [*composites, *found]
        else:
            found += [replace(each, name=name) for each in composites if each.name == "MDF"]
    return tuple(found)


def composites_table(
    *, auc: Mapping[str, float], summaries: Mapping[str, Mapping[str, float]], model: str, seed: int
) -> Table:
    """Whether the summaries rank maps as their AUC for correctness does; arguments as for `ranked_against`."""
    found = ranked_against(auc, summaries, seed=seed)
    published = published_correlations(model)
    maps = list(found[0].values) if found else []
    named = maps if len(maps) <= _MOST_COLUMNS else []
    columns = [
        Column("composite", "composite"),
        *(Column(name, name, "number") for name in named),
        Column("correlation", "Spearman ρ with AUC", "correlation", "compass.composite_correlation"),
        Column("p", "p", "p"),
        Column("maps", "maps", "count"),
        Column("undefined", "without a value", "count"),
        *([Column("reported", "CREG, A.1 (4 methods)", "correlation")] if published else []),
    ]
    rows: list[list[Cell]] = [
        [
            each.name,
            *(each.values.get(name) for name in named),
            each.correlation,
            None if each.correlation is None else each.correlation.p_value,
            len(each.values) - each.undefined,
            each.undefined,
            *([published.get(each.name)] if published else []),
        ]
        for each in found
    ]
    notes = [] if found else ["No map has both an MDF and an AUC for correctness."]
    return Table.of(
        "compass.composites",
        "Do the summaries rank maps as their AUC for correctness does?",
        columns,
        rows,
        notes,
    )
