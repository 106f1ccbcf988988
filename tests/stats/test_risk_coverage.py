import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.core.errors import UsageError
from theodolite.stats import accuracy_at_coverage, aurc, excess_aurc, risk_coverage
from theodolite.stats.clustered import wilson_bounds
from theodolite.stats.risk_coverage import _areas

answers = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6)


def expected_curve(confidence, correct):
    """Mean over all orders of the items that keep confidence falling."""
    curves = []
    for order in itertools.permutations(range(len(confidence))):
        chosen = [confidence[i] for i in order]
        if chosen == sorted(chosen, reverse=True):
            errors = np.cumsum([not correct[i] for i in order])
            curves.append(errors / np.arange(1, len(order) + 1))
    return np.mean(curves, axis=0)


@settings(deadline=None, max_examples=50)
@given(answers)
def test_curve_is_the_expectation_over_tie_orders(items):
    confidence, correct = zip(*items, strict=True)
    curve = risk_coverage(confidence, correct)
    expected = expected_curve(confidence, correct)
    assert curve.risk == pytest.approx(expected)
    assert curve.coverage == pytest.approx(np.arange(1, len(items) + 1) / len(items))
    weights = np.ones((1, len(items)))
    area = _areas(np.array(confidence, float), np.array(correct, float), weights)[0]
    assert area == pytest.approx(expected.mean())
    assert curve.area == pytest.approx(expected.mean())


def test_areas_of_weights_are_those_of_repeated_items():
    generator = np.random.default_rng(3)
    scores, hits = generator.integers(0, 5, 15).astype(float), (generator.random(15) < 0.6).astype(float)
    weights = generator.integers(0, 4, (10, 15))
    found = _areas(scores, hits, weights.astype(float))
    expected = [risk_coverage(np.repeat(scores, row), np.repeat(hits, row)).area for row in weights]
    assert found == pytest.approx(expected)


def test_input_order_never_matters():
    generator = np.random.default_rng(0)
    scores, hits = generator.integers(0, 3, 40), generator.random(40) < 0.5
    order = generator.permutation(40)
    first, second = risk_coverage(scores, hits), risk_coverage(scores[order], hits[order])
    assert first.risk == pytest.approx(second.risk)


def test_random_confidence_has_the_error_rate_as_area():
    hits = np.arange(1000) < 413
    assert aurc(np.zeros(1000), hits, n_resamples=50, seed=0).value == pytest.approx(0.587)
    shuffled = np.random.default_rng(0).permutation(20000)
    area = risk_coverage(shuffled, np.arange(20000) < 8260).area
    assert area == pytest.approx(0.587, abs=0.02)


def test_excess_at_the_accuracy_of_the_notes():
    # notes/compass.md: a random score at 41.3 % accuracy has E-AURC 0.365.
    estimate = excess_aurc(np.zeros(1000), np.arange(1000) < 413, n_resamples=200, seed=0)
    assert estimate.value == pytest.approx(0.365, abs=0.0005)
    assert estimate.value == pytest.approx(-0.413 * np.log(0.413))
    assert estimate.low < estimate.value < estimate.high


@pytest.mark.parametrize("n_hits", range(7))
def test_finite_optimum_is_the_least_area_of_all_orders(n_hits):
    hits = np.arange(6) < n_hits
    scores = np.array([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])
    least = min(
        np.mean(np.cumsum(order) / np.arange(1, 7)) for order in itertools.permutations((~hits).astype(int))
    )
    excess = excess_aurc(scores, hits, optimum="finite", n_resamples=50, seed=0)
    assert excess.value == pytest.approx(risk_coverage(scores, hits).area - least)
    best = excess_aurc(hits.astype(float), hits, optimum="finite", n_resamples=50, seed=0)
    assert best.value == pytest.approx(0, abs=1e-12) == best.low < best.high


