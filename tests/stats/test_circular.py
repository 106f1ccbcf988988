import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from theodolite.core.errors import UsageError
from theodolite.stats import circular_distance, circular_mean, resultant_length

angles = st.floats(-720, 720, allow_nan=False)


def test_agrees_with_scipy():
    given_angles = np.random.default_rng(0).uniform(-400, 400, (5, 20))
    ours = circular_mean(given_angles)
    assert ours == pytest.approx(reference.circmean(given_angles, high=360, low=0, axis=1))
    assert resultant_length(given_angles) == pytest.approx(
        1 - reference.circvar(np.deg2rad(given_angles), axis=1)
    )


@settings(deadline=None, max_examples=100)
@given(st.lists(angles, min_size=1, max_size=8), angles)
def test_turning_turns_the_mean_and_keeps_the_length(values, turn):
    values = np.array(values)
    length = resultant_length(values)
    assert 0 <= length <= 1
    if length < 1e-3:
        return
    mean = circular_mean(values)
    assert 0 <= mean < 360
    turned = circular_mean(values + turn)
    assert circular_distance(turned, mean + turn) == pytest.approx(0, abs=1e-6)
    assert resultant_length(values + turn) == pytest.approx(length, abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(angles, angles, angles)
def test_distance_is_a_metric_on_the_circle(a, b, c):
    def chord(p, q):
        cosine = np.cos(np.deg2rad(p - q))
        return np.rad2deg(np.arccos(np.clip(cosine, -1, 1)))

    assert circular_distance(a, b) == pytest.approx(chord(a, b), abs=1e-5)
    assert circular_distance(a, b) == circular_distance(b, a)
    assert circular_distance(a, c) <= circular_distance(a, b) + circular_distance(b, c) + 1e-9


def test_known_values():
    assert circular_distance(10, 350) == 20
    assert circular_distance([0, 90], [180, 0]).tolist() == [180, 90]
    assert float(circular_mean([0, 90])) == pytest.approx(45)
    assert float(circular_mean([-1e-20])) == 0
    assert float(circular_mean(720.0 + np.zeros(3))) == pytest.approx(0)


def test_weights_repeat_angles():
    values, weights = np.array([10.0, 200.0, 340.0]), np.array([3, 1, 2])
    repeated = np.repeat(values, weights)
    assert circular_mean(values, weights) == pytest.approx(circular_mean(repeated))
    assert resultant_length(values, weights) == pytest.approx(resultant_length(repeated))
    batch = circular_mean(np.stack([values, values + 5]), weights)
    assert batch[1] - batch[0] == pytest.approx(5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: circular_mean([]), "at least one angle"),
        (lambda: circular_mean(3.0), "last axis"),
        (lambda: circular_mean([0, 180]), "no mean direction"),
        (lambda: circular_mean([0, 90, 180, 270]), "no mean direction"),
        (lambda: circular_mean([[0, 10], [0, 180]]), "no mean direction"),
        (lambda: circular_mean([0, np.nan]), "finite"),
        (lambda: circular_mean([0, 10], [1, -1]), "negative"),
        (lambda: circular_mean([0, 10], [0, 0]), "all be zero"),
        (lambda: circular_mean([0, 10], [1]), "shape"),
        (lambda: circular_distance([0, 10], [0, 10, 20]), "cannot be broadcast"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def test_cancelling_angles_have_length_zero():
    assert resultant_length([0, 180]) == pytest.approx(0, abs=1e-15)
