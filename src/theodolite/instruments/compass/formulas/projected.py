"""Every map of a run projected, with the baselines of its own grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.core.tables import Estimate
from theodolite.instruments.compass.formulas.baselines import (
    BASELINE_MAPS,
    BASELINES,
    BOX_ONLY,
    DRAWS,
    ORACLE,
    RANDOM_MAP,
    RANDOM_SECTOR,
    UNIFORM_MAP,
    GridMark,
    baseline_key,
    baseline_maps,
    excess_over_uniform,
    is_baseline,
    name_grids,
    random_sector,
    sample_seed,
    uniform_compass,
)
from theodolite.instruments.compass.formulas.dae import (
    KEPT,
    NO_MEAN,
    DegenerateError,
    DirectionMass,
    Exclusion,
    code_of,
    dae,
    edge_hit,
    label_of,
    octant_hit,
)
from theodolite.instruments.compass.formulas.evidence_share import evidence
from theodolite.instruments.compass.formulas.projection import (
    Negative,
    OnGrid,
    ProjectionOptions,
    TokenMap,
    project_batch,
)
from theodolite.instruments.compass.formulas.resampling import base_of
from theodolite.instruments.compass.measure import Sample, split_key
from theodolite.stats import Bounds, clustered_difference, clustered_mean

# Every map of a run projected: per sample the peak, its error and the uniform map's, and where relevance lies.


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
        """Return a part of the samples, by any numpy index."""
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
        """Return the mean over the draws, shape (samples,); numbers without draws stay unchanged."""
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
        """Count the samples that were left out, by reason."""
        return {
            reason_of(code): n for code, n in sorted(Counter(self.codes.tolist()).items()) if code != KEPT
        }

    def mean_error(self) -> Estimate | None:
        """Return the mean DAE."""
        return clustered_mean(self.error_deg, self.clusters, bounds=DEGREES)

    def edge_accuracy(self) -> Estimate | None:
        """Return EA."""
        return clustered_mean(self.edge_hits, self.clusters)

    def excess(self) -> Estimate | None:
        """Return the mean of DAE − DAE of the uniform map."""
        return clustered_mean(self.excess_deg, self.clusters, bounds=EXCESS)

    def difference(self, other: MapAngles) -> Estimate | None:
        """Return the mean of DAE − DAE of another map on the same samples."""
        return clustered_difference(self.error_deg, other.error_deg, self.clusters, bounds=DEGREES)


def reason_of(code: int) -> str:
    """Return a code of `MapAngles` or `MapShares` in words."""
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
        """Return a part of the samples, by any numpy index."""
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
        """Return some of the samples; raise an error if none is selected."""
        chosen = np.array([is_wanted(sample) for sample in self.samples])
        return ProjectedRun(
            tuple(sample for sample, keep in zip(self.samples, chosen, strict=True) if keep),
            {
                name: {key: values[chosen] for key, values in rows.items()}
                for name, rows in self.angles.items()
            },
            {key: values[chosen] for key, values in self.shares.items()},
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
        """Return one baseline on every grid."""
        return tuple(key for key in self.baselines if split_key(key)[0] == baseline)

    def of_grid(self, baseline: str, key: str) -> str:
        """Return the name of a baseline on a map's own grid."""
        return baseline_key(baseline, self.grids[key])

    def grid_of(self, key: str) -> str:
        """Return the name of the grid of a map or baseline."""
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
        """Return the share of right answers."""
        return clustered_mean(self.is_correct.astype(float), self.clusters)


# Projects the maps of a run, with the baselines of their own grids, in one pass over its samples.
#
# Samples are read one at a time, and only angles and shares are kept.


_Row = dict[str, tuple[Any, ...]]
"""Map or baseline to the fields of `MapAngles` or `MapShares`, of one sample."""


