"""How mirroring a picture changes the right answer of a question, judged by the question's words.

===================================================================================== ============================
the right answer says left or right, and the opposite can be answered                 it becomes the opposite
"Is the cup left of the plate?", and the right answer is yes                          it becomes no
nothing in question, options and answer is about sides, directions, text or clocks    it stays the same
anything else                                                                         it is not known
===================================================================================== ============================
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from theodolite.answers import normal_form
from theodolite.answers.grading import format_from_json
from theodolite.answers.text import word_set
from theodolite.core.errors import UsageError
from theodolite.core.types import (
    PLAIN,
    Item,
    Json,
    Message,
    Picture,
    ReplayMatch,
    Request,
    Truth,
    content_hash,
)
from theodolite.instruments.ask.data.questions import Question, Removal, natural_groups
from theodolite.pairs.outcomes import (
    LIGHT,
    MIRROR,
    MIRROR_UNASKED,
    REMOVE,
    REMOVE_UNASKED,
    Edit,
    with_repeats,
)
from theodolite.pairs.pictures import light, mirror, remove
from theodolite.runs import write_atomically

__all__ = [
    "SETTINGS",
    "Setting",
    "mirrored",
    "plan_questions",
    "with_roles_exchanged",
]


# Items of runs that were stored before items carried their truth.


_SETTINGS = {"picture": PLAIN}


def with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item with its truth, made from its meta."""
    meta = cast("dict[str, Any]", dict(item.meta))
    question, setting, edit = str(meta.pop("question")), str(meta.pop("setting")), str(meta.pop("edit", ""))
    form = meta.pop("format", None)
    meta.pop("options")
    truth = Truth(
        (str(meta.pop("gold")), *map(str, meta.pop("others", ()))),
        None if form is None else format_from_json(form),
        subject=question,
        cluster=str(meta.pop("cluster")),
        group=str(meta.pop("group", "")),
        condition=_SETTINGS.get(setting, setting),
        edit=edit,
        base=f"{question}/picture" if edit else "",
        repeats=str(meta.pop("repeats", "")),
    )
    return replace(item, meta=meta, truth=truth)


_OPPOSITE = {"left": "right", "right": "left", "leftmost": "rightmost", "rightmost": "leftmost"}
_SIDE = re.compile(r"\b(left|right|leftmost|rightmost)\b", re.IGNORECASE)
_PLACED = re.compile(
    r"\b(?:the|an?) [^?.!,]*\b(?:is|are)\b[^?.!,]*\b(?:left|right)(?:[- ]hand)?(?: side)? of\b"
    r"|\b(?:is|are) (?:the|an?) [^?.!,]*\b(?:left|right)(?:[- ]hand)?(?: side)? of\b",
    re.IGNORECASE,
)
"""One thing is placed to the left or right of another."""
_READ = word_set(
    "text letter letters word words write written writing read reads reading say says said spell spelled sign signs label labels "
    "brand logo name named title number numbers numeral digit digits license licence clock clocks time hour watch arrow arrows"
)
_TURNED = word_set(
    "left right leftmost rightmost side sides hand hands direction directions facing faces turn turned turning clockwise "
    "counterclockwise anticlockwise east west eastern western"
)


def mirrored(question: Question) -> tuple[Edit, str] | None:
    """Return the edit and the right answer after it; None if that is not known.

    >>> from theodolite.instruments.ask.data.questions import Question
    >>> mirrored(Question("q", "Where is the cup?", "left", (), ("left", "right")))[1]
    'right'
    """
    if len(question.pictures) > 1:
        return None
    texts = (question.question, question.answer, *question.options)
    words = set(re.findall(r"[a-z]+", " ".join(texts).casefold()))
    if words & _READ:
        return None
    if not words & _TURNED:
        return MIRROR_UNASKED, question.answer
    other = _opposite(question)
    return (MIRROR, other) if other else None


def _opposite(question: Question) -> str:
    """Return the right answer in the mirrored picture if it differs and is known; else empty."""
    if _SIDE.search(question.answer):
        other = _turned_side(question.answer)
        known = {normal_form(option): option for option in question.options}
        return known.get(normal_form(other), "") if known else other
    sides = {side.casefold() for side in _SIDE.findall(question.question)}
    is_placed = len(sides) == 1 and _PLACED.search(question.question) is not None
    is_there = re.search(r"\bthere\b", question.question, re.IGNORECASE) is not None
    return "no" if normal_form(question.answer) == "yes" and is_placed and not is_there else ""


def _turned_side(answer: str) -> str:
    return _SIDE.sub(lambda side: _OPPOSITE[side[0].casefold()], answer)


