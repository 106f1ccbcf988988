"""What needs no model, on hand-made boxes and on real pictures."""

import numpy as np
import pytest

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid
from theodolite.geometry.directions import CARDINAL
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.formulas.baselines import (
    BOX_ONLY,
    DRAWS,
    RANDOM_MAP,
    UNIFORM_MAP,
    GridMark,
    baseline_maps,
    box_only_map,
    excess_over_uniform,
    geometry_oracle,
    name_grids,
    random_sector,
    uniform_compass,
    uniform_map,
)
from theodolite.instruments.compass.formulas.dae import DegenerateError, dae, edge_hit
from theodolite.instruments.compass.formulas.projection import (
    PAPER,
    SOUND,
    ProjectionOptions,
    TokenMap,
    project_batch,
)

A, B = Box(10, 10, 20, 20), Box(60, 30, 90, 50)


@pytest.fixture(scope="module")
def real(shared_data):
    """The 178 pairs with the grid that Qwen2-VL gives each picture: one token for about 28 × 28 pixels."""
    pairs = coco_pairs(
        shared_data / "coco_tiny_val/instances.json", shared_data / "coco_tiny_val/images"
    ).pairs
    return Real(pairs)


class Real:
    def __init__(self, pairs):
        self.pairs = pairs
        self.references = [pair.reference.box for pair in pairs]
        self.targets = [pair.target.box for pair in pairs]
        self.pictures = [pair.picture.digest for pair in pairs]
        self.grids = [self.grid(*pair.size_px) for pair in pairs]

    @staticmethod
    def grid(width, height):
        return TokenGrid.regular((width, height), (round(height / 28), round(width / 28)))

    def project(self, maps, options=PAPER):
        return project_batch(maps, references=self.references, targets=self.targets, options=options)

    def uniform(self, options=PAPER, grids=None):
        return uniform_compass(
            grids or self.grids, references=self.references, targets=self.targets, options=options
        )

    def estimates(self, compass):
        """DAE and EA with intervals clustered by picture."""
        error = stats.bootstrap(compass.error_deg(), clusters=self.pictures, seed=0)
        hits = edge_hit(compass.error_deg()).astype(float)
        return error, stats.clustered_mean(hits, self.pictures)


def test_the_oracle_knows_and_passes_no_bins(real):
    peaks = geometry_oracle(real.references, real.targets)
    errors = dae(peaks, [pair.true_deg for pair in real.pairs])
    assert errors.max() == 0
    assert [CARDINAL.nearest(peak).name for peak in peaks] == [pair.direction for pair in real.pairs]


def test_box_only_on_real_pictures(real):
    compass = real.project([box_only_map(g, b) for g, b in zip(real.grids, real.targets, strict=True)])
    error, hits = real.estimates(compass)
    assert error.n == 35
    assert error.n_items == 178
    assert error.value == pytest.approx(11.7, abs=0.1)
    assert error.low < 12 < error.high
    assert hits.value == 1
    assert compass.exclusions() == {}


@pytest.mark.parametrize("options", [PAPER, SOUND])
def test_a_map_that_knows_nothing_scores_well_on_real_pictures(real, options):
    """About 42° and .66: level with the best neural row of the paper."""
    drawn = [
        TokenMap(baseline_maps(grid, B, seed=[0, i], draws=1)[RANDOM_MAP].values[0], grid)
        for i, grid in enumerate(real.grids)
    ]
    for compass in (real.uniform(options), real.project(drawn, options)):
        error, hits = real.estimates(compass)
        assert error.low < 42 < error.high
        assert hits.low < 0.66 < hits.high
        assert error.value == pytest.approx(42, abs=3)
        assert hits.value == pytest.approx(0.66, abs=0.04)


def test_random_sectors_are_at_ninety_degrees(real):
    seeds = [[0, i] for i in range(len(real.pairs))]
    drawn = random_sector(real.references, real.targets, seeds=seeds)
    assert drawn.shape == (len(real.pairs), DRAWS)
    assert drawn.error_deg().mean() == pytest.approx(90, abs=1)
    assert edge_hit(drawn.error_deg()).mean() == pytest.approx(0.25, abs=0.01)
    error, hit = real.estimates(drawn[:, 0])
    assert error.low < 90 < error.high
    assert hit.low < 0.25 < hit.high


def test_by_area_the_grid_does_not_matter_to_the_uniform_map(real):
    coarse = [TokenGrid.regular((grid.width_px, grid.height_px), (8, 8)) for grid in real.grids]
    by_centre = ProjectionOptions(weight="none")
    by_area = ProjectionOptions(weight="none", tokens="area")
    same = real.uniform(by_area).distribution - real.uniform(by_area, coarse).distribution
    other = real.uniform(by_centre).distribution - real.uniform(by_centre, coarse).distribution
    assert np.abs(same).max() < 1e-9
    assert np.abs(other).max() > 0.05


