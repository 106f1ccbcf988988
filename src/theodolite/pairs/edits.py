"""Edits: what they keep fixed, and the strategies they exclude.

Relevant edits change the right answer, neutral edits do not. Every edit of the library is a constant here; the functions
that make the edited pictures are in `theodolite.pairs.pictures` (photographs) and with the instruments (drawn grids,
scenes and episodes, which are rendered again).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EDITS", "Edit"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a picture, scene or episode whose effect on the right answer is known.

    A strategy that uses only what an edit keeps fixed gives the same answer before and after it. Under a relevant edit it
    cannot be right both times if it is deterministic, and is right both times with probability at most ¼ if it is random
    (`theodolite.pairs.outcomes`). So the edit excludes every strategy that uses only what it keeps.
    """

    name: str
    """Such as ``mirror``."""
    is_relevant: bool
    """True if the right answer changes."""
    keeps: tuple[str, ...] = ()
    """What does not change: the words of the question, the objects, their sizes …"""
    excludes: tuple[str, ...] = ()
    """The strategies that cannot follow it. For relevant edits only."""
    leaves: tuple[str, ...] = ()
    """Strategies that can follow it although they do not use all that the question asks for."""
    misleads: tuple[str, ...] = ()
    """Strategies that a neutral edit is made to mislead. Such an edit says nothing about how stable answers are."""


_QUESTION = "the question"
_BLIND = ("blind answers", "the words of the question", "the most frequent answer")
_OBJECTS = "which objects there are"
_TARGET, _REFERENCE = "the place of the target alone", "the place of the reference alone"


def _relevant(
    name: str, keeps: tuple[str, ...], excludes: tuple[str, ...] = (), leaves: tuple[str, ...] = ()
) -> Edit:
    return Edit(
        name, is_relevant=True, keeps=(_QUESTION, *keeps), excludes=(*_BLIND, *excludes), leaves=leaves
    )


def _neutral(name: str) -> Edit:
    return Edit(name, is_relevant=False, keeps=(_QUESTION, "the right answer"))


MIRROR = _relevant(
    "mirror",
    ("the objects", "their sizes", "their heights in the picture"),
    (_OBJECTS, "what is usually left or right"),
    (_TARGET, _REFERENCE),
)
"""Left and right exchanged, for questions about left and right."""
FLIP = _relevant(
    "upside down",
    ("the objects", "their sizes", "their columns in the picture"),
    (_OBJECTS, "what is usually on top"),
    (_TARGET, _REFERENCE),
)
"""Top and bottom exchanged, for questions about above and below. Unnatural for photographs."""
EXCHANGE = _relevant(
    "exchange",
    ("the objects", "the places that are taken"),
    (_OBJECTS, "which places are taken"),
    (_TARGET, _REFERENCE),
)
"""Two objects exchange their places."""
MOVE_TARGET = _relevant(
    "move the target",
    ("the objects", "everything but the place of the target"),
    (_OBJECTS, _REFERENCE),
    (_TARGET,),
)
MOVE_REFERENCE = _relevant(
    "move the reference",
    ("the objects", "everything but the place of the reference"),
    (_OBJECTS, _TARGET),
    (_REFERENCE,),
)
MOVE_OBJECT = _relevant(
    "move an object",
    ("the objects", "everything but the place of one object"),
    (_OBJECTS, "the places of the other objects"),
    ("the place of that object alone",),
)
"""One of the objects in the question stands elsewhere."""
OTHER_CAMERA = _relevant(
    "another camera",
    ("the objects", "their sizes", "their places in the room"),
    (_OBJECTS, "their sizes", "which object stands beside which"),
    ("the place of one object in the picture alone",),
)
"""The same room from another place, for questions about what is seen from the camera."""
EXCHANGE_MARKS = _relevant(
    "exchange the marks",
    ("the picture apart from the marks",),
    ("the numbers of the marks", "the picture without its marks"),
    ("the place of one mark alone",),
)
"""Two numbered marks of a scene exchange their objects."""
REMOVE = _relevant(
    "remove", ("everything but one object",), ("everything but the object",), ("how full the picture is",)
)
"""One object is removed, for questions about existence and number."""
EDIT_FRAMES = _relevant(
    "edit the frames", ("the other frames",), ("the frames that stay",), ("one edited frame alone",)
)
"""Frames of an episode are rendered again with other events."""
NATURAL = _relevant("another picture", (), (), ("anything else in which the two pictures differ",))
"""Another picture of the same question, with another answer."""

LIGHT = _neutral("light")
NOISE = _neutral("noise")
REENCODE = _neutral("re-encode")
"""Compressed as JPEG."""
WALLS = _neutral("other walls")
DECOY = Edit(
    "decoy elsewhere", is_relevant=False, keeps=(_QUESTION, "the right answer"), misleads=(_OBJECTS,)
)
"""An object like the target is added where it does not matter."""
CLEAR = _neutral("unrelated objects removed")
MIRROR_UNASKED = _neutral("mirror, not asked for")
"""Left and right exchanged, for questions that are not about left and right."""
EDIT_OTHER_FRAMES = _neutral("edit other frames")
"""Frames of an episode are rendered again without a change to what the question asks for."""
AGAIN = _neutral("ask again")
"""The same request once more. The share of changed answers is 0 for a deterministic model."""

EDITS: dict[str, Edit] = {
    edit.name: edit
    for edit in (
        MIRROR,
        FLIP,
        EXCHANGE,
        MOVE_TARGET,
        MOVE_REFERENCE,
        MOVE_OBJECT,
        OTHER_CAMERA,
        EXCHANGE_MARKS,
        REMOVE,
        EDIT_FRAMES,
        NATURAL,
        LIGHT,
        NOISE,
        REENCODE,
        WALLS,
        DECOY,
        CLEAR,
        MIRROR_UNASKED,
        EDIT_OTHER_FRAMES,
        AGAIN,
    )
}
"""The library of edits, by name."""
