"""Figures of scores: curves with their bands, dots with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.drawing import FAINT, LAYOUT, QUIET, SERIES, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.stats import Estimate, RiskCoverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Formatter

_ORDERS = {"own": SERIES[0], "random": LAYOUT, "opposite": SERIES[4]}


def risk_coverage_curves(curves: Mapping[str, RiskCoverage], *, at: float = 0.7, title: str = "") -> Drawing:
    """Share of errors among the answers kept, against the share kept; lower is better.

    Args:
        curves: by the name of what ranks the answers, in the order of the legend.
        at: a coverage to mark.
        title: above the figure.
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


def deletion_curves(curves: Mapping[str, Sequence[Estimate]], *, title: str = "") -> Drawing:
    """Confidence in the true answer as sectors are hidden one after the other, with pointwise intervals.

    Args:
        curves: by order (``own``, ``random``, ``opposite``, or any other name): ΔS at 0, 1, …, K hidden sectors.
        title: above the figure.
    """
    _some(curves)
    with styled():
        figure = new_figure(6.2, 4.2)
        axes = figure.add_subplot()
        spare = iter(colour for colour in SERIES if colour not in _ORDERS.values())
        for name, points in curves.items():
            if not points:
                raise UsageError(f"the curve {name!r} has no points")
            colour = _ORDERS.get(name) or next(spare)
            steps = np.arange(len(points))
            means = [p.value for p in points]
            area = float(np.trapezoid(means, np.linspace(0, 1, len(points))))
            axes.fill_between(
                steps,
                [p.low for p in points],
                [p.high for p in points],
                color=colour,
                alpha=0.11,
                linewidth=0,
            )
            axes.plot(
                steps,
                means,
                "o-",
                color=colour,
                markersize=4,
                label=f"{name} order (area {area:+.2f})",
                zorder=3,
            )
        axes.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
        axes.set_xlabel("sectors hidden")
        axes.set_ylabel("Δ log p of the true answer")
        axes.set_xticks(np.arange(max(len(points) for points in curves.values())))
        first = next(iter(curves.values()))[-1]
        axes.legend(loc="best")
        axes.set_title(title, weight="bold")
        axes.annotate(
            f"{first.n_items} pairs on {first.n} pictures; bands: {100 * first.level:.0f} % intervals",
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
class DirectionFigures:
    """What is drawn of the pairs of one direction."""

    accuracy: Estimate
    """Share of right answers."""
    dae: Estimate
    """In degrees."""
    uniform_dae: Estimate | None = None
    """The uniform map's on the same pairs: what the layout alone gives."""


def class_accuracy_and_error(
    classes: Mapping[str, DirectionFigures], *, chance: float | None = None, title: str = ""
) -> Drawing:
    """Accuracy beside DAE for each direction (the paper's Figure 5): they may well disagree.

    Args:
        classes: by direction, from top to bottom.
        chance: the accuracy of guessing; one over the number of directions if not given.
        title: above the figure.
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
        _ticks(right, places, [classes[name].uniform_dae for name in names])
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
    layout: Estimate | None = None,
    published: Mapping[str, float] | None = None,
    source: str = "",
    quantity: str = "direction alignment error, degrees (lower is better)",
    title: str = "",
) -> Drawing:
    """Methods as dots with their intervals, best first, against what a map that knows nothing scores.

    Args:
        methods: by name.
        layout: the uniform map's figure, drawn as a line with its interval.
        published: figures reported elsewhere, by the same names, drawn hollow; never a bar to pass.
        source: where those come from; needed with them.
        quantity: what is shown.
        title: above the figure.
    """
    _some(methods)
    if published and not source:
        raise UsageError("published figures are shown with their source: give source=…")
    names = sorted(methods, key=lambda name: methods[name].value)
    places = np.arange(len(names))[::-1]
    with styled():
        figure = new_figure(7.6, 1.5 + 0.34 * len(names))
        axes = figure.add_subplot()
        if layout is not None:
            axes.axvspan(layout.low, layout.high, color=FAINT, alpha=0.6, linewidth=0, zorder=0)
            _mark(axes, layout.value, "uniform map")
        _dots(axes, places, [methods[name] for name in names], SERIES[0])
        shown = (
            [(published[name], place) for name, place in zip(names, places, strict=True) if name in published]
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
            figure.legend(loc="outside lower right")
        axes.set_yticks(places, names)
        axes.set_ylim(-0.7, len(names) - 0.3)
        axes.set_xlabel(quantity)
        axes.grid(visible=True, axis="x")
        axes.tick_params(axis="y", length=0)
        axes.set_title(title, weight="bold", pad=20 if layout is not None else 8)
    return Drawing(figure)


def _dots(axes: Axes, places: Sequence[int] | np.ndarray, figures: Sequence[Estimate], colour: str) -> None:
    for place, figure in zip(places, figures, strict=True):
        axes.plot([figure.low, figure.high], [place, place], color=colour, linewidth=2.2, alpha=0.45)
    axes.plot(
        [figure.value for figure in figures],
        places,
        "o",
        color=colour,
        markersize=7,
        linestyle="none",
        clip_on=False,
    )
    axes.tick_params(axis="y", length=0)


def _ticks(axes: Axes, places: Sequence[int] | np.ndarray, figures: Sequence[Estimate | None]) -> None:
    """A short upright line for each row's uniform map."""
    shown = [(each.value, place) for each, place in zip(figures, places, strict=True) if each is not None]
    if not shown:
        return
    x, y = zip(*shown, strict=True)
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
    axes.figure.legend(loc="outside lower right")


def _mark(axes: Axes, value: float, words: str) -> None:
    """A named line across the figure."""
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
        raise UsageError(f"{n} lines in one figure cannot be told apart; draw at most {len(SERIES)}")
    return list(SERIES[:n])


def _some(given: Mapping[str, object]) -> None:
    if not given:
        raise UsageError("there is nothing to draw")
