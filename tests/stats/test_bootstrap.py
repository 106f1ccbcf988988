import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import stats as reference

from theodolite.core.errors import UsageError
from theodolite.stats import BatchStatistic, bootstrap, bootstrap_distribution
from theodolite.stats import samples as engine
from theodolite.stats.bootstrap import BootstrapDistribution
from theodolite.stats.clustered import wilson_bounds

GENERATOR = np.random.default_rng(11)
SKEWED = GENERATOR.exponential(size=40)
PARTNER = SKEWED * 0.5 + GENERATOR.normal(size=40) ** 2
CLUSTERS = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 7, 8, 4])
SHUFFLED = GENERATOR.permutation(CLUSTERS)


@pytest.mark.parametrize("interval", ["bca", "percentile"])
@pytest.mark.parametrize("statistic", [np.mean, np.std, np.median])
def test_agrees_with_scipy(interval, statistic):
    ours = bootstrap(SKEWED, statistic, interval=interval, n_resamples=8000, seed=1)
    theirs = reference.bootstrap(
        (SKEWED,),
        statistic,
        method={"bca": "BCa"}.get(interval, interval),
        n_resamples=8000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.value == pytest.approx(statistic(SKEWED))
    assert ours.low == pytest.approx(theirs.low, abs=0.04 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.04 * width)


def test_paired_agrees_with_scipy():
    def slope(x, y):
        return np.polyfit(x, y, 1)[0]

    ours = bootstrap((SKEWED, PARTNER), slope, n_resamples=3000, seed=1)
    theirs = reference.bootstrap(
        (SKEWED, PARTNER),
        slope,
        paired=True,
        vectorized=False,
        method="BCa",
        n_resamples=3000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.1 * width)


@pytest.mark.parametrize("clusters", [None, CLUSTERS, SHUFFLED, GENERATOR.permutation(40)])
@pytest.mark.parametrize("interval", ["bca", "percentile"])
def test_all_forms_of_a_statistic_agree(clusters, interval):
    forms = [
        "mean",
        np.mean,
        BatchStatistic(lambda rows: rows.mean(axis=-1), form="rows"),
        BatchStatistic(lambda x, weights: weights @ x / weights.sum(axis=1), form="weights"),
    ]
    estimates = [
        bootstrap(SKEWED, form, clusters=clusters, interval=interval, n_resamples=300, seed=3)
        for form in forms
    ]
    for estimate in estimates[1:]:
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
            (estimates[0].value, estimates[0].low, estimates[0].high)
        )


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("difference", lambda x, y: np.mean(x) - np.mean(y)),
        ("ratio", lambda x, y: np.mean(x) / np.mean(y)),
    ],
)
@pytest.mark.parametrize("clusters", [None, SHUFFLED])
def test_named_pair_statistics(name, function, clusters):
    named = bootstrap((SKEWED, PARTNER), name, clusters=clusters, n_resamples=200, seed=3)
    spelled = bootstrap((SKEWED, PARTNER), function, clusters=clusters, n_resamples=200, seed=3)
    assert (named.value, named.low, named.high) == pytest.approx((spelled.value, spelled.low, spelled.high))


def test_clustered_resamples_follow_the_enumerated_distribution():
    values, clusters = np.array([1.0, 2.0, 10.0, 4.0, 5.0, 6.0]), np.array(list("abbccc"))
    groups = [values[clusters == name] for name in "abc"]
    exact = [np.concatenate(choice).mean() for choice in itertools.product(groups, repeat=3)]
    drawn = bootstrap_distribution(values, clusters=clusters, n_resamples=20000, seed=0).resamples
    support, counts = np.unique(np.round(exact, 9), return_counts=True)
    observed = np.array([(np.round(drawn, 9) == value).sum() for value in support])
    assert observed.sum() == 20000
    assert reference.chisquare(observed, 20000 * counts / 27).pvalue > 0.001


def test_bca_of_clusters_follows_the_formula():
    distribution = bootstrap_distribution(SKEWED, clusters=SHUFFLED, n_resamples=999, seed=5)
    left_out = np.array([SKEWED[name != SHUFFLED].mean() for name in np.unique(SHUFFLED)])
    assert distribution.jackknife == pytest.approx(left_out)
    deviations = left_out.mean() - left_out
    acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
    rounded, centre = distribution.resamples.round(10), SKEWED.mean().round(10)
    bias = reference.norm.ppf((rounded < centre).mean() + (rounded == centre).mean() / 2)
    ends = []
    for tail in (0.05, 0.95):
        shifted = bias + reference.norm.ppf(tail)
        ends.append(
            np.quantile(
                distribution.resamples, reference.norm.cdf(bias + shifted / (1 - acceleration * shifted))
            )
        )
    estimate = distribution.estimate("bca", 0.9)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(ends))
    assert (estimate.n, estimate.n_items, estimate.level) == (9, 40, 0.9)
    assert "BCa" in estimate.method
    assert "9 clusters" in estimate.method


