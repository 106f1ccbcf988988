"""A verifier that follows objects from frame to frame: which ones move, stop, enter, leave or meet another.

Boxes come from a detector or, with ``tracks:annotation``, from the annotations without their identities. A track is named by
its label, and by its colour if it has a clear one.

A Kalman filter predicts the boxes and the Hungarian method assigns detections to tracks. The state is (x, y, w, h, ẋ, ẏ):
centre and size in pixels, velocity in pixels per frame; the model is constant velocity with acceleration noise. The cost of
an assignment is 1 − IoU with the predicted box, plus (1 − cosine)/2 if both have an appearance vector. Different labels and
distant boxes are not assigned.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels
from theodolite.geometry import Box
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Label, Mention, Verdict
from theodolite.instruments.trace.verifiers.annotation import AnnotationVerifier
from theodolite.instruments.trace.verifiers.detection import (
    Detection,
    Detector,
    colour_histogram,
    hue_of,
    open_detector,
    read_pixels,
)
from theodolite.instruments.trace.verifiers.judging import VerifierOptions, negated, unverifiable
from theodolite.worlds.english import with_article
from theodolite.worlds.episodes import Episode

MOVE_SHARE, NEAR_SHARE = 0.012, 0.35
"""Smaller movements per frame, as shares of the picture's width, are rest. Smaller gaps, as shares of the mean size, are contact."""
_SHOWN = ("move", "rest", "enter", "leave", "collide")
"""What tracks show. Verbs that mean the same or more are judged by it; narrower ones (*roll*) are refuted by it, not supported."""
_DRIFT_PX, _NOISE_PX = 2.0, 3.0
_FORBIDDEN = 1e6
_Looks = Sequence[NDArray[np.float64] | None]
"""The appearance of each detection of a frame; None if it is not known."""


@dataclass(slots=True)
class Track:
    """One object, frame by frame."""

    label: str
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    boxes: dict[int, Box] = field(default_factory=dict)
    """By frame."""
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
    """A tracker that assigns the detections of one frame after the other to tracks."""

    def __init__(self, *, most_missed: int = 3, least_score: float = 0.15) -> None:
        self.tracks: list[Track] = []
        """All tracks, including finished ones."""
        self._most_missed = most_missed
        self._least = least_score
        self._alive: list[Track] = []

    def update(self, frame: int, found: Sequence[Detection], looks: _Looks | None = None) -> None:
        """Add a frame."""
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
    """Apply the Kalman update: x ← x + K (z − H x), P ← (I − K H) P."""
    measured = np.array([*box.centre_px, box.width_px, box.height_px])
    seen = np.eye(4, 6)
    gain = track.spread @ seen.T @ np.linalg.inv(seen @ track.spread @ seen.T + np.eye(4) * _NOISE_PX**2)
    track.mean = track.mean + gain @ (measured - seen @ track.mean)
    track.spread = (np.eye(6) - gain @ seen) @ track.spread


def _remember(track: Track, looks: NDArray[np.float64] | None) -> None:
    """Update the appearance slowly: a new observation has a weight of a quarter."""
    if looks is not None:
        track.looks = looks if track.looks is None else 0.75 * track.looks + 0.25 * looks


def track_all(
    frames: Iterable[Sequence[Detection]],
    *,
    looks: Iterable[_Looks] | None = None,
    most_missed: int = 3,
) -> list[Track]:
    """Return the tracks of a whole sequence.

    Args:
        frames: The detections of each frame.
        looks: An appearance vector of each detection, such as `colour_histogram`.
        most_missed: Number of frames without a detection after which a track ends.
    """
    tracker = Tracker(most_missed=most_missed)
    vectors = iter(looks) if looks is not None else None
    for i, detections in enumerate(frames):
        tracker.update(i, detections, next(vectors) if vectors is not None else None)
    return tracker.tracks


