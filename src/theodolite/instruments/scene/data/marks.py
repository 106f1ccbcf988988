"""Numbered marks on a picture: where they go.

A mark is a disc with a number. It lies on its object where there is room, clear of other marks and of smaller objects; where
there is none it lies beside the object, with a line to a dot on it. It shows no extent: a model must find that itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.geometry import Box

RADII = (0.0125, 0.021)
"""The least and the most radius of a disc, as shares of the picture's width."""
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """A disc at its place."""

    id: int
    centre_px: tuple[float, float]
    radius_px: float
    anchor_px: tuple[float, float]
    """A point on the object; equal to the centre where the disc lies on it."""

    @property
    def has_line(self) -> bool:
        """Whether a line leads from the disc to its object."""
        return math.dist(self.centre_px, self.anchor_px) > self.radius_px


@dataclass(frozen=True, slots=True, eq=False)
class _Rival:
    """Another object, which a mark had better not lie on."""

    box: Box
    hides: bool
    """Whether it is nearer, or of unknown distance and smaller: then what lies on both boxes is read as its own."""


def place_marks(
    boxes: Mapping[int, Box],
    size_px: tuple[int, int],
    *,
    distances_m: Mapping[int, float] | None = None,
    instance: NDArray[np.int32] | None = None,
    radii: tuple[float, float] = RADII,
) -> list[PlacedMark]:
    """Finds a place for every mark.

    Each object has candidate places, on it and round it; marks are placed one after the other, smallest objects first, each
    at the place of least cost, and then moved again a few times given where all the others are.

    Args:
        boxes: of the objects, by mark.
        size_px: of the picture, as (width, height).
        distances_m: of the objects from the camera, by mark, where they are known.
        instance: of each pixel, the mark of the object it shows; 0 for none, below 0 for an object without a mark.
        radii: the least and the most, as shares of the picture's width; larger ones for pictures that are shown small.
    """
    order = sorted(boxes, key=lambda mark: boxes[mark].area_px)
    rivals = {mark: _rivals(mark, boxes, distances_m) for mark in order}
    choices = {
        mark: _candidates(
            mark, boxes[mark], size_px, rivals[mark], instance, _radius_px(boxes[mark], size_px[0], radii)
        )
        for mark in order
    }
    found: dict[int, PlacedMark] = {}
    for _ in range(_ROUNDS):
        for mark in order:
            rest = [placed for other, placed in found.items() if other != mark]
            found[mark] = min(
                choices[mark], key=lambda c: _cost(c, boxes[mark], rest, rivals[mark], instance)
            )
    return [found[mark] for mark in sorted(found)]


def _rivals(mark: int, boxes: Mapping[int, Box], distances_m: Mapping[int, float] | None) -> list[_Rival]:
    found = []
    for other, box in boxes.items():
        if other != mark:
            is_smaller = box.area_px < boxes[mark].area_px
            is_nearer = distances_m is not None and distances_m[other] < distances_m[mark]
            found.append(_Rival(box, is_nearer or (distances_m is None and is_smaller)))
    return found


def _radius_px(box: Box, width_px: int, radii: tuple[float, float]) -> float:
    small, large = (share * width_px for share in radii)
    return float(np.clip(0.16 * min(box.width_px, box.height_px), small, large))


def _candidates(
    mark: int,
    box: Box,
    size_px: tuple[int, int],
    rivals: Sequence[_Rival],
    instance: NDArray[np.int32] | None,
    radius: float,
) -> list[PlacedMark]:
    """On the object: a grid over its box (where its pixels are known, only on them). Round it: a ring of places."""
    width, height = size_px
    anchor = _anchor(mark, box, rivals, instance)
    inside = [
        (box.x0 + box.width_px * i / 8, box.y0 + box.height_px * j / 8)
        for i in range(1, 8)
        for j in range(1, 8)
    ]
    inside = [point for point in (anchor, *inside) if _shows(mark, point, instance)] or [anchor]
    placed = [PlacedMark(mark, point, radius, point) for point in inside]
    x, y = box.centre_px
    for step in (1.3, 2.2, 3.4):
        for k in range(16):
            c, s = math.cos(math.tau * k / 16), math.sin(math.tau * k / 16)
            point = (x + c * (box.width_px / 2 + step * radius), y + s * (box.height_px / 2 + step * radius))
            placed.append(PlacedMark(mark, point, radius, anchor))
    room = [
        p
        for p in placed
        if radius + 1 <= p.centre_px[0] <= width - radius - 1
        and radius + 1 <= p.centre_px[1] <= height - radius - 1
    ]
    return room or [_pushed_in(placed[0], size_px)]


def _pushed_in(mark: PlacedMark, size_px: tuple[int, int]) -> PlacedMark:
    """The same mark, moved until it lies in the picture."""
    edge = mark.radius_px + 1
    x, y = (
        min(max(v, edge), max(edge, side - edge)) for v, side in zip(mark.centre_px, size_px, strict=True)
    )
    return PlacedMark(mark.id, (x, y), mark.radius_px, mark.anchor_px)


