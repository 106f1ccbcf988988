"""The answers of an ask run by setting, and the pairs among them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, cast

import numpy as np

from theodolite import stats
from theodolite.answers import READER, Answer, normal_form
from theodolite.answers.grading import read_item
from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, column, metric_of
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import PLAIN, Record
from theodolite.instruments.ask.questions import BASES, SETTINGS, Setting
from theodolite.pairs import AnsweredPair, Standing, balance_of, by_design, judge_looking, pair_shares
from theodolite.pairs.outcomes import EDITS, NATURAL, SHARES, order_of, picture_of, repeated_pairs
from theodolite.runs import Parsed, Result, Run
from theodolite.stats.power import clusters_needed

__all__ = [
    "AnsweredRow",
    "AskScore",
    "Comparison",
    "Rows",
    "SettingScore",
    "answered_pairs",
    "implied_results",
    "item_scores",
    "read_rows",
    "score_ask",
    "score_tables",
]


@dataclass(frozen=True, slots=True)
class AnsweredRow:
    """A question in one setting, with the answer."""

    name: str
    """The name of the item in the run."""
    question: str
    words: str
    """The prompt."""
    cluster: str
    picture: str
    """What identifies the picture that was shown."""
    natural: str
    """The group of questions with the same words, other pictures and other answers."""
    gold: str
    right: frozenset[str]
    """All right answers for the picture shown, in normal form."""
    options: tuple[str, ...]
    setting: Setting
    edit: str
    answer: Answer
    status: str
    """``answered``, ``refused``, ``failed`` or ``pending``."""
    shown: frozenset[str] = frozenset()
    """The right answers for the picture shown, if it is that of another question and they are known."""
    record: Record | None = None

    @property
    def is_measured(self) -> bool:
        """True if the model was asked and did not fail."""
        return self.status in {"answered", "refused"}

    @property
    def says(self) -> str:
        """The answer in normal form. Empty if it could not be read."""
        return _normal(self.answer.value) if self.answer.is_read else ""

    @property
    def is_right(self) -> bool:
        """True if the answer is right. One that could not be read is not."""
        return self.answer.is_read and self.says in self.right


Rows = Mapping[Setting, Mapping[str, AnsweredRow]]
"""By setting and question."""


def read_rows(run: Run) -> Rows:
    """Read the rows of each setting by question, and store the parsed answers if the run is writable."""
    if run.info.instrument != "ask":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of ask")
    rows: defaultdict[Setting, dict[str, AnsweredRow]] = defaultdict(dict)
    parsed: list[Parsed] = []
    for result in run.results():
        row = _row(result)
        rows[row.setting][row.question] = row
        if row.status == "answered":
            parsed.append(Parsed(result.item.id, READER, row.answer.status, row.answer.value))
    if not rows:
        raise UsageError(f"{run.folder} has no questions yet; repeat the command that created it")
    run.write_parsed(parsed)
    for result in implied_results(run):
        row = _row(result)
        rows[row.setting][row.question] = row
    return {setting: rows[setting] for setting in SETTINGS if setting in rows}


def implied_results(run: Run) -> Iterator[Result]:
    """Yield the swapped setting of questions for which it needed no request of its own.

    A question with the same words, another picture and another answer is the swapped setting of this one.
    """
    plain = {result.item.subject: result for result in run.results() if result.item.truth.is_plain}
    for own in plain.values():
        other = plain.get(str(own.item.meta.get("other") or ""))
        if other is not None:
            name = f"{own.item.subject}/swapped"
            item = replace(
                own.item,
                name=name,
                request=replace(other.item.request, ref=name, hint=own.item.request.hint, recall="content"),
                meta={**own.item.meta, "shown": list(other.item.truth.golds)},
                truth=replace(own.item.truth, condition="swapped"),
            )
            record = None if other.record is None else replace(other.record, item_id=item.id)
            yield Result(own.seq, item, record)


def _row(result: Result) -> AnsweredRow:
    item, record = result.item, result.record
    truth, meta = item.truth, item.meta
    if not truth.golds:
        raise UsageError(f"the item {item.name!r} has no right answer")
    status = record.response.status if record is not None else "pending"
    shown = cast("str | list[str]", meta.get("shown", []))
    answer = read_item(item, record)
    if status == "answered" and answer.status == "refused":
        status = "refused"
    return AnsweredRow(
        item.name,
        item.subject,
        item.request.text,
        item.cluster,
        picture_of(item),
        str(meta.get("natural") or item.cluster),
        truth.golds[0],
        frozenset(map(_normal, truth.golds)),
        item.options,
        "picture" if truth.condition == PLAIN else cast("Setting", truth.condition),
        truth.edit,
        answer,
        status,
        frozenset(map(_normal, [shown] if isinstance(shown, str) else shown)),
        record,
    )


def _normal(value: object) -> str:
    """Return text in normal form; numbers by value.

    >>> _normal("3"), _normal(3.0), _normal("The **Left**.")
    ('3', '3', 'the left')
    """
    text = str(value).strip()
    if re.fullmatch(r"[-+]?\d+(?:\.\d+)?", text):
        return f"{float(text):g}"
    return normal_form(text)


def answered_pairs(rows: Rows, *, split: str = "") -> Iterator[AnsweredPair]:
    """Yield the pairs of a run.

    *Another picture*: two plain answers to the same words about two pictures whose right answers differ; no request is
    needed beyond the plain ones. All pictures of the same words are one group, whatever pairs are listed. Other edits: the answer about the picture, and about the edited picture.
    """
    plain = {name: row for name, row in rows.get("picture", {}).items() if row.is_measured}
    groups: defaultdict[str, defaultdict[str, list[AnsweredRow]]] = defaultdict(lambda: defaultdict(list))
    for row in plain.values():
        groups[row.words][row.natural].append(row)
    for same_words in groups.values():
        single = (group[0] for group in same_words.values() if len(group) == 1)
        more = tuple((row.picture, _normal(row.gold), _named(row)) for row in single)
        for group in same_words.values():
            for first, second in combinations(sorted(group, key=_place), 2):  # their right answers all differ
                pair = _pair(first, second, NATURAL.name, split)
                yield replace(pair, group=first.words, more=more)
    for setting in SETTINGS:
        for name, after in rows.get(setting, {}).items():
            before = rows.get(BASES.get(setting, "picture"), {}).get(name)
            if after.edit and before is not None and before.is_measured and after.is_measured:
                yield _pair(before, after, after.edit, split)


def _place(row: AnsweredRow) -> tuple[int, bool, str]:
    """Return the position of the right answer among the options, yes before no, for a steady order within pairs."""
    return (
        row.options.index(row.gold) if row.gold in row.options else 0,
        _normal(row.gold) == "no",
        row.gold,
    )


def _in_order(first: AnsweredRow, second: AnsweredRow) -> tuple[str, str]:
    one, other = sorted((first, second), key=_place)
    return one.gold, other.gold


def _pair(first: AnsweredRow, second: AnsweredRow, edit: str, split: str) -> AnsweredPair:
    asked, is_half_reused = order_of(first.record, second.record)
    return AnsweredPair(
        first.question,
        EDITS[edit],
        first.natural,
        _named(first, second),
        _named(second, first),
        gold=_normal(first.gold),
        edited_gold=_normal(second.gold),
        split=split,
        relation=_relation(*_in_order(first, second), has_options=bool(first.options)),
        shown=(first.name, second.name),
        pictures=(first.picture, second.picture),
        question=first.words,
        asked=asked,
        is_half_reused=is_half_reused,
    )


def _named(row: AnsweredRow, other: AnsweredRow | None = None) -> Answer:
    """Return an answer in normal form, as the first right answer if it is a right one of its own picture or of another."""
    names = {right: _normal(each.gold) for each in (other, row) if each is not None for right in each.right}
    return (
        Answer("value", names.get(row.says, row.says), row.answer.reason)
        if row.answer.is_read
        else row.answer
    )


def _relation(first: str, second: str, *, has_options: bool) -> str:
    """Return the two right answers without their common words; empty for open questions, which have too many answers.

    >>> _relation("To the left", "To the right", has_options=True), _relation("To the left", "Under", has_options=True)
    ('left / right', 'left / under')
    """
    both = [normal_form(text).split() for text in (first, second)]
    is_yes_no = {word for words in both for word in words} <= {"yes", "no"}
    if both[0] == both[1] or not (has_options or is_yes_no):
        return ""
    while all(len(words) > 1 for words in both) and both[0][0] == both[1][0]:
        both = [words[1:] for words in both]
    while all(len(words) > 1 for words in both) and both[0][-1] == both[1][-1]:
        both = [words[:-1] for words in both]
    names = (
        re.sub(r"^(?:to|on|at) the (?=left|right)|(?<=left|ight) of$", "", " ".join(words)) for words in both
    )
    return " / ".join(names)


# Score ask: accuracy in every setting, paired by question, and the verdict.
#
# Item scores, by setting (``picture``, ``blind``, ``swapped``, ``mirror``, ``light``):
#
# accuracy:<setting>     1 if the answer is right; refused and unreadable answers are wrong
# drop:<setting>         accuracy with the picture − accuracy in that setting; for ``blind`` and ``swapped``
# same_answer:<setting>  1 if the answer is the same as with the picture; for questions with readable answers in both
# follows:swapped        1 if the answer is right for the other picture; for swaps between questions of the same words
#
# The verdict rests on pairs where there are relevant ones (`theodolite.pairs.verdict`). Otherwise it rests on the drop with the
# picture of another question, by the same exact test and at the same level: answers that do not depend on the picture are as
# often right with another one, and the drop is at most the share of answers that do.
#
# ======================== ===============================================================================================
# cannot be read           more than half of the answers with the picture were refused or could not be read
# looks at least sometimes the drop is above 0
# no looking found         the drop lies within ±10 points
# not settled              anything else, or fewer than 20 pictures, or the answers with the other picture cannot be read
# ======================== ===============================================================================================


LITTLE = 0.1
"""A drop surely below this means that no looking was found."""
LEVEL = 0.99
_HALF = 0.5
_MIN_PICTURES = 20
"""With fewer pictures the drop settles nothing."""

_COMPARED: tuple[Literal["blind"], Literal["swapped"]] = ("blind", "swapped")
"""The settings that are compared with the picture."""


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
    """By sign flips of whole pictures: the exact McNemar test if no two questions share one."""
    same_answer: stats.Estimate | None
    follows: stats.Estimate | None


@dataclass(frozen=True, slots=True)
class AskScore:
    """The result of an ``ask`` run."""

    model: str
    settings: tuple[SettingScore, ...]
    comparisons: tuple[Comparison, ...]
    majority: float
    """The accuracy of always giving the most frequent answer."""
    pairs: tuple[AnsweredPair, ...]
    verdict: Standing
    because: str
    unanswered: int = 0
    """Questions of the data that were not asked, because a log has no answer to them."""


def item_scores(run: Run) -> list[ItemScore]:
    """Compute every metric of every question of a run."""
    split = str(run.info.settings.get("split") or "")
    return [replace(score, split=split) for score in _scores(read_rows(run))]


def _scores(rows: Rows) -> Iterator[ItemScore]:
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
    for setting in _COMPARED:
        for question, other in rows.get(setting, {}).items():
            mine = with_picture.get(question)
            if mine is not None and mine.is_measured and other.is_measured:
                yield from _paired(mine, other, setting)


def _paired(mine: AnsweredRow, other: AnsweredRow, setting: Setting) -> Iterator[ItemScore]:
    def score(key: str, value: float) -> ItemScore:
        return ItemScore(mine.question, f"ask.{key}:{setting}", value, mine.cluster)

    yield score("drop", float(mine.is_right) - float(other.is_right))
    if mine.answer.is_read and other.answer.is_read:
        yield score("same_answer", float(mine.says == other.says))
    if other.shown:
        yield score("follows", float(other.says in other.shown))


def score_ask(run: Run, *, seed: int = 0) -> AskScore:
    """Score a run, and store its parsed answers. No model is called.

    Args:
        run: A run, opened for writing.
        seed: Seed of the sign-flip test.
    """
    rows = read_rows(run)
    scores = list(_scores(rows))
    settings = tuple(_setting(setting, list(rows[setting].values()), scores) for setting in rows)
    comparisons = tuple(
        comparison
        for other in _COMPARED
        if "picture" in rows and other in rows
        for comparison in [_compare(rows, other, scores, seed)]
        if comparison is not None
    )
    asked = next(iter(rows.values()))
    golds = Counter(row.gold for row in asked.values())
    split = str(run.info.settings.get("split") or "")
    pairs = (*answered_pairs(rows, split=split), *repeated_pairs(run))
    verdict, because = _verdict(settings, comparisons, pairs)
    known = run.info.settings.get("questions")
    score = AskScore(
        run.info.model,
        settings,
        comparisons,
        max(golds.values()) / golds.total(),
        pairs,
        verdict,
        because,
        max(0, known - len(asked)) if isinstance(known, int) else 0,
    )
    run.write_tables(score_tables(score))
    return score


def _setting(setting: Setting, rows: Sequence[AnsweredRow], scores: Sequence[ItemScore]) -> SettingScore:
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
    return stats.score_mean(metric_of(f"ask.{key}"), scores)


def _compare(rows: Rows, against: Setting, scores: Sequence[ItemScore], seed: int) -> Comparison | None:
    """Compare two settings on the questions measured in both; None if there are fewer than two."""
    pairs = [
        (mine, other)
        for question, mine in rows["picture"].items()
        if mine.is_measured and (other := rows[against].get(question)) is not None and other.is_measured
    ]
    if len(pairs) < 2:
        return None
    clusters = [mine.cluster for mine, _ in pairs]
    first, second = (np.array([row.is_right for row in side], float) for side in zip(*pairs, strict=True))
    drop, test = stats.paired_difference(first, second, clusters, level=LEVEL, seed=seed)
    if drop is None:
        return None
    return Comparison(
        against=against,
        drop=drop,
        p_value=test.p_value,
        same_answer=_mean(f"same_answer:{against}", scores),
        follows=_mean("follows:swapped", scores) if against == "swapped" else None,
    )


def _verdict(
    settings: Sequence[SettingScore],
    comparisons: Sequence[Comparison],
    pairs: Sequence[AnsweredPair],
) -> tuple[Standing, str]:
    """Decide by pairs if there are relevant ones, pictures as they are before edits; else by the drop."""
    for design in by_design(pairs):
        judgement = judge_looking(design)
        return judgement.standing, judgement.because
    by_setting = {score.setting: score for score in settings}
    shown = by_setting.get("picture")
    if shown is not None and _is_lost(shown):
        counts = f"{shown.refused} refused, {shown.unreadable} unreadable"
        lost = shown.refused + shown.unreadable
        return (
            "cannot be read",
            f"{lost} of {shown.asked} responses with the picture have no answer ({counts})",
        )
    swapped = next((compared for compared in comparisons if compared.against == "swapped"), None)
    if swapped is None:
        return "not settled", "no question was measured both with its picture and with another one"
    return _by_drop(swapped, by_setting["swapped"])


def _is_lost(setting: SettingScore) -> bool:
    return setting.refused + setting.unreadable > _HALF * (setting.answered + setting.refused)


def _by_drop(compared: Comparison, other: SettingScore) -> tuple[Standing, str]:
    drop, words = compared.drop, "showing another picture"
    if drop.n < _MIN_PICTURES:
        return "not settled", f"{drop.n} pictures are too few; at least {_MIN_PICTURES} are needed"
    if _is_lost(other):
        lost = other.refused + other.unreadable
        return "not settled", f"{lost} of {other.asked} responses after {words} have no answer"
    if drop.low > 0:
        return "looks at least sometimes", f"{words} costs {_points(drop)}"
    if drop.lies_within(-LITTLE, LITTLE):
        return "no looking found", f"{words} costs nothing: {_points(drop)}"
    return "not settled", f"{words} costs {_points(drop)}; {_would_settle(drop)}"


def _would_settle(drop: stats.Estimate) -> str:
    """Say how many pictures would show that the drop is above zero, or that it is within the margin."""
    needed = [clusters_needed(drop, 0.0)] if drop.value > 0 else []
    if abs(drop.value) < LITTLE:
        needed.append(clusters_needed(drop, math.copysign(LITTLE, drop.value)))
    feasible = [count for count in needed if count is not None]
    if not feasible:
        return (
            "no feasible number of questions would settle it: it is below zero, or too close to a threshold"
        )
    return f"questions about {min(feasible)} pictures would settle it, now there are {drop.n}"


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
            column("ask.accuracy"),
            Column("asked", "asked", "count"),
            Column("refused", "refused", "count"),
            Column("failed", "failed", "count"),
            Column("unreadable", "unreadable", "count"),
        ],
        [[s.setting, s.accuracy, s.asked, s.refused, s.failed, s.unreadable] for s in score.settings],
        [
            f"Always giving the most frequent answer: {100 * score.majority:.1f} %",
            *([f"{score.unanswered} more questions have no recorded answer"] if score.unanswered else []),
        ],
    )
    comparisons = Table.of(
        "ask.comparisons",
        "The picture against",
        [
            Column("against", "setting"),
            column("ask.drop"),
            Column("p", "p", "p"),
            column("ask.same_answer"),
            column("ask.follows"),
        ],
        [[c.against, c.drop, c.p_value, c.same_answer, c.follows] for c in score.comparisons],
        [] if score.pairs else [f"{score.verdict}: {score.because}"],
    )
    return [settings, comparisons, *([_pairs_table(score)] if score.pairs else [])]


def _pairs_table(score: AskScore) -> Table:
    """Return the outcomes of pairs by edit, and by the two right answers where these are few."""
    by_edit: dict[tuple[str, str], list[AnsweredPair]] = {}
    relations: dict[str, set[str]] = {}
    for pair in score.pairs:
        relations.setdefault(pair.edit.name, set()).add(pair.relation)
    for pair in score.pairs:
        by_edit.setdefault((pair.edit.name, ""), []).append(pair)
        if len(relations[pair.edit.name]) > 1 and pair.relation:
            by_edit.setdefault((pair.edit.name, pair.relation), []).append(pair)
    rows: list[list[Cell]] = []
    for (edit, relation), pairs in sorted(
        by_edit.items(), key=lambda entry: (not entry[1][0].edit.is_relevant, entry[0])
    ):
        shares = pair_shares(pairs)
        balance = balance_of(pairs) if pairs[0].edit.is_relevant else None
        looking = (balance.looking, balance.p_value) if balance is not None else (None, None)
        numbers = (getattr(shares, name) for name in SHARES)
        rows.append([edit, relation or "all", shares.n_relevant or shares.n_neutral, *looking, *numbers])
    columns = [
        Column("edit", "edit"),
        Column("answers", "right answers"),
        Column("pairs", "pairs", "count"),
        column("diagnose.looking"),
        Column("p", "p", "p"),
        *(column(f"diagnose.{name}") for name in SHARES),
    ]
    notes = [f"{score.verdict}: {score.because}"]
    return Table.of("ask.pairs", "Before and after an edit, or about two pictures", columns, rows, notes)
