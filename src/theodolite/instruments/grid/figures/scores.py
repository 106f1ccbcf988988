"""Figures of scored explanations: means by scenario, synergy by depth, separation of the models, interaction by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from theodolite.core.drawing import (
    FAINT,
    INK,
    PEAK,
    QUIET,
    SERIES,
    TARGET,
    TRUE,
    Drawing,
    new_figure,
    outline,
    show_picture,
    styled,
)
from theodolite.core.types import Record
from theodolite.instruments.grid.data.batch import cell_mask
from theodolite.instruments.grid.data.question_types import BUCKETS, TYPES
from theodolite.instruments.grid.data.world import render
from theodolite.instruments.grid.experiments.depth import BucketInteraction, DepthCheck
from theodolite.instruments.grid.experiments.explained import ExplainedRun
from theodolite.instruments.grid.formulas.maps import score_map
from theodolite.instruments.grid.published import DEPTH, TABLES_SOURCE, paper_tables
from theodolite.instruments.grid.score import ExplainScore
from theodolite.runs import Run
from theodolite.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Figures of explained runs: the paper's figures 4 to 6 and 12 to 15, and sheets of maps beside the truth.


_SHOWN = ("alike-removal", "multishap", "multiviz", "dime", "pixelshap-shapley")


def explainer_figures(runs: Sequence[tuple[Run, ExplainedRun]], score: ExplainScore) -> dict[str, Drawing]:
    """Draw the paper's figures 4 to 6 and 12 to 15, by name; those without a run are left out."""
    drawings: dict[str, Drawing] = {}
    for run, explained in runs:
        drawing = map_sheet(run, explained)
        if drawing is not None:
            drawings[f"figure-04-maps-{_slug(explained.scenario)}"] = drawing
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
    """Draw some scenes with their truth and the maps of the main explainers; None if the run has none of these maps.

    Args:
        run: The run.
        explained: The same run, read.
        scenes: Number of scenes.
    """
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
            title = f"says {answer}, right" if is_right else f"says {answer}, not {one.answer_text(0)}"
            _scene(axes[line, 0], pixels, marked)
            axes[line, 0].set_title(title, fontsize=8.5, color=TRUE if is_right else TARGET)
            axes[line, 0].text(
                0,
                -0.04,
                _wrapped(one.text(0)),
                transform=axes[line, 0].transAxes,
                va="top",
                fontsize=7,
                color=INK,
            )
            for column, name in enumerate(names, 1):
                cells = record.arrays.get(f"cells@{name}")
                _heat(axes[line, column], pixels, cells, marked, name if not line else "")
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
    """Pick the first counting question of each depth, sparse and dense in turn; then others with a relation."""
    candidates: list[tuple[int, str, Record]] = []
    for result in run.results(arrays=True):
        row = result.item.meta["row"]
        is_scene = result.item.meta["kind"] == "scene" and isinstance(row, int)
        if is_scene and result.record is not None and result.record.response.is_answered:
            bucket = BUCKETS[int(explained.batch.bucket[cast("int", row)])]
            if bucket.is_relational:
                candidates.append((cast("int", row), str(result.item.meta["density"]), result.record))
    densities = list(dict.fromkeys(density for _, density, _ in candidates))

    def turn(candidate: tuple[int, str, Record]) -> tuple[bool, bool, int]:
        bucket = BUCKETS[int(explained.batch.bucket[candidate[0]])]
        return (
            not bucket.is_count,
            candidate[1] != densities[(bucket.depth - 1) % len(densities)],
            bucket.depth,
        )

    first: dict[tuple[bool, bool, int], tuple[int, Record]] = {}
    for candidate in sorted(candidates, key=turn):
        first.setdefault(turn(candidate), (candidate[0], candidate[2]))
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


_SCENARIOS = {"pure": SERIES[0], "spurious": SERIES[4], "cross": SERIES[2]}
_SCALARS = {
    "emap, intershap": "EMAP, InterSHAP",
    "intershap, once": "InterSHAP, counted once",
    "dime share": "DIME: interaction",
}
_ASKED = {bucket.kind: f"{' '.join(bucket.asks.head)}?" for bucket in BUCKETS}
_PAPER = {"emap": "EMAP", "intershap": "InterSHAP"}
_APART = 0.05
"""Distance of two lines at the same depth."""
_LEFT_OUT = {"oracle", "bow-oracle", "random", "dime-mdetr"}


