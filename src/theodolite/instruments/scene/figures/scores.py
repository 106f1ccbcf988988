"""Figures of the solvers on graphs of graded quality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.drawing import (
    FAINT,
    INK,
    LAYOUT,
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
from theodolite.core.errors import UsageError
from theodolite.core.tables import short_names
from theodolite.core.types import Pixels
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.experiments.bottleneck import CAUSES, MAIN, MEANINGS, Bottleneck, Cause
from theodolite.instruments.scene.experiments.curves import CurvePoint
from theodolite.instruments.scene.experiments.interventions import (
    Cell,
    ConfusionMatrix,
    Intervention,
    Threshold,
)
from theodolite.instruments.scene.experiments.relations import RelationConfusion
from theodolite.instruments.scene.formulas.layout import lay_out, triangles
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.formulas.solver import SOLVER_TITLES, SolverName
from theodolite.instruments.scene.kinds import ATOMIC, GROUPS, Competency, group_name
from theodolite.instruments.scene.score import SceneScore
from theodolite.stats import Estimate
from theodolite.worlds.scene_graph import SceneGraph, StarGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes


# The marked picture beside the predicted and the true graph, both seen from above.


_BELOW = 0.13
"""The space below the camera, as a share of the depth, for two lines of text."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphView:
    """What to show of one scene."""

    scene: SceneGraph
    predicted: StarGraph
    """The model's graph."""
    pixels: Pixels | None = None
    """The marked picture, if there is one."""


def draw_cases(score: SceneScore, data: SceneData, folder: Path) -> list[Path]:
    """Draw the first example of each quadrant: the picture, the true map and the model's.

    Args:
        score: Score of a run.
        data: The run's data set.
        folder: Where to write.
    """
    paths, graphs = {}, score.results.graphs.get("base", {})
    for example in score.examples:
        scene = example.case.question.scene
        graph = graphs[scene].reading.graph if scene in graphs else None
        if example.cell in paths or scene not in data.scenes or graph is None:
            continue
        picture = data.picture(scene)
        view = GraphView(data.scenes[scene], graph, picture.pixels() if picture is not None else None)
        path = folder / f"case_{example.cell.replace(' ', '_')}.png"
        paths[example.cell] = graphs_from_above(view, title=example.title).save(path)
    return list(paths.values())


def graphs_from_above(view: GraphView, *, title: str = "") -> Drawing:
    """Draw the picture, the true places, and the places that the model's graph describes, with the camera at the bottom.

    The true map is drawn from the scene, the other is computed from the model's graph as the geometric solver does. A star graph
    fixes how far objects are from the camera and from the centre object, and on which side, but no bearing: so both maps are turned
    until the centre object is straight ahead. On the model's map true places are grey, with a line from each to where the model has
    it; a grey ring is where the solver puts an object from the true graph, if that is not its true place.

    Args:
        view: The scene and the model's graph of it.
        title: Above the figure.
    """
    scene = view.scene
    if not view.predicted.nodes:
        raise UsageError(f"the graph of scene {scene.id!r} holds no object")
    true = _turned(
        {
            t.id: (float(x), float(z))
            for t, (x, z, _) in zip(scene.objects, scene.places_level_m, strict=True)
        },
        scene.centre,
    )
    layout = _turned(lay_out(view.predicted).places_m, view.predicted.centre)
    solved = _turned(lay_out(scene.star()).places_m, scene.centre)
    errors = [math.dist(solved[mark], place) for mark, place in true.items() if mark in solved]
    score = score_graph(view.predicted, scene.star())
    n, n_broken = triangles(view.predicted)
    span = _span(scene, true, layout)
    with styled():
        high = 4.0
        widths = [high * 2 * span[0] / ((1 + _BELOW) * span[1])] * 2
        if view.pixels is not None:
            widths.insert(0, high * view.pixels.shape[1] / view.pixels.shape[0])
        figure = new_figure(sum(widths) + 0.35 * len(widths), high + 0.8)
        panels = list(figure.subplots(1, len(widths), width_ratios=widths))
        if view.pixels is not None:
            show_picture(panels[0], view.pixels)
            panels[0].set_title("what the model sees")
        _map(panels[-2], span)
        for mark, middle in true.items():
            _object(panels[-2], scene[mark].length_m, middle, mark, TRUE, is_centre=mark == scene.centre)
        panels[-2].set_title(f"true: object {scene.centre} ahead")
        _map(panels[-1], span)
        _predicted(panels[-1], view, layout, true)
        _own_errors(panels[-1], solved, true, 0.02 * span[1])
        lost = len(scene.objects) - len(layout)
        notes = [f"SGC {100 * score.sgc:.0f} %"]
        notes += (
            [f"solver's own error (○): median {np.median(errors):.1f} m, at most {max(errors):.1f} m"]
            if errors
            else []
        )
        notes += [f"{n_broken} of {n} triangles impossible"] if n_broken else []
        notes += [f"{lost} without a place"] if lost else []
        panels[-1].set_title("the model's (grey: true)")
        for panel, below in (
            (
                panels[-2],
                "▲ the camera; a star graph fixes distances\nfrom it and from the centre, and sides",
            ),
            (panels[-1], "\n".join([", ".join(notes[:1] + notes[2:]), *notes[1:2]])),
        ):
            panel.annotate(below, (0.02, 0.012), xycoords="axes fraction", fontsize=7, color=QUIET, zorder=6)
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=10.5)
    return Drawing(figure)


