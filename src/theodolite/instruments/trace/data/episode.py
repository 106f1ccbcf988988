"""What a trace is checked against: frames, what is known to be in them, and how sure that knowledge is.

Everything here needs numpy and Pillow only, so that worlds can be made where nothing else is installed.

Frames of reference. Boxes are in pixels of their frame, x to the right, y downward. The world is right-handed in
metres: x east, y north, z up. Headings are degrees clockwise from north as seen from above, so that turning right
increases them. A place on a grid uses the same axes with one cell to a metre.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.core.types import Json, Picture
from theodolite.geometry import Box

Aspect: TypeAlias = Literal["objects", "boxes", "attributes", "states", "relations", "actions", "poses"]
"""What can be known of an episode. ``objects``: which there are, and which of them each frame shows."""

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)

Knowledge: TypeAlias = Literal["complete", "partial", "none"]
"""How far an aspect is known. ``complete``: all that is true is listed, so what is not listed is false.
``partial``: what is listed is true, what is not listed is unknown. ``none``: nothing is listed."""

Split: TypeAlias = Literal["in-distribution", "ood"]

EGO = "ego"
"""The id of who sees: the agent, or the camera."""


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One thing, as it is at one frame."""

    id: str
    """The same in every frame of the episode."""
    category: str
    """A noun in the singular, lower case: ``ball``, ``dining table``."""
    box: Box | None = None
    """Where the frame shows it; None where that is not known, or where it is not in view."""
    is_visible: bool = True
    """Whether the frame shows it. A thing that is there but hidden or behind the camera is listed as not visible."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What stays: ``{"colour": "red", "size": "small", "material": "wood"}``."""
    states: Mapping[str, bool] = field(default_factory=dict)
    """What may change: ``{"open": True, "sliced": False, "moving": True}``."""
    position_m: tuple[float, float, float] | None = None
    """Its place in the world."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What holds between two things at one frame: ``Relation("person-1", "holding", "cup-2")``."""

    subject: str
    """An object's id, or `EGO`."""
    predicate: str
    """A verb in the -ing form, or a preposition: ``holding``, ``in front of``, ``on``."""
    object: str


@dataclass(frozen=True, slots=True)
class Pose:
    """Where the camera is, and where it looks."""

    x_m: float
    y_m: float
    z_m: float = 0.0
    heading_deg: float = 0.0
    """Clockwise from north (+y)."""
    pitch_deg: float = 0.0
    """Above the horizon."""

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.x_m, self.y_m, self.z_m, self.heading_deg, self.pitch_deg))):
            raise UsageError(f"a pose needs finite numbers, got {self}")

    def turn_to_deg(self, other: Pose) -> float:
        """How far one has turned on the way to another pose: right is positive, in (−180, 180].

        >>> Pose(0, 0, heading_deg=350).turn_to_deg(Pose(0, 0, heading_deg=20))
        30.0
        """
        return 180.0 - (180.0 - (other.heading_deg - self.heading_deg)) % 360.0

    def bearing_deg(self, position_m: tuple[float, float, float]) -> float:
        """Where a place lies as seen from here: 0 ahead, 90 to the right, −90 to the left, 180 behind.

        >>> Pose(0, 0, heading_deg=90).bearing_deg((0.0, 5.0, 0.0))
        -90.0
        """
        north = math.degrees(math.atan2(position_m[0] - self.x_m, position_m[1] - self.y_m))
        return 180.0 - (180.0 - (north - self.heading_deg)) % 360.0


@dataclass(frozen=True, slots=True)
class Action:
    """Something that happens over a while."""

    verb: str
    """A lemma, with its particle: ``pick up``, ``open``, ``collide``, ``turn left``."""
    subject: str
    """Who does it: an object's id, or `EGO`."""
    objects: tuple[str, ...] = ()
    """The ids of what it is done to or with."""
    start_s: float = 0.0
    end_s: float = 0.0
    label: str = ""
    """The data set's own words for it."""

    def __post_init__(self) -> None:
        if self.end_s < self.start_s:
            raise UsageError(f"an action ends before it begins: {self}")


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of the sequence, and what is known of that moment."""

    time_s: float
    picture: Picture | None = None
    """None where pictures cannot be had."""
    size_px: tuple[int, int] | None = None
    """Width and height; boxes are measured in it."""
    objects: tuple[SceneObject, ...] = ()
    relations: tuple[Relation, ...] = ()
    pose: Pose | None = None
    state: Mapping[str, Json] = field(default_factory=dict)
    """What else the simulator says."""
    number: int | None = None
    """The data set's own number of the frame, where it has one."""

    def find(self, object_id: str) -> SceneObject | None:
        """The thing of that id, if the frame lists it."""
        return next((o for o in self.objects if o.id == object_id), None)


