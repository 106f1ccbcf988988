"""The contents of an episode at the frames of a claim, and the objects that a mention may refer to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention, Verdict
from theodolite.instruments.trace.verifiers.judging import negated, unverifiable
from theodolite.worlds.english import with_article
from theodolite.worlds.episodes import EGO, Episode, Frame, FrameObject, Relation

Memory: TypeAlias = dict[tuple[str, tuple[str, ...], str, int], tuple[FrameObject, ...]]


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """An episode at the frames of one claim."""

    episode: Episode
    frames: tuple[int, ...]
    memory: Memory = field(default_factory=dict, compare=False, repr=False)
    """Earlier lookups, shared by all claims of one call."""

    @classmethod
    def of(cls, claim: Claim, episode: Episode, memory: Memory | None = None) -> EpisodeView:
        """Return an episode at the frames of a claim; at all frames if it has none."""
        n = len(episode.frames)
        inside = tuple(frame for frame in claim.frames if 0 <= frame < n)
        return cls(episode, inside or tuple(range(n)), {} if memory is None else memory)

    def at(self, frame: int) -> EpisodeView:
        """Return the same episode at one frame."""
        return EpisodeView(self.episode, (frame,), self.memory)

    def ids(self, said: Mention) -> frozenset[str]:
        """Return all objects of the episode that a mention may refer to."""
        key = (said.head, said.attributes, said.only, -1)
        if key not in self.memory:
            frames = range(len(self.episode.frames))
            self.memory[key] = tuple(t for frame in frames for t in self.listed_at(said, frame))
        return frozenset(t.id for t in self.memory[key])

    def listed_at(self, said: Mention, frame: int) -> list[FrameObject]:
        """Return the objects that a frame lists and a mention may refer to, visible or not.

        An exact category is preferred to one that means the same or is narrower, and that to a wider one, which the mention
        may mean (*woman* where a person is listed; see `wider_label`). Adjectives narrow it down as far as attributes are known.
        """
        key = (said.head, said.attributes, said.only, frame)
        if key not in self.memory:
            things = [t for t in self.episode.frames[frame].objects if words.may_mean(said.head, t.category)]
            exact = [t for t in things if _is_called(t, said.head)]
            certain = [t for t in things if words.is_a(t.category, said.head)]
            likely = exact or certain or things
            self.memory[key] = tuple(t for t in likely if _fits(t, said) and said.only in {"", t.id})
        return list(self.memory[key])

    def visible_at(self, said: Mention, frame: int) -> list[FrameObject]:
        """Return the visible objects among them."""
        return [t for t in self.listed_at(said, frame) if t.is_visible]

    def visible(self, said: Mention) -> list[FrameObject]:
        """Return the visible objects at any of the frames that a mention may refer to."""
        return [t for frame in self.frames for t in self.visible_at(said, frame)]

    def known(self, said: Mention) -> list[FrameObject]:
        """Return the objects at any of the frames that a mention may refer to, visible or not."""
        return [t for frame in self.frames for t in self.listed_at(said, frame)]

    def wider_label(self, said: Mention | None) -> str:
        """Return the label of the objects that a mention may refer to, if only wider labels fit: *person* for *woman*; else empty.

        Annotations of such an object can refute a claim about a woman, but not support it.
        """
        if said is None or not said.head:
            return ""
        labels = {t.category for t in self.known(said)} or {
            t.category for frame in range(len(self.episode.frames)) for t in self.listed_at(said, frame)
        }
        is_certain = any(words.is_a(label, said.head) for label in labels)
        return "" if is_certain or not labels else min(labels)

    def unannotated(self, said: Mention | None) -> str:
        """Return an adjective of a mention about which nothing is annotated for the objects it may refer to; else empty.

        *A blue chair* where no colours are known can be refuted, but not supported.
        """
        named = [w for w in said.attributes if w in words.STATES or w in words.ATTRIBUTES] if said else []
        things = self.known(said) if said and named else []
        lacking = [next((w for w in named if _value(t, w) is None), "") for t in things]
        return lacking[0] if lacking and all(lacking) else ""

    def _is_label(self, head: str) -> bool:
        """Return True if the episode itself lists objects of that name, such as rooms."""
        labels = self.episode.vocabulary.get("objects", ())
        return head in labels or any(_is_called(t, head) for f in self.episode.frames for t in f.objects)

    def missing(self, said: Mention) -> Verdict | None:  # noqa: PLR0911 - one return per outcome
        """Return the verdict if a mention refers to nothing that is listed; None if it refers to something.

        If objects are known completely, an object that is not listed does not exist. If they are known partially, a word that
        matches no label is out of vocabulary, and an object that matches a label may have been missed.
        """
        if said.head in words.FIRST_PERSON or said.head == "picture":
            return None
        if not said.head or said.head in words.PRONOUNS | words.VAGUE_PRONOUNS:
            return unverifiable("unclear", f"{said.head or 'the subject'!r} has no referent")
        knowledge = self.episode.knows("objects")
        if knowledge == "none":
            return unverifiable("out of vocabulary", "objects are not annotated")
        if self.known(said):
            return None
        if self.ids(said):
            return _elsewhere(knowledge)
        if not words.can_be_seen(said.head):
            return unverifiable("abstract", f"{with_article(said.head)} cannot be seen")
        if said.head.rpartition(" ")[2] in words.UNLISTED_NOUNS and not self._is_label(said.head):
            return unverifiable("out of vocabulary", f"no data set lists {with_article(said.head)}")
        if knowledge == "complete":
            return Verdict("unsupported", evidence=f"there is no {said}", truth="absent")
        labels = self.episode.vocabulary.get("objects", ())
        if labels and not any(words.may_mean(said.head, label) for label in labels):
            return unverifiable("out of vocabulary", f"no label means {said.head}")
        return unverifiable("low recall", f"no {said} is annotated, but there may be one")


def _is_called(thing: FrameObject, head: str) -> bool:
    category = thing.category.casefold()
    return category == head or head in category.split("/")


def _elsewhere(knowledge: str) -> Verdict:
    if knowledge == "complete":
        return Verdict("unsupported", evidence="it is not at these frames", truth="absent")
    return unverifiable("occluded", "it is annotated only at other frames")


def _fits(thing: FrameObject, mention: Mention) -> bool:
    """Return True if no known property of an object contradicts the adjectives."""
    for word in mention.attributes:
        known = _value(thing, word)
        if known is None:
            continue
        if isinstance(known, bool):
            if known != words.STATES[word][1]:
                return False
        elif not words.may_mean(words.same_attribute(word), words.same_attribute(known)):
            return False
    return True


def _value(thing: FrameObject, word: str) -> str | bool | None:
    """Return the annotated value of the state or attribute that an adjective names; None if nothing is annotated."""
    if word in words.STATES:
        return thing.states.get(words.STATES[word][0])
    name = words.ATTRIBUTES.get(word, "")
    return thing.attributes.get(name, thing.attributes.get("color" if name == "colour" else name))


# Judges spatial claims: by annotated relations first, then by poses and positions, then by boxes.


BAND = 0.02
"""Within this share of the picture's width or height, neither side is claimed."""
AHEAD_DEG, UNCLEAR_DEG = 60.0, 8.0
"""Objects within 60° of straight ahead are in front; within 8° of the line ahead, left and right are unclear."""
NEAR_M = 2.0
"""Objects nearer than this are near."""
_LEVEL = {
    relation: (("side", "height").index(axis), sign)
    for relation, (axis, sign) in words.AXES.items()
    if axis in {"side", "height"}
}
"""A relation -> the coordinate of the picture that decides it, and the sign that it must have."""


