import math
import pickle

import compass_plain as plain
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from theodolite.attribution import RelevanceMap
from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.formulas.dae import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.projection import (
    PAPER,
    SOUND,
    ProjectionOptions,
    TokenMap,
    project,
    project_batch,
)

GRID = TokenGrid.regular((230, 170), (17, 23))
A, B = Box(40, 50, 81, 92), Box(150, 20, 200, 77)
DISTANCE = math.dist(A.centre_px, B.centre_px)
SIGMA = {"paper": 1.2 * DISTANCE, "diagonal": 0.35 * math.hypot(230, 170), "none": None}
quick = settings(deadline=None, max_examples=60)


def random_values(seed, *shape, grid=GRID):
    return np.random.default_rng(seed).random((*shape, grid.n_tokens))


def moved_grid(seed, n=80, size=200):
    """Tokens anywhere, none on an axis or a diagonal through the middle."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, size - 12, (n, 2))
    rects = np.concatenate([corners, corners + rng.uniform(4, 12, (n, 2))], axis=1)
    rects = np.concatenate([rects, [[71, 76, 80, 87], [121, 32, 131, 41]]])  # some of A and B is seen
    return TokenGrid(rects, size, size, np.zeros(n + 2, np.int64))


@pytest.mark.parametrize("sectors", [3, 4, 5, 8, 12, 36])
@pytest.mark.parametrize("bins", ["edge", "centre"])
@pytest.mark.parametrize("weight", ["paper", "diagonal", "none"])
@pytest.mark.parametrize("leave_out", [False, True])
def test_equals_the_plain_loop(sectors, bins, weight, leave_out):
    options = ProjectionOptions(sectors, bins, weight, leave_out_reference=leave_out)
    values = random_values(sectors)
    found = project(TokenMap(values, GRID), reference=A, target=B, options=options)
    expected = plain.compass(
        values, GRID.rects_px, A.centre_px, SIGMA[weight], sectors, bins, A if leave_out else None
    )
    assert found.distribution == pytest.approx(np.array(expected), abs=1e-12)
    middle = [(k + (0.5 if bins == "edge" else 0)) * 360 / sectors for k in range(sectors)]
    assert found.centres_deg == pytest.approx(np.array(middle))
    mean, length = plain.mean_direction(expected, middle)
    assert float(found.mean_deg()) == pytest.approx(mean)
    assert float(found.concentration()) == pytest.approx(length)
    peak = middle[expected.index(max(expected))]
    true = math.degrees(math.atan2(-(B.centre_px[1] - A.centre_px[1]), B.centre_px[0] - A.centre_px[0])) % 360
    assert float(found.peak_deg()) == pytest.approx(peak)
    assert float(found.error_deg()) == pytest.approx(plain.error(peak, true))
    assert float(found.error_deg("mean")) == pytest.approx(plain.error(mean, true))


@pytest.mark.parametrize(
    ("sectors", "bins"), [(3, "centre"), (5, "edge"), (8, "edge"), (8, "centre"), (4, "edge")]
)
@pytest.mark.parametrize("leave_out", [False, True])
def test_tokens_by_area_equal_tokens_of_many_points(sectors, bins, leave_out):
    grid = TokenGrid.regular((60, 50), (5, 6))
    a, b = Box(11, 17, 37, 34), Box(41, 2, 58, 19)
    values = random_values(1, grid=grid)
    options = ProjectionOptions(sectors, bins, "diagonal", leave_out_reference=leave_out, tokens="area")
    found = project(TokenMap(values, grid), reference=a, target=b, options=options)
    expected = plain.compass_by_area(
        values, grid.rects_px, a.centre_px, 0.35 * math.hypot(60, 50), sectors, bins, a if leave_out else None
    )
    assert found.distribution == pytest.approx(np.array(expected), abs=2e-3)
    assert float(found.distribution.sum()) == pytest.approx(1)


def test_leaving_out_the_reference_leaves_out_its_box_exactly():
    """By area, what is left does not change when relevance inside the box does, if tokens follow the box's border."""
    grid = TokenGrid.regular((80, 80), (8, 8))
    a, b = Box(20, 20, 40, 40), Box(60, 10, 75, 30)
    inside = a.covers(grid.rects_px) > 0
    values = random_values(3, grid=grid)
    louder = np.where(inside, values * 50, values)
    one, other = (project(TokenMap(v, grid), reference=a, target=b, options=SOUND) for v in (values, louder))
    assert one.distribution == pytest.approx(other.distribution)
    assert float(one.used_share) > 4 * float(other.used_share)


