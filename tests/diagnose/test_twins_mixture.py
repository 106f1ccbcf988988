"""The real twins, measured here: both get their verdict, and mixtures of known share are recovered."""

from dataclasses import replace

import numpy as np
import pytest

from theodolite.diagnose.compare import looking_scores
from theodolite.diagnose.pair_verdicts import by_source
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.running import run_diagnosis
from theodolite.diagnose.separation import Twins
from theodolite.instruments.instrument import find_instruments, pairs_of_runs
from theodolite.pairs import judge_looking
from theodolite.stats import Scores

TWINS = Twins()
MIXED = "pocket:mixed"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module", params=["compass", "grid", "scene", "trace"])
def measured(request, tmp_path_factory):
    """An instrument, and the pairs of both twins and of the mixed model."""
    folder = tmp_path_factory.mktemp(request.param)
    (instrument,) = find_instruments([request.param])
    found = run_diagnosis(DiagnosisRequest((*TWINS, MIXED), folder, (instrument,), "quick"))
    views = {view.model: view for view in found.instruments[0].models}
    pairs = {
        name: dict(by_source(pairs_of_runs(instrument, [folder / run for run in view.runs])))["drawn"]
        for name, view in views.items()
    }
    return views, pairs


def test_both_twins_get_their_verdict(measured):
    views, _ = measured
    assert views[TWINS.grounded].verdict.standing in {"looks", "looks at least sometimes"}
    assert views[TWINS.shortcut].verdict.standing in {"does not look", "not settled"}
    assert all(view.counts.failed == 0 for view in views.values())


def test_the_mixed_model_is_neither(measured):
    """It was taught the right answers to half of the questions, and those of the shortcut to the others."""
    views, pairs = measured
    assert views[MIXED].verdict.standing == "sometimes looks"
    sides = {name: list(looking_scores("drawn", own)) for name, own in pairs.items()}
    for more, less in ((MIXED, TWINS.shortcut), (TWINS.grounded, MIXED)):
        (change,) = Scores({"first": sides[more], "second": sides[less]}).difference()
        assert change.estimate.low > 0, (more, less)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_share_of_a_mixture_is_recovered(measured, share):
    """By picture, scene or episode, from one twin or the other; looking is the share times that of the grounded twin."""
    _, pairs = measured
    grounded, shortcut = (pairs[twin] for twin in TWINS)
    clusters = sorted({pair.cluster for pair in grounded})
    whole = judge_looking(grounded).looking.value
    held = 0
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(clusters))
        chosen = {clusters[i] for i in order[: round(share * len(clusters))]}
        mixed = [pair for pair in grounded if pair.cluster in chosen]
        mixed += [replace(pair) for pair in shortcut if pair.cluster not in chosen]
        found = judge_looking(mixed)
        held += found.looking.low <= share * whole <= found.looking.high
        assert found.standing not in {"does not look", "no looking found", "cannot be read"}
        assert share > 0.5 or found.standing != "looks"
    assert held >= 18
