"""The verdict on looking, from pairs alone. No model of known reasoning is needed, and no access to the weights.

Let F, M, U and L be the shares of relevant pairs that are followed, moved, unmoved and lost, and D the *dependence*: the share
of answers that change under relevant edits minus the share that changes under neutral edits (without those that are made to
mislead a strategy, `Edit.misleads`), paired by item. The *bound* is the largest share of pairs that a strategy can follow
without using what was edited: ¼ for pairs, 1/k² for pairs of groups of k pictures, or half the share of answers that change
when the same request is made again, if that is smaller (`theodolite.pairs.outcomes`).

The first line that applies is the verdict:

=================== ====================================================================================================
cannot be read      L is above ½
looks               F is above the bound, D is above 0 (where there are neutral pairs), and U is at most ¼
looks at times      as above, and U is above ¼
does not look       less than a tenth of the answers change under relevant edits
cannot do the task  more than a tenth of the answers change, but less than half of the changes are from right to right; or
                    less than three quarters are, and answers are right at most ten points more often than by chance
does not look       at most five points more answers change under relevant than under neutral edits
looks at times      D is above 0, and U is above ¼
not settled         anything else
=================== ====================================================================================================

All comparisons are meant of whole intervals. F above the bound is a proof: no strategy that ignores what was edited does
that, so its interval has level 99 %. *Less than* and *at most* are one-sided tests at 5 %, so their intervals have level
90 %; the others have 95 %. The thresholds of ¼ for U, a tenth, three quarters and five points are conventions.

U is a share of the pairs that could be read. A strategy is *excluded* if the pairs of those edits that exclude it are
followed more often than the bound allows, and D is above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from theodolite.core.types import fields_of
from theodolite.pairs.outcomes import AGAIN, RANDOM_BOUND, AnsweredPair, PairShares, pair_shares, random_bound

if TYPE_CHECKING:
    from theodolite.core.tables import Estimate

__all__ = ["Looking", "Standing", "judge_looking", "pairs_to_settle"]

Standing: TypeAlias = Literal[
    "looks",
    "looks at times",
    "does not look",
    "cannot do the task",
    "cannot be read",
    "not settled",
    "not measured",
]
"""The verdict on a model. *not measured*: there is no pair to judge by."""

PROOF_LEVEL = 0.99
"""Confidence level of the interval of followed pairs that is compared with the bound."""
LESS_LEVEL = 0.9
"""Confidence level of intervals that must lie below a threshold: a one-sided test at 5 %."""
MOST_UNMOVED = 0.25
FEW_CHANGES = 0.1
NO_DEPENDENCE = 0.05
MOST_LOST = 0.5
FEW_RIGHT_CHANGES = 0.5
RANDOM_CHANGES = 0.75
NEAR_CHANCE = 0.1

_FACTORS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
"""Multiples of the pairs for which `pairs_to_settle` asks whether they would settle the verdict."""
_POWER_FACTOR = 2.0
"""An interval that just excludes a threshold at the true value does so in half of the studies; with twice the sample size it
does in four of five: ((1.96 + 0.84) / 1.96)² = 2.04."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking(PairShares):
    """A verdict and the numbers it rests on: the shares of the outcomes have 95 % intervals."""

    standing: Standing
    because: str
    proof: Estimate | None = None
    """`followed` with its 99 % interval, which is compared with the bound. None if there is no relevant pair."""
    dependence: Estimate | None = None
    """Change of the answers under relevant minus under neutral edits. None without neutral pairs."""
    bound: float = RANDOM_BOUND
    """The largest share of pairs that a strategy can follow without using what was edited."""
    excluded: tuple[str, ...] = ()
    """Strategies that cannot explain the answers."""
    not_excluded: tuple[str, ...] = ()
    """Strategies that could explain them although they do not use all that is asked for."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A share with the intervals that decide whether it lies above or below a threshold."""

    two_sided: Estimate
    one_sided: Estimate
    """At level `LESS_LEVEL`."""

    @classmethod
    def of(cls, estimate: Callable[[float], Estimate | None]) -> _Claim | None:
        """Compute both intervals with a function of the level. None if there is no estimate."""
        both = estimate(0.95), estimate(LESS_LEVEL)
        return None if both[0] is None or both[1] is None else cls(both[0], both[1])

    def is_above(self, threshold: float) -> bool:
        return self.two_sided.low > threshold

    def is_below(self, threshold: float) -> bool:
        return self.one_sided.high < threshold


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The numbers that decide."""

    shares: PairShares
    followed: Estimate
    """At level `PROOF_LEVEL`."""
    unmoved: _Claim
    changes: _Claim
    """Share of readable relevant pairs with another answer."""
    dependence: _Claim | None
    bound: float
    why_unable: str
    """Why the changes of the answers are not a sign of seeing. Empty if they may be."""

    @property
    def is_stable(self) -> bool:
        return self.dependence is None or self.dependence.is_above(0)

    @property
    def is_proven(self) -> bool:
        return self.followed.low > self.bound and self.is_stable

    @property
    def told(self) -> str:
        return f"{_words(self.followed)} of the pairs are followed (99 % interval)"

    @property
    def _rest(self) -> str:
        """The pairs that do not move and those that are lost, as shares of the same pairs as those that are followed."""
        unmoved, lost = self.shares.unmoved, self.shares.lost
        told = f"{_words(unmoved or self.unmoved.two_sided)} do not move"
        return f"{told}, {_words(lost)} are lost" if lost is not None and lost.value > 0 else told

    def decide(self) -> tuple[Standing, str]:  # noqa: PLR0911 - one return for each line of the table
        if self.is_proven and self.unmoved.is_below(MOST_UNMOVED):
            return "looks", f"{self.told}, more than a model that ignores the edit can"
        at_times = f"{self.told}, and {self._rest}"
        if self.is_proven and self.unmoved.is_above(MOST_UNMOVED):
            return "looks at times", at_times
        if self.changes.is_below(FEW_CHANGES):
            few = f"{_words(self.changes.one_sided)} of the answers change when they should"
            return "does not look", f"{few} ({100 * LESS_LEVEL:g} % interval), less than 10 %"
        changed = f"{_words(self.changes.two_sided)} of the answers change when they should"
        if self.changes.is_above(FEW_CHANGES) and self.why_unable and not self.is_proven:
            return "cannot do the task", f"{changed}, but {self.why_unable}"
        if self.dependence is not None and self.dependence.is_below(NO_DEPENDENCE):
            return "does not look", f"{changed}, no more than when they should not"
        depends = self.dependence is not None and self.dependence.is_above(0)
        if depends and self.unmoved.is_above(MOST_UNMOVED):
            return "looks at times", at_times
        if self.is_proven:
            return "not settled", f"it looks, but whether always or at times is open: {at_times}"
        return "not settled", at_times


def judge_looking(pairs: Iterable[AnsweredPair], *, chance: float | None = None) -> Looking:
    """Judge from pairs whether a model looks at what the edits change.

    Args:
        pairs: Relevant and neutral pairs of one model.
        chance: The accuracy of a random choice. None if it is not known: then no model is said to be unable to do the task.

    >>> from theodolite.answers import Answer
    >>> from theodolite.pairs.outcomes import MIRROR
    >>> left = Answer("value", "left")
    >>> blind = [AnsweredPair(str(i), MIRROR, str(i), left, left, "left", "right") for i in range(48)]
    >>> judge_looking(blind).because
    '0.0 % [0.0, 5.3] of the answers change when they should (90 % interval), less than 10 %'
    """
    found = list(pairs)
    relevant = [pair for pair in found if pair.edit.is_relevant]
    read = [pair for pair in relevant if pair.outcome != "lost"]
    shares = pair_shares(pair for pair in found if pair.edit != AGAIN)
    strict = pair_shares(relevant, level=PROOF_LEVEL).followed
    changes = _Claim.of(lambda level: _share(read, _is_changed, level))
    unmoved = _Claim.of(lambda level: pair_shares(read, level=level).unmoved)
    if strict is None or shares.lost is None:
        return _looking(shares, "not settled", "there is no relevant pair")
    if shares.lost.low > MOST_LOST or changes is None or unmoved is None:
        return _looking(
            shares, "cannot be read", f"{_words(shares.lost)} of the pairs are lost", proof=strict
        )
    dependence = _Claim.of(lambda level: _dependence(found, level))
    of_repeats = _bound_of_repeats(found)
    evidence = _Evidence(
        shares,
        strict,
        unmoved,
        changes,
        dependence,
        _bound(relevant, of_repeats),
        why_unable=_why_unable(read, chance),
    )
    standing, because = evidence.decide()
    excluded = _excluded(relevant, of_repeats) if evidence.is_stable else ()
    known = (name for pair in relevant for name in (*pair.edit.excludes, *pair.edit.leaves))
    return _looking(
        shares,
        standing,
        because,
        proof=strict,
        dependence=None if dependence is None else dependence.two_sided,
        bound=evidence.bound,
        excluded=excluded,
        not_excluded=tuple(name for name in dict.fromkeys(known) if name not in excluded),
    )


def _looking(shares: PairShares, standing: Standing, because: str, **more: Any) -> Looking:
    return Looking(**fields_of(shares), standing=standing, because=because, **more)


def pairs_to_settle(pairs: Sequence[AnsweredPair], *, chance: float | None = None) -> float | None:
    """Return how many times as many pairs would settle the verdict in four of five studies. 1 if it is settled.

    The shares are assumed to be those observed. None if no feasible number would settle it: a share lies on a threshold.
    """
    if judge_looking(pairs, chance=chance).standing != "not settled":
        return 1.0
    for factor in _FACTORS:
        copies = [
            replace(pair, item=f"{pair.item}#{copy}", cluster=f"{pair.cluster}#{copy}")
            for copy in range(factor)
            for pair in pairs
        ]
        if judge_looking(copies, chance=chance).standing != "not settled":
            return _POWER_FACTOR * factor
    return None


def _why_unable(read: Sequence[AnsweredPair], chance: float | None) -> str:
    """Say why changed answers are no sign of seeing: they seldom change from right to right, or are right by chance."""
    changed = [pair for pair in read if pair.outcome != "unmoved"]
    to_right = _share(changed, lambda pair: pair.outcome == "followed", LESS_LEVEL)
    right = _share(read, lambda pair: pair.is_right, LESS_LEVEL)
    if to_right is None or right is None:
        return ""
    if to_right.high < FEW_RIGHT_CHANGES:
        return "mostly not from right to right"
    is_chance = chance is not None and right.high < chance + NEAR_CHANCE
    return (
        "they are right no more often than by chance" if is_chance and to_right.high < RANDOM_CHANGES else ""
    )


def _excluded(relevant: Sequence[AnsweredPair], of_repeats: float) -> tuple[str, ...]:
    """Return the strategies whose pairs are followed more often than the bound allows."""
    found = []
    for name in dict.fromkeys(name for pair in relevant for name in pair.edit.excludes):
        own = [pair for pair in relevant if name in pair.edit.excludes]
        followed = pair_shares(own, level=PROOF_LEVEL).followed
        if followed is not None and followed.low > _bound(own, of_repeats):
            found.append(name)
    return tuple(found)


def _bound(relevant: Sequence[AnsweredPair], of_repeats: float) -> float:
    """Return the largest share of the pairs that a strategy can follow without using what was edited."""
    return min(of_repeats, random_bound(relevant))


def _bound_of_repeats(pairs: Sequence[AnsweredPair]) -> float:
    """Half the upper end of the share of answers that change when the same request is made again; ½ if none was."""
    again = [pair for pair in pairs if pair.edit == AGAIN and pair.outcome != "lost"]
    changed = _share(again, lambda pair: pair.outcome != "kept")
    return 0.5 if changed is None else changed.high / 2


def _dependence(pairs: Sequence[AnsweredPair], level: float) -> Estimate | None:
    """Return the share of changed answers under relevant minus that under neutral edits. None without neutral pairs.

    It is paired if at least half of the items with a relevant pair also have a neutral one.
    """
    from theodolite.stats import clustered_difference, estimate_difference

    read = [pair for pair in pairs if pair.outcome != "lost"]
    relevant = [pair for pair in read if pair.edit.is_relevant]
    neutral = [
        pair for pair in read if not (pair.edit.is_relevant or pair.edit.misleads or pair.edit == AGAIN)
    ]
    first = _share(relevant, _is_changed, level)
    second = _share(neutral, _is_changed, level)
    if first is None or second is None:
        return None
    sides = [_by_item(relevant), _by_item(neutral)]
    both = [item for item in sides[0] if item in sides[1]]
    if 2 * len(both) < len(sides[0]):
        return estimate_difference(first, second)
    here, there = ([sum(side[item]) / len(side[item]) for item in both] for side in sides)
    clusters = {pair.item: pair.cluster for pair in relevant}
    return clustered_difference(here, there, [clusters[item] for item in both], level=level)


def _by_item(pairs: Sequence[AnsweredPair]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {}
    for pair in pairs:
        found.setdefault(pair.item, []).append(_is_changed(pair))
    return found


def _is_changed(pair: AnsweredPair) -> bool:
    return pair.outcome not in {"unmoved", "kept"}


def _share(
    pairs: Sequence[AnsweredPair], is_hit: Callable[[AnsweredPair], bool], level: float = 0.95
) -> Estimate | None:
    from theodolite.stats import clustered_mean

    clusters = [pair.cluster for pair in pairs] if pairs else None
    return clustered_mean([float(is_hit(pair)) for pair in pairs], clusters, level=level)


def _words(share: Estimate) -> str:
    return f"{100 * share.value:.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"