def test_result_does_not_depend_on_the_size_of_blocks(monkeypatch):
    whole = bootstrap(SKEWED, np.median, clusters=SHUFFLED, n_resamples=100, seed=4)
    monkeypatch.setattr(engine, "BLOCK_CELLS", 300)
    assert bootstrap(SKEWED, np.median, clusters=SHUFFLED, n_resamples=100, seed=4) == whole


def test_memory_is_bounded():
    values = np.arange(20000.0)
    tracemalloc.start()
    bootstrap(values, n_resamples=1000, interval="percentile", seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 110e6  # all resamples at once would be 160 MB in indices alone, 160 MB more in counts


def test_seed_decides():
    assert bootstrap(SKEWED, seed=1) == bootstrap(SKEWED, seed=1)
    assert bootstrap(SKEWED, seed=1) != bootstrap(SKEWED, seed=2)


def test_order_of_items_does_not_move_the_interval_much():
    first, second = bootstrap(SKEWED, seed=1), bootstrap(SKEWED[::-1], seed=1)
    assert (first.low, first.high) == pytest.approx((second.low, second.high), rel=0.05)


def test_many_units_use_a_grouped_jackknife():
    values = np.random.default_rng(0).exponential(size=3001)
    distribution = bootstrap_distribution(values, n_resamples=50, seed=0)
    assert distribution.jackknife.shape == (1000,)

    def acceleration(replicates):
        deviations = replicates.mean() - replicates
        return (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)

    single = (values.sum() - values) / 3000
    assert acceleration(distribution.jackknife) == pytest.approx(acceleration(single), rel=0.35)
    rows = BatchStatistic(lambda rows: rows.mean(axis=-1), form="rows")
    again = bootstrap_distribution(values, rows, n_resamples=50, seed=0)
    assert again.jackknife == pytest.approx(distribution.jackknife)


def test_difference_of_distributions_shares_resamples():
    first, second = (
        bootstrap_distribution(values, clusters=SHUFFLED, seed=6) for values in (SKEWED, PARTNER)
    )
    direct = bootstrap((SKEWED, PARTNER), "difference", clusters=SHUFFLED, seed=6)
    estimate = (first - second).estimate()
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
        (direct.value, direct.low, direct.high)
    )


def test_difference_of_unrelated_distributions_is_refused():
    with pytest.raises(UsageError, match="share their resamples"):
        bootstrap_distribution(SKEWED, seed=1) - bootstrap_distribution(SKEWED, seed=2)
    with pytest.raises(UsageError, match="share their resamples"):
        bootstrap_distribution(SKEWED, seed=1) - bootstrap_distribution(SKEWED[1:], seed=1)
    first, second = (bootstrap_distribution(SKEWED, clusters=c, seed=1) for c in (CLUSTERS, SHUFFLED))
    with pytest.raises(UsageError, match="same units"):
        first - second


@pytest.mark.parametrize("interval", ["bca", "percentile"])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e6 / 3])
def test_constant_data_have_no_interval_without_bounds(interval, value):
    with pytest.raises(UsageError, match="without bounds"):
        bootstrap([value] * 7, interval=interval, seed=0)
    assert bootstrap_distribution([value] * 7, seed=0).percentile() is None
    assert bootstrap([0.0] * 7, bounds=(0, 1), interval=interval, seed=0).high == pytest.approx(
        wilson_bounds(0, 7, 0.95)[1]
    )


def test_equal_clusters_are_constant_too():
    estimate = bootstrap([1, 0, 0, 1, 1, 0], clusters=list("aabbcc"), bounds=(0, 1), seed=0)
    assert estimate.low < 0.5 < estimate.high
    assert "widened towards 0 and 1" in estimate.method


def test_undefined_resamples_are_counted():
    def undefined_without_the_last(x):
        return x.mean() if (x == 3).any() else np.nan

    values = np.tile([0.0, 1.0, 2.0, 3.0], 3)
    estimate = bootstrap(values, undefined_without_the_last, seed=0)
    share = (3 / 4) ** 12
    count = int(estimate.method.split(", ")[2].split()[0])
    assert count == pytest.approx(2000 * share, rel=0.3)


def test_too_many_undefined_resamples_are_refused():
    def rarely(x):
        return x.mean() if np.unique(x).size > 2 else np.nan

    with pytest.raises(UsageError, match="undefined on"):
        bootstrap([1.0, 2.0, 3.0], rarely, interval="percentile", seed=0)


def test_undefined_on_the_data_is_refused():
    with pytest.raises(UsageError, match="on the data"):
        bootstrap(([1.0, 2.0], [0.0, 0.0]), "ratio", seed=0)


