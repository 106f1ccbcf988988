import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from theodolite.core.errors import UsageError
from theodolite.stats import partial_correlation, pearson, spearman
from theodolite.stats.clustered import wilson_bounds

GENERATOR = np.random.default_rng(4)
Z = GENERATOR.normal(size=(50, 2))
X = Z @ [1.0, -0.5] + GENERATOR.normal(size=50)
Y = Z @ [0.7, 0.9] + 0.6 * X + GENERATOR.normal(size=50)


@pytest.mark.parametrize("n", [4, 5, 50])
def test_pearson_agrees_with_scipy(n):
    theirs = reference.pearsonr(X[:n], Y[:n])
    ours = pearson(X[:n], Y[:n], level=0.9)
    interval = theirs.confidence_interval(0.9)
    assert ours.value == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))
    assert ours.n == n


def test_spearman_agrees_with_scipy_with_ties():
    x, y = X.round(0), Y.round(0)
    theirs = reference.spearmanr(x, y)
    ours = spearman(x, y)
    assert ours.value == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)


def test_spearman_interval_agrees_with_a_published_example():
    # Worked example of ci.spear in the R package statpsych (Bonett): 0.8699639 [0.5840951, 0.9638297].
    y = [21, 4, 9, 12, 35, 18, 10, 22, 24, 1, 6, 8, 13, 16, 19]
    x = [67, 28, 30, 28, 52, 40, 25, 37, 44, 10, 14, 20, 28, 40, 51]
    ours = spearman(x, y)
    assert (ours.value, ours.low, ours.high) == pytest.approx((0.8699639, 0.5840951, 0.9638297), abs=1e-7)


@pytest.mark.parametrize("columns", [Z[:, 0], Z])
@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_partial_agrees_with_regression(columns, kind):
    ranked = [reference.rankdata(v, axis=0) if kind == "spearman" else v for v in (X, Y, columns)]
    design = sm.add_constant(ranked[2])
    residuals = [sm.OLS(v, design).fit().resid for v in ranked[:2]]
    fit = sm.OLS(ranked[1], np.column_stack([design, ranked[0]])).fit()
    ours = partial_correlation(X, Y, covariates=columns, kind=kind)
    assert ours.value == pytest.approx(np.corrcoef(*residuals)[0, 1])
    assert ours.p_value == pytest.approx(fit.pvalues[-1])


def test_partial_agrees_with_the_precision_matrix():
    precision = np.linalg.inv(np.cov(np.column_stack([X, Y, Z]).T))
    expected = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
    ours = partial_correlation(X, Y, covariates=Z)
    reach = reference.norm.ppf(0.975) / np.sqrt(50 - 2 - 3)
    assert ours.value == pytest.approx(expected)
    assert (ours.low, ours.high) == pytest.approx(
        tuple(np.tanh(np.arctanh(expected) + np.array([-reach, reach])))
    )


def test_collinear_covariates_change_nothing():
    doubled = np.column_stack([Z, Z.sum(axis=1)])
    assert partial_correlation(X, Y, covariates=doubled).value == pytest.approx(
        partial_correlation(X, Y, covariates=Z).value
    )


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=4, max_size=12),
    st.floats(0.01, 100),
    st.floats(-1e3, 1e3),
)
def test_value_is_unchanged_by_scale_and_place(pairs, scale, place):
    x, y = np.array(pairs, float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        with pytest.raises(UsageError, match="variation"):
            pearson(x, y)
        return
    for correlate in (pearson, spearman):
        estimate = correlate(x, y)
        assert correlate(x * scale + place, y).value == pytest.approx(estimate.value, abs=1e-6)
        assert correlate(x, -y).value == pytest.approx(-estimate.value)
        assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1
        assert 0 <= estimate.p_value <= 1


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_perfect_correlation_has_wilsons_end(sign):
    estimate = pearson([0.1, 0.2, 0.3, 0.7], sign * np.array([0.3, 0.6, 0.9, 2.1]))
    assert estimate.value == sign
    agreeing = 2 * wilson_bounds(4, 4, 0.95)[0] - 1
    assert sorted((estimate.low, estimate.high), key=abs) == pytest.approx([sign * agreeing, sign], abs=1e-9)
    assert estimate.p_value == 0
    assert "perfect" in estimate.method


def test_three_items_say_nothing():
    estimate = pearson([1, 2, 3], [1, 3, 2])
    assert (estimate.low, estimate.high) == (-1, 1)


@pytest.mark.parametrize("correlate", [pearson, spearman])
def test_intervals_cover(correlate):
    generator = np.random.default_rng(1)
    rho = 0.6
    truth = rho if correlate is pearson else 6 / np.pi * np.arcsin(rho / 2)
    hits = 0
    for _ in range(400):
        x = generator.normal(size=30)
        estimate = correlate(x, rho * x + np.sqrt(1 - rho**2) * generator.normal(size=30))
        hits += estimate.low <= truth <= estimate.high
    assert 0.92 <= hits / 400 <= 0.98


def test_clusters_are_resampled_whole():
    generator = np.random.default_rng(2)
    models = np.repeat(np.arange(15), 4)
    shared = generator.normal(size=(2, 15))[:, models]
    x, y = shared + 0.2 * generator.normal(size=(2, 60))
    plain, by_model = pearson(x, y), pearson(x, y, clusters=models, seed=1)
    assert (by_model.n, by_model.n_items, by_model.p_value) == (15, 60, None)
    assert by_model.value == pytest.approx(plain.value)
    assert by_model.high - by_model.low > 1.4 * (plain.high - plain.low)
    ranked = spearman(x, y, clusters=models, seed=1)
    assert ranked.value == pytest.approx(spearman(x, y).value)
    given_z = partial_correlation(x, y, covariates=generator.normal(size=60), clusters=models, seed=1)
    assert given_z.n == 15


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pearson([], []), "at least 3"),
        (lambda: pearson([1, 2], [1, 2]), "at least 3"),
        (lambda: pearson([1, 2, 3], [1, 2, 3, 4]), "same length"),
        (lambda: pearson([1, 2, 3], [5, 5, 5]), "variation"),
        (lambda: spearman([1, 2, np.inf], [1, 2, 3]), "finite"),
        (lambda: pearson([0.1 + 0.2, 0.3, 0.3], [1, 2, 3]), "variation"),
        (lambda: pearson([1, 2, 3], [1, 3, 2], level=2), "level"),
        (lambda: partial_correlation(X, Y, covariates=X), "given the covariates"),
        (lambda: partial_correlation(X, Y, covariates=np.ones(50)), "covariate is constant"),
        (lambda: partial_correlation(X, Y, covariates=Z[:40]), "same length"),
        (lambda: partial_correlation(X, Y, covariates=np.empty((50, 0))), "k >= 1"),
        (lambda: partial_correlation(X, Y, covariates=Z, kind="kendall"), "one of"),
        (lambda: partial_correlation(X[:4], Y[:4], covariates=Z[:4]), "at least 5"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()
