"""Plots of scores: curves with bands, dots with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.core.drawing import FAINT, LAYOUT, QUIET, SERIES, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate, Table
from theodolite.instruments.compass.experiments.ablations import default_key
from theodolite.instruments.compass.experiments.faithfulness.score import DeletionPoint
from theodolite.instruments.compass.formulas.baselines import UNIFORM_MAP, baseline_key, is_baseline
from theodolite.instruments.compass.formulas.resampling import paper_key
from theodolite.instruments.compass.measure import map_key, shown_key, split_key
from theodolite.instruments.compass.published import published_directions
from theodolite.stats import RiskCoverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Formatter

_ORDERS = {"own": SERIES[0], "random": LAYOUT, "opposite": SERIES[4]}


def risk_coverage_curves(curves: Mapping[str, RiskCoverage], *, at: float = 0.7, title: str = "") -> Drawing:
    """Plot the share of errors among the answers kept against the share kept; lower is better.

    Args:
        curves: By confidence, in the order of the legend.
        at: A coverage to mark.
        title: Above the figure.
    """
    _some(curves)
    with styled():
        figure = new_figure(6.8, 4.4)
        axes = figure.add_subplot()
        for (name, curve), colour in zip(curves.items(), _colours(len(curves)), strict=True):
            axes.plot(curve.coverage, curve.risk, color=colour, label=f"{name} ({curve.area:.3f})")
        base = float(next(iter(curves.values())).risk[-1])
        axes.axhline(base, color=QUIET, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"all answers:\n{100 * base:.0f} % wrong",
            (1.0, base),
            (6, 0),
            textcoords="offset points",
            color=QUIET,
            fontsize=8.5,
            va="center",
        )
        axes.axvline(at, color=FAINT, linewidth=1.2, zorder=0)
        axes.set_xlim(0, 1)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(_percent())
        axes.yaxis.set_major_formatter(_percent())
        axes.set_xlabel("answers given")
        axes.set_ylabel("of these, wrong")
        low = base > 0.5
        axes.legend(
            title="ranked by (area under the curve)",
            loc="lower left" if low else "upper left",
            bbox_to_anchor=(1.01, 0.0 if low else 1.0),
            alignment="left",
        )
        axes.set_title(title, weight="bold")
    return Drawing(figure)


def deletion_curves(curves: Mapping[str, Sequence[DeletionPoint]], *, title: str = "") -> Drawing:
    """Plot confidence in the true answer as sectors are hidden one after the other, with pointwise intervals.

    Args:
        curves: By order: ``own``, ``random``, ``opposite``, or any other name.
        title: Above the figure.
    """
    _some(curves)
    with styled():
        figure = new_figure(6.2, 4.2)
        axes = figure.add_subplot()
        spare = iter(colour for colour in SERIES if colour not in _ORDERS.values())
        for index, (name, points) in enumerate(curves.items()):
            if not points:
                raise UsageError(f"the curve {name!r} has no points")
            colour = _ORDERS.get(name) or next(spare)
            aside = 0.13 * (index - (len(curves) - 1) / 2)  # so that intervals stand beside each other
            steps = np.arange(len(points)) + aside
            means = [_ends(p.effect)[0] for p in points]
            ends = [_ends(p.effect)[1:] for p in points]
            area = float(np.trapezoid(means, np.linspace(0, 1, len(points))))
            axes.vlines(
                steps,
                [low for low, _ in ends],
                [high for _, high in ends],
                color=colour,
                linewidth=1.4,
                alpha=0.6,
            )
            label = f"{name} order, area {area:+.2f}".replace("-", "−")
            axes.plot(steps, means, "o-", color=colour, markersize=4.5, linewidth=1.6, label=label, zorder=3)
        axes.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
        axes.set_xlabel("sectors hidden")
        axes.set_ylabel("change of log p of the true answer")
        axes.set_xticks(np.arange(max(len(points) for points in curves.values())))
        last = next((p.effect for p in points if isinstance(p.effect, Estimate)), None)
        figure.legend(loc="outside lower center", ncols=3, fontsize=8.5, handlelength=1.4, columnspacing=1.4)
        axes.set_title(title, weight="bold")
        if last is None:
            return Drawing(figure)
        axes.annotate(
            f"{last.n_items} pairs on {last.n} pictures; {100 * last.level:.0f} % intervals",
            (1, 1),
            (0, 8),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            color=QUIET,
            fontsize=8,
        )
    return Drawing(figure)


@dataclass(frozen=True, slots=True)
class DirectionScore:
    """The scores of the pairs of one direction."""

    accuracy: Estimate
    """Share of right answers."""
    dae: Estimate
    """In degrees."""
    uniform_dae: Estimate | None = None
    """The uniform map's on the same pairs."""


