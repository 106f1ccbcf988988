"""Drawing one scene with its question, and pages of many scenes.

Pictures and words use the same colours: targets green, anchors blue, directions violet, look-alikes orange.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.drawing import FAINT, INK, PEAK, QUIET, REFERENCE, TARGET, TRUE, new_figure
from theodolite.instruments.grid.data.batch import ROLES, SceneBatch
from theodolite.instruments.grid.data.masks import phrase_spans
from theodolite.instruments.grid.data.render import render
from theodolite.instruments.grid.data.world import World

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Flags: TypeAlias = NDArray[np.bool_]
FloatPixels: TypeAlias = NDArray[np.float64]

COLOURS = {"target": TRUE, "anchor": REFERENCE, "direction": PEAK, "adversarial": TARGET}
KEY = (("target", "target"), ("anchor", "anchor"), ("direction", "direction"), ("adversarial", "look-alike"))

SIDE_IN, GAP_IN, LINE_IN, LINE_LETTERS = 2.15, 0.22, 0.165, 30
"""The side of a scene, the gap between scenes and the height of a line of text (inches), and the letters of a line."""


class Page:
    """A figure with parts placed in inches from the lower left, a title above and a legend below."""

    def __init__(self, width: float, body: float, title: str) -> None:
        head, foot = 0.42 if title else 0.08, 0.42
        self.width, self.height = width, body + head + foot
        self.top = body + foot
        self.figure = new_figure(width, self.height)
        self.figure.set_layout_engine("none")
        if title:
            self.figure.text(
                0.15 / width, 1 - 0.16 / self.height, title, ha="left", va="top", weight="bold", fontsize=12.5
            )

    def axes(self, left: float, bottom: float, side: float) -> Axes:
        """Square axes."""
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, side / self.width, side / self.height)
        )

    def key(self, entries: Sequence[tuple[str, str]]) -> None:
        """The legend of colours, at the bottom."""
        from matplotlib.patches import Patch

        handles = [
            Patch(
                facecolor="none",
                edgecolor=COLOURS[what],
                linewidth=1.7,
                linestyle=(0, (2.5, 1.8)) if what == "adversarial" else "solid",
                label=word,
            )
            for what, word in entries
        ]
        self.figure.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.02 / self.width, 0.02 / self.height),
            ncols=len(handles),
            fontsize=9,
            handlelength=1.4,
        )


def draw_scene(
    axes: Axes, scenes: SceneBatch, row: int, *, marks: bool = True, tints: Sequence[tuple[Flags, str]] = ()
) -> None:
    """The picture of one scene with faint cell lines; targets, anchors and look-alikes framed.

    Args:
        axes: To draw on.
        scenes: The scenes.
        row: Which of them.
        marks: Frame the objects of the question.
        tints: Cells to tint, (cells,), with their colour.
    """
    from matplotlib.patches import Rectangle

    world = scenes.world
    pixels = render(world, scenes.cells[row : row + 1])[0].astype(np.float64)
    for cells, colour in tints:
        pixels = _tinted(pixels, world, cells, colour)
    axes.imshow(pixels.round().astype(np.uint8), interpolation="lanczos")
    width, height = world.size_px
    for x in range(world.columns + 1):
        axes.axvline(x * world.cell_px - 0.5, color=FAINT, linewidth=0.6, zorder=1)
    for y in range(world.rows + 1):
        axes.axhline(y * world.cell_px - 0.5, color=FAINT, linewidth=0.6, zorder=1)
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    for cell, role in enumerate(scenes.roles[row]) if marks else ():
        what = ROLES[int(role)].partition("_")[0]
        if what not in COLOURS:
            continue
        left, top, right, bottom = world.box_px(cell)
        inset = 0.045 * world.cell_px
        axes.add_patch(
            Rectangle(
                (left + inset - 0.5, top + inset - 0.5),
                right - left - 2 * inset,
                bottom - top - 2 * inset,
                fill=False,
                edgecolor=COLOURS[what],
                linewidth=1.7,
                linestyle=(0, (2.5, 1.8)) if what == "adversarial" else "solid",
                zorder=3,
            )
        )


def _tinted(pixels: FloatPixels, world: World, cells: Flags, colour: str) -> FloatPixels:
    """Tints only what is white."""
    from matplotlib.colors import to_rgb

    inside = cells.reshape(world.rows, world.columns).repeat(world.cell_px, 0).repeat(world.cell_px, 1)
    share = 0.17 * inside[..., None] * (pixels.min(axis=2, keepdims=True) / 255) ** 4
    return np.asarray(pixels * (1 - share) + 255 * np.array(to_rgb(colour)) * share)


def _lines(scenes: SceneBatch, row: int, width: int) -> list[list[tuple[str, str]]]:
    """The question's words with their colours, in lines; a direction of two words is not split."""
    text = scenes.text(row)
    colours = [INK] * len(text)
    for phrase, (first, last) in phrase_spans(scenes, row).items():
        colours[first:last] = [COLOURS[phrase.partition("_")[0]]] * (last - first)
    lines: list[list[tuple[str, str]]] = [[]]
    used = place = 0
    for word in (
        text.replace("left of", "left\N{NO-BREAK SPACE}of")
        .replace("right of", "right\N{NO-BREAK SPACE}of")
        .split(" ")
    ):
        if used and used + len(word) > width:
            lines.append([])
            used = 0
        lines[-1].append((word, colours[place]))
        used += len(word) + 1
        place += len(word) + 1
    return lines


def line_count(scenes: SceneBatch, row: int) -> int:
    """The number of lines of a scene's question."""
    return len(_lines(scenes, row, LINE_LETTERS))


def write_question(
    axes: Axes, scenes: SceneBatch, row: int, *, width: int = LINE_LETTERS, size: float = 8.6
) -> None:
    """The question below its scene, with coloured phrases, and the answer."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea, VPacker

    def piece(word: str, colour: str, weight: str = "") -> Any:
        weight = weight or ("normal" if colour == INK else "bold")
        return TextArea(word, textprops={"color": colour, "fontsize": size, "weight": weight})

    packed: list[Artist] = []
    for line in _lines(scenes, row, width):
        children: list[Artist] = []
        for word, colour in line:
            stem = word.rstrip("?,")
            parts = [piece(stem, colour)] + ([piece(word[len(stem) :], INK)] if stem != word else [])
            children.append(HPacker(children=parts, pad=0, sep=0))
        packed.append(HPacker(children=children, pad=0, sep=2.6))
    answer = [piece("→", QUIET), piece(scenes.answer_text(row), INK, "bold")]
    packed.append(HPacker(children=answer, pad=0, sep=2.6))
    axes.add_artist(
        AnnotationBbox(
            VPacker(children=packed, pad=0, sep=2.2),
            (0, 0),
            xycoords="axes fraction",
            xybox=(0, -5),
            boxcoords="offset points",
            box_alignment=(0, 1),
            frameon=False,
            pad=0,
            annotation_clip=False,
        )
    )
