"""Episodes: frames, what is known about them, and how complete that knowledge is.

An episode is also a line of ``episodes.jsonl``, in which a box is the list of its four sides and a picture a path: see
`theodolite.instruments.trace.data.dataset`.

Coordinates. Boxes are in pixels of their frame, x to the right, y downward. The world is right-handed and in metres: x
east, y north, z up. Headings are in degrees clockwise from north, so turning right increases them. Positions on a grid use
the same axes, one cell per metre.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, ConfigDict, PlainSerializer

from theodolite.answers import AnswerFormat
from theodolite.core.errors import UsageError
from theodolite.core.files import check
from theodolite.core.types import Json, Picture
from theodolite.core.views import Name, Number, Whole
from theodolite.geometry import Box

Aspect: TypeAlias = Literal["objects", "boxes", "attributes", "states", "relations", "actions", "poses"]
"""What can be known about an episode. ``objects``: which exist, and which of them each frame shows."""

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)

Knowledge: TypeAlias = Literal["complete", "partial", "none"]
"""How completely an aspect is known. ``complete``: everything true is listed, so anything else is false. ``partial``: what is
listed is true, anything else is unknown. ``none``: nothing is listed."""

Split: TypeAlias = Literal["in-distribution", "ood"]

Family: TypeAlias = Literal["position", "temporal", "visibility", "irrelevant"]
"""The families of edits; see `theodolite.worlds.stories`."""
FAMILIES: tuple[Family, ...] = get_args(Family)

EGO = "ego"
"""The id of the observer: the agent or the camera."""


def _read_box(value: Any) -> Box | None:
    if value is None or isinstance(value, Box):
        return value
    return Box(*check(tuple[Number, Number, Number, Number], value))


StoredBox: TypeAlias = Annotated[Box, BeforeValidator(_read_box), PlainSerializer(astuple)]


@dataclass(frozen=True, slots=True)
class FrameObject:
    """An object at one frame."""

    id: Name
    """The same in every frame of the episode."""
    category: Name
    """A noun in the singular, lower case: ``ball``, ``dining table``."""
    box: StoredBox | None = None
    """Where the frame shows it; None if unknown or out of view."""
    is_visible: bool = True
    """False for an object that exists but is hidden or out of view."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Permanent properties: ``{"colour": "red", "size": "small", "material": "wood"}``."""
    states: Mapping[str, bool] = field(default_factory=dict)
    """Properties that may change: ``{"open": True, "sliced": False, "moving": True}``."""
    position_m: tuple[Number, Number, Number] | None = None
    """Its position in the world."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of two objects at one frame: ``Relation("person-1", "holding", "cup-2")``."""

    subject: str
    """An object's id, or `EGO`."""
    predicate: str
    """A verb in the -ing form, or a preposition: ``holding``, ``in front of``, ``on``."""
    object: str


@dataclass(frozen=True, slots=True)
class Pose:
    """The position and direction of the camera."""

    x_m: Number
    y_m: Number
    z_m: Number = 0.0
    heading_deg: Number = 0.0
    """Clockwise from north (+y)."""
    pitch_deg: Number = 0.0
    """Above the horizon."""

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.x_m, self.y_m, self.z_m, self.heading_deg, self.pitch_deg))):
            raise UsageError(f"a pose needs finite numbers, got {self}")

    def turn_to_deg(self, other: Pose) -> float:
        """Return the turn to another pose, in (−180, 180]; right is positive.

        >>> Pose(0, 0, heading_deg=350).turn_to_deg(Pose(0, 0, heading_deg=20))
        30.0
        """
        return 180.0 - (180.0 - (other.heading_deg - self.heading_deg)) % 360.0

    def bearing_deg(self, position_m: tuple[float, float, float]) -> float:
        """Return the bearing of a position: 0 ahead, 90 to the right, −90 to the left, 180 behind.

        >>> Pose(0, 0, heading_deg=90).bearing_deg((0.0, 5.0, 0.0))
        -90.0
        """
        north = math.degrees(math.atan2(position_m[0] - self.x_m, position_m[1] - self.y_m))
        return 180.0 - (180.0 - (north - self.heading_deg)) % 360.0


