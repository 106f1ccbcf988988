"""The renderer against geometry that is known, and its machine code against its numpy."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from theodolite.geometry import SE3, PinholeCamera
from theodolite.worlds.render import kernels
from theodolite.worlds.render.parts import (
    Material,
    Part,
    ball,
    box,
    cone,
    extent,
    hull,
    prism,
    turn_y,
    turn_z,
)
from theodolite.worlds.render.raster import Lattice, cast_parts, rasterise, visible_shares
from theodolite.worlds.render.shade import Light, Solid, render
from theodolite.worlds.render.textures import TEXTURES, noise, paint
from theodolite.worlds.things import CATALOGUE

GREY = Material((0.5, 0.5, 0.5))
CAMERA = PinholeCamera.from_field_of_view(60, (240, 180))
LATTICE = Lattice.of_camera(CAMERA)
LEVEL = SE3(np.array([[0, 0, 1.0], [-1, 0, 0], [0, -1, 0]]), np.zeros(3))  # looks along world x


def strewn_parts(seed):
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(40):
        place = np.array([rng.uniform(-3, 3), rng.uniform(-2, 2), rng.uniform(0.0, 12)])
        turn = turn_z(rng.uniform(0, 360)) @ turn_y(rng.uniform(0, 360))
        parts += [
            box(place, rng.uniform(0.2, 1.5, 3), GREY, turn),
            ball(place + 0.5, rng.uniform(0.2, 0.8, 3), GREY, turn),
            cone(
                place - 0.5, rng.uniform(0.3, 1.5), tuple(rng.uniform(0.05, 0.6, 2)), GREY, rng.normal(size=3)
            ),
            hull(rng.normal(size=(9, 3)) * 0.5 + place, GREY),
        ]
    return parts


@pytest.mark.skipif(kernels.compiled() is None, reason="numba is not installed")
@pytest.mark.parametrize("is_parallel", [False, True])
def test_machine_code_and_numpy_see_the_same(is_parallel):
    parts = strewn_parts(1)
    lattice = (
        Lattice(np.linspace(-3, 3, 120), np.linspace(-2, 2, 90), is_parallel=True) if is_parallel else LATTICE
    )
    owners = np.repeat(np.arange(40), 4)
    fast, alone = cast_parts(parts, owners, lattice)
    plain, plain_alone = cast_parts(parts, owners, lattice, is_compiled=False)
    differs = fast.part != plain.part
    assert differs.mean() < 1e-3  # an edge that passes exactly through a pixel's middle may fall either way
    both = np.isfinite(fast.depth) & ~differs
    assert both.mean() > 0.3
    assert np.allclose(fast.depth[both], plain.depth[both], rtol=1e-5)
    assert np.abs(alone - plain_alone).max() <= 4


def test_a_ball_covers_what_a_ball_covers():
    """A sphere of radius r at distance d on the axis: a disc of tangent r / √(d² − r²)."""
    seen = rasterise([ball((0, 0, 5), (1, 1, 1), GREY)], LATTICE)
    radius_px = CAMERA.fx_px / np.sqrt(24)
    assert (seen.part == 0).sum() == pytest.approx(np.pi * radius_px**2, rel=0.01)
    assert seen.depth.min() == pytest.approx(4.0, abs=1e-3)


def test_a_face_lies_where_it_lies():
    seen = rasterise([box((0, 0, 6), (2, 1, 2), GREY)], LATTICE)
    columns = np.flatnonzero((seen.part == 0).any(axis=0))
    assert columns[0] == pytest.approx(CAMERA.cx_px - CAMERA.fx_px / 5, abs=1)
    assert columns[-1] == pytest.approx(CAMERA.cx_px + CAMERA.fx_px / 5, abs=1)
    assert np.allclose(seen.depth[seen.part == 0], 5.0)


def test_a_cone_stands_between_its_rims():
    seen = rasterise([cone((0, 1, 5), 2.0, (0.5, 0.5), GREY, (0, -1, 0))], LATTICE)
    rows, columns = np.nonzero(seen.part == 0)
    assert np.ptp(columns) == pytest.approx(2 * CAMERA.fx_px * 0.5 / np.sqrt(25 - 0.25), abs=2)
    assert rows.max() == pytest.approx(CAMERA.cy_px + CAMERA.fy_px / 4.5, abs=2)
    assert rows.min() == pytest.approx(CAMERA.cy_px - CAMERA.fy_px / 4.5, abs=2)


def test_what_reaches_behind_the_camera_is_clipped_not_lost():
    floor = box((0, 1.5, 0), (4, 0.1, 60), GREY)
    seen = rasterise([floor], LATTICE)
    assert (seen.part[-1] == 0).all()
    assert (seen.part[: CAMERA.height_px // 2] == -1).all()
    assert rasterise([box((0, 0, -5), (1, 1, 1), GREY)], LATTICE).part.max() == -1


def test_half_hidden_is_half_hidden():
    back, front = box((0, 0, 8), (2, 2, 0.01), GREY), box((1.0, 0, 7.9), (2, 4, 0.01), GREY)
    shares, alone = visible_shares([[back], [front]], LATTICE)
    assert shares[0] == pytest.approx(0.5, abs=0.04)
    assert shares[1] == 1.0
    assert alone[0] == pytest.approx((CAMERA.fx_px * 2 / 7.995) ** 2, rel=0.05)
    gone, _ = visible_shares([[back], [box((0, 0, -3), (1, 1, 1), GREY)]], LATTICE)
    assert gone.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("taper", [1.0, 0.6])
def test_a_prism_is_the_hull_of_its_corners(taper):
    profile = [(-2, 0.3), (2, 0.3), (2, 0.9), (0.5, 1.5), (-1.5, 1.5)]
    solid = prism(profile, (-0.8, 0.8), GREY, taper=taper)
    other = ConvexHull(solid.points)
    rng = np.random.default_rng(0)
    tries = rng.uniform([-2.5, -1, 0], [2.5, 1, 2], (4000, 3))
    inside = (tries @ solid.normals.T <= solid.offsets + 1e-9).all(axis=1)
    assert (inside == (tries @ other.equations[:, :3].T <= -other.equations[:, 3] + 1e-9).all(axis=1)).all()
    assert 0.1 < inside.mean() < 0.9


def test_the_extent_of_round_parts_is_exact():
    low, high = extent([ball((1, 2, 3), (1, 2, 0.5), GREY, turn_z(90))])
    assert np.allclose([low, high], [[-1, 1, 2.5], [3, 3, 3.5]])
    low, high = extent([cone((0, 0, 0), 2.0, (1.0, 0.5), GREY, (0, 1, 0))])
    assert np.allclose([low, high], [[-1, 0, -1], [1, 2, 1]])


def test_a_part_keeps_its_shape_when_it_moves():
    motion = SE3.from_quaternion((0.8, 0.1, 0.5, -0.2), (1, 2, 9))
    for part in strewn_parts(3)[:8]:
        moved = part.placed(motion.rotation, motion.translation_m)
        assert np.allclose(moved.points, motion.apply(part.points))
        if part.shape == "convex":
            assert np.allclose(
                moved.points @ moved.normals.T - moved.offsets, part.points @ part.normals.T - part.offsets
            )


def test_sunlight_falls_where_nothing_stands_before_it():
    """A board over a white floor: dark under it, light beside it; and the near side of a box faces away from the sun."""
    floor = Part(
        "convex", Material((0.8, 0.8, 0.8)), np.zeros((0, 3)), np.array([[0, 0, 1.0]]), np.array([0.0])
    )
    board = box((6, 0, 1.6), (3, 3, 0.05), GREY)
    light = Light((0, 0, 1), sky=(0.2, 0.2, 0.2), ground=(0.1, 0.1, 0.1))
    eye = SE3(LEVEL.rotation, np.array([0, 0, 1.0]))
    lit = render([Solid((floor,), SE3.identity(), casts_shadow=False)], CAMERA, eye, light).picture.astype(
        int
    )
    both = render(
        [Solid((floor,), SE3.identity(), casts_shadow=False), Solid((board,), SE3.identity(), 1)],
        CAMERA,
        eye,
        light,
    )
    row, column = (int(v) for v in (CAMERA.cy_px + CAMERA.fy_px / 6, CAMERA.cx_px))  # the floor 6 m ahead
    assert both.instance[row, column] == 0
    assert both.picture[row, column].max() < lit[row, column].min() - 60
    aside = int(CAMERA.cx_px + CAMERA.fx_px * 2.5 / 6)
    assert np.abs(both.picture[row, aside].astype(int) - lit[row, aside]).max() <= 1
    assert both.depth_m[row, column] == pytest.approx(6, abs=0.15)
    assert (both.instance == 1).any()


def test_a_picture_is_smooth_at_its_edges():
    board = [
        Solid((box((6, 0, 0), (0.1, 2, 2), Material((0, 0, 0)), turn_z(0) @ np.eye(3)),), SE3.identity(), 1)
    ]
    tilted = SE3(LEVEL.rotation @ np.array([[0.96, -0.28, 0], [0.28, 0.96, 0], [0, 0, 1]]), np.zeros(3))
    levels = [
        len(np.unique(render(board, CAMERA, tilted, Light((0, 0, 1)), samples=n).picture[60:120, 90:150, 0]))
        for n in (1, 2)
    ]
    assert levels[1] > levels[0]


def test_noise_is_the_same_by_both_roads():
    points = np.random.default_rng(0).uniform(-9, 9, (500, 3))
    assert np.allclose(noise(points, 0.3, 3), noise(points, 0.3, 3, is_compiled=False), atol=1e-5)


@pytest.mark.parametrize("name", TEXTURES)
def test_textures_stay_between_their_two_colours(name):
    rng = np.random.default_rng(1)
    points = rng.uniform(-3, 3, (2000, 3))
    normals = np.eye(3)[rng.integers(0, 3, 2000)]
    colours = paint(Material((0.2, 0.2, 0.2), name, 0.2, (0.6, 0.7, 0.8)), points, normals)
    assert colours.shape == (2000, 3)
    assert colours.min() >= 0.2 - 1e-9
    assert (colours <= np.array([0.6, 0.7, 0.8]) + 1e-9).all()
    assert np.ptp(colours[:, 2]) > 0.05


@pytest.mark.parametrize("category", sorted(CATALOGUE))
def test_everything_stands_on_the_ground_in_a_plausible_size(category):
    for seed in range(3):
        parts = CATALOGUE[category](np.random.default_rng(seed))
        low, high = extent(parts)
        assert low[2] == pytest.approx(0, abs=0.02)
        size = high - low
        assert (size > 0.03).all()
        assert size.max() < 13
