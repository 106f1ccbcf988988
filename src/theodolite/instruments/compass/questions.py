"""How pairs are asked: prompts, conditions of a diagnosis, and the items of a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar, Literal, TypeAlias, cast

from theodolite.answers import read_answer
from theodolite.answers.grading import format_from_json, format_of
from theodolite.core.errors import UsageError
from theodolite.core.files import check, lines_of, parse_json
from theodolite.core.scores import Capability, covers
from theodolite.core.types import AnswerFormat, Item, Json, Message, Picture, Request, Style, Truth
from theodolite.geometry import Box
from theodolite.geometry.directions import (
    CARDINAL,
    EIGHT,
    Vocabulary,
    is_diagonal,
    is_sideways,
    opposite,
    vocabulary_of,
)
from theodolite.instruments.compass.data.drawn import (
    PARTS,
    blank,
    drawn_picture,
    exchanged,
    exchanged_unasked,
    hidden,
    mirrored,
    mirrored_boxes,
    moved_alone,
    moved_unasked,
    part_box,
)
from theodolite.instruments.compass.data.pairs import Pair, Region, cutouts, other_cutouts, unfit_role
from theodolite.pairs.outcomes import (
    EXCHANGE,
    EXCHANGE_UNASKED,
    FLIP,
    FLIP_UNASKED,
    LIGHT,
    MIRROR,
    MIRROR_UNASKED,
    MOVE_REFERENCE,
    MOVE_TARGET,
    MOVE_UNASKED,
    NOISE,
    PICTURE,
    REENCODE,
    Edit,
)
from theodolite.pairs.pictures import (
    Cutout,
    Studio,
    Unfit,
    UnfitError,
    developed,
    find_exchange,
    find_move,
    flip,
    light,
    mirror,
    noise,
    reencode,
)
from theodolite.pairs.pictures.objects import PlacingOptions, Step

# Items of runs that were stored before items carried their truth.


def with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item of a run of pairs with its truth, made from its meta."""
    meta = cast("dict[str, Any]", dict(item.meta))
    directions, form = meta.pop("directions"), meta.pop("format", None)
    if form is None:
        names = {role: str(meta[role]["name"]) for role in ("target", "reference")}
        expected = direction_format(dict(zip(item.options, directions, strict=True)), **names)
    else:
        expected = format_from_json(form)
    condition, gold = str(meta.pop("condition")), str(directions[int(meta.pop("gold"))])
    subject = f"{meta['pair']}/{meta['prompt']}"
    edit = edit_of(condition, gold)
    truth = Truth(
        (gold,),
        expected,
        subject=subject,
        cluster=str(meta.pop("cluster")),
        split=str(meta.pop("split", "")),
        group=str(meta.pop("group", "")),
        relation=gold,
        condition=condition,
        edit=edit.name if edit is not None else "",
        base=f"{subject}/{_plain_of(condition)}" if edit is not None else "",
        repeats=str(meta.pop("repeats", "")),
    )
    return replace(item, meta=meta, truth=truth)


