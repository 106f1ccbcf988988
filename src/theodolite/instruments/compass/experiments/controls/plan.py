"""The items of a run with controls: every pair plain, and each of its edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Picture
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL, OPPOSITE, Vocabulary, opposite, vocabulary_of
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import Pair, Region, cutouts
from theodolite.instruments.compass.questions import Prompt, edited_items, pair_item
from theodolite.pairs.pictures.objects import (
    UNIT,
    PlacingOptions,
    Step,
    Studio,
    Unfit,
    exchange_steps,
    hull,
    joint_step,
    overlap,
    step_to,
    within,
)

# Edits of a pair's picture or question with a known right answer: finding and drawing them.
#
# relocation         A stays; B is cut out, its place filled, and pasted to the left, right, above and below of A
# fix-b-move-a       B stays and A moves, so that B is to the left, right, above and below of A
# joint-translation  both move by the same step: the direction stays, the location changes
# swap-roles         the picture stays; reference and target are exchanged in the question
# swap-places        the question stays; the two objects exchange places in the picture


RELOCATION, MOVE_A, TRANSLATION = "relocation", "fix-b-move-a", "joint-translation"
SWAP_ROLES, SWAP_PLACES = "swap-roles", "swap-places"


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """One edit of one pair, not drawn yet."""

    control: str
    probe: str
    """Which of the control's edits: a direction, or ``swapped``."""
    pair: Pair
    """The original."""
    reference_step: Step = (0, 0)
    target_step: Step = (0, 0)
    vocabulary: Vocabulary = CARDINAL
    """The directions that are asked for."""

    @property
    def reference(self) -> Box:
        """A's box afterwards."""
        return within(self.pair.reference.box, self.pair.size_px).moved(*self.reference_step)

    @property
    def target(self) -> Box:
        """B's box afterwards."""
        return within(self.pair.target.box, self.pair.size_px).moved(*self.target_step)

    def edited(self, studio: Studio | None = None) -> Pair:
        """Return the edited pair with its picture drawn; id and names stay the same.

        Args:
            studio: Studio of the same pair, to share the cutting with its other edits.
        """
        pair = self.pair
        if self.control == SWAP_ROLES:
            return replace(
                pair, reference=pair.target, target=pair.reference, direction=opposite(pair.direction) or ""
            )
        return replace(
            pair,
            picture=Picture.from_array(
                (studio or studio_of(pair)).draw([self.reference_step, self.target_step])
            ),
            reference=Region(pair.reference.name, self.reference),
            target=Region(pair.target.name, self.target),
            direction=self.vocabulary.between(self.reference, self.target).name,
            meta={},
        )


@dataclass(frozen=True, slots=True)
class EditReport:
    """How many edits of a control could be made, and why others could not."""

    control: str
    pairs: int
    """Pairs with at least one edit."""
    edits: int
    excluded: dict[str, int]
    """Counts of edits that could not be made, by reason."""
    cut_by_box: int
    """Edits of pairs that have no outlines."""


def find_edits(
    pairs: Sequence[Pair], control: str, options: PlacingOptions
) -> tuple[list[PlannedEdit], EditReport]:
    """Return all edits of one control, and count what could not be edited.

    Args:
        pairs: The pairs to edit.
        control: One of `EDITS`.
        options: How objects are moved.
    """
    edits: list[PlannedEdit] = []
    excluded: Counter[Unfit] = Counter()
    vocabulary = vocabulary_of(pair.direction for pair in pairs)
    for pair in pairs:
        edits += [replace(edit, vocabulary=vocabulary) for edit in _FINDERS[control](pair, options, excluded)]
    report = EditReport(
        control,
        len({edit.pair.id for edit in edits}),
        len(edits),
        {reason.value: excluded[reason] for reason in Unfit if excluded[reason]},
        0 if control == SWAP_ROLES else sum(not _has_outlines(edit.pair) for edit in edits),
    )
    return edits, report


def _family(
    control: str, steps: Callable[[Pair, str, PlacingOptions], tuple[Step | None, Step | None]]
) -> Callable[[Pair, PlacingOptions, Counter[Unfit]], list[PlannedEdit]]:
    """Return a control that makes one edit per direction."""

    def find(pair: Pair, options: PlacingOptions, excluded: Counter[Unfit]) -> list[PlannedEdit]:
        if _is_entangled(pair, options):
            excluded[Unfit.OVERLAP] += len(UNIT)
            return []
        edits = []
        for direction in UNIT:
            reference, target = steps(pair, direction, options)
            if reference is None or target is None:
                excluded[Unfit.NO_ROOM] += 1
            else:
                edits.append(PlannedEdit(control, direction, pair, reference, target))
        if len(edits) < options.min_places:
            excluded[Unfit.FEW_PLACES] += len(edits)
            return []
        return edits

    return find


def _relocated(pair: Pair, direction: str, options: PlacingOptions) -> tuple[Step | None, Step | None]:
    a, b = _boxes(pair)
    return (0, 0), step_to(b, a, direction, pair.size_px, options)


