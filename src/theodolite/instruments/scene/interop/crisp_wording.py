"""The wording of CRISP-Bench's questions.

Its solver finds out what a question asks by matching these sentences word for word, so they belong to its file format. Ours say
more (what *in front* means, which side is the width), and so are shown to models; an exported question has both.
"""

from __future__ import annotations

from collections.abc import Mapping

from theodolite.instruments.scene.data.questions import Kind, SceneQuestion

_VIEW = "From the camera's viewpoint"
_TEXTS: Mapping[Kind, str] = {
    "is in front": f"{_VIEW}, is {{0}} in front of {{1}}?",
    "is behind": f"{_VIEW}, is {{0}} behind {{1}}?",
    "is left": f"{_VIEW}, is {{0}} to the left of {{1}}?",
    "is right": f"{_VIEW}, is {{0}} to the right of {{1}}?",
    "is above": f"{_VIEW}, is {{0}} above {{1}}?",
    "is below": f"{_VIEW}, is {{0}} below {{1}}?",
    "position": f"{_VIEW}, which best describes the relative position of {{0}} to {{1}}?",
    "larger": "Considering real-world physical dimensions, which object is larger in volume: {0} or {1}?",
    "taller": "Which object is taller: {0} or {1}?",
    "wider": "Which object is wider: {0} or {1}?",
    "length": "Approximately how long (in meters) is {0}?",
    "height": "What is the approximate height (in meters) of {0}?",
    "width": "Estimate the width (in meters) of {0}.",
    "closer to camera": "Which object is physically closer to the camera: {0} or {1}?",
    "farther from camera": "Which object is physically farther from the camera: {0} or {1}?",
    "closer to object": "Which object is physically closer to {0}: {1} or {2}?",
    "farther from object": "Which object is physically farther from {0}: {1} or {2}?",
    "distance to camera": "Approximately how far (in meters) is {0} from the camera?",
    "distance between": "What is the distance (in meters) between {0} and {1}?",
    "rank by volume": "Rank the following objects by size (largest to smallest): {0}, {1}, {2}.",
    "rank by height": "Rank the following objects by height (tallest to shortest): {0}, {1}, {2}.",
    "rank by distance": "Rank the following objects by distance from the camera (nearest to farthest): {0}, {1}, {2}.",
    "count in direction": f"{_VIEW} and only considering the marked objects, how many objects are {{side}} {{0}}?",
    "count within": "Considering the marked objects, how many objects are within {distance} meters of {0}?",
    "count beyond": "Considering the marked objects, how many objects are farther than {distance} meters from {0}?",
    "where after turning": "Imagine you are standing at the location of {0} and facing directly towards {1}. From this "
    "perspective, in which direction is {2} located relative to you?",
    "distance after placing": "Suppose we place a new object A in the {word} direction from {0} at a distance of approximately "
    "{distance} meters. What is the horizontal distance (in meters) between A and {1}?",
}
_SIDES: Mapping[str, str] = {
    "left": "to the left of",
    "right": "to the right of",
    "in front of": "in front of",
    "behind": "behind",
    "up": "above",
    "down": "below",
}
_SECTORS: Mapping[str, str] = {
    "front": "directly in front of you",
    "back": "directly behind you",
    "left": "directly to your left",
    "right": "directly to your right",
    "front left": "to your front-left",
    "front right": "to your front-right",
    "back left": "to your back-left",
    "back right": "to your back-right",
}


def crisp_lines(question: SceneQuestion) -> str:
    """A question with its lettered options, in their wording.

    >>> from theodolite.instruments.scene.data.questions import Option
    >>> options = (Option("Yes", "yes"), Option("No", "no"))
    >>> asked = SceneQuestion("q", "s", "indoor", "is behind", "Is 2 behind 1?", (2, 1), "A", "easy", options)
    >>> crisp_lines(asked).splitlines()[0]
    "From the camera's viewpoint, is object 2 behind object 1?"
    """
    marks = [f"object {mark}" for mark in question.objects]
    distance = f"{question.distance_m:g}" if question.distance_m is not None else ""
    word = question.relation or ""
    text = _TEXTS[question.kind].format(*marks, distance=distance, word=word, side=_SIDES.get(word, ""))
    if not question.options:
        return text
    shown = [
        f"{letter}: {_option(question, option.key)}"
        for letter, option in zip(question.letters, question.options, strict=True)
    ]
    return "\n".join([text, "Options:", *shown])


def _option(question: SceneQuestion, key: str) -> str:
    kind = question.kind
    if kind == "position":
        return _position(set(key.split("+")), f"object {question.objects[1]}")
    if kind == "where after turning":
        return _SECTORS[key]
    if kind.startswith("is "):
        return key.capitalize()
    return key if kind.startswith("count") else "-".join(f"object {mark}" for mark in key.split("-"))


def _position(words: set[str], reference: str) -> str:
    """Where something is relative to a reference, by one to three words.

    >>> _position({"left", "behind"}, "object 1"), _position({"left", "behind", "up"}, "object 1")
    ('back-left of object 1', 'back-left of and above object 1')
    """
    if len(words) == 1:
        return f"{_SIDES[min(words)]} {reference}"
    side = next((word for word in ("left", "right") if word in words), "")
    height = "above" if "up" in words else "below" if "down" in words else ""
    if not side:
        return f"{'in front' if 'in front of' in words else 'behind'} and {height} {reference}"
    if words & {"in front of", "behind"}:
        corner = f"{'in front' if 'in front of' in words else 'back'}-{side} of"
        return f"{corner} and {height} {reference}" if height else f"{corner} {reference}"
    return f"{'upper' if 'up' in words else 'lower'}-{side} of {reference}"
