"""The verifier that follows things from frame to frame: what moves, stops, comes in, goes out, meets another, stays.

Boxes come from a detector, or, with ``tracks:annotation``, from the annotations with all identities forgotten. What a track is
called by is its label, and its colour where it has one plainly.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.articles import with_article
from theodolite.instruments.trace.claims.types import Claim, Label, Mention, Verdict
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.verifiers.detection import Detection, Detector, open_detector
from theodolite.instruments.trace.verifiers.hues import colour_histogram, hue_of
from theodolite.instruments.trace.verifiers.options import VerifierOptions
from theodolite.instruments.trace.verifiers.scene_state import unverifiable
from theodolite.instruments.trace.verifiers.tracking import Track, track_all

MOVE_SHARE, NEAR_SHARE = 0.012, 0.35
"""Of the picture's width: what moves less in a frame rests. Of their mean size: what has a smaller gap meets."""
_MOTIONS = {"move": True, "roll": True, "slide": True, "stop": False, "rest": False, "stand": False}
_COMING = {"enter": True, "appear": True, "come in": True, "leave": False, "disappear": False, "exit": False}
_MEETING = frozenset({"collide", "hit", "bump", "touch", "approach", "strike", "crash"})


@dataclass(frozen=True, slots=True)
class TrackVerifier:
    """Judges what happens to things by their tracks; places and looks are left to others."""

    name: str
    detector: Detector | None = None
    """None: the annotations' boxes."""
    threshold: float = 0.4
    has_looks: bool = False
    """Whether the colours in a box help to tell which track it continues."""

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim; pictures are read one by one, and only if a claim is about what happens."""
        if not any(c.kind in {"action", "state"} for c in claims):
            return [self._judge(claim, [], 1) for claim in claims]
        seen = [self._found(episode, i) for i in range(len(episode.frames))]
        frames = [found for found, _ in seen]
        tracks = track_all(frames, looks=[looks for _, looks in seen] if self.has_looks else None)
        widths = [f.size_px[0] for f in episode.frames if f.size_px is not None]
        return [self._judge(claim, tracks, max(widths, default=640), len(frames)) for claim in claims]

    def _found(self, episode: Episode, index: int) -> tuple[list[Detection], list[NDArray[np.float64]]]:
        """The detections of a frame, and what each looks like; pixels are let go of at once."""
        frame = episode.frames[index]
        if self.detector is None:
            found = [
                Detection(f"{t.attributes.get('colour', '')} {t.category}".strip(), 1.0, t.box)
                for t in frame.objects
                if t.box is not None and t.is_visible
            ]
            if not self.has_looks or frame.picture is None:
                return found, [np.zeros(1) for _ in found]
            pixels = frame.picture.pixels()
        else:
            if frame.picture is None:
                return [], []
            pixels = frame.picture.pixels()
            detected = self.detector.detect(pixels, self.threshold)
            found = [replace(d, label=f"{hue_of(pixels, d.box)} {d.label}".strip()) for d in detected]
        return found, [colour_histogram(pixels, d.box) for d in found]

    def _judge(self, claim: Claim, tracks: Sequence[Track], width: int, n_frames: int = 0) -> Verdict:
        verb = claim.predicate
        if claim.kind == "state" and words.STATES.get(verb, ("", True))[0] == "moving":
            verb = "move" if words.STATES[verb][1] else "rest"
        elif claim.kind != "action":
            return unverifiable("complex", f"tracks do not tell of {claim.kind}")
        if verb not in _MOTIONS | _COMING and verb not in _MEETING:
            return unverifiable("complex", f"tracks do not show {verb!r}")
        mine = [t for t in tracks if is_called(t.label, claim.subject)]
        if not mine:
            return unverifiable("low recall", f"no track is {with_article(str(claim.subject))}")
        frames = claim.frames or tuple(range(n_frames))
        if verb in _MOTIONS:
            verdict = _moving(mine, frames, width, wants=_MOTIONS[verb], said=claim.predicate)
        elif verb in _COMING:
            verdict = _coming(mine, frames, n_frames, wants=_COMING[verb], said=claim.predicate)
        else:
            verdict = _meeting(mine, tracks, frames, claim)
        if not claim.is_negated or verdict.label == "unverifiable":
            return verdict
        return replace(verdict, label="unsupported" if verdict.label == "supported" else "supported")


def is_called(label: str, said: Mention) -> bool:
    """Whether a track's label, perhaps with a colour before it, may be what is meant."""
    colour, _, noun = label.partition(" ")
    if words.ATTRIBUTES.get(colour) != "colour":
        colour, noun = "", label
    hues = [a for a in said.attributes if words.ATTRIBUTES.get(a) == "colour"]
    return words.may_mean(said.head, noun) and (not hues or not colour or colour in hues)


def _steps(track: Track, frames: Sequence[int]) -> list[float]:
    """How far it went from each of some frames to the next one that shows it, in pixels per frame."""
    found = []
    times = sorted(track.boxes)
    for a, b in itertools.pairwise(times):
        if any(a <= f < b for f in frames):
            (x0, y0), (x1, y1) = track.boxes[a].centre_px, track.boxes[b].centre_px
            found.append(float(np.hypot(x1 - x0, y1 - y0)) / (b - a))
    return found


def _moving(tracks: Sequence[Track], frames: Sequence[int], width: int, *, wants: bool, said: str) -> Verdict:
    steps = [step for track in tracks for step in _steps(track, frames)]
    if not steps:
        return unverifiable("occluded", "it is not seen in two frames here")
    moves = max(steps) > MOVE_SHARE * width
    truth = said if moves == wants else ("move" if moves else "rest")
    label: Label = "supported" if moves == wants else "unsupported"
    return Verdict(label, evidence=f"{max(steps):.0f} px a frame", truth=truth, confidence=0.8)


def _coming(
    tracks: Sequence[Track], frames: Sequence[int], n_frames: int, *, wants: bool, said: str
) -> Verdict:
    """A track that begins (or ends) right after one of the frames, and not with the sequence."""
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
        return unverifiable("occluded", "the two are not seen together here")
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
    """The plug-in's target: ``tracks:annotation``, or ``tracks:DETECTOR?threshold=0.4&looks=colours``."""
    options = VerifierOptions.read(text, "tracks", ("threshold", "looks"))
    looks = options.settings.get("looks", "none")
    if looks not in {"none", "colours"}:
        raise UsageError(f"looks is none or colours, got {looks!r}")
    if not options.target:
        raise UsageError("say whose boxes are followed: tracks:annotation, or tracks:FILE.onnx")
    detector = None if options.target == "annotation" else open_detector(options.target)
    return TrackVerifier(f"tracks:{text}", detector, options.number("threshold", 0.4), looks == "colours")