def test_by_centre_what_knows_nothing_depends_on_the_grid(real):
    """So a method is compared with the uniform map of its own."""
    found = {}
    for cell in (14, 28, 56, 112):
        grids = [
            TokenGrid.regular(pair.size_px, tuple(round(side / cell) for side in reversed(pair.size_px)))
            for pair in real.pairs
        ]
        found[cell] = real.uniform(PAPER, grids).error_deg().mean()
        assert real.uniform(SOUND, grids).error_deg().mean() == pytest.approx(42.1, abs=0.1)
    assert found == pytest.approx({14: 43.3, 28: 40.9, 56: 48.3, 112: 50.8}, abs=0.1)


def test_labels_tell_box_only_from_uniform(real):
    box = real.project([box_only_map(g, b) for g, b in zip(real.grids, real.targets, strict=True)])
    uniform = real.uniform()
    assert (box.labels() == "aligned").mean() > 0.95
    assert (uniform.labels() == "aligned").mean() < 0.05
    assert np.quantile(uniform.concentration(), 0.95) == pytest.approx(0.68, abs=0.01)
    assert np.quantile(box.concentration(), 0.05) == pytest.approx(0.80, abs=0.01)


def test_excess_is_sample_by_sample(real):
    uniform = real.uniform().error_deg()
    box = real.project(
        [box_only_map(g, b) for g, b in zip(real.grids, real.targets, strict=True)]
    ).error_deg()
    excess = stats.clustered_mean(excess_over_uniform(box, uniform), real.pictures, bounds=(-180, 180))
    assert excess.value == pytest.approx(box.mean() - uniform.mean())
    paired, test = stats.paired_difference(box, uniform, real.pictures, bounds=(0, 180), seed=0)
    assert paired.value == pytest.approx(excess.value)
    assert (paired.high < 0, test.p_value < 0.01) == (True, True)
    assert not excess_over_uniform(uniform, uniform).any()


def test_maps_are_what_they_say():
    grid = TokenGrid.regular((100, 60), (6, 10))
    assert uniform_map(grid).values.tolist() == [100.0] * 60
    box = box_only_map(grid, Box(60, 30, 85, 50)).values
    assert box.sum() * 100 == pytest.approx(25 * 20)
    assert set(box) == {0, 0.5, 1}
    found = baseline_maps(grid, Box(60, 30, 85, 50), seed=[3])
    assert found[UNIFORM_MAP].values.tolist() == [[100.0] * 60]
    assert found[BOX_ONLY].values.tolist() == [box.tolist()]
    drawn = found[RANDOM_MAP].values
    assert drawn.shape == (DRAWS, 60)
    assert DRAWS >= 100
    assert drawn.tolist() == baseline_maps(grid, B, seed=[3])[RANDOM_MAP].values.tolist()
    assert 0 <= drawn.min() < drawn.max() < 1


def test_grids_are_named_by_their_cells_and_told_apart_by_their_places():
    left, right = (TokenGrid.regular((80, 40), (4, 4), (x, 0, x + 40, 40)) for x in (0, 40))
    assert GridMark.of(left) == GridMark.of(TokenGrid.regular((80, 40), (4, 4), (0, 0, 40, 40)))
    here, there = GridMark.of(left), GridMark.of(right)
    names, grids = name_grids([{"a@": here, "b@": there, "c@": here}, {"a@": here, "b@": there}])
    assert names == {"a@": "16", "b@": "16′", "c@": "16"}
    assert grids == {"16": [here, here], "16′": [there, there]}


def test_tokens_without_a_place_and_padding_are_no_part_of_a_uniform_map():
    rects = np.array([[0, 0, 10, 10], [10, 0, 20, 10], [np.nan] * 4])
    grid = TokenGrid(rects, 15, 10, np.array([0, 0, -1]))
    assert uniform_map(grid).values.tolist() == [100, 50, 0]
    assert box_only_map(grid, Box(0, 0, 5, 10)).values.tolist() == [0.5, 0, 0]


def test_a_uniform_compass_is_not_weighted_by_area_twice():
    rects = np.array([[0, 0, 10, 10], [10, 0, 20, 10], [0, 10, 20, 30], [20, 0, 100, 60]], float)
    grid = TokenGrid(rects, 100, 60, np.zeros(4, np.int64))
    one, other = (
        uniform_compass([grid], references=[A], targets=[B], options=ProjectionOptions(by_area=by_area))
        for by_area in (False, True)
    )
    assert one.distribution == pytest.approx(other.distribution)


def test_the_oracle_refuses_what_has_no_direction():
    with pytest.raises(DegenerateError):
        geometry_oracle([A, A], [B, A])
    with pytest.raises(UsageError, match="1 references with 2"):
        geometry_oracle([A], [B, B])
    drawn = random_sector([A] * 4, [B] * 4, seeds=[[i] for i in range(4)])
    assert (drawn.distribution.sum(axis=-1) == 1).all()
