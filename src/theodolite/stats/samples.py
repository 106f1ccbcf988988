"""Input checks shared by all functions of `theodolite.stats`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)
"""Bounds of shares and scores."""

ROUNDING = 2e-12
"""Differences below this fraction of the magnitude are treated as rounding: about 2¹³ units in the last place."""
LARGEST = 1e100
"""Largest magnitude whose sums of squares cannot overflow."""


def finite_array(values: ArrayLike, name: str, largest: float = LARGEST) -> FloatArray:
    """Return an array of finite real numbers as float64. Booleans become 0 and 1."""
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise UsageError(f"{name} must be an array of numbers, got rows of different lengths") from error
    if given.dtype.kind not in "biuf":
        raise UsageError(f"{name} must be real numbers, got {given.dtype}")
    array = given.astype(np.float64)
    n_bad = array.size - int(np.isfinite(array).sum())
    if n_bad:
        raise UsageError(f"{name} must be finite: {n_bad} of {array.size} values are NaN or infinite")
    if array.size and np.abs(array).max() > largest:
        raise UsageError(f"{name} must not exceed {largest:g} in magnitude, got {np.abs(array).max():g}")
    return array


def sample(values: ArrayLike, name: str, minimum: int = 1) -> FloatArray:
    """Return a one-dimensional array of at least `minimum` finite numbers."""
    array = finite_array(values, name)
    if array.ndim != 1:
        raise UsageError(f"{name} must have one dimension, got shape {array.shape}")
    if array.size < minimum:
        raise UsageError(f"{name} needs at least {minimum} values, got {array.size}")
    return array


def flags(values: ArrayLike, name: str) -> FloatArray:
    """Return booleans, or the numbers 0 and 1, as an array of 0.0 and 1.0."""
    array = sample(values, name)
    if not np.isin(array, (0.0, 1.0)).all():
        odd = array[~np.isin(array, (0.0, 1.0))][0]
        raise UsageError(f"{name} must be True/False or 1/0, got {odd:g}")
    return array


def label_codes(labels: ArrayLike, name: str) -> tuple[NDArray[Any], IntArray]:
    """Return the distinct labels, sorted, and for each item the index of its label."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        raise UsageError(f"{name} must be a non-empty one-dimensional array, got shape {array.shape}")
    missing = array.dtype.kind == "O" and any(label is None for label in array)
    missing = missing or (array.dtype.kind in "fc" and bool(np.isnan(array).any()))
    if missing:
        raise UsageError(f"{name} has missing labels (None or NaN): every item needs one")
    try:
        distinct, codes = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise UsageError(f"{name} mixes types of labels that cannot be sorted together: {error}") from error
    return distinct, codes.astype(np.int64)


def unit_codes(clusters: ArrayLike | None, n_items: int) -> IntArray:
    """Return the index of each item's independent unit: its cluster, or the item itself without clusters."""
    if clusters is None:
        return np.arange(n_items, dtype=np.int64)
    _, codes = label_codes(clusters, "clusters")
    if codes.size != n_items:
        raise UsageError(f"clusters must name one cluster per item: {n_items} items, {codes.size} labels")
    return codes


def check_same_length(**arrays: FloatArray | IntArray) -> int:
    """Return the common length of the named arrays."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise UsageError(f"paired arrays must have the same length, got {got}")
    return next(iter(lengths.values()))


def is_constant(array: FloatArray) -> bool:
    """True if all values are equal to about twelve digits."""
    return bool(np.ptp(array) <= ROUNDING * np.abs(array).max())


def without_rounding(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return first − second, with differences due to rounding, such as 0.3 − (0.1 + 0.2), set to zero."""
    differences = first - second
    rounding = ROUNDING * np.maximum(np.abs(first), np.abs(second))
    return np.where(np.abs(differences) <= rounding, 0.0, differences)


def check_choice(value: str, choices: Collection[str], name: str) -> None:
    """Raise an error unless the value is one of the choices."""
    if value not in choices:
        raise UsageError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_count(value: int, name: str, minimum: int = 1) -> int:
    """Return a whole number that is at least `minimum`."""
    try:
        count = operator.index(value)
    except TypeError as error:
        raise UsageError(f"{name} must be a whole number, got {value!r}") from error
    if count < minimum:
        raise UsageError(f"{name} must be at least {minimum}, got {count}")
    return count


def check_seed(seed: int) -> int:
    """Return a seed: a whole number that is not negative."""
    return check_count(seed, "seed", minimum=0)


def _check_open_unit(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise UsageError(f"{name} must lie strictly between 0 and 1, got {value}")


def check_level(level: float) -> None:
    """Raise an error for a confidence level outside (0, 1)."""
    _check_open_unit(level, "level")


def check_alpha(alpha: float) -> None:
    """Raise an error for a significance level outside (0, 1/2). Above it, one-sided bounds would cross."""
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha must lie strictly between 0 and 0.5, got {alpha}")


def check_probability(value: float, name: str) -> None:
    """Raise an error for a probability outside [0, 1]."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} must lie between 0 and 1, got {value}")
