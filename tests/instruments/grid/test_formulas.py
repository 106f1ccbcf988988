"""The formulas of maps against plain computations."""

import itertools

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice
from theodolite.instruments.grid.formulas.maps import (
    Levels,
    area,
    normalised_rma,
    otsu,
    part_masses,
    relation_shift,
    rma,
    score_map,
    shift,
    word_shares,
)
from theodolite.stats import roc_auc

RNG = np.random.default_rng(3)


def plain_otsu(values):
    """The best cut, by trying every one."""
    values = np.sort(values)
    best, found = -1.0, values[0]
    for low, high in itertools.pairwise(values):
        if low < high:
            cut = (low + high) / 2
            below, above = values[values < cut], values[values > cut]
            between = len(below) * len(above) * (below.mean() - above.mean()) ** 2
            if between > best:
                best, found = between, cut
    return found


@pytest.mark.parametrize("seed", range(5))
def test_otsu_is_exact(seed):
    values = np.round(np.random.default_rng(seed).exponential(size=25), 1)
    assert otsu(values) == pytest.approx(plain_otsu(values))


def test_scores_of_a_map_are_those_of_their_definitions():
    values, mask = RNG.normal(size=25), RNG.random(25) < 0.3
    found = score_map(values, mask)
    size = np.abs(values)
    assert found.rma == pytest.approx(size[mask].sum() / size.sum())
    assert found.area == pytest.approx(mask.mean())
    assert found.auc == pytest.approx(roc_auc(size, mask).value)
    top = np.argsort(-size)[: mask.sum()]
    assert found.rra == pytest.approx(mask[top].mean())
    above = size > plain_otsu(size)
    assert found.iou == pytest.approx((above & mask).sum() / (above | mask).sum())


def test_a_uniform_map_scores_its_area_and_the_truth_scores_one():
    mask = np.arange(25) < 6
    flat = score_map(np.ones(25), mask)
    assert (flat.rma, flat.normalised_rma, flat.auc) == pytest.approx((0.24, 0, 0.5))
    assert flat.rra == pytest.approx(0.24)  # ties share
    assert flat.iou == 0  # nothing lies above the one value
    assert flat.iou_paper == pytest.approx(0.24)  # everything reaches it
    best = score_map(mask * 1.0, mask)
    assert (best.rma, best.normalised_rma, best.rra, best.auc, best.iou) == (1, 1, 1, 1, 1)
    assert score_map(np.zeros(25), mask) is None


def test_a_heavy_tail_costs_the_pixel_level_its_overlap_and_the_cell_level_nothing():
    mask = np.zeros((5, 5), bool)
    mask[0, :2] = True
    fine = mask.repeat(64, 0).repeat(64, 1)
    heat = RNG.random((320, 320)) * 0.01 + fine * RNG.random((320, 320)) ** 200 * 50
    pooled = heat.reshape(5, 64, 5, 64).sum(axis=(1, 3))
    assert score_map(heat, fine).iou < 0.05
    assert score_map(pooled, mask).iou == 1


def test_maps_and_masks_that_cannot_be_scored_are_refused():
    with pytest.raises(UsageError, match="16 places does not fit a mask of 25"):
        score_map(np.ones(16), np.ones(25, bool))
    with pytest.raises(UsageError, match="holds 0 of 25"):
        score_map(np.ones(25), np.zeros(25, bool))


def test_half_floats_score_as_their_values():
    values, mask = RNG.random(400).astype(np.float16), RNG.random(400) < 0.3
    assert score_map(values, mask) == score_map(values.astype(np.float64), mask)


def test_area_is_the_rma_of_a_uniform_map():
    levels = Levels.of(np.ones(25), np.arange(25) < 6)
    assert area(levels) == rma(levels) == 0.24
    assert normalised_rma(levels) == 0


def test_masses_of_parts_sum_to_one_and_a_map_of_zeros_has_none():
    masks = {"anchors": np.array([True, False, False]), "targets": np.array([False, True, True])}
    assert part_masses(np.array([-1.0, 2.0, 1.0]), masks) == {"anchors": 0.25, "targets": 0.75}
    assert part_masses(np.zeros(3), masks) == {}
    roles = np.array(["target", "direction", "other", ""])
    shares = word_shares(np.array([1.0, -2.0, 1.0, 9.0]), roles)
    assert shares == {"target": 0.25, "anchor": 0.0, "direction": 0.5, "other": 0.25}


def test_a_shift_is_the_total_variation_distance():
    sure, fair = (Choice(("yes", "no"), tuple(np.log(p))) for p in ([0.9, 0.1], [0.5, 0.5]))
    assert shift(sure, fair) == pytest.approx(0.4)
    assert shift(sure, None) is None
    assert relation_shift(0.9, 0.1) == pytest.approx(0.8)
    assert relation_shift(0.9, None) is None
