"""Where the parts of a dial and of a strip lie; the templates draw them.

A dial is a half circle. Its scale holds positions from −¼ to 1¼, so that a model outside of the twins still has a place:
θ(p) = 150° − 120°·p, counter-clockwise from the right; the shortcut twin (p = 0) is at 150°, the grounded one (p = 1) at 30°.
A strip is a straight axis of a metric's own unit, in percent of its width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from theodolite.stats import Estimate

LOWEST, HIGHEST = -0.25, 1.25
"""The positions at the ends of the half circle."""
CENTRE_X, CENTRE_Y, RADIUS = 120.0, 116.0, 92.0
_BAND_WIDTH, _BAND_GAP = 9.0, 2.5
_TICK, _LONG_TICK = 5.0, 9.0


@dataclass(frozen=True, slots=True)
class Tick:
    """One line of the graduation."""

    x1: float
    y1: float
    x2: float
    y2: float
    is_long: bool


@dataclass(frozen=True, slots=True)
class Hand:
    """One model on a dial: a band for its interval, a needle for its value."""

    colour: str
    """The class of its colour."""
    band: str
    """The interval, as an SVG path."""
    x1: float
    y1: float
    x2: float
    y2: float
    shape: str
    """The needle's head, as an SVG path: each model has its own shape beside its own colour."""
    off: str
    """An arrow where the value lies beyond the scale, as an SVG path; empty where it does not."""


@dataclass(frozen=True, slots=True)
class Whisker:
    """One figure on a strip: all in percent of the width but `y`, which is in pixels."""

    colour: str
    x: float
    low: float
    high: float
    y: float
    shape: str
    """The mark around (0, 0), as an SVG path."""


@dataclass(frozen=True, slots=True)
class Strip:
    """One metric on its own axis."""

    height: float
    axis_y: float
    label_low: str
    label_high: str
    grounded: Whisker | None
    shortcut: Whisker | None
    models: tuple[Whisker, ...]
    zero: float | None
    """Where zero lies, if it is inside the axis and worth a line."""


def angle_deg(position: float) -> float:
    """Of a position on the dial.

    >>> angle_deg(0.0), angle_deg(0.5), angle_deg(1.0)
    (150.0, 90.0, 30.0)
    """
    return 150.0 - 120.0 * min(max(position, LOWEST), HIGHEST)


def point(position: float, radius: float) -> tuple[float, float]:
    """Of a position at a radius: x to the right, y downward."""
    theta = math.radians(angle_deg(position))
    return CENTRE_X + radius * math.cos(theta), CENTRE_Y - radius * math.sin(theta)


def arc(low: float, high: float, radius: float) -> str:
    """The arc between two positions, as an SVG path; never longer than a half circle."""
    (x1, y1), (x2, y2) = point(low, radius), point(high, radius)
    return f"M{x1:.2f} {y1:.2f}A{radius:g} {radius:g} 0 0 1 {x2:.2f} {y2:.2f}"


def band(low: float, high: float, outer: float, width: float = _BAND_WIDTH) -> str:
    """The ring segment between two positions, as an SVG path."""
    inner = outer - width
    (x1, y1), (x2, y2) = point(low, outer), point(high, outer)
    (x3, y3), (x4, y4) = point(high, inner), point(low, inner)
    return (
        f"M{x1:.2f} {y1:.2f}A{outer:g} {outer:g} 0 0 1 {x2:.2f} {y2:.2f}"
        f"L{x3:.2f} {y3:.2f}A{inner:g} {inner:g} 0 0 0 {x4:.2f} {y4:.2f}Z"
    )


def ticks() -> list[Tick]:
    """The graduation: a line every twentieth, a long one every quarter, all outside of the arc."""
    found = []
    for i in range(-5, 26):
        is_long = i % 5 == 0
        position = i / 20
        (x1, y1), (x2, y2) = (
            point(position, RADIUS),
            point(position, RADIUS + (_LONG_TICK if is_long else _TICK)),
        )
        found.append(Tick(x1, y1, x2, y2, is_long))
    return found