def spatial_verdict(claim: Claim, scene: EpisodeView) -> Verdict:
    """Support a claim that holds at any of its frames; unverifiable, with the first reason, if it can be judged at none."""
    if claim.predicate == "between":
        return between_verdict(claim, scene)
    ground = claim.object if claim.object is not None else Mention("picture")
    for mention in (claim.subject, ground):
        missing = scene.missing(mention)
        if missing is not None:
            return missing
    relation = words.same_relation(claim.predicate)
    verdicts: list[Verdict] = []
    for frame in scene.frames:
        here = scene.at(frame)
        for thing in here.listed_at(claim.subject, frame) or _myself(claim.subject):
            verdicts.extend(_against(relation, thing, ground, here))
    for label in ("supported", "unsupported", "unverifiable"):
        verdict = next((v for v in verdicts if v.label == label), None)
        if verdict is not None:
            return verdict
    return unverifiable("occluded", "the two are never at one frame")


def _myself(mention: Mention) -> list[FrameObject]:
    return [FrameObject(EGO, "i")] if mention.head in words.FIRST_PERSON else []


def _against(relation: str, thing: FrameObject, ground: Mention, here: EpisodeView) -> list[Verdict]:
    """Return the verdicts on one object against each possible ground, at one frame."""
    frame = here.episode.frames[here.frames[0]]
    if ground.head in words.FIRST_PERSON:
        return [_annotated(relation, thing.id, EGO, frame) or _from_here(relation, thing, frame)]
    if ground.head == "picture":
        return [_in_picture(relation, thing, frame)]
    others = [o for o in here.listed_at(ground, here.frames[0]) if o.id != thing.id]
    return [
        _annotated(relation, thing.id, other.id, frame) or _between(relation, thing, other, here)
        for other in others
    ]


