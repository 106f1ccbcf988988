"""The verdict on looking, from pairs alone. No model of known reasoning is needed, and no access to the weights.

Let F, M, U and L be the shares of relevant pairs that are followed, moved, unmoved and lost, and D the *dependence*: the share
of answers that change under relevant edits minus the share that changes under neutral edits.

=================== ====================================================================================================
cannot be read      L is above ½
looks               F is above ¼, D is above 0 (where there are neutral pairs), and U is at most ¼
looks at times      F is above ¼ or D is above 0, and U is above ¼
does not look       less than a tenth of the answers change under relevant edits, or at most five points more than under
                    neutral edits
cannot do the task  more than a tenth of the answers change, but they are right no more often than by chance, and F is
                    not above ¼
not settled         anything else
=================== ====================================================================================================

*Above* and *at most* are meant of whole intervals. F above ¼ is a proof: no strategy that ignores what was edited does that
(`theodolite.pairs.outcomes`), so its interval has level 99 %; the others have 95 %. The thresholds of ¼ for U, a tenth and
five points are conventions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from theodolite.pairs.outcomes import RANDOM_BOUND, AnsweredPair, pair_shares

if TYPE_CHECKING:
    from theodolite.core.estimates import Estimate

__all__ = ["Looking", "Standing", "judge_looking"]

Standing: TypeAlias = Literal[
    "looks", "looks at times", "does not look", "cannot do the task", "cannot be read", "not settled"
]

PROOF_LEVEL = 0.99
"""Confidence level of the interval of followed pairs that is compared with the bound."""
MOST_UNMOVED = 0.25
FEW_CHANGES = 0.1
NO_DEPENDENCE = 0.05
MOST_LOST = 0.5


@dataclass(frozen=True, slots=True)
class Looking:
    """A verdict and the numbers it rests on."""

    standing: Standing
    because: str
    followed: Estimate | None
    """Share of relevant pairs that are followed, with its 99 % interval."""
    dependence: Estimate | None
    """Change of the answers under relevant minus under neutral edits. None without neutral pairs."""
    excluded: tuple[str, ...] = ()
    """Strategies that the followed pairs exclude. Empty unless the bound is beaten."""


def judge_looking(  # noqa: PLR0911 - one return for each verdict
    pairs: Iterable[AnsweredPair], *, chance: float | None = None
) -> Looking:
    """Judge from pairs whether a model looks at what the edits change.

    Args:
        pairs: Relevant and neutral pairs of one model.
        chance: The accuracy of a random choice. None if it is not known: then no model is said to be unable to do the task.

    >>> from theodolite.answers import Answer
    >>> from theodolite.pairs import Edit
    >>> mirror, left, right = Edit("mirror", True), Answer("value", "left"), Answer("value", "right")
    >>> blind = [AnsweredPair(str(i), mirror, str(i), left, left, "left", "right") for i in range(48)]
    >>> print(judge_looking(blind).because)
    the answer changes in 0.0 % [0.0, 7.4] of the relevant pairs, less than 10 %
    """
    found = list(pairs)
    relevant = [pair for pair in found if pair.edit.is_relevant]
    neutral = [pair for pair in found if not pair.edit.is_relevant and pair.outcome != "lost"]
    shares, strict = pair_shares(relevant), pair_shares(relevant, level=PROOF_LEVEL).followed
    if strict is None or shares.unmoved is None or shares.lost is None:
        return Looking("not settled", "there is no relevant pair", None, None)
    read = [pair for pair in relevant if pair.outcome != "lost"]
    changes = _share([pair.outcome != "unmoved" for pair in read], read)
    if shares.lost.low > MOST_LOST or changes is None:
        return Looking("cannot be read", f"{_words(shares.lost)} of the pairs are lost", strict, None)
    dependence = _dependence(read, neutral)
    is_stable = dependence is None or dependence.low > 0
    is_proven = strict.low > RANDOM_BOUND and is_stable
    excluded = (
        tuple(dict.fromkeys(name for pair in relevant for name in pair.edit.excludes)) if is_proven else ()
    )

    def verdict(standing: Standing, because: str) -> Looking:
        return Looking(standing, because, strict, dependence, excluded)

    told = f"{_words(strict)} of the pairs are followed"
    if is_proven and shares.unmoved.high <= MOST_UNMOVED:
        return verdict("looks", f"{told}, more than a model that ignores the edit can")
    depends = is_proven or (dependence is not None and dependence.low > 0)
    if depends and shares.unmoved.low > MOST_UNMOVED:
        return verdict("looks at times", f"{told}, and {_words(shares.unmoved)} do not move")
    if changes.high < FEW_CHANGES:
        return verdict(
            "does not look", f"the answer changes in {_words(changes)} of the relevant pairs, less than 10 %"
        )
    if dependence is not None and dependence.high < NO_DEPENDENCE:
        return verdict("does not look", "answers change no more under relevant than under neutral edits")
    right = _share([pair.before.value == pair.gold for pair in read], read)
    is_moving = changes.low > FEW_CHANGES and not depends
    if is_moving and chance is not None and right is not None and right.low <= chance:
        return verdict("cannot do the task", f"{_words(right)} are right, no more than by chance")
    return verdict("not settled", f"{told}, and {_words(shares.unmoved)} do not move; more pairs are needed")


def _dependence(relevant: Sequence[AnsweredPair], neutral: Sequence[AnsweredPair]) -> Estimate | None:
    """The share of changed answers under relevant minus that under neutral edits. None without neutral pairs."""
    from theodolite.stats import estimate_difference

    first = _share([pair.outcome != "unmoved" for pair in relevant], relevant)
    second = _share([pair.outcome != "kept" for pair in neutral], neutral)
    return None if first is None or second is None else estimate_difference(first, second)


def _share(hits: Sequence[bool], pairs: Sequence[AnsweredPair]) -> Estimate | None:
    from theodolite.stats import clustered_mean

    return clustered_mean([float(hit) for hit in hits], [pair.cluster for pair in pairs] if pairs else None)


def _words(share: Estimate) -> str:
    return f"{100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"
