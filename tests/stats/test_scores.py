"""The table of item scores: means, and the one comparison of models."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric, column
from theodolite.core.tables import Column
from theodolite.stats import (
    Scores,
    clustered_difference,
    holm,
    paired_difference,
    sign_flip_test,
)
from theodolite.stats.scores import LEAST_CLUSTERS, difference_table

RIGHT = Metric("toy.right", "right", higher_is_grounded=True, origin="ours", needs="text")
MACRO = Metric("toy.macro", "macro", higher_is_grounded=True, origin="ours", needs="text", average="groups")


def rows(values, metric=RIGHT, clusters=None, **how):
    clusters = clusters or [f"picture {i}" for i in range(len(values))]
    return [
        ItemScore(f"q{i}", metric.key, None if v is None else float(v), c, reason="refused", **how)
        for i, (v, c) in enumerate(zip(values, clusters, strict=True))
    ]


def test_models_are_compared_on_the_items_that_both_have():
    first, second = [1] * 18 + [None, 1], [1] * 10 + [0] * 8 + [1, None]
    (found,) = Scores({"a": rows(first), "b": rows(second)}, [RIGHT]).difference(seed=0)
    assert (found.first, found.second, found.n_items) == ("a", "b", 18)
    assert found.means == (1.0, 10 / 18)
    assert found.estimate.value == clustered_difference(first[:18], second[:18]).value
    assert found.test.p_value == sign_flip_test(first[:18], second[:18], seed=0).p_value == 2 / 2**8
    assert found.p_holm == found.estimate.p_value == found.test.p_value


def test_all_differences_of_one_call_are_one_family():
    rng = np.random.default_rng(0)
    scores = Scores(
        {
            model: [*rows(rng.random(40) < share), *rows(rng.random(40), MACRO, group="g", split="free")]
            for model, share in (("a", 0.9), ("b", 0.6), ("c", 0.2))
        },
        [RIGHT, MACRO],
    )
    found = scores.difference(seed=3)
    assert [(each.first, each.second, each.metric.key) for each in found[:3]] == [
        ("a", "b", "toy.macro"),
        ("a", "b", "toy.right"),
        ("a", "c", "toy.macro"),
    ]
    assert [each.p_holm for each in found] == holm([each.test.p_value for each in found]).tolist()
    (alone,) = scores.difference([("b", "c")], [("toy.right", "")], seed=3)
    assert alone.p_holm == alone.test.p_value == found[5].test.p_value
    assert found[5].p_holm > alone.p_holm


def test_too_few_clusters_are_not_compared():
    clusters = [f"picture {i % (LEAST_CLUSTERS - 1)}" for i in range(60)]
    scores = Scores({"a": rows([1] * 60, clusters=clusters), "b": rows([0] * 60, clusters=clusters)}, [RIGHT])
    (found,) = scores.difference()
    assert (found.estimate, found.test, found.p_holm, found.n_items) == (None, None, None, 60)
    assert "11 clusters in common, at least 12 are needed" in found.why_not
    table = difference_table("a.b", "A", [found], {"toy.right": Column("right", "right", "points")})
    assert table.rows == (("a", "b", None, None, 60),)
    assert table.notes[1].startswith("1 without a difference: too little data")


def test_items_of_other_data_are_not_paired():
    there = [ItemScore(f"other {i}", "toy.right", 0.0, f"c{i}") for i in range(20)]
    (found,) = Scores({"a": rows([1] * 20), "b": there}, [RIGHT]).difference()
    assert (found.n_items, found.why_not) == (0, "no item has a score from both")


def test_the_macro_mean_is_tested_as_it_is_shown():
    """One small group loses, a large one gains: the mean over items rises, the macro mean falls."""
    first = [*[1] * 6, *[0] * 34]
    second = [*[0] * 6, *[0] * 30, *[1] * 4]
    groups = ["small"] * 6 + ["large"] * 34
    estimate, test = paired_difference(first, second, groups=groups, seed=0)
    assert estimate.value == pytest.approx((1 - 4 / 34) / 2)
    assert test.statistic == pytest.approx(estimate.value)
    assert test.p_value < sign_flip_test(first, second, seed=0).p_value


def test_nineteen_pictures_that_lose_and_none_that_gains_are_a_difference():
    pictures = [i // 10 for i in range(190)]
    answers = [i % 10 > 0 for i in range(190)]
    assert not clustered_difference([1] * 190, answers, pictures).excludes(0)
    estimate, test = paired_difference([1] * 190, answers, pictures, seed=0)
    assert test.p_value == 2 / 2**19
    assert estimate.low > 0
    assert (estimate.value, estimate.p_value) == (pytest.approx(0.1), test.p_value)
    alone = clustered_difference([1] * 19 + [0] * 81, [0] * 100)
    assert alone.low > 0


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 4), st.sampled_from([0.9, 0.95, 0.99]))
def test_interval_and_test_agree_about_zero(seed, n, per, level):
    rng = np.random.default_rng(seed)
    share = rng.random(2)
    first, second = (rng.random(n * per) < s for s in share)
    clusters = np.repeat(np.arange(n), per)
    estimate, test = paired_difference(first, second, clusters, level=level, seed=0)
    assert estimate.excludes(0) == (test.p_value < 1 - level)
    assert estimate.low <= estimate.value <= estimate.high
    again, mirrored = paired_difference(second, first, clusters, level=level, seed=0)
    assert (again.low, again.high) == pytest.approx((-estimate.high, -estimate.low))
    assert mirrored.p_value == pytest.approx(test.p_value, abs=0.02)


def test_what_cannot_be_right_is_refused():
    twice = rows([1, 0])
    with pytest.raises(UsageError, match="a has two scores of"):
        Scores({"a": [*twice, twice[0]]}, [RIGHT])
    with pytest.raises(UsageError, match="in two clusters"):
        Scores({"a": twice, "b": rows([1, 0], clusters=["x", "y"])}, [RIGHT])
    with pytest.raises(UsageError, match="not a known metric"):
        Scores({"a": twice}, [MACRO])
    with pytest.raises(UsageError, match="several models"):
        Scores({"a": twice, "b": twice}, [RIGHT]).mean("toy.right")


def test_tables_are_specs_of_metric_keys():
    scores = [
        ItemScore(f"{group}{i}", "grid.accuracy", float(i < n), f"{group}{i}", group=group)
        for group, n in (("A", 9), ("B", 3))
        for i in range(12)
    ]
    found = Scores({"m": scores})
    table = found.table("grid.x", "X", [column("grid.accuracy")], ("model", "group"))
    assert [each.name for each in table.columns] == ["model", "group", "accuracy"]
    assert [(row[0], row[1], row[2].value) for row in table.rows] == [("m", "A", 0.75), ("m", "B", 0.25)]
    assert found.mean("grid.accuracy", keep=lambda row: row.group == "A") == table.rows[0][2]
    assert found.mean("grid.accuracy").value == 0.5
    assert found.n_clusters("grid.accuracy") == 24
