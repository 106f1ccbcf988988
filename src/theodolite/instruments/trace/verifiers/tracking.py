"""Tracks: which box of one frame is which box of the next. A Kalman filter predicts, the Hungarian method assigns.

State (x, y, w, h, ẋ, ẏ): centre and size in pixels, velocity in pixels per frame; constant velocity with acceleration as noise.
Cost of giving a detection to a track: 1 − IoU with the predicted box, plus, where both have an appearance vector, 1 − cosine,
halved; a pair of different labels, or too far apart, is not given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from theodolite.geometry import Box
from theodolite.instruments.trace.verifiers.detection import Detection

_DRIFT_PX, _NOISE_PX = 2.0, 3.0
_FORBIDDEN = 1e6


@dataclass(slots=True)
class Track:
    """One thing, frame by frame."""

    label: str
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    boxes: dict[int, Box] = field(default_factory=dict)
    """Where it was found, by frame."""
    looks: NDArray[np.float64] | None = None
    missed: int = 0

    @property
    def first(self) -> int:
        """The first frame that shows it."""
        return min(self.boxes)

    @property
    def last(self) -> int:
        """The last frame that shows it."""
        return max(self.boxes)


class Tracker:
    """Takes the detections of one frame after the other; keeps tracks, never pixels."""

    def __init__(self, *, most_missed: int = 3, least_score: float = 0.15) -> None:
        self.tracks: list[Track] = []
        """All tracks, the finished ones too."""
        self._most_missed = most_missed
        self._least = least_score
        self._alive: list[Track] = []

    def update(
        self, frame: int, found: Sequence[Detection], looks: Sequence[NDArray[np.float64]] | None = None
    ) -> None:
        """Adds a frame."""
        from scipy.optimize import linear_sum_assignment

        for track in self._alive:
            _predict(track)
        cost = np.full((len(self._alive), len(found)), _FORBIDDEN)
        for i, track in enumerate(self._alive):
            for j, one in enumerate(found):
                cost[i, j] = self._cost(track, one, None if looks is None else looks[j])
        taken: set[int] = set()
        for i, j in zip(*linear_sum_assignment(cost), strict=True) if cost.size else ():
            if cost[i, j] < _FORBIDDEN:
                _correct(self._alive[i], found[j].box)
                self._alive[i].boxes[frame] = found[j].box
                _remember(self._alive[i], None if looks is None else looks[j])
                self._alive[i].missed = -1
                taken.add(int(j))
        for track in self._alive:
            track.missed += 1
        for j, one in enumerate(found):
            if j not in taken:
                self._start(frame, one, None if looks is None else looks[j])
        self._alive = [t for t in self._alive if t.missed <= self._most_missed]

    def _start(self, frame: int, one: Detection, looks: NDArray[np.float64] | None) -> None:
        x, y = one.box.centre_px
        mean = np.array([x, y, one.box.width_px, one.box.height_px, 0.0, 0.0])
        size = max(one.box.width_px, one.box.height_px)
        track = Track(
            one.label, mean, np.diag([9.0, 9.0, 9.0, 9.0, size**2, size**2]), {frame: one.box}, looks
        )
        self.tracks.append(track)
        self._alive.append(track)

    def _cost(self, track: Track, one: Detection, looks: NDArray[np.float64] | None) -> float:
        if track.label != one.label:
            return _FORBIDDEN
        x, y, w, h = track.mean[:4]
        w, h = max(float(w), 1.0), max(float(h), 1.0)
        overlap = Box(x - w / 2, y - h / 2, x + w / 2, y + h / 2).iou(one.box)
        centre = one.box.centre_px
        away = float(np.hypot(centre[0] - x, centre[1] - y)) / max(w, h)
        reach = 2.5 + track.missed
        if overlap < self._least and away > reach:
            return _FORBIDDEN
        cost = 1 - overlap + 0.2 * away
        if looks is not None and track.looks is not None:
            scale = float(np.linalg.norm(looks) * np.linalg.norm(track.looks)) or 1.0
            cost += (1 - float(looks @ track.looks) / scale) / 2
        return cost


_STEP = np.eye(6)
_STEP[0, 4] = _STEP[1, 5] = 1.0
_DRIFT = np.diag([0.25, 0.25, 0.1, 0.1, 1.0, 1.0]) * _DRIFT_PX**2


def _predict(track: Track) -> None:
    track.mean = _STEP @ track.mean
    track.spread = _STEP @ track.spread @ _STEP.T + _DRIFT


def _correct(track: Track, box: Box) -> None:
    """The Kalman update with what was measured: x ← x + K (z − H x), P ← (I − K H) P."""
    measured = np.array([*box.centre_px, box.width_px, box.height_px])
    seen = np.eye(4, 6)
    gain = track.spread @ seen.T @ np.linalg.inv(seen @ track.spread @ seen.T + np.eye(4) * _NOISE_PX**2)
    track.mean = track.mean + gain @ (measured - seen @ track.mean)
    track.spread = (np.eye(6) - gain @ seen) @ track.spread


def _remember(track: Track, looks: NDArray[np.float64] | None) -> None:
    """Looks change slowly: what is seen now weighs a quarter."""
    if looks is not None:
        track.looks = looks if track.looks is None else 0.75 * track.looks + 0.25 * looks


def track_all(
    frames: Iterable[Sequence[Detection]],
    *,
    looks: Iterable[Sequence[NDArray[np.float64]]] | None = None,
    most_missed: int = 3,
) -> list[Track]:
    """The tracks of a whole sequence.

    Args:
        frames: the detections of each frame.
        looks: an appearance vector for each of them, such as `colour_histogram`.
        most_missed: how many frames a track outlives without being seen.
    """
    tracker = Tracker(most_missed=most_missed)
    vectors = iter(looks) if looks is not None else None
    for i, found in enumerate(frames):
        tracker.update(i, found, next(vectors) if vectors is not None else None)
    return tracker.tracks
