import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from theodolite.core.errors import UsageError
from theodolite.stats import cohen_kappa
from theodolite.stats.clustered import wilson_bounds

cohen_kappa_score = pytest.importorskip("sklearn.metrics").cohen_kappa_score  # loads late, as in the package

GENERATOR = np.random.default_rng(8)
FIRST = GENERATOR.integers(0, 4, 120)
SECOND = np.where(GENERATOR.random(120) < 0.6, FIRST, GENERATOR.integers(0, 4, 120))
SKLEARN = {"none": None, "linear": "linear", "quadratic": "quadratic"}


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_agrees_with_sklearn_and_statsmodels(weights):
    table = np.zeros((4, 4))
    np.add.at(table, (FIRST, SECOND), 1)
    theirs = cohens_kappa(table, wt=SKLEARN[weights])
    ours = cohen_kappa(FIRST, SECOND, weights=weights)
    assert ours.value == pytest.approx(cohen_kappa_score(FIRST, SECOND, weights=SKLEARN[weights]))
    assert (ours.low, ours.high) == pytest.approx((theirs.kappa_low, theirs.kappa_upp))
    assert ours.n == 120


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30),
    st.sampled_from(["none", "linear", "quadratic"]),
)
def test_any_ratings(pairs, weights):
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    if np.unique(np.concatenate([first, second])).size == 1:
        with pytest.raises(UsageError, match="undefined"):
            cohen_kappa(first, second, weights=weights)
        return
    ours = cohen_kappa(first, second, weights=weights, categories=[0, 1, 2, 3])
    theirs = cohen_kappa_score(first, second, weights=SKLEARN[weights], labels=[0, 1, 2, 3])
    assert ours.value == pytest.approx(theirs, abs=1e-9)
    assert -1 <= ours.low <= ours.value <= ours.high <= 1
    assert ours.low < ours.high
    if weights == "none":
        assert cohen_kappa(second, first).value == pytest.approx(ours.value)


def test_unused_categories_and_their_order_matter_when_weighted():
    first, second = ["low", "low", "high", "mid"], ["low", "mid", "high", "high"]
    order = ["low", "mid", "high"]
    ours = cohen_kappa(first, second, weights="linear", categories=order)
    codes = [[order.index(label) for label in side] for side in (first, second)]
    assert ours.value == pytest.approx(cohen_kappa_score(*codes, weights="linear"))
    assert ours.value != pytest.approx(cohen_kappa(first, second, weights="linear").value)
    gap = cohen_kappa([1, 1, 5, 5], [1, 5, 5, 5], weights="quadratic", categories=[1, 2, 3, 4, 5])
    assert gap.value == pytest.approx(
        cohen_kappa_score([1, 1, 5, 5], [1, 5, 5, 5], weights="quadratic", labels=[1, 2, 3, 4, 5])
    )


def test_perfect_agreement_keeps_a_width():
    labels = np.tile([0, 1], 15)
    ours = cohen_kappa(labels, labels)
    assert (ours.value, ours.high) == (1.0, 1.0)
    assert ours.low == pytest.approx((wilson_bounds(30, 30, 0.95)[0] - 0.5) / 0.5)
    assert "collapsed" in ours.method
    by_cluster = cohen_kappa(labels, labels, clusters=np.arange(30) // 3)
    assert by_cluster.low < ours.low
    assert (by_cluster.n, by_cluster.n_items) == (10, 30)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@pytest.mark.parametrize("counts", [(7, 11, 5), (1, 1, 1), (13, 3, 29), (100, 0, 7)])
def test_rounding_does_not_hide_a_collapse(weights, counts):
    labels = np.repeat(np.arange(3), counts)
    ours = cohen_kappa(labels, labels, weights=weights, categories=[0, 1, 2])
    assert ours.value == pytest.approx(1)
    assert ours.low < 0.99


def test_perfect_disagreement_keeps_a_width():
    ours = cohen_kappa([0, 2] * 10, [2, 0] * 10, weights="linear")
    assert (ours.value, ours.low) == pytest.approx((-1, -1))
    assert ours.high == pytest.approx((wilson_bounds(0, 20, 0.95)[1] - 0.5) / 0.5)


def test_clusters_are_resampled_whole():
    scenes = np.repeat(np.arange(24), 5)
    rated = GENERATOR.integers(0, 2, 24)[scenes]
    other = np.where((GENERATOR.random(24) < 0.7)[scenes], rated, 1 - rated)
    plain = cohen_kappa(rated, other)
    by_scene = cohen_kappa(rated, other, clusters=scenes, seed=2)
    assert by_scene.value == pytest.approx(plain.value)
    assert by_scene.high - by_scene.low > 1.5 * (plain.high - plain.low)


def test_cluster_bootstrap_of_single_items_nears_the_formula():
    plain = cohen_kappa(FIRST, SECOND, weights="linear")
    drawn = cohen_kappa(FIRST, SECOND, weights="linear", clusters=np.arange(120))
    assert (drawn.low, drawn.high) == pytest.approx((plain.low, plain.high), abs=0.03)


def test_interval_covers():
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        first = generator.integers(0, 3, 100)
        second = np.where(generator.random(100) < 0.5, first, generator.integers(0, 3, 100))
        estimate = cohen_kappa(first, second)
        hits += estimate.low <= 0.5 <= estimate.high
    assert 0.92 <= hits / 300 <= 0.98


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cohen_kappa([], []), "same items"),
        (lambda: cohen_kappa([1, 2], [1]), "same items"),
        (lambda: cohen_kappa([1, 1], [1, 1]), "undefined"),
        (lambda: cohen_kappa([1, 2], [1, 2], weights="cubic"), "one of"),
        (lambda: cohen_kappa([1, 2], [1, 2], categories=[1, 3]), "missing: \\[2\\]"),
        (lambda: cohen_kappa([1, 2], [1, 2], categories=[1, 2, 2]), "once"),
        (lambda: cohen_kappa([1.0, np.nan], [1.0, 2.0]), "missing labels"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def test_one_item_that_disagrees_is_defined():
    estimate = cohen_kappa([1], [2])
    assert estimate.value == pytest.approx(0)
