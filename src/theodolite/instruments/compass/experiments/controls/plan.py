"""The items of a run with controls: every pair plain, and each of its edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.core.types import Item
from theodolite.instruments.compass.conditions import edited_items
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.instruments.compass.data.squares import coloured_squares
from theodolite.instruments.compass.experiments.controls.edits import (
    EDITS,
    Edit,
    EditReport,
    find_edits,
    studio_of,
)
from theodolite.instruments.compass.questions import Prompt, pair_item
from theodolite.pairs.directions import vocabulary_of
from theodolite.pairs.pictures.placing import PlacingOptions

PROMPT_DIRECTION, SQUARES = "prompt-direction", "squares"
MEASURED = (PROMPT_DIRECTION, *EDITS, SQUARES)
"""The controls that need a model."""


@dataclass(frozen=True, slots=True)
class ControlPlan:
    """What is asked, and which edits cannot be made."""

    pairs: tuple[Pair, ...]
    prompts: tuple[Prompt, ...]
    controls: tuple[str, ...]
    edits: tuple[Edit, ...]
    squares: tuple[Pair, ...]
    reports: tuple[EditReport, ...]
    """One per control that edits."""
    has_pairs: bool = False
    """True to ask about the answer to every pair after edits, too."""

    def items(self) -> Iterator[Item]:
        """Pair by pair, so that any first part of the plan holds every control; the squares come last.

        Pictures are drawn when they are needed, so that a long plan does not fill the memory.
        """
        by_pair: dict[str, list[Edit]] = {}
        for edit in self.edits:
            by_pair.setdefault(edit.pair.id, []).append(edit)
        for number, pair in enumerate(self.pairs):
            for prompt in self.prompts:
                yield pair_item(pair, prompt, meta=self._plain_meta(prompt))
                if self.has_pairs:
                    yield from edited_items(pair, number, prompt)
            studio = studio_of(pair)
            for edit in by_pair.get(pair.id, ()):
                edited = edit.edited(studio)
                for prompt in self.prompts:
                    meta = {
                        "control": edit.control,
                        "probe": edit.probe,
                        "cluster": pair.picture.digest,
                    }
                    yield pair_item(edited, prompt, condition=f"{edit.control}/{edit.probe}", meta=meta)
        for pair in self.squares:
            for prompt in self.prompts:
                yield pair_item(
                    pair, prompt, condition=SQUARES, meta={"control": SQUARES, "probe": pair.group}
                )

    def as_settings(self) -> dict[str, Any]:
        """What a run stores of its plan: the controls, and what could not be edited."""
        return {
            "controls": list(self.controls),
            "edits": [asdict(report) for report in self.reports],
            "squares": len(self.squares),
        }

    def _plain_meta(self, prompt: Prompt) -> dict[str, Any]:
        if PROMPT_DIRECTION not in self.controls:
            return {}
        # gt and pred are two of the options.
        return {"targets": [f"option:{i}" for i in range(len(prompt.tokens))]}


def plan_controls(
    pairs: Sequence[Pair],
    prompts: Sequence[Prompt],
    *,
    controls: Sequence[str] = MEASURED,
    n_squares: int = 160,
    seed: int = 0,
    placing: PlacingOptions | None = None,
    has_pairs: bool = False,
) -> ControlPlan:
    """Finds every edit that the controls need; nothing is drawn yet.

    Args:
        pairs: With different ids. Objects are cut out by ``meta["outlines"]`` if a pair has them (COCO pairs do), else by
            their boxes.
        prompts: How the questions are asked.
        controls: Some of `MEASURED`; if none, the pairs are only asked as they are.
        n_squares: Pictures of coloured squares, if they are among the controls.
        seed: Seed of the squares.
        placing: How objects are moved.
        has_pairs: Ask about the answer to every pair after edits, too.

    Raises:
        UsageError: There is no such control, or no pair.
    """
    unknown = [name for name in controls if name not in MEASURED]
    if unknown:
        raise UsageError(
            f"the controls that need a model are {', '.join(MEASURED)}; got {', '.join(controls)}"
        )
    if not pairs or len({pair.id for pair in pairs}) < len(pairs):
        raise UsageError(f"controls need pairs with different ids, got {len(pairs)} pairs")
    edits: list[Edit] = []
    reports: list[EditReport] = []
    for control in EDITS:
        if control in controls:
            found, report = find_edits(pairs, control, placing or PlacingOptions())
            edits += found
            reports.append(report)
    vocabulary = vocabulary_of(pair.direction for pair in pairs)
    squares = (
        coloured_squares(n_squares, seed=seed, vocabulary=vocabulary).pairs if SQUARES in controls else ()
    )
    chosen = tuple(name for name in MEASURED if name in controls)
    return ControlPlan(tuple(pairs), tuple(prompts), chosen, tuple(edits), squares, tuple(reports), has_pairs)