def bar_figure(score: ExplainScore, kind: str, title: str) -> Drawing:
    """Draw one measure of every explainer in every scenario, with intervals and the level of a uniform map.

    Args:
        score: The scores.
        kind: A key of `MEASURES`.
        title: Above the figure.
    """
    cells = [
        c
        for c in score.means
        if (c.by, c.kind) == ("all", kind) and c.value is not None and c.explainer not in _LEFT_OUT
    ]
    names = list(dict.fromkeys(c.explainer for c in cells))
    scenarios = list(dict.fromkeys(c.scenario for c in cells))
    height = 0.8 / len(scenarios)
    with styled():
        figure = new_figure(7.2, 0.9 + 0.42 * len(names))
        axes = figure.subplots()
        for i, scenario in enumerate(scenarios):
            colour = _SCENARIOS.get(scenario, SERIES[5])
            for cell in (c for c in cells if c.scenario == scenario):
                y = names.index(cell.explainer) + (i - (len(scenarios) - 1) / 2) * height
                axes.barh(
                    y,
                    cell.value or 0.0,
                    height * 0.9,
                    color=colour,
                    label=scenario if cell.explainer == names[0] else None,
                )
                if isinstance(cell.mean, Estimate):
                    axes.plot([cell.mean.low, cell.mean.high], [y, y], color=INK, linewidth=1.0)
        _area_and_paper(axes, score, kind, names=names, scenarios=scenarios)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.9)
        axes.set_xlim(0, 1)
        axes.grid(axis="x")
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=len(scenarios) + 1)
    return Drawing(figure)


def _area_and_paper(
    axes: Axes, score: ExplainScore, measure: str, *, names: list[str], scenarios: list[str]
) -> None:
    """Draw the level of a uniform map, and the paper's means over buckets for its explainers."""
    floors = [
        c.value
        for c in score.means
        if (c.by, c.kind, c.explainer) == ("all", "area", "uniform") and c.value is not None
    ]
    if floors and measure == "rma":
        axes.axvline(float(np.mean(floors)), color=QUIET, linestyle=":", linewidth=1.2)
        axes.text(float(np.mean(floors)) + 0.01, -0.75, "uniform map", color=QUIET, fontsize=8)
    height = 0.8 / len(scenarios)
    published = {(c.scenario, c.explainer) for c in paper_tables() if c.measure == measure}
    shown = [(s, e) for s, e in sorted(published) if s in scenarios and e in names]
    for i, (scenario, explainer) in enumerate(shown):
        printed = [
            c.mean
            for c in paper_tables()
            if (c.scenario, c.explainer, c.measure) == (scenario, explainer, measure)
        ]
        y = names.index(explainer) + (scenarios.index(scenario) - (len(scenarios) - 1) / 2) * height
        label = f"paper ({TABLES_SOURCE.partition(', ')[2]})" if not i else None
        axes.plot(
            float(np.mean(printed)), y, "D", color="white", markeredgecolor=INK, markersize=5, label=label
        )


