"""MRA on its thresholds, and the parts of SGC against a plain reading of the formulas."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.instruments.scene.data.files import Option, SceneQuestion
from theodolite.instruments.scene.formulas.mra import mean_relative_accuracy, score_value
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.graph_parser import read_graph
from theodolite.worlds.scene_graph import Edge, Node, StarGraph


def plain_mra(said, gold, comparison):
    """In exact decimal arithmetic."""
    error = abs(Decimal(said) - Decimal(gold)) * 100
    limits = [Decimal(gold) * share for share in range(50, 0, -5)]
    return sum(error < limit if comparison == "<" else error <= limit for limit in limits) / 10


CENTS = st.integers(1, 5000).map(lambda n: f"{n // 100}.{n % 100:02d}")


@given(CENTS, CENTS, st.sampled_from(["<", "<="]))
def test_mra_is_exact_in_hundredths(said, gold, comparison):
    found = mean_relative_accuracy(float(said), float(gold), comparison=comparison)
    assert found == pytest.approx(plain_mra(said, gold, comparison), abs=1e-12)


@given(st.integers(1, 400), st.sampled_from(range(5, 55, 5)), st.sampled_from([-1, 1]))
def test_mra_on_a_threshold_is_where_the_two_readings_differ(gold, share, sign):
    said = str(Decimal(gold) + sign * Decimal(gold) * share / 100)
    strict, loose = (
        float(mean_relative_accuracy(float(said), float(gold), comparison=c)) for c in ("<", "<=")
    )
    assert loose - strict == pytest.approx(0.1)
    assert strict == pytest.approx(plain_mra(said, str(gold), "<"))


def test_mra_of_what_is_no_number_is_zero():
    found = mean_relative_accuracy([np.nan, np.inf, -2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 0.0, 2.0])
    assert found.tolist() == [0, 0, 0, 0, 1]


def test_an_answer_is_scored_by_its_kind():
    choice = SceneQuestion(
        "q", "s", "indoor", "is left", "?", (1, 2), "B", "easy", (Option("Yes", "yes"), Option("No", "no"))
    )
    number = SceneQuestion("n", "s", "indoor", "length", "?", (1,), "2.00", "easy")
    assert score_value(choice, "B") == 1
    assert score_value(choice, "A") == 0
    assert score_value(number, 2.1) == 0.9
    assert score_value(number, 2.1, comparison="<=") == 1
    assert score_value(number, None) == 0
    assert score_value(choice, None) == 0


TRUE = StarGraph(
    1,
    (Node(1, 4.0, 1.0, 1.0, 2.0), Node(2, 5.0, 1.0, 2.0, 1.0), Node(3, 10.0, 2.0, 2.0, 2.0)),
    (Edge(2, 2.0, frozenset({"left"})), Edge(3, 5.0, frozenset({"behind", "up"}))),
)


def test_a_perfect_graph_scores_one():
    score = score_graph(TRUE, TRUE)
    assert (
        score.estimates.size,
        score.estimates.camera,
        score.estimates.distance,
        score.s_rel,
        score.relations.stated,
    ) == (
        pytest.approx(1),
        pytest.approx(1),
        pytest.approx(1),
        1,
        1,
    )
    assert score.sgc == pytest.approx(1)


def test_each_part_by_hand():
    said = StarGraph(
        1,
        (Node(1, 6.0, 0.5, 1.0, 4.0), Node(2, None, 1.0, None, 1.0)),
        (Edge(2, 1.5, frozenset({"left", "right"})), Edge(7, 1.0, frozenset())),
    )
    score = score_graph(said, TRUE)
    assert score.estimates.size == pytest.approx(((0.5 + 1 + 0.5) / 3 + (1 + 0 + 1) / 3 + 0) / 3)
    assert score.estimates.camera == pytest.approx((0.5 + 0 + 0) / 3, abs=1e-6)
    assert score.estimates.distance == pytest.approx(0.75 / 2, abs=1e-6)
    assert score.s_rel == pytest.approx(
        (2 / 3 + 0) / 2
    )  # "left and right" spoils one pair; a missing edge all three
    assert score.relations.stated == 0
    assert score.s_est == pytest.approx(
        (score.estimates.size + score.estimates.camera + score.estimates.distance) / 3
    )
    assert score.sgc == pytest.approx((score.s_est + score.s_rel) / 2)


def test_a_distance_that_is_twice_too_long_is_worth_nothing():
    said = StarGraph(1, (Node(1, 8.0, 1, 1, 2), Node(2, 50.0, 1, 2, 1), Node(3, 10.0, 2, 2, 2)), ())
    assert score_graph(said, TRUE).estimates.camera == pytest.approx(1 / 3, abs=1e-6)


def test_saying_nothing_is_rewarded_by_the_papers_score_and_not_by_stated():
    silent = StarGraph(1, TRUE.nodes, tuple(Edge(e.to, e.distance_m, frozenset()) for e in TRUE.edges))
    score = score_graph(silent, TRUE)
    assert score.s_rel == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert score.relations.stated == 0


def test_an_edge_without_a_relation_gets_nothing_for_its_pairs():
    value = TRUE.as_json()
    del value["edges"][0]["relation"]
    assert score_graph(read_graph(value, 1, {1, 2, 3}), TRUE).s_rel == pytest.approx(0.5)
