"""Reference-centre randomisation (Table 11): is the true reference a better centre than any other?

Every map is projected again from other centres; σ, θ_true and the excluded box stay those of A → B.

    Δ = DAE(other centre) − DAE(true centre), sample by sample; for many centres the mean of their errors
    one-sided p: the true centre is better (Δ > 0); two-sided p: they differ. Signs flip by whole pictures.

A map that knows nothing has a large Δ too, because most of the picture lies where the target lies seen from A, but not seen
from elsewhere. So Δ is also shown minus the uniform map's, on the same grid. From many centres a sample's random maps are fewer
(`_FEW_MAPS`), each seen from all of them, so that there are far more than `DRAWS` pairs of a map and a centre.

random       anywhere in the picture, uniformly
background   any pixel outside all boxes
target       B's centre ("wrong object" in the paper). There d = 0, so a σ computed anew would be zero: the paper's 22.5°,
             the same on all its data, is the centre of the first sector, which is the peak of an empty compass
other        the centre of an annotated object that is neither A nor B
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.controls.batch import (
    PROJECTIONS,
    Batch,
    errors_of,
    hits,
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.results import (
    ControlRow,
    ControlScore,
    RowBuilder,
    Values,
)
from theodolite.instruments.compass.formulas.baselines import DRAWS, sample_seed
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.measure import Sample

TRUE, RANDOM_CENTRES, BACKGROUND, TARGET, OTHER = "true", "random", "background", "target", "other object"
_FEW_MAPS = 10
NO_BACKGROUND = "the boxes cover the whole picture: there is no background"
NO_OTHER = "no object is annotated besides reference and target"


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """The centres of every sample."""

    places_px: NDArray[np.float64]
    """Shape (samples, centres, 2)."""
    spans: dict[str, slice]
    """Condition to its part of the centres."""
    missing: dict[str, NDArray[np.bool_]]
    """Condition to the samples that have no such centre, shape (samples,); their places are not to be used."""


def centre_control(
    samples: Sequence[Sample], *, methods: Sequence[str] = (), n_centres: int = 100, seed: int = 0
) -> ControlScore:
    """Scores reference-centre randomisation on stored maps.

    Args:
        samples: Plain samples of a run.
        methods: Which methods; all if none is named.
        n_centres: Random centres, and background centres, per sample.
        seed: Seed of centres and random maps.
    """
    if n_centres < 1:
        raise UsageError(f"--centres must be at least 1, not {n_centres}")
    keys = shared_keys(samples, methods)
    batch = Batch(samples, keys, seed=seed)
    fewer = Batch(samples, keys, seed=seed, draws=max(_FEW_MAPS, math.ceil(DRAWS / n_centres)))
    centres = draw_centres(samples, n_centres=n_centres, seed=seed)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        seen = {}
        for name, span in centres.spans.items():
            own = fewer if name in {RANDOM_CENTRES, BACKGROUND} else batch
            compass = own.compass(projection, centres_px=centres.places_px[:, span])
            seen[name] = _Seen.of(own, compass, errors_of(compass, projection), centres.missing[name])
        for key in batch.keys:
            rows += _rows(key, projection.name, seen, batch, seed)
    return ControlScore(
        "centres",
        "Is the true reference a better centre than another?",
        tuple(rows),
        (
            f"{n_centres} random and {n_centres} background centres a sample; σ and θ_true stay those of A → B.",
        ),
    )


def draw_centres(samples: Sequence[Sample], *, n_centres: int, seed: int) -> Centres:
    """Draws the centres of every sample; a sample's draw depends on the sample and the seed alone."""
    n = n_centres
    spans = {
        TRUE: slice(0, 1),
        RANDOM_CENTRES: slice(1, n + 1),
        BACKGROUND: slice(n + 1, 2 * n + 1),
        TARGET: slice(2 * n + 1, 2 * n + 2),
        OTHER: slice(2 * n + 2, 2 * n + 3),
    }
    places = np.empty((len(samples), 2 * n + 3, 2))
    missing = {name: np.zeros(len(samples), np.bool_) for name in spans}
    for i, sample in enumerate(samples):
        rng = np.random.default_rng(sample_seed(seed, sample.item_id))
        origin = np.array([sample.reference.box.centre_px])
        free = background_px(sample)
        missing[BACKGROUND][i], missing[OTHER][i] = not len(free), not sample.others
        places[i, spans[TRUE]] = origin
        places[i, spans[RANDOM_CENTRES]] = rng.uniform((0, 0), sample.size_px, size=(n, 2))
        places[i, spans[BACKGROUND]] = free[rng.integers(len(free), size=n)] if len(free) else origin
        places[i, spans[TARGET]] = sample.target.box.centre_px
        others = [box.centre_px for box in sample.others] or origin
        places[i, spans[OTHER]] = others[rng.integers(len(others))]
    return Centres(places, spans, missing)


