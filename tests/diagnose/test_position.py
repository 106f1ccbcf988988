"""Positions between twins: against plain loops, against mixtures whose position is known, and where nothing varies."""

from dataclasses import replace

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric
from theodolite.diagnose.mixture import mix_scores
from theodolite.diagnose.position import MIN_CLUSTERS, Twins, calibrate, median_position, position
from theodolite.diagnose.table import ScoreTable
from theodolite.stats import wilson_interval

TWINS = Twins("g", "s")
SHARE = Metric("compass.share", "share on the picture", True, "ours", "gradients", bounds=None)
ANGLE = Metric("compass.angle", "error of the angle", False, "paper", "gradients", None, "degrees")
THIRD = Metric("compass.third", "a third one", True, "ours", "text", bounds=None)
SWAP = Metric("grid.swap", "changes with the direction", True, "ours", "text")
METRICS = (SHARE, ANGLE, THIRD, SWAP)


def table_of(metrics=METRICS, **scores):
    return ScoreTable.of(scores, metrics)


def readings(rng, mean, spread, *, metric="compass.share", n=60, per=2, split="aligned"):
    """Two items a picture, which share a part of their noise."""
    found = []
    for cluster in range(n):
        common = rng.normal(0, spread / 2)
        found += [
            ItemScore(
                f"{split}-{cluster}-{i}",
                metric,
                mean + common + rng.normal(0, spread),
                f"{split}-{cluster}",
                split,
            )
            for i in range(per)
        ]
    return found


@pytest.fixture
def twins():
    rng = np.random.default_rng(3)
    g = readings(rng, 0.32, 0.05) + readings(rng, 20.0, 12.0, metric="compass.angle")
    s = readings(rng, 0.02, 0.01) + readings(rng, 70.0, 12.0, metric="compass.angle")
    return g, s


def plain_mean(found, metric):
    values = [reading.value for reading in found if reading.metric == metric]
    return sum(values) / len(values)


@pytest.mark.parametrize("metric", ["compass.share", "compass.angle"])
def test_a_position_is_the_plain_ratio(twins, metric):
    g, s = twins
    x = mix_scores(g, s, share=0.4, seed=1)
    table = table_of(g=g, s=s, x=x)
    found = position(table, "x", (metric, "aligned"), twins=TWINS, seed=0)
    gap = plain_mean(g, metric) - plain_mean(s, metric)
    assert found.value == pytest.approx((plain_mean(x, metric) - plain_mean(s, metric)) / gap)
    assert found.low < found.value < found.high
    assert (found.n, found.n_items) == (60, 120)


@pytest.mark.parametrize("share", [0, 0.25, 0.5, 0.75, 1])
def test_mixtures_of_the_twins_are_recovered_within_their_intervals(twins, share):
    g, s = twins
    table = table_of(g=g, s=s, x=mix_scores(g, s, share=share, seed=7))
    columns = list(table.columns)
    for found in (
        *(position(table, "x", column, twins=TWINS, seed=0) for column in columns),
        median_position(table, "x", columns, twins=TWINS, seed=0),
    ):
        assert found.low <= share <= found.high
        assert found.high - found.low < 0.4


def test_intervals_hold_the_truth_as_often_as_they_say():
    """A stranger with the true position 0.5, drawn 150 times, with noise in the twins too."""
    hits = 0
    for trial in range(150):
        rng = np.random.default_rng([11, trial])
        drawn = {
            "g": readings(rng, 1.0, 0.6, n=30),
            "s": readings(rng, 0.0, 0.6, n=30),
            "x": readings(rng, 0.5, 0.6, n=30),
        }
        found = position(table_of(**drawn), "x", ("compass.share", "aligned"), twins=TWINS, seed=trial)
        hits += found.low <= 0.5 <= found.high
    assert 135 <= hits <= 149  # 95 % of 150 is 142.5, and three standard errors are 8


def test_the_denominator_is_resampled_too():
    """With the twins' own noise held fixed the interval would be narrower by a third."""
    rng = np.random.default_rng(5)
    g, s, x = (readings(rng, mean, 0.6, n=30) for mean in (1.0, 0.0, 0.5))
    table = table_of(g=g, s=s, x=x)
    found = position(table, "x", ("compass.share", "aligned"), twins=TWINS, seed=0)
    own = table.mean("x", ("compass.share", "aligned"))
    gap = plain_mean(g, "compass.share") - plain_mean(s, "compass.share")
    assert found.high - found.low > 1.15 * (own.high - own.low) / gap


