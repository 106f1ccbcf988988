import compass_plain as plain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.formulas.dae import (
    DegenerateError,
    DirectionMass,
    Exclusion,
    dae,
    edge_hit,
    label_of,
    octant_hit,
)

CENTRES = np.arange(8) * 45 + 22.5


def compass(distribution, true=None, centres=CENTRES):
    distribution = np.asarray(distribution, float)
    shape = distribution.shape[:-1]
    true = None if true is None else np.broadcast_to(np.asarray(true, float), shape)
    return DirectionMass(distribution, centres, true, np.ones(shape), np.zeros(shape, np.uint8))


def one_hot(sector):
    return np.eye(8)[sector]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(0.001, 1), min_size=8, max_size=8), st.floats(0, 359.99))
def test_metrics_equal_their_formulas(masses, true):
    shares = np.array(masses) / sum(masses)
    found = compass(shares, true)
    mean, length = plain.mean_direction(shares, CENTRES)
    peak = CENTRES[int(np.argmax(np.round(shares, 12)))]
    assert float(found.concentration()) == pytest.approx(length)
    if not found.is_tied():
        assert float(found.peak_deg()) == peak
        assert float(found.error_deg()) == pytest.approx(plain.error(peak, true))
        assert bool(edge_hit(found.error_deg())) == (plain.error(peak, true) <= 45 + 1e-9)
        assert bool(octant_hit(found.error_deg())) == (plain.error(peak, true) <= 22.5 + 1e-9)
    if length > 1e-6:
        assert float(found.error_deg("mean")) == pytest.approx(plain.error(mean, true), abs=1e-6)


def test_ties_go_by_their_rule():
    both = compass([0, 0.4, 0.4, 0.2, 0, 0, 0, 0], 90)
    assert bool(both.is_tied())
    assert float(both.peak_deg()) == 67.5
    assert float(both.peak_deg("mean")) == pytest.approx(90)
    assert float(both.error_deg()) == 22.5
    assert float(both.error_deg(ties="mean")) == pytest.approx(0, abs=1e-9)
    opposite = compass([0.5, 0, 0, 0, 0.5, 0, 0, 0])
    assert float(opposite.peak_deg("mean")) == 22.5, "they cancel: the first"
    uniform = compass(np.full(8, 1 / 8))
    assert float(uniform.peak_deg()) == float(uniform.peak_deg("mean")) == 22.5
    rounding = compass([0.1, 0.3, 0.3 + 1e-14, 0.3, 0, 0, 0, 0])
    assert float(rounding.peak_deg()) == 67.5, "a difference by rounding is a tie"
    assert not compass([0.1, 0.3, 0.3001, 0.2999, 0, 0, 0, 0]).is_tied()
    with pytest.raises(UsageError, match="ties"):
        both.peak_deg("last")


def test_a_cancelled_mean_is_named():
    found = compass([one_hot(0), np.full(8, 1 / 8), [0.5, 0, 0, 0, 0.5, 0, 0, 0]], 0)
    with pytest.raises(DegenerateError, match="2 of 3") as caught:
        found.mean_deg()
    assert caught.value.reason is Exclusion.NO_MEAN
    assert found[found.concentration() > 0.01].mean_deg() == pytest.approx([22.5])
    assert found.error_deg().tolist() == [22.5, 22.5, 22.5], "peaks have no such trouble"


def test_an_edge_of_45_degrees_is_within():
    """Edge-aligned bins put a perfect peak 22.5° from a cardinal truth: inside the octant, whatever its last digit."""
    true = np.array([0.0, 90.0, 180.0, 270.0])
    found = compass([one_hot(0), one_hot(1), one_hot(3), one_hot(6)], true)
    assert found.error_deg().tolist() == [22.5] * 4
    assert octant_hit(found.error_deg()).all()
    far = compass([one_hot(1), one_hot(2)], [22.5, 157.5 + 1e-12])
    assert edge_hit(far.error_deg()).all()
    assert not octant_hit(far.error_deg()).any()
    assert not edge_hit(compass(one_hot(1), 22.49).error_deg())


def test_the_error_of_a_random_sector_is_ninety_degrees_on_average():
    """A.1: E[DAE] = mean over k of min(k · 45, 360 − k · 45) = 90."""
    assert float(np.mean(compass(np.eye(8), 22.5).error_deg())) == 90
    assert dae(10, 350) == 20


def test_labels_follow_their_thresholds():
    spread = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
    found = compass([one_hot(0), spread, one_hot(4)], 22.5)
    assert found.labels().tolist() == ["aligned", "diffuse but usable", "layout-dominated"]
    assert label_of([45, 45.1, 0, 0], [0.75, 1, 0.749, 0.75]).tolist() == [
        "aligned",
        "layout-dominated",
        "diffuse but usable",
        "aligned",
    ]


def test_divergence_is_that_of_the_statistics():
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(8), 5), rng.dirichlet(np.ones(8), 5)
    found = compass(first).divergence(compass(second))
    assert found == pytest.approx(stats.jensen_shannon_divergence(first, second))
    assert compass(one_hot(0)).divergence(compass(one_hot(1))) == 1
    with pytest.raises(UsageError, match="cannot be compared"):
        compass(one_hot(0)).divergence(compass(np.eye(4)[0], centres=np.arange(4) * 90 + 45))


def test_a_compass_is_cut_like_an_array():
    found = compass(np.eye(8)[np.newaxis].repeat(3, axis=0), np.zeros((3, 8)))
    assert found.shape == (3, 8)
    assert found[1].shape == (8,)
    assert found[:, 2].peak_deg().tolist() == [112.5] * 3
    assert found[found.error_deg() < 30].shape == (6,)
    assert found.exclusions() == {}
    with pytest.raises(UsageError, match="readout"):
        found.error_deg("median")
