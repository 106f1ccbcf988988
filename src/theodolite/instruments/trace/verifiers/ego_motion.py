"""The verifier of one's own movements: by poses where they are logged, else by the flow of the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from theodolite.instruments.trace.claims.types import Claim, Verdict
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.verifiers.annotation import AnnotationVerifier
from theodolite.instruments.trace.verifiers.flow import Flow, flow_between
from theodolite.instruments.trace.verifiers.options import VerifierOptions
from theodolite.instruments.trace.verifiers.scene_state import unverifiable

TURN_SHARE, GROWTH, QUALITY = 0.02, 0.015, 0.4
"""What shifts by less of the width, or grows by less, does not turn and does not go; with less quality nothing is said."""


@dataclass(frozen=True, slots=True)
class EgoMotionVerifier:
    """Judges *I turn left*, *I move forward*, *I look up*; nothing else."""

    name: str = "ego-motion"
    uses_poses: bool = True

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim."""
        return [self._judge(claim, episode) for claim in claims]

    def _judge(self, claim: Claim, episode: Episode) -> Verdict:
        if claim.kind != "ego-motion":
            return unverifiable("complex", f"ego-motion does not tell of {claim.kind}")
        frames = [f for f in claim.frames if 0 <= f < len(episode.frames)] or list(range(len(episode.frames)))
        if self.uses_poses and any(episode.frames[f].pose is not None for f in frames):
            bare = replace(episode, actions=(), known={"poses": "complete"})
            return AnnotationVerifier().verify([claim], bare)[0]
        verdict = _by_flow(claim.predicate, episode, frames)
        if not claim.is_negated or verdict.label == "unverifiable":
            return verdict
        return replace(verdict, label="unsupported" if verdict.label == "supported" else "supported")


def _by_flow(said: str, episode: Episode, frames: Sequence[int]) -> Verdict:
    """Each of the frames against the next; any that shows the movement supports it."""
    names: list[str] = []
    last = len(episode.frames) - 1
    for frame in frames if last not in frames or len(frames) > 1 else [last - 1]:
        if not 0 <= frame < last:
            continue
        first, second = episode.frames[frame].picture, episode.frames[frame + 1].picture
        if first is None or second is None:
            continue
        flow = flow_between(first.pixels(), second.pixels())
        if flow.quality >= QUALITY:
            names += flow_names(flow)
    if not names:
        return unverifiable("unclear", "the pictures cannot be matched")
    told = ", ".join(dict.fromkeys(names))
    if said in names:
        return Verdict("supported", evidence=f"flow: {told}", truth=said, confidence=0.8)
    return Verdict("unsupported", evidence=f"flow: {told}", truth=names[0], confidence=0.8)


def flow_names(flow: Flow) -> list[str]:
    """What a flow may be called.

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
    """The plug-in's target: ``ego-motion``, or ``ego-motion:flow`` to leave the poses aside."""
    options = VerifierOptions.read(text, "ego-motion", ())
    is_flow = options.target == "flow"
    return EgoMotionVerifier("ego-motion:flow" if is_flow else "ego-motion", uses_poses=not is_flow)
