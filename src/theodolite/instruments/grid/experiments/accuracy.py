"""Plain questions: answers read and scored by bucket and density (the paper's Tables 3 and 4).

On pure scenes the right answer and that of a bag of words differ, so a model near one is far from the other.

accuracy        1 if the answer is right; an answer that cannot be read is not right
bow_agreement   1 if the answer is that of a bag of words
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from theodolite.answers import READER, Answer
from theodolite.core.scores import ItemScore, Metric
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import Choice
from theodolite.instruments.grid.questions import read_answer
from theodolite.runs import Parsed, Result, Run
from theodolite.stats import score_mean

ACCURACY = Metric("grid.accuracy", "accuracy", True, "paper", "text")  # noqa: FBT003 - higher is grounded
BOW_AGREEMENT = Metric("grid.bow_agreement", "agrees with a bag of words", False, "ours", "text")  # noqa: FBT003
METRICS = (ACCURACY, BOW_AGREEMENT)
_WANTED = {ACCURACY.key: "gold", BOW_AGREEMENT.key: "bag_of_words"}
NOT_ASKED = {"failed", "pending"}


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """One item of a run and its answer."""

    result: Result
    answer: Answer

    @property
    def meta(self) -> Mapping[str, Any]:
        """What scoring needs to know about the item."""
        return cast("Mapping[str, Any]", self.result.item.meta)

    @property
    def said(self) -> str | None:
        """The answer as text; None if there is none."""
        return str(self.answer.value) if self.answer.is_read else None

    @property
    def choice(self) -> Choice | None:
        """The log-probabilities of the options, where they were measured."""
        return self.result.record.choice if self.result.record is not None else None

    @property
    def reason(self) -> str:
        """Why there is no answer: pending, failed, refused, cut off, ambiguous, unreadable …; empty if there is one."""
        if self.answer.is_read:
            return ""
        record = self.result.record
        if record is None:
            return "pending"
        return "failed" if record.response.status == "failed" else self.answer.status


def read_answers(run: Run) -> list[AnsweredItem]:
    """Every item of a run with its answer."""
    found = [AnsweredItem(result, read_answer(result.item, result.record)) for result in run.results()]
    run.write_parsed(
        Parsed(each.result.item.id, READER, each.answer.status, each.answer.value)
        for each in found
        if each.result.record is not None and each.result.record.response.is_answered
    )
    return found


def accuracy_scores(run: Run) -> list[ItemScore]:
    """Both metrics of every scene.

    A failed request has no value. An answer that was refused or cannot be read counts as 0, with the reason.
    """
    found: list[ItemScore] = []
    for each in read_answers(run):
        name, group = each.result.item.name, f"{each.meta['bucket']} {each.meta['density']}"
        for key, wanted in _WANTED.items():
            value = None if each.reason in NOT_ASKED else float(each.said == each.meta[wanted])
            found.append(ItemScore(name, key, value, name, group=group, reason=each.reason))
    return found


def accuracy_table(model: str, scores: Sequence[ItemScore]) -> Table:
    """One row per bucket; accuracy and agreement at each density."""
    groups = list(dict.fromkeys(score.group for score in scores))
    densities = list(dict.fromkeys(group.partition(" ")[2] for group in groups))
    rows: list[list[Cell]] = []
    for bucket in dict.fromkeys(group.partition(" ")[0] for group in groups):
        row: list[Cell] = [bucket]
        for density in densities:
            some = [score for score in scores if score.group == f"{bucket} {density}"]
            row += [score_mean(metric, some) for metric in METRICS]
        rows.append(row)
    columns = [Column("bucket", "bucket")]
    for density in densities:
        columns += [
            Column(f"accuracy_{density}", f"right, {density}", "share", ACCURACY.key),
            Column(f"bow_agreement_{density}", f"like a bag of words, {density}", "share", BOW_AGREEMENT.key),
        ]
    return Table.of("grid.accuracy", model, columns, rows, _notes(scores))


def _notes(scores: Sequence[ItemScore]) -> list[str]:
    """How many answers have no value, or could not be read, by reason."""
    mine = [score for score in scores if score.metric == ACCURACY.key]
    reasons = dict.fromkeys(score.reason for score in mine if score.reason)
    return [
        f"{sum(score.reason == reason for score in mine)} of {len(mine)} answers: {reason}."
        for reason in reasons
    ]
