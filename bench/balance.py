"""Looking, proven: certification, level, coverage and power of `theodolite.pairs`, as tables in Markdown.

``python -m bench.balance`` prints all tables of docs/balance.md, ``python -m bench.balance level power`` some. Models are
simulated from what a model can know of a picture, so nothing is drawn.
"""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TypeAlias

import numpy as np
from scipy.stats import binom

from bench.result import Result
from theodolite.answers import Answer
from theodolite.pairs import AnsweredPair, judge_looking
from theodolite.pairs.balance import PROVEN, design_of
from theodolite.pairs.outcomes import FLIP, LIGHT, MIRROR, MOVE_TARGET, NATURAL, REMOVE
from theodolite.stats import clustered_mean
from theodolite.stats.clustered import wilson_bounds

SEEDS = 1000
MOST_PROVEN = 21
"""Of 1,000 studies of a model that does not look: the 99.9 % quantile at a level of 1 % is 21."""
AXES = (("left", "right"), ("above", "below"))
Row: TypeAlias = Sequence[object]


def seeded(seed: object) -> Random:
    """Return a source of random numbers."""
    return Random(str(seed))  # noqa: S311 - simulations


# What a model is shown, and models that do not look.


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture and a question, as far as a strategy could use them."""

    truth: str
    other: str
    """The right answer after the edit, or before it."""
    usual: str
    """The usual answer to such a question."""
    brighter: str
    """The side of the brighter half."""
    code: int
    """A hash of the file."""
    mean: int
    """Whether the mean of the pixels is high: the same for a picture and its mirror image."""
    is_edit: bool
    is_known: bool
    """True for an original that the model has seen in training."""
    original: int
    """The number of the original. No strategy may use it; mixtures are drawn by it."""
    turn: int
    """The place of the request in the executed order."""


Strategy: TypeAlias = Callable[[Shot, Sequence[str], Random], str]


def coin(p: float) -> Strategy:
    """Return a strategy that says the first word with a probability, otherwise one of the others."""
    return lambda _, words, rng: words[0] if rng.random() < p else rng.choice(words[1:])


def detector(p: float, *, has_prior: bool) -> Strategy:
    """Return a strategy that recognises edits with a probability: the usual answer belongs to the original."""

    def says(shot: Shot, _words: Sequence[str], _rng: Random) -> str:
        one, two = AXES[shot.truth in AXES[1]]
        usual = shot.usual if has_prior else one
        is_seen = shot.is_edit and shot.code % 100 < 100 * p
        return (two if usual == one else one) if is_seen else usual

    return says


STRATEGIES: dict[str, Strategy] = {
    "answers in turn": lambda shot, words, _: words[shot.turn % len(words)],
    "hash of the picture": lambda shot, words, _: words[shot.code % len(words)],
    "size of the file": lambda shot, words, _: words[
        min(len(words) - 1, shot.code % 1009 * len(words) // 1009)
    ],
    "mean of the pixels": lambda shot, words, _: words[shot.mean],
    "brighter half": lambda shot, *_: shot.brighter,
    "JPEG grid (recognises edits)": detector(1.0, has_prior=False),
    "recognises edits, with a prior": detector(1.0, has_prior=True),
    "recognises half of the edits, with a prior": detector(0.5, has_prior=True),
    "originals from a cache": lambda shot, words, rng: rng.choice(words) if shot.is_edit else shot.usual,
    "remembers half of the originals": lambda shot, words, rng: (
        shot.truth if shot.is_known else rng.choice(words)
    ),
    "constant": lambda _, words, __: words[0],
    **{f"coin of {p}": coin(p) for p in (0.1, 0.3, 0.5, 0.8)},
}


@dataclass(frozen=True, slots=True)
class Design:
    """A study: the whole design, or one that lacks a part of it."""

    n: int = 48
    """Pictures."""
    options: int = 2
    has_roles: bool = True
    is_shuffled: bool = True
    has_both_orders: bool = True
    has_neutral: bool = True
    is_cached: bool = False
    cue: float = 0.0
    """Correlation of the brighter half with the right answer of the original."""

    def draw(self, strategy: Strategy, rng: Random) -> list[AnsweredPair]:
        """Return the pairs of a study."""
        words = [word for axis in AXES[: self.options // 2] for word in axis]
        planned: list[tuple[int, bool, str, Shot]] = []
        for i in range(self.n):
            axis = AXES[i % (self.options // 2)]
            is_turned = self.has_both_orders and i // (self.options // 2) % 2 == 1
            sides = axis[::-1] if is_turned else axis
            is_true = rng.random() < (1 + self.cue) / 2
            mean, is_known, usual = rng.randrange(2), rng.random() < 0.5, axis[0]
            for name in ("original", "edit", *(["light"] if self.has_neutral else [])):
                truth, other = sides[::-1] if name == "edit" else sides
                brighter, code = truth if is_true else other, rng.randrange(10**6)
                own = (usual, brighter, code, mean if name != "light" else rng.randrange(2))
                state = (name != "original", is_known and name == "original", i, 0)
                planned.append((i, False, name, Shot(truth, other, *own, *state)))
                if self.has_roles:
                    planned.append((i, True, name, Shot(other, truth, *own, *state)))
        if self.is_shuffled:
            rng.shuffle(planned)
        said: dict[tuple[int, bool, str], tuple[Shot, str]] = {}
        for turn, (i, role, name, shot) in enumerate(planned):
            said[i, role, name] = shot, strategy(replace(shot, turn=turn), words, rng)
        turns = {(i, role, name): turn for turn, (i, role, name, _) in enumerate(planned)}
        return list(self._pairs(said, turns))

    def _pairs(
        self, said: dict[tuple[int, bool, str], tuple[Shot, str]], turns: dict[tuple[int, bool, str], int]
    ) -> Iterator[AnsweredPair]:
        for (i, role, name), after in said.items():
            if name == "original":
                continue
            before = said[i, role, "original"]
            edit = FLIP if before[0].truth in AXES[1] else MIRROR
            edit = edit if self.has_both_orders else REMOVE
            yield AnsweredPair(
                f"{i} {role}",
                LIGHT if name == "light" else edit,
                str(i),
                Answer("value", before[1]),
                Answer("value", after[1]),
                before[0].truth,
                after[0].truth,
                pictures=(f"{i} original", f"{i} {name}"),
                question=str(role),
                asked=(turns[i, role, "original"], turns[i, role, name]),
                is_half_reused=self.is_cached,
            )


FULL = Design()
GAPS: tuple[tuple[str, str, Design, str], ...] = (
    (
        "answers in turn",
        "originals first, one order",
        replace(FULL, is_shuffled=False, has_both_orders=False, has_roles=False, has_neutral=False),
        "the order of asking",
    ),
    (
        "brighter half",
        "no exchanged roles, cue .2",
        replace(FULL, has_roles=False, cue=0.2, n=300),
        "a cue of the picture that goes with the right answer",
    ),
    (
        "brighter half",
        "no exchanged roles, cue −.2",
        replace(FULL, has_roles=False, cue=-0.2, n=300),
        "a cue of the picture that goes with the right answer",
    ),
    (
        "recognises edits, with a prior",
        "one order (as removals)",
        replace(FULL, has_both_orders=False, has_roles=False),
        "recognising edited pictures",
    ),
    (
        "originals from a cache",
        "one order, originals reused",
        replace(FULL, has_both_orders=False, has_roles=False, is_cached=True),
        "a cache of earlier answers",
    ),
    ("remembers half of the originals", "whole", FULL, "remembering the original pictures"),
)
"""Models that are proven where a part of the design is missing, and the name of what is missing."""


def certificate(seeds: int = SEEDS) -> Iterator[tuple[str, str, int, int, float]]:
    """Yield strategy, design, how often looking is proven, how often it should have been named, and how often it was."""
    for name, strategy in STRATEGIES.items():
        if name == GAPS[-1][0]:
            continue
        proven = 0
        for seed in range(seeds):
            study = replace(FULL, options=(2, 4)[seed % 2], has_neutral=False)
            proven += _is_proven(study.draw(strategy, seeded(seed)), seed)
        yield name, "whole, two or four options", seeds, proven, math.nan
    for name, words, study, gap in GAPS:
        draws = [study.draw(STRATEGIES[name], seeded(seed)) for seed in range(max(1, seeds // 10))]
        relevant = [[pair for pair in pairs if pair.edit.is_relevant] for pairs in draws]
        found = [i for i, pairs in enumerate(relevant) if _is_proven(pairs, i, is_two_sided=True)]
        named = [_is_named(draws[i], gap) for i in found[:20]]
        yield name, words, len(draws), len(found), sum(named) / max(1, len(named))


def _is_proven(pairs: Sequence[AnsweredPair], seed: int, *, is_two_sided: bool = False) -> bool:
    balance = design_of(pairs).balance(seed, draws=999)
    return balance.is_proven and (is_two_sided or balance.looking.value > 0)


def _is_named(pairs: Sequence[AnsweredPair], gap: str) -> bool:
    """Return True if the gap is named, and the model is neither said to look nor to answer the other way round."""
    found = judge_looking(pairs)
    wrong = {"answers the other way round"} if gap.startswith("a cue") else {"looks"}
    return gap in found.not_excluded and found.standing not in wrong


# Level of the test and coverage of the interval, on the designs of the instruments.


def answered(pairs: Iterable[AnsweredPair], says: Callable[[str, str], str]) -> list[AnsweredPair]:
    """Return the pairs with the answers of a model, a function of picture and truth."""
    known: dict[tuple[str, str], Answer] = {}

    def answer(picture: str, question: str, truth: object) -> Answer:
        if (picture, question) not in known:
            known[picture, question] = Answer("value", says(picture, str(truth)))
        return known[picture, question]

    return [
        replace(
            pair,
            before=answer(pair.pictures[0], pair.question, pair.gold),
            after=answer(pair.pictures[1], pair.question, pair.edited_gold),
        )
        for pair in pairs
    ]


_NO = Answer("unreadable")


def edited(n: int, edits: int, rare: float = 0.5) -> list[AnsweredPair]:
    """Return the pairs of n originals with several edits each; a share of the originals has the second answer."""
    return [
        AnsweredPair(
            f"{i}",
            MOVE_TARGET,
            f"{i}",
            _NO,
            _NO,
            *(AXES[0] if i >= round(rare * n) else AXES[0][::-1]),
            pictures=(f"{i} original", f"{i} {e}"),
            question="q",
        )
        for i in range(n)
        for e in range(edits)
    ]


def four_photographs(n: int) -> list[AnsweredPair]:
    """Return all pairs among four photographs of each of n pairs of objects."""
    rows = [[(f"{i} {word}", word) for axis in AXES for word in axis] for i in range(n)]
    return [pair for i, asked in enumerate(rows) for pair in natural_pairs(f"{i}", asked)]


def pope(n: int, rng: Random, agree: float = 0.0) -> list[AnsweredPair]:
    """Return pairs of n pictures that are asked six of twelve questions each, half of them with the answer yes.

    Args:
        n: Pictures.
        rng: Source of truths.
        agree: Share of the pictures whose questions all have the same right answer, as in crowded and empty ones.
    """
    rows: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for i in range(n):
        same = [rng.choice(("yes", "no"))] * 6
        golds = same if rng.random() < agree else rng.sample(["yes", "no"] * 3, 6)
        for kind, gold in zip(rng.sample(range(12), 6), golds, strict=True):
            rows[kind].append((f"{i} .", gold))
    return [pair for kind, asked in rows.items() for pair in natural_pairs(f"{kind}", asked)]


def natural_pairs(question: str, rows: Sequence[tuple[str, str]]) -> Iterator[AnsweredPair]:
    """Yield pairs that hold every picture, given with its right answer: the first of every other truth beside it."""
    first: dict[str, str] = {}
    for picture, gold in rows:
        first.setdefault(gold, picture)
    for picture, gold in rows:
        for other, there in first.items():
            if other != gold:
                pictures = (picture, there)
                yield AnsweredPair(
                    question, NATURAL, picture, _NO, _NO, gold, other,
                    group=question, pictures=pictures, question=question,
                )  # fmt: skip


DESIGNS: dict[str, Callable[[Random], list[AnsweredPair]]] = {
    "12 originals, one edit": lambda _: edited(12, 1),
    "48 originals, one edit": lambda _: edited(48, 1),
    "48 originals, one edit, a fifth in the other order": lambda _: edited(48, 1, 0.2),
    "30 originals, three edits": lambda _: edited(30, 3),
    "30 originals, eight edits": lambda _: edited(30, 8),
    "52 pairs of objects, four photographs": lambda _: four_photographs(52),
    "60 pictures, six yes/no questions (POPE)": lambda rng: pope(60, rng),
    "the same, half of the pictures crowded or empty": lambda rng: pope(60, rng, agree=0.5),
}


def words_of(truth: str) -> tuple[str, str]:
    """Return two possible answers."""
    return ("yes", "no") if truth in ("yes", "no") else AXES[0]


def by_hash(rng: Random) -> Callable[[str, str], str]:
    """Return a model that answers every question about a picture by a hash of it."""
    known: dict[str, int] = {}
    return lambda picture, truth: words_of(truth)[known.setdefault(picture, rng.randrange(2))]


def by_original(rng: Random) -> Callable[[str, str], str]:
    """Return a model that recognises the original among its edits for half of the originals."""
    known: dict[str, bool] = {}

    def says(picture: str, truth: str) -> str:
        number, name = picture.split()
        is_usual = name == "original" or known.setdefault(number, rng.random() < 0.5)
        return words_of(truth)[not is_usual]

    return says


def looker(share: float, rng: Random) -> Callable[[str, str], str]:
    """Return a model that looks at a share of the originals and all that belongs to them, and tosses coins otherwise."""
    known: dict[str, bool] = {}

    def says(picture: str, truth: str) -> str:
        looks = known.setdefault(picture.split(maxsplit=1)[0], rng.random() < share)
        return truth if looks else rng.choice(words_of(truth))

    return says


def level(seeds: int = 400) -> Iterator[tuple[str, str, float]]:
    """Yield design, model, and how often a model that does not look is proven, either way."""
    for name, design in DESIGNS.items():
        models = {"hash of the picture": by_hash}
        if "originals" in name:
            models["recognises half of the originals"] = by_original
        for words, model in models.items():
            proven = 0
            for seed in range(seeds):
                rng = seeded(seed)
                proven += _is_proven(answered(design(rng), model(rng)), seed, is_two_sided=True)
            yield name, words, proven / seeds


SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


def coverage(seeds: int = 300) -> Iterator[tuple[str, list[float]]]:
    """Yield design and coverage of the 99 % interval, by the share of originals, objects or pictures that a model looks at.

    With two answers looking is that share, also if each picture is looked at on its own: μ² + 2μ(1 − μ)/2 = μ.
    """
    for name, design in DESIGNS.items():
        rates = []
        for share in SHARES:
            inside = 0
            for seed in range(seeds):
                rng = seeded(f"{share} {seed}")
                found = design_of(answered(design(rng), looker(share, rng))).interval()
                inside += found.low <= share <= found.high
            rates.append(inside / seeds)
        yield name, rates


def means(draws: int = 1500) -> Iterator[tuple[int, str, float, float]]:
    """Yield clusters, weights, and the least coverage of the 95 % and the 99 % interval of a mean of −1, 0 and 1."""
    rng = np.random.default_rng(0)
    for k in (12, 20, 48, 100, 400):
        for words, rare in (("equal", 0.5), ("a fifth has half of the weight", 0.2)):
            n = max(1, round(rare * k))
            weights = np.where(np.arange(k) < n, 0.5 / n, 0.5 / (k - n))
            least = [1.0, 1.0]
            for share in (0.0, 0.05, 0.25, 0.5, 0.8, 0.95, 1.0):
                for rest in ((0, 0, 0, 0), (1, -1, 0, 0)):
                    values = np.where(rng.random((draws, k)) < share, 1.0, rng.choice(rest, (draws, k)))
                    for i, degree in enumerate((0.95, 0.99)):
                        found = [
                            clustered_mean(v, bounds=(-1, 1), weights=weights, level=degree) for v in values
                        ]
                        inside = np.mean(
                            [
                                e is not None and e.low <= share + 1e-9 and share - 1e-9 <= e.high
                                for e in found
                            ]
                        )
                        least[i] = min(least[i], float(inside))
            yield k, words, least[0], least[1]


# Power: pictures for a proof in four of five studies, by the exact distribution of the sign test.


def power() -> Iterator[tuple[float, str, int | None, int | None]]:
    """Yield the share of pictures looked at, what else is said, and the pictures needed, now and by the bound of a quarter."""
    for words, by_chance in (
        ("a coin, two options", 1 / 4),
        ("a coin, four options", 1 / 16),
        ("always the same", 0.0),
    ):
        for share in (0.1, 0.25, 0.5):
            followed, inverted = share + (1 - share) * by_chance, (1 - share) * by_chance
            now = _least(partial(_sign_test_power, followed=followed, inverted=inverted))
            before = _least(partial(_bound_power, followed=followed)) if followed > 1 / 4 else None
            yield share, words, now, before


def _least(power: Callable[[int], float], wanted: float = 0.8) -> int | None:
    """Return the least number from which on the power is enough, up to a small dip."""
    high = 8
    while power(high) < wanted:
        high *= 2
        if high > 10_000:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high


def _sign_test_power(n: int, followed: float, inverted: float) -> float:
    moved = followed + inverted
    total = 0.0
    for d in range(8, n + 1):
        least = d - int(binom.ppf(PROVEN / 2, d, 0.5))
        while 2 * binom.sf(least - 1, d, 0.5) > PROVEN:
            least += 1
        total += binom.pmf(d, n, moved) * binom.sf(least - 1, d, followed / moved)
    return float(total)


def _bound_power(n: int, followed: float) -> float:
    """Return how often the lower 99 % end of the share followed was above a quarter."""
    enough = next((k for k in range(n + 1) if wilson_bounds(k, n, 0.99)[0] > 1 / 4), None)
    return 0.0 if enough is None else float(binom.sf(enough - 1, n, followed))


# Mixtures: looking lies within its interval, and what the verdict says.


def per_pair(share: float) -> Strategy:
    """Return a model that looks at a share of the originals and their edits, and says any word about the others."""

    def says(shot: Shot, words: Sequence[str], rng: Random) -> str:
        looks = seeded(f"{share} {shot.original}").random() < share
        return shot.truth if looks else rng.choice(words)

    return says


def per_answer(share: float) -> Strategy:
    """Return a model that looks for a share of its answers, and says any word otherwise."""
    return lambda shot, words, rng: shot.truth if rng.random() < share else rng.choice(words)


def of_answers(share: float, options: int) -> float:
    """Return looking if a model looks for a share of its answers."""
    return share**2 + 2 * share * (1 - share) / options


def mixtures(seeds: int = 200, judged: int = 5) -> Iterator[tuple[str, int, float, float, str]]:
    """Yield mixture, options, true looking, coverage, and the most frequent verdict on 100 pictures."""
    for share in (0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9):
        for words, model in (("pairs", per_pair(share)), ("answers", per_answer(share))):
            for options in (2, 4):
                truth = share if words == "pairs" else of_answers(share, options)
                study = replace(FULL, n=100, options=options, has_roles=False)
                inside, standings = 0, Counter[str]()
                for seed in range(seeds):
                    rng = seeded(seed)
                    pairs = study.draw(model if words == "answers" else _salted(model, seed), rng)
                    looking = design_of([pair for pair in pairs if pair.edit.is_relevant]).interval()
                    inside += looking.low <= truth <= looking.high
                    if seed < judged:
                        standings[judge_looking(pairs).standing] += 1
                name = f"looks for {100 * share:.0f} % of the {words}"
                yield name, options, truth, inside / seeds, standings.most_common(1)[0][0]


def _salted(model: Strategy, seed: int) -> Strategy:
    return lambda shot, words, rng: model(replace(shot, original=shot.original + 1000 * seed), words, rng)


# Tables.


def _markdown(title: str, columns: Sequence[str], rows: Iterable[Row]) -> str:
    lines = [f"**{title}**", "", f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows), ""])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def certificate_table() -> str:
    """Return the table of models that do not look."""
    rows = [
        (name, design, f"{proven} of {n}", "–" if math.isnan(named) else f"{100 * named:.0f} %")
        for name, design, n, proven, named in certificate()
    ]
    return _markdown("Models that do not look", ("model", "design", "proven", "gap named"), rows)


def level_table() -> str:
    """Return the table of the level of the test."""
    rows = [(name, words, _percent(share)) for name, words, share in level()]
    return _markdown("Proven at 1 %, by models that do not look", ("design", "model", "proven"), rows)


def coverage_table() -> str:
    """Return the table of coverage on the designs of the instruments."""
    rows = [(name, *map(_percent, rates)) for name, rates in coverage()]
    shares = [f"looks at {100 * share:.0f} %" for share in SHARES]
    return _markdown("Coverage of the 99 % interval of looking", ("design", *shares), rows)


def means_table() -> str:
    """Return the table of coverage of means of −1, 0 and 1."""
    rows = [(k, words, _percent(one), _percent(other)) for k, words, one, other in means()]
    columns = ("clusters", "weights", "at 95 %", "at 99 %")
    return _markdown("Least coverage of the interval, over shares of looking from 0 to 1", columns, rows)


def power_table() -> str:
    """Return the table of power."""
    rows = [(f"{100 * share:.0f} %", words, n or "never", old or "never") for share, words, n, old in power()]
    return _markdown(
        "Pictures for a proof in four of five studies",
        ("looks at", "otherwise", "followed against inverted", "lower end of followed above ¼"),
        rows,
    )


def mixtures_table() -> str:
    """Return the table of mixtures."""
    rows = [(w, k, f"{t:.3f}", _percent(rate), words) for w, k, t, rate, words in mixtures()]
    return _markdown(
        "Mixtures, 100 pictures", ("model", "options", "looking", "within its interval", "verdict"), rows
    )


TABLES: dict[str, Callable[[], str]] = {
    "certificate": certificate_table,
    "level": level_table,
    "coverage": coverage_table,
    "means": means_table,
    "power": power_table,
    "mixtures": mixtures_table,
}


def run() -> Iterator[Result]:
    """Yield the limits that looking keeps to."""
    for name, design, n, proven, named in certificate(200):
        if math.isnan(named):
            yield Result(f"{name}, {design}: proven", 1000 * proven / n, "of 1000", at_most=2 * MOST_PROVEN)
        else:
            yield Result(f"{name}, {design}: gap named", named, "share", at_least=1.0)
    for name, rates in coverage(100):
        yield Result(f"least coverage, {name}", min(rates), "share", at_least=0.95)


if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        print(TABLES[table](), flush=True)
