"""Samples made ready to be projected together: every method's map, and the baselines' beside them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.attribution import RelevanceMap
from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.instruments.compass.formulas.baselines import box_only_map, random_map, uniform_map
from theodolite.instruments.compass.formulas.dae import Ties, is_within
from theodolite.instruments.compass.formulas.distribution import Compass
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.projection_options import PAPER, SOUND, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import TokenMap
from theodolite.instruments.compass.measure import map_key
from theodolite.instruments.compass.samples import Sample

UNIFORM, RANDOM, BOX_ONLY = "uniform-map", "random-map", "box-only"
BASELINES = (BOX_ONLY, UNIFORM, RANDOM)
"""What needs no model: relevance on the target's box alone, on everything alike, and drawn at random."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A projection with the way its peaks are read."""

    name: str
    options: ProjectionOptions
    ties: Ties


READINGS = (Reading("paper", PAPER, "first"), Reading("sound", SOUND, "mean"))
"""Equations 1 and 2 as they stand; and the variant that leaves out the reference's own box, needs no target for its σ,
and counts tokens by area."""


def find_map(sample: Sample, key: str) -> RelevanceMap | None:
    """A sample's map by ``method@target``. ``gt`` and ``pred`` are also found as the option that they stand for."""
    found = sample.maps.get(key)
    if found is None:
        method, _, target = key.partition("@")
        index = {"gt": sample.gold, "pred": sample.predicted}.get(target)
        if index is not None:
            found = sample.maps.get(map_key(method, f"option:{index}"))
    return found


def shared_keys(samples: Sequence[Sample], methods: Sequence[str] = ()) -> tuple[str, ...]:
    """The keys of methods that every sample has a map of: for ``gt``, for ``pred``, or without a target.

    Args:
        samples: at least one.
        methods: which methods; all if none is named.

    Raises:
        UsageError: a method is named that the samples do not have, or there is none at all.
    """
    names = list(dict.fromkeys(key.partition("@")[0] for key in samples[0].maps))
    unknown = [method for method in methods if method not in names]
    if unknown:
        raise UsageError(f"the run has no maps of {unknown[0]!r}; it has {', '.join(names)}")
    wanted = [map_key(name, target) for name in methods or names for target in ("gt", "pred", "")]
    keys = tuple(key for key in wanted if all(find_map(sample, key) is not None for sample in samples))
    if not keys:
        raise UsageError(
            "no method has a map for gt or pred in every sample; measure with --targets gt,pred or all options"
        )
    return keys


class Batch:
    """Samples with the maps of some keys and of the baselines, grouped by the grid they lie on."""

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
                rows = [found[key][i].values for key in members]
                rows += [_baseline(name, sample, found[members[0]][i], seed).values for name in extra]
                stacked.append(TokenMap(np.stack(rows).astype(np.float64), grid))
            places = [self.keys.index(key) for key in (*members, *extra)]
            self._groups.append((places, stacked))

    def __len__(self) -> int:
        return len(self.samples)

    def compass(
        self,
        reading: Reading,
        *,
        references: Sequence[Box] | None = None,
        targets: Sequence[Box] | None = None,
        centres_px: ArrayLike | None = None,
    ) -> Compass:
        """The compasses, shape (samples, [centres,] keys).

        Args:
            reading: the projection.
            references: boxes to stand at in place of the samples' own.
            targets: boxes to look for in place of the samples' own.
            centres_px: as for `project_batch`.
        """
        parts = [
            project_batch(
                maps,
                references=references or [sample.reference.box for sample in self.samples],
                targets=targets or [sample.target.box for sample in self.samples],
                centres_px=centres_px,
                options=reading.options,
            )
            for _, maps in self._groups
        ]
        order = np.argsort([place for places, _ in self._groups for place in places])
        return _joined(parts, order)


def dae_of(compass: Compass, reading: Reading) -> NDArray[np.float64]:
    """Errors of the peaks, shape (...); NaN where a projection was left out."""
    return _where_kept(compass, lambda kept: kept.dae_deg(ties=reading.ties))


def peak_of(compass: Compass, reading: Reading) -> NDArray[np.float64]:
    """Peaks in degrees, shape (...); NaN where a projection was left out."""
    return _where_kept(compass, lambda kept: kept.peak_deg(reading.ties))


def hits(errors_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 where an error is at most 45°, 0 where not, NaN where there is none."""
    return np.where(np.isnan(errors_deg), np.nan, is_within(np.nan_to_num(errors_deg, nan=180.0)))


def divergences(first: Compass, second: Compass) -> NDArray[np.float64]:
    """Jensen–Shannon divergences of compasses of the same shape, in bits; NaN where one of the two was left out."""
    out = np.full(first.shape, np.nan)
    both = first.is_kept & second.is_kept
    if both.any():
        out[both] = first[both].divergence(second[both])
    return out


def seed_for(seed: int, sample: Sample) -> list[int]:
    """A seed of one's own for each sample, whatever stands beside it."""
    return [seed, zlib.crc32(sample.item_id.encode())]


def _where_kept(compass: Compass, readout: Callable[[Compass], NDArray[np.float64]]) -> NDArray[np.float64]:
    out = np.full(compass.shape, np.nan)
    kept = compass.is_kept
    if kept.any():
        out[kept] = readout(compass[kept])
    return out


def _need(sample: Sample, key: str) -> RelevanceMap:
    found = find_map(sample, key)
    if found is None:
        raise UsageError(f"the sample {sample.id} ({sample.condition}) has no map {key!r}")
    return found


def _baseline(name: str, sample: Sample, like: RelevanceMap, seed: int) -> TokenMap:
    if name == UNIFORM:
        return uniform_map(like.grid)
    if name == BOX_ONLY:
        return box_only_map(like.grid, sample.target.box)
    return random_map(like.grid, np.random.default_rng(seed_for(seed, sample)))


def _joined(parts: Sequence[Compass], order: NDArray[np.int64]) -> Compass:
    """Compasses of the same samples side by side on the last leading axis, in an order."""
    truths = [part.true_deg for part in parts if part.true_deg is not None]
    return Compass(
        np.concatenate([part.distribution for part in parts], axis=-2)[..., order, :],
        parts[0].centres_deg,
        np.concatenate(truths, axis=-1)[..., order] if truths else None,
        np.concatenate([part.used_share for part in parts], axis=-1)[..., order],
        np.concatenate([part.codes for part in parts], axis=-1)[..., order],
    )
