"""The framework comparison (Tables 1 and 2): one row per method and target, and per baseline, under one projection.

    DAE      mean angle between peak and truth          EA      share of samples with DAE ≤ 45°
    excess   DAE − DAE of the uniform map, sample by sample; below zero if a method knows more than the layout
    share    relevance on the image, on A, on B and on the rest, over all relevance, before anything is normalised

Excess and shares are ours, and stand beside every published number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TypeAlias, get_args

from theodolite.attribution import find_methods
from theodolite.core.estimates import Estimate
from theodolite.core.registry import registry
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.compass.formulas.baselines import RANDOM_MAP, UNIFORM_MAP, is_baseline
from theodolite.instruments.compass.formulas.concentration import THRESHOLDS, Label
from theodolite.instruments.compass.formulas.edge_accuracy import edge_hit
from theodolite.instruments.compass.formulas.projected import MapShares, ProjectedRun
from theodolite.instruments.compass.formulas.resampling import paper_key
from theodolite.instruments.compass.measure import shown_key, split_key
from theodolite.instruments.compass.published import published_directions
from theodolite.stats import clustered_difference, clustered_mean

Means: TypeAlias = Callable[[str, str], Estimate | None]
"""The mean of a kind of metric, such as ``dae_paper``, for a map or baseline: from item scores."""

METHOD = Column("method", "method")
TARGET = Column("target", "for")
GRID = Column("grid", "cells")
DAE = Column("dae", "DAE", "degrees", "compass.dae")
EXCESS = Column("excess_dae", "− uniform", "degrees", "compass.excess_dae", signed=True)
EA = Column("edge_accuracy", "EA", "share", "compass.ea")
N = Column("n", "n", "count")


def framework_table(projected: ProjectedRun, projection: str, means: Means, *, model: str) -> Table:
    """The main table of one projection: baselines first, then methods in the order of the registry.

    Args:
        projected: The samples to report on.
        projection: One of its projections.
        means: From item scores.
        model: Its name, to find what the paper reports.
    """
    rows = []
    keys = (*projected.baselines, *projected.keys)
    for key in keys:
        kept = projected.angles[projection][key].kept
        is_uniform = split_key(key)[0] == UNIFORM_MAP
        excess = None if is_uniform else means(f"excess_{projection}", key)
        rows.append(
            [
                *map_names(projected, key),
                "†" if caveat_of(split_key(key)[0])[0] else "",
                means(f"dae_{projection}", key),
                None if excess is None else negated(excess),
                means(f"ea_{projection}", key),
                None
                if is_uniform
                else clustered_difference(
                    kept.edge_hits,
                    edge_hit(kept.uniform_error_deg).astype(float),
                    kept.clusters,
                ),
                clustered_mean(kept.octant_hits, kept.clusters),
                len(kept),
                reported(projected, key, model),
            ]
        )
    columns = [
        METHOD,
        TARGET,
        GRID,
        Column("caveat", "†"),
        DAE,
        EXCESS,
        EA,
        Column("excess_edge_accuracy", "EA − uniform", "points", "compass.excess_ea"),
        Column("octant_accuracy", "octant", "share", "compass.octant"),
        N,
        Column("reported", "reported"),
    ]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table.of(
        f"compass.framework_{projection}",
        f"Direction of relevance, {projection} projection",
        columns,
        rows,
        _notes(projected, projection, dict(zip(keys, [row[5] for row in rows], strict=True))),
    )


def _notes(projected: ProjectedRun, projection: str, excess: Mapping[str, Cell]) -> list[str]:
    better = [
        shown_key(key)
        for key in projected.keys
        if isinstance(found := excess[key], Estimate) and found.high < 0
    ]
    notes = [
        "− uniform: minus the uniform map of the same grid on the same pairs; below 0° the map knows more than the layout.",
        f"{len(better)} of {len(projected.keys)} maps point better than the uniform map: {', '.join(better) or 'none'}.",
    ]
    if any(caveat_of(split_key(key)[0])[0] for key in projected.keys):
        notes.append("†: computed as published, but degenerate; `theodolite list methods` explains why.")
    if any(angles.exclusions() for angles in projected.angles[projection].values()):
        notes.append("Rows leave out pairs without a direction: `--tables exclusions` counts them.")
    for key in projected.baselines:
        noise = excess[key]
        if split_key(key)[0] == RANDOM_MAP and isinstance(noise, Estimate) and noise.high < 0:
            notes.append(
                f"Caution: on {projected.grid_of(key)} cells random maps beat the uniform one by {-noise.value:.1f}° "
                f"[{-noise.high:.1f}, {-noise.low:.1f}]; compare methods with the random map's row, since that much of "
                "their excess may be noise of a coarse grid."
            )
    return notes


def evidence_table(projected: ProjectedRun, means: Means) -> Table:
    """Where relevance lies, before anything is normalised."""
    rows: list[list[Cell]] = []
    silent = []
    for key in (*projected.baselines, *projected.keys):
        if key not in projected.shares:
            continue
        shares = projected.shares[key]
        has_text = bool(shares.has_text[shares.is_kept].all()) and bool(shares.is_kept.any())
        if not has_text and not is_baseline(key):
            silent.append(split_key(key)[0])
        rows.append(
            [
                *map_names(projected, key),
                means("image_share", key) if has_text else None,
                *_object_shares(shares),
                "image and text" if has_text else "image alone",
                int((~shares.is_kept).sum()),
            ]
        )
    return Table.of(
        "compass.evidence",
        "Where relevance lies",
        [
            METHOD,
            TARGET,
            GRID,
            Column("image", "image", "share", "compass.evidence_share"),
            Column("reference", "A", "share", "compass.evidence_reference"),
            Column("target_object", "B", "share", "compass.evidence_target"),
            Column("rest", "rest", "share", "compass.evidence_rest"),
            Column("of", "share of"),
            Column("excluded", "without relevance", "count"),
        ],
        rows,
        [
            f"{', '.join(dict.fromkeys(silent))}: relevance on the text is not known, so shares are of the image alone."
        ]
        if silent
        else [],
    )


def _object_shares(shares: MapShares) -> list[Estimate | None]:
    kept = shares[shares.is_kept]
    return [clustered_mean(part, kept.clusters) for part in (kept.reference, kept.target, kept.rest)]


def labels_table(projected: ProjectedRun, projection: str) -> Table:
    """How the pairs fall into the paper's three labels, with the concentration behind them."""
    rows = []
    for key in (*projected.baselines, *projected.keys):
        kept = projected.angles[projection][key].kept
        numbers = [*(kept.labels == label for label in get_args(Label)), kept.concentration]
        means = [clustered_mean(kept.over_draws(each), kept.clusters) for each in numbers]
        rows.append([*map_names(projected, key), *means])
    return Table.of(
        f"compass.labels_{projection}",
        f"Labels of the pairs, {projection} projection",
        [
            METHOD,
            TARGET,
            GRID,
            *(Column(label, label, "share", "compass.labels") for label in get_args(Label)),
            Column("concentration", "concentration", "number", "compass.concentration"),
        ],
        rows,
        [THRESHOLDS],
    )


