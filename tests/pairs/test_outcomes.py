"""Pairs: what two answers amount to."""

import pytest

from theodolite.answers import Answer
from theodolite.pairs import AnsweredPair, Edit, pair_shares

MIRROR = Edit("mirror", is_relevant=True)
LIGHT = Edit("light", is_relevant=False)
LOST = Answer("unreadable")


def answer(text):
    return {None: LOST, "refused": Answer("refused")}.get(text) or Answer("value", text)


def pair(before, after, edit=MIRROR, gold="left", edited="right", **more):
    after_gold = edited if edit.is_relevant else gold
    return AnsweredPair(
        "q", edit, more.pop("cluster", "p"), answer(before), answer(after), gold, after_gold, **more
    )


@pytest.mark.parametrize(
    ("before", "after", "edit", "outcome"),
    [
        ("left", "right", MIRROR, "followed"),
        ("right", "left", MIRROR, "inverted"),
        ("left", "left", MIRROR, "unmoved"),
        ("right", "right", MIRROR, "unmoved"),
        ("left", "above", MIRROR, "moved"),
        ("above", "right", MIRROR, "moved"),
        ("Left.", "**right**", MIRROR, "followed"),
        ("left", None, MIRROR, "lost"),
        (None, None, MIRROR, "lost"),
        ("left", "refused", MIRROR, "moved"),
        ("refused", "refused", MIRROR, "unmoved"),
        ("left", "left", LIGHT, "kept"),
        ("above", "above", LIGHT, "kept"),
        ("left", "right", LIGHT, "changed"),
        (None, "left", LIGHT, "lost"),
    ],
)
def test_outcomes(before, after, edit, outcome):
    assert pair(before, after, edit).outcome == outcome


def test_the_other_pair_is_inverted_where_this_one_is_followed():
    """What Lemma 1 rests on: exchanging the answers exchanges the outcomes."""
    words = ("left", "right", "above", "refused", None)
    other = {"followed": "inverted", "inverted": "followed"}
    for one in words:
        for two in words:
            there = pair(two, one).outcome
            assert pair(one, two).outcome == other.get(there, there)
            assert pair(one, two).sign == -pair(two, one).sign


def test_of_several_right_answers_those_count_that_are_right_for_one_picture_alone():
    others = (("near the plate",), ("near the plate", "rightwards"))
    assert pair("left", "rightwards", others=others).outcome == "followed"
    assert pair("rightwards", "left", others=others).outcome == "inverted"
    assert pair("near the plate", "right", others=others).outcome == "moved"
    assert pair("near the plate", "right", others=others).is_right


def test_numbers_are_compared_by_value():
    """A model that writes gives a number, one that chooses gives the text of an option."""
    for values in ((3, 4), ("3", "4"), (3.0, "4")):
        before, after = (Answer("value", value) for value in values)
        assert AnsweredPair("q", MIRROR, "p", before, after, "3", "4").outcome == "followed"
        assert AnsweredPair("q", MIRROR, "p", after, before, "3", "4").outcome == "inverted"
        assert AnsweredPair("q", MIRROR, "p", before, before, "3", "4").outcome == "unmoved"
        assert AnsweredPair("q", LIGHT, "p", before, after, "3", "3").outcome == "changed"


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [(7, 9, 1), (9, 7, -1), (5, 5, 0), (None, 5, 0), ("many", 5, 0)],
)
def test_numbers_move_in_the_direction_of_the_right_one_or_not(before, after, direction):
    assert pair(before, after, gold="2", edited="3").direction == direction
    assert pair(after, before, gold="3", edited="2").direction == direction
    assert pair("left", "right").direction is None


def test_shares_are_of_all_pairs_and_add_up():
    found = pair_shares(
        [
            pair("left", "right", cluster="a"),
            pair("left", "left", cluster="b"),
            pair("right", "left", cluster="c"),
            pair(None, None, cluster="d"),
            pair("left", "left", LIGHT, cluster="e"),
        ]
    )
    assert (found.n_relevant, found.n_neutral) == (4, 1)
    shares = [found.followed.value, found.inverted.value, found.unmoved.value, found.lost.value]
    assert (shares, found.moved.value) == ([0.25] * 4, 0)
    assert found.kept.value == 1
    assert pair_shares([]).followed is None