def project_samples(
    samples: Iterable[Sample],
    projections: Mapping[str, ProjectionOptions],
    *,
    seed: int,
    only: Mapping[str, Sequence[str]] | None = None,
    negative: Negative = "error",
) -> ProjectedRun:
    """Project every map of every sample in one pass.

    Args:
        samples: As `read_samples` gives them.
        projections: Name to options.
        seed: Seed of the random baselines.
        only: The wanted maps by projection; all maps and baselines for projections that are not named.
        negative: What to do with relevance below zero, in every projection and share.
    """
    kept: list[Sample] = []
    marks: list[dict[str, GridMark]] = []
    rows: dict[str, list[_Row]] = {name: [] for name in projections}
    shares: list[_Row] = []
    options = {name: replace(projection, negative=negative) for name, projection in projections.items()}
    for sample in samples:
        if not sample.maps:
            raise UsageError(f"the pair {sample.id} holds no relevance map")
        kept.append(replace(sample, maps={}))
        marks.append({key: GridMark.of(relevance.grid) for key, relevance in sample.maps.items()})
        drawn = {
            mark: baseline_maps(
                sample.maps[key].grid, sample.target.box, seed=sample_seed(seed, sample.item_id)
            )
            for key, mark in marks[-1].items()
        }
        shares.append(_sample_shares(sample, drawn, negative))
        for name, projection in options.items():
            wanted = (only or {}).get(name)
            rows[name].append(_sample_angles(sample, marks[-1], drawn, projection, wanted, seed))
    of_key, of_grid = name_grids(marks)
    clusters = np.array([sample.cluster for sample in kept])
    angles = {name: _stacked(MapAngles, rows[name], of_grid, clusters) for name in projections}
    return ProjectedRun(tuple(kept), angles, _stacked(MapShares, shares, of_grid, clusters), of_key)


def _sample_angles(
    sample: Sample,
    marks: Mapping[str, GridMark],
    drawn: Mapping[GridMark, Mapping[str, TokenMap]],
    options: ProjectionOptions,
    wanted: Sequence[str] | None,
    seed: int,
) -> _Row:
    """Return the fields of `MapAngles` for every map of one sample, and for the baselines of each grid unless maps are named.

    Maps on one grid are projected together.
    """
    boxes: dict[str, Any] = {"references": [sample.reference.box], "targets": [sample.target.box]}
    by_key: _Row = {}
    for mark, baselines in drawn.items():
        keys = [key for key in marks if marks[key] == mark and (wanted is None or key in wanted)]
        if not keys:
            continue
        grid = baselines[BOX_ONLY].grid
        rows: list[NDArray[Any]] = [sample.maps[key].values[None] for key in keys]
        if wanted is None:
            rows += [baselines[name].values for name in (BOX_ONLY, RANDOM_MAP)]
        compass = project_batch(
            [TokenMap(np.concatenate(rows, dtype=np.float64), grid)], **boxes, options=options
        )[0]
        uniform = uniform_compass([grid], **boxes, options=options)[0]
        angles = _angles(compass, uniform)
        by_key |= {key: _field(angles, index) for index, key in enumerate(keys)}
        if wanted is None:
            n = len(keys)
            own = {BOX_ONLY: _field(angles, n), RANDOM_MAP: _field(angles, slice(n + 1, None))}
            own[UNIFORM_MAP] = _field(_angles(uniform[None], uniform), 0)
            own |= _directions(sample, own[UNIFORM_MAP], options, seed)
            by_key |= {_marked(name, mark): values for name, values in own.items()}
    return by_key


def _marked(baseline: str, mark: GridMark | None) -> str:
    """Return a baseline on one sample's grid, before grids have names."""
    return baseline_key(baseline, str(mark))