def test_undefined_jackknife():
    values = np.concatenate([np.zeros(200), [1.0]])

    def needs_the_one(x):
        return np.nan if np.all(x == 0) and len(x) < 201 else x.mean()

    with pytest.raises(UsageError, match="percentile"):
        bootstrap(values, needs_the_one, n_resamples=50, seed=0)
    distribution = bootstrap_distribution(values, needs_the_one, n_resamples=50, seed=0)
    assert "BCa undefined" in distribution.estimate(fallback=True).method


def test_bca_without_a_jackknife_is_refused():
    distribution = bootstrap_distribution(SKEWED, jackknife=False, n_resamples=50, seed=0)
    assert distribution.estimate("percentile").n == 40
    with pytest.raises(UsageError, match="jackknife"):
        distribution.estimate("bca")


def test_bca_survives_extreme_distributions():
    lopsided = BootstrapDistribution(
        value=0.0,
        resamples=np.linspace(1, 2, 100),
        jackknife=np.array([0.0] * 9 + [1.0]),
        units=np.arange(10),
        seed=0,
    )
    for level in (0.5, 0.95, 0.999999):
        estimate = lopsided.estimate("bca", level)
        assert 1 <= estimate.low <= estimate.high <= 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"data": []}, "at least one item"),
        ({"data": [1.0]}, "at least 2 independent units"),
        ({"data": [1.0, np.nan]}, "finite"),
        ({"data": (1.0, 2.0)}, "tuple of arrays"),
        ({"data": ()}, "tuple of arrays"),
        ({"data": ([1, 2], [1, 2, 3]), "statistic": "difference"}, "same length"),
        ({"data": ([1, 2], [1, 2])}, "needs 1 one-dimensional"),
        ({"data": [1, 2], "statistic": "ratio"}, "needs 2 one-dimensional"),
        ({"data": [1, 2], "statistic": "median"}, "one of"),
        ({"data": [1, 2], "statistic": 3}, "callable"),
        ({"data": [1, 2], "clusters": [1, 1]}, "1 cluster"),
        ({"data": [1, 2], "clusters": [1]}, "one cluster per item"),
        ({"data": [1, 2], "clusters": ["a", None]}, "missing"),
        ({"data": [1, 2], "interval": "bc"}, "one of"),
        ({"data": [1, 2], "n_resamples": 1}, "n_resamples"),
        ({"data": [[1], [2]], "statistic": BatchStatistic(np.sum, form="rows")}, "one-dimensional"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(UsageError, match=words):
        bootstrap(**({"seed": 0} | arguments))


@pytest.mark.parametrize(
    "statistic",
    [
        lambda x: x,
        BatchStatistic(lambda rows: rows, form="rows"),
        BatchStatistic(np.mean, form="rows"),
        BatchStatistic(lambda x, weights: x + weights, form="weights"),
        BatchStatistic(lambda x, weights: (x + weights).sum(), form="weights"),
    ],
)
def test_anything_but_one_number_per_resample_is_refused(statistic):
    with pytest.raises(UsageError, match="one number per resample"):
        bootstrap([1.0, 2.0, 3.0], statistic, seed=0)


def test_matrices_resample_by_row():
    matrix = np.column_stack([SKEWED, PARTNER])
    by_rows = bootstrap(matrix, lambda m: m[:, 0].mean() - m[:, 1].mean(), n_resamples=100, seed=0)
    assert by_rows.low == pytest.approx(
        bootstrap((SKEWED, PARTNER), "difference", n_resamples=100, seed=0).low
    )


def coverage(make, truth, clusters=None, n_simulations=300, **options):
    generator = np.random.default_rng(2024)
    hits = 0
    for _ in range(n_simulations):
        estimate = bootstrap(make(generator), clusters=clusters, n_resamples=400, seed=1, **options)
        hits += estimate.low <= truth <= estimate.high
    return hits / n_simulations


@pytest.mark.parametrize("interval", ["bca", "percentile"])
def test_intervals_cover(interval):
    share = coverage(lambda generator: generator.gamma(4, size=60), 4.0, interval=interval)
    assert 0.915 <= share <= 0.98


def clustered_sample(generator):
    return (generator.normal(size=40)[:, None] + 0.7 * generator.normal(size=(40, 6))).ravel()


def test_clustered_interval_covers_and_plain_does_not():
    labels = np.repeat(np.arange(40), 6)
    assert 0.905 <= coverage(clustered_sample, 0.0, clusters=labels) <= 0.98
    assert coverage(clustered_sample, 0.0, clusters=None) < 0.75


def test_paired_clustered_interval_covers():
    labels = np.repeat(np.arange(40), 6)

    def make(generator):
        shared = clustered_sample(generator)
        return shared + 0.3 + 0.2 * generator.normal(size=240), shared

    paired = coverage(make, 0.3, clusters=labels, statistic="difference")
    assert 0.905 <= paired <= 0.98
