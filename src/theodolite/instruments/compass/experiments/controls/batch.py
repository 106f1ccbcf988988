"""Samples projected together: the maps of several methods, and the baselines beside them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.attribution import RelevanceMap
from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.instruments.compass.formulas.baselines import (
    BOX_ONLY,
    RANDOM_MAP,
    UNIFORM_MAP,
    baseline_maps,
)
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.formulas.dae import Ties
from theodolite.instruments.compass.formulas.edge_accuracy import edge_hit
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.projection_options import PAPER, SOUND, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import TokenMap
from theodolite.instruments.compass.measure import Sample, map_key, split_key

BASELINES = (BOX_ONLY, UNIFORM_MAP, RANDOM_MAP)
"""The baselines of the controls."""


@dataclass(frozen=True, slots=True)
class ControlProjection:
    """A projection, and how ties of its peaks are broken."""

    name: str
    options: ProjectionOptions
    ties: Ties


PROJECTIONS = (ControlProjection("paper", PAPER, "first"), ControlProjection("sound", SOUND, "mean"))


def shared_keys(samples: Sequence[Sample], methods: Sequence[str] = ()) -> tuple[str, ...]:
    """The maps for ``gt``, for ``pred`` or without a target that every sample has.

    Args:
        samples: At least one.
        methods: Which methods; all if none is named.

    Raises:
        UsageError: The samples do not have a named method, or share no map.
    """
    names = list(dict.fromkeys(split_key(key)[0] for key in samples[0].maps))
    unknown = [method for method in methods if method not in names]
    if unknown:
        raise UsageError(f"the run has no maps of {unknown[0]!r}; it has {', '.join(names)}")
    wanted = [map_key(name, target) for name in methods or names for target in ("gt", "pred", "")]
    keys = tuple(key for key in wanted if all(key in sample.maps for sample in samples))
    if not keys:
        raise UsageError(
            "no method has a map for gt or pred in every sample; measure with --targets gt,pred or all options"
        )
    return keys


class Batch:
    """Samples with some of their maps and the baselines, grouped by grid."""

    def __init__(self, samples: Sequence[Sample], keys: Sequence[str], *, seed: int) -> None:
        self.samples = tuple(samples)
        self.method_keys = tuple(keys)
        self.keys = (*keys, *BASELINES)
        self.clusters = [sample.cluster for sample in samples]
        self._groups: list[tuple[list[int], list[TokenMap]]] = []
        found = {key: [_need(sample, key) for sample in samples] for key in keys}
        by_grid: dict[tuple[int, ...], list[str]] = {}
        for key, maps in found.items():
            by_grid.setdefault(tuple(id(each.grid) for each in maps), []).append(key)
        for number, members in enumerate(by_grid.values()):
            extra = BASELINES if number == 0 else ()
            stacked = []
            for i, sample in enumerate(samples):
                grid = found[members[0]][i].grid
                drawn = baseline_maps(grid, sample.target.box, np.random.default_rng(seed_for(seed, sample)))
                rows = [found[key][i].values for key in members] + [drawn[name].values for name in extra]
                stacked.append(TokenMap(np.stack(rows).astype(np.float64), grid))
            places = [self.keys.index(key) for key in (*members, *extra)]
            self._groups.append((places, stacked))

    def __len__(self) -> int:
        return len(self.samples)

    def compass(
        self,
        projection: ControlProjection,
        *,
        references: Sequence[Box] | None = None,
        targets: Sequence[Box] | None = None,
        centres_px: ArrayLike | None = None,
    ) -> Compass:
        """The compasses, shape (samples, [centres,] keys).

        Args:
            projection: How maps are projected.
            references: Boxes in place of the samples' own references.
            targets: Boxes in place of the samples' own targets.
            centres_px: As for `project_batch`.
        """
        parts = [
            project_batch(
                maps,
                references=references or [sample.reference.box for sample in self.samples],
                targets=targets or [sample.target.box for sample in self.samples],
                centres_px=centres_px,
                options=projection.options,
            )
            for _, maps in self._groups
        ]
        order = np.argsort([place for places, _ in self._groups for place in places])
        return _joined(parts, order)


def errors_of(compass: Compass, projection: ControlProjection) -> NDArray[np.float64]:
    """DAE of the peaks, shape (...); NaN where a projection was left out."""
    return _where_kept(compass, lambda kept: kept.error_deg(ties=projection.ties))


def peaks_of(compass: Compass, projection: ControlProjection) -> NDArray[np.float64]:
    """Peaks in degrees, shape (...); NaN where a projection was left out."""
    return _where_kept(compass, lambda kept: kept.peak_deg(projection.ties))


def hits(errors_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 where an error is at most 45°, 0 where not, NaN where there is none."""
    return np.where(np.isnan(errors_deg), np.nan, edge_hit(np.nan_to_num(errors_deg, nan=180.0)))


def divergences(first: Compass, second: Compass) -> NDArray[np.float64]:
    """Jensen–Shannon divergences of compasses of the same shape, in bits; NaN where one of the two was left out."""
    out = np.full(first.shape, np.nan)
    both = first.is_kept & second.is_kept
    if both.any():
        out[both] = first[both].divergence(second[both])
    return out


def seed_for(seed: int, sample: Sample) -> list[int]:
    """A seed for each sample that does not depend on the other samples."""
    return [seed, zlib.crc32(sample.item_id.encode())]


def _where_kept(compass: Compass, readout: Callable[[Compass], NDArray[np.float64]]) -> NDArray[np.float64]:
    out = np.full(compass.shape, np.nan)
    kept = compass.is_kept
    if kept.any():
        out[kept] = readout(compass[kept])
    return out


def _need(sample: Sample, key: str) -> RelevanceMap:
    if key not in sample.maps:
        raise UsageError(f"the sample {sample.id} ({sample.condition}) has no map {key!r}")
    return sample.maps[key]


def _joined(parts: Sequence[Compass], order: NDArray[np.int64]) -> Compass:
    """Compasses of the same samples, joined on the last leading axis and put in an order."""
    truths = [part.true_deg for part in parts if part.true_deg is not None]
    return Compass(
        np.concatenate([part.distribution for part in parts], axis=-2)[..., order, :],
        parts[0].centres_deg,
        np.concatenate(truths, axis=-1)[..., order] if truths else None,
        np.concatenate([part.used_share for part in parts], axis=-1)[..., order],
        np.concatenate([part.codes for part in parts], axis=-1)[..., order],
    )