def hidden_with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item with hidden sectors, of a run of the deletion tests, with its truth."""
    meta = cast("dict[str, Any]", dict(item.meta))
    gold, cluster = item.options[int(meta.pop("gold"))], str(meta.pop("cluster"))
    condition = item.name.rpartition("/")[2]
    truth = Truth((gold,), AnswerFormat.choice(list(item.options)), cluster=cluster, condition=condition)
    return replace(item, meta=meta, truth=truth)


# How pairs are asked: prompts, and the items of a run.


PLAIN = "plain"
"""The condition of an item that is asked as it is."""

_NUMBERED = {"1": "left", "2": "right", "3": "above", "4": "below"}
_EIGHT = dict(zip("12345678", EIGHT.names, strict=True))
_MAX_TOKENS = 8  # an answer is a number, a letter or a word


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question with the fields ``{tgt}`` for the target and ``{ref}`` for the reference, and the allowed answers.

    >>> mine = Prompt("mine", "Is the {tgt} left (L) or right (R) of the {ref}?", {"L": "left", "R": "right"})
    >>> mine.token_for("right")
    'R'
    """

    name: str
    template: str
    options: Mapping[str, str]
    """Answer token to direction, in the order offered."""

    def __post_init__(self) -> None:
        try:
            fields = [field for _, field, _, _ in Formatter().parse(self.template) if field is not None]
        except ValueError as error:
            raise UsageError(f"the prompt {self.name!r} cannot be read: {error}") from error
        if set(fields) != {"tgt", "ref"}:
            raise UsageError(
                f"the prompt {self.name!r} needs both {{tgt}} and {{ref}} and no other field; it has {fields}"
            )
        directions = list(self.options.values())
        if len(directions) < 2 or len(set(directions)) < len(directions) or not all(self.options):
            raise UsageError(
                f"the prompt {self.name!r} needs at least two tokens, each with its own direction, got {dict(self.options)}"
            )

    def ask(self, pair: Pair) -> str:
        """Return the question about a pair."""
        return self.template.format(tgt=pair.target.name, ref=pair.reference.name)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The allowed answers, in order."""
        return tuple(self.options)

    @property
    def vocabulary(self) -> Vocabulary:
        """The eight directions if the prompt offers a diagonal, else the four."""
        return vocabulary_of(self.options.values())

    def token_for(self, direction: str) -> str:
        """Return the answer that stands for a direction.

        Raises:
            UsageError: If the prompt does not offer it.
        """
        for token, offered in self.options.items():
            if offered == direction:
                return token
        raise UsageError(
            f"the prompt {self.name!r} does not offer {direction!r}; it offers {', '.join(self.options.values())}"
        )


PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "A",
            "In this image, where is the {tgt} relative to the {ref}? Choose one option: 1) to the left, "
            "2) to the right, 3) above, 4) below. Answer with just the number.",
            _NUMBERED,
        ),
        Prompt(
            "B",
            "Look at the image. Is the {tgt} to the left (1), right (2), above (3), or below (4) the {ref}? "
            "Answer with one number.",
            _NUMBERED,
        ),
        Prompt(
            "C",
            "I can see two objects: {ref} and {tgt}. What is the spatial position of {tgt} relative to {ref}? "
            "Options: 1=left, 2=right, 3=above, 4=below. Answer:",
            _NUMBERED,
        ),
        Prompt(
            "A8",
            "In this image, where is the {tgt} relative to the {ref}? Choose one option: 1) to the left, "
            "2) to the right, 3) above, 4) below, 5) above and to the right, 6) above and to the left, "
            "7) below and to the left, 8) below and to the right. Answer with just the number.",
            _EIGHT,
        ),
    )
}
"""A, B and C are the templates of the paper's Table 9, word for word; the paper uses A. A8 is A with the diagonals: the paper
evaluates eight directions (A.4) but gives no prompt for them."""

TABLE_9 = ("A", "B", "C")


def default_prompt(pairs: Iterable[Pair]) -> Prompt:
    """Return prompt A, or A8 if the right answer to any pair is a diagonal."""
    return PROMPTS["A8" if vocabulary_of(pair.direction for pair in pairs) == EIGHT else "A"]


def check_offered(pairs: Sequence[Pair], prompts: Iterable[Prompt]) -> None:
    """Raise a `UsageError` if a prompt does not offer the right answer to every pair, or offers a better one to some."""
    asked = vocabulary_of(pair.direction for pair in pairs)
    for prompt in prompts:
        if prompt.vocabulary == EIGHT != asked:
            raise UsageError(
                f"the prompt {prompt.name!r} offers diagonals, but none of the {len(pairs)} pairs is diagonal: where one lies "
                "between two directions, its answer would be wrong; make the pairs with --directions 8"
            )
        missing = Counter(p.direction for p in pairs if p.direction not in prompt.options.values())
        if missing:
            example, _ = missing.most_common(1)[0]
            raise UsageError(
                f"the prompt {prompt.name!r} does not offer the right answer to {missing.total()} of {len(pairs)} pairs, "
                f"such as {example!r}; ask with --prompt A8, or with a prompt of your own that offers it"
            )


@dataclass(frozen=True, slots=True)
class _PromptLine:
    """One line of a prompt file."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    template: str
    options: dict[str, str] | None = None


