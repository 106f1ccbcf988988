"""Looking: the share of pairs that are followed minus the share that are inverted, with an exact test and an interval.

**Lemma 1 (invariance).** If what the model says does not depend on what tells two pictures apart, (A, A′) and (A′, A) have
the same distribution. A pair is followed if (A, A′) = (y, y′) and inverted if it is (y′, y), so P(followed) = P(inverted).
Nothing is assumed about independence within a pair, the number of options, or how answers are decoded.

**Lemma 2 (balance).** If the answers depend on a cue of the pictures, but which picture bears which truth is independent of
that cue, then P(followed) = P(inverted). Proof: given the answers (y, y′) to two pictures in any order, the picture that got y
bears the truth y with probability ½.

**A share of pairs.** Let a model look at a pair with probability λ, and otherwise follow any strategy of one of the lemmas.
Then followed − inverted = λ · (its value where the model looks) ≤ λ. So *looking* is at most the share of pairs whose answers
used what tells the pictures apart. If looking is drawn per answer instead (with probability μ, otherwise uniformly among k
options), looking is μ² + 2μ(1 − μ)/k. With two options looking is twice the balanced accuracy of the paired items, minus 1
(Youden's J).

**What the lemmas need of the design.** Which picture bears which truth must not be seen from how a picture was made: both
orders of the same two answers are weighed equally, so that recognising edited pictures does not pay (`Weights`). The report
names what a design does not have.

>>> from theodolite.answers import Answer
>>> from theodolite.pairs.outcomes import MIRROR
>>> left, right = Answer("value", "left"), Answer("value", "right")
>>> def pairs_of(model, n=40):
...     for i in range(n):
...         golds = ("left", "right") if i % 2 else ("right", "left")
...         yield AnsweredPair(str(i), MIRROR, str(i), *(model(i, gold) for gold in golds), *golds)
>>> looks = balance_of(list(pairs_of(lambda i, gold: Answer("value", gold))))
>>> print(f"{looks.looking:.2f}", looks.p_value < 1e-10)
1.00 [0.82, 1.00] (n=40) True
>>> turns = iter(range(80))
>>> alternates = balance_of(list(pairs_of(lambda i, gold: (left, right)[next(turns) % 2])))
>>> print(f"{alternates.looking:.2f}", alternates.p_value)
0.00 [-0.34, 0.34] (n=40) 1.0
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.answers import Answer
from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.pairs.outcomes import LEVEL, AnsweredPair, answer_key

__all__ = [
    "PROVEN",
    "Balance",
    "Design",
    "NaturalQuestions",
    "PairedPictures",
    "balance_of",
    "balanced_interval",
    "design_of",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

PROVEN = 1 - LEVEL
"""The p-value at which looking is proven."""
_DRAWS = 9_999
"""Random permutations of a test, if not all signs are counted."""
_DRAWS_OF_TABLES = 1_999
"""The same for the test of symmetry."""
_AT_ONCE = 2_000_000
"""Numbers in memory at once."""
_RARER_ORDER = 0.2
"""Both orders of two answers are weighed equally if at least this share of their pairs has the rarer one. Below it a handful
of pairs would decide, and the answers count as having one order."""
_MOST_ANSWERS = 12
"""Different answers to one natural question that the test of symmetry tells apart; the rarer ones count as one."""
_MANY_COMPONENTS = 20
"""From this number of unconnected groups of pictures on, these are the units of the interval; below it, single pictures are."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Followed minus inverted of some pairs."""

    looking: Estimate
    """With its interval; `n` counts clusters."""
    p_value: float
    """Two-sided, of the hypothesis that as many pairs are inverted as are followed."""
    method: str
    """How the p-value was computed."""
    clusters: float
    """The effective number of clusters."""
    variance: float
    """Of `looking`, from the clusters alone."""

    @property
    def is_proven(self) -> bool:
        """True if the test refutes that looking is zero."""
        return self.p_value <= PROVEN


def balance_of(pairs: Sequence[AnsweredPair], *, seed: int = 0) -> Balance:
    """Compute looking from relevant pairs: edits, or natural pairs of the same questions. At least one is needed."""
    return design_of(pairs).balance(seed)


def design_of(pairs: Sequence[AnsweredPair]) -> Design:
    """Return the design of relevant pairs: edits, or natural pairs. At least one is needed.

    Raises:
        UsageError: If there are both. What they exclude differs, so they are not pooled.
    """
    if len({bool(pair.group) for pair in pairs}) != 1:
        raise UsageError("pairs of edits and pairs of pictures as they are must be judged separately")
    return NaturalQuestions(pairs) if pairs[0].group else PairedPictures(pairs)


