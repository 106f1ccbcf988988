"""Does the compass follow what was changed? Moved objects, swapped roles, other centres, other questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.geometry.directions import EIGHT, Vocabulary
from theodolite.instruments.compass.experiments.controls.plan import (
    MOVE_A,
    RELOCATION,
    SWAP_PLACES,
    SWAP_ROLES,
    TRANSLATION,
)
from theodolite.instruments.compass.experiments.controls.results import (
    PROJECTIONS,
    ControlBatch,
    ControlProjection,
    ControlRow,
    ControlScore,
    NothingToScoreError,
    RowBuilder,
    Values,
    divergences,
    errors_of,
    hits,
    peaks_of,
    shared_keys,
)
from theodolite.instruments.compass.formulas.baselines import (
    DRAWS,
    ORACLE,
    RANDOM_SECTOR,
    random_sector,
    sample_seed,
)
from theodolite.instruments.compass.formulas.dae import KEPT, DirectionMass
from theodolite.instruments.compass.formulas.projection import TokenMap, project_batch
from theodolite.instruments.compass.measure import Sample, map_key, split_key

# Families of edited pictures (section 5.1 and Table 15): does the compass follow what was moved?
#
#     peak accuracy   share of probes with the peak within 45° of A → B as they lie now; also for right answers only
#     JSD             divergence between every two probes of a pair, in bits; a pair's mean counts once
#     binomial        p of the accuracy against 25 %, every probe on its own, as in the paper
#
# ``probes`` are the maps of the edited pictures. ``unmoved map`` projects the plain picture's map around the boxes as they lie
# afterwards: a map that never moves scores this much, so only what a model's map has beyond it counts. ``false reference`` takes
# B's centre, with θ_true and σ of A → B.


PROBES, UNMOVED, FALSE_REFERENCE = "probes", "unmoved map", "false reference"
ANSWERS = "the model's answers"
CHANCE = 0.25  # a random peak lies within 45° of the truth in 90° of 360°
NO_PLAIN = "the plain picture was not measured"

FAMILY_QUESTIONS = {
    RELOCATION: "Does the compass follow the target to another place in a real picture?",
    MOVE_A: "Does the compass turn when the reference moves and the target stays?",
    TRANSLATION: "Does the compass stay when both objects move together?",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Probes:
    """How the probes of one control are grouped; all lists are one per probe."""

    batch: ControlBatch
    """Which maps there are, and in which columns."""
    clusters: list[str]
    bases: list[tuple[str, str]]
    """The pair and prompt of each."""
    is_correct: NDArray[np.bool_]

    @classmethod
    def of(cls, batch: ControlBatch) -> _Probes:
        return cls(
            batch,
            batch.clusters,
            [base_of(sample) for sample in batch.samples],
            np.array([sample.is_correct for sample in batch.samples]),
        )

    def where(self, mask: NDArray[np.bool_]) -> _Probes:
        chosen = np.flatnonzero(mask).tolist()
        return _Probes(
            self.batch,
            [self.clusters[i] for i in chosen],
            [self.bases[i] for i in chosen],
            self.is_correct[mask],
        )


def score_family(
    control: str,
    probes: Sequence[Sample],
    plain: Sequence[Sample],
    *,
    methods: Sequence[str] = (),
    seed: int = 0,
) -> ControlScore:
    """Score relocation, fix-b-move-a or joint-translation.

    Args:
        control: Which of them.
        probes: The samples of the edited pictures.
        plain: The samples of the plain pictures.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and the sign-flip test.
    """
    batch = ControlBatch(probes, shared_keys(probes, methods), seed=seed)
    own = _Probes.of(batch)
    by_base = {base_of(sample): sample for sample in plain}
    has_plain = np.array([base in by_base for base in own.bases])
    unmoved = _unmoved(batch, by_base, seed)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        rows.append(answer_row(PROBES, own.is_correct, own.clusters, projection))
        rows += _rows(PROBES, batch.compass(projection), own, projection, seed)
        if unmoved is not None:
            placed = [sample for sample, there in zip(probes, has_plain, strict=True) if there]
            compass = unmoved.compass(
                projection,
                references=[sample.reference.box for sample in placed],
                targets=[sample.target.box for sample in placed],
            )
            rows += _rows(UNMOVED, compass, own.where(has_plain), projection, seed)
        if control == RELOCATION:
            centres = [[sample.target.box.centre_px] for sample in probes]
            compass = batch.compass(projection, centres_px=centres)[:, 0]
            rows += _rows(FALSE_REFERENCE, compass, own, projection, seed)
    lost = int((~has_plain).sum())
    notes = [f"{len(probes)} probes of {len(set(own.bases))} pairs."]
    if lost:
        notes.append(f"{UNMOVED}: {lost} probes are left out: {NO_PLAIN}.")
    return ControlScore(control, FAMILY_QUESTIONS[control], tuple(rows), tuple(notes))


def _unmoved(batch: ControlBatch, plain: Mapping[tuple[str, str], Sample], seed: int) -> ControlBatch | None:
    """Return the maps of each probe's plain picture, where it was measured."""
    there = [plain[base_of(sample)] for sample in batch.samples if base_of(sample) in plain]
    return ControlBatch(there, batch.method_keys, seed=seed) if there else None


