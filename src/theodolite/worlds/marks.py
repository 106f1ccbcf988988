"""Numbered marks on a picture: where they go, and how they are drawn.

A mark is a disc with a number. It lies on its object if there is room clear of other marks and smaller objects; otherwise
beside the object, with a line to a dot on it. It does not show the object's extent, which a model must find itself, and all
marks together hide no more than a fifth of any object.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theodolite.core.types import Pixels
from theodolite.geometry import Box

if TYPE_CHECKING:
    from PIL.Image import Image


class Radii(NamedTuple):
    """Radii of discs, as shares of the picture's width, and how much of an object marks may hide."""

    smallest: float
    largest: float
    most_hidden: float = 0.2
    """As a share of the object, by all marks together. 1: however much, as in the rooms that the pocket twins have learnt."""

    @property
    def is_bounded(self) -> bool:
        """True if marks may not hide an object."""
        return self.most_hidden < 1


RADII = Radii(0.0125, 0.021)
_ROUNDS = 3
_SHARPNESS = 4
_LINE, _DOT, _HALO_PX = 0.22, 0.28, 1.0
"""The width of a line and the radius of its dot, as shares of the radius of the disc, and the width of the rim of both."""
_SAMPLES = 16
"""Points along each side of a box for which it is seen whether marks hide them; a quarter as many pixels again of a mask."""


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """A disc at its position."""

    id: int
    centre_px: tuple[float, float]
    radius_px: float
    anchor_px: tuple[float, float]
    """A point on the object; equal to the centre if the disc lies on it."""
    pen: float = 1.0
    """Thickness of the line and its dot: less than 1 for a small object."""

    @property
    def has_line(self) -> bool:
        """True if a line leads from the disc to its object."""
        return math.dist(self.centre_px, self.anchor_px) > self.radius_px

    def hides(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which of the points, shape (n, 2), lie under the disc, the line or the dot."""
        is_hidden = np.hypot(*(points - self.centre_px).T) <= self.radius_px + 0.5
        if self.has_line:
            start, step = np.array(self.centre_px), np.subtract(self.anchor_px, self.centre_px)
            along = np.clip((points - start) @ step / (step @ step), 0, 1)
            gap = np.hypot(*(points - start - along[:, None] * step).T)
            is_hidden |= gap <= _LINE * self.radius_px * self.pen / 2 + _HALO_PX
            is_hidden |= np.hypot(*(points - self.anchor_px).T) <= _DOT * self.radius_px * self.pen + _HALO_PX
        return np.asarray(is_hidden)


@dataclass(frozen=True, slots=True, eq=False)
class _Rival:
    """Another object, which a mark should not lie on."""

    box: Box
    hides: bool
    """True if it is nearer, or smaller and of unknown distance: a mark on both boxes would be taken for its own."""


def place_marks(
    boxes: Mapping[int, Box],
    size_px: tuple[int, int],
    *,
    distances_m: Mapping[int, float] | None = None,
    instance: NDArray[np.int32] | None = None,
    radii: Radii = RADII,
) -> list[PlacedMark]:
    """Find a position for every mark.

    Each object has candidate positions, on it and around it. Marks are placed one after the other, smallest objects first, each
    at the position of least cost, and then moved a few times given the positions of all others.

    Args:
        boxes: Boxes of the objects, by mark.
        size_px: Width and height of the picture.
        distances_m: Distances of the objects from the camera, by mark, if known.
        instance: For each pixel the mark of the object it shows; 0 for none, below 0 for an object without a mark.
        radii: Smallest and largest radius, and how much of an object may be hidden.
    """
    order = sorted(boxes, key=lambda mark: boxes[mark].area_px)
    rivals = {mark: _rivals(mark, boxes, distances_m) for mark in order}
    choices = {
        mark: _candidates(mark, boxes[mark], size_px, (rivals[mark], instance), radii) for mark in order
    }
    points = {mark: _points(mark, boxes[mark], instance) for mark in order} if radii.is_bounded else {}
    placed_marks: dict[int, PlacedMark] = {}
    for _ in range(_ROUNDS):
        for mark in order:
            rest = [placed for other, placed in placed_marks.items() if other != mark]
            hidden = {other: _hidden(some, rest) for other, some in points.items()}
            least = math.inf
            for choice in choices[mark]:
                cost = _cost(choice, boxes[mark], rest, rivals[mark], instance)
                if cost < least:  # what is hidden is costly to find out
                    cost += _excess(choice, boxes, points, hidden, radii.most_hidden)
                if cost < least:
                    least, placed_marks[mark] = cost, choice
    return [placed_marks[mark] for mark in sorted(placed_marks)]


def _rivals(mark: int, boxes: Mapping[int, Box], distances_m: Mapping[int, float] | None) -> list[_Rival]:
    rivals = []
    for other, box in boxes.items():
        if other != mark:
            is_smaller = box.area_px < boxes[mark].area_px
            is_nearer = distances_m is not None and distances_m[other] < distances_m[mark]
            rivals.append(_Rival(box, is_nearer or (distances_m is None and is_smaller)))
    return rivals


def _radius_px(box: Box, width_px: int, radii: Radii) -> float:
    small, large = radii.smallest * width_px, radii.largest * width_px
    return float(np.clip(0.16 * min(box.width_px, box.height_px), small, large))


_MARGIN = 0.85
"""Of the most that may be hidden: what samples say is not exact."""


def _pen(area_px: float, radius: float, radii: Radii) -> float:
    """Return the thickness at which a dot hides a quarter of what may be hidden of an object, at most 1."""
    dot = math.sqrt(max(area_px, 1.0) * radii.most_hidden / 4 / math.pi)
    return min(1.0, max(dot - _HALO_PX, 0.5) / (_DOT * radius)) if radii.is_bounded else 1.0


def _points(mark: int, box: Box, instance: NDArray[np.int32] | None) -> NDArray[np.float64]:
    """Return points spread over an object, shape (n, 2): over its pixels if they are known, else over its box."""
    if instance is not None:
        rows, columns = np.nonzero(instance == mark)
        if len(rows):
            every = max(1, len(rows) // _SAMPLES**2)
            return np.asarray(np.column_stack([columns[::every], rows[::every]]) + 0.5, np.float64)
    steps = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    x, y = np.meshgrid(box.x0 + box.width_px * steps, box.y0 + box.height_px * steps)
    return np.column_stack([x.ravel(), y.ravel()])


def _hidden(points: NDArray[np.float64], marks: Sequence[PlacedMark]) -> NDArray[np.bool_]:
    hidden = np.zeros(len(points), np.bool_)
    for mark in marks:
        hidden |= mark.hides(points)
    return hidden


def _excess(
    mark: PlacedMark,
    boxes: Mapping[int, Box],
    points: Mapping[int, NDArray[np.float64]],
    hidden: Mapping[int, NDArray[np.bool_]],
    most: float,
) -> float:
    """Return the cost of what a mark hides of all objects beyond the most that may be hidden."""
    (ax, ay), (bx, by), r = mark.centre_px, mark.anchor_px, mark.radius_px
    cost = 0.0
    for other, some in points.items():
        box = boxes[other]
        if (
            min(ax - r, bx) > box.x1
            or max(ax + r, bx) < box.x0
            or min(ay - r, by) > box.y1
            or max(ay + r, by) < box.y0
        ):
            continue
        share = float((hidden[other] | mark.hides(some)).mean())
        cost += 100.0 * (share > _MARGIN * most) + 400.0 * max(0.0, share - _MARGIN * most)
    return cost


def _candidates(
    mark: int,
    box: Box,
    size_px: tuple[int, int],
    scene: tuple[Sequence[_Rival], NDArray[np.int32] | None],
    radii: Radii,
) -> list[PlacedMark]:
    """Return candidates on the object, a grid over its box, restricted to its pixels if they are known; and rings around it."""
    (width, height), (rivals, instance) = size_px, scene
    radius = _radius_px(box, width, radii)
    anchor = _anchor(mark, box, rivals, instance)
    inside = [
        (box.x0 + box.width_px * i / 8, box.y0 + box.height_px * j / 8)
        for i in range(1, 8)
        for j in range(1, 8)
    ]
    inside = [point for point in (anchor, *inside) if _shows(mark, point, instance)] or [anchor]
    placed = [PlacedMark(mark, point, radius, point) for point in inside]
    x, y = box.centre_px
    area = box.area_px if instance is None else float((instance == mark).sum())
    pen = _pen(area, radius, radii)
    for step in (1.3, 2.2, 3.4, *((5.0, 7.5) if radii.is_bounded else ())):
        for k in range(16):
            c, s = math.cos(math.tau * k / 16), math.sin(math.tau * k / 16)
            point = (x + c * (box.width_px / 2 + step * radius), y + s * (box.height_px / 2 + step * radius))
            placed.append(PlacedMark(mark, point, radius, anchor, pen))
    room = [
        p
        for p in placed
        if radius + 1 <= p.centre_px[0] <= width - radius - 1
        and radius + 1 <= p.centre_px[1] <= height - radius - 1
    ]
    return room or [_pushed_in(placed[0], size_px)]


def _pushed_in(mark: PlacedMark, size_px: tuple[int, int]) -> PlacedMark:
    """Return the same mark, shifted into the picture."""
    edge = mark.radius_px + 1
    x, y = (
        min(max(v, edge), max(edge, side - edge)) for v, side in zip(mark.centre_px, size_px, strict=True)
    )
    return replace(mark, centre_px=(x, y))


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
    """Return a point well on the object: a pixel far from its outline, or the point of its box nearest to the middle that no
    hiding box covers.
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
    """Return a cost: low if the disc covers no other disc, nothing hides the object, it is near its anchor, and it needs no line."""
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
    """Return the cost of two marks near each other, or of one on the other's line."""
    gap = math.dist(mark.centre_px, other.centre_px) - mark.radius_px - other.radius_px
    cost = 60.0 if gap < 2 else 6.0 * max(0.0, 1 - gap / (2 * mark.radius_px))
    if other.has_line:
        cost += 25.0 * (_gap_to_line(mark.centre_px, other) < mark.radius_px + 1)
    if mark.has_line:
        cost += 25.0 * (_gap_to_line(other.centre_px, mark) < other.radius_px + 1)
    return cost


def _foreign_share(mark: PlacedMark, instance: NDArray[np.int32]) -> float:
    """Return the share of points on and around the disc that show another object, with or without a mark."""
    angles = np.linspace(0, math.tau, 16, endpoint=False)
    reach = np.array([0.5, 1.0, 1.25])[:, None] * mark.radius_px
    columns = (mark.centre_px[0] + reach * np.cos(angles)).astype(np.int64).clip(0, instance.shape[1] - 1)
    rows = (mark.centre_px[1] + reach * np.sin(angles)).astype(np.int64).clip(0, instance.shape[0] - 1)
    seen = instance[rows, columns]
    return float(((seen != 0) & (seen != mark.id)).mean())


def _gap_to_line(point: tuple[float, float], mark: PlacedMark) -> float:
    """Return the distance of a point from a mark's line."""
    (ax, ay), (bx, by) = mark.centre_px, mark.anchor_px
    dx, dy = bx - ax, by - ay
    share = ((point[0] - ax) * dx + (point[1] - ay) * dy) / max(dx * dx + dy * dy, 1e-9)
    share = min(1.0, max(0.0, share))
    return math.dist(point, (ax + share * dx, ay + share * dy))


def draw_marks(picture: Pixels, marks: Sequence[PlacedMark]) -> Pixels:
    """Draw the marks on a picture: lines first, then discs."""
    from PIL import Image, ImageDraw

    base = Image.fromarray(picture).convert("RGB")
    lines = Image.new("L", (base.width * 2, base.height * 2), 0)
    halo = Image.new("L", (base.width * 2, base.height * 2), 0)
    for mark in marks:
        if mark.has_line:
            ends = [(2 * v[0], 2 * v[1]) for v in (mark.centre_px, mark.anchor_px)]
            dot, width = (share * mark.radius_px * 2 * mark.pen for share in (_DOT, _LINE))
            for layer, extra in ((halo, 2 * _HALO_PX), (lines, 0.0)):
                pen = ImageDraw.Draw(layer)
                pen.line(ends, fill=255, width=round(width + 2 * extra))
                (x, y), reach = ends[1], dot + extra
                pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=255)
    for layer, colour in ((halo, (20, 20, 24)), (lines, (255, 255, 255))):
        base.paste(colour, mask=layer.resize(base.size, Image.Resampling.BOX))
    for mark in marks:
        disc = _disc(mark.id, round(mark.radius_px, 1))
        corner_px = (round(mark.centre_px[0] - disc.width / 2), round(mark.centre_px[1] - disc.height / 2))
        base.paste(disc, corner_px, mask=disc.getchannel("A"))
    return np.asarray(base)


@lru_cache(maxsize=512)
def _disc(number: int, radius_px: float) -> Image:
    """Draw a dark disc with a white rim and a white number, large, and scale it down."""
    from PIL import Image, ImageDraw, ImageFont

    side = 2 * math.ceil(radius_px) + 3
    big = side * _SHARPNESS
    disc = Image.new("RGBA", (big, big), (0, 0, 0, 0))
    pen = ImageDraw.Draw(disc)
    middle, r = big / 2, radius_px * _SHARPNESS
    pen.ellipse((middle - r, middle - r, middle + r, middle + r), fill=(255, 255, 255, 255))
    inner = 0.86 * r
    pen.ellipse((middle - inner, middle - inner, middle + inner, middle + inner), fill=(18, 20, 26, 255))
    text = str(number)
    font = ImageFont.load_default(size=r * (1.36 if len(text) == 1 else 1.12))
    pen.text(
        (middle, middle),
        text,
        font=font,
        anchor="mm",
        fill=(255, 255, 255, 255),
        stroke_width=round(r * 0.035),
    )
    return disc.resize((side, side), Image.Resampling.LANCZOS)
