"""The verdict on looking, from pairs alone. No model of known reasoning is needed, and no access to the weights.

*Looking* L is the share of relevant pairs that are followed minus the share that are inverted (`theodolite.pairs.balance`), and
*dependence* D the share of answers that change under relevant edits minus the share that change under neutral edits. L is
*proven* if the exact test refutes that it is zero, at 1 %. All intervals have level 99 %; a comparison holds only if the whole
interval satisfies it.

The first line that applies is the verdict:

============================================= ==========================================================================
refuses                                       in over half of the pairs an answer is refused
cannot be read                                over half of the pairs are lost
differs by relation                           proven for one relation and, the other way round, for another (Holm)
looks                                         proven, L above ¾, and right more often than wrong on the edits alone
looks, under a tenth                          proven, L above 0 and below .1
sometimes looks                               proven, L above 0 and below ¾
looks at least sometimes                      proven, L above 0
answers the other way round                   proven, L below 0; for mirrors only if roles were exchanged
tells them apart, names them wrongly          the symmetry of answers is refuted, or numbers move in the right direction
changes with the picture, not with the truth  D above 0
does not look                                 L within ±.1 even if all lost pairs counted against it, and D below .1
no looking found                              the same without neutral edits
not settled                                   anything else
============================================= ==========================================================================

¾ and .1 are conventions. What is claimed is: in at least the lower end of L of the pairs, the answers used what differs
between the pictures. Not that the model reasons, or looks at the right thing. What a design does not exclude is named in
`not_excluded`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from theodolite.core.tables import listed
from theodolite.core.types import fields_of
from theodolite.pairs.balance import PROVEN, Balance, Design, design_of, pair_shares
from theodolite.pairs.outcomes import (
    AGAIN,
    FLIP,
    LEVEL,
    MIRROR,
    AnsweredPair,
    PairShares,
)

if TYPE_CHECKING:
    from theodolite.core.tables import Estimate

__all__ = ["Looking", "Standing", "balances_by", "by_design", "judge_looking"]

Standing: TypeAlias = Literal[
    "refuses",
    "cannot be read",
    "differs by relation",
    "looks",
    "looks, under a tenth",
    "sometimes looks",
    "looks at least sometimes",
    "answers the other way round",
    "tells them apart, names them wrongly",
    "changes with the picture, not with the truth",
    "does not look",
    "no looking found",
    "not settled",
    "not measured",
]
"""The verdict on a model. *not measured*: there is no pair to judge by."""

MOST = 0.75
"""A model whose looking is surely above this share *looks*."""
LITTLE = 0.1
"""A share surely below this is called small."""
_HALF = 0.5
_LEAST_DIFFERENT = 8
"""With fewer clusters that are not balanced, no outcome is significant at 1 %: 2 / 2⁸ < .01 < 2 / 2⁷."""
_MOST_TIMES = 200
"""A study this many times as large is not proposed."""
_POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking(PairShares):
    """A verdict and the numbers it rests on. All intervals have level 99 %."""

    standing: Standing
    because: str
    looking: Estimate | None = None
    """Followed minus inverted; `n` counts clusters. None if there is no relevant pair."""
    p_value: float | None = None
    """Of the exact test that as many pairs are inverted as are followed."""
    test: str = ""
    """How it was computed."""
    accuracy: Estimate | None = None
    """Share of right answers among both answers of each relevant pair."""
    on_edits: Estimate | None = None
    """Looking as estimated from the edited pictures alone. None for natural pairs, and if answers come in one order only."""
    symmetry: float | None = None
    """p-value of the test that (a, a′) is as frequent as (a′, a), for any two answers."""
    direction: Estimate | None = None
    """For numbers: the share that move in the direction of the right answer minus the share that move in the other."""
    dependence: Estimate | None = None
    """Change of the answers under relevant minus under neutral edits. None without neutral pairs."""
    refused: Estimate | None = None
    """Share of the relevant pairs with a refused answer."""
    excluded: tuple[str, ...] = ()
    """Strategies that cannot explain the answers."""
    not_excluded: tuple[str, ...] = ()
    """What could explain them although it is not all that is asked for: strategies that the edits leave, and gaps of the design."""
    pictures_to_settle: int | None = None
    """If it is not settled: the number of clusters with which it would be, in four of five studies. None if none is feasible."""
    is_natural: bool = False
    """True if the pairs are of pictures as they are."""

    @property
    def is_proven(self) -> bool:
        """True if looking is proven, in whatever share of the pairs."""
        return self.looking is not None and self.looking.value > 0 and self.looking.low > 0


class _Evidence:
    """The numbers that decide, each computed when it is asked for."""

    def __init__(self, pairs: Sequence[AnsweredPair], seed: int) -> None:
        self.pairs = [pair for pair in pairs if pair.edit != AGAIN]
        self.relevant = [pair for pair in self.pairs if pair.edit.is_relevant]
        self.seed = seed
        self.shares = pair_shares(self.pairs)

    @cached_property
    def design(self) -> Design:
        return design_of(self.relevant)

    @cached_property
    def balance(self) -> Balance:
        return self.design.balance(self.seed)

    @property
    def looking(self) -> Estimate:
        return self.balance.looking

    @cached_property
    def refused(self) -> Estimate | None:
        return _share(self.relevant, _is_refused)

    @cached_property
    def on_edits(self) -> Estimate | None:
        return self.design.on_edits()

    @cached_property
    def symmetry(self) -> float | None:
        return self.design.symmetry(self.seed)

    @cached_property
    def direction(self) -> Estimate | None:
        moved = self.design.direction(self.seed)
        return None if moved is None else moved.looking

    @cached_property
    def dependence(self) -> Estimate | None:
        return _dependence(self.pairs)

    @cached_property
    def relations(self) -> Mapping[str, Balance]:
        return balances_by(self.relevant, lambda pair: pair.relation, self.seed)

    @property
    def is_proven(self) -> bool:
        return self.balance.is_proven and self.looking.value > 0

    @cached_property
    def is_above_chance_on_edits(self) -> bool:
        """True if recognising originals cannot explain the answers.

        On the edits alone they are right more often than wrong. Where answers come in one order only, such as *yes* before
        and *no* after a removal, neutral edits must change fewer answers. Pictures as they are have no edits.
        """
        if self.relevant[0].group:
            return True
        if self.on_edits is not None:
            return self.on_edits.low > 0
        return self.dependence is not None and self.dependence.low > 0

    def both_ways(self) -> tuple[list[str], list[str]]:
        """Return the relations for which looking is proven above and below zero, by Holm."""
        from theodolite.stats import holm

        if len(self.relations) < 2:
            return [], []
        corrected = holm([balance.p_value for balance in self.relations.values()])
        proven = [
            (name, balance.looking.value)
            for (name, balance), p in zip(self.relations.items(), corrected, strict=True)
            if p <= PROVEN
        ]
        own = {
            name: [pair for pair in self.relevant if pair.relation == name]
            for name, value in proven
            if value < 0
        }
        inverted = [name for name, pairs in own.items() if _may_be_inverted(pairs)]
        return [name for name, value in proven if value > 0], inverted

    @property
    def told(self) -> str:
        """Looking in words."""
        return f"looking {_words(self.looking)}, p {_p_words(self.balance.p_value)}"

    def decide(self) -> tuple[Standing, str]:  # noqa: C901, PLR0911, PLR0912 - one return for each line of the table
        """Return the first line of the table that applies, with its numbers."""
        looking, lost = self.looking, self.shares.lost
        if self.refused is not None and self.refused.low > _HALF:
            return "refuses", f"in {_words(self.refused)} of the pairs an answer is refused"
        if lost is not None and lost.low > _HALF:
            return "cannot be read", f"{_words(lost)} of the pairs are lost"
        followed, inverted = self.both_ways()
        if followed and inverted:
            both = f"it follows {listed(followed)} and answers the other way round for {listed(inverted)}"
            return "differs by relation", f"{both}, each proven"
        if self.is_proven:
            if looking.low > MOST and self.is_above_chance_on_edits:
                return "looks", self.told
            if looking.high < LITTLE:
                return "looks, under a tenth", self.told
            return ("sometimes looks" if looking.high < MOST else "looks at least sometimes"), self.told
        if self.balance.is_proven and _may_be_inverted(self.relevant):
            return "answers the other way round", self.told
        if self.symmetry is not None and self.symmetry <= PROVEN:
            words = f"answers are not symmetric (p {_p_words(self.symmetry)}), though as many pairs are inverted as followed"
            return "tells them apart, names them wrongly", f"{words}: {self.told}"
        if self.direction is not None and self.direction.low > 0:
            words = f"numbers move in the right direction more often than in the wrong one ({_words(self.direction)})"
            return "tells them apart, names them wrongly", f"{words}, but {self.told}"
        if self.dependence is not None and self.dependence.low > 0:
            changed = f"{_words(self.dependence)} more answers change than under neutral edits"
            return "changes with the picture, not with the truth", f"{changed}, but {self.told}"
        if self._is_absent:
            if self.dependence is not None and self.dependence.high < LITTLE:
                return "does not look", self.told
            if self.dependence is None:
                return "no looking found", self.told
        return "not settled", self.told

    @cached_property
    def _is_absent(self) -> bool:
        """True if looking lies within ±.1 even if all lost pairs were followed, or all were inverted."""
        if not self.looking.lies_within(-LITTLE, LITTLE):
            return False
        worst = [self.design.interval(lost=side) for side in (1, -1)] if self._has_lost else []
        return all(estimate.lies_within(-LITTLE, LITTLE) for estimate in worst)

    @property
    def _has_lost(self) -> bool:
        return self.shares.lost is not None and self.shares.lost.value > 0

    def excluded(self) -> tuple[str, ...]:
        """Return the strategies for which looking is proven on the pairs of the edits that exclude them."""
        names = dict.fromkeys(name for pair in self.relevant for name in pair.edit.excludes)
        judged: dict[frozenset[str], bool] = {}
        proven = []
        for name in names:
            own = [pair for pair in self.relevant if name in pair.edit.excludes]
            edits = frozenset(pair.edit.name for pair in own)
            if edits not in judged:
                balance = (
                    self.balance if len(own) == len(self.relevant) else design_of(own).balance(self.seed)
                )
                judged[edits] = balance.is_proven and balance.looking.value > 0
            if judged[edits]:
                proven.append(name)
        return tuple(proven)

    def pictures_to_settle(self) -> int | None:
        """Return the number of clusters with which one line of the table would probably apply."""
        balance = self.balance
        now = balance.clusters
        wanted = [_to_prove(balance.looking.value, balance.variance * now)]
        if self.dependence is not None:
            wanted.append(_to_prove(self.dependence.value, _spread(self.dependence)))
        if abs(balance.looking.value) < LITTLE and (
            self.dependence is None or self.dependence.value < LITTLE
        ):
            wanted.append(_to_bound(balance, self.dependence))
        least = min((n for n in wanted if n is not None), default=None)
        return (
            None if least is None or least > _MOST_TIMES * now else max(math.ceil(least), math.ceil(now) + 1)
        )


def judge_looking(pairs: Iterable[AnsweredPair], *, seed: int = 0) -> Looking:
    """Judge from pairs whether a model looks at what tells the pictures apart.

    Args:
        pairs: Relevant and neutral pairs of one model: of edits, or natural pairs, not both.
        seed: Seed of random permutations.

    >>> from theodolite.answers import Answer
    >>> left = Answer("value", "left")
    >>> blind = [AnsweredPair(str(i), MIRROR, str(i), left, left, "left", "right") for i in range(48)]
    >>> verdict = judge_looking(blind)
    >>> verdict.standing, verdict.because
    ('no looking found', 'looking 0.0 % [-7.7, 7.7], p 1')
    """
    evidence = _Evidence(list(pairs), seed)
    if not evidence.relevant:
        return _looking(evidence.shares, "not measured", "there is no relevant pair")
    standing, because = evidence.decide()
    balance = evidence.balance
    excluded = evidence.excluded() if evidence.is_proven else ()
    edits = {pair.edit.name: pair.edit for pair in evidence.relevant}.values()
    known = (name for edit in edits for name in (*edit.excludes, *edit.leaves))
    left = dict.fromkeys(name for name in (*known, *_gaps(evidence)) if name not in excluded)
    return _looking(
        evidence.shares,
        standing,
        because,
        looking=balance.looking,
        p_value=balance.p_value,
        test=balance.method,
        accuracy=evidence.design.accuracy(),
        on_edits=evidence.on_edits,
        symmetry=evidence.symmetry,
        direction=evidence.direction,
        dependence=evidence.dependence,
        refused=evidence.refused,
        excluded=excluded,
        not_excluded=tuple(left),
        pictures_to_settle=evidence.pictures_to_settle() if standing == "not settled" else None,
        is_natural=bool(evidence.relevant[0].group),
    )


def by_design(pairs: Iterable[AnsweredPair]) -> list[list[AnsweredPair]]:
    """Separate pairs of pictures as they are from edits, the former first, each with all neutral pairs.

    What the two exclude differs, so they are judged separately. A design without a relevant pair is left out.
    """
    known = list(pairs)
    neutral = [pair for pair in known if not pair.edit.is_relevant]
    designs = (
        [pair for pair in known if pair.edit.is_relevant and bool(pair.group) == is_natural]
        for is_natural in (True, False)
    )
    return [[*relevant, *neutral] for relevant in designs if relevant]


def balances_by(
    relevant: Sequence[AnsweredPair], key: Callable[[AnsweredPair], str], seed: int = 0
) -> dict[str, Balance]:
    """Compute looking for each group of relevant pairs, such as each relation; pairs without a name are left out."""
    groups: dict[str, list[AnsweredPair]] = {}
    for pair in relevant:
        if name := key(pair):
            groups.setdefault(name, []).append(pair)
    return {name: design_of(own).balance(seed) for name, own in sorted(groups.items())}


def _looking(shares: PairShares, standing: Standing, because: str, **more: Any) -> Looking:
    return Looking(**fields_of(shares), standing=standing, because=because, **more)


def _gaps(evidence: _Evidence) -> Iterable[str]:
    """Name what the design leaves open, whatever the edits exclude.

    =================================================== ================================================================
    recognising edited pictures                         some right answers occur in one order only
    a cue of the picture that goes with the right answer a question is asked without its reverse
    remembering the original pictures                   not surely right more often than wrong on the edits alone
    changes that any edit causes                        there are no neutral edits
    the order of asking                                 not recorded, or originals before their edits
    a cache of earlier answers                          one answer of a pair comes from a cache, the other does not
    =================================================== ================================================================
    """
    pairs = evidence.relevant
    if pairs[0].group:
        return
    design = evidence.design
    if design.share_in_both_orders < 1:
        yield "recognising edited pictures"
    if design.share_with_exchanged_roles < 1:
        yield "a cue of the picture that goes with the right answer"
    if not evidence.is_above_chance_on_edits:
        yield "remembering the original pictures"
    if evidence.dependence is None:
        yield "changes that any edit causes"
    asked = [pair.asked for pair in pairs if pair.asked is not None]
    if len(asked) < len(pairs) or _follows_order([first < second for first, second in asked]):
        yield "the order of asking"
    if any(pair.is_half_reused for pair in pairs):
        yield "a cache of earlier answers"


def _may_be_inverted(relevant: Sequence[AnsweredPair]) -> bool:
    """Return True if a cue of the picture alone cannot explain more inverted than followed pairs."""
    turned = [pair for pair in relevant if pair.edit in {MIRROR, FLIP}]
    return not turned or design_of(turned).share_with_exchanged_roles == 1


def _follows_order(is_before: Sequence[bool]) -> bool:
    """Return True if originals were surely asked before or after their edits more often than in random order."""
    from theodolite.stats import binomial_test

    return binomial_test(sum(is_before), len(is_before), probability=0.5).p_value <= PROVEN / 10


# The size that would settle a verdict.


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def _to_prove(value: float, spread: float) -> float | None:
    """Return the number of clusters with which a difference would probably be significant.

    Args:
        value: The difference, taken as the true one.
        spread: Its variance times the number of clusters.
    """
    if abs(value) < 1e-9:
        return None
    reach = _normal_quantile((1 + LEVEL) / 2) + _normal_quantile(_POWER)
    return max(float(_LEAST_DIFFERENT), spread * (reach / value) ** 2)


def _to_bound(balance: Balance, dependence: Estimate | None) -> float | None:
    """Return the number of clusters with which looking and dependence would probably be bounded by a tenth."""
    from theodolite.stats.clustered import signed_interval

    spread = balance.variance * balance.clusters
    n = float(_LEAST_DIFFERENT)
    while n < _MOST_TIMES * max(balance.clusters, 1.0):
        looking = signed_interval(balance.looking.value, spread / n, n, level=LEVEL)
        slack = _normal_quantile(_POWER) * math.sqrt(spread / n)
        is_bound = looking.low - slack > -LITTLE and looking.high + slack < LITTLE
        if is_bound and dependence is not None:
            reach = _normal_quantile((1 + LEVEL) / 2) + _normal_quantile(_POWER)
            is_bound = dependence.value + reach * math.sqrt(_spread(dependence) / n) < LITTLE
        if is_bound:
            return n
        n *= 1.05
    return None


def _spread(estimate: Estimate) -> float:
    """Return the variance of one cluster that an interval implies."""
    half = (estimate.high - estimate.low) / 2
    return estimate.n * (half / _normal_quantile((1 + estimate.level) / 2)) ** 2


# Shares.


def _is_refused(pair: AnsweredPair) -> bool:
    return "refused" in {pair.before.status, pair.after.status}


def _dependence(pairs: Sequence[AnsweredPair]) -> Estimate | None:
    """Return the share of changed answers under relevant minus that under neutral edits. None without neutral pairs.

    It is paired if at least half of the items with a relevant pair also have a neutral one.
    """
    from theodolite.stats import clustered_difference, estimate_difference

    read = [pair for pair in pairs if pair.outcome != "lost"]
    relevant = [pair for pair in read if pair.edit.is_relevant]
    neutral = [pair for pair in read if not (pair.edit.is_relevant or pair.edit.misleads)]
    first, second = _share(relevant, _is_changed), _share(neutral, _is_changed)
    if first is None or second is None:
        return None
    sides = [_by_item(relevant), _by_item(neutral)]
    both = [item for item in sides[0] if item in sides[1]]
    if 2 * len(both) < len(sides[0]):
        return estimate_difference(first, second)
    here, there = ([sum(side[item]) / len(side[item]) for item in both] for side in sides)
    clusters = {pair.item: pair.cluster for pair in relevant}
    return clustered_difference(here, there, [clusters[item] for item in both], level=LEVEL)


def _by_item(pairs: Sequence[AnsweredPair]) -> dict[str, list[bool]]:
    changed: dict[str, list[bool]] = {}
    for pair in pairs:
        changed.setdefault(pair.item, []).append(_is_changed(pair))
    return changed


def _is_changed(pair: AnsweredPair) -> bool:
    return pair.outcome not in {"unmoved", "kept"}


def _share(pairs: Sequence[AnsweredPair], is_hit: Callable[[AnsweredPair], bool]) -> Estimate | None:
    from theodolite.stats import clustered_mean

    clusters = [pair.cluster for pair in pairs] if pairs else None
    return clustered_mean([float(is_hit(pair)) for pair in pairs], clusters, level=LEVEL)


def _words(share: Estimate) -> str:
    """Put a share into words; an end that rounds to zero although zero is excluded is called *above 0*."""
    low, high = f"{100 * share.low:.1f}", f"{100 * share.high:.1f}"
    if share.low > 0 and low == "0.0":
        low = "above 0"
    if share.high < 0 and high == "-0.0":
        high = "below 0"
    return f"{100 * share.value:.1f} % [{low}, {high}]"


def _p_words(p_value: float) -> str:
    return f"{p_value:.2g}" if p_value >= 0.001 else "< .001"
