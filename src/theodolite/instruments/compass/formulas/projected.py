"""What compasses say of a run's samples: angles and shares, without the maps they were read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.instruments.compass.formulas.dae import (
    EDGE_DEG,
    direction_alignment_error,
    is_within,
    label_of,
)
from theodolite.instruments.compass.formulas.distribution import KEPT
from theodolite.instruments.compass.formulas.exclusions import Exclusion
from theodolite.instruments.compass.samples import Sample

NOT_MEASURED = 255
"""The code of a sample that has no map of a method."""
NO_MEAN = 1e-9
"""Below this concentration the sectors cancel, and there is no mean direction."""

ORACLE, BOX_ONLY, RANDOM_SECTOR, RANDOM_MAP, UNIFORM_MAP = (
    "geometry-oracle",
    "box-only",
    "random-sector",
    "random-map",
    "uniform-map",
)
CONTROLS = (ORACLE, BOX_ONLY, RANDOM_SECTOR, RANDOM_MAP, UNIFORM_MAP)
"""What needs no model, from the one that knows the answer to the one that knows nothing."""

_Angles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """The readouts of one method and target under one projection; every array is (samples,), zero where left out."""

    codes: NDArray[np.uint8]
    """0, the code of an `Exclusion`, or `NOT_MEASURED`."""
    true_deg: _Angles
    peak_deg: _Angles
    mean_deg: _Angles
    """0 where there is none, see `has_mean`."""
    concentration: _Angles
    uniform_deg: _Angles
    """The peak of the uniform map on the same grid, under the same projection."""
    is_tied: NDArray[np.bool_]

    def __getitem__(self, chosen: Any) -> Readings:
        """A part of the samples, by any numpy index."""
        return Readings(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Which samples have a compass."""
        return np.asarray(self.codes == KEPT)

    @property
    def has_mean(self) -> NDArray[np.bool_]:
        """Which samples have a circular mean: those whose sectors do not cancel."""
        return np.asarray(self.is_kept & (self.concentration >= NO_MEAN))

    @property
    def dae_deg(self) -> _Angles:
        """Peak against truth."""
        return direction_alignment_error(self.peak_deg, self.true_deg)

    @property
    def mean_dae_deg(self) -> _Angles:
        """Circular mean against truth; meaningful where `has_mean`."""
        return direction_alignment_error(self.mean_deg, self.true_deg)

    @property
    def uniform_dae_deg(self) -> _Angles:
        """The error that the layout alone has."""
        return direction_alignment_error(self.uniform_deg, self.true_deg)

    def is_hit(self, limit_deg: float = EDGE_DEG) -> NDArray[np.bool_]:
        """Whether the peak is within so many degrees: 45 for EA, 22.5 for the octant."""
        return is_within(self.dae_deg, limit_deg)

    @property
    def is_uniform_hit(self) -> NDArray[np.bool_]:
        """Whether the uniform map's peak is within 45°."""
        return is_within(self.uniform_dae_deg)

    def labels(self) -> NDArray[np.str_]:
        """``aligned``, ``diffuse but usable`` or ``layout-dominated``."""
        return label_of(self.dae_deg, self.concentration)

    def exclusions(self) -> dict[str, int]:
        """How many samples were left out, by reason in words."""
        return {
            reason_of(code): n for code, n in sorted(Counter(self.codes.tolist()).items()) if code != KEPT
        }


def reason_of(code: int) -> str:
    """A code of `Readings` in words."""
    return "this method's map was not measured" if code == NOT_MEASURED else list(Exclusion)[code - 1].value


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Where one method's relevance lies; every array is (samples,), zero where left out."""

    codes: NDArray[np.uint8]
    image: _Angles
    """Of image and text, what is on the image; 0 where `has_text` is not so."""
    reference: _Angles
    """On A, of image and text, or of the image alone where the text is unknown."""
    target: _Angles
    rest: _Angles
    has_text: NDArray[np.bool_]

    def __getitem__(self, chosen: Any) -> Shares:
        """A part of the samples, by any numpy index."""
        return Shares(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Which samples have relevance to share out."""
        return np.asarray(self.codes == KEPT)


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """A run's samples without their maps, and what the compasses said of each."""

    samples: tuple[Sample, ...]
    readings: Mapping[str, Mapping[str, Readings]]
    """Projection -> ``method@target`` or control -> readings."""
    shares: Mapping[str, Shares]
    """``method@target`` or control -> evidence."""

    def __post_init__(self) -> None:
        if not self.samples:
            raise UsageError("there is no measured pair to score; `theodolite runs show` says why")

    def select(self, is_wanted: Callable[[Sample], bool]) -> Projected:
        """The samples that a test lets through; none is an error."""
        chosen = np.array([is_wanted(sample) for sample in self.samples])
        return Projected(
            tuple(sample for sample, keep in zip(self.samples, chosen, strict=True) if keep),
            {name: {key: each[chosen] for key, each in rows.items()} for name, rows in self.readings.items()},
            {key: each[chosen] for key, each in self.shares.items()},
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """Every ``method@target``, in the order of the registry; methods that are not in it come last."""
        known = [entry.name for entry in registry().entries("method")]

        def place(key: str) -> tuple[int, str]:
            method = key.partition("@")[0]
            return known.index(method) if method in known else len(known), key

        return tuple(sorted((key for key in self.shares if key not in CONTROLS), key=place))

    @property
    def clusters(self) -> NDArray[np.str_]:
        """The picture of each sample."""
        return np.array([sample.cluster for sample in self.samples])

    @property
    def is_correct(self) -> NDArray[np.bool_]:
        """Whether each answer is the true one."""
        return np.array([sample.is_correct for sample in self.samples])
