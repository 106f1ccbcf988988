"""The picture of an explanation: picture and map, the answer coloured by what came from the picture, and the test."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.core.drawing import FAINT, GROUND, INK, PEAK, QUIET, Drawing, new_figure, show_picture, styled
from theodolite.core.tables import percent
from theodolite.core.types import Picture, Pixels
from theodolite.explanation.cells import DrawnMap, levels
from theodolite.explanation.record import ANSWER, Explanation, MapTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

WIDTH = 10.0
"""Inches."""
MOST_PICTURES = 6
_LONGEST_PX = 1200
_LINE = 0.235
_ANSWER_PT = 11
TONES = {"holds": "#00775a", "not settled": "#8a5d00", "chance": "#b3261e", "blind": QUIET}


def explanation_figure(explanation: Explanation, span: str = ANSWER, method: str = "") -> Drawing:
    """Draw an explanation.

    Args:
        explanation: What to draw.
        span: The part of the answer whose map is shown.
        method: The method. Default: the first.
    """
    maps = explanation.find(span, method)[:MOST_PICTURES]
    method = maps[0].method
    word = next((word for word in explanation.words if maps[0].target == word.span), None)
    test = None if word else next((test for test in explanation.tests if test.method == method), None)
    pictures = [_small(picture) for picture in explanation.pictures[:MOST_PICTURES]]
    heats = levels([DrawnMap.of(each) for each in maps])
    drawn = [DrawnMap.of(each) for each in maps]
    outlines = test.marked if test is not None else [()] * len(maps)
    with styled():
        question, answer = _texts(explanation)
        columns = 2 if len(maps) == 1 else min(3, len(maps))
        rows = 1 if len(maps) == 1 else -(-len(maps) // columns)
        wide = WIDTH / columns - 0.15
        tall = max(p.shape[0] / p.shape[1] for p in pictures) * wide
        tall = min(tall, 6.0)
        head = _LINE * (len(question) + len(answer)) + 0.75
        foot = (2.0 if test.cautions or len(test.sentence) > 108 else 1.75) if test is not None else 0.6
        figure = new_figure(WIDTH, head + rows * (tall + 0.3) + foot)
        figure.set_layout_engine("none")
        top = _write_head(figure, question, answer, explanation)
        height = figure.get_figheight()
        panels: list[tuple[Pixels, int | None, str]] = []
        if len(maps) == 1:
            panels = [
                (pictures[0], None, "the picture"),
                (pictures[0], 0, _map_title(span, method, explanation)),
            ]
        else:
            panels = [
                (p, i, _map_title(span, method, explanation) if i == 0 else f"picture {i + 1}")
                for i, p in enumerate(pictures)
            ]
        for i, (pixels, which, title) in enumerate(panels):
            row, column = divmod(i, columns)
            left = 0.1 + column * (WIDTH / columns)
            bottom = height - top - (row + 1) * (tall + 0.3)
            axes = figure.add_axes((left / WIDTH, bottom / height, wide / WIDTH, tall / height))
            axes.set_title(title, fontsize=9.5, color=QUIET)
            if which is None:
                show_picture(axes, pixels)
            else:
                _draw_map(
                    axes,
                    pixels,
                    drawn[which],
                    heats[which],
                    explanation.pictures[which].size,
                    outlines[which],
                )
            axes.set_anchor("NW")
        if test is not None:
            _draw_test(figure, test, foot)
        elif word is not None:
            for i, line in enumerate(reversed(wrap(printable(explanation.describe(word)), 130))):
                figure.text(0.012, (0.12 + i * 0.19) / height, line, color=INK, fontsize=9.5)
    return Drawing(figure)


def _map_title(span: str, method: str, explanation: Explanation) -> str:
    word = next((word.text for word in explanation.words if span in {word.span, word.text}), "")
    of = (
        f"of “{word}”"
        if word
        else f"of {explanation.instead}"
        if explanation.instead
        else "of the whole answer"
    )
    return f"the map {of}, by {method}"


def _small(picture: Picture) -> Pixels:
    """Return the pixels of a picture, scaled down if it is large."""
    shown = picture.load()
    shown.thumbnail((_LONGEST_PX, _LONGEST_PX))
    return np.asarray(shown)


def _draw_map(
    axes: Axes, pixels: Pixels, drawn: DrawnMap, heat: Any, size_px: tuple[int, int], marked: Any
) -> None:
    """Draw a map over a grey picture, and the outline of the part that is tested."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    grey = pixels.astype(np.float64).mean(axis=2, keepdims=True).repeat(3, axis=2).astype(np.uint8)
    show_picture(axes, grey, veil=0.25, veil_grey=0.0)
    across, down = pixels.shape[1] / size_px[0], pixels.shape[0] / size_px[1]
    colours = colormaps["inferno"](0.15 + 0.85 * heat)
    colours[..., 3] = opacity(heat)
    axes.pcolormesh(drawn.xs * across, drawn.ys * down, colours, edgecolors="none", antialiased=False)
    lines = np.asarray(marked).reshape(-1, 2, 2) * [across, down]
    axes.add_collection(LineCollection(lines, colors=GROUND, linewidths=1.3, capstyle="projecting"))
    axes.set_xlim(0, pixels.shape[1])
    axes.set_ylim(pixels.shape[0], 0)


