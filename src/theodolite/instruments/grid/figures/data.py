"""Drawing one scene with its question, and pages of many scenes.

Pictures and words use the same colours: targets green, anchors blue, directions violet, look-alikes orange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.drawing import (
    FAINT,
    INK,
    PEAK,
    QUIET,
    REFERENCE,
    SERIES,
    TARGET,
    TRUE,
    Drawing,
    new_figure,
    outline,
    styled,
)
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import (
    ROLES,
    SceneBatch,
    join,
    phrase_spans,
    regions_of,
    with_cells,
)
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS, BUCKETS
from theodolite.instruments.grid.data.recipe import Density, GridRecipe, find_recipe
from theodolite.instruments.grid.data.world import GridShape, Mode, render
from theodolite.instruments.grid.models.symbolic import LOGICS, symbolic_answer

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
        """Add square axes."""
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, side / self.width, side / self.height)
        )

    def key(self, entries: Sequence[tuple[str, str]]) -> None:
        """Add the legend of colours at the bottom."""
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
    """Draw one scene with faint cell lines; targets, anchors and look-alikes are framed.

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


def _tinted(pixels: FloatPixels, world: GridShape, cells: Flags, colour: str) -> FloatPixels:
    """Tint only what is white."""
    from matplotlib.colors import to_rgb

    inside = cells.reshape(world.rows, world.columns).repeat(world.cell_px, 0).repeat(world.cell_px, 1)
    share = 0.17 * inside[..., None] * (pixels.min(axis=2, keepdims=True) / 255) ** 4
    return np.asarray(pixels * (1 - share) + 255 * np.array(to_rgb(colour)) * share)


def _lines(scenes: SceneBatch, row: int, width: int) -> list[list[tuple[str, str]]]:
    """Return the question's words with their colours, in lines; a direction of two words is not split."""
    text = scenes.text(row)
    colours = [INK] * len(text)
    for phrase, (first, last) in phrase_spans(scenes, row).items():
        colours[first:last] = [COLOURS[phrase.partition("_")[0]]] * (last - first)
    lines: list[list[tuple[str, str]]] = [[]]
    used = position = 0
    for word in (
        text.replace("left of", "left\N{NO-BREAK SPACE}of")
        .replace("right of", "right\N{NO-BREAK SPACE}of")
        .split(" ")
    ):
        if used and used + len(word) > width:
            lines.append([])
            used = 0
        lines[-1].append((word, colours[position]))
        used += len(word) + 1
        position += len(word) + 1
    return lines


def line_count(scenes: SceneBatch, row: int) -> int:
    """Return the number of lines of a scene's question."""
    return len(_lines(scenes, row, LINE_LETTERS))


def write_question(
    axes: Axes, scenes: SceneBatch, row: int, *, width: int = LINE_LETTERS, size: float = 8.6
) -> None:
    """Write the question below its scene, with coloured phrases, and the answer.

    Args:
        axes: To write below.
        scenes: The scenes.
        row: Which of them.
        width: Letters of a line.
        size: Font size.
    """
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


# Figures of the data: scenes with their questions, how they are made, and the distribution of answers.


_TAXONOMY = ("A-F0-D1", "SO-F1-D1", "CO-F0-D2", "M-F0-D2", "M-F1-D3", "CMP-F0-D2")
_MODES: tuple[tuple[str, Mode], ...] = (("Pure", "pure"), ("Spurious", "spur"))
_SAMPLE = 300
"""Scenes of each bucket for the distribution of answers."""