def test_a_batch_equals_its_samples():
    """Ragged grids, several maps and several centres at once."""
    rng = np.random.default_rng(5)
    grids = [TokenGrid.regular((60, 40), shape) for shape in ((4, 6), (9, 3), (1, 7))]
    maps = [TokenMap(rng.random((2, 3, grid.n_tokens)), grid) for grid in grids]
    references = [Box(3, 4, 20, 30), Box(30, 2, 41, 22), Box(8, 8, 30, 30)]
    targets = [Box(40, 10, 60, 35), Box(1, 20, 20, 39), Box(25, 20, 60, 40)]
    centres = rng.uniform(0, 40, (3, 5, 2))
    for options in (PAPER, SOUND):
        batch = project_batch(
            maps, references=references, targets=targets, centres_px=centres, options=options
        )
        assert batch.shape == (3, 5, 2, 3)
        for s, (each, a, b) in enumerate(zip(maps, references, targets, strict=True)):
            for c in range(5):
                alone = project(
                    each, reference=a, target=b, centres_px=centres[s, c : c + 1], options=options
                )
                assert alone.shape == (1, 2, 3)
                assert alone.distribution[0] == pytest.approx(batch.distribution[s, c], abs=1e-12)
                assert alone.error_deg()[0].tolist() == batch[s, c].error_deg().tolist()
                assert alone.used_share[0] == pytest.approx(batch.used_share[s, c])


def test_many_centres_are_worked_on_in_blocks():
    values, centres = random_values(0), np.random.default_rng(1).uniform(0, 170, (1, 900, 2))
    batch = project_batch([TokenMap(values, GRID)], references=[A], targets=[B], centres_px=centres)
    for c in (0, 334, 335, 899):
        expected = plain.compass(values, GRID.rects_px, centres[0, c], SIGMA["paper"])
        assert batch.distribution[0, c] == pytest.approx(np.array(expected), abs=1e-12)


def test_padded_arrays_do_as_well():
    values = random_values(2)
    padded = np.concatenate([values, np.full(9, 7.0)])
    rects = np.concatenate([GRID.rects_px, np.full((9, 4), np.nan)])
    part = np.concatenate([GRID.part, np.full(9, -1)])
    grid = TokenGrid(rects, 230, 170, part)
    for options in (PAPER, SOUND, ProjectionOptions(by_area=True)):
        one = project(TokenMap(values, GRID), reference=A, target=B, options=options)
        other = project(TokenMap(padded, grid), reference=A, target=B, options=options)
        assert one.distribution == pytest.approx(other.distribution)
        assert float(other.used_share) < float(one.used_share)


def test_an_attribution_s_own_map_is_projected():
    values = random_values(4).astype(np.float32)
    own = RelevanceMap("chefer", "gt", GRID, values)
    assert project(own, reference=A, target=B).distribution == pytest.approx(
        project(TokenMap(values, GRID), reference=A, target=B).distribution
    )


def test_other_centres_keep_the_truth_and_the_width_of_the_weight():
    values = random_values(6)
    found = project(TokenMap(values, GRID), reference=A, target=B, centres_px=[A.centre_px, B.centre_px])
    assert found.true_deg[0] == found.true_deg[1]
    expected = plain.compass(values, GRID.rects_px, B.centre_px, SIGMA["paper"])
    assert found.distribution[1] == pytest.approx(np.array(expected))


def test_area_weighs_tokens_of_different_size():
    """A thumbnail's token that covers four tokens of a tile counts four times as much."""
    rects = np.array([[0, 0, 10, 10], [10, 0, 20, 10], [0, 10, 20, 30]], float)
    grid = TokenGrid(rects, 20, 30, np.array([0, 0, 1]))
    a = Box(9, 4, 12, 14)
    plain_options = ProjectionOptions(4, weight="none")
    found = [
        project(TokenMap(np.ones(3), grid), reference=a, options=options).distribution
        for options in (plain_options, ProjectionOptions(4, weight="none", by_area=True))
    ]
    assert sorted(found[0]) == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])
    assert sorted(found[1]) == pytest.approx([0, 1 / 6, 1 / 6, 4 / 6])


