"""Groups: one question about k pictures with k different right answers.

**Bound.** A strategy that does not use the picture is right on all k with probability at most k^−k, and never if it is
deterministic and k > 1. Proof: with the probabilities p₁ … p_k of the k right answers, which sum to at most 1, it is right
on all of them with probability p₁ ⋯ p_k, which is largest for p_i = 1/k. It is right on at most one picture in k on average.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theodolite.answers import Answer
from theodolite.answers.items import is_right

if TYPE_CHECKING:
    from theodolite.core.estimates import Estimate

__all__ = ["AnsweredGroup", "GroupShares", "group_shares"]


@dataclass(frozen=True, slots=True)
class AnsweredGroup:
    """The answers to one question about several pictures, all with different right answers."""

    question: str
    cluster: str
    answers: tuple[Answer, ...]
    golds: tuple[object, ...]

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether the answer is right, by picture. Answers that could not be read are not."""
        return tuple(
            is_right(answer, str(gold)) for answer, gold in zip(self.answers, self.golds, strict=True)
        )

    @property
    def bound(self) -> float:
        """The largest probability with which a blind strategy is right on all pictures: k^−k.

        >>> AnsweredGroup("Where?", "q", (Answer("value", "left"),) * 2, ("left", "right")).bound
        0.25
        """
        return float(len(self.golds)) ** -len(self.golds)


@dataclass(frozen=True, slots=True)
class GroupShares:
    """How often the answers about all pictures of a group are right."""

    all_right: Estimate
    """Share of groups with only right answers, with its interval over clusters."""
    bound: float
    """The largest expected share for a strategy that does not use the pictures."""
    each_right: Estimate
    """Share of right answers, over all pictures."""


def group_shares(groups: Iterable[AnsweredGroup], *, level: float = 0.95) -> GroupShares | None:
    """Compute the shares of right groups and of right answers. None if there is no group of two or more pictures."""
    from theodolite.stats import clustered_mean

    found = [group for group in groups if len(group.golds) > 1]
    clusters = [group.cluster for group in found]
    if not found:
        return None
    whole = clustered_mean([float(all(group.right)) for group in found], clusters, level=level)
    single = clustered_mean(
        [float(right) for group in found for right in group.right],
        [group.cluster for group in found for _ in group.right],
        level=level,
    )
    if whole is None or single is None:
        return None
    return GroupShares(whole, sum(group.bound for group in found) / len(found), single)
