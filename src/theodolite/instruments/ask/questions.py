"""How mirroring a picture changes the right answer of a question, judged by the question's words.

===================================================================================== ============================
the right answer says left or right, and the opposite can be answered                 it becomes the opposite
"Is the cup left of the plate?", and the right answer is yes                          it becomes no
nothing in question, options and answer is about sides, directions, text or clocks    it stays the same
anything else                                                                         it is not known
===================================================================================== ============================
"""

from __future__ import annotations

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
from theodolite.instruments.ask.data.questions import Question, natural_groups
from theodolite.pairs.outcomes import LIGHT, MIRROR, MIRROR_UNASKED, REMOVE, Edit, with_repeats
from theodolite.pairs.pictures import light, mirror, remove
from theodolite.runs import write_atomically

__all__ = [
    "SETTINGS",
    "Setting",
    "mirrored",
    "plan_questions",
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
        other = _SIDE.sub(lambda side: _OPPOSITE[side[0].casefold()], question.answer)
        known = {normal_form(option): option for option in question.options}
        return known.get(normal_form(other), "") if known else other
    sides = {side.casefold() for side in _SIDE.findall(question.question)}
    is_placed = len(sides) == 1 and _PLACED.search(question.question) is not None
    is_there = re.search(r"\bthere\b", question.question, re.IGNORECASE) is not None
    return "no" if normal_form(question.answer) == "yes" and is_placed and not is_there else ""


# Plan each question with its picture, without it, with another picture, and with its picture edited.


Setting: TypeAlias = Literal["picture", "blind", "swapped", "mirror", "light", "remove"]
"""``picture``: with its own picture. ``blind``: without a picture. ``swapped``: with the picture of another question.
``mirror``: mirrored, where the effect on the answer is known. ``light``: brighter. ``remove``: without the object asked about,
where its box is known."""

SETTINGS: tuple[Setting, ...] = get_args(Setting)


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
    others = _swaps(questions, seed) if "swapped" in settings else {}
    wordings = Counter(question.prompt for question in questions)
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
        for setting in settings:
            item = draft.item(question, setting, other, truth, meta, recall)
            if item is not None:
                yield item


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
        pictures = question.pictures
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
            return self._made(question, setting, other.pictures, truth, {**meta, **shown})
        if setting == "mirror":
            reflection = mirrored(question)
            if reflection is None:
                return None
            edit, answer = reflection
            changed = replace(truth, golds=(answer, *question.others), edit=edit.name)
            return self._made(question, setting, self._edited(pictures, "mirror"), changed, meta)
        if setting == "light":
            lit = replace(truth, edit=LIGHT.name)
            return self._made(question, setting, self._edited(pictures, "light"), lit, meta)
        removal = question.removal
        if removal is None:
            return None
        removed = replace(truth, golds=(removal.answer,), edit=REMOVE.name)
        how = partial(remove, thing=removal.thing, others=removal.others, fill=self.fill, seed=self.seed)
        filled: list[Json] = [] if self.fill == "copied" else [self.fill, self.seed]
        name = f"without-{content_hash([astuple(removal.thing.box), *filled])[:16]}"
        return self._made(question, setting, (_edit(pictures[0], name, how, self.folder),), removed, meta)

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
            hint={"gold": question.answer, "setting": setting},
        )
        about = replace(
            truth,
            condition=PLAIN if setting == "picture" else setting,
            base=f"{question.id}/picture" if truth.edit else "",
        )
        return Item(f"{question.id}/{setting}", request, question.options, meta, about)

    def _edited(self, pictures: tuple[Picture, ...], how: Literal["mirror", "light"]) -> tuple[Picture, ...]:
        return tuple(_edit(picture, how, _EDITS[how], self.folder) for picture in pictures)


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


_EDITS = {"mirror": mirror, "light": light}


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
