"""The page of a diagnosis: the variables of its template, computed from the record."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from theodolite.core.scores import OWN_SPLIT, definitions
from theodolite.core.tables import Table
from theodolite.core.views import ItemRow
from theodolite.diagnose.compare import looking_table, lookings, pairs_table
from theodolite.diagnose.pair_verdicts import OUTCOMES, readability_table
from theodolite.diagnose.record import (
    Counts,
    Diagnosis,
    InstrumentOfModel,
    InstrumentResult,
    LookingResult,
    MetricResult,
    PairExample,
    read_diagnosis,
)
from theodolite.diagnose.running import ITEMS_FILE, PAIRS_FILE, read_items, read_pairs
from theodolite.instruments.instrument import instruments
from theodolite.pairs.outcomes import what_was_done
from theodolite.report.glossary import Glossary
from theodolite.report.html.parts import (
    DataBlock,
    Exhibit,
    Helpers,
    ItemTable,
    Pictures,
    Series,
    Spread,
    comparison_groups,
    exhibit,
    finished,
    folded,
    in_words,
    into_page,
    item_table,
    show_number,
    spread,
)
from theodolite.report.summary import example, summaries, telling
from theodolite.report.tables import as_html

_SPREADS = 2
"""Number of histograms per instrument."""
_EXHIBITS = 4
"""Number of examples per instrument that are not folded; at least one of each model."""
_SHOWN = 6
"""Number of metrics per split that are not folded."""
SPLITS = {
    "aligned": "Aligned items: the shortcut gives the right answer, so right answers do not show that the picture is used",
    "crossed": "Crossed items: the shortcut contradicts the picture, so right answers need the picture",
    "free": "Free items: as drawn",
    OWN_SPLIT: "Your data",
}


def diagnosis_page(
    folder: Path, pictures: Pictures, inside: Mapping[str, str], *, is_served: bool = False
) -> str:
    """Render the page of a diagnosis.

    Args:
        folder: The folder of ``diagnosis.json``, or that file. Items are shown if it has ``items.jsonl``.
        pictures: Collects the pictures of the items. Only those below the folder are used.
        inside: The embedded pictures, which `pictures` fills.
        is_served: True if the page is sent by a server.
    """
    diagnosis = read_diagnosis(folder)
    home = (folder if folder.is_dir() else folder.parent).resolve()
    names = {metric.key: metric.name for metric in diagnosis.metrics}
    glossary = Glossary(names)
    context = diagnosis_context(diagnosis, glossary, home)
    blocks: list[DataBlock] = []
    context["has_items"] = (home / ITEMS_FILE).exists()
    if context["has_items"]:
        rows = list(read_items(home))
        table = item_table(rows, names, take=partial(_take, home, pictures))
        by_name = {(row.instrument, row.model, row.id): row for row in rows}

        embedded: dict[str, str] = {}
        small = Pictures(
            into_page(embedded), is_small=True
        )  # so that a page from disk can save them as figures

        def shown(form: PairExample, instrument: str, model: str) -> Exhibit:
            owner = instrument, model
            return exhibit(
                form, owner, partial(_take, home, small), embedded, lambda item: by_name.get((*owner, item))
            )

        chosen = example(context["summaries"])
        if chosen is not None:
            summary, label, form = chosen
            name = next(group.instrument for group in looking_groups(diagnosis) if group.label == label)
            context["example"] = shown(form, name, summary.model.name), summary.model.name, label
        context["exhibit_rows"] = lambda group: exhibit_rows(group, shown)
        context["has_exhibits"] = any(looking.exhibits for _, _, looking in lookings(diagnosis))
        blocks = table.blocks(glossary, inside)
        if (home / PAIRS_FILE).exists():
            blocks.append(DataBlock("pairs-rows", _pairs(home, rows, table.models)))
            context["has_pairs"] = True
        context["spreads"] = {i.name: spreads(i, table, glossary) for i in diagnosis.instruments}
        context["items_note"] = missing_words(pictures)
    return finished("diagnosis.html", context, glossary, blocks, is_served=is_served)


def _pairs(home: Path, rows: Sequence[ItemRow], models: Mapping[str, int]) -> dict[str, Any]:
    """Return the data of the list of pairs. The order of the fields in a row is that of ``pairs.js``."""
    places = {(row.instrument, row.model, row.id): place for place, row in enumerate(rows)}
    listed = [
        [
            models[pair.model],
            pair.pictures,
            what_was_done(pair.edit),
            pair.relation,
            pair.outcome,
            *(places[pair.instrument, pair.model, name] for name in (pair.before, pair.after)),
        ]
        for pair in read_pairs(home)
        if {(pair.instrument, pair.model, pair.before), (pair.instrument, pair.model, pair.after)}
        <= places.keys()
    ]
    return {"outcomes": dict(OUTCOMES), "rows": listed}


def _take(home: Path, pictures: Pictures, name: str) -> tuple[str, int, int] | None:
    """Add a picture to the page. Return None if it lies outside of the diagnosis or cannot be shown."""
    path = (home / name).resolve()
    return pictures.take(path) if path.is_relative_to(home) else None


def spreads(instrument: InstrumentResult, table: ItemTable, glossary: Glossary) -> list[Spread]:
    """Compute histograms of the metrics that separate the twins best and have enough distinct values."""
    shown: list[Spread] = []
    best = sorted(
        (r for r in instrument.metrics if r.separates and r.separation is not None),
        key=lambda r: -(r.separation.value if r.separation else 0.0),
    )
    for result in best:
        unit = glossary.unit(result.key)
        made = spread(
            table.values(result.key, result.split),
            key=result.key,
            name=table.names.get(result.key, result.key),
            split=result.split,
            label=partial(show_number, unit=unit),
        )
        if made is not None and result.key not in {row.key for row in shown}:
            shown.append(made)
        if len(shown) == _SPREADS:
            break
    return shown


def missing_words(pictures: Pictures) -> str:
    """Return a sentence on how many pictures could not be shown. Empty if none."""
    n = len(pictures.missing)
    return f"{n} pictures could not be read and are not shown." if n else ""


def _table_html(table: Table, glossary: Glossary, series: Series) -> str:
    """Render a table with short names of models. Empty if it has no rows."""
    index = [column.name for column in table.columns].index("model")
    rows = [[*row[:index], series.name(str(row[index])), *row[index + 1 :]] for row in table.rows]
    named = Table.of(table.name, table.title, table.columns, rows, table.notes)
    return as_html(named, link=lambda key: f"#{glossary.anchor(key)}") if rows else ""


def _without_strategies(table: Table) -> Table:
    """Leave out the last two columns, which the page lists above the table, and the title."""
    return Table.of(table.name, "", table.columns[:-2], [row[:-2] for row in table.rows], table.notes)


def diagnosis_context(diagnosis: Diagnosis, glossary: Glossary, home: Path | None = None) -> dict[str, Any]:
    """Return the variables of the template, without items. `home` is the folder of the diagnosis."""
    d = diagnosis
    series = Series(model.name for model in d.models)
    metrics = {metric.key: metric for metric in d.metrics}
    helpers = Helpers(series, glossary, metrics)
    return {
        "d": d,
        **helpers.named(),
        "looking_groups": looking_groups(d),
        "not_measured": [(i.name, m) for i in d.instruments for m in i.models if not m.looking],
        "metric_groups": metric_groups,
        "references": lambda key: [one for one in d.references if one.metric == key],
        "signature_key": _signature_key,
        "pairs": _table_html(pairs_table(d), glossary, series),
        "relations": _table_html(pairs_table(d, "relations"), glossary, series),
        "summaries": summaries(d),
        "exhibit_rows": lambda _: ExhibitRows([], []),
        "example": None,
        "has_exhibits": False,
        "has_pairs": False,
        "looking": _table_html(_without_strategies(looking_table(d)), glossary, series),
        "readability": _table_html(replace(readability_table(diagnosis), title=""), glossary, series),
        "counts_words": counts_words,
        "open_looking": [q for q in d.open_questions if q.is_of_looking],
        "open_metrics": [q for q in d.open_questions if not q.is_of_looking],
        "comparison_groups": comparison_groups,
        "settings": json.dumps(d.settings, indent=2, ensure_ascii=False, default=str),
        "command": command_of(d, home),
        "spreads": {},
        "items_note": "",
    }


@dataclass(frozen=True, slots=True)
class LookingGroup:
    """The verdicts of one instrument on one source of pictures, for all models."""

    label: str
    instrument: str
    question: str
    views: list[tuple[InstrumentOfModel, LookingResult]]


def looking_groups(diagnosis: Diagnosis) -> list[LookingGroup]:
    """Group the verdicts by instrument and source, the user's own data first."""
    questions = {instrument.name: instrument.question for instrument in diagnosis.instruments}
    owners = {id(view): instrument.name for instrument in diagnosis.instruments for view in instrument.models}
    groups: dict[str, LookingGroup] = {}
    for label, view, looking in lookings(diagnosis):
        name = owners[id(view)]
        group = groups.setdefault(label, LookingGroup(label, name, questions[name], []))
        group.views.append((view, looking))
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class ExhibitRows:
    """The examples of all models in one group: those to show, and those to fold."""

    shown: list[tuple[str, Exhibit]]
    folded: list[tuple[str, Exhibit]]


