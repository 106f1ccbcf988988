"""The verdict on looking: certified with simulated models of known reasoning."""

import numpy as np
import pytest

from theodolite.answers import Answer
from theodolite.pairs import AnsweredPair, Edit, judge_looking

SIDES = ("left", "right")
MIRROR = Edit("mirror", is_relevant=True, keeps=("the question",), excludes=("blind answers",))
LIGHT = Edit("light", is_relevant=False)


def pairs_of(model, n, seed=0, *, neutral=True):
    """Pairs of a model, a function from (truth, question, edit, generator) to an answer; an empty answer is a refusal."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        truth = SIDES[rng.integers(2)]
        for edit in (MIRROR, LIGHT) if neutral else (MIRROR,):
            other = SIDES[1 - SIDES.index(truth)] if edit.is_relevant else truth
            said = [model(y, i, e, rng) for y, e in ((truth, ""), (other, edit.name))]
            answers = [Answer("value", text) if text else Answer("refused") for text in said]
            found.append(AnsweredPair(f"q{i}", edit, f"picture{i}", *answers, truth, other))
    return found


def grounded(truth, i, edit, rng):
    return truth


def shortcut(truth, i, edit, rng):
    return SIDES[i % 2]


def mixture(share):
    def model(truth, i, edit, rng):
        return truth if (i * 0.6180339887) % 1 < share else SIDES[i % 2]

    return model


def guesser(p):
    def model(truth, i, edit, rng):
        return SIDES[int(rng.random() < p)]

    return model


@pytest.mark.parametrize("neutral", [True, False])
def test_48_pairs_settle_a_grounded_and_a_shortcut_model(neutral):
    looks = judge_looking(pairs_of(grounded, 48, neutral=neutral), chance=0.5)
    assert (looks.standing, looks.excluded) == ("looks", ("blind answers",))
    blind = judge_looking(pairs_of(shortcut, 48, neutral=neutral), chance=0.5)
    assert (blind.standing, blind.excluded) == ("does not look", ())


@pytest.mark.parametrize("share", [0.5, 0.6])
def test_200_pairs_settle_a_half(share):
    found = judge_looking(pairs_of(mixture(share), 200), chance=0.5)
    assert found.standing == "looks at times"
    assert found.followed.low <= share <= found.followed.high


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_share_of_a_mixture_is_recovered(share):
    for seed in range(20):
        found = judge_looking(pairs_of(mixture(share), 200, seed), chance=0.5)
        assert found.followed.low <= share <= found.followed.high
        assert found.standing in {
            "looks at times",
            "looks" if share == 0.75 else "looks at times",
            "not settled",
        }


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("n", [24, 48, 200])
def test_a_guesser_of_any_bias_beats_the_bound_in_at_most_1_of_40_draws(p, n):
    found = [judge_looking(pairs_of(guesser(p), n, seed, neutral=False), chance=0.5) for seed in range(200)]
    beaten = sum(each.followed.low > 0.25 for each in found)
    assert beaten <= 5
    assert not any(each.standing == "looks" for each in found if each.followed.low <= 0.25)


def test_a_guesser_cannot_do_the_task():
    found = [judge_looking(pairs_of(guesser(0.5), 200, seed), chance=0.5).standing for seed in range(40)]
    assert found.count("cannot do the task") + found.count("does not look") >= 36
    assert "looks" not in found


def test_one_that_refuses_is_lost_and_not_unmoved():
    found = judge_looking(pairs_of(lambda *_: "", 30))
    assert found.standing == "cannot be read"
    assert judge_looking([]).standing == "not settled"


def test_one_that_is_unstable_under_neutral_edits_is_not_called_looking():
    def unstable(truth, i, edit, rng):
        """Right about the picture and its mirror image, but thrown off by any other light."""
        return SIDES[1 - SIDES.index(truth)] if edit == "light" else truth

    found = judge_looking(pairs_of(unstable, 100), chance=0.5)
    assert found.standing not in {"looks", "looks at times"}
    assert found.excluded == ()


def test_few_pairs_settle_nothing_but_the_plain():
    assert judge_looking(pairs_of(mixture(0.5), 6), chance=0.5).standing == "not settled"
