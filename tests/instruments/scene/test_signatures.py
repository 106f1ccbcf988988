"""Scripted models of known fault get exactly their signature, with 100 scenes."""

import pytest
from scene_worlds import asked, box_world

from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.experiments.signatures import SIGNATURES, Evidence, read_signatures
from theodolite.instruments.scene.score import ScoreOptions, score_rows
from theodolite.stats import Estimate

EXPECTED = {
    "oracle": "structural alignment",
    "blind_prior": "language prior",
    "shortcut": "semantic shortcut",
    "disconnected": "perception–reasoning disconnect",
    "trusting": "modality trust bias",
    "refuser": "refusal",
    "rambler": "format failure",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return box_world(50, seed=4, folder=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def score_of(world):
    scores = {}

    def score(name):
        if name not in scores:
            scores[name] = score_rows(asked(world, getattr(scripts, name)), ScoreOptions(n_resamples=1000))
        return scores[name]

    return score


@pytest.mark.slow
@pytest.mark.parametrize(("name", "signature"), EXPECTED.items())
def test_each_scripted_fault_gets_exactly_its_signature(score_of, name, signature):
    found = score_of(name).signatures
    assert [each.name for each in found] == list(SIGNATURES)
    assert [each.name for each in found if each.is_raised] == [signature], [
        (each.name, each.because) for each in found if each.is_raised
    ]
    raised = next(each for each in found if each.is_raised)
    assert raised.numbers
    assert all(estimate.n <= 100 for estimate in raised.numbers.values())
    if raised.test is not None:
        assert raised.test.p_value < 0.01


@pytest.mark.slow
def test_what_the_scripted_models_score(score_of):
    oracle, shortcut, disconnected = (
        score_of(name).table[0] for name in ("oracle", "shortcut", "disconnected")
    )
    assert oracle.qa.value == oracle.graphs.sgc.value == 1
    assert oracle.derived.value == oracle.ceiling.value == oracle.consistency.value
    assert shortcut.qa.value == 1
    assert shortcut.derived.value < 0.4
    assert disconnected.derived.value == disconnected.ceiling.value
    assert disconnected.qa.value < 0.4
    refuser = score_of("refuser")
    assert refuser.table[0].qa.value == 0
    without = {count.setting: count.without_graph for count in refuser.counts}
    assert without["predicted graph"] == refuser.table[0].n_questions
    assert all(count.refused == count.asked for count in refuser.counts)


def flat(value, half=0.01):
    return Estimate(value, value - half, value + half, n=100, level=0.95, method="test")


def raised(**evidence):
    return {each.name for each in read_signatures(Evidence(**evidence)) if each.is_raised}


def test_a_gap_is_a_gain_of_answers_without_a_gain_of_graphs():
    gap = {"qa_drop": flat(0.16), "sgc_drop": flat(0.03), "sgc_over_prior": flat(0.0)}
    assert raised(**gap) == {"semantic–geometric gap"}
    assert raised(**gap | {"sgc_drop": flat(0.2)}) == set()
    assert raised(**gap | {"sgc_over_prior": flat(-0.3)}) == set()
    assert raised(**gap | {"qa_drop": flat(0.05)}) == set()


def test_a_scaffold_helps_where_several_steps_are_needed():
    assert raised(compositional_gain=flat(0.12), atomic_gain=flat(-0.1)) == {"cognitive scaffold"}
    assert raised(compositional_gain=flat(0.055), atomic_gain=flat(0.1)) == set()


def test_an_interval_that_reaches_the_bar_raises_nothing():
    assert raised(predicted_gain=flat(-0.07)) == {"modality trust bias"}
    assert raised(predicted_gain=flat(-0.07, half=0.03)) == set()
    assert raised(refused={"QA, base": flat(0.12, half=0.015)}) == {"refusal"}
    assert raised(refused={"QA, base": flat(0.12, half=0.03)}) == set()
    assert raised(unreadable={"QA, base": flat(0.0), "graphs, base": flat(0.4)}) == {"format failure"}


def test_alignment_needs_all_that_was_measured():
    high = {"qa_level": flat(0.8), "sgc_level": flat(0.7), "consistency_level": flat(0.9)}
    assert raised(**high) == {"structural alignment"}
    assert raised(**high, qa_drop=flat(0.3)) == {"structural alignment"}
    assert raised(**high, qa_drop=flat(0.01)) == set()
    assert "structural alignment" not in raised(**high, predicted_gain=flat(-0.2))
    assert raised(**high | {"sgc_level": flat(0.5)}) == set()


def test_a_wide_interval_is_not_told_as_no_drop():
    high = {"qa_level": flat(0.8), "sgc_level": flat(0.7), "consistency_level": flat(0.9)}
    told = next(
        each
        for each in read_signatures(Evidence(**high, predicted_gain=flat(0.0, half=0.24)))
        if each.name == "structural alignment"
    )
    assert "no proven drop of more than five points" in told.because


def test_what_was_not_measured_is_said_to_be():
    found = read_signatures(Evidence())
    assert {each.standing for each in found} == {"not measured"}
    assert all("not measured" in each.because for each in found)
