"""The reference verifier: judges claims by annotations and the geometry of boxes, poses and intervals.

A claim is supported if the annotations show it at any of its frames, unsupported if they show the contrary, and unverifiable
otherwise. Absence refutes only if the aspect is known completely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Mention, Verdict
from theodolite.instruments.trace.verifiers.judging import unverifiable
from theodolite.instruments.trace.verifiers.scene import (
    EpisodeView,
    Memory,
    comparison_verdict,
    count_verdict,
    identity_verdict,
    judged,
    spatial_verdict,
)
from theodolite.worlds.english import with_article
from theodolite.worlds.episodes import EGO, Action, Aspect, Episode, FrameObject, Knowledge, Pose

# Judges claims about actions, their order, and the movements of the observer.


TURN_DEG, AROUND_DEG, MOVE_M = 10.0, 135.0, 0.05
"""Smaller turns are no turns; from 135° on one turns around; smaller movements are none."""


def action_verdict(claim: Claim, scene: EpisodeView) -> Verdict:
    """Return the verdict on an action, or on possession (*the man has a beard*)."""
    if (
        claim.other is not None
    ):  # *gives the cup to the boy*: refuted by less, but confirmed only with the boy
        alone = action_verdict(replace(claim, other=None), scene)
        if alone.label != "supported" or _is_with(claim, claim.other, scene):
            return alone
        return unverifiable("complex", f"{claim.other} is not annotated with {claim.predicate!r}")
    return _possession(claim, scene) if claim.predicate == "have" else _plain_action(claim, scene)


def _is_with(claim: Claim, other: Mention, scene: EpisodeView) -> bool:
    return any(
        _is(action.verb, claim.predicate)
        and _fits(action, claim, scene)
        and any(_names(other, o, scene) for o in action.objects)
        for action in scene.episode.actions_at(scene.frames)
    )


def _plain_action(claim: Claim, scene: EpisodeView) -> Verdict:  # noqa: PLR0911 - one return per outcome
    """Support a claim if an annotated action, relation or motion at these frames matches.

    Otherwise the claim is unsupported if actions are known completely, and unverifiable if they are not.
    """
    episode, claim = scene.episode, _of_picture(claim)
    for mention in (claim.subject, claim.object):
        missing = _lost(mention, scene)
        if missing is not None:
            return missing
    happening = episode.actions_at(scene.frames)
    for action in happening:
        if _is(action.verb, claim.predicate) and _fits(action, claim, scene):
            return Verdict("supported", evidence=action.label or _told(action), truth=claim.predicate)
    related = _related(claim, scene)
    if related is not None:
        return related
    wider = next(
        (a for a in happening if _is_wider(a.verb, claim.predicate) and _fits(a, claim, scene)), None
    )
    if wider is not None:
        return unverifiable("out of vocabulary", f"annotated as {wider.verb!r}, which is wider")
    if claim.predicate.split()[0] in words.INNER_VERBS:
        return unverifiable("abstract", f"no frame shows {claim.predicate!r}")
    truth = next((a.verb for a in happening if _fits(a, claim, scene, object_too=False)), "nothing")
    if episode.knows("actions") == "complete":
        return Verdict("unsupported", evidence=f"what happens: {truth}", truth=truth)
    return _unlisted(claim, episode)


def _unlisted(claim: Claim, episode: Episode) -> Verdict:
    """Return the verdict on an action that is not annotated, where actions are not known completely."""
    if episode.knows("actions") == "none" and episode.knows("relations") == "none":
        return unverifiable("out of vocabulary", "actions are not annotated")
    labels = (*episode.vocabulary.get("actions", ()), *episode.vocabulary.get("relations", ()))
    if labels and not any(
        _is(label, claim.predicate) or _is_wider(label, claim.predicate) for label in labels
    ):
        return unverifiable("out of vocabulary", f"no label means {claim.predicate!r}")
    return unverifiable("low recall", f"{claim.predicate!r} is not annotated, but may happen")


def _possession(claim: Claim, scene: EpisodeView) -> Verdict:
    """Support a claim by an annotated relation; refute it only if the object is known to be absent."""
    for mention in (claim.subject, claim.object):
        missing = _lost(mention, scene)
        if missing is not None:
            return missing
    return _related(claim, scene) or unverifiable("complex", "what belongs to what is not annotated")


def _of_picture(claim: Claim) -> Claim:
    """Return the same claim with *scene*, *view* and *frame* as *picture*, and *come into* as *enter*.

    >>> str(_of_picture(Claim("action", Mention("ball"), "come", Mention("view"))))
    'action: ball enter picture'
    """
    if claim.object is None or claim.object.head not in words.PICTURES:
        return claim
    verb = "enter" if claim.predicate == "come" else claim.predicate
    return replace(claim, predicate=verb, object=replace(claim.object, head="picture"))


def _lost(mention: Mention | None, scene: EpisodeView) -> Verdict | None:
    """Return the verdict if the mention refers to nothing; None if it does, is empty, or is out of vocabulary."""
    if mention is None or not mention.head:
        return None
    missing = scene.missing(mention)
    if missing is None or missing.label == "unsupported":
        return missing
    return None if missing.reason == "out of vocabulary" else missing


def _is(label: str, verb: str) -> bool:
    """Return True if an annotated verb matches: *picking up* is *pick up*, *take the cup* is *take*, *carrying* is *hold*."""
    forms = _forms(label)
    return any(words.is_a(form, verb) for form in forms) and not any(
        words.OPPOSITES.get(form) == verb for form in forms
    )


def _is_wider(label: str, verb: str) -> bool:
    """Return True if the verb of a claim is narrower than an annotated one: *carry* than *holding*."""
    return not _is(label, verb) and any(words.is_a(verb, form) for form in _forms(label))


def _forms(label: str) -> set[str]:
    plain = label.replace("_", " ").casefold()
    first = plain.split()[0]
    return {plain, *(stem + plain[len(first) :] for stem in stems(first)), *stems(first)}


def stems(word: str) -> set[str]:
    """Return the possible stems of an -ing form.

    >>> sorted(stems("putting"))
    ['put', 'putt', 'putte']
    """
    if not word.endswith("ing") or len(word) < 5:
        return {word}
    stem = word[:-3]
    candidates = {stem, stem + "e"}
    if len(stem) > 2 and stem[-1] == stem[-2]:
        candidates.add(stem[:-1])
    if stem == "ly":
        candidates = {"lie"}
    return candidates


def _fits(action: Action, claim: Claim, scene: EpisodeView, *, object_too: bool = True) -> bool:
    if claim.subject.head and not _names(claim.subject, action.subject, scene):
        return False
    if not object_too or claim.object is None:
        return True
    return any(_names(claim.object, other, scene) for other in action.objects) or not action.objects


def _names(mention: Mention, object_id: str, scene: EpisodeView) -> bool:
    """Return True if a mention may refer to the object with this id."""
    if object_id == EGO:
        return mention.head in words.OBSERVER
    return mention.head not in words.FIRST_PERSON and object_id in scene.ids(mention)


def _related(claim: Claim, scene: EpisodeView) -> Verdict | None:
    """Return the verdict by relations and states: *holding*, *wearing*, *moving*; None if they do not decide.

    A posture refutes the others: someone who is sitting on the bed is not standing.
    """
    posture = ""
    for frame in scene.frames:
        for held in scene.episode.frames[frame].relations:
            fits = _names(claim.subject, held.subject, scene) if claim.subject.head else True
            if claim.object is not None:
                fits = fits and _names(claim.object, held.object, scene)
            if _names(claim.subject, held.subject, scene) and any(
                words.excludes(form, claim.predicate) for form in _forms(held.predicate)
            ):
                posture = f"{held.subject} {held.predicate} {held.object}"
            if fits and _is(held.predicate, claim.predicate):
                return Verdict(
                    "supported",
                    evidence=f"{held.subject} {held.predicate} {held.object}",
                    truth=claim.predicate,
                )
    if posture:
        return Verdict("unsupported", evidence=posture, truth="not " + claim.predicate)
    return _by_motion(claim, scene) if claim.object is None else None


def _by_motion(claim: Claim, scene: EpisodeView) -> Verdict | None:
    """Judge *moves* and *rests* by the state; *rolls* is refuted by rest, but movement does not support it."""
    motion = next((verb for verb in ("move", "rest") if words.may_mean(claim.predicate, verb)), None)
    known = {t.states["moving"] for t in scene.visible(claim.subject) if "moving" in t.states}
    if motion is None or not known:
        return None
    if (motion == "move") not in known:
        return Verdict("unsupported", evidence="by its motion", truth="rest" if motion == "move" else "move")
    if not words.is_a(motion, claim.predicate):
        return unverifiable("out of vocabulary", f"annotated as {motion!r}, which is wider")
    return Verdict("supported", evidence="by its motion", truth=claim.predicate)


def _told(action: Action) -> str:
    return " ".join((action.subject, action.verb, *action.objects))


def temporal_verdict(claim: Claim, scene: EpisodeView) -> Verdict:
    """Judge the order of two events by their annotated beginnings; *while* by overlap.

    If there are several instances of an event, any pair may support the claim.
    """
    episode = scene.episode
    if claim.object is None:
        return unverifiable("complex", "the second event is not named")
    if episode.knows("actions") == "none":
        return unverifiable("out of vocabulary", "actions are not annotated")
    first, second = (list(_instances(event, scene)) for event in (claim.subject, claim.object))
    if not first or not second:
        lacking = claim.subject if not first else claim.object
        if episode.knows("actions") == "complete":
            return Verdict("unsupported", evidence=f"{lacking} does not happen", truth="absent")
        return unverifiable("low recall", f"{lacking} is not annotated")
    orders = {_order(a, b) for a in first for b in second}
    if claim.predicate in orders:
        return Verdict("supported", evidence="by their beginnings", truth=claim.predicate)
    return Verdict("unsupported", evidence="by their beginnings", truth=min(orders))


def _order(first: Action, second: Action) -> str:
    if first.start_s <= second.end_s and second.start_s <= first.end_s and first.start_s < first.end_s:
        if first.start_s == second.start_s:
            return "while"
        is_long = min(first.end_s, second.end_s) - max(first.start_s, second.start_s) > 0
        if is_long:
            return "while"
    return "before" if first.start_s < second.start_s else "after"


def _instances(event: Mention, scene: EpisodeView) -> Iterator[Action]:
    """Yield the actions that an event may refer to."""
    who = Mention(event.head, event.attributes)
    for action in scene.episode.actions:
        if not event.verb or not _is(action.verb, event.verb):
            continue
        if (
            event.head
            and event.head not in words.PRONOUNS - words.FIRST_PERSON
            and not _names(who, action.subject, scene)
        ):
            continue
        done_to = Mention(event.object)
        known = event.object and event.object not in words.PRONOUNS and action.objects
        if known and not any(_names(done_to, other, scene) for other in action.objects):
            continue
        yield action


def motion_verdict(claim: Claim, scene: EpisodeView) -> Verdict:
    """Judge a movement of the observer. *I walk past the table* is refuted by the motion, but not confirmed by it alone."""
    verdict = _plain_motion(claim, scene)
    if claim.object is not None and verdict.label == "supported":
        return unverifiable("complex", f"the way past {claim.object} is not known")
    return verdict


def _plain_motion(claim: Claim, scene: EpisodeView) -> Verdict:
    """Judge a movement of the observer by logged actions or poses.

    A frame covers the time until the next one: the movement at frames a … b is that from frame a to b + 1, step by step; at
    the last frame it is the movement to that frame.
    """
    episode = scene.episode
    own = [a for a in episode.actions_at(scene.frames) if a.subject == EGO]
    movement = claim.predicate
    meant = words.MOTIONS.get(movement, frozenset({movement}))
    if any(a.verb in meant for a in own):
        return Verdict("supported", evidence="logged", truth=movement)
    moves = list(_moves(scene))
    if not moves:
        if episode.knows("actions") == "complete":
            truth = own[0].verb if own else "stop"
            return Verdict("unsupported", evidence="logged", truth=truth)
        return unverifiable("out of vocabulary", "there are no poses at these frames")
    names = [name for a, b in moves for name in motion_between(a, b)]
    total = motion_between(moves[0][0], moves[-1][1])
    if meant & {*names, *total}:
        return Verdict("supported", evidence=f"poses: {', '.join(dict.fromkeys(names))}", truth=movement)
    if movement.startswith("go ") and abs(moves[0][0].z_m - moves[-1][1].z_m) < MOVE_M:
        return Verdict("unsupported", evidence="the height does not change", truth="stop")
    return Verdict("unsupported", evidence=f"poses: {', '.join(dict.fromkeys(names))}", truth=names[0])


def _moves(scene: EpisodeView) -> Iterator[tuple[Pose, Pose]]:
    frames = scene.episode.frames
    first, last = min(scene.frames), max(scene.frames)
    pairs = [(i, i + 1) for i in range(first, last + 1) if i + 1 < len(frames)] or [(last - 1, last)]
    for a, b in pairs:
        before, after = frames[a].pose if a >= 0 else None, frames[b].pose
        if before is not None and after is not None:
            yield before, after


def motion_between(before: Pose, after: Pose) -> list[str]:
    """Return the names of a movement.

    >>> motion_between(Pose(0, 0, heading_deg=0), Pose(0, 1, heading_deg=-30))
    ['turn left', 'look left', 'move forward']
    """
    names = []
    turn = before.turn_to_deg(after)
    if abs(turn) >= TURN_DEG:
        side = "right" if turn > 0 else "left"
        names += [f"turn {side}", f"look {side}"]
    if abs(turn) >= AROUND_DEG:
        names.append("turn around")
    pitch = after.pitch_deg - before.pitch_deg
    if abs(pitch) >= TURN_DEG:
        names.append("look up" if pitch > 0 else "look down")
    east, north = after.x_m - before.x_m, after.y_m - before.y_m
    if math.hypot(east, north) >= MOVE_M:
        bearings = [
            abs(pose.turn_to_deg(Pose(0, 0, heading_deg=math.degrees(math.atan2(east, north)))))
            for pose in (before, after)
        ]
        signed = before.turn_to_deg(Pose(0, 0, heading_deg=math.degrees(math.atan2(east, north))))
        if min(bearings) <= 60:
            names.append("move forward")
        elif min(bearings) >= 120:
            names.append("move backward")
        else:
            names.append("move right" if signed > 0 else "move left")
    if abs(after.z_m - before.z_m) >= MOVE_M:
        names.append("go up" if after.z_m > before.z_m else "go down")
    return names or ["stop"]


_THE_FRAME = frozenset({"picture", "photo"})
"""Words for the frame itself (*a ball in the picture*) that may also name an object on a wall."""


@dataclass(frozen=True, slots=True)
class AnnotationVerifier:
    """A verifier that judges by the annotations of the episode."""

    is_closed: bool = False
    """Whether what is not listed is taken to be false, though the annotation may not list all that is true."""
    judges_typed: ClassVar[bool] = True
    """It judges quantities, *remains*, *between* and the like; see `is_typed`."""

    @property
    def name(self) -> str:
        """``annotation``, or ``annotation:closed-world``."""
        return f"annotation:{CLOSED_WORLD}" if self.is_closed else "annotation"

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim; see `Verifier`."""
        memory: Memory = {}
        if self.is_closed:
            known: dict[Aspect, Knowledge] = {
                aspect: "complete" if how == "partial" else how for aspect, how in episode.known.items()
            }
            episode = replace(episode, known=known)
        people = People.of(episode)
        return [
            self._judge(claim, EpisodeView.of(claim, episode, memory)) for claim in map(people.meant, claims)
        ]

    @staticmethod
    def _judge(claim: Claim, scene: EpisodeView) -> Verdict:
        def plainly(plain: Claim, where: EpisodeView) -> Verdict:
            return _if_certain(_JUDGES[plain.kind](plain, where), plain, where)

        return _if_certain(judged(claim, scene, plainly), claim, scene)