def class_accuracy_and_error(
    classes: Mapping[str, DirectionScore], *, chance: float | None = None, title: str = ""
) -> Drawing:
    """Plot accuracy beside DAE for each direction (the paper's Figure 5).

    Args:
        classes: By direction, from top to bottom.
        chance: The accuracy of guessing; one over the number of directions if not given.
        title: Above the figure.
    """
    _some(classes)
    names = list(classes)
    places = np.arange(len(names))[::-1]
    guess = 1 / len(names) if chance is None else chance
    with styled():
        figure = new_figure(7.4, 1.5 + 0.45 * len(names))
        left, right = figure.subplots(1, 2, sharey=True)
        _dots(left, places, [classes[name].accuracy for name in names], SERIES[1])
        _dots(right, places, [classes[name].dae for name in names], SERIES[0])
        if _ticks(right, places, [classes[name].uniform_dae for name in names]):
            figure.legend(loc="outside lower right")
        _mark(left, guess, "guessing")
        _mark(right, 90.0, "random sector")
        left.set_yticks(places, names)
        left.set_ylim(-0.6, len(names) - 0.4)
        left.set_xlim(0, 1)
        left.tick_params(axis="y", pad=9)  # a dot at zero must not cover its direction's name
        left.xaxis.set_major_formatter(_percent())
        left.set_xlabel("right answers →")
        right.set_xlim(0, 180)
        right.set_xticks([0, 45, 90, 135, 180], ["0°", "45°", "90°", "135°", "180°"])
        right.set_xlabel("← direction alignment error")
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=11)
    return Drawing(figure)


def method_comparison(
    methods: Mapping[str, Estimate],
    *,
    layout: Mapping[str, Estimate] | None = None,
    published: Mapping[str, float] | None = None,
    source: str = "",
    quantity: str = "direction alignment error, degrees (lower is better)",
    title: str = "",
) -> Drawing:
    """Plot methods as dots with their intervals, best first, beside the uniform map of their own grid.

    Args:
        methods: By name.
        layout: The uniform map's estimate by method: a line with its interval if it is one for all, or a mark in each row.
        published: Values reported elsewhere, by the same names, drawn as hollow marks.
        source: Source of the published values; required with them.
        quantity: What is shown.
        title: Above the figure.
    """
    _some(methods)
    if published and not source:
        raise UsageError("published values are shown with their source: give source=…")
    names = sorted(methods, key=lambda name: methods[name].value)
    positions = np.arange(len(names))[::-1]
    uniform = [(layout or {}).get(name) for name in names]
    is_one = uniform[0] is not None and len(set(uniform)) == 1
    with styled():
        figure = new_figure(7.6, 1.5 + 0.34 * len(names))
        axes = figure.add_subplot()
        if is_one and uniform[0] is not None:
            axes.axvspan(uniform[0].low, uniform[0].high, color=FAINT, alpha=0.6, linewidth=0, zorder=0)
            _mark(axes, uniform[0].value, "uniform map")
        has_legend = not is_one and _ticks(axes, positions, uniform)
        _dots(axes, positions, [methods[name] for name in names], SERIES[0])
        shown = (
            [
                (published[name], position)
                for name, position in zip(names, positions, strict=True)
                if name in published
            ]
            if published
            else []
        )
        if shown:
            x, y = zip(*shown, strict=True)
            axes.plot(
                x,
                y,
                "D",
                markerfacecolor="none",
                markeredgecolor=SERIES[2],
                markersize=6,
                linestyle="none",
                label=source,
            )
        if shown or has_legend:
            figure.legend(loc="outside lower right")
        axes.set_yticks(positions, names)
        axes.set_ylim(-0.7, len(names) - 0.3)
        axes.set_xlabel(quantity)
        axes.grid(visible=True, axis="x")
        axes.tick_params(axis="y", length=0)
        axes.set_title(title, weight="bold", pad=20 if is_one else 8)
    return Drawing(figure)


