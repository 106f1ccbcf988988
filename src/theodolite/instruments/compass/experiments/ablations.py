"""Ablations of the projection and of the method (Table 6), and choosing a projection on a development split.

The development split takes whole pictures, so that no picture is both chosen on and reported on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Estimate, Table, format_cell
from theodolite.instruments.compass.experiments.framework import DAE, EA, EXCESS, N
from theodolite.instruments.compass.formulas.projected import MapAngles, ProjectedRun
from theodolite.instruments.compass.formulas.projection import PAPER, SOUND, ProjectionOptions
from theodolite.instruments.compass.measure import Sample, map_key, shown_key, split_key
from theodolite.instruments.compass.published import published_notes

DEFAULT = "default"
PAPERS_OWN = map_key("contrastive-grad-act", "pred")
"""The map of the paper's ablations and prompts."""

ABLATIONS: Mapping[str, ProjectionOptions] = {
    DEFAULT: PAPER,
    "K = 4": replace(PAPER, sectors=4),
    "K = 12": replace(PAPER, sectors=12),
    "K = 16": replace(PAPER, sectors=16),
    "bins centred on 0°": replace(PAPER, bins="centre"),
    "no distance weight": replace(PAPER, weight="none"),
    "σ = 0.175 diagonal": replace(PAPER, weight="diagonal", diagonal_share=0.175),
    "σ = 0.35 diagonal": replace(PAPER, weight="diagonal"),
    "σ = 0.7 diagonal": replace(PAPER, weight="diagonal", diagonal_share=0.7),
    "reference's box left out": replace(PAPER, leave_out_reference=True),
    "tokens by area": replace(PAPER, tokens="area"),
    "sound projection": SOUND,
}
"""Projections that differ from the paper's in one choice each, and the sound one."""

METHOD_ABLATIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "contrastive-grad-act": (
        ("single layer (−2)", "contrastive-grad-act-single"),
        ("no rival", "grad-act-layers"),
        ("layers −3 to −5, weighed alike", "contrastive-grad-act-sound"),
    ),
    "chefer": (("rows normalised", "chefer-normalised"),),
    "grad-act": (("sum of absolute values", "grad-act-absolute"),),
    "integrated-gradients": (("from the mean token", "integrated-gradients-sound"),),
}
"""Method to what was changed in it, and the method that does so."""

Criterion: TypeAlias = Literal["excess", "dae"]
"""What is minimised on the development pairs: the error minus the uniform map's, or the error."""

_COLUMNS = (
    Column("configuration", "configuration"),
    Column("of", "of the"),
    DAE,
    EXCESS,
    EA,
    column("compass.ablation", "change"),
    N,
)


@dataclass(frozen=True, slots=True)
class DevelopmentSplit:
    """Pairs by id; no picture is in more than one part."""

    development: frozenset[str]
    reported: frozenset[str]
    set_aside: frozenset[str]
    """Further pairs of the development pictures, which are not used."""


def default_key(keys: Sequence[str]) -> str:
    """Return the map that the paper ablates, or else the first.

    >>> default_key(["chefer@gt", "contrastive-grad-act@pred"])
    'contrastive-grad-act@pred'
    """
    if not keys:
        raise UsageError("the run holds no relevance map")
    return PAPERS_OWN if PAPERS_OWN in keys else keys[0]


def ablation_keys(key: str) -> tuple[str, ...]:
    """Return the maps that an ablation of one map needs."""
    method, target = split_key(key)
    return (key, *(map_key(other, target) for _, other in METHOD_ABLATIONS.get(method, ())))


def ablations_table(projected: ProjectedRun, key: str, *, model: str) -> Table:
    """Build a table of the projections in `ABLATIONS`, then of changed methods under the default projection.

    Args:
        projected: With the projections of `ABLATIONS`.
        key: ``method@target``.
        model: Its name, to find what the paper reports.
    """
    rows = _rows(projected, key)
    names = tuple(str(row[0]) for row in rows)
    reported = published_notes(model, projected.sources, "ablations", names) if key == PAPERS_OWN else []
    return Table.of("compass.ablations", f"Ablations of {shown_key(key)}", _COLUMNS, rows, reported)


def _rows(projected: ProjectedRun, key: str) -> list[list[Cell]]:
    base = projected.angles[DEFAULT][key]
    method, target = split_key(key)
    rows = [
        _row(name, "projection", projected.angles[name][key], base)
        for name in ABLATIONS
        if name in projected.angles
    ]
    for name, other in METHOD_ABLATIONS.get(method, ()):
        angles = projected.angles[DEFAULT].get(map_key(other, target))
        if angles is not None:
            rows.append(_row(name, "method", angles, base))
    return rows