def _annotated(relation: str, subject: str, other: str, frame: Frame) -> Verdict | None:
    """Return the verdict by the annotated relations; None if they hold neither the relation nor its opposite.

    (a, below, b) is (b, above, a). An object on another is not below it, and does not carry it; only relative to a person may
    something be both on and below, as on the knees. An object in front of a person may have that person in front of it, so
    front and back of persons are not inverted.
    """
    excluding = {words.OPPOSITES.get(relation, ""), *_NEVER_WITH.get(relation, ())}
    if relation == "on" and _is_person(other, frame):
        excluding.discard("below")
    refuted = None
    for held in frame.relations:
        if {held.subject, held.object} != {subject, other}:
            continue
        predicate = plain_relation(held.predicate)
        if held.subject != subject:
            predicate = "" if _is_faced(held, frame) else _TURNED.get(predicate, "")
        evidence = f"{held.subject} {held.predicate} {held.object}"
        if predicate == relation:
            return Verdict("supported", evidence=evidence, truth=relation)
        if predicate and predicate in excluding:
            refuted = refuted or Verdict("unsupported", evidence=evidence, truth=predicate)
    return refuted


def _is_faced(held: Relation, frame: Frame) -> bool:
    """Return True if a relation states a position before or behind a person, relative to the way that person faces."""
    return _is_person(held.object, frame) and plain_relation(held.predicate) in {"in front of", "behind"}


def _is_person(name: str, frame: Frame) -> bool:
    thing = frame.find(name)
    return name == EGO or (thing is not None and words.is_a(thing.category, "person"))


_CARRIES = "under it"
_APART = {relation: relation for relation, (axis, _) in words.AXES.items() if axis == "distance"}
_TURNED = {**words.OPPOSITES, **_APART, "on": _CARRIES}
"""A relation of a to b -> that of b to a."""
_NEVER_WITH = {"below": ("on",), "on": ("below", _CARRIES)}
"""A relation -> others, beyond its opposite, that exclude it."""


def plain_relation(predicate: str) -> str:
    """Return an annotated relation in the words of claims, without the posture of the subject.

    >>> plain_relation("sitting_on"), plain_relation("at_the_right_of"), plain_relation("beneath")
    ('on', 'right of', 'below')
    """
    plain = predicate.replace("_", " ").casefold()
    for verb in ("sitting ", "standing ", "lying ", "laying ", "leaning ", "located "):
        plain = plain.removeprefix(verb)
    plain = {"left": "left of", "right": "right of"}.get(plain.removeprefix("to the "), plain)
    return words.same_relation(plain)


