"""Controls on stored maps, against plain loops and against maps whose answer is known."""

import math

import compass_plain
import numpy as np
import pytest
from controls_made import DIRECTIONS, GRID, SIZE, box_at, option_maps, sample, scattered, spot
from table_rows import rows_of

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.instruments.compass.experiments.controls.interventions import (
    background_px,
    centre_control,
    draw_centres,
    prompt_direction,
    reference_swap,
)
from theodolite.instruments.compass.experiments.controls.results import (
    COLUMNS,
    PROJECTIONS,
    TESTS,
    ControlBatch,
    ControlScore,
    NothingToScoreError,
    errors_of,
    shared_keys,
)

PAPER, SOUND = PROJECTIONS


def plain_peak(values, rects, centre, sigma):
    shares = compass_plain.compass(values, rects, centre, sigma)
    return 22.5 + 45 * int(np.argmax(shares))


def plain_dae(each, centre, key="chefer@gt"):
    a, b = each.reference.box.centre_px, each.target.box.centre_px
    true = math.degrees(math.atan2(a[1] - b[1], b[0] - a[0]))
    peak = plain_peak(each.maps[key].values, GRID.rects_px, centre, 1.2 * math.dist(a, b))
    return compass_plain.error(peak, true)


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(3)
    return [
        sample(f"p{i}", a, b, {"chefer@gt": rng.random(GRID.n_tokens)}, cluster=f"picture {i // 2}")
        for i, (a, b) in enumerate(scattered(12, seed=1))
    ]


def test_centres_agree_with_plain_loops(noisy):
    found = centre_control(noisy, n_centres=5, seed=7)
    places = draw_centres(noisy, n_centres=5, seed=7)
    errors = np.array(
        [
            [plain_dae(each, centre) for centre in centres]
            for each, centres in zip(noisy, places.places_px, strict=True)
        ]
    )
    true = errors[:, 0]
    clusters = [each.cluster for each in noisy]
    for name in ("true", "random", "background", "target"):
        own = errors[:, places.spans[name]].mean(axis=1)
        row = found.row("chefer@gt", name)
        assert row.estimates["dae"].value == pytest.approx(own.mean())
        assert row.estimates["dae"].n == 6
        hits = (errors[:, places.spans[name]] <= 45 + 1e-9).mean()
        assert row.estimates["edge_accuracy"].value == pytest.approx(hits)
        if name == "true":
            assert not row.tests
            continue
        assert row.estimates["centre_delta"].value == pytest.approx((own - true).mean())
        for test, alternative in (("true_is_better", "greater"), ("two_sided", "two-sided")):
            expected = stats.sign_flip_test(own, true, clusters=clusters, alternative=alternative, seed=7)
            assert row.tests[test].p_value == expected.p_value
    assert "centre_delta" not in found.row("chefer@gt", "other object").estimates
    assert found.row("chefer@gt", "other object").excluded == {
        "no object is annotated besides reference and target": 12
    }


def test_sigma_and_truth_stay_those_of_the_pair_at_the_wrong_object():
    """At B's own centre a σ taken anew would be zero and the compass empty, whose first sector has the error 22.5°."""
    samples = []
    for i, (a, b) in enumerate(scattered(8, seed=2)):
        on_a = spot(*a.centre_px)  # seen from B, all of it lies opposite to the true direction
        samples.append(sample(f"p{i}", a, b, {"chefer@gt": on_a}))
    row = centre_control(samples, n_centres=2).row("chefer@gt", "target")
    assert row.estimates["dae"].value > 150
    assert row.estimates["dae"].n == 8
    assert not row.excluded


def test_even_a_blind_map_prefers_the_true_centre_but_not_beyond_the_layout():
    """A picture's mass lies where the target lies, seen from its reference: Δ alone proves nothing."""
    rng = np.random.default_rng(0)
    knows, blind = [], []
    for i, (a, b) in enumerate(scattered(60, seed=3)):
        knows.append(sample(f"p{i}", a, b, {"chefer@gt": spot(*b.centre_px)}))
        anywhere = rng.uniform((0, 0), SIZE)
        blind.append(sample(f"p{i}", a, b, {"chefer@gt": spot(*anywhere)}))
    found = centre_control(blind, n_centres=20)
    same = found.row("chefer@gt", "random")
    assert same.estimates["centre_delta"].low > 10
    assert same.tests["true_is_better"].p_value < 0.001
    uniform = found.row("uniform-map@192", "random")
    assert uniform.estimates["centre_delta"].low > 10
    assert same.estimates["centre_delta_excess"].high < 10
    assert same.estimates["centre_delta_excess"].value == pytest.approx(
        same.estimates["centre_delta"].value - uniform.estimates["centre_delta"].value
    )
    assert "centre_delta_excess" not in uniform.estimates
    better = centre_control(knows, n_centres=20).row("chefer@gt", "true")
    assert better.estimates["excess_dae"].high < -10


