"""A verifier of the observer's movements: by poses if they are logged, else by the optical flow of the pictures.

Blocks of the first picture are found again in the second by phase correlation: with F, G the transforms of two blocks, the
peak of the inverse transform of F*G/|F*G| lies at the shift. The shifts are fitted by u = a + s·x, v = b + s·y, where (a, b)
is the common shift and s the growth away from the middle, by least squares on the inliers. Turning right moves everything to
the left; going forward makes it grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.types import Pixels
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Verdict
from theodolite.instruments.trace.verifiers.annotation import AnnotationVerifier
from theodolite.instruments.trace.verifiers.detection import read_pixels
from theodolite.instruments.trace.verifiers.judging import VerifierOptions, negated, unverifiable
from theodolite.worlds.episodes import Episode

TURN_SHARE, GROWTH, QUALITY = 0.02, 0.015, 0.4
"""The least shift (share of the width), the least growth, and the least quality that count."""
WIDTH_PX, BLOCK_PX = 160, 40


@dataclass(frozen=True, slots=True)
class EgoMotionVerifier:
    """Judges *I turn left*, *I move forward*, *I look up*, and nothing else."""

    name: str = "ego-motion"
    uses_poses: bool = True

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim."""
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


def _by_flow(said: str, episode: Episode, frames: Sequence[int]) -> Verdict:
    """Compares each frame with the next. Any pair that shows the movement supports it."""
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
    told = ", ".join(dict.fromkeys(names))
    if words.MOTIONS.get(said, frozenset({said})) & set(names):
        return Verdict("supported", evidence=f"flow: {told}", truth=said, confidence=0.8)
    if unread:  # the movement may be where a picture is missing
        return unverifiable("unclear", f"flow: {told}; {unread}")
    return Verdict("unsupported", evidence=f"flow: {told}", truth=names[0], confidence=0.8)


def flow_names(flow: Flow) -> list[str]:
    """The names of a flow.

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
    """Opens ``ego-motion``, or ``ego-motion:flow`` to ignore poses."""
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
    """The flow from one picture to the next; its quality is 0 if too little can be matched."""
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
            found = _match(block, b, top, left, coarse)
            if found is not None:
                centres.append((left + BLOCK_PX / 2 - a.shape[1] / 2, top + BLOCK_PX / 2 - a.shape[0] / 2))
                shifts.append(found)
    if n_textured < 4 or len(shifts) < 4:
        return Flow(0.0, 0.0, 0.0, 0.0)
    return _fitted(np.array(centres), np.array(shifts), a.shape, n_textured)


def _small(pixels: Pixels) -> NDArray[np.float64]:
    from PIL import Image

    image = Image.fromarray(pixels).convert("L")
    height = max(BLOCK_PX, round(WIDTH_PX * image.height / image.width))
    return np.asarray(image.resize((WIDTH_PX, height), Image.Resampling.BOX), np.float64)


def _shift(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[int, int]:
    """The shift of whole pictures, in rows and columns, by phase correlation with a Hann window."""
    window = np.outer(np.hanning(a.shape[0]), np.hanning(a.shape[1]))
    product = np.conj(np.fft.rfft2((a - a.mean()) * window)) * np.fft.rfft2((b - b.mean()) * window)
    peak = np.fft.irfft2(product / np.maximum(np.abs(product), 1e-9), a.shape)
    row, column = np.unravel_index(int(peak.argmax()), peak.shape)
    rows, columns = a.shape
    return int((row + rows // 2) % rows - rows // 2), int((column + columns // 2) % columns - columns // 2)


def _match(
    block: NDArray[np.float64], other: NDArray[np.float64], top: int, left: int, coarse: tuple[int, int]
) -> tuple[float, float] | None:
    """The shift of a block, near the common shift or near zero, with the highest normalised correlation."""
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
    """Least squares of shift = common + growth · centre, repeated on the inliers."""
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