class Design(ABC):
    """How pairs are related to each other, and what can be computed from them."""

    @property
    def share_in_both_orders(self) -> float:
        """The share of pairs whose answers occur in both orders."""
        return 1.0

    @property
    def share_with_exchanged_roles(self) -> float:
        """The share of pairs for which another question about the same two pictures has the answers the other way round."""
        return 1.0

    @property
    @abstractmethod
    def value(self) -> float:
        """Looking: the weighted share of followed pairs minus that of inverted ones."""

    @abstractmethod
    def balance(self, seed: int) -> Balance:
        """Compute looking with its interval and the exact test."""

    @abstractmethod
    def interval(self, lost: int = 0) -> Estimate:
        """Return looking with its interval, as if all lost pairs were followed (1) or inverted (−1)."""

    @abstractmethod
    def accuracy(self) -> Estimate:
        """Return the share of right answers among the two answers of each pair."""

    @abstractmethod
    def symmetry(self, seed: int) -> float | None:
        """Test whether the answers (a, a′) are as frequent as (a′, a), for any two answers, right or wrong."""

    def direction(self, seed: int) -> Balance | None:  # noqa: ARG002 - of numbers alone
        """Compute how often numbers move as the right ones do, minus how often the other way. None without numbers."""
        return None

    def on_edits(self) -> Estimate | None:
        """Return looking as estimated from edited pictures alone. None if that cannot be told."""
        return None


# The interval: one pseudo-cluster at +1 and one at −1, then Student's t.
#
# For C clusters of equal size with means Y_c, N = C + 2, m = ΣY_c / N, s² = (ΣY_c² + 2 − N m²) / (N − 1), the interval is
# m ± t_{N−1} s/√N, cut to [−1, 1]. In terms of the mean L = ΣY_c / C and its variance V = Σ(Y_c − L)² / (C (C − 1)):
#
#     s² (N − 1) = C (C − 1) V + C (L − m)² + (1 − m)² + (1 + m)²,    m = C L / (C + 2)
#
# so that the same formula serves clusters of unequal size, with C by Kish, and the jackknife of natural pairs. Unlike plain t it
# keeps its coverage if no cluster varies: at least 94.3 % at 95 % and 98.4 % at 99 % with 12 to 400 clusters, and shares of
# looking from 0 to 1 (``tests/pairs/test_balance.py``).


def balanced_interval(looking: float, variance: float, clusters: float, level: float = LEVEL) -> Estimate:
    """Return a difference of two shares with its interval.

    Args:
        looking: The difference.
        variance: Its variance over clusters; 0 if they do not vary.
        clusters: The (effective) number of clusters.
        level: Confidence level.

    >>> [balanced_interval(1.0, 0.0, n).low > 0.75 for n in (28, 29)]
    [False, True]
    """
    from scipy.stats import t as student_t

    n = clusters + 2
    middle = clusters * looking / n
    squares = (
        clusters * max(clusters - 1, 0.0) * variance + clusters * (looking - middle) ** 2 + 2 + 2 * middle**2
    )
    reach = float(student_t.ppf((1 + level) / 2, n - 1)) * math.sqrt(squares / ((n - 1) * n))
    low, high = max(-1.0, middle - reach), min(1.0, middle + reach)
    words = f"t with two pseudo-clusters, {clusters:.1f} effective clusters"
    return Estimate(looking, min(low, looking), max(high, looking), max(1, round(clusters)), level, words)


def _agreeing(looking: Estimate, p_value: float) -> Estimate:
    """Return the interval moved to hold 0 if the test does not exclude it, and to end at 0 if it does."""
    low, high = looking.low, looking.high
    if p_value > PROVEN:
        low, high = min(low, 0.0), max(high, 0.0)
    elif low <= 0 <= high:
        end = 1e-9 * looking.value
        low, high = (end, high) if end > 0 else (low, end)
    return replace(looking, low=low, high=high, p_value=p_value)


def _two_sided(observed: float, null: Floats) -> float:
    slack = 1e-9 * max(1.0, abs(observed))
    return (1 + int((np.abs(null) >= abs(observed) - slack).sum())) / (null.size + 1)


# Pairs of edits.


Couple: TypeAlias = tuple[str, str]
"""The two right answers of a pair, sorted."""


def couple_of(pair: AnsweredPair) -> Couple:
    """Return the two right answers of a pair, in alphabetical order."""
    first, second = sorted((str(pair.gold), str(pair.edited_gold)))
    return first, second


def _is_turned(pair: AnsweredPair) -> bool:
    """Return True if the picture before the edit bears the second of the sorted answers."""
    return str(pair.gold) > str(pair.edited_gold)


@dataclass(frozen=True, slots=True)
class Weights:
    """How pairs are weighed: both orders of the same two right answers equally.

    A model that recognises edited pictures and gives the usual answer to originals alone follows more pairs than it inverts,
    if the usual answer is mostly that of the original. With the answers {a, b} it gains on pairs whose original bears a what it
    loses on those whose original bears b.
    """

    values: Floats
    """One for each pair; their sum is 1."""
    has_both: NDArray[np.bool_]
    """For each pair, whether its answers occur in both orders."""

    @classmethod
    def of(cls, pairs: Sequence[AnsweredPair]) -> Weights:
        """Weigh pairs.

        >>> from theodolite.pairs.outcomes import MIRROR
        >>> no = Answer("unreadable")
        >>> sides = [("left", "right")] * 3 + [("right", "left")]
        >>> weights = Weights.of([AnsweredPair(str(i), MIRROR, str(i), no, no, *golds) for i, golds in enumerate(sides)])
        >>> weights.values.round(3).tolist(), bool(weights.has_both.all())
        ([0.167, 0.167, 0.167, 0.5], True)
        """
        orders = Counter((couple_of(pair), _is_turned(pair)) for pair in pairs)
        values, both = [], []
        for pair in pairs:
            couple, turned = couple_of(pair), _is_turned(pair)
            own, other = orders[couple, turned], orders[couple, not turned]
            has_both = min(own, other) >= _RARER_ORDER * (own + other)
            values.append((own + other) / (2 * own) if has_both else 1.0)
            both.append(has_both)
        return cls(np.array(values) / len(pairs), np.array(both))