def _dots(
    axes: Axes, positions: Sequence[int] | np.ndarray, estimates: Sequence[Estimate], colour: str
) -> None:
    for position, estimate in zip(positions, estimates, strict=True):
        axes.plot(
            [estimate.low, estimate.high], [position, position], color=colour, linewidth=2.2, alpha=0.45
        )
    axes.plot(
        [estimate.value for estimate in estimates],
        positions,
        "o",
        color=colour,
        markersize=7,
        linestyle="none",
        clip_on=False,
    )
    axes.tick_params(axis="y", length=0)


def _ticks(axes: Axes, positions: Sequence[int] | np.ndarray, estimates: Sequence[Estimate | None]) -> bool:
    """Draw a short vertical line for each row's uniform map; return True if there is one."""
    points = [
        (estimate.value, position)
        for estimate, position in zip(estimates, positions, strict=True)
        if estimate is not None
    ]
    if not points:
        return False
    x, y = zip(*points, strict=True)
    axes.plot(
        x,
        y,
        "|",
        color=LAYOUT,
        markersize=17,
        markeredgewidth=2.6,
        linestyle="none",
        label="uniform map",
        zorder=1.5,
    )
    return True


def _ends(value: Estimate | float) -> tuple[float, float, float]:
    """Return the value and its interval; a value without an interval has one of width zero."""
    return (value.value, value.low, value.high) if isinstance(value, Estimate) else (value, value, value)