def background_px(sample: Sample) -> NDArray[np.float64]:
    """The centres of all pixels that lie in no box, shape (pixels, 2) as (x, y)."""
    width, height = sample.size_px
    x, y = np.arange(width) + 0.5, np.arange(height) + 0.5
    is_free = np.ones((height, width), np.bool_)
    for box in (sample.reference.box, sample.target.box, *sample.others):
        is_free[np.ix_((y >= box.y0) & (y < box.y1), (x >= box.x0) & (x < box.x1))] = False
    rows, columns = np.nonzero(is_free)
    return np.stack([x[columns], y[rows]], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What all maps are from the centres of one condition."""

    errors: NDArray[np.float64]
    """Each sample's mean over centres and draws, shape (samples, keys)."""
    hits: NDArray[np.float64]
    compass: Compass
    """Shape (samples that have such a centre, centres, columns)."""
    batch: Batch
    missing: int
    """Samples that have no such centre."""

    @classmethod
    def of(
        cls, batch: Batch, compass: Compass, errors: NDArray[np.float64], missing: NDArray[np.bool_]
    ) -> _Seen:
        means = [_sample_means(batch.over_draws(each), missing) for each in (errors, hits(errors))]
        return cls(means[0], means[1], compass[~missing], batch, int(missing.sum()))

    def error(self, k: int) -> Values:
        """The errors of the map with this number."""
        return Values.of(self.errors[:, k], self.batch.clusters)


def _rows(key: str, projection: str, seen: Mapping[str, _Seen], batch: Batch, seed: int) -> list[ControlRow]:
    """One map's rows."""
    k, at = batch.keys.index(key), batch.uniform_of(key)
    true, uniform_true = seen[TRUE].error(k), seen[TRUE].error(at)
    rows = []
    for name, each in seen.items():
        build = RowBuilder(seed)
        own, uniform = each.error(k), each.error(at)
        build.mean("dae", own)
        build.mean("edge_accuracy", Values.of(each.hits[:, k], batch.clusters))
        if k != at:
            build.mean("excess_dae", own - uniform)
        if name != TRUE:
            build.difference("centre_delta", own, true)
            if k != at:
                build.difference("centre_delta_excess", own - true, uniform - uniform_true)
            build.flip_test("true_is_better", own, true, "greater")
            build.flip_test("two_sided", own, true, "two-sided")
        reason = NO_BACKGROUND if name == BACKGROUND else NO_OTHER
        build.leave_out(each.compass[:, :, each.batch.column(key)], {reason: each.missing})
        rows.append(build.row(key, projection, name))
    return rows


def _sample_means(values: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean over each sample's centres that have a value, shape (samples, keys); NaN if there are none."""
    counts = (~np.isnan(values)).sum(axis=1)
    means = np.nansum(values, axis=1) / np.maximum(counts, 1)
    return np.where((counts == 0) | missing[:, None], np.nan, means)