Places: TypeAlias = Mapping[int, tuple[float, float]]
"""Along the ground, right and forward of the camera, by mark."""


def _turned(places: Places, centre: int) -> dict[int, tuple[float, float]]:
    """Turn places about the camera until the centre object is straight ahead."""
    x, z = places.get(centre, (0.0, 1.0))
    far = math.hypot(x, z) or 1.0
    c, s = z / far, x / far
    return {mark: (c * a - s * b, s * a + c * b) for mark, (a, b) in places.items()}


def _own_errors(axes: Axes, solved: Places, true: Places, least_m: float) -> None:
    """Draw a ring where the solver puts an object from the true graph, joined to its true place."""
    for mark, (x, z) in solved.items():
        if math.dist((x, z), true[mark]) > least_m:
            axes.plot([x], [z], "o", markersize=6, markerfacecolor="none", markeredgecolor=LAYOUT, zorder=1)
            axes.plot(*zip(true[mark], (x, z), strict=True), ":", color=LAYOUT, linewidth=1.1, zorder=1)


def _predicted(axes: Axes, view: GraphView, layout: Places, true: Places) -> None:
    for mark, (x, z) in true.items():
        axes.plot([x], [z], "o", color=LAYOUT, markersize=5, alpha=0.6, zorder=1)
        if mark in layout:
            axes.plot(
                [x, layout[mark][0]], [z, layout[mark][1]], color=LAYOUT, linewidth=0.9, alpha=0.7, zorder=1
            )
    for mark, middle in layout.items():
        node = view.predicted.node(mark)
        length = node.length_m if node is not None and node.length_m is not None else 0.3
        _object(axes, length, middle, mark, TARGET, is_centre=mark == view.predicted.centre)


def _object(
    axes: Axes, length: float, middle: tuple[float, float], mark: int, colour: str, *, is_centre: bool
) -> None:
    """Draw a disc with the object's length as diameter, and its mark."""
    from matplotlib.patches import Circle

    axes.add_patch(
        Circle(
            middle,
            max(length, 0.05) / 2,
            facecolor=colour,
            alpha=0.22,
            edgecolor=colour,
            linewidth=1.2,
            zorder=2,
        )
    )
    axes.annotate(str(mark), middle, ha="center", va="center", fontsize=9.5 if is_centre else 8.5, zorder=5,
                  weight="bold" if is_centre else "normal", color=INK, path_effects=outline(2.2))  # fmt: skip


def _map(axes: Axes, span: tuple[float, float]) -> None:
    """Draw rings of distance around the camera, which is at the bottom and looks up."""
    from matplotlib.patches import Circle

    side, far = span
    step = _step(far)
    for i in range(1, int(far / step) + 1):
        axes.add_patch(Circle((0, 0), i * step, fill=False, edgecolor=FAINT, linewidth=0.8, zorder=0))
        axes.annotate(
            f"{i * step:g} m",
            (0, i * step),
            (3, 1),
            textcoords="offset points",
            fontsize=7,
            color=QUIET,
            zorder=0,
        )
    axes.plot([0], [0], marker="^", color=INK, markersize=8, zorder=4)
    axes.set_xlim(-side, side)
    axes.set_ylim(-_BELOW * far, far)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(FAINT)


def _span(scene: SceneGraph, true: Places, layout: Places) -> tuple[float, float]:
    """Return half the width and the depth of both maps: all true places, and predicted ones up to twice as far."""
    far = max(math.hypot(*middle) for middle in true.values())
    middles = [
        *true.values(),
        *(middle for middle in layout.values() if math.hypot(*middle) < 2 * far),
    ]
    room = max(thing.length_m for thing in scene.objects) / 2
    depth = 1.06 * (max(z for _, z in middles) + room)
    side = 1.04 * (max(abs(x) for x, _ in middles) + room)
    return max(side, 0.36 * depth), depth