def exclusions_table(projected: ProjectedRun, projection: str) -> Table:
    """What every row leaves out, and why; and caveats of the methods."""
    rows: list[list[Cell]] = []
    for key in (*projected.baselines, *projected.keys):
        angles = projected.angles[projection][key]
        lost = "; ".join(f"{count} × {reason}" for reason, count in angles.exclusions().items())
        kept = angles.kept
        rows.append(
            [
                *map_names(projected, key),
                len(kept),
                int(kept.is_tied.sum()),
                int((~kept.has_mean).sum()),
                lost or "none",
            ]
        )
    methods = dict.fromkeys(split_key(key)[0] for key in projected.keys)
    caveats = {method: caveat_of(method) for method in methods}
    return Table.of(
        f"compass.exclusions_{projection}",
        f"What was left out, {projection} projection",
        [
            METHOD,
            TARGET,
            GRID,
            N,
            Column("tied", "tied peaks", "count"),
            Column("without_mean", "no mean", "count"),
            Column("excluded", "left out"),
        ],
        rows,
        [
            f"{method}: {caveat}" + (f" ({variant} is without that)" if variant else "")
            for method, (caveat, variant) in caveats.items()
            if caveat
        ],
    )


@cache
def caveat_of(method: str) -> tuple[str, str]:
    """A registered method's caveat and its sound variant; empty for other maps."""
    if method not in {entry.name for entry in registry().entries("method")}:
        return "", ""
    (found,) = find_methods([method])
    return found.caveat, found.sound_variant


def negated(estimate: Estimate) -> Estimate:
    """The estimate with its sign flipped."""
    return replace(estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low)


def map_names(projected: ProjectedRun, key: str) -> tuple[str, str, str]:
    """Method, target and grid of a map; a baseline has no target."""
    method, target = split_key(key)
    return method, "" if is_baseline(key) else target, projected.grid_of(key)


def reported(projected: ProjectedRun, key: str, model: str) -> str:
    """What the paper reports of the same model, data, method and target."""
    method, target = split_key(paper_key(key, projected.keys))
    found = [
        each
        for source in projected.sources
        for each in published_directions(model, source, method=method, target=target)
    ]
    return "; ".join(map(str, found))
