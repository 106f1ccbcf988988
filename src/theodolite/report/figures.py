"""All figures of a diagnosis as files: the bars, the examples, the metrics of every instrument, and the slide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.core.drawing import INK, QUIET, SERIES, Drawing, new_figure, styled
from theodolite.core.tables import Estimate
from theodolite.diagnose.api import Diagnosed
from theodolite.diagnose.record import (
    Diagnosis,
    InstrumentResult,
    MetricEntry,
    MetricResult,
    short_names,
)
from theodolite.report.glossary import Glossary
from theodolite.report.html.diagnosis import metric_groups
from theodolite.report.html.parts import show_number
from theodolite.report.slide import pair_drawings, slide_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["metrics_figure", "write_figures"]

_TWINS = {"grounded": SERIES[1], "shortcut": SERIES[2]}
_MARKS = "oDs^vP"


def metrics_figure(diagnosis: Diagnosis, instrument: InstrumentResult) -> Drawing | None:
    """Draw the metrics that the page shows of an instrument, one axis for each, with the twins as bands.

    Return None if there are none.
    """
    names = short_names(model.name for model in diagnosis.models)
    colours = _colours(names)
    metrics = {metric.key: metric for metric in diagnosis.metrics}
    groups = [group for group in metric_groups(instrument) if group.shown]
    rows = [row for group in groups for row in group.shown]
    if not rows:
        return None
    lanes = max(1, len(diagnosis.models))
    row_height = 0.34 + 0.16 * lanes
    with styled():
        figure = new_figure(9.5, row_height * len(rows) + 0.32 * len(groups) + 0.7)
        panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
        firsts = {id(group.shown[0]): group.title for group in groups}
        for panel, row in zip(panels, rows, strict=True):
            _metric(panel, row, metrics.get(row.key), colours)
            if id(row) in firsts:
                panel.set_title(firsts[id(row)].partition(":")[0], fontsize=10.5, weight="bold", pad=12)
        _legend(figure, names, colours, has_twins=any(row.grounded or row.shortcut for row in rows))
    return Drawing(figure)


def _colours(models: Iterable[str]) -> dict[str, str]:
    """Choose a colour for each model: that of its band for a twin, the next free one for others."""
    free = cycle(colour for colour in SERIES if colour not in _TWINS.values())
    return {model: _TWINS.get(model.removeprefix("pocket:")) or next(free) for model in models}


def _metric(axes: Axes, row: MetricResult, form: MetricEntry | None, colours: Mapping[str, str]) -> None:
    for which, colour in _TWINS.items():
        twin: Estimate | None = getattr(row, which)
        if twin is not None:
            axes.axvspan(twin.low, twin.high, color=colour, alpha=0.16, lw=0)
            axes.axvline(twin.value, color=colour, lw=1.4)
    for y, (model, colour) in enumerate(colours.items()):
        figure = next((mean.figure for mean in row.models if mean.model == model), None)
        if figure is not None:
            axes.plot([figure.low, figure.high], [y, y], color=colour, lw=1.6)
            axes.plot(
                figure.value, y, _MARKS[y % len(_MARKS)], color=colour, ms=5.5, mec="white",
                mew=0.8,
            )  # fmt: skip
    axes.set_ylim(len(colours) - 0.4, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylabel(
        form.name if form is not None else row.key,
        rotation=0,
        ha="right",
        va="center",
        fontsize=9,
        color=INK,
        labelpad=8,
    )
    unit = Glossary().unit(row.key)
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: show_number(value, unit))
    axes.tick_params(axis="x", labelsize=8, colors=QUIET)


def _legend(figure: Figure, names: Mapping[str, str], colours: Mapping[str, str], *, has_twins: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = [
        Line2D([], [], color=colours[model], marker=_MARKS[i % len(_MARKS)], ms=5.5, lw=1.6, label=name)
        for i, (model, name) in enumerate(names.items())
    ]
    if has_twins:
        handles += [Patch(color=colour, alpha=0.4, label=f"{name} twin") for name, colour in _TWINS.items()]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), fontsize=9, handlelength=1.4)


def write_figures(found: Diagnosed, folder: Path) -> list[Path]:
    """Write all figures of a diagnosis as PNG and SVG, and the slide as PNG and PDF.

    Raises:
        UsageError: If the diagnosis has no relevant pair.

    Returns:
        The paths of the files.
    """
    drawings = pair_drawings(found)
    for instrument in found.diagnosis.instruments:
        drawing = metrics_figure(found.diagnosis, instrument)
        if drawing is not None:
            drawings[f"metrics-{instrument.name}"] = drawing
    slide = slide_figure(found)
    return [
        *(
            drawing.save(folder / f"{name}.{kind}")
            for name, drawing in drawings.items()
            for kind in ("png", "svg")
        ),
        *(slide.save(folder / f"slide.{kind}") for kind in ("png", "pdf")),
    ]
