"""Rows of single items that every instrument shares."""

from collections import Counter

import pytest

from theodolite.answers import Answer, AnswerFormat
from theodolite.core.scores import ItemScore
from theodolite.core.types import Item, Record, Request, Response, Truth
from theodolite.core.views import UNSEEN
from theodolite.instruments.instrument import common, item_rows, rounded, values_by_item, verdict
from theodolite.runs import Result, Run, RunInfo


@pytest.fixture
def rows_of(tmp_path, picture):
    """The rows of a run of items with their answers."""

    def rows(*asked, scores=(), settings=None):
        info = RunInfo(instrument="lab", model="m:x", identity="x", theodolite="0", settings=settings or {})
        with Run.start(tmp_path / "run", info) as run:
            items = [
                Item(f"q{i}", Request.ask(picture, f"Question {i}?"), truth=truth)
                for i, (truth, _) in enumerate(asked)
            ]
            run.plan(items)
            said = {item.id: response for item, (_, response) in zip(items, asked, strict=True)}
            pending = [(seq, None, Record(item.id, said[item.id])) for seq, item, _ in run.store.pending()]
            run.store.add([row for row in pending if row[2].response is not None])
            return list(item_rows(None, run, lambda p: p.digest, list(scores)))

    return rows


def asked_for(kind, gold, **about):
    return Truth(() if gold is None else (str(gold),), kind, **about)


def answered(text, **more):
    return Response("answered", text, **more)


@pytest.mark.parametrize(
    ("kind", "gold", "text", "read_as", "is_right"),
    [
        (AnswerFormat.count(), 4, "There are four.", "4", True),
        (AnswerFormat.count(), 0, "0", "0", True),
        (AnswerFormat.count(), 0, "2", "2", False),
        (AnswerFormat.number("m"), "2.5", "2.50 m", "2.5", True),
        (AnswerFormat.number("m"), "4", "4 m", "4", True),
        (AnswerFormat.number(), "many", "4", "4", False),
        (AnswerFormat.text(), "Two Cups", "two cups.", "two cups", True),
        (AnswerFormat.yes_no(), "yes", "No.", "no", False),
        (AnswerFormat.choice(["left", "right"], style="word"), "left", "**Left**", "left", True),
        (AnswerFormat.text(), None, "a cup", "a cup", None),
    ],
)
def test_an_answer_is_held_against_the_gold_one_by_what_it_is(rows_of, kind, gold, text, read_as, is_right):
    (row,) = rows_of((asked_for(kind, gold), answered(text)))
    assert (row.read_as, row.correct, row.status) == (read_as, is_right, "answered")
    assert row.gold == ("" if gold is None else str(gold))
    assert row.answer == text


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (answered("banana"), "unreadable"),
        (answered("left or right"), "ambiguous"),
        (answered("I cannot see a picture."), "refused"),
        (answered("<think>left or", finish="length"), "cut off"),
        (Response("refused", reason="policy"), "refused"),
        (Response.failed("no server"), "failed"),
        (None, "pending"),
    ],
)
def test_what_has_no_answer_says_why_and_is_neither_right_nor_wrong(rows_of, response, status):
    kind = AnswerFormat.choice(["left", "right"], style="word")
    (row,) = rows_of((asked_for(kind, "left"), response))
    assert (row.status, row.correct, row.read_as) == (status, None, "")
    assert bool(row.reason) == (status != "pending")


@pytest.mark.parametrize("condition", sorted(UNSEEN))
def test_without_its_picture_an_answer_is_not_judged(rows_of, condition):
    (row,) = rows_of((asked_for(AnswerFormat.count(), 4, condition=condition), answered("4")))
    assert (row.correct, row.read_as) == (None, "4")
    assert verdict(is_right=True, condition=condition) is None


def test_the_truth_says_where_an_item_belongs_and_the_run_says_the_rest(rows_of):
    truth = Truth(("x",), split="crossed", cluster="p1", condition="mirrored", group="side")
    first, second = rows_of((truth, answered("x")), (Truth(), answered("y")), settings={"split": "own data"})
    assert (first.split, first.cluster, first.condition, first.kind) == ("crossed", "p1", "mirrored", "side")
    assert (second.split, second.cluster, second.condition, second.kind) == ("own data", "q1", "plain", "")
    assert (first.instrument, first.model, first.question) == ("lab", "m:x", "Question 0?")
    assert len(first.pictures) == 1


def test_scores_stand_in_the_row_of_their_item_or_in_the_plain_row_of_their_cluster(rows_of):
    scores = [
        ItemScore("q0", "lab.a", 0.123456789, "p", "aligned"),
        ItemScore("q0", "lab.a", 0.5, "p", "crossed"),
        ItemScore("q0", "lab.b", None, "p", "aligned", reason="refused"),
        ItemScore("p2", "lab.c", 1.0, "p2", "aligned"),
    ]
    plain, again, edited = rows_of(
        (Truth(split="aligned", cluster="p"), answered("x")),
        (Truth(split="aligned", cluster="p2"), answered("x")),
        (Truth(split="aligned", cluster="p2", condition="mirrored"), answered("x")),
        scores=scores,
    )
    assert plain.values == {"lab.a": 0.123457}
    assert again.values == {"lab.c": 1.0}
    assert edited.values == {}
    assert values_by_item(scores)["q0", "crossed"] == {"lab.a": 0.5}
    assert rounded({"x": 2 / 3}) == {"x": 0.666667}


def test_rows_are_as_many_as_items_and_in_their_order(rows_of):
    rows = rows_of(*((Truth(("x",)), answered("x")) for _ in range(5)))
    assert [row.id for row in rows] == [f"q{i}" for i in range(5)]
    assert Counter(row.correct for row in rows) == {True: 5}


def test_something_other_than_an_answer_may_be_unreadable(picture):
    result = Result(1, Item("a", Request.ask(picture, "?")), Record("a", answered("{}")))
    assert common(result, lambda p: p.digest)["status"] == "answered"
    row = common(result, lambda p: p.digest, unread="no graph found")
    assert (row["status"], row["reason"]) == ("unreadable", "no graph found")
    told = common(result, lambda p: p.digest, answer=Answer("ambiguous", reason="two answers"))
    assert (told["status"], told["reason"]) == ("ambiguous", "two answers")
