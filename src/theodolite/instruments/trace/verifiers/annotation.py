"""The reference verifier: claims against annotations, by the geometry of boxes, poses and intervals.

A claim is supported if the annotations show it at any of its frames, unsupported if they show that it is not so, and
unverifiable otherwise, with the reason. Absence refutes only where the aspect is known completely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Verdict
from theodolite.instruments.trace.data.episode import Aspect, Episode, SceneObject
from theodolite.instruments.trace.verifiers.events import action_verdict, motion_verdict, temporal_verdict
from theodolite.instruments.trace.verifiers.layout import spatial_verdict
from theodolite.instruments.trace.verifiers.scene_state import Memory, Scene, unverifiable

_THE_FRAME = frozenset({"picture", "photo"})
"""Words for what is looked at, *a ball in the picture*, that may also name a thing on a wall."""


@dataclass(frozen=True, slots=True)
class AnnotationVerifier:
    """Judges by what the episode says of itself."""

    name: str = "annotation"

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim; see `Verifier`."""
        memory: Memory = {}
        return [self._judge(claim, Scene.of(claim, episode, memory)) for claim in claims]

    @staticmethod
    def _judge(claim: Claim, scene: Scene) -> Verdict:
        verdict = _JUDGES[claim.kind](replace(claim, is_negated=False), scene)
        return _turned(verdict) if claim.is_negated else verdict


def open_annotation(options: str = "") -> AnnotationVerifier:
    """The plug-in's target."""
    if options:
        raise UsageError(f"the verifier 'annotation' takes no options, got {options!r}")
    return AnnotationVerifier()


def _turned(verdict: Verdict) -> Verdict:
    """The verdict on the denial of what was judged."""
    label = {"supported": "unsupported", "unsupported": "supported"}.get(verdict.label, verdict.label)
    return replace(verdict, label=label)  # type: ignore[arg-type]  # one of the three labels


def _entity(claim: Claim, scene: Scene) -> Verdict:
    """There is such a thing, with the looks that are named, in one of the frames."""
    if claim.subject.head in _THE_FRAME and not scene.ids(claim.subject):
        return unverifiable("abstract", "none is listed; the frame itself may be meant")
    missing = scene.missing(claim.subject)
    if missing is not None:
        return missing
    if claim.subject.head in words.FIRST_PERSON:
        return Verdict("supported", evidence="who sees is there", truth="present")
    shown = scene.visible(claim.subject)
    if shown:
        return Verdict("supported", evidence=_named(shown), truth="present")
    if scene.episode.knows("objects") == "complete":
        return Verdict("unsupported", evidence="none is in view", truth="absent")
    return unverifiable("occluded", "it is listed, but not at these frames")


def _count(claim: Claim, scene: Scene) -> Verdict:
    """So many of them, in the frame that shows most of them."""
    if scene.episode.knows("objects") == "none":
        return unverifiable("out of vocabulary", "nothing is known of objects")
    said = int(claim.predicate)
    most = max((len(scene.visible_at(claim.subject, frame)) for frame in scene.frames), default=0)
    if most == said:
        return Verdict("supported", evidence=f"{most} are in view", truth=str(most))
    if most > said or scene.episode.knows("objects") == "complete":
        return Verdict("unsupported", evidence=f"{most} are in view", truth=str(most))
    return unverifiable("low recall", f"{most} are annotated, others may be there")


def _quality(
    claim: Claim, scene: Scene, aspect: Aspect, value: Callable[[SceneObject], str | None], said: str
) -> Verdict:
    """Whether a thing that is so called has a value, an attribute's or a state's."""
    things = scene.visible(claim.subject) or scene.known(claim.subject)
    if not things:
        return scene.missing(claim.subject) or Verdict(
            "unsupported", evidence="there is no such thing", truth="absent"
        )
    values = [found for thing in things if (found := value(thing)) is not None]
    if not values:
        return unverifiable("out of vocabulary", f"its {aspect} are not annotated")
    if said in values:
        return Verdict("supported", evidence=_named(things), truth=said)
    return Verdict("unsupported", evidence=_named(things), truth=values[0])


def _attribute(claim: Claim, scene: Scene) -> Verdict:
    said = {"gray": "grey", "golden": "gold", "wood": "wooden"}.get(claim.predicate, claim.predicate)
    name = words.ATTRIBUTES.get(claim.predicate, "")

    def value(thing: SceneObject) -> str | None:
        found = thing.attributes.get(name, thing.attributes.get({"colour": "color"}.get(name, name)))
        return {"gray": "grey", "golden": "gold", "wood": "wooden"}.get(found or "", found)

    return _quality(claim, scene, "attributes", value, said)


def _state(claim: Claim, scene: Scene) -> Verdict:
    name, holds = words.STATES.get(claim.predicate, (claim.predicate, True))

    def value(thing: SceneObject) -> str | None:
        found = thing.states.get(name)
        return None if found is None else ("" if found else "not ") + name

    return _quality(claim, scene, "states", value, ("" if holds else "not ") + name)


def _named(things: Sequence[SceneObject]) -> str:
    return ", ".join(sorted({thing.id for thing in things})[:4])


_JUDGES: dict[ClaimKind, Callable[[Claim, Scene], Verdict]] = {
    "entity": _entity,
    "count": _count,
    "attribute": _attribute,
    "state": _state,
    "spatial": spatial_verdict,
    "action": action_verdict,
    "temporal": temporal_verdict,
    "ego-motion": motion_verdict,
}
