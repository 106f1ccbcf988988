"""Jensen–Shannon divergence of distributions and mutual information of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import rel_entr, xlogy

from theodolite.core.errors import UsageError
from theodolite.stats.arrangements import BLOCK_CELLS
from theodolite.stats.samples import (
    FloatArray,
    IntArray,
    check_count,
    check_same_length,
    check_seed,
    finite_array,
    label_codes,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def jensen_shannon_divergence(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Jensen–Shannon divergence in bits over the last axis; leading axes are batched and broadcast.

    JSD(P, Q) = ½ KL(P‖M) + ½ KL(Q‖M) with M = ½(P + Q) (Lin 1991): 0 if P = Q, 1 if their supports are disjoint.
    Each distribution is divided by its sum. Negative mass, or a total of zero, is an error.

    >>> jensen_shannon_divergence([[1, 1], [1, 0]], [[2, 2], [0, 3]]).tolist()
    [0.0, 1.0]
    """
    p, q = _distributions(first, "first"), _distributions(second, "second")
    try:
        p, q = np.broadcast_arrays(p, q)
    except ValueError as error:
        raise UsageError(f"distributions of shapes {p.shape} and {q.shape} cannot be broadcast") from error
    middle = (p + q) / 2
    nats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / 2
    return np.asarray(np.clip(nats / np.log(2), 0.0, 1.0))


def _distributions(values: ArrayLike, name: str) -> FloatArray:
    mass = finite_array(values, name, largest=np.inf)
    if mass.ndim == 0 or mass.shape[-1] == 0:
        raise UsageError(f"{name} needs at least one cell on its last axis, got shape {mass.shape}")
    if (mass < 0).any():
        raise UsageError(f"{name} must not contain negative mass, got {mass.min()}")
    peak = mass.max(axis=-1, keepdims=True)
    if (peak == 0).any():
        raise UsageError(f"{name} contains a distribution without mass: all its cells are zero")
    mass = mass / peak  # so that neither tiny nor huge values are lost in the sum
    return np.asarray(mass / mass.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, slots=True)
class MutualInformation:
    """Mutual information of two labellings and its value by chance, in bits."""

    value: float
    """Plug-in estimate. Biased upwards, and more so with more labels."""
    null_mean: float
    """Mean over shuffled labels: the part of `value` due to chance."""
    null_high: float
    """95th percentile over shuffled labels."""
    corrected: float
    """`value` − `null_mean`. Negative if `value` is below its mean by chance."""
    p_value: float
    """Share of shuffles that reach `value`, (b+1)/(m+1)."""
    n: int
    """Number of items."""
    n_permutations: int
    """Number of shuffles."""


def mutual_information(
    first: ArrayLike, second: ArrayLike, *, n_permutations: int = 999, seed: int
) -> MutualInformation:
    """Mutual information of two discrete labellings in bits, with its null distribution from shuffling.

    I = Σ p(a,b) log₂ p(a,b)/p(a)p(b) from the observed shares (0 log 0 = 0). The null shuffles one side. A side
    with a single label carries no information: the value is 0 and p is 1.

    Args:
        first: One label per item.
        second: One label per item.
        n_permutations: Number of shuffles.
        seed: Seed of the shuffles.

    >>> result = mutual_information(list("aabbaabb"), [0, 0, 1, 1, 0, 0, 1, 1], seed=0)
    >>> result.value, result.p_value < 0.1
    (1.0, True)
    """
    _, x = label_codes(first, "first")
    _, y = label_codes(second, "second")
    n = check_same_length(first=x, second=y)
    check_count(n_permutations, "n_permutations")
    generator = np.random.default_rng(check_seed(seed))
    n_cells = (int(x.max()) + 1) * (int(y.max()) + 1)
    marginal = _entropy(np.bincount(x)[None])[0] + _entropy(np.bincount(y)[None])[0]

    def information(shuffled: IntArray) -> FloatArray:
        """Per row of `shuffled` (rows, items). Shuffling does not change the marginal entropies."""
        cells = x * (int(y.max()) + 1) + shuffled + n_cells * np.arange(len(shuffled))[:, None]
        counts = np.bincount(cells.ravel(), minlength=len(shuffled) * n_cells).reshape(-1, n_cells)
        return np.asarray(np.maximum(marginal - _entropy(counts), 0.0))

    value = float(information(y[None])[0])
    step = max(1, BLOCK_CELLS // max(n, n_cells))
    null = np.concatenate(
        [
            information(generator.permuted(np.tile(y, (min(step, n_permutations - start), 1)), axis=1))
            for start in range(0, n_permutations, step)
        ]
    )
    return MutualInformation(
        value=value,
        null_mean=float(null.mean()),
        null_high=float(np.quantile(null, 0.95)),
        corrected=value - float(null.mean()),
        p_value=(int((null >= value - 1e-12).sum()) + 1) / (n_permutations + 1),
        n=n,
        n_permutations=n_permutations,
    )


def _entropy(counts: IntArray) -> FloatArray:
    """Entropy in bits of each row of counts."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    return np.asarray(-xlogy(shares, shares).sum(axis=1) / np.log(2))