def map_picture(explanation: Explanation, longest_px: int = 480) -> Image:
    """Return the first picture in grey with the map of the whole answer over it, without words."""
    from matplotlib import colormaps
    from PIL import Image

    maps = explanation.find()
    drawn = DrawnMap.of(maps[0])
    heat = levels([DrawnMap.of(each) for each in maps])[0]
    picture = explanation.pictures[0].load()
    width, height = picture.size
    picture.thumbnail((longest_px, longest_px))
    grey = np.asarray(picture.convert("L"), np.float64)[..., None] * 0.75
    rows, columns = (
        np.searchsorted(edges, (np.arange(n) + 0.5) * full / n, side="right") - 1
        for edges, n, full in ((drawn.ys, grey.shape[0], height), (drawn.xs, grey.shape[1], width))
    )
    padded = np.zeros((heat.shape[0] + 1, heat.shape[1] + 1))  # what the model does not see has no relevance
    padded[:-1, :-1] = heat
    level = padded[np.clip(rows, -1, heat.shape[0])][:, np.clip(columns, -1, heat.shape[1])]
    over = np.asarray(colormaps["inferno"](0.15 + 0.85 * level))[..., :3] * 255
    share = opacity(level)[..., None]
    return Image.fromarray((grey * (1 - share) + over * share).round().astype(np.uint8))


def opacity(heat: Any) -> Any:
    """Return the opacity of a map: transparent where there is no relevance."""
    return 0.85 * np.clip(heat, 0.0, 1.0) ** 0.6


def _texts(explanation: Explanation) -> tuple[list[str], list[list[tuple[str, float | None]]]]:
    """Return the lines of the question, and those of the answer: pieces of text with their picture share."""
    question = wrap(printable(explanation.question), 112)[:4] or [""]
    pieces: list[tuple[str, float | None]] = [("→  ", None)]
    end, text = 0, printable(explanation.answer)
    for word in sorted(explanation.words, key=lambda word: word.start):
        if word.start < end or word.span.startswith("part: "):
            continue
        pieces.append((text[end : word.start], None))
        pieces.append((text[word.start : word.end], word.shares.picture if word.shares else None))
        end = word.end
    pieces.append((text[end:], None))
    lines: list[list[tuple[str, float | None]]] = [[]]
    used = 0
    for piece, share in pieces:
        if (used + len(piece) > 100 and share is not None) or used > 112:
            lines.append([])
            used = 0
        lines[-1].append((piece, share))
        used += len(piece)
    return question, lines[:6]


