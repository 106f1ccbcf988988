"""Any model's answers to the grid's questions: planned, read and scored per bucket (the paper's Tables 3 and 4).

Beside the accuracy stands how often the model says what a bag of words would say. On pure scenes the two logics
differ, so a model near the one is far from the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore
from theodolite.core.types import Item, Json, Message, Picture, Record, Request
from theodolite.core.wording import NUMBER_WORDS, without_thinking
from theodolite.instruments.grid.data.evaluate import bag_of_words
from theodolite.instruments.grid.data.files import StoredDataset
from theodolite.instruments.grid.data.parsing import read_questions
from theodolite.instruments.grid.data.words import words_of
from theodolite.runs import Parsed, Run
from theodolite.stats import Estimate, wilson_interval

__all__ = [
    "PARSER",
    "AccuracyRow",
    "AccuracyScore",
    "plan_accuracy",
    "prompt_of",
    "read_answer",
    "said_of",
    "score_accuracy",
]

PARSER = "grid-answer/1"
"""The name and version that is stored beside each reading."""

_COUNT_HINT, _YES_HINT = "Answer with a number alone.", "Answer with yes or no alone."


def plan_accuracy(data: StoredDataset, *, max_tokens: int = 16) -> Iterator[Item]:
    """One item for each scene: its picture, its question, and the form of the answer.

    Raises:
        UsageError: the data set was made without pictures.
    """
    world = data.plan.recipe.world
    questions = read_questions(np.stack([words_of(record.question) for record in data.records]))
    shortcut = bag_of_words(world, data.cells, questions)
    for number, record in enumerate(data.records):
        if record.file_name is None:
            raise UsageError(f"{data.folder} has no pictures; make it again without --no-pictures")
        is_count = record.answer.isdigit()
        options = world.answers[: world.max_count + 1] if is_count else ("yes", "no")
        prompt = prompt_of(record.question, is_count=is_count)
        yield Item(
            name=record.id,
            request=Request(
                (Message.user(Picture.from_path(data.folder / record.file_name), prompt),),
                max_tokens=max_tokens,
                ref=record.id,
            ),
            options=options,
            meta={
                "bucket": record.bucket,
                "density": record.density,
                "gold": record.answer,
                "bag_of_words": world.answers[int(shortcut[number])],
            },
        )


def prompt_of(question: str, *, is_count: bool) -> str:
    """The question with the form of its answer."""
    return f"{question} {_COUNT_HINT if is_count else _YES_HINT}"


def read_answer(text: str) -> str | None:
    """The number, yes or no that an answer comes down to; None where it holds none or several.

    >>> read_answer("There are **three** of them."), read_answer("Yes, there is."), read_answer("4 or 5")
    ('3', 'yes', None)
    >>> read_answer("<think>maybe 2, maybe 3</think> 3"), read_answer("no idea at all, sorry") is None
    ('3', False)
    """
    found = re.findall(r"(?<![\w.,-])(?:\d+|[a-z]+)(?![\w])(?!\.\d)", without_thinking(text).casefold())
    values = [
        word.lstrip("0") or "0"
        if word.isdigit()
        else str(NUMBER_WORDS.index(word))
        if word in NUMBER_WORDS
        else word
        for word in found
        if word.isdigit() or word in NUMBER_WORDS or word in {"yes", "no"}
    ]
    return values[0] if len(set(values)) == 1 else None


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One bucket at one density."""

    bucket: str
    density: str
    accuracy: Estimate | None
    """Over the answered ones; what cannot be read counts as wrong."""
    bag_of_words: Estimate | None
    """How often it says what a bag of words says."""
    asked: int
    refused: int
    failed: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class AccuracyScore:
    """All rows of a run."""

    model: str
    rows: tuple[AccuracyRow, ...]

    def as_json(self) -> dict[str, Json]:
        """Plain values."""

        def plain(estimate: Estimate | None) -> Json:
            if estimate is None:
                return None
            return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}

        return {
            "model": self.model,
            "rows": [
                {
                    "bucket": row.bucket,
                    "density": row.density,
                    "accuracy": plain(row.accuracy),
                    "bag_of_words": plain(row.bag_of_words),
                    "asked": row.asked,
                    "refused": row.refused,
                    "failed": row.failed,
                    "unreadable": row.unreadable,
                }
                for row in self.rows
            ],
        }


def score_accuracy(run: Run) -> AccuracyScore:
    """Reads and scores the stored answers; no model is called. Readings and scores are kept in the run."""
    groups: dict[tuple[str, str], list[tuple[str, str | None, str, str]]] = {}
    readings: list[Parsed] = []
    for result in run.results():
        key = str(result.item.meta["bucket"]), str(result.item.meta["density"])
        record = result.record
        status = "unasked" if record is None else record.response.status
        said = said_of(record) if record is not None and status == "answered" else None
        if record is not None and status == "answered":
            readings.append(
                Parsed(result.item.id, PARSER, "parsed" if said is not None else "unparsed", said)
            )
        gold, shortcut = str(result.item.meta["gold"]), str(result.item.meta["bag_of_words"])
        groups.setdefault(key, []).append((status, said, gold, shortcut))
    run.write_parsed(readings)
    score = AccuracyScore(run.info.model, tuple(_row(*key, found) for key, found in groups.items()))
    run.write_scores(score.as_json())
    return score


def item_scores(run: Run) -> list[ItemScore]:
    """Whether each answer is right, and whether it is what a bag of words says."""
    found: list[ItemScore] = []
    for result in run.results():
        meta, record, name = result.item.meta, result.record, result.item.name
        status = "pending" if record is None else record.response.status
        for key, wanted in (("grid.accuracy", meta["gold"]), ("grid.bow_agreement", meta["bag_of_words"])):
            if record is None or status != "answered":
                found.append(ItemScore(name, key, None, name, reason=status))
            else:
                said = said_of(record)
                found.append(
                    ItemScore(name, key, float(said == wanted), name, reason="" if said else "unreadable")
                )
    return found


def said_of(record: Record) -> str | None:
    """What a model said: the most probable option, or what its words come down to."""
    return record.choice.best if record.choice is not None else read_answer(record.response.text)


def _row(bucket: str, density: str, found: list[tuple[str, str | None, str, str]]) -> AccuracyRow:
    statuses: NDArray[np.str_] = np.array([status for status, *_ in found])
    answered = [(said, gold, shortcut) for status, said, gold, shortcut in found if status == "answered"]
    n = len(answered)
    return AccuracyRow(
        bucket,
        density,
        wilson_interval(sum(said == gold for said, gold, _ in answered), n) if n else None,
        wilson_interval(sum(said == shortcut for said, _, shortcut in answered), n) if n else None,
        asked=int((statuses != "unasked").sum()),
        refused=int((statuses == "refused").sum()),
        failed=int((statuses == "failed").sum()),
        unreadable=sum(said is None for said, _, _ in answered),
    )
