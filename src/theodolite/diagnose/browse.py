"""Turn a run into rows for browsing and into the means of its metrics. No model is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite.core.errors import TheodoliteError
from theodolite.core.scores import ItemScore
from theodolite.core.tables import Estimate
from theodolite.core.views import ItemRow
from theodolite.instruments.instrument import Instrument, Place, instrument_of_run
from theodolite.instruments.rows import item_rows
from theodolite.runs import Run
from theodolite.stats import score_mean

__all__ = ["Browsed", "RunFigure", "browse", "data_of", "figures_of"]


@dataclass(frozen=True, slots=True)
class RunFigure:
    """The mean of one metric over the items of one split."""

    key: str
    name: str
    origin: str
    split: str
    figure: Estimate


@dataclass(frozen=True, slots=True)
class Browsed:
    """The content of a run, for display."""

    rows: list[ItemRow]
    figures: list[RunFigure]
    notes: list[str]
    """What could not be shown, and why."""


def data_of(run: Run) -> list[Path]:
    """Return the data files and folders named in the settings of a run."""
    data = run.info.settings.get("data")
    values = list(data.values()) if isinstance(data, Mapping) else [data]
    return [Path(value) for value in values if isinstance(value, str) and value]


def browse(run: Run, place: Place, *, may_read_data: bool = True) -> Browsed:
    """Read a run as rows and means.

    Args:
        run: A run of any instrument, finished or not.
        place: Function that stores a picture and returns its name.
        may_read_data: If False, the data files that the run names are not opened, and what needs them is left out.
    """
    instrument = instrument_of_run(run.info.instrument) if may_read_data else None
    notes: list[str] = []
    scores: list[ItemScore] = []
    rows: list[ItemRow] | None = None
    if instrument is not None:
        try:
            scores = instrument.score(run)
        except TheodoliteError as error:
            notes.append(f"no metrics: {error}")
        try:
            rows = list(instrument.rows(run, place, scores))
        except TheodoliteError as error:
            notes.append(f"items are shown without their details: {error}")
    if rows is None:
        rows = list(item_rows(run.info.instrument, run, place, scores))
    return Browsed(rows, figures_of(instrument, scores) if instrument else [], notes)


def figures_of(instrument: Instrument, scores: Sequence[ItemScore]) -> list[RunFigure]:
    """Compute the mean of every metric on every split with a value."""
    by_column: dict[tuple[str, str], list[ItemScore]] = {}
    for score in scores:
        by_column.setdefault((score.metric, score.split), []).append(score)
    found = []
    for metric in instrument.metrics:
        for (key, split), some in by_column.items():
            mean = score_mean(metric, some) if key == metric.key else None
            if mean is not None:
                found.append(RunFigure(key, metric.name, metric.origin, split, mean))
    return found