def _from_here(relation: str, thing: FrameObject, frame: Frame) -> Verdict:
    """Judge left, right, in front and behind, relative to the observer."""
    if frame.pose is not None and thing.position_m is not None:
        distance = math.hypot(thing.position_m[0] - frame.pose.x_m, thing.position_m[1] - frame.pose.y_m)
        if relation == "near":
            return _held(distance <= NEAR_M, f"{distance:.1f} m away", relation, "far from")
        if distance < 1e-6:
            return unverifiable("unclear", "it is at the observer's place")
        return _by_bearing(relation, frame.pose.bearing_deg(thing.position_m))
    if relation == "in front of" and thing.is_visible:
        return Verdict("supported", evidence="it is in view", truth=relation)
    if relation == "behind" and thing.is_visible:
        return Verdict("unsupported", evidence="it is in view", truth="in front of")
    return _in_picture(relation, thing, frame)


def _by_bearing(relation: str, bearing_deg: float) -> Verdict:
    evidence = f"bearing {bearing_deg:+.0f}°"
    if relation in {"left of", "right of"}:
        if min(abs(bearing_deg), 180 - abs(bearing_deg)) < UNCLEAR_DEG:
            return unverifiable("unclear", f"{evidence}: straight ahead or behind")
        truth = "right of" if bearing_deg > 0 else "left of"
        return _held(truth == relation, evidence, relation, truth)
    if relation in {"in front of", "behind"}:
        away = abs(bearing_deg)
        if AHEAD_DEG < away < 180 - AHEAD_DEG:
            return _held(
                value=False,
                evidence=evidence,
                relation=relation,
                truth="right of" if bearing_deg > 0 else "left of",
            )
        truth = "in front of" if away <= AHEAD_DEG else "behind"
        return _held(truth == relation, evidence, relation, truth)
    return unverifiable("complex", f"{relation!r} cannot be judged by a bearing")


def _in_picture(relation: str, thing: FrameObject, frame: Frame) -> Verdict:
    """Judge by the half of the picture in which the centre of the box lies."""
    size = frame.size_px
    if relation in {"in", "inside", "in the middle of"} and relation != "in the middle of":
        return _held(thing.is_visible, "in view" if thing.is_visible else "not in view", relation, "absent")
    axis_side = {**_LEVEL, "at the top of": (1, -1), "at the bottom of": (1, 1)}.get(relation)
    if not thing.is_visible:
        return unverifiable("occluded", f"{thing.id} is not in view")
    if thing.box is None or size is None:
        return unverifiable("out of vocabulary", "its place in the picture is unknown")
    share = [(2 * centre - full) / (2 * full) for centre, full in zip(thing.box.centre_px, size, strict=True)]
    if relation == "in the middle of":
        inside = max(map(abs, share)) <= 0.25
        return _held(
            inside,
            f"{share[0]:+.2f}, {share[1]:+.2f} of the picture from its middle",
            relation,
            "at the edge of",
        )
    if axis_side is None:
        return unverifiable("complex", f"{relation!r} is not a side of a picture")
    return _side(relation, share[axis_side[0]], axis_side)


def _between(relation: str, thing: FrameObject, other: FrameObject, here: EpisodeView) -> Verdict:
    """Judge two objects by their boxes, or by their positions if boxes do not decide."""
    frame = here.episode.frames[here.frames[0]]
    if (
        relation in _LEVEL
        and thing.is_visible
        and other.is_visible
        and thing.box
        and other.box
        and frame.size_px
    ):
        axis, _ = _LEVEL[relation]
        offset = thing.box.centre_px[axis] - other.box.centre_px[axis]
        return _side(relation, offset / frame.size_px[axis], _LEVEL[relation])
    if relation in _LEVEL and (thing.box or other.box):
        hidden = thing if not (thing.is_visible and thing.box) else other
        return unverifiable("occluded", f"{hidden.id} is not in view")
    if thing.position_m is not None and other.position_m is not None:
        placed = _by_position(relation, thing.position_m, other.position_m, here)
        if placed is not None:
            return placed
    if here.episode.knows("relations") == "complete":
        return Verdict(
            "unsupported", evidence=f"{thing.id} is not {relation} {other.id}", truth="not " + relation
        )
    if relation == "near" and thing.box and other.box:
        return _near_boxes(thing, other)
    return unverifiable("complex", f"{relation!r} cannot be judged by what is known")


