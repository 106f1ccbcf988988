"""The reference verifier: judges claims by annotations and the geometry of boxes, poses and intervals.

A claim is supported if the annotations show it at any of its frames, unsupported if they show the contrary, and unverifiable
otherwise. Absence refutes only if the aspect is known completely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Mention, Verdict
from theodolite.instruments.trace.verifiers.events import action_verdict, motion_verdict, temporal_verdict
from theodolite.instruments.trace.verifiers.judging import unverifiable
from theodolite.instruments.trace.verifiers.places import spatial_verdict
from theodolite.instruments.trace.verifiers.quantities import (
    comparison_verdict,
    count_verdict,
    identity_verdict,
    judged,
)
from theodolite.instruments.trace.verifiers.scene import Memory, Scene
from theodolite.worlds.english import with_article
from theodolite.worlds.episodes import Aspect, Episode, SceneObject

_THE_FRAME = frozenset({"picture", "photo"})
"""Words for the frame itself (*a ball in the picture*) that may also name an object on a wall."""


@dataclass(frozen=True, slots=True)
class AnnotationVerifier:
    """Judges by the annotations of the episode."""

    name: str = "annotation"
    judges_typed: ClassVar[bool] = True
    """It judges quantities, *remains*, *between* and the like; see `is_typed`."""

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim; see `Verifier`."""
        memory: Memory = {}
        return [self._judge(claim, Scene.of(claim, episode, memory)) for claim in claims]

    @staticmethod
    def _judge(claim: Claim, scene: Scene) -> Verdict:
        def plainly(plain: Claim, where: Scene) -> Verdict:
            return _if_certain(_JUDGES[plain.kind](plain, where), plain, where)

        return _if_certain(judged(claim, scene, plainly), claim, scene)


def _if_certain(verdict: Verdict, claim: Claim, scene: Scene) -> Verdict:
    """The verdict, unless it supports a *woman* by what is only known to be a *person*, or a *blue* chair by any chair."""
    if verdict.label != "supported":
        return verdict
    said = [m for m in (claim.subject, claim.object) if m is not None]
    said += [Mention(m.object) for m in said if m.object]
    for mention in said:
        label = scene.wider_label(mention)
        if label:
            why = f"what is annotated as {label} need not be {with_article(mention.head)}"
            return unverifiable("out of vocabulary", why)
        word = scene.unannotated(mention)
        if word:
            return unverifiable("out of vocabulary", f"whether it is {word} is not annotated")
    return verdict


def open_annotation(options: str = "") -> AnnotationVerifier:
    """Opens ``annotation``."""
    if options:
        raise UsageError(f"the verifier 'annotation' takes no options, got {options!r}")
    return AnnotationVerifier()


def _entity(claim: Claim, scene: Scene) -> Verdict:
    """An object with the named attributes is visible at one of the frames."""
    if claim.subject.head in _THE_FRAME and not scene.ids(claim.subject):
        return unverifiable("abstract", "none is listed, and the frame itself may be meant")
    missing = scene.missing(claim.subject)
    if missing is not None:
        return missing
    if claim.subject.head in words.FIRST_PERSON:
        return Verdict("supported", evidence="the observer is there", truth="present")
    shown = scene.visible(claim.subject)
    if shown:
        return Verdict("supported", evidence=_named(shown), truth="present")
    if scene.episode.knows("objects") == "complete":
        return Verdict("unsupported", evidence="none is in view", truth="absent")
    return unverifiable("occluded", "it is listed, but not visible at these frames")


def _quality(
    claim: Claim, scene: Scene, aspect: Aspect, value: Callable[[SceneObject], str | None], said: str
) -> Verdict:
    """Whether an object of that name has a value of an attribute or a state."""
    things = scene.visible(claim.subject) or scene.known(claim.subject)
    if not things:
        return scene.missing(claim.subject) or Verdict(
            "unsupported", evidence="there is no such object", truth="absent"
        )
    values = [found for thing in things if (found := value(thing)) is not None]
    if not values:
        return unverifiable("out of vocabulary", f"its {aspect} are not annotated")
    if said in values or (aspect == "attributes" and any(words.is_a(found, said) for found in values)):
        return Verdict("supported", evidence=_named(things), truth=said)
    if aspect == "attributes" and any(words.is_a(said, found) for found in values):
        return unverifiable("out of vocabulary", f"annotated as {values[0]}, which is wider")
    return Verdict("unsupported", evidence=_named(things), truth=values[0])


def _attribute(claim: Claim, scene: Scene) -> Verdict:
    name = words.ATTRIBUTES.get(claim.predicate, "")

    def value(thing: SceneObject) -> str | None:
        found = thing.attributes.get(name, thing.attributes.get({"colour": "color"}.get(name, name)))
        return None if found is None else words.same_attribute(found)

    return _quality(claim, scene, "attributes", value, words.same_attribute(claim.predicate))


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
    "count": count_verdict,
    "attribute": _attribute,
    "state": _state,
    "spatial": spatial_verdict,
    "action": action_verdict,
    "temporal": temporal_verdict,
    "ego-motion": motion_verdict,
    "comparison": comparison_verdict,
    "identity": identity_verdict,
}