def test_strangers_beyond_the_twins_are_placed_outside(twins):
    g, s = twins
    rng = np.random.default_rng(9)
    table = table_of(g=g, s=s, x=readings(rng, 0.62, 0.05))
    found = position(table, "x", ("compass.share", "aligned"), twins=TWINS, seed=0)
    assert found.value == pytest.approx(2.0, abs=0.1)
    assert found.low > 1


def test_one_wild_metric_does_not_move_the_median(twins):
    g, s = twins
    rng = np.random.default_rng(4)
    keys = ("compass.share", "compass.angle", "compass.third")
    g = g + readings(rng, 1.0, 0.1, metric="compass.third")
    s = s + readings(rng, 0.0, 0.1, metric="compass.third")
    x = mix_scores(g, s, share=0.5, seed=2)
    wild = [
        ItemScore(r.item, r.metric, r.value * 40, r.cluster, r.split) if r.metric == "compass.third" else r
        for r in x
    ]
    table = table_of(g=g, s=s, x=wild)
    found = median_position(table, "x", [(key, "aligned") for key in keys], twins=TWINS, seed=0)
    assert 0.3 < found.value < 0.8


def flags(value, n=30, split="crossed"):
    return [ItemScore(f"{split}{i}", "grid.swap", float(value), f"{split}{i}", split) for i in range(n)]


def test_where_nothing_varies_the_interval_keeps_a_width():
    table = table_of(g=flags(1), s=flags(0), x=flags(1))
    found = position(table, "x", ("grid.swap", "crossed"), twins=TWINS, seed=0)
    assert found.value == 1
    assert (found.low, found.high) == pytest.approx((0.886, 1.0), abs=0.001)  # Wilson at 30 of 30
    assert "the same on" in found.method


def test_readings_that_were_rounded_on_the_way_keep_a_width_too(twins):
    """Shipped readings have eight digits; a stranger that answers like the twin differs from it in the ninth alone."""
    g, s = (
        [ItemScore(r.item, r.metric, float(f"{r.value:.8g}"), r.cluster, r.split) for r in found]
        for found in twins
    )
    x = twins[1]
    assert [r.value for r in x] != [r.value for r in s]
    table = table_of(g=g, s=s, x=x)
    for found in (
        position(table, "x", ("compass.angle", "aligned"), twins=TWINS, seed=0),
        median_position(table, "x", list(table.columns), twins=TWINS, seed=0),
    ):
        assert found.value == pytest.approx(0, abs=1e-6)
        assert found.high - found.low > 0.01
        assert "the same on" in found.method


def test_a_metric_is_calibrated_only_if_it_tells_the_twins_apart_the_right_way(twins):
    g, s = twins
    table = table_of(g=g, s=s)
    share = calibrate(table, ("compass.share", "aligned"), SHARE, twins=TWINS, seed=0)
    assert share.is_calibrated
    assert share.separation.value > 0.99
    angle = calibrate(table, ("compass.angle", "aligned"), ANGLE, twins=TWINS, seed=0)
    assert angle.is_calibrated  # less is more grounded here, and it is less
    turned = replace(ANGLE, higher_is_grounded=True)
    wrong = calibrate(table, ("compass.angle", "aligned"), turned, twins=TWINS, seed=0)
    assert not wrong.is_calibrated
    assert wrong.separation.value < 0.1
    same = table_of(g=g, s=g)
    blind = calibrate(same, ("compass.share", "aligned"), SHARE, twins=TWINS, seed=0)
    assert "does not separate the twins" in blind.why_not


def test_too_few_units_give_no_calibration(twins):
    g, s = ([r for r in found if int(r.cluster.split("-")[1]) < MIN_CLUSTERS - 1] for found in twins)
    found = calibrate(table_of(g=g, s=s), ("compass.share", "aligned"), SHARE, twins=TWINS, seed=0)
    assert "too little data" in found.why_not
    assert found.grounded.n == MIN_CLUSTERS - 1