def _by_position(
    relation: str, first: tuple[float, float, float], second: tuple[float, float, float], here: EpisodeView
) -> Verdict | None:
    """Judge near by distance; left, right, in front and behind along the camera's heading; compass directions."""
    east, north, up = (a - b for a, b in zip(first, second, strict=True))
    pose = here.episode.frames[here.frames[0]].pose
    if relation == "near":
        distance = math.hypot(east, north)
        return _held(distance <= NEAR_M, f"{distance:.1f} m apart", relation, "far from")
    axis, sign = words.AXES.get(relation, ("", 0))
    compass = {"latitude": north, "longitude": east}.get(axis)
    if compass is not None:
        return _held(
            compass * sign > 0,
            f"{east:+.1f} m east, {north:+.1f} m north",
            relation,
            words.OPPOSITES[relation],
        )
    if relation in {"above", "below"} and abs(up) > 1e-6:
        truth = "above" if up > 0 else "below"
        return _held(truth == relation, f"{up:+.1f} m up", relation, truth)
    if pose is None or axis not in {"side", "depth"}:
        return None
    turn = math.radians(pose.heading_deg)
    right, ahead = (
        east * math.cos(turn) - north * math.sin(turn),
        east * math.sin(turn) + north * math.cos(turn),
    )
    along = right if axis == "side" else ahead  # nearer to the observer is in front
    if abs(along) < 1e-6:
        return unverifiable("unclear", "neither side")
    is_so = along * sign > 0
    truth = relation if is_so else words.OPPOSITES[relation]
    return _held(is_so, f"{right:+.1f} m right, {ahead:+.1f} m ahead", relation, truth)


def _near_boxes(thing: FrameObject, other: FrameObject) -> Verdict:
    """Judge by the gap between two boxes, in mean box sizes: up to a half is near, from two on is not."""
    if thing.box is None or other.box is None:
        return unverifiable("occluded", "a box is missing")
    a, b = thing.box, other.box
    gap = math.hypot(max(0.0, a.x0 - b.x1, b.x0 - a.x1), max(0.0, a.y0 - b.y1, b.y0 - a.y1))
    size = (a.width_px + a.height_px + b.width_px + b.height_px) / 4
    if gap <= size / 2:
        return Verdict("supported", evidence=f"{gap:.0f} px apart", truth="near")
    if gap >= 2 * size:
        return Verdict("unsupported", evidence=f"{gap:.0f} px apart", truth="far from")
    return unverifiable("unclear", f"{gap:.0f} px apart: neither near nor far")


def _side(relation: str, offset: float, axis_side: tuple[int, int]) -> Verdict:
    """Judge by an offset in shares of the picture; right and down are positive."""
    if abs(offset) <= BAND:
        return unverifiable("unclear", f"{offset:+.1%} of the picture apart")
    holds = offset * axis_side[1] > 0
    return _held(
        holds,
        f"{offset:+.0%} of the picture apart",
        relation,
        words.OPPOSITES.get(relation, "not " + relation),
    )


def _held(value: bool, evidence: str, relation: str, truth: str) -> Verdict:  # noqa: FBT001 - reads as a sentence
    return Verdict(
        "supported" if value else "unsupported", evidence=evidence, truth=relation if value else truth
    )


# Judges claims beyond one fact at one frame: quantities, *remains*, comparisons, *between*, identity and possession.


Judge: TypeAlias = Callable[[Claim, EpisodeView], Verdict]

_MOST_SINGLE = 40
"""Objects that a quantity is judged over; with more, it is not judged."""


