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
from theodolite.pairs.balance import balance_of, design_of
from theodolite.pairs.outcomes import NATURAL, AnsweredPair, Edit

if TYPE_CHECKING:
    from theodolite.diagnose.export.samples import Sample

__all__ = ["Graded", "by_condition", "pair_outcomes"]

PLAIN = "plain"
FAILED = "failed"
_OUTCOMES = ("followed", "inverted", "moved", "unmoved", "lost")


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
    cluster: str = ""
    """The picture, scene or episode that samples share. Default: the sample itself."""
    words: str = ""
    """A hash of the question, of samples that were not made in pairs: they are paired if they have the same words, other
    pictures and other right answers."""
    pictures: str = ""
    """A hash of the pictures."""
    targets: tuple[str, ...] = ()
    """All right answers."""
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
            cluster=sample.row.cluster,
            words=short_hash(sample.row.question),
            targets=targets_of(sample.rubric),
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
            cluster=str(about.get("cluster") or ""),
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
        return Answer("refused" if self.status == "refused" else "unreadable", reason=self.status)


def targets_of(rubric: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all right answers that a rubric names."""
    return tuple(map(str, rubric.get("golds") or ()))


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


def pair_outcomes(samples: Iterable[Graded], *, has_interval: bool = False) -> dict[str, float]:
    """Return looking, the share of each outcome of relevant pairs, and the share of neutral pairs kept.

    Args:
        samples: The samples of one model.
        has_interval: If True, also return the ends of the 99 % interval of looking and the p-value of its test.

    Returns:
        The shares, and the number of relevant pairs under ``pairs``. Empty if there are no pairs.
    """
    pairs = list(_pairs(list(samples)))
    relevant = [pair for pair in pairs if pair.edit.is_relevant]
    neutral = [pair for pair in pairs if not pair.edit.is_relevant and pair.outcome != "lost"]
    shares: dict[str, float] = {}
    n = 0
    if relevant:
        design = design_of(relevant)
        outcomes, n = design.outcomes(), design.n
        shares["looking"] = outcomes["followed"] - outcomes["inverted"]
        if has_interval:
            balance = balance_of(relevant)
            looking = balance.looking
            shares |= {"looking_low": looking.low, "looking_high": looking.high, "p": balance.p_value}
        shares |= outcomes
    if neutral:
        shares["kept"] = _share(neutral, "kept")
    return {**shares, "pairs": float(n)} if pairs else {}


def _share(pairs: Sequence[AnsweredPair], outcome: str) -> float:
    return sum(pair.outcome == outcome for pair in pairs) / len(pairs)


def _pairs(samples: Sequence[Graded]) -> Iterator[AnsweredPair]:
    by_id = {(sample.id, sample.epoch): sample for sample in samples}
    if any(sample.pairs for sample in samples):
        for after in samples:
            for name, is_relevant in after.pairs:
                before = by_id.get((name, after.epoch))
                if before is not None:
                    yield _pair(before, after, Edit("edit", is_relevant=is_relevant))
        return
    by_words: dict[tuple[str, int], list[Graded]] = {}
    for sample in samples:
        if sample.words and sample.pictures and sample.targets:
            by_words.setdefault((sample.words, sample.epoch), []).append(sample)
    for (words, epoch), group in by_words.items():
        targets = {normal_form(target): target for sample in group for target in sample.targets}
        read = [
            (_read_among(sample, targets), {normal_form(target) for target in sample.targets})
            for sample in group
        ]
        for (first, one), (second, other) in combinations(read, 2):
            if first.pictures != second.pictures and not one & other:
                yield replace(_pair(first, second, NATURAL), group=f"{words} {epoch}")


def _read_among(sample: Graded, targets: Mapping[str, str]) -> Graded:
    """Return the sample with its free text read as a choice between all targets of its question."""
    if not sample.text or len(targets) == 1:
        return sample
    answer = read_answer(sample.text, AnswerFormat.choice(targets))
    value = float(any(is_right(answer, target) for target in sample.targets))
    return replace(sample, value=value, status=answer.status, said=answer.value)


def _pair(before: Graded, after: Graded, edit: Edit) -> AnsweredPair:
    """Return the pair of two samples.

    An answer that another scorer found right is taken as the first right one, unless it is given to both pictures.
    """
    is_same = before.answer.is_read and before.said == after.said
    sides = [
        Answer("value", side.targets[0]) if side.value == 1 and side.targets and not is_same else side.answer
        for side in (before, after)
    ]
    golds = [side.targets or ("",) for side in (before, after)]
    pictures = [f"{side.pictures or side.id} {side.epoch}" for side in (before, after)]
    return AnsweredPair(
        before.id,
        edit,
        f"{before.cluster or before.pictures or before.id} {before.epoch}",
        sides[0],
        sides[1],
        gold=golds[0][0],
        edited_gold=golds[1][0],
        pictures=(pictures[0], pictures[1]),
        question=before.words,
        others=(golds[0][1:], golds[1][1:]),
    )
