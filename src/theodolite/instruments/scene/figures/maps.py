"""The marked picture beside the predicted and the true graph, both seen from above."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.core.drawing import (
    FAINT,
    INK,
    LAYOUT,
    QUIET,
    TARGET,
    TRUE,
    Drawing,
    new_figure,
    outline,
    show_picture,
    styled,
)
from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.formulas.layout import Layout, lay_out, triangles
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.score import SceneScore
from theodolite.worlds.scene_graph import SceneGraph, StarGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BELOW = 0.1
"""The space below the camera, as a share of the depth, for a line of text."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphView:
    """What to show of one scene."""

    scene: SceneGraph
    predicted: StarGraph
    """The model's graph."""
    pixels: Pixels | None = None
    """The marked picture, if there is one."""


def draw_cases(score: SceneScore, data: SceneData, folder: Path) -> list[Path]:
    """Draws the first example of each quadrant: the picture, the true map and the model's.

    Args:
        score: Score of a run.
        data: The run's data set.
        folder: Where to write.
    """
    found, graphs = {}, score.results.graphs.get("base", {})
    for example in score.examples:
        scene = example.case.question.scene
        graph = graphs[scene].reading.graph if scene in graphs else None
        if example.cell in found or scene not in data.scenes or graph is None:
            continue
        picture = data.picture(scene)
        view = GraphView(data.scenes[scene], graph, picture.pixels() if picture is not None else None)
        path = folder / f"case_{example.cell.replace(' ', '_')}.png"
        found[example.cell] = graphs_from_above(view, title=example.title).save(path)
    return list(found.values())


def graphs_from_above(view: GraphView, *, title: str = "") -> Drawing:
    """The picture, the true places, and the places that the model's graph describes, with the camera at the bottom.

    The true map is drawn from the scene, the other is computed from the model's graph as the geometric solver does. On it, true places
    are grey, with a line from each to where the model has it.

    Args:
        view: The scene and the model's graph of it.
        title: Above the figure.
    """
    scene = view.scene
    if not view.predicted.nodes:
        raise UsageError(f"the graph of scene {scene.id!r} holds no object")
    true = {thing.id: (float(scene.places_level_m[thing.id - 1][0]), float(scene.places_level_m[thing.id - 1][1]))
            for thing in scene.objects}  # fmt: skip
    layout = lay_out(view.predicted)
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
        for mark, place in true.items():
            _object(panels[-2], scene[mark].length_m, place, mark, TRUE, is_centre=mark == scene.centre)
        panels[-2].set_title("true, from above")
        _map(panels[-1], span)
        _predicted(panels[-1], view, layout, true)
        lost = len(scene.objects) - len(layout.places_m)
        notes = [f"SGC {100 * score.sgc:.0f} %"]
        notes += [f"{n_broken} of {n} triangles impossible"] if n_broken else []
        notes += [f"{lost} without a place"] if lost else []
        panels[-1].set_title("the model's (grey: true)")
        for panel, below in ((panels[-2], "▲ the camera"), (panels[-1], ", ".join(notes))):
            panel.annotate(below, (0.02, 0.012), xycoords="axes fraction", fontsize=8, color=QUIET, zorder=6)
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=10.5)
    return Drawing(figure)


def _predicted(axes: Axes, view: GraphView, layout: Layout, true: Mapping[int, tuple[float, float]]) -> None:
    for mark, (x, z) in true.items():
        axes.plot([x], [z], "o", color=LAYOUT, markersize=5, alpha=0.6, zorder=1)
        if mark in layout.places_m:
            axes.plot(
                [x, layout.places_m[mark][0]],
                [z, layout.places_m[mark][1]],
                color=LAYOUT,
                linewidth=0.9,
                alpha=0.7,
                zorder=1,
            )
    for mark, place in layout.places_m.items():
        node = view.predicted.node(mark)
        length = node.length_m if node is not None and node.length_m is not None else 0.3
        _object(axes, length, place, mark, TARGET, is_centre=mark == view.predicted.centre)


def _object(
    axes: Axes, length: float, place: tuple[float, float], mark: int, colour: str, *, is_centre: bool
) -> None:
    """A disc with the object's length as diameter, and its mark."""
    from matplotlib.patches import Circle

    axes.add_patch(
        Circle(
            place,
            max(length, 0.05) / 2,
            facecolor=colour,
            alpha=0.22,
            edgecolor=colour,
            linewidth=1.2,
            zorder=2,
        )
    )
    axes.annotate(str(mark), place, ha="center", va="center", fontsize=9.5 if is_centre else 8.5, zorder=5,
                  weight="bold" if is_centre else "normal", color=INK, path_effects=outline(2.2))  # fmt: skip


def _map(axes: Axes, span: tuple[float, float]) -> None:
    """Rings of distance around the camera, which is at the bottom and looks up."""
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


def _span(scene: SceneGraph, true: Mapping[int, tuple[float, float]], layout: Layout) -> tuple[float, float]:
    """Half the width and the depth of both maps: all true places, and predicted ones up to twice as far."""
    far = max(math.hypot(*place) for place in true.values())
    places = [*true.values(), *(place for place in layout.places_m.values() if math.hypot(*place) < 2 * far)]
    room = max(thing.length_m for thing in scene.objects) / 2
    depth = 1.06 * (max(z for _, z in places) + room)
    side = 1.04 * (max(abs(x) for x, _ in places) + room)
    return max(side, 0.36 * depth), depth


def _step(far: float) -> float:
    return next(step for step in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, math.inf) if far / step <= 6)
