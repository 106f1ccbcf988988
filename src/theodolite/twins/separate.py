"""How well each metric of each instrument tells the twin that looks from the twin that does not.

On the aligned split both answer right, so accuracy sees no difference. For every metric the area under the ROC curve is the
probability that a random item of the grounded twin lies on the grounded side of a random item of the shortcut twin; ties count
half. A mixed model, taught the rule's answer on a fixed half of the questions and the true one on the other, has the position
(m − s)/(g − s) of the three means, and must lie between 0 and 1. Metrics that fail stand in the table like all others.
"""

from __future__ import annotations

import gzip
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
from theodolite.core.scores import Capability, ItemScore, Metric, by_metric, covers
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.instrument import Instrument, instruments
from theodolite.runs import write_atomically
from theodolite.twins.workspace import Workspace, kept_scores, measured_scores, model_capability

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
_FEWEST = 5
"""Items of each twin that a comparison needs."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The names of the models that are told apart."""

    grounded: str = "pocket:grounded"
    shortcut: str = "pocket:shortcut"
    mixed: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every model, the twins first."""
        return (self.grounded, self.shortcut, *((self.mixed,) if self.mixed else ()))


@dataclass(frozen=True, slots=True)
class Separation:
    """One metric on the twins."""

    metric: Metric
    auc: stats.Estimate | None
    """None where there are fewer than five items of a twin; `why` says so."""
    grounded: stats.Estimate | None
    """The mean, of the grounded twin."""
    shortcut: stats.Estimate | None
    mixed: stats.Estimate | None
    position: stats.Estimate | None
    """Of the mixed model between the means of the twins: 0 the shortcut's, 1 the grounded one's."""
    n: tuple[int, int]
    """Items of the grounded and of the shortcut twin."""
    why: str = ""
    """Why there is no AUC."""

    @property
    def passes(self) -> bool:
        """Whether it tells the twins apart."""
        return self.auc is not None and self.auc.value >= PASSES

    @property
    def is_between(self) -> bool | None:
        """Whether the mixed model lies between the twins; None where it was not measured."""
        return None if self.position is None else 0 < self.position.value < 1


@dataclass(frozen=True, slots=True)
class SeparationTable:
    """Every metric of every instrument."""

    sides: Sides
    split: str
    seed: int
    rows: tuple[Separation, ...]
    """By instrument, the best first."""

    def of(self, instrument: str) -> tuple[Separation, ...]:
        """The rows of one instrument."""
        return tuple(row for row in self.rows if row.metric.instrument == instrument)

    @property
    def instruments(self) -> tuple[str, ...]:
        """Those that were measured, in order."""
        return tuple(dict.fromkeys(row.metric.instrument for row in self.rows))

    @property
    def failing(self) -> tuple[str, ...]:
        """Instruments of which no metric reaches `PASSES`."""
        return tuple(name for name in self.instruments if not any(row.passes for row in self.of(name)))

    @property
    def not_between(self) -> tuple[str, ...]:
        """Passing metrics on which the mixed model does not lie between the twins."""
        return tuple(row.metric.key for row in self.rows if row.passes and row.is_between is False)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
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
    """One table for each instrument, the metrics that tell the twins apart first."""
    found = []
    sides = table.sides
    columns = [
        Column("metric", "metric"),
        Column("origin", "origin"),
        Column("auc", "AUC", "number", "twins.separation"),
        Column("grounded", sides.grounded, "number", "twins.mean"),
        Column("shortcut", sides.shortcut, "number", "twins.mean"),
        *([Column("mixed", sides.mixed, "number", "twins.mean")] if sides.mixed else []),
        *([Column("position", "position", "number", "twins.position")] if sides.mixed else []),
        Column("n_grounded", "clusters of the first", "count"),
        Column("n_shortcut", "of the second", "count"),
        Column("why", "no AUC because"),
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
        found.append(
            Table.of(
                f"twins.separation.{instrument}", f"{instrument}, {table.split} split", columns, rows, notes
            )
        )
    return found


def separate(
    workspace: Workspace,
    *,
    sides: Sides | None = None,
    chosen: Sequence[Instrument] = (),
    asks: bool = True,
    only_right: bool = False,
) -> SeparationTable:
    """Measures what is pending of every model on the twins' sets, and tells the twins apart.

    Args:
        workspace: Where, how much, and which split.
        sides: The models.
        chosen: The instruments; all that have data of their own if none is given.
        asks: Whether to measure; otherwise the runs that are there are scored as they are, and no model is opened.
        only_right: Whether only items count that both twins answer rightly.
    """
    sides = sides or Sides()
    chosen = chosen or [each for each in instruments() if not each.needs_data]
    gives: dict[str, Capability] = {model: model_capability(model) for model in sides.names} if asks else {}
    found: dict[str, list[ItemScore]] = {model: [] for model in sides.names}
    for instrument in chosen:
        for model in sides.names:
            found[model] += (
                measured_scores(model, instrument, workspace, gives=gives[model])
                if asks
                else kept_scores(model, instrument, workspace)
            )
    metrics = tuple(
        metric
        for instrument in chosen
        for metric in instrument.metrics
        if all(covers(given, metric.needs) for given in gives.values())
    )
    counted = both_right(found, sides) if only_right else found
    return separate_scores(counted, metrics, sides=sides, split=workspace.split, seed=workspace.seed)


def separate_scores(
    scores: Mapping[str, Sequence[ItemScore]],
    metrics: Sequence[Metric],
    *,
    sides: Sides,
    split: str = "aligned",
    seed: int = 0,
) -> SeparationTable:
    """The table from scores alone; no model is called.

    Args:
        scores: by model.
        metrics: what is told of; one without scores has its row all the same.
        sides: which models they are.
        split: the scores that count.
        seed: of every bootstrap.

    Raises:
        UsageError: a twin has no scores of that split at all.
    """
    by_model = {
        model: by_metric([each for each in scores.get(model, ()) if each.split == split])
        for model in sides.names
    }
    empty = [model for model, found in by_model.items() if not found]
    if empty:
        raise UsageError(f"{empty[0]} has no scores of the split {split!r}")
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
    """The scores of those items alone that both twins answer rightly, by their own ``<instrument>.right``.

    An instrument without such a metric keeps all of its items: of a scene, many questions are asked.
    """
    right: dict[str, set[str]] = {}
    for twin in (sides.grounded, sides.shortcut):
        told = [each for each in scores.get(twin, ()) if each.metric.partition(".")[2] == "right"]
        for instrument in {each.metric.partition(".")[0] for each in told}:
            items = {each.item for each in told if each.metric == f"{instrument}.right" and each.value == 1}
            right[instrument] = right.get(instrument, items) & items

    def counts(each: ItemScore) -> bool:
        instrument = each.metric.partition(".")[0]
        return instrument not in right or each.item in right[instrument]

    return {model: [each for each in found if counts(each)] for model, found in scores.items()}


@dataclass(frozen=True, slots=True)
class _Column:
    """One model's values of one metric, by cluster."""

    clusters: tuple[str, ...]
    values: NDArray[np.float64]
    """One for each cluster: the mean of its items."""
    mean: stats.Estimate | None
    """Over the items, as in a diagnosis."""

    @classmethod
    def of(cls, metric: Metric, scores: Sequence[ItemScore]) -> _Column:
        """The values of one model."""
        sums: dict[str, list[float]] = {}
        for each in scores:
            if each.value is not None:
                sums.setdefault(each.cluster, []).append(each.value)
        clusters = tuple(sums)
        values = np.array([float(np.mean(sums[name])) for name in clusters])
        return cls(clusters, values, stats.score_mean(metric, scores))


