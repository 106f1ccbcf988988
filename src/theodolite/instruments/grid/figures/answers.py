"""How the answers of the grid's data sets are spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.drawing import QUIET, SERIES, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def answer_distributions(data: Mapping[str, SceneBatch], *, title: str = "") -> Drawing:
    """How answers are spread, one row for each data set: counts on the left, yes and no on the right.

    Args:
        data: Scenes by name, such as ``pure`` and ``spurious``; existence and comparison are shown apart.
        title: Above the figure.
    """
    if not data:
        raise UsageError("there are no scenes to show")
    with styled():
        figure = new_figure(9.6, 2.5 * len(data) + 0.7)
        grid = figure.subplots(len(data), 2, squeeze=False, width_ratios=(2.6, 1), sharex="col", sharey="col")
        for line, (name, scenes) in enumerate(data.items()):
            _count_bars(grid[line, 0], scenes)
            _yes_no_bars(grid[line, 1], scenes)
            grid[line, 0].set_title(f"{name}: counts", weight="bold")
            grid[line, 1].set_title("yes or no")
            grid[line, 0].set_ylabel("share of questions")
        grid[-1, 0].set_xlabel("right answer")
        for axes in grid[0]:
            axes.legend(loc="upper right", fontsize=8.5)
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12)
    return Drawing(figure)


def _count_bars(axes: Axes, scenes: SceneBatch) -> None:
    """Shares of counts; sparse and dense scenes stacked, since they stand in one data set."""
    is_count = scenes.answer < scenes.world.yes
    objects = scenes.objects
    bottom = np.zeros(scenes.world.max_count + 1)
    levels = np.unique(objects[is_count])
    for level, colour in zip(levels, (SERIES[5], SERIES[1], SERIES[0]), strict=False):
        counts = np.bincount(scenes.answer[is_count & (objects == level)], minlength=len(bottom)) / max(
            1, is_count.sum()
        )
        axes.bar(
            np.arange(len(bottom)), counts, bottom=bottom, color=colour, width=0.8, label=f"{level} objects"
        )
        bottom += counts
    axes.set_xlim(0.4, scenes.world.max_count + 0.6)
    axes.set_xticks(range(1, scenes.world.max_count + 1))
    axes.set_yticks(np.arange(0, bottom.max() + 0.05, 0.05))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.grid(axis="y")


def _yes_no_bars(axes: Axes, scenes: SceneBatch) -> None:
    keys = np.array([scenes.bucket_key(i) for i in range(len(scenes))])
    groups = {
        "existence": np.char.find(keys, "-F1-") >= 0,
        "comparison": np.char.startswith(keys, "CMP"),
    }
    for place, ((name, mine), colour) in enumerate(zip(groups.items(), (SERIES[3], SERIES[4]), strict=True)):
        if not mine.any():
            continue
        yes = float((scenes.answer[mine] == scenes.world.yes).mean())
        axes.bar(
            np.array([0, 1]) + (place - 0.5) * 0.36, [yes, 1 - yes], width=0.34, color=colour, label=name
        )
    axes.axhline(0.5, color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xticks([0, 1], ["yes", "no"])
    axes.set_ylim(0, 0.75)
    axes.set_yticks([0, 0.25, 0.5, 0.75])
    axes.grid(axis="y")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
