"""What a control finds: rows of estimates and tests, with what was left out, and the tables made from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table, Unit, format_number
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.formulas.projected import DEGREES, EXCESS
from theodolite.instruments.compass.published import PUBLISHED_CONTROLS, known_model

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]


class ControlColumn(NamedTuple):
    """A column of the controls' tables."""

    title: str
    unit: Unit
    key: str
    """Of its definition."""
    words: str
    bounds: stats.Bounds = stats.SHARE
    """Of the values that are averaged; of a difference, those of each side."""


COLUMNS: Mapping[str, ControlColumn] = {
    "dae": ControlColumn("DAE", "degrees", "compass.dae", "direction alignment error", DEGREES),
    "excess_dae": ControlColumn(
        "− uniform",
        "degrees",
        "compass.excess_dae",
        "the error minus the uniform map's; below zero the method knows more than the layout",
        EXCESS,
    ),
    "edge_accuracy": ControlColumn("EA", "share", "compass.ea", "share of errors of at most 45°"),
    "centre_delta": ControlColumn(
        "Δ centre",
        "degrees",
        "compass.centre_delta",
        "error from this centre minus error from the true one; below zero the true one is worse",
        DEGREES,
    ),
    "centre_delta_excess": ControlColumn(
        "Δ centre − uniform",
        "degrees",
        "compass.centre_delta_excess",
        "that difference minus the uniform map's: what is left of it beyond the layout",
        EXCESS,
    ),
    "peak_shift": ControlColumn(
        "peak shift", "share", "compass.peak_shift", "share of pairs of compasses with different peaks"
    ),
    "tracking": ControlColumn(
        "tracking",
        "degrees",
        "compass.tracking",
        "angle between the peak's turn and the boxes' turn; 90° for a peak that knows nothing",
        DEGREES,
    ),
    "prompt_tracking": ControlColumn(
        "PTA",
        "share",
        "compass.prompt_tracking",
        "prompt tracking accuracy: share of probes whose peak is nearest to the probed direction",
    ),
    "opposite_divergence": ControlColumn(
        "opposite JSD",
        "bits",
        "compass.opposite_divergence",
        "divergence between the compasses of two opposite probes",
    ),
    "peak_accuracy": ControlColumn(
        "peak accuracy",
        "share",
        "compass.peak_accuracy",
        "share of probes whose peak lies within 45° of where the target is now",
    ),
    "peak_accuracy_correct": ControlColumn(
        "of right answers", "share", "compass.peak_accuracy", "the same where the model's answer is right"
    ),
    "accuracy": ControlColumn(
        "answers right", "share", "compass.accuracy", "share of right answers of the model"
    ),
    "reversal": ControlColumn(
        "reversal", "share", "compass.reversal", "share of peaks within 45° of the opposite of what they were"
    ),
    "divergence": ControlColumn(
        "JSD", "bits", "compass.divergence", "divergence between compasses of the same pair"
    ),
    "eta_squared": ControlColumn(
        "η²", "share", "compass.eta_squared", "share of all variation that the factor explains"
    ),
    "consistent": ControlColumn(
        "consistent",
        "share",
        "compass.consistent",
        "share of the variation within an image that repeats from image to image; 0 for noise",
    ),
    "within_image_share": ControlColumn(
        "within images",
        "share",
        "compass.direction_share",
        "this factor's part of the two factors' sums of squares within images",
    ),
    "within_image_share_per_df": ControlColumn(
        "per df",
        "share",
        "compass.direction_share",
        "the same per degree of freedom, for families of unequal size",
    ),
    "same_peak": ControlColumn(
        "same peak", "share", "compass.same_peak", "share of compasses with the most frequent peak"
    ),
    "divergence_from_mean": ControlColumn(
        "JSD from mean", "bits", "compass.divergence", "divergence from the mean compass"
    ),
}
"""Every number of the controls, by name."""

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
    """The run does not hold what a control needs; the message says what that is."""


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
        """The row of a method under a condition.

        Raises:
            KeyError: There is none.
        """
        for row in self.rows:
            if (row.method, row.condition, row.projection) == (method, condition, projection):
                return row
        raise KeyError((method, condition, projection))

    def tables(self, projections: Sequence[str], *, model: str) -> list[Table]:
        """One table per projection; the last one has the notes and what the paper reports of the same model."""
        found = [
            self._table(projection)
            for projection in projections
            if any(row.projection == projection for row in self.rows)
        ]
        notes = (*self.notes, *_reasons(self.rows), *_published(self.control, model))
        return [*found[:-1], *(Table.of(t.name, t.title, t.columns, t.rows, notes) for t in found[-1:])]

    def _table(self, projection: str) -> Table:
        names = [name for name in COLUMNS if any(name in row.estimates for row in self.rows)]
        tests = [name for name in TESTS if any(name in row.tests for row in self.rows)]
        return Table.of(
            f"compass.control_{self.control.replace('-', '_')}_{projection}",
            f"{self.control}, {projection} projection: {self.question}",
            [
                Column("method", "method"),
                Column("condition", "condition"),
                *(_column(name) for name in names),
                *(Column(f"p_{name}", TESTS[name], "p") for name in tests),
                Column("clusters", "pictures", "count"),
                Column("items", "items", "count"),
                Column("excluded", "left out", "count"),
            ],
            [_cells(row, names, tests) for row in self.rows if row.projection == projection],
        )


