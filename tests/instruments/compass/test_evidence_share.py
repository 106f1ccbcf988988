import compass_plain as plain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.attribution import RelevanceMap
from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.formulas.baselines import uniform_map
from theodolite.instruments.compass.formulas.dae import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.evidence_share import evidence
from theodolite.instruments.compass.formulas.projection import TokenMap

GRID = TokenGrid.regular((90, 60), (6, 9))
A, B = Box(5, 5, 33, 27), Box(50, 31, 84, 58)


def test_equals_the_plain_loop():
    values = np.random.default_rng(0).random(54)
    found = evidence(TokenMap(values, GRID, text_mass=4.0), reference=A, target=B)
    on_a = sum(v * plain.overlap(rect, A) for v, rect in zip(values, GRID.rects_px, strict=True))
    on_b = sum(v * plain.overlap(rect, B) for v, rect in zip(values, GRID.rects_px, strict=True))
    total = values.sum() + 4
    assert float(found.image_share) == pytest.approx(values.sum() / total)
    assert float(found.reference_share) == pytest.approx(on_a / total)
    assert float(found.target_share) == pytest.approx(on_b / total)
    assert float(found.rest_share) == pytest.approx((values.sum() - on_a - on_b) / total)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.tuples(*[st.floats(-10, 80)] * 4),
    st.tuples(*[st.floats(1, 60)] * 4),
    st.floats(0, 100),
)
def test_the_parts_make_up_the_whole(seed, corners, sizes, text):
    """Also where the boxes overlap, lie in each other, or reach beyond the picture."""
    a, b = Box.from_xywh(*corners[:2], *sizes[:2]), Box.from_xywh(*corners[2:], *sizes[2:])
    values = np.random.default_rng(seed).random((2, 54))
    found = evidence(TokenMap(values, GRID, text_mass=np.array([text, 2 * text])), reference=a, target=b)
    assert found.reference + found.target + found.rest == pytest.approx(found.image)
    parts = found.reference_share + found.target_share + found.rest_share
    assert parts == pytest.approx(found.image_share)
    assert (np.stack([found.reference, found.target, found.rest]) >= -1e-12).all()
    assert found.total == pytest.approx(found.image + np.array([text, 2 * text]))


def test_an_overlap_is_shared_in_halves():
    one = Box(0, 0, 30, 30)
    found = evidence(TokenMap(np.ones(54), GRID), reference=one, target=one)
    assert float(found.reference) == float(found.target) == pytest.approx(4.5)
    inner = evidence(TokenMap(np.ones(54), GRID), reference=one, target=Box(0, 0, 10, 10))
    assert (float(inner.reference), float(inner.target)) == pytest.approx((8.5, 0.5))


def test_a_uniform_map_puts_on_a_box_what_the_box_covers_whatever_the_grid():
    """With tiles, a thumbnail and padding too."""
    rects = np.concatenate(
        [
            TokenGrid.regular((90, 60), (4, 4), (0, 0, 90, 60)).rects_px,
            [[0, 0, 90, 90]],
            np.full((1, 4), np.nan),
        ]
    )
    tiled = TokenGrid(rects, 90, 60, np.array([0] * 16 + [1, -1]))
    for grid in (GRID, TokenGrid.regular((90, 60), (3, 3))):
        found = evidence(uniform_map(grid), reference=A, target=B)
        assert float(found.reference_share) == pytest.approx(A.area_px / (90 * 60))
        assert float(found.target_share) == pytest.approx(B.area_px / (90 * 60))
    found = evidence(uniform_map(tiled), reference=A, target=B)
    on_b = B.area_px * (1 + 90 * 60 / (90 * 90))  # the thumbnail's token is one and a half pictures high
    assert float(found.target_share) == pytest.approx(on_b / (2 * 90 * 60))


def test_scale_does_not_matter_but_is_kept():
    values = np.random.default_rng(1).random(54)
    small = evidence(TokenMap(values, GRID, text_mass=3.0), reference=A, target=B)
    large = evidence(TokenMap(values * 1e6, GRID, text_mass=3e6), reference=A, target=B)
    assert float(small.image_share) == pytest.approx(float(large.image_share))
    assert float(large.image) == pytest.approx(1e6 * float(small.image))


def test_normalising_would_throw_this_away():
    """Two models whose compasses are the same: one has a third of its relevance on the picture, one a hundredth."""
    values = np.random.default_rng(2).random(54)
    looks, guesses = (
        evidence(TokenMap(values * scale, GRID, text_mass=text), reference=A, target=B)
        for scale, text in ((1.0, 2 * values.sum()), (0.01, 0.99 * values.sum()))
    )
    assert float(looks.image_share) == pytest.approx(1 / 3)
    assert float(guesses.image_share) == pytest.approx(0.01)


def test_an_attribution_s_own_map_is_read():
    own = RelevanceMap("chefer", "gt", GRID, np.ones(54, np.float32), text_mass=54.0)
    assert float(evidence(own, reference=A, target=B).image_share) == pytest.approx(0.5)


def test_without_text_there_is_no_share_on_the_image():
    found = evidence(TokenMap(np.ones(54), GRID), reference=A, target=B)
    assert float(found.target_share) == pytest.approx(B.area_px / (90 * 60))
    with pytest.raises(UsageError, match="needs the relevance on the text"):
        _ = found.image_share


@pytest.mark.parametrize(
    ("values", "text", "reason"),
    [
        (np.zeros(54), None, Exclusion.ZERO_MASS),
        (np.zeros(54), 0.0, Exclusion.ZERO_MASS),
        (np.full(54, np.nan), 1.0, Exclusion.NOT_FINITE),
        (np.ones(54), np.inf, Exclusion.NOT_FINITE),
    ],
)
def test_what_has_no_share_is_named(values, text, reason):
    with pytest.raises(DegenerateError) as caught:
        evidence(TokenMap(values, GRID, text_mass=text), reference=A, target=B)
    assert caught.value.reason is reason


def test_a_picture_without_relevance_beside_text_with_some_has_a_share():
    found = evidence(TokenMap(np.zeros(54), GRID, text_mass=1.0), reference=A, target=B)
    assert float(found.image_share) == 0
    outside = evidence(TokenMap(np.ones(54), GRID), reference=A, target=Box(100, 0, 110, 10))
    assert float(outside.target) == 0
    nowhere = TokenGrid(np.full((3, 4), np.nan), 9, 9, np.full(3, -1))
    with pytest.raises(DegenerateError):
        evidence(TokenMap(np.ones(3), nowhere), reference=A, target=B)


def test_negative_relevance_needs_a_policy():
    values = np.random.default_rng(3).random(54) - 0.5
    with pytest.raises(UsageError, match="negative"):
        evidence(TokenMap(values, GRID), reference=A, target=B)
    with pytest.raises(UsageError, match="negative"):
        evidence(TokenMap(np.ones(54), GRID, text_mass=-1.0), reference=A, target=B)
    found = evidence(TokenMap(values, GRID, text_mass=-1.0), reference=A, target=B, negative="absolute")
    assert float(found.total) == pytest.approx(np.abs(values).sum() + 1)
    found = evidence(TokenMap(values, GRID, text_mass=-1.0), reference=A, target=B, negative="positive")
    assert float(found.total) == pytest.approx(values[values > 0].sum())
