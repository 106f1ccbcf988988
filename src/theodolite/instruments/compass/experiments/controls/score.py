"""All controls that a run's stored maps allow. No model is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.instruments.compass.experiments.controls.interventions import (
    base_of,
    centre_control,
    has_option_maps,
    prompt_direction,
    reference_swap,
    score_family,
    score_squares,
    score_swap,
)
from theodolite.instruments.compass.experiments.controls.plan import (
    MOVE_A,
    PROMPT_DIRECTION,
    RELOCATION,
    SQUARES,
    SWAP_PLACES,
    SWAP_ROLES,
    TRANSLATION,
)
from theodolite.instruments.compass.experiments.controls.results import (
    PROJECTIONS,
    ControlBatch,
    ControlRow,
    ControlScore,
    NothingToScoreError,
    RowBuilder,
    shared_keys,
)
from theodolite.instruments.compass.measure import Sample, read_samples, split_key
from theodolite.instruments.compass.questions import PLAIN
from theodolite.runs import Run

CENTRES, REFERENCE_SWAP, VARIANCE = "centres", "reference-swap", "variance"
CONTROLS = (
    PROMPT_DIRECTION,
    CENTRES,
    REFERENCE_SWAP,
    MOVE_A,
    TRANSLATION,
    VARIANCE,
    SWAP_ROLES,
    SWAP_PLACES,
    RELOCATION,
    SQUARES,
)
"""Every control, in the order of tables."""


@dataclass(frozen=True, slots=True)
class ControlScores:
    """The controls of a run."""

    scores: tuple[ControlScore, ...]
    unscored: Mapping[str, str]
    """Control to the reason why it has no score."""

    def score(self, control: str) -> ControlScore:
        """Return the score of one control.

        Raises:
            UsageError: If it was not scored.
        """
        for score in self.scores:
            if score.control == control:
                return score
        raise UsageError(f"{control} was not scored: {self.unscored.get(control, 'it was not asked for')}")


def score_controls(
    run: Run,
    *,
    controls: Sequence[str] = CONTROLS,
    methods: Sequence[str] = (),
    n_centres: int = 100,
    seed: int = 0,
) -> ControlScores:
    """Score a run's controls from its stored maps.

    Args:
        run: A compass run, with edited pictures or without.
        controls: Some of `CONTROLS`.
        methods: Which methods; all if none is named.
        n_centres: Random centres per sample.
        seed: Seed of centres, random maps, tests and bootstraps.
    """
    unknown = [name for name in controls if name not in CONTROLS]
    if unknown or not controls:
        raise UsageError(f"controls are some of {', '.join(CONTROLS)}; got {', '.join(controls) or 'none'}")
    samples = list(read_samples(run))
    names = dict.fromkeys(split_key(key)[0] for sample in samples for key in sample.maps)
    missing = [method for method in methods if method not in names]
    if missing:
        raise UsageError(f"the run has no maps of {missing[0]!r}; it has {', '.join(names) or 'none at all'}")
    scorers = _scorers(_SamplesByControl(samples), {"methods": tuple(methods), "seed": seed}, n_centres)
    scores: list[ControlScore] = []
    unscored: dict[str, str] = {}
    for name in (name for name in CONTROLS if name in controls):
        try:
            scores.append(scorers[name]())
        except NothingToScoreError as error:
            unscored[name] = str(error)
    return ControlScores(tuple(scores), unscored)


def controls_tables(
    run: Run, *, projections: Sequence[str], controls: Sequence[str] = CONTROLS, **how: Any
) -> list[Table]:
    """Return the tables of a run's controls: the feasible edits, every control, and what could not be scored.

    Args:
        run: A compass run, with edited pictures or without.
        projections: Which of ``paper`` and ``sound``.
        controls: Some of `CONTROLS`.
        how: As for `score_controls`.
    """
    scored = score_controls(run, controls=controls, **how)
    tables = [table for score in scored.scores for table in score.tables(projections, model=run.info.model)]
    planned = run.info.settings.get("edits") or ()
    if planned:
        tables.insert(0, edits_table(planned))
    if scored.unscored:
        tables.append(
            Table.of(
                "compass.controls_unscored",
                "Controls that could not be scored",
                [Column("control", "control"), Column("reason", "reason")],
                list(map(list, scored.unscored.items())),
            )
        )
    return tables


def edits_table(reports: Sequence[Mapping[str, Any]]) -> Table:
    """Build a table of how many edits of each control could be made."""
    return Table.of(
        "compass.edits",
        "Edits of the pictures",
        [
            Column("control", "edit"),
            Column("pairs", "pairs", "count"),
            Column("edits", "made", "count"),
            Column("cut_by_box", "cut out by box", "count"),
            Column("excluded", "not made"),
        ],
        [
            [
                report["control"],
                report["pairs"],
                report["edits"],
                report["cut_by_box"],
                "; ".join(f"{count} × {reason}" for reason, count in report["excluded"].items()),
            ]
            for report in reports
        ],
    )


class _SamplesByControl:
    """A run's samples by control."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.plain = [sample for sample in samples if sample.condition == PLAIN]
        self._edited: dict[str, list[Sample]] = {}
        for sample in samples:
            if "control" in sample.meta:
                self._edited.setdefault(str(sample.meta["control"]), []).append(sample)

    def edited(self, control: str) -> list[Sample]:
        """Return the samples of a control with edited pictures."""
        samples = self._edited.get(control, [])
        if not samples:
            raise NothingToScoreError(
                "the run holds none of its edits; measure them with `theodolite compass run --controls`"
            )
        return samples

    def all_plain(self) -> list[Sample]:
        """Return the samples of unedited pictures."""
        if not self.plain:
            raise NothingToScoreError("the run holds no plain picture")
        return self.plain

    def with_options(self) -> list[Sample]:
        """Return the samples measured for every option."""
        samples = [sample for sample in self.all_plain() if has_option_maps(sample)]
        if not samples:
            options = ",".join(f"option:{i}" for i in range(len(self.plain[0].directions)))
            raise NothingToScoreError(
                f"the run holds no maps for every option; measure with --targets {options}"
            )
        return samples

    def squares(self) -> list[Sample]:
        """Return the coloured squares: those of a control, or a run on squares alone."""
        own = [sample for sample in self.plain if sample.meta.get("source") == SQUARES]
        return own or self.edited(SQUARES)


