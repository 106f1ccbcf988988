"""Scripted models of known fault get exactly their signature, with 100 scenes."""

import pytest
from scene_worlds import asked, box_world, rows_of, scored

from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.questions import Settings
from theodolite.instruments.scene.score import counts_table
from theodolite.instruments.scene.signatures import SIGNATURES, SignatureNumbers, judge_signatures
from theodolite.stats import Equivalence, Estimate

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
            scores[name] = scored(asked(world, getattr(scripts, name)))
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
    oracle, shortcut, disconnected = (score_of(name) for name in ("oracle", "shortcut", "disconnected"))
    assert oracle.mean("qa").value == oracle.mean("sgc").value == 1
    assert oracle.mean("derived").value == oracle.mean("ceiling").value == oracle.mean("consistency").value
    assert shortcut.mean("qa").value == 1
    assert shortcut.mean("derived").value < 0.4
    assert disconnected.mean("derived").value == disconnected.mean("ceiling").value
    assert disconnected.mean("qa").value < 0.4
    refuser = score_of("refuser")
    assert refuser.mean("qa").value == 0
    counts = rows_of(counts_table(refuser))
    assert counts["predicted graph"]["without_graph"] == len(refuser.cases.cases)
    assert all(row["refused"] == row["asked"] for row in counts.values())


def test_a_perfectly_blind_model_is_called_language_prior_from_sixty_scenes_on(tmp_path):
    """About nine questions each, and the same answers without the picture; fewer scenes do not exclude five points."""
    world = box_world(30, seed=6, folder=tmp_path)
    assert 7 < len(world.questions) / len(world.scenes) < 12
    settings = Settings(qa=("base", "blind"), graph=("base", "blind"))
    score = scored(asked(world, scripts.blind_prior, settings=settings))
    assert score.blind.qa_drop.value == 0
    prior = next(each for each in score.signatures if each.name == "language prior")
    assert prior.is_raised, prior.because


def test_what_needs_an_unmeasured_setting_is_not_measured(tmp_path):
    world = box_world(4, seed=6, folder=tmp_path)
    settings = Settings(qa=("base",), graph=("base",))
    found = {
        each.name: each.standing
        for each in scored(asked(world, scripts.oracle, settings=settings)).signatures
    }
    missing = {name for name, standing in found.items() if standing == "not measured"}
    assert missing == {
        "structural alignment",
        "modality trust bias",
        "cognitive scaffold",
        "semantic–geometric gap",
        "language prior",
    }


def flat(value, half=0.01):
    return Estimate(value, value - half, value + half, n=100, level=0.95, method="test")


def raised(**evidence):
    return {each.name for each in judge_signatures(SignatureNumbers(**evidence)) if each.is_raised}


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


HIGH = {
    "qa_level": flat(0.8),
    "sgc_level": flat(0.7),
    "consistency_level": flat(0.9),
    "qa_drop": flat(0.3),
    "predicted_gain": flat(0.0),
}


def test_alignment_needs_every_number():
    assert raised(**HIGH) == {"structural alignment"}
    assert raised(**HIGH | {"qa_drop": flat(0.01)}) == set()
    assert "structural alignment" not in raised(**HIGH | {"predicted_gain": flat(-0.2)})
    assert raised(**HIGH | {"sgc_level": flat(0.5)}) == set()
    for name in HIGH:
        found = judge_signatures(SignatureNumbers(**{**HIGH, name: None}))
        assert found[0].standing == "not measured", name


def test_a_language_prior_needs_equivalence_and_the_same_answers():
    same = {"equivalence": Equivalence(flat(0.0, half=0.04), 0.05), "same_blind": flat(0.9)}
    assert raised(**same) == {"language prior"}
    assert raised(**same | {"equivalence": Equivalence(flat(0.0, half=0.06), 0.05)}) == set()
    assert raised(**same | {"same_blind": flat(0.4)}) == set()


def test_a_wide_interval_is_not_told_as_no_drop():
    told = judge_signatures(SignatureNumbers(**HIGH | {"predicted_gain": flat(0.0, half=0.24)}))[0]
    assert "no proven drop of more than five points" in told.because


def test_what_was_not_measured_is_said_to_be():
    found = judge_signatures(SignatureNumbers())
    assert {each.standing for each in found} == {"not measured"}
    assert all("not measured" in each.because for each in found)
