"""The colours that made pictures are painted in and that scripted models know by name."""

from __future__ import annotations

from collections.abc import Mapping

PAINTS: Mapping[str, tuple[int, int, int]] = {
    "red": (214, 39, 40),
    "green": (44, 160, 44),
    "blue": (31, 119, 180),
    "yellow": (255, 210, 60),
    "purple": (148, 103, 189),
    "orange": (255, 127, 14),
}
"""Name -> RGB."""