def _holds(box: Box, point: tuple[float, float]) -> bool:
    return box.x0 <= point[0] <= box.x1 and box.y0 <= point[1] <= box.y1


def _shows(mark: int, point: tuple[float, float], instance: NDArray[np.int32] | None) -> bool:
    if instance is None:
        return True
    row, column = int(point[1]), int(point[0])
    height, width = instance.shape
    return 0 <= row < height and 0 <= column < width and int(instance[row, column]) == mark


def _anchor(
    mark: int, box: Box, rivals: Sequence[_Rival], instance: NDArray[np.int32] | None
) -> tuple[float, float]:
    """A point well on the object: of its pixels one far from its outline; where they are not known, the point of its box
    nearest to the middle that no hiding box covers.
    """  # noqa: D205 - one sentence
    if instance is None:
        points = [
            (box.x0 + box.width_px * i / 8, box.y0 + box.height_px * j / 8)
            for i in range(1, 8)
            for j in range(1, 8)
        ]
        free = [p for p in points if not any(r.hides and _holds(r.box, p) for r in rivals)]
        return min(free, key=lambda p: math.dist(p, box.centre_px), default=box.centre_px)
    from scipy.ndimage import distance_transform_edt

    rows = slice(max(0, int(box.y0)), int(box.y1) + 1)
    columns = slice(max(0, int(box.x0)), int(box.x1) + 1)
    mask = np.pad(instance[rows, columns] == mark, 1)
    if not mask.any():
        return box.centre_px
    depth = distance_transform_edt(mask)
    middle = np.array([box.centre_px[1] - rows.start + 1, box.centre_px[0] - columns.start + 1])
    places = np.argwhere(depth >= 0.8 * depth.max())
    row, column = places[np.argmin(((places - middle) ** 2).sum(axis=1))] - 1
    return float(column + columns.start) + 0.5, float(row + rows.start) + 0.5


def _cost(
    mark: PlacedMark,
    box: Box,
    placed: Sequence[PlacedMark],
    rivals: Sequence[_Rival],
    instance: NDArray[np.int32] | None,
) -> float:
    """Small is good: no other disc under it, nothing that hides the object, near its anchor, no line if it can be helped."""
    (x, y), r = mark.centre_px, mark.radius_px
    is_on = _holds(box, mark.centre_px) and not mark.has_line
    cost = sum(_crowding(mark, other) for other in placed)
    for rival in rivals:
        wide = min(x + r, rival.box.x1) - max(x - r, rival.box.x0)
        high = min(y + r, rival.box.y1) - max(y - r, rival.box.y0)
        if wide > 0 and high > 0:
            cost += wide * high / (4 * r * r) * (14.0 if rival.hides or not is_on else 4.0)
    if instance is not None:
        cost += 30.0 * _foreign_share(mark, instance) * (1.0 if is_on else 0.4)
    if is_on:
        hidden = math.pi * r * r / box.area_px
        cost += 25.0 * max(0.0, hidden - 0.35)
        cost += 2.0 * math.dist(mark.centre_px, box.centre_px) / max(box.width_px, box.height_px)
    else:
        cost += 7.0 + 0.6 * math.dist(mark.centre_px, mark.anchor_px) / r
    return cost


def _crowding(mark: PlacedMark, other: PlacedMark) -> float:
    """What it costs that two marks are near one another, or that one lies on the other's line."""
    gap = math.dist(mark.centre_px, other.centre_px) - mark.radius_px - other.radius_px
    cost = 60.0 if gap < 2 else 6.0 * max(0.0, 1 - gap / (2 * mark.radius_px))
    if other.has_line:
        cost += 25.0 * (_gap_to_line(mark.centre_px, other) < mark.radius_px + 1)
    if mark.has_line:
        cost += 25.0 * (_gap_to_line(other.centre_px, mark) < other.radius_px + 1)
    return cost


def _foreign_share(mark: PlacedMark, instance: NDArray[np.int32]) -> float:
    """Of points on and round the disc: the share that shows some other object, with or without a mark."""
    angles = np.linspace(0, math.tau, 16, endpoint=False)
    reach = np.array([0.5, 1.0, 1.25])[:, None] * mark.radius_px
    columns = (mark.centre_px[0] + reach * np.cos(angles)).astype(np.int64).clip(0, instance.shape[1] - 1)
    rows = (mark.centre_px[1] + reach * np.sin(angles)).astype(np.int64).clip(0, instance.shape[0] - 1)
    seen = instance[rows, columns]
    return float(((seen != 0) & (seen != mark.id)).mean())


def _gap_to_line(point: tuple[float, float], mark: PlacedMark) -> float:
    """How far a point is from a mark's line."""
    (ax, ay), (bx, by) = mark.centre_px, mark.anchor_px
    dx, dy = bx - ax, by - ay
    share = ((point[0] - ax) * dx + (point[1] - ay) * dy) / max(dx * dx + dy * dy, 1e-9)
    share = min(1.0, max(0.0, share))
    return math.dist(point, (ax + share * dx, ay + share * dy))
