"""Score ask: accuracy with the picture, without it and with another one, paired by question.

Item scores, by setting (``picture``, ``blind``, ``swapped``):

accuracy:<setting>     1 if the answer is right; refused and unreadable answers are wrong
drop:<setting>         accuracy with the picture − accuracy in that setting
same_answer:<setting>  1 if the answer is the same as with the picture; for questions with readable answers in both
follows:swapped        1 if the answer is right for the other picture; for swaps between questions of the same words
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

import numpy as np

from theodolite import stats
from theodolite.answers import READER, Answer, normal_form
from theodolite.answers.items import is_right, read_record
from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric
from theodolite.core.tables import Column, Table
from theodolite.instruments.ask.questions import SETTINGS, Setting
from theodolite.pairs import AnsweredPair
from theodolite.pairs.edits import NATURAL
from theodolite.runs import Parsed, Result, Run

__all__ = [
    "METRICS",
    "AskScore",
    "Comparison",
    "SettingScore",
    "answered_pairs",
    "item_scores",
    "score_ask",
    "score_tables",
]

Verdict: TypeAlias = Literal["looks", "does not look", "cannot be read", "undecided"]

EQUIVALENT = 0.05
"""The margin for equivalence: a drop within ± five points means that the picture does not matter."""
MAX_UNREAD = 0.5
"""There is no verdict if more than this fraction of the answers with the picture cannot be read."""
_MIN_PICTURES = 20
"""There is no verdict with fewer pictures."""

_OTHERS = SETTINGS[1:]


def _metric(key: str, name: str, *, higher: bool, bounds: tuple[float, float] = (0.0, 1.0)) -> Metric:
    unit: Literal["share", "points"] = "points" if bounds[0] < 0 else "share"
    return Metric(f"ask.{key}", name, higher, "ours", "text", bounds, unit)


METRICS: tuple[Metric, ...] = (
    *(_metric(f"accuracy:{setting}", f"accuracy, {setting}", higher=True) for setting in SETTINGS),
    *(_metric(f"drop:{setting}", f"drop, {setting}", higher=True, bounds=(-1.0, 1.0)) for setting in _OTHERS),
    *(_metric(f"same_answer:{setting}", f"same answer, {setting}", higher=False) for setting in _OTHERS),
    _metric("follows:swapped", "answer follows the picture shown", higher=True),
)
_BY_KEY = {metric.key: metric for metric in METRICS}


@dataclass(frozen=True, slots=True)
class SettingScore:
    """The answers in one setting."""

    setting: Setting
    asked: int
    answered: int
    refused: int
    """Refused in the text of the answer, or by the server."""
    failed: int
    unreadable: int
    """Answered, but cut off, ambiguous, none of the options, or unreadable."""
    accuracy: stats.Estimate | None
    """Right answers among those asked and not failed. Refused and unreadable answers count as wrong."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The setting with the picture compared with another one, paired by question."""

    against: Setting
    drop: stats.Estimate
    """Accuracy with the picture minus accuracy in the other setting, with an interval over pictures."""
    p_value: float
    """By the exact McNemar test, or by sign flips of whole pictures if several questions share one."""
    same_answer: stats.Estimate | None
    follows: stats.Estimate | None
    likeness: stats.Estimate
    """The drop with its 90 % interval, for the test of equivalence."""
    is_equivalent: bool
    """True if that interval lies within ±5 points (two one-sided tests)."""


@dataclass(frozen=True, slots=True)
class AskScore:
    """The result of an ``ask`` run."""

    model: str
    settings: tuple[SettingScore, ...]
    comparisons: tuple[Comparison, ...]
    majority: float
    """The accuracy of always giving the most frequent answer."""
    verdict: Verdict
    because: str


@dataclass(frozen=True, slots=True)
class _Row:
    question: str
    cluster: str
    gold: str
    setting: Setting
    answer: Answer
    status: str
    """``answered``, ``refused``, ``failed`` or ``pending``."""
    shown: str | None
    """The right answer for the picture shown, if it is known and differs from the gold one."""

    @property
    def is_measured(self) -> bool:
        return self.status in {"answered", "refused"}

    @property
    def says(self) -> str:
        return normal_form(str(self.answer.value)) if self.answer.is_read else ""

    @property
    def is_right(self) -> bool:
        return is_right(self.answer, self.gold)


def item_scores(run: Run) -> list[ItemScore]:
    """Compute every metric of every question of a run."""
    split = str(run.info.settings.get("split") or "")
    return [replace(score, split=split) for score in _scores(_read(run))]


