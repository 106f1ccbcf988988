import itertools
import math

import numpy as np
import pytest
from scipy import stats as reference

from theodolite.core.errors import UsageError
from theodolite.stats import correlation_permutation_test, permutation_test, sign_flip_test

ALTERNATIVES = ["two-sided", "greater", "less"]
FIRST = np.array([1.2, 3.4, 2.2, 5.1, 2.2])
SECOND = np.array([0.3, 2.2, 1.9, 1.1, 0.3, 2.6])


def mean_difference(x, y, axis=-1):
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_two_samples_agree_with_scipy_exactly(alternative):
    ours = permutation_test(FIRST, SECOND, alternative=alternative, seed=0)
    theirs = reference.permutation_test(
        (FIRST, SECOND), mean_difference, vectorized=True, n_resamples=math.inf, alternative=alternative
    )
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.method == f"exact, all {math.comb(11, 5)} arrangements"
    assert ours.n == 11


def test_any_statistic():
    ours = permutation_test(FIRST, SECOND, statistic=lambda x, y: np.median(x) - np.median(y), seed=0)
    theirs = reference.permutation_test(
        (FIRST, SECOND), lambda x, y: np.median(x) - np.median(y), n_resamples=math.inf, vectorized=False
    )
    assert ours.p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_monte_carlo_nears_the_exact_p(alternative, monkeypatch):
    exact = permutation_test(FIRST, SECOND, alternative=alternative, seed=0)
    monkeypatch.setattr("theodolite.stats.permutation.EXACT_LIMIT", 1)
    drawn = permutation_test(FIRST, SECOND, alternative=alternative, n_permutations=20000, seed=0)
    assert "Monte Carlo, 20000" in drawn.method
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.01)


def test_result_does_not_depend_on_the_size_of_blocks(monkeypatch):
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    tests = [permutation_test, sign_flip_test, correlation_permutation_test]
    whole = [test(x, y, n_permutations=333, seed=1) for test in tests]
    exact = [test(x[:6], y[:6], seed=1) for test in tests]
    monkeypatch.setattr("theodolite.stats.permutation.BLOCK_CELLS", 500)
    assert [test(x, y, n_permutations=333, seed=1) for test in tests] == whole
    assert [test(x[:6], y[:6], seed=1) for test in tests] == exact


def test_many_units_are_counted_by_logarithm():
    x, y = np.random.default_rng(0).normal(size=(2, 3000))
    assert "Monte Carlo, 9 " in permutation_test(x, y, n_permutations=9, seed=0).method
    assert "Monte Carlo, 9 " in sign_flip_test(x, y, n_permutations=9, seed=0).method


def test_monte_carlo_p_is_never_zero():
    result = permutation_test(np.arange(30.0) + 100, np.arange(30.0), n_permutations=99, seed=0)
    assert result.p_value == pytest.approx(2 / 100)
    again = permutation_test(np.arange(30.0) + 100, np.arange(30.0), n_permutations=99, seed=0)
    assert again == result


def test_clusters_move_as_wholes():
    first, second = np.array([5.0, 6.0, 1.0]), np.array([2.0, 2.5, 0.0, 3.0])
    clusters = (["a", "a", "b"], ["c", "c", "d", "e"])
    result = permutation_test(first, second, clusters=clusters, alternative="greater", seed=0)
    groups = [np.array(v) for v in ([5.0, 6.0], [1.0], [2.0, 2.5], [0.0], [3.0])]
    values = []
    for chosen in itertools.combinations(range(5), 2):
        inside = np.concatenate([groups[i] for i in chosen])
        outside = np.concatenate([groups[i] for i in range(5) if i not in chosen])
        values.append(inside.mean() - outside.mean())
    observed = first.mean() - second.mean()
    assert result.statistic == pytest.approx(observed)
    assert result.p_value == pytest.approx(np.mean(np.array(values) >= observed - 1e-12))
    assert (result.n, result.n_items) == (5, 7)
    spelled = permutation_test(
        first, second, clusters=clusters, alternative="greater", statistic=mean_difference, seed=0
    )
    assert spelled.p_value == result.p_value


def test_a_cluster_in_both_samples_is_refused():
    with pytest.raises(UsageError, match="sign_flip_test"):
        permutation_test([1, 2], [3, 4], clusters=(["a", "b"], ["b", "c"]), seed=0)
    with pytest.raises(UsageError, match="one cluster per item"):
        permutation_test([1, 2], [3, 4], clusters=(["a"], ["b", "c"]), seed=0)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3])
