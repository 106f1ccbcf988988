"""Samples projected together: the maps of several methods, and beside them the baselines of each method's own grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.attribution import RelevanceMap
from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.instruments.compass.formulas.baselines import (
    BASELINE_MAPS,
    DRAWS,
    UNIFORM_MAP,
    GridMark,
    baseline_key,
    baseline_maps,
    name_grids,
    sample_seed,
)
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.formulas.dae import Ties
from theodolite.instruments.compass.formulas.edge_accuracy import edge_hit
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.projection_options import PAPER, SOUND, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import TokenMap
from theodolite.instruments.compass.measure import Sample, map_key, split_key


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
    """Samples with some of their maps and the baselines of every grid.

    Compasses have one column per map, and `DRAWS` columns for the random map of each grid: `over_draws` turns numbers by
    column into numbers by key.
    """

    def __init__(
        self, samples: Sequence[Sample], keys: Sequence[str], *, seed: int, draws: int = DRAWS
    ) -> None:
        self.samples = tuple(samples)
        self.method_keys = tuple(keys)
        self.clusters = [sample.cluster for sample in samples]
        self._stacks: list[list[TokenMap]] = []
        self._spans: dict[str, slice] = {}
        found = {key: [_need(sample, key) for sample in samples] for key in keys}
        self._grids, names = name_grids(
            [{key: GridMark.of(found[key][i].grid) for key in keys} for i in range(len(samples))]
        )
        for name in names:
            members = [key for key in keys if self._grids[key] == name]
            stack = []
            for i, sample in enumerate(samples):
                grid = found[members[0]][i].grid
                seeds = sample_seed(seed, sample.item_id)
                drawn = baseline_maps(grid, sample.target.box, seed=seeds, draws=draws)
                rows = {key: found[key][i].values[None] for key in members}
                rows |= {baseline_key(each, name): drawn[each].values for each in BASELINE_MAPS}
                stack.append(TokenMap(np.concatenate(list(rows.values())).astype(np.float64), grid))
            self._stacks.append(stack)
            start = sum(span.stop - span.start for span in self._spans.values())
            for key, values in rows.items():
                self._spans[key] = slice(start, start + len(values))
                self._grids[key] = name
                start += len(values)
        self.keys = (*keys, *(key for key in self._spans if key not in found))

    def columns(self, key: str) -> slice:
        """The columns of a key."""
        return self._spans[key]

    def column(self, key: str) -> int:
        """The first column of a key."""
        return int(self._spans[key].start)

    def is_drawn(self, key: str) -> bool:
        """True for a random map, which has several columns."""
        return bool(self._spans[key].stop - self._spans[key].start > 1)

    def uniform_of(self, key: str) -> int:
        """The place among the keys of the uniform map of a map's own grid."""
        return self.keys.index(baseline_key(UNIFORM_MAP, self._grids[key]))

    def over_draws(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers by column as numbers by key, shape (..., keys): means over the draws that have a value."""
        out = np.empty((*values.shape[:-1], len(self.keys)))
        for k, key in enumerate(self.keys):
            own = values[..., self._spans[key]]
            there = (~np.isnan(own)).sum(axis=-1)
            out[..., k] = np.where(there > 0, np.nansum(own, axis=-1) / np.maximum(there, 1), np.nan)
        return out

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
        """The compasses, shape (samples, [centres,] columns).

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
            for maps in self._stacks
        ]
        return _joined(parts)


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


def _joined(parts: Sequence[Compass]) -> Compass:
    """Compasses of the same samples, joined on the last leading axis."""
    truths = [part.true_deg for part in parts if part.true_deg is not None]
    return Compass(
        np.concatenate([part.distribution for part in parts], axis=-2),
        parts[0].centres_deg,
        np.concatenate(truths, axis=-1) if truths else None,
        np.concatenate([part.used_share for part in parts], axis=-1),
        np.concatenate([part.codes for part in parts], axis=-1),
    )