def find_prompts(text: str) -> tuple[Prompt, ...]:
    """Find prompts by name and in files.

    Args:
        text: Names of `PROMPTS`, ``all`` for those of Table 9, and files that `read_prompts` reads, separated by commas.

    Raises:
        UsageError: If a name is unknown, a file cannot be read, or two prompts have the same name.

    >>> [prompt.name for prompt in find_prompts("A,C")]
    ['A', 'C']
    """
    prompts: list[Prompt] = []
    for word in (word.strip() for word in text.split(",")):
        if word == "all":
            prompts += [PROMPTS[name] for name in TABLE_9]
        elif word in PROMPTS:
            prompts.append(PROMPTS[word])
        elif word and Path(word).is_file():
            prompts += read_prompts(word)
        else:
            raise UsageError(
                f"there is no prompt {word!r}: name {', '.join(PROMPTS)} or all, or a JSON Lines file with "
                "name, template and options in every line"
            )
    return _unique(prompts, text)


def read_prompts(path: str | Path) -> tuple[Prompt, ...]:
    """Read prompts from JSON Lines with ``name``, ``template`` and ``options``.

    Options map answer tokens to directions, in the order offered; without them, the four numbers of the paper's prompts.

    Raises:
        UsageError: If a line is not a prompt, or there is none.
    """
    lines = lines_of(Path(path), "prompts")
    prompts = [_prompt(line, f"{Path(path).parent / where}") for where, line in lines]
    if not prompts:
        raise UsageError(f"{path} holds no prompt")
    return _unique(prompts, str(path))


def _prompt(line: bytes, location: str) -> Prompt:
    try:
        parsed = check(_PromptLine, parse_json(line))
    except (UsageError, ValueError) as error:
        raise UsageError(f"{location}: {error}") from error
    if not parsed.name or "/" in parsed.name or "," in parsed.name:
        raise UsageError(f"{location}: a prompt needs a name without '/' and ',', not {parsed.name!r}")
    try:
        return Prompt(parsed.name, parsed.template, _NUMBERED if parsed.options is None else parsed.options)
    except UsageError as error:
        raise UsageError(f"{location}: {error}") from error


def _unique(prompts: list[Prompt], origin: str) -> tuple[Prompt, ...]:
    names = [prompt.name for prompt in prompts]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{origin} names the prompt {twice[0]!r} twice; every prompt needs its own name")
    return tuple(prompts)


