"""Figures of a diagnosis: pairs, twins, the slide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, TypeAlias

from theodolite.core.drawing import FAINT, INK, QUIET, SERIES, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.core.tables import interval, percent, upper_first
from theodolite.diagnose.api import Diagnosed, picture_of
from theodolite.diagnose.compare import lookings
from theodolite.diagnose.pair_verdicts import OUTCOME_COLOURS, OUTCOMES, tone_of
from theodolite.diagnose.record import Diagnosis, LookingResult, PairExample, short_names
from theodolite.report.summary import Summary, asked, example, summaries
from theodolite.twins.separate import PASSES, Separation, SeparationTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "exhibit_figure",
    "looking_figure",
    "pair_drawings",
    "slide_figure",
]


# Figures of pairs: the shares of all models as bars, and examples with both pictures.


_NARROW = 0.07
_LINE = 44


def looking_figure(diagnosis: Diagnosis, *, title: str = "") -> Drawing:
    """Draw the outcomes of all pairs: one bar for each model and kind of pictures, the user's own data first.

    The dashed line is the bound, the thin line below a bar the 95 % interval of the followed share.

    Raises:
        UsageError: If the diagnosis has no relevant pair.
    """
    names = short_names(model.name for model in diagnosis.models)
    groups: dict[str, list[tuple[str, LookingResult]]] = {}
    for label, view, looking in lookings(diagnosis):
        groups.setdefault(label, []).append((names[view.model], looking))
    if not groups:
        raise UsageError("this diagnosis has no relevant pairs to draw")
    n = sum(len(rows) for rows in groups.values())
    with styled():
        figure = new_figure(8.2, 0.42 * n + 0.34 * len(groups) + 1.2)
        axes = figure.add_subplot()
        y, ticks = 0.0, []
        for label, rows in groups.items():
            axes.text(0, y, label, weight="bold", color=INK, va="bottom", fontsize=10.5)
            y += 0.5
            for model, looking in rows:
                shares_bar(axes, y, looking)
                ticks.append((y, model))
                axes.text(1.015, y, looking.standing, va="center", color=INK, fontsize=9.5)
                y += 1.0
            y += 0.35
        axes.set_ylim(y - 0.3, -0.5)
        axes.set_xlim(0, 1)
        axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        axes.set_xlabel(
            "share of pairs: the same question before and after an edit for which the correct answer is different"
        )
        axes.tick_params(left=False)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        _outcome_legend(axes)
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12.5)
    return Drawing(figure)


def shares_bar(
    axes: Axes,
    y: float,
    looking: LookingResult,
    *,
    fontsize: float = 9,
    height: float = 0.62,
    left: float = 0.0,
    width_of_number: float = 0.0,
) -> None:
    """Draw one bar of width 1, with the interval of looking below it.

    A share narrower than its number is drawn without it.

    Args:
        axes: The axes to draw on.
        y: Vertical position of the bar.
        looking: The verdict with its shares.
        fontsize: Size of the numbers.
        height: Height of the bar.
        left: Position of its left end.
        width_of_number: Width of a number, in bars.
    """
    start, narrow = left, width_of_number or _NARROW * fontsize / 9
    for name, colour in OUTCOME_COLOURS.items():
        figure = getattr(looking, name)
        width = figure.value if figure is not None else 0.0
        if width <= 0:
            continue
        axes.barh(y, width, left=left, height=height, color=colour)
        if width >= narrow:
            axes.text(
                left + width / 2, y, percent(width), color=INK if name == "lost" else "white", ha="center",
                va="center", fontsize=fontsize, weight="bold",
            )  # fmt: skip
        left += width
    interval_of, below = looking.looking, y + height / 2 + 0.09
    if interval_of is not None:
        axes.plot(
            [start + max(0.0, interval_of.low), start + max(0.0, interval_of.high)], [below, below], color=INK, lw=fontsize / 8, marker="|",
            markersize=fontsize / 2, markeredgewidth=fontsize / 8, solid_capstyle="butt", clip_on=False,
        )  # fmt: skip


def _outcome_legend(axes: Axes) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=colour, label=OUTCOMES[name]) for name, colour in OUTCOME_COLOURS.items()
    ]
    handles.append(Line2D([], [], color=INK, lw=1.0, marker="|", markersize=4, label="looking, 99 %"))
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=6, frameon=False, fontsize=8.5,
        handlelength=1.1, columnspacing=1.2, borderaxespad=0.2,
    )  # fmt: skip


def exhibit_figure(found: Diagnosed, model: str, instrument: str, *, source: str = "") -> Drawing:
    """Draw the examples of one verdict: both pictures of each pair with the question and the answers.

    Args:
        found: An open diagnosis.
        model: Name of the model.
        instrument: Name of the instrument.
        source: ``own`` or ``drawn``. Default: the first available.

    Raises:
        UsageError: If there are no examples.
    """
    chosen = [each for each in found.view(model, instrument).looking if source in {"", each.source}]
    exhibits = chosen[0].exhibits if chosen else []
    if not exhibits:
        raise UsageError(f"{instrument} has no examples of {model}")
    with styled():
        columns = min(2, len(exhibits))
        rows = (len(exhibits) + 1) // 2
        figure = new_figure(5.2 * columns, 3.5 * rows + 0.3)
        for index, inner in enumerate(figure.subfigures(rows, columns, squeeze=False, wspace=0.06).flat):
            if index < len(exhibits):
                _pair(inner.subplots(1, 2), exhibits[index], found.folder)
        name = short_names(each.name for each in found.diagnosis.models)[model]
        figure.suptitle(f"{name}, {instrument}: {chosen[0].standing}", x=0.01, ha="left", weight="bold")
    return Drawing(figure)


def _pair(axes: Sequence[Axes], exhibit: PairExample, folder: Path) -> None:
    question = fill(asked(exhibit.question), _LINE, max_lines=4, placeholder=" …")
    axes[0].set_title(
        f"{OUTCOMES.get(exhibit.outcome, exhibit.outcome)} ({exhibit.edit})\n{question}",
        loc="left",
        fontsize=8.5,
        color=INK,
    )
    for panel, side, word in zip(axes, (exhibit.before, exhibit.after), ("before", "after"), strict=True):
        panel.set_xticks([])
        panel.set_yticks([])
        for spine in panel.spines.values():
            spine.set_visible(True)
            spine.set_color(FAINT)
        pixels = picture_of(side, folder)
        if pixels is not None:
            panel.imshow(pixels)
        is_right = side.read_as == side.gold
        answer = fill(side.read_as or side.answer or "no answer", 22, max_lines=2, placeholder=" …")
        colour = OUTCOME_COLOURS["followed"] if is_right else OUTCOME_COLOURS["unmoved"]
        truth = "" if is_right else f"\n(right: {side.gold})"
        panel.set_xlabel(f"{word}: {answer}{truth}", fontsize=9, color=colour)


def pair_drawings(found: Diagnosed) -> dict[str, Drawing]:
    """Draw the bars and the examples of every verdict, by the name of the file."""
    from theodolite.runs import slug

    drawings = {"looking": looking_figure(found.diagnosis)}
    for instrument in found.diagnosis.instruments:
        for view in instrument.models:
            for looking in view.looking:
                if looking.exhibits:
                    name = f"examples-{instrument.name}-{looking.source}-{slug(view.model)}"
                    drawings[name] = exhibit_figure(found, view.model, instrument.name, source=looking.source)
    return drawings


# Figures of the twins: how well each metric of each instrument separates them.


_COLOURS = {"paper": SERIES[2], "sound": SERIES[1], "ours": SERIES[0]}
_NAMES = {"paper": "as published", "sound": "published idea, made sound", "ours": "ours"}
_TWIN_MARKS = {"paper": "o", "sound": "s", "ours": "D"}


def separation_figure(table: SeparationTable, *, title: str = "") -> Drawing:
    """Draw the AUC of metrics: one panel per instrument, one row per kind, one marker per method or explainer.

    A panel has all published kinds and the best others, about `_MOST_ROWS` in all; the table has every kind. The
    interval is drawn for the best method of each kind.

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
        for index, column in enumerate(columns):
            heights = [len(panels[name]) + _HEAD for name in column]
            spare = tallest - sum(heights)
            inner = grid[0, index].subgridspec(
                len(column) + (spare > 0), 1, height_ratios=[*heights, *([spare] if spare > 0 else [])]
            )
            for row, name in enumerate(column):
                is_last = row == len(column) - 1
                axes = figure.add_subplot(inner[row])
                _panel(axes, name, panels[name], with_label=is_last)
                axes.set_xlim(lowest, 1.03)
        _twin_legend(figure, table, hidden)
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
    groups: dict[str, list[Separation]] = {}
    for row in rows:
        if row.auc is not None:
            groups.setdefault(row.metric.key.partition(":")[0], []).append(row)
    kinds = [(_kind_name(group), group) for group in groups.values()]
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
        _TWIN_MARKS[row.metric.origin],
        color=colour,
        markersize=6.5 if is_best else 4.5,
        alpha=1.0 if is_best else 0.45,
        markeredgewidth=0,
        zorder=3,
        clip_on=False,
    )


