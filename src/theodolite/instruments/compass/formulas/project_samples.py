"""From samples to readings: every map of a run projected once, no more than one sample's maps held at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.geometry import TokenGrid
from theodolite.instruments.compass.formulas.baselines import (
    box_only_map,
    geometry_oracle,
    random_map,
    random_sector,
    uniform_map,
)
from theodolite.instruments.compass.formulas.distribution import KEPT, Compass, code_of
from theodolite.instruments.compass.formulas.evidence_shares import evidence
from theodolite.instruments.compass.formulas.exclusions import DegenerateError
from theodolite.instruments.compass.formulas.projected import (
    BOX_ONLY,
    NO_MEAN,
    NOT_MEASURED,
    ORACLE,
    RANDOM_MAP,
    RANDOM_SECTOR,
    UNIFORM_MAP,
    Projected,
    Readings,
    Shares,
)
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.projection_options import Negative, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import OnGrid, TokenMap
from theodolite.instruments.compass.samples import Sample


def project_samples(
    samples: Iterable[Sample],
    projections: Mapping[str, ProjectionOptions],
    *,
    seed: int,
    only: Mapping[str, Sequence[str]] | None = None,
    negative: Negative = "error",
) -> Projected:
    """Projects every map of every sample in one pass; no more than one sample's maps are held at a time.

    Args:
        samples: as `read_samples` gives them.
        projections: name -> options.
        seed: of the random controls.
        only: projection -> the keys that are wanted of it; all, with the controls, if it is not named.
        negative: what is done with relevance below zero, in every projection and share.
    """
    rng = np.random.default_rng(seed)
    kept: list[Sample] = []
    rows: dict[str, list[dict[str, tuple[Any, ...]]]] = {name: [] for name in projections}
    shares: list[dict[str, tuple[Any, ...]]] = []
    options = {name: replace(each, negative=negative) for name, each in projections.items()}
    for sample in samples:
        kept.append(replace(sample, maps={}))
        maps = {**sample.maps, **_control_maps(sample, rng)}
        shares.append({key: _share(sample, each, negative) for key, each in maps.items()})
        for name, each in options.items():
            wanted = (only or {}).get(name)
            chosen = maps if wanted is None else {key: maps[key] for key in wanted if key in maps}
            rows[name].append(_read_sample(sample, chosen, each))
    readings = {}
    for name in projections:
        readings[name] = {key: _stack(Readings, rows[name], key) for key in _keys(rows[name])}
        if (only or {}).get(name) is None and kept:
            readings[name] |= _drawn_controls(kept, readings[name][UNIFORM_MAP], options[name], seed)
    return Projected(tuple(kept), readings, {key: _stack(Shares, shares, key) for key in _keys(shares)})


def _control_maps(sample: Sample, rng: np.random.Generator) -> dict[str, OnGrid]:
    """The controls that are maps, on the grid that most methods have."""
    if not sample.maps:
        raise UsageError(f"the pair {sample.id} holds no relevance map")
    grids: dict[int, TokenGrid] = {id(each.grid): each.grid for each in sample.maps.values()}
    grid = grids[Counter(id(each.grid) for each in sample.maps.values()).most_common(1)[0][0]]
    return {
        BOX_ONLY: box_only_map(grid, sample.target.box),
        RANDOM_MAP: random_map(grid, rng),
        UNIFORM_MAP: uniform_map(grid),
    }


def _read_sample(
    sample: Sample, maps: Mapping[str, OnGrid], options: ProjectionOptions
) -> dict[str, tuple[Any, ...]]:
    """The row of every map of one sample; maps of one grid are projected together."""
    by_grid: dict[int, list[str]] = {}
    for key, each in maps.items():
        by_grid.setdefault(id(each.grid), []).append(key)
    own, other = [sample.reference.box], [sample.target.box]
    amounts = replace(options, by_area=False)  # a uniform map holds areas already
    found: dict[str, tuple[Any, ...]] = {}
    for keys in by_grid.values():
        grid = maps[keys[0]].grid
        stacked = TokenMap(np.stack([np.asarray(maps[key].values, np.float64) for key in keys]), grid)
        compass = project_batch([stacked], references=own, targets=other, options=options)[0]
        uniform = project_batch([uniform_map(grid)], references=own, targets=other, options=amounts)[0]
        rows = _rows(compass, uniform)
        found |= dict(zip(keys, rows, strict=True))
        if UNIFORM_MAP in keys:  # never weighted by area a second time
            (found[UNIFORM_MAP],) = _rows(uniform[None], uniform)
    return found


def _rows(compass: Compass, uniform: Compass) -> list[tuple[Any, ...]]:
    """Compasses of one grid as the fields of `Readings`; without a uniform map to be held against they are left out."""
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
    """One map's evidence as the fields of `Shares`."""
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


def _drawn_controls(
    samples: Sequence[Sample], uniform: Readings, options: ProjectionOptions, seed: int
) -> dict[str, Readings]:
    """The controls that are no maps: the oracle, which passes no bins, and sectors drawn at random."""
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


def _stack(kind: Callable[..., Any], rows: Sequence[Mapping[str, tuple[Any, ...]]], key: str) -> Any:
    """The rows of one key as arrays; a sample without it is `NOT_MEASURED`."""
    example = next(row[key] for row in rows if key in row)
    missing = (NOT_MEASURED, *(type(value)() for value in example[1:]))
    columns = zip(*(row.get(key, missing) for row in rows), strict=True)
    codes = np.array(next(columns), np.uint8)
    return kind(codes, *(np.array(column) for column in columns))
