"""Agreement of two raters corrected for chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtri

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.stats.bootstrap import resampled
from theodolite.stats.clustered import wilson_bounds
from theodolite.stats.samples import (
    BatchStatistic,
    FloatArray,
    IntArray,
    check_choice,
    check_level,
    label_codes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def cohen_kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: Literal["none", "linear", "quadratic"] = "none",
    categories: Sequence[Any] | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Compute Cohen's kappa, the agreement of two raters beyond chance.

    κ = (P_o − P_e)/(1 − P_e) with P_o = Σ w_ij p_ij and P_e = Σ w_ij p_i· p_·j. The agreement weights are
    1[i = j], or 1 − (|i−j|/(K−1))^q with q = 1 (linear) or 2 (quadratic). The interval is κ ± z·SE, clipped to
    [−1, 1], with the large-sample variance of Fleiss, Cohen and Everitt (1969):
    [Σ p_ij (w_ij − (w̄_i· + w̄_·j)(1−κ))² − (κ − P_e(1−κ))²] / n(1−P_e)². With clusters it is the bootstrap
    over clusters (BCa, 2000 resamples). Both collapse at perfect agreement. The bounds are then Wilson's for P_o
    (n items, or clusters), transformed by the formula with P_e fixed, and `method` says so.

    Args:
        first: The first rater's label of each item.
        second: The second rater's label of each item.
        weights: Credit for near misses.
        categories: All categories in order. Default: the labels that occur, sorted. The order and unused categories
            matter for weighted kappa only.
        clusters: One label per item, if items depend on each other within clusters.
        level: Confidence level.
        seed: Seed of the cluster bootstrap.

    >>> print(cohen_kappa(list("yyynnnyynn"), list("yyynnnynyn")))
    0.600 [0.104, 1.000] (n=10)
    """
    check_choice(weights, ("none", "linear", "quadratic"), "weights")
    check_level(level)
    x, y, n_categories = _rated(first, second, categories)
    agreement = _agreement_weights(n_categories, weights)
    cells = x * n_categories + y
    table = np.bincount(cells, minlength=n_categories**2) / x.size
    kappa, by_chance = (float(figure[0]) for figure in _kappas(table[None], agreement))
    if by_chance >= 1:
        raise UsageError("kappa is undefined: both raters gave the same label to every item")
    if clusters is None:
        estimate = _asymptotic(table, agreement, x.size, level)
    else:

        def statistic(items: FloatArray, counts: FloatArray) -> FloatArray:
            occurs = items[:, None] == np.unique(items)  # (items, cells that occur)
            tables = np.zeros((len(counts), n_categories**2))
            tables[:, np.unique(items).astype(np.int64)] = counts @ occurs / counts.sum(axis=1, keepdims=True)
            return _kappas(tables, agreement)[0]

        batch = BatchStatistic(statistic, form="weights")
        estimate = resampled((cells,), batch, clusters=clusters, bounds=(-1.0, 1.0), level=level, seed=seed)
    if estimate.high - estimate.low > 1e-7:  # below it, the width is the square root of a rounding error
        return estimate
    observed = min(1.0, max(0.0, by_chance + kappa * (1 - by_chance)))
    bounds = wilson_bounds(observed * estimate.n, estimate.n, level)
    low, high = (min(1.0, max(-1.0, (bound - by_chance) / (1 - by_chance))) for bound in bounds)
    method = "Wilson bounds of the observed agreement, chance agreement held: the usual interval collapsed"
    return Estimate(kappa, low, high, estimate.n, level, method, estimate.n_items)


def _rated(
    first: ArrayLike, second: ArrayLike, categories: Sequence[Any] | None
) -> tuple[IntArray, IntArray, int]:
    """Return both raters' labels as category indices, and the number of categories."""
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape or a.size == 0:
        raise UsageError(
            f"two raters must label the same items, in one dimension; got shapes {a.shape} and {b.shape}"
        )
    distinct, codes = label_codes(np.concatenate([a, b]), "labels")
    n_categories = distinct.size
    if categories is not None:
        position = {category: index for index, category in enumerate(categories)}
        unknown = [label for label in distinct.tolist() if label not in position]
        if unknown or len(position) != len(categories):
            raise UsageError(
                f"categories must name every label once; missing: {unknown}, given: {categories}"
            )
        codes = np.array([position[label] for label in distinct.tolist()])[codes]
        n_categories = len(categories)
    return codes[: a.size], codes[a.size :], n_categories


def _agreement_weights(n_categories: int, weights: str) -> FloatArray:
    rank = np.arange(n_categories)
    distance = np.abs(rank[:, None] - rank) / max(1, n_categories - 1)
    if weights == "none":
        return np.asarray(distance == 0, dtype=np.float64)
    return np.asarray(1 - distance ** (1 if weights == "linear" else 2))


def _kappas(tables: FloatArray, agreement: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return kappa and chance agreement of each table of shares, (tables, K²). NaN if chance agreement is 1."""
    shares = tables.reshape(-1, *agreement.shape)
    observed = np.einsum("tij,ij->t", shares, agreement)
    by_chance = np.einsum("ti,tj,ij->t", shares.sum(axis=2), shares.sum(axis=1), agreement)
    room = 1 - by_chance
    room = np.where(room > 1e-12, room, np.nan)
    return np.clip((observed - by_chance) / room, -1.0, 1.0), np.where(np.isnan(room), 1.0, by_chance)


def _asymptotic(table: FloatArray, agreement: FloatArray, n: int, level: float) -> Estimate:
    kappa, by_chance = (float(figure[0]) for figure in _kappas(table[None], agreement))
    shares = table.reshape(agreement.shape)
    row_mean = agreement @ shares.sum(axis=0)  # w̄_i·
    column_mean = shares.sum(axis=1) @ agreement  # w̄_·j
    spread = np.sum(shares * (agreement - (row_mean[:, None] + column_mean) * (1 - kappa)) ** 2)
    variance = (spread - (kappa - by_chance * (1 - kappa)) ** 2) / (n * (1 - by_chance) ** 2)
    reach = float(ndtri((1 + level) / 2)) * float(np.sqrt(max(variance, 0.0)))
    low, high = max(-1.0, kappa - reach), min(1.0, kappa + reach)
    return Estimate(kappa, low, high, n, level, "asymptotic, Fleiss-Cohen-Everitt")