def _write_head(
    figure: Figure,
    question: Sequence[str],
    answer: Sequence[Sequence[tuple[str, float | None]]],
    explanation: Explanation,
) -> float:
    """Write model, question and answer; return the height that they take, in inches."""
    height = figure.get_figheight()
    y = 0.2
    figure.text(0.012, 1 - y / height, explanation.model, color=QUIET, fontsize=8.5, va="center")
    y += 0.26
    for line in question:
        figure.text(0.012, 1 - y / height, line, color=INK, fontsize=10.5, weight="bold", va="center")
        y += _LINE
    y += 0.02
    for pieces in answer:
        x = 0.012
        for piece, share in pieces:
            style: dict[str, Any] = {}
            if share is not None:
                style["bbox"] = {"facecolor": tint(share), "edgecolor": "none", "pad": 1.6}
            figure.text(
                x,
                1 - y / height,
                piece.replace("$", r"\$"),
                color=INK,
                fontsize=_ANSWER_PT,
                va="center",
                **style,
            )
            x += _advance(piece) / WIDTH
        y += _LINE
    if explanation.shares_by:
        figure.text(
            0.988,
            1 - 0.2 / height,
            f"words: how much came from the picture, by {explanation.shares_by}",
            color=QUIET,
            fontsize=8,
            ha="right",
            va="center",
        )
    return y + 0.1


def printable(text: str) -> str:
    """Return a text of the same length in which what cannot be printed is replaced."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def _advance(text: str) -> float:
    """Return the width of a text in inches, with its blanks."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family="DejaVu Sans", size=_ANSWER_PT)

    def width(shown: str) -> float:
        return float(TextToPath().get_text_width_height_descent(shown, font, ismath=False)[0])

    return (width(f"|{text}|") - width("||")) / 72


def tint(share: float) -> tuple[float, float, float]:
    """Return the ground of a word: white if nothing of it came from the picture, violet if all did."""
    from matplotlib.colors import to_rgb

    full = np.array(to_rgb("#b48fd6"))
    low, high, blue = np.ones(3) * (1 - share) + full * share
    return float(low), float(high), float(blue)


def _draw_test(figure: Figure, test: MapTest, foot: float) -> None:
    """Draw what hiding costs: the marked part, as much elsewhere, and everything."""
    height = figure.get_figheight()
    tone = TONES[test.standing]
    y = foot - 0.18
    for line in wrap(test.sentence, 108)[:2]:
        figure.text(0.012, y / height, line, color=tone, fontsize=11, weight="bold", va="center")
        y -= 0.22
    for text in wrap("But: " + "; ".join(test.cautions), 120)[:1] if test.cautions else ():
        figure.text(0.012, y / height, text, color=QUIET, fontsize=9, va="center")
    axes = figure.add_axes((0.012, 0.48 / height, 0.976, 0.5 / height))
    others = np.array(test.other_losses)
    top = max(test.loss, others.max(initial=0.0), test.whole_loss, 1e-9)
    low = min(0.0, test.loss, float(others.min(initial=0.0)))
    axes.axhline(0, color=FAINT, linewidth=1, zorder=0)
    offsets = np.linspace(-0.45, 0.45, len(others))[np.random.default_rng(0).permutation(len(others))]
    axes.scatter(
        others, offsets, s=26, color="#9aa0a6", alpha=0.75, linewidths=0, label="as much hidden elsewhere"
    )
    axes.scatter(
        [test.loss],
        [0],
        s=110,
        color=PEAK,
        edgecolors=GROUND,
        zorder=4,
        label=f"the marked {percent(test.share)} hidden",
    )
    axes.scatter(
        [test.whole_loss], [0], marker="|", s=260, color=INK, zorder=3, label="the whole picture hidden"
    )
    pad = (top - low) * 0.03 or 1.0
    axes.set_xlim(low - pad, top + pad)
    axes.set_ylim(-0.8, 0.8)
    axes.set_yticks([])
    for side in ("left", "top", "right"):
        axes.spines[side].set_visible(False)
    unit = "log-probability" if test.unit == "nats" else "share of its words"
    axes.set_xlabel(f"what the answer loses ({unit})", fontsize=8.5, color=QUIET)
    axes.tick_params(labelsize=8)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="upper right",
        bbox_to_anchor=(0.992, 1.28 / height),
        ncols=3,
        fontsize=8.5,
        handletextpad=0.2,
        columnspacing=1.2,
    )