def test_optima_meet_for_many_items():
    generator = np.random.default_rng(0)
    hits, scores = generator.random(20000) < 0.7, generator.random(20000)
    first, second = (
        excess_aurc(scores, hits, optimum=optimum, n_resamples=10, seed=0).value
        for optimum in ("asymptotic", "finite")
    )
    assert first == pytest.approx(second, abs=1e-3)
    assert first > second


@pytest.mark.parametrize("correct", [0, 1])
def test_all_right_and_all_wrong(correct):
    estimate = excess_aurc([0.1, 0.5, 0.9], [correct] * 3, n_resamples=50, seed=0)
    assert estimate.value == pytest.approx(0, abs=1e-12)
    assert aurc([0.1, 0.5, 0.9], [correct] * 3, n_resamples=50, seed=0).value == pytest.approx(1 - correct)


@settings(deadline=None, max_examples=40)
@given(answers.filter(lambda items: len(items) > 1), st.sampled_from([0.1, 0.5, 0.7, 1.0]))
def test_accuracy_at_coverage_reads_the_curve(items, coverage):
    confidence, correct = zip(*items, strict=True)
    kept = max(1, int(np.ceil(round(coverage * len(items), 9))))
    estimate = accuracy_at_coverage(confidence, correct, coverage=coverage, n_resamples=20, seed=0)
    assert estimate.value == pytest.approx(1 - expected_curve(confidence, correct)[kept - 1])


def test_coverage_is_not_raised_by_rounding():
    # 0.7 · 10 is 7.000000000000001 in doubles in some orders of evaluation; seven answers are kept, not eight.
    hits = [True] * 7 + [False] * 3
    estimate = accuracy_at_coverage(np.arange(10)[::-1], hits, coverage=0.1 * 7, n_resamples=20, seed=0)
    assert estimate.value == 1


def test_collapsed_accuracy_has_wilsons_interval():
    scores, hits = np.arange(50), np.ones(50)
    estimate = accuracy_at_coverage(scores, hits, coverage=0.5, seed=0)
    assert (estimate.low, estimate.high) == pytest.approx(wilson_bounds(25, 25, 0.95))
    by_cluster = accuracy_at_coverage(scores, hits, coverage=0.5, clusters=scores // 5, seed=0)
    assert by_cluster.low == pytest.approx(wilson_bounds(10, 10, 0.95)[0])
    assert (by_cluster.n, by_cluster.n_items) == (10, 50)


def test_interval_of_the_area_covers():
    generator = np.random.default_rng(0)

    def draw(n):
        scores = generator.random(n)
        return scores, generator.random(n) < scores

    truth = risk_coverage(*draw(400_000)).area
    hits = 0
    for _ in range(200):
        estimate = aurc(*draw(80), n_resamples=300, seed=1)
        hits += estimate.low <= truth <= estimate.high
    assert 0.9 <= hits / 200 <= 0.985


def test_clusters_widen():
    generator = np.random.default_rng(0)
    scenes = np.repeat(np.arange(20), 10)
    hits = (generator.random(20) < 0.5)[scenes]
    scores = generator.random(200)
    plain = aurc(scores, hits, seed=0)
    by_scene = aurc(scores, hits, clusters=scenes, seed=0)
    assert by_scene.n == 20
    assert by_scene.high - by_scene.low > 2 * (plain.high - plain.low)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: risk_coverage([], []), "at least 1"),
        (lambda: risk_coverage([1.0], [1, 0]), "same length"),
        (lambda: risk_coverage([np.nan], [1]), "finite"),
        (lambda: risk_coverage([1.0], [0.5]), "True/False"),
        (lambda: aurc([1.0], [1], seed=0), "2 independent units"),
        (lambda: excess_aurc([1.0, 2.0], [1, 0], optimum="best", seed=0), "one of"),
        (lambda: accuracy_at_coverage([1.0, 2.0], [1, 0], coverage=0.0, seed=0), "coverage"),
        (lambda: accuracy_at_coverage([1.0, 2.0], [1, 0], coverage=70, seed=0), "coverage"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()