_THING = r"(?:the|an?) (?:(?!\b(?:the|an?|of|is|are|and|or)\b)[^?.!,:;()])+?"
_END = r"(?= ?(?:[?.!,:;(]|$))"
_SIDE_OF = r"(?:left|right)(?:[- ]hand)?(?: side)?"
_BETWEEN = (
    r"(?: (?:located|positioned|placed|situated))? (?:relative to|with respect to|in relation to|compared (?:to|with))",
    (
        rf"(?: (?:is|are))?(?: (?:located|positioned|placed|situated))?(?: (?:to|on|at))?(?: the)? {_SIDE_OF}"
        rf"(?:,? or (?:(?:to|on|at) )?(?:the )?{_SIDE_OF})? of"
    ),
)
_TWO_THINGS = tuple(
    re.compile(rf"\b(?P<first>{_THING})(?P<between>{between}) (?P<second>{_THING}){_END}", re.IGNORECASE)
    for between in _BETWEEN
)
"""Two things and a relation between them: "the cup relative to the plate", "the cup to the left of the plate"."""


def with_roles_exchanged(question: Question) -> Question | None:
    """Return the question with the two things that it names exchanged; None if its words are not known to allow that.

    Its right answer is that of the unchanged question about the mirrored picture, so that the answers before and after mirroring
    are the other way round. Only questions whose answer turns in the mirror are exchanged.

    >>> from theodolite.instruments.ask.data.questions import Question
    >>> turned = with_roles_exchanged(Question("q", "Where is the cup relative to the red plate?", "left", (), ("left", "right")))
    >>> turned.question, turned.answer
    ('Where is the red plate relative to the cup?', 'right')
    >>> with_roles_exchanged(Question("q", "Is the cup to the left of a plate?", "yes", ())).question
    'Is a plate to the left of the cup?'
    >>> with_roles_exchanged(Question("q", "What is left of the plate?", "cup", ())) is None
    True
    """
    reflection = mirrored(question)
    if reflection is None or not reflection[0].is_relevant or question.others:
        return None
    for pattern in _TWO_THINGS:
        matches = list(pattern.finditer(question.question))
        if len(matches) != 1:
            continue
        first, between, second = matches[0].group("first", "between", "second")
        rest = question.question[: matches[0].start()] + question.question[matches[0].end() :]
        named = {thing.casefold().partition(" ")[2] for thing in (first, second)}
        elsewhere = " ".join((rest, question.answer, *question.options)).casefold()
        if re.search(r"\bare\b", question.question, re.IGNORECASE):
            return None  # the verb may not agree
        if first[0].isupper():
            first, second = first[0].lower() + first[1:], second[0].upper() + second[1:]
        if len(named) < 2 or any(re.search(rf"\b{re.escape(name)}\b", elsewhere) for name in named):
            return None
        text = pattern.sub(lambda _: f"{second}{between} {first}", question.question)  # noqa: B023 - used at once
        return replace(question, question=text, answer=reflection[1])
    return None


# Plan each question with its picture, without it, with another picture, and with its picture edited.


Setting: TypeAlias = Literal[
    "picture",
    "blind",
    "swapped",
    "mirror",
    "light",
    "remove",
    "exchanged",
    "exchanged-mirror",
    "remove-other",
]
"""``picture``: with its own picture. ``blind``: without a picture. ``swapped``: with the picture of another question.
``mirror``: mirrored, where the effect on the answer is known. ``light``: brighter. ``remove``: without the object asked about,
where its box is known. ``exchanged``: with its own picture, and the two things exchanged that it places, where its words allow
that; ``exchanged-mirror``: the same, mirrored. ``remove-other``: without an object that it does not ask about, where another
question about the picture does."""

SETTINGS: tuple[Setting, ...] = get_args(Setting)
_WITHOUT_PICTURE: tuple[Setting, ...] = ("picture",)
"""What is asked about a picture of which only the name is known."""
BASES: Mapping[Setting, Setting] = {"exchanged-mirror": "exchanged"}
"""The settings before an edit that are not ``picture``."""