def judged(claim: Claim, scene: EpisodeView, judge: Judge) -> Verdict:
    """Judge a claim: *remains* over negation, negation over quantity, quantity over single objects.

    Args:
        claim: The claim.
        scene: The episode at its frames.
        judge: Judges the plain claim that remains.
    """
    ranked = next((m for m in _mentions(claim) if is_ranked(m)), None)
    if ranked is not None:
        return unverifiable("complex", f"which one is the {ranked} is not known")
    if claim.is_lasting and len(scene.frames) > 1:
        return _lasting([judged(replace(claim, is_lasting=False), scene.at(f), judge) for f in scene.frames])
    if claim.is_negated:
        return negated(judged(replace(claim, is_negated=False), scene, judge))
    return _quantified(replace(claim, is_lasting=False), scene, judge)


def is_ranked(said: Mention) -> bool:
    """Return True if a superlative or an ordinal selects the object: *the tallest man*, *the second chair*."""
    return any(word not in words.ATTRIBUTES and word not in words.STATES for word in said.attributes)


def _mentions(claim: Claim) -> list[Mention]:
    return [m for m in (claim.subject, claim.object, claim.other) if m is not None]


def _lasting(verdicts: list[Verdict]) -> Verdict:
    """Combine verdicts by frame: the claim must hold at all frames that can be judged."""
    for label in ("unsupported", "supported", "unverifiable"):
        verdict = next((v for v in verdicts if v.label == label), None)
        if verdict is not None:
            return verdict
    return unverifiable("unclear", "it has no frames")


# quantities


def _quantified(claim: Claim, scene: EpisodeView, judge: Judge) -> Verdict:
    counted = [name for name in ("subject", "object", "other") if _quantity(getattr(claim, name))]
    if not counted or (claim.kind == "spatial" and claim.predicate == "between"):
        return judge(claim, scene)
    if len(counted) > 1:
        return unverifiable("complex", "two quantities in one claim")
    mention: Mention = getattr(claim, counted[0])
    one = replace(mention, quantity="")
    missing = scene.missing(one)
    if missing is not None and missing.label == "unverifiable":
        return missing
    ids = sorted({thing.id for thing in scene.visible(one)})
    if len(ids) > _MOST_SINGLE:
        return unverifiable("complex", f"{len(ids)} objects may be meant")
    labels = [judge(_about(claim, counted[0], replace(one, only=i)), scene).label for i in ids]
    is_complete = scene.episode.knows("objects") == "complete"
    yes, unsure = labels.count("supported"), labels.count("unverifiable")
    return _of_range(mention.quantity, yes, unsure, len(ids), is_complete=is_complete)


def _about(claim: Claim, slot: str, mention: Mention) -> Claim:
    if slot == "subject":
        return replace(claim, subject=mention)
    return replace(claim, object=mention) if slot == "object" else replace(claim, other=mention)


def _quantity(mention: Mention | None) -> str:
    return "" if mention is None else mention.quantity


def _of_range(quantity: str, yes: int, unsure: int, total: int, *, is_complete: bool) -> Verdict:
    """Return the verdict if between `yes` and `yes + unsure` of `total` objects fit, or more if not all are annotated."""
    possible = [holds(quantity, k, total) for k in range(yes, yes + unsure + 1)]
    if not is_complete:  # further objects may fit, or not
        n = max([int(word) for word in quantity.split() if word.isdigit()], default=0)
        more = {0, 1, 1000, *(k for k in (n - yes - 1, n - yes, n - yes + 1) if k > 0)}
        possible += [holds(quantity, yes + a, total + a + b) for a in more for b in more]
    evidence = f"{yes} of {total}" + (f", {unsure} unclear" if unsure else "")
    if all(possible):
        return Verdict("supported", evidence=evidence, truth=quantity)
    if not any(possible):
        return Verdict("unsupported", evidence=evidence, truth=str(yes))
    return unverifiable("low recall", f"{evidence}, and there may be others")


