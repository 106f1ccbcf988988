"""How sure one may be of an answer: from its logits, or from a compass, with and without knowing the truth.

DAE, knows the truth   −|peak − θ_true|: the paper's, which needs the boxes that give the answer away
agreement, honest      −|peak − angle of the model's own answer|, with a σ that needs no target box and maps that
were not made for the true answer
max probability        max_c p_c of the options       margin   z_1st − z_2nd       negative entropy   Σ p_c ln p_c
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, xlogy

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.directions import EIGHT, Vocabulary
from theodolite.instruments.compass.experiments.framework import shown_key
from theodolite.instruments.compass.formulas.projected import UNIFORM_MAP, Projected, Readings
from theodolite.instruments.compass.formulas.projection_options import ProjectionOptions
from theodolite.instruments.compass.samples import Sample

Source: TypeAlias = Literal["knows the truth", "honest", "logits", "nothing"]
"""What a confidence is made of."""

Readout: TypeAlias = Literal["peak", "mean"]


@dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """One confidence score; larger means surer."""

    name: str
    source: Source
    where: NDArray[np.bool_]
    """Shape (samples,): which samples have it."""
    values: NDArray[np.float64]
    """Shape (samples that have it,)."""


def on_common_samples(confidences: Sequence[Confidence]) -> tuple[Confidence, ...]:
    """The same confidences on the samples that all of them have; one that no sample has is left as it is.

    Ranking by one confidence is only better than by another if both rank the same answers.
    """
    usable = [each.where for each in confidences if each.where.any()]
    if not usable:
        return tuple(confidences)
    common = np.logical_and.reduce(usable)
    return tuple(
        replace(each, where=common, values=each.values[common[each.where]]) if each.where.any() else each
        for each in confidences
    )


def honest_options(options: ProjectionOptions) -> ProjectionOptions:
    """The same projection with a σ that needs no target box."""
    return replace(options, weight="diagonal") if options.weight == "paper" else options


def angle_of(direction: str, vocabulary: Vocabulary = EIGHT) -> float:
    """The angle that an answer stands for.

    >>> angle_of("above")
    90.0
    """
    if direction not in vocabulary.angles_deg:
        raise UsageError(
            f"no angle is known for the direction {direction!r}; there are {', '.join(vocabulary.names)}: give a Vocabulary"
        )
    return float(vocabulary.angles_deg[direction])


def logit_confidences(samples: Sequence[Sample]) -> tuple[Confidence, ...]:
    """Max probability, margin and negative entropy over the options, and one that knows nothing.

    The last gives every answer the same confidence: all figures are expectations over the order of ties, so it is random
    choice without a draw.
    """
    everyone = np.ones(len(samples), bool)
    shares = [softmax(sample.logits) for sample in samples]
    tops = [np.sort(sample.logits)[-2:] for sample in samples]
    found: tuple[tuple[str, Source, list[float]], ...] = (
        ("max probability", "logits", [float(p.max()) for p in shares]),
        ("margin", "logits", [float(top[1] - top[0]) for top in tops]),
        ("negative entropy", "logits", [float(xlogy(p, p).sum()) for p in shares]),
        ("random", "nothing", [0.0] * len(samples)),
    )
    return tuple(Confidence(name, source, everyone, np.array(values)) for name, source, values in found)


def compass_confidences(
    projected: Projected,
    *,
    projection: str,
    honest: str,
    readout: Readout = "peak",
    vocabulary: Vocabulary = EIGHT,
) -> tuple[Confidence, ...]:
    """DAE of every method and of the uniform map, and the honest agreement of those that may claim it.

    Args:
        projected: read under both projections.
        projection: the one for DAE.
        honest: the one that needs no target box.
        readout: peak or circular mean.
        vocabulary: the angles of the answers.
    """
    found = []
    answers = np.array([angle_of(s.directions[s.predicted], vocabulary) for s in projected.samples])
    for key in (UNIFORM_MAP, *projected.keys):
        angle, where = _angle(projected.readings[projection][key], readout)
        errors = stats.circular_distance(angle, projected.readings[projection][key].true_deg)
        found.append(Confidence(f"{shown_key(key)} DAE", "knows the truth", where, -errors[where]))
    for key in (UNIFORM_MAP, *projected.keys):
        if key.endswith("@gt"):
            continue  # made for the true answer's logit
        angle, where = _angle(projected.readings[honest][key], readout)
        gaps = stats.circular_distance(angle, answers)
        found.append(Confidence(f"{shown_key(key)} agreement", "honest", where, -gaps[where]))
    return tuple(found)


def _angle(readings: Readings, readout: Readout) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The readout's angle, and which samples have it."""
    if readout == "peak":
        return readings.peak_deg, readings.is_kept
    if readout == "mean":
        return readings.mean_deg, readings.has_mean
    raise UsageError(f"readout must be 'peak' or 'mean', not {readout!r}")