def base_of(sample: Sample) -> tuple[str, str]:
    """Return the pair and prompt of a sample, whatever its condition."""
    return sample.id, sample.prompt


def _rows(
    condition: str, compass: DirectionMass, probes: _Probes, projection: ControlProjection, seed: int
) -> list[ControlRow]:
    """Return one row per map; the compass has shape (probes, columns)."""
    batch, clusters = probes.batch, probes.clusters
    by_column = errors_of(compass, projection)
    errors, edge_hits = batch.over_draws(by_column), batch.over_draws(hits(by_column))
    divergence = batch.over_draws(_within_pairs(compass, probes.bases))
    pictures = list(dict(zip(probes.bases, clusters, strict=True)).values())
    rows = []
    for k, key in enumerate(batch.keys):
        at = batch.uniform_of(key)
        build = RowBuilder(seed)
        hit = Values.of(edge_hits[:, k], clusters)
        build.mean("dae", Values.of(errors[:, k], clusters))
        if k != at:
            build.mean("excess_dae", Values.of(errors[:, k] - errors[:, at], clusters))
            build.flip_test("over_uniform", hit, Values.of(edge_hits[:, at], clusters), "greater")
        build.mean("peak_accuracy", hit)
        if condition == PROBES:
            build.mean("peak_accuracy_correct", hit.where(probes.is_correct))
        build.mean("divergence", Values.of(divergence[:, k], pictures))
        has_hit = hit.is_there
        if has_hit.any() and not batch.is_drawn(key):
            build.tests["binomial"] = stats.binomial_test(
                int(hit.numbers[has_hit].sum()), int(has_hit.sum()), probability=CHANCE, alternative="greater"
            )
        build.leave_out(compass[:, batch.column(key)])
        rows.append(build.row(key, projection.name, condition))
    return rows


def answer_row(
    condition: str, is_correct: NDArray[np.bool_], clusters: Sequence[str], projection: ControlProjection
) -> ControlRow:
    """Build the row of the model's own accuracy.

    Args:
        condition: The condition that the row is about.
        is_correct: Whether each answer is right.
        clusters: The picture of each answer.
        projection: The projection whose table gets the row.
    """
    build = RowBuilder(seed=0)
    build.mean("accuracy", Values.of(is_correct.astype(np.float64), clusters))
    return build.row(ANSWERS, projection.name, condition)


