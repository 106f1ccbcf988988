"""Traces that should score badly do, on a small world with exact truth."""

from collections import Counter

import pytest
from trace_world import group_of, make_episode

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Step, Trace
from theodolite.instruments.trace.experiments.agreement import noise_table, verifier_agreement
from theodolite.instruments.trace.experiments.grounding import unverifiable_share
from theodolite.instruments.trace.experiments.robustness import (
    INVERSIONS,
    RandomLabels,
    control_scores,
    counterfactual,
    limit_steps,
    random_trace,
    verbosity,
)
from theodolite.instruments.trace.verifiers.judging import NoisyVerifier, judge, open_verifier

VERIFIER = open_verifier("annotation")
EPISODES = {e.id: e for e in (make_episode(seed) for seed in range(25))}


@pytest.fixture(scope="module")
def oracle():
    return with_claims([read_trace(str(e.meta["oracle"]), e) for e in EPISODES.values()])


def sgr(traces):
    return group_of(judge(traces, EPISODES, VERIFIER)).mean("sgr").value


def test_the_oracle_is_right_throughout(oracle):
    found = group_of(judge(oracle, EPISODES, VERIFIER))
    assert found.mean("sgr").value >= 0.98
    assert found.mean("hr").value <= 0.02
    assert found.mean("right").value == 1.0
    assert unverifiable_share(found).value == 0.0


@pytest.mark.parametrize("inversion", INVERSIONS)
def test_counterfactual_traces_fall(oracle, inversion):
    false = [counterfactual(t, inversion, episode=EPISODES[t.episode], seed=1) for t in oracle]
    assert sgr(oracle) - sgr(with_claims(false)) > 0.26


def test_random_traces_are_near_nothing(oracle):
    labels = RandomLabels(list(EPISODES.values()))
    made = [random_trace(e, labels, seed=3) for e in EPISODES.values()]
    assert made == [random_trace(e, labels, seed=3) for e in EPISODES.values()]
    assert made != [random_trace(e, labels, seed=4) for e in EPISODES.values()]
    found = group_of(judge(with_claims(made), EPISODES, VERIFIER))
    assert found.mean("sgr").value < 0.25
    assert len(found.verdicts) > 100


def test_all_controls_of_the_same_traces(oracle):
    found = {c.name: c for c in control_scores(judge(oracle, EPISODES, VERIFIER), EPISODES, VERIFIER)}
    assert set(found) == {*INVERSIONS, "random"}
    for inversion in INVERSIONS:
        assert found[inversion].fall.value == pytest.approx(sgr(oracle) - found[inversion].sgr.value)
        assert found[inversion].fall.low > 0


def test_inversions_change_only_what_they_should():
    episode = make_episode(0)
    step = Step("(frame 1): The left cup, above a red ball, was behind it before.", (0,))
    said = Trace(episode.id, (step, Step("Then it fell.", (1,))))
    spatial = counterfactual(said, "spatial", episode=episode)
    assert spatial.steps[0].text == "The right cup, below a red ball, was in front of it before."
    temporal = counterfactual(said, "temporal", episode=episode)
    assert [s.text for s in temporal.steps] == [
        "Then it fell.",
        "The left cup, above a red ball, was behind it after.",
    ]
    assert [s.frames for s in temporal.steps] == [(0,), (1,)]
    with pytest.raises(UsageError, match="no inversion"):
        counterfactual(said, "mood", episode=episode)


def test_noise_errs_as_often_as_it_says_and_always_alike(oracle):
    claims = [c for t in oracle for s in t.steps for c in s.claims]
    by = {t.episode: [c for s in t.steps for c in s.claims] for t in oracle}
    noisy = NoisyVerifier(VERIFIER, 0.2, seed=1)
    first = [v for name, said in by.items() for v in noisy.verify(said, EPISODES[name])]
    again = [v for name, said in by.items() for v in noisy.verify(said, EPISODES[name])]
    assert first == again
    share = Counter(v.label for v in first)["unsupported"] / len(claims)
    assert 0.14 < share < 0.26
    rows = noise_table(oracle, EPISODES, VERIFIER, rates=(0.0, 0.1, 0.5)).as_json()["rows"]
    values = [row["sgr"]["value"] for row in rows]
    assert values[0] > values[1] > values[2]
    with pytest.raises(UsageError, match="between 0 and 1"):
        NoisyVerifier(VERIFIER, 2.0)


def test_verifiers_agree_with_themselves_and_less_with_noise(oracle):
    noisy = [NoisyVerifier(VERIFIER, rate, seed=2) for rate in (0.1, 0.4)]
    wrong = with_claims([counterfactual(t, "spatial", episode=EPISODES[t.episode]) for t in oracle[:12]])
    traces = [*oracle[12:], *wrong]
    found = {
        a.second: a
        for a in verifier_agreement([judge(traces, EPISODES, v) for v in (VERIFIER, *noisy)])
        if a.first == "annotation"
    }
    low, high = found[noisy[0].name].kappa.value, found[noisy[1].name].kappa.value
    assert 0.6 < low < 1
    assert high < 0.5
    assert found[noisy[0].name].rho.value > 0.5
    assert found[noisy[0].name].same.value == pytest.approx(0.9, abs=0.05)
    assert found[noisy[1].name].same.value == pytest.approx(0.6, abs=0.1)
    with pytest.raises(UsageError, match="two verifiers"):
        verifier_agreement([judge(oracle, EPISODES, VERIFIER)])
    with pytest.raises(UsageError, match="different verifiers"):
        verifier_agreement([judge(oracle, EPISODES, VERIFIER)] * 2)


def test_shorter_traces_keep_their_ends(oracle):
    judged = judge(oracle, EPISODES, VERIFIER)
    short = limit_steps(judged[0], 2)
    assert [s.step.text for s in short.steps] == [judged[0].steps[0].step.text, judged[0].steps[-1].step.text]
    assert limit_steps(judged[0], 99) is judged[0]
    found = verbosity(judged)
    assert found.words > 20  # the same in every trace, so without an interval
    assert found.sgr_of_short.value == 1.0
