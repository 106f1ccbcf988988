"""What the figures of single pairs show, taken from a run's samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.drawing import (
    FAINT,
    GROUND,
    INK,
    LAYOUT,
    PEAK,
    QUIET,
    REFERENCE,
    TARGET,
    TRUE,
    Drawing,
    compass_colours,
    new_figure,
    outline,
    picture_size,
    show_picture,
    styled,
)
from theodolite.core.errors import StorageError, UsageError, reason_of
from theodolite.core.types import Pixels
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.compass.experiments.controls.plan import PlannedEdit, find_edits, studio_of
from theodolite.instruments.compass.formulas.baselines import uniform_compass
from theodolite.instruments.compass.formulas.dae import DirectionMass
from theodolite.instruments.compass.formulas.projection import PROJECTIONS, OnGrid, project
from theodolite.instruments.compass.measure import Sample, map_key, shown_key
from theodolite.pairs.pictures.objects import PlacingOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image


@dataclass(frozen=True, slots=True, eq=False)
class CompassView:
    """The part of one pair that a figure shows."""

    pixels: Pixels
    reference: Region
    target: Region
    relevance: OnGrid
    """One map: values (tokens,) on its grid."""
    compass: DirectionMass
    """Its projection: one distribution with its truth."""
    layout: DirectionMass | None = None
    """The uniform map's projection, drawn behind it."""
    method: str = ""
    """The map's name."""
    projection: str = ""
    """The projection's name."""
    note: str = ""
    """Further facts, such as truth and answer."""

    def __post_init__(self) -> None:
        if self.compass.shape or self.compass.true_deg is None:
            raise UsageError(
                f"a view shows one compass with its truth; got the shape {self.compass.shape}; "
                "index it, and project with target=…"
            )

    @property
    def headline(self) -> str:
        """Label and error in words."""
        return f"{self.compass.labels()[()]} · DAE {float(self.compass.error_deg()):.0f}°"


def find_sample(samples: Sequence[Sample], item: str) -> Sample:
    """Return a sample by its pair's id, its item's id, or its number from 1.

    Raises:
        UsageError: If there is none, or several.
    """
    named = [sample for sample in samples if item in {sample.id, sample.item_id}]
    if len(named) > 1:
        asked = ", ".join(f"{sample.item_id} ({sample.prompt}, {sample.condition})" for sample in named)
        raise UsageError(f"the pair {item!r} was asked {len(named)} times; name one of the items {asked}")
    if named:
        return named[0]
    if item.isdecimal() and 1 <= int(item) <= len(samples):
        return samples[int(item) - 1]
    if not samples:
        raise UsageError("the run holds no measured pair")
    raise UsageError(
        f"there is no pair {item!r} in the run; it holds {len(samples)}, by place 1 to {len(samples)}, "
        f"by id such as {samples[0].id}"
    )


def view_of(sample: Sample, *, method: str, target: str, projection: str) -> CompassView:
    """Return the view of one map of a sample.

    Args:
        sample: The sample.
        method: Name of a relevance method.
        target: The explained logit; empty if the method has none.
        projection: Name of the projection.

    Raises:
        UsageError: If the sample has no such map.
    """
    key = next((k for k in (map_key(method, target), map_key(method, "")) if k in sample.maps), None)
    if key is None:
        held = ", ".join(sorted(map(shown_key, sample.maps)))
        raise UsageError(f"the pair {sample.id} holds no map {map_key(method, target)}; it holds: {held}")
    options = PROJECTIONS[projection]
    relevance = sample.maps[key]
    a, b = sample.reference.box, sample.target.box
    mark = "✓" if sample.is_correct else "×"
    side = sample.direction
    where = f"{side} of" if side.rsplit(maxsplit=1)[-1] in {"left", "right"} else side
    return CompassView(
        pixels=sample.picture.pixels(),
        reference=sample.reference,
        target=sample.target,
        relevance=relevance,
        compass=project(relevance, reference=a, target=b, options=options),
        layout=uniform_compass([relevance.grid], references=[a], targets=[b], options=options)[0],
        method=shown_key(key),
        projection=f"{projection} projection",
        note=f"B is {where} A; answer: {sample.directions[sample.predicted]} {mark}",
    )


