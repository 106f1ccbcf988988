"""The conditions under which a diagnosis asks a pair: as it is, with a part hidden, and after edits with a known answer.

plain              the pair as it is
mirrored           the picture mirrored along the asked axis
blank              a picture of one colour
target hidden      the box of one object in the picture's mean colour; likewise ``reference hidden``
part hidden 0 …    one of 4 × 4 parts of the picture in its mean colour
exchanged          reference and target exchange their places
target moved       the target moves alone to where the answer is another one; likewise ``reference moved``
mirrored sideways  the picture mirrored although the question is about above and below: the answer stays
light, noise,      the picture brighter, with noise, compressed again: the answer stays
re-encode

Planned items name the original picture, so that a run stores one picture per pair; `shown_item` edits it. In photographs,
objects are cut out and pasted (`theodolite.pairs.pictures`); drawn pictures are drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias, cast

from theodolite.core.scores import Capability, covers
from theodolite.core.types import Item, Json, Message, Picture
from theodolite.geometry import Box
from theodolite.instruments.compass.data.drawn import drawn_picture, moved_alone
from theodolite.instruments.compass.data.edited import (
    PARTS,
    blank,
    hidden,
    mirrored,
    mirrored_boxes,
    part_box,
)
from theodolite.instruments.compass.data.pairs import Pair, Region, cutouts
from theodolite.instruments.compass.questions import PLAIN, Prompt, default_prompt, pair_item
from theodolite.pairs.directions import CARDINAL, EIGHT, Vocabulary, is_sideways, opposite
from theodolite.pairs.edits import (
    EXCHANGE,
    FLIP,
    LIGHT,
    MIRROR,
    MIRROR_UNASKED,
    MOVE_REFERENCE,
    MOVE_TARGET,
    NOISE,
    REENCODE,
    Edit,
)
from theodolite.pairs.pictures import (
    Cutout,
    Studio,
    Unfit,
    UnfitError,
    find_exchange,
    find_move,
    light,
    mirror,
    noise,
    reencode,
)
from theodolite.pairs.pictures.placing import PlacingOptions, Step
from theodolite.stats import circular_distance

MIRRORED, BLANK = "mirrored", "blank"
TARGET_HIDDEN, REFERENCE_HIDDEN, PART_HIDDEN = "target hidden", "reference hidden", "part hidden"
EXCHANGED, TARGET_MOVED, REFERENCE_MOVED = "exchanged", "target moved", "reference moved"
SIDEWAYS = "mirrored sideways"
_CLEAR_DEG = 10.0
"""How much nearer the direction of moved objects must be than the next one."""
_TILT_DEG = 15.0
"""How far moved objects may lie from the exact direction, of eight."""
NO_MAPS = "no_maps"
"""The key of an item's meta that leaves out relevance maps."""

_WHOLE: Mapping[str, Callable[[Picture], Picture]] = {
    SIDEWAYS: mirror,
    LIGHT.name: light,
    NOISE.name: noise,
    REENCODE.name: reencode,
}
"""Neutral edits of the whole picture, by condition."""
_EDITS: Mapping[str, Edit] = {
    EXCHANGED: EXCHANGE,
    TARGET_MOVED: MOVE_TARGET,
    REFERENCE_MOVED: MOVE_REFERENCE,
    SIDEWAYS: MIRROR_UNASKED,
    **{edit.name: edit for edit in (LIGHT, NOISE, REENCODE)},
}


def edit_of(condition: str, direction: str) -> Edit | None:
    """The edit that a condition stands for, given the right answer before; None if the answer after it is not known."""
    if condition == MIRRORED:
        return MIRROR if is_sideways(direction) else FLIP
    return _EDITS.get(condition)


@dataclass(frozen=True, slots=True)
class EditedPair:
    """A pair after an edit: boxes and answer are new, the picture is the original."""

    condition: str
    pair: Pair
    how: Mapping[str, Json] = field(default_factory=dict)
    """What `shown_item` needs to edit the picture."""


EditsOf: TypeAlias = Callable[[Pair, int, Vocabulary], Sequence[EditedPair]]
"""The edits of a pair beyond mirroring, given its number and the directions that are asked for."""


def drawn_edits(pair: Pair, number: int, _: Vocabulary = CARDINAL) -> list[EditedPair]:
    """The edits of a drawn pair beyond mirroring: other light, mirrored sideways where that is neutral, one thing moved.

    Args:
        pair: From `relation_pairs`, whose directions take turns.
        number: Its place among the pairs. Four times the reference moves, then four times the target.
    """
    found = [EditedPair(LIGHT.name, pair)]
    if not is_sideways(pair.direction):
        found.append(EditedPair(SIDEWAYS, pair))
    is_target = number // len(CARDINAL.names) % 2 == 1
    moved = moved_alone(pair, "target" if is_target else "reference")
    if moved is not None:
        how = {"scene": moved.meta["scene"]}
        condition = TARGET_MOVED if is_target else REFERENCE_MOVED
        found.append(EditedPair(condition, replace(moved, picture=pair.picture), how))
    return found


