"""A verifier that uses an object detector: objects, their number, their places in the picture, their colours.

An object that is not found refutes a claim only if the lower confidence limit of the detector's recall for that class is
high; otherwise the verdict is ``low recall``. Without a recall calibration, absence refutes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention, Verdict
from theodolite.instruments.trace.verifiers.annotation import AnnotationVerifier
from theodolite.instruments.trace.verifiers.detection import (
    Detection,
    Detector,
    hue_of,
    open_detector,
    read_pixels,
    read_recall,
)
from theodolite.instruments.trace.verifiers.judging import VerifierOptions, negated, unverifiable
from theodolite.worlds.episodes import Episode, Frame, SceneObject

TRUSTED_RECALL = 0.9
_JUDGED = frozenset({"entity", "count", "attribute", "spatial"})


@dataclass(frozen=True, slots=True)
class DetectorVerifier:
    """Detects objects frame by frame, then judges by their geometry."""

    name: str
    detector: Detector
    threshold: float = 0.4
    recall: Mapping[str, float] = field(default_factory=dict)
    """The lower limit of each class's recall; other classes are not trusted."""
    trusted: float = TRUSTED_RECALL

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim. Each frame is read once and not kept."""
        wanted = {f for c in claims for f in (c.frames or range(len(episode.frames))) if c.kind in _JUDGED}
        seen = episode_as_seen(episode, self.detector, self.threshold, wanted)
        geometry = AnnotationVerifier()
        return [self._judge(claim, seen, geometry) for claim in claims]

    def _judge(self, claim: Claim, seen: Episode, geometry: AnnotationVerifier) -> Verdict:
        if claim.kind not in _JUDGED:
            return unverifiable("complex", f"a detector cannot judge {claim.kind} claims")
        for said in (claim.subject, claim.object):
            if said is None or said.head in words.FIRST_PERSON | {"picture"}:
                continue
            if not any(words.may_mean(said.head, label) for label in self.detector.labels):
                return unverifiable("out of vocabulary", f"no label of the detector means {said.head!r}")
        frames = claim.frames or tuple(range(len(seen.frames)))
        looked_at = [seen.frames[f] for f in frames if f < len(seen.frames)]
        unread = [str(frame.state["unread"]) for frame in looked_at if "unread" in frame.state]
        if len(unread) == len(looked_at):
            return unverifiable("unclear", unread[0] if unread else "it has no frames")
        plain = replace(claim, is_negated=False)
        verdict = geometry.verify([plain], seen)[0]
        if verdict.label == "unsupported":
            doubtful = self._doubtful(claim, verdict, looked_at)
            if unread:  # the claim may hold at a frame that could not be read
                verdict = unverifiable("unclear", unread[0])
            elif doubtful:
                heads = " and ".join(dict.fromkeys(said.head for said in doubtful))
                verdict = unverifiable("low recall", f"not found, and often missed: {heads}")
        return negated(verdict) if claim.is_negated else verdict

    def _doubtful(self, claim: Claim, verdict: Verdict, frames: Sequence[Frame]) -> list[Mention]:
        """The mentions that were not found and that the detector may have missed; empty if the refutation stands.

        One object that is certainly absent refutes a claim about it and another.
        """
        too_few = (
            claim.kind == "count" and verdict.truth.isdigit() and int(verdict.truth) < int(claim.predicate)
        )
        if verdict.truth != "absent" and not too_few:
            return []
        named = [
            m for m in (claim.subject, claim.object) if m is not None and m.head not in words.FIRST_PERSON
        ]
        labels = {thing.category for frame in frames for thing in frame.objects}
        missing = [m for m in named if not any(words.may_mean(m.head, label) for label in labels)]
        if missing:
            return [] if any(self._is_trusted(m) for m in missing) else missing
        return [m for m in named if not self._is_trusted(m)]  # found, but with other attributes

    def _is_trusted(self, said: Mention) -> bool:
        known = [low for label, low in self.recall.items() if words.is_a(said.head, label)]
        return bool(known) and min(known) >= self.trusted


def episode_as_seen(
    episode: Episode, detector: Detector, threshold: float, frames: Iterable[int] | None = None
) -> Episode:
    """The episode with the objects that a detector finds, and nothing else.

    Frames that are not wanted, have no picture or cannot be read are empty; ``state["unread"]`` says why.
    """
    wanted = set(range(len(episode.frames))) if frames is None else set(frames)
    seen = []
    for i, frame in enumerate(episode.frames):
        pixels = read_pixels(episode, i) if i in wanted else f"frame {i + 1} was not looked at"
        if isinstance(pixels, str):
            seen.append(
                Frame(frame.time_s, size_px=frame.size_px, state={"unread": pixels}, number=frame.number)
            )
            continue
        size = (pixels.shape[1], pixels.shape[0])
        found = detector.detect(pixels, threshold)
        things = tuple(_thing(d, k, pixels) for k, d in enumerate(found))
        seen.append(Frame(frame.time_s, None, size, things, number=frame.number))
    return replace(
        episode,
        frames=tuple(seen),
        actions=(),
        known={"objects": "complete", "boxes": "complete", "attributes": "partial"},
        vocabulary={"objects": tuple(detector.labels)},
    )


def _thing(found: Detection, number: int, pixels: np.ndarray) -> SceneObject:
    colour = hue_of(pixels, found.box)
    return SceneObject(
        f"{found.label}-{number}", found.label, found.box, attributes={"colour": colour} if colour else {}
    )


def open_detector_verifier(text: str) -> DetectorVerifier:
    """Opens ``detector:PATH?threshold=0.4&recall=FILE&trusted=0.9``."""
    options = VerifierOptions.read(text, "detector", ("threshold", "recall", "trusted"))
    file = options.settings.get("recall")
    detector, threshold = open_detector(options.target), options.number("threshold", 0.4)
    return DetectorVerifier(
        f"detector:{text}",
        detector,
        threshold,
        read_recall(Path(file), identity=detector.identity, threshold=threshold) if file else {},
        options.number("trusted", TRUSTED_RECALL),
    )
