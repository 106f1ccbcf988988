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
0.00 [-0.42, 0.42] (n=40) 1.0
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.answers import Answer
from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.pairs.outcomes import LEVEL, AnsweredPair, PairShares, answer_key

__all__ = [
    "PROVEN",
    "Balance",
    "Design",
    "NaturalQuestions",
    "PairedPictures",
    "balance_of",
    "design_of",
    "pair_shares",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

PROVEN = 1 - LEVEL
"""The p-value at which looking is proven."""
DRAWS = 9_999
"""Random permutations of a test, if not all signs are counted."""
_DRAWS_OF_TABLES = 1_999
"""The same for the test of symmetry."""
_AT_ONCE = 2_000_000
"""Numbers in memory at once."""
_RARER_ORDER = 0.2
"""Both orders of two answers are weighed equally if at least this share of their pairs has the rarer one. Below it a handful
of pairs would decide, and the answers count as having one order."""
_MOST_ANSWERS = 12
"""Different answers to natural questions that the test of symmetry tells apart; the rarer ones count as one."""
_MOST_COUPLES = 36
"""Two right answers of natural pairs that the test of symmetry compares at most: those of nine right answers."""
_MANY_COMPONENTS = 38
"""From this number of unconnected groups of pictures on, these are the units of the interval: so many can show that there is
no looking."""
_SMALL_COMPONENT = 4
"""Groups with no more pictures on average, such as photographs of the same two objects, are the units too."""
_OUTCOMES = ("followed", "inverted", "moved", "unmoved", "lost")


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

    @classmethod
    def of(
        cls, moments: tuple[float, float, float], test: tuple[float, str], n: int, n_items: int
    ) -> Balance:
        """Make the interval of a mean, its variance and the effective number of clusters agree with a test."""
        from theodolite.stats.clustered import agreeing, signed_interval

        looking = replace(signed_interval(*moments, level=LEVEL), n=n, n_items=n_items)
        agreed = replace(agreeing(looking, test[0]), p_value=None)  # it stands in the balance
        return cls(agreed, *test, moments[2], moments[1])


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


def pair_shares(pairs: Iterable[AnsweredPair]) -> PairShares:
    """Compute the share of each outcome, weighed as looking is, so that it is the share followed minus the share inverted."""
    from theodolite.stats import clustered_mean  # takes a second to import

    known = list(pairs)
    relevant = [pair for pair in known if pair.edit.is_relevant]
    neutral = [pair for pair in known if not pair.edit.is_relevant]
    read = [pair for pair in neutral if pair.outcome != "lost"]
    kept = clustered_mean(
        [float(pair.outcome == "kept") for pair in read], [pair.cluster for pair in read] or None, level=LEVEL
    )
    design = design_of(relevant) if relevant else None
    shares = design.shares() if design else {}
    return PairShares(design.n if design else 0, len(neutral), kept=kept, **shares)


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
    def n(self) -> int:
        """The number of pairs. Pictures as they are count as often as they can be matched, each once."""

    @abstractmethod
    def outcomes(self) -> Mapping[str, float]:
        """Return the weighted share of each outcome; followed minus inverted is looking."""

    @abstractmethod
    def shares(self) -> Mapping[str, Estimate]:
        """Return the same with intervals."""

    @abstractmethod
    def balance(self, seed: int, *, draws: int = DRAWS) -> Balance:
        """Compute looking with its interval and the exact test, of so many random permutations if all are too many."""

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


def _two_sided(observed: float, null: Floats) -> float:
    slack = 1e-9 * max(1.0, abs(observed))
    return (1 + int((np.abs(null) >= abs(observed) - slack).sum())) / (null.size + 1)


def _upper_tail(observed: float, null: Floats) -> float:
    return (1 + int((null >= observed - 1e-9 * max(1.0, observed)).sum())) / (null.size + 1)


def _steps(draws: int, width: int) -> Iterator[int]:
    """Yield numbers of draws that fit into memory at once, and add up to all."""
    step = max(1, _AT_ONCE // width)
    for start in range(0, draws, step):
        yield min(step, draws - start)


# Pairs of edits.


Couple: TypeAlias = tuple[str, str]
"""The two right answers of a pair, sorted."""


def couple_of(pair: AnsweredPair) -> Couple:
    """Return the two right answers of a pair, in alphabetical order."""
    first, second = sorted((str(pair.gold), str(pair.edited_gold)))
    return first, second


def is_turned(pair: AnsweredPair) -> bool:
    """Return True if the picture before the edit bears the second of the sorted answers."""
    return str(pair.gold) > str(pair.edited_gold)


@dataclass(frozen=True, slots=True)
class Weights:
    """How pairs are weighed: under each edit, both orders of the same two right answers equally.

    A model that recognises edited pictures and gives the usual answer to originals alone follows more pairs than it inverts,
    if the usual answer is mostly that of the original. With the answers {a, b} it gains on pairs whose original bears a what it
    loses on those whose original bears b. Edits are not pooled, since one kind may be recognised and not the other: removals,
    which only make *no* of *yes*, are not balanced by other edits that make *yes* of *no*. What remains is an answer that
    is usual for a single question, unless that question is asked in both orders. Cyclic edits (a to b to c to a) have no
    pair in the other order.
    """

    values: Floats
    """One for each pair; their sum is 1."""
    has_both: NDArray[np.bool_]
    """For each pair, whether its answers occur in both orders."""

    @classmethod
    def of(cls, pairs: Sequence[AnsweredPair]) -> Weights:
        """Weigh pairs.

        >>> from theodolite.pairs.outcomes import MIRROR, MOVE_TARGET
        >>> def weights(*sides, edit=MIRROR):
        ...     no = Answer("unreadable")
        ...     return Weights.of([AnsweredPair(str(i), edit, str(i), no, no, *golds) for i, golds in enumerate(sides)])
        >>> both = weights("lr", "lr", "lr", "rl")
        >>> both.values.round(3).tolist(), bool(both.has_both.all())
        ([0.167, 0.167, 0.167, 0.5], True)
        >>> cyclic = weights("ab", "bc", "ca", edit=MOVE_TARGET)
        >>> cyclic.values.round(3).tolist(), bool(cyclic.has_both.any())
        ([0.333, 0.333, 0.333], False)
        """
        kinds = [(pair.edit.name, couple_of(pair)) for pair in pairs]
        turned = [is_turned(pair) for pair in pairs]
        orders = Counter(zip(kinds, turned, strict=True))
        values, both = [], []
        for kind, side in zip(kinds, turned, strict=True):
            own, other = orders[kind, side], orders[kind, not side]
            has_both = min(own, other) >= _RARER_ORDER * (own + other)
            values.append((own + other) / (2 * own) if has_both else 1.0)
            both.append(has_both)
        return cls(np.array(values) / len(pairs), np.array(both))


class PairedPictures(Design):
    """Relevant pairs of edits.

    **The test** gives the larger p of two null hypotheses.

    - Under Lemma 1 the answers to pictures are exchangeable: *whole pictures*, with all their answers, are permuted within each
      group of pictures that are connected by pairs. A group whose pictures were not all asked the same questions is divided into
      blocks that were, the largest first; pairs between blocks take part in the estimate alone.
    - Under Lemma 2 an original may be recognised, but which of the two answers it bears is random: *whole clusters* are turned,
      all followed pairs inverted and the reverse.

    Neither suffices where pairs share an original: turning clusters is not exact under Lemma 1, permuting pictures
    not under Lemma 2 (a model that recognises half of the originals with eight edits is proven in one study of six). If no block
    has more than two pictures, turning is one of the permutations, and exact under both: the sign test.

    One original with eight edits is one block of nine pictures: an original that is answered otherwise than all its edits can be
    any of nine, so p is not 2 / 2⁸, as it would be if the eight pairs were independent.

    >>> from theodolite.pairs.outcomes import MOVE_TARGET
    >>> left, right = Answer("value", "left"), Answer("value", "right")
    >>> star = [
    ...     AnsweredPair(str(i), MOVE_TARGET, "room", left, right, "left", "right", pictures=("x", f"x{i}"), question="q")
    ...     for i in range(8)
    ... ]
    >>> PairedPictures(star).balance(seed=0).p_value > 0.1
    True
    """

    def __init__(self, pairs: Sequence[AnsweredPair]) -> None:
        self.pairs = list(pairs)
        self.weights = Weights.of(self.pairs)
        self.signs = np.array([pair.sign for pair in self.pairs], np.float64)

    @property
    def n(self) -> int:
        """The number of pairs."""
        return len(self.pairs)

    def outcomes(self) -> Mapping[str, float]:
        """Return the weighted share of each outcome; followed minus inverted is looking."""
        return {
            name: round(float(self.weights.values @ is_it), 12)  # without the rounding of weights
            for name, is_it in self._outcomes.items()
        }

    def shares(self) -> Mapping[str, Estimate]:
        """Return the same with intervals."""
        return {name: self._share(is_it) for name, is_it in self._outcomes.items()}

    @cached_property
    def _outcomes(self) -> Mapping[str, Floats]:
        own = np.array([pair.outcome for pair in self.pairs])
        return {name: (own == name).astype(np.float64) for name in _OUTCOMES}

    def accuracy(self) -> Estimate:
        """Return the share of right answers among the two answers of each pair."""
        return self._share(np.array([(pair.is_right + pair.is_right_after) / 2 for pair in self.pairs]))

    def _share(self, values: Floats) -> Estimate:
        from theodolite.stats import clustered_mean

        share = clustered_mean(values, self._clusters, weights=self.weights.values, level=LEVEL)
        assert share is not None  # noqa: S101 - there is at least one pair
        return share

    def balance(self, seed: int, *, draws: int = DRAWS) -> Balance:
        """Compute the interval and the test."""

        def sign(one: Floats, two: Floats) -> Floats:
            return np.asarray(np.trunc((one - two) / 2))

        return self.tested_mean(self.signs, AnsweredPair.side, sign, seed, draws)

    def direction(self, seed: int) -> Balance | None:
        """Compute how often numbers move as the right ones do, minus how often the other way, with the same test."""
        numeric = [pair for pair in self.pairs if pair.direction is not None]
        if not numeric:
            return None
        signs = np.array([pair.direction for pair in numeric], np.float64)
        return PairedPictures(numeric).tested_mean(
            signs, AnsweredPair.towards, lambda one, two: np.asarray(np.nan_to_num(np.sign(two - one))), seed
        )

    def tested_mean(
        self,
        signs: Floats,
        worth: Callable[[AnsweredPair, Answer], float],
        sign: Callable[[Floats, Floats], Floats],
        seed: int,
        draws: int = DRAWS,
    ) -> Balance:
        """Compute the mean of signs with its interval, and test that it is zero.

        Args:
            signs: One for each pair.
            worth: Function that returns what an answer is worth to a pair.
            sign: Function that returns signs of pairs from what their two answers are worth.
            seed: Seed of random permutations.
            draws: Number of random permutations.
        """
        from theodolite.stats.clustered import signed_mean

        moments = signed_mean(signs, self._clusters, self.weights.values)
        p_value, method = self._test(signs, worth, sign, seed, draws)
        return Balance.of(moments, (p_value, method), len(set(self._clusters)), len(self.pairs))

    def _test(
        self,
        signs: Floats,
        worth: Callable[[AnsweredPair, Answer], float],
        sign: Callable[[Floats, Floats], Floats],
        seed: int,
        draws: int,
    ) -> tuple[float, str]:
        from theodolite.stats import sign_flip_test

        used, blocks = self._used, self._blocks
        if not used:
            return 1.0, "no pair takes part"
        left = (
            f"; {len(self.pairs) - len(used)} pairs do not take part" if len(used) < len(self.pairs) else ""
        )
        weights = Weights.of([self.pairs[i] for i in used]).values
        values = weights * signs[used]
        if values.sum() * float(self.weights.values @ signs) < 0:
            return 1.0, f"the pairs that take part point the other way{left}"
        clusters = np.unique([self._clusters[i] for i in used], return_inverse=True)[1]
        turned = sign_flip_test(np.bincount(clusters, values), seed=seed)
        if all(len(block.pictures) == 2 for block in blocks):
            return turned.p_value, f"{turned.method}{left}"
        null = [sign(one, two) @ weights for one, two in self._permuted(worth, draws, seed)]
        p_value = _two_sided(float(values.sum()), np.concatenate(null))
        words = f"the larger p of whole pictures permuted ({draws} random permutations) and clusters turned"
        return max(p_value, turned.p_value), f"{words} ({turned.method}){left}"

    def interval(self, lost: int = 0) -> Estimate:
        """Return looking with its interval, as if all lost pairs were followed (1) or inverted (−1)."""
        is_lost = np.array([pair.outcome == "lost" for pair in self.pairs])
        return self._signed(np.where(is_lost, float(lost), self.signs))

    def on_edits(self) -> Estimate | None:
        """Return looking from the answers about edited pictures alone: right, minus right for the picture before the edit.

        A model that remembers the originals and guesses on edits has 0 there. Only answers that occur in both orders count:
        otherwise a constant answer would gain. None if there are none.
        """
        both = self.weights.has_both
        if not both.any():
            return None
        return self._signed(np.array([-float(pair.side(pair.after)) for pair in self.pairs]), both)

    def _signed(self, values: Floats, is_used: NDArray[np.bool_] | None = None) -> Estimate:
        from theodolite.stats.clustered import signed_interval, signed_mean

        used = np.arange(len(values)) if is_used is None else np.flatnonzero(is_used)
        clusters = [self._clusters[i] for i in used]
        return signed_interval(*signed_mean(values[used], clusters, self.weights.values[used]), level=LEVEL)

    @property
    def share_in_both_orders(self) -> float:
        """The share of pairs whose answers occur in both orders."""
        return float(self.weights.has_both.mean())

    @property
    def share_with_exchanged_roles(self) -> float:
        """The share of pairs for which another question about the same two pictures has the answers the other way round.

        A cue of the pictures alone, such as which half is brighter, gains on one question what it loses on the other.
        """
        keys = [(pictures_of(pair), couple_of(pair)) for pair in self.pairs]
        turned: defaultdict[object, set[bool]] = defaultdict(set)
        for key, pair in zip(keys, self.pairs, strict=True):
            turned[key].add(is_turned(pair))
        return sum(len(turned[key]) == 2 for key in keys) / len(keys)

    def symmetry(self, seed: int) -> float | None:
        """Test whether the answers (a, a′) are as frequent as (a′, a), for any two answers, right or wrong.

        Bowker's statistic Σ (n_ab − n_ba)² / (n_ab + n_ba) over the answers to the picture of the first and of the second right
        answer, with the weights and the permutations of looking. Only right answers that occur in both orders count. None if there
        are none, or none differ.
        """
        some = [self.pairs[i] for i in self._used]
        if not some:
            return None
        weights = Weights.of(some)
        heavy = weights.values * weights.has_both
        if not any(
            w and pair.outcome not in {"unmoved", "lost"} for w, pair in zip(heavy, some, strict=True)
        ):
            return None
        known = sorted({answer_key(answer) for pair in some for answer in (pair.before, pair.after)} - {""})
        code = {"": -1, **{key: i for i, key in enumerate(known)}}
        couples = {couple: i for i, couple in enumerate(sorted(set(map(couple_of, some))))}
        group = np.array([couples[couple_of(pair)] for pair in some])
        turned = np.array([is_turned(pair) for pair in some])
        sides = [
            [code[answer_key(a)] for a in answers]
            for answers in zip(*((p.before, p.after) for p in some), strict=True)
        ]

        def statistic(one: Floats, two: Floats) -> Floats:
            first, second = (np.where(turned, b, a).astype(np.int64) for a, b in ((one, two), (two, one)))
            cells = (group * len(code) + np.minimum(first, second)) * len(code) + np.maximum(first, second)
            names, place = np.unique(cells, return_inverse=True)
            place = place.reshape(cells.shape) + names.size * np.arange(len(cells))[:, None]
            weight = heavy * ((first != second) & (first >= 0) & (second >= 0))
            size = names.size * len(cells)
            gap, total = (
                np.bincount(place.ravel(), (weight * side).ravel(), size)
                for side in (np.sign(first - second), 1)
            )
            terms = np.divide(gap**2, total, out=np.zeros(size), where=total > 0)
            return np.asarray(terms.reshape(len(cells), -1).sum(axis=1))

        observed = statistic(*(np.array([side], np.float64) for side in sides))
        nulls = [self._turned(np.array(sides[0]), np.array(sides[1]), seed)]
        if any(len(block.pictures) > 2 for block in self._blocks):
            nulls.append(self._permuted(lambda _, answer: code[answer_key(answer)], _DRAWS_OF_TABLES, seed))
        return max(
            _upper_tail(float(observed[0]), np.concatenate([statistic(one, two) for one, two in draws]))
            for draws in nulls
        )

    def _permuted(
        self, worth: Callable[[AnsweredPair, Answer], float], draws: int, seed: int
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield what both answers of each pair in use are worth under random permutations of pictures, some at a time."""
        rng = np.random.default_rng(seed)
        sizes: defaultdict[int, list[_Block]] = defaultdict(list)
        for block in self._blocks:
            sizes[len(block.pictures)].append(block)
        column = {i: place for place, i in enumerate(self._used)}
        groups = []
        for blocks in sizes.values():
            rows, values = [], []
            for number, block in enumerate(blocks):
                place = {picture: i for i, picture in enumerate(block.pictures)}
                for i in block.pairs:
                    pair = self.pairs[i]
                    rows.append((column[i], number, *(place[picture] for picture in pictures_of(pair))))
                    values.append([worth(pair, self._answers[x, question_of(pair)]) for x in block.pictures])
            groups.append((len(blocks), np.array(rows, np.int64).T, np.array(values, np.float64)))
        for n in _steps(draws, len(self._used)):
            one, two = (np.empty((n, len(self._used))) for _ in range(2))
            for n_blocks, (columns, number, first, second), worths in groups:
                orders = rng.random((n, n_blocks, worths.shape[1])).argsort(axis=2)
                for side, place in ((one, first), (two, second)):
                    side[:, columns] = worths[np.arange(len(worths)), orders[:, number, place]]
            yield one, two

    def _turned(self, one: Floats, two: Floats, seed: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield both sides of each pair in use, exchanged in half of the clusters, some draws at a time."""
        rng = np.random.default_rng(seed)
        clusters = np.unique([self._clusters[i] for i in self._used], return_inverse=True)[1]
        for n in _steps(_DRAWS_OF_TABLES, len(self._used)):
            is_turned = rng.integers(0, 2, (n, clusters.max() + 1)).astype(bool)[:, clusters]
            yield np.where(is_turned, two, one), np.where(is_turned, one, two)

    @cached_property
    def _clusters(self) -> list[str]:
        return [pair.cluster for pair in self.pairs]

    @cached_property
    def _answers(self) -> Mapping[tuple[str, str], Answer]:
        """The answer by picture and question; the first, if two items share both."""
        answers: dict[tuple[str, str], Answer] = {}
        for pair in self.pairs:
            for picture, answer in zip(pictures_of(pair), (pair.before, pair.after), strict=True):
                answers.setdefault((picture, question_of(pair)), answer)
        return answers

    @cached_property
    def _blocks(self) -> list[_Block]:
        """Blocks of pictures that can be permuted. A pair whose answers are not those of its pictures is in none."""
        own = [
            i
            for i, pair in enumerate(self.pairs)
            if all(
                answer_key(self._answers[picture, question_of(pair)]) == answer_key(answer)
                for picture, answer in zip(pictures_of(pair), (pair.before, pair.after), strict=True)
            )
        ]
        return list(_blocks_of(self.pairs, own))

    @cached_property
    def _used(self) -> list[int]:
        return [i for block in self._blocks for i in block.pairs]


def pictures_of(pair: AnsweredPair) -> tuple[str, str]:
    """Return what identifies the two pictures of a pair."""
    if all(pair.pictures):
        return pair.pictures
    return pair.cluster, f"{pair.cluster} {pair.edit.name}"


def question_of(pair: AnsweredPair) -> str:
    """Return what identifies the question of a pair."""
    return pair.question or pair.item


@dataclass(frozen=True, slots=True)
class _Block:
    """Pictures that were asked the same questions, so that their answers can be permuted together, and its pairs."""

    pictures: tuple[str, ...]
    pairs: tuple[int, ...]


def _blocks_of(pairs: Sequence[AnsweredPair], numbers: Sequence[int]) -> Iterator[_Block]:
    """Divide numbered pairs into blocks of pictures that were asked the same questions. No picture is in two blocks."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for i in numbers:
        for picture in pictures_of(pairs[i]):
            asked[picture].add(question_of(pairs[i]))
    components = _components(pictures_of(pairs[i]) for i in numbers)
    by_component: defaultdict[str, list[int]] = defaultdict(list)
    for i in numbers:
        by_component[components[pictures_of(pairs[i])[0]]].append(i)
    for own in by_component.values():
        left = own
        while left:
            block = max(_candidates(left, asked, pairs), key=lambda block: (len(block.pairs), block.pictures))
            yield block
            left = [i for i in left if not set(pictures_of(pairs[i])) & set(block.pictures)]


def _candidates(
    left: Sequence[int], asked: Mapping[str, set[str]], pairs: Sequence[AnsweredPair]
) -> Iterator[_Block]:
    """Yield blocks: for the question of each pair, and for those that its two pictures share, all pictures asked these."""
    tried = set()
    for i in left:
        one, two = pictures_of(pairs[i])
        for questions in (frozenset(asked[one] & asked[two]), frozenset([question_of(pairs[i])])):
            if questions in tried:
                continue
            tried.add(questions)
            inside = [
                j
                for j in left
                if question_of(pairs[j]) in questions
                and all(asked[picture] >= questions for picture in pictures_of(pairs[j]))
            ]
            used = {picture for j in inside for picture in pictures_of(pairs[j])}
            yield _Block(tuple(sorted(used)), tuple(inside))


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


# Natural pairs: the same question about two pictures as they are.


Kernel: TypeAlias = Callable[[Floats], Floats]
"""Function of the shares of answers by truth (draws × truths × answers): its mean over the pairs of every two truths."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One question about several pictures, as counts of answers by truth."""

    pictures: tuple[str, ...]
    truth: Ints
    """For each picture, the number of its right answer."""
    answer: Ints
    """For each picture, the number of the answer; those below the number of truths are these truths, the last one is *lost*."""
    matched: Floats
    """Truths × truths: the number of pairs of two truths in a matching, on average."""
    n_answers: int
    truths: tuple[str, ...]
    answers: tuple[str, ...]
    """The names of the answers; the last one is empty."""

    @property
    def n_pairs(self) -> float:
        """The number of pairs of a matching."""
        return float(self.matched.sum() / 2)

    @property
    def cells(self) -> list[tuple[int, int]]:
        """For each picture, the truth and the answer."""
        return list(zip(self.truth.tolist(), self.answer.tolist(), strict=True))

    @property
    def table(self) -> Floats:
        """The number of pictures by truth and answer."""
        table = np.zeros((len(self.matched), self.n_answers))
        np.add.at(table, (self.truth, self.answer), 1.0)
        return table


class NaturalQuestions(Design):
    """Pairs of pictures as they are: the same question, another right answer.

    Every picture of a question counts: the pairs are those of a random matching of pictures with different truths, each used at most
    once, and all numbers are means over all such matchings, in closed form. They depend on no draw and no seed. With the share p_t(a) of the pictures with truth t
    about which the model answers a, and m_tu pairs of truths t and u,

        followed = Σ m_tu p_t(t) p_u(u) / Σ m_tu,    inverted = Σ m_tu p_t(u) p_u(t) / Σ m_tu.

    The interval is a jackknife over pictures, or over groups of pictures that share no question if there are many, or all are
    small. The test
    permutes the answers to each question among its pictures. Where pictures are asked several questions, whose right answers may go
    together, that is not exact, and p is at least that of the jackknife. What else differs between two pictures, such as the kind of scene, is
    not excluded: Lemma 2 is an assumption here.
    """

    def __init__(self, pairs: Sequence[AnsweredPair]) -> None:
        self.questions = list(_questions_of(pairs))
        self.n_pairs = sum(question.n_pairs for question in self.questions)

    @property
    def n(self) -> int:
        """The number of pairs of a matching, on average."""
        return round(self.n_pairs)

    def outcomes(self) -> Mapping[str, float]:
        """Return the share of each outcome over all matchings; followed minus inverted is looking."""
        return {name: self._mean(kernel) for name, kernel in _KERNELS.items()}

    def shares(self) -> Mapping[str, Estimate]:
        """Return the same with intervals."""
        return {name: self.share(kernel) for name, kernel in _KERNELS.items()}

    def _mean(self, kernel: Kernel) -> float:
        return round(sum(_sum(kernel, question) for question in self.questions) / self.n_pairs, 12)

    def balance(self, seed: int, *, draws: int = DRAWS) -> Balance:
        """Compute the interval and the test."""
        from theodolite.stats.clustered import signed_p_value

        moments = self.jackknife(_balance_kernel)
        p_value, method = self._test(moments[0], seed, draws)
        if self._has_shared_pictures:
            p_value = max(p_value, signed_p_value(*moments))
            method = f"the larger p of {method} and the jackknife"
        pictures = {picture for question in self.questions for picture in question.pictures}
        return Balance.of(moments, (p_value, method), len(pictures), round(self.n_pairs))

    @cached_property
    def _has_shared_pictures(self) -> bool:
        """True if pictures are asked several questions: then permuting the answers to each question alone is not exact."""
        pictures = [picture for question in self.questions for picture in question.pictures]
        return len(set(pictures)) < len(pictures)

    def interval(self, lost: int = 0) -> Estimate:
        """Return looking with its interval, as if all lost pairs were followed (1) or inverted (−1)."""
        from theodolite.stats.clustered import signed_interval

        moments = self.jackknife(lambda shares: _balance_kernel(shares) + lost * _lost(shares))
        return signed_interval(*moments, level=LEVEL)

    def accuracy(self) -> Estimate:
        """Return the share of right answers among the two answers of each pair."""
        return self.share(_right)

    def share(self, kernel: Kernel) -> Estimate:
        """Return the share of pairs with an outcome, with Wilson's interval for as many pairs as its variance is worth."""
        from theodolite.stats.clustered import wilson_bounds

        value, variance, units = self.jackknife(kernel)
        value = min(max(value, 0.0), 1.0)
        worth = min(value * (1 - value) / variance, units) if variance > 0 and 0 < value < 1 else units
        low, high = wilson_bounds(value * worth, worth, LEVEL)
        words = f"Wilson, effective sample size {worth:.1f}"
        return Estimate(value, low, high, max(1, round(units)), LEVEL, words, n_items=round(self.n_pairs))

    def jackknife(self, kernel: Kernel) -> tuple[float, float, float]:
        """Return the mean of a kernel over pairs, its variance, and the number of units.

        Args:
            kernel: Function that returns its sum over the pairs of truths t < u of a question, from the table of answers.
        """
        sums = [_sum(kernel, question) for question in self.questions]
        total = sum(sums)
        edges = [(question.pictures[0], other) for question in self.questions for other in question.pictures]
        components = _components(edges)
        n_components = len(set(components.values()))
        is_many = n_components >= min(_MANY_COMPONENTS, len(components) / _SMALL_COMPONENT)
        lost: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for question, own in zip(self.questions, sums, strict=True):
            if is_many:
                unit = lost[components[question.pictures[0]]]
                unit[0] += own
                unit[1] += question.n_pairs
                continue
            without = {cell: _without(kernel, question, cell) for cell in set(question.cells)}
            for picture, cell in zip(question.pictures, question.cells, strict=True):
                gone, pairs = without[cell]
                lost[picture][0] += own - gone
                lost[picture][1] += question.n_pairs - pairs
        value = total / self.n_pairs
        left = [(total - s) / (self.n_pairs - m) for s, m in lost.values() if self.n_pairs - m > 1e-9]
        n = len(lost)
        variance = (n - 1) / n * float(np.sum((np.array(left) - value) ** 2)) if left else 0.0
        return value, variance, float(n) if is_many else max(1.0, n / 2)

    def symmetry(self, seed: int) -> float | None:
        """Test whether the answers (a, a′) are as frequent as (a′, a), for any two answers to the pictures of two truths.

        Bowker's statistic of the expected numbers of pairs, summed over questions. None if no two answers to a question differ, if
        there are too many right answers to compare, or if pictures are asked several questions: then permuting the answers
        to each question is not exact.
        """
        if self._has_shared_pictures:
            return None
        read = Counter(q.answers[answer] for q in self.questions for answer in q.answer if q.answers[answer])
        code = {name: i for i, (name, _) in enumerate(read.most_common(_MOST_ANSWERS))}
        sums: dict[Couple, Floats] = {}
        rng = np.random.default_rng(seed)
        for question in self.questions:
            codes = [code.get(name, len(code)) if name else len(code) + 1 for name in question.answers]
            few = replace(question, answer=np.array(codes)[question.answer], n_answers=len(code) + 2)
            shares = _rows(np.concatenate([few.table[None], _drawn(few, _DRAWS_OF_TABLES, rng)]))[:, :, :-1]
            for t, u in combinations(range(len(few.truths)), 2):
                couple = few.truths[t], few.truths[u]
                pairs = few.matched[t, u] * shares[:, t, :, None] * shares[:, u, None, :]
                sums[couple] = sums.get(couple, 0) + pairs
                if len(sums) > _MOST_COUPLES:
                    return None
        statistic = sum(map(_bowker, sums.values()), np.zeros(_DRAWS_OF_TABLES + 1))
        return _upper_tail(float(statistic[0]), statistic[1:]) if statistic[0] > 0 else None

    def _test(self, observed: float, seed: int, draws: int) -> tuple[float, str]:
        from theodolite.stats import sign_flip_test

        if all(len(question.pictures) == 2 for question in self.questions):
            test = sign_flip_test([_sum(_balance_kernel, question) for question in self.questions], seed=seed)
            return test.p_value, test.method
        rng = np.random.default_rng(seed)
        null = np.zeros(draws)
        for question in self.questions:
            start = 0
            for n in _steps(draws, len(question.pictures)):
                tables = _drawn(question, n, rng)
                null[start : start + n] += _sums(_balance_kernel, tables, question.matched)
                start += n
        words = f"answers permuted within {len(self.questions)} questions, {draws} random permutations"
        return _two_sided(observed, null / self.n_pairs), words


def _questions_of(pairs: Sequence[AnsweredPair]) -> Iterator[_Question]:
    by_group: defaultdict[str, list[AnsweredPair]] = defaultdict(list)
    for pair in pairs:
        by_group[pair.group].append(pair)
    for group in by_group.values():
        rows: dict[str, tuple[str, Answer]] = {}
        allowed: set[Couple] = set()
        for pair in group:
            one, two = pictures_of(pair)
            rows.setdefault(one, (str(pair.gold), pair.before))
            rows.setdefault(two, (str(pair.edited_gold), pair.after))
            allowed.add(couple_of(pair))
        truths = sorted({truth for couple in allowed for truth in couple})
        code = {truth: i for i, truth in enumerate(truths)}
        for picture, gold, said in group[0].more:
            if gold in code:
                rows.setdefault(picture, (gold, said))
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
        yield _Question(tuple(rows), truth, answer, matched, len(answers) + 1, tuple(truths), (*answers, ""))


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


def _sum(kernel: Kernel, question: _Question) -> float:
    return float(_sums(kernel, question.table[None], question.matched)[0])


def _sums(kernel: Kernel, tables: Floats, matched: Floats) -> Floats:
    """Return the sum of a kernel over the pairs of a question, for several tables of answers."""
    return np.asarray((kernel(_rows(tables)) * np.triu(matched)).sum(axis=(1, 2)))


def _rows(tables: Floats) -> Floats:
    """Return the share of each answer among the pictures with a truth."""
    sizes = tables.sum(axis=2, keepdims=True)
    return np.asarray(tables / np.maximum(sizes, 1))


def _without(kernel: Kernel, question: _Question, cell: tuple[int, int]) -> tuple[float, float]:
    """Return the sum and the number of pairs without one picture, given by its truth and answer."""
    table = question.table
    table[cell] -= 1
    matched = _matched(table.sum(axis=1), question.matched > 0)
    return float(_sums(kernel, table[None], matched)[0]), float(matched.sum() / 2)


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


def _drawn(question: _Question, draws: int, rng: np.random.Generator) -> Floats:
    """Return tables of truth × answer with the answers permuted among the pictures: draws × truths × answers."""
    shape = (draws, len(question.matched), question.n_answers)
    answers = rng.permuted(np.repeat(question.answer[None], draws, axis=0), axis=1)
    cells = (np.arange(draws)[:, None] * shape[1] + question.truth) * shape[2] + answers
    return np.asarray(np.bincount(cells.ravel(), minlength=math.prod(shape)).reshape(shape), np.float64)


def _bowker(counts: Floats) -> Floats:
    """Return Σ (n_ab − n_ba)² / (n_ab + n_ba) over answers a < b; counts are (draws, a, b)."""
    gap, total = counts - counts.swapaxes(1, 2), counts + counts.swapaxes(1, 2)
    return np.asarray((gap**2 / np.maximum(total, 1e-300)).sum(axis=(1, 2)) / 2)
