"""Evaluation of a statistic on many resamples at once, in blocks of bounded memory.

A resample is a row of counts: how often each independent unit was drawn. A unit is an item or a whole cluster of
items. A jackknife replicate is such a row with a zero for the unit that is left out.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.stats.samples import LARGEST, FloatArray, IntArray, check_choice, finite_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

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
            found = np.asarray(statistic.function(*(array[chosen] for array in self.arrays)))
            _check_shape(found, (rows.size,))
            values[rows] = found
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
