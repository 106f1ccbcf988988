"""What a control finds, and the samples it is computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats
from theodolite.attribution import RelevanceMap
from theodolite.core.errors import UsageError
from theodolite.core.scores import column, definition
from theodolite.core.tables import Cell, Column, Table, format_number
from theodolite.geometry import Box
from theodolite.instruments.compass.formulas.baselines import (
    BASELINE_MAPS,
    DRAWS,
    UNIFORM_MAP,
    GridMark,
    baseline_key,
    baseline_maps,
    name_grids,
    sample_seed,
)
from theodolite.instruments.compass.formulas.dae import DirectionMass, Ties, edge_hit
from theodolite.instruments.compass.formulas.projection import (
    PAPER,
    SOUND,
    ProjectionOptions,
    TokenMap,
    project_batch,
)
from theodolite.instruments.compass.measure import Sample, map_key, split_key
from theodolite.instruments.compass.published import PUBLISHED_CONTROLS, known_model

# Samples projected together: the maps of several methods, and beside them the baselines of each method's own grid.


@dataclass(frozen=True, slots=True)
class ControlProjection:
    """A projection, and how ties of its peaks are broken."""

    name: str
    options: ProjectionOptions
    ties: Ties


PROJECTIONS = (ControlProjection("paper", PAPER, "first"), ControlProjection("sound", SOUND, "mean"))


def shared_keys(samples: Sequence[Sample], methods: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the maps for ``gt``, for ``pred`` or without a target that every sample has.

    Args:
        samples: At least one.
        methods: Which methods; all if none is named.

    Raises:
        UsageError: The samples do not have a named method, or share no map.
    """
    names = list(dict.fromkeys(split_key(key)[0] for key in samples[0].maps))
    unknown = [method for method in methods if method not in names]
    if unknown:
        raise UsageError(f"the run has no maps of {unknown[0]!r}; it has {', '.join(names)}")
    wanted = [map_key(name, target) for name in methods or names for target in ("gt", "pred", "")]
    keys = tuple(key for key in wanted if all(key in sample.maps for sample in samples))
    if not keys:
        raise UsageError(
            "no method has a map for gt or pred in every sample; measure with --targets gt,pred or all options"
        )
    return keys