def _within_pairs(compass: DirectionMass, bases: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Return the mean divergence between every two probes of each pair, shape (pairs, columns); NaN for a single probe."""
    members: dict[tuple[str, str], list[int]] = {}
    for i, base in enumerate(bases):
        members.setdefault(base, []).append(i)
    means = np.full((len(members), compass.shape[1]), np.nan)
    for row, own in enumerate(members.values()):
        twos = np.array(list(combinations(own, 2)), np.int64).reshape(-1, 2)
        values = divergences(compass[twos[:, 0]], compass[twos[:, 1]])
        counts = (~np.isnan(values)).sum(axis=0)
        means[row] = np.where(counts > 0, np.nansum(values, axis=0) / np.maximum(counts, 1), np.nan)
    return means


# Reference-centre randomisation (Table 11): is the true reference a better centre than any other?
#
# Every map is projected again from other centres; σ, θ_true and the excluded box stay those of A → B.
#
#     Δ = DAE(other centre) − DAE(true centre), sample by sample; for many centres the mean of their errors
#     one-sided p: the true centre is better (Δ > 0); two-sided p: they differ. Signs flip by whole pictures.
#
# A map that knows nothing has a large Δ too, because most of the picture lies where the target lies seen from A, but not seen
# from elsewhere. So Δ is also shown minus the uniform map's, on the same grid. From many centres a sample's random maps are fewer
# (`_FEW_MAPS`), each seen from all of them, so that there are far more than `DRAWS` pairs of a map and a centre.
#
# random       anywhere in the picture, uniformly
# background   any pixel outside all boxes
# target       B's centre ("wrong object" in the paper). There d = 0, so a σ computed anew would be zero: the paper's 22.5°,
#              the same on all its data, is the centre of the first sector, which is the peak of an empty compass
# other        the centre of each annotated object that is neither A nor B; their mean counts


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
    spare: NDArray[np.bool_]
    """Centres of samples with fewer other objects than another sample has, shape (samples, centres); they do not count."""


def centre_control(
    samples: Sequence[Sample], *, methods: Sequence[str] = (), n_centres: int = 100, seed: int = 0
) -> ControlScore:
    """Score reference-centre randomisation on stored maps.

    Args:
        samples: Plain samples of a run.
        methods: Which methods; all if none is named.
        n_centres: Random centres, and background centres, per sample.
        seed: Seed of centres and random maps.
    """
    if n_centres < 1:
        raise UsageError(f"--centres must be at least 1, not {n_centres}")
    keys = shared_keys(samples, methods)
    batch = ControlBatch(samples, keys, seed=seed)
    fewer = ControlBatch(samples, keys, seed=seed, draws=max(_FEW_MAPS, math.ceil(DRAWS / n_centres)))
    centres = draw_centres(samples, n_centres=n_centres, seed=seed)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        seen = {}
        for name, span in centres.spans.items():
            own = fewer if name in {RANDOM_CENTRES, BACKGROUND, OTHER} else batch
            compass = own.compass(projection, centres_px=centres.places_px[:, span])
            errors = np.where(centres.spare[:, span, None], np.nan, errors_of(compass, projection))
            seen[name] = _Seen.of(own, compass, errors, centres.missing[name])
        for key in batch.keys:
            rows += _centre_rows(key, projection.name, seen, batch, seed)
    return ControlScore(
        "centres",
        "Is the true reference a better centre than another?",
        tuple(rows),
        (
            f"{n_centres} random and {n_centres} background centres a sample; σ and θ_true stay those of A → B.",
        ),
    )


def draw_centres(samples: Sequence[Sample], *, n_centres: int, seed: int) -> Centres:
    """Draw the centres of every sample; a sample's draw depends only on the sample and the seed.

    Args:
        samples: The samples.
        n_centres: Random centres, and background centres, per sample.
        seed: Seed of the draws.
    """
    n = n_centres
    spans = {
        TRUE: slice(0, 1),
        RANDOM_CENTRES: slice(1, n + 1),
        BACKGROUND: slice(n + 1, 2 * n + 1),
        TARGET: slice(2 * n + 1, 2 * n + 2),
        OTHER: slice(2 * n + 2, 2 * n + 2 + max(1, *(len(sample.others) for sample in samples))),
    }
    places = np.empty((len(samples), spans[OTHER].stop, 2))
    spare = np.zeros(places.shape[:2], np.bool_)
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
        places[i, spans[OTHER]] = np.resize(others, places[i, spans[OTHER]].shape)
        spare[i, spans[OTHER].start + len(others) :] = True
    return Centres(places, spans, missing, spare)


def background_px(sample: Sample) -> NDArray[np.float64]:
    """Return the centres of all pixels that lie in no box, shape (pixels, 2) as (x, y)."""
    width, height = sample.size_px
    x, y = np.arange(width) + 0.5, np.arange(height) + 0.5
    is_free = np.ones((height, width), np.bool_)
    for box in (sample.reference.box, sample.target.box, *sample.others):
        is_free[np.ix_((y >= box.y0) & (y < box.y1), (x >= box.x0) & (x < box.x1))] = False
    rows, columns = np.nonzero(is_free)
    return np.stack([x[columns], y[rows]], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """All maps as seen from the centres of one condition."""

    errors: NDArray[np.float64]
    """Each sample's mean over centres and draws, shape (samples, keys)."""
    hits: NDArray[np.float64]
    compass: DirectionMass
    """Shape (samples that have such a centre, centres, columns)."""
    batch: ControlBatch
    missing: int
    """Samples that have no such centre."""

    @classmethod
    def of(
        cls,
        batch: ControlBatch,
        compass: DirectionMass,
        errors: NDArray[np.float64],
        missing: NDArray[np.bool_],
    ) -> _Seen:
        means = [_sample_means(batch.over_draws(values), missing) for values in (errors, hits(errors))]
        return cls(means[0], means[1], compass[~missing], batch, int(missing.sum()))

    def error(self, k: int) -> Values:
        """Return the errors of the map with this number."""
        return Values.of(self.errors[:, k], self.batch.clusters)


def _centre_rows(
    key: str, projection: str, seen: Mapping[str, _Seen], batch: ControlBatch, seed: int
) -> list[ControlRow]:
    """Return the rows of one map."""
    k, at = batch.keys.index(key), batch.uniform_of(key)
    true, uniform_true = seen[TRUE].error(k), seen[TRUE].error(at)
    rows = []
    for name, view in seen.items():
        build = RowBuilder(seed)
        own, uniform = view.error(k), view.error(at)
        build.mean("dae", own)
        build.mean("edge_accuracy", Values.of(view.hits[:, k], batch.clusters))
        if k != at:
            build.mean("excess_dae", own - uniform)
        if name != TRUE:
            build.difference("centre_delta", own, true)
            if k != at:
                build.difference("centre_delta_excess", own - true, uniform - uniform_true)
            build.flip_test("true_is_better", own, true, "greater")
            build.flip_test("two_sided", own, true, "two-sided")
        reason = NO_BACKGROUND if name == BACKGROUND else NO_OTHER
        build.leave_out(view.compass[:, :, view.batch.column(key)], {reason: view.missing})
        rows.append(build.row(key, projection, name))
    return rows


def _sample_means(values: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean over each sample's centres that have a value, shape (samples, keys); NaN if there are none."""
    counts = (~np.isnan(values)).sum(axis=1)
    means = np.nansum(values, axis=1) / np.maximum(counts, 1)
    return np.where((counts == 0) | missing[:, None], np.nan, means)


# The coloured squares of A.16: is the compass the same whatever the angle between them?
#
#     same peak        share of compasses with the most frequent peak; 1 for a map that never moves, around one centre
#     JSD from mean    Jensen–Shannon divergence of each compass from the mean of all, in bits
#     η² of the angle  share of the compasses' variation that lies between the nominal angles
#
# Every picture is drawn anew, so every picture is a unit of its own.


CONDITION = "squares"
NOT_EXPLAINED = "no η² of the angle: one picture per angle, one angle only, or compasses all alike"


def score_squares(samples: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0) -> ControlScore:
    """Score the squares.

    Args:
        samples: Samples of `theodolite.instruments.compass.data.drawn.coloured_squares`.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and the bootstrap of η².
    """
    batch = ControlBatch(samples, shared_keys(samples, methods), seed=seed)
    centres = [[sample.target.box.centre_px] for sample in samples]
    n_angles = len({sample.group for sample in samples})
    right = np.array([sample.is_correct for sample in samples])
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        compass = batch.compass(projection)
        false = batch.compass(projection, centres_px=centres)[:, 0]
        by_column = errors_of(compass, projection)
        errors, edge_hits = batch.over_draws(by_column), batch.over_draws(hits(by_column))
        from_target = batch.over_draws(errors_of(false, projection))
        rows.append(answer_row(CONDITION, right, batch.clusters, projection))
        for k, key in enumerate(batch.keys):
            build = RowBuilder(seed)
            column, at = batch.column(key), batch.uniform_of(key)
            build.mean("dae", Values.of(errors[:, k], batch.clusters))
            if k != at:
                build.mean("excess_dae", Values.of(errors[:, k] - errors[:, at], batch.clusters))
            build.mean("edge_accuracy", Values.of(edge_hits[:, k], batch.clusters))
            if not batch.is_drawn(key):
                _add_likeness(build, compass[:, column], batch, projection)
            build.leave_out(compass[:, column])
            rows.append(build.row(key, projection.name, CONDITION))
            wrong = RowBuilder(seed)
            wrong.mean("dae", Values.of(from_target[:, k], batch.clusters))
            wrong.leave_out(false[:, column])
            rows.append(wrong.row(key, projection.name, FALSE_REFERENCE))
    return ControlScore(
        "squares",
        "Does the compass distinguish the places of two coloured squares?",
        tuple(rows),
        (
            f"{len(samples)} pictures at {n_angles} angles.",
            f"η² of the angle is about {(n_angles - 1) / max(1, len(samples) - 1):.2f} by chance alone.",
        ),
    )


def _add_likeness(
    build: RowBuilder, compass: DirectionMass, batch: ControlBatch, projection: ControlProjection
) -> None:
    """Add how similar the compasses of all pictures are, and how much of their variation the angle explains."""
    kept = compass.is_kept
    if not kept.any():
        return
    clusters = np.asarray(batch.clusters)[kept].tolist()
    peaks = peaks_of(compass[kept], projection).round(6)
    values, counts = np.unique(peaks, return_counts=True)
    build.mean("same_peak", Values.of((peaks == values[counts.argmax()]).astype(np.float64), clusters))
    shares = compass.distribution[kept]
    from_mean = stats.jensen_shannon_divergence(shares, shares.mean(axis=0))
    build.mean("divergence_from_mean", Values.of(from_mean, clusters))
    angles = [sample.group for sample, there in zip(batch.samples, kept, strict=True) if there]
    if len(angles) > len(set(angles)) > 1 and np.ptp(shares, axis=0).max() > 0:
        build.estimates["eta_squared"] = stats.eta_squared(shares, angles, clusters=clusters, seed=build.seed)
    else:
        build.leave_out({NOT_EXPLAINED: len(angles)})


# Swaps: another reference for the same target, or reference and target exchanged.
#
# reference-swap   the same target, asked about from another reference of the same picture (Table 7)
# swap-roles       reference and target exchanged in the question
# swap-places      reference and target exchanged in the picture
#
#     peak shift   share of pairs of references whose compasses have different peaks
#     tracking     |(peak₂ − peak₁) − (θ₂ − θ₁)|: the angle between the peak's turn and the turn of the true direction
#     reversal     share of pairs whose peak afterwards lies within 45° of the opposite of what it was
#     JSD          Jensen–Shannon divergence of the two compasses, in bits
#
# In a reference swap the centre and the question change at once. Beside the paper's number (``both``), ``question`` compares the
# two maps from one centre, and ``centre`` compares one map from two centres.
#
# After exchanging reference and target, ``re-centred`` takes the new reference as the centre, as the paper does: a map that does
# not change at all may then turn because of the new centre alone, and the uniform map's row shows by how much. ``fixed centre``
# keeps A's centre for both maps, so that only a change of the map can turn the peak.


BOTH, QUESTION, CENTRE = "both", "question", "centre"
RECENTRED, FIXED = "re-centred", "fixed centre"
SWAP_QUESTIONS = {
    SWAP_ROLES: "Does the compass reverse when reference and target change roles in the question?",
    SWAP_PLACES: "Does the compass reverse when reference and target change places in the picture?",
}


@dataclass(frozen=True, slots=True, eq=False)
class _SharedTargets:
    """Ordered pairs of samples that share picture, target and prompt."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    group: NDArray[np.int64]
    """The group of each pair."""
    clusters: list[str]
    """The picture of each group."""

    def per_group(self, values: NDArray[np.float64]) -> Values:
        """Return the mean over each group's pairs (and over draws, if there are any) that have a value; NaN for a group with none."""
        if values.ndim > 1:
            counts = (~np.isnan(values)).sum(axis=1)
            values = np.where(counts > 0, np.nansum(values, axis=1) / np.maximum(counts, 1), np.nan)
        there = ~np.isnan(values)
        n = len(self.clusters)
        counts = np.bincount(self.group[there], minlength=n)
        sums = np.bincount(self.group[there], values[there], minlength=n)
        return Values.of(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), self.clusters)


def reference_swap(samples: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0) -> ControlScore:
    """Score the reference swap on stored maps.

    Args:
        samples: Plain samples of a run.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and sectors.

    Raises:
        NothingToScoreError: No target has two references.
    """
    pairs, used = _find_pairs(samples)
    chosen = [samples[i] for i in used]
    batch = ControlBatch(chosen, shared_keys(chosen, methods), seed=seed)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        rows += _method_rows(batch, pairs, projection, seed)
        rows += _baseline_rows(chosen, pairs, projection, seed)
    left = len(samples) - len(chosen)
    return ControlScore(
        "reference-swap",
        "Does the compass turn when the same target is asked about from another reference?",
        tuple(rows),
        (
            f"{len(pairs.clusters)} groups of the same target with several references.",
            f"{left} of {len(samples)} samples have no partner.",
        ),
    )


def _find_pairs(samples: Sequence[Sample]) -> tuple[_SharedTargets, list[int]]:
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, sample in enumerate(samples):
        groups.setdefault((sample.cluster, sample.prompt, sample.target.name, sample.target.box), []).append(
            i
        )
    members = [group for group in groups.values() if len(group) > 1]
    if not members:
        raise NothingToScoreError(
            "no target of the run has two references in one picture, so there is nothing to swap"
        )
    used = sorted(i for group in members for i in group)
    position = {i: at for at, i in enumerate(used)}
    pairs = [
        (position[i], position[j], g) for g, group in enumerate(members) for i, j in permutations(group, 2)
    ]
    first, second, group_of = np.array(pairs, np.int64).T
    return _SharedTargets(first, second, group_of, [samples[group[0]].cluster for group in members]), used


def _method_rows(
    batch: ControlBatch, pairs: _SharedTargets, projection: ControlProjection, seed: int
) -> list[ControlRow]:
    own = batch.compass(projection)
    first, second = pairs.first, pairs.second
    from_first, from_second = own[first], own[second]
    # The map of the first sample around the second's reference.
    boxes = [batch.samples[j].reference.box for j in second]
    crossed = ControlBatch([batch.samples[i] for i in first], batch.method_keys, seed=seed)
    moved = crossed.compass(projection, references=boxes)
    against = {BOTH: (from_first, from_second), QUESTION: (from_second, moved), CENTRE: (from_first, moved)}
    rows = []
    for key in batch.keys:
        own_columns = batch.columns(key)
        for name, (one, other) in against.items():
            rows.append(_swap_row((key, name), one[:, own_columns], other[:, own_columns], pairs, projection))
    return rows


def _baseline_rows(
    samples: Sequence[Sample], pairs: _SharedTargets, projection: ControlProjection, seed: int
) -> list[ControlRow]:
    """Return the sector of the truth, and a random sector."""
    references, targets = [s.reference.box for s in samples], [s.target.box for s in samples]
    seeds = [sample_seed(seed, sample.item_id) for sample in samples]
    drawn = random_sector(references, targets, seeds=seeds, options=projection.options)
    true = np.asarray(drawn.true_deg)[:, :1]
    nearest = stats.circular_distance(true, drawn.centres_deg).argmin(axis=1)[:, None]
    kept = np.full(true.shape, KEPT, np.uint8)
    oracle = DirectionMass(
        np.eye(projection.options.sectors)[nearest], drawn.centres_deg, true, np.ones(true.shape), kept
    )
    return [
        _swap_row((name, BOTH), compass[pairs.first], compass[pairs.second], pairs, projection)
        for name, compass in ((ORACLE, oracle), (RANDOM_SECTOR, drawn))
    ]


def _swap_row(
    labels: tuple[str, str],
    one: DirectionMass,
    other: DirectionMass,
    pairs: _SharedTargets,
    projection: ControlProjection,
) -> ControlRow:
    """Return one row; the compasses have shape (pairs, draws)."""
    key, condition = labels
    build = RowBuilder(seed=0)
    peaks = peaks_of(one, projection), peaks_of(other, projection)
    there = ~np.isnan(peaks[0]) & ~np.isnan(peaks[1])
    shift = np.full(there.shape, np.nan)
    shift[there] = stats.circular_distance(peaks[0][there], peaks[1][there]) > 1e-6
    build.mean("peak_shift", pairs.per_group(shift))
    build.mean("divergence", pairs.per_group(divergences(one, other)))
    if condition == BOTH and one.true_deg is not None and other.true_deg is not None:
        turn = np.full(there.shape, np.nan)
        truth = other.true_deg - one.true_deg
        turn[there] = stats.circular_distance((peaks[1] - peaks[0])[there], truth[there])
        build.mean("tracking", pairs.per_group(turn))
    build.leave_out(one[:, 0], other[:, 0])
    return build.row(key, projection.name, condition)


def score_swap(
    control: str,
    swapped: Sequence[Sample],
    plain: Sequence[Sample],
    *,
    methods: Sequence[str] = (),
    seed: int = 0,
) -> ControlScore:
    """Score swap-roles or swap-places.

    Args:
        control: Which of the two.
        swapped: The samples after the swap.
        plain: The samples before it.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and the sign-flip test.

    Raises:
        NothingToScoreError: No pair was measured both before and after.
    """
    by_base = {base_of(sample): sample for sample in plain}
    after = [sample for sample in swapped if base_of(sample) in by_base]
    if not after:
        raise NothingToScoreError(f"{control}: no pair was measured both plain and swapped")
    before = [by_base[base_of(sample)] for sample in after]
    keys = shared_keys([*before, *after], methods)
    batches = ControlBatch(before, keys, seed=seed), ControlBatch(after, keys, seed=seed)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        original = batches[0].compass(projection)
        boxes = [sample.reference.box for sample in before], [sample.target.box for sample in before]
        conditions = {
            RECENTRED: batches[1].compass(projection),
            FIXED: batches[1].compass(projection, references=boxes[0], targets=boxes[1]),
        }
        for name, compass in conditions.items():
            rows += _reversal_rows(name, original, compass, batches[1], projection, seed)
    notes = [f"{len(after)} pairs."]
    if len(after) < len(swapped):
        notes.append(f"{len(swapped) - len(after)} swapped samples are left out: {NO_PLAIN}.")
    return ControlScore(control, SWAP_QUESTIONS[control], tuple(rows), tuple(notes))


def _reversal_rows(
    condition: str,
    before: DirectionMass,
    after: DirectionMass,
    batch: ControlBatch,
    projection: ControlProjection,
    seed: int,
) -> list[ControlRow]:
    peaks = peaks_of(before, projection), peaks_of(after, projection)
    there = ~np.isnan(peaks[0]) & ~np.isnan(peaks[1])
    distance = np.full(there.shape, np.nan)
    distance[there] = stats.circular_distance(peaks[0][there] + 180.0, peaks[1][there])
    reversed_ = batch.over_draws(hits(distance))
    divergence = batch.over_draws(divergences(before, after))
    errors = batch.over_draws(errors_of(after, projection))
    clusters = batch.clusters
    rows = []
    for k, key in enumerate(batch.keys):
        build = RowBuilder(seed)
        at, column = batch.uniform_of(key), batch.column(key)
        own = Values.of(reversed_[:, k], clusters)
        build.mean("reversal", own)
        build.mean("divergence", Values.of(divergence[:, k], clusters))
        if condition == RECENTRED:
            build.mean("dae", Values.of(errors[:, k], clusters))
            if k != at:  # from a fixed centre the uniform map cannot turn at all
                build.mean("excess_dae", Values.of(errors[:, k] - errors[:, at], clusters))
                build.flip_test("over_uniform", own, Values.of(reversed_[:, at], clusters), "greater")
        build.leave_out(before[:, column], after[:, column])
        rows.append(build.row(key, projection.name, condition))
    return rows


# Prompt-direction intervention (section 5.1): the same picture and question, another answer explained.
#
#     PTA                   share of probes whose peak is nearest to the direction whose logit is explained
#     opposite divergence   between the compasses of left and right, and of above and below, in bits
#
# A map that does not depend on the probe is right for exactly one of the directions, so its PTA is 1 / (number of directions),
# whatever the map. The test is against that chance level.


def prompt_direction(
    samples: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0
) -> ControlScore:
    """Score the intervention on maps for every option.

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
    with_target, without_target = _methods(samples, methods, len(names))
    rows = [
        _row(method, projection, samples, asked, seed) for projection in PROJECTIONS for method in with_target
    ]
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
    """Return True if a sample was measured for every option."""
    return any(
        map_key(split_key(key)[0], f"option:{len(sample.directions) - 1}") in sample.maps
        for key in sample.maps
    )


def _methods(
    samples: Sequence[Sample], methods: Sequence[str], n_options: int
) -> tuple[list[str], list[str]]:
    """Return the methods with a map for every option of every sample, and those without a target."""
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
) -> DirectionMass:
    """Return the compass of shape (samples, options)."""
    maps = []
    for sample in samples:
        own = [sample.maps[map_key(method, f"option:{i}")] for i in range(n_options)]
        maps.append(TokenMap(np.stack([relevance.values for relevance in own]), own[0].grid))
    return project_batch(
        maps,
        references=[sample.reference.box for sample in samples],
        targets=[sample.target.box for sample in samples],
        options=projection.options,
    )


def _opposite(compass: DirectionMass, asked: Vocabulary) -> NDArray[np.float64]:
    """Return the mean over a sample's pairs of opposite probes, shape (samples,); NaN if there is none."""
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
