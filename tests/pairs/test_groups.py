"""Groups of pictures of one question."""

import numpy as np
import pytest

from theodolite.answers import Answer
from theodolite.pairs import AnsweredGroup, group_shares

WORDS = ("left", "right", "on", "under")


def groups_of(answer, n=400, k=4):
    return [
        AnsweredGroup(f"q{i}", f"q{i}", tuple(Answer("value", answer(gold)) for gold in WORDS[:k]), WORDS[:k])
        for i in range(n)
    ]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_blind_guesser_stays_below_the_bound(k):
    rng = np.random.default_rng(k)
    found = group_shares(groups_of(lambda _: WORDS[rng.integers(k)], k=k))
    assert found.bound == pytest.approx(k**-k)
    assert found.all_right.low <= found.bound
    assert found.each_right.low <= 1 / k <= found.each_right.high


def test_a_constant_answer_is_never_right_on_all():
    found = group_shares(groups_of(lambda _: "on"))
    assert (found.all_right.value, found.each_right.value) == (0, 0.25)


def test_a_model_that_looks_is_right_on_all():
    assert group_shares(groups_of(lambda gold: gold)).all_right.low > 0.9


def test_unread_answers_are_not_right_and_single_pictures_are_no_group():
    lost = AnsweredGroup("q", "q", (Answer("refused"), Answer("value", "right")), ("left", "right"))
    assert lost.right == (False, True)
    assert group_shares([AnsweredGroup("q", "q", (Answer("value", "on"),), ("on",))]) is None
