"""Evidence of a known direction, put into a map, must come out again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.formulas.projection import ProjectionOptions, TokenMap, project_batch


def lobe(angles_deg, at_deg, sharpness):
    """A von Mises lobe: symmetric, its half width at half height arccos(1 − ln 2 / sharpness)."""
    return np.exp(sharpness * (np.cos(np.deg2rad(angles_deg - at_deg)) - 1))


def box_at(x, y, side=4):
    return Box(x - side / 2, y - side / 2, x + side / 2, y + side / 2)


@settings(deadline=None, max_examples=80)
@given(
    st.floats(0, 360, exclude_max=True),
    st.floats(0.3, 4),
    st.integers(8, 24),
    st.sampled_from(["edge", "centre"]),
)
def test_a_symmetric_lobe_at_any_angle_is_found(at_deg, sharpness, sectors, bins):
    """On tokens all around, symmetric about the lobe's axis and as many in each sector, only the sectors can err."""
    spacing = 360 / (sectors * 1000)
    offsets = (np.arange(sectors * 500) + 0.5) * spacing
    angles = at_deg + np.concatenate([offsets, -offsets])
    x, y = 500 + 300 * np.cos(np.deg2rad(angles)), 500 - 300 * np.sin(np.deg2rad(angles))
    rects = np.stack([x - 0.05, y - 0.05, x + 0.05, y + 0.05], axis=1)
    grid = TokenGrid(rects, 1000, 1000, np.zeros(len(rects), np.int64))
    target = box_at(500 + 300 * np.cos(np.deg2rad(at_deg)), 500 - 300 * np.sin(np.deg2rad(at_deg)))
    found = project_batch(
        [TokenMap(lobe(angles, at_deg, sharpness), grid)],
        references=[Box(190, 190, 810, 810)],
        targets=[target],
        options=ProjectionOptions(sectors, bins),
    )
    assert found.error_deg()[0] <= 180 / sectors + spacing
    assert found.error_deg("mean")[0] <= 1


def planted_on_a_grid(cells, sharpness, options, shift_px=(0.0, 0.0), step_deg=1.5):
    """The largest errors of a lobe turned all the way round on a model's own square grid."""
    size = cells * 14
    grid = TokenGrid.regular((size, size), (cells, cells))
    x, y = size / 2 + shift_px[0], size / 2 + shift_px[1]
    dx, dy = (grid.centres_px - (x, y)).T
    angles, rho = np.rad2deg(np.arctan2(-dy, dx)), np.hypot(dx, dy)
    ring = np.exp(-(((rho - size / 4) / (size / 16)) ** 2))
    at = np.arange(0, 360, step_deg)
    steps = size / 4 * np.stack([np.cos(np.deg2rad(at)), -np.sin(np.deg2rad(at))], axis=1)
    found = project_batch(
        [TokenMap(lobe(angles, each, sharpness) * ring, grid) for each in at],
        references=[box_at(x, y)] * len(at),
        targets=[box_at(x + right, y + down) for right, down in steps],
        options=options,
    )
    return found.error_deg().max(), found.error_deg("mean").max()


@pytest.mark.parametrize("cells", [16, 24])
@pytest.mark.parametrize("sharpness", [1, 2, 4])
@pytest.mark.parametrize("shift_px", [(0, 0), (4.6, -2.4)])
@pytest.mark.parametrize("bins", ["edge", "centre"])
def test_by_area_a_lobe_is_found_on_the_grids_that_models_have(cells, sharpness, shift_px, bins):
    """A lobe of sharpness 1 is nearly flat at its top (half as high 72° away), and a grid of 16 blurs that by a degree."""
    for sectors in (8, 12):
        options = ProjectionOptions(sectors, bins, weight="none", tokens="area")
        peak, mean = planted_on_a_grid(cells, sharpness, options, shift_px)
        assert peak <= 180 / sectors + (1 if sharpness == 1 else 1e-9)
        assert mean <= 1


def test_by_centres_the_grid_itself_turns_a_lobe():
    """What the paper's form costs on a coarse grid, and why the sound one shares tokens out by area."""
    paper = ProjectionOptions(weight="none")
    peak, mean = planted_on_a_grid(16, 1, paper, (4.6, -2.4))
    assert peak > 180 / 8 + 15
    assert mean > 2
    fine_peak, fine_mean = planted_on_a_grid(96, 4, paper, (4.6, -2.4), step_deg=5)
    assert fine_peak <= 180 / 8 + 2
    assert fine_mean <= 1