def holds(quantity: str, number: int, total: int) -> bool:
    """Return True if a number of objects, out of a total, satisfies a quantity.

    >>> holds("at least 3", 4, 4), holds("fewer than 4", 4, 4), holds("2 of 3", 2, 3), holds("most", 2, 3), holds("all", 2, 3)
    (True, False, True, True, False)
    """
    if quantity in {"all", "most", "half"}:
        share = Fraction(number, total) if total else Fraction(0)
        return (
            bool(total)
            and {
                "all": share == 1,
                "most": share > Fraction(1, 2),
                "half": abs(share - Fraction(1, 2)) <= Fraction(1, 10),
            }[quantity]
        )
    bound, _, number_word = quantity.rpartition(" ")
    if bound.endswith(" of"):
        return number == int(bound.split()[0]) and total == int(number_word)
    n = int(number_word)
    return {
        "at least": number >= n,
        "at most": number <= n,
        "more than": number > n,
        "fewer than": number < n,
        "about": abs(number - n) <= max(1, n // 5),
    }.get(bound, number == n)


def count_verdict(claim: Claim, scene: EpisodeView) -> Verdict:
    """Judge a number of objects by the frame that shows the most of them."""
    if scene.episode.knows("objects") == "none":
        return unverifiable("out of vocabulary", "objects are not annotated")
    most = max((len(scene.visible_at(claim.subject, frame)) for frame in scene.frames), default=0)
    is_complete = scene.episode.knows("objects") == "complete"
    verdict = _of_range(claim.predicate, most, 0, most, is_complete=is_complete)
    if verdict.label == "unsupported" and scene.wider_label(claim.subject):
        fewer = (_of_range(claim.predicate, n, 0, n, is_complete=True) for n in range(most))
        if any(of_fewer.label == "supported" for of_fewer in fewer):
            return unverifiable("out of vocabulary", f"{most} are in view, of a wider kind")
    if verdict.label == "unverifiable":
        return unverifiable("low recall", f"{most} are annotated, there may be others")
    return replace(verdict, evidence=f"{most} are in view", truth=str(most))


# relations of objects


def between_verdict(claim: Claim, scene: EpisodeView) -> Verdict:
    """Judge *between*: the centre lies along the line that joins the two others, and not far from it."""
    sides = [m for m in (claim.object, claim.other) if m is not None]
    for mention in (claim.subject, *sides):
        missing = scene.missing(replace(mention, quantity=""))
        if missing is not None:
            return missing
    verdicts: list[Verdict] = []
    for frame in scene.frames:
        grounds = [scene.visible_at(replace(m, quantity=""), frame) for m in sides]
        pair = grounds[0] if len(grounds) == 1 else [g[0] for g in grounds if len(g) == 1]
        if len(pair) != 2:
            continue
        taken = {p.id for p in pair}
        verdicts += [
            _is_between(thing, pair[0], pair[1])
            for thing in scene.visible_at(claim.subject, frame)
            if thing.id not in taken
        ]
    for label in ("supported", "unsupported", "unverifiable"):
        verdict = next((v for v in verdicts if v.label == label), None)
        if verdict is not None:
            return verdict
    return unverifiable("unclear", "it is not clear which two are meant")


def _is_between(thing: FrameObject, a: FrameObject, b: FrameObject) -> Verdict:
    places = [_centre(t) for t in (thing, a, b)]
    if any(p is None for p in places):
        return unverifiable("occluded", "the place of one of them is unknown")
    (x, y), (ax, ay), (bx, by) = (p for p in places if p is not None)
    length = math.hypot(bx - ax, by - ay)
    if length < 1e-6:
        return unverifiable("unclear", "the two are at one place")
    along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length**2
    off = abs((x - ax) * (by - ay) - (y - ay) * (bx - ax)) / length**2
    is_between = 0 < along < 1 and off <= 0.5
    evidence = f"{along:.0%} of the way from {a.id} to {b.id}, {off:.0%} aside"
    return Verdict(
        "supported" if is_between else "unsupported",
        evidence=evidence,
        truth="between" if is_between else "not between",
    )


def _centre(thing: FrameObject) -> tuple[float, float] | None:
    if thing.position_m is not None:
        return thing.position_m[0], thing.position_m[1]
    return thing.box.centre_px if thing.box is not None and thing.is_visible else None


def comparison_verdict(claim: Claim, scene: EpisodeView) -> Verdict:
    """Judge numbers by counting, sizes by the attribute, leftmost and rightmost by boxes, near by positions; nothing else."""
    for mention in _mentions(claim):
        missing = scene.missing(mention) if mention.head not in words.GENERIC_NOUNS else None
        if missing is not None:
            return missing
    if claim.predicate in {"more numerous than", "less numerous than"} and claim.object is not None:
        return _numbers(claim, claim.object, scene)
    if claim.predicate in {"leftmost", "rightmost"}:
        return _outermost(claim, scene)
    first = claim.predicate.split()[0]
    if claim.object is None or first not in words.IS_LARGER or not claim.predicate.endswith(" than"):
        return unverifiable("complex", f"{claim.predicate!r} cannot be judged by what is known")
    sizes = [
        {words.SIZE_RANKS.get(t.attributes.get("size", "")) for t in scene.known(m)}
        for m in (claim.subject, claim.object)
    ]
    if any(len(s) != 1 or None in s for s in sizes) or sizes[0] == sizes[1]:
        return unverifiable("out of vocabulary", "their sizes are not annotated, or the same")
    is_larger = max(s for s in sizes[0] if s is not None) > max(s for s in sizes[1] if s is not None)
    truth = "larger" if is_larger else "smaller"
    wanted = "larger" if words.IS_LARGER[first] else "smaller"
    return Verdict(
        "supported" if truth == wanted else "unsupported", evidence="by their sizes", truth=f"{truth} than"
    )


def _numbers(claim: Claim, other: Mention, scene: EpisodeView) -> Verdict:
    if scene.episode.knows("objects") != "complete":
        return unverifiable("low recall", "not all objects are annotated")
    n, m = (len({t.id for t in scene.visible(mention)}) for mention in (claim.subject, other))
    truth = "as numerous as" if n == m else ("more" if n > m else "less") + " numerous than"
    is_so = truth == claim.predicate
    return Verdict("supported" if is_so else "unsupported", evidence=f"{n} against {m}", truth=truth)


def _outermost(claim: Claim, scene: EpisodeView) -> Verdict:
    if scene.episode.knows("objects") != "complete":
        return unverifiable("low recall", "not all objects are annotated")
    sign = 1 if claim.predicate == "leftmost" else -1
    kind = None if claim.object is None or claim.object.head in words.GENERIC_NOUNS else claim.object
    for frame in scene.frames:
        shown = (
            [t for t in scene.episode.frames[frame].objects if t.is_visible]
            if kind is None
            else scene.visible_at(kind, frame)
        )
        placed = sorted((sign * t.box.centre_px[0], t.id) for t in shown if t.box is not None)
        mine = {t.id for t in scene.visible_at(claim.subject, frame)}
        if placed and mine:
            is_so = placed[0][1] in mine
            return Verdict("supported" if is_so else "unsupported", evidence=placed[0][1], truth=placed[0][1])
    return unverifiable("occluded", "it is not in view")


def identity_verdict(claim: Claim, scene: EpisodeView) -> Verdict:
    """Judge *the animal is a black dog*: supported if an object that the first mention may refer to also fits the second."""
    if claim.object is None:
        return unverifiable("unclear", "it does not say what it is")
    missing = scene.missing(claim.subject)
    if missing is not None:
        return missing
    if scene.ids(claim.subject) & scene.ids(claim.object):
        return Verdict(
            "supported",
            evidence=", ".join(sorted(scene.ids(claim.subject) & scene.ids(claim.object))[:4]),
            truth="is",
        )
    if scene.ids(replace(claim.object, attributes=())) & scene.ids(claim.subject):
        return Verdict("unsupported", evidence="it looks different", truth="is not")
    lost = scene.missing(claim.object)
    if lost is not None:
        return lost
    return Verdict("unsupported", evidence="no object is both", truth="is not")