def test_background_lies_outside_all_boxes():
    others = (Box(0, 0, 320, 100), Box(-5, 90, 40, 500))
    each = sample(
        "p", box_at(100, 150), box_at(250, 180), {"chefer@gt": np.ones(GRID.n_tokens)}, others=others
    )
    free = background_px(each)
    boxes = (each.reference.box, each.target.box, *others)
    inside = [any(b.x0 <= x < b.x1 and b.y0 <= y < b.y1 for b in boxes) for x, y in free]
    assert not any(inside)
    count = sum(
        not any(b.x0 <= x + 0.5 < b.x1 and b.y0 <= y + 0.5 < b.y1 for b in boxes)
        for x in range(SIZE[0])
        for y in range(SIZE[1])
    )
    assert len(free) == count > 0
    centres = draw_centres([each], n_centres=50, seed=0)
    drawn = centres.places_px[0, centres.spans["background"]]
    assert {tuple(place) for place in drawn} <= {tuple(place) for place in free}
    assert tuple(centres.places_px[0, centres.spans["other object"]][0]) in {b.centre_px for b in others}


def test_a_picture_without_background_is_counted():
    a, b = box_at(100, 120), box_at(220, 120)
    whole = (Box(0, 0, *SIZE),)
    samples = [
        sample("x", a, b, {"chefer@gt": spot(220, 120)}, others=whole),
        sample("y", a, b, {"chefer@gt": spot(220, 120)}),
        sample("z", a, b, {"chefer@gt": spot(220, 120)}),
    ]
    row = centre_control(samples, n_centres=3).row("chefer@gt", "background")
    assert row.estimates["dae"].n_items == 2
    assert row.excluded == {"the boxes cover the whole picture: there is no background": 1}


def test_a_samples_centres_do_not_depend_on_its_neighbours(noisy):
    alone = draw_centres(noisy[4:5], n_centres=6, seed=1)
    among = draw_centres(noisy, n_centres=6, seed=1)
    np.testing.assert_array_equal(alone.places_px[0], among.places_px[4])
    assert not np.array_equal(among.places_px[4], draw_centres(noisy, n_centres=6, seed=2).places_px[4])


def test_zero_relevance_is_counted_not_guessed():
    a, b = box_at(100, 120), box_at(220, 120)
    samples = [sample(f"p{i}", a, b, {"chefer@gt": spot(220, 120)}) for i in range(3)]
    samples.append(sample("dead", a, b, {"chefer@gt": np.zeros(GRID.n_tokens)}))
    row = centre_control(samples, n_centres=4).row("chefer@gt", "random")
    assert row.estimates["dae"].n == 3
    assert row.excluded == {"no relevance is left in any sector": 4}


def swapped_groups(seed=0):
    """Two targets, each asked about from three references of its picture; three pictures more of one reference."""
    rng = np.random.default_rng(seed)
    samples = []
    for g in range(6):
        target = box_at(160, 120)
        for r in range(3):
            turn = rng.uniform(0, 2 * np.pi)
            reference = box_at(160 + 70 * np.cos(turn), 120 + 70 * np.sin(turn))
            maps = {"chefer@gt": rng.random(GRID.n_tokens)}
            samples.append(sample(f"g{g}-{r}", reference, target, maps, cluster=f"picture {g}"))
    samples.append(sample("alone", box_at(60, 60), box_at(200, 60), {"chefer@gt": np.ones(GRID.n_tokens)}))
    return samples


def test_reference_swap_agrees_with_plain_loops():
    samples = swapped_groups()
    found = reference_swap(samples)

    def shares(relevance_of, seen_from):
        a, b = seen_from.reference.box.centre_px, seen_from.target.box.centre_px
        sigma = 1.2 * math.dist(a, b)
        return compass_plain.compass(relevance_of.maps["chefer@gt"].values, GRID.rects_px, a, sigma)

    expected = {name: ([], []) for name in ("both", "question", "centre")}
    for g in range(6):
        own = samples[3 * g : 3 * g + 3]
        by_name = {name: ([], []) for name in expected}
        for i in own:
            for j in own:
                if i is j:
                    continue
                held = {
                    "both": (shares(i, i), shares(j, j)),
                    "question": (shares(j, j), shares(i, j)),
                    "centre": (shares(i, i), shares(i, j)),
                }
                for name, (p, q) in held.items():
                    by_name[name][0].append(np.argmax(p) != np.argmax(q))
                    by_name[name][1].append(float(stats.jensen_shannon_divergence(p, q)))
        for name, (shift, jsd) in by_name.items():
            expected[name][0].append(np.mean(shift))
            expected[name][1].append(np.mean(jsd))
    for name, (shift, jsd) in expected.items():
        row = found.row("chefer@gt", name)
        assert row.estimates["peak_shift"].value == pytest.approx(np.mean(shift))
        assert row.estimates["divergence"].value == pytest.approx(np.mean(jsd))
        assert row.estimates["divergence"].n == 6
    assert "1 of 19 samples have no partner." in found.notes


