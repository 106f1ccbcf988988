"""The page of runs: progress, metrics and items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.core.tables import Estimate, Table
from theodolite.diagnose.api import Browsed, RunFigure
from theodolite.instruments.instrument import instrument_of_run
from theodolite.report.glossary import Glossary
from theodolite.report.html.diagnosis import SPLITS
from theodolite.report.html.parts import Helpers, Series, Strip, folded, in_words, show_number, strip
from theodolite.report.tables import as_html
from theodolite.runs import Run, Tally

_SHOWN = 10
"""Number of metrics per split that are not folded."""


@dataclass(frozen=True, slots=True)
class RunView:
    """The data of one run on the page."""

    name: str
    instrument: str
    section: str
    """The heading of its metrics."""
    model: str
    identity: str
    version: str
    created: str
    seed: int
    settings: str
    sessions: list[str]
    tally: Tally
    notes: list[str]
    figures: list[RunFigure]
    tables: list[Table]
    """The tables of the last scoring."""

    @property
    def words(self) -> str:
        """The progress in words."""
        return progress_words(self.tally)

    @property
    def done_percent(self) -> float:
        """Width of the finished part of the progress bar."""
        return width_percent(self.tally.finished, self.tally.planned)

    @property
    def failed_percent(self) -> float:
        """Width of the failed part of the progress bar."""
        return width_percent(self.tally.failed, self.tally.planned)


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One metric with the mean of every model."""

    key: str
    name: str
    origin: str
    figures: list[tuple[str, Estimate]]


def progress_words(tally: Tally) -> str:
    """Format the progress of a run.

    >>> progress_words(Tally(planned=10, answered=7, failed=1))
    '10 items: 7 answered, 1 failed, 2 pending'
    """
    waiting = tally.planned - tally.finished - tally.failed
    counts = [
        (tally.answered, "answered"),
        (tally.refused, "refused"),
        (tally.failed, "failed"),
        (waiting, "pending"),
    ]
    return f"{tally.planned} items: {in_words(counts)}"


def run_view(run: Run, browsed: Browsed, *, name: str) -> RunView:
    """Collect the data of a run for the page."""
    info = run.info
    return RunView(
        name=name,
        instrument=info.instrument,
        section=_section(info.instrument),
        model=info.model,
        identity=info.identity,
        version=info.theodolite,
        created=info.created.strftime("%Y-%m-%d %H:%M"),
        seed=info.seed,
        settings=json.dumps(info.settings, indent=2, ensure_ascii=False, default=str),
        sessions=[_session_words(text) for text in run.store.sessions()],
        tally=run.tally(),
        notes=list(browsed.notes),
        figures=browsed.figures,
        tables=run.tables(),
    )


def _section(kind: str) -> str:
    instrument = instrument_of_run(kind)
    return instrument.name if instrument is not None else kind


def runs_context(views: Sequence[RunView], glossary: Glossary, *, live: str = "") -> dict[str, Any]:
    """Return the variables of the template ``run.html``, without items.

    Args:
        views: The runs.
        glossary: The definitions of the page.
        live: The address of a served run. Empty for a page on disk.
    """
    series = Series(view.model for view in views)
    helpers = Helpers(series, glossary, {})
    models = list(dict.fromkeys(series.name(view.model) for view in views))
    one = views[0] if len(views) == 1 else None
    return {
        **helpers.named(),
        "title": f"{one.section.capitalize()}: {models[0]}" if one is not None else f"{len(views)} runs",
        "eyebrow": f"Run of {one.created}, seed {one.seed}" if one is not None else ", ".join(models),
        "runs": views,
        "sections": list(_sections(views)),
        "table_html": lambda table: as_html(table, link=lambda key: f"#{glossary.anchor(key)}"),
        "figure_strip": lambda row: _figure_strip(row, series, glossary),
        "figure_words": lambda row: _figure_words(row, series, glossary),
        "level_percent": f"{100 * next((f.figure.level for view in views for f in view.figures), 0.95):.0f} %",
        "live": live,
        "home": "/" if live else "#main",
        "items_note": "",
        "figures_note": "",
        "has_items": True,
    }


def _sections(
    views: Sequence[RunView],
) -> Iterator[tuple[str, list[tuple[str, list[FigureRow], list[FigureRow]]]]]:
    """Yield the metrics by instrument and split: those to show, and those to fold."""
    for section in dict.fromkeys(view.section for view in views):
        rows: dict[str, dict[tuple[str, str], FigureRow]] = {}
        for view in views:
            for f in view.figures if view.section == section else ():
                row = rows.setdefault(f.split, {}).setdefault(
                    (f.key, f.name), FigureRow(f.key, f.name, f.origin, [])
                )
                row.figures.append((view.model, f.figure))
        groups = []
        for split, by_key in rows.items():
            groups.append((SPLITS.get(split, split), *folded(list(by_key.values()), _SHOWN)))
        yield section, groups


def _figure_strip(row: FigureRow, series: Series, glossary: Glossary) -> Strip | None:
    unit = glossary.unit(row.key)
    return strip(
        [(series.colour(model), series.order(model), figure) for model, figure in row.figures],
        label=lambda value: show_number(value, unit),
        span=(0.0, 1.0) if unit == "share" else None,
    )


def _figure_words(row: FigureRow, series: Series, glossary: Glossary) -> str:
    unit = glossary.unit(row.key)
    return ", ".join(
        f"{series.name(model)} {show_number(figure.value, unit)}" for model, figure in row.figures
    )


def _session_words(text: str) -> str:
    session = json.loads(text)
    versions: Iterable[tuple[str, str]] = sorted(session["versions"].items())
    packages = ", ".join(f"{name} {version}" for name, version in versions)
    return f"Measured from {session['started'][:16].replace('T', ' ')} by the {session['engine']} engine, {session['workers']} workers, with {packages}."


def width_percent(count: int, of: int) -> float:
    """Return a width in percent."""
    return round(100 * count / of, 3) if of else 0.0