def _if_certain(verdict: Verdict, claim: Claim, scene: EpisodeView) -> Verdict:
    """Return the verdict, unless it supports a *woman* where only a *person* is known, or a *blue* chair of unknown colour."""
    if verdict.label != "supported":
        return verdict
    mentions = [m for m in (claim.subject, claim.object) if m is not None]
    mentions += [Mention(m.object) for m in mentions if m.object]
    for mention in mentions:
        label = scene.wider_label(mention)
        if label:
            why = f"what is annotated as {label} need not be {with_article(mention.head)}"
            return unverifiable("out of vocabulary", why)
        word = scene.unannotated(mention)
        if word:
            return unverifiable("out of vocabulary", f"whether it is {word} is not annotated")
    return verdict


@dataclass(frozen=True, slots=True)
class People:
    """The words of an annotation for people.

    Where its vocabulary has one word for all of them (STAR's *person*), that word covers *man* and *woman*, which it cannot tell
    apart; and *he* and *she*, if no one else is listed, though nobody was named before.
    """

    label: str = ""
    """The word for all people; empty if there are several words, or if it is not known which words there are."""
    is_alone: bool = False

    @classmethod
    def of(cls, episode: Episode) -> People:
        """Read the vocabulary and the people of an episode."""
        labels = {w for w in episode.vocabulary.get("objects", ()) if words.is_a(w, "person")}
        if len(labels) != 1:
            return cls()
        listed = {t.id for f in episode.frames for t in f.objects if t.category in labels}
        return cls(labels.pop(), len(listed) == 1)

    def meant(self, claim: Claim) -> Claim:
        """Return the claim in the words of the annotation."""
        if not self.label:
            return claim
        object_, other = (None if m is None else self._called(m) for m in (claim.object, claim.other))
        return replace(claim, subject=self._called(claim.subject), object=object_, other=other)

    def _called(self, mention: Mention) -> Mention:
        is_person = words.is_a(mention.head, "person") or (self.is_alone and mention.head in _ONE_PERSON)
        return replace(mention, head=self.label) if is_person else mention