def _field(columns: Sequence[NDArray[Any]], index: int | slice) -> tuple[Any, ...]:
    """Return the fields of one map from columns over maps; of several draws, peaks, means and concentrations are arrays."""
    codes, true, peak, mean, length, layout, tied = columns
    if isinstance(index, int):
        return tuple(column[index] for column in columns)
    first = index.start
    return (
        codes[first],
        true[first],
        peak[index],
        mean[index],
        length[index],
        layout[first],
        tied[index].all(),
    )


def _angles(compass: DirectionMass, uniform: DirectionMass) -> list[NDArray[Any]]:
    """Return the fields of `MapAngles` for compasses on one grid; all are left out if the uniform map has no direction."""
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
    return [codes, true, peak, mean, length, layout, is_tied]


def _directions(sample: Sample, uniform: tuple[Any, ...], options: ProjectionOptions, seed: int) -> _Row:
    """Return the baselines that are not maps: the oracle, which is not binned, and random sectors."""
    code, true, *_, layout, _ = uniform
    drawn = np.zeros(DRAWS)
    if code == KEPT:
        boxes = [sample.reference.box], [sample.target.box]
        seeds = [sample_seed(seed, sample.item_id)]
        drawn = random_sector(*boxes, seeds=seeds, options=options)[0].peak_deg()
    return {
        ORACLE: (code, true, true, true, 1.0, layout, False),
        RANDOM_SECTOR: (code, true, drawn, drawn, np.ones(DRAWS), layout, False),
    }


def _sample_shares(
    sample: Sample, drawn: Mapping[GridMark, Mapping[str, TokenMap]], negative: Negative
) -> _Row:
    """Return the fields of `MapShares` for every map of one sample, and for the baseline maps of each grid."""
    shares = {key: _share(sample, relevance, negative) for key, relevance in sample.maps.items()}
    for mark, maps in drawn.items():
        shares |= {
            _marked(name, mark): _share(sample, relevance, negative) for name, relevance in maps.items()
        }
    return shares


def _share(sample: Sample, relevance: OnGrid, negative: Negative) -> tuple[Any, ...]:
    """Return the fields of `MapShares` for one map; for several draws, their means."""
    try:
        mass = evidence(
            relevance, reference=sample.reference.box, target=sample.target.box, negative=negative
        )
    except DegenerateError as error:
        return code_of(error.reason), 0.0, 0.0, 0.0, 0.0, False
    has_text = mass.text is not None
    return (
        KEPT,
        float(mass.image_share.mean()) if has_text else 0.0,
        float(mass.reference_share.mean()),
        float(mass.target_share.mean()),
        float(mass.rest_share.mean()),
        has_text,
    )


def _stacked(
    kind: Callable[..., Any],
    rows: Sequence[_Row],
    grids: Mapping[str, Sequence[GridMark | None]],
    clusters: NDArray[np.str_],
) -> dict[str, Any]:
    """Stack every map, and every baseline on every named grid, as arrays over samples."""
    keys = dict.fromkeys(key for row in rows for key in row)
    stacked = {
        key: _stack(kind, [row.get(key) for row in rows], clusters) for key in keys if not is_baseline(key)
    }
    baselines = BASELINES if kind is MapAngles else BASELINE_MAPS
    for grid, grid_marks in grids.items():
        for name in baselines:
            own = [row.get(_marked(name, mark)) for row, mark in zip(rows, grid_marks, strict=True)]
            if any(own):
                stacked[baseline_key(name, grid)] = _stack(kind, own, clusters)
    return stacked


def _stack(
    kind: Callable[..., Any], rows: Sequence[tuple[Any, ...] | None], clusters: NDArray[np.str_]
) -> Any:
    """Return the fields of one map as arrays; a sample without it is `NOT_MEASURED`."""
    example = next(row for row in rows if row is not None)
    missing = (NOT_MEASURED, *(np.zeros_like(value) for value in example[1:]))
    columns = zip(*(missing if row is None else row for row in rows), strict=True)
    codes = np.array(next(columns), np.uint8)
    return kind(codes, *(np.array(column) for column in columns), clusters)