def _scorers(
    parts: _SamplesByControl, how: dict[str, Any], n_centres: int
) -> dict[str, Callable[[], ControlScore]]:
    def family(name: str) -> Callable[[], ControlScore]:
        return lambda: score_family(name, parts.edited(name), parts.plain, **how)

    def swap(name: str) -> Callable[[], ControlScore]:
        return lambda: score_swap(name, parts.edited(name), parts.all_plain(), **how)

    return {
        PROMPT_DIRECTION: lambda: prompt_direction(parts.with_options(), **how),
        CENTRES: lambda: centre_control(parts.all_plain(), n_centres=n_centres, **how),
        REFERENCE_SWAP: lambda: reference_swap(parts.all_plain(), **how),
        MOVE_A: family(MOVE_A),
        TRANSLATION: family(TRANSLATION),
        VARIANCE: lambda: variance_control(parts.edited(MOVE_A), parts.edited(TRANSLATION), **how),
        SWAP_ROLES: swap(SWAP_ROLES),
        SWAP_PLACES: swap(SWAP_PLACES),
        RELOCATION: family(RELOCATION),
        SQUARES: lambda: score_squares(parts.squares(), **how),
    }


# Variance partition (section 5.1): how much of the compass does direction explain, and how much location?


DIRECTION, LOCATION = "direction", "location"
NO_VARIATION = (
    "no share to explain: the compasses do not vary, or too few pictures have both levels of a contrast"
)
_NOTHING = 1e-9
"""Shares that differ by less are equal up to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class FamilyResponses:
    """The compasses of one family of edits."""

    values: NDArray[np.float64]
    """Shape (probes, K)."""
    levels: NDArray[np.str_]
    """Shape (probes,): the factor's level."""
    bases: NDArray[np.str_]
    """Shape (probes,): the pair that was edited."""
    clusters: NDArray[np.str_]
    """Shape (probes,): its picture."""

    @classmethod
    def of(
        cls, values: ArrayLike, levels: Sequence[str], bases: Sequence[str], clusters: Sequence[str]
    ) -> FamilyResponses:
        """Create responses from plain lists.

        Args:
            values: Shape (probes, K).
            levels: The level of each probe.
            bases: The pair of each probe.
            clusters: The picture of each probe.

        Raises:
            UsageError: There is not one of each per probe.
        """
        array = np.asarray(values, np.float64)
        sizes = {len(array), len(levels), len(bases), len(clusters)}
        if array.ndim != 2 or len(sizes) > 1:
            raise UsageError(
                f"responses (probes, K) need a level, a pair and a picture per probe, got {array.shape}, {len(levels)}, "
                f"{len(bases)} and {len(clusters)}"
            )
        return cls(array, *(np.asarray(labels, np.str_) for labels in (levels, bases, clusters)))

    def where(self, mask: NDArray[np.bool_]) -> FamilyResponses:
        """Return the selected probes."""
        return FamilyResponses(self.values[mask], self.levels[mask], self.bases[mask], self.clusters[mask])

    def centred(self) -> FamilyResponses:
        """Subtract each pair's own mean, and drop pairs with a single probe."""
        _, codes, counts = np.unique(self.bases, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), self.values.shape[1]))
        np.add.at(sums, codes, self.values)
        own = FamilyResponses(
            self.values - (sums / counts[:, None])[codes], self.levels, self.bases, self.clusters
        )
        return own.where(counts[codes] > 1)


