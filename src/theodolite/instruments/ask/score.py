"""Does the picture matter? Accuracy with it, without it and with a wrong one, all paired."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.ask.parse import PARSER, Answer, normal_form, parse_answer
from theodolite.instruments.ask.questions import SETTINGS, Setting
from theodolite.runs import Parsed, Result, Run

Verdict: TypeAlias = Literal["looks", "does not look", "undecided"]

EQUIVALENT = 0.05
"""A picture that moves accuracy by less than five points, with confidence, does not matter."""
_FEWEST = 20
"""Fewer pictures give no verdict."""
_LEVEL, _TOST_LEVEL = 0.95, 0.90
"""Of the intervals shown, and of the one that two one-sided tests at 5 % come down to."""


@dataclass(frozen=True, slots=True)
class SettingScore:
    """What came of one setting."""

    setting: Setting
    asked: int
    answered: int
    refused: int
    failed: int
    unreadable: int
    """Answered, but nothing could be read in it."""
    accuracy: stats.Estimate | None
    """Share of right answers among all that were asked and not failed; unreadable and refused are not right."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The setting with the picture against another one, question by question."""

    against: Setting
    drop: stats.Estimate
    """Right with the picture minus right in the other setting, clustered by picture."""
    p_value: float
    """Exact McNemar test; where several questions share a picture, their signs flip together instead."""
    same_answer: stats.Estimate | None
    """Share of questions that get the same readable answer in both."""
    follows: stats.Estimate | None
    """Of the swaps between questions of the same words: share that give the answer which the shown picture holds."""
    likeness: stats.Estimate
    """The drop again, with the 90 % interval that decides on equivalence."""
    is_equivalent: bool
    """Whether that interval lies within ±5 points (two one-sided tests)."""


@dataclass(frozen=True, slots=True)
class AskScore:
    """The result of an ``ask`` run."""

    model: str
    settings: tuple[SettingScore, ...]
    comparisons: tuple[Comparison, ...]
    majority: float
    """What always giving the most frequent answer would score."""
    verdict: Verdict
    because: str

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON."""
        return {"instrument": "ask", "parser": PARSER, **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Row:
    question: str
    cluster: str
    gold: str
    status: str
    answer: Answer | None
    shown: str | None
    """The answer that the picture shown holds, where it is known and not the gold one."""

    @property
    def is_measured(self) -> bool:
        return self.status in {"answered", "refused"}

    @property
    def is_read(self) -> bool:
        return self.answer is not None and self.answer.status == "parsed"

    @property
    def says(self) -> str:
        return normal_form(self.answer.value) if self.answer is not None else ""

    @property
    def is_right(self) -> bool:
        return self.is_read and self.says == normal_form(self.gold)

    @property
    def follows(self) -> bool:
        return self.is_read and self.shown is not None and self.says == normal_form(self.shown)


def score_ask(run: Run, *, seed: int = 0) -> AskScore:
    """Reads a run's answers and scores them; keeps readings and scores in the run. Never calls a model.

    Args:
        run: opened for writing.
        seed: of the bootstrap.
    """
    if run.info.instrument != "ask":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of ask")
    rows: defaultdict[Setting, list[_Row]] = defaultdict(list)
    readings: list[Parsed] = []
    for result in run.results():
        if missing := {"question", "setting", "cluster", "gold", "options"} - result.item.meta.keys():
            raise UsageError(f"the item {result.item.name!r} of {run.folder} does not say its {min(missing)}")
        row = _row(result)
        rows[cast("Setting", result.item.meta["setting"])].append(row)
        if row.answer is not None:
            readings.append(Parsed(result.item.id, PARSER, row.answer.status, row.answer.value))
    if not rows:
        raise UsageError(f"{run.folder} holds no question yet; repeat the command that made it")
    run.write_parsed(readings)
    score = _score(run.info.model, rows, seed)
    run.write_scores(score.as_json())
    return score


def _row(result: Result) -> _Row:
    meta, record = result.item.meta, result.record
    status = record.response.status if record is not None else "pending"
    answer = None
    if record is not None and record.response.is_answered:
        answer = parse_answer(record.response.text, cast("list[str]", meta["options"]))
    shown = cast("str | None", meta.get("shown"))
    return _Row(str(meta["question"]), str(meta["cluster"]), str(meta["gold"]), status, answer, shown)


def _score(model: str, rows: Mapping[Setting, Sequence[_Row]], seed: int) -> AskScore:
    settings = tuple(_setting(setting, rows[setting], seed) for setting in SETTINGS if setting in rows)
    comparisons = tuple(
        comparison
        for other in SETTINGS[1:]
        if "picture" in rows and other in rows
        for comparison in [_compare(rows["picture"], rows[other], other, seed)]
        if comparison is not None
    )
    golds = Counter(row.gold for row in next(iter(rows.values())))
    majority = max(golds.values()) / golds.total()
    verdict, because = _verdict(comparisons)
    return AskScore(model, settings, comparisons, majority, verdict, because)


def _setting(setting: Setting, rows: Sequence[_Row], seed: int) -> SettingScore:
    statuses = Counter(row.status for row in rows)
    asked = [row for row in rows if row.is_measured]
    return SettingScore(
        setting,
        asked=len(rows) - statuses["pending"],
        answered=statuses["answered"],
        refused=statuses["refused"],
        failed=statuses["failed"],
        unreadable=sum(row.answer is not None and row.answer.status != "parsed" for row in rows),
        accuracy=_share([row.is_right for row in asked], [row.cluster for row in asked], seed),
    )


def _compare(mine: Sequence[_Row], theirs: Sequence[_Row], against: Setting, seed: int) -> Comparison | None:
    """Pairs the questions that both settings measured; None if there are none."""
    other = {row.question: row for row in theirs if row.is_measured}
    pairs = [(row, other[row.question]) for row in mine if row.is_measured and row.question in other]
    if len(pairs) < 2:
        return None
    clusters = [row.cluster for row, _ in pairs]
    with_picture, without = (
        np.array([row.is_right for row in side], float) for side in zip(*pairs, strict=True)
    )
    readable = [(a, b) for a, b in pairs if a.is_read and b.is_read]
    shown = [row for _, row in pairs if row.shown is not None]
    likeness = _difference(with_picture - without, clusters, level=_TOST_LEVEL, seed=seed)
    return Comparison(
        against=against,
        drop=_difference(with_picture - without, clusters, level=_LEVEL, seed=seed),
        p_value=_p_value(with_picture, without, clusters, seed),
        same_answer=_share([a.says == b.says for a, b in readable], [a.cluster for a, _ in readable], seed),
        follows=_share([row.follows for row in shown], [row.cluster for row in shown], seed),
        likeness=likeness,
        is_equivalent=likeness.lies_within(-EQUIVALENT, EQUIVALENT),
    )


def _share(flags: Sequence[bool], clusters: Sequence[str], seed: int) -> stats.Estimate | None:
    """A share with its interval: clustered bootstrap, or Wilson's over clusters where all flags are alike."""
    if not flags:
        return None
    n = len(set(clusters))
    if len(set(flags)) == 1 or n < 2:
        return stats.wilson_interval(n if flags[0] else 0, n)
    return stats.bootstrap(np.array(flags, float), clusters=clusters, interval="percentile", seed=seed)


