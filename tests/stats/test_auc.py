import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from theodolite.core.errors import UsageError
from theodolite.stats import roc_auc
from theodolite.stats.auc import _weighted_auc, hanley_mcneil_variance, newcombe_interval
from theodolite.stats.clustered import wilson_bounds

roc_auc_score = pytest.importorskip("sklearn.metrics").roc_auc_score  # loads late, as in the package

labelled = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=30).filter(
    lambda items: len({label for _, label in items}) == 2
)


@settings(deadline=None, max_examples=60)
@given(labelled)
def test_value_is_the_share_of_ordered_pairs(items):
    scores, labels = (np.array(side) for side in zip(*items, strict=True))
    pairs = [np.sign(a - b) for a in scores[labels] for b in scores[~labels]]
    estimate = roc_auc(scores, labels)
    assert estimate.value == pytest.approx((1 + np.mean(pairs)) / 2)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.high - estimate.low > 0
    mirrored = roc_auc(-scores, labels)
    assert mirrored.low == pytest.approx(1 - estimate.high)


def test_value_and_p_agree_with_sklearn_and_scipy():
    generator = np.random.default_rng(0)
    labels = generator.random(80) < 0.3
    scores = (generator.normal(size=80) + labels).round(1)
    estimate = roc_auc(scores, labels)
    assert estimate.value == pytest.approx(roc_auc_score(labels, scores))
    assert estimate.p_value == pytest.approx(reference.mannwhitneyu(scores[labels], scores[~labels]).pvalue)
    assert (estimate.n, estimate.p_value is None) == (80, False)


@pytest.mark.parametrize(("auc", "m", "n"), [(0.5, 10, 10), (0.83, 12, 40), (0.97, 30, 5), (0.2, 8, 9)])
def test_newcombe_bounds_solve_their_equation_on_a_grid(auc, m, n):
    low, high = newcombe_interval(auc, m, n, 0.95)
    theta = np.linspace(0, 1, 200_001)
    inner = (m + n) / 2 - 1
    q1, q2 = theta / (2 - theta), 2 * theta**2 / (1 + theta)
    variance = (theta * (1 - theta) + inner * (q1 - theta**2) + inner * (q2 - theta**2)) / (m * n)
    inside = theta[(auc - theta) ** 2 <= reference.norm.ppf(0.975) ** 2 * variance]
    assert (low, high) == pytest.approx((inside.min(), inside.max()), abs=1e-5)


def test_variance_is_hanley_and_mcneils_when_balanced():
    # Hanley and McNeil (1982), table II: area 0.893, 51 abnormal and 58 normal cases, SE 0.032.
    assert np.sqrt(hanley_mcneil_variance(0.893, 51, 58)) == pytest.approx(0.032, abs=0.001)


@pytest.mark.parametrize("n", [1, 2, 20, 1000])
def test_perfect_separation_keeps_its_width(n):
    estimate = roc_auc(np.arange(2 * n), np.arange(2 * n) >= n)
    assert (estimate.value, estimate.high) == (1.0, 1.0)
    assert 0 < estimate.low < 1
    reverse = roc_auc(-np.arange(2 * n), np.arange(2 * n) >= n)
    assert (reverse.low, reverse.high) == pytest.approx((0, 1 - estimate.low))


def test_width_shrinks_with_n_at_one():
    lows = [newcombe_interval(1.0, n, n, 0.95)[0] for n in (5, 20, 80)]
    assert lows == sorted(lows)


def test_constant_scores_are_a_coin():
    estimate = roc_auc([1.0] * 10, [0, 1] * 5)
    assert estimate.value == 0.5
    assert estimate.p_value == 1
    assert estimate.low == pytest.approx(1 - estimate.high)


@pytest.mark.parametrize("shift", [0.0, 1.2, 2.3])
def test_interval_covers(shift):
    generator = np.random.default_rng(7)
    truth = reference.norm.cdf(shift / np.sqrt(2))
    labels = np.repeat([True, False], [20, 30])
    hits = 0
    for _ in range(400):
        estimate = roc_auc(generator.normal(size=50) + shift * labels, labels)
        hits += estimate.low <= truth <= estimate.high
    assert 0.92 <= hits / 400 <= 0.985


def test_weighted_auc_is_that_of_the_repeated_items():
    generator = np.random.default_rng(3)
    scores, labels = generator.integers(0, 6, 25).astype(float), (generator.random(25) < 0.5).astype(float)
    weights = generator.integers(0, 4, (8, 25))
    found = _weighted_auc(scores, labels, weights.astype(float))
    for row, value in zip(weights, found, strict=True):
        assert value == pytest.approx(roc_auc_score(np.repeat(labels, row), np.repeat(scores, row)))


def clustered(generator):
    scenes = np.repeat(np.arange(30), 8)
    labels = np.tile([True, False], 120)
    shared = generator.normal(size=(2, 30))[labels.astype(int), scenes]
    return shared + 0.2 * generator.normal(size=240) + 1.0 * labels, labels, scenes


def test_cluster_bootstrap_covers_where_items_do_not():
    generator = np.random.default_rng(1)
    truth = reference.norm.cdf(1.0 / np.sqrt(2 * 1.04))
    clustered_hits = item_hits = 0
    for _ in range(120):
        scores, labels, scenes = clustered(generator)
        by_scene, by_item = roc_auc(scores, labels, clusters=scenes), roc_auc(scores, labels)
        clustered_hits += by_scene.low <= truth <= by_scene.high
        item_hits += by_item.low <= truth <= by_item.high
    assert (by_scene.n, by_scene.n_items) == (30, 240)
    assert by_scene.p_value is None
    assert clustered_hits / 120 >= 0.89
    assert item_hits / 120 <= 0.75


def test_a_perfect_separation_of_clusters_has_wilsons_end():
    scores, labels = np.arange(40.0), np.arange(40) >= 20
    estimate = roc_auc(scores, labels, clusters=np.arange(40) % 5)
    assert estimate.value == 1
    assert estimate.low == pytest.approx(wilson_bounds(5, 5, 0.95)[0])
    assert estimate.low < roc_auc(scores, labels).low


def test_cluster_bootstrap_with_the_positives_in_one_cluster_says_so():
    labels = np.repeat([True] + [False] * 39, 3)
    scores = np.random.default_rng(0).normal(size=120)
    with pytest.raises(UsageError, match="undefined on"):
        roc_auc(scores, labels, clusters=np.repeat(np.arange(40), 3))


@pytest.mark.parametrize(
    ("scores", "labels", "words"),
    [
        ([], [], "at least 1"),
        ([1.0, 2.0], [1, 1], "2 positive, 0 negative"),
        ([1.0], [0], "0 positive, 1 negative"),
        ([1.0, 2.0], [1], "same length"),
        ([1.0, np.nan], [1, 0], "finite"),
        ([1.0, 2.0], [1, 2], "True/False"),
    ],
)
def test_refusals(scores, labels, words):
    with pytest.raises(UsageError, match=words):
        roc_auc(scores, labels)
    with pytest.raises(UsageError, match="level"):
        roc_auc([1.0, 2.0], [0, 1], level=1.0)
