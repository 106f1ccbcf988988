"""A compass: how relevance is distributed over directions around a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.formulas import concentration, dae
from theodolite.instruments.compass.formulas.dae import Ties
from theodolite.instruments.compass.formulas.exclusions import DegenerateError, Exclusion

Readout: TypeAlias = Literal["peak", "mean"]
"""Which direction stands for a compass: the centre of the fullest sector, or the circular mean."""

_REASONS = tuple(Exclusion)
KEPT = 0
"""The code of a projection that was not left out. Other codes are one more than the reason's place in `Exclusion`."""


def code_of(reason: Exclusion) -> int:
    """The number that stands for a reason in `Compass.codes`."""
    return _REASONS.index(reason) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Compass:
    """Distributions over directions; leading axes are samples, centres and maps.

    If a projection was left out, its distribution is all zero and `codes` says why. Directions and errors are refused for
    a compass that holds such projections; `kept` removes them.
    """

    distribution: NDArray[np.float64]
    """P̂, shape (..., K): sums to 1 over the last axis."""
    centres_deg: NDArray[np.float64]
    """Shape (K,): the middle of each sector, 0° to the right, 90° upward."""
    true_deg: NDArray[np.float64] | None
    """θ_true from the reference to the target, shape (...); None without a target."""
    used_share: NDArray[np.float64]
    """Shape (...): share of the map's relevance in the distribution, after distance weight and exclusions."""
    codes: NDArray[np.uint8]
    """Shape (...): 0, or the number of the `Exclusion`."""

    def __getitem__(self, index: Any) -> Compass:
        """A part of the batch, by any numpy index over the leading axes; an ellipsis stands for leading axes alone."""
        places = index if isinstance(index, tuple) else (index,)
        if any(place is Ellipsis for place in places):
            # The distribution has one axis more, which an ellipsis must not reach.
            distribution = self.distribution[*places, :]
        else:
            distribution = self.distribution[index]
        true = None if self.true_deg is None else np.asarray(self.true_deg[index])
        return Compass(
            np.asarray(distribution),
            self.centres_deg,
            true,
            np.asarray(self.used_share[index]),
            np.asarray(self.codes[index]),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.distribution.shape[:-1]

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Shape (...): which projections have a distribution."""
        return np.asarray(self.codes == KEPT)

    def kept(self) -> Compass:
        """The projections that have a distribution, on one axis."""
        return self[self.is_kept]

    def exclusions(self) -> dict[Exclusion, int]:
        """Counts of projections that were left out, by reason."""
        codes, counts = np.unique(self.codes[~self.is_kept], return_counts=True)
        return {
            _REASONS[code - 1]: count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
        }

    def peak_deg(self, ties: Ties = "first") -> NDArray[np.float64]:
        """Centre of the fullest sector, shape (...)."""
        return dae.peak_deg(self._complete(), self.centres_deg, ties)

    def is_tied(self) -> NDArray[np.bool_]:
        """True where several sectors hold the most, shape (...)."""
        return np.asarray(dae.is_peak(self._complete()).sum(axis=-1) > 1)

    def mean_deg(self) -> NDArray[np.float64]:
        """Circular mean, shape (...)."""
        return dae.mean_deg(self._complete(), self.centres_deg)

    def concentration(self) -> NDArray[np.float64]:
        """Resultant length, shape (...): 1 if all mass is in one sector."""
        return concentration.concentration(self._complete(), self.centres_deg)

    def error_deg(self, readout: Readout = "peak", *, ties: Ties = "first") -> NDArray[np.float64]:
        """DAE in degrees, shape (...)."""
        if readout not in {"peak", "mean"}:
            raise UsageError(f"readout must be 'peak' or 'mean', not {readout!r}")
        self._complete()
        if self.true_deg is None:
            raise UsageError("an error needs a truth: project with target=…")
        return dae.dae(self.peak_deg(ties) if readout == "peak" else self.mean_deg(), self.true_deg)

    def labels(self, *, ties: Ties = "first") -> NDArray[np.str_]:
        """``aligned``, ``diffuse but usable`` or ``layout-dominated``, shape (...)."""
        return concentration.label_of(self.error_deg(ties=ties), self.concentration())

    def divergence(self, other: Compass) -> NDArray[np.float64]:
        """Jensen–Shannon divergence from another compass of the same sectors, in bits; leading axes broadcast."""
        if not np.array_equal(self.centres_deg, other.centres_deg):
            raise UsageError(
                f"compasses of {len(self.centres_deg)} and {len(other.centres_deg)} sectors, or of different bins, "
                "cannot be compared"
            )
        return stats.jensen_shannon_divergence(self._complete(), other._complete())

    def _complete(self) -> NDArray[np.float64]:
        """The distribution, if nothing was left out."""
        lost = self.exclusions()
        if lost:
            said = "; ".join(f"{count} because {reason.value}" for reason, count in lost.items())
            raise DegenerateError(
                next(iter(lost)),
                f"{sum(lost.values())} of {self.codes.size} projections were left out ({said}); take .kept()",
            )
        return self.distribution