@dataclass(frozen=True, slots=True)
class Action:
    """Something that happens for some time."""

    verb: str
    """A lemma, with its particle: ``pick up``, ``open``, ``collide``, ``turn left``."""
    subject: str
    """The actor: an object's id, or `EGO`."""
    objects: tuple[str, ...] = ()
    """The ids of the objects involved."""
    start_s: Number = 0.0
    end_s: Number = 0.0
    label: str = ""
    """The label in the data set."""

    def __post_init__(self) -> None:
        if self.end_s < self.start_s:
            raise UsageError(f"an action ends before it begins: {self}")


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of the sequence, and what is known about that moment."""

    time_s: Number
    picture: Picture | None = None
    """None if there is no picture."""
    size_px: tuple[Whole, Whole] | None = None
    """Width and height, in which boxes are measured."""
    objects: tuple[FrameObject, ...] = ()
    relations: tuple[Relation, ...] = ()
    pose: Pose | None = None
    state: Mapping[str, Json] = field(default_factory=dict)
    """Further values of the simulator."""
    number: Whole | None = None
    """The frame number in the data set, if it has one."""

    def find(self, object_id: str) -> FrameObject | None:
        """Return the object with an id, if the frame lists it."""
        return next((o for o in self.objects if o.id == object_id), None)


@dataclass(frozen=True, slots=True)
class EpisodeEdit:
    """How an episode was made from another by editing its scenario."""

    base: str
    """The id of the episode before the edit."""
    family: Family
    magnitude: Number
    """The strength of the edit, in (0, 1]: |P| of equation 4."""
    edited: tuple[str, ...] = ()
    """The ids of the edited objects; empty if the order of frames was edited."""
    note: str = ""
    """A description."""

    def __post_init__(self) -> None:
        if not 0 < self.magnitude <= 1:
            raise UsageError(f"the magnitude of an edit lies in (0, 1], got {self.magnitude}")

    @property
    def is_relevant(self) -> bool:
        """True if a faithful trace must change."""
        return self.family != "irrelevant"


@dataclass(frozen=True, slots=True)
class Episode:
    """A sequence of frames with a task, and all ground truth about it.

    >>> ball = FrameObject("ball-1", "ball", Box(10, 10, 20, 20), attributes={"colour": "red"})
    >>> known = {"objects": "complete", "boxes": "complete", "attributes": "complete"}
    >>> Episode("e1", "What moves?", (Frame(0.0, objects=(ball,)),), known=known).knows("attributes")
    'complete'
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False
    )

    id: Name
    task: str
    """The question, or the instruction."""
    frames: tuple[Frame, ...]
    answer: str = ""
    """The right answer; empty if there is none."""
    options: tuple[str, ...] = ()
    """The possible answers; empty for an open question."""
    actions: tuple[Action, ...] = ()
    known: Mapping[Aspect, Knowledge] = field(default_factory=dict)
    """How completely each aspect is known; not at all if it is missing here."""
    vocabulary: Mapping[Aspect, tuple[str, ...]] = field(default_factory=dict)
    """All labels that the annotation of an aspect could use; empty if any could."""
    world: str = ""
    """The benchmark or world it comes from: ``video``, ``navigation``, ``star``, …"""
    split: Split = "in-distribution"
    difficulty: Mapping[str, Number] = field(default_factory=dict)
    """Measures of difficulty, by which splits are compared: ``{"frames": 8, "objects": 4, "events": 2}``."""
    cluster: str = ""
    """The scene, house or video shared with other episodes; its own id if empty."""
    edit: EpisodeEdit | None = None
    """How it was made from another episode, if it is an edit."""
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
        """Return how completely an aspect is known."""
        return self.known.get(aspect, "none")

    @property
    def unit(self) -> str:
        """The cluster that it belongs to."""
        return self.cluster or self.id

    @property
    def format(self) -> AnswerFormat:
        """The form of its answer."""
        return AnswerFormat.choice(self.options, style="word") if self.options else AnswerFormat.text()

    def actions_at(self, frames: tuple[int, ...]) -> tuple[Action, ...]:
        """Return the actions that overlap some frames. A frame covers the time until the next one."""
        if not frames:
            return self.actions
        start, end = self.frames[min(frames)].time_s, self.until_s(max(frames))
        return tuple(a for a in self.actions if a.start_s < end and a.end_s >= start)

    def until_s(self, frame: int) -> float:
        """Return the end of the time that a frame covers; infinity for the last frame."""
        return self.frames[frame + 1].time_s if frame + 1 < len(self.frames) else math.inf


_KNOWLEDGE: tuple[Knowledge, ...] = get_args(Knowledge)
