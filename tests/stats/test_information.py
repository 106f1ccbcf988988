import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon

from theodolite.core.errors import UsageError
from theodolite.stats import jensen_shannon_divergence, mutual_information

mutual_info_score = pytest.importorskip("sklearn.metrics").mutual_info_score  # loads late, as in the package

masses = arrays(float, 6, elements=st.floats(0, 10)).filter(lambda mass: mass.sum() > 1e-3)


def test_divergence_agrees_with_scipy_in_batches():
    generator = np.random.default_rng(0)
    first, second = generator.gamma(0.3, size=(2, 4, 3, 8))
    ours = jensen_shannon_divergence(first, second)
    assert ours.shape == (4, 3)
    assert ours == pytest.approx(jensenshannon(first, second, base=2, axis=-1) ** 2)
    broadcast = jensen_shannon_divergence(first, second[0, 0])
    assert broadcast[2, 1] == pytest.approx(jensenshannon(first[2, 1], second[0, 0], base=2) ** 2)


@settings(deadline=None, max_examples=80)
@given(masses, masses)
def test_divergence_is_a_bounded_symmetric_divergence(first, second):
    found = float(jensen_shannon_divergence(first, second))
    assert 0 <= found <= 1
    assert found == pytest.approx(float(jensen_shannon_divergence(second, first)), abs=1e-12)
    assert float(jensen_shannon_divergence(first, 3 * first)) == pytest.approx(0, abs=1e-12)


def test_divergence_of_extreme_mass():
    assert float(jensen_shannon_divergence([1e-320, 0], [0, 1e300])) == 1
    assert float(jensen_shannon_divergence([1e308, 1e308], [1, 1])) == pytest.approx(0)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([0, 0], [1, 1], "without mass"),
        ([[1, 1], [0, 0]], [1, 1], "without mass"),
        ([1, -1], [1, 1], "negative"),
        ([1, np.nan], [1, 1], "finite"),
        ([], [], "at least one cell"),
        (1.0, 1.0, "at least one cell"),
        ([1, 1, 1], [1, 1], "cannot be broadcast"),
    ],
)
def test_divergence_refuses(first, second, words):
    with pytest.raises(UsageError, match=words):
        jensen_shannon_divergence(first, second)


def test_information_agrees_with_sklearn():
    generator = np.random.default_rng(0)
    first = generator.integers(0, 4, 200)
    second = (first + generator.integers(0, 3, 200)) % 5
    result = mutual_information(first, second, n_permutations=50, seed=0)
    assert result.value == pytest.approx(mutual_info_score(first, second) / np.log(2))
    assert result.p_value == pytest.approx(1 / 51)
    assert (result.n, result.n_permutations) == (200, 50)


def test_null_agrees_with_the_expected_information():
    expected = pytest.importorskip("sklearn.metrics.cluster").expected_mutual_information
    crosstab = np.array([[8, 3, 4], [2, 9, 4]])
    first = np.repeat([0, 1], crosstab.sum(axis=1))
    second = np.concatenate([np.repeat(np.arange(3), row) for row in crosstab])
    result = mutual_information(first, second, n_permutations=20000, seed=0)
    bits = expected(crosstab, 30) / np.log(2)
    assert result.null_mean == pytest.approx(bits, rel=0.03)
    assert result.corrected == pytest.approx(result.value - bits, abs=0.003)
    assert result.null_mean < result.null_high


def test_independent_labels_are_not_significant_more_often_than_they_should():
    generator = np.random.default_rng(0)
    p_values = [
        mutual_information(*generator.integers(0, 3, (2, 40)), n_permutations=99, seed=1).p_value
        for _ in range(200)
    ]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.09
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.08)


def test_single_label_and_single_item():
    result = mutual_information(["a"] * 5, [1, 2, 3, 4, 5], seed=0)
    assert (result.value, result.corrected, result.p_value) == (0, 0, 1)
    assert mutual_information(["a"], ["b"], seed=0).p_value == 1


def test_blocks_do_not_matter(monkeypatch):
    arguments = (list("aabbccab"), list("xyxyxyxx"))
    whole = mutual_information(*arguments, n_permutations=100, seed=3)
    monkeypatch.setattr("theodolite.stats.permutation.BLOCK_CELLS", 50)
    assert mutual_information(*arguments, n_permutations=100, seed=3) == whole


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mutual_information([], [], seed=0), "non-empty"),
        (lambda: mutual_information([1], [1, 2], seed=0), "same length"),
        (lambda: mutual_information([1, 2], [1, 2], n_permutations=0, seed=0), "n_permutations"),
        (lambda: mutual_information([1, 2], [1.0, np.nan], seed=0), "missing"),
    ],
)
def test_information_refuses(call, words):
    with pytest.raises(UsageError, match=words):
        call()
