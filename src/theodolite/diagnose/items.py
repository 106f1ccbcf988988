"""``items.jsonl``: one line per measured item, for people to look at.

Everything a page needs to show an item is in its line, but for the pictures, which lie beside it. What a model said is kept
as it was said: it is untrusted text, to be escaped wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, ValidationError

from theodolite.core.errors import StorageError, UsageError
from theodolite.diagnose.record import Form, InstrumentName

ITEMS_FILE = "items.jsonl"

UNSEEN = frozenset({"blank", "blind", "emptied", "other picture", "reference hidden", "target hidden"})
"""Conditions in which the picture does not show what is asked for: an answer is neither right nor wrong by it."""

BoxPx: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels of the picture."""


class HeatMap(Form):
    """Relevance or effect on a grid over the picture."""

    name: str
    """The method or explainer."""
    values: list[list[float]]
    """Rows from the top; scaled so that the largest absolute value is 1, unless all are zero."""
    place_px: BoxPx
    """Which part of the picture the grid covers."""


class CompassOverlay(Form):
    """What the compass saw of one item."""

    target: str
    reference: str
    target_px: BoxPx
    reference_px: BoxPx
    size_px: tuple[int, int]
    """Width and height of the picture."""
    sectors: dict[str, dict[str, float]] = Field(default_factory=dict)
    """By method: the share of the map's mass in each direction from the reference object."""
    maps: list[HeatMap] = Field(default_factory=list)


class Cell(Form):
    """One object on the grid."""

    row: int
    column: int
    name: str
    role: str
    """What it is to the question: target, anchor, distractor …"""


class GridView(Form):
    """The grid of one item."""

    rows: int
    columns: int
    cells: list[Cell]
    words: list[str] = Field(default_factory=list)
    """Of the question."""
    word_masses: dict[str, list[float]] = Field(default_factory=dict)
    """By explainer: one share per word."""
    maps: list[HeatMap] = Field(default_factory=list)


class SeenObject(Form):
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


class SceneView(Form):
    """A scene from above: as it is, and as the model said."""

    true: list[SeenObject]
    said: list[SeenObject] = Field(default_factory=list)
    said_text: str = ""
    """The graph as the model gave it; untrusted."""
    said_problem: str = ""
    """Why there is no picture of what it said."""


class ClaimView(Form):
    """One claim of a step, with its verdict."""

    text: str
    verdict: Literal["supported", "unsupported", "unverifiable"]
    reason: str = ""
    evidence: str = ""


class StepView(Form):
    """One step of a trace."""

    text: str
    frames: list[int] = Field(default_factory=list)
    """Which frames it speaks of, from 0."""
    claims: list[ClaimView] = Field(default_factory=list)
    grounding: float | None = None
    """Share of its claims that are supported; None if none can be judged."""


class TraceView(Form):
    """The reasoning of one item, step by step."""

    steps: list[StepView]
    world: str = ""


class ItemRow(Form):
    """One line of ``items.jsonl``."""

    id: str
    """Unique among the lines of one model and instrument."""
    instrument: InstrumentName
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
    status: Literal["answered", "refused", "failed", "unreadable"]
    reason: str = ""
    values: dict[str, float] = Field(default_factory=dict)
    """By readout key."""
    pictures: list[str] = Field(default_factory=list)
    """Files, relative to the folder of ``items.jsonl``; several for a video."""
    compass: CompassOverlay | None = None
    grid: GridView | None = None
    scene: SceneView | None = None
    trace: TraceView | None = None


def write_items(rows: Iterable[ItemRow], folder: Path) -> Path:
    """Writes ``items.jsonl`` into a folder, whole or not at all.

    Returns:
        The file.
    """
    path = folder / ITEMS_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")
        with draft.open("w", encoding="utf-8") as file:
            file.writelines(row.model_dump_json(exclude_defaults=True) + "\n" for row in rows)
        draft.replace(path)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror}; free some space or choose another --out"
        ) from error
    return path


def read_items(folder: str | Path) -> Iterator[ItemRow]:
    """The lines of ``items.jsonl`` of a folder.

    Raises:
        UsageError: there is none, or a line is not as it should be.
    """
    path = Path(folder) / ITEMS_FILE
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield ItemRow.model_validate_json(line)
                except ValidationError as error:
                    first = " ".join(str(error).split())[:200]
                    raise UsageError(f"{path}, line {number}: {first}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