def plan_questions(
    questions: Sequence[Question],
    *,
    settings: Sequence[Setting] = SETTINGS,
    seed: int = 0,
    max_tokens: int = 512,
    folder: Path | None = None,
    model: str = "",
    fill: str = "copied",
) -> Iterator[Item]:
    """Yield the items of a run, question by question, so that the start of a plan has all settings; then repeats.

    Questions with the same words, other pictures and another answer form groups: the answers about two of their pictures are
    a pair. Swaps within a group are not planned, because the swapped question is the other question.

    Args:
        questions: Questions with distinct ids.
        settings: The settings to use.
        seed: Seed of the swaps.
        max_tokens: Maximum length of an answer.
        folder: Where edited pictures are kept. Default: in memory.
        model: The name of the model. For a log, no answer is requested twice.
        fill: What fills the places of removed objects.
    """
    draft = _Draft(tuple(settings), max_tokens, folder, fill, seed)
    yield from with_repeats(_plan(questions, draft, seed), lambda item: item.truth.is_plain, model=model)


def _plan(questions: Sequence[Question], draft: _Draft, seed: int) -> Iterator[Item]:
    settings = draft.settings
    shown = [question for question in questions if question.is_shown]
    others = _swaps(shown, seed) if "swapped" in settings and (shown or not questions) else {}
    wordings = Counter(question.prompt for question in questions)
    asked = {(question.prompt, question.pictures) for question in questions}
    removals: defaultdict[Picture, list[Question]] = defaultdict(list)
    for question in questions:
        if question.removal is not None:
            removals[question.pictures[0]].append(question)
    clusters = {
        question.id: min(member.pictures[0].digest for member in group)
        for group in natural_groups(questions)
        for question in group
    }
    for question in questions:
        other = others.get(question.id)
        truth = Truth(
            (question.answer, *question.others),
            question.format,
            subject=question.id,
            cluster=question.pictures[0].digest,
            group=question.group,
        )
        meta: dict[str, Json] = {"natural": clusters[question.id]}
        recall: ReplayMatch = "words" if wordings[question.prompt] == 1 else "id"
        for setting in settings if question.is_shown else _WITHOUT_PICTURE:
            if setting in {"exchanged", "exchanged-mirror"}:
                turned = with_roles_exchanged(question)
                if turned is not None and (turned.prompt, turned.pictures) not in asked:
                    yield draft.turned(question, turned, setting, truth, meta)
                continue
            if setting == "remove-other":
                unasked = _other_removal(question, removals[question.pictures[0]])
                if unasked is not None:
                    same = replace(truth, edit=REMOVE_UNASKED.name)
                    yield draft.without(question, unasked, setting, same, meta)
                continue
            item = draft.item(question, setting, other, truth, meta, recall)
            if item is not None:
                yield item


def _other_removal(question: Question, others: Sequence[Question]) -> Removal | None:
    """Return the removal that another question about the picture is for: of the object nearest in size."""
    own = question.removal
    if own is None:
        return None
    words = {each.group for each in (question,) if each.group}
    fitting = [
        other.removal
        for other in others
        if other.removal is not None and other.removal.thing != own.thing and other.group not in words
    ]
    size = own.thing.box.area_px
    return min(fitting, key=lambda each: abs(math.log(each.thing.box.area_px / size)), default=None)


