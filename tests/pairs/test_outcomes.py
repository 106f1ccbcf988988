"""Pairs: what two answers amount to, and the bound that no strategy blind to the edit beats."""

import numpy as np
import pytest

from theodolite.answers import Answer
from theodolite.pairs import AnsweredPair, Edit, pair_shares
from theodolite.pairs.outcomes import RANDOM_BOUND

MIRROR = Edit("mirror", is_relevant=True)
LIGHT = Edit("light", is_relevant=False)


def pair(before, after, edit=MIRROR, gold="left", edited="right", cluster="p"):
    answers = [
        Answer("value", said) if said else Answer("refused", reason="declines") for said in (before, after)
    ]
    return AnsweredPair(
        "q", edit, cluster, *answers, gold=gold, edited_gold=edited if edit.is_relevant else gold
    )


@pytest.mark.parametrize(
    ("before", "after", "edit", "outcome"),
    [
        ("left", "right", MIRROR, "followed"),
        ("left", "left", MIRROR, "unmoved"),
        ("right", "right", MIRROR, "unmoved"),
        ("right", "left", MIRROR, "moved"),
        ("left", "above", MIRROR, "moved"),
        ("Left.", "**right**", MIRROR, "followed"),
        ("left", None, MIRROR, "lost"),
        (None, None, MIRROR, "lost"),
        ("left", "left", LIGHT, "kept"),
        ("above", "above", LIGHT, "kept"),
        ("left", "right", LIGHT, "changed"),
        (None, "left", LIGHT, "lost"),
    ],
)
def test_outcomes(before, after, edit, outcome):
    assert pair(before, after, edit).outcome == outcome


def test_relevant_shares_add_up_and_lost_is_never_unmoved():
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
    shares = [found.followed.value, found.moved.value, found.unmoved.value, found.lost.value]
    assert shares == [0.25] * 4
    assert found.kept.value == 1
    assert pair_shares([]).followed is None


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("words", [2, 4])
def test_no_blind_strategy_beats_the_bound(p, words):
    """Guessers of any bias over any number of words: followed with probability p·p′ ≤ ¼."""
    rng = np.random.default_rng([int(10 * p), words])
    rest = (1 - p) / (words - 1)
    said = rng.choice(words, (40_000, 2), p=[p] + [rest] * (words - 1))
    golds = np.stack([np.zeros(40_000, int), np.ones(40_000, int)], axis=1)
    followed = (said == golds).all(axis=1).mean()
    assert followed == pytest.approx(p * rest, abs=0.01)
    assert followed <= RANDOM_BOUND + 0.01


def test_a_deterministic_blind_strategy_follows_nothing():
    pairs = [
        pair(said, said, gold=gold, edited=edited, cluster=str(i))
        for i, (gold, edited) in enumerate([("left", "right"), ("right", "left"), ("above", "below")] * 20)
        for said in ["left"]
    ]
    found = pair_shares(pairs)
    assert found.followed.value == 0
    assert found.unmoved.value == 1
    assert found.followed.high < RANDOM_BOUND


def test_numbers_are_compared_by_value():
    """A model that writes gives a number, one that chooses gives the text of an option."""
    for values in ((3, 4), ("3", "4"), (3.0, "4")):
        before, after = (Answer("value", value) for value in values)
        assert AnsweredPair("q", MIRROR, "p", before, after, "3", "4").outcome == "followed"
        assert AnsweredPair("q", MIRROR, "p", before, before, "3", "4").outcome == "unmoved"
        assert AnsweredPair("q", LIGHT, "p", before, after, "3", "3").outcome == "changed"