def test_reference_swap_knows_what_changed():
    found = reference_swap(swapped_groups(1))
    for method in ("uniform-map@192", "box-only@192"):  # their maps do not depend on the question
        assert found.row(method, "question").estimates["divergence"].value == pytest.approx(0, abs=1e-12)
        assert found.row(method, "question").estimates["peak_shift"].value == 0
    assert found.row("box-only@192", "both").estimates["tracking"].value < 30
    assert found.row("geometry-oracle", "both").estimates["tracking"].value < 23
    assert found.row("random-sector", "both").estimates["tracking"].value > 60
    assert found.row("random-sector", "both").estimates["divergence"].value == pytest.approx(
        found.row("random-sector", "both").estimates["peak_shift"].value
    )


def test_reference_swap_needs_two_references():
    a, b = box_at(100, 120), box_at(220, 120)
    with pytest.raises(NothingToScoreError, match="nothing to swap"):
        reference_swap([sample(f"p{i}", a, b, {"chefer@gt": spot(220, 120)}) for i in range(3)])


def probes(follows, n=10):
    """Samples with a map per option: a spot in the probed direction, in the opposite one, or always at the same place."""
    samples = []
    for i, (a, b) in enumerate(scattered(n, seed=5)):
        x, y = a.centre_px
        places = {
            "left": (x - 30, y - 4),
            "right": (x + 30, y + 4),
            "above": (x + 4, y - 30),
            "below": (x - 4, y + 30),
        }
        opposite = {"left": "right", "right": "left", "above": "below", "below": "above"}
        where = {"yes": lambda d: d, "no": lambda _: "left", "against": opposite.__getitem__}[follows]
        maps = option_maps("chefer", [spot(*places[where(d)], sigma=8) for d in DIRECTIONS])
        samples.append(sample(f"p{i}", a, b, {**maps, "attention-rollout@": np.ones(GRID.n_tokens)}))
    return samples


@pytest.mark.parametrize(("follows", "tracking"), [("yes", 1.0), ("no", 0.25), ("against", 0.0)])
def test_prompt_tracking_of_known_maps(follows, tracking):
    found = prompt_direction(probes(follows))
    for projection in ("paper", "sound"):
        row = found.row("chefer", "probes", projection)
        assert row.estimates["prompt_tracking"].value == pytest.approx(tracking)
        divergence = row.estimates["opposite_divergence"].value
        assert divergence == pytest.approx(0) if follows == "no" else divergence > 0.8
        assert (row.tests["over_chance"].p_value < 0.01) == (follows == "yes")
    assert "Without a target to change, so not probed: attention-rollout." in found.notes
    assert "10 samples, 40 probes; chance is exactly 1 in 4." in found.notes


def test_a_map_that_ignores_the_probe_is_right_for_one_in_four_whatever_it_is():
    rng = np.random.default_rng(0)
    samples = [
        sample(f"p{i}", a, b, option_maps("chefer", [rng.random(GRID.n_tokens)] * 4))
        for i, (a, b) in enumerate(scattered(9, seed=6))
    ]
    assert prompt_direction(samples).row("chefer", "probes").estimates["prompt_tracking"].value == 0.25


def test_opposite_probes_are_held_against_each_other_and_not_neighbours():
    samples = []
    for i, (a, b) in enumerate(scattered(5, seed=8)):
        x, y = a.centre_px
        level, upright = spot(x + 30, y + 4, sigma=8), spot(x + 4, y - 30, sigma=8)
        samples.append(sample(f"p{i}", a, b, option_maps("chefer", [level, level, upright, upright])))
    row = prompt_direction(samples).row("chefer", "probes")
    assert row.estimates["opposite_divergence"].value == pytest.approx(0, abs=1e-12)