@dataclass(frozen=True, slots=True)
class Edit:
    """How an episode was made from another by a perturbation at the source."""

    base: str
    """The id of the episode it was made from: its old truth."""
    family: Literal["position", "temporal", "visibility", "irrelevant"]
    magnitude: float
    """How strong the edit is, in (0, 1]: |P| of equation 4."""
    edited: tuple[str, ...] = ()
    """The ids of the objects that were touched; empty for an edit of the order of frames."""
    note: str = ""
    """What was done, in words."""

    def __post_init__(self) -> None:
        if not 0 < self.magnitude <= 1:
            raise UsageError(f"a perturbation's magnitude lies in (0, 1], got {self.magnitude}")

    @property
    def is_relevant(self) -> bool:
        """Whether a faithful trace must change."""
        return self.family != "irrelevant"


@dataclass(frozen=True, slots=True)
class Episode:
    """A sequence of frames with a task, and all that is known about it.

    >>> ball = SceneObject("ball-1", "ball", Box(10, 10, 20, 20), attributes={"colour": "red"})
    >>> known = {"objects": "complete", "boxes": "complete", "attributes": "complete"}
    >>> Episode("e1", "What moves?", (Frame(0.0, objects=(ball,)),), known=known).knows("attributes")
    'complete'
    """

    id: str
    task: str
    """The question, or the instruction."""
    frames: tuple[Frame, ...]
    answer: str = ""
    """The right answer; empty where there is none."""
    options: tuple[str, ...] = ()
    """What may be answered; empty for an open question."""
    actions: tuple[Action, ...] = ()
    known: Mapping[Aspect, Knowledge] = field(default_factory=dict)
    """How far each aspect is known; an aspect that is not named is not known at all."""
    vocabulary: Mapping[Aspect, tuple[str, ...]] = field(default_factory=dict)
    """All labels that could have been used for an aspect; empty where any could."""
    world: str = ""
    """The benchmark or world it comes from: ``video``, ``navigation``, ``star``, …"""
    split: Split = "in-distribution"
    difficulty: Mapping[str, float] = field(default_factory=dict)
    """What makes it easy or hard: ``{"frames": 8, "objects": 4, "events": 2}``. Splits are compared by these."""
    cluster: str = ""
    """The scene, house or video that it shares with other episodes; its own id if empty."""
    edit: Edit | None = None
    """How it was made from another episode, if it was."""
    meta: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id or not self.frames:
            raise UsageError(
                f"an episode needs an id and at least one frame, got {self.id!r} with {len(self.frames)}"
            )
        times = [frame.time_s for frame in self.frames]
        if not all(map(math.isfinite, times)) or any(b < a for a, b in pairwise(times)):
            raise UsageError(
                f"episode {self.id!r}: the frames' times must be finite and must not run backwards"
            )
        wrong = [
            f"{aspect}={how}"
            for aspect, how in self.known.items()
            if aspect not in ASPECTS or how not in _KNOWLEDGE
        ]
        if wrong:
            raise UsageError(
                f"episode {self.id!r}: known takes {', '.join(ASPECTS)} as {', '.join(_KNOWLEDGE)}, not {wrong[0]}"
            )

    def knows(self, aspect: Aspect) -> Knowledge:
        """How far an aspect is known."""
        return self.known.get(aspect, "none")

    @property
    def unit(self) -> str:
        """The independent unit that it belongs to, by which intervals are clustered."""
        return self.cluster or self.id

    def actions_at(self, frames: tuple[int, ...]) -> tuple[Action, ...]:
        """The actions that overlap the time from the first to the last of some frames.

        A frame stands for the time up to the next one.
        """
        if not frames:
            return self.actions
        start, end = self.frames[min(frames)].time_s, self.until_s(max(frames))
        return tuple(a for a in self.actions if a.start_s < end and a.end_s >= start)

    def until_s(self, frame: int) -> float:
        """When the time that a frame stands for is over; it never is for the last."""
        return self.frames[frame + 1].time_s if frame + 1 < len(self.frames) else math.inf


_KNOWLEDGE: tuple[Knowledge, ...] = get_args(Knowledge)
