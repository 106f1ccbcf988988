"""The means of several models side by side, and how well each metric separates the twins."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field

from theodolite import stats
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import check, parse_json, read_gzip
from theodolite.core.scores import ItemScore, Metric
from theodolite.core.types import content_hash
from theodolite.core.views import Form, Number, Whole
from theodolite.diagnose.record import MetricResult, ModelMean
from theodolite.runs import Run
from theodolite.stats import Scores
from theodolite.stats.scores import LEAST_CLUSTERS

__all__ = [
    "ScoreColumn",
    "Twins",
    "metric_results",
]


ScoreColumn = tuple[str, str]
"""The key of a metric, and a split."""


# How well each metric separates the twins, for orientation.
#
# The means of the twins are shown beside those of other models. They do not place other models: how much relevance a method
# puts somewhere, for instance, depends on depth, width and the number of tokens. The verdict rests on pairs.


MIN_SEPARATION = 0.75
"""A metric separates the twins if the interval of its AUC lies above this. A convention."""


@dataclass(frozen=True, slots=True)
class Twins:
    """The names of the two twins in a table."""

    grounded: str = "pocket:grounded"
    shortcut: str = "pocket:shortcut"

    def __iter__(self) -> Iterator[str]:
        return iter((self.grounded, self.shortcut))


def metric_results(
    scores: Scores,
    metrics: Sequence[Metric],
    models: Sequence[str],
    unscored: Mapping[str, Mapping[ScoreColumn, str]],
    *,
    twins: Twins,
    seed: int,
) -> list[MetricResult]:
    """Compute the means of every metric on every split, and how well it separates the twins.

    Args:
        scores: The scores of the models and the twins.
        metrics: The metrics of the instrument.
        models: The models to show.
        unscored: By model, the metrics on splits without any score, each with the reason.
        twins: The names of the twins in the table.
        seed: Seed of the bootstrap.
    """
    by_key = {metric.key: metric for metric in metrics}
    known = {*scores.columns, *(column for reasons in unscored.values() for column in reasons)}
    unknown = sorted({key for key, _ in known} - set(by_key))
    if unknown:
        raise UsageError(f"there are scores of {unknown[0]!r}, which is not a known metric")
    order = {metric.key: number for number, metric in enumerate(metrics)}
    columns = sorted(known, key=lambda column: (order[column[0]], column[1]))
    results = []
    for column in columns:
        grounded, shortcut = (scores.mean(column[0], twin, column[1]) for twin in twins)
        separation, why = twin_separation(scores, column, by_key[column[0]], twins=twins, seed=seed)
        results.append(
            MetricResult(
                key=column[0],
                split=column[1],
                grounded=grounded,
                shortcut=shortcut,
                separation=separation,
                separates=not why,
                why_not=why,
                models=[_mean(scores, model, column, unscored.get(model, {})) for model in models],
            )
        )
    return results


def twin_separation(
    scores: Scores, column: ScoreColumn, metric: Metric, *, twins: Twins, seed: int
) -> tuple[stats.Estimate | None, str]:
    """Compute the AUC of the grounded twin's items against the shortcut twin's, and why it does not separate them.

    The AUC is in the direction of the metric.

    Args:
        scores: The scores of the twins.
        column: The metric and the split.
        metric: The metric.
        twins: The names of the twins in `scores`.
        seed: Seed of the bootstrap.

    Returns:
        The AUC, if it can be computed, and the reason, which is empty if the metric separates the twins.
    """
    by_twin = [scores.rows(column[0], twin, column[1]) for twin in twins]
    fewest = min(len({row.cluster for row in rows}) for rows in by_twin)
    if not fewest:
        return None, "the twins have no scores on this split"
    if fewest < LEAST_CLUSTERS:
        return None, f"too little data ({fewest} clusters; at least {LEAST_CLUSTERS} are needed)"
    sign = 1.0 if metric.higher_is_grounded else -1.0
    separation = stats.roc_auc(
        [sign * (row.value or 0.0) for rows in by_twin for row in rows],
        [side for side, rows in zip((1, 0), by_twin, strict=True) for _ in rows],
        clusters=[row.cluster for rows in by_twin for row in rows],
        seed=seed,
    )
    if separation.low >= MIN_SEPARATION:
        return separation, ""
    interval = f"{separation.value:.2f} [{separation.low:.2f}, {separation.high:.2f}]"
    return separation, f"it does not separate the twins: AUC {interval}"


def _mean(scores: Scores, model: str, column: ScoreColumn, unscored: Mapping[ScoreColumn, str]) -> ModelMean:
    mean = scores.mean(column[0], model, column[1])
    if mean is not None:
        return ModelMean(model=model, figure=mean)
    why = "its scores come from one picture, scene or episode, or do not vary, so there is no interval"
    if not scores.n_clusters(column[0], model, column[1]):
        why = unscored.get(column, "the model has no score for it")
    return ModelMean(model=model, figure=None, why_not=why)


# The item scores of the twins: read from files in the package where these match, measured otherwise.
#
# A file matches if it has the same twins (their identity is a hash of their files) and the same items (by a hash of
# everything that a model is shown). Otherwise, such as with another seed, the twins are measured in the same diagnosis.


FORMAT = 2
_FOLDER = "calibration"


class _Stored(Form):
    """The content of a file. Files of other formats have other fields."""

    format: Whole
    items_hash: str = ""
    identities: dict[str, str] = Field(default_factory=dict)
    rows: list[tuple[str, str] | tuple[str, str, str]] = Field(default_factory=list)
    columns: list[tuple[str, str]] = Field(default_factory=list)
    values: dict[str, list[list[Number | None]]] = Field(default_factory=dict)


def items_hash(folders: Sequence[Path]) -> str:
    """Return a hash of the names and contents of the items that every model is asked, without user data."""
    entries: set[str] = set()
    for folder in folders:
        if folder.name.endswith(("-own", "-own-data")):
            continue
        with Run.open(folder) as run:
            entries |= {
                f"{result.item.name} {result.item.request.digest}"
                for result in run.results()
                if result.item.truth.is_plain
            }
    return content_hash(sorted(entries))


def shipped_path(instrument: str, size: str | int, seed: int) -> Path:
    """Return the path of the file in the package for a size and a seed. It may not exist."""
    folder = Path(str(resources.files("theodolite.diagnose"))) / _FOLDER
    return folder / f"{instrument}-{size}-{seed}.json.gz"


def read_calibration(
    path: Path, *, items: str, identities: Mapping[str, str]
) -> dict[str, list[ItemScore]] | None:
    """Read the twins' item scores. None if there is no such file, or if it has other twins or other items.

    Args:
        path: The file.
        items: The hash of the items, from `items_hash`.
        identities: The identities of the twins, by name.

    Raises:
        StorageError: If the file is damaged.
    """
    if not path.is_file():
        return None
    try:
        stored = check(_Stored, parse_json(read_gzip(path)))
        if stored.format != FORMAT or stored.items_hash != items or stored.identities != dict(identities):
            return None
        return {twin: _unpacked(stored, twin) for twin in identities}
    except (UsageError, ValueError) as error:
        raise StorageError(
            f"{path} is damaged ({error}); remove it, and the twins will be measured instead"
        ) from error


def write_calibration(
    path: Path,
    scores: Mapping[str, Sequence[ItemScore]],
    *,
    items: str,
    identities: Mapping[str, str],
) -> Path:
    """Write the twins' item scores of one instrument, for `read_calibration`.

    Args:
        path: The file.
        scores: The scores, by twin.
        items: The hash of the items, from `items_hash`.
        identities: The identities of the twins, by name.
    """
    kept = {twin: [s for s in item_scores if s.value is not None] for twin, item_scores in scores.items()}
    rows = sorted({(s.item, s.cluster, s.group) for item_scores in kept.values() for s in item_scores})
    columns = sorted({(s.metric, s.split) for item_scores in kept.values() for s in item_scores})
    row_of = {item: number for number, (item, _, _) in enumerate(rows)}
    values: dict[str, list[list[float | None]]] = {}
    for twin, item_scores in kept.items():
        cells: list[list[float | None]] = [[None] * len(columns) for _ in rows]
        for score in item_scores:
            column = columns.index((score.metric, score.split))
            cells[row_of[score.item]][column] = float(f"{score.value:.8g}")
        values[twin] = cells
    stored: dict[str, Any] = {
        "format": FORMAT,
        "items_hash": items,
        "identities": dict(identities),
        "rows": rows,
        "columns": columns,
        "values": values,
    }
    text = json.dumps(stored, separators=(",", ":"), allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def _unpacked(stored: _Stored, twin: str) -> list[ItemScore]:
    return [
        ItemScore(item, key, value, cluster, split, *group)
        for (item, cluster, *group), cells in zip(stored.rows, stored.values.get(twin, []), strict=True)
        for (key, split), value in zip(stored.columns, cells, strict=True)
        if value is not None
    ]