def hand(estimate: Estimate, colour: str, *, place: int, mark: int) -> Hand:
    """A model's needle and band; several models on one dial have bands inside one another.

    Args:
        estimate: its position.
        colour: the class of its colour.
        place: of its band, from 0, outermost.
        mark: the number of the shape of its head.
    """
    outer = RADIUS - 3.0 - place * (_BAND_WIDTH + _BAND_GAP)
    (x1, y1), (x2, y2) = point(estimate.value, 9.0), point(estimate.value, outer - _BAND_WIDTH / 2)
    beyond = not LOWEST <= estimate.value <= HIGHEST
    return Hand(
        colour=colour,
        band=band(estimate.low, estimate.high, outer) if _shows(estimate) else "",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        shape=shape(mark, x2, y2, 4.6),
        off=_beyond(estimate.value) if beyond else "",
    )


def _shows(estimate: Estimate) -> bool:
    """Whether any of an interval lies on the dial."""
    return estimate.high > LOWEST and estimate.low < HIGHEST and estimate.high > estimate.low


def _beyond(position: float) -> str:
    """A small arrow at the end of the scale that the value lies beyond."""
    side = -1.0 if position < LOWEST else 1.0
    x, y = CENTRE_X + side * (RADIUS - 8), CENTRE_Y + 9
    return f"M{x - 4:.1f} {y - 4:.1f}L{x:.1f} {y:.1f}L{x + 4:.1f} {y - 4:.1f}M{x:.1f} {y:.1f}V{y - 11:.1f}"


def shape(number: int, x: float, y: float, r: float) -> str:
    """The mark of a series around a point: circle, diamond, square, triangle, then again."""
    kind = number % 4
    if kind == 0:
        return f"M{x - r:.2f} {y:.2f}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0Z"
    if kind == 1:
        s = 1.25 * r
        return f"M{x:.2f} {y - s:.2f}L{x + s:.2f} {y:.2f}L{x:.2f} {y + s:.2f}L{x - s:.2f} {y:.2f}Z"
    if kind == 2:
        s = 0.88 * r
        return f"M{x - s:.2f} {y - s:.2f}h{2 * s:g}v{2 * s:g}h{-2 * s:g}Z"
    s = 1.2 * r
    return f"M{x:.2f} {y - s:.2f}L{x + s:.2f} {y + 0.8 * s:.2f}L{x - s:.2f} {y + 0.8 * s:.2f}Z"


def strip(
    models: Sequence[tuple[str, int, Estimate]],
    *,
    grounded: Estimate | None = None,
    shortcut: Estimate | None = None,
    label: Callable[[float], str] = "{:.2f}".format,
    span: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
    show_zero: bool = False,
) -> Strip | None:
    """One metric's axis with everything on it; None if there is nothing to show.

    Args:
        models: colour class, number of the mark, and figure of each.
        grounded: the grounded twin's figure.
        shortcut: the shortcut twin's.
        label: how the ends are written.
        span: what the axis must hold beside the figures.
        bounds: what no figure of this kind can leave, such as 0 and 1 for shares; the axis ends there.
        show_zero: whether zero belongs on the axis, as for differences.
    """
    shown = [estimate for *_, estimate in models] + [e for e in (grounded, shortcut) if e is not None]
    if not shown:
        return None
    low = min(min(e.low, e.value) for e in shown)
    high = max(max(e.high, e.value) for e in shown)
    room = 0.06 * (high - low) or 0.5 * max(abs(high), 1e-6)
    reach = low - room, high + room
    if bounds is not None:
        reach = min(low, max(reach[0], bounds[0])), max(high, min(reach[1], bounds[1]))
    low, high = reach if span is None else (min(low, span[0]), max(high, span[1]))
    if high <= low:  # all figures are zero, and zero wide
        low, high = low - 0.5, high + 0.5
    lane, top = 13.0, 9.0

    def percent(value: float) -> float:
        return round(100 * (value - low) / (high - low), 3)

    def whisker(colour: str, estimate: Estimate, place: int, mark: int = 0) -> Whisker:
        return Whisker(
            colour,
            percent(estimate.value),
            percent(estimate.low),
            percent(estimate.high),
            top + place * lane,
            shape(mark, 0.0, 0.0, 4.4),
        )

    axis_y = top + max(len(models), 1) * lane
    return Strip(
        height=axis_y + 14.0,
        axis_y=axis_y,
        label_low=label(low),
        label_high=label(high),
        grounded=None if grounded is None else whisker("c-grounded", grounded, 0),
        shortcut=None if shortcut is None else whisker("c-shortcut", shortcut, 0),
        models=tuple(whisker(colour, estimate, i, mark) for i, (colour, mark, estimate) in enumerate(models)),
        zero=percent(0.0) if show_zero else None,
    )
