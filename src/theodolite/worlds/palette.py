"""Colours and kinds of things of the worlds, and which of them only the out-of-distribution split shows."""

from __future__ import annotations

from typing import TypeAlias

from theodolite.worlds.episodes import Split

Rgb: TypeAlias = tuple[int, int, int]

PAINTS: dict[str, Rgb] = {
    "red": (212, 48, 46),
    "blue": (46, 98, 214),
    "green": (42, 158, 74),
    "yellow": (236, 194, 42),
    "purple": (138, 66, 186),
    "orange": (240, 132, 36),
    "pink": (238, 122, 172),
    "brown": (128, 84, 50),
    "grey": (140, 144, 150),
}

COLOURS: dict[Split, tuple[str, ...]] = {
    "in-distribution": ("red", "blue", "green", "yellow"),
    "ood": ("purple", "orange", "pink", "brown"),
}

SPLITS: tuple[Split, ...] = ("in-distribution", "ood")


def shaded(paint: Rgb, factor: float) -> Rgb:
    """Return a colour under more or less light: towards black below 1, towards white above.

    >>> shaded((100, 50, 0), 0.5), shaded((100, 50, 0), 2.0)
    ((50, 25, 0), (255, 255, 255))
    """
    if factor <= 1:
        return tuple(round(c * max(0.0, factor)) for c in paint)  # type: ignore[return-value]  # three of them
    return tuple(round(c + (255 - c) * min(1.0, factor - 1)) for c in paint)  # type: ignore[return-value]


def blended(first: Rgb, second: Rgb, share: float) -> Rgb:
    """Return a mixture of two colours, with `share` of the second."""
    return tuple(round(a + (b - a) * share) for a, b in zip(first, second, strict=True))  # type: ignore[return-value]