def exhibit_rows(group: LookingGroup, shown: Callable[[PairExample, str, str], Exhibit]) -> ExhibitRows:
    """Choose the examples that are not folded: of each model the first ones, with different outcomes."""
    cut = max(1, _EXHIBITS // len(group.views))
    rows = ExhibitRows([], [])
    for view, looking in group.views:
        for index, form in enumerate(telling(looking.exhibits)):
            chosen = rows.shown if index < cut else rows.folded
            chosen.append((view.model, shown(form, group.instrument, view.model)))
    return rows


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """The metrics of one split, with the best separation of the twins first."""

    title: str
    shown: list[MetricResult]
    rest: list[MetricResult]
    """Folded metrics."""


def metric_groups(instrument: InstrumentResult) -> list[MetricGroup]:
    """Group the metrics by split, those that separate the twins first: the first few to show, the others to fold."""
    groups = []
    for split in dict.fromkeys(result.split for result in instrument.metrics):
        rows = sorted(
            (r for r in instrument.metrics if r.split == split),
            key=lambda r: (not r.separates, -(r.separation.value if r.separation else 0.0), r.key),
        )
        groups.append(MetricGroup(SPLITS.get(split, split or "All items"), *folded(rows, _SHOWN)))
    return groups


def counts_words(counts: Counts) -> str:
    """Format the number of items by outcome."""
    words = in_words(
        [
            (counts.answered, "answered"),
            (counts.refused, "refused"),
            (counts.failed, "failed"),
            (counts.pending, "pending"),
        ]
    )
    return f"{words}; {counts.unreadable} of the answers could not be read" if counts.unreadable else words


def command_of(diagnosis: Diagnosis, folder: Path | None = None) -> str:
    """Return the command that repeats a diagnosis, from its settings and its record.

    Args:
        diagnosis: The diagnosis.
        folder: Its folder.
    """
    settings = diagnosis.settings
    if isinstance(settings.get("command"), str):
        return str(settings["command"])
    asked = settings.get("models")
    models = asked if isinstance(asked, list) else [model.name for model in diagnosis.models]
    words = ["theodolite", "diagnose"]
    for model in models:
        words += ["--model", str(model)]
    if {i.name for i in diagnosis.instruments} != {i.name for i in instruments() if not i.needs_data}:
        words += ["--instruments", ",".join(instrument.name for instrument in diagnosis.instruments)]
    if diagnosis.size == "quick":
        words.append("--quick")
    elif diagnosis.size != "standard":
        words += ["--size", diagnosis.size]
    data = settings.get("data")
    for instrument, path in data.items() if isinstance(data, dict) else ():
        words += ["--data", f"{instrument}={path}"]
    if settings.get("images"):
        words += ["--images", str(settings["images"])]
    if settings.get("engine", "local") != "local":
        words += ["--engine", str(settings["engine"])]
    words += ["--seed", str(diagnosis.seed)]
    return shlex.join([*words, "--out", _from_here(folder)] if folder is not None else words)


def _from_here(folder: Path) -> str:
    """Return a path relative to the working directory if it lies below it, else the absolute path."""
    resolved, here = folder.resolve(), Path.cwd().resolve()
    return str(resolved.relative_to(here) if resolved.is_relative_to(here) else resolved)


def _signature_key(instrument: str, label: str) -> str:
    """Return the key of the definition with that name, or ``diagnose.signature``."""
    for key, definition in definitions().items():
        if key.startswith(f"{instrument}.") and label.lower() in {
            definition.name.lower(),
            definition.title.lower(),
        }:
            return key
    return "diagnose.signature"