def _difference(
    differences: NDArray[np.float64], clusters: Sequence[str], *, level: float, seed: int
) -> stats.Estimate:
    """The mean of paired differences: clustered bootstrap, but never surer than the number of clusters allows.

    Where nearly all pairs are alike, a bootstrap knows next to no doubt. But n clusters that show nothing still leave
    room for a share 1 − w of others, w the lower Wilson bound of n out of n: the interval reaches at least that far.
    """
    n = len(set(clusters))
    value, doubt = float(differences.mean()), 1 - stats.wilson_interval(n, n, level=level).low
    low, high, method = max(-1.0, value - doubt), min(1.0, value + doubt), f"Wilson, {n} clusters"
    if n > 1:
        drawn = stats.bootstrap(differences, clusters=clusters, interval="percentile", level=level, seed=seed)
        if drawn.low < low or drawn.high > high:
            low, high, method = min(low, drawn.low), max(high, drawn.high), drawn.method
    return stats.Estimate(value, low, high, n, level, method, n_items=len(differences))


def _p_value(
    first: NDArray[np.float64], second: NDArray[np.float64], clusters: Sequence[str], seed: int
) -> float:
    if len(set(clusters)) == len(clusters):
        return stats.mcnemar(first, second, method="exact").p_value
    return stats.sign_flip_test(first, second, clusters=clusters, seed=seed).p_value


def _verdict(comparisons: Sequence[Comparison]) -> tuple[Verdict, str]:
    """A wrong picture is the sharper test: it looks like any other request, so the model cannot excuse itself."""
    if not comparisons:
        return "undecided", "no question was measured both with its picture and in another setting"
    sharpest = comparisons[-1]
    drop = sharpest.drop
    words = {"blind": "taking the picture away", "swapped": "showing another picture"}[sharpest.against]
    if drop.n < _FEWEST:
        return (
            "undecided",
            f"questions about {drop.n} pictures are too few; at least {_FEWEST} pictures are needed",
        )
    if drop.low > 0:
        return "looks", f"{words} costs {_points(drop)}"
    if sharpest.is_equivalent:
        return "does not look", f"{words} costs nothing: {_points(sharpest.likeness)}"
    return "undecided", f"{words} costs {_points(drop)}: more questions would settle it"


def _points(drop: stats.Estimate) -> str:
    return (
        f"{100 * drop.value:.0f} points, {100 * drop.level:.0f} % interval [{100 * drop.low:.1f}, {100 * drop.high:.1f}], "
        f"of {drop.n_items} questions"
    )