@dataclass(frozen=True, slots=True)
class TrackVerifier:
    """A verifier of motion, entering, leaving and contact by tracks."""

    name: str
    detector: Detector | None = None
    """None for the boxes of the annotations."""
    threshold: float = 0.4
    has_looks: bool = False
    """True to use the colours in a box when it is assigned to a track."""

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim. Pictures are read one by one, and only if a claim needs them."""
        if not any(c.kind in {"action", "state"} for c in claims):
            return [self._judge(claim, [], 1) for claim in claims]
        n = len(episode.frames)
        unread: dict[int, str] = {}
        seen = [self._found(episode, i, unread) for i in range(n)]
        tracks = track_all(
            [detections for detections, _ in seen],
            looks=[looks for _, looks in seen] if self.has_looks else None,
        )
        width = max((f.size_px[0] for f in episode.frames if f.size_px is not None), default=640)
        return [
            self._judge(claim, tracks, width, n, _why_unseen(claim.frames or range(n), unread))
            for claim in claims
        ]

    def _found(self, episode: Episode, index: int, unread: dict[int, str]) -> tuple[list[Detection], _Looks]:
        """Return the detections of a frame and their appearance; pixels are not kept. Frames that cannot be read go to `unread`."""
        if self.detector is None:
            detections = [
                Detection(f"{t.attributes.get('colour', '')} {t.category}".strip(), 1.0, t.box)
                for t in episode.frames[index].objects
                if t.box is not None and t.is_visible
            ]
            pixels = read_pixels(episode, index) if self.has_looks else ""
            if isinstance(pixels, str):
                return detections, [None for _ in detections]
        else:
            pixels = read_pixels(episode, index)
            if isinstance(pixels, str):
                unread[index] = pixels
                return [], []
            detected = self.detector.detect(pixels, self.threshold)
            detections = [replace(d, label=f"{hue_of(pixels, d.box)} {d.label}".strip()) for d in detected]
        return detections, [colour_histogram(pixels, d.box) for d in detections]

    def _judge(
        self, claim: Claim, tracks: Sequence[Track], width: int, n_frames: int = 0, unseen: str = ""
    ) -> Verdict:
        verb = claim.predicate
        if claim.kind == "state" and words.STATES.get(verb, ("", True))[0] == "moving":
            verb = "move" if words.STATES[verb][1] else "rest"
        elif claim.kind != "action":
            return unverifiable("complex", f"tracks cannot judge {claim.kind} claims")
        shown = next((event for event in _SHOWN if words.may_mean(verb, event)), None)
        if shown is None:
            return unverifiable("complex", f"tracks do not show {verb!r}")
        if unseen:
            return unverifiable("unclear", unseen)
        mine = [t for t in tracks if is_called(t.label, claim.subject)]
        if not mine:
            return unverifiable("low recall", f"no track is {with_article(str(claim.subject))}")
        frames = claim.frames or tuple(range(n_frames))
        if shown in {"move", "rest"}:
            verdict = _moving(mine, frames, width, wants=shown == "move", said=claim.predicate)
        elif shown in {"enter", "leave"}:
            verdict = _coming(mine, frames, n_frames, wants=shown == "enter", said=claim.predicate)
        else:
            verdict = _meeting(mine, tracks, frames, claim)
        if verdict.label == "supported" and not words.is_a(shown, verb):
            verdict = unverifiable("out of vocabulary", f"tracks show {shown!r}, which is wider")
        return negated(verdict) if claim.is_negated else verdict


def _why_unseen(frames: Sequence[int], unread: Mapping[int, str]) -> str:
    """Return why the tracks are unknown at some frames, or at the frame before or after one; empty if they are known."""
    near = {f + step for f in frames for step in (-1, 0, 1)}
    return next((why for frame, why in unread.items() if frame in near), "")


def is_called(label: str, said: Mention) -> bool:
    """Return True if a mention names a thing with this label, which may begin with a colour."""
    colour, _, noun = label.partition(" ")
    if words.ATTRIBUTES.get(colour) != "colour":
        colour, noun = "", label
    hues = [a for a in said.attributes if words.ATTRIBUTES.get(a) == "colour"]
    return words.is_a(noun, said.head) and (not hues or not colour or colour in hues)


def _steps(track: Track, frames: Sequence[int]) -> list[float]:
    """Return its movement from each of some frames to the next that shows it, in pixels per frame."""
    distances = []
    times = sorted(track.boxes)
    for a, b in itertools.pairwise(times):
        if any(a <= f < b for f in frames):
            (x0, y0), (x1, y1) = track.boxes[a].centre_px, track.boxes[b].centre_px
            distances.append(float(np.hypot(x1 - x0, y1 - y0)) / (b - a))
    return distances


def _moving(tracks: Sequence[Track], frames: Sequence[int], width: int, *, wants: bool, said: str) -> Verdict:
    steps = [step for track in tracks for step in _steps(track, frames)]
    if not steps:
        return unverifiable("occluded", "it is not visible in two frames")
    moves = max(steps) > MOVE_SHARE * width
    truth = said if moves == wants else ("move" if moves else "rest")
    label: Label = "supported" if moves == wants else "unsupported"
    return Verdict(label, evidence=f"{max(steps):.0f} px a frame", truth=truth, confidence=0.8)


def _coming(
    tracks: Sequence[Track], frames: Sequence[int], n_frames: int, *, wants: bool, said: str
) -> Verdict:
    """Support a claim if a track begins (or ends) right after one of the frames, and not with the sequence."""
    edges = [(t.first - 1 if wants else t.last) for t in tracks]
    inside = [e for e in edges if 0 <= e < n_frames - 1]
    if any(e in frames for e in inside):
        return Verdict("supported", evidence="its track begins or ends here", truth=said, confidence=0.7)
    return Verdict("unsupported", evidence="its track goes on", truth="stay", confidence=0.7)


def _meeting(mine: Sequence[Track], tracks: Sequence[Track], frames: Sequence[int], claim: Claim) -> Verdict:
    others = [
        t
        for t in tracks
        if all(t is not m for m in mine) and (claim.object is None or is_called(t.label, claim.object))
    ]
    window = {f for frame in frames for f in (frame, frame + 1)}
    gaps = [_gap(a, b, f) for a in mine for b in others for f in window if f in a.boxes and f in b.boxes]
    if not gaps:
        return unverifiable("occluded", "the two are not visible together")
    label: Label = "supported" if min(gaps) <= NEAR_SHARE else "unsupported"
    truth = claim.predicate if label == "supported" else "stay apart"
    return Verdict(label, evidence=f"{min(gaps):.2f} sizes apart", truth=truth, confidence=0.6)


def _gap(a: Track, b: Track, frame: int) -> float:
    first, second = a.boxes[frame], b.boxes[frame]
    gap = np.hypot(
        max(0.0, first.x0 - second.x1, second.x0 - first.x1),
        max(0.0, first.y0 - second.y1, second.y0 - first.y1),
    )
    return float(gap) / ((first.width_px + first.height_px + second.width_px + second.height_px) / 4)


def open_track_verifier(text: str) -> TrackVerifier:
    """Open ``tracks:annotation``, or ``tracks:DETECTOR?threshold=0.4&looks=colours``."""
    options = VerifierOptions.read(text, "tracks", ("threshold", "looks"))
    looks = options.settings.get("looks", "none")
    if looks not in {"none", "colours"}:
        raise UsageError(f"looks is none or colours, got {looks!r}")
    if not options.target:
        raise UsageError("name the source of boxes: tracks:annotation, or tracks:FILE.onnx")
    detector = None if options.target == "annotation" else open_detector(options.target)
    return TrackVerifier(f"tracks:{text}", detector, options.number("threshold", 0.4), looks == "colours")


# A verifier of the observer's movements: by poses if they are logged, else by the optical flow of the pictures.


TURN_SHARE, GROWTH, QUALITY = 0.02, 0.015, 0.4
"""The least shift (share of the width), the least growth, and the least quality that count."""
WIDTH_PX, BLOCK_PX = 160, 40


@dataclass(frozen=True, slots=True)
class EgoMotionVerifier:
    """A verifier of *I turn left*, *I move forward*, *I look up*, and nothing else."""

    name: str = "ego-motion"
    uses_poses: bool = True

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim."""
        return [self._judge(claim, episode) for claim in claims]

    def _judge(self, claim: Claim, episode: Episode) -> Verdict:
        if claim.kind != "ego-motion":
            return unverifiable("complex", f"ego-motion cannot judge {claim.kind} claims")
        frames = [f for f in claim.frames if 0 <= f < len(episode.frames)] or list(range(len(episode.frames)))
        if self.uses_poses and any(episode.frames[f].pose is not None for f in frames):
            bare = replace(episode, actions=(), known={"poses": "complete"})
            return AnnotationVerifier().verify([claim], bare)[0]
        verdict = _by_flow(claim.predicate, episode, frames)
        return negated(verdict) if claim.is_negated else verdict