def facts_of(sample: Sample, view: CompassView) -> dict[str, object]:
    """Return a view in numbers."""
    compass = view.compass
    return {
        "pair": sample.id,
        "item": sample.item_id,
        "map": view.method,
        "projection": view.projection,
        "distribution": [round(float(share), 6) for share in compass.distribution],
        "peak_deg": float(compass.peak_deg()),
        "true_deg": float(np.asarray(compass.true_deg)),
        "error_deg": float(compass.error_deg()),
        "label": str(compass.labels()[()]),
        "answer": sample.directions[sample.predicted],
        "truth": sample.direction,
    }


# One pair as a figure: wedges on the picture, the heat map, the polar plot, and rows of all of them.


_REACH = 0.46
"""The fullest wedge's radius over the picture's shorter side."""
_VEIL = 0.35
_BETWEEN = " · "
_PAD, _LEAST_WIDTH, _LEGEND, _BAR = 0.1, 5.4, 0.3, 1.0
"""In inches: the margin, the least width (that of the legend), and room for the legend and for a colour bar."""


def compass_overlay(view: CompassView) -> Drawing:
    """Draw the compass on its picture: K wedges from A's centre with the length P(θ_k), and arrows for peak and truth.

    All wedges would end at the dashed ring if relevance had no direction.
    """
    with styled():
        below = _BETWEEN.join(filter(None, (view.method, view.projection, view.note)))
        figure, axes = _framed(view, view.headline, below, foot=_LEGEND)
        _draw_overlay(axes, view)
        _arrow_legend(axes, len(view.compass.centres_deg))
    return Drawing(figure)


def heat_map(view: CompassView) -> Drawing:
    """Draw relevance on the picture, each token in its exact position; what the model does not see is hatched."""
    with styled():
        figure, axes = _framed(view, "relevance", view.method, beside=_BAR)
        wide = picture_size(view.pixels)[0]
        scale = axes.inset_axes((1 + 0.15 / wide, 0.1, 0.18 / wide, 0.8))
        bar = figure.colorbar(_draw_heat(axes, view), cax=scale)
        bar.set_label("relevance per pixel, share of the largest")
        bar.outline.set_visible(False)
        bar.solids.set_alpha(1.0)  # type: ignore[union-attr]
    return Drawing(figure)


def polar_plot(view: CompassView) -> Drawing:
    """Draw P̂(θ) as bars around the reference, with arrows for peak and truth; the uniform map in grey."""
    with styled():
        figure = new_figure(5.0, 5.6)
        axes = figure.add_subplot(projection="polar")
        _draw_polar(axes, view)
        figure.suptitle(view.headline, weight="bold", fontsize=13)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3, handlelength=1.6)
    return Drawing(figure)


def compass_rows(views: Sequence[CompassView]) -> Drawing:
    """Draw one row per pair: picture with boxes, heat map, compass on the picture, polar plot (the paper's Figure 2)."""
    if not views:
        raise UsageError("there is nothing to draw: give at least one view")
    shapes = [view.pixels.shape[0] / view.pixels.shape[1] for view in views]
    wide = 3.15
    heights = [wide * min(max(shape, 0.75), 1.35) + 0.6 for shape in shapes]
    with styled():
        figure = new_figure(3 * wide + 2.9, sum(heights) + 0.3)
        grid = figure.add_gridspec(len(views), 4, height_ratios=heights, width_ratios=[wide, wide, wide, 2.8])
        for i, view in enumerate(views):
            panels: list[Any] = [figure.add_subplot(grid[i, j]) for j in range(3)]
            # Room for the labels above and below the circle.
            middle = grid[i, 3].subgridspec(3, 1, height_ratios=[0.1, 1, 0.1])[1]
            panels.append(figure.add_subplot(middle, projection="polar"))
            show_picture(panels[0], view.pixels)
            _draw_boxes(panels[0], view)
            _draw_heat(panels[1], view)
            _draw_overlay(panels[2], view)
            _draw_polar(panels[3], view)
            _title_row(panels, view, wide)
            if i == len(views) - 1:
                panels[3].legend(
                    loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3, fontsize=8, handlelength=1.2
                )
    return Drawing(figure)


