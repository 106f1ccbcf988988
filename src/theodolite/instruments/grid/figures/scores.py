"""Figures of scored explanations: mean scores by scenario, synergy over depth, twin separation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.drawing import INK, QUIET, SERIES, Drawing, new_figure, styled
from theodolite.instruments.grid.published_explanations import DEPTH, TABLES_SOURCE, paper_tables
from theodolite.instruments.grid.score import ExplainScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SCENARIOS = {"pure": SERIES[0], "spurious": SERIES[4], "cross": SERIES[2]}
_LEFT_OUT = {"oracle", "bow-oracle", "random", "dime-mdetr"}


def bar_figure(score: ExplainScore, measure: str, title: str) -> Drawing:
    """One measure of every explainer in every scenario, with intervals and the uniform map's level."""
    cells = [
        c
        for c in score.tables["all"]
        if c.measure == measure and c.mean is not None and c.explainer not in _LEFT_OUT
    ]
    names = list(dict.fromkeys(c.explainer for c in cells))
    scenarios = list(dict.fromkeys(c.scenario for c in cells))
    height = 0.8 / len(scenarios)
    with styled():
        figure = new_figure(7.2, 0.9 + 0.42 * len(names))
        axes = figure.subplots()
        for place, scenario in enumerate(scenarios):
            colour = _SCENARIOS.get(scenario, SERIES[5])
            for cell in (c for c in cells if c.scenario == scenario):
                y = names.index(cell.explainer) + (place - (len(scenarios) - 1) / 2) * height
                axes.barh(
                    y,
                    cell.mean or 0.0,
                    height * 0.9,
                    color=colour,
                    label=scenario if cell.explainer == names[0] else None,
                )
                if cell.estimate is not None:
                    axes.plot([cell.estimate.low, cell.estimate.high], [y, y], color=INK, linewidth=1.0)
        _floor_and_paper(axes, score, measure, names=names, scenarios=scenarios)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.9)
        axes.set_xlim(0, 1)
        axes.grid(axis="x")
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=len(scenarios) + 1)
    return Drawing(figure)


def _floor_and_paper(
    axes: Axes, score: ExplainScore, measure: str, *, names: list[str], scenarios: list[str]
) -> None:
    """The level of the uniform map, and what the paper has for its explainers: means over its buckets."""
    floors = [
        c.mean
        for c in score.tables["all"]
        if c.measure == "area" and c.explainer == "uniform" and c.mean is not None
    ]
    if floors and measure == "rma":
        axes.axvline(float(np.mean(floors)), color=QUIET, linestyle=":", linewidth=1.2)
        axes.text(float(np.mean(floors)), -0.75, "area", color=QUIET, fontsize=8, ha="center")
    height = 0.8 / len(scenarios)
    published = {(c.scenario, c.explainer) for c in paper_tables() if c.measure == measure}
    shown = [(s, e) for s, e in sorted(published) if s in scenarios and e in names]
    for place, (scenario, explainer) in enumerate(shown):
        told = [
            c.mean
            for c in paper_tables()
            if (c.scenario, c.explainer, c.measure) == (scenario, explainer, measure)
        ]
        y = names.index(explainer) + (scenarios.index(scenario) - (len(scenarios) - 1) / 2) * height
        label = f"paper ({TABLES_SOURCE.partition(', ')[2]})" if not place else None
        axes.plot(float(np.mean(told)), y, "D", color="white", markeredgecolor=INK, markersize=5, label=label)


def depth_figure(score: ExplainScore) -> Drawing:
    """Every synergy scalar over depth: a row for each kind of question, a line for each scenario and density."""
    checks = [c for c in score.depths if c.reading == "plain"]
    scalars = list(dict.fromkeys(c.scalar for c in checks))
    kinds = list(dict.fromkeys(c.kind for c in checks))
    densities = list(dict.fromkeys(c.density for c in checks))
    styles = ["-", "--", ":", "-."]
    with styled():
        figure = new_figure(max(5.6, 2.3 * len(scalars)), 0.9 + 1.9 * len(kinds))
        panels = figure.subplots(len(kinds), len(scalars), squeeze=False, sharex=True, sharey="col")
        for check in checks:
            axes = panels[kinds.index(check.kind), scalars.index(check.scalar)]
            depths = sorted(check.means)
            axes.plot(
                depths,
                [check.means[d] for d in depths],
                color=_SCENARIOS.get(check.scenario, SERIES[5]),
                linestyle=styles[densities.index(check.density) % len(styles)],
                marker="o",
                markersize=4,
                alpha=0.85,
            )
        is_told = "emap, intershap" in scalars and "M-F0" in kinds
        for name, marker in (("emap", "D"), ("intershap", "s")) if is_told else ():
            told = sorted((depth, value) for (what, depth), value in DEPTH.items() if what == name)
            panels[kinds.index("M-F0"), scalars.index("emap, intershap")].plot(
                *zip(*told, strict=True),
                color=QUIET,
                linewidth=1,
                marker=marker,
                markerfacecolor="white",
                label=f"paper's {name}, pure",
            )
        for column, scalar in enumerate(scalars):
            panels[0, column].set_title(scalar)
            panels[-1, column].set_xlabel("depth")
        for row, kind in enumerate(kinds):
            panels[row, 0].set_ylabel(kind)
        for axes in panels.flat:
            axes.set_xticks([1, 2, 3])
            axes.set_xlim(0.85, 3.15)
            axes.set_ylim(bottom=0)
            axes.grid(axis="y")
        for scenario in dict.fromkeys(c.scenario for c in checks):
            panels[0, 0].plot([], [], color=_SCENARIOS.get(scenario, SERIES[5]), label=scenario)
        for density, style in zip(densities, styles, strict=False):
            panels[0, 0].plot([], [], color=QUIET, linestyle=style, label=density)
        figure.legend(loc="outside lower center", ncols=4)
    return Drawing(figure)


def separation_figure(score: ExplainScore) -> Drawing:
    """How well each explainer tells the two models apart, by distractors and by direction words."""
    kept = [s for s in score.separations if s.auc is not None and s.explainer not in _LEFT_OUT]
    names = list(dict.fromkeys(s.explainer for s in kept))
    figures = ("adversarial mass", "direction words")
    with styled():
        figure = new_figure(6.6, 1.1 + 0.34 * len(names))
        axes = figure.subplots()
        for place, what in enumerate(figures):
            colour = (SERIES[2], SERIES[1])[place]
            for each in (s for s in kept if s.figure == what):
                assert each.auc is not None  # noqa: S101 - kept only so
                y = names.index(each.explainer) + (place - 0.5) * 0.3
                axes.plot([each.auc.low, each.auc.high], [y, y], color=colour, linewidth=2)
                axes.plot(each.auc.value, y, "o", color=colour, markersize=6)
        for colour, label in (
            (SERIES[2], "mass on look-alikes: spur above pure"),
            (SERIES[1], "direction words: pure above spur"),
        ):
            axes.plot([], [], "o-", color=colour, label=label)
        axes.axvline(0.5, color=QUIET, linestyle=":", linewidth=1.2)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.02)
        axes.set_xlabel("AUC with 95 % interval, clustered by scene")
        axes.set_title("Does the explainer tell the two models apart?")
        figure.legend(loc="outside lower center")
        axes.grid(axis="x")
    return Drawing(figure)
