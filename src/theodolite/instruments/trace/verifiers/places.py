"""Judges spatial claims: by annotated relations first, then by poses and positions, then by boxes.

Left, right, above and below compare the centres of boxes and are unclear within 2 % of the picture. Relative to the observer
they go by the bearing of the object if positions and poses are known, else by the half of the picture.
"""

from __future__ import annotations

import math

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention, Verdict
from theodolite.instruments.trace.verifiers.judging import unverifiable
from theodolite.instruments.trace.verifiers.quantities import between_verdict
from theodolite.instruments.trace.verifiers.scene import Scene
from theodolite.worlds.episodes import EGO, Frame, Relation, SceneObject

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


def spatial_verdict(claim: Claim, scene: Scene) -> Verdict:
    """Supported if it holds at any of the frames; unverifiable, with the first reason, if it can be judged at none."""
    if claim.predicate == "between":
        return between_verdict(claim, scene)
    ground = claim.object if claim.object is not None else Mention("picture")
    for said in (claim.subject, ground):
        missing = scene.missing(said)
        if missing is not None:
            return missing
    relation = words.same_relation(claim.predicate)
    found: list[Verdict] = []
    for frame in scene.frames:
        here = scene.at(frame)
        for thing in here.listed_at(claim.subject, frame) or _myself(claim.subject):
            found.extend(_against(relation, thing, ground, here))
    for label in ("supported", "unsupported", "unverifiable"):
        verdict = next((v for v in found if v.label == label), None)
        if verdict is not None:
            return verdict
    return unverifiable("occluded", "the two are never at one frame")


def _myself(said: Mention) -> list[SceneObject]:
    return [SceneObject(EGO, "i")] if said.head in words.FIRST_PERSON else []


def _against(relation: str, thing: SceneObject, ground: Mention, here: Scene) -> list[Verdict]:
    """The verdicts on one object against each possible ground, at one frame."""
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
    """The verdict by the annotated relations; None if they hold neither the relation nor its opposite.

    (a, below, b) is (b, above, a). What is on a thing is not below it, and does not carry it; only of a person may something be
    said to be on and below, as on the knees. What is in front of a person may have that person in front of it, so front and
    back of persons are not turned round.
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
    """True if a relation tells what is before or behind a person, as that person is turned."""
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
    """An annotated relation in the words of claims, without the posture of who is related.

    >>> plain_relation("sitting_on"), plain_relation("at_the_right_of"), plain_relation("beneath")
    ('on', 'right of', 'below')
    """
    plain = predicate.replace("_", " ").casefold()
    for verb in ("sitting ", "standing ", "lying ", "laying ", "leaning ", "located "):
        plain = plain.removeprefix(verb)
    plain = {"left": "left of", "right": "right of"}.get(plain.removeprefix("to the "), plain)
    return words.same_relation(plain)


def _from_here(relation: str, thing: SceneObject, frame: Frame) -> Verdict:
    """Left, right, in front and behind, relative to the observer."""
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


def _in_picture(relation: str, thing: SceneObject, frame: Frame) -> Verdict:
    """By the half of the picture in which the centre of the box lies."""
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


def _between(relation: str, thing: SceneObject, other: SceneObject, here: Scene) -> Verdict:
    """Two objects, by their boxes, or by their positions if boxes do not decide."""
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
    relation: str, first: tuple[float, float, float], second: tuple[float, float, float], here: Scene
) -> Verdict | None:
    """Near by distance; left, right, in front and behind along the camera's heading; compass directions."""
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


def _near_boxes(thing: SceneObject, other: SceneObject) -> Verdict:
    """By the gap between two boxes, in mean box sizes: up to a half is near, from two on is not."""
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
    """By an offset in shares of the picture; right and down are positive."""
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