def _title_row(panels: Sequence[Any], view: CompassView, width: float) -> None:
    """Draw the titles of a row, left-aligned and wrapped to the width of their cells."""
    titles = (view.note, {"color": INK}), (view.method, {"color": QUIET}), (view.headline, {"weight": "bold"})
    for panel, (title, style) in zip(panels, titles, strict=False):
        panel.set_anchor("W")
        panel.set_title("\n".join(_lines(title, width, 10.5, **style)), **style)


FIGURES: Mapping[str, Callable[[CompassView], Drawing]] = {
    "overlay": compass_overlay,
    "heat": heat_map,
    "polar": polar_plot,
}
"""The figures of a single pair."""


def _framed(
    view: CompassView, title: str, below: str, *, foot: float = 0.0, beside: float = 0.0
) -> tuple[Figure, Axes]:
    """Return a figure with axes of exactly the picture's shape, under a bold title and grey lines.

    Everything is placed in inches, and text is wrapped to the width of the figure, so nothing is cut on a narrow picture.

    Args:
        view: Its picture.
        title: One line.
        below: Text under the title.
        foot: Space below the picture, in inches.
        beside: Space to its right, in inches.
    """
    width, height = picture_size(view.pixels)
    wide = max(width + beside, _LEAST_WIDTH) + 2 * _PAD
    lines = _lines(below, wide - 2 * _PAD, 10)
    tall = height + foot + 0.4 + 0.19 * len(lines) + 2 * _PAD
    figure = new_figure(wide, tall)
    figure.set_layout_engine("none")
    left, top = _PAD / wide, 1 - _PAD / tall
    figure.text(left, top, title, va="top", weight="bold", fontsize=13)
    figure.text(left, top - 0.3 / tall, "\n".join(lines), va="top", color=QUIET, fontsize=10)
    return figure, figure.add_axes((_PAD / wide, (_PAD + foot) / tall, width / wide, height / tall))


