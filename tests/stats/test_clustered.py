"""The one clustered estimate: never of zero width, right at the ends, and with the coverage that it promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from scipy.stats import beta

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric
from theodolite.stats import (
    clustered_difference,
    clustered_mean,
    equivalent,
    independent_difference,
    score_mean,
    wilson_interval,
)


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (20, 20), (7, 20), (1, 2), (999, 1000)])
def test_independent_shares_have_wilsons_interval(hits, n):
    found = clustered_mean([1] * hits + [0] * (n - hits))
    wanted = wilson_interval(hits, n)
    assert (found.value, found.n) == (wanted.value, n)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_equal_clusters_that_are_all_or_nothing_count_as_their_clusters():
    found = clustered_mean(np.repeat([1, 1, 0, 1], 10), np.repeat(np.arange(4), 10))
    wanted = wilson_interval(3, 4)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_one_picture_with_one_right_answer_of_three_is_a_third_not_all():
    found = clustered_mean([1, 0, 0], ["a", "a", "a"])
    assert found.value == pytest.approx(1 / 3)
    assert found.n == 1
    assert found.low < 0.05
    assert found.high > 0.85


def test_many_rows_on_one_picture_say_what_share_is_right():
    values = np.array([1] * 1402 + [0] * 615)
    found = clustered_mean(values, np.zeros(values.size))
    assert found.value == pytest.approx(0.6951, abs=1e-4)
    assert found.high - found.low > 0.5


def test_nothing_gives_nothing():
    assert clustered_mean([]) is None
    assert clustered_difference([], []) is None
    assert equivalent([], [], margin=0.1) is None


def test_more_clusters_of_the_same_kind_give_a_narrower_interval():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, 400)
    few, many = (clustered_mean(values[: 10 * k], np.repeat(np.arange(k), 10)) for k in (8, 40))
    assert many.high - many.low < few.high - few.low


def test_varying_clusters_approach_the_cluster_robust_interval():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(400), 5)
    values = rng.random(2000) < np.repeat(rng.beta(4, 4, 400), 5)
    sums = np.bincount(clusters, values - values.mean()) / values.size
    width = 2 * 1.96 * np.sqrt(np.sum(sums**2))
    found = clustered_mean(values.astype(float), clusters)
    assert found.high - found.low == pytest.approx(width, rel=0.05)


def test_bounds_scale_the_interval():
    shares = clustered_mean([0.1, 0.4, 0.2, 0.9], [1, 1, 2, 3])
    degrees = clustered_mean(np.array([0.1, 0.4, 0.2, 0.9]) * 180, [1, 1, 2, 3], bounds=(0, 180))
    assert (degrees.value, degrees.low, degrees.high) == pytest.approx(
        (180 * shares.value, 180 * shares.low, 180 * shares.high)
    )
    with pytest.raises(UsageError, match="must lie within"):
        clustered_mean([1.2])


def test_values_without_bounds_have_students_interval_or_none():
    rng = np.random.default_rng(2)
    values = rng.normal(3, 2, 30)
    found = clustered_mean(values, bounds=None)
    error = values.std(ddof=1) / np.sqrt(30)
    assert found.high - found.value == pytest.approx(2.0452 * error, rel=1e-3)
    assert clustered_mean([5.0, 5.0], bounds=None) is None
    assert clustered_mean([5.0, 6.0], ["a", "a"], bounds=None) is None


def test_a_macro_mean_weighs_groups_alike():
    values = [1, 1, 1, 1, 0, 0]
    groups = ["easy"] * 4 + ["hard"] * 2
    assert clustered_mean(values, groups=groups).value == pytest.approx(0.5)
    whole = clustered_mean(values * 30, np.arange(180), groups=groups * 30)
    assert whole.value == pytest.approx(0.5)
    assert 0 < whole.high - whole.low < 0.2


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
@pytest.mark.parametrize(("k", "m"), [(5, 1), (12, 10), (20, 1), (20, 10), (50, 10)])
@pytest.mark.parametrize("shared", [0.0, 0.3, 1.0])
def test_coverage(p, k, m, shared):
    """0/1 items, with a correlation of `shared` within clusters; a percentile bootstrap covers 10 to 95 %."""
    rng = np.random.default_rng([int(100 * p), k, m, int(10 * shared)])
    clusters = np.repeat(np.arange(k), m)
    inside = 0
    for _ in range(400):
        rates = np.full(k, p)
        if shared == 1:
            rates = (rng.random(k) < p).astype(float)
        elif shared:
            rates = beta.rvs(
                p * (1 - shared) / shared, (1 - p) * (1 - shared) / shared, size=k, random_state=rng
            )
        found = clustered_mean((rng.random(k * m) < np.repeat(rates, m)).astype(float), clusters)
        inside += found.low <= p <= found.high
    assert inside / 400 > 0.87


def test_equal_answers_are_as_sure_as_there_are_clusters():
    """That no answer of twenty scenes changed does not exclude that one scene in twenty would change."""
    few, many = (equivalent([1] * k, [1] * k, margin=0.05) for k in (45, 46))
    assert (few.estimate.value, few.is_equivalent, many.is_equivalent) == (0, False, True)
    scores = np.random.default_rng(3).integers(0, 2, 480).astype(float)
    few = equivalent(scores, scores, np.arange(480) % 20, margin=0.05)
    assert few.estimate.high > 1 - 0.05 ** (1 / 20) - 0.05


def test_equivalence_is_rarely_claimed_of_a_difference_at_the_margin():
    rng = np.random.default_rng(4)
    claimed = 0
    for _ in range(300):
        first = rng.random(400) < 0.6
        second = first & (rng.random(400) > 0.05 / 0.6)
        claimed += equivalent(
            first.astype(float), second.astype(float), np.repeat(np.arange(100), 4), margin=0.05
        ).is_equivalent
    assert claimed / 300 < 0.1


@pytest.mark.parametrize(
    ("gain", "loss"), [(0.3, 0.3), (0.3, 0.05), (0.02, 0.02), (0.05, 0.0), (0.8, 0.0), (1.0, 0.0)]
)
@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_coverage_of_differences(gain, loss, shared):
    """Also where changes are rare and shared by all questions about a picture, while the scores are not."""
    rng = np.random.default_rng([int(100 * gain), int(100 * loss), int(shared)])
    clusters = np.repeat(np.arange(30), 6)
    inside = 0
    for _ in range(300):
        kind = rng.choice(3, (30, 6), p=[gain, loss, 1 - gain - loss])
        kind = np.where(rng.random((30, 1)) < shared, kind[:, :1], kind)
        kind = np.where(kind == 2, rng.integers(2, 4, (30, 6)), kind).ravel()
        first, second = np.isin(kind, [0, 2]).astype(float), np.isin(kind, [1, 2]).astype(float)
        found = clustered_difference(first, second, clusters)
        inside += found.low <= gain - loss <= found.high
    assert inside / 300 > 0.92


@pytest.mark.parametrize("k", [12, 30, 400])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.95, 1.0])
def test_the_interval_of_signed_means_covers_with_unequal_weights(k, share):
    """A fifth of the clusters has half of the weight, as if one of two orders were rare."""
    rng = np.random.default_rng([k, int(100 * share)])
    weights = np.where(np.arange(k) < k // 5, 0.5 / (k // 5), 0.5 / (k - k // 5))
    draws = (rng.random((400, k)) < share).astype(float)
    found = [clustered_mean(values, bounds=(-1, 1), weights=weights, level=0.99) for values in draws]
    assert sum(each.low <= share <= each.high for each in found) / 400 >= 0.975
    assert [each.value for each in found] == pytest.approx(draws @ weights)


def test_the_interval_of_signed_means_is_students_with_two_more_clusters():
    rng = np.random.default_rng(5)
    values = rng.choice([-1.0, 0.0, 0.5, 1.0], 40)
    more = np.append(values, [1.0, -1.0])
    theirs = reference.t.interval(0.99, 41, more.mean(), more.std(ddof=1) / np.sqrt(42))
    found = clustered_mean(np.repeat(values, 3), np.repeat(np.arange(40), 3), bounds=(-1, 1), level=0.99)
    assert (found.low, found.high) == pytest.approx(theirs)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 4), st.integers(0, 2)),
        min_size=1,
        max_size=40,
    )
)
@settings(max_examples=200, deadline=None)
def test_no_data_give_a_width_of_zero_or_an_exception(rows):
    first, second, clusters, groups = (list(column) for column in zip(*rows, strict=True))
    for found in (
        clustered_mean(first, clusters),
        clustered_mean(first, clusters, groups=groups),
        clustered_difference(first, second, clusters),
        clustered_difference(first, first, clusters, groups=groups),
    ):
        assert found.low < found.high
        assert found.low <= found.value + 1e-9
        assert found.value <= found.high + 1e-9
        assert found.n == len(set(clusters))
    assert clustered_difference(second, first, clusters).value == pytest.approx(
        -clustered_difference(first, second, clusters).value
    )


def test_item_scores_are_summarised_by_their_metric():
    metric = Metric("scene.qa", "QA", higher_is_grounded=True, origin="paper", needs="text", average="groups")
    rows = [
        ItemScore("a", "scene.qa", 1.0, "s1", group="easy"),
        ItemScore("b", "scene.qa", 1.0, "s1", group="easy"),
        ItemScore("c", "scene.qa", 0.0, "s2", group="hard"),
        ItemScore("d", "scene.qa", None, "s2", group="hard", reason="refused"),
        ItemScore("a", "scene.sgc", 0.2, "s1"),
    ]
    assert score_mean(metric, rows).value == pytest.approx(0.5)
    assert score_mean(metric, []) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_difference_of_independent_samples_is_welchs(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0, 1, 9), rng.normal(1, 3, 14)
    found = independent_difference(first, second, level=0.9)
    theirs = reference.ttest_ind(first, second, equal_var=False).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert independent_difference([1.0, 1.0], [2.0, 2.0]) is None


@pytest.mark.parametrize(
    ("one", "other"), [((0.95, 0.0), (0.5, 0.0)), ((1.0, 0.0), (0.05, 0.05)), ((0.9, 0.05), (0.1, 0.6))]
)
def test_a_difference_of_signs_covers_the_truth_at_the_edge(one, other):
    """Of two models, each with a share of pairs followed and a share inverted; the other pairs count 0."""
    rng = np.random.default_rng(0)
    truth = one[0] - one[1] - other[0] + other[1]

    def drawn(followed, inverted):
        place = rng.random(24)
        return np.where(place < followed, 1.0, np.where(place < followed + inverted, -1.0, 0.0))

    found = [clustered_difference(drawn(*one), drawn(*other), bounds=(-1.0, 1.0)) for _ in range(300)]
    assert np.mean([each.low <= truth <= each.high for each in found]) > 0.93