def _row(name: str, of: str, angles: MapAngles, base: MapAngles) -> list[Cell]:
    """Compare one configuration with the default, on the samples that both keep."""
    both = angles.is_kept & base.is_kept
    own = angles[both]
    change = None if angles is base else own.difference(base[both])
    return [name, of, own.mean_error(), own.excess(), own.edge_accuracy(), change, len(own)]


def split_samples(samples: Sequence[Sample], n: int, *, seed: int) -> DevelopmentSplit:
    """Take whole pictures in random order until they hold n pairs; the first n of these are for development.

    Args:
        samples: The samples to split.
        n: Pairs for development.
        seed: Seed of the order of the pictures.

    Raises:
        UsageError: No pair would be left to report on.
    """
    pictures = {sample.id: sample.cluster for sample in samples}
    ids = list(pictures)
    parts = split_clusters(list(pictures.values()), n, seed=seed)
    return DevelopmentSplit(*(frozenset(ids[i] for i in part) for part in parts))


def split_clusters(
    clusters: Sequence[str], n: int, *, seed: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the split of `split_samples` as indices: for development, to report on, set aside.

    Args:
        clusters: The picture of each pair.
        n: Pairs for development.
        seed: Seed of the order.

    >>> split_clusters(["a", "a", "b", "c", "c"], 1, seed=0)
    ((3,), (0, 1, 2), (4,))
    """
    if n < 1:
        raise UsageError(f"a development split needs at least one pair, not {n}")
    by_cluster: dict[str, list[int]] = {}
    for i, cluster in enumerate(clusters):
        by_cluster.setdefault(cluster, []).append(i)
    names = list(by_cluster)
    chosen: list[int] = []
    taken: set[str] = set()
    for i in np.random.default_rng(seed).permutation(len(names)):
        if len(chosen) >= n:
            break
        taken.add(names[i])
        chosen += by_cluster[names[i]]
    rest = tuple(i for i, cluster in enumerate(clusters) if cluster not in taken)
    if len(chosen) < n or not rest:
        raise UsageError(
            f"{len(clusters)} pairs on {len(names)} pictures cannot be split into {n} for development and some to report on"
        )
    return tuple(chosen[:n]), rest, tuple(chosen[n:])


def development_table(
    projected: ProjectedRun, key: str, split: DevelopmentSplit, *, criterion: Criterion
) -> Table:
    """Choose the projection that is best on the development pairs, and report it on the others.

    The error alone would favour a σ for which the layout itself points well; the excess does not.

    Args:
        projected: With the projections of `ABLATIONS`, all pairs of one prompt.
        key: ``method@target``.
        split: Split of its pairs.
        criterion: What is minimised.
    """
    development = projected.select(lambda sample: sample.id in split.development)
    reported = projected.select(lambda sample: sample.id in split.reported)
    candidates = [row for row in _rows(development, key) if row[1] == "projection"]
    minimised = [(str(row[0]), row[3 if criterion == "excess" else 2]) for row in candidates]
    values = {name: cell.value for name, cell in minimised if isinstance(cell, Estimate)}
    if not values:
        raise UsageError(
            f"the {len(development.samples)} development samples of {key} have no direction; take a larger --development"
        )
    chosen = min(values, key=lambda name: values[name])
    rows = [["development", *row] for row in candidates]
    after = {row[0]: row for row in _rows(reported, key)}
    rows += [["reported", *after[name]] for name in dict.fromkeys((DEFAULT, chosen))]
    set_aside = sum(sample.id in split.set_aside for sample in projected.samples)
    words = {
        name: f"DAE {format_cell(after[name][2], DAE)}, − uniform {format_cell(after[name][3], EXCESS)}"
        for name in (chosen, DEFAULT)
    }
    return Table.of(
        "compass.development",
        f"Projection of {shown_key(key)} chosen on development pairs",
        [Column("part", "pairs"), *_COLUMNS],
        rows,
        [
            f"Chosen on {len(development.samples)} development pairs by {criterion}: {chosen}.",
            f"On {len(reported.samples)} others: {words[chosen]} (default: {words[DEFAULT]}).",
            f"Not used: {set_aside} further samples of the development pictures.",
        ],
    )
