"""Projects the maps of a run, with the baselines of their own grids, in one pass over its samples.

Samples are read one at a time, and only angles and shares are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
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
    is_baseline,
    name_grids,
    random_sector,
    sample_seed,
    uniform_compass,
)
from theodolite.instruments.compass.formulas.compass import KEPT, Compass, code_of
from theodolite.instruments.compass.formulas.concentration import NO_MEAN
from theodolite.instruments.compass.formulas.evidence_share import evidence
from theodolite.instruments.compass.formulas.exclusions import DegenerateError
from theodolite.instruments.compass.formulas.projected import (
    NOT_MEASURED,
    MapAngles,
    MapShares,
    ProjectedRun,
)
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.projection_options import Negative, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import OnGrid, TokenMap
from theodolite.instruments.compass.measure import Sample

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
    """Projects every map of every sample in one pass.

    Args:
        samples: As `read_samples` gives them.
        projections: Name to options.
        seed: Seed of the random baselines.
        only: Projection to the maps that are wanted; all maps and baselines for projections that are not named.
        negative: What to do with relevance below zero, in every projection and share.
    """
    kept: list[Sample] = []
    marks: list[dict[str, GridMark]] = []
    rows: dict[str, list[_Row]] = {name: [] for name in projections}
    shares: list[_Row] = []
    options = {name: replace(each, negative=negative) for name, each in projections.items()}
    for sample in samples:
        if not sample.maps:
            raise UsageError(f"the pair {sample.id} holds no relevance map")
        kept.append(replace(sample, maps={}))
        marks.append({key: GridMark.of(each.grid) for key, each in sample.maps.items()})
        drawn = {
            mark: baseline_maps(
                sample.maps[key].grid, sample.target.box, seed=sample_seed(seed, sample.item_id)
            )
            for key, mark in marks[-1].items()
        }
        shares.append(_sample_shares(sample, drawn, negative))
        for name, each in options.items():
            wanted = (only or {}).get(name)
            rows[name].append(_sample_angles(sample, marks[-1], drawn, each, wanted, seed))
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
    """The fields of `MapAngles` for every map of one sample, and for the baselines of each grid if all is wanted.

    Maps on one grid are projected together.
    """
    boxes: dict[str, Any] = {"references": [sample.reference.box], "targets": [sample.target.box]}
    found: _Row = {}
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
        found |= {key: _field(angles, place) for place, key in enumerate(keys)}
        if wanted is None:
            n = len(keys)
            own = {BOX_ONLY: _field(angles, n), RANDOM_MAP: _field(angles, slice(n + 1, None))}
            own[UNIFORM_MAP] = _field(_angles(uniform[None], uniform), 0)
            own |= _directions(sample, own[UNIFORM_MAP], options, seed)
            found |= {_marked(name, mark): each for name, each in own.items()}
    return found


def _marked(baseline: str, mark: GridMark | None) -> str:
    """A baseline on one sample's grid, before grids have names."""
    return baseline_key(baseline, str(mark))


def _field(columns: Sequence[NDArray[Any]], place: int | slice) -> tuple[Any, ...]:
    """The fields of one map from columns over maps; of several draws, peaks, means and concentrations are arrays."""
    codes, true, peak, mean, length, layout, tied = columns
    if isinstance(place, int):
        return tuple(column[place] for column in columns)
    first = place.start
    return (
        codes[first],
        true[first],
        peak[place],
        mean[place],
        length[place],
        layout[first],
        tied[place].all(),
    )


def _angles(compass: Compass, uniform: Compass) -> list[NDArray[Any]]:
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
    return [codes, true, peak, mean, length, layout, is_tied]


def _directions(sample: Sample, uniform: tuple[Any, ...], options: ProjectionOptions, seed: int) -> _Row:
    """The baselines that are not maps: the oracle, which is not binned, and random sectors."""
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
    """The fields of `MapShares` for every map of one sample, and for the baseline maps of each grid."""
    found = {key: _share(sample, each, negative) for key, each in sample.maps.items()}
    for mark, maps in drawn.items():
        found |= {_marked(name, mark): _share(sample, each, negative) for name, each in maps.items()}
    return found


def _share(sample: Sample, relevance: OnGrid, negative: Negative) -> tuple[Any, ...]:
    """The fields of `MapShares` for one map; for several draws, their means."""
    try:
        found = evidence(
            relevance, reference=sample.reference.box, target=sample.target.box, negative=negative
        )
    except DegenerateError as error:
        return code_of(error.reason), 0.0, 0.0, 0.0, 0.0, False
    has_text = found.text is not None
    return (
        KEPT,
        float(found.image_share.mean()) if has_text else 0.0,
        float(found.reference_share.mean()),
        float(found.target_share.mean()),
        float(found.rest_share.mean()),
        has_text,
    )


def _stacked(
    kind: Callable[..., Any],
    rows: Sequence[_Row],
    grids: Mapping[str, Sequence[GridMark | None]],
    clusters: NDArray[np.str_],
) -> dict[str, Any]:
    """Every map as arrays over samples, and every baseline on every named grid."""
    keys = dict.fromkeys(key for row in rows for key in row)
    found = {
        key: _stack(kind, [row.get(key) for row in rows], clusters) for key in keys if not is_baseline(key)
    }
    shown = BASELINES if kind is MapAngles else BASELINE_MAPS
    for grid, known in grids.items():
        for name in shown:
            own = [row.get(_marked(name, mark)) for row, mark in zip(rows, known, strict=True)]
            if any(own):
                found[baseline_key(name, grid)] = _stack(kind, own, clusters)
    return found


def _stack(
    kind: Callable[..., Any], rows: Sequence[tuple[Any, ...] | None], clusters: NDArray[np.str_]
) -> Any:
    """The fields of one map as arrays; a sample without it is `NOT_MEASURED`."""
    example = next(row for row in rows if row is not None)
    missing = (NOT_MEASURED, *(np.zeros_like(value) for value in example[1:]))
    columns = zip(*(missing if row is None else row for row in rows), strict=True)
    codes = np.array(next(columns), np.uint8)
    return kind(codes, *(np.array(column) for column in columns), clusters)
