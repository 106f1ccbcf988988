"""Runs as a page: how far they are, their figures, their items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.core.tables import Table
from theodolite.diagnose.browse import Browsed, RunFigure
from theodolite.diagnose.record import Figure
from theodolite.instruments.instrument import instrument_of_run
from theodolite.report.html.definitions import Glossary
from theodolite.report.html.diagnosis import SPLITS
from theodolite.report.html.dials import Strip, strip
from theodolite.report.html.helpers import Helpers
from theodolite.report.html.items import in_words
from theodolite.report.html.numbers import show_number
from theodolite.report.html.series import Series
from theodolite.report.tables import as_html
from theodolite.runs import Run, Tally

_SHOWN = 10
"""Figures of a split before the fold."""


@dataclass(frozen=True, slots=True)
class RunView:
    """What the page says of one run."""

    name: str
    instrument: str
    section: str
    """Under which heading its figures stand."""
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
    """Of the last scoring."""

    @property
    def words(self) -> str:
        """How far it is."""
        return progress_words(self.tally)

    @property
    def done_percent(self) -> float:
        """Of the bar."""
        return percent(self.tally.finished, self.tally.planned)

    @property
    def failed_percent(self) -> float:
        """Of the bar."""
        return percent(self.tally.failed, self.tally.planned)


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One metric with the figure of every model."""

    key: str
    name: str
    origin: str
    figures: list[tuple[str, Figure]]


def progress_words(tally: Tally) -> str:
    """How far a run is.

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
    """What the page says of a run."""
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
    found = instrument_of_run(kind)
    return found.name if found is not None else kind


def runs_context(views: Sequence[RunView], glossary: Glossary, *, live: str = "") -> dict[str, Any]:
    """All that the template of runs asks for, but its items.

    Args:
        views: the runs.
        glossary: of the page.
        live: the address of a run that is served; empty for a page on disk.
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
    """Figures by instrument and split; those to show, and those to fold away."""
    for section in dict.fromkeys(view.section for view in views):
        rows: dict[str, dict[tuple[str, str], FigureRow]] = {}
        for view in views:
            for f in view.figures if view.section == section else ():
                row = rows.setdefault(f.split, {}).setdefault(
                    (f.key, f.name), FigureRow(f.key, f.name, f.origin, [])
                )
                row.figures.append((view.model, f.figure))
        groups = []
        for split, found in rows.items():
            listed = list(found.values())
            cut = _SHOWN if len(listed) > _SHOWN + 2 else len(listed)
            groups.append((SPLITS.get(split, split), listed[:cut], listed[cut:]))
        yield section, groups


def _figure_strip(row: FigureRow, series: Series, glossary: Glossary) -> Strip | None:
    unit = glossary.unit(row.key)
    return strip(
        [(series.colour(model), series.order(model), figure.estimate()) for model, figure in row.figures],
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
    told = ", ".join(f"{name} {version}" for name, version in versions)
    return f"Measured from {session['started'][:16].replace('T', ' ')} by the {session['engine']} engine, {session['workers']} at once, with {told}."


def percent(count: int, of: int) -> float:
    """A share of a bar."""
    return round(100 * count / of, 3) if of else 0.0
