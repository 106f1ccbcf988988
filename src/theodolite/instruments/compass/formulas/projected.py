"""Every map of a run projected: per sample the peak, its error and the uniform map's, and where relevance lies.

Samples are read one at a time, and only angles and shares are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.estimates import Estimate
from theodolite.core.registry import registry
from theodolite.geometry import TokenGrid
from theodolite.instruments.compass.formulas.baselines import (
    BASELINES,
    ORACLE,
    RANDOM_SECTOR,
    UNIFORM_MAP,
    baseline_maps,
    excess_over_uniform,
    geometry_oracle,
    random_sector,
    uniform_compass,
)
from theodolite.instruments.compass.formulas.compass import KEPT, Compass, code_of
from theodolite.instruments.compass.formulas.concentration import NO_MEAN, label_of
from theodolite.instruments.compass.formulas.dae import dae
from theodolite.instruments.compass.formulas.edge_accuracy import edge_hit
from theodolite.instruments.compass.formulas.evidence_share import evidence
from theodolite.instruments.compass.formulas.exclusions import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.projection_options import Negative, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import OnGrid, TokenMap
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
    """The directions of one map under one projection; every array is (samples,), zero where left out."""

    codes: NDArray[np.uint8]
    """0, the code of an `Exclusion`, or `NOT_MEASURED`."""
    true_deg: _Floats
    peak_deg: _Floats
    mean_deg: _Floats
    """0 where there is none, see `has_mean`."""
    concentration: _Floats
    uniform_deg: _Floats
    """The peak of the uniform map on the same grid, under the same projection."""
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
        return np.asarray(self.is_kept & (self.concentration >= NO_MEAN))

    @property
    def error_deg(self) -> _Floats:
        """DAE of the peak."""
        return dae(self.peak_deg, self.true_deg)

    @property
    def mean_error_deg(self) -> _Floats:
        """DAE of the circular mean; meaningful where `has_mean`."""
        return dae(self.mean_deg, self.true_deg)

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
        """``aligned``, ``diffuse but usable`` or ``layout-dominated``."""
        return label_of(self.error_deg, self.concentration)

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
        return clustered_mean(edge_hit(self.error_deg).astype(float), self.clusters)

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
    """Projection to ``method@target`` or baseline to angles."""
    shares: Mapping[str, MapShares]
    """``method@target`` or baseline to evidence shares."""

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
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """Every ``method@target``, in the order of the registry; methods that are not in it come last."""
        known = [entry.name for entry in registry().entries("method")]

        def place(key: str) -> tuple[int, str]:
            method = split_key(key)[0]
            return known.index(method) if method in known else len(known), key

        return tuple(sorted((key for key in self.shares if key not in BASELINES), key=place))

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


def project_samples(
    samples: Iterable[Sample],
    projections: Mapping[str, ProjectionOptions],
    *,
    seed: int,
    only: Mapping[str, Sequence[str]] | None = None,
    negative: Negative = "error",
) -> ProjectedRun:
    """Projects every map of every sample in one pass.

    Args:
        samples: As `read_samples` gives them.
        projections: Name to options.
        seed: Seed of the random baselines.
        only: Projection to the maps that are wanted; all maps and baselines for projections that are not named.
        negative: What to do with relevance below zero, in every projection and share.
    """
    rng = np.random.default_rng(seed)
    kept: list[Sample] = []
    rows: dict[str, list[dict[str, tuple[Any, ...]]]] = {name: [] for name in projections}
    shares: list[dict[str, tuple[Any, ...]]] = []
    options = {name: replace(each, negative=negative) for name, each in projections.items()}
    for sample in samples:
        kept.append(replace(sample, maps={}))
        maps: dict[str, OnGrid] = {
            **sample.maps,
            **baseline_maps(_common_grid(sample), sample.target.box, rng),
        }
        shares.append({key: _share(sample, each, negative) for key, each in maps.items()})
        for name, each in options.items():
            wanted = (only or {}).get(name)
            chosen = maps if wanted is None else {key: maps[key] for key in wanted if key in maps}
            rows[name].append(_sample_angles(sample, chosen, each))
    clusters = np.array([sample.cluster for sample in kept])
    angles = {}
    for name in projections:
        angles[name] = {key: _stack(MapAngles, rows[name], key, clusters) for key in _keys(rows[name])}
        if (only or {}).get(name) is None and kept:
            angles[name] |= _drawn_baselines(kept, angles[name][UNIFORM_MAP], options[name], seed)
    return ProjectedRun(
        tuple(kept), angles, {key: _stack(MapShares, shares, key, clusters) for key in _keys(shares)}
    )


def _common_grid(sample: Sample) -> TokenGrid:
    """The grid that most maps of a sample have."""
    if not sample.maps:
        raise UsageError(f"the pair {sample.id} holds no relevance map")
    grids = {id(each.grid): each.grid for each in sample.maps.values()}
    return grids[Counter(id(each.grid) for each in sample.maps.values()).most_common(1)[0][0]]


def _sample_angles(
    sample: Sample, maps: Mapping[str, OnGrid], options: ProjectionOptions
) -> dict[str, tuple[Any, ...]]:
    """The fields of `MapAngles` for every map of one sample; maps on one grid are projected together."""
    by_grid: dict[int, list[str]] = {}
    for key, each in maps.items():
        by_grid.setdefault(id(each.grid), []).append(key)
    boxes: dict[str, Any] = {"references": [sample.reference.box], "targets": [sample.target.box]}
    found: dict[str, tuple[Any, ...]] = {}
    for keys in by_grid.values():
        grid = maps[keys[0]].grid
        stacked = TokenMap(np.stack([np.asarray(maps[key].values, np.float64) for key in keys]), grid)
        compass = project_batch([stacked], **boxes, options=options)[0]
        uniform = uniform_compass([grid], **boxes, options=options)[0]
        found |= dict(zip(keys, _angles(compass, uniform), strict=True))
        if UNIFORM_MAP in keys:  # not weighted by area again
            (found[UNIFORM_MAP],) = _angles(uniform[None], uniform)
    return found


def _angles(compass: Compass, uniform: Compass) -> list[tuple[Any, ...]]:
    """The fields of `MapAngles` for compasses on one grid; all are left out if the uniform map has no direction."""
    codes = np.where(compass.codes == KEPT, uniform.codes, compass.codes)
    kept = codes == KEPT
    peak, mean, length = np.zeros((3, len(codes)))
    is_tied = np.zeros(len(codes), bool)
    if kept.any():
        own = compass[kept]
        length[kept] = own.concentration()
        peak[kept], is_tied[kept] = own.peak_deg(), own.is_tied()
        has_mean = length >= NO_MEAN
        if has_mean.any():
            mean[has_mean] = compass[has_mean].mean_deg()
    true = np.zeros(len(codes)) if compass.true_deg is None else compass.true_deg
    layout = np.where(kept, float(uniform.peak_deg()) if kept.any() else 0.0, 0.0)
    columns = (codes, true, peak, mean, length, layout, is_tied)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _share(sample: Sample, relevance: OnGrid, negative: Negative) -> tuple[Any, ...]:
    """The fields of `MapShares` for one map."""
    try:
        found = evidence(
            relevance, reference=sample.reference.box, target=sample.target.box, negative=negative
        )
    except DegenerateError as error:
        return code_of(error.reason), 0.0, 0.0, 0.0, 0.0, False
    has_text = found.text is not None
    return (
        KEPT,
        float(found.image_share) if has_text else 0.0,
        float(found.reference_share),
        float(found.target_share),
        float(found.rest_share),
        has_text,
    )


def _drawn_baselines(
    samples: Sequence[Sample], uniform: MapAngles, options: ProjectionOptions, seed: int
) -> dict[str, MapAngles]:
    """The baselines that are not maps: the oracle, which is not binned, and random sectors."""
    where = uniform.is_kept
    if not where.any():
        return {ORACLE: uniform, RANDOM_SECTOR: uniform}
    references = [s.reference.box for s, keep in zip(samples, where, strict=True) if keep]
    targets = [s.target.box for s, keep in zip(samples, where, strict=True) if keep]
    drawn = random_sector(references, targets, seed=seed, options=options).peak_deg()
    found = {}
    for name, angles in ((ORACLE, geometry_oracle(references, targets)), (RANDOM_SECTOR, drawn)):
        full = np.zeros(len(samples))
        full[where] = angles
        found[name] = replace(
            uniform,
            peak_deg=full,
            mean_deg=full,
            concentration=where.astype(np.float64),
            is_tied=np.zeros(len(samples), bool),
        )
    return found


def _keys(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for row in rows for key in row))


def _stack(
    kind: Callable[..., Any],
    rows: Sequence[Mapping[str, tuple[Any, ...]]],
    key: str,
    clusters: NDArray[np.str_],
) -> Any:
    """The rows of one map as arrays; a sample without it is `NOT_MEASURED`."""
    example = next(row[key] for row in rows if key in row)
    missing = (NOT_MEASURED, *(type(value)() for value in example[1:]))
    columns = zip(*(row.get(key, missing) for row in rows), strict=True)
    codes = np.array(next(columns), np.uint8)
    return kind(codes, *(np.array(column) for column in columns), clusters)