@dataclass(frozen=True, slots=True)
class VariancePartition:
    """What the two factors explain."""

    eta_squared: dict[str, stats.Estimate | None]
    """Factor to share of all variation of its family; None if the family does not vary."""
    consistent: dict[str, stats.Estimate | None]
    """Factor to the share of the variation within pairs that all pairs have in common."""
    direction_share: stats.Estimate | None
    """SS_direction / (SS_direction + SS_location) within images; None if neither varies."""
    direction_share_per_df: stats.Estimate | None
    """The same with each pair's sums divided by its probes less one."""
    excluded: dict[str, int]


def partition(direction: FamilyResponses, location: FamilyResponses, *, seed: int = 0) -> VariancePartition:
    """Partition the variation of two families.

    Args:
        direction: Probes whose direction changes.
        location: Probes whose location changes.
        seed: Seed of the bootstrap.

    Raises:
        NothingToScoreError: Fewer than two pairs have both families.
    """
    families = {DIRECTION: direction, LOCATION: location}
    centred = {name: family.centred() for name, family in families.items()}
    both = sorted(set(centred[DIRECTION].bases) & set(centred[LOCATION].bases))
    if len(both) < 2:
        raise NothingToScoreError(
            f"{len(both)} pairs have both families of edits; a partition needs at least two"
        )
    picture = dict(zip(direction.bases.tolist(), direction.clusters.tolist(), strict=True))
    clusters = [picture[base] for base in both]
    return VariancePartition(
        {name: _explained(family, seed) for name, family in families.items()},
        {name: _consistent(family, seed) for name, family in families.items()},
        _share(centred, both, clusters, seed, per_df=False),
        _share(centred, both, clusters, seed, per_df=True),
        {
            f"pairs without the family {other}": len(set(centred[name].bases) - set(both))
            for name, other in ((DIRECTION, LOCATION), (LOCATION, DIRECTION))
            if set(centred[name].bases) - set(both)
        },
    )


def _share(
    centred: Mapping[str, FamilyResponses],
    both: Sequence[str],
    clusters: Sequence[str],
    seed: int,
    *,
    per_df: bool,
) -> stats.Estimate | None:
    """Return direction's part of both factors' sums of squares, over the pairs that have both families."""
    squares = {name: _by_base(family, per_df=per_df) for name, family in centred.items()}
    first, second = (np.array([squares[name][base] for base in both]) for name in (DIRECTION, LOCATION))
    if (first + second).max() < _NOTHING**2:
        return None
    return stats.bootstrap((first, first + second), "ratio", clusters=clusters, bounds=stats.SHARE, seed=seed)


def _explained(family: FamilyResponses, seed: int) -> stats.Estimate | None:
    """Return η²; None if nothing varies."""
    if np.ptp(family.values, axis=0).max() < _NOTHING:
        return None
    try:
        return stats.eta_squared(family.values, family.levels, clusters=family.clusters, seed=seed)
    except UsageError:  # undefined on too many resamples, or a single level
        return None


def _by_base(family: FamilyResponses, *, per_df: bool) -> dict[str, float]:
    """Return each pair's sum of squares around its own mean, over probes and sectors."""
    bases, codes, counts = np.unique(family.bases, return_inverse=True, return_counts=True)
    sums = np.bincount(codes, (family.values**2).sum(axis=1))
    return dict(zip(bases.tolist(), (sums / (counts - 1) if per_df else sums).tolist(), strict=True))


def _consistent(family: FamilyResponses, seed: int) -> stats.Estimate | None:
    """Return the part of the contrasts that repeats from picture to picture; None if nothing varies."""
    contrasts = _contrasts(family)
    if contrasts is None:
        return None
    try:
        estimate = stats.bootstrap(
            contrasts, stats.BatchStatistic(_repeating, form="weights"), bounds=stats.SHARE, seed=seed
        )
    except UsageError:  # undefined on too many resamples: no two pictures of them share a contrast
        return None
    return replace(estimate, n_items=len(family.values))


