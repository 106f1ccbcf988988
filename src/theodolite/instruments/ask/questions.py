"""Plan each question with its picture, without it, with another picture, and with its picture edited."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite.answers.items import FORMAT, format_to_json
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Json, Message, Picture, ReplayMatch, Request, content_hash
from theodolite.instruments.ask.data.question import Question, natural_groups
from theodolite.instruments.ask.mirroring import mirrored
from theodolite.pairs.edits import LIGHT, REMOVE
from theodolite.pairs.pictures import light, mirror, remove
from theodolite.pairs.repeats import with_repeats
from theodolite.runs import write_atomically

__all__ = ["SETTINGS", "Setting", "plan_questions"]

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
) -> Iterator[Item]:
    """Yield the items of a run, question by question, so that the start of a plan has all settings; then repeats.

    Questions with the same words, other pictures and another answer form groups: the answers about two of their pictures are
    a pair. There is no need to show one's picture with the other's question, since that is the other question.

    Args:
        questions: Questions with distinct ids.
        settings: The settings to use.
        seed: Seed of the swaps.
        max_tokens: Maximum length of an answer.
        folder: Where edited pictures are kept. Default: in memory.
        model: The name of the model. A log is asked for nothing twice.
    """
    draft = _Draft(tuple(settings), max_tokens, folder)
    yield from with_repeats(
        _plan(questions, draft, seed), lambda item: item.meta["setting"] == "picture", model=model
    )


def _plan(questions: Sequence[Question], draft: _Draft, seed: int) -> Iterator[Item]:
    settings = draft.settings
    others = _swaps(questions, seed) if "swapped" in settings else {}
    wordings = Counter(question.prompt for question in questions)
    clusters = {
        question.id: min(each.pictures[0].digest for each in group)
        for group in natural_groups(questions)
        for question in group
    }
    for question in questions:
        other = others.get(question.id)
        meta: dict[str, Json] = {
            "question": question.id,
            "gold": question.answer,
            "others": list(question.others),
            "options": list(question.options),
            "group": question.group,
            "cluster": question.pictures[0].digest,
            "natural": clusters[question.id],
            FORMAT: format_to_json(question.format),
        }
        recall: ReplayMatch = "words" if wordings[question.prompt] == 1 else "id"
        for setting in settings:
            item = draft.item(question, setting, other, meta, recall)
            if item is not None:
                yield item


@dataclass(frozen=True, slots=True)
class _Draft:
    """How items are made."""

    settings: tuple[Setting, ...]
    max_tokens: int
    folder: Path | None

    def item(  # noqa: PLR0911 - one return for each setting
        self,
        question: Question,
        setting: Setting,
        other: Question | None,
        meta: dict[str, Json],
        recall: ReplayMatch,
    ) -> Item | None:
        """The item of a question in a setting. None if the question has none."""
        pictures = question.pictures
        has_same_words = other is not None and other.prompt == question.prompt
        if setting == "picture":
            # Another question with the same words is the swapped setting of this one.
            found: dict[str, Json] = {"other": other.id} if other is not None and has_same_words else {}
            return self._made(question, setting, pictures, {**meta, **found}, recall)
        if setting == "blind":
            return self._made(question, setting, (), meta)
        if setting == "swapped":
            if other is None or (has_same_words and "picture" in self.settings):
                return None
            shown: dict[str, Json] = {"shown": other.answer} if has_same_words else {}
            return self._made(question, setting, other.pictures, {**meta, **shown})
        if setting == "mirror":
            known = mirrored(question)
            if known is None:
                return None
            edit, answer = known
            changed: dict[str, Json] = {"gold": answer, "edit": edit.name}
            return self._made(question, setting, self._edited(pictures, "mirror"), {**meta, **changed})
        if setting == "light":
            return self._made(
                question, setting, self._edited(pictures, "light"), {**meta, "edit": LIGHT.name}
            )
        removal = question.removal
        if removal is None:
            return None
        removed: dict[str, Json] = {"gold": removal.answer, "others": [], "edit": REMOVE.name}
        how = partial(remove, thing=removal.thing, others=removal.others)
        name = f"without-{content_hash([astuple(removal.thing.box)])[:16]}"
        return self._made(
            question, setting, (_edit(pictures[0], name, how, self.folder),), {**meta, **removed}
        )

    def _made(
        self,
        question: Question,
        setting: Setting,
        pictures: tuple[Picture, ...],
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
        name = f"{question.id}/{setting}"
        return Item(name, request, options=question.options, meta={**meta, "setting": setting})

    def _edited(self, pictures: tuple[Picture, ...], how: Literal["mirror", "light"]) -> tuple[Picture, ...]:
        return tuple(_edit(picture, how, _EDITS[how], self.folder) for picture in pictures)


def _edit(picture: Picture, name: str, how: Callable[[Picture], Picture], folder: Path | None) -> Picture:
    """Edit a picture, unless the edited one is in the folder. Its digest is that of the pixels, which no encoder changes."""
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
    found: dict[str, Question] = {}
    for group in (*by_words.values(), order):
        for place, question in enumerate(group):
            if question.id in found:
                continue
            others = (group[(place + step) % len(group)] for step in range(1, len(group)))
            fits = (o for o in others if not o.right & question.right and o.pictures != question.pictures)
            if (other := next(fits, None)) is not None:
                found[question.id] = other
    return found