def _row(metric: Metric, columns: Sequence[_Column], *, seed: int) -> Separation:
    grounded, shortcut = columns[0], columns[1]
    mixed = columns[2] if len(columns) > 2 else None
    n = (len(grounded.values), len(shortcut.values))
    auc, why = None, ""
    if not any(n):
        why = "no item of this split has it, or these models do not allow it"
    elif min(n) < _FEWEST:
        why = f"{n[0]} and {n[1]} items have it, and a comparison needs {_FEWEST} of each"
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
    """(m − s)/(g − s) over the items that all three have, clusters drawn together; None where the twins' means may be the same."""
    places = [{name: i for i, name in enumerate(column.clusters)} for column in (mixed, shortcut, grounded)]
    shared = [name for name in mixed.clusters if all(name in each for each in places)]
    if not shared:
        return None
    m, s, g = (
        column.values[[place[name] for name in shared]]
        for column, place in zip((mixed, shortcut, grounded), places, strict=True)
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

    found = stats.bootstrap_distribution((m, s, g), position, clusters=shared, jackknife=False, seed=seed)
    return found.percentile(bounds=(min(0.0, found.value), max(1.0, found.value)))


def write_table(table: SeparationTable, folder: Path) -> Path:
    """Keeps the table as ``separation.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    write_atomically(path, json.dumps(table.as_json(), ensure_ascii=False) + "\n")
    return path


def read_table(path: str | Path) -> SeparationTable:
    """A table that `write_table` kept, or such a file compressed.

    Raises:
        StorageError: the file cannot be read.
        UsageError: it is no such table.
    """
    try:
        content = Path(path).read_bytes()
        value = json.loads(gzip.decompress(content) if str(path).endswith(".gz") else content)
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read the table {path}: {error}") from error
    try:
        rows = tuple(_row_from_json(row) for row in value["rows"])
        return SeparationTable(Sides(**value["sides"]), str(value["split"]), int(value["seed"]), rows)
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise UsageError(f"{path} is no table of metrics: {error!r}") from error


def _row_from_json(value: Mapping[str, Any]) -> Separation:
    figures = {
        name: None if value[name] is None else stats.Estimate(**value[name])
        for name in ("auc", "grounded", "shortcut", "mixed", "position")
    }
    first, second = value["n"]
    return Separation(
        _metric(value.get("metric") or value["readout"]),
        **figures,
        n=(int(first), int(second)),
        why=str(value["why"]),
    )


def _metric(value: Mapping[str, Any]) -> Metric:
    fields = dict(value)
    bounds = fields.get("bounds")
    return Metric(**{**fields, "bounds": tuple(bounds)} if bounds is not None else fields)


def released_table() -> SeparationTable:
    """The table of the twins that ship, which lies beside their weights."""
    with resources.as_file(resources.files("theodolite") / "models" / "weights" / f"{FILE}.gz") as path:
        return read_table(path)
