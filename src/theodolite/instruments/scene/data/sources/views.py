"""What every reader of a source returns, and helpers that they share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError, reason_of
from theodolite.geometry import SE3
from theodolite.instruments.scene.data.pipeline import Candidate, View


@dataclass(frozen=True, slots=True, eq=False)
class SourceView:
    """A picture of a source with all its annotated objects."""

    view: View
    candidates: tuple[Candidate, ...]
    picture: Path
    """May not exist on this machine."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Annotations that cannot be used, by reason."""


def read_json(path: Path) -> Any:
    """The content of a JSON file; a `UsageError` names the file if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from error


def read_lines(path: Path) -> list[str]:
    """The non-empty lines of a text file."""
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from error


def numbers(words: Sequence[str], where: str) -> NDArray[np.float64]:
    """Words as finite numbers."""
    try:
        found = np.array([float(word) for word in words])
    except ValueError:
        raise UsageError(f"{where}: expected numbers, got {' '.join(words)!r}") from None
    if not np.isfinite(found).all():
        raise UsageError(f"{where}: expected finite numbers, got {' '.join(words)!r}")
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
