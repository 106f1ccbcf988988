import numpy as np
import pytest
from scipy import stats as reference

from theodolite.core.errors import UsageError
from theodolite.stats import eta_squared
from theodolite.stats.information import _shares

GENERATOR = np.random.default_rng(6)
GROUPS = GENERATOR.integers(0, 3, 45)
VALUES = GENERATOR.normal(size=45) + 0.8 * GROUPS


def sums_of_squares(values, groups):
    total = ((values - values.mean(axis=0)) ** 2).sum()
    within = sum(
        ((values[groups == g] - values[groups == g].mean(axis=0)) ** 2).sum() for g in np.unique(groups)
    )
    return total - within, total


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_eta_and_omega_agree_with_the_f_test(offset):
    f = reference.f_oneway(*(VALUES[g == GROUPS] for g in range(3))).statistic
    between, within = 2, 42
    eta = eta_squared(VALUES + offset, GROUPS, n_resamples=50, seed=0)
    omega = eta_squared(VALUES + offset, GROUPS, corrected=True, n_resamples=50, seed=0)
    assert eta.value == pytest.approx(between * f / (between * f + within), rel=1e-6)
    assert omega.value == pytest.approx(between * (f - 1) / (between * (f - 1) + 45), rel=1e-6)
    assert eta.n == 45


def test_several_columns_sum_their_squares():
    matrix = np.column_stack([VALUES, 3 * GENERATOR.normal(size=45), GROUPS])
    between, total = sums_of_squares(matrix, GROUPS)
    assert eta_squared(matrix, GROUPS, n_resamples=50, seed=0).value == pytest.approx(between / total)


def test_weights_repeat_items():
    weights = GENERATOR.integers(0, 3, (6, 45))
    weights[3:, GROUPS == 1] = 0  # a group that a resample missed is no group of it
    member = (GROUPS[:, None] == np.arange(3)).astype(float)
    found = _shares(VALUES[:, None], member, weights.astype(float))
    for row, value in zip(weights, found, strict=True):
        between, total = sums_of_squares(np.repeat(VALUES, row), np.repeat(GROUPS, row))
        assert value == pytest.approx(between / total)


@pytest.mark.parametrize("corrected", [False, True])
def test_perfect_and_absent_grouping(corrected):
    perfect = eta_squared([1, 1, 1, 5, 5, 5] * 3, [0, 0, 0, 1, 1, 1] * 3, corrected=corrected, seed=0)
    assert perfect.value == pytest.approx(1)
    assert perfect.low < perfect.high == pytest.approx(1)
    absent = eta_squared([1, 2, 3, 1, 2, 3] * 3, [0, 0, 0, 1, 1, 1] * 3, corrected=corrected, seed=0)
    assert absent.value == pytest.approx(0, abs=1e-12) if not corrected else absent.value < 0


def test_omega_is_about_zero_by_chance_and_eta_is_not():
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 5)
    draws = generator.normal(size=(150, 40))
    eta, omega = (
        np.mean([eta_squared(v, groups, corrected=c, n_resamples=2, seed=0).value for v in draws])
        for c in (False, True)
    )
    assert eta == pytest.approx(7 / 39, abs=0.02)
    assert omega == pytest.approx(0, abs=0.02)


def coverage(truth, n_clusters, per_cluster, n_simulations=200):
    """Share of intervals, of η² and of ω², that hold the truth; 3 groups of whole clusters of dependent items."""
    generator = np.random.default_rng(0)
    scenes = np.repeat(np.arange(n_clusters), per_cluster)
    effect = np.array([-1.0, 0.0, 1.0]) * np.sqrt(1.5 * truth / (1 - truth))
    hits = np.zeros(2)
    for _ in range(n_simulations):
        noise = generator.normal(size=n_clusters)[scenes] + generator.normal(size=scenes.size)
        values = noise / np.sqrt(2) + effect[scenes % 3]
        for place, corrected in enumerate((False, True)):
            estimate = eta_squared(
                values, scenes % 3, corrected=corrected, clusters=scenes, n_resamples=300, seed=1
            )
            hits[place] += estimate.low <= truth <= estimate.high
    return hits / n_simulations


@pytest.mark.parametrize("truth", [0.0, 0.02, 0.1, 0.3])
@pytest.mark.parametrize(("n_clusters", "per_cluster"), [(120, 1), (36, 4)])
def test_interval_covers(truth, n_clusters, per_cluster):
    shares = coverage(truth, n_clusters, per_cluster)
    assert shares.min() >= 0.91
    assert shares.max() <= (1 if truth < 0.05 else 0.985)


def test_interval_is_cut_for_eta_only():
    generator = np.random.default_rng(3)
    values, groups = generator.normal(size=60), np.arange(60) % 4
    eta, omega = (eta_squared(values, groups, corrected=c, seed=0) for c in (False, True))
    assert eta.low == 0
    assert omega.low < 0
    assert omega.high == eta.high
    assert omega.value < eta.value
    assert "bias-shifted percentile" in eta.method


def test_clusters_are_resampled_whole():
    scenes = np.repeat(np.arange(15), 6)
    values = GENERATOR.normal(size=15)[scenes] + 0.3 * GENERATOR.normal(size=90)
    groups = (scenes % 3).astype(str)
    plain = eta_squared(values, groups, seed=0)
    by_scene = eta_squared(values, groups, clusters=scenes, seed=0)
    assert (by_scene.n, by_scene.n_items) == (15, 90)
    assert by_scene.high - by_scene.low > 1.3 * (plain.high - plain.low)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: eta_squared([], [], seed=0), "not empty"),
        (lambda: eta_squared([1, 2, 3], ["a", "b"], seed=0), "same length"),
        (lambda: eta_squared([1, 2, 3], ["a", "a", "a"], seed=0), "2 groups"),
        (lambda: eta_squared([2, 2, 2], ["a", "a", "b"], seed=0), "constant"),
        (lambda: eta_squared([0.3, 0.1 + 0.2, 0.3], ["a", "a", "b"], seed=0), "constant"),
        (lambda: eta_squared([1, 2], ["a", "b"], corrected=True, seed=0), "more items"),
        (lambda: eta_squared([1, np.nan], ["a", "b"], seed=0), "finite"),
        (lambda: eta_squared(np.ones((2, 2, 2)), ["a", "b"], seed=0), "shape"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()
