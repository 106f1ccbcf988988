"""Checked samples, and the resampling of clusters that estimates share."""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import ArrayLike


# Input checks shared by all functions of `theodolite.stats`.


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
    """Return True if all values are equal to about twelve digits."""
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


# Evaluation of a statistic on many resamples at once, in blocks of bounded memory.
#
# A resample is a row of counts: how often each independent unit was drawn. A unit is an item or a whole cluster of
# items. A jackknife replicate is such a row with a zero for the unit that is left out.


BLOCK_CELLS = 2**21
"""Cells in one block of resamples: 16 MiB of doubles, times the temporaries of the statistic."""
MAX_JACKKNIFE = 1000
"""With more units than this, the jackknife leaves out random groups of units instead, this many groups."""

_ARRAYS_WANTED = {"mean": 1, "difference": 2, "ratio": 2}


@dataclass(frozen=True, slots=True)
class BatchStatistic:
    """A statistic that is evaluated on many resamples in one call.

    A plain callable is called once per resample. A `BatchStatistic` is called once per block:

    - `form="rows"`: it receives each resampled array, shape (resamples, items), and reduces the last axis;
    - `form="weights"`: it receives each array as given and `weights` of shape (resamples, items): how often each item
      was drawn. The items must be on the first axis of each array.

    In both cases it returns one number per resample. NaN marks a resample on which the statistic is undefined.

    >>> import numpy as np
    >>> median = BatchStatistic(lambda rows: np.median(rows, axis=-1), form="rows")
    >>> share = BatchStatistic(lambda hits, weights: weights @ hits / weights.sum(axis=1), form="weights")
    """

    function: Callable[..., Any]
    """Maps arrays (and weights) to one number per resample."""
    form: Literal["rows", "weights"]
    """What the function receives."""

    def __post_init__(self) -> None:
        check_choice(self.form, ("rows", "weights"), "form")


def as_arrays(data: ArrayLike | tuple[ArrayLike, ...]) -> tuple[FloatArray, ...]:
    """Return the arrays in `data`: a tuple holds several arrays of the same items, anything else is one array."""
    given = data if isinstance(data, tuple) else (data,)
    arrays = tuple(finite_array(values, "data") for values in given)
    if not arrays or any(array.ndim == 0 for array in arrays):
        raise UsageError(
            "data must be one array, or a tuple of arrays of the same items; pass a single sample as a list"
        )
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise UsageError(f"paired arrays must have the same length, got {lengths}")
    if lengths[0] == 0:
        raise UsageError("data must have at least one item, got none")
    return arrays


