"""Figures: a trace step by step, SGR over the course of a trace, SGR against retention, reliance, sensitivity to edits."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.drawing import INK, LAYOUT, QUIET, SERIES, Drawing, new_figure, show_picture, styled
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.lexicon import may_mean
from theodolite.instruments.trace.claims.types import Claim, Verdict
from theodolite.instruments.trace.experiments.edits import Reliance, SensitivityCell
from theodolite.instruments.trace.experiments.grounding import ScoredTraces, sgr_by_stage
from theodolite.instruments.trace.experiments.predict import Association, ModelRow, Prediction, Retention
from theodolite.instruments.trace.formulas.sgr import STAGES, Stage, step_grounding
from theodolite.instruments.trace.verifiers.detection import read_pixels
from theodolite.instruments.trace.verifiers.judging import JudgedStep, JudgedTrace
from theodolite.stats import Estimate
from theodolite.worlds.episodes import Episode, FrameObject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_VERDICTS = {"supported": "#007a5a", "unsupported": "#c8102e", "unverifiable": "#8a6d00"}
_MARKS = {"supported": "✓", "unsupported": "✗", "unverifiable": "?"}
_LINES, _CLAIMS = 5, 6
"""Lines of a sentence, and claims, that there is room for."""
_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
"""The background of text that a line would cross."""
_MARGIN_PX = 1.5
"""Between an object and its frame."""
_SHOWN_TRACES, _SEARCHED_TRACES = 3, 24
"""Traces that are drawn step by step, and answers that they are chosen from."""


def trace_row(
    trace: JudgedTrace, episode: Episode, *, steps: Sequence[int] | None = None, title: str = ""
) -> Drawing:
    """Draw a trace step by step: the frame with the boxes of the objects, the sentence, and each claim with its verdict.

    Args:
        trace: The judged trace.
        episode: Its episode, with pictures.
        steps: Indices of the steps to draw, from 0. Default: the first four.
        title: Title of the figure. Default: the task.
    """
    chosen = list(steps) if steps is not None else list(range(min(4, len(trace.steps))))
    if not chosen or max(chosen) >= len(trace.steps):
        raise UsageError(f"the trace has {len(trace.steps)} steps, and {chosen} are asked for")
    with styled():
        figure = new_figure(3.1 * len(chosen), 4.5)
        grid = figure.add_gridspec(2, len(chosen), height_ratios=(1.0, 0.95))
        for column, number in enumerate(chosen):
            step = trace.steps[number]
            _frame(figure.add_subplot(grid[0, column]), step, episode, number)
            _sentence(figure.add_subplot(grid[1, column]), step)
        figure.suptitle(title or episode.task, x=0.01, ha="left", fontsize=11.5, color=INK)
    return Drawing(figure)


def _frame(axes: Axes, step: JudgedStep, episode: Episode, number: int) -> None:
    index = step.step.frames[0] if step.step.frames else 0
    frame = episode.frames[index]
    pixels = read_pixels(episode, index)
    if isinstance(pixels, str):
        axes.set_axis_off()
        why = textwrap.fill("no picture" if frame.picture is None else "a picture that cannot be read", 20)
        axes.text(0.5, 0.5, why, ha="center", color=QUIET, transform=axes.transAxes)
    else:
        show_picture(axes, pixels)
    for thing in frame.objects:
        colour = _box_colour(thing, step)
        if thing.box is not None and thing.is_visible and colour is not None:
            _box(axes, thing, colour)
    g = step_grounding(step)
    grounded = "nothing to judge" if g is None else f"grounded {g:.0%}"
    of = "" if len(step.step.frames) < 2 else f" of {len(step.step.frames)}"
    axes.set_title(f"Step {number + 1}, frame {index + 1}{of}   {grounded}", fontsize=9.5)


def _box(axes: Axes, thing: FrameObject, colour: str) -> None:
    from matplotlib.patches import Rectangle

    box = thing.box
    if box is not None:
        axes.add_patch(
            Rectangle(
                (box.x0 - _MARGIN_PX, box.y0 - _MARGIN_PX),
                box.width_px + 2 * _MARGIN_PX,
                box.height_px + 2 * _MARGIN_PX,
                fill=False,
                edgecolor=colour,
                linewidth=1.8,
            )
        )


def _box_colour(thing: FrameObject, step: JudgedStep) -> str | None:
    """Return the colour of the worst verdict on a claim that may be about the object."""
    labels = {verdict.label for claim, verdict in step.counted() if _speaks_of(claim, thing)}
    worst = next((label for label in ("unsupported", "unverifiable", "supported") if label in labels), None)
    return None if worst is None else _VERDICTS[worst]


def _speaks_of(claim: Claim, thing: FrameObject) -> bool:
    mentions = [mention for mention in (claim.subject, claim.object) if mention is not None]
    looks = set(thing.attributes.values())
    wanted = {claim.predicate} if claim.kind == "attribute" else set()
    return any(may_mean(m.head, thing.category) and set(m.attributes) | wanted <= looks for m in mentions)


def _sentence(axes: Axes, step: JudgedStep) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    wrapped = textwrap.wrap(
        "“" + step.step.text.partition("): ")[2].strip() + "”"
        if "): " in step.step.text
        else f"“{step.step.text}”",
        40,
    )
    shown = wrapped if len(wrapped) <= _LINES else [*wrapped[: _LINES - 1], wrapped[_LINES - 1] + " …"]
    axes.text(0, 1.0, "\n".join(shown), va="top", fontsize=9, color=INK, linespacing=1.25)
    y = 1.0 - 0.115 * len(shown) - 0.07
    claims = step.counted()
    for claim, verdict in claims[:_CLAIMS]:
        colour = _VERDICTS[verdict.label]
        axes.text(0, y, _MARKS[verdict.label], va="top", fontsize=10, color=colour, fontweight="bold")
        lines = textwrap.wrap(_words(claim, verdict), 44)[:2]
        axes.text(0.07, y, "\n".join(lines), va="top", fontsize=8.2, color=colour, linespacing=1.2)
        y -= 0.1 * len(lines)
    if len(claims) > _CLAIMS:
        axes.text(0.07, y, _rest(claims[_CLAIMS:]), va="top", fontsize=8.2, color=QUIET)


def _rest(claims: Sequence[tuple[Claim, Verdict]]) -> str:
    """Return the number of further claims by verdict."""
    labels = [verdict.label for _, verdict in claims]
    counts = ", ".join(f"{labels.count(label)} {mark}" for label, mark in _MARKS.items() if label in labels)
    return f"… and {len(claims)} more: {counts}"


def _words(claim: Claim, verdict: Verdict) -> str:
    words = re.sub(r"^i\b|\bi(?= \()", "I", str(claim).partition(": ")[2])
    words = re.sub(r"\bi$", "me", words)
    if verdict.label == "unsupported" and verdict.truth:
        return f"{words} – in truth: {verdict.truth}"
    return f"{words} ({verdict.reason})" if verdict.reason else words


def progress_profile(
    groups: Mapping[str, Mapping[Stage, Estimate | None]],
    *,
    title: str = "Grounding over the course of a trace",
) -> Drawing:
    """Draw SGR of the first quarter, the middle half and the last quarter of the steps, one line per group."""
    if not groups:
        raise UsageError("there is nothing to draw")
    with styled():
        figure = new_figure(6.4, 3.8)
        axes = figure.add_subplot()
        for index, (name, by_stage) in enumerate(groups.items()):
            points = [(i, e) for i, stage in enumerate(STAGES) if (e := by_stage[stage]) is not None]
            shift = 0.03 * (index - (len(groups) - 1) / 2)
            _line(
                axes,
                [i + shift for i, _ in points],
                [e for _, e in points],
                SERIES[index % len(SERIES)],
                name,
            )
        axes.set_xticks(range(3), ["first quarter", "middle half", "last quarter"])
        axes.set_xlim(-0.25, 2.25)
        _share_axis(axes, "SGR")
        axes.set_title(title)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Drawing(figure)


def _line(axes: Axes, x: Sequence[float], estimates: Sequence[Estimate], colour: str, name: str) -> None:
    values = [e.value for e in estimates]
    axes.plot(x, values, "o-", color=colour, label=name, markersize=5)
    axes.vlines(
        x, [e.low for e in estimates], [e.high for e in estimates], color=colour, linewidth=1.3, alpha=0.6
    )


def _share_axis(axes: Axes, name: str) -> None:
    axes.set_ylim(0, 1.02)
    axes.set_yticks(np.linspace(0, 1, 6), [f"{share:.0%}" for share in np.linspace(0, 1, 6)])
    axes.set_ylabel(name)
    axes.grid(axis="y")


def grounding_against_retention(
    rows: Sequence[ModelRow],
    association: Association,
    *,
    retention: Retention = "ratio",
    title: str = "Does grounding predict robustness?",
) -> Drawing:
    """Draw one point per model and benchmark, numbered by model in the order of SGR, with the correlation in the title.

    Args:
        rows: The models and benchmarks to plot.
        association: The correlation of the same rows.
        retention: The kind of retention.
        title: The first line of the title.
    """
    names = list(dict.fromkeys(row.benchmark for row in rows))
    numbers = _numbers(rows)
    with styled():
        figure = new_figure(7.6, max(4.4, 1.8 + 0.21 * (len(numbers) + len(names))))
        axes = figure.add_subplot()
        for index, benchmark in enumerate(names):
            mine = [row for row in rows if row.benchmark == benchmark and "sgr" in row.predictors]
            x, y = [row.predictors["sgr"] for row in mine], [row.retention(retention) for row in mine]
            colour = SERIES[index % len(SERIES)]
            axes.plot(
                x, y, "o", color=colour, markersize=11.5, markeredgecolor="white", label=benchmark, zorder=3
            )
            for row, across, up in zip(mine, x, y, strict=True):
                axes.text(
                    across,
                    up,
                    str(numbers[row.model]),
                    color="white",
                    fontweight="bold",
                    ha="center",
                    va="center_baseline",
                    fontsize=7.5,
                    zorder=4,
                )
            if len(mine) > 2 and np.ptp(x) > 0:
                slope, height = np.polyfit(x, y, 1)
                ends = np.array([min(x), max(x)])
                axes.plot(ends, slope * ends + height, color=colour, linewidth=1.2, alpha=0.7)
        axes.set_xlabel("SGR in distribution")
        axes.set_ylabel(
            {
                "ratio": "OOD accuracy ÷ in-distribution accuracy",
                "drop": "OOD − in-distribution accuracy",
                "ood accuracy": "OOD accuracy",
            }[retention]
        )
        axes.grid()
        r = association.r
        below = (
            "no correlation" if r is None else f"r = {r.value:.2f} [{r.low:.2f}, {r.high:.2f}], {r.n} models"
        )
        axes.set_title(f"{title}\n{below}")
        for model, number in numbers.items():
            axes.plot([], [], " ", label=f"{number:>2}  {model}")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Drawing(figure)


def _numbers(rows: Sequence[ModelRow]) -> dict[str, int]:
    """Return a number for each model, from 1 for the one with the highest mean SGR."""
    by_model: dict[str, list[float]] = {}
    for row in rows:
        if "sgr" in row.predictors:
            by_model.setdefault(row.model, []).append(row.predictors["sgr"])
    ranked = sorted(by_model, key=lambda model: -float(np.mean(by_model[model])))
    return {model: number for number, model in enumerate(ranked, 1)}


def reliance_bars(models: Mapping[str, Reliance], *, title: str = "Visual reliance") -> Drawing:
    """Draw VRS by equation 4 and by facts, one pair of bars per model; random changes score 1."""
    if not models:
        raise UsageError("there is nothing to draw")
    with styled():
        figure = new_figure(7.4, 0.62 * len(models) + 1.8)
        left, right = figure.subplots(1, 2, sharey=True)
        for axes, which, name, colour in (
            (left, "vrs_paper", "equation 4 (paper)", LAYOUT),
            (right, "vrs_sound", "by facts (sound)", SERIES[0]),
        ):
            for row, reliance in enumerate(models.values()):
                estimate: Estimate | None = getattr(reliance, which)
                if estimate is None:
                    axes.text(0, row, " no value", va="center", color=QUIET, fontsize=8.5, bbox=_PAPER)
                    continue
                axes.barh(row, estimate.value, color=colour, height=0.55, zorder=2)
                axes.hlines(row, estimate.low, estimate.high, color=INK, linewidth=1.4, zorder=3)
                axes.text(
                    max(estimate.value, estimate.high),
                    row,
                    f"  {estimate.value:.1f}",
                    va="center",
                    fontsize=8.5,
                )
            axes.axvline(1, color=QUIET, linewidth=1, linestyle=(0, (3, 2)))
            axes.set_title(name, fontsize=9.5)
            axes.set_xlabel("VRS (dashed: 1, random changes)")
            axes.margins(x=0.18)
            axes.set_xlim(left=0)
        left.set_yticks(range(len(models)), list(models))
        left.set_ylim(len(models) - 0.5, -0.5)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5, color=INK)
    return Drawing(figure)


def sensitivity_chart(
    cells: Sequence[SensitivityCell], *, title: str = "What editing the pictures does"
) -> Drawing:
    """Draw ΔSGR and ΔAcc of each family of edits, against the old and the new truth."""
    shown = [cell for cell in cells if cell.delta_sgr is not None]
    if not shown:
        raise UsageError("no family of edits has a number to draw")
    families = list(dict.fromkeys(cell.family for cell in shown))
    with styled():
        figure = new_figure(7.6, 0.75 * len(families) + 1.7)
        pair = figure.subplots(1, 2, sharey=True, sharex=True)
        for axes, truth, name in zip(
            pair,
            ("paper", "sound"),
            ("against the old truth (paper)", "against the new truth (sound)"),
            strict=True,
        ):
            for cell in (cell for cell in shown if cell.truth == truth):
                row = families.index(cell.family)
                for shift, estimate, colour in (
                    (-0.13, cell.delta_sgr, SERIES[0]),
                    (0.13, cell.delta_accuracy, SERIES[4]),
                ):
                    if estimate is not None:
                        axes.hlines(
                            row + shift,
                            100 * estimate.low,
                            100 * estimate.high,
                            color=colour,
                            linewidth=1.6,
                            alpha=0.6,
                        )
                        axes.plot([100 * estimate.value], [row + shift], "o", color=colour, markersize=7)
            axes.axvline(0, color=QUIET, linewidth=1)
            axes.set_title(name, fontsize=9.5)
            axes.set_xlabel("change in points")
            axes.grid(axis="x")
        pair[0].set_yticks(range(len(families)), families)
        pair[0].set_ylim(len(families) - 0.5, -0.5)
        for colour, label in ((SERIES[0], "SGR"), (SERIES[4], "accuracy")):
            pair[1].plot([], [], "o", color=colour, label=label)
        pair[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5, color=INK)
    return Drawing(figure)


def draw_runs(runs: Mapping[str, ScoredTraces], folder: Path) -> list[Path]:
    """Draw SGR by stage, reliance, sensitivity, and traces of the first run.

    Args:
        runs: Scored runs by display name.
        folder: Folder to write to.
    """
    drawings: dict[str, Drawing] = {}
    profiles = {
        name if len(runs) > 1 else ", ".join(group.labels): sgr_by_stage(group)[0]
        for name, run in runs.items()
        for group in (run.groups[:1] if len(runs) > 1 else run.groups)
    }
    if any(estimate is not None for by_stage in profiles.values() for estimate in by_stage.values()):
        drawings["progress"] = progress_profile(profiles)
    relied = {name: reliance for name, run in runs.items() if (reliance := run.reliance) is not None}
    if relied:
        drawings["reliance"] = reliance_bars(relied)
    for i, (name, run) in enumerate(runs.items(), 1):
        cells = run.sensitivity
        if any(cell.delta_sgr is not None for cell in cells):
            drawings[f"sensitivity_{i}"] = sensitivity_chart(cells, title=f"Edited pictures: {name}")
    for i, drawing in enumerate(_worst_traces(next(iter(runs.values()))), 1):
        drawings[f"steps_{i}"] = drawing
    return [_save(drawing, folder / f"{name}.png") for name, drawing in drawings.items()]


def _worst_traces(run: ScoredTraces) -> Iterator[Drawing]:
    """Yield traces step by step, those with the most refuted claims first."""
    some = [t for t in run.read.traces if t.is_own and t.trace is not None][:_SEARCHED_TRACES]
    judged = [run.read.judged(t, run.verifier, run.options.hedges) for t in some]
    kept = [trace for trace in judged if trace is not None and trace.steps]
    for trace in sorted(kept, key=_n_refuted, reverse=True)[:_SHOWN_TRACES]:
        claiming = [i for i, step in enumerate(trace.steps) if step.counted()] or list(
            range(len(trace.steps))
        )
        steps = sorted({claiming[round(i * (len(claiming) - 1) / 3)] for i in range(4)})
        yield trace_row(trace, run.read.episodes[trace.trace.episode], steps=steps)


def _n_refuted(trace: JudgedTrace) -> int:
    return sum(verdict.label == "unsupported" for step in trace.steps for _, verdict in step.counted())


def draw_prediction(rows: Sequence[ModelRow], prediction: Prediction, folder: Path) -> list[Path]:
    """Draw SGR against retention and against OOD accuracy."""
    paths = []
    kinds: tuple[tuple[Retention, str], ...] = (("ratio", "retention"), ("ood accuracy", "ood_accuracy"))
    for kind, name in kinds:
        law = next(a for a in prediction.associations if (a.predictor, a.retention) == ("sgr", kind))
        drawing = grounding_against_retention(rows, law, retention=kind)
        paths.append(_save(drawing, folder / f"sgr_{name}.png"))
    return paths


def _save(drawing: Drawing, path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return drawing.save(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
