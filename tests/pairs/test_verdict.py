"""The verdict on looking: certified with simulated models of known reasoning."""

import numpy as np
import pytest

from theodolite.answers import Answer
from theodolite.pairs import AnsweredPair, Edit, judge_looking, pairs_to_settle
from theodolite.pairs.outcomes import AGAIN, MOVE_REFERENCE, RANDOM_BOUND
from theodolite.pairs.outcomes import MIRROR as MIRRORED

SIDES = ("left", "right")
LEFT, RIGHT = (Answer("value", side) for side in SIDES)
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
    assert found.proof.low <= share <= found.proof.high


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_share_of_a_mixture_is_recovered(share):
    for seed in range(20):
        found = judge_looking(pairs_of(mixture(share), 200, seed), chance=0.5)
        assert found.proof.low <= share <= found.proof.high
        assert found.standing in {
            "looks at times",
            "looks" if share == 0.75 else "looks at times",
            "not settled",
        }


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("n", [24, 48, 200])
def test_a_guesser_of_any_bias_beats_the_bound_in_at_most_1_of_40_draws(p, n):
    found = [judge_looking(pairs_of(guesser(p), n, seed, neutral=False), chance=0.5) for seed in range(200)]
    beaten = sum(each.proof.low > 0.25 for each in found)
    assert beaten <= 5
    assert not any(each.standing == "looks" for each in found if each.proof.low <= 0.25)


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


def test_repeating_the_same_request_lowers_the_bound():
    always = [AnsweredPair(f"q{i}", AGAIN, f"picture{i}", LEFT, LEFT, "left", "left") for i in range(24)]
    quarter = pairs_of(mixture(0.3), 60, neutral=False)
    without, with_repeats = (judge_looking([*quarter, *more], chance=0.5) for more in ((), always))
    assert without.bound == RANDOM_BOUND
    assert without.excluded == ()
    assert 0 < with_repeats.bound < 0.1
    assert with_repeats.standing == "looks at times"
    assert with_repeats.excluded == MIRROR.excludes
    unsteady = [
        AnsweredPair(f"q{i}", AGAIN, f"picture{i}", LEFT, RIGHT if i % 2 else LEFT, "left", "left")
        for i in range(200)
    ]
    assert judge_looking([*quarter, *unsteady], chance=0.5).bound == RANDOM_BOUND


def test_repeats_are_no_neutral_edit():
    """Answers repeat, but change under every edit of the picture: the model is not stable."""
    always = [AnsweredPair(f"q{i}", AGAIN, f"picture{i}", LEFT, LEFT, "left", "left") for i in range(48)]

    def jumpy(truth, i, edit, rng):
        return SIDES[rng.integers(2)] if edit else SIDES[i % 2]

    found = judge_looking([*pairs_of(jumpy, 200), *always], chance=0.5)
    assert found.standing in {"cannot do the task", "does not look"}


def test_a_strategy_is_excluded_only_by_the_edits_that_exclude_it():
    """A model that uses the place of the target alone follows the mirror, but not a move of the reference."""
    pairs = []
    for i in range(60):
        pairs.append(AnsweredPair(f"q{i}", MIRRORED, f"p{i}", LEFT, RIGHT, "left", "right"))
        pairs.append(AnsweredPair(f"q{i}", MOVE_REFERENCE, f"p{i}", LEFT, LEFT, "left", "right"))
    found = judge_looking(pairs, chance=0.5)
    assert found.standing == "looks at times"
    assert "blind answers" in found.excluded
    assert "the place of the target alone" in found.not_excluded
    follows = [
        AnsweredPair(f"q{i}", MOVE_REFERENCE, f"p{i}", LEFT, RIGHT, "left", "right") for i in range(60)
    ]
    found = judge_looking(follows, chance=0.5)
    assert "the place of the target alone" in found.excluded
    assert found.not_excluded == ("the place of the reference alone",)


@pytest.mark.parametrize("k", [2, 4])
def test_a_model_that_cannot_read_the_pictures_cannot_do_the_task(k):
    """Any change of the pixels gives another random answer: it depends on the picture, but sees nothing."""
    words = [Answer("value", f"option {i}") for i in range(k)]
    rng = np.random.default_rng(0)
    pairs = []
    for i in range(300):
        said = rng.integers(k, size=3)
        gold, other = rng.permutation(k)[:2]
        golds = words[gold].value, words[other].value
        pairs.append(AnsweredPair(f"q{i}", MIRRORED, f"p{i}", words[said[0]], words[said[1]], *golds))
        if rng.random() < 0.3:
            said[2] = said[0]
        pairs.append(
            AnsweredPair(f"q{i}", LIGHT, f"p{i}", words[said[0]], words[said[2]], golds[0], golds[0])
        )
    assert judge_looking(pairs, chance=1 / k).standing == "cannot do the task"


@pytest.mark.parametrize("share", [0.2, 0.3])
def test_a_model_that_seldom_looks_can_do_the_task(share):
    for seed in range(10):
        found = judge_looking(pairs_of(mixture(share), 120, seed), chance=0.5)
        assert found.standing in {"looks at times", "not settled"}


def test_dependence_is_paired_by_item():
    """The same items change under both edits, so the difference does not vary and its interval is narrow."""
    pairs = []
    for i in range(100):
        after = RIGHT if i % 2 else LEFT
        pairs.append(AnsweredPair(f"q{i}", MIRRORED, f"p{i}", LEFT, after, "left", "right"))
        pairs.append(AnsweredPair(f"q{i}", LIGHT, f"p{i}", LEFT, after, "left", "left"))
    found = judge_looking(pairs).dependence
    assert found.value == 0
    assert found.high < 0.05


def test_the_sample_size_that_settles_a_verdict():
    few = pairs_of(shortcut, 20)
    assert judge_looking(few, chance=0.5).standing == "not settled"
    factor = pairs_to_settle(few, chance=0.5)
    assert 2 <= factor <= 8
    settled = [judge_looking(pairs_of(shortcut, int(20 * factor), seed), chance=0.5) for seed in range(20)]
    assert all(each.standing == "does not look" for each in settled)
    assert pairs_to_settle(pairs_of(grounded, 48)) == 1
    at_threshold = pairs_of(mixture(0.75), 400)
    assert pairs_to_settle(at_threshold, chance=0.5) is None or pairs_to_settle(at_threshold) > 2