def photograph_edits(pair: Pair, number: int, vocabulary: Vocabulary = CARDINAL) -> list[EditedPair]:
    """The edits of a pair in a photograph beyond mirroring: two neutral ones, and those that look right.

    Args:
        pair: A pair whose boxes lie clearly in its direction.
        number: Its place among the pairs. Noise and compression take turns.
        vocabulary: The directions that are asked for.
    """
    second = (NOISE.name, REENCODE.name)[number % 2] if is_sideways(pair.direction) else SIDEWAYS
    made, _ = _object_edits(pair, cutouts(pair), vocabulary)
    return [EditedPair(LIGHT.name, pair), EditedPair(second, pair), *made]


def unfit_edits(pair: Pair, vocabulary: Vocabulary = CARDINAL) -> tuple[Unfit, ...]:
    """Why objects of a pair are not exchanged or moved: one reason for each such edit that would not look right."""
    return _object_edits(pair, cutouts(pair), vocabulary)[1]


@lru_cache(maxsize=4096)  # an edit is planned and counted, and takes a tenth of a second
def _object_edits(
    pair: Pair, things: tuple[Cutout, Cutout], vocabulary: Vocabulary
) -> tuple[tuple[EditedPair, ...], tuple[Unfit, ...]]:
    """The edits of a pair's objects that look right, and why others do not."""
    made: list[EditedPair] = []
    unfit: list[Unfit] = []
    studio = Studio(pair.picture, things, others=pair.others)
    for condition in (EXCHANGED, TARGET_MOVED, REFERENCE_MOVED):
        try:
            steps = _steps(pair, things, condition, vocabulary)
            studio.draw(steps)
        except UnfitError as error:
            unfit.append(error.reason)
        else:
            moved = _moved(pair, steps, vocabulary)
            if _is_clear(pair, moved, vocabulary):
                made.append(EditedPair(condition, moved, {"steps": [list(step) for step in steps]}))
            else:
                unfit.append(Unfit.UNCLEAR)
    return tuple(made), tuple(unfit)


def _steps(
    pair: Pair, things: tuple[Cutout, Cutout], condition: str, vocabulary: Vocabulary
) -> tuple[Step, Step]:
    """The steps of reference and target.

    Raises:
        UnfitError: The objects cannot be moved so.
    """
    reference, target = things
    if condition == EXCHANGED:
        return find_exchange(reference, target, pair.size_px, others=pair.others)
    placing = PlacingOptions(max_tilt_deg=_TILT_DEG) if vocabulary == EIGHT else PlacingOptions()
    how: dict[str, Any] = {"others": pair.others, "options": placing}
    if condition == TARGET_MOVED:
        ways = _farthest_first(pair.direction)
        return (0, 0), find_move(target, reference, pair.size_px, directions=ways, **how)
    # Seen from the target, the reference goes to where the target was, seen from the reference.
    ways = _farthest_first(opposite(pair.direction) or pair.direction)
    return find_move(reference, target, pair.size_px, directions=ways, **how), (0, 0)


def _farthest_first(direction: str) -> list[str]:
    """The four directions, the farthest from one of the eight first, without those that it agrees with.

    >>> _farthest_first("left"), _farthest_first("above left")
    (['right', 'above', 'below'], ['right', 'below'])
    """
    angles = CARDINAL.angles_deg
    apart = {
        name: float(circular_distance(angle, EIGHT.angles_deg[direction])) for name, angle in angles.items()
    }
    return sorted((name for name in apart if apart[name] > 45), key=lambda name: -apart[name])


def _moved(pair: Pair, steps: tuple[Step, Step], vocabulary: Vocabulary) -> Pair:
    reference, target = (
        Region(region.name, region.box.moved(*step))
        for region, step in zip((pair.reference, pair.target), steps, strict=True)
    )
    direction = vocabulary.between(reference.box, target.box).name
    return replace(pair, reference=reference, target=target, direction=direction)


def _is_clear(pair: Pair, moved: Pair, vocabulary: Vocabulary) -> bool:
    """True if the answer is another one, and as clear as it was or at least by `_CLEAR_DEG`."""
    before, after = (vocabulary.between(each.reference.box, each.target.box) for each in (pair, moved))
    return moved.direction != pair.direction and after.margin_deg >= min(_CLEAR_DEG, before.margin_deg)


