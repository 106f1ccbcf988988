"""The coordinates of dials and strips, which the templates draw.

A dial is a half circle with positions from −¼ to 1¼, so that models outside the range of the twins can be shown:
θ(p) = 150° − 120°·p, counter-clockwise from the right. The shortcut twin (p = 0) is at 150°, the grounded twin (p = 1) at
30°. A strip is a straight axis in the unit of a metric. Its coordinates are in percent of its width.
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
    """A tick mark."""

    x1: float
    y1: float
    x2: float
    y2: float
    is_long: bool


@dataclass(frozen=True, slots=True)
class Hand:
    """One model on a dial: a band for its interval, a needle for its value."""

    colour: str
    """CSS class."""
    band: str
    """The interval, as an SVG path."""
    x1: float
    y1: float
    x2: float
    y2: float
    shape: str
    """The head of the needle, as an SVG path. Models differ in shape and colour."""
    off: str
    """An arrow, as an SVG path, if the value lies beyond the scale. Empty if not."""


@dataclass(frozen=True, slots=True)
class Whisker:
    """One number on a strip. Coordinates are in percent of the width, except `y`, which is in pixels."""

    colour: str
    x: float
    low: float
    high: float
    y: float
    shape: str
    """The marker around (0, 0), as an SVG path."""


@dataclass(frozen=True, slots=True)
class Strip:
    """An axis with the twins and the models on one metric."""

    height: float
    axis_y: float
    label_low: str
    label_high: str
    grounded: Whisker | None
    shortcut: Whisker | None
    models: tuple[Whisker, ...]
    zero: float | None
    """The coordinate of zero, if a line is drawn there."""


def angle_deg(position: float) -> float:
    """Return the angle of a position on the dial.

    >>> angle_deg(0.0), angle_deg(0.5), angle_deg(1.0)
    (150.0, 90.0, 30.0)
    """
    return 150.0 - 120.0 * min(max(position, LOWEST), HIGHEST)


def point(position: float, radius: float) -> tuple[float, float]:
    """Return the point of a position at a radius, with x to the right and y downward."""
    theta = math.radians(angle_deg(position))
    return CENTRE_X + radius * math.cos(theta), CENTRE_Y - radius * math.sin(theta)


def arc(low: float, high: float, radius: float) -> str:
    """Return the arc between two positions, as an SVG path."""
    (x1, y1), (x2, y2) = point(low, radius), point(high, radius)
    return f"M{x1:.2f} {y1:.2f}A{radius:g} {radius:g} 0 0 1 {x2:.2f} {y2:.2f}"


def band(low: float, high: float, outer: float, width: float = _BAND_WIDTH) -> str:
    """Return the ring segment between two positions, as an SVG path."""
    inner = outer - width
    (x1, y1), (x2, y2) = point(low, outer), point(high, outer)
    (x3, y3), (x4, y4) = point(high, inner), point(low, inner)
    return (
        f"M{x1:.2f} {y1:.2f}A{outer:g} {outer:g} 0 0 1 {x2:.2f} {y2:.2f}"
        f"L{x3:.2f} {y3:.2f}A{inner:g} {inner:g} 0 0 0 {x4:.2f} {y4:.2f}Z"
    )


def ticks() -> list[Tick]:
    """Return the tick marks outside of the arc: one every 0.05, a long one every 0.25."""
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
    """Place the needle and the band of a model. The bands of several models are nested.

    Args:
        estimate: The position.
        colour: CSS class.
        place: Number of the band, from 0 for the outermost.
        mark: Number of the marker shape.
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
    """Return True if a part of an interval lies on the dial."""
    return estimate.high > LOWEST and estimate.low < HIGHEST and estimate.high > estimate.low


def _beyond(position: float) -> str:
    """Return a small arrow at the end of the scale beyond which the value lies."""
    side = -1.0 if position < LOWEST else 1.0
    x, y = CENTRE_X + side * (RADIUS - 8), CENTRE_Y + 9
    return f"M{x - 4:.1f} {y - 4:.1f}L{x:.1f} {y:.1f}L{x + 4:.1f} {y - 4:.1f}M{x:.1f} {y:.1f}V{y - 11:.1f}"


def shape(number: int, x: float, y: float, r: float) -> str:
    """Return the marker of a series around a point: circle, diamond, square, triangle, and so on again."""
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
    """Place the twins and the models on an axis. None if there is nothing to show.

    Args:
        models: For each model, CSS class, number of the marker shape, and value.
        grounded: The value of the grounded twin.
        shortcut: The value of the shortcut twin.
        label: Function that formats the ends of the axis.
        span: A range that the axis must include.
        bounds: The possible range of values, such as 0 and 1 for shares. Margins of the axis end there.
        show_zero: If True, draw a line at zero, as for differences.
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
    if high <= low:  # all values are zero, with zero width
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