def _lines(text: str, width: float, size: float, **style: Any) -> list[str]:
    """Wrap a text to lines of at most this width in inches: between its parts if possible, else at spaces."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family="DejaVu Sans", weight=style.get("weight", "normal"))

    # An inch has 72 points; 70 leave a margin.
    def fits(line: str) -> bool:
        return bool(TextPath((0, 0), line, size=size, prop=font).get_extents().width <= 70 * width)

    if not text:
        return []
    words = [
        word for part in text.split(_BETWEEN) for word in ([part] if fits(part) else part.split(" ")) if word
    ]
    glue = _BETWEEN if all(map(fits, text.split(_BETWEEN))) else " "
    lines: list[str] = []
    for word in words:
        if lines and fits(f"{lines[-1]}{glue}{word}"):
            lines[-1] += f"{glue}{word}"
        else:
            lines.append(word)
    return lines


def _draw_boxes(axes: Axes, view: CompassView) -> None:
    from matplotlib.patches import Rectangle

    for letter, region, colour in (("A", view.reference, REFERENCE), ("B", view.target, TARGET)):
        box = region.box
        rectangle = Rectangle(
            (box.x0, box.y0), box.width_px, box.height_px, fill=False, edgecolor=colour, linewidth=2.2
        )
        rectangle.set_path_effects(outline(4.2))
        rectangle.set_label(f"{letter} {region.name}")
        axes.add_patch(rectangle)
        height, width = view.pixels.shape[:2]
        inside = box.y0 < 0.06 * height
        leftward = box.x0 > 0.6 * width  # a name that begins so far right would leave the picture
        axes.annotate(
            f"{letter} {region.name}",
            (min(box.x1, width) if leftward else max(box.x0, 0), max(box.y0, 0)),
            (0, -2 if inside else 2),
            textcoords="offset points",
            ha="right" if leftward else "left",
            color=GROUND,
            fontsize=8.5,
            weight="bold",
            va="top" if inside else "bottom",
            bbox={"boxstyle": "square,pad=0.25", "facecolor": colour, "edgecolor": "none"},
            annotation_clip=False,
        )


def _draw_overlay(axes: Axes, view: CompassView) -> None:
    from matplotlib.patches import Circle, Wedge

    compass = view.compass
    show_picture(axes, view.pixels, veil=_VEIL)
    centre = view.reference.box.centre_px
    reach = _REACH * min(view.pixels.shape[:2])
    shares = compass.distribution / compass.distribution.max()
    half = 180.0 / len(shares)
    colours = compass_colours()
    for share, middle in zip(shares, compass.centres_deg, strict=True):
        # Pixel rows count downward, so angles run the other way on these axes.
        wedge = Wedge(
            centre,
            float(share) * reach,
            -middle - half,
            -middle + half,
            facecolor=colours(float(share)),
            edgecolor=GROUND,
            linewidth=0.9,
            alpha=0.72,
        )
        wedge.set_gid(f"wedge {middle:g}")
        axes.add_patch(wedge)
    even = reach / (len(shares) * float(compass.distribution.max()))
    ring = Circle(centre, even, fill=False, edgecolor=INK, linewidth=1.0, linestyle=(0, (3, 3)), alpha=0.8)
    axes.add_patch(ring)
    _draw_boxes(axes, view)
    size = view.pixels.shape[1], view.pixels.shape[0]
    true = float(np.asarray(compass.true_deg))
    _arrow(axes, _Arrow(centre, true, 1.3 * reach, TRUE, "true direction"), size)
    _arrow(axes, _Arrow(centre, float(compass.peak_deg()), 1.08 * reach, PEAK, "compass peak"), size)
    axes.plot(*centre, "o", color=GROUND, markeredgecolor=INK, markersize=6, zorder=6)


@dataclass(frozen=True, slots=True)
class _Arrow:
    start: tuple[float, float]
    angle_deg: float
    length: float
    colour: str
    label: str

    def end(self, size_px: tuple[int, int]) -> tuple[float, float]:
        """Return the end: at full length, or shorter to stay in the picture, but long enough to be visible."""
        angle = np.deg2rad(self.angle_deg)
        step = np.array([np.cos(angle), -np.sin(angle)])
        room = [
            ((limit if along > 0 else 0.0) - begin) / along
            for begin, along, limit in zip(self.start, step, size_px, strict=True)
            if abs(along) > 1e-9
        ]
        length = min(self.length, max(0.97 * min(room), 0.35 * self.length))
        return float(self.start[0] + length * step[0]), float(self.start[1] + length * step[1])


def _arrow(axes: Axes, arrow: _Arrow, size_px: tuple[int, int]) -> None:
    from matplotlib.patches import FancyArrowPatch

    patch = FancyArrowPatch(
        arrow.start,
        arrow.end(size_px),
        arrowstyle="-|>",
        mutation_scale=18,
        linewidth=3,
        color=arrow.colour,
        shrinkA=0,
        shrinkB=0,
    )
    patch.set_path_effects(outline(5.5))
    patch.set_gid(arrow.label)
    patch.set_zorder(5)
    patch.set_clip_on(False)
    patch.set_in_layout(False)
    axes.add_patch(patch)


def _arrow_legend(axes: Axes, n_sectors: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=TRUE, linewidth=3, label="true direction A → B"),
        Line2D([], [], color=PEAK, linewidth=3, label="compass peak"),
        Line2D([], [], color=INK, linewidth=1, linestyle=(0, (3, 3)), label=f"1/{n_sectors}: no direction"),
    ]
    axes.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=0.6, borderpad=0, ncols=3
    )


def _draw_heat(axes: Axes, view: CompassView) -> Any:
    from matplotlib.patches import Rectangle

    grid = view.relevance.grid
    values = np.asarray(view.relevance.values, np.float64)
    if values.shape != (grid.n_tokens,):
        raise UsageError(f"a heat map shows one map of {grid.n_tokens} tokens, got values of {values.shape}")
    height, width = view.pixels.shape[:2]
    if (grid.width_px, grid.height_px) != (width, height):
        raise UsageError(
            f"the map belongs to a picture of {grid.width_px}×{grid.height_px}, not of {width}×{height}"
        )
    grey = view.pixels.astype(np.float64).mean(axis=2, keepdims=True).repeat(3, axis=2)
    show_picture(axes, grey.astype(np.uint8), veil=0.3, veil_grey=0.0)
    heat = grid.paint(np.abs(values))
    heat /= heat.max() or 1.0
    image = axes.imshow(
        heat, cmap="inferno", vmin=0, vmax=1, alpha=_visible(heat), extent=(0, width, height, 0)
    )
    for x, y, wide, high in _unseen(grid.paint(np.ones(grid.n_tokens)) > 0):
        hatch = Rectangle(
            (x, y), wide, high, facecolor="#ffffffc8", edgecolor="#a9aeb3", hatch="////", linewidth=0
        )
        hatch.set_gid("unseen")
        axes.add_patch(hatch)
    _draw_boxes(axes, view)
    return image


def _visible(heat: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the opacity of the heat: transparent where there is none."""
    return 0.8 * np.clip(heat, 0.0, 1.0) ** 0.6