def test_gt_and_pred_are_found_among_the_options():
    a, b = box_at(100, 120), box_at(220, 120)  # right: option 1
    maps = option_maps("chefer", [np.full(GRID.n_tokens, float(i + 1)) for i in range(4)])
    each = sample("p", a, b, maps, predicted=3)
    assert each.maps["chefer@gt"].values[0] == 2
    assert each.maps["chefer@pred"].values[0] == 4
    assert "chefer@" not in each.maps
    assert shared_keys([each]) == ("chefer@gt", "chefer@pred")


def test_methods_on_grids_of_their_own_keep_their_names(noisy):
    """Maps on another grid are projected apart; the columns must still be those of their names."""
    from theodolite.attribution import RelevanceMap
    from theodolite.geometry import TokenGrid

    fine = TokenGrid.regular(SIZE, (24, 32))
    samples = []
    for each in noisy[:4]:
        on_fine = RelevanceMap("gradcam", "gt", fine, spot(*each.target.box.centre_px, grid=fine))
        maps = {
            "attention-rollout@": np.ones(GRID.n_tokens),
            "gradcam@gt": on_fine,
            "chefer@gt": spot(*each.reference.box.centre_px),
        }
        samples.append(sample(each.id, each.reference.box, each.target.box, maps))
    batch = ControlBatch(samples, shared_keys(samples), seed=0)
    for projection in PROJECTIONS:
        together = batch.over_draws(errors_of(batch.compass(projection), projection))
        for key in batch.method_keys:
            alone = ControlBatch(samples, [key], seed=0)
            assert set(alone.keys) < set(batch.keys)
            apart = alone.over_draws(errors_of(alone.compass(projection), projection))
            for each in alone.keys:
                np.testing.assert_allclose(
                    together[:, batch.keys.index(each)], apart[:, alone.keys.index(each)]
                )
        assert together[:, batch.keys.index("gradcam@gt")].max() < 30
        assert together[:, batch.keys.index("box-only@768")].max() < 30
    assert [batch.keys[batch.uniform_of(key)] for key in ("gradcam@gt", "chefer@gt")] == [
        "uniform-map@768",
        "uniform-map@192",
    ]


def test_unknown_methods_and_missing_maps_are_refused(noisy):
    with pytest.raises(UsageError, match="no maps of 'chafer'; it has chefer"):
        centre_control(noisy, methods=["chafer"])
    with pytest.raises(UsageError, match="at least 1"):
        centre_control(noisy, n_centres=0)
    with pytest.raises(NothingToScoreError, match="option:0,option:1,option:2,option:3"):
        prompt_direction(noisy)


def test_every_number_and_test_has_a_column(noisy):
    for found in (
        centre_control(noisy, n_centres=2),
        reference_swap(swapped_groups()),
        prompt_direction(probes("yes")),
    ):
        for row in found.rows:
            assert set(row.estimates) <= set(COLUMNS)
            assert set(row.tests) <= set(TESTS)
            assert row.projection in {"paper", "sound"}


def test_a_control_is_a_table_for_each_projection(noisy):
    score = centre_control(noisy, n_centres=2, seed=0)
    paper, sound = score.tables(("paper", "sound"), model="hf:tiny")
    assert (paper.name, sound.name) == ("compass.control_centres_paper", "compass.control_centres_sound")
    wanted = score.row("chefer@gt", "random", "sound")
    (row,) = [row for row in rows_of(sound) if (row.method, row.condition) == ("chefer@gt", "random")]
    assert row.centre_delta == wanted.estimates["centre_delta"]
    assert row.p_two_sided == wanted.tests["two_sided"].p_value
    assert (row.clusters, row["items"], row.excluded) == (6, 12, 0)
    assert not paper.notes
    assert (
        "Left out in 8 rows, up to 12 each: no object is annotated besides reference and target."
        in sound.notes
    )
    assert score.tables(("sound",), model="") == [sound]


def test_the_papers_numbers_stand_beside_the_same_model_only(noisy):
    def reported(score, model):
        return [note for note in score.tables(("paper",), model=model)[0].notes if "reported" in note]

    score = centre_control(noisy, n_centres=2, seed=0)
    found = reported(score, "hf:Qwen/Qwen2-VL-7B-Instruct")
    assert len(found) == 8
    assert found[1].startswith("reported: random: DAE 53.6°, Δ centre −1.9° (CREG, Qwen2-VL-7B")
    for other in ("hf:tiny", "hf:llava-1.5-7b-hf", "hf:microsoft/Phi-3.5-vision-instruct"):
        assert not reported(score, other)
    moved = ControlScore("relocation", "?", score.rows)
    assert len(reported(moved, "hf:microsoft/Phi-3.5-vision-instruct")) == 2
    assert len(reported(moved, "hf:Qwen/Qwen2-VL-7B-Instruct")) == 3
