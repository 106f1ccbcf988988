"""Figures of explained runs: the paper's figures 4 to 6 and 12 to 15, and sheets of maps beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from theodolite.core.drawing import FAINT, INK, QUIET, TARGET, TRUE, Drawing, new_figure, show_picture, styled
from theodolite.core.types import Record
from theodolite.instruments.grid.data.batch import cell_mask
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.render import render
from theodolite.instruments.grid.experiments.explained import ExplainedRun
from theodolite.instruments.grid.figures.scores import (
    bar_figure,
    cross_figure,
    depth_figure,
    separation_figure,
)
from theodolite.instruments.grid.formulas.maps import score_map
from theodolite.instruments.grid.score import ExplainScore
from theodolite.runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = ("alike-removal", "multishap", "multiviz", "dime", "pixelshap-shapley")


def explainer_figures(runs: Sequence[tuple[Run, ExplainedRun]], score: ExplainScore) -> dict[str, Drawing]:
    """The paper's figures 4 to 6 and 12 to 15, by name; those without a run are left out."""
    drawings: dict[str, Drawing] = {}
    for run, found in runs:
        drawing = map_sheet(run, found)
        if drawing is not None:
            drawings[f"figure-04-maps-{_slug(found.scenario)}"] = drawing
    if score.depths:
        drawings["figure-05a-depth"] = depth_figure(score)
    if score.means:
        drawings["figure-05b-rma"] = bar_figure(score, "rma", "Relevance mass on anchors and targets")
        drawings["figure-06-iou"] = bar_figure(
            score, "iou", "Overlap with anchors and targets (IoU, exact Otsu)"
        )
    numbers = {"pure": ("12", "15"), "spurious": ("14", "13"), "cross": ("16", "17")}
    for scenario in dict.fromkeys(cross.scenario for cross in score.interactions):
        emap, intershap = numbers.get(scenario, ("x", "y"))
        drawings[f"figure-{emap}-emap-{_slug(scenario)}"] = cross_figure(score, scenario, "emap")
        drawings[f"figure-{intershap}-intershap-{_slug(scenario)}"] = cross_figure(
            score, scenario, "intershap"
        )
    if score.separations:
        drawings["separation"] = separation_figure(score)
    return drawings


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower()).strip("-")


def map_sheet(run: Run, explained: ExplainedRun, *, scenes: int = 3) -> Drawing | None:
    """Some scenes with their truth and the maps of the main explainers; None if the run has none of these maps."""
    picked = _picked(run, explained, scenes)
    names = [name for name in _SHOWN if any(f"cells@{name}" in record.arrays for _, record in picked)]
    if not picked or not names:
        return None
    with styled():
        figure = new_figure(1.95 * (len(names) + 1), 0.5 + 2.6 * len(picked))
        axes = figure.subplots(len(picked), len(names) + 1, squeeze=False)
        for line, (row, record) in enumerate(picked):
            one = explained.batch.take(slice(row, row + 1))
            marked = cell_mask(one, "truth")[0], cell_mask(one, "adversarial")[0]
            pixels = render(one.world, one.cells)[0]
            answer = one.world.answers[explained.said[row]]
            is_right = answer == one.answer_text(0)
            told = f"says {answer}, right" if is_right else f"says {answer}, not {one.answer_text(0)}"
            _scene(axes[line, 0], pixels, marked)
            axes[line, 0].set_title(told, fontsize=8.5, color=TRUE if is_right else TARGET)
            axes[line, 0].text(
                0,
                -0.04,
                _wrapped(one.text(0)),
                transform=axes[line, 0].transAxes,
                va="top",
                fontsize=7,
                color=INK,
            )
            for place, name in enumerate(names, 1):
                cells = record.arrays.get(f"cells@{name}")
                _heat(axes[line, place], pixels, cells, marked, name if not line else "")
        dashed = " Dashed: look-alikes that do not count." if explained.mode == "pure" else ""
        figure.suptitle(
            f"What the explainers point at: {explained.model} on {explained.mode} scenes\n"
            f"Orange: relevance. Outlined: anchors and targets.{dashed} The first counting question of each depth.",
            x=0.01,
            ha="left",
            fontsize=10,
        )
    return Drawing(figure)