def depth_figure(score: ExplainScore) -> Drawing:
    """Draw every synergy scalar by depth: a row for each kind of question, a line for each scenario and density."""
    checks = [c for c in score.depths if c.adjustment == "plain"]
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
            aside = _aside(checks, check)
            for depth, span in check.intervals.items():
                axes.plot(
                    [depth + aside] * 2,
                    span,
                    color=_SCENARIOS.get(check.scenario, SERIES[5]),
                    linewidth=1,
                    alpha=0.6,
                )
            axes.plot(
                [depth + aside for depth in depths],
                [check.means[d] for d in depths],
                color=_SCENARIOS.get(check.scenario, SERIES[5]),
                linestyle=styles[densities.index(check.density) % len(styles)],
                marker="o",
                markersize=4,
                alpha=0.85,
            )
        is_told = "emap, intershap" in scalars and "M-F0" in kinds
        for name, marker in (("emap", "D"), ("intershap", "s")) if is_told else ():
            printed = sorted((depth, value) for (what, depth), value in DEPTH.items() if what == name)
            panels[kinds.index("M-F0"), scalars.index("emap, intershap")].plot(
                *zip(*printed, strict=True),
                color=QUIET,
                linewidth=1,
                marker=marker,
                markerfacecolor="white",
                label=f"paper: {_PAPER[name]}, pure",
            )
        for column, scalar in enumerate(scalars):
            panels[0, column].set_title(_SCALARS.get(scalar, scalar), fontsize=10)
            panels[-1, column].set_xlabel("depth")
        for row, kind in enumerate(kinds):
            panels[row, 0].set_ylabel(f"{kind}\n{_ASKED[kind]}" if kind in _ASKED else kind)
        for axes in panels.flat:
            axes.set_xticks([1, 2, 3])
            axes.set_xlim(0.75, 3.25)
            axes.set_ylim(bottom=0)
            axes.grid(axis="y")
        for scenario in dict.fromkeys(c.scenario for c in checks):
            panels[0, 0].plot([], [], color=_SCENARIOS.get(scenario, SERIES[5]), label=scenario)
        for density, style in zip(densities, styles, strict=False):
            panels[0, 0].plot([], [], color=QUIET, linestyle=style, label=density)
        figure.legend(loc="outside lower center", ncols=4)
    return Drawing(figure)


def _aside(checks: Sequence[DepthCheck], check: DepthCheck) -> float:
    """Return the offset of a line beside its depth, so that intervals do not cover each other."""
    lines = list(dict.fromkeys((other.scenario, other.density) for other in checks))
    return _APART * (lines.index((check.scenario, check.density)) - (len(lines) - 1) / 2)


def separation_figure(score: ExplainScore) -> Drawing:
    """Draw how well each explainer separates the two models, by look-alikes and by direction words."""
    kept = [s for s in score.separations if s.auc is not None and s.explainer not in _LEFT_OUT]
    names = list(dict.fromkeys(s.explainer for s in kept))
    with styled():
        figure = new_figure(6.6, 1.1 + 0.34 * len(names))
        axes = figure.subplots()
        for i, kind in enumerate(("adversarial_mass", "direction_words")):
            colour = (SERIES[2], SERIES[1])[i]
            for separation in (s for s in kept if s.kind == kind):
                assert separation.auc is not None  # noqa: S101 - kept only so
                y = names.index(separation.explainer) + (i - 0.5) * 0.3
                axes.plot([separation.auc.low, separation.auc.high], [y, y], color=colour, linewidth=2)
                axes.plot(separation.auc.value, y, "o", color=colour, markersize=6)
        for colour, label in (
            (SERIES[2], "mass on look-alikes: spur above pure"),
            (SERIES[1], "direction words: pure above spur"),
        ):
            axes.plot([], [], "o-", color=colour, label=label)
        axes.axvline(0.5, color=QUIET, linestyle=":", linewidth=1.2)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0, 1.02)
        axes.set_xlabel("AUC with 95 % interval, clustered by scene")
        axes.set_title("Does the explainer separate the two models?")
        figure.legend(loc="outside lower center")
        axes.grid(axis="x")
    return Drawing(figure)


_BY_DEPTH = ("#c9a9de", "#9a62bd", PEAK)
_PARTS = {"interaction": PEAK, "picture": SERIES[5], "question": SERIES[4]}
_TITLES = {
    "emap": "EMAP: how much of the output depends on picture and question together",
    "intershap": "InterSHAP: share of the interaction, mean over scenes",
}
_UNDEFINED = "the same output everywhere"


