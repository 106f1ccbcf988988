"""Metrics for other harnesses, from graded samples: the mean score by condition, and the outcomes of pairs.

This module imports only the reader of answers, so that exported tasks can contain a copy of it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from theodolite.answers import Answer, AnswerFormat, normal_form, read_answer
from theodolite.answers.grading import is_right
from theodolite.pairs.outcomes import Outcome, outcome_of

if TYPE_CHECKING:
    from theodolite.diagnose.export.samples import Sample

__all__ = ["Graded", "by_condition", "pair_outcomes"]

PLAIN = "plain"
FAILED = "failed"
_ORDER = ("followed", "moved", "unmoved", "lost", "kept")


@dataclass(frozen=True, slots=True)
class Graded:
    """One sample with the score of its answer."""

    id: str
    value: float | None
    """None if there is no right answer."""
    status: str
    """``value``, or why the answer could not be read."""
    said: str | float | None
    reason: str = ""
    condition: str = PLAIN
    split: str = ""
    group: str = ""
    """Of the macro mean."""
    pairs: tuple[tuple[str, bool], ...] = ()
    """The ids of the samples that this one is an edit of, each with True if the edit changes the right answer."""
    words: str = ""
    """A hash of the question, of samples that were not made in pairs: they are paired if they have the same words, other
    pictures and other right answers."""
    pictures: str = ""
    """A hash of the pictures."""
    targets: tuple[str, ...] = ()
    text: str = ""
    """The answer itself, if it is free text: it is read once the targets of all samples with the same words are known."""
    epoch: int = 1
    """Samples are paired within their epoch."""

    @classmethod
    def of(cls, sample: Sample) -> Graded | None:
        """Return a sample with its grade. None if it was not asked; one that failed has no value."""
        if sample.record is None:
            return None
        grade = sample.grade
        answer = grade.answer if grade is not None else Answer("unreadable", reason="failed")
        return cls(
            sample.id,
            grade.value if grade is not None else None,
            answer.status if grade is not None else FAILED,
            answer.value,
            answer.reason,
            sample.row.condition,
            sample.row.split,
            str(sample.rubric.get("group", "")),
            tuple((link.before, link.is_relevant) for link in sample.pairs),
        )

    @classmethod
    def from_json(cls, name: str, value: float | None, about: Mapping[str, Any]) -> Graded:
        """Restore a sample from the log of a harness."""
        return cls(
            name,
            value,
            str(about.get("status", "unreadable")),
            about.get("said"),
            condition=str(about.get("condition") or PLAIN),
            split=str(about.get("split") or ""),
            group=str(about.get("group") or ""),
            pairs=tuple((str(before), bool(is_relevant)) for before, is_relevant in about.get("pairs") or ()),
            words=str(about.get("words") or ""),
            pictures=str(about.get("pictures") or ""),
            targets=tuple(map(str, about.get("targets") or ())),
            text=str(about.get("text") or ""),
            epoch=int(about.get("epoch") or 1),
        )

    @property
    def answer(self) -> Answer:
        """The answer as read."""
        if self.status == "value":
            return Answer("value", self.said)
        return Answer("unreadable", reason=self.status)


def short_hash(*texts: str) -> str:
    """Return a short hash of texts.

    >>> short_hash("a", "b") != short_hash("ab")
    True
    """
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def by_condition(samples: Iterable[Graded]) -> dict[str, float]:
    """Return the mean score by condition, and by split if there are several: over samples, then over groups.

    >>> samples = [Graded("a", 1.0, "value", "yes"), Graded("b", 0.0, "value", "no", condition="blind")]
    >>> by_condition(samples)
    {'plain': 1.0, 'blind': 0.0}
    """
    columns: dict[tuple[str, str], dict[str, list[float]]] = {}
    for sample in samples:
        if sample.value is not None:
            groups = columns.setdefault((sample.condition, sample.split), {})
            groups.setdefault(sample.group, []).append(sample.value)
    has_splits = len({split for _, split in columns}) > 1
    ordered = sorted(columns, key=lambda key: key[0] != PLAIN)
    return {
        f"{condition}, {split}" if has_splits and split else condition: _macro(columns[condition, split])
        for condition, split in ordered
    }


def _macro(groups: Mapping[str, Sequence[float]]) -> float:
    means = [math.fsum(values) / len(values) for values in groups.values()]
    return math.fsum(means) / len(means)


def pair_outcomes(samples: Iterable[Graded]) -> dict[str, float]:
    """Return the shares of relevant pairs followed, moved, unmoved and lost, and of neutral pairs kept.

    Returns:
        The shares, and the number of relevant pairs under ``pairs``. Empty if there are none.
    """
    outcomes: list[tuple[bool, Outcome]] = list(_outcomes(list(samples)))
    relevant = [outcome for is_relevant, outcome in outcomes if is_relevant]
    neutral = [outcome for is_relevant, outcome in outcomes if not is_relevant and outcome != "lost"]
    shares = {name: _share(relevant, name) for name in _ORDER[:-1] if relevant}
    if neutral:
        shares["kept"] = _share(neutral, "kept")
    return {**shares, "pairs": float(len(relevant))} if outcomes else {}


def _share(outcomes: Sequence[Outcome], name: str) -> float:
    return sum(outcome == name for outcome in outcomes) / len(outcomes)


def _outcomes(samples: Sequence[Graded]) -> Iterator[tuple[bool, Outcome]]:
    by_id = {(sample.id, sample.epoch): sample for sample in samples}
    if any(sample.pairs for sample in samples):
        for after in samples:
            for name, is_relevant in after.pairs:
                before = by_id.get((name, after.epoch))
                if before is not None:
                    yield is_relevant, _outcome(before, after, is_relevant=is_relevant)
        return
    by_words: dict[tuple[str, int], list[Graded]] = {}
    for sample in samples:
        if sample.words and sample.pictures and sample.targets:
            by_words.setdefault((sample.words, sample.epoch), []).append(sample)
    for group in by_words.values():
        targets = {normal_form(target): target for sample in group for target in sample.targets}
        read = [
            (_read_among(sample, targets), {normal_form(target) for target in sample.targets})
            for sample in group
        ]
        for (first, one), (second, other) in combinations(read, 2):
            if first.pictures != second.pictures and not one & other:
                yield True, _outcome(first, second, is_relevant=True)


def _read_among(sample: Graded, targets: Mapping[str, str]) -> Graded:
    """Return the sample with its free text read as a choice between all targets of its question."""
    if not sample.text or len(targets) == 1:
        return sample
    answer = read_answer(sample.text, AnswerFormat.choice(targets))
    value = float(any(is_right(answer, target) for target in sample.targets))
    return replace(sample, value=value, status=answer.status, said=answer.value)


def _outcome(before: Graded, after: Graded, *, is_relevant: bool) -> Outcome:
    are_right = before.value == 1 and after.value == 1
    return outcome_of(before.answer, after.answer, are_right=are_right, is_relevant=is_relevant)
