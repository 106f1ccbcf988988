"""Confidence in an answer, from its logits or from a compass, with and without knowledge of the truth.

DAE (knows the truth)     −|peak − θ_true|: the paper's, which needs the boxes that give the answer away
agreement (honest)        −|peak − angle of the model's own answer|, with a σ that needs no target box, and only for maps that
                          were not made for the true answer
max probability           max_c p_c of the options
margin                    z_1st − z_2nd
negative entropy          Σ p_c ln p_c
random                    the same for every answer: ties are counted by their expectation
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
from theodolite.instruments.compass.formulas.baselines import UNIFORM_MAP
from theodolite.instruments.compass.formulas.compass import Readout
from theodolite.instruments.compass.formulas.dae import dae
from theodolite.instruments.compass.formulas.projected import MapAngles, ProjectedRun
from theodolite.instruments.compass.formulas.projection_options import ProjectionOptions
from theodolite.instruments.compass.measure import Sample, shown_key
from theodolite.pairs.directions import EIGHT, Vocabulary

HONEST = "honest"
"""The name of the projection that needs no target box."""

Source: TypeAlias = Literal["knows the truth", "honest", "logits", "nothing"]
"""What a confidence is computed from."""


@dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """One confidence score; larger means more confident."""

    name: str
    source: Source
    where: NDArray[np.bool_]
    """Shape (samples,): which samples have it."""
    values: NDArray[np.float64]
    """Shape (samples that have it,)."""


def honest_options(options: ProjectionOptions) -> ProjectionOptions:
    """The same projection with a σ that needs no target box."""
    return replace(options, weight="diagonal") if options.weight == "paper" else options


def all_confidences(
    projected: ProjectedRun, projection: str, *, readout: Readout = "peak", vocabulary: Vocabulary = EIGHT
) -> tuple[Confidence, ...]:
    """Every confidence, on the samples that all of them have: rankings are only comparable on the same answers.

    Args:
        projected: With the projection and `HONEST`.
        projection: For DAE.
        readout: Peak or circular mean.
        vocabulary: The angles of the answers.
    """
    return on_common_samples(
        [
            *logit_confidences(projected.samples),
            *compass_confidences(projected, projection, readout=readout, vocabulary=vocabulary),
        ]
    )


def on_common_samples(confidences: Sequence[Confidence]) -> tuple[Confidence, ...]:
    """The same confidences on the samples that all of them have; one that no sample has stays empty."""
    usable = [each.where for each in confidences if each.where.any()]
    if not usable:
        return tuple(confidences)
    common = np.logical_and.reduce(usable)
    return tuple(
        replace(each, where=common, values=each.values[common[each.where]]) if each.where.any() else each
        for each in confidences
    )


def logit_confidences(samples: Sequence[Sample]) -> tuple[Confidence, ...]:
    """Max probability, margin, negative entropy over the options, and a constant."""
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
    projected: ProjectedRun, projection: str, *, readout: Readout = "peak", vocabulary: Vocabulary = EIGHT
) -> tuple[Confidence, ...]:
    """DAE of every map and of the uniform map of each grid, and the honest agreement of maps not made for the true answer."""
    found = []
    keys = (*projected.on_grids(UNIFORM_MAP), *projected.keys)
    answers = np.array([angle_of(s.directions[s.predicted], vocabulary) for s in projected.samples])
    for key in keys:
        angles = projected.angles[projection][key]
        angle, where = readout_angles(angles, readout)
        errors = dae(angle, angles.true_deg)
        found.append(Confidence(f"{shown_key(key)} DAE", "knows the truth", where, -errors[where]))
    for key in keys:
        if key.endswith("@gt"):
            continue  # made for the true answer's logit
        angle, where = readout_angles(projected.angles[HONEST][key], readout)
        gaps = stats.circular_distance(angle, answers)
        found.append(Confidence(f"{shown_key(key)} agreement", "honest", where, -gaps[where]))
    return tuple(found)


def readout_angles(angles: MapAngles, readout: Readout) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The angle of the peak or of the circular mean, and which samples have it."""
    if readout == "peak":
        return angles.peak_deg, angles.is_kept
    if readout == "mean":
        return angles.mean_deg, angles.has_mean
    raise UsageError(f"readout must be 'peak' or 'mean', not {readout!r}")


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