def _moved(pair: Pair, direction: str, options: PlacingOptions) -> tuple[Step | None, Step | None]:
    a, b = _boxes(pair)
    return step_to(a, b, OPPOSITE[direction], pair.size_px, options), (0, 0)


def _translated(pair: Pair, direction: str, options: PlacingOptions) -> tuple[Step | None, Step | None]:
    step = joint_step(hull(*_boxes(pair)), direction, pair.size_px, options)
    return step, step


def _swapped_roles(pair: Pair, _: PlacingOptions, excluded: Counter[Unfit]) -> list[PlannedEdit]:
    if opposite(pair.direction) is None:
        excluded[Unfit.NO_OPPOSITE] += 1
        return []
    return [PlannedEdit(SWAP_ROLES, "swapped", pair)]


def _swapped_places(pair: Pair, options: PlacingOptions, excluded: Counter[Unfit]) -> list[PlannedEdit]:
    if _is_entangled(pair, options):
        excluded[Unfit.OVERLAP] += 1
        return []
    a, b = _boxes(pair)
    edit = PlannedEdit(SWAP_PLACES, "swapped", pair, *exchange_steps(a, b, pair.size_px))
    name = CARDINAL.between(a, b).name
    apart = overlap(edit.reference, edit.target) <= options.max_overlap
    if not apart or CARDINAL.between(edit.reference, edit.target).name != OPPOSITE[name]:
        excluded[Unfit.NOT_SWAPPED] += 1
        return []
    return [edit]


_FINDERS: dict[str, Callable[[Pair, PlacingOptions, Counter[Unfit]], list[PlannedEdit]]] = {
    RELOCATION: _family(RELOCATION, _relocated),
    MOVE_A: _family(MOVE_A, _moved),
    TRANSLATION: _family(TRANSLATION, _translated),
    SWAP_ROLES: _swapped_roles,
    SWAP_PLACES: _swapped_places,
}
EDITS = tuple(_FINDERS)
"""The controls that edit pictures or questions."""


def studio_of(pair: Pair) -> Studio:
    """Return the studio that draws the edits of a pair: reference and target, their places filled with blurred background."""
    return Studio(pair.picture, cutouts(pair), fill="blurred")


def _boxes(pair: Pair) -> tuple[Box, Box]:
    return within(pair.reference.box, pair.size_px), within(pair.target.box, pair.size_px)


def _is_entangled(pair: Pair, options: PlacingOptions) -> bool:
    return not _has_outlines(pair) and overlap(*_boxes(pair)) > options.max_overlap


def _has_outlines(pair: Pair) -> bool:
    return all(cutout.outline for cutout in cutouts(pair))


PROMPT_DIRECTION, SQUARES = "prompt-direction", "squares"
MEASURED = (PROMPT_DIRECTION, *EDITS, SQUARES)
"""The controls that need a model."""


@dataclass(frozen=True, slots=True)
class ControlPlan:
    """The questions, and the edits that cannot be made."""

    pairs: tuple[Pair, ...]
    prompts: tuple[Prompt, ...]
    controls: tuple[str, ...]
    edits: tuple[PlannedEdit, ...]
    squares: tuple[Pair, ...]
    reports: tuple[EditReport, ...]
    """One per control that edits."""
    has_pairs: bool = False
    """True to ask about the answer to every pair after edits, too."""

    def items(self) -> Iterator[Item]:
        """Yield items pair by pair, so that any first part of the plan holds every control; the squares come last.

        Pictures are drawn when they are needed, so that a long plan does not fill the memory.
        """
        by_pair: dict[str, list[PlannedEdit]] = {}
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
                    }
                    yield pair_item(
                        edited,
                        prompt,
                        condition=f"{edit.control}/{edit.probe}",
                        cluster=pair.picture.digest,
                        meta=meta,
                    )
        for pair in self.squares:
            for prompt in self.prompts:
                yield pair_item(
                    pair, prompt, condition=SQUARES, meta={"control": SQUARES, "probe": pair.group}
                )

    def as_settings(self) -> dict[str, Any]:
        """Return the part of the plan that a run stores: the controls, and what could not be edited."""
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
    """Find every edit that the controls need; nothing is drawn yet.

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
    edits: list[PlannedEdit] = []
    reports: list[EditReport] = []
    for control in EDITS:
        if control in controls:
            control_edits, report = find_edits(pairs, control, placing or PlacingOptions())
            edits += control_edits
            reports.append(report)
    vocabulary = vocabulary_of(pair.direction for pair in pairs)
    squares = (
        coloured_squares(n_squares, seed=seed, vocabulary=vocabulary).pairs if SQUARES in controls else ()
    )
    chosen = tuple(name for name in MEASURED if name in controls)
    return ControlPlan(tuple(pairs), tuple(prompts), chosen, tuple(edits), squares, tuple(reports), has_pairs)