def _by_flow(movement: str, episode: Episode, frames: Sequence[int]) -> Verdict:
    """Compare each frame with the next. Any pair that shows the movement supports it."""
    names: list[str] = []
    unread = ""
    last = len(episode.frames) - 1
    for frame in frames if last not in frames or len(frames) > 1 else [last - 1]:
        if not 0 <= frame < last:
            continue
        first, second = read_pixels(episode, frame), read_pixels(episode, frame + 1)
        if isinstance(first, str) or isinstance(second, str):
            unread = first if isinstance(first, str) else str(second)
            continue
        flow = flow_between(first, second)
        if flow.quality >= QUALITY:
            names += flow_names(flow)
    if not names:
        return unverifiable("unclear", unread or "the pictures cannot be matched")
    listing = ", ".join(dict.fromkeys(names))
    if words.MOTIONS.get(movement, frozenset({movement})) & set(names):
        return Verdict("supported", evidence=f"flow: {listing}", truth=movement, confidence=0.8)
    if unread:  # the movement may be where a picture is missing
        return unverifiable("unclear", f"flow: {listing}; {unread}")
    return Verdict("unsupported", evidence=f"flow: {listing}", truth=names[0], confidence=0.8)


def flow_names(flow: Flow) -> list[str]:
    """Return the names of the movement that a flow shows.

    >>> flow_names(Flow(-0.2, 0.0, 0.0, 1.0)), flow_names(Flow(0.0, 0.0, 0.1, 1.0))
    (['turn right', 'look right'], ['move forward'])
    """
    names = []
    if abs(flow.right) >= TURN_SHARE:
        side = "left" if flow.right > 0 else "right"
        names += [f"turn {side}", f"look {side}"]
    if abs(flow.down) >= TURN_SHARE:
        names.append("look up" if flow.down > 0 else "look down")
    if abs(flow.growth) >= GROWTH:
        names.append("move forward" if flow.growth > 0 else "move backward")
    return names or ["stop"]


