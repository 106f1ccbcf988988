"""The symbolic models: exact for every subset of objects and words, and models like any other."""

from itertools import combinations
from math import comb

import grid_plain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite import Request, open_model
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS
from theodolite.instruments.grid.data.world import render
from theodolite.instruments.grid.explainers.contract import make_case
from theodolite.instruments.grid.explainers.game import Convention
from theodolite.instruments.grid.explainers.readers import open_reader
from theodolite.instruments.grid.models.symbolic import CONFIDENCE, symbolic_answer
from theodolite.testing import check_model


@settings(max_examples=80, deadline=None)
@given(key=st.sampled_from(BUCKET_KEYS), logic=st.sampled_from(["pure", "bow"]), seed=st.integers(0, 10**6))
def test_every_coalition_counts_what_a_plain_reading_of_its_words_and_objects_counts(key, logic, seed):
    batch = generate(key, 1, density="sparse", seed=seed)
    game = grid_plain.symbolic_game(batch, 0, logic)
    rng = np.random.default_rng(seed)
    cells, words = rng.random((24, 25)) < 0.8, rng.random((24, 28)) < 0.8
    cells[0] = words[0] = True
    values = game(cells, words)
    for m in range(24):
        assert values[m] == grid_plain.count_with_gaps(batch, 0, cells[m], words[m], bag=logic == "bow")


def shapley(value, n):
    """The Shapley values of a game on n players, by the definition."""
    table = {s: value(s) for size in range(n + 1) for s in combinations(range(n), size)}
    values = []
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        values.append(
            sum(
                (table[tuple(sorted((*s, i)))] - table[s]) / (n * comb(n - 1, len(s)))
                for size in range(n)
                for s in combinations(rest, size)
            )
        )
    return values


def object_values(batch, row, logic):
    game, places = grid_plain.symbolic_game(batch, row, logic), np.flatnonzero(batch.cells[row])

    def value(coalition):
        shown = np.zeros((1, 25), bool)
        shown[0, places[list(coalition)]] = True
        return float(game(shown, np.ones((1, 28), bool))[0])

    return dict(zip(places.tolist(), shapley(value, len(places)), strict=True))


def test_a_bag_of_words_gives_every_look_alike_one_and_nothing_to_anything_else():
    batch = generate("M-F0-D2", 3, density="sparse", seed=1)
    for row in range(3):
        values = object_values(batch, row, "bow")
        alike = {cell for cell in values if batch.roles[row, cell] in {5, 7}}
        assert all(value == pytest.approx(1 if cell in alike else 0) for cell, value in values.items())


def test_the_pure_twins_value_is_shared_by_targets_anchors_and_look_alikes_as_the_game_says():
    """At depth 1 a look-alike counts until the anchor is there: v = ½ for it, and the anchor takes −½ for each."""
    batch = generate("M-F0-D1", 4, density="sparse", seed=2)
    for row in range(4):
        values = object_values(batch, row, "pure")
        role = batch.roles[row]
        adversarial = int((role == 7).sum())
        expected = {5: 1.0, 7: 0.5, 8: 0.0, 1: -0.5 * adversarial}
        assert all(value == pytest.approx(expected[int(role[cell])]) for cell, value in values.items())


def test_direction_words_matter_to_pure_and_not_to_the_bag_of_words():
    batch = generate("M-F0-D2", 20, seed=3)
    for row in range(20):
        words = np.ones((2, 28), bool)
        words[1, batch.spans[row, 6, 0]] = False
        pure, bag = (
            grid_plain.symbolic_game(batch, row, logic)(np.ones((2, 25), bool), words)
            for logic in ("pure", "bow")
        )
        assert pure[1] > pure[0]
        assert bag[1] == bag[0]


def test_log_odds_are_of_the_answer_to_the_whole_scene():
    batch = generate("M-F1-D1", 1, seed=5)
    reader = open_reader("grid:symbolic-pure")
    case = make_case(reader, batch, 0, convention=Convention(explained="log-odds"))
    odds = case.game(np.array([[True] * 25, [False] * 25]), np.ones((2, 28), bool))
    p = np.array([CONFIDENCE, CONFIDENCE if batch.answer_text(0) == "no" else 1 - CONFIDENCE])
    assert odds == pytest.approx(np.log(p / (1 - p)), abs=1e-3)


def test_an_unknown_logic_is_refused():
    batch = generate("M-F1-D1", 1, seed=5)
    with pytest.raises(UsageError, match="pure or bow"):
        symbolic_answer(batch.world, batch.cells, batch.questions, logic="deep")


@pytest.mark.parametrize("name", ["grid:symbolic-pure", "grid:symbolic-bow"])
def test_twins_keep_the_model_contract(name):
    check_model(name)


def test_twins_answer_pictures_as_their_logic_says():
    batch = generate(BUCKET_KEYS, 2, density="sparse", seed=8)
    pictures = render(batch.world, batch.cells)
    for name, bag in (("grid:symbolic-pure", False), ("grid:symbolic-bow", True)):
        model = open_model(name)
        requests = [
            Request.ask(Picture.from_array(pictures[row]), f"{batch.text(row)} Answer with one word.")
            for row in range(len(batch))
        ]
        for row, response in enumerate(model.generate(requests)):
            objects = grid_plain.objects_of(batch, row)
            assert response.text == grid_plain.answer(objects, batch.text(row), relations_count=not bag)
        choice = model.choose(requests[:1], [batch.world.answers])[0]
        assert max(choice.probabilities) == pytest.approx(CONFIDENCE)


def test_a_twin_says_what_it_cannot_read():
    model = open_model("grid:symbolic-pure")
    blank = Picture.from_array(np.full((320, 320, 3), 255, np.uint8))
    small = Picture.from_array(np.full((64, 64, 3), 255, np.uint8))
    requests = [
        Request.ask(blank, "What is this?"),
        Request.ask("How many red circles?"),
        Request.ask(small, "How many red circles?"),
        Request.ask(blank, "How many purple circles?"),
        Request.ask(blank, "How many red circles?"),
    ]
    responses = model.generate(requests)
    assert [r.status for r in responses] == ["failed"] * 4 + ["answered"]
    assert responses[4].text == "0"
    with pytest.raises(UsageError, match="there is no model grid:fast"):
        open_model("grid:fast")