def _contrasts(family: FamilyResponses) -> tuple[NDArray[np.float64], ...] | None:
    """Return per picture: sums of its contrasts (pictures, C, K), sums of their squares (pictures, C), and counts (pictures, C)."""
    names, levels = np.unique(family.levels, return_inverse=True)
    pictures, clusters = np.unique(family.clusters, return_inverse=True)
    order = {pair: c for c, pair in enumerate(combinations(range(len(names)), 2))}
    sums = np.zeros((len(pictures), len(order), family.values.shape[1]))
    squares, numbers = np.zeros(sums.shape[:2]), np.zeros(sums.shape[:2])
    for base in np.unique(family.bases):
        own = np.flatnonzero(family.bases == base)
        for i, j in combinations(own[np.argsort(levels[own], kind="stable")], 2):
            if levels[i] == levels[j]:
                continue
            cell = clusters[i], order[int(levels[i]), int(levels[j])]
            step = family.values[i] - family.values[j]
            sums[cell] += step
            squares[cell] += step @ step
            numbers[cell] += 1
    if len(pictures) < 2 or squares.max(initial=0.0) < _NOTHING**2:
        return None
    return sums, squares, numbers


def _repeating(
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    numbers: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Compute Σ N U / Σ N V per row of weights (rows, pictures); copies of one picture are never compared."""
    together = np.einsum("rp,pck->rck", weights, sums)
    count = weights @ numbers
    pairs = count**2 - weights**2 @ numbers**2
    products = (together**2).sum(axis=-1) - weights**2 @ (sums**2).sum(axis=-1)
    repeated = np.divide(products, pairs, out=np.zeros_like(products), where=pairs > 0)
    usable = np.where(pairs > 0, count, 0.0)
    size = np.divide(weights @ squares, count, out=np.zeros_like(count), where=count > 0)
    return np.asarray((usable * repeated).sum(axis=1) / (usable * size).sum(axis=1))


def variance_control(
    moved: Sequence[Sample], translated: Sequence[Sample], *, methods: Sequence[str] = (), seed: int = 0
) -> ControlScore:
    """Score the partition on the samples of fix-b-move-a and of joint-translation.

    Args:
        moved: B stays, A moves.
        translated: Both move.
        methods: Which methods; all if none is named.
        seed: Seed of random maps and the bootstrap.
    """
    samples = [*moved, *translated]
    batch = ControlBatch(samples, shared_keys(samples, methods), seed=seed)
    levels = [str(sample.meta["probe"]) for sample in samples]
    bases = ["/".join(base_of(sample)) for sample in samples]
    is_direction = np.arange(len(samples)) < len(moved)
    rows: list[ControlRow] = []
    for projection in PROJECTIONS:
        compass = batch.compass(projection)
        for key in batch.keys:
            if batch.is_drawn(key):
                continue  # what noise gives is known: half of the shares, none of it consistent
            own = compass[:, batch.column(key)]
            responses = FamilyResponses.of(own.distribution, levels, bases, batch.clusters)
            explained = partition(
                responses.where(is_direction & own.is_kept),
                responses.where(~is_direction & own.is_kept),
                seed=seed,
            )
            for name in (DIRECTION, LOCATION):
                build = RowBuilder(seed)
                build.estimates |= _estimates(explained, name)
                build.leave_out(explained.excluded, own)
                if len(build.estimates) < 4:
                    build.leave_out({NO_VARIATION: len(samples)})
                rows.append(build.row(key, projection.name, name))
    return ControlScore(
        "variance",
        "How much of the compass does the direction explain, and how much the location?",
        tuple(rows),
        (f"{len(moved)} probes of direction, {len(translated)} of location.",),
    )


def _estimates(explained: VariancePartition, name: str) -> dict[str, stats.Estimate]:
    shares = [explained.direction_share, explained.direction_share_per_df]
    if name == LOCATION:
        shares = [None if share is None else _complement(share) for share in shares]
    named = {
        "eta_squared": explained.eta_squared[name],
        "consistent": explained.consistent[name],
        "within_image_share": shares[0],
        "within_image_share_per_df": shares[1],
    }
    return {name: estimate for name, estimate in named.items() if estimate is not None}


def _complement(share: stats.Estimate) -> stats.Estimate:
    return replace(share, value=1 - share.value, low=1 - share.high, high=1 - share.low)
