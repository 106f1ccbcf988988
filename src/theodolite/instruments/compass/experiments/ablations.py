"""What the projection's own choices are worth (Table 6), and choosing among them on pictures that are not reported on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.estimates import mean_figure, paired_figure, share_figure
from theodolite.instruments.compass.experiments.framework import Figure, split_key
from theodolite.instruments.compass.formulas.projected import Projected, Readings
from theodolite.instruments.compass.formulas.projection_options import PAPER, SOUND, ProjectionOptions
from theodolite.instruments.compass.measure import map_key
from theodolite.instruments.compass.prompts import split_clusters
from theodolite.instruments.compass.samples import Sample

DEFAULT = "default"
PAPERS_OWN = map_key("contrastive-grad-act", "pred")
"""The map that the paper's ablations and prompts are of."""

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
"""Projections that differ from the paper's in one choice each, and the sound one: all from stored maps."""

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
"""Method -> what of it was left out or changed, and the method that does so."""

Criterion: TypeAlias = Literal["excess", "dae"]
"""What is made small on the development pictures: the error beyond the uniform map's, or the error."""


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One configuration against the default, on the samples that both keep."""

    name: str
    of: Literal["projection", "method"]
    n: int
    dae: Figure
    edge_accuracy: Figure
    excess_dae: Figure
    change: Figure
    """DAE − DAE of the default, paired; None for the default itself."""


@dataclass(frozen=True, slots=True)
class DevelopmentChoice:
    """A configuration chosen on some pictures and reported on others."""

    method: str
    target: str
    criterion: Criterion
    chosen: str
    n_development: int
    n_reported: int
    n_set_aside: int
    """Further samples of the development pictures, which are neither chosen nor reported on."""
    development: tuple[AblationRow, ...]
    """Every candidate on the development pictures."""
    reported: AblationRow
    """The chosen one on the others."""
    reported_default: AblationRow
    """The default on the same."""


@dataclass(frozen=True, slots=True)
class SampleSplit:
    """Pairs by id; no picture is in more than one part."""

    development: frozenset[str]
    reported: frozenset[str]
    set_aside: frozenset[str]


def default_key(keys: Sequence[str]) -> str:
    """The map that the paper ablates, or else the first.

    >>> default_key(["chefer@gt", "contrastive-grad-act@pred"])
    'contrastive-grad-act@pred'
    """
    if not keys:
        raise UsageError("the run holds no relevance map")
    return PAPERS_OWN if PAPERS_OWN in keys else keys[0]


def ablation_table(
    projected: Projected, key: str, *, seed: int, default: str = DEFAULT
) -> tuple[AblationRow, ...]:
    """One row per projection in `ABLATIONS` that was read, then one per changed method, all under the default projection.

    Args:
        projected: read with the projections of `ABLATIONS`.
        key: ``method@target``.
        seed: of the bootstrap.
        default: the name of the projection that the others are held against.
    """
    base = projected.readings[default][key]
    method, target = split_key(key)
    rows = [
        _row(projected, (name, "projection"), projected.readings[name][key], base, seed)
        for name in ABLATIONS
        if name in projected.readings
    ]
    for name, other in METHOD_ABLATIONS.get(method, ()):
        readings = projected.readings[default].get(map_key(other, target))
        if readings is not None:
            rows.append(_row(projected, (name, "method"), readings, base, seed))
    return tuple(rows)


def ablation_keys(key: str) -> tuple[str, ...]:
    """The maps that an ablation of one method reads."""
    method, target = split_key(key)
    return (key, *(map_key(other, target) for _, other in METHOD_ABLATIONS.get(method, ())))


def split_samples(samples: Sequence[Sample], n: int, *, seed: int) -> SampleSplit:
    """The development split of a run's pairs: the same pictures as `development_split` takes of the same pairs."""
    pictures = {sample.id: sample.cluster for sample in samples}
    ids = list(pictures)
    parts = split_clusters(list(pictures.values()), n, seed=seed)
    return SampleSplit(*(frozenset(ids[i] for i in part) for part in parts))


def choose_on_development(
    projected: Projected,
    key: str,
    split: SampleSplit,
    *,
    criterion: Criterion = "excess",
    seed: int,
) -> DevelopmentChoice:
    """Takes the projection that does best on the development pairs, and reports it on the others.

    The error alone would reward a σ for which the layout itself points well; the excess does not.
    """
    if criterion not in {"excess", "dae"}:
        raise UsageError(f"the criterion must be excess or dae, not {criterion!r}")
    development = projected.select(lambda sample: sample.id in split.development)
    reported = projected.select(lambda sample: sample.id in split.reported)
    candidates = [row for row in ablation_table(development, key, seed=seed) if row.of == "projection"]
    values = {row.name: row.excess_dae if criterion == "excess" else row.dae for row in candidates}
    known = {name: figure.value for name, figure in values.items() if figure is not None}
    if not known:
        raise UsageError(
            f"the {len(development.samples)} development samples of {key} lie on fewer than two pictures, or have no "
            "compass; take a larger --development"
        )
    chosen = min(known, key=lambda name: known[name])
    rows = {row.name: row for row in ablation_table(reported, key, seed=seed)}
    return DevelopmentChoice(
        *split_key(key),
        criterion=criterion,
        chosen=chosen,
        n_development=len(development.samples),
        n_reported=len(reported.samples),
        n_set_aside=sum(sample.id in split.set_aside for sample in projected.samples),
        development=tuple(candidates),
        reported=rows[chosen],
        reported_default=rows[DEFAULT],
    )


def _row(
    projected: Projected,
    what: tuple[str, Literal["projection", "method"]],
    readings: Readings,
    base: Readings,
    seed: int,
) -> AblationRow:
    both = readings.is_kept & base.is_kept
    own, other, names = readings[both], base[both], projected.clusters[both].tolist()
    return AblationRow(
        *what,
        n=len(names),
        dae=mean_figure(own.dae_deg, names, seed=seed),
        edge_accuracy=share_figure(own.is_hit(), names, seed=seed),
        excess_dae=paired_figure(own.dae_deg, own.uniform_dae_deg, names, seed=seed),
        change=None if readings is base else paired_figure(own.dae_deg, other.dae_deg, names, seed=seed),
    )