def _scores(rows: Mapping[Setting, Mapping[str, _Row]]) -> Iterator[ItemScore]:
    for setting, asked in rows.items():
        for row in asked.values():
            if row.is_measured:
                reason = "" if row.answer.is_read else row.answer.status
                yield ItemScore(
                    row.question, f"ask.accuracy:{setting}", float(row.is_right), row.cluster, reason=reason
                )
            else:
                yield ItemScore(row.question, f"ask.accuracy:{setting}", None, row.cluster, reason=row.status)
    with_picture = rows.get("picture", {})
    for setting in _OTHERS:
        for question, other in rows.get(setting, {}).items():
            mine = with_picture.get(question)
            if mine is not None and mine.is_measured and other.is_measured:
                yield from _paired(mine, other, setting)


def _paired(mine: _Row, other: _Row, setting: Setting) -> Iterator[ItemScore]:
    def score(key: str, value: float) -> ItemScore:
        return ItemScore(mine.question, f"ask.{key}:{setting}", value, mine.cluster)

    yield score("drop", float(mine.is_right) - float(other.is_right))
    if mine.answer.is_read and other.answer.is_read:
        yield score("same_answer", float(mine.says == other.says))
    if other.shown is not None:
        yield score("follows", float(other.answer.is_read and other.says == normal_form(other.shown)))


def answered_pairs(run: Run) -> Iterator[AnsweredPair]:
    """Yield the questions that were also asked about another picture, if the right answer there is known."""
    rows = _read(run)
    for question, other in rows.get("swapped", {}).items():
        mine = rows.get("picture", {}).get(question)
        if mine is not None and other.shown is not None and mine.is_measured and other.is_measured:
            before, after = (
                Answer("value", row.says, row.answer.reason) if row.answer.is_read else row.answer
                for row in (mine, other)
            )
            yield AnsweredPair(
                question,
                NATURAL,
                mine.cluster,
                before,
                after,
                gold=normal_form(mine.gold),
                edited_gold=normal_form(other.shown),
            )


def score_ask(run: Run, *, seed: int = 0) -> AskScore:
    """Score a run, and store its parsed answers. No model is called.

    Args:
        run: A run, opened for writing.
        seed: Seed of the sign-flip test.
    """
    rows = _read(run)
    scores = list(_scores(rows))
    settings = tuple(_setting(setting, list(rows[setting].values()), scores) for setting in rows)
    comparisons = tuple(
        comparison
        for other in _OTHERS
        if "picture" in rows and other in rows
        for comparison in [_compare(rows, other, scores, seed)]
        if comparison is not None
    )
    golds = Counter(row.gold for row in next(iter(rows.values())).values())
    verdict, because = _verdict(settings, comparisons)
    score = AskScore(
        run.info.model, settings, comparisons, max(golds.values()) / golds.total(), verdict, because
    )
    run.write_tables(score_tables(score))
    return score


def _read(run: Run) -> dict[Setting, dict[str, _Row]]:
    """Read the rows of each setting by question, and store the parsed answers if the run is writable."""
    if run.info.instrument != "ask":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of ask")
    rows: defaultdict[Setting, dict[str, _Row]] = defaultdict(dict)
    parsed: list[Parsed] = []
    for result in run.results():
        if missing := {"question", "setting", "cluster", "gold", "options"} - result.item.meta.keys():
            raise UsageError(f"the item {result.item.name!r} of {run.folder} has no {min(missing)}")
        row = _row(result)
        rows[row.setting][row.question] = row
        if row.status == "answered":
            parsed.append(Parsed(result.item.id, READER, row.answer.status, row.answer.value))
    if not rows:
        raise UsageError(f"{run.folder} has no questions yet; repeat the command that created it")
    run.write_parsed(parsed)
    return {setting: rows[setting] for setting in SETTINGS if setting in rows}


def _row(result: Result) -> _Row:
    meta, record = result.item.meta, result.record
    status = record.response.status if record is not None else "pending"
    answer = read_record(result.item, record)
    if status == "answered" and answer.status == "refused":
        status = "refused"
    shown = cast("str | None", meta.get("shown"))
    setting = cast("Setting", meta["setting"])
    return _Row(
        str(meta["question"]), str(meta["cluster"]), str(meta["gold"]), setting, answer, status, shown
    )


def _setting(setting: Setting, rows: Sequence[_Row], scores: Sequence[ItemScore]) -> SettingScore:
    statuses = Counter(row.status for row in rows)
    return SettingScore(
        setting,
        asked=len(rows) - statuses["pending"],
        answered=statuses["answered"],
        refused=statuses["refused"],
        failed=statuses["failed"],
        unreadable=sum(row.status == "answered" and not row.answer.is_read for row in rows),
        accuracy=_mean(f"accuracy:{setting}", scores),
    )


