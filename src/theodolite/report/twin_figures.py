"""Figures of the twins: how well each metric of each instrument separates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theodolite.core.drawing import FAINT, INK, QUIET, SERIES, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.twins.separate import PASSES, Separation, SeparationTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"paper": SERIES[2], "sound": SERIES[1], "ours": SERIES[0]}
_NAMES = {"paper": "as published", "sound": "published idea, made sound", "ours": "ours"}
_MARKS = {"paper": "o", "sound": "s", "ours": "D"}


def separation_figure(table: SeparationTable, *, title: str = "") -> Drawing:
    """Draw the AUC of metrics: one panel per instrument, one row per kind, one marker per method or explainer.

    A panel has all published kinds and the best others, about `_MOST_ROWS` in all; the table has all of them. The interval is
    drawn for the best method of each kind.

    Args:
        table: A table from `theodolite.twins.separate.separate`.
        title: Title of the figure.

    Raises:
        UsageError: If no metric has an AUC.
    """
    panels = {name: _kinds(table.of(name)) for name in table.instruments}
    n_kinds = sum(map(len, panels.values()))
    panels = {name: _foremost(kinds) for name, kinds in panels.items() if kinds}
    hidden = n_kinds - sum(map(len, panels.values()))
    if not panels:
        raise UsageError("no metric has enough items of both twins for a figure")
    columns = _balanced(panels)
    lowest = _lowest(panels)
    tallest = max(sum(len(panels[name]) + _HEAD for name in column) for column in columns)
    with styled():
        figure = new_figure(6.6 * len(columns), 0.3 * tallest + 1.1)
        figure.get_layout_engine().set(wspace=0.05)  # type: ignore[union-attr, call-arg]  # the constrained layout engine
        grid = figure.add_gridspec(1, len(columns))
        for place, column in enumerate(columns):
            heights = [len(panels[name]) + _HEAD for name in column]
            spare = tallest - sum(heights)
            inner = grid[0, place].subgridspec(
                len(column) + (spare > 0), 1, height_ratios=[*heights, *([spare] if spare > 0 else [])]
            )
            for row, name in enumerate(column):
                is_last = row == len(column) - 1
                axes = figure.add_subplot(inner[row])
                _panel(axes, name, panels[name], with_label=is_last)
                axes.set_xlim(lowest, 1.03)
        _legend(figure, table, hidden)
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12.5)
    return Drawing(figure)


_MOST_ROWS = 9
"""Number of rows in a panel: more cannot be read in a talk. All published metrics are shown."""
_LEAST_OURS = 2
_HEAD = 2.6
"""Height of the title and axis of a panel, in rows."""


def _kinds(rows: Sequence[Separation]) -> list[tuple[str, list[Separation]]]:
    """Group metrics that differ only in their method, with the highest AUC first."""
    found: dict[str, list[Separation]] = {}
    for row in rows:
        if row.auc is not None:
            found.setdefault(row.metric.key.partition(":")[0], []).append(row)
    kinds = [(_kind_name(group), group) for group in found.values()]
    return sorted(kinds, key=lambda kind: -max(row.auc.value for row in kind[1] if row.auc))


def _foremost(kinds: list[tuple[str, list[Separation]]]) -> list[tuple[str, list[Separation]]]:
    """Choose the rows of a panel: all published metrics and the best others, in the order given."""
    published = [kind for kind in kinds if kind[1][0].metric.origin == "paper"]
    others = [kind for kind in kinds if kind not in published]
    chosen = [*published, *others[: max(_MOST_ROWS - len(published), _LEAST_OURS)]]
    return [kind for kind in kinds if kind in chosen]


def _kind_name(group: Sequence[Separation]) -> str:
    metric = group[0].metric
    method = metric.key.partition(":")[2]
    name = metric.name.removesuffix(f" ({method})")
    if len(group) == 1:
        return metric.name
    return f"{name} ({len(group)} methods)"


def _lowest(panels: dict[str, list[tuple[str, list[Separation]]]]) -> float:
    """Return the start of the common axis, left of all markers and intervals."""
    best = [
        max(group, key=lambda row: row.auc.value if row.auc else 0)
        for kinds in panels.values()
        for _, group in kinds
    ]
    values = [row.auc.value for kinds in panels.values() for _, group in kinds for row in group if row.auc]
    return max(0.0, min(0.4, *values, *(row.auc.low for row in best if row.auc)) - 0.02)


def _balanced(panels: dict[str, list[tuple[str, list[Separation]]]]) -> list[list[str]]:
    """Arrange the panels in one column, or in two of about the same height."""
    names = list(panels)
    if len(names) < 2:
        return [names]
    heights = [len(panels[name]) + _HEAD for name in names]
    cuts = range(1, len(names))
    cut = min(cuts, key=lambda c: max(sum(heights[:c]), sum(heights[c:])))
    return [names[:cut], names[cut:]]


def _panel(axes: Axes, name: str, kinds: list[tuple[str, list[Separation]]], *, with_label: bool) -> None:
    axes.axvspan(PASSES, 1.03, color=FAINT, alpha=0.45, linewidth=0, zorder=0)
    axes.axvline(0.5, color=QUIET, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for y, (_, group) in enumerate(kinds):
        best = max(group, key=lambda row: row.auc.value if row.auc else 0)
        for row in sorted(group, key=lambda row: row is best):
            _mark(axes, y, row, is_best=row is best)
    axes.set_yticks(range(len(kinds)), [kind for kind, _ in kinds])
    for label, (_, group) in zip(axes.get_yticklabels(), kinds, strict=True):
        is_passing = any(row.passes for row in group)
        label.set_color(INK if is_passing else QUIET)
        label.set_fontweight("bold" if is_passing else "normal")
    axes.set_ylim(len(kinds) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", zorder=0)
    axes.spines["left"].set_visible(False)
    axes.set_title(name, weight="bold", pad=6)
    if with_label:
        axes.set_xlabel("AUC, grounded against shortcut")


def _mark(axes: Axes, y: int, row: Separation, *, is_best: bool) -> None:
    if row.auc is None:
        return
    colour = _COLOURS[row.metric.origin]
    if is_best:
        axes.plot([row.auc.low, row.auc.high], [y, y], color=colour, linewidth=2.2, zorder=2)
    axes.plot(
        row.auc.value,
        y,
        _MARKS[row.metric.origin],
        color=colour,
        markersize=6.5 if is_best else 4.5,
        alpha=1.0 if is_best else 0.45,
        markeredgewidth=0,
        zorder=3,
        clip_on=False,
    )


def _legend(figure: object, table: SeparationTable, hidden: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = [o for o in _COLOURS if any(row.metric.origin == o and row.auc for row in table.rows)]
    handles: list[object] = [
        Line2D([], [], marker=_MARKS[o], color=_COLOURS[o], linewidth=2.2, markersize=6.5, label=_NAMES[o])
        for o in shown
    ]
    handles.append(Patch(facecolor=FAINT, alpha=0.6, label=f"separates the twins (AUC ≥ {PASSES:g})"))
    if hidden:
        handles.append(Line2D([], [], linestyle="", label=f"{hidden} more rows in the table"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))  # type: ignore[attr-defined]  # matplotlib's figure