def cross_figure(score: ExplainScore, scenario: str, what: str) -> Drawing:
    """Draw EMAP's masses or InterSHAP's shares of one scenario, by bucket."""
    crosses = {(c.bucket, c.density): c for c in score.interactions if c.scenario == scenario}
    densities = list(dict.fromkeys(density for _, density in crosses))
    lines = _lines({bucket for bucket, _ in crosses})
    with styled():
        figure = new_figure(2.6 + 3.9 * len(densities), 1.2 + 0.22 * len(lines))
        panels = figure.subplots(1, len(densities), squeeze=False, sharey=True)[0]
        for axes, density in zip(panels, densities, strict=True):
            for line, (key, _) in enumerate(lines):
                cross = crosses.get((key, density))
                if cross is not None:
                    _bar(axes, line, cross, what)
            scenes = sorted({cross.n for (_, at), cross in crosses.items() if at == density})
            counted = "–".join(str(n) for n in dict.fromkeys((scenes[0], scenes[-1])))
            axes.set_title(f"{density}, {counted} scenes crossed in each bucket", fontsize=9, color=QUIET)
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
            axes.grid(axis="x", color=FAINT)
            axes.tick_params(axis="y", length=0)
        first = panels[0]
        first.set_yticks(range(len(lines)), [words for _, words in lines], fontsize=8)
        for label, (key, _) in zip(first.get_yticklabels(), lines, strict=True):
            label.set_fontweight("normal" if key else "bold")
        first.set_ylim(len(lines) - 0.4, -0.6)
        _legend(first, what)
        figure.legend(loc="outside lower center", ncols=4)
        about = next((run for run in score.runs if run.scenario == scenario), None)
        subtitle = f"{scenario}: {about.model} on {about.mode} scenes" if about else scenario
        figure.suptitle(f"{_TITLES[what]}\n{subtitle}", x=0.01, ha="left", fontsize=11)
    return Drawing(figure)


def _lines(there: set[str]) -> list[tuple[str, str]]:
    """Return the lines from the top: a heading for each kind, without a bucket, and its buckets in words."""
    lines: list[tuple[str, str]] = []
    for kind in TYPES:
        buckets = [b for b in BUCKETS if b.type == kind and b.key in there]
        if buckets:
            lines.append(("", f"{kind.title} ({kind.key})"))
        ordered = sorted(buckets, key=lambda b: (b.form, b.depth))
        lines += [(b.key, f"{' '.join(b.asks.head)}, depth {b.depth}") for b in ordered]
    return lines


def _bar(axes: Axes, line: int, cross: BucketInteraction, what: str) -> None:
    depth = next(b.depth for b in BUCKETS if b.key == cross.bucket)
    if what == "emap":
        masses = {part: cross.numbers["emap"][f"{part}_mass"] for part in _PARTS}
        total = sum(masses.values())
        if total <= 0:
            _say(axes, line, 0.0, _UNDEFINED)
            return
        left = 0.0
        for part, colour in _PARTS.items():
            axes.barh(line, masses[part] / total, 0.78, left=left, color=colour)
            left += masses[part] / total
        _span(axes, line, cross.intervals.get("emap"))
        share = masses["interaction"] / total
        axes.text(1.012, line, f"{share:.2f}", va="center", fontsize=7, color=INK)
        return
    value = cross.numbers["intershap"].get("local_share")
    if value is None:
        _say(axes, line, 0.0, _UNDEFINED)
        return
    axes.barh(line, value, 0.78, color=_BY_DEPTH[depth - 1])
    _span(axes, line, cross.intervals.get("intershap"))
    axes.text(1.012, line, f"{value:.2f}", va="center", fontsize=7, color=INK)


def _span(axes: Axes, line: int, interval: tuple[float, float] | None) -> None:
    if interval is not None:
        axes.plot(interval, [line, line], color=INK, linewidth=1.0, path_effects=outline(2.2))


def _say(axes: Axes, line: int, after: float, words: str) -> None:
    axes.text(after + 0.012, line, words, va="center", fontsize=7, color=INK if after else QUIET)


def _legend(axes: Axes, what: str) -> None:
    axes.plot([], [], color=INK, linewidth=1.0, label="95 % interval, jackknife over scenes")
    if what == "emap":
        for part, colour in _PARTS.items():
            name = "together" if part == "interaction" else f"{part} alone"
            axes.barh([0], [0], color=colour, label=name)
    else:
        for depth, colour in enumerate(_BY_DEPTH, 1):
            axes.barh([0], [0], color=colour, label=f"depth {depth}")
