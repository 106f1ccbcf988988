"""The framework comparison: one row per method and target, and per control, all through the same projection.

    DAE      mean angle between readout and truth          EA      share of samples with DAE ≤ 45°
    excess   DAE − DAE of the uniform map, sample by sample: below zero where a method knows more than the layout
    share    relevance on the image, on A, on B and on the rest, over all relevance, before anything is normalised

The shape is that of the paper's Tables 1 and 2; the excess and the shares are ours, and no row is shown without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.attribution import find_methods
from theodolite.core.registry import registry
from theodolite.instruments.compass.estimates import mean_figure, paired_figure, share_figure
from theodolite.instruments.compass.formulas.dae import CONCENTRATED, EDGE_DEG, OCTANT_DEG, Label
from theodolite.instruments.compass.formulas.projected import CONTROLS, Projected, Readings, Shares
from theodolite.instruments.compass.published import Published

Figure: TypeAlias = "stats.Estimate | None"
"""An estimate; None where there is no sample, or one picture alone."""

Kind: TypeAlias = Literal["control", "method"]

THRESHOLDS = (
    f"aligned: peak within {EDGE_DEG:g}° of the truth and concentration ≥ {CONCENTRATED:g}; diffuse but usable: within "
    f"{EDGE_DEG:g}°, less concentrated; layout-dominated: peak elsewhere"
)
"""What the labels mean."""


@dataclass(frozen=True, slots=True)
class EvidenceShares:
    """Where a method's relevance lies, as mean shares; reference + target + rest is the image's share."""

    image: Figure
    """Of image and text together; None where the method cannot say what fell on the text."""
    reference: Figure
    target: Figure
    rest: Figure
    of: Literal["image and text", "image alone"]
    """What the shares are shares of."""
    excluded: int
    """Samples without any relevance."""


@dataclass(frozen=True, slots=True)
class Row:
    """One method and target, or one control, under one projection."""

    method: str
    target: str
    """``gt``, ``pred``, or empty for what knows no target."""
    kind: Kind
    n: int
    """Samples that have a compass."""
    excluded: Mapping[str, int]
    """Samples left out, by reason."""
    dae: Figure
    mean_dae: Figure
    """Of the circular mean, where there is one."""
    edge_accuracy: Figure
    octant_accuracy: Figure
    concentration: Figure
    excess_dae: Figure
    """DAE minus the uniform map's, paired; below zero is better than the layout."""
    excess_edge_accuracy: Figure
    """EA minus the uniform map's, paired; above zero is better than the layout."""
    evidence: EvidenceShares | None
    """None for controls that are no maps."""
    labels: Mapping[str, Figure]
    tied: int
    """Samples whose fullest sector is not the only one; the first counter-clockwise from 0° is taken."""
    without_mean: int
    """Samples whose sectors cancel."""
    caveat: str = ""
    """Why a method's numbers may mean little."""
    sound_variant: str = ""
    published: tuple[Published, ...] = field(default=())
    """What the paper reports of the same model, data, method and target."""

    @property
    def name(self) -> str:
        """``method@target``, or the name alone of what knows no target."""
        return shown_key(f"{self.method}@{self.target}")


def framework_table(
    projected: Projected,
    projection: str,
    *,
    seed: int,
    published: Callable[[str, str], Sequence[Published]] = lambda _method, _target: (),
) -> tuple[Row, ...]:
    """All rows of one projection: controls first, then methods in the order of the run.

    Args:
        projected: the samples to report on.
        projection: which of its projections.
        seed: of the bootstrap.
        published: from method and target to what a paper reports.
    """
    readings = projected.readings[projection]
    return tuple(
        _row(projected, key, readings[key], seed, published)
        for key in (*CONTROLS, *projected.keys)
        if key in readings
    )


def shown_key(key: str) -> str:
    """A key as a reader writes it.

    >>> shown_key("chefer@gt"), shown_key("attention-rollout@")
    ('chefer@gt', 'attention-rollout')
    """
    return key.removesuffix("@")


def split_key(key: str) -> tuple[str, str]:
    """Method and target of a key."""
    method, _, target = key.partition("@")
    return method, target


def caveat_of(method: str) -> tuple[str, str]:
    """A registered method's caveat and its sound variant; empty for maps of one's own."""
    if method not in {entry.name for entry in registry().entries("method")}:
        return "", ""
    (found,) = find_methods([method])
    return found.caveat, found.sound_variant


def _row(
    projected: Projected,
    key: str,
    readings: Readings,
    seed: int,
    published: Callable[[str, str], Sequence[Published]],
) -> Row:
    method, target = split_key(key)
    is_control = key in CONTROLS
    caveat, variant = ("", "") if is_control else caveat_of(method)
    kept = readings[readings.is_kept]
    names = projected.clusters[readings.is_kept].tolist()
    with_mean = kept.has_mean
    labels = kept.labels()
    return Row(
        method=method,
        target=target,
        kind="control" if is_control else "method",
        n=len(names),
        excluded=readings.exclusions(),
        dae=mean_figure(kept.dae_deg, names, seed=seed),
        mean_dae=mean_figure(
            kept.mean_dae_deg[with_mean], np.array(names)[with_mean].tolist() if names else [], seed=seed
        ),
        edge_accuracy=share_figure(kept.is_hit(), names, seed=seed),
        octant_accuracy=share_figure(kept.is_hit(OCTANT_DEG), names, seed=seed),
        concentration=mean_figure(kept.concentration, names, seed=seed),
        excess_dae=paired_figure(kept.dae_deg, kept.uniform_dae_deg, names, seed=seed),
        excess_edge_accuracy=paired_figure(kept.is_hit(), kept.is_uniform_hit, names, seed=seed),
        evidence=_evidence(projected, key, seed),
        labels={label: share_figure(labels == label, names, seed=seed) for label in get_args(Label)},
        tied=int(kept.is_tied.sum()),
        without_mean=int((~with_mean).sum()),
        caveat=caveat,
        sound_variant=variant,
        published=() if is_control else tuple(published(method, target)),
    )


def _evidence(projected: Projected, key: str, seed: int) -> EvidenceShares | None:
    if key not in projected.shares:
        return None
    shares: Shares = projected.shares[key]
    kept = shares[shares.is_kept]
    names = projected.clusters[shares.is_kept].tolist()
    has_text = bool(kept.has_text.size) and bool(kept.has_text.all())
    return EvidenceShares(
        image=mean_figure(kept.image, names, seed=seed) if has_text else None,
        reference=mean_figure(kept.reference, names, seed=seed),
        target=mean_figure(kept.target, names, seed=seed),
        rest=mean_figure(kept.rest, names, seed=seed),
        of="image and text" if has_text else "image alone",
        excluded=int((~shares.is_kept).sum()),
    )
