"""The tests of maps: a map on the evidence holds, one elsewhere does not, and the budget is kept exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.attribution.hiding import Raster
from theodolite.core.types import Picture
from theodolite.explanation.reading import Reading, overlap
from theodolite.explanation.truth import (
    N_CURVES,
    SHARE,
    STEPS,
    HidingPlan,
    HidingScene,
    elsewhere,
    first_cells,
    likeness,
    moved,
    outline,
    pointing,
)

RASTER = Raster.over((160, 160), (0, 0, 160, 160), 256)


class Brightness:
    """Reads how bright one square of the picture is: that is all that its answer depends on."""

    unit = "nats"

    def __init__(self, place):
        self.place = place
        self.least = None
        self.n_calls = 0
        self.told = lambda _: None

    def read(self, versions):
        values = []
        for pictures in versions:
            self.n_calls += 1
            values.append(pictures[0].pixels()[self.place].mean() / 10)
        self.least = 0.7 * values[0] if self.least is None else self.least  # the first is the picture itself
        return Reading(np.array(values)[:, None], np.array(values) > self.least)


def scene_with_a_square():
    pixels = np.full((160, 160, 3), 128, np.uint8)
    pixels[40:80, 90:130] = 255
    return HidingScene((Picture.from_array(pixels),), (RASTER,))


def map_at(row, column):
    rows, columns = np.indices(RASTER.shape)
    return [np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 4)]


def try_out(amounts, place=(slice(40, 80), slice(90, 130)), tries=20, *, is_own=True):
    scene, reader = scene_with_a_square(), Brightness(place)
    both = reader.read([list(scene.pictures), scene.hidden(scene.everything)])
    plan = HidingPlan(scene, np.random.default_rng(0), tries)
    plan.add_map("mine", amounts)
    plan.add_word("a word", amounts)
    outcome = plan.read(reader, both.row(0), both.row(1))
    return outcome.test("mine", [0], is_own=is_own), reader.n_calls, outcome


def test_a_map_on_the_evidence_holds():
    test, _, outcome = try_out(map_at(5.5, 10.5))
    assert test.standing == "holds"
    assert test.changes
    assert "changes the answer; hiding another 10 % does in 0 of 20 tries" in test.sentence
    assert test.deletion.gain > 0
    assert test.insertion.gain > 0
    assert outcome.loss(("word", "a word"), [0]) == pytest.approx(test.loss)


def test_a_map_elsewhere_is_no_better_than_chance():
    test, _, _ = try_out(map_at(12, 3))
    assert test.standing == "chance"
    assert "no better than chance: do not show it" in test.sentence
    assert test.deletion.gain < 0


def test_an_answer_that_is_the_same_without_the_picture_has_no_map():
    test, _, _ = try_out(map_at(5, 10), place=(slice(100, 110), slice(0, 10)))  # grey before and after
    assert test.standing == "blind"
    assert "without the picture" in test.sentence


def test_a_given_answer_is_told_by_its_probability():
    test, _, _ = try_out(map_at(5.5, 10.5), is_own=False)
    assert test.standing == "holds"
    assert "of its probability" in test.sentence


@pytest.mark.parametrize("tries", [1, 3, 20])
def test_the_budget_is_kept_exactly(tries):
    _, n, _ = try_out(map_at(5, 10), tries=tries)
    curves = 2 * len(STEPS)
    whole_curves = min(tries, N_CURVES)
    assert n == 2 + curves * (2 + whole_curves) + (tries - whole_curves) + 1


def test_too_few_tries_settle_nothing():
    test, _, _ = try_out(map_at(5.5, 10.5), tries=5)
    assert test.p_value == pytest.approx(1 / 6)
    assert test.standing == "not settled"
    assert test.sentence.startswith("Not settled: hiding")


def test_moved_maps_are_the_same_map_in_other_places():
    rng = np.random.default_rng(0)
    own = map_at(5, 10)
    marked = first_cells(own, SHARE, rng)[0]
    for other in elsewhere(own, 20, rng):
        assert np.sort(other[0].ravel()) == pytest.approx(np.sort(own[0].ravel()))
        again = first_cells(other, SHARE, rng)[0]
        assert again.sum() == marked.sum() == round(SHARE * marked.size)
        assert (again & marked).sum() <= 0.2 * marked.sum()


def test_maps_move_between_frames_of_one_shape():
    frames = [np.zeros((4, 4)) for _ in range(6)]
    frames[2][1, 1] = 1.0
    places = {
        int(np.argmax([f.max() for f in moved(frames, np.random.default_rng(seed)) for _ in [0]]))
        for seed in range(30)
    }
    assert len(places) > 3


@given(st.floats(0.05, 0.9), st.integers(0, 5))
def test_equal_relevance_is_marked_by_chance_and_exactly(share, seed):
    cells = first_cells([np.zeros((9, 7)), np.zeros((5, 5))], share, np.random.default_rng(seed))
    assert sum(int(each.sum()) for each in cells) == max(1, round(share * (63 + 25)))


def test_a_uniform_map_is_spread_evenly():
    scene = HidingScene(scene_with_a_square().pictures, (RASTER,))
    for share in STEPS:
        cells = first_cells(scene.even(), share, np.random.default_rng(0))[0]
        quarters = [cells[r : r + 8, c : c + 8].mean() for r in (0, 8) for c in (0, 8)]
        assert max(quarters) - min(quarters) <= 0.07


def test_the_outline_closes_around_what_is_marked():
    cells = np.zeros(RASTER.shape, bool)
    cells[2:4, 3:6] = True
    lines = outline(RASTER, cells)
    length = np.abs(lines[:, 2:] - lines[:, :2]).sum()
    assert length == pytest.approx(2 * (2 + 3) * 10)


def test_maps_are_compared_by_rank():
    a = [np.arange(12.0).reshape(3, 4)]
    assert likeness(a, [a[0] ** 3]) == 1
    assert likeness(a, [-a[0]]) == -1
    assert likeness(a, [np.ones((3, 4))]) is None


def test_pointing_and_mass_by_arithmetic():
    amounts = [np.array([[0.0, 1.0], [2.0, 5.0]]), np.array([[2.0]])]
    inside = [np.array([[False, False], [True, True]]), np.array([[False]])]
    assert pointing(amounts, inside) == (True, 0.7, 0.4)


def test_what_two_texts_share():
    assert overlap("Two dogs.", "two DOGS") == 1
    assert overlap("a b c d", "a b x y") == 0.5
    assert overlap("", "word") == 0
