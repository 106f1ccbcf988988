"""The page of a diagnosis: the variables of its template, computed from the record."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from theodolite.core.tables import Table
from theodolite.diagnose.items import ITEMS_FILE, read_items
from theodolite.diagnose.pairs_table import looking_table, pairs_table
from theodolite.diagnose.readability import readability_table
from theodolite.diagnose.record import (
    Counts,
    Diagnosis,
    InstrumentForm,
    MetricResult,
    read_diagnosis,
)
from theodolite.instruments.instrument import instruments
from theodolite.report.definitions import definitions
from theodolite.report.html.definitions import Glossary
from theodolite.report.html.dials import Hand, hand
from theodolite.report.html.helpers import Helpers, comparison_groups
from theodolite.report.html.items import ItemTable, in_words, item_table
from theodolite.report.html.numbers import show_number
from theodolite.report.html.page import DataBlock, finished
from theodolite.report.html.pictures import Pictures
from theodolite.report.html.series import Series
from theodolite.report.html.spread import Spread, spread
from theodolite.report.tables import as_html

_SPREADS = 2
"""Number of histograms per instrument."""
_SHOWN = 6
"""Number of metrics per split that are not folded."""
SPLITS = {
    "aligned": "Aligned items: the shortcut gives the right answer, so right answers do not show that the picture is used",
    "crossed": "Crossed items: the shortcut contradicts the picture, so right answers need the picture",
    "free": "Free items: as drawn",
}


def diagnosis_page(
    folder: Path, pictures: Pictures, inside: Mapping[str, str], *, is_served: bool = False
) -> str:
    """Render the page of a diagnosis.

    Args:
        folder: The folder of ``diagnosis.json``, or that file. Items are shown if it has ``items.jsonl``.
        pictures: Collects the pictures of the items. Only those below the folder are used.
        inside: Embedded pictures, filled by `pictures`.
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

        def take(name: str) -> tuple[str, int, int] | None:
            path = (home / name).resolve()
            return pictures.take(path) if path.is_relative_to(home) else None

        table = item_table(read_items(home), names, take=take)
        blocks = table.blocks(glossary, inside)
        context["spreads"] = {i.name: spreads(i, table, glossary) for i in diagnosis.instruments}
        context["items_note"] = missing_words(pictures)
    return finished("diagnosis.html", context, glossary, blocks, is_served=is_served)


def spreads(instrument: InstrumentForm, table: ItemTable, glossary: Glossary) -> list[Spread]:
    """Compute histograms of the metrics that separate the twins best and have enough distinct values."""
    found: list[Spread] = []
    best = sorted(
        (r for r in instrument.metrics if r.is_calibrated and r.separation is not None),
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
        if made is not None and result.key not in {each.key for each in found}:
            found.append(made)
        if len(found) == _SPREADS:
            break
    return found


def missing_words(pictures: Pictures) -> str:
    """Say how many pictures could not be shown. Empty if none."""
    n = len(pictures.missing)
    return f"{n} pictures could not be read and are not shown." if n else ""


def _table_html(table: Table, glossary: Glossary) -> str:
    """Render a table. Empty if it has no rows."""
    return as_html(table, link=lambda key: f"#{glossary.anchor(key)}") if table.rows else ""


def diagnosis_context(diagnosis: Diagnosis, glossary: Glossary, home: Path | None = None) -> dict[str, Any]:
    """Return the variables of the template, without items. `home` is the folder of the diagnosis."""
    d = diagnosis
    series = Series(model.name for model in d.models)
    metrics = {metric.key: metric for metric in d.metrics}
    glossary.anchor("diagnose.position")
    helpers = Helpers(series, glossary, metrics)
    return {
        "d": d,
        **helpers.named(),
        "hands": lambda instrument: hands(instrument, series),
        "dial_words": dial_words,
        "metric_groups": metric_groups,
        "references": lambda key: [one for one in d.references if one.metric == key],
        "signature_key": _signature_key,
        "pairs": _table_html(pairs_table(d), glossary),
        "looking": _table_html(looking_table(d), glossary),
        "readability": as_html(replace(readability_table(diagnosis), title="")),
        "counts_words": counts_words,
        "comparison_groups": comparison_groups,
        "level_percent": f"{100 * _level(d):.0f} %",
        "settings": json.dumps(d.settings, indent=2, ensure_ascii=False, default=str),
        "command": command_of(d, home),
        "spreads": {},
        "items_note": "",
    }


def hands(instrument: InstrumentForm, series: Series) -> list[Hand]:
    """Return the needles on the dial of an instrument."""
    return [
        hand(m.position.estimate(), series.colour(m.model), place=place, mark=series.order(m.model))
        for place, m in enumerate(m for m in instrument.models if m.position is not None)
        if m.position is not None
    ]


def dial_words(instrument: InstrumentForm) -> str:
    """Return the text alternative of a dial."""
    positions = [
        f"{m.model} at {show_number(m.position.value)}, interval {show_number(m.position.low)} to "
        f"{show_number(m.position.high)}"
        for m in instrument.models
        if m.position is not None
    ]
    return f"{instrument.name}, from 0 (shortcut twin) to 1 (grounded twin): " + (
        "; ".join(positions) or "no position"
    )


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """The metrics of one split, with the best separation of the twins first."""

    title: str
    shown: list[MetricResult]
    leading: list[MetricResult]
    """Folded metrics that a position rests on."""
    rest: list[MetricResult]
    """Other folded metrics."""


def metric_groups(instrument: InstrumentForm) -> list[MetricGroup]:
    """Group the metrics by split, those that the position rests on first: the first few to show, the others to fold."""
    leading = {name for m in instrument.models for name in m.rests_on}

    def leads(r: MetricResult) -> bool:
        return f"{r.key}@{r.split}" in leading

    groups = []
    for split in dict.fromkeys(result.split for result in instrument.metrics):
        rows = sorted(
            (r for r in instrument.metrics if r.split == split),
            key=lambda r: (
                not leads(r),
                not r.is_calibrated,
                -(r.separation.value if r.separation else 0.0),
                r.key,
            ),
        )
        cut = len(rows) if len(rows) <= _SHOWN + 1 else _SHOWN
        folded = rows[cut:]
        groups.append(
            MetricGroup(
                SPLITS.get(split, split or "All items"),
                rows[:cut],
                [r for r in folded if leads(r)],
                [r for r in folded if not leads(r)],
            )
        )
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
    if settings.get("engine", "local") != "local":
        words += ["--engine", str(settings["engine"])]
    words += ["--seed", str(diagnosis.seed)]
    return shlex.join([*words, "--out", _from_here(folder)] if folder is not None else words)


def _from_here(folder: Path) -> str:
    """Return a path relative to the working directory if it lies below it, else the absolute path."""
    place, here = folder.resolve(), Path.cwd().resolve()
    return str(place.relative_to(here) if place.is_relative_to(here) else place)


def _signature_key(instrument: str, label: str) -> str:
    """Return the key of the definition with that name, or ``diagnose.signature``."""
    for key, definition in definitions().items():
        if key.startswith(f"{instrument}.") and label.lower() in {
            definition.name.lower(),
            definition.title.lower(),
        }:
            return key
    return "diagnose.signature"


def _level(diagnosis: Diagnosis) -> float:
    figures = [m.position for i in diagnosis.instruments for m in i.models if m.position is not None]
    return figures[0].level if figures else 0.95
