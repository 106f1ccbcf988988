"""Measure how well each metric of each instrument separates the grounded twin from the shortcut twin.

On the aligned split both twins are right, so accuracy does not separate them. The area under the ROC curve (AUC) of a metric
is the probability that a random item of the grounded twin has a more grounded value than a random item of the shortcut twin;
ties count half. A mixed model, trained on the answers of the shortcut for half of the questions and on the right answers for
the others, has the position (m − s)/(g − s) of the three means, which should lie between 0 and 1. The table also shows
metrics that fail.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import check, parse_json, read_gzip, read_json
from theodolite.core.scores import Capability, ItemScore, Metric, by_metric, column, covers
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.instrument import Instrument, instruments
from theodolite.runs import write_atomically
from theodolite.twins.workspace import Workspace, measured_scores, model_capability, stored_scores

__all__ = [
    "PASSES",
    "Separation",
    "SeparationTable",
    "Sides",
    "both_right",
    "read_table",
    "released_table",
    "separate",
    "separate_scores",
    "separation_tables",
    "write_table",
]

FILE = "separation.json"
PASSES = 0.95
"""The AUC that at least one metric of every instrument must reach."""
_MIN_CLUSTERS = 5
"""The minimum number of clusters of each twin."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The names of the models."""

    grounded: str = "pocket:grounded"
    shortcut: str = "pocket:shortcut"
    mixed: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All models, the twins first."""
        return (self.grounded, self.shortcut, *((self.mixed,) if self.mixed else ()))


@dataclass(frozen=True, slots=True)
class Separation:
    """One metric on the twins."""

    metric: Metric
    auc: stats.Estimate | None
    """None for the reason in `why`."""
    grounded: stats.Estimate | None
    """The mean on the grounded twin."""
    shortcut: stats.Estimate | None
    mixed: stats.Estimate | None
    position: stats.Estimate | None
    """The position of the mixed model between the means of the twins: 0 is the shortcut twin, 1 the grounded one."""
    n: tuple[int, int]
    """Number of clusters of the grounded and of the shortcut twin."""
    why: str = ""
    """Why there is no AUC."""

    @property
    def passes(self) -> bool:
        """True if the AUC reaches `PASSES`."""
        return self.auc is not None and self.auc.value >= PASSES

    @property
    def is_between(self) -> bool | None:
        """True if the mixed model lies between the twins. None if it has no position."""
        return None if self.position is None else 0 < self.position.value < 1


@dataclass(frozen=True, slots=True)
class SeparationTable:
    """Every metric of every instrument."""

    sides: Sides
    split: str
    seed: int
    rows: tuple[Separation, ...]
    """By instrument, the highest AUC first."""

    def of(self, instrument: str) -> tuple[Separation, ...]:
        """Return the rows of one instrument."""
        return tuple(row for row in self.rows if row.metric.instrument == instrument)

    @property
    def instruments(self) -> tuple[str, ...]:
        """The measured instruments, in order."""
        return tuple(dict.fromkeys(row.metric.instrument for row in self.rows))

    @property
    def failing(self) -> tuple[str, ...]:
        """Instruments without a metric that reaches `PASSES`."""
        return tuple(name for name in self.instruments if not any(row.passes for row in self.of(name)))

    @property
    def not_between(self) -> tuple[str, ...]:
        """Passing metrics on which the mixed model does not lie between the twins."""
        return tuple(row.metric.key for row in self.rows if row.passes and row.is_between is False)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "sides": asdict(self.sides),
            "split": self.split,
            "seed": self.seed,
            "passes_at": PASSES,
            "failing": list(self.failing),
            "not_between": list(self.not_between),
            "rows": [
                {**asdict(row), "passes": row.passes, "is_between": row.is_between} for row in self.rows
            ],
        }


def separation_tables(table: SeparationTable) -> list[Table]:
    """Build one table per instrument, with the highest AUC first."""
    tables = []
    sides = table.sides
    columns = [
        Column("metric", "metric"),
        Column("origin", "origin"),
        column("twins.separation", "auc"),
        column("twins.mean", "grounded", sides.grounded),
        column("twins.mean", "shortcut", sides.shortcut),
        *([column("twins.mean", "mixed", sides.mixed)] if sides.mixed else []),
        *([column("twins.position")] if sides.mixed else []),
        Column("n_grounded", "clusters, grounded", "count"),
        Column("n_shortcut", "clusters, shortcut", "count"),
        Column("why", "why no AUC"),
    ]
    for instrument in table.instruments:
        rows: list[list[Cell]] = []
        for row in table.of(instrument):
            mixed: list[Cell] = [row.mixed, row.position] if sides.mixed else []
            name = f"{row.metric.name} *" if row.passes else row.metric.name
            rows.append(
                [name, row.metric.origin, row.auc, row.grounded, row.shortcut, *mixed, *row.n, row.why]
            )
        notes = [f"* reaches an AUC of {PASSES}"]
        if instrument in table.failing:
            notes = [f"No metric of {instrument} reaches an AUC of {PASSES}."]
        notes += [
            f"The mixed model does not lie between the twins on {key}."
            for key in table.not_between
            if key.startswith(f"{instrument}.")
        ]
        tables.append(
            Table.of(
                f"twins.separation.{instrument}", f"{instrument}, {table.split} split", columns, rows, notes
            )
        )
    return tables


def separate(
    workspace: Workspace,
    *,
    sides: Sides | None = None,
    chosen: Sequence[Instrument] = (),
    asks: bool = True,
    only_right: bool = False,
) -> SeparationTable:
    """Measure all pending items of every model, and compute how well each metric separates the twins.

    Args:
        workspace: The folder, split, sample size and seed.
        sides: The models.
        chosen: The instruments. Default: all with built-in data.
        asks: If False, only stored runs are scored, and no model is opened.
        only_right: If True, count only items that both twins answer correctly.
    """
    sides = sides or Sides()
    chosen = chosen or [instrument for instrument in instruments() if not instrument.needs_data]
    gives: dict[str, Capability] = {model: model_capability(model) for model in sides.names} if asks else {}
    scores: dict[str, list[ItemScore]] = {model: [] for model in sides.names}
    for instrument in chosen:
        for model in sides.names:
            scores[model] += (
                measured_scores(model, instrument, workspace, gives=gives[model])
                if asks
                else stored_scores(model, instrument, workspace)
            )
    metrics = tuple(
        metric
        for instrument in chosen
        for metric in instrument.metrics
        if all(covers(given, metric.needs) for given in gives.values())
    )
    counted = both_right(scores, sides) if only_right else scores
    return separate_scores(counted, metrics, sides=sides, split=workspace.split, seed=workspace.seed)


def separate_scores(
    scores: Mapping[str, Sequence[ItemScore]],
    metrics: Sequence[Metric],
    *,
    sides: Sides,
    split: str = "aligned",
    seed: int = 0,
) -> SeparationTable:
    """Compute the table from item scores. No model is called.

    Args:
        scores: Item scores, by model.
        metrics: The metrics to report. A metric without scores also has a row.
        sides: The names of the models.
        split: The split whose scores are used.
        seed: Seed of all bootstraps.

    Raises:
        UsageError: If a model has no scores on the split.
    """
    by_model = {
        model: by_metric([score for score in scores.get(model, ()) if score.split == split])
        for model in sides.names
    }
    empty = [model for model, columns in by_model.items() if not columns]
    if empty:
        raise UsageError(f"{empty[0]} has no scores on the split {split!r}")
    rows = [
        _row(
            metric,
            [_Column.of(metric, by_model[model].get(metric.key, ())) for model in sides.names],
            seed=seed,
        )
        for metric in metrics
    ]
    order = list(dict.fromkeys(metric.instrument for metric in metrics))
    rows.sort(
        key=lambda row: (order.index(row.metric.instrument), -(row.auc.value if row.auc is not None else -1))
    )
    return SeparationTable(sides, split, seed, tuple(rows))


def both_right(scores: Mapping[str, Sequence[ItemScore]], sides: Sides) -> dict[str, list[ItemScore]]:
    """Keep the scores of items that both twins answer correctly, by the metric ``<instrument>.right``.

    Instruments without such a metric keep all items.
    """
    right: dict[str, set[str]] = {}
    for twin in (sides.grounded, sides.shortcut):
        item_scores = [score for score in scores.get(twin, ()) if score.metric.partition(".")[2] == "right"]
        for instrument in {score.metric.partition(".")[0] for score in item_scores}:
            items = {
                score.item
                for score in item_scores
                if score.metric == f"{instrument}.right" and score.value == 1
            }
            right[instrument] = right.get(instrument, items) & items

    def counts(score: ItemScore) -> bool:
        instrument = score.metric.partition(".")[0]
        return instrument not in right or score.item in right[instrument]

    return {model: [score for score in item_scores if counts(score)] for model, item_scores in scores.items()}


@dataclass(frozen=True, slots=True)
class _Column:
    """The values of one metric on one model, by cluster."""

    clusters: tuple[str, ...]
    values: NDArray[np.float64]
    """The mean over the items of each cluster."""
    mean: stats.Estimate | None
    """The mean over items, as in a diagnosis."""

    @classmethod
    def of(cls, metric: Metric, scores: Sequence[ItemScore]) -> _Column:
        """Average the scores of one model by cluster."""
        sums: dict[str, list[float]] = {}
        for score in scores:
            if score.value is not None:
                sums.setdefault(score.cluster, []).append(score.value)
        clusters = tuple(sums)
        values = np.array([float(np.mean(sums[name])) for name in clusters])
        return cls(clusters, values, stats.score_mean(metric, scores))


def _row(metric: Metric, columns: Sequence[_Column], *, seed: int) -> Separation:
    grounded, shortcut = columns[0], columns[1]
    mixed = columns[2] if len(columns) > 2 else None
    n = (len(grounded.values), len(shortcut.values))
    auc, why = None, ""
    if not any(n):
        why = "no scores on this split, or not supported by these models"
    elif min(n) < _MIN_CLUSTERS:
        why = f"only {n[0]} and {n[1]} clusters, at least {_MIN_CLUSTERS} of each are needed"
    else:
        sign = metric.towards_grounded(1.0)
        auc = stats.roc_auc(
            sign * np.concatenate([grounded.values, shortcut.values]),
            np.repeat([1, 0], n),
            clusters=[*grounded.clusters, *shortcut.clusters],
            seed=seed,
        )
    return Separation(
        metric,
        auc,
        grounded.mean,
        shortcut.mean,
        mixed.mean if mixed is not None else None,
        _position(grounded, shortcut, mixed, seed) if mixed is not None else None,
        n,
        why,
    )


def _position(grounded: _Column, shortcut: _Column, mixed: _Column, seed: int) -> stats.Estimate | None:
    """Compute (m − s)/(g − s) over the clusters that all three have. None if the means of the twins may be equal."""
    places = [{name: i for i, name in enumerate(column.clusters)} for column in (mixed, shortcut, grounded)]
    shared = [name for name in mixed.clusters if all(name in held for held in places)]
    if not shared:
        return None
    m, s, g = (
        column.values[[index[name] for name in shared]]
        for column, index in zip((mixed, shortcut, grounded), places, strict=True)
    )
    if g.mean() == s.mean() or len(shared) < 2:
        return None
    apart = stats.clustered_mean(g - s, shared, bounds=None)
    if apart is not None and apart.low <= 0 <= apart.high:
        return None

    def position(
        first: NDArray[np.float64], second: NDArray[np.float64], third: NDArray[np.float64]
    ) -> float:
        span = float(third.mean() - second.mean())
        return float(first.mean() - second.mean()) / span if span else float("nan")

    distribution = stats.bootstrap_distribution(
        (m, s, g), position, clusters=shared, jackknife=False, seed=seed
    )
    return distribution.percentile(bounds=(min(0.0, distribution.value), max(1.0, distribution.value)))


def write_table(table: SeparationTable, folder: Path) -> Path:
    """Write the table as ``separation.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    write_atomically(path, json.dumps(table.as_json(), ensure_ascii=False) + "\n")
    return path


def read_table(path: str | Path) -> SeparationTable:
    """Read a table from `write_table`, which may be compressed with gzip.

    Raises:
        StorageError: If the file cannot be read.
        UsageError: If it is not such a table.
    """
    path = Path(path)
    try:
        value = parse_json(read_gzip(path)) if path.suffix == ".gz" else read_json(path)
    except (UsageError, ValueError) as error:
        raise StorageError(f"cannot read the table {path}: {error}") from error
    rows = value.get("rows") if isinstance(value, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and "readout" in row:
            row["metric"] = row.pop("readout")  # as tables were written before
    try:
        return check(SeparationTable, value)
    except UsageError as error:
        raise UsageError(f"{path} is not a table of metrics: {error}") from error


def released_table() -> SeparationTable:
    """Read the table of the shipped twins, stored with their weights."""
    with resources.as_file(resources.files("theodolite") / "models" / "weights" / f"{FILE}.gz") as path:
        return read_table(path)
