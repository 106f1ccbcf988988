"""Prompt-direction intervention (section 5.1): the same picture and question, another answer explained.

    PTA                   share of probes whose peak is nearest to the direction whose logit is explained
    opposite divergence   between the compasses of left and right, and of above and below, in bits

A map that does not depend on the probe is right for exactly one of the directions, so its PTA is 1 / (number of directions),
whatever the map. The test is against that chance level.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.controls.batch import (
    PROJECTIONS,
    ControlProjection,
    divergences,
    peaks_of,
)
from theodolite.instruments.compass.experiments.controls.results import (
    ControlRow,
    ControlScore,
    NothingToScoreError,
    RowBuilder,
    Values,
)
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.formulas.token_map import TokenMap
from theodolite.instruments.compass.measure import Sample, map_key, split_key
from theodolite.pairs.directions import EIGHT, Vocabulary


def prompt_direction(
    samples: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0
) -> ControlScore:
    """Scores the intervention on maps for every option.

    Args:
        samples: Measured with the targets ``option:0``, ``option:1`` and so on.
        methods: Which methods; all that have a target if none is named.
        seed: Seed of the sign-flip test.

    Raises:
        UsageError: There are no maps for every option, or the options are not directions with known angles.
    """
    directions = {sample.directions for sample in samples}
    if len(directions) != 1:
        raise UsageError(
            f"the samples were asked with {len(directions)} different lists of directions; score them separately"
        )
    names = next(iter(directions))
    unknown = [name for name in names if name not in EIGHT.angles_deg]
    if unknown:
        raise NothingToScoreError(
            f"the direction {unknown[0]!r} has no known angle, so no peak can follow it"
        )
    asked = Vocabulary({name: EIGHT.angles_deg[name] for name in names})
    found, without_target = _methods(samples, methods, len(names))
    rows = [_row(method, each, samples, asked, seed) for each in PROJECTIONS for method in found]
    notes = [
        f"{len(samples)} samples, {len(samples) * len(names)} probes; chance is exactly 1 in {len(names)}."
    ]
    if without_target:
        notes.append(f"Without a target to change, so not probed: {', '.join(without_target)}.")
    return ControlScore(
        "prompt-direction",
        "Does the compass follow the answer that is explained?",
        tuple(rows),
        tuple(notes),
    )


def has_option_maps(sample: Sample) -> bool:
    """True if a sample was measured for every option."""
    return any(
        map_key(split_key(key)[0], f"option:{len(sample.directions) - 1}") in sample.maps
        for key in sample.maps
    )


def _methods(
    samples: Sequence[Sample], methods: Sequence[str], n_options: int
) -> tuple[list[str], list[str]]:
    """Methods with a map for every option of every sample, and those without a target."""
    names = list(dict.fromkeys(split_key(key)[0] for key in samples[0].maps))
    unknown = [name for name in methods if name not in names]
    if unknown:
        raise UsageError(f"the run has no maps of {unknown[0]!r}; it has {', '.join(names)}")
    chosen = [name for name in names if not methods or name in methods]
    probed = [
        name
        for name in chosen
        if all(map_key(name, f"option:{i}") in sample.maps for sample in samples for i in range(n_options))
    ]
    if not probed:
        raise NothingToScoreError(
            "no method has a map for every option; measure with --targets "
            + ",".join(f"option:{i}" for i in range(n_options))
        )
    return probed, [name for name in chosen if name not in probed]


def _row(
    method: str, projection: ControlProjection, samples: Sequence[Sample], asked: Vocabulary, seed: int
) -> ControlRow:
    compass = _compass(method, projection, samples, len(asked.names))
    peaks = peaks_of(compass, projection)  # (samples, options)
    right = np.full(peaks.shape, np.nan)
    for i, option in zip(*np.nonzero(~np.isnan(peaks)), strict=True):
        right[i, option] = asked.nearest(float(peaks[i, option])).name == asked.names[option]
    clusters = [sample.cluster for sample in samples]
    build = RowBuilder(seed)
    tracking = Values.of(right.mean(axis=1), clusters)  # a sample counts if all its probes do
    build.mean("prompt_tracking", tracking)
    build.flip_test("over_chance", tracking, 1 / len(asked.names))
    build.mean("opposite_divergence", Values.of(_opposite(compass, asked), clusters))
    build.leave_out(compass)
    return build.row(method, projection.name, "probes")


def _compass(
    method: str, projection: ControlProjection, samples: Sequence[Sample], n_options: int
) -> Compass:
    """Shape (samples, options)."""
    maps = []
    for sample in samples:
        own = [sample.maps[map_key(method, f"option:{i}")] for i in range(n_options)]
        maps.append(TokenMap(np.stack([each.values for each in own]), own[0].grid))
    return project_batch(
        maps,
        references=[sample.reference.box for sample in samples],
        targets=[sample.target.box for sample in samples],
        options=projection.options,
    )


def _opposite(compass: Compass, asked: Vocabulary) -> NDArray[np.float64]:
    """The mean over a sample's pairs of opposite probes, shape (samples,); NaN if there is none."""
    angles = list(asked.angles_deg.values())
    facing = [
        (i, j)
        for i, j in combinations(range(len(angles)), 2)
        if stats.circular_distance(angles[i], angles[j]) > 180 - 1e-6
    ]
    if not facing:
        return np.full(compass.shape[0], np.nan)
    pairs = np.stack([divergences(compass[:, i], compass[:, j]) for i, j in facing])
    return np.asarray(pairs.mean(axis=0))