def plan_conditions(
    pairs: Sequence[Pair],
    prompt: Prompt | None = None,
    *,
    gives: Capability = "gradients",
    split: str = "",
    edits: EditsOf | None = None,
    maps: int | None = None,
) -> Iterator[Item]:
    """Each pair plain, mirrored, blank and edited; with log-probabilities also with each object and each part hidden.

    Args:
        pairs: With any of the eight directions.
        prompt: How they are asked; if not given, with A, or with A8 if one of them is diagonal.
        gives: The model's capability.
        split: Split of drawn data.
        edits: Function that returns further edits of a pair, given its number.
        maps: How many pairs get relevance maps; all if not given.
    """
    prompt = prompt or default_prompt(pairs)
    for number, pair in enumerate(pairs):
        asked = [
            EditedPair(PLAIN, pair),
            EditedPair(MIRRORED, mirrored_boxes(pair)),
            EditedPair(BLANK, pair),
            *(edits(pair, number, prompt.vocabulary) if edits is not None else ()),
        ]
        if covers(gives, "choices"):
            parts = [f"{PART_HIDDEN} {part}" for part in range(PARTS**2)]
            asked += [EditedPair(name, pair) for name in (TARGET_HIDDEN, REFERENCE_HIDDEN, *parts)]
        meta: dict[str, Json] = {
            "split": split,
            "cluster": pair.picture.digest,
            "shortcut": str(pair.meta.get("shortcut", "")),
            **({NO_MAPS: True} if maps is not None and number >= maps else {}),
        }
        for each in asked:
            yield _edited_item(each, pair, prompt, meta)


def edited_items(pair: Pair, number: int, prompt: Prompt) -> Iterator[Item]:
    """A pair in a photograph mirrored, and after every edit of `photograph_edits`; not as it is.

    Args:
        pair: With one of the eight directions.
        number: Its place among the pairs.
        prompt: How it is asked.
    """
    edits = photograph_edits(pair, number, prompt.vocabulary)
    for each in (EditedPair(MIRRORED, mirrored_boxes(pair)), *edits):
        yield _edited_item(each, pair, prompt, {"cluster": pair.picture.digest})


def _edited_item(each: EditedPair, pair: Pair, prompt: Prompt, meta: Mapping[str, Json]) -> Item:
    """The item of an edited pair, with what `shown_item` needs to edit the picture."""
    own: dict[str, Json] = {**meta, **({"edit": each.how} if each.how else {})}
    if "steps" in each.how and "outlines" in pair.meta:
        own["outlines"] = pair.meta["outlines"]
    return pair_item(each.pair, prompt, condition=each.condition, meta=own)


def shown_item(item: Item) -> Item:
    """An item with the picture that its condition asks for."""
    condition = str(item.meta["condition"])
    if condition == PLAIN:
        return item
    pair = _pair_of(item)
    how = cast("Mapping[str, Any]", item.meta.get("edit") or {})
    if condition == MIRRORED:
        shown = mirrored(pair).picture
    elif condition == BLANK:
        shown = blank(pair).picture
    elif condition.startswith(PART_HIDDEN):
        shown = hidden(pair, part_box(pair.size_px, int(condition.rpartition(" ")[2]))).picture
    elif condition in {TARGET_HIDDEN, REFERENCE_HIDDEN}:
        shown = hidden(pair, (pair.target if condition == TARGET_HIDDEN else pair.reference).box).picture
    elif condition in _WHOLE:
        shown = _WHOLE[condition](pair.picture)
    elif "scene" in how:
        shown = drawn_picture(how["scene"])
    elif "steps" in how:
        shown = _with_steps(pair, how["steps"])
    else:
        return item  # of a control, which names the edited picture itself
    words = item.request.text
    return replace(item, request=replace(item.request, messages=(Message.user(shown, words),)))


def _with_steps(pair: Pair, steps: Sequence[Sequence[int]]) -> Picture:
    """The picture with reference and target moved; the boxes of the pair are those afterwards."""
    there = [(int(right), int(down)) for right, down in steps]
    before = replace(
        pair,
        reference=Region(pair.reference.name, pair.reference.box.moved(-there[0][0], -there[0][1])),
        target=Region(pair.target.name, pair.target.box.moved(-there[1][0], -there[1][1])),
    )
    studio = Studio(before.picture, cutouts(before), others=before.others)
    return Picture.from_array(studio.draw(there))


def _pair_of(item: Item) -> Pair:
    meta = cast("Mapping[str, Any]", item.meta)
    target, reference = (
        Region(meta[role]["name"], Box(*meta[role]["box"])) for role in ("target", "reference")
    )
    size = (int(meta["size"][0]), int(meta["size"][1]))
    direction = meta["directions"][int(meta["gold"])]
    others = tuple(Box(*corners) for corners in meta["others"])
    outlines = {"outlines": meta["outlines"]} if "outlines" in meta else {}
    return Pair(
        str(meta["pair"]),
        item.request.pictures[0],
        size,
        reference,
        target,
        direction,
        others=others,
        meta=outlines,
    )