def _mark(axes: Axes, value: float, words: str) -> None:
    """Draw a labelled line across the figure."""
    axes.axvline(value, color=LAYOUT, linewidth=1.4, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(
        words,
        (value, 1),
        (0, 3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        color=QUIET,
        fontsize=8.5,
    )


def _percent() -> Formatter:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0, decimals=0)


def _colours(n: int) -> list[str]:
    if n > len(SERIES):
        raise UsageError(f"{n} lines in one figure cannot be distinguished; draw at most {len(SERIES)}")
    return list(SERIES[:n])


def _some(given: Mapping[str, object]) -> None:
    if not given:
        raise UsageError("there is nothing to draw")


def score_figures(
    tables: Sequence[Table],
    curves: Mapping[str, RiskCoverage],
    *,
    model: str,
    sources: Sequence[str],
    chance: float,
    coverage: float,
) -> dict[str, Drawing]:
    """Draw the figures of a score, by file name: methods and directions for every projection, and risk–coverage curves.

    Args:
        tables: With the framework tables; with those of directions, if these are drawn.
        curves: Risk–coverage curves by confidence; may be empty.
        model: Its name.
        sources: Sources of the pairs.
        chance: The accuracy of guessing.
        coverage: The coverage to mark in the risk–coverage curves.
    """
    rows = {table.name: [_named(table, row) for row in table.rows] for table in tables}
    figures: dict[str, Drawing] = {}
    grids: dict[str, str] = {}
    for name in ("paper", "sound"):
        framework = rows.get(f"compass.framework_{name}", [])
        maps = {
            shown_key(map_key(row["method"], row["target"])): row["dae"]
            for row in framework
            if not is_baseline(row["method"]) and row["dae"] is not None
        }
        grids |= {shown_key(map_key(row["method"], row["target"])): row["grid"] for row in framework}
        if maps:
            uniform = {row["grid"]: row["dae"] for row in framework if row["method"] == UNIFORM_MAP}
            published = _published(framework, model, sources)
            figures[f"methods-{name}.png"] = method_comparison(
                maps,
                layout={key: uniform[grids[key]] for key in maps},
                published={key: value for key, (value, _) in published.items()},
                source="; ".join(dict.fromkeys(source for _, source in published.values())),
                title=f"{Path(model.partition('?')[0]).name}, {name} projection",
            )
        by_direction = rows.get(f"compass.direction_maps_{name}", [])
        if by_direction:
            key = default_key([map_key(row["method"], row["target"]) for row in by_direction])
            shown = _directions(rows[f"compass.directions_{name}"], by_direction, key)
            if shown:
                figures[f"classes-{name}.png"] = class_accuracy_and_error(
                    shown, chance=chance, title=f"{shown_key(key)}, {name} projection"
                )
    if curves:
        figures["risk-coverage.png"] = _risk_coverage(curves, coverage, grids)
    return figures


def faithfulness_figures(curves: Mapping[str, Mapping[str, Sequence[DeletionPoint]]]) -> dict[str, Drawing]:
    """Draw the deletion curves of every map but the baselines, by file name."""
    return {
        f"deletion-{shown_key(key).replace('@', '-')}.png": deletion_curves(orders, title=shown_key(key))
        for key, orders in curves.items()
        if not is_baseline(key) and any(isinstance(p.effect, Estimate) for p in orders["own"])
    }


def _named(table: Table, row: Sequence[Any]) -> dict[str, Any]:
    return {column.name: cell for column, cell in zip(table.columns, row, strict=True)}


def _published(
    framework: Sequence[Mapping[str, Any]], model: str, sources: Sequence[str]
) -> dict[str, tuple[float, str]]:
    """Return the paper's DAE and its source, by map."""
    published: dict[str, tuple[float, str]] = {}
    held = [map_key(row["method"], row["target"]) for row in framework]
    for key in held:
        method, target = split_key(paper_key(key, held))
        for source in sources:
            for reported in published_directions(model, source, method=method, target=target)[:1]:
                published.setdefault(shown_key(key), (reported.dae, f"{reported.source}, {reported.data}"))
    return published


def _directions(
    answers: Sequence[Mapping[str, Any]], maps: Sequence[Mapping[str, Any]], key: str
) -> dict[str, DirectionScore]:
    own = {row["direction"]: row for row in maps if map_key(row["method"], row["target"]) == key}
    return {
        row["direction"]: DirectionScore(row["accuracy"], scores["dae"], scores["uniform_dae"])
        for row in answers
        if (scores := own.get(row["direction"])) and row["accuracy"] is not None and scores["dae"] is not None
    }


def _risk_coverage(curves: Mapping[str, RiskCoverage], coverage: float, grids: Mapping[str, str]) -> Drawing:
    """Plot the ranking by logits, by the paper's own map and by the uniform map of its grid, with and without the truth."""
    keys = [name.removesuffix(" agreement") for name in curves if name.endswith(" agreement")]
    own = default_key([key for key in keys if not is_baseline(key)] or keys)
    uniform = own if is_baseline(own) else baseline_key(UNIFORM_MAP, grids[own])
    named = {
        "max probability": "max probability",
        "random": "random",
        "map, with the truth": f"{own} DAE",
        "uniform map, with the truth": f"{uniform} DAE",
        "map, honest": f"{own} agreement",
        "uniform map, honest": f"{uniform} agreement",
    }
    shown = {words: curves[name] for words, name in named.items() if name in curves}
    return risk_coverage_curves(shown, at=coverage, title=f"answering only where confidence is high: {own}")