def _step(far: float) -> float:
    return next(step for step in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, math.inf) if far / step <= 6)


SOLVER_LOOKS: Mapping[SolverName, tuple[str, str, float]] = {
    "upstream": (SERIES[4], "s", 1.6),
    "geometric": (SERIES[1], "^", 1.6),
    "fused": (SERIES[0], "o", 2.6),
}
"""Colour, marker and width of a line; the last is drawn on top."""
_ROWS: tuple[Competency | None, ...] = ("ranking", "transformation", "deduction", None)
"""The competencies whose answers a graph may leave open, and all together."""
_TITLES: Mapping[Competency | None, str] = {
    "ranking": "ranking:\norder of three",
    "transformation": "transformation:\nwhere after turning",
    "deduction": "deduction:\ndistance after placing",
    None: "all nine groups,\nmacro mean",
}


def solver_figure(points: Sequence[CurvePoint], *, title: str = "") -> Drawing:
    """Draw scores against the noise of the graph: a row for each competency, a column for each kind of noise.

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
        grid = figure.subplots(len(rows), len(noisy), sharex="col", sharey="row", squeeze=False)
        for i, row in enumerate(rows):
            for j, on in enumerate(noisy):
                part = sorted(
                    (p for p in points if (p.noisy, p.competency) == (on, row)), key=lambda p: p.level
                )
                axes = grid[i][j]
                _lines(axes, part)
                if i == 0:
                    axes.set_title("lengths rounded" if on == "rounding" else f"noise on {on}", fontsize=10.5)
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
    """Draw one line for each solver, with its interval."""
    for name, (colour, marker, width) in SOLVER_LOOKS.items():
        estimates = [(p.level, e) for p in points if (e := p.scores[name]) is not None]
        x = [level for level, _ in estimates]
        axes.fill_between(
            x,
            [e.low for _, e in estimates],
            [e.high for _, e in estimates],
            color=colour,
            alpha=0.12,
            linewidth=0,
        )
        axes.plot(
            x,
            [e.value for _, e in estimates],
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
    """Return the lower end of the vertical axis: a tenth below every interval."""
    low = min((e.low for point in points for e in point.scores.values() if e is not None), default=0.0)
    return max(0.0, math.floor(10 * low) / 10)


def _across(points: Sequence[CurvePoint]) -> str:
    """Return the label of the horizontal axis, with the quality of the graphs at its two ends."""
    first, last = points[0].quality, points[-1].quality
    what = "step, m" if points[0].noisy == "rounding" else "noise level"
    if first is None or last is None:
        return what
    return f"{what} (SGC {100 * first.value:.0f} % → {100 * last.value:.0f} %)"


# Figures of scene scores: radar of nine groups, QA against SGC and consistency, confusion, interventions, thresholds.


_SHORT = {"choice": "choice", "number": "metres"}
_ATOMIC, _COMPOSITIONAL = SERIES[1], SERIES[4]
_SETTING_NAMES = {
    "base": "picture",
    "predicted graph": "picture,\nown graph",
    "true graph": "picture,\ntrue graph",
    "true graph alone": "true graph\nalone",
}

Against: TypeAlias = Literal["sgc", "consistency"]


def draw_scores(scores: Mapping[str, SceneScore], folder: Path) -> list[Path]:
    """Draw the figures that several runs share, and the threshold of each run that has one.

    Args:
        scores: By the name to show.
        folder: Where to write.
    """
    names = short_names(scores)
    scores = {names[name]: score for name, score in scores.items()}
    all_scores = list(scores.values())
    drawings: dict[str, Drawing] = {}
    if any(score.mean("qa") is not None for score in all_scores):
        drawings["radar"] = radar(scores, title="QA by group")
    if any(score.mean("qa") is not None and score.mean("sgc") is not None for score in all_scores):
        drawings["qa_sgc"] = qa_against(scores, "sgc", title="Answers against graphs")
        drawings["qa_consistency"] = qa_against(
            scores, "consistency", title="Answers against their own graph"
        )
    if any(intervention.setting != "base" for score in all_scores for intervention in score.interventions):
        drawings["interventions"] = intervention_bars(scores, title="What a graph in the prompt changes")
    if any(score.mean("sgc") is not None and score.mean("derived") is not None for score in all_scores):
        drawings["derived_sgc"] = derived_against_sgc(scores, title="What graphs imply, by their quality")
    divided = {name: score.bottlenecks[None] for name, score in scores.items() if None in score.bottlenecks}
    if divided:
        drawings["bottleneck"] = bottleneck_bars(divided, title="Does it see wrongly, or reason wrongly?")
    for i, (name, score) in enumerate(scores.items()):
        if score.confusions:
            title = f"Answers against what the graph implies\n{name}"
            drawings[f"confusion_{i + 1}"] = confusion_figure(score.confusions, title=title)
        if score.relations:
            title = f"Words of its graphs against true ones\n{name}"
            drawings[f"relations_{i + 1}"] = relation_figure(score.relations, title=title)
        if score.threshold is not None:
            title = f"How good must a graph be to help?\n{name}"
            drawings[f"threshold_{i + 1}"] = threshold_curve(score.threshold, score.mean("qa"), title=title)
    return [drawing.save(folder / f"{name}.png") for name, drawing in drawings.items()]


def radar(scores: Mapping[str, SceneScore], *, title: str = "") -> Drawing:
    """Draw QA of each of the nine groups, a radar for each model with its intervals, over thin grey lines of all others.

    A dark stroke on each axis is the baseline without looking.

    Args:
        scores: By the name to show.
        title: Above the figure.
    """
    _some(scores)
    columns = min(3, len(scores))
    rows = -(-len(scores) // columns)
    values = {name: _by_group(score) for name, score in scores.items()}
    priors = next(iter(scores.values()))
    with styled():
        figure = new_figure(4.2 * columns, 3.9 * rows + 0.8)
        panels = figure.subplots(rows, columns, squeeze=False, subplot_kw={"projection": "polar"}).ravel()
        for axes, (name, score), colour in zip(panels, scores.items(), _colours(len(scores)), strict=False):
            _spokes(axes)
            for angle, group in zip(_ANGLES, _GROUP_NAMES, strict=True):
                prior, point = priors.mean("qa_prior", group=group), score.mean("qa", group=group)
                if prior is not None:
                    across = np.linspace(angle - 0.14, angle + 0.14, 9)
                    axes.plot(across, [prior.value] * 9, color=INK, linewidth=2.2, zorder=2)
                if point is not None:
                    axes.plot([angle] * 2, [point.low, point.high], color=colour, linewidth=1.6, alpha=0.6)
            for other, line in values.items():
                if other != name:
                    axes.plot(_ROUND, line, color=LAYOUT, linewidth=0.9, alpha=0.55, zorder=1)
            axes.fill(_ROUND, np.nan_to_num(values[name]), color=colour, alpha=0.12, linewidth=0)
            axes.plot(
                _ROUND, values[name], "o-", color=colour, markersize=4.5, label=name, zorder=3, clip_on=False
            )
            axes.set_title(
                "\n".join(wrap(name, 34)), color=colour, weight="bold", loc="center", pad=12, fontsize=9.5
            )
        for axes in panels[len(scores) :]:
            axes.set_axis_off()
        _legend_of_radar(figure, has_others=len(scores) > 1)
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=11)
    return Drawing(figure)


_GROUP_NAMES = tuple(group_name(*group) for group in GROUPS)
_ANGLES = np.linspace(0, 2 * np.pi, len(GROUPS), endpoint=False)
_ROUND = np.append(_ANGLES, 0)


def _by_group(score: SceneScore) -> NDArray[np.float64]:
    """Return QA of the nine groups, and of the first again; NaN where it was not asked."""
    points = [score.mean("qa", group=group) for group in _GROUP_NAMES]
    values = [point.value if point is not None else np.nan for point in points]
    return np.array([*values, values[0]])


def _spokes(axes: PolarAxes) -> None:
    """Draw the axes of the nine groups."""
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.25, 0.5, 0.75, 1.0], ["25", "50", "75", "100 %"], color=QUIET, fontsize=7)
    axes.set_rlabel_position(20)
    axes.set_xticks(_ANGLES, [f"{competency}\n{_SHORT[form]}" for form, competency in GROUPS], fontsize=8)
    for label, angle in zip(axes.get_xticklabels(), _ANGLES, strict=True):
        label.set_horizontalalignment(
            "center" if abs(np.sin(angle)) < 0.4 else "left" if np.sin(angle) > 0 else "right"
        )
    axes.grid(color=FAINT, linewidth=0.8)
    axes.spines["polar"].set_color(FAINT)


def _legend_of_radar(figure: Figure, *, has_others: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=INK, linewidth=2.2, label="without looking"),
        Line2D([], [], color=QUIET, linewidth=1.6, alpha=0.6, label="95 % interval"),
    ]
    handles += [Line2D([], [], color=LAYOUT, linewidth=0.9, label="the other models")] if has_others else []
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8.5)


def qa_against(scores: Mapping[str, SceneScore], what: Against = "sgc", *, title: str = "") -> Drawing:
    """Draw QA against SGC or self-consistency, one point per model, with both intervals.

    Args:
        scores: By the name to show.
        what: The horizontal axis.
        title: Above the figure.
    """
    _some(scores)
    with styled():
        figure = new_figure(6.0, 4.8)
        axes = figure.add_subplot()
        example = next(iter(scores.values()))
        qa_prior, sgc_prior = example.mean("qa_prior"), example.mean("sgc_prior")
        if qa_prior is not None:
            axes.axhline(qa_prior.value, color=LAYOUT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
            axes.annotate("QA without looking", (0.01, qa_prior.value), (0, 3), color=QUIET, fontsize=8,
                          textcoords="offset points", xycoords=("axes fraction", "data"))  # fmt: skip
        if what == "sgc" and sgc_prior is not None:
            axes.axvline(sgc_prior.value, color=LAYOUT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
            axes.annotate("SGC without looking", (sgc_prior.value, 0.01), (-4, 0), color=QUIET,
                          textcoords="offset points", rotation=90, ha="right", va="bottom", fontsize=8,
                          xycoords=("data", "axes fraction"))  # fmt: skip
        if what == "consistency":
            axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, zorder=0)
        left_out, labelled = [], []
        for (name, score), colour in zip(scores.items(), _colours(len(scores)), strict=True):
            across, up = score.mean(what), score.mean("qa")
            if across is None or up is None:
                left_out.append(name)
                continue
            _cross(axes, across, up, colour)
            labelled.append((name, across.value, up.value, colour))
        _name_points(axes, labelled)
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1.04)
        axes.set_xlabel(
            "SGC: how well the graph fits the scene"
            if what == "sgc"
            else f"self-consistency: own graph against own answers (solver {_solver(scores)})"
        )
        axes.set_ylabel("QA")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.set_title(title, weight="bold")
        if left_out:
            axes.set_title(f"not measured: {', '.join(left_out)}", loc="right", fontsize=8, color=QUIET)
    return Drawing(figure)


def derived_against_sgc(scores: Mapping[str, SceneScore], *, title: str = "") -> Drawing:
    """Draw derived QA against SGC: models as points, beside each solver's curve over true graphs with noise.

    Args:
        scores: By the name to show; the curves are on the scenes of the first.
        title: Above the figure.
    """
    _some(scores)
    with styled():
        figure = new_figure(6.2, 4.6)
        axes = figure.add_subplot()
        curves = [p for p in next(iter(scores.values())).curves if p.competency is None]
        for solver, (colour, marker, width) in SOLVER_LOOKS.items():
            curve = [(p.quality.value, e.value) for p in curves if p.quality and (e := p.scores[solver])]
            axes.plot(*zip(*sorted(curve), strict=True), color=colour, marker=marker, markersize=4, linewidth=width,
                      alpha=0.8, label=SOLVER_TITLES[solver])  # fmt: skip
        labelled = []
        for name, score in scores.items():
            sgc, derived = score.mean("sgc"), score.mean("derived")
            if sgc is not None and derived is not None:
                _cross(axes, sgc, derived, INK)
                labelled.append((name, sgc.value, derived.value, INK))
        _name_points(axes, labelled)
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1.04)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.set_xlabel("SGC: how well the graph fits the scene")
        axes.set_ylabel(f"derived QA (of models: solver {_solver(scores)})")
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(
            handles[::-1], labels[::-1], loc="upper left", title="true graphs with noise", title_fontsize=8.5
        )
        axes.set_title(title, weight="bold")
    return Drawing(figure)


def intervention_bars(scores: Mapping[str, SceneScore], *, title: str = "") -> Drawing:
    """Draw QA in the four settings, each bar stacked from its atomic and its compositional groups.

    Args:
        scores: By the name to show.
        title: Above the figure.
    """
    _some(scores)
    settings = [
        s
        for s in _SETTING_NAMES
        if any(f.setting == s for score in scores.values() for f in score.interventions)
    ]
    if not settings:
        raise UsageError(
            "no run has an intervention to draw; run with the settings 'predicted graph' and 'true graph'"
        )
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    columns = min(3, len(scores))
    rows = -(-len(scores) // columns)
    with styled():
        figure = new_figure(max(5.0, 0.7 + 3.2 * columns), 0.9 + 3.2 * rows)
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for axes, (name, score) in zip(panels, scores.items(), strict=False):
            share = _atomic_share(score)
            for i, setting in enumerate(settings):
                _bar(axes, i, 0.82, score, setting, share)
            axes.set_xticks(
                range(len(settings)), [_SETTING_NAMES[setting] for setting in settings], fontsize=7.5
            )
            axes.tick_params(axis="x", length=0)
            axes.set_xlim(-0.55, len(settings) - 0.45)
            axes.set_ylim(0, 1.04)
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
            axes.yaxis.grid(visible=True)
            axes.set_title("\n".join(wrap(name, 34)), weight="bold", fontsize=9.5)
        for axes in panels[len(scores) :]:
            axes.set_axis_off()
        for axes in panels[::columns]:
            axes.set_ylabel("QA, mean over nine groups")
        handles: list[Line2D | Patch] = [
            Patch(color=_ATOMIC, label="atomic groups"),
            Patch(color=_COMPOSITIONAL, label="compositional groups"),
            Line2D([], [], color=INK, linewidth=1.3, label="95 % interval"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=11)
    return Drawing(figure)


_CAUSE_COLOURS: Mapping[Cause, str] = {
    "perception": SERIES[2],
    "reasoning": SERIES[1],
    "use": SERIES[4],
    "prior": SERIES[6],
    "no answer": QUIET,
}


def bottleneck_bars(found: Mapping[str, Bottleneck], *, title: str = "") -> Drawing:
    """Draw what each model's points are lost to: left of all points, right as shares of the lost ones with their intervals.

    Args:
        found: By the name to show.
        title: Above the figure.
    """
    causes = [cause for cause in CAUSES if any(cause in each.parts for each in found.values())]
    rows = {name: len(found) - 1 - i for i, name in enumerate(found)}
    with styled():
        figure = new_figure(10.4, 1.9 + 0.95 * len(found))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.0, 1.15))
        for name, divided in found.items():
            start = 1 - divided.lost.value
            left.barh(rows[name], start, 0.52, color=FAINT)
            left.annotate(
                f"QA {100 * start:.0f} %", (0.01, rows[name]), va="center", fontsize=8.5, color=QUIET
            )
            for i, cause in enumerate(cause for cause in causes if cause in divided.parts):
                part = divided.parts[cause]
                left.barh(rows[name], part.points.value, 0.52, left=start, color=_CAUSE_COLOURS[cause])
                start += part.points.value
                if part.share is not None:
                    y = rows[name] + 0.3 - 0.15 * i
                    right.plot(
                        [part.share.low, part.share.high], [y, y], color=_CAUSE_COLOURS[cause], linewidth=2.6
                    )
                    right.plot(
                        [part.share.value],
                        [y],
                        "o",
                        color=_CAUSE_COLOURS[cause],
                        markersize=5.5,
                        clip_on=False,
                    )
        for row in range(len(found) - 1):
            right.axhline(row + 0.5, color=FAINT, linewidth=0.8)
        left.set_yticks(
            list(rows.values()),
            [_title_lines(name, divided) for name, divided in found.items()],
            fontsize=8.5,
        )
        left.set_ylim(-0.55, len(found) - 0.45)
        left.set_title("QA, and the points that are lost")
        right.set_title("shares of the lost points, 95 % intervals")
        right.axvline(MAIN, color=LAYOUT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        for axes in (left, right):
            axes.set_xlim(0, 1)
            axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
            axes.tick_params(axis="y", length=0)
        _legend_of_causes(figure, causes)
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=11)
    return Drawing(figure)


def _title_lines(name: str, divided: Bottleneck) -> str:
    return "\n".join([*wrap(name, 26), *wrap(divided.name, 30)])


def _legend_of_causes(figure: Figure, causes: Sequence[Cause]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=_CAUSE_COLOURS[cause], label=f"{cause}: {MEANINGS[cause]}") for cause in causes]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)


_CELL_PLACES: Mapping[Cell, tuple[int, int]] = {
    "grounded success": (0, 0),
    "shortcut success": (0, 1),
    "disconnect failure": (1, 0),
}
_BOTH_WRONG: tuple[Cell, ...] = ("consistent hallucination", "other failure")
_NEITHER: tuple[Cell, ...] = ("no derived answer", "no direct answer")


def confusion_figure(matrices: Sequence[ConfusionMatrix], *, title: str = "") -> Drawing:
    """Draw base QA against derived QA: one square per form of question, shares of all its questions.

    Args:
        matrices: Choices and numbers.
        title: Above the figure.
    """
    with styled():
        figure = new_figure(0.9 + 3.5 * len(matrices), 4.4)
        for axes, matrix in zip(figure.subplots(1, len(matrices), squeeze=False)[0], matrices, strict=True):
            _confusion(axes, matrix)
        figure.suptitle(title, x=0.02, ha="left", weight="bold", fontsize=10.5)
    return Drawing(figure)


def _confusion(axes: Axes, matrix: ConfusionMatrix) -> None:
    from matplotlib.patches import Rectangle

    values = {
        cell: estimate.value if estimate is not None else 0.0 for cell, estimate in matrix.shares.items()
    }
    squares = {position: ([cell], values[cell]) for cell, position in _CELL_PLACES.items()}
    squares[1, 1] = (list(_BOTH_WRONG), sum(values[cell] for cell in _BOTH_WRONG))
    for (row, column), (cells, share) in squares.items():
        colour = SERIES[1] if row == column == 0 else SERIES[4]
        axes.add_patch(Rectangle((column, 1 - row), 1, 1, facecolor=colour, alpha=0.08 + 0.7 * share))
        lines = [f"{cell.replace(' ', chr(10), 1)}\n{100 * values[cell]:.1f} %" for cell in cells]
        axes.text(
            column + 0.5, 1.5 - row, "\n".join(lines), ha="center", va="center", color=INK, fontsize=8.5
        )
    axes.set_xlim(0, 2)
    axes.set_ylim(0, 2)
    axes.set_aspect("equal")
    axes.set_xticks([0.5, 1.5], ["graph right", "graph wrong"])
    axes.set_yticks([0.5, 1.5], ["answer\nwrong", "answer\nright"])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    n = sum(matrix.counts.values())
    rest = ", ".join(f"{cell} {100 * values[cell]:.1f} %" for cell in _NEITHER)
    axes.set_title(f"{matrix.form}s: {n} questions", loc="left", fontsize=9.5)
    axes.set_xlabel(rest, fontsize=8, color=QUIET)


def relation_figure(matrices: Sequence[RelationConfusion], *, title: str = "") -> Drawing:
    """Draw a confusion matrix for each pair of opposite words: rows are true, columns were said, shares of each row.

    Args:
        matrices: From `relation_confusions`.
        title: Above the figure.
    """
    from matplotlib.patches import Rectangle

    with styled():
        wide = [len(matrix.said) + 1.6 for matrix in matrices]
        figure = new_figure(0.86 * sum(wide), 3.6)
        for axes, matrix in zip(
            figure.subplots(1, len(matrices), squeeze=False, width_ratios=wide)[0], matrices, strict=True
        ):
            for row, true in enumerate(matrix.true):
                for column, said in enumerate(matrix.said):
                    share = matrix.share(true, said)
                    colour = SERIES[3] if true == said else SERIES[2]
                    place = column, len(matrix.true) - 1 - row
                    axes.add_patch(
                        Rectangle(place, 1, 1, facecolor=colour, alpha=0.04 + 0.76 * share, linewidth=0)
                    )
                    axes.text(
                        place[0] + 0.5,
                        place[1] + 0.5,
                        f"{100 * share:.0f} %",
                        ha="center",
                        va="center",
                        fontsize=9,
                    )
            axes.set_xlim(0, len(matrix.said))
            axes.set_ylim(0, len(matrix.true))
            axes.set_aspect("equal")
            axes.set_xticks(np.arange(len(matrix.said)) + 0.5, [w.replace(" ", "\n", 1) for w in matrix.said])
            rows = [
                f"{word.replace('in front of', 'in front')}\n{matrix.n(word)} edges" for word in matrix.true
            ]
            axes.set_yticks(len(matrix.true) - 0.5 - np.arange(len(matrix.true)), rows)
            axes.tick_params(length=0, labelsize=8.5)
            axes.set_xlabel("said", color=QUIET)
        figure.axes[0].set_ylabel("true", color=QUIET)
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=10.5)
    return Drawing(figure)


def threshold_curve(found: Threshold, base: Estimate | None = None, *, title: str = "") -> Drawing:
    """Draw QA with graphs of graded noise against their quality, beside QA without a graph; the crossing with its interval.

    Args:
        found: Found of one run.
        base: QA without a graph.
        title: Above the figure.
    """
    with styled():
        figure = new_figure(6.0, 4.2)
        axes = figure.add_subplot()
        levels = [level for level in found.levels if level.quality is not None and level.qa is not None]
        x = [level.quality.value for level in levels if level.quality is not None]
        y = [level.qa for level in levels if level.qa is not None]
        axes.fill_between(
            x, [e.low for e in y], [e.high for e in y], color=SERIES[0], alpha=0.15, linewidth=0
        )
        axes.plot(x, [e.value for e in y], "o-", color=SERIES[0], markersize=4.5, label="with the graph")
        if base is not None:
            axes.axhspan(base.low, base.high, color=LAYOUT, alpha=0.18, linewidth=0)
            axes.axhline(
                base.value, color=QUIET, linewidth=1.2, linestyle=(0, (4, 3)), label="without a graph"
            )
        if found.crossing is not None:
            axes.axvspan(found.crossing.low, found.crossing.high, color=SERIES[2], alpha=0.16, linewidth=0)
            axes.axvline(found.crossing.value, color=SERIES[2], linewidth=1.4)
            axes.annotate(f"helps from an SGC of {100 * found.crossing.value:.0f} %", (found.crossing.value, 0.03), (6, 0),
                          xycoords=("data", "axes fraction"), textcoords="offset points", color=SERIES[2], fontsize=8.5)  # fmt: skip
        axes.set_ylim(0, 1.04)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.set_xlabel("SGC of the graph in the prompt")
        axes.set_ylabel("QA")
        figure.legend(loc="outside lower center", ncols=2)
        axes.set_title(title, weight="bold")
    return Drawing(figure)


def _bar(axes: Axes, x: float, width: float, score: SceneScore, setting: str, share: float) -> None:
    """Draw one stacked bar: the two layers, weighted so that they add up to the macro mean, with its interval."""
    by_layer: dict[str | None, Intervention] = {
        f.layer: f for f in score.interventions if f.setting == setting
    }
    whole = by_layer[None].qa if None in by_layer else None
    if whole is None:
        axes.annotate("not\nmeasured", (x, 0.02), ha="center", va="bottom", fontsize=6.5, color=QUIET)
        return
    parts = [by_layer[layer].qa if layer in by_layer else None for layer in ("atomic", "compositional")]
    atomic = share * parts[0].value if parts[0] is not None else 0.0
    rest = (1 - share) * parts[1].value if parts[1] is not None else 0.0
    axes.bar(x, atomic, width, color=_ATOMIC)
    axes.bar(x, rest, width, bottom=atomic, color=_COMPOSITIONAL)
    axes.plot([x, x], [whole.low, whole.high], color=INK, linewidth=1.3)
    axes.text(
        x, 0.025, f"{100 * whole.value:.0f} %", ha="center", va="bottom", fontsize=9, weight="bold", color=INK,
        path_effects=outline(2.4),
    )  # fmt: skip


def _atomic_share(score: SceneScore) -> float:
    """Return the share of atomic groups among those that have questions."""
    asked = {case.question.group for case in score.cases.cases}
    return sum(competency in ATOMIC for _, competency in asked) / len(asked) if asked else 0.0


def _cross(axes: Axes, across: Estimate, up: Estimate, colour: str) -> None:
    axes.plot([across.low, across.high], [up.value, up.value], color=colour, linewidth=1.3, alpha=0.7)
    axes.plot([across.value, across.value], [up.low, up.high], color=colour, linewidth=1.3, alpha=0.7)
    axes.plot([across.value], [up.value], "o", color=colour, markersize=6, zorder=4)


_NAME_HIGH, _LETTER_WIDE = 0.055, 0.0185
"""Of a name beside a point, as shares of the axes: its height, and the width of a letter."""


def _name_points(axes: Axes, points: Sequence[tuple[str, float, float, str]]) -> None:
    """Write a name at every point, moved until it covers no other name."""
    taken: list[tuple[float, float, float]] = []
    for name, x, y, colour in sorted(points, key=lambda point: (-point[2], point[1])):
        is_right = x > 0.5
        wide = _LETTER_WIDE * len(name)
        left = x - 0.02 - wide if is_right else x + 0.02
        high = y - 0.045 if y > 0.5 else y + 0.045
        while any(
            left < other + width and other < left + wide and abs(high - up) < _NAME_HIGH
            for other, width, up in taken
        ):
            high += -_NAME_HIGH if y > 0.5 else _NAME_HIGH
        taken.append((left, wide, high))
        axes.text(x - 0.02 if is_right else x + 0.02, high, name, color=colour, weight="bold", fontsize=8.5,
                  ha="right" if is_right else "left", va="center", path_effects=outline(2.2), zorder=5)  # fmt: skip


def _solver(scores: Mapping[str, SceneScore]) -> str:
    """Name the solver that derived the answers."""
    return next(iter(scores.values())).options.solver


def _colours(n: int) -> Sequence[str]:
    return [SERIES[i % len(SERIES)] for i in range(n)]


def _some(scores: Mapping[str, SceneScore]) -> None:
    if not scores:
        raise UsageError("a figure needs at least one scored run")
