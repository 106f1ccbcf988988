"""Figures of explained runs: maps beside the truth, mean scores by scenario, synergy over depth, cross matrices by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from theodolite.grid import BUCKETS
from theodolite.grid.explaining import ExplainedRun, ExplainScore, read_explained, score_map
from theodolite.grid.truth import cell_mask, render
from theodolite.report._style import (
    FAINT,
    INK,
    QUIET,
    SERIES,
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

_SCENARIOS = {"pure": SERIES[0], "spurious": SERIES[4], "cross": SERIES[2]}
_SHOWN = ("alike-removal", "multishap", "multiviz", "dime", "pixelshap-shapley")
_LEFT_OUT = {"oracle", "bow-oracle", "random", "dime-mdetr"}


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
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=QUIET, fontsize=8)
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
        floors = [
            c.mean
            for c in score.tables["all"]
            if c.measure == "area" and c.explainer == "uniform" and c.mean is not None
        ]
        if floors and measure == "rma":
            axes.axvline(float(np.mean(floors)), color=QUIET, linestyle=":", linewidth=1.2)
            axes.text(float(np.mean(floors)), -0.75, "area", color=QUIET, fontsize=8, ha="center")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.grid(axis="x")
        axes.set_title(title)
        axes.legend(loc="lower right")
    return Drawing(figure)


def depth_figure(score: ExplainScore) -> Drawing:
    """Every synergy scalar over depth, one panel each, one line for each scenario, kind and density."""
    checks = [c for c in score.depths if not c.is_normalised]
    scalars = list(dict.fromkeys(c.scalar for c in checks))
    kinds = list(dict.fromkeys((c.kind, c.density) for c in checks))
    styles = ["-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1))]
    with styled():
        figure = new_figure(3.0 * len(scalars), 3.2)
        panels = figure.subplots(1, len(scalars), squeeze=False)[0]
        for axes, scalar in zip(panels, scalars, strict=True):
            for check in (c for c in checks if c.scalar == scalar):
                depths = sorted(check.means)
                style = styles[kinds.index((check.kind, check.density)) % len(styles)]
                colour = _SCENARIOS.get(check.scenario, SERIES[5])
                axes.plot(
                    depths,
                    [check.means[d] for d in depths],
                    color=colour,
                    linestyle=style,
                    marker="o",
                    markersize=4,
                )
            axes.set_title(scalar)
            axes.set_xticks([1, 2, 3])
            axes.set_xlabel("depth")
            axes.set_ylim(bottom=0)
            axes.grid(axis="y")
        for scenario in dict.fromkeys(c.scenario for c in checks):
            panels[-1].plot([], [], color=_SCENARIOS.get(scenario, SERIES[5]), label=scenario)
        for (kind, density), style in zip(kinds, styles, strict=False):
            panels[-1].plot([], [], color=QUIET, linestyle=style, label=f"{kind} {density}")
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    return Drawing(figure)


def cross_figure(score: ExplainScore, scenario: str, what: str) -> Drawing:
    """EMAP's masses or InterSHAP's shares of one scenario, bucket by bucket."""
    rows = [c for c in score.crosses if c.scenario == scenario]
    labels = [f"{c.bucket} {c.density}" for c in rows]
    with styled():
        figure = new_figure(7.2, 1.0 + 0.24 * len(rows))
        axes = figure.subplots()
        if what == "emap":
            parts = ("picture", "question", "interaction")
            masses = np.array([[c.figures[f"emap {part} mass"] for part in parts] for c in rows])
            total = masses.sum(axis=1, keepdims=True)
            shares = np.divide(masses, total, out=np.zeros_like(masses), where=total > 0)
            left = np.zeros(len(rows))
            for place, part in enumerate(parts):
                colour = (SERIES[1], SERIES[4], SERIES[0])[place]
                axes.barh(
                    labels,
                    shares[:, place],
                    left=left,
                    color=colour,
                    label=f"{part} alone" if place < 2 else part,
                )
                left += shares[:, place]
            axes.set_title(f"EMAP: what the output is made of, {scenario}")
            figure.legend(loc="outside lower center", ncols=3)
        else:
            values = [c.figures.get("intershap", 0.0) for c in rows]
            colours = [SERIES[BUCKETS[[b.key for b in BUCKETS].index(c.bucket)].depth - 1] for c in rows]
            axes.barh(labels, values, color=colours)
            for depth in (1, 2, 3):
                axes.barh([labels[0]], [0], color=SERIES[depth - 1], label=f"depth {depth}")
            axes.set_title(f"InterSHAP: share of interaction, {scenario}")
            figure.legend(loc="outside lower center", ncols=3)
        axes.set_xlim(0, 1)
        axes.invert_yaxis()
        axes.grid(axis="x", color=FAINT)
        axes.tick_params(axis="y", labelsize=7.5)
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
