"""The coordinates of strips, which the templates draw: straight axes in the unit of a metric, in percent of their width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from theodolite.stats import Estimate


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