def open_ego_motion(text: str) -> EgoMotionVerifier:
    """Open ``ego-motion``, or ``ego-motion:flow`` to ignore poses."""
    options = VerifierOptions.read(text, "ego-motion", ())
    is_flow = options.target == "flow"
    return EgoMotionVerifier("ego-motion:flow" if is_flow else "ego-motion", uses_poses=not is_flow)


@dataclass(frozen=True, slots=True)
class Flow:
    """A common shift and a growth, with the quality of the fit."""

    right: float
    """Shift of the content to the right, as a share of the width."""
    down: float
    """Shift downward, as a share of the height."""
    growth: float
    """Relative growth: 0.1 is ten per cent."""
    quality: float
    """The share of textured blocks that follow the fit."""


def flow_between(first: Pixels, second: Pixels) -> Flow:
    """Return the flow from one picture to the next; its quality is 0 if too little can be matched."""
    a, b = _small(first), _small(second)
    if a.shape != b.shape:
        return Flow(0.0, 0.0, 0.0, 0.0)
    coarse = _shift(a, b)
    centres, shifts = [], []
    n_textured = 0
    for top in range(0, a.shape[0] - BLOCK_PX + 1, BLOCK_PX // 2):
        for left in range(0, a.shape[1] - BLOCK_PX + 1, BLOCK_PX // 2):
            block = a[top : top + BLOCK_PX, left : left + BLOCK_PX]
            if block.std() < 4:
                continue
            n_textured += 1
            shift = _match(block, b, top, left, coarse)
            if shift is not None:
                centres.append((left + BLOCK_PX / 2 - a.shape[1] / 2, top + BLOCK_PX / 2 - a.shape[0] / 2))
                shifts.append(shift)
    if n_textured < 4 or len(shifts) < 4:
        return Flow(0.0, 0.0, 0.0, 0.0)
    return _fitted(np.array(centres), np.array(shifts), a.shape, n_textured)


def _small(pixels: Pixels) -> NDArray[np.float64]:
    from PIL import Image

    image = Image.fromarray(pixels).convert("L")
    height = max(BLOCK_PX, round(WIDTH_PX * image.height / image.width))
    return np.asarray(image.resize((WIDTH_PX, height), Image.Resampling.BOX), np.float64)


def _shift(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[int, int]:
    """Return the shift of whole pictures, in rows and columns, by phase correlation with a Hann window."""
    window = np.outer(np.hanning(a.shape[0]), np.hanning(a.shape[1]))
    product = np.conj(np.fft.rfft2((a - a.mean()) * window)) * np.fft.rfft2((b - b.mean()) * window)
    peak = np.fft.irfft2(product / np.maximum(np.abs(product), 1e-9), a.shape)
    row, column = np.unravel_index(int(peak.argmax()), peak.shape)
    rows, columns = a.shape
    return int((row + rows // 2) % rows - rows // 2), int((column + columns // 2) % columns - columns // 2)


def _match(
    block: NDArray[np.float64], other: NDArray[np.float64], top: int, left: int, coarse: tuple[int, int]
) -> tuple[float, float] | None:
    """Return the shift of a block, near the common shift or near zero, with the highest normalised correlation."""
    best, where = 0.6, None
    plain = (block - block.mean()) / (block.std() + 1e-9)
    for down0, right0 in {coarse, (0, 0)}:
        for down in range(down0 - 6, down0 + 7):
            for right in range(right0 - 8, right0 + 9):
                y, x = top + down, left + right
                if y < 0 or x < 0 or y + BLOCK_PX > other.shape[0] or x + BLOCK_PX > other.shape[1]:
                    continue
                patch = other[y : y + BLOCK_PX, x : x + BLOCK_PX]
                likeness = float((plain * (patch - patch.mean())).mean() / (patch.std() + 1e-9))
                if likeness > best:
                    best, where = likeness, (float(right), float(down))
    return where


def _fitted(
    centres: NDArray[np.float64], shifts: NDArray[np.float64], shape: tuple[int, ...], n_textured: int
) -> Flow:
    """Fit shift = common + growth · centre by least squares, repeated on the inliers."""
    keep = np.ones(len(centres), bool)
    answer = np.zeros(3)
    for _ in range(3):
        ones, zeros = np.ones(keep.sum()), np.zeros(keep.sum())
        system = np.vstack(
            [
                np.column_stack([ones, zeros, centres[keep, 0]]),
                np.column_stack([zeros, ones, centres[keep, 1]]),
            ]
        )
        answer, *_ = np.linalg.lstsq(system, np.concatenate([shifts[keep, 0], shifts[keep, 1]]), rcond=None)
        off = shifts - (answer[:2] + answer[2] * centres)
        closest = np.hypot(off[:, 0], off[:, 1])
        keep = closest <= max(2.0, float(np.median(closest)))
        if keep.sum() < 4:
            break
    follows = float((closest <= 2.0).sum()) / n_textured
    return Flow(float(answer[0]) / shape[1], float(answer[1]) / shape[0], float(answer[2]), follows)
