"""Reference-centre randomisation: is the true reference a better place to stand than any other?

Every map is projected again from other centres; σ, θ_true and the box that is left out stay those of A → B.

    Δ = DAE(other centre) − DAE(true centre), sample by sample; for many centres the mean of their errors
    one-sided p: the true centre is better (Δ > 0); two-sided p: they differ. Signs flip by whole pictures.

A map that knows nothing has a large Δ too: a picture's mass lies where the target lies, seen from A, but not seen from just
anywhere. So Δ is also shown less the uniform map's.

random       anywhere in the picture, evenly
background   any pixel outside all boxes
target       B's centre ("wrong object" in the paper). There d = 0, so a σ taken anew would be zero: the paper's 22.5°,
             the same on all its data, is the centre of the first sector, which an empty compass has for its peak
other        the centre of an annotated object that is neither A nor B
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.controls.batch import (
    READINGS,
    UNIFORM,
    Batch,
    dae_of,
    hits,
    seed_for,
    shared_keys,
)
from theodolite.instruments.compass.experiments.controls.estimates import RowBuilder, Values, reasons_of
from theodolite.instruments.compass.experiments.controls.published import CENTRES
from theodolite.instruments.compass.experiments.controls.results import ControlRow, ControlScore
from theodolite.instruments.compass.formulas.distribution import Compass
from theodolite.instruments.compass.samples import Sample

TRUE, RANDOM_CENTRES, BACKGROUND, TARGET, OTHER = "true", "random", "background", "target", "other object"
NO_BACKGROUND = "the boxes cover the whole picture: there is no background"
NO_OTHER = "no object is annotated besides reference and target"


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """Where to stand, for every sample."""

    places_px: NDArray[np.float64]
    """Shape (samples, centres, 2)."""
    spans: dict[str, slice]
    """Condition -> its part of the centres."""
    missing: dict[str, NDArray[np.bool_]]
    """Condition -> which samples have no such place, shape (samples,); what stands there is not to be read."""


def centre_control(
    samples: Sequence[Sample], *, methods: Sequence[str] = (), n_centres: int = 100, seed: int = 0
) -> ControlScore:
    """Scores reference-centre randomisation on stored maps.

    Args:
        samples: of a run, as they are (``plain``).
        methods: which relevance methods; all if none is named.
        n_centres: how many random and how many background centres each sample gets.
        seed: of centres, random maps and bootstrap.
    """
    if n_centres < 1:
        raise UsageError(f"--centres must be at least 1, not {n_centres}")
    batch = Batch(samples, shared_keys(samples, methods), seed=seed)
    centres = draw_centres(samples, n_centres=n_centres, seed=seed)
    rows: list[ControlRow] = []
    for reading in READINGS:
        compass = batch.compass(reading, centres_px=centres.places_px)
        errors = dae_of(compass, reading)
        drawn = _Drawn(centres, batch.clusters, errors[:, :, batch.keys.index(UNIFORM)], seed)
        for k, key in enumerate(batch.keys):
            rows += _rows((key, reading.name), compass[:, :, k], errors[:, :, k], drawn)
    return ControlScore(
        "centres",
        "Is the true reference a better place to stand than another?",
        tuple(rows),
        (
            f"{n_centres} random and {n_centres} background centres a sample; σ and θ_true stay those of A → B",
        ),
        CENTRES,
    )


def draw_centres(samples: Sequence[Sample], *, n_centres: int, seed: int) -> Centres:
    """Draws every sample's centres; each sample's draw depends on itself and the seed alone."""
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
        rng = np.random.default_rng(seed_for(seed, sample))
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
    """The middle of every pixel that lies in no box of the picture, shape (pixels, 2) as (x, y)."""
    width, height = sample.size_px
    x, y = np.arange(width) + 0.5, np.arange(height) + 0.5
    is_free = np.ones((height, width), np.bool_)
    for box in (sample.reference.box, sample.target.box, *sample.others):
        is_free[np.ix_((y >= box.y0) & (y < box.y1), (x >= box.x0) & (x < box.x1))] = False
    rows, columns = np.nonzero(is_free)
    return np.stack([x[columns], y[rows]], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """What the rows of all methods share."""

    centres: Centres
    clusters: list[str]
    uniform: NDArray[np.float64]
    """The uniform map's errors, shape (samples, centres)."""
    seed: int

    def means(self, values: NDArray[np.float64], name: str) -> Values:
        """Each sample's mean over the centres of a condition."""
        own = _sample_means(values[:, self.centres.spans[name]], self.centres.missing[name])
        return Values.of(own, self.clusters)


def _rows(
    labels: tuple[str, str], compass: Compass, errors: NDArray[np.float64], drawn: _Drawn
) -> list[ControlRow]:
    """One method's rows; compass and errors have shape (samples, centres)."""
    method, projection = labels
    true, uniform_true = drawn.means(errors, TRUE), drawn.means(drawn.uniform, TRUE)
    rows = []
    for name, span in drawn.centres.spans.items():
        build = RowBuilder(drawn.seed)
        own, uniform = drawn.means(errors, name), drawn.means(drawn.uniform, name)
        build.mean("dae_deg", own)
        build.share("edge_accuracy", drawn.means(hits(errors), name))
        if method != UNIFORM:
            build.difference("dae_excess_deg", own, uniform)
        if name != TRUE:
            build.difference("delta_deg", own, true)
            if method != UNIFORM:
                build.difference("delta_excess_deg", own - true, uniform - uniform_true)
            build.flip_test("true_is_better", own, true, "greater")
            build.flip_test("two_sided", own, true, "two-sided")
        missing = drawn.centres.missing[name]
        build.leave_out(reasons_of(compass[~missing][:, span]))
        build.leave_out({NO_BACKGROUND if name == BACKGROUND else NO_OTHER: int(missing.sum())})
        rows.append(ControlRow(method, projection, name, build.figures, build.tests, dict(build.excluded)))
    return rows


def _sample_means(values: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean over each sample's centres that have a value, shape (samples,); NaN without any."""
    counts = (~np.isnan(values)).sum(axis=1)
    means = np.nansum(values, axis=1) / np.maximum(counts, 1)
    return np.where((counts == 0) | missing, np.nan, means)