def test_what_is_missing_is_told(twins):
    g, s = twins
    table = table_of(g=g, s=s, x=flags(1))
    with pytest.raises(UsageError, match=r"no score for compass\.share"):
        position(table, "x", ("compass.share", "aligned"), twins=TWINS, seed=0)
    with pytest.raises(UsageError, match="at least one"):
        median_position(table, "x", [], twins=TWINS, seed=0)


def test_a_table_refuses_what_it_cannot_arrange():
    one = ItemScore("a", "grid.swap", 1.0, "p")
    with pytest.raises(UsageError, match="two scores"):
        table_of(x=[one, one])
    with pytest.raises(UsageError, match="not a known metric"):
        table_of((SHARE,), x=[one])
    with pytest.raises(UsageError, match="two clusters"):
        table_of(x=[one], y=[ItemScore("a", "grid.swap", 1.0, "q")])


def test_a_mixture_takes_whole_clusters_and_the_share_it_says(twins):
    g, s = twins
    x = mix_scores(g, s, share=0.25, seed=0)
    own = {id(reading) for reading in g}
    of_grounded = {reading.cluster for reading in x if id(reading) in own}
    of_shortcut = {reading.cluster for reading in x if id(reading) not in own}
    assert (len(of_grounded), len(of_shortcut)) == (15, 45)
    assert not of_grounded & of_shortcut
    assert len(x) == len(g)


def test_scores_that_do_not_vary_keep_a_width_where_they_have_bounds():
    """Thirty of thirty at 0 leave doubt about the thirty-first, whether or not scores lie between 0 and 1."""
    moved, still = (
        [ItemScore(f"{i}", "scene.moved", value(i), f"{i}", "crossed") for i in range(30)]
        for value in (lambda i: 0.3 + i / 100, lambda _: 0.0)
    )
    metric = Metric("scene.moved", "the graph moves", True, "ours", "text")
    table = table_of((metric,), g=moved, s=still, x=still)
    column = ("scene.moved", "crossed")
    wilson = wilson_interval(0, 30)
    assert table.mean("x", column).high == pytest.approx(wilson.high)
    found = position(table, "x", column, twins=TWINS, seed=0)
    assert (found.low, found.value) == (0, 0)
    assert found.high == pytest.approx(wilson.high)
    boundless = replace(metric, bounds=None)
    table = table_of((boundless,), g=moved, s=still, x=still)
    assert table.mean("x", column) is None
    assert "do not vary" in calibrate(table, column, boundless, twins=TWINS, seed=0).why_not


def test_a_macro_mean_is_placed_by_the_means_that_are_shown():
    """Two groups of unlike size: the position is of the means over groups, as the table shows them."""
    metric = Metric("scene.qa", "accuracy", True, "ours", "text", average="groups")
    rng = np.random.default_rng(6)

    def drawn(rates):
        return [
            ItemScore(
                f"{group}{i}", "scene.qa", float(rng.random() < rate), f"room{i % 20}", "crossed", group
            )
            for group, n, rate in (("near", 80, rates[0]), ("far", 20, rates[1]))
            for i in range(n)
        ]

    table = table_of((metric,), g=drawn((0.9, 1.0)), s=drawn((0.1, 0.0)), x=drawn((0.8, 0.1)))
    column = ("scene.qa", "crossed")
    x, g, s = (table.mean(name, column).value for name in "xgs")
    found = position(table, "x", column, twins=TWINS, seed=0)
    assert found.value == pytest.approx((x - s) / (g - s))
    assert found.low < found.value < found.high
    plain = [float(np.mean(table.column(name, column)[0])) for name in "xgs"]
    assert abs(found.value - (plain[0] - plain[2]) / (plain[1] - plain[2])) > 0.1


def test_a_mixture_has_its_share_in_every_split_even_where_names_are_shared():
    """A room may be asked about in several splits: its name must not be drawn for each of them and then count in all."""
    names = [f"room-{i}" for i in range(20)]
    g, s = (
        [
            ItemScore(f"{name}/{split}", "scene.sgc", value, name, split)
            for split in ("aligned", "crossed")
            for name in names
        ]
        for value in (1.0, 0.0)
    )
    mixed = mix_scores(g, s, share=0.25, seed=5)
    assert len(mixed) == len(g)
    for split in ("aligned", "crossed"):
        assert np.mean([r.value for r in mixed if r.split == split]) == 0.25
