"""Plan each question three times: with its picture, without, and with the picture of another question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite.answers.items import FORMAT, format_to_json
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Message, Picture, ReplayMatch, Request
from theodolite.instruments.ask.data.questions import Question

Setting: TypeAlias = Literal["picture", "blind", "swapped"]
"""``picture``: with its own picture. ``blind``: without a picture. ``swapped``: with the picture of another question."""

SETTINGS: tuple[Setting, ...] = get_args(Setting)


def plan_questions(
    questions: Sequence[Question],
    *,
    settings: Sequence[Setting] = SETTINGS,
    seed: int = 0,
    max_tokens: int = 512,
) -> Iterator[Item]:
    """Yield the items of a run, question by question, so that the start of a plan has all settings.

    Args:
        questions: Questions with distinct ids.
        settings: The settings to use.
        seed: Seed of the swaps.
        max_tokens: Maximum length of an answer.
    """
    others = _swaps(questions, seed) if "swapped" in settings else {}
    wordings = Counter(question.prompt for question in questions)
    for question in questions:
        for setting in settings:
            other = others.get(question.id)
            if setting == "swapped" and other is None:
                continue
            swapped = other.pictures if other is not None else ()
            pictures = {"picture": question.pictures, "blind": (), "swapped": swapped}[setting]
            recall: ReplayMatch = "words" if wordings[question.prompt] == 1 else "id"
            recall = recall if setting == "picture" else "content"
            item = _item(question, setting, pictures, max_tokens=max_tokens, recall=recall)
            if setting == "swapped" and other is not None and other.prompt == question.prompt:
                item = replace(item, meta={**item.meta, "shown": other.answer})
            yield item


def _item(
    question: Question,
    setting: Setting,
    pictures: tuple[Picture, ...],
    *,
    max_tokens: int,
    recall: ReplayMatch,
) -> Item:
    return Item(
        name=f"{question.id}/{setting}",
        request=Request(
            (Message.user(*pictures, question.prompt),),
            max_tokens=max_tokens,
            ref=question.id if setting == "picture" else f"{question.id}/{setting}",
            recall=recall,
            hint={"gold": question.answer, "setting": setting},
        ),
        options=question.options,
        meta={
            "question": question.id,
            "setting": setting,
            "gold": question.answer,
            "options": list(question.options),
            "group": question.group,
            "cluster": question.pictures[0].digest,
            FORMAT: format_to_json(question.format),
        },
    )


def _swaps(questions: Sequence[Question], seed: int) -> dict[str, Question]:
    """Find for each question another one with other pictures and another answer, with the same words if possible.

    With the same words, the answer of the other question is the right one for its picture. If all answers are the same,
    there are no swaps.
    """
    if len(questions) < 2:
        raise UsageError("swapping pictures needs at least two questions; remove 'swapped' from the settings")
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
            fits = (o for o in others if o.answer != question.answer and o.pictures != question.pictures)
            if (other := next(fits, None)) is not None:
                found[question.id] = other
    return found
