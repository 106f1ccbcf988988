"""Figures of the solvers on graphs of graded quality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from theodolite.core.drawing import SERIES, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.questions import Competency
from theodolite.instruments.scene.experiments.curves import CurvePoint
from theodolite.instruments.scene.formulas.solver import SOLVER_TITLES, SolverName

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOLVER_LOOKS: Mapping[SolverName, tuple[str, str, float]] = {
    "upstream": (SERIES[4], "s", 1.6),
    "geometric": (SERIES[1], "^", 1.6),
    "fused": (SERIES[0], "o", 2.6),
}
"""Colour, marker and width of a line; the last is drawn on top."""
_ROWS: tuple[Competency | None, ...] = ("transformation", "deduction", None)
"""The competencies that a graph does not answer by stating it, and all together."""
_TITLES: Mapping[Competency | None, str] = {
    "transformation": "transformation:\nwhere after turning",
    "deduction": "deduction:\ndistance after placing",
    None: "all nine groups,\nmacro mean",
}


def solver_figure(points: Sequence[CurvePoint], *, title: str = "") -> Drawing:
    """Scores against the noise of the graph: a row for each competency, a column for each kind of noise.

    Args:
        points: From `solver_curves`.
        title: Above the figure.
    """
    noisy = list(dict.fromkeys(point.noisy for point in points))
    rows = [row for row in _ROWS if any(point.competency == row for point in points)]
    if not rows:
        raise UsageError("there is nothing to draw: no question needs more than the graph states")
    from matplotlib.ticker import MultipleLocator

    with styled():
        figure = new_figure(3.2 * len(noisy) + 0.9, 2.25 * len(rows) + 1.0)
        grid = figure.subplots(len(rows), len(noisy), sharex=True, sharey="row", squeeze=False)
        for i, row in enumerate(rows):
            for j, on in enumerate(noisy):
                part = sorted(
                    (p for p in points if (p.noisy, p.competency) == (on, row)), key=lambda p: p.level
                )
                axes = grid[i][j]
                _lines(axes, part)
                if i == 0:
                    axes.set_title(f"noise on {on}", fontsize=10.5)
                if i == len(rows) - 1:
                    axes.set_xlabel(_across(part), fontsize=9)
            grid[i][0].set_ylabel(_TITLES[row], fontsize=9.5)
            grid[i][0].set_ylim(_lowest([p for p in points if p.competency == row]), 1.03)
            grid[i][0].yaxis.set_major_locator(MultipleLocator(0.1))
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(
            handles[::-1],
            labels[::-1],
            loc="outside lower center",
            ncols=len(labels),
            frameon=False,
            fontsize=10,
        )
        figure.suptitle(title, weight="bold", fontsize=12.5)
    return Drawing(figure)


def _lines(axes: Axes, points: Sequence[CurvePoint]) -> None:
    """One line for each solver, with its interval."""
    for name, (colour, marker, width) in SOLVER_LOOKS.items():
        found = [(p.level, e) for p in points if (e := p.scores[name]) is not None]
        x = [level for level, _ in found]
        axes.fill_between(
            x, [e.low for _, e in found], [e.high for _, e in found], color=colour, alpha=0.12, linewidth=0
        )
        axes.plot(
            x,
            [e.value for _, e in found],
            color=colour,
            marker=marker,
            markersize=4.5,
            linewidth=width,
            label=SOLVER_TITLES[name],
        )
    axes.set_xticks([point.level for point in points if point.level != 0.05])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.grid(visible=True, alpha=0.5)
    axes.tick_params(labelsize=8.5)


def _lowest(points: Sequence[CurvePoint]) -> float:
    """The lower end of the vertical axis: a tenth below every interval."""
    low = min((e.low for point in points for e in point.scores.values() if e is not None), default=0.0)
    return max(0.0, math.floor(10 * low) / 10)


def _across(points: Sequence[CurvePoint]) -> str:
    """What the horizontal axis shows, with the quality of the graphs at its two ends."""
    first, last = points[0].quality, points[-1].quality
    if first is None or last is None:
        return "noise level"
    return f"noise level (SGC {100 * first.value:.0f} % → {100 * last.value:.0f} %)"