def test_constant_samples_show_nothing(value):
    assert permutation_test([value] * 5, [value] * 7, seed=0).p_value == 1
    assert sign_flip_test([value] * 5, [value] * 5, seed=0).p_value == 1


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sign_flip_agrees_with_scipy_exactly(alternative):
    first, second = FIRST, SECOND[:5]
    ours = sign_flip_test(first, second, alternative=alternative, seed=0)
    theirs = reference.permutation_test(
        (first - second,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=math.inf,
        alternative=alternative,
    )
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.method == "exact, all 32 arrangements"


def test_sign_flip_by_cluster():
    differences, clusters = np.array([1.0, 2.0, -0.5, 3.0, 0.2]), list("aabbc")
    result = sign_flip_test(differences, clusters=clusters, alternative="greater", seed=0)
    sums = np.array([3.0, 2.5, 0.2])
    values = np.array([signs @ sums for signs in itertools.product((-1, 1), repeat=3)])
    assert result.p_value == pytest.approx(np.mean(values >= sums.sum() - 1e-12))
    assert (result.n, result.n_items) == (3, 5)


def test_sign_flip_ignores_rounding():
    result = sign_flip_test([0.3] * 10, [0.1 + 0.2] * 10, seed=0)
    assert result.p_value == 1
    assert result.statistic == 0


def test_sign_flip_of_many_pairs_is_monte_carlo():
    result = sign_flip_test(np.arange(1.0, 41), n_permutations=999, alternative="greater", seed=3)
    assert result.p_value == pytest.approx(1 / 1000)
    assert "999" in result.method


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_correlation_agrees_with_scipy_exactly(kind, alternative):
    x, y = np.array([1.0, 2.0, 3.5, 4.0, 4.0, 7.0]), np.array([2.0, 1.0, 3.0, 9.0, 4.0, 4.0])
    correlate = reference.pearsonr if kind == "pearson" else reference.spearmanr
    ours = correlation_permutation_test(x, y, kind=kind, alternative=alternative, seed=0)
    theirs = reference.permutation_test(
        (y,),
        lambda y: correlate(x, y).statistic,
        permutation_type="pairings",
        vectorized=False,
        n_resamples=math.inf,
        alternative=alternative,
    )
    assert ours.statistic == pytest.approx(correlate(x, y).statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)


def test_correlation_by_cluster_moves_blocks():
    generator = np.random.default_rng(5)
    models = np.repeat(np.arange(4), 3)
    x, y = generator.normal(size=12), generator.normal(size=12)
    result = correlation_permutation_test(x, y, clusters=models, alternative="greater", seed=0)
    blocks = y.reshape(4, 3)
    values = [np.corrcoef(x, blocks[list(order)].ravel())[0, 1] for order in itertools.permutations(range(4))]
    assert result.p_value == pytest.approx(np.mean(np.array(values) >= np.corrcoef(x, y)[0, 1] - 1e-12))
    assert (result.n, result.n_items) == (4, 12)
    interleaved = np.argsort(np.tile(np.arange(3), 4), kind="stable")
    again = correlation_permutation_test(
        x[interleaved], y[interleaved], clusters=models[interleaved], alternative="greater", seed=0
    )
    assert again.p_value == result.p_value


def test_eight_models_are_enumerated():
    x = np.repeat(np.arange(8.0), 3) + np.tile([0, 0.1, 0.2], 8)
    result = correlation_permutation_test(
        x, x**2, clusters=np.repeat(np.arange(8), 3), alternative="greater", seed=0
    )
    assert result.method == "exact, all 40320 arrangements"
    assert result.p_value == pytest.approx(1 / 40320)


def test_correlation_monte_carlo():
    x = np.arange(30.0)
    result = correlation_permutation_test(x, x + 1, n_permutations=199, alternative="greater", seed=0)
    assert result.p_value == pytest.approx(1 / 200)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: permutation_test([], [1.0], seed=0), "at least 1"),
        (lambda: permutation_test([1.0, np.nan], [1.0], seed=0), "finite"),
        (lambda: permutation_test([1.0], [2.0], alternative="bigger", seed=0), "one of"),
        (lambda: permutation_test([1.0], [2.0], statistic="median", seed=0), "one of"),
        (lambda: permutation_test([1.0], [2.0], n_permutations=0, seed=0), "n_permutations"),
        (
            lambda: permutation_test([1.0], [2.0], statistic=lambda x, y: x[0] * np.nan + y[0], seed=0),
            "undefined",
        ),
        (lambda: sign_flip_test([1.0, 2.0], [1.0], seed=0), "same length"),
        (lambda: sign_flip_test([1.0, 2.0], clusters=["a"], seed=0), "one cluster per item"),
        (lambda: sign_flip_test([1.0, 2.0], seed=-1), "seed"),
        (lambda: correlation_permutation_test([1, 2, 3], [1, 1, 1], seed=0), "constant"),
        (lambda: correlation_permutation_test([1, 2], [1, 3], seed=0), "at least 3"),
        (lambda: correlation_permutation_test([1, 2, 3], [1, 3, 2], clusters=[1, 1, 2], seed=0), "same size"),
        (
            lambda: correlation_permutation_test([1, 2, 3], [1, 3, 2], clusters=[1, 1, 1], seed=0),
            "2 clusters",
        ),
        (lambda: correlation_permutation_test([1, 2, 3], [1, 3, 2], kind="kendall", seed=0), "one of"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def test_p_is_calibrated_by_cluster_and_not_without():
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 5)
    by_cluster, by_item = [], []
    for _ in range(150):
        values = (generator.normal(size=12)[:, None] + 0.5 * generator.normal(size=(12, 5))).ravel()
        by_cluster.append(sign_flip_test(values, clusters=labels, seed=0).p_value)
        by_item.append(sign_flip_test(values, n_permutations=199, seed=0).p_value)
    assert np.mean(np.array(by_cluster) <= 0.05) <= 0.1
    assert np.mean(np.array(by_item) <= 0.05) >= 0.2
