"""What is shown of one measured item: its row, and the views that can be drawn beside it.

An instrument fills in the views that fit its items; the report and the viewer draw them without knowing the instrument.
What a model said is untrusted text and is escaped wherever it is shown.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "UNSEEN",
    "BoxPx",
    "Cell",
    "CellsView",
    "ClaimView",
    "Form",
    "HeatMap",
    "ItemRow",
    "Name",
    "Number",
    "Overlay",
    "PlanView",
    "RowStatus",
    "SeenObject",
    "StepView",
    "StepsView",
    "Stored",
    "Whole",
]


# The base classes of stored records, and the types of their fields, checked by pydantic.


_LARGEST_NUMBER = 1e12
"""No length, time or count in a data set comes near, and sums and squares of such numbers are still finite."""

Number: TypeAlias = Annotated[float, Field(ge=-_LARGEST_NUMBER, le=_LARGEST_NUMBER, allow_inf_nan=False)]
"""A finite number."""

Whole: TypeAlias = Annotated[int, Field(ge=-(2**53), le=2**53)]
"""A whole number, such as an id or a size."""

Name: TypeAlias = Annotated[str, Field(min_length=1)]
"""Text that is not empty."""


class Form(BaseModel):
    """A record of a file that others wrote. Unknown fields are ignored; NaN and infinity are refused."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Stored(BaseModel):
    """A part of a document that Theodolite itself writes: checked, frozen, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="null")


RowStatus: TypeAlias = Literal[
    "answered", "none of these", "refused", "cut off", "ambiguous", "unreadable", "failed", "pending"
]
"""``answered`` means that the answer was read; the other statuses say why there is none."""


UNSEEN = frozenset(
    {"blank", "blind", "swapped", "emptied", "other picture", "reference hidden", "target hidden"}
)
"""Conditions in which the picture does not show what is asked for: an answer is neither right nor wrong by it."""

BoxPx: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels of the picture."""


class HeatMap(Stored):
    """Relevance or effect on a grid over the picture."""

    name: str
    """The method or explainer."""
    values: list[list[float]]
    """Rows from the top; scaled so that the largest absolute value is 1, unless all are zero."""
    place_px: BoxPx
    """Which part of the picture the grid covers."""


class Overlay(Stored):
    """Two boxes on a picture, relevance maps, and their mass by direction."""

    target: str
    reference: str
    target_px: BoxPx
    reference_px: BoxPx
    size_px: tuple[int, int]
    """Width and height of the picture."""
    sectors: dict[str, dict[str, float]] = Field(default_factory=dict)
    """By method: the share of the map's mass in each direction from the reference object."""
    maps: list[HeatMap] = Field(default_factory=list)


class Cell(Stored):
    """One object on the grid."""

    row: int
    column: int
    name: str
    role: str
    """What it is to the question: target, anchor, distractor …"""


class CellsView(Stored):
    """Objects on a grid of cells, with maps over cells and words."""

    rows: int
    columns: int
    cells: list[Cell]
    words: list[str] = Field(default_factory=list)
    """Of the question."""
    word_masses: dict[str, list[float]] = Field(default_factory=dict)
    """By explainer: one share per word."""
    maps: list[HeatMap] = Field(default_factory=list)


class SeenObject(Stored):
    """One object from above. The camera is at the origin and looks along z."""

    mark: int
    category: str = ""
    x_m: float
    """To the right."""
    z_m: float
    """Forward."""
    width_m: float
    depth_m: float
    turn_deg: float = 0.0
    """Of its length, from the x axis, counter-clockwise seen from above."""


class PlanView(Stored):
    """Objects seen from above: as they are, and as the model said."""

    true: list[SeenObject]
    said: list[SeenObject] = Field(default_factory=list)
    said_text: str = ""
    """The graph as the model gave it; untrusted."""
    said_problem: str = ""
    """Why there is no picture of what it said."""


class ClaimView(Stored):
    """One claim of a step, with its verdict."""

    text: str
    verdict: Literal["supported", "unsupported", "unverifiable"]
    reason: str = ""
    evidence: str = ""


class StepView(Stored):
    """One step of a trace."""

    text: str
    frames: list[int] = Field(default_factory=list)
    """Which frames it speaks of, from 0."""
    claims: list[ClaimView] = Field(default_factory=list)
    grounding: float | None = None
    """Share of its claims that are supported; None if none can be judged."""


class StepsView(Stored):
    """The reasoning of one item, step by step."""

    steps: list[StepView]
    world: str = ""


class PairRow(Stored):
    """One line of ``pairs.jsonl``: two answers to one question."""

    instrument: str
    model: str
    pictures: str
    """Which pictures: the label of the verdict."""
    edit: str
    """``another picture`` for two pictures as they are."""
    is_relevant: bool
    """True if the right answers differ."""
    relation: str = ""
    outcome: str
    before: str
    """The id of the first item, of the same model and instrument."""
    after: str


class ItemRow(Stored):
    """One line of ``items.jsonl``."""

    id: str
    """Unique among the lines of one model and instrument."""
    instrument: str
    model: str
    split: str
    cluster: str
    """The picture, scene or episode it belongs to."""
    condition: str = "plain"
    """What was done to the item: plain, mirrored, blank, blind, swapped …"""
    kind: str = ""
    """Of the question, in the instrument's own words."""
    question: str
    prompt: str = ""
    """The whole request, where it says more than the question."""
    answer: str
    """As given; untrusted."""
    read_as: str = ""
    """What the parser made of the answer; empty if nothing."""
    gold: str
    correct: bool | None
    """None where there is nothing to compare."""
    status: RowStatus
    reason: str = ""
    values: dict[str, float] = Field(default_factory=dict)
    """By metric key."""
    pictures: list[str] = Field(default_factory=list)
    """Files, relative to the folder of ``items.jsonl``; several for a video."""
    overlay: Overlay | None = None
    cells: CellsView | None = None
    plan: PlanView | None = None
    steps: StepsView | None = None