def _column(name: str) -> Column:
    found = COLUMNS[name]
    is_difference = name in {"excess_dae", "centre_delta", "centre_delta_excess"}
    return Column(name, found.title, found.unit, found.key, signed=is_difference)


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
    """Why something was left out, and in how many rows."""
    found = sorted((reason, count) for row in rows for reason, count in row.excluded.items())
    return [
        f"Left out in {len(counts)} rows, up to {max(counts)} each: {reason}."
        for reason, group in groupby(found, key=lambda each: each[0])
        for counts in [[count for _, count in group]]
    ]


def _published(control: str, model: str) -> list[str]:
    known = known_model(model)
    found = []
    for each in PUBLISHED_CONTROLS.get(control, ()):
        if each.model == known:
            values = ", ".join(
                f"{COLUMNS[name].title} {format_number(value, COLUMNS[name].unit)}"
                for name, value in each.values.items()
            )
            found.append(f"reported: {each.condition}: {values} ({each.source})")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """One number per sample; NaN if it has none."""

    numbers: NDArray[np.float64]
    clusters: NDArray[np.str_]
    """The picture of each sample."""

    @classmethod
    def of(cls, numbers: Sequence[float] | NDArray[np.float64], clusters: Sequence[str]) -> Values:
        """From numbers and pictures."""
        return cls(np.asarray(numbers, np.float64), np.asarray(clusters, np.str_))

    def __sub__(self, other: Values) -> Values:
        return Values(self.numbers - other.numbers, self.clusters)

    def where(self, mask: NDArray[np.bool_]) -> Values:
        """Some of them."""
        return Values(self.numbers[mask], self.clusters[mask])

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """True for samples that have a value."""
        return ~np.isnan(self.numbers)


class RowBuilder:
    """Collects the estimates and tests of one row, and counts what is left out."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.estimates: dict[str, stats.Estimate] = {}
        self.tests: dict[str, stats.HypothesisTest] = {}
        self.excluded: Counter[str] = Counter()

    def mean(self, name: str, values: Values) -> None:
        """The mean over samples that have a value."""
        there = values.where(values.is_there)
        found = stats.clustered_mean(there.numbers, there.clusters, bounds=COLUMNS[name].bounds)
        if found is not None:
            self.estimates[name] = found

    def difference(self, name: str, first: Values, second: Values) -> None:
        """The mean of first − second over samples that have both."""
        both = first.is_there & second.is_there
        a, b = first.where(both), second.where(both)
        found = stats.clustered_difference(a.numbers, b.numbers, a.clusters, bounds=COLUMNS[name].bounds)
        if found is not None:
            self.estimates[name] = found

    def flip_test(
        self, name: str, first: Values, second: Values | float, alternative: Alternative = "greater"
    ) -> None:
        """Sign-flip test of paired samples, whole pictures at a time."""
        other = np.full(first.numbers.shape, second) if isinstance(second, float) else second.numbers
        both = first.is_there & ~np.isnan(other)
        kept = first.where(both)
        if len(np.unique(kept.clusters)) >= 2:
            self.tests[name] = stats.sign_flip_test(
                kept.numbers, other[both], clusters=kept.clusters, alternative=alternative, seed=self.seed
            )

    def leave_out(self, *sources: Compass | Mapping[str, int]) -> None:
        """Counts projections without a direction, or other reasons."""
        for source in sources:
            reasons = source.exclusions() if isinstance(source, Compass) else source
            self.excluded.update({str(reason): count for reason, count in reasons.items() if count})

    def row(self, method: str, projection: str, condition: str) -> ControlRow:
        """The row."""
        return ControlRow(method, projection, condition, self.estimates, self.tests, dict(self.excluded))