@dataclass(frozen=True, slots=True)
class _Block:
    """Pictures that were asked the same questions, so that their answers can be permuted together, and its pairs."""

    pictures: tuple[str, ...]
    questions: tuple[str, ...]
    pairs: tuple[int, ...]


class PairedPictures(Design):
    """Relevant pairs of edits.

    **The test** permutes *whole pictures*, with all their answers, within each group of pictures that are connected by pairs.
    Under Lemma 1 the answers of these pictures are exchangeable, so the test is exact. Signs of pairs are not: pairs that
    share an original depend on each other. A group whose pictures were not all asked the same questions is divided into blocks
    that were, the largest first; pairs between blocks do not take part in the test, but in the estimate. If no block has more
    than two pictures, a permutation changes the sign of the block, and the test is the sign test.
    """

    def __init__(self, pairs: Sequence[AnsweredPair]) -> None:
        self.pairs = list(pairs)
        self.weights = Weights.of(self.pairs)
        self.signs = np.array([pair.sign for pair in self.pairs], np.float64)

    def balance(self, seed: int) -> Balance:
        """Compute the interval and the test."""
        return self._balance(self.signs, lambda one, two: one * (one == -two), self._cells.sides, seed)

    @property
    def value(self) -> float:
        """Looking: the weighted share of followed pairs minus that of inverted ones."""
        return float(self.weights.values @ self.signs)

    def direction(self, seed: int) -> Balance | None:
        """Compute how often numbers move as the right ones do, minus how often the other way, with the same test."""
        steps = [pair.direction for pair in self.pairs]
        if None in steps:
            return None
        signs = np.array(steps, np.float64)
        values = np.array([math.nan if value is None else value for value in self._cells.numbers])
        golds = np.array([float(str(pair.edited_gold)) - float(str(pair.gold)) for pair in self.pairs])

        def moved(one: Floats, two: Floats) -> Floats:
            return np.asarray(np.nan_to_num(np.sign(two - one) * np.sign(golds)))

        return self._balance(signs, moved, np.repeat(values[None], len(self.pairs), axis=0), seed)

    def interval(self, lost: int = 0) -> Estimate:
        """Return looking with its interval, as if all lost pairs were followed (1) or inverted (−1)."""
        is_lost = np.array([pair.outcome == "lost" for pair in self.pairs])
        return self._interval(np.where(is_lost, float(lost), self.signs))[0]

    def accuracy(self) -> Estimate:
        """Return the share of right answers among the two answers of each pair."""
        from theodolite.stats import clustered_mean

        right = [(pair.is_right + pair.is_right_after) / 2 for pair in self.pairs]
        share = clustered_mean(right, [pair.cluster for pair in self.pairs], level=LEVEL)
        assert share is not None  # noqa: S101 - there is at least one pair
        return share

    def _interval(self, signs: Floats) -> tuple[Estimate, float, float]:
        """Return the weighted mean of signs with its interval, its variance, and the effective number of clusters."""
        variance, clusters = _over_clusters(signs, self.weights.values, [pair.cluster for pair in self.pairs])
        return balanced_interval(float(self.weights.values @ signs), variance, clusters), variance, clusters

    def _balance(
        self, signs: Floats, sign: Callable[[Floats, Floats], Floats], of_answer: Floats, seed: int
    ) -> Balance:
        estimate, variance, clusters = self._interval(signs)
        p_value, method = self._test(signs, sign, of_answer, seed)
        n = len({pair.cluster for pair in self.pairs})
        estimate = replace(_agreeing(estimate, p_value), n=n, n_items=len(self.pairs))
        return Balance(estimate, p_value, method, clusters, variance)

    def on_edits(self) -> Estimate | None:
        """Return looking from the answers about edited pictures alone: right, minus right for the picture before the edit.

        A model that remembers the originals and guesses on edits has 0 there. Only answers that occur in both orders count:
        otherwise a constant answer would gain. None if there are none.
        """
        both = self.weights.has_both
        if not both.any():
            return None
        values = np.array([-float(pair.side(pair.after)) for pair in self.pairs])[both]
        weights = self.weights.values[both] / self.weights.values[both].sum()
        clusters = [pair.cluster for pair, is_both in zip(self.pairs, both, strict=True) if is_both]
        variance, effective = _over_clusters(values, weights, clusters)
        return balanced_interval(float(weights @ values), variance, effective)

    @property
    def share_in_both_orders(self) -> float:
        """The share of pairs whose answers occur in both orders."""
        return float(self.weights.has_both.mean())

    @property
    def share_with_exchanged_roles(self) -> float:
        """The share of pairs for which another question about the same two pictures has the answers the other way round.

        A cue of the pictures alone, such as which half is brighter, gains on one question what it loses on the other.
        """
        turned: defaultdict[Hashable, set[bool]] = defaultdict(set)
        for pair in self.pairs:
            turned[_pictures(pair), couple_of(pair)].add(_is_turned(pair))
        both = [len(turned[_pictures(pair), couple_of(pair)]) == 2 for pair in self.pairs]
        return sum(both) / len(both)

    def symmetry(self, seed: int) -> float | None:
        """Test whether the answers (a, a′) are as frequent as (a′, a), for any two answers, right or wrong.

        Bowker's statistic Σ (n_ab − n_ba)² / (n_ab + n_ba) over the answers to the picture of the first and of the second right
        answer, with the weights and the permutations of looking. Only right answers that occur in both orders count. None if there
        are none, or none differ.
        """
        used = [i for block in self._blocks for i in block.pairs if self.weights.has_both[i]]
        moved = [i for i in used if self.pairs[i].outcome not in {"unmoved", "lost"}]
        if not moved:
            return None
        cells = self._cells
        codes = np.unique([cells.answers[cell] for cell in range(len(cells.answers))], return_inverse=True)[1]
        k = int(codes.max()) + 1
        couples = {couple: i for i, couple in enumerate(sorted({couple_of(self.pairs[i]) for i in used}))}
        group = np.array([couples[couple_of(self.pairs[i])] for i in used])
        turned = np.array([_is_turned(self.pairs[i]) for i in used])
        weights = self.weights.values[used]
        lost = np.array([not answer for answer in cells.answers])

        def statistic(first: Ints, second: Ints) -> Floats:
            counts = np.zeros((len(first), len(couples) * k * k))
            a, b = np.where(turned, second, first), np.where(turned, first, second)
            place = (group * k + codes[a]) * k + codes[b]
            heavy = weights * ~(lost[a] | lost[b])
            for row, (where, weight) in enumerate(zip(place, heavy, strict=True)):
                counts[row] = np.bincount(where, weight, counts.shape[1])
            return _bowker(counts.reshape(len(first), len(couples), k, k))

        observed = statistic(*(side[None, used] for side in cells.own))[0]
        null = [
            statistic(first[:, used], second[:, used])
            for first, second in self._permuted(_DRAWS_OF_TABLES, seed)
        ]
        return _upper_tail(float(observed), np.concatenate(null))

    def _test(
        self, signs: Floats, sign: Callable[[Floats, Floats], Floats], of_answer: Floats, seed: int
    ) -> tuple[float, str]:
        """Test that the mean of signs is zero.

        Args:
            signs: One for each pair.
            sign: Function that returns the sign of a pair from what its two answers are worth to it.
            of_answer: For each pair and each different answer, what it is worth.
            seed: Seed of random permutations.
        """
        from theodolite.stats import sign_flip_test

        blocks = self._blocks
        n_used = sum(len(block.pairs) for block in blocks)
        left = f"; {len(self.pairs) - n_used} pairs do not take part" if n_used < len(self.pairs) else ""
        if all(len(block.pictures) == 2 for block in blocks):
            sums = [float(self.weights.values[list(b.pairs)] @ signs[list(b.pairs)]) for b in blocks]
            test = sign_flip_test(sums, seed=seed)
            return test.p_value, f"{test.method}{left}"
        weights = self.weights.values
        used = np.zeros(len(self.pairs), bool)
        used[[i for block in blocks for i in block.pairs]] = True
        observed = float(weights[used] @ signs[used])
        null = []
        for first, second in self._permuted(_DRAWS, seed):
            one, two = (
                of_answer[np.arange(len(self.pairs)), self._cells.code[cell]] for cell in (first, second)
            )
            null.append(np.where(used, sign(one, two), 0) @ weights)
        p_value = _two_sided(observed, np.concatenate(null))
        return p_value, f"whole pictures permuted, {_DRAWS} random permutations{left}"

    def _permuted(self, draws: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
        """Yield the cells of the first and of the second answer of each pair under random permutations, some at a time.

        Pairs outside all blocks keep their own.
        """
        rng = np.random.default_rng(seed)
        cells = self._cells
        own = cells.own
        step = max(1, _AT_ONCE // max(1, len(self.pairs)))
        for start in range(0, draws, step):
            n = min(step, draws - start)
            sides = tuple(np.repeat(side[None], n, axis=0) for side in own)
            for group in self._tables:
                orders = rng.random((n, *group.table.shape[:2])).argsort(axis=2)
                for side, place in zip(sides, (group.first, group.second), strict=True):
                    moved = orders[:, group.block, place]
                    side[:, group.pairs] = group.table[group.block, moved, group.question]
            yield sides[0], sides[1]

    @cached_property
    def _cells(self) -> _Cells:
        return _Cells.of(self.pairs)

    @cached_property
    def _blocks(self) -> list[_Block]:
        return list(_blocks_of(self.pairs))

    @cached_property
    def _tables(self) -> list[_Permuted]:
        sizes: defaultdict[tuple[int, int], list[_Block]] = defaultdict(list)
        for block in self._blocks:
            sizes[len(block.pictures), len(block.questions)].append(block)
        return [_Permuted.of(blocks, self.pairs, self._cells) for blocks in sizes.values()]


def _pictures(pair: AnsweredPair) -> tuple[str, str]:
    if all(pair.pictures):
        return pair.pictures
    return pair.cluster, f"{pair.cluster} {pair.edit.name}"


def _question(pair: AnsweredPair) -> str:
    return pair.question or pair.item


@dataclass(frozen=True, slots=True)
class _Cells:
    """The answers by picture and question, each once."""

    places: Mapping[tuple[str, str], int]
    answers: list[str]
    """The key of each answer; empty if it is lost."""
    code: Ints
    """For each cell, the number of its answer among all different ones."""
    numbers: list[float | None]
    """The value of each different answer; None for one that is no number."""
    own: tuple[Ints, Ints]
    """For each pair, the cells of its two answers."""
    sides: Floats
    """For each pair and each different answer: 1 if right for the first picture alone, −1 for the second alone, else 0."""

    @classmethod
    def of(cls, pairs: Sequence[AnsweredPair]) -> _Cells:
        places: dict[tuple[str, str], int] = {}
        answers: list[Answer] = []
        own = np.zeros((2, len(pairs)), np.int64)
        for i, pair in enumerate(pairs):
            for side, picture, answer in zip((0, 1), _pictures(pair), (pair.before, pair.after), strict=True):
                key = picture, _question(pair)
                if key not in places:
                    places[key] = len(places)
                    answers.append(answer)
                own[side, i] = places[key]
        keys = [answer_key(answer) for answer in answers]
        known: dict[str, int] = {}
        code = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
        different = dict(zip(keys, answers, strict=True))
        sides = np.zeros((len(pairs), len(known)))
        judged: dict[Hashable, list[int]] = {}
        for i, pair in enumerate(pairs):
            golds = pair.gold, pair.edited_gold, pair.others
            if golds not in judged:
                judged[golds] = [pair.side(different[key]) if key else 0 for key in known]
            sides[i] = judged[golds]
        values = [different[key].value for key in known]
        numbers = [float(value) if isinstance(value, int | float) else None for value in values]
        return cls(places, keys, code, numbers, (own[0], own[1]), sides)


@dataclass(frozen=True, slots=True)
class _Permuted:
    """Blocks of the same size, and their pairs, as arrays."""

    table: Ints
    """The cells by block, picture and question."""
    pairs: Ints
    block: Ints
    first: Ints
    """For each pair, the place of its first picture in the block."""
    second: Ints
    question: Ints

    @classmethod
    def of(cls, blocks: Sequence[_Block], pairs: Sequence[AnsweredPair], cells: _Cells) -> _Permuted:
        table = [[[cells.places[x, q] for q in b.questions] for x in b.pictures] for b in blocks]
        rows = []
        for number, block in enumerate(blocks):
            place = {picture: i for i, picture in enumerate(block.pictures)}
            asked = {question: i for i, question in enumerate(block.questions)}
            for i in block.pairs:
                one, two = _pictures(pairs[i])
                rows.append((i, number, place[one], place[two], asked[_question(pairs[i])]))
        columns = np.array(rows, np.int64).T
        return cls(np.array(table, np.int64), *columns)


def _blocks_of(pairs: Sequence[AnsweredPair]) -> Iterator[_Block]:
    """Divide pairs into blocks of pictures that were asked the same questions. No picture is in two blocks."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        for picture in _pictures(pair):
            asked[picture].add(_question(pair))
    components = _components(_pictures(pair) for pair in pairs)
    by_component: defaultdict[str, list[int]] = defaultdict(list)
    for i, pair in enumerate(pairs):
        by_component[components[_pictures(pair)[0]]].append(i)
    for own in by_component.values():
        left = own
        while left:
            pictures = {picture for i in left for picture in _pictures(pairs[i])}
            block = max(
                _candidates(left, pictures, asked, pairs),
                key=lambda block: (len(block.pairs), block.pictures),
            )
            yield block
            left = [i for i in left if not set(_pictures(pairs[i])) & set(block.pictures)]


def _candidates(
    left: Sequence[int], pictures: set[str], asked: Mapping[str, set[str]], pairs: Sequence[AnsweredPair]
) -> Iterator[_Block]:
    """Yield blocks: for the questions of each pair, and for those that its two pictures share, all pictures asked these."""
    tried = set()
    for i in left:
        one, two = _pictures(pairs[i])
        for questions in (asked[one] & asked[two], {_question(pairs[i])}):
            key = frozenset(questions)
            if key not in tried:
                tried.add(key)
                some = {picture for picture in pictures if asked[picture] >= questions}
                inside = [
                    j
                    for j in left
                    if _question(pairs[j]) in questions and some.issuperset(_pictures(pairs[j]))
                ]
                used = {picture for j in inside for picture in _pictures(pairs[j])}
                yield _Block(tuple(sorted(used)), tuple(sorted(questions)), tuple(inside))


def _components(edges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for every node the name of its connected component."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, two in edges:
        parent[root(one)] = root(two)
    return {node: root(node) for node in parent}


def _over_clusters(values: Floats, weights: Floats, clusters: Sequence[str]) -> tuple[float, float]:
    """Return the variance of a weighted mean over clusters, and their effective number (Kish)."""
    codes = np.unique(clusters, return_inverse=True)[1]
    mean = float(weights @ values)
    share = np.bincount(codes, weights)
    off = np.bincount(codes, weights * (values - mean))
    n = share.size
    variance = float((off**2).sum()) * n / (n - 1) if n > 1 else 0.0
    return variance, float(1 / (share**2).sum())


def _bowker(counts: Floats) -> Floats:
    """Return Σ (n_ab − n_ba)² / (n_ab + n_ba) over couples and answers a < b; counts are (draws, couples, a, b)."""
    gap, total = counts - counts.swapaxes(-1, -2), counts + counts.swapaxes(-1, -2)
    return np.asarray((gap**2 / np.maximum(total, 1e-300)).sum(axis=(1, 2, 3)) / 2)


def _upper_tail(observed: float, null: Floats) -> float:
    return (1 + int((null >= observed - 1e-9 * max(1.0, observed)).sum())) / (null.size + 1)


# Natural pairs: the same question about two pictures as they are.


Kernel: TypeAlias = Callable[[Floats], Floats]
"""Function of the shares of answers by truth (draws × truths × answers): its mean over the pairs of every two truths."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question about several pictures, as counts of answers by truth."""

    pictures: tuple[str, ...]
    truth: Ints
    """For each picture, the number of its right answer."""
    answer: Ints
    """For each picture, the number of the answer; those below the number of truths are these truths, the last one is *lost*."""
    matched: Floats
    """Truths × truths: the number of pairs of two truths in a matching, on average."""
    n_answers: int

    @property
    def n_pairs(self) -> float:
        """The number of pairs of a matching."""
        return float(self.matched.sum() / 2)

    @property
    def table(self) -> Floats:
        """The number of pictures by truth and answer."""
        table = np.zeros((len(self.matched), self.n_answers))
        np.add.at(table, (self.truth, self.answer), 1.0)
        return table


class NaturalQuestions(Design):
    """Pairs of pictures as they are: the same question, another right answer.

    Every picture of a question is used once on average: the pairs are those of a random matching of pictures with different truths,
    and all numbers are means over all such matchings, in closed form. With the share p_t(a) of the pictures with truth t
    about which the model answers a, and m_tu pairs of truths t and u,

        followed = Σ m_tu p_t(t) p_u(u) / Σ m_tu,    inverted = Σ m_tu p_t(u) p_u(t) / Σ m_tu.

    The test permutes the answers to each question among its pictures; the interval is a jackknife over pictures, or over groups
    of pictures that share no question if there are many. What else differs between two pictures, such as the kind of scene, is
    not excluded: Lemma 2 is an assumption here.
    """

    def __init__(self, pairs: Sequence[AnsweredPair], *, only: str | None = None) -> None:
        self.questions = list(_questions_of(pairs, only))
        self.n_pairs = sum(question.n_pairs for question in self.questions)

    @property
    def value(self) -> float:
        """Looking: the share of followed pairs minus that of inverted ones, over all matchings."""
        sums = (_sum(_balance_kernel, question.table, question.matched) for question in self.questions)
        return sum(sums) / self.n_pairs

    def balance(self, seed: int) -> Balance:
        """Compute the interval and the test."""
        value, variance, units = self.jackknife(_balance_kernel)
        looking = balanced_interval(value, variance, units)
        p_value, method = self._test(value, seed)
        pictures = {picture for question in self.questions for picture in question.pictures}
        looking = replace(_agreeing(looking, p_value), n=len(pictures), n_items=round(self.n_pairs))
        return Balance(looking, p_value, method, units, variance)

    def interval(self, lost: int = 0) -> Estimate:
        """Return looking with its interval, as if all lost pairs were followed (1) or inverted (−1)."""
        return balanced_interval(
            *self.jackknife(lambda shares: _balance_kernel(shares) + lost * _lost(shares))
        )

    def accuracy(self) -> Estimate:
        """Return the share of right answers among the two answers of each pair."""
        return self.share(_right)

    def share(self, kernel: Kernel, level: float = LEVEL) -> Estimate:
        """Return the share of pairs with an outcome, with Wilson's interval for as many pairs as its variance is worth."""
        from theodolite.stats.clustered import wilson_bounds

        value, variance, units = self.jackknife(kernel)
        value = min(max(value, 0.0), 1.0)
        worth = min(value * (1 - value) / variance, units) if variance > 0 and 0 < value < 1 else units
        low, high = wilson_bounds(value * worth, worth, level)
        words = f"Wilson, effective sample size {worth:.1f}"
        return Estimate(value, low, high, max(1, round(units)), level, words, n_items=round(self.n_pairs))

    def jackknife(self, kernel: Kernel) -> tuple[float, float, float]:
        """Return the mean of a kernel over pairs, its variance, and the number of units.

        Args:
            kernel: Function that returns its sum over the pairs of truths t < u of a question, from the table of answers.
        """
        sums = [_sum(kernel, question.table, question.matched) for question in self.questions]
        total = sum(sums)
        edges = [(question.pictures[0], other) for question in self.questions for other in question.pictures]
        components = _components(edges)
        is_many = len(set(components.values())) >= _MANY_COMPONENTS
        lost: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for question, own in zip(self.questions, sums, strict=True):
            if is_many:
                unit = lost[components[question.pictures[0]]]
                unit[0] += own
                unit[1] += question.n_pairs
                continue
            without: dict[tuple[int, int], tuple[float, float]] = {}
            for picture, truth, answer in zip(
                question.pictures, question.truth, question.answer, strict=True
            ):
                if (truth, answer) not in without:
                    without[truth, answer] = _without(kernel, question, truth, answer)
                gone, pairs = without[truth, answer]
                lost[picture][0] += own - gone
                lost[picture][1] += question.n_pairs - pairs
        value = total / self.n_pairs
        left = [(total - s) / (self.n_pairs - m) for s, m in lost.values() if self.n_pairs - m > 1e-9]
        n = len(lost)
        variance = (n - 1) / n * float(np.sum((np.array(left) - value) ** 2)) if left else 0.0
        return value, variance, float(n) if is_many else max(1.0, n / 2)

    def shares(self) -> Mapping[str, Estimate]:
        """Return the share of each outcome."""
        return {name: self.share(kernel) for name, kernel in _KERNELS.items()}

    def symmetry(self, seed: int) -> float | None:
        """Test whether the answers (a, a′) are as frequent as (a′, a), for any two answers to the pictures of two truths."""
        rng = np.random.default_rng(seed)
        observed, null = 0.0, np.zeros(_DRAWS_OF_TABLES)
        for question in self.questions:
            few = _with_few_answers(question)
            if len(set(few.answer.tolist()) - {few.n_answers - 1}) < 2:
                continue
            observed += float(_asymmetry(few.table[None], few.matched)[0])
            null += _asymmetry(_drawn(few, _DRAWS_OF_TABLES, rng), few.matched)
        return _upper_tail(observed, null) if observed > 0 else None

    def _test(self, observed: float, seed: int) -> tuple[float, str]:
        from theodolite.stats import sign_flip_test

        if all(len(question.pictures) == 2 for question in self.questions):
            sums = [_sum(_balance_kernel, q.table, q.matched) for q in self.questions]
            test = sign_flip_test(sums, seed=seed)
            return test.p_value, test.method
        rng = np.random.default_rng(seed)
        draws = _DRAWS if len(self.questions) <= 1000 else _DRAWS_OF_TABLES
        null = np.zeros(draws)
        for question in self.questions:
            null += _sums(_balance_kernel, _drawn(question, draws, rng), question.matched)
        words = f"answers permuted within {len(self.questions)} questions, {draws} random permutations"
        return _two_sided(observed, null / self.n_pairs), words


def _questions_of(pairs: Sequence[AnsweredPair], only: str | None) -> Iterator[Question]:
    by_group: defaultdict[str, list[AnsweredPair]] = defaultdict(list)
    for pair in pairs:
        by_group[pair.group].append(pair)
    for group in by_group.values():
        rows: dict[str, tuple[str, Answer]] = {}
        allowed: set[Couple] = set()
        for pair in group:
            one, two = _pictures(pair)
            rows.setdefault(one, (str(pair.gold), pair.before))
            rows.setdefault(two, (str(pair.edited_gold), pair.after))
            if only is None or pair.relation == only:
                allowed.add(couple_of(pair))
        truths = sorted({truth for couple in allowed for truth in couple})
        rows = {picture: row for picture, row in rows.items() if row[0] in truths}
        if not rows:
            continue
        code = {truth: i for i, truth in enumerate(truths)}
        keys = [answer_key(answer) for _, answer in rows.values()]
        answers = {answer_key(Answer("value", truth)): i for truth, i in code.items()}
        for key in keys:
            if key:
                answers.setdefault(key, len(answers))
        truth = np.array([code[truth] for truth, _ in rows.values()])
        answer = np.array([answers[key] if key else len(answers) for key in keys])
        mask = np.zeros((len(truths), len(truths)), bool)
        for one, two in allowed:
            mask[code[one], code[two]] = mask[code[two], code[one]] = True
        matched = _matched(np.bincount(truth, minlength=len(truths)).astype(float), mask)
        yield Question(tuple(rows), truth, answer, matched, len(answers) + 1)


def _matched(counts: Floats, mask: NDArray[np.bool_]) -> Floats:
    """Return the mean number of pairs of every two truths if each picture is used once, or as often as it can be.

    By iterative proportional fitting: pairs of truths in the proportions that chance gives, within what the counts allow.

    >>> mask = ~np.eye(3, dtype=bool)
    >>> _matched(np.array([2.0, 2.0, 2.0]), mask).round(3).tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    >>> _matched(np.array([5.0, 2.0]), ~np.eye(2, dtype=bool)).round(9).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    partners = (mask * counts).sum(axis=1)
    wanted = np.minimum(counts, partners)
    pairs = mask * np.outer(counts, counts)
    for _ in range(200):
        rows = pairs.sum(axis=1)
        scale = np.sqrt(np.divide(wanted, rows, out=np.zeros_like(rows), where=rows > 0))
        if np.abs(scale - 1).max() < 1e-12:
            break
        pairs = pairs * np.outer(scale, scale)
    excess = np.divide(pairs.sum(axis=1), counts, out=np.zeros_like(counts), where=counts > 0).max()
    return np.asarray(pairs / max(1.0, float(excess)))


def _sum(kernel: Kernel, table: Floats, matched: Floats) -> float:
    return float(_sums(kernel, table[None], matched)[0])


def _sums(kernel: Kernel, tables: Floats, matched: Floats) -> Floats:
    """Return the sum of a kernel over the pairs of a question, for several tables of answers."""
    sizes = tables.sum(axis=2, keepdims=True)
    shares = np.divide(tables, sizes, out=np.zeros_like(tables), where=sizes > 0)
    return np.asarray((kernel(shares) * np.triu(matched)).sum(axis=(1, 2)))


def _without(kernel: Kernel, question: Question, truth: int, answer: int) -> tuple[float, float]:
    """Return the sum and the number of pairs without one picture."""
    table = question.table
    table[truth, answer] -= 1
    matched = _matched(table.sum(axis=1), question.matched > 0)
    return _sum(kernel, table, matched), float(matched.sum() / 2)


def _balance_kernel(shares: Floats) -> Floats:
    return _followed(shares) - _inverted(shares)


def _right(shares: Floats) -> Floats:
    own = np.diagonal(shares, axis1=1, axis2=2)
    return np.asarray((own[:, :, None] + own[:, None, :]) / 2)


def _followed(shares: Floats) -> Floats:
    own = np.diagonal(shares, axis1=1, axis2=2)
    return np.asarray(own[:, :, None] * own[:, None, :])


def _inverted(shares: Floats) -> Floats:
    among = shares[:, :, : shares.shape[1]]
    return np.asarray(among * among.swapaxes(1, 2))


def _unmoved(shares: Floats) -> Floats:
    read = shares[:, :, :-1]
    return np.asarray(read @ read.swapaxes(1, 2))


def _lost(shares: Floats) -> Floats:
    read = 1 - shares[:, :, -1]
    return np.asarray(1 - read[:, :, None] * read[:, None, :])


def _moved(shares: Floats) -> Floats:
    return np.asarray(1 - _followed(shares) - _inverted(shares) - _unmoved(shares) - _lost(shares))


_KERNELS: Mapping[str, Kernel] = {
    "followed": _followed,
    "inverted": _inverted,
    "moved": _moved,
    "unmoved": _unmoved,
    "lost": _lost,
}


def _drawn(question: Question, draws: int, rng: np.random.Generator) -> Floats:
    """Return tables of truth × answer with the answers permuted among the pictures: draws × truths × answers."""
    left = np.bincount(question.answer, minlength=question.n_answers)
    left = np.repeat(left[None], draws, axis=0)
    sizes = np.bincount(question.truth, minlength=len(question.matched))
    tables = np.zeros((draws, len(sizes), question.n_answers))
    for truth, size in enumerate(sizes[:-1]):
        taken = _hypergeometric(left, int(size), rng)
        tables[:, truth] = taken
        left = left - taken
    tables[:, -1] = left
    return tables


def _hypergeometric(counts: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Draw `size` of the counted things without replacement, row by row."""
    taken = np.zeros_like(counts)
    wanted = np.full(len(counts), size)
    rest = counts.sum(axis=1)
    for column in range(counts.shape[1]):
        own = counts[:, column]
        rest = rest - own
        taken[:, column] = rng.hypergeometric(own, rest, wanted)
        wanted = wanted - taken[:, column]
    return taken


def _with_few_answers(question: Question) -> Question:
    """Return the question with its rarer answers counted as one, for a table of bounded size."""
    if question.n_answers <= _MOST_ANSWERS:
        return question
    lost = question.n_answers - 1
    keep = max(_MOST_ANSWERS, len(question.matched) + 2)
    counts = np.bincount(question.answer, minlength=question.n_answers)
    order = sorted(range(len(question.matched), lost), key=lambda answer: (-counts[answer], answer))
    kept = [*range(len(question.matched)), *order][: keep - 2]
    code = np.full(question.n_answers, keep - 2)
    code[kept] = np.arange(len(kept))
    code[lost] = keep - 1
    return replace(question, answer=code[question.answer], n_answers=keep)


def _asymmetry(tables: Floats, matched: Floats) -> Floats:
    sizes = tables.sum(axis=2, keepdims=True)
    shares = np.divide(tables, sizes, out=np.zeros_like(tables), where=sizes > 0)[:, :, :-1]
    total = np.zeros(len(tables))
    for t, u in combinations(range(len(matched)), 2):
        if matched[t, u] > 0:
            counts = matched[t, u] * shares[:, t, :, None] * shares[:, u, None, :]
            total += _bowker(counts[:, None])
    return total