def data_figures(preset: str | GridRecipe = "paper", *, seed: int = 0) -> dict[str, Drawing]:
    """Draw the paper's figures 2 (taxonomy), 3 (generation), 7 (answers) and 8 to 11 (samples), from new scenes.

    Args:
        preset: ``paper``, ``sound`` or a recipe.
        seed: Seed of the scenes.

    Returns:
        Drawings by name, such as ``figure-02-taxonomy``.
    """
    recipe = find_recipe(preset)
    densities: tuple[Density, ...] = ("sparse", "dense")
    counts = {density: recipe.objects(density) for density in densities}
    examples = join(
        [generate(_TAXONOMY, 1, density=d, preset=recipe, seed=seed) for d in ("sparse", "dense")]
    )
    notes = [f"{key} · {n} objects" for n in counts.values() for key in _TAXONOMY]
    title = "The taxonomy: kind, form and depth of the question, density of the scene"
    answers = {
        name: join(
            [generate(BUCKET_KEYS, _SAMPLE, mode=mode, density=d, preset=recipe, seed=seed) for d in counts]
        )
        for name, mode in _MODES
    }
    drawings = {
        "figure-02-taxonomy": scene_sheet(examples, columns=len(_TAXONOMY), title=title, notes=notes),
        "figure-03-generation": _generation_example(recipe, seed),
        "figure-07-answers": answer_distributions(answers, title="Distribution of answers"),
    }
    for name, mode in _MODES:
        for density, objects in counts.items():
            scenes = generate(BUCKET_KEYS, 1, mode=mode, density=density, preset=recipe, seed=seed)
            number = 5 + len(drawings)
            drawings[f"figure-{number:02d}-{mode}-{density}"] = scene_sheet(
                scenes, title=f"{name} scenes with {objects} objects"
            )
    return drawings


def _generation_example(recipe: GridRecipe, seed: int) -> Drawing:
    """Draw the generation of a scene with few targets whose regions all have an empty cell for their names."""
    pure, spur = (
        generate("M-F0-D2", 200, mode=mode, density=0.5, preset=recipe, seed=seed) for _, mode in _MODES
    )
    regions = regions_of(pure)
    named = np.concatenate([regions.valid[:, :1], regions.confusers[:, :2]], axis=1)
    is_open = (named & (pure.cells == 0)[:, None]).any(axis=2).all(axis=1)
    few = is_open & (pure.answer >= 2) & (pure.answer <= 4)
    row = int(few.argmax())
    return generation_steps(pure, spur, row=row, title="How a scene is made: one layout, two data sets")