_ONE_PERSON = frozenset({"he", "she", "him", "her"})

CLOSED_WORLD = "closed-world"


def open_annotation(options: str = "") -> AnnotationVerifier:
    """Open ``annotation``, or ``annotation:closed-world``."""
    if options not in {"", CLOSED_WORLD}:
        raise UsageError(f"the verifier 'annotation' takes no option but {CLOSED_WORLD}, got {options!r}")
    return AnnotationVerifier(is_closed=bool(options))


def _entity(claim: Claim, scene: EpisodeView) -> Verdict:
    """Judge whether an object with the named attributes is visible at one of the frames."""
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
    claim: Claim, scene: EpisodeView, aspect: Aspect, value: Callable[[FrameObject], str | None], word: str
) -> Verdict:
    """Judge whether an object of that name has a value of an attribute or a state."""
    things = scene.visible(claim.subject) or scene.known(claim.subject)
    if not things:
        return scene.missing(claim.subject) or Verdict(
            "unsupported", evidence="there is no such object", truth="absent"
        )
    values = [known for thing in things if (known := value(thing)) is not None]
    if not values:
        return unverifiable("out of vocabulary", f"its {aspect} are not annotated")
    if word in values or (aspect == "attributes" and any(words.is_a(known, word) for known in values)):
        return Verdict("supported", evidence=_named(things), truth=word)
    if aspect == "attributes" and any(words.is_a(word, known) for known in values):
        return unverifiable("out of vocabulary", f"annotated as {values[0]}, which is wider")
    return Verdict("unsupported", evidence=_named(things), truth=values[0])


def _attribute(claim: Claim, scene: EpisodeView) -> Verdict:
    name = words.ATTRIBUTES.get(claim.predicate, "")

    def value(thing: FrameObject) -> str | None:
        known = thing.attributes.get(name, thing.attributes.get({"colour": "color"}.get(name, name)))
        return None if known is None else words.same_attribute(known)

    return _quality(claim, scene, "attributes", value, words.same_attribute(claim.predicate))


def _state(claim: Claim, scene: EpisodeView) -> Verdict:
    name, holds = words.STATES.get(claim.predicate, (claim.predicate, True))

    def value(thing: FrameObject) -> str | None:
        has_state = thing.states.get(name)
        return None if has_state is None else ("" if has_state else "not ") + name

    return _quality(claim, scene, "states", value, ("" if holds else "not ") + name)


def _named(things: Sequence[FrameObject]) -> str:
    return ", ".join(sorted({thing.id for thing in things})[:4])


_JUDGES: dict[ClaimKind, Callable[[Claim, EpisodeView], Verdict]] = {
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
