"""Discs that roll on a table and bounce off each other: where they are at every moment, and what happens when.

Equal masses, elastic collisions along the line of centres, constant deceleration by friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEP_S = 0.01
FRICTION_M_S2 = 0.22
STILL_M_S = 0.06
"""What is slower counts as at rest."""


@dataclass(frozen=True, slots=True)
class Body:
    """Where a disc is and how it moves when it is let go."""

    x_m: float
    y_m: float
    vx_m_s: float = 0.0
    vy_m_s: float = 0.0
    start_s: float = 0.0
    """When it begins to move."""


@dataclass(frozen=True, slots=True)
class Motion:
    """What became of the discs."""

    places_m: NDArray[np.float64]
    """(steps, discs, 2)."""
    speeds_m_s: NDArray[np.float64]
    """(steps, discs)."""
    collisions: tuple[tuple[float, int, int], ...]
    """When, and which two, the one that was faster first."""

    def moment(self, time_s: float) -> int:
        """The step at a time."""
        return min(len(self.places_m) - 1, round(time_s / STEP_S))

    def is_moving(self, time_s: float, disc: int) -> bool:
        """Whether a disc moves at a time."""
        return bool(self.speeds_m_s[self.moment(time_s), disc] > STILL_M_S)


def simulate(bodies: Sequence[Body], duration_s: float, *, radius_m: float) -> Motion:
    """Steps of ten milliseconds; a pair that touches and approaches exchanges its velocities along the line of centres."""
    place = np.array([[b.x_m, b.y_m] for b in bodies])
    speed = np.zeros_like(place)
    waiting = dict(enumerate(bodies))
    places, speeds, collisions = [], [], []
    for step in range(round(duration_s / STEP_S) + 1):
        now = step * STEP_S
        for i in [i for i, b in waiting.items() if b.start_s <= now + 1e-9]:
            speed[i] = (waiting[i].vx_m_s, waiting[i].vy_m_s)
            del waiting[i]
        gaps = place[None] - place[:, None]
        touching = np.argwhere(np.triu((gaps**2).sum(axis=2) <= 4 * radius_m**2, 1))
        for i, j in touching.tolist():
            gap = gaps[i, j]
            along = gap / max(float(np.hypot(*gap)), 1e-9)
            closing = float((speed[i] - speed[j]) @ along)
            if closing <= 1e-6:
                continue
            fast, slow = (i, j) if np.hypot(*speed[i]) >= np.hypot(*speed[j]) else (j, i)
            if closing > STILL_M_S:
                collisions.append((round(now, 4), fast, slow))
            speed[i], speed[j] = speed[i] - closing * along, speed[j] + closing * along
        rate = np.hypot(speed[:, 0], speed[:, 1])
        places.append(place.copy())
        speeds.append(rate)
        slower = np.clip(rate - FRICTION_M_S2 * STEP_S, 0, None)
        speed = speed * np.where(rate > 0, slower / np.maximum(rate, 1e-12), 0.0)[:, None]
        place = place + speed * STEP_S
    return Motion(np.array(places), np.array(speeds), tuple(collisions))
