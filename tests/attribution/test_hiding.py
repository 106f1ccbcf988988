"""Hidden parts of pictures: rasters, occlusion of planted evidence, and what replaces pixels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.attribution.hiding import (
    GREY,
    Raster,
    Windows,
    filling,
    hide,
    rank_cells,
    token_amounts,
)
from theodolite.attribution.methods.tam import filtered, rank_filter, without_interference
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import TokenGrid


@given(
    st.integers(20, 400),
    st.integers(20, 400),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(4, 300),
)
def test_what_is_spread_over_a_raster_is_all_there(width, height, rows, columns, cells):
    grid = TokenGrid.regular((width, height), (rows, columns))
    values = np.random.default_rng(rows).random(rows * columns)
    raster = Raster.seen_by(grid, cells)
    spread = raster.spread(grid, values)
    assert spread.shape == raster.shape
    assert spread.sum() == pytest.approx(values.sum())
    assert raster.pixels_of(np.ones(raster.shape, bool)).all()


def test_only_what_the_model_sees_is_rastered():
    """A model that crops the middle: the raster lies there, and its cells are the pixels there."""
    grid = TokenGrid.regular((100, 60), (4, 4), (20.0, 0.0, 80.0, 60.0))
    raster = Raster.seen_by(grid, 16)
    assert raster.shape == (4, 4)
    pixels = raster.pixels_of(np.ones((4, 4), bool))
    assert pixels[:, 20:80].all()
    assert not pixels[:, :20].any()
    assert not pixels[:, 80:].any()
    one = np.zeros((4, 4), bool)
    one[1, 2] = True
    ys, xs = np.nonzero(raster.pixels_of(one))
    assert (ys.min(), ys.max(), xs.min(), xs.max()) == (15, 29, 50, 64)


def test_a_grid_without_a_place_is_told():
    nowhere = TokenGrid(np.full((2, 4), np.nan), 10, 10, np.full(2, -1))
    with pytest.raises(UsageError, match="no token"):
        Raster.seen_by(nowhere)


def test_cells_are_ranked_over_all_pictures_together():
    first, second = rank_cells([np.array([[1.0, 5.0]]), np.array([[3.0], [5.0]])])
    assert first.tolist() == [[3, 0]]
    assert second.tolist() == [[2], [1]]  # of equal ones the first


def test_occlusion_finds_a_planted_square():
    """The explained number is the brightness of one square: only windows over it count."""
    pixels = np.full((80, 120, 3), GREY, np.uint8)
    pixels[20:40, 60:90] = 255
    region = (0.0, 0.0, 120.0, 80.0)

    def drop(variants):
        return np.array([255.0 - each[0].pixels()[20:40, 60:90].mean() for each in variants])

    pictures = [Picture.from_array(pixels)]
    windows = Windows.over([(120, 80)], [region], windows=54)
    variants = list(windows.variants(pictures))
    assert len(variants) == len(windows)
    (raster,), (amounts,) = windows.rasters, windows.amounts(drop(variants))
    far = raster.grid.rects_px[amounts.ravel() == 0]
    assert raster.grid.tokens_at(75, 30)[0] == amounts.argmax()
    # a window is two cells wide, so what has an amount is at most two cells from the square
    step = 120 / raster.shape[1]
    near = raster.grid.rects_px[amounts.ravel() > 0]
    assert (near[:, 2] > 60 - 2 * step).all()
    assert (near[:, 0] < 90 + 2 * step).all()
    assert len(far) > 0
    grid = TokenGrid.regular((120, 80), (8, 12))
    values = token_amounts(grid, raster, amounts)
    assert values.sum() == pytest.approx(amounts.sum())
    assert grid.tokens_at(75, 30)[0] in np.argsort(values)[-6:]


def test_hidden_pixels_become_the_filling_and_others_stay():
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    mask = np.zeros((20, 30), bool)
    mask[:5] = True
    for fill in ("grey", "blur"):
        filled = filling(pixels, fill)
        shown = hide(pixels, mask, filled).pixels()
        assert (shown[5:] == pixels[5:]).all()
        assert (shown[:5] == filled[:5]).all()


def test_interference_in_proportion_leaves_nothing():
    """Where the explained word is active just where earlier words are, its own map is empty."""
    earlier = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])
    weights = np.array([2.0, 1.0])
    shared = weights @ earlier
    np.testing.assert_allclose(without_interference(0.7 * shared, earlier, weights), 0, atol=1e-6)
    assert without_interference(np.array([1.0, 0, 0]), np.zeros((0, 3)), np.zeros(0)).tolist() == [1, 0, 0]


def test_the_rank_filter_takes_out_what_stands_alone():
    field = np.ones((7, 9))
    field[3, 4] = 50.0
    assert rank_filter(field).max() < 5
    np.testing.assert_allclose(rank_filter(np.full((4, 5), 2.0)), 2.0)
    np.testing.assert_allclose(rank_filter(3 * field), 3 * rank_filter(field))


def test_each_tile_is_filtered_by_itself():
    rects = np.concatenate([TokenGrid.regular((40, 40), (4, 4)).rects_px, np.full((1, 4), np.nan)])
    grid = TokenGrid(rects, 40, 40, np.array([0] * 16 + [-1]))
    values = np.zeros(17)
    values[5], values[16] = 9.0, 7.0
    result = filtered(grid, values)
    np.testing.assert_allclose(result[:16].reshape(4, 4), rank_filter(values[:16].reshape(4, 4)))
    assert result[16] == 7.0