class ControlBatch:
    """Samples with some of their maps and the baselines of every grid.

    Compasses have one column per map, and `DRAWS` columns for the random map of each grid: `over_draws` turns numbers by
    column into numbers by key.
    """

    def __init__(
        self, samples: Sequence[Sample], keys: Sequence[str], *, seed: int, draws: int = DRAWS
    ) -> None:
        self.samples = tuple(samples)
        self.method_keys = tuple(keys)
        self.clusters = [sample.cluster for sample in samples]
        self._stacks: list[list[TokenMap]] = []
        self._spans: dict[str, slice] = {}
        maps = {key: [_need(sample, key) for sample in samples] for key in keys}
        self._grids, names = name_grids(
            [{key: GridMark.of(maps[key][i].grid) for key in keys} for i in range(len(samples))]
        )
        for name in names:
            members = [key for key in keys if self._grids[key] == name]
            stack = []
            for i, sample in enumerate(samples):
                grid = maps[members[0]][i].grid
                seeds = sample_seed(seed, sample.item_id)
                drawn = baseline_maps(grid, sample.target.box, seed=seeds, draws=draws)
                rows = {key: maps[key][i].values[None] for key in members}
                rows |= {baseline_key(baseline, name): drawn[baseline].values for baseline in BASELINE_MAPS}
                stack.append(TokenMap(np.concatenate(list(rows.values())).astype(np.float64), grid))
            self._stacks.append(stack)
            start = sum(span.stop - span.start for span in self._spans.values())
            for key, values in rows.items():
                self._spans[key] = slice(start, start + len(values))
                self._grids[key] = name
                start += len(values)
        self.keys = (*keys, *(key for key in self._spans if key not in maps))

    def columns(self, key: str) -> slice:
        """Return the columns of a key."""
        return self._spans[key]

    def column(self, key: str) -> int:
        """Return the first column of a key."""
        return int(self._spans[key].start)

    def is_drawn(self, key: str) -> bool:
        """Return True for a random map, which has several columns."""
        return bool(self._spans[key].stop - self._spans[key].start > 1)

    def uniform_of(self, key: str) -> int:
        """Return the index, among the keys, of the uniform map of a map's own grid."""
        return self.keys.index(baseline_key(UNIFORM_MAP, self._grids[key]))

    def over_draws(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert numbers by column to numbers by key, shape (..., keys): means over the draws that have a value."""
        out = np.empty((*values.shape[:-1], len(self.keys)))
        for k, key in enumerate(self.keys):
            own = values[..., self._spans[key]]
            there = (~np.isnan(own)).sum(axis=-1)
            out[..., k] = np.where(there > 0, np.nansum(own, axis=-1) / np.maximum(there, 1), np.nan)
        return out

    def __len__(self) -> int:
        return len(self.samples)

    def compass(
        self,
        projection: ControlProjection,
        *,
        references: Sequence[Box] | None = None,
        targets: Sequence[Box] | None = None,
        centres_px: ArrayLike | None = None,
    ) -> DirectionMass:
        """Return the compasses, shape (samples, [centres,] columns).

        Args:
            projection: How maps are projected.
            references: Boxes in place of the samples' own references.
            targets: Boxes in place of the samples' own targets.
            centres_px: As for `project_batch`.
        """
        parts = [
            project_batch(
                maps,
                references=references or [sample.reference.box for sample in self.samples],
                targets=targets or [sample.target.box for sample in self.samples],
                centres_px=centres_px,
                options=projection.options,
            )
            for maps in self._stacks
        ]
        return _joined(parts)


def errors_of(compass: DirectionMass, projection: ControlProjection) -> NDArray[np.float64]:
    """Return DAE of the peaks, shape (...); NaN where a projection was left out."""
    return _where_kept(compass, lambda kept: kept.error_deg(ties=projection.ties))


def peaks_of(compass: DirectionMass, projection: ControlProjection) -> NDArray[np.float64]:
    """Return the peaks in degrees, shape (...); NaN where a projection was left out."""
    return _where_kept(compass, lambda kept: kept.peak_deg(projection.ties))


def hits(errors_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 where an error is at most 45°, 0 where it is larger, NaN where there is none."""
    return np.where(np.isnan(errors_deg), np.nan, edge_hit(np.nan_to_num(errors_deg, nan=180.0)))


def divergences(first: DirectionMass, second: DirectionMass) -> NDArray[np.float64]:
    """Return Jensen–Shannon divergences of compasses of the same shape, in bits; NaN where either was left out."""
    out = np.full(first.shape, np.nan)
    both = first.is_kept & second.is_kept
    if both.any():
        out[both] = first[both].divergence(second[both])
    return out


def _where_kept(
    compass: DirectionMass, readout: Callable[[DirectionMass], NDArray[np.float64]]
) -> NDArray[np.float64]:
    out = np.full(compass.shape, np.nan)
    kept = compass.is_kept
    if kept.any():
        out[kept] = readout(compass[kept])
    return out


def _need(sample: Sample, key: str) -> RelevanceMap:
    if key not in sample.maps:
        raise UsageError(f"the sample {sample.id} ({sample.condition}) has no map {key!r}")
    return sample.maps[key]


def _joined(parts: Sequence[DirectionMass]) -> DirectionMass:
    """Join compasses of the same samples on the last leading axis."""
    truths = [part.true_deg for part in parts if part.true_deg is not None]
    return DirectionMass(
        np.concatenate([part.distribution for part in parts], axis=-2),
        parts[0].centres_deg,
        np.concatenate(truths, axis=-1) if truths else None,
        np.concatenate([part.used_share for part in parts], axis=-1),
        np.concatenate([part.codes for part in parts], axis=-1),
    )


# What a control finds: rows of estimates and tests, with what was left out, and the tables made from them.


Alternative: TypeAlias = Literal["two-sided", "greater", "less"]


COLUMNS: Mapping[str, tuple[str, str]] = {
    "dae": ("compass.dae", ""),
    "excess_dae": ("compass.excess_dae", ""),
    "edge_accuracy": ("compass.ea", ""),
    "centre_delta": ("compass.centre_delta", ""),
    "centre_delta_excess": ("compass.centre_delta_excess", ""),
    "peak_shift": ("compass.peak_shift", ""),
    "tracking": ("compass.tracking", ""),
    "prompt_tracking": ("compass.prompt_tracking", ""),
    "opposite_divergence": ("compass.opposite_divergence", ""),
    "peak_accuracy": ("compass.peak_accuracy", ""),
    "peak_accuracy_correct": ("compass.peak_accuracy", "of right answers"),
    "accuracy": ("compass.right", ""),
    "reversal": ("compass.reversal", ""),
    "divergence": ("compass.divergence", ""),
    "eta_squared": ("compass.eta_squared", ""),
    "consistent": ("compass.consistent", ""),
    "within_image_share": ("compass.direction_share", "within images"),
    "within_image_share_per_df": ("compass.direction_share", "per df"),
    "same_peak": ("compass.same_peak", "same peak"),
    "divergence_from_mean": ("compass.divergence", "JSD from mean"),
}
"""Every number of the controls by its name in JSON: its key, and its heading if it is not that of the definition."""

TESTS: Mapping[str, str] = {
    "true_is_better": "p true is better",
    "two_sided": "p two-sided",
    "over_chance": "p over chance",
    "binomial": "p binomial",
    "over_uniform": "p over uniform",
}
"""Every test by name, with its heading. ``true_is_better``: the true centre has the smaller error. ``two_sided``: the centres
differ. ``over_chance``: above one in the number of directions. ``binomial``: against 25 %, every probe on its own, as in the
paper. ``over_uniform``: more hits than the uniform map. All but the binomial test flip the signs of whole pictures."""


class NothingToScoreError(UsageError):
    """The run lacks what a control needs; the message names it."""


@dataclass(frozen=True, slots=True)
class ControlRow:
    """One method under one condition."""

    method: str
    """``method@target``, or a baseline such as ``uniform-map``."""
    projection: str
    """``paper`` or ``sound``."""
    condition: str
    estimates: Mapping[str, stats.Estimate]
    """By the names of `COLUMNS`."""
    tests: Mapping[str, stats.HypothesisTest] = field(default_factory=dict)
    """By the names of `TESTS`."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Counts of samples, probes or centres that are left out, by reason."""


@dataclass(frozen=True, slots=True)
class ControlScore:
    """The outcome of one control."""

    control: str
    question: str
    """What the control asks."""
    rows: tuple[ControlRow, ...]
    notes: tuple[str, ...] = ()

    def row(self, method: str, condition: str, projection: str = "paper") -> ControlRow:
        """Return the row of a method under a condition.

        Raises:
            KeyError: If there is none.
        """
        for row in self.rows:
            if (row.method, row.condition, row.projection) == (method, condition, projection):
                return row
        raise KeyError((method, condition, projection))

    def tables(self, projections: Sequence[str], *, model: str) -> list[Table]:
        """Build one table per projection; the last has the notes and the paper's numbers for the same model.

        Args:
            projections: Which of ``paper`` and ``sound``.
            model: Its name, to find the paper's numbers.
        """
        tables = [
            self._table(projection)
            for projection in projections
            if any(row.projection == projection for row in self.rows)
        ]
        notes = (*self.notes, *_reasons(self.rows), *_published(self.control, model))
        return [*tables[:-1], *(Table.of(t.name, t.title, t.columns, t.rows, notes) for t in tables[-1:])]

    def _table(self, projection: str) -> Table:
        names = [name for name in COLUMNS if any(name in row.estimates for row in self.rows)]
        tests = [name for name in TESTS if any(name in row.tests for row in self.rows)]
        return Table.of(
            f"compass.control_{self.control.replace('-', '_')}_{projection}",
            f"{self.control}, {projection} projection: {self.question}",
            [
                Column("method", "method"),
                Column("condition", "condition"),
                *(control_column(name) for name in names),
                *(Column(f"p_{name}", TESTS[name], "p") for name in tests),
                Column("clusters", "pictures", "count"),
                Column("items", "items", "count"),
                Column("excluded", "left out", "count"),
            ],
            [_cells(row, names, tests) for row in self.rows if row.projection == projection],
        )


def control_column(name: str) -> Column:
    """Return the column of a number of the controls."""
    key, title = COLUMNS[name]
    return column(key, name, title)


def _cells(row: ControlRow, names: Sequence[str], tests: Sequence[str]) -> list[Cell]:
    first = next(iter(row.estimates.values()), None)
    return [
        row.method,
        row.condition,
        *(row.estimates.get(name) for name in names),
        *(row.tests[name].p_value if name in row.tests else None for name in tests),
        None if first is None else first.n,
        None if first is None else first.n_items,
        sum(row.excluded.values()),
    ]


def _reasons(rows: Sequence[ControlRow]) -> list[str]:
    """Return why something was left out, and in how many rows."""
    exclusions = sorted((reason, count) for row in rows for reason, count in row.excluded.items())
    return [
        f"Left out in {len(counts)} rows, up to {max(counts)} each: {reason}."
        for reason, group in groupby(exclusions, key=lambda entry: entry[0])
        for counts in [[count for _, count in group]]
    ]


def _published(control: str, model: str) -> list[str]:
    paper_model = known_model(model)
    notes = []
    for entry in PUBLISHED_CONTROLS.get(control, ()):
        if entry.model == paper_model:
            values = ", ".join(
                f"{shown.title} {format_number(value, shown.unit)}"
                for name, value in entry.values.items()
                for shown in [control_column(name)]
            )
            notes.append(f"reported: {entry.condition}: {values} ({entry.source})")
    return notes


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """One number per sample; NaN if it has none."""

    numbers: NDArray[np.float64]
    clusters: NDArray[np.str_]
    """The picture of each sample."""

    @classmethod
    def of(cls, numbers: Sequence[float] | NDArray[np.float64], clusters: Sequence[str]) -> Values:
        """Create values from numbers and pictures."""
        return cls(np.asarray(numbers, np.float64), np.asarray(clusters, np.str_))

    def __sub__(self, other: Values) -> Values:
        return Values(self.numbers - other.numbers, self.clusters)

    def where(self, mask: NDArray[np.bool_]) -> Values:
        """Return the selected values."""
        return Values(self.numbers[mask], self.clusters[mask])

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """True for samples that have a value."""
        return ~np.isnan(self.numbers)


def _limits(name: str) -> stats.Bounds | None:
    """Return the bounds of a number; for a difference, those of each side."""
    return definition(COLUMNS[name][0]).limits


class RowBuilder:
    """Collects the estimates and tests of one row, and counts exclusions."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.estimates: dict[str, stats.Estimate] = {}
        self.tests: dict[str, stats.HypothesisTest] = {}
        self.excluded: Counter[str] = Counter()

    def mean(self, name: str, values: Values) -> None:
        """Add the mean over samples that have a value."""
        valued = values.where(values.is_there)
        estimate = stats.clustered_mean(valued.numbers, valued.clusters, bounds=_limits(name))
        if estimate is not None:
            self.estimates[name] = estimate

    def difference(self, name: str, first: Values, second: Values) -> None:
        """Add the mean of first − second over samples that have both."""
        both = first.is_there & second.is_there
        a, b = first.where(both), second.where(both)
        estimate = stats.clustered_difference(a.numbers, b.numbers, a.clusters, bounds=_limits(name))
        if estimate is not None:
            self.estimates[name] = estimate

    def flip_test(
        self, name: str, first: Values, second: Values | float, alternative: Alternative = "greater"
    ) -> None:
        """Add a sign-flip test of paired samples, whole pictures at a time.

        Args:
            name: The name of the test.
            first: One value per sample.
            second: One value per sample, or one number for all.
            alternative: "greater" means that the first is larger.
        """
        other = np.full(first.numbers.shape, second) if isinstance(second, float) else second.numbers
        both = first.is_there & ~np.isnan(other)
        kept = first.where(both)
        if len(np.unique(kept.clusters)) >= 2:
            self.tests[name] = stats.sign_flip_test(
                kept.numbers, other[both], clusters=kept.clusters, alternative=alternative, seed=self.seed
            )

    def leave_out(self, *sources: DirectionMass | Mapping[str, int]) -> None:
        """Count projections without a direction, or other reasons."""
        for source in sources:
            reasons = source.exclusions() if isinstance(source, DirectionMass) else source
            self.excluded.update({str(reason): count for reason, count in reasons.items() if count})

    def row(self, method: str, projection: str, condition: str) -> ControlRow:
        """Return the finished row."""
        return ControlRow(method, projection, condition, self.estimates, self.tests, dict(self.excluded))
