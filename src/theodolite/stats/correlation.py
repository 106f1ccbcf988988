"""Correlation: Pearson, Spearman and partial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from scipy.stats import t as student_t

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.stats.bootstrap import resampled
from theodolite.stats.samples import (
    FloatArray,
    check_choice,
    check_level,
    check_same_length,
    finite_array,
    is_constant,
    sample,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_Kind = Literal["pearson", "spearman"]


def pearson(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Compute Pearson's correlation r.

    Without clusters the interval is Fisher's, tanh(artanh r ± z/√(n−3)), which is [−1, 1] for n = 3. It
    has no width at |r| = 1, so there the end towards 0 is r(n − z²)/(n + z²), that of n agreements out of n (Wilson);
    `p_value` is two-sided from t = r √((n−2)/(1−r²)). With clusters the interval
    is the bootstrap over clusters (BCa, 2000 resamples), without a p-value; use
    `correlation_permutation_test` for that.

    Args:
        first: First variable.
        second: Second variable, of the same items.
        clusters: One label per item, if items depend on each other within clusters.
        level: Confidence level.
        seed: Seed of the cluster bootstrap.

    >>> print(pearson([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 7, 5]))
    0.792 [-0.055, 0.976] (n=6)
    """
    return _correlation((first, second), None, "pearson", clusters=clusters, level=level, seed=seed)


def spearman(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Compute Spearman's rank correlation: Pearson's r of the average ranks.

    The interval is tanh(artanh r ± z √((1 + r²/2)/(n−3))) (Bonett and Wright 2000); p and clusters are as
    for `pearson`.

    Args:
        first: First variable.
        second: Second variable, of the same items.
        clusters: One label per item, if items depend on each other within clusters.
        level: Confidence level.
        seed: Seed of the cluster bootstrap.

    >>> print(spearman([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 70, 5]))
    0.829 [-0.127, 0.986] (n=6)
    """
    return _correlation((first, second), None, "spearman", clusters=clusters, level=level, seed=seed)


def partial_correlation(
    first: ArrayLike,
    second: ArrayLike,
    *,
    covariates: ArrayLike,
    kind: _Kind = "pearson",
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Compute the correlation of two variables given k covariates.

    This is the Pearson correlation of the residuals of both variables after least squares on a constant and the
    covariates. For "spearman" everything is ranked first. Interval and p are those of `pearson` and
    `spearman` with n − k instead of n (Fisher 1924).

    Args:
        first: First variable.
        second: Second variable, of the same items.
        covariates: One covariate, shape (n,), or several, shape (n, k).
        kind: "pearson" or "spearman".
        clusters: One label per item, if items depend on each other within clusters.
        level: Confidence level.
        seed: Seed of the cluster bootstrap.

    >>> size = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> print(partial_correlation([1, 3, 2, 5, 4, 7, 6, 9], [2, 1, 4, 3, 6, 5, 8, 7], covariates=size))
    -0.961 [-0.994, -0.753] (n=8)
    """
    given = finite_array(covariates, "covariates")
    if given.ndim not in (1, 2) or 0 in given.shape:
        raise UsageError(f"covariates must have shape (n,) or (n, k) with k >= 1, got {given.shape}")
    columns = given.reshape(len(given), -1)
    if any(is_constant(column) for column in columns.T):
        raise UsageError("a covariate is constant and explains nothing; leave it out")
    return _correlation((first, second), columns, kind, clusters=clusters, level=level, seed=seed)


def _correlation(
    pair: tuple[ArrayLike, ArrayLike],
    columns: FloatArray | None,
    kind: _Kind,
    *,
    clusters: ArrayLike | None,
    level: float,
    seed: int,
) -> Estimate:
    check_choice(kind, ("pearson", "spearman"), "kind")
    check_level(level)
    n_covariates = 0 if columns is None else columns.shape[1]
    x, y = (sample(v, name, 3 + n_covariates) for v, name in zip(pair, ("first", "second"), strict=True))
    n = check_same_length(first=x, second=y)
    if columns is None:
        columns = np.empty((n, 0))
    check_same_length(first=x, covariates=columns)
    r = _coefficient(x, y, columns, kind)
    if r is None:
        rest = "given the covariates" if n_covariates else "(all values equal)"
        raise UsageError(f"a correlation needs variation on both sides: one side is constant {rest}")

    if clusters is not None:

        def statistic(x: FloatArray, y: FloatArray, columns: FloatArray) -> float:
            value = _coefficient(x, y, columns, kind)
            return np.nan if value is None else value

        return resampled(
            (x, y, columns), statistic, clusters=clusters, bounds=(-1.0, 1.0), level=level, seed=seed
        )
    return _closed_form(r, n, n_covariates, kind, level)


def _closed_form(r: float, n: int, n_covariates: int, kind: _Kind, level: float) -> Estimate:
    free = n - n_covariates
    variance = 1.0 if kind == "pearson" else 1 + r**2 / 2
    name = "Fisher z" if kind == "pearson" else "Fisher z, Bonett-Wright"
    if abs(r) == 1:
        z = float(ndtri((1 + level) / 2))
        low, high = sorted((r, r * (free - z**2) / (free + z**2)))
        name = f"Wilson, {free} agreements of {free}: the correlation is perfect"
        p_value = 0.0
    else:
        reach = float(ndtri((1 + level) / 2)) * np.sqrt(variance / (free - 3)) if free > 3 else np.inf
        low, high = (float(np.tanh(np.arctanh(r) + side * reach)) for side in (-1, 1))
        p_value = float(2 * student_t.sf(abs(r) * np.sqrt((free - 2) / (1 - r**2)), free - 2))
    return Estimate(r, low, high, n, level, name, p_value=p_value)


def _coefficient(x: FloatArray, y: FloatArray, columns: FloatArray, kind: _Kind) -> float | None:
    """Return the (partial) correlation; None if a side is constant or a linear combination of the covariates."""
    if is_constant(x) or is_constant(y):
        return None
    if kind == "spearman":
        x, y, columns = rankdata(x), rankdata(y), rankdata(columns, axis=0)
    both = np.stack([x - x.mean(), y - y.mean()], axis=1)
    both /= np.abs(both).max(axis=0)  # avoids underflow of the squares
    both /= np.linalg.norm(both, axis=0)
    columns = columns[
        :, [not is_constant(column) for column in columns.T]
    ]  # a resample may make one constant
    if columns.shape[1]:
        centred = columns - columns.mean(axis=0)
        centred /= np.abs(centred).max(axis=0)
        centred /= np.linalg.norm(centred, axis=0)
        both = both - centred @ np.linalg.lstsq(centred, both, rcond=None)[0]
        lengths = np.linalg.norm(both, axis=0)
        if lengths.min() < 1e-10:
            return None
        both /= lengths
    r = float(np.clip(both[:, 0] @ both[:, 1], -1, 1))
    # A perfect correlation may differ from one by rounding; Fisher's z would be huge instead of infinite.
    return float(np.sign(r)) if 1 - abs(r) < 1e-14 else r