def _unseen(seen: NDArray[np.bool_]) -> list[tuple[float, float, float, float]]:
    """Return the strips of a picture outside the model's view, as x, y, width, height."""
    height, width = seen.shape
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    if not len(rows):
        return [(0, 0, width, height)]
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    strips = [
        (0, 0, width, top),
        (0, bottom, width, height - bottom),
        (0, top, left, bottom - top),
        (right, top, width - right, bottom - top),
    ]
    return [(float(x), float(y), float(w), float(h)) for x, y, w, h in strips if w > 0 and h > 0]


def _draw_polar(axes: Any, view: CompassView) -> None:
    compass = view.compass
    shares = compass.distribution
    angles = np.deg2rad(compass.centres_deg)
    width = 2 * np.pi / len(shares)
    top = float(shares.max())
    bars = axes.bar(
        angles,
        shares,
        width=0.94 * width,
        color=compass_colours()(shares / top),
        edgecolor=GROUND,
        linewidth=0.8,
    )
    for bar, middle in zip(bars, compass.centres_deg, strict=True):
        bar.set_gid(f"bar {middle:g}")
    if view.layout is not None:
        layout = view.layout.distribution
        top = max(top, float(layout.max()))
        axes.bar(angles, layout, width=width, color=FAINT, alpha=0.55, linewidth=0, zorder=0.5)
        for angle, share in zip(angles, layout, strict=True):
            turn = np.linspace(angle - width / 2, angle + width / 2, 12)
            line = axes.plot(
                turn, np.full_like(turn, share), color=LAYOUT, linewidth=1.6, zorder=4, solid_capstyle="butt"
            )[0]
        line.set_label("uniform map")
    for angle, colour, label in (
        (float(np.asarray(compass.true_deg)), TRUE, "true"),
        (float(compass.peak_deg()), PEAK, "peak"),
    ):
        drawn = axes.annotate(
            "",
            (np.deg2rad(angle), 1.1 * top),
            (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 2.4, "shrinkA": 0, "shrinkB": 0},
            zorder=5,
        )
        drawn.arrow_patch.set_path_effects(outline(4.4))
        drawn.set_gid(label)
        axes.plot([], [], color=colour, label=label, linewidth=2.4)
    axes.set_ylim(0, 1.14 * top)
    axes.set_xticks(np.deg2rad([0, 90, 180, 270]), ["right", "above", "left", "below"], fontsize=8.5)
    axes.set_yticks([1 / len(shares)], [f"1/{len(shares)}"], color=QUIET, fontsize=7.5)
    axes.set_rlabel_position(float(compass.centres_deg[int(np.argmin(shares))]))
    axes.grid(visible=True, color=FAINT)
    axes.spines["polar"].set_visible(False)
    axes.tick_params(pad=1)


# Sheets of edited pictures, to check them by eye.