@dataclass(frozen=True, slots=True)
class _Draft:
    """How items are made."""

    settings: tuple[Setting, ...]
    max_tokens: int
    folder: Path | None
    fill: str
    seed: int

    def item(  # noqa: PLR0911 - one return for each setting
        self,
        question: Question,
        setting: Setting,
        other: Question | None,
        truth: Truth,
        meta: dict[str, Json],
        recall: ReplayMatch,
    ) -> Item | None:
        """Return the item of a question in a setting; None if the question has none."""
        pictures = self._shown(question.pictures)
        has_same_words = other is not None and other.prompt == question.prompt
        if setting == "picture":
            # Another question with the same words is the swapped setting of this one.
            link: dict[str, Json] = {"other": other.id} if other is not None and has_same_words else {}
            return self._made(question, setting, pictures, truth, {**meta, **link}, recall)
        if setting == "blind":
            return self._made(question, setting, (), truth, meta)
        if setting == "swapped":
            if other is None or (has_same_words and "picture" in self.settings):
                return None
            shown: dict[str, Json] = {"shown": other.answer} if has_same_words else {}
            return self._made(question, setting, self._shown(other.pictures), truth, {**meta, **shown})
        if setting == "mirror":
            reflection = mirrored(question)
            if reflection is None:
                return None
            edit, answer = reflection
            others = tuple(map(_turned_side, question.others)) if edit.is_relevant else question.others
            changed = replace(truth, golds=(answer, *others), edit=edit.name)
            return self._made(question, setting, self._edited(question.pictures, "mirror"), changed, meta)
        if setting == "light":
            lit = replace(truth, edit=LIGHT.name)
            return self._made(question, setting, self._edited(question.pictures, "light"), lit, meta)
        removal = question.removal
        if removal is None:
            return None
        removed = replace(truth, golds=(removal.answer,), edit=REMOVE.name)
        return self.without(question, removal, setting, removed, meta)

    def without(
        self, question: Question, removal: Removal, setting: Setting, truth: Truth, meta: dict[str, Json]
    ) -> Item:
        """Return the question about its picture without an object."""
        how = partial(remove, thing=removal.thing, others=removal.others, fill=self.fill, seed=self.seed)
        filled: list[Json] = [] if self.fill == "copied" else [self.fill, self.seed]
        name = f"without-{content_hash([astuple(removal.thing.box), *filled])[:16]}"
        edited = _edit(question.pictures[0], name, how, self.folder)
        return self._made(question, setting, (edited,), truth, meta)

    def turned(
        self, question: Question, turned: Question, setting: Setting, truth: Truth, meta: dict[str, Json]
    ) -> Item:
        """Return the question with roles exchanged, about the picture or its mirror image."""
        own = replace(truth, golds=(turned.answer,))
        if setting == "exchanged":
            return self._made(turned, setting, self._shown(question.pictures), own, meta)
        edited = replace(truth, golds=(question.answer,), edit=MIRROR.name)
        return self._made(turned, setting, self._edited(question.pictures, "mirror"), edited, meta)

    def _made(
        self,
        question: Question,
        setting: Setting,
        pictures: tuple[Picture, ...],
        truth: Truth,
        meta: dict[str, Json],
        recall: ReplayMatch = "content",
    ) -> Item:
        request = Request(
            (Message.user(*pictures, question.prompt),),
            max_tokens=self.max_tokens,
            ref=question.id if setting == "picture" else f"{question.id}/{setting}",
            recall=recall,
            question=question.question,
            hint={"gold": question.answer, "setting": setting},
        )
        about = replace(
            truth,
            condition=PLAIN if setting == "picture" else setting,
            base=f"{question.id}/{BASES.get(setting, 'picture')}" if truth.edit else "",
        )
        return Item(f"{question.id}/{setting}", request, question.options, meta, about)

    def _shown(self, pictures: tuple[Picture, ...]) -> tuple[Picture, ...]:
        """Return pictures as they are, encoded like edited ones if there are such: nothing but its content tells an edit."""
        is_edited = bool(_EDITED.intersection(self.settings)) and not any(each.is_absent for each in pictures)
        return self._edited(pictures, "plain") if is_edited else pictures

    def _edited(
        self, pictures: tuple[Picture, ...], how: Literal["plain", "mirror", "light"]
    ) -> tuple[Picture, ...]:
        return tuple(_edit(picture, how, _EDITS[how], self.folder) for picture in pictures)


def _plain(picture: Picture) -> Picture:
    return Picture.from_array(picture.pixels())


def _edit(picture: Picture, name: str, how: Callable[[Picture], Picture], folder: Path | None) -> Picture:
    """Edit a picture, or reuse the edited one in the folder. Its digest is that of the pixels, independent of the encoder."""
    if folder is None:
        return how(picture)
    path = folder / f"{picture.digest}-{name}.png"
    known = path.with_suffix(".digest")
    if not known.is_file():
        edited = how(picture)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, edited.read())
        write_atomically(known, edited.digest)
    return Picture(known.read_text(encoding="utf-8"), path=path)


_EDITS = {"plain": _plain, "mirror": mirror, "light": light}
_EDITED: frozenset[Setting] = frozenset({"mirror", "exchanged-mirror", "light", "remove", "remove-other"})


def _swaps(questions: Sequence[Question], seed: int) -> dict[str, Question]:
    """Find for each question another one with other pictures and another answer, with the same words if possible.

    With the same words, the answer of the other question is the right one for its picture. If all answers are the same,
    there are no swaps.
    """
    if len(questions) < 2:
        raise UsageError(
            "pictures are swapped among at least two questions, and there is one; check the pictures of the others, or leave "
            "out the setting 'swapped'"
        )
    order = [questions[i] for i in np.random.default_rng(seed).permutation(len(questions))]
    by_words: defaultdict[str, list[Question]] = defaultdict(list)
    for question in order:
        by_words[question.prompt].append(question)
    swaps: dict[str, Question] = {}
    for group in (*by_words.values(), order):
        for index, question in enumerate(group):
            if question.id in swaps:
                continue
            others = (group[(index + step) % len(group)] for step in range(1, len(group)))
            fits = (
                candidate
                for candidate in others
                if not candidate.right & question.right and candidate.pictures != question.pictures
            )
            if (other := next(fits, None)) is not None:
                swaps[question.id] = other
    return swaps
