"""The answers of an ask run by setting, and the pairs among them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import cast

from theodolite.answers import READER, Answer, normal_form
from theodolite.answers.items import format_of, read_record
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Record
from theodolite.instruments.ask.questions import SETTINGS, Setting
from theodolite.pairs import AnsweredGroup, AnsweredPair
from theodolite.pairs.edits import EDITS, NATURAL
from theodolite.runs import Parsed, Result, Run

__all__ = ["AnsweredRow", "Rows", "answered_pairs", "read_in_words", "read_rows"]


@dataclass(frozen=True, slots=True)
class AnsweredRow:
    """A question in one setting, with the answer."""

    name: str
    """The name of the item in the run."""
    question: str
    words: str
    """The prompt."""
    cluster: str
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
    other: str = ""
    """The id of a question with the same words, another picture and another answer."""

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
    """Read the rows of each setting by question, and store the parsed answers if the run is writable.

    A question with the same words, another picture and another answer is the swapped setting of this one.
    """
    if run.info.instrument != "ask":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of ask")
    rows: defaultdict[Setting, dict[str, AnsweredRow]] = defaultdict(dict)
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
    plain = rows.get("picture", {})
    for row in plain.values():
        other = plain.get(row.other)
        if other is not None:
            rows["swapped"][row.question] = replace(
                row,
                setting="swapped",
                answer=other.answer,
                status=other.status,
                shown=other.right,
                name=other.name,
            )
    return {setting: rows[setting] for setting in SETTINGS if setting in rows}


def answered_groups(rows: Rows) -> Iterator[AnsweredGroup]:
    """Yield the answers about three or more pictures of the same words, all with different right answers."""
    found: defaultdict[tuple[str, str], list[AnsweredRow]] = defaultdict(list)
    for row in rows.get("picture", {}).values():
        if row.is_measured:
            found[row.natural, row.words].append(row)
    for (natural, words), group in found.items():
        if len(group) > 2 and len({row.gold for row in group}) == len(group):
            answers = tuple(
                Answer("value", row.gold) if row.is_right else row.answer for row in group
            )  # one of several right answers counts as the first
            yield AnsweredGroup(words, natural, answers, tuple(row.gold for row in group))


def read_in_words(item: Item, record: Record | None) -> Answer:
    """The answer to an item, with the words of an option instead of its letter."""
    answer = read_record(item, record)
    if not answer.is_read:
        return answer
    words = format_of(item).options.get(str(answer.value))
    return answer if words is None else replace(answer, value=words)


def _row(result: Result) -> AnsweredRow:
    meta, record = result.item.meta, result.record
    status = record.response.status if record is not None else "pending"
    answer = read_in_words(result.item, record)
    if status == "answered" and answer.status == "refused":
        status = "refused"
    gold = str(meta["gold"])
    others = cast("Sequence[str]", meta.get("others") or ())
    return AnsweredRow(
        result.item.name,
        str(meta["question"]),
        result.item.request.text,
        str(meta["cluster"]),
        str(meta.get("natural") or meta["cluster"]),
        gold,
        frozenset(map(_normal, (gold, *others))),
        tuple(cast("Sequence[str]", meta["options"])),
        cast("Setting", meta["setting"]),
        str(meta.get("edit") or ""),
        answer,
        status,
        frozenset({_normal(meta["shown"])} if "shown" in meta else ()),
        str(meta.get("other") or ""),
    )


def _normal(value: object) -> str:
    """Text in normal form; numbers by value.

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
    needed beyond the plain ones. Other edits: the answer about the picture, and about the edited picture.
    """
    plain = {name: row for name, row in rows.get("picture", {}).items() if row.is_measured}
    groups: defaultdict[tuple[str, str], list[AnsweredRow]] = defaultdict(list)
    for row in plain.values():
        groups[row.words, row.natural].append(row)
    for group in groups.values():
        for first, second in combinations(sorted(group, key=_place), 2):  # their right answers all differ
            yield replace(_pair(first, second, NATURAL.name, split), group=f"{first.natural} {first.words}")
    for setting in SETTINGS:
        for name, after in rows.get(setting, {}).items():
            before = plain.get(name)
            if after.edit and before is not None and after.is_measured:
                yield _pair(before, after, after.edit, split)


def _place(row: AnsweredRow) -> tuple[int, bool, str]:
    """The place of the right answer among the options, yes before no, for a steady order within pairs."""
    return (
        row.options.index(row.gold) if row.gold in row.options else 0,
        _normal(row.gold) == "no",
        row.gold,
    )


def _in_order(first: AnsweredRow, second: AnsweredRow) -> tuple[str, str]:
    one, other = sorted((first, second), key=_place)
    return one.gold, other.gold


def _pair(first: AnsweredRow, second: AnsweredRow, edit: str, split: str) -> AnsweredPair:
    names = {right: _normal(row.gold) for row in (second, first) for right in row.right}

    def named(row: AnsweredRow) -> Answer:
        says = names.get(row.says, row.says)
        return Answer("value", says, row.answer.reason) if row.answer.is_read else row.answer

    return AnsweredPair(
        first.question,
        EDITS[edit],
        first.natural,
        named(first),
        named(second),
        gold=_normal(first.gold),
        edited_gold=_normal(second.gold),
        split=split,
        relation=_relation(*_in_order(first, second), has_options=bool(first.options)),
        shown=(first.name, second.name),
    )


def _relation(first: str, second: str, *, has_options: bool) -> str:
    """The two right answers, without the words that both have. Empty for open questions, whose answers are too many.

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