def scene_sheet(
    scenes: SceneBatch, *, columns: int = 5, title: str = "", notes: Sequence[str] = (), marks: bool = True
) -> Drawing:
    """Draw scenes side by side, each with its question and answer; objects of the question are marked.

    Args:
        scenes: To show, row by row.
        columns: Scenes per row.
        title: Above the sheet.
        notes: A caption above each scene; by default its bucket.
        marks: Frame targets, anchors and look-alikes.
    """
    if not len(scenes) or columns < 1:
        raise UsageError("a sheet needs at least one scene and one column")
    rows = -(-len(scenes) // columns)
    notes = notes or [scenes.bucket_key(i) for i in range(len(scenes))]
    longest = [
        max(line_count(scenes, i) for i in range(r * columns, min(len(scenes), (r + 1) * columns)))
        for r in range(rows)
    ]
    below = [0.24 + LINE_IN * (lines + 1) for lines in longest]
    with styled():
        page = Page(0.15 + columns * (SIDE_IN + GAP_IN), rows * (SIDE_IN + 0.3) + sum(below), title)
        top = page.top
        for r in range(rows):
            top -= 0.3
            for c in range(min(columns, len(scenes) - r * columns)):
                axes = page.axes(0.15 + c * (SIDE_IN + GAP_IN), top - SIDE_IN, SIDE_IN)
                draw_scene(axes, scenes, r * columns + c, marks=marks)
                axes.set_title(notes[r * columns + c], fontsize=9, color=QUIET, pad=4)
                write_question(axes, scenes, r * columns + c)
            top -= SIDE_IN + below[r]
        has_look_alikes = marks and (scenes.roles == ROLES.index("adversarial")).any()
        page.key([entry for entry in KEY if has_look_alikes or entry[0] != "adversarial"])
    return Drawing(page.figure)


def generation_steps(pure: SceneBatch, spur: SceneBatch, *, row: int = 0, title: str = "") -> Drawing:
    """Draw how one scene is made: anchors and targets, then either confuser regions with look-alikes, or none.

    Args:
        pure: Scenes of the pure mode.
        spur: The spurious scenes of the same seed, which share question, anchors and targets.
        row: Which scene.
        title: Above the figure.
    """
    if not (pure.words[row] == spur.words[row]).all():
        raise UsageError(
            "the two scenes ask different questions; make both with the same seed and without a split"
        )
    stages = (
        (_only(pure, row, ("anchor", "target")), "1   Anchors, valid region, targets", False),
        (pure.take(slice(row, row + 1)), "2A  Pure: look-alikes in every C", True),
        (spur.take(slice(row, row + 1)), "2B  Spurious: no look-alike anywhere", False),
    )
    side, gap = 3.3, 0.4
    with styled():
        page = Page(0.15 + 3 * (side + gap), side + 1.15, title)
        for column, (scene, words, has_confusers) in enumerate(stages):
            axes = page.axes(0.15 + column * (side + gap), page.top - 0.32 - side, side)
            _draw_regions(axes, scene, has_confusers=has_confusers)
            axes.set_title(words, fontsize=10.5, weight="bold", pad=6)
            if column == 0:
                write_question(axes, pure, row, width=42, size=9.5)
            else:
                _remark(axes, scene)
        page.key(KEY)
    return Drawing(page.figure)


def _only(scenes: SceneBatch, row: int, kinds: tuple[str, ...]) -> SceneBatch:
    """Return one scene with only some of its objects."""
    one = scenes.take(slice(row, row + 1))
    keep = np.array([ROLES[int(role)].startswith(kinds) for role in one.roles[0]])
    return with_cells(one, np.where(keep, one.cells, 0).astype(np.uint8))


def _draw_regions(axes: Axes, scene: SceneBatch, *, has_confusers: bool) -> None:
    """Draw a scene with its valid region and, if wanted, its confuser regions tinted and named."""
    regions = regions_of(scene)
    named = [(regions.valid[0, 0], TRUE, "V")]
    if has_confusers:
        shades = (SERIES[2], SERIES[4], SERIES[6], SERIES[5])
        named += [
            (mask, shades[k], f"C{chr(0x2081 + k)}")
            for k, mask in enumerate(regions.confusers[0])
            if mask.any()
        ]
    draw_scene(axes, scene, 0, tints=[(mask, colour) for mask, colour, _ in named])
    for mask, colour, name in named:
        empty = np.flatnonzero(mask & (scene.cells[0] == 0))
        left, top, right, bottom = scene.world.box_px(int([*empty, *np.flatnonzero(mask)][0]))
        x, y, size = (
            ((left + right) / 2, (top + bottom) / 2, 13.0) if len(empty) else (left + 9, top + 10, 9.0)
        )
        axes.text(
            x,
            y,
            name,
            color=colour,
            weight="bold",
            ha="center",
            va="center",
            fontsize=size,
            zorder=4,
            path_effects=outline(),
        )


def _remark(axes: Axes, scene: SceneBatch) -> None:
    """Write the right answer and that of a bag of words below the scene."""
    truth, bag = (
        scene.world.answers[int(symbolic_answer(scene.world, scene.cells, scene.questions, logic=logic)[0])]
        for logic in LOGICS
    )
    words = f"The right answer is {truth}. A bag of words says {bag}:\nthe shortcut {'is right' if truth == bag else 'fails'}."
    axes.annotate(
        words,
        (0, 0),
        (0, -7),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=9.5,
        linespacing=1.35,
    )


def answer_distributions(data: Mapping[str, SceneBatch], *, title: str = "") -> Drawing:
    """Draw the distribution of answers, one row for each data set: counts on the left, yes and no on the right.

    Args:
        data: Scenes by name, such as ``pure`` and ``spurious``.
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
    """Draw shares of counts, with sparse and dense scenes stacked."""
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
    buckets = [BUCKETS[int(index)] for index in scenes.bucket]
    groups = {
        "existence": np.array([bucket.is_existence for bucket in buckets]),
        "comparison": np.array([bucket.is_comparison for bucket in buckets]),
    }
    for i, ((name, mine), colour) in enumerate(zip(groups.items(), (SERIES[3], SERIES[4]), strict=True)):
        if not mine.any():
            continue
        yes = float((scenes.answer[mine] == scenes.world.yes).mean())
        axes.bar(np.array([0, 1]) + (i - 0.5) * 0.36, [yes, 1 - yes], width=0.34, color=colour, label=name)
    axes.axhline(0.5, color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xticks([0, 1], ["yes", "no"])
    axes.set_ylim(0, 0.75)
    axes.set_yticks([0, 0.25, 0.5, 0.75])
    axes.grid(axis="y")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