_TILE_PX, _MARGIN_PX, _CAPTION_PX, _LEAST_PX = (400, 320), 12, 26, 280
_REFERENCE, _TARGET, _INK, _PAPER = "#1f77ff", "#e8322a", "#222222", "#ffffff"


def write_sheets(
    pairs: Sequence[Pair],
    controls: Sequence[str],
    folder: Path,
    *,
    size: int,
    placing: PlacingOptions,
    seed: int,
) -> tuple[list[dict[str, Any]], list[Path]]:
    """Write one sheet per control and pair.

    Args:
        pairs: The pairs to edit.
        controls: Some of `EDITS`.
        folder: Where to write.
        size: Pairs per control, drawn at random.
        placing: How objects are moved.
        seed: Seed of the draw.

    Returns:
        How many edits of each control could be made, and the files.

    Raises:
        StorageError: If the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {reason_of(error)}; choose another --out") from error
    reports, written = [], []
    for control in controls:
        edits, report = find_edits(pairs, control, placing)
        reports.append(asdict(report))
        own: dict[str, list[PlannedEdit]] = {}
        for edit in edits:
            own.setdefault(edit.pair.id, []).append(edit)
        ids = np.random.default_rng(seed).permutation(sorted(own))[:size]
        for pair_id in sorted(ids.tolist()):
            path = folder / f"{control}-{pair_id.replace('/', '_')}.png"
            edit_sheet(own[pair_id]).save(path)
            written.append(path)
    return reports, written


def edit_sheet(edits: Sequence[PlannedEdit]) -> Image:
    """Draw the plain picture of a pair and each of its edits, side by side: A in blue, B in red.

    Args:
        edits: Edits of one pair.
    """
    from PIL import Image, ImageDraw, ImageFont

    if not edits or len({edit.pair.id for edit in edits}) > 1:
        raise UsageError("a sheet shows the edits of a single pair")
    own = edits[0].pair
    words = [
        (f"{own.id}: where is the ", _INK),
        (own.target.name, _TARGET),
        (" relative to the ", _INK),
        (own.reference.name, _REFERENCE),
        ("?", _INK),
    ]
    tiles = [(_tile(own), f"plain: {own.direction}")]
    studio = studio_of(own)
    for edit in edits:
        pair = edit.edited(studio)
        tiles.append((_tile(pair), f"{edit.control}: {_caption(edit, pair)}"))
    across, down = tiles[0][0].size
    step = max(across, _LEAST_PX) + _MARGIN_PX
    height = down + 2 * _CAPTION_PX + 2 * _MARGIN_PX
    sheet = Image.new("RGB", (len(tiles) * step + _MARGIN_PX, height), _PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(15)
    at = float(_MARGIN_PX)
    for word, colour in words:
        draw.text((at, _MARGIN_PX // 2), word, fill=colour, font=font)
        at += draw.textlength(word, font=font)
    for i, (tile, caption) in enumerate(tiles):
        left, top = _MARGIN_PX + i * step, _CAPTION_PX + _MARGIN_PX
        sheet.paste(tile, (left, top))
        draw.text((left, top + down + 5), caption, fill=_INK, font=font)
    return sheet


def _caption(edit: PlannedEdit, pair: Pair) -> str:
    if edit.control == "joint-translation":
        way = {"above": "up", "below": "down"}.get(edit.probe, edit.probe)
        return f"moved {way}, still {pair.direction}"
    if edit.control == "swap-roles":
        return f"{pair.target.name} from {pair.reference.name}: {pair.direction}"
    return f"now {pair.direction}"


def _tile(pair: Pair) -> Image:
    from PIL import ImageDraw

    image = pair.picture.load()
    scale = min(_TILE_PX[0] / image.width, _TILE_PX[1] / image.height)
    tile = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    draw = ImageDraw.Draw(tile)
    for region, colour in ((pair.reference, _REFERENCE), (pair.target, _TARGET)):
        box = region.box
        corners = [box.x0 * scale, box.y0 * scale, box.x1 * scale - 1, box.y1 * scale - 1]
        draw.rectangle(corners, outline=_PAPER, width=4)
        draw.rectangle(corners, outline=colour, width=2)
    return tile
