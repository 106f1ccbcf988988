"""Figures of a control from one value per sample: clustered by picture, and what has no value counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.compass.formulas.distribution import Compass

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

NO_INTERVAL = "fewer than two pictures, which have no interval"


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """One number per sample; NaN where it has none."""

    numbers: NDArray[np.float64]
    clusters: NDArray[np.str_]
    """The picture that each sample comes from."""

    @classmethod
    def of(cls, numbers: Sequence[float] | NDArray[np.float64], clusters: Sequence[str]) -> Values:
        """From numbers and pictures."""
        return cls(np.asarray(numbers, np.float64), np.asarray(clusters, np.str_))

    def __sub__(self, other: Values) -> Values:
        return Values(self.numbers - other.numbers, self.clusters)

    def where(self, mask: NDArray[np.bool_]) -> Values:
        """Some of them."""
        return Values(self.numbers[mask], self.clusters[mask])

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """Which samples have a value."""
        return ~np.isnan(self.numbers)


class RowBuilder:
    """Gathers the figures and tests of one row."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.figures: dict[str, stats.Estimate] = {}
        self.tests: dict[str, stats.HypothesisTest] = {}
        self.excluded: Counter[str] = Counter()

    def mean(self, name: str, values: Values) -> None:
        """The mean with its interval: bootstrap over pictures."""
        there = values.where(values.is_there)
        if self._is_enough(there):
            self.figures[name] = stats.bootstrap(there.numbers, clusters=there.clusters, seed=self.seed)

    def share(self, name: str, values: Values) -> None:
        """A share: bootstrap over pictures, or Wilson's interval over pictures where all samples are alike."""
        there = values.where(values.is_there)
        if not self._is_enough(there):
            return
        alike = np.unique(there.numbers)
        n = len(np.unique(there.clusters))
        if len(alike) == 1 and alike[0] in {0.0, 1.0}:
            found = stats.wilson_interval(n if alike[0] else 0, n)
            self.figures[name] = replace(found, n_items=there.numbers.size)
        else:
            self.figures[name] = stats.bootstrap(there.numbers, clusters=there.clusters, seed=self.seed)

    def difference(self, name: str, first: Values, second: Values) -> None:
        """The mean difference first − second of paired samples."""
        both = first.is_there & second.is_there
        a, b = first.where(both), second.where(both)
        if self._is_enough(a):
            self.figures[name] = stats.bootstrap(
                (a.numbers, b.numbers), "difference", clusters=a.clusters, seed=self.seed
            )

    def flip_test(
        self, name: str, first: Values, second: Values | float, alternative: Alternative = "greater"
    ) -> None:
        """Sign-flip test of paired samples, whole pictures at a time."""
        other = np.full(first.numbers.shape, second) if isinstance(second, float) else second.numbers
        both = first.is_there & ~np.isnan(other)
        kept = first.where(both)
        if len(np.unique(kept.clusters)) >= 2:
            self.tests[name] = stats.sign_flip_test(
                kept.numbers, other[both], clusters=kept.clusters, alternative=alternative, seed=self.seed
            )

    def leave_out(self, reasons: Mapping[str, int]) -> None:
        """Counts what is not in the figures."""
        self.excluded.update({str(reason): count for reason, count in reasons.items() if count})

    def _is_enough(self, values: Values) -> bool:
        if len(np.unique(values.clusters)) >= 2:
            return True
        if values.numbers.size:
            self.excluded[NO_INTERVAL] = max(self.excluded[NO_INTERVAL], values.numbers.size)
        return False


def reasons_of(compass: Compass) -> dict[str, int]:
    """Why projections were left out, in words."""
    return {reason.value: count for reason, count in compass.exclusions().items()}
