"""The words of the questions and of their options. Objects are named by their marks alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theodolite.instruments.scene.data.questions import Kind
from theodolite.instruments.scene.data.relations import Predicate

PHRASES: Mapping[Predicate, str] = {
    "left": "to the left of",
    "right": "to the right of",
    "in front of": "in front of",
    "behind": "behind",
    "up": "above",
    "down": "below",
}
_SHORT: Mapping[Predicate, str] = {
    "left": "left",
    "right": "right",
    "in front of": "in front",
    "behind": "behind",
    "up": "above",
    "down": "below",
}
_NEARNESS: Mapping[Predicate, str] = {
    "in front of": " (nearer to the camera)",
    "behind": " (farther from the camera)",
}

_TEXTS: Mapping[Kind, str] = {
    "is in front": "Seen from the camera, is {0} in front of {1}, that is, nearer along the line of sight?",
    "is behind": "Seen from the camera, is {0} behind {1}, that is, farther along the line of sight?",
    "is left": "Seen from the camera, is {0} to the left of {1}?",
    "is right": "Seen from the camera, is {0} to the right of {1}?",
    "is above": "Is {0} above {1}, that is, does it begin where {1} ends, or higher?",
    "is below": "Is {0} below {1}, that is, does it end where {1} begins, or lower?",
    "position": "Seen from the camera, where is {0} relative to {1}? "
    '"In front" means nearer to the camera, "behind" farther from it.',
    "larger": "In the real world, which has the larger volume: {0} or {1}?",
    "taller": "In the real world, which is taller: {0} or {1}?",
    "wider": "In the real world, which is wider, measured along the shorter of its two horizontal sides: {0} or {1}?",
    "length": "How long is {0} in the real world, along the longer of its two horizontal sides, in metres?",
    "height": "How tall is {0} in the real world, in metres?",
    "width": "How wide is {0} in the real world, along the shorter of its two horizontal sides, in metres?",
    "closer to camera": "Which is closer to the camera: {0} or {1}?",
    "farther from camera": "Which is farther from the camera: {0} or {1}?",
    "closer to object": "Which is closer to {0}, from middle to middle: {1} or {2}?",
    "farther from object": "Which is farther from {0}, from middle to middle: {1} or {2}?",
    "distance to camera": "How far is the middle of {0} from the camera, in metres?",
    "distance between": "How far apart are the middles of {0} and {1}, in metres?",
    "rank by volume": "Order these by volume, the largest first: {0}, {1}, {2}.",
    "rank by height": "Order these by height, the tallest first: {0}, {1}, {2}.",
    "rank by distance": "Order these by their distance from the camera, the nearest first: {0}, {1}, {2}.",
    "count in direction": "Seen from the camera, how many of the other marked objects are {relation} {0}{nearness}?",
    "count within": "How many of the other marked objects are within {distance} metres of {0}, from middle to middle?",
    "count beyond": "How many of the other marked objects are more than {distance} metres away from {0}, from middle to "
    "middle?",
    "where after turning": "Imagine standing at {0} and facing {1}. In which direction from you is {2}?",
    "distance after placing": "Something new is put on the ground {distance} metres {relation} {0}{nearness}, seen from the "
    "camera. How far is it then from {1} along the ground, in metres?",
}


def name_of(mark: int) -> str:
    """How an object is called.

    >>> name_of(3)
    'object 3'
    """
    return f"object {mark}"


def words_of(
    kind: Kind, marks: Sequence[int], *, relation: Predicate | None = None, distance_m: float | None = None
) -> str:
    """The text of a question."""
    return _TEXTS[kind].format(
        *map(name_of, marks),
        relation=PHRASES[relation] if relation is not None else "",
        nearness=_NEARNESS.get(relation, "") if relation is not None else "",
        distance=f"{distance_m:g}" if distance_m is not None else "",
    )


def option_text(kind: Kind, key: str) -> str:
    """What an option says, from what it means.

    >>> option_text("rank by height", "3-1-2"), option_text("position", "left+in front of")
    ('object 3, object 1, object 2', 'left and in front')
    """
    if kind.startswith("rank"):
        return ", ".join(name_of(int(mark)) for mark in key.split("-"))
    if kind == "position":
        return _joined([_SHORT[word] for word in key.split("+")])  # type: ignore[index]  # words of our own
    if kind.startswith("is "):
        return key.capitalize()
    return key if kind.startswith(("count", "where")) else name_of(int(key))


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
