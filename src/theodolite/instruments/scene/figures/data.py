"""Figures of scene data: what the questions ask, and how balanced their answers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from theodolite.core.drawing import FAINT, GROUND, INK, QUIET, SERIES, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.files import SceneQuestion
from theodolite.instruments.scene.kinds import GROUPS, KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COMPETENCIES = ("direction", "size", "distance", "ranking", "counting", "transformation", "deduction")
_COLOUR = dict(zip(_COMPETENCIES, SERIES, strict=True))
_SHORT = {
    "distance to camera": "to camera",
    "distance between": "between two",
    "count in direction": "to one side",
    "count within": "within",
    "count beyond": "beyond",
    "rank by volume": "by volume",
    "rank by height": "by height",
    "rank by distance": "by distance",
}

_ROOM_PER_LETTER = 0.0118
"""The share of the inner ring that a letter takes."""


def question_distribution(questions: Sequence[SceneQuestion], *, title: str = "") -> Drawing:
    """Draw what is asked (the paper's Figure 3).

    There are rings of competencies and kinds, the nine groups by domain, and how often each letter is right.

    Args:
        questions: Questions of a data set.
        title: Above the figure.
    """
    if not questions:
        raise UsageError("there are no questions to draw")
    with styled():
        figure = new_figure(11.0, 6.4)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.35, 1), height_ratios=(1.5, 1))
        _rings(figure.add_subplot(grid[:, 0]), questions)
        _groups(figure.add_subplot(grid[0, 1]), questions)
        _letters(figure.add_subplot(grid[1, 1]), questions)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    return Drawing(figure)


def _rings(axes: Axes, questions: Sequence[SceneQuestion]) -> None:
    """Draw a ring of competencies inside a ring of kinds, each in its competency's colour, lighter and darker in turn."""
    by_competency: Counter[str] = Counter(question.competency for question in questions)
    by_kind = Counter(question.kind for question in questions)
    names = [name for name in _COMPETENCIES if by_competency[name]]
    kinds = [k for name in names for k in KINDS if by_kind[k] and _competency(k, questions) == name]
    inner = [by_competency[name] for name in names]
    axes.pie(
        inner,
        radius=0.72,
        colors=[_COLOUR[name] for name in names],
        startangle=90,
        counterclock=False,
        wedgeprops={"width": 0.34, "edgecolor": GROUND, "linewidth": 1.5},
    )
    shades = [
        _lighter(_COLOUR[_competency(kind, questions)], 0.35 + 0.3 * (i % 2)) for i, kind in enumerate(kinds)
    ]
    axes.pie(
        [by_kind[kind] for kind in kinds],
        radius=1.0,
        colors=shades,
        startangle=90,
        counterclock=False,
        wedgeprops={"width": 0.26, "edgecolor": GROUND, "linewidth": 1.0},
    )
    _inner_labels(axes, names, inner)
    _outer_labels(axes, kinds, [by_kind[kind] for kind in kinds])
    axes.text(
        0,
        0,
        f"{len(questions):,}\nquestions",
        ha="center",
        va="center",
        fontsize=13,
        color=INK,
        linespacing=1.4,
    )
    axes.set_xlim(-1.42, 1.42)
    axes.set_ylim(-1.45, 1.45)


def _competency(kind: str, questions: Sequence[SceneQuestion]) -> str:
    return next(question.competency for question in questions if question.kind == kind)


def _middles(sizes: Sequence[int]) -> list[float]:
    """Return the angle of each slice's middle, clockwise from the top, in radians."""
    ends = np.cumsum(sizes) / sum(sizes)
    return [float(2 * np.pi * (end - size / sum(sizes) / 2)) for end, size in zip(ends, sizes, strict=True)]


def _inner_labels(axes: Axes, names: Sequence[str], sizes: Sequence[int]) -> None:
    for name, size, angle in zip(names, sizes, _middles(sizes), strict=True):
        if size / sum(sizes) < _ROOM_PER_LETTER * len(name):  # too narrow to write along it: write across
            _across(axes, f"{name} {size:,}", angle)
            continue
        x, y = 0.55 * np.sin(angle), 0.55 * np.cos(angle)
        turn = -np.degrees(angle)
        turn = turn + 180 if np.cos(angle) < 0 else turn
        axes.text(
            x,
            y,
            f"{name}\n{size:,}",
            ha="center",
            va="center",
            rotation=turn,
            rotation_mode="anchor",
            color=GROUND,
            fontsize=7.6 if len(name) < 12 else 6.6,
            fontweight="bold",
            linespacing=1.2,
        )


def _across(axes: Axes, text: str, angle: float) -> None:
    """Write a label across the ring, small enough to fit."""
    is_right = np.sin(angle) >= 0
    turn = 90 - np.degrees(angle)
    axes.text(
        0.55 * np.sin(angle),
        0.55 * np.cos(angle),
        text.replace(" ", "\n"),
        ha="center",
        va="center",
        rotation=turn if is_right else turn + 180,
        rotation_mode="anchor",
        color=GROUND,
        fontsize=min(7.6, 70 / max(map(len, text.split()))),
        fontweight="bold",
        linespacing=1.2,
    )


def _outer_labels(axes: Axes, kinds: Sequence[str], sizes: Sequence[int]) -> None:
    for kind, angle in zip(kinds, _middles(sizes), strict=True):
        is_right = np.sin(angle) >= 0
        turn = 90 - np.degrees(angle)
        axes.text(
            1.03 * np.sin(angle),
            1.03 * np.cos(angle),
            _SHORT.get(kind, kind),
            rotation=turn if is_right else turn + 180,
            rotation_mode="anchor",
            ha="left" if is_right else "right",
            va="center",
            fontsize=7.4,
            color=QUIET,
        )


def _groups(axes: Axes, questions: Sequence[SceneQuestion]) -> None:
    """Draw the nine groups whose mean is the QA score, indoor and outdoor."""
    counts = {
        domain: Counter(q.group for q in questions if q.domain == domain) for domain in ("indoor", "outdoor")
    }
    lines = np.arange(len(GROUPS))[::-1]
    start = np.zeros(len(GROUPS))
    for domain, shade in (("indoor", 0.0), ("outdoor", 0.5)):
        sizes = np.array([counts[domain][group] for group in GROUPS], np.float64)
        colours = [_lighter(_COLOUR[competency], shade) for _, competency in GROUPS]
        axes.barh(lines, sizes, left=start, color=colours, height=0.72, edgecolor=GROUND, linewidth=0.8)
        start += sizes
    for line, total in zip(lines, start, strict=True):
        axes.text(total + start.max() * 0.015, line, f"{int(total):,}", va="center", fontsize=8, color=QUIET)
    words = {"choice": "letter", "number": "number"}
    axes.set_yticks(lines, [f"{competency} ({words[form]})" for form, competency in GROUPS])
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlim(0, start.max() * 1.12)
    axes.set_title("nine groups: indoor (dark) and outdoor (light)")


def _letters(axes: Axes, questions: Sequence[SceneQuestion]) -> None:
    """Draw how often each letter is right, for questions with two and with four options."""
    x, ticks, names = 0.0, [], []
    for n in sorted({len(q.options) for q in questions if q.options}):
        golds = Counter(q.gold for q in questions if len(q.options) == n)
        letters = sorted({letter for q in questions if len(q.options) == n for letter in q.letters})
        first = x
        for letter in letters:
            axes.bar(x, golds[letter] / golds.total(), width=0.78, color=_lighter(SERIES[1], 0.25))
            ticks.append(x)
            names.append(letter)
            x += 1
        axes.hlines(1 / n, first - 0.5, x - 0.5, color=INK, linewidth=1, linestyle=(0, (3, 2)))
        axes.text(x - 0.45, 1 / n, f" 1 in {n}", va="center", fontsize=8, color=QUIET)
        x += 1.6
    axes.set_xticks(ticks, names)
    axes.set_xlim(-0.7, x - 0.6)
    axes.set_ylim(0, 0.6)
    axes.set_yticks([0, 0.25, 0.5], ["0", "25 %", "50 %"])
    axes.yaxis.grid(visible=True, color=FAINT)
    axes.set_title("how often each letter is right")


def _lighter(colour: str, share: float) -> tuple[float, float, float]:
    """Mix a colour with white."""
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v + share * (1 - v) for v in values)
    return r, g, b
