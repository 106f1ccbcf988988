"""Figures of explained runs: maps beside the truth, mean scores by scenario, synergy over depth, cross matrices by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from theodolite.grid import BUCKETS
from theodolite.grid.explaining import ExplainedRun, ExplainScore, read_explained, score_map
from theodolite.grid.truth import cell_mask, render
from theodolite.report._grid_scores import bar_figure, cross_figure, depth_figure, separation_figure
from theodolite.report._style import (
    FAINT,
    INK,
    QUIET,
    TARGET,
    TRUE,
    Drawing,
    new_figure,
    show_picture,
    styled,
)
from theodolite.runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = ("alike-removal", "multishap", "multiviz", "dime", "pixelshap-shapley")


def explainer_figures(runs: Sequence[Run], score: ExplainScore) -> dict[str, Drawing]:
    """The paper's figures 4 to 6 and 12 to 15 from one's own runs, by name; those whose runs are missing are left out."""
    explained = [read_explained(run) for run in runs]
    drawings: dict[str, Drawing] = {}
    for run, found in zip(runs, explained, strict=True):
        drawing = map_sheet(run, found)
        if drawing is not None:
            drawings[f"figure-04-maps-{_slug(found.scenario)}"] = drawing
    if score.depths:
        drawings["figure-05a-depth"] = depth_figure(score)
    if score.tables.get("all"):
        drawings["figure-05b-rma"] = bar_figure(score, "rma", "Relevance mass on anchors and targets")
        drawings["figure-06-iou"] = bar_figure(
            score, "iou", "Overlap with anchors and targets (IoU, exact Otsu)"
        )
    numbers = {"pure": ("12", "15"), "spurious": ("14", "13"), "cross": ("16", "17")}
    for scenario in dict.fromkeys(cross.scenario for cross in score.crosses):
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
    """Some scenes, each with its truth and the maps of the main explainers; None if the run holds no map of them."""
    found = []
    for result in run.results(arrays=True):
        if (
            result.record is None
            or result.item.meta["kind"] != "scene"
            or not result.record.response.is_answered
        ):
            continue
        row = result.item.meta["row"]
        if isinstance(row, int) and BUCKETS[int(explained.batch.bucket[row])].is_relational:
            found.append((row, result.record))
    picked = found[:: max(1, len(found) // scenes)][:scenes]
    names = [name for name in _SHOWN if any(f"cells@{name}" in record.arrays for _, record in picked)]
    if not picked or not names:
        return None
    with styled():
        figure = new_figure(1.9 * (len(names) + 1), 2.6 * len(picked))
        axes = figure.subplots(len(picked), len(names) + 1, squeeze=False)
        for line, (row, record) in enumerate(picked):
            one = explained.batch.take(slice(row, row + 1))
            truth = cell_mask(one, "truth")[0]
            pixels = render(one.world, one.cells)[0]
            answer = one.world.answers[explained.said[row]]
            _scene(
                axes[line, 0], pixels, truth, f"{one.bucket_key(0)}: says {answer}, is {one.answer_text(0)}"
            )
            question = one.text(0)
            axes[line, 0].text(
                0,
                -0.03,
                _wrapped(question),
                transform=axes[line, 0].transAxes,
                va="top",
                fontsize=6.5,
                color=QUIET,
            )
            for place, name in enumerate(names, 1):
                cells = record.arrays.get(f"cells@{name}")
                _heat(axes[line, place], pixels, cells, truth, name if not line else "")
        figure.suptitle(
            f"{explained.scenario}: {explained.model} on {explained.mode} scenes. Outlined: anchors and targets",
            x=0.01,
            ha="left",
            fontsize=10,
        )
    return Drawing(figure)


def _wrapped(text: str, width: int = 38) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width)[:4])


def _outlined(axes: Axes, truth: np.ndarray, px: float) -> None:
    from matplotlib.patches import Rectangle

    for row, column in zip(*np.nonzero(truth), strict=True):
        axes.add_patch(
            Rectangle(
                (column * px + 2, row * px + 2), px - 4, px - 4, fill=False, edgecolor=TRUE, linewidth=1.6
            )
        )


def _framed(axes: Axes, pixels: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    height, width = pixels.shape[:2]
    axes.add_patch(
        Rectangle((0, 0), width, height, fill=False, edgecolor=FAINT, linewidth=1.2, clip_on=False)
    )


def _scene(axes: Axes, pixels: np.ndarray, truth: np.ndarray, title: str) -> None:
    show_picture(axes, pixels)
    _framed(axes, pixels)
    _outlined(axes, truth, pixels.shape[1] / truth.shape[1])
    axes.set_title(title, fontsize=7.5)


def _heat(axes: Axes, pixels: np.ndarray, cells: np.ndarray | None, truth: np.ndarray, title: str) -> None:
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
    _outlined(axes, truth, pixels.shape[1] / truth.shape[1])
    axes.text(0.5, -0.03, words, transform=axes.transAxes, ha="center", va="top", fontsize=7, color=INK)
    if title:
        axes.set_title(title, fontsize=8.5)