def _mean(key: str, scores: Sequence[ItemScore]) -> stats.Estimate | None:
    return stats.score_mean(_BY_KEY[f"ask.{key}"], scores)


def _compare(
    rows: Mapping[Setting, Mapping[str, _Row]], against: Setting, scores: Sequence[ItemScore], seed: int
) -> Comparison | None:
    """Compare two settings on the questions measured in both. None if there are fewer than two."""
    pairs = [
        (mine, other)
        for question, mine in rows["picture"].items()
        if mine.is_measured and (other := rows[against].get(question)) is not None and other.is_measured
    ]
    if len(pairs) < 2:
        return None
    clusters = [mine.cluster for mine, _ in pairs]
    first, second = (np.array([row.is_right for row in side], float) for side in zip(*pairs, strict=True))
    drop = _mean(f"drop:{against}", scores)
    likeness = stats.equivalent(first, second, clusters, margin=EQUIVALENT)
    if drop is None or likeness is None:
        return None
    is_single = len(set(clusters)) == len(clusters)
    test = (
        stats.mcnemar(first, second, method="exact")
        if is_single
        else stats.sign_flip_test(first, second, clusters=clusters, seed=seed)
    )
    return Comparison(
        against=against,
        drop=drop,
        p_value=test.p_value,
        same_answer=_mean(f"same_answer:{against}", scores),
        follows=_mean("follows:swapped", scores) if against == "swapped" else None,
        likeness=likeness.estimate,
        is_equivalent=likeness.is_equivalent,
    )


def _verdict(settings: Sequence[SettingScore], comparisons: Sequence[Comparison]) -> tuple[Verdict, str]:
    """Decide by the swapped pictures if possible: they look like any other request, so there is no reason to refuse."""
    shown = next((each for each in settings if each.setting == "picture"), None)
    if shown is not None and shown.asked:
        lost = shown.refused + shown.unreadable
        if lost > MAX_UNREAD * (shown.answered + shown.refused):
            counts = f"{shown.refused} refused, {shown.unreadable} unreadable"
            return (
                "cannot be read",
                f"{lost} of {shown.asked} responses with the picture have no answer ({counts})",
            )
    if not comparisons:
        return "undecided", "no question was measured both with its picture and in another setting"
    sharpest = comparisons[-1]
    drop = sharpest.drop
    words = {"blind": "removing the picture", "swapped": "showing another picture"}[sharpest.against]
    if drop.n < _MIN_PICTURES:
        return (
            "undecided",
            f"{drop.n} pictures are too few; at least {_MIN_PICTURES} are needed",
        )
    if drop.low > 0:
        return "looks", f"{words} costs {_points(drop)}"
    if sharpest.is_equivalent:
        return "does not look", f"{words} costs nothing: {_points(sharpest.likeness)}"
    return "undecided", f"{words} costs {_points(drop)}: more questions are needed to decide"


def _points(drop: stats.Estimate) -> str:
    return (
        f"{100 * drop.value:.0f} points, {100 * drop.level:.0f} % interval [{100 * drop.low:.1f}, {100 * drop.high:.1f}], "
        f"of {drop.n_items} questions"
    )


def score_tables(score: AskScore) -> list[Table]:
    """Build the tables of settings and comparisons, with the verdict."""
    settings = Table.of(
        "ask.settings",
        score.model,
        [
            Column("setting", "setting"),
            Column("accuracy", "accuracy", "share", "ask.accuracy"),
            Column("asked", "asked", "count"),
            Column("refused", "refused", "count"),
            Column("failed", "failed", "count"),
            Column("unreadable", "unreadable", "count"),
        ],
        [[s.setting, s.accuracy, s.asked, s.refused, s.failed, s.unreadable] for s in score.settings],
        [f"Always giving the most frequent answer: {100 * score.majority:.1f} %"],
    )
    comparisons = Table.of(
        "ask.comparisons",
        "The picture against",
        [
            Column("against", "setting"),
            Column("drop", "drop in points", "points", "ask.drop"),
            Column("p", "p", "p"),
            Column("same_answer", "same answer in both", "share", "ask.same_answer"),
            Column("follows", "follows the picture shown", "share", "ask.follows"),
        ],
        [[c.against, c.drop, c.p_value, c.same_answer, c.follows] for c in score.comparisons],
        [f"{score.verdict}: {score.because}"],
    )
    return [settings, comparisons]