@quick
@given(st.integers(0, 10**6), st.sampled_from([4, 8, 12]), st.sampled_from(["edge", "centre"]))
def test_turning_everything_by_a_right_angle_turns_the_compass(seed, sectors, bins):
    grid = moved_grid(seed)
    values = random_values(seed, grid=grid)
    a, b = Box(70, 75, 95, 101), Box(120, 31, 140, 60)
    # (x, y) -> (y, 200 - x) turns a picture of 200 × 200 counter-clockwise.
    x0, y0, x1, y1 = grid.rects_px.T
    turned = TokenGrid(np.stack([y0, 200 - x1, y1, 200 - x0], axis=1), 200, 200, grid.part)
    a2, b2 = (Box(box.y0, 200 - box.x1, box.y1, 200 - box.x0) for box in (a, b))
    for tokens in ("centre", "area"):
        options = ProjectionOptions(sectors, bins, leave_out_reference=True, tokens=tokens)
        one = project(TokenMap(values, grid), reference=a, target=b, options=options)
        other = project(TokenMap(values, turned), reference=a2, target=b2, options=options)
        assert np.roll(one.distribution, sectors // 4) == pytest.approx(other.distribution, abs=1e-9)
        assert float(other.true_deg) == pytest.approx((float(one.true_deg) + 90) % 360)
        assert float(other.error_deg()) == pytest.approx(float(one.error_deg()), abs=1e-6)
        assert float(other.mean_deg()) == pytest.approx((float(one.mean_deg()) + 90) % 360, abs=1e-6)


@quick
@given(st.integers(0, 10**6), st.sampled_from([4, 5, 8]), st.sampled_from(["edge", "centre"]))
def test_mirroring_everything_mirrors_the_compass(seed, sectors, bins):
    grid = moved_grid(seed)
    values = random_values(seed, grid=grid)
    a, b = Box(70, 75, 95, 101), Box(120, 31, 140, 60)
    x0, y0, x1, y1 = grid.rects_px.T
    flipped = TokenGrid(np.stack([x0, 200 - y1, x1, 200 - y0], axis=1), 200, 200, grid.part)
    a2, b2 = (Box(box.x0, 200 - box.y1, box.x1, 200 - box.y0) for box in (a, b))
    for tokens in ("centre", "area"):
        options = ProjectionOptions(sectors, bins, tokens=tokens)
        one = project(TokenMap(values, grid), reference=a, target=b, options=options)
        other = project(TokenMap(values, flipped), reference=a2, target=b2, options=options)
        mirrored = one.distribution[::-1] if bins == "edge" else np.roll(one.distribution[::-1], 1)
        assert mirrored == pytest.approx(other.distribution, abs=1e-9)
        assert float(other.error_deg("mean")) == pytest.approx(float(one.error_deg("mean")), abs=1e-6)


@quick
@given(st.integers(0, 10**6), st.floats(-300, 307), st.sampled_from([PAPER, SOUND]))
@example(1, 307.0, PAPER)
@example(1, 307.0, SOUND)
def test_scaling_relevance_changes_nothing(seed, exponent, options):
    values = random_values(seed)
    scaled = values * 10.0**exponent
    one, other = (
        project(TokenMap(v, GRID), reference=A, target=B, options=options) for v in (values, scaled)
    )
    assert one.distribution == pytest.approx(other.distribution, rel=1e-9)
    assert float(one.used_share) == pytest.approx(float(other.used_share))


@quick
@given(st.integers(0, 10**6), st.sampled_from([PAPER, SOUND]))
def test_the_order_of_tokens_does_not_matter(seed, options):
    order = np.random.default_rng(seed).permutation(GRID.n_tokens)
    shuffled = TokenGrid(GRID.rects_px[order], 230, 170, GRID.part[order])
    values = random_values(seed)
    one = project(TokenMap(values, GRID), reference=A, target=B, options=options)
    other = project(TokenMap(values[order], shuffled), reference=A, target=B, options=options)
    assert one.distribution == pytest.approx(other.distribution)


@quick
@given(st.integers(0, 10**6), st.integers(3, 40), st.sampled_from(["centre", "area"]))
def test_sectors_sum_to_one_and_halves_sum_to_wholes(seed, sectors, tokens):
    values = random_values(seed)
    coarse, fine = (
        project(TokenMap(values, GRID), reference=A, target=B, options=ProjectionOptions(k, tokens=tokens))
        for k in (sectors, 2 * sectors)
    )
    assert float(fine.distribution.sum()) == pytest.approx(1)
    assert (fine.distribution >= 0).all()
    assert fine.distribution.reshape(sectors, 2).sum(axis=1) == pytest.approx(coarse.distribution, abs=1e-9)


def test_a_token_on_an_edge_belongs_to_the_sector_above_it():
    """Tokens five cells away on all eight edges, anywhere in a picture: rounding must not choose the side."""
    steps = np.array([(1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1)]) * 5 * 28.0
    rng = np.random.default_rng(0)
    for centre in rng.uniform(0, 500, (50, 2)):
        middles = centre + steps
        grid = TokenGrid(
            np.concatenate([middles - 14, middles + 14], axis=1), 640, 480, np.zeros(8, np.int64)
        )
        found = project_batch(
            [TokenMap(np.eye(8), grid)],
            references=[Box(0, 0, 640, 480)],
            centres_px=centre[None, None],
            options=ProjectionOptions(weight="none"),
        )
        assert found.kept().peak_deg().tolist() == [22.5 + 45 * k for k in range(8)]


def test_a_token_where_one_stands_has_no_direction():
    grid = TokenGrid.regular((30, 30), (3, 3))
    values = np.ones(9)
    values[4] = 100
    found = project(
        TokenMap(values, grid), reference=Box(10, 10, 20, 20), options=ProjectionOptions(weight="none")
    )
    assert found.distribution == pytest.approx(np.full(8, 1 / 8))
    assert float(found.used_share) == pytest.approx(8 / 108)


@pytest.mark.parametrize(
    ("values", "reference", "target", "reason"),
    [
        (np.zeros(391), A, B, Exclusion.ZERO_MASS),
        (np.full(391, np.nan), A, B, Exclusion.NOT_FINITE),
        (np.where(np.arange(391) == 7, np.inf, 1.0), A, B, Exclusion.NOT_FINITE),
        (np.ones(391), A, A, Exclusion.COINCIDENT),
        (np.ones(391), A, Box(*(np.array([-5, -7, 5, 7]) + [*A.centre_px] * 2)), Exclusion.COINCIDENT),
        (np.ones(391), A, Box(300, 20, 350, 90), Exclusion.TARGET_OUTSIDE),
        (np.ones(391), Box(-50, 10, -1, 20), B, Exclusion.REFERENCE_OUTSIDE),
    ],
)
@pytest.mark.parametrize("options", [PAPER, SOUND])
def test_what_has_no_direction_is_named(values, reference, target, reason, options):
    relevance = TokenMap(values, GRID)
    with pytest.raises(DegenerateError, match=reason.value) as caught:
        project(relevance, reference=reference, target=target, options=options)
    assert caught.value.reason is reason
    batch = project_batch(
        [TokenMap(np.ones(391), GRID), relevance],
        references=[A, reference],
        targets=[B, target],
        options=options,
    )
    assert batch.exclusions() == {reason: 1}
    assert batch.is_kept.tolist() == [True, False]
    assert np.isfinite(batch.distribution).all()
    assert not batch.distribution[1].any()
    with pytest.raises(DegenerateError, match="1 of 2 projections were left out"):
        batch.error_deg()
    assert batch.kept().error_deg().shape == (1,)


def test_an_empty_grid_and_one_without_places_are_named():
    for grid in (
        TokenGrid(np.zeros((0, 4)), 50, 50, np.zeros(0, np.int64)),
        TokenGrid(np.full((3, 4), np.nan), 50, 50, np.full(3, -1)),
        TokenGrid(np.full((3, 4), np.nan), 50, 50, np.zeros(3, np.int64)),
        TokenGrid(np.full((3, 4), 5.0), 50, 50, np.zeros(3, np.int64)),
    ):
        for options in (PAPER, SOUND, ProjectionOptions(by_area=True)):
            with pytest.raises(DegenerateError) as caught:
                project(TokenMap(np.ones(grid.n_tokens), grid), reference=A, target=B, options=options)
            assert caught.value.reason is Exclusion.EMPTY_GRID


def test_a_box_outside_the_crop_is_named():
    """LLaVA's crop: the grid sees the central square alone."""
    grid = TokenGrid.regular((230, 170), (24, 24), (30, 0, 200, 170))
    with pytest.raises(DegenerateError) as caught:
        project(TokenMap(np.ones(576), grid), reference=A, target=Box(205, 20, 228, 60))
    assert caught.value.reason is Exclusion.TARGET_OUTSIDE
    assert project(TokenMap(np.ones(576), grid), reference=A, target=Box(195, 20, 228, 60)).shape == ()


def test_one_map_of_several_may_be_degenerate():
    values = random_values(8, 3)
    values[1] = 0
    values[2, 5] = np.nan
    batch = project_batch([TokenMap(values, GRID)], references=[A], targets=[B])
    assert batch.exclusions() == {Exclusion.ZERO_MASS: 1, Exclusion.NOT_FINITE: 1}
    assert batch.is_kept.tolist() == [[True, False, False]]
    with pytest.raises(DegenerateError, match="1 of 3"):
        project(TokenMap(values, GRID), reference=A, target=B)


def test_all_relevance_on_the_reference_is_no_mass_when_it_is_left_out():
    grid = TokenGrid.regular((80, 80), (8, 8))
    a = Box(20, 20, 40, 40)
    values = (a.covers(grid.rects_px) > 0).astype(float)
    for options in (SOUND, ProjectionOptions(leave_out_reference=True)):
        with pytest.raises(DegenerateError) as caught:
            project(TokenMap(values, grid), reference=a, target=Box(60, 60, 80, 80), options=options)
        assert caught.value.reason is Exclusion.ZERO_MASS


def test_relevance_out_of_the_weight_s_reach_is_no_mass():
    grid = TokenGrid.regular((3000, 10), (1, 300))
    values = np.zeros(300)
    values[-1] = 1
    with pytest.raises(DegenerateError) as caught:
        project(TokenMap(values, grid), reference=Box(0, 0, 10, 10), target=Box(1, 0, 11, 10))
    assert caught.value.reason is Exclusion.ZERO_MASS


def test_negative_relevance_needs_a_policy():
    values = random_values(9) - 0.5
    with pytest.raises(UsageError, match="negative='absolute'"):
        project(TokenMap(values, GRID), reference=A, target=B)
    with pytest.raises(UsageError, match="negative='absolute'"):
        project_batch([TokenMap(values, GRID)], references=[A], targets=[B])
    for policy, prepared in (("absolute", np.abs(values)), ("positive", np.clip(values, 0, None))):
        found = project(
            TokenMap(values, GRID), reference=A, target=B, options=ProjectionOptions(negative=policy)
        )
        expected = project(TokenMap(prepared, GRID), reference=A, target=B)
        assert found.distribution == pytest.approx(expected.distribution)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"references": [A]}, "2 maps, 1 references"),
        ({"targets": [B]}, "1 targets"),
        ({"centres_px": np.zeros((2, 2))}, "centres_px must have shape"),
        ({"centres_px": np.zeros((2, 0, 2))}, "centres_px must have shape"),
        ({"centres_px": np.full((2, 1, 2), np.nan)}, "NaN"),
        ({"maps": []}, "no map"),
        (
            {"maps": [TokenMap(random_values(0), GRID), TokenMap(random_values(0, 2), GRID)]},
            "same leading shape",
        ),
        ({"targets": None}, "needs the target's box"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(change, message):
    call = {"maps": [TokenMap(random_values(0), GRID)] * 2, "references": [A, A], "targets": [B, B], **change}
    with pytest.raises(UsageError, match=message):
        project_batch(call.pop("maps"), **call)


def test_wrong_options_and_values_are_refused():
    for options in ({"sectors": 2}, {"bins": "middle"}, {"weight": "square"}, {"negative": "drop"}):
        with pytest.raises(UsageError):
            ProjectionOptions(**options)
    for options in ({"tokens": "all"}, {"diagonal_share": 0}, {"diagonal_share": math.nan}):
        with pytest.raises(UsageError):
            ProjectionOptions(**options)
    with pytest.raises(UsageError, match="391 tokens"):
        TokenMap(np.ones(390), GRID)


def test_without_a_target_there_is_a_compass_but_no_error():
    found = project(TokenMap(random_values(0), GRID), reference=A, options=SOUND)
    assert 0 <= float(found.peak_deg()) < 360
    with pytest.raises(UsageError, match="needs a truth"):
        found.error_deg()


def test_the_input_is_not_touched():
    values = random_values(0)
    before, rects = values.copy(), GRID.rects_px.copy()
    for options in (PAPER, SOUND, ProjectionOptions(by_area=True, negative="absolute")):
        project(TokenMap(values, GRID), reference=A, target=B, options=options)
    assert np.array_equal(values, before)
    assert np.array_equal(GRID.rects_px, rects)


def test_the_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(DegenerateError(Exclusion.ZERO_MASS, "of 3")))
    assert (error.reason, str(error)) == (Exclusion.ZERO_MASS, f"{Exclusion.ZERO_MASS.value}: of 3")