def _picked(run: Run, explained: ExplainedRun, scenes: int) -> list[tuple[int, Record]]:
    """The first counting question of each depth, sparse and dense in turn; then others with a relation."""
    found: list[tuple[int, str, Record]] = []
    for result in run.results(arrays=True):
        row = result.item.meta["row"]
        is_scene = result.item.meta["kind"] == "scene" and isinstance(row, int)
        if is_scene and result.record is not None and result.record.response.is_answered:
            bucket = BUCKETS[int(explained.batch.bucket[cast("int", row)])]
            if bucket.is_relational:
                found.append((cast("int", row), str(result.item.meta["density"]), result.record))
    densities = list(dict.fromkeys(density for _, density, _ in found))

    def turn(each: tuple[int, str, Record]) -> tuple[bool, bool, int]:
        bucket = BUCKETS[int(explained.batch.bucket[each[0]])]
        return not bucket.is_count, each[1] != densities[(bucket.depth - 1) % len(densities)], bucket.depth

    first: dict[tuple[bool, bool, int], tuple[int, Record]] = {}
    for each in sorted(found, key=turn):
        first.setdefault(turn(each), (each[0], each[2]))
    return list(first.values())[:scenes]


def _wrapped(text: str, width: int = 38) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width)[:4])


Marked: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Anchors and targets, and look-alikes that do not count; (rows, columns) each."""


def _outlined(axes: Axes, marked: Marked, px: float) -> None:
    from matplotlib.patches import Rectangle

    for mask, colour, style in zip(marked, (TRUE, INK), ("-", (0, (2, 1.5))), strict=True):
        for row, column in zip(*np.nonzero(mask), strict=True):
            axes.add_patch(
                Rectangle(
                    (column * px + 3, row * px + 3),
                    px - 6,
                    px - 6,
                    fill=False,
                    edgecolor=colour,
                    linewidth=1.8 if colour == TRUE else 1.1,
                    linestyle=style,
                )
            )


def _framed(axes: Axes, pixels: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    height, width = pixels.shape[:2]
    axes.add_patch(
        Rectangle((0, 0), width, height, fill=False, edgecolor=FAINT, linewidth=1.2, clip_on=False)
    )


def _scene(axes: Axes, pixels: np.ndarray, marked: Marked) -> None:
    show_picture(axes, pixels)
    _framed(axes, pixels)
    _outlined(axes, marked, pixels.shape[1] / marked[0].shape[1])


def _heat(axes: Axes, pixels: np.ndarray, cells: np.ndarray | None, marked: Marked, title: str) -> None:
    truth = marked[0]
    show_picture(axes, pixels, veil=0.35)
    _framed(axes, pixels)
    if cells is None:
        box = {"facecolor": "white", "edgecolor": FAINT, "boxstyle": "round,pad=0.4"}
        axes.text(
            0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=QUIET, fontsize=8, bbox=box
        )
        return
    size = np.abs(np.asarray(cells, np.float64)).reshape(truth.shape)
    score = score_map(size, truth) if truth.any() and not truth.all() else None
    words = (
        "no relevance"
        if not size.sum() > 0
        else ""
        if score is None
        else f"RMA {score.rma:.2f}  IoU {score.iou:.2f}"
    )
    if size.sum() > 0:
        height, width = pixels.shape[:2]
        shade = np.zeros((*truth.shape, 4))
        shade[..., :3] = tuple(int(TARGET[i : i + 2], 16) / 255 for i in (1, 3, 5))
        shade[..., 3] = 0.72 * size / size.max()
        axes.imshow(shade, extent=(0, width, height, 0), interpolation="nearest")
    _outlined(axes, marked, pixels.shape[1] / truth.shape[1])
    axes.text(0.5, -0.04, words, transform=axes.transAxes, ha="center", va="top", fontsize=7, color=INK)
    if title:
        axes.set_title(title, fontsize=9, fontweight="bold")
