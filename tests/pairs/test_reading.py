"""Reading: quads of two pictures and two questions, against models whose use of either side is known."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from theodolite.answers import Answer
from theodolite.pairs import AnsweredPair, reading_of
from theodolite.pairs.outcomes import LIGHT, MIRROR
from theodolite.pairs.reading import WORDS, quads_of

SIDES = ("left", "right")
QUESTIONS = ("cup", "plate")


class Asked(NamedTuple):
    """What a model may use of a request."""

    i: int
    picture: int
    """0 for the original, else the number of the edit."""
    question: int
    gold: str


def said(value):
    return Answer("value", value) if value else Answer("unreadable")


def quads(model, n=40, pictures=1):
    """Quads of an original and its edits, by what a model says."""
    for i in range(n):
        first = SIDES[i % 2], SIDES[1 - i % 2]
        for edit in range(1, pictures + 1):
            for number, question in enumerate(QUESTIONS):
                golds = first if number == 0 else first[::-1]
                answers = [
                    said(model(Asked(i, side and edit, number, gold))) for side, gold in enumerate(golds)
                ]
                shown = f"{i} plain", f"{i} edit {edit}"
                yield AnsweredPair(
                    f"{i} {question}", MIRROR, f"{i}", *answers, *golds, pictures=shown, question=question
                )


def test_who_looks_and_reads_is_right_on_all_four():
    reading = reading_of(quads(lambda a: a.gold))
    assert (reading.standing, reading.n_quads) == ("both", 40)
    assert reading.questions.value == reading.pictures.value == reading.all_right.value == 1
    assert reading.p_value < 1e-9
    assert reading.words == WORDS["both"]


@pytest.mark.parametrize(
    ("model", "standing"),
    [
        (lambda a: SIDES[(a.i * 7 + a.picture) % 2], "the picture alone"),
        (lambda a: SIDES[(a.i // 3 + a.question) % 2], "the question alone"),
        (lambda _: "left", "neither"),
        (lambda _: "", "neither"),
    ],
)
def test_who_ignores_one_side_is_never_right_on_all_four(model, standing):
    """Whatever it uses of the other side, it inverts as often as it follows, between pictures and between questions."""
    reading = reading_of(quads(model))
    assert reading.standing == standing
    assert (reading.questions.value, reading.pictures.value, reading.all_right.value) == (0, 0, 0)
    assert reading.p_value == 1


def test_guessing_is_neither():
    rng = np.random.default_rng(0)
    table = rng.choice(SIDES, (200, 2, 2))
    reading = reading_of(quads(lambda a: table[a.i, a.picture, a.question], n=200))
    assert reading.standing == "neither"
    assert abs(reading.all_right.value - 1 / 16) < 0.05


def test_a_share_of_looking_is_a_share_of_quads():
    reading = reading_of(quads(lambda a: a.gold if a.i % 4 == 0 else "left", n=160))
    assert [reading.questions.value, reading.pictures.value, reading.all_right.value] == pytest.approx(
        [0.25] * 3
    )
    assert reading.standing == "both"


def test_the_questions_about_a_picture_with_several_edits_count_once():
    pairs = list(quads(lambda a: a.gold, n=10, pictures=3))
    reading = reading_of(pairs)
    assert (reading.n_quads, reading.pictures.n_items, reading.questions.n_items) == (30, 60, 40)
    assert reading.questions.n == 10


def test_neutral_edits_make_no_quads():
    pairs = [replace(pair, edit=LIGHT) for pair in quads(lambda a: a.gold, n=2)]
    assert not list(quads_of(pairs))
    assert reading_of(pairs) is None