def prompt_settings(text: str, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Return the part of its prompts that a run stores: names, and the full text of prompts that are not the paper's.

    The path of a prompt file is not stored: a file that was moved gives the same run.
    """
    own = [
        {"name": prompt.name, "template": prompt.template, "options": dict(prompt.options)}
        for prompt in prompts
        if PROMPTS.get(prompt.name) != prompt
    ]
    if not own:
        return {"prompt": text}
    return {"prompt": ",".join(prompt.name for prompt in prompts), "own_prompts": own}


def plan_pairs(
    pairs: Iterable[Pair],
    prompts: Iterable[Prompt],
    *,
    condition: str = PLAIN,
    meta: Mapping[str, Json] | None = None,
) -> Iterator[Item]:
    """Yield one item per pair and prompt.

    Args:
        pairs: The pairs to ask about.
        prompts: How they are asked.
        condition: What was done to the pairs; part of the items' names.
        meta: Added to the meta of every item.
    """
    asked = list(prompts)
    for pair in pairs:
        for prompt in asked:
            yield pair_item(pair, prompt, condition=condition, meta=meta)


def pair_item(
    pair: Pair,
    prompt: Prompt,
    *,
    condition: str = PLAIN,
    cluster: str = "",
    split: str = "",
    meta: Mapping[str, Json] | None = None,
) -> Item:
    """Return the item of one pair.

    Args:
        pair: The pair, after its edit if there is one.
        prompt: How it is asked.
        condition: What was done to it; part of the item's name.
        cluster: The picture that it was made from. Default: its own.
        split: Split of drawn data.
        meta: Added to the meta.
    """
    gold = prompt.token_for(pair.direction)
    subject = f"{pair.id}/{prompt.name}"
    edit = edit_of(condition, pair.direction)
    truth = Truth(
        (prompt.options[gold],),
        direction_format(prompt.options, target=pair.target.name, reference=pair.reference.name),
        subject=subject,
        cluster=cluster or pair.picture.digest,
        split=split,
        group=pair.group,
        relation=prompt.options[gold],
        condition=condition,
        edit=edit.name if edit is not None else "",
        base=f"{subject}/{_plain_of(condition)}" if edit is not None else "",
    )
    return Item(
        name=f"{subject}/{condition}",
        request=Request(
            (Message.user(pair.picture, prompt.ask(pair)),),
            max_tokens=_MAX_TOKENS,
            ref=pair.id if condition == PLAIN else f"{pair.id}/{condition}",
            recall="words" if condition == PLAIN else "id",
            hint={"gold": gold},
        ),
        options=prompt.tokens,
        meta={
            "pair": pair.id,
            "prompt": prompt.name,
            "reference": {"name": pair.reference.name, "box": _corners(pair.reference.box)},
            "target": {"name": pair.target.name, "box": _corners(pair.target.box)},
            "others": [_corners(box) for box in pair.others],
            "size": list(pair.size_px),
            "source": pair.source,
            **(meta or {}),
        },
        truth=truth,
    )


def _plain_of(condition: str) -> str:
    return ROLES_EXCHANGED if _picture_condition(condition)[1] else PLAIN


def directions_of(item: Item) -> tuple[str, ...]:
    """Return the directions that an item offers, in the order of its options."""
    return tuple(format_of(item).options.values())


def gold_index(item: Item) -> int:
    """Return the index of the right option among the options of an item."""
    return directions_of(item).index(item.truth.golds[0])


def _corners(box: Box) -> list[float]:
    return [box.x0, box.y0, box.x1, box.y1]


def direction_format(options: Mapping[str, str], *, target: str = "", reference: str = "") -> AnswerFormat:
    """Return the answer format of a prompt: a direction, named by number, letter or word.

    Args:
        options: Answer token to direction.
        target: The object whose position is asked for.
        reference: The object it is placed against.

    >>> direction_format({"L": "left", "R": "right"}).style
    'letter'
    """
    style: Style = "word"
    if all(token.isdigit() for token in options):
        style = "index"
    elif all(len(token) == 1 and token.isalpha() for token in options):
        style = "letter"
    return AnswerFormat.directions(options, style, subject=target, object=reference)


def read_direction(text: str, options: Mapping[str, str]) -> str | None:
    """Return the token of the direction that a text names; None if it names none or several.

    >>> offered = {"1": "left", "2": "right", "3": "above", "4": "below"}
    >>> read_direction("1) to the left", offered), read_direction("It is above.", offered), read_direction("1 or 2", offered)
    ('1', '3', None)
    """
    answer = read_answer(text, direction_format(options))
    return str(answer.value) if answer.is_read else None


# The conditions under which a diagnosis asks a pair: as it is, with a part hidden, and after edits with a known answer.
#
# plain              the pair as it is
# mirrored           the picture mirrored along the asked axis
# blank              a picture of one colour
# target hidden      the box of one object in the picture's mean colour; likewise ``reference hidden``
# part hidden 0 …    one of 4 × 4 parts of the picture in its mean colour
# exchanged          reference and target exchange their places
# target moved       the target moves alone to the opposite side; likewise ``reference moved``
# mirrored sideways  the picture mirrored although the question is about above and below: the answer stays
# upside down        the picture turned upside down although the question is about left and right: the answer stays
# moved unasked      a thing moves as far as under another edit, but the answer stays; one that is not in the question if it can be
# exchanged unasked  two things that are not in the question exchange their places
# light, noise,      the picture brighter, with noise, compressed again: the answer stays
# re-encode
#
# *Roles exchanged*: the same picture, plain and after every edit that changes the answer, is also asked where the reference is
# relative to the target. What a cue of the picture alone gains on one of the two questions, it loses on the other.
#
# Planned items name the original picture, so that a run stores one picture per pair; `shown_item` edits it. In photographs,
# objects are cut out and pasted (`theodolite.pairs.pictures`); drawn pictures are drawn again.


MIRRORED, BLANK = "mirrored", "blank"
TARGET_HIDDEN, REFERENCE_HIDDEN, PART_HIDDEN = "target hidden", "reference hidden", "part hidden"
EXCHANGED, TARGET_MOVED, REFERENCE_MOVED = "exchanged", "target moved", "reference moved"
SIDEWAYS, UPSIDE_DOWN = "mirrored sideways", "upside down"
EXCHANGED_UNASKED, MOVED_UNASKED = "exchanged unasked", "moved unasked"
ROLES_EXCHANGED = "roles exchanged"
"""Before the condition of the picture if reference and target exchange their roles in the question."""
_CLEAR_DEG = 10.0
"""How much nearer the direction of moved objects must be than the next one."""
_TILT_DEG = 15.0
"""How far moved objects may lie from the exact direction, of eight."""
NO_MAPS = "no_maps"
"""The key of an item's meta that leaves out relevance maps."""

_WHOLE: Mapping[str, Callable[[Picture], Picture]] = {
    SIDEWAYS: mirror,
    UPSIDE_DOWN: flip,
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
    UPSIDE_DOWN: FLIP_UNASKED,
    EXCHANGED_UNASKED: EXCHANGE_UNASKED,
    MOVED_UNASKED: MOVE_UNASKED,
    **{edit.name: edit for edit in (LIGHT, NOISE, REENCODE)},
}


def edit_of(condition: str, direction: str) -> Edit | None:
    """Return the edit of a condition, given the right answer before it; None if the answer after it is not known."""
    condition, is_exchanged = _picture_condition(condition)
    if condition == MIRRORED:
        return MIRROR if is_sideways(direction) else FLIP
    if is_exchanged and condition in _MOVES:
        condition = _MOVES[condition]
    return _EDITS.get(condition)


_MOVES = {TARGET_MOVED: REFERENCE_MOVED, REFERENCE_MOVED: TARGET_MOVED}
"""What a move is to the question with roles exchanged."""


def _picture_condition(condition: str) -> tuple[str, bool]:
    """Return what was done to the picture, and whether the roles in the question are exchanged.

    >>> _picture_condition("roles exchanged, mirrored"), _picture_condition("roles exchanged"), _picture_condition("mirrored")
    (('mirrored', True), ('plain', True), ('mirrored', False))
    """
    if not condition.startswith(ROLES_EXCHANGED):
        return condition, False
    return condition.removeprefix(ROLES_EXCHANGED).removeprefix(", ") or PLAIN, True


def with_roles_exchanged(pair: Pair) -> Pair | None:
    """Return the question where the reference is relative to the target; None if the direction has no opposite.

    Args:
        pair: A pair.
    """
    turned = opposite(pair.direction)
    if turned is None:
        return None
    return replace(pair, reference=pair.target, target=pair.reference, direction=turned)


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
    """Return the edits of a drawn pair beyond mirroring: other light, one thing moved, and the neutral edits of the same kinds.

    Where neither thing has room on the opposite side of the other, they exchange their places.

    Args:
        pair: From `relation_pairs`, whose directions alternate.
        number: Its index among the pairs. The reference moves four times, then the target four times, if it has room.
    """
    edits = [EditedPair(LIGHT.name, pair), EditedPair(_across(pair), pair)]
    roles: list[tuple[str, Literal["target", "reference"]]]
    roles = [(REFERENCE_MOVED, "reference"), (TARGET_MOVED, "target")]
    if number // len(CARDINAL.names) % 2 == 1:
        roles.reverse()
    moves = ((condition, moved_alone(pair, role)) for condition, role in roles)
    condition, changed = next(
        ((condition, moved) for condition, moved in moves if moved is not None), (EXCHANGED, exchanged(pair))
    )
    unasked = exchanged_unasked(pair) if condition == EXCHANGED else None
    same = EXCHANGED_UNASKED, unasked
    if unasked is None:
        same = MOVED_UNASKED, moved_unasked(pair, changed)
    edits += [
        EditedPair(name, replace(drawn, picture=pair.picture), {"scene": drawn.meta["scene"]})
        for name, drawn in ((condition, changed), same)
        if drawn is not None
    ]
    return edits


def _across(pair: Pair) -> str:
    """Return the reflection that leaves the answer as it is."""
    return UPSIDE_DOWN if is_sideways(pair.direction) else SIDEWAYS


def photograph_edits(pair: Pair, number: int, vocabulary: Vocabulary = CARDINAL) -> list[EditedPair]:
    """Return the edits of a pair in a photograph beyond mirroring: neutral ones, and object edits that look right.

    Args:
        pair: A pair whose boxes lie clearly in its direction.
        number: Its index among the pairs. Noise and compression alternate.
        vocabulary: The directions that are asked for.
    """
    whole = [_across(pair)]
    if is_sideways(pair.direction):
        whole.insert(0, (NOISE.name, REENCODE.name)[number % 2])
    made, _ = _object_edits(pair, cutouts(pair), vocabulary)
    return [*(EditedPair(name, pair) for name in (LIGHT.name, *whole)), *made]


def unfit_edits(pair: Pair, vocabulary: Vocabulary = CARDINAL) -> tuple[Unfit, ...]:
    """Return why objects of a pair are not exchanged or moved: one reason for each edit that would not look right."""
    return _object_edits(pair, cutouts(pair), vocabulary)[1]


@lru_cache(maxsize=4096)  # an edit is planned and counted, and takes a tenth of a second
def _object_edits(
    pair: Pair, things: tuple[Cutout, Cutout], vocabulary: Vocabulary
) -> tuple[tuple[EditedPair, ...], tuple[Unfit, ...]]:
    """Return the edits of a pair's objects that look right, and the reasons against the others."""
    edits: list[EditedPair] = []
    unfit: list[Unfit] = []
    studio = Studio(pair.picture, things, others=other_cutouts(pair))
    for condition in (EXCHANGED, TARGET_MOVED, REFERENCE_MOVED):
        try:
            steps = _steps(pair, things, condition, vocabulary)
            studio.attempt("exchange" if condition == EXCHANGED else "move", steps).accepted()
        except UnfitError as error:
            unfit.append(error.reason)
        else:
            moved = _moved(pair, steps, vocabulary)
            if _is_clear(pair, moved, vocabulary):
                edits.append(_with_step_list(condition, moved, steps))
            else:
                unfit.append(Unfit.UNCLEAR)
    if edits and not is_diagonal(pair.direction):
        edits += _neutral_moves(pair, things, edits[-1], studio, vocabulary)
    return tuple(edits), tuple(unfit)


def _neutral_moves(
    pair: Pair, things: tuple[Cutout, Cutout], edit: EditedPair, studio: Studio, vocabulary: Vocabulary
) -> Iterator[EditedPair]:
    """Yield the move of one of the objects about as far as under another edit, but without a change of the answer."""
    length = max(math.hypot(*step) for step in cast("Any", edit.how["steps"]))
    placing = replace(_placing(vocabulary), length_px=length)
    roles: Sequence[Literal["target", "reference"]] = ("target", "reference")
    for role in roles:
        try:
            steps = _steps_of_move(pair, things, role, pair.direction, placing)
            studio.attempt("move", steps).accepted()
        except UnfitError:
            continue
        moved = _moved(pair, steps, vocabulary)
        if moved.direction == pair.direction:
            yield _with_step_list(MOVED_UNASKED, moved, steps)
            return


def _with_step_list(condition: str, moved: Pair, steps: tuple[Step, Step]) -> EditedPair:
    return EditedPair(condition, moved, {"steps": [list(step) for step in steps]})


def _placing(vocabulary: Vocabulary) -> PlacingOptions:
    return PlacingOptions(max_tilt_deg=_TILT_DEG) if vocabulary == EIGHT else PlacingOptions()


def _steps(
    pair: Pair, things: tuple[Cutout, Cutout], condition: str, vocabulary: Vocabulary
) -> tuple[Step, Step]:
    """Return the steps of reference and target.

    Raises:
        UnfitError: If the objects cannot be moved like that.
    """
    if condition == EXCHANGED:
        _check_fit(pair, "reference", "target")
        return find_exchange(*things, pair.size_px, others=other_cutouts(pair))
    if is_diagonal(pair.direction):
        raise UnfitError(Unfit.DIAGONAL)
    role: Literal["target", "reference"] = "target" if condition == TARGET_MOVED else "reference"
    return _steps_of_move(pair, things, role, str(opposite(pair.direction)), _placing(vocabulary))


def _steps_of_move(
    pair: Pair,
    things: tuple[Cutout, Cutout],
    role: Literal["target", "reference"],
    direction: str,
    placing: PlacingOptions,
) -> tuple[Step, Step]:
    """Return the steps of reference and target if one of them moves so that the target lies in a direction.

    Raises:
        UnfitError: If it cannot be moved like that.
    """
    _check_fit(pair, role)
    reference, target = things
    how: dict[str, Any] = {"others": other_cutouts(pair), "options": placing, "picture": pair.picture}
    if role == "target":
        return (0, 0), find_move(target, reference, pair.size_px, directions=[direction], **how)
    seen = str(opposite(direction))  # where the reference lies from the target
    return find_move(reference, target, pair.size_px, directions=[seen], **how), (0, 0)


def _check_fit(pair: Pair, *roles: Literal["reference", "target"]) -> None:
    """Raise an `UnfitError` if the data say of an object what its pair cannot: it is a sliver, or stands in a crowd."""
    for role in roles:
        reason = unfit_role(pair, role)
        if reason is not None and reason in {Unfit.SLIVER, Unfit.CROWD}:
            raise UnfitError(reason)


def _moved(pair: Pair, steps: tuple[Step, Step], vocabulary: Vocabulary) -> Pair:
    reference, target = (
        Region(region.name, region.box.moved(*step))
        for region, step in zip((pair.reference, pair.target), steps, strict=True)
    )
    direction = vocabulary.between(reference.box, target.box).name
    return replace(pair, reference=reference, target=target, direction=direction)


def _is_clear(pair: Pair, moved: Pair, vocabulary: Vocabulary) -> bool:
    """Return True if the answer becomes the opposite, and is as clear as before or at least by `_CLEAR_DEG`."""
    before, after = (
        vocabulary.between(candidate.reference.box, candidate.target.box) for candidate in (pair, moved)
    )
    is_opposite = moved.direction == opposite(pair.direction)
    return is_opposite and after.margin_deg >= min(_CLEAR_DEG, before.margin_deg)


def plan_conditions(
    pairs: Sequence[Pair],
    prompt: Prompt | None = None,
    *,
    gives: Capability = "gradients",
    split: str = "",
    edits: EditsOf | None = None,
    maps: int | None = None,
    hidden: int | None = None,
) -> Iterator[Item]:
    """Yield each pair plain, mirrored, blank and edited; with log-probabilities also with each object and each part hidden.

    Args:
        pairs: With any of the eight directions.
        prompt: How they are asked; if not given, with A, or with A8 if one of them is diagonal.
        gives: The model's capability.
        split: Split of drawn data.
        edits: Function that returns further edits of a pair, given its number.
        maps: How many pairs get relevance maps; all if not given.
        hidden: Of how many pairs objects and parts are hidden; of all if not given.
    """
    prompt = prompt or default_prompt(pairs)
    both_ways = {_place_of(pair) for pair in pairs}
    for number, pair in enumerate(pairs):
        asked = [
            EditedPair(PLAIN, pair),
            EditedPair(MIRRORED, mirrored_boxes(pair)),
            EditedPair(BLANK, pair),
            *(edits(pair, number, prompt.vocabulary) if edits is not None else ()),
        ]
        if covers(gives, "choices") and (hidden is None or number < hidden):
            parts = [f"{PART_HIDDEN} {part}" for part in range(PARTS**2)]
            asked += [EditedPair(name, pair) for name in (TARGET_HIDDEN, REFERENCE_HIDDEN, *parts)]
        meta: dict[str, Json] = {
            "shortcut": str(pair.meta.get("shortcut", "")),
            **({NO_MAPS: True} if maps is not None and number >= maps else {}),
        }
        for edited in asked:
            yield _edited_item(edited, pair, prompt, meta, split=split)
        if _place_of(replace(pair, reference=pair.target, target=pair.reference)) not in both_ways:
            yield from _exchanged_items(asked, pair, prompt, meta, split=split)


def edited_items(pair: Pair, number: int, prompt: Prompt) -> Iterator[Item]:
    """Yield a pair in a photograph mirrored, and after every edit of `photograph_edits`, but not plain.

    Args:
        pair: With one of the eight directions.
        number: Its index among the pairs.
        prompt: How it is asked.
    """
    edits = photograph_edits(pair, number, prompt.vocabulary)
    asked = EditedPair(MIRRORED, mirrored_boxes(pair)), *edits
    for edited in asked:
        yield _edited_item(edited, pair, prompt, {})
    yield from _exchanged_items((EditedPair(PLAIN, pair), *asked), pair, prompt, {})


def _exchanged_items(
    asked: Iterable[EditedPair],
    pair: Pair,
    prompt: Prompt,
    meta: Mapping[str, Json],
    *,
    split: str = "",
) -> Iterator[Item]:
    """Yield the question with roles exchanged about the plain picture and after every edit that changes the answer."""
    for edited in asked:
        edit = edit_of(edited.condition, pair.direction)
        turned = with_roles_exchanged(edited.pair)
        is_offered = turned is not None and turned.direction in prompt.options.values()
        if turned is None or not is_offered or not (edited.condition == PLAIN or (edit and edit.is_relevant)):
            continue
        condition = ROLES_EXCHANGED if edited.condition == PLAIN else f"{ROLES_EXCHANGED}, {edited.condition}"
        yield _edited_item(replace(edited, condition=condition, pair=turned), pair, prompt, meta, split=split)


def _place_of(pair: Pair) -> tuple[str, Region, Region]:
    return pair.picture.digest, pair.target, pair.reference


def _edited_item(
    edited: EditedPair, pair: Pair, prompt: Prompt, meta: Mapping[str, Json], *, split: str = ""
) -> Item:
    """Return the item of an edited pair, with everything that `shown_item` needs to edit the picture."""
    own: dict[str, Json] = {**meta, **({"edit": edited.how} if edited.how else {})}
    condition, _ = _picture_condition(edited.condition)
    if condition in _MOVES:
        # Of both questions, and whichever of them the edit was made for.
        moving = pair.target if condition == TARGET_MOVED else pair.reference
        own[PICTURE] = f"move the object at {moving.box}"
    if "steps" in edited.how and "outlines" in pair.meta:
        own["outlines"] = pair.meta["outlines"]
    return pair_item(
        edited.pair, prompt, condition=edited.condition, cluster=pair.picture.digest, split=split, meta=own
    )


def shown_item(item: Item) -> Item:  # noqa: C901 - one branch for each condition
    """Return an item with the picture edited according to its condition."""
    condition, is_exchanged = _picture_condition(item.truth.condition)
    if condition == PLAIN:
        (picture,) = item.request.pictures
        if picture.media_type == "image/png":
            return item
        shown = developed(picture, scale=1)  # stored like its edits, so that none can be told by its file
        return replace(
            item, request=replace(item.request, messages=(Message.user(shown, item.request.text),))
        )
    pair = _pair_of(item)
    if is_exchanged:
        pair = replace(
            pair, reference=pair.target, target=pair.reference
        )  # as in the question that the edit is of
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
    """Return the picture with reference and target moved; the boxes of the pair are those after the move."""
    there = [(int(right), int(down)) for right, down in steps]
    before = replace(
        pair,
        reference=Region(pair.reference.name, pair.reference.box.moved(-there[0][0], -there[0][1])),
        target=Region(pair.target.name, pair.target.box.moved(-there[1][0], -there[1][1])),
    )
    studio = Studio(before.picture, cutouts(before), others=other_cutouts(before))
    return Picture.from_array(studio.draw(there))


def _pair_of(item: Item) -> Pair:
    meta = cast("Mapping[str, Any]", item.meta)
    target, reference = (
        Region(meta[role]["name"], Box(*meta[role]["box"])) for role in ("target", "reference")
    )
    size = (int(meta["size"][0]), int(meta["size"][1]))
    others = tuple(Box(*corners) for corners in meta["others"])
    outlines = {"outlines": meta["outlines"]} if "outlines" in meta else {}
    return Pair(
        str(meta["pair"]),
        item.request.pictures[0],
        size,
        reference,
        target,
        item.truth.golds[0],
        others=others,
        meta=outlines,
    )
