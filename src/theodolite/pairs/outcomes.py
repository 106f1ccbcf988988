"""Outcomes of pairs: followed, moved, unmoved or lost under relevant edits, kept or changed under neutral edits.

Let y be the right answer to a question about a picture, and y′ ≠ y the right answer after a relevant edit. The pair is
*followed* if the model answers y before and y′ after.

**Bound.** A strategy whose answer does not depend on what the edit changes follows a pair with probability at most ¼, and
never if it is deterministic. Proof: let p and p′ be the probabilities of the answers y and y′, which are the same before
and after. Then P(followed) = p·p′ ≤ ((p + p′)/2)² ≤ ¼, since p + p′ ≤ 1. A deterministic strategy gives the same answer
twice, and y ≠ y′.

**Bound from repetition.** Let d be the probability that such a strategy gives two different answers to the same request.
The two answers before and after are independent draws from one distribution, so (y, y′) is as likely as (y′, y), and
P(followed) ≤ d/2. A model that always repeats its answer (d = 0) follows no pair without using what was edited.

**Bound of groups.** One question about k pictures with k different right answers makes k(k−1)/2 pairs. A strategy that
does not use the picture gives these answers with probabilities p₁ … p_k, and follows Σ_{i<j} p_i p_j = ((Σp)² − Σp²)/2 ≤
(1 − 1/k)/2 of them on average, that is a share of at most 1/k². Of some of these pairs it follows at most (1 − 1/ω)/2, where
ω is the largest number of answers that are all paired with each other (Motzkin and Straus 1965): ¼ of a single pair.

So a share of followed pairs significantly above ¼ (above 0 for deterministic decoding) shows that the answers depend on
what was edited. The other pairs are *moved* (the answer changed, but not from right to right), *unmoved* (the same answer
twice) or *lost* (one of the two answers could not be read, was refused or failed). Under neutral edits an answer is *kept*
or *changed*; the share of changed answers is the baseline for *moved*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

from theodolite.answers import Answer
from theodolite.answers.items import is_right
from theodolite.pairs.edits import Edit

if TYPE_CHECKING:
    from theodolite.core.estimates import Estimate

__all__ = [
    "RANDOM_BOUND",
    "AnsweredPair",
    "Outcome",
    "PairShares",
    "outcome_of",
    "pair_shares",
    "random_bound",
]

Outcome: TypeAlias = Literal["followed", "moved", "unmoved", "kept", "changed", "lost"]

RANDOM_BOUND = 0.25
"""The largest expected share of pairs that a strategy can follow without using what was edited."""


def outcome_of(before: Answer, after: Answer, *, are_right: bool, is_relevant: bool) -> Outcome:
    """The outcome of a pair.

    Args:
        before: The answer before the edit.
        after: The answer after it.
        are_right: True if both are right.
        is_relevant: True if the edit changes the right answer.
    """
    if not (before.is_read and after.is_read):
        return "lost"
    is_same = is_right(before, str(after.value))
    if not is_relevant:
        return "kept" if is_same else "changed"
    if are_right:
        return "followed"
    return "unmoved" if is_same else "moved"


@dataclass(frozen=True, slots=True)
class AnsweredPair:
    """One question before and after an edit, with both answers.

    >>> mirror = Edit("mirror", is_relevant=True)
    >>> left, right = Answer("value", "left"), Answer("value", "right")
    >>> AnsweredPair("q1", mirror, "picture-1", left, right, gold="left", edited_gold="right").outcome
    'followed'
    """

    item: str
    edit: Edit
    cluster: str
    """The picture, scene or episode."""
    before: Answer
    after: Answer
    gold: object
    edited_gold: object
    """The right answer after the edit; the same as `gold` under a neutral edit."""
    split: str = ""
    relation: str = ""
    """The relation in the question, or the kind of change, for tables by relation."""
    shown: tuple[str, str] = ("", "")
    """The names of the two items in the run, for exhibits."""
    group: str = ""
    """The group of pictures of one question that the pair is taken from; empty for a pair of its own."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the pair."""
        are_right = self.is_right and is_right(self.after, str(self.edited_gold))
        return outcome_of(self.before, self.after, are_right=are_right, is_relevant=self.edit.is_relevant)

    @property
    def is_right(self) -> bool:
        """True if the answer before the edit is right."""
        return is_right(self.before, str(self.gold))


@dataclass(frozen=True, slots=True)
class PairShares:
    """The share of each outcome. None if there are no such pairs."""

    n_relevant: int
    n_neutral: int
    followed: Estimate | None
    moved: Estimate | None
    unmoved: Estimate | None
    lost: Estimate | None
    """`followed`, `moved`, `unmoved` and `lost` are shares of the relevant pairs, and add up to 1."""
    kept: Estimate | None
    """Share of the neutral pairs with two readable answers."""


def pair_shares(pairs: Iterable[AnsweredPair], *, level: float = 0.95) -> PairShares:
    """Compute the share of each outcome, with its interval over clusters."""
    found = list(pairs)
    relevant = [pair for pair in found if pair.edit.is_relevant]
    neutral = [pair for pair in found if not pair.edit.is_relevant]
    read = [pair for pair in neutral if pair.outcome != "lost"]
    return PairShares(
        len(relevant),
        len(neutral),
        _share(relevant, "followed", level),
        _share(relevant, "moved", level),
        _share(relevant, "unmoved", level),
        _share(relevant, "lost", level),
        _share(read, "kept", level),
    )


def random_bound(relevant: Sequence[AnsweredPair]) -> float:
    """Return the largest expected share of relevant pairs that a strategy can follow without using what was edited.

    >>> mirror, said = Edit("mirror", is_relevant=True), Answer("value", "left")
    >>> random_bound([AnsweredPair("q", mirror, "p", said, said, "left", "right")])
    0.25
    """
    groups: dict[str, set[frozenset[str]]] = {}
    alone = 0
    for pair in relevant:
        if pair.group:
            groups.setdefault(pair.group, set()).add(frozenset({str(pair.gold), str(pair.edited_gold)}))
        else:
            alone += 1
    of_groups = sum((1 - 1 / _clique(edges)) / 2 for edges in groups.values())
    return (RANDOM_BOUND * alone + of_groups) / len(relevant)


def _clique(edges: AbstractSet[frozenset[str]]) -> int:
    """The largest number of answers that are all paired with each other. Groups have few answers."""
    answers = sorted(frozenset[str]().union(*edges))
    for size in range(len(answers), 2, -1):
        for some in combinations(answers, size):
            if all(frozenset(each) in edges for each in combinations(some, 2)):
                return size
    return 2


def _share(pairs: Sequence[AnsweredPair], outcome: Outcome, level: float) -> Estimate | None:
    from theodolite.stats import clustered_mean  # takes a second to import

    hits = [float(pair.outcome == outcome) for pair in pairs]
    return clustered_mean(hits, [pair.cluster for pair in pairs] if pairs else None, level=level)