def _twin_legend(figure: object, table: SeparationTable, hidden: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = [o for o in _COLOURS if any(row.metric.origin == o and row.auc for row in table.rows)]
    handles: list[object] = [
        Line2D(
            [], [], marker=_TWIN_MARKS[o], color=_COLOURS[o], linewidth=2.2, markersize=6.5, label=_NAMES[o]
        )
        for o in shown
    ]
    handles.append(Patch(facecolor=FAINT, alpha=0.6, label=f"separates the twins (AUC ≥ {PASSES:g})"))
    if hidden:
        handles.append(Line2D([], [], linestyle="", label=f"{hidden} more rows in the table"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))  # type: ignore[attr-defined]  # matplotlib's figure


# A summary of a diagnosis on one slide of 16:9: the verdict, the bars, one example and the key numbers, in large letters.


_WIDTH, _HEIGHT = 13.333, 7.5
_MOST_MODELS = 3
"""With more models, each has one bar, and there is no example."""
_MOST_BARS = 4
_MOST_BELOW = 6
"""More bars do not stand below each other, but in a table: a row for each kind of pictures, a column for each model."""
_MOST_AT_ALL = 12
_SMALLEST = 14
"""Points: smaller letters cannot be read from the last row."""
_LEAST_HEIGHT = 5.0
"""Height of the axes in bars: few bars do not fill the slide."""
_LETTER = 0.7
"""Width of a bold letter, in its size."""
_TWO_LINES = 19.0
"""A verdict that would be smaller than this is broken into two lines."""
_GAP = 0.09
"""Between the columns of a table, in widths of a bar."""


_Row: TypeAlias = "tuple[str, list[tuple[Summary, LookingResult]]]"
"""A kind of pictures, and the models with pairs of them."""


def slide_figure(found: Diagnosed) -> Drawing:
    """Draw the slide: title and verdicts above, bars on the left, an example on the right, numbers below.

    Args:
        found: An open diagnosis. Of up to three models four bars each are shown, of more models one each, of twelve at most;
            the page has all of them.

    Raises:
        UsageError: If the diagnosis has no relevant pair.
    """
    every = summaries(found.diagnosis)
    shown = [summary for summary in every if summary.lookings]
    if not shown:
        raise UsageError("this diagnosis has no relevant pairs to draw")
    is_many = len(shown) > _MOST_MODELS
    shown = shown[:_MOST_AT_ALL]
    with styled():
        figure = new_figure(_WIDTH, _HEIGHT)
        figure.set_layout_engine("none")
        title = "Does the model look?" if len(shown) == 1 else "Do the models look?"
        figure.text(0.04, 0.93, title, fontsize=34, weight="bold", color=INK, va="center")
        if is_many:
            _models(figure, shown)
        else:
            _verdicts(figure, shown)
            _evidence(figure, shown, found)
        _foot(figure, found, shown, len(every) - len(shown))
    return Drawing(figure)


def _evidence(figure: Figure, shown: Sequence[Summary], diagnosed: Diagnosed) -> None:
    """Draw the bars, and an example if there is one."""
    chosen = example(shown, needs_pictures=True)
    names = _labels(shown)
    kinds = list(dict.fromkeys(label for summary in shown for label, _ in summary.lookings))[:_MOST_BARS]
    rows: list[_Row] = [
        (kind, [(summary, one) for summary in shown for label, one in summary.lookings if label == kind])
        for kind in kinds
    ]
    place = (0.04, 0.14, 0.50 if chosen else 0.92, 0.585)
    if len(shown) > 1 and sum(len(bars) for _, bars in rows) > _MOST_BELOW:
        _table(figure.add_axes(place), shown, rows, names)
    else:
        _bars(figure.add_axes(place), shown, rows, names)
    if chosen is not None:
        summary, _, exhibit = chosen
        _pair_panel(figure, exhibit, names[summary.name] if len(shown) > 1 else "", diagnosed)


def _models(figure: Figure, shown: Sequence[Summary]) -> None:
    """Draw one bar for each of many models, in two columns, for the kind of pictures that most of them have."""
    kinds = [label for summary in shown for label, _ in summary.lookings]
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    figure.text(0.96, 0.93, kind, fontsize=18, color=QUIET, va="center", ha="right")
    names = _labels(shown)
    half = (len(shown) + 1) // 2
    for column in range(2):
        axes = figure.add_axes((0.04 + 0.48 * column, 0.14, 0.44, 0.72))
        for row, summary in enumerate(shown[column * half : (column + 1) * half]):
            looking = next((one for label, one in summary.lookings if label == kind), None)
            text = shorten(names[summary.name], 26, placeholder=" …")
            axes.text(0, row, text, fontsize=15, color=INK, va="center")
            verdict = summary.standing if looking is None else looking.standing
            axes.text(
                1, row, verdict, fontsize=15, weight="bold", color=tone_of(verdict).colour, va="center", ha="right"
            )  # fmt: skip
            if looking is not None:
                shares_bar(axes, row + 0.42, looking, fontsize=_SMALLEST, height=0.38)
        axes.set_xlim(0, 1)
        axes.set_ylim(max(half, 4) - 0.15, -0.3)
        axes.set_axis_off()


def _verdicts(figure: Figure, shown: Sequence[Summary]) -> None:
    width = 0.92 / len(shown)
    for column, summary in enumerate(shown):
        x = 0.04 + column * width
        figure.text(
            x,
            0.845,
            shorten(summary.name, 100 // len(shown), placeholder=" …"),
            fontsize=16,
            color=QUIET,
            va="center",
        )
        size = min(30.0, width * _WIDTH * 72 / (_LETTER * len(summary.headline)))
        headline = summary.headline if size > _TWO_LINES else fill(summary.headline, 20)
        tone = tone_of(summary.standing)
        figure.text(
            x,
            0.78,
            headline,
            fontsize=max(size, _TWO_LINES),
            weight="bold",
            color=tone.colour,
            va="center",
            linespacing=1.0,
        )


def _labels(shown: Sequence[Summary]) -> dict[str, str]:
    """Label the models beside the bars by what distinguishes them.

    A file name that all of them share is left out.
    """
    parts = {summary.name: summary.name.rpartition(":")[2].partition(", ") for summary in shown}
    is_common = len(shown) > 1 and len({first for first, *_ in parts.values()}) == 1
    return {name: part[2] if is_common and part[2] else "".join(part) for name, part in parts.items()}


def _table(axes: Axes, shown: Sequence[Summary], rows: Sequence[_Row], names: Mapping[str, str]) -> None:
    """Draw the bars as a table: a row for each kind of pictures, a column for each model."""
    wide = 1 + _GAP
    for column, summary in enumerate(shown):
        text = shorten(names[summary.name], 40 // len(shown), placeholder=" …")
        axes.text(column * wide, 0, text, fontsize=_SMALLEST + 1, color=QUIET, va="center")
    for row, (kind, bars) in enumerate(rows):
        y = 0.75 + 1.6 * row
        axes.text(0, y, upper_first(kind), fontsize=_SMALLEST + 1, weight="bold", color=INK, va="center")
        for summary, looking in bars:
            x = wide * next(place for place, one in enumerate(shown) if one is summary)
            shares_bar(axes, y + 0.68, looking, fontsize=_SMALLEST, height=0.66, left=x, width_of_number=0.27)
    axes.set_xlim(0, len(shown) * wide - _GAP)
    axes.set_ylim(max(0.75 + 1.6 * len(rows), _LEAST_HEIGHT), -0.35)
    axes.set_axis_off()


def _bars(axes: Axes, shown: Sequence[Summary], rows: Sequence[_Row], names: Mapping[str, str]) -> None:
    """Draw a bar for each model and kind of pictures, with the name of the kind above a group of models."""
    y, size = 0.0, _SMALLEST + 1
    axes.set_xlim(-0.34 if len(shown) > 1 else 0, 1)
    for label, bars in rows:
        axes.text(0, y, upper_first(label), fontsize=size, weight="bold", color=INK, va="center")
        y += 0.75
        for summary, looking in bars:
            shares_bar(axes, y, looking, fontsize=size, height=0.72)
            if len(shown) > 1:
                axes.text(
                    -0.015, y, fill(names[summary.name], 16, max_lines=2, placeholder=" …"),
                    fontsize=_SMALLEST, color=INK, ha="right", va="center",
                )  # fmt: skip
            y += 0.98
        y += 0.25
    room = _LEAST_HEIGHT - y
    for line, summary in enumerate(shown if room > len(shown) else ()):
        named = [f"{name} {percent(share)}" for name, share in summary.by_name]
        kept = named if len(named) < 4 else [named[0], "…", named[-1]]
        text = (
            f"looking of {names[summary.name]}: {', '.join(kept)}"
            if any(share for _, share in summary.by_name)
            else ""
        )
        axes.text(axes.get_xlim()[0], y + 0.5 + line * 0.6, text, fontsize=14, color=INK, va="center")
    axes.set_ylim(max(y, _LEAST_HEIGHT), -0.35)
    axes.set_axis_off()


def _pair_panel(figure: Figure, exhibit: PairExample, name: str, diagnosed: Diagnosed) -> None:
    left, width = 0.60, 0.36
    figure.text(
        left + 0.008, 0.69, OUTCOMES[exhibit.outcome], fontsize=15, weight="bold", color="white", va="center",
        bbox={"boxstyle": "round,pad=0.3", "facecolor": OUTCOME_COLOURS[exhibit.outcome], "edgecolor": "none"},
    )  # fmt: skip
    if name:
        shown = shorten(name, 24, placeholder=" …")
        figure.text(left + width, 0.69, shown, fontsize=15, color=QUIET, va="center", ha="right")
    question = fill(asked(exhibit.question), 33, max_lines=2, placeholder=" …")
    figure.text(left, 0.65, question, fontsize=16, weight="bold", color=INK, va="top", linespacing=1.25)
    for column, side in enumerate((exhibit.before, exhibit.after)):
        panel = figure.add_axes((left + column * (width / 2 + 0.006), 0.22, width / 2 - 0.006, 0.33))
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_anchor("N")
        for spine in panel.spines.values():
            spine.set_visible(True)
            spine.set_color(FAINT)
        pixels = picture_of(side, diagnosed.folder)
        if pixels is not None:
            panel.imshow(pixels)
        is_right = side.read_as == side.gold
        answer = shorten(side.read_as or side.answer or "no answer", 18, placeholder=" …")
        panel.set_xlabel(
            f"“{answer}” {'✓' if is_right else '✗'}", fontsize=18, weight="bold", labelpad=8,
            color=OUTCOME_COLOURS["followed"] if is_right else OUTCOME_COLOURS["unmoved"],
        )  # fmt: skip


def _foot(figure: Figure, diagnosed: Diagnosed, shown: Sequence[Summary], n_more: int) -> None:
    """Draw the key numbers, the legend and the source."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Patch | Line2D] = [
        Patch(color=OUTCOME_COLOURS[name], label=words) for name, words in OUTCOMES.items()
    ]
    handles.append(Line2D([], [], color=INK, lw=1.6, marker="|", markersize=7, label="looking"))
    figure.legend(
        handles=handles, loc="center left", bbox_to_anchor=(0.03, 0.105), ncols=6, fontsize=_SMALLEST, handlelength=1.1,
        columnspacing=1.4, handletextpad=0.5, borderaxespad=0,
    )  # fmt: skip
    d = diagnosed.diagnosis
    n = max(sum(looking.n_relevant for _, looking in summary.lookings) for summary in shown)
    more = f"; {n_more} more models in the report" if n_more else ""
    figure.text(
        0.04, 0.045, f"{_numbers(shown)}{n} pairs per model; line below a bar: looking, 99 % interval{more}. "
        f"Theodolite {d.theodolite}, {d.created:%Y-%m-%d}.", fontsize=_SMALLEST, color=QUIET, va="center",
    )  # fmt: skip


def _numbers(shown: Sequence[Summary]) -> str:
    """Format the numbers of a single model with a single bar. Several bars show their own."""
    if len(shown) > 1 or len(shown[0].lookings) > 1:
        return ""
    looking = shown[0].lookings[0][1]
    return f"Looking {interval(looking.looking)}. " if looking.looking else ""
