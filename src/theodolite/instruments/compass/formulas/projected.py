"""Every map of a run projected: per sample the peak, its error and the uniform map's, and where relevance lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.core.estimates import Estimate
from theodolite.core.registry import registry
from theodolite.instruments.compass.formulas.baselines import (
    BASELINES,
    baseline_key,
    excess_over_uniform,
    is_baseline,
)
from theodolite.instruments.compass.formulas.compass import KEPT
from theodolite.instruments.compass.formulas.concentration import NO_MEAN, label_of
from theodolite.instruments.compass.formulas.dae import dae
from theodolite.instruments.compass.formulas.edge_accuracy import edge_hit, octant_hit
from theodolite.instruments.compass.formulas.exclusions import Exclusion
from theodolite.instruments.compass.formulas.resampling import base_of
from theodolite.instruments.compass.measure import Sample, split_key
from theodolite.stats import Bounds, clustered_difference, clustered_mean

NOT_MEASURED = 255
"""The code of a sample that has no map of a method."""
DEGREES: Bounds = (0.0, 180.0)
EXCESS: Bounds = (-180.0, 180.0)
"""Bounds of an error, and of the difference of two errors."""
NO_PAIR = "there is no measured pair to score; `theodolite runs show` says why"

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MapAngles:
    """The directions of one map under one projection; every array is (samples,), zero where left out.

    Of a baseline that is drawn at random, peak, mean and concentration are (samples, draws); its errors and hits are means
    over the draws.
    """

    codes: NDArray[np.uint8]
    """0, the code of an `Exclusion`, or `NOT_MEASURED`."""
    true_deg: _Floats
    peak_deg: _Floats
    mean_deg: _Floats
    """0 where there is none, see `has_mean`."""
    concentration: _Floats
    uniform_deg: _Floats
    """The peak of the uniform map on the map's own grid, under the same projection."""
    is_tied: NDArray[np.bool_]
    clusters: NDArray[np.str_]
    """The picture of each sample."""

    def __getitem__(self, chosen: Any) -> MapAngles:
        """A part of the samples, by any numpy index."""
        return MapAngles(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """True for samples that have a direction."""
        return np.asarray(self.codes == KEPT)

    @property
    def kept(self) -> MapAngles:
        """The samples that have a direction."""
        return self[self.is_kept]

    @property
    def has_mean(self) -> NDArray[np.bool_]:
        """True for samples with a circular mean: those whose sectors do not cancel."""
        return np.asarray(self.is_kept & (self.over_draws(self.concentration >= NO_MEAN) == 1.0))

    @property
    def error_deg(self) -> _Floats:
        """DAE of the peak."""
        return self.over_draws(self._errors(self.peak_deg))

    @property
    def edge_hits(self) -> _Floats:
        """1 where the DAE is at most 45°."""
        return self.over_draws(edge_hit(self._errors(self.peak_deg)))

    @property
    def octant_hits(self) -> _Floats:
        """1 where the DAE is at most 22.5°."""
        return self.over_draws(octant_hit(self._errors(self.peak_deg)))

    @property
    def mean_error_deg(self) -> _Floats:
        """DAE of the circular mean; meaningful where `has_mean`."""
        return self.over_draws(self._errors(self.mean_deg))

    def _errors(self, angle_deg: _Floats) -> _Floats:
        return dae(angle_deg, self.true_deg.reshape(-1, *[1] * (angle_deg.ndim - 1)))

    @staticmethod
    def over_draws(values: ArrayLike) -> _Floats:
        """The mean over the draws, shape (samples,); numbers of what is not drawn stay."""
        array = np.asarray(values, np.float64)
        return array.mean(axis=1) if array.ndim > 1 else array

    @property
    def uniform_error_deg(self) -> _Floats:
        """DAE of the uniform map."""
        return dae(self.uniform_deg, self.true_deg)

    @property
    def excess_deg(self) -> _Floats:
        """DAE − DAE of the uniform map."""
        return excess_over_uniform(self.error_deg, self.uniform_error_deg)

    @property
    def labels(self) -> NDArray[np.str_]:
        """``aligned``, ``diffuse but usable`` or ``layout-dominated``, shape (samples,) or (samples, draws)."""
        return label_of(self._errors(self.peak_deg), self.concentration)

    @property
    def reasons(self) -> list[str]:
        """Why each sample was left out; empty if it was not."""
        return ["" if code == KEPT else reason_of(code) for code in self.codes.tolist()]

    def exclusions(self) -> dict[str, int]:
        """Counts of samples that were left out, by reason."""
        return {
            reason_of(code): n for code, n in sorted(Counter(self.codes.tolist()).items()) if code != KEPT
        }

    def mean_error(self) -> Estimate | None:
        """Mean DAE."""
        return clustered_mean(self.error_deg, self.clusters, bounds=DEGREES)

    def edge_accuracy(self) -> Estimate | None:
        """EA."""
        return clustered_mean(self.edge_hits, self.clusters)

    def excess(self) -> Estimate | None:
        """Mean of DAE − DAE of the uniform map."""
        return clustered_mean(self.excess_deg, self.clusters, bounds=EXCESS)

    def difference(self, other: MapAngles) -> Estimate | None:
        """Mean of DAE − DAE of another map on the same samples."""
        return clustered_difference(self.error_deg, other.error_deg, self.clusters, bounds=DEGREES)


def reason_of(code: int) -> str:
    """A code of `MapAngles` or `MapShares` in words."""
    return "this method's map was not measured" if code == NOT_MEASURED else list(Exclusion)[code - 1].value


@dataclass(frozen=True, slots=True, eq=False)
class MapShares:
    """Where one map's relevance lies; every array is (samples,), zero where left out."""

    codes: NDArray[np.uint8]
    image: _Floats
    """Share of image and text on the image; 0 where `has_text` is False."""
    reference: _Floats
    """Share on A: of image and text, or of the image alone if the text is unknown."""
    target: _Floats
    rest: _Floats
    has_text: NDArray[np.bool_]
    clusters: NDArray[np.str_]

    def __getitem__(self, chosen: Any) -> MapShares:
        """A part of the samples, by any numpy index."""
        return MapShares(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """True for samples that have relevance."""
        return np.asarray(self.codes == KEPT)


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedRun:
    """The samples of a run without their maps, and the directions and shares of every map."""

    samples: tuple[Sample, ...]
    angles: Mapping[str, Mapping[str, MapAngles]]
    """Projection to ``method@target``, or to a baseline and its grid, to angles."""
    shares: Mapping[str, MapShares]
    """``method@target``, or a baseline and its grid, to evidence shares."""
    grids: Mapping[str, str]
    """``method@target`` to the name of its grid."""

    def __post_init__(self) -> None:
        if not self.samples:
            raise UsageError(NO_PAIR)

    def select(self, is_wanted: Callable[[Sample], bool]) -> ProjectedRun:
        """Some of the samples; an error if there are none."""
        chosen = np.array([is_wanted(sample) for sample in self.samples])
        return ProjectedRun(
            tuple(sample for sample, keep in zip(self.samples, chosen, strict=True) if keep),
            {name: {key: each[chosen] for key, each in rows.items()} for name, rows in self.angles.items()},
            {key: each[chosen] for key, each in self.shares.items()},
            self.grids,
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """Every ``method@target``, in the order of the registry; methods that are not in it come last."""
        known = [entry.name for entry in registry().entries("method")]

        def place(key: str) -> tuple[int, str, str]:
            method, target = split_key(key)
            base = base_of(method)
            return known.index(base) if base in known else len(known), method, target

        return tuple(sorted((key for key in self.shares if not is_baseline(key)), key=place))

    @property
    def baselines(self) -> tuple[str, ...]:
        """Every baseline on every grid, in the order of `BASELINES`."""
        names = dict.fromkeys(self.grids[key] for key in self.keys)
        return tuple(baseline_key(name, grid) for grid in names for name in BASELINES)

    def on_grids(self, baseline: str) -> tuple[str, ...]:
        """One baseline on every grid."""
        return tuple(key for key in self.baselines if split_key(key)[0] == baseline)

    def of_grid(self, baseline: str, key: str) -> str:
        """The name of a baseline on a map's own grid."""
        return baseline_key(baseline, self.grids[key])

    def grid_of(self, key: str) -> str:
        """The name of the grid of a map or baseline."""
        return split_key(key)[1] if is_baseline(key) else self.grids[key]

    @property
    def clusters(self) -> NDArray[np.str_]:
        """The picture of each sample."""
        return np.array([sample.cluster for sample in self.samples])

    @property
    def is_correct(self) -> NDArray[np.bool_]:
        """True where the model's answer is right."""
        return np.array([sample.is_correct for sample in self.samples])

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the pairs come from."""
        return tuple(dict.fromkeys(str(sample.meta.get("source", "")) for sample in self.samples))

    def accuracy(self) -> Estimate | None:
        """Share of right answers."""
        return clustered_mean(self.is_correct.astype(float), self.clusters)
