"""What every reader of a source yields, and helpers that they share.

A reader yields a `SourceView` for each picture, and a `Problem` for each record that is broken: an object, or a picture with all
its objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, read_each, read_text
from theodolite.geometry import SE3
from theodolite.instruments.scene.data.pipeline import Candidate, View

FARTHEST_M = 1e6
"""No object of a scene is farther away, or larger."""

Metres: TypeAlias = Annotated[float, Field(ge=-FARTHEST_M, le=FARTHEST_M)]
Place: TypeAlias = tuple[Metres, Metres, Metres]
Turn: TypeAlias = tuple[Metres, Metres, Metres, Metres]
"""A quaternion w, x, y, z."""
Matrix: TypeAlias = list[list[Metres]]


@dataclass(frozen=True, slots=True, eq=False)
class SourceView:
    """A picture of a source with all its annotated objects."""

    view: View
    candidates: tuple[Candidate, ...]
    picture: Path
    """May not exist on this machine."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Annotations that cannot be used, by reason."""


Found: TypeAlias = SourceView | Problem


def read_view(where: str, read: Callable[[], Iterator[Found]]) -> Iterator[Found]:
    """Yield what a picture's files give; a `Problem` if one of them is broken."""
    found, problems = read_each([(where, None)], lambda _: list(read()))
    yield from problems
    for _, all_of_it in found:
        yield from all_of_it


def text_lines(path: Path) -> list[tuple[str, str]]:
    """The lines of a text file that are not empty, each with its place."""
    lines = enumerate(read_text(path).split("\n"), 1)
    return [
        (f"{path.parent.name}/{path.name}, line {number}", line) for number, line in lines if line.strip()
    ]


def numbers(words: Sequence[str], n: int) -> NDArray[np.float64]:
    """Exactly `n` words as numbers that a scene can have."""
    told = " ".join(words)[:80]
    if len(words) != n:
        raise UsageError(f"expected {n} numbers, got {len(words)}: {told!r}")
    try:
        found = np.array([float(word) for word in words])
    except ValueError:
        raise UsageError(f"expected numbers, got {told!r}") from None
    if not (np.abs(found) <= FARTHEST_M).all():
        raise UsageError(f"expected numbers of at most {FARTHEST_M:g}, got {told!r}")
    return found


def up_in(dst_SE3_world: SE3) -> tuple[float, float, float]:
    """The world's z axis in another frame."""
    x, y, z = map(float, dst_SE3_world.rotation @ np.array([0.0, 0.0, 1.0]))
    return x, y, z


def yawed_about_down(yaw_rad: float) -> NDArray[np.float64]:
    """Axes of a box in a level camera's frame (x right, y down, z forward), turned about +y by an angle in KITTI's convention.

    The length lies along (cos, 0, −sin), the width along (sin, 0, cos), the height along (0, −1, 0).
    """
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    return np.array([[c, s, 0.0], [0.0, 0.0, -1.0], [-s, c, 0.0]])