class Evaluator:
    """A statistic with its data and units. Maps counts of units to values."""

    def __init__(
        self,
        arrays: tuple[FloatArray, ...],
        statistic: str | Callable[..., Any] | BatchStatistic,
        codes: IntArray,
    ) -> None:
        self.arrays = arrays
        self.statistic = statistic
        self.codes = codes
        self.n_units = int(codes.max()) + 1
        self.n_items = len(codes)
        self._is_plain = bool(np.array_equal(codes, np.arange(self.n_items)))
        if isinstance(statistic, str):
            self._moments = self._unit_moments(statistic)
        elif isinstance(statistic, BatchStatistic) and statistic.form == "rows":
            if any(array.ndim > 1 for array in arrays):
                raise UsageError(
                    "a statistic with form='rows' needs one-dimensional arrays; use form='weights'"
                )
        elif not callable(statistic) and not isinstance(statistic, BatchStatistic):
            raise UsageError(f"statistic must be a name or a callable, got {statistic!r}")

    def __call__(self, counts: IntArray) -> FloatArray:
        """Return one value per row of `counts` (resamples, units); NaN where the statistic is undefined."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = self._evaluate(counts)
        _check_shape(values, (len(counts),))
        return np.where(np.abs(values) <= LARGEST, values, np.nan)

    def observed(self) -> float:
        """Return the statistic of the data."""
        value = float(self(np.ones((1, self.n_units), dtype=np.int64))[0])
        if not np.isfinite(value):
            raise UsageError("the statistic is undefined (not finite) on the data")
        return value

    def blocks(self, n_rows: int) -> Iterator[int]:
        """Yield the sizes of the blocks for `n_rows` resamples."""
        step = max(1, BLOCK_CELLS // self.n_items)
        for start in range(0, n_rows, step):
            yield min(step, n_rows - start)

    def _unit_moments(self, name: str) -> FloatArray:
        """Return per unit the two sums, (units, 2), whose ratio is the named statistic."""
        check_choice(name, _ARRAYS_WANTED, "statistic")
        wanted = _ARRAYS_WANTED[name]
        if len(self.arrays) != wanted or any(array.ndim > 1 for array in self.arrays):
            raise UsageError(
                f"statistic {name!r} needs {wanted} one-dimensional array(s) in data, "
                f"got shapes {[array.shape for array in self.arrays]}"
            )
        first, last = self.arrays[0], self.arrays[-1]
        above = first - last if name == "difference" else first
        below = last if name == "ratio" else np.ones(self.n_items)
        return np.stack(
            [np.bincount(self.codes, weights=part, minlength=self.n_units) for part in (above, below)], axis=1
        )

    def _evaluate(self, counts: IntArray) -> FloatArray:
        statistic = self.statistic
        if isinstance(statistic, str):
            above, below = (counts @ self._moments).T
            return np.asarray(above / below)
        per_item = counts if self._is_plain else counts[:, self.codes]  # (resamples, items)
        if isinstance(statistic, BatchStatistic) and statistic.form == "weights":
            weights = per_item.astype(np.float64)
            return np.asarray(statistic.function(*self.arrays, weights), dtype=np.float64)
        return self._evaluate_drawn(per_item)

    def _evaluate_drawn(self, per_item: IntArray) -> FloatArray:
        """Expand the counts into resamples. Call the statistic once per resample, or once per resample length."""
        n_rows = len(per_item)
        items = np.repeat(np.tile(np.arange(self.n_items), n_rows), per_item.ravel())
        lengths = per_item.sum(axis=1)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        statistic = self.statistic
        values = np.empty(n_rows)
        if not isinstance(statistic, BatchStatistic):
            one: Any = statistic
            for row, (start, stop) in enumerate(itertools.pairwise(starts)):
                value = np.asarray(one(*(array[items[start:stop]] for array in self.arrays)))
                _check_shape(value, ())
                values[row] = value
            return values
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            chosen = items[starts[rows][:, None] + np.arange(length)]  # (rows, length)
            results = np.asarray(statistic.function(*(array[chosen] for array in self.arrays)))
            _check_shape(results, (rows.size,))
            values[rows] = results
        return values


def _check_shape(values: NDArray[Any], wanted: tuple[int, ...]) -> None:
    if values.shape != wanted:
        raise UsageError(
            f"the statistic must return one number per resample, shape {wanted}; got shape {values.shape}"
        )


def drawn_counts(evaluator: Evaluator, n_resamples: int, seed: int) -> Iterator[IntArray]:
    """Yield blocks of counts of units drawn with replacement. They depend only on the number of units and the seed."""
    generator = np.random.default_rng(seed)
    n_units = evaluator.n_units
    for size in evaluator.blocks(n_resamples):
        drawn = generator.integers(0, n_units, size=(size, n_units))
        drawn += n_units * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n_units).reshape(size, n_units)


def left_out_counts(evaluator: Evaluator, seed: int) -> Iterator[IntArray]:
    """Yield blocks of jackknife counts: each row leaves out one unit, or one of 1000 random groups of units."""
    n_units = evaluator.n_units
    group = np.arange(n_units)
    if n_units > MAX_JACKKNIFE:
        group = np.random.default_rng(seed).permutation(n_units) % MAX_JACKKNIFE
    n_groups = min(n_units, MAX_JACKKNIFE)
    start = 0
    for size in evaluator.blocks(n_groups):
        yield (np.arange(start, start + size)[:, None] != group).astype(np.int64)
        start += size
