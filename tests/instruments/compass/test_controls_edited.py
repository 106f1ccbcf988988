"""Controls on edited pictures: scores of maps whose answer is known, then whole runs through tiny checkpoints."""

import json
import re
from itertools import combinations

import numpy as np
import pytest
from controls_made import DIRECTIONS, GRID, box_at, sample, scattered, spot
from table_rows import rows_of

from theodolite import stats
from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import write_pairs
from theodolite.instruments.compass.experiments.controls.interventions import (
    score_family,
    score_squares,
    score_swap,
)
from theodolite.instruments.compass.experiments.controls.plan import MEASURED, find_edits, plan_controls
from theodolite.instruments.compass.experiments.controls.results import COLUMNS, TESTS, NothingToScoreError
from theodolite.instruments.compass.experiments.controls.score import (
    CONTROLS,
    controls_tables,
    score_controls,
)
from theodolite.instruments.compass.formulas.projection import project
from theodolite.instruments.compass.measure import TARGETS, AttributionMeasurer, MapOptions, read_samples
from theodolite.instruments.compass.questions import PROMPTS
from theodolite.models import open_model
from theodolite.pairs.pictures.objects import PlacingOptions
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure

STEPS = {"left": (-60, 0), "right": (60, 0), "above": (0, -60), "below": (0, 60)}


def relocated(follows, n=8, *, wrong=0):
    """A stays, B is put around it; the map goes with B, or stays where B was. The first `wrong` pairs are answered wrong."""
    plain, probes = [], []
    for i in range(n):
        a = box_at(150 + 3 * i, 120)
        b = a.moved(58, 8)
        plain.append(sample(f"p{i}", a, b, {"chefer@gt": spot(*b.centre_px)}))
        for probe, step in STEPS.items():
            there = a.moved(*step)
            on = there if follows else b
            predicted = (DIRECTIONS.index(probe) + 1) % 4 if i < wrong else None
            probes.append(
                sample(
                    f"p{i}",
                    a,
                    there,
                    {"chefer@gt": spot(*on.centre_px)},
                    control="relocation",
                    probe=probe,
                    predicted=predicted,
                )
            )
    return plain, probes


def test_a_map_that_goes_with_the_target_is_found_and_one_that_stays_is_not():
    plain, probes = relocated(follows=True, wrong=2)
    found = score_family("relocation", probes, plain)
    for projection in ("paper", "sound"):
        row = found.row("chefer@gt", "probes", projection)
        assert row.estimates["peak_accuracy"].value == 1
        assert row.estimates["peak_accuracy_correct"].n == 6
        assert row.estimates["dae"].value < 23
        assert row.estimates["divergence"].value > 0.5
        assert row.tests["binomial"].p_value < 1e-9
        assert row.tests["over_uniform"].p_value < 0.01
        answers = found.row("the model's answers", "probes", projection).estimates["accuracy"]
        assert answers.value == pytest.approx(0.75)
        # A map that never moves is right for one place of four.
        assert found.row("chefer@gt", "unmoved map", projection).estimates["peak_accuracy"].value == 0.25
        # Standing at B, the spot lies all around.
        assert found.row("chefer@gt", "false reference", projection).estimates["dae"].value > 40
    plain, probes = relocated(follows=False)
    row = score_family("relocation", probes, plain).row("chefer@gt", "probes")
    assert row.estimates["peak_accuracy"].value == 0.25
    assert row.tests["binomial"].p_value > 0.4


def test_divergence_is_the_mean_over_a_pairs_probes():
    rng = np.random.default_rng(0)
    plain, probes = relocated(follows=True, n=3)
    probes = [
        sample(
            each.id,
            each.reference.box,
            each.target.box,
            {"chefer@gt": rng.random(GRID.n_tokens)},
            control="joint-translation",
            probe=str(each.meta["probe"]),
        )
        for each in probes
    ]
    expected = []
    for name in ("p0", "p1", "p2"):
        own = [
            project(each.maps["chefer@gt"], reference=each.reference.box, target=each.target.box).distribution
            for each in probes
            if each.id == name
        ]
        expected.append(np.mean([stats.jensen_shannon_divergence(p, q) for p, q in combinations(own, 2)]))
    row = score_family("joint-translation", probes, plain).row("chefer@gt", "probes")
    assert row.estimates["divergence"].value == pytest.approx(np.mean(expected))
    assert row.estimates["divergence"].n == 3


def test_probes_without_a_plain_picture_are_said():
    plain, probes = relocated(follows=True, n=4)
    found = score_family("fix-b-move-a", probes, plain[:2])
    assert found.row("chefer@gt", "unmoved map").estimates["dae"].n == 2
    assert "unmoved map: 8 probes are left out: the plain picture was not measured." in found.notes
    none = score_family("fix-b-move-a", probes, [])
    assert {row.condition for row in none.rows} == {"probes"}


def swapped(turns, n=10):
    """Roles exchanged: the spot lies on the new target, or stays on the old one."""
    before, after = [], []
    for i, (a, b) in enumerate(scattered(n, seed=4)):
        before.append(sample(f"p{i}", a, b, {"chefer@gt": spot(*b.centre_px)}))
        on = a if turns else b
        after.append(
            sample(f"p{i}", b, a, {"chefer@gt": spot(*on.centre_px)}, control="swap-roles", probe="swapped")
        )
    return before, after


def test_a_map_that_follows_the_roles_reverses():
    before, after = swapped(turns=True)
    found = score_swap("swap-roles", after, before)
    row = found.row("chefer@gt", "re-centred")
    assert row.estimates["reversal"].value == 1
    assert row.estimates["dae"].value < 30
    assert found.row("uniform-map@192", "fixed centre").estimates["divergence"].value == pytest.approx(
        0, abs=1e-12
    )
    assert found.row("uniform-map@192", "fixed centre").estimates["reversal"].value == 0
    assert row.estimates["reversal"].n == row.estimates["reversal"].n_items == 10
    assert "over_uniform" not in found.row("chefer@gt", "fixed centre").tests


def test_a_map_that_stays_does_not_reverse_from_a_fixed_centre():
    before, after = swapped(turns=False)
    row = score_swap("swap-roles", after, before).row("chefer@gt", "fixed centre")
    assert row.estimates["reversal"].value == 0
    assert row.estimates["divergence"].value == pytest.approx(0, abs=1e-9)
    with pytest.raises(NothingToScoreError, match="both plain and swapped"):
        score_swap("swap-roles", after, [])


def test_a_uniform_map_reverses_by_recentring_alone():
    """What the paper reads as role binding: from the other object, the picture's mass lies on the other side."""
    before, after = swapped(turns=False, n=40)
    row = score_swap("swap-roles", after, before).row("uniform-map@192", "re-centred")
    assert row.estimates["reversal"].low > 0.25


def squares(follows, n=32):
    pairs = coloured_squares(n, seed=0).pairs
    found = []
    from theodolite.attribution import RelevanceMap
    from theodolite.geometry import TokenGrid

    grid = TokenGrid.regular(pairs[0].size_px, (16, 16))
    for pair in pairs:
        at = pair.target.box.centre_px if follows else (400, 40)
        values = RelevanceMap("chefer", "gt", grid, spot(*at, sigma=20, grid=grid))
        each = sample(pair.id, pair.reference.box, pair.target.box, {"chefer@gt": values}, control="squares")
        object.__setattr__(each, "group", pair.group)
        found.append(each)
    return found


def test_squares_tell_a_map_that_looks_from_one_that_does_not():
    looks = score_squares(squares(follows=True)).row("chefer@gt", "squares").estimates
    blind = score_squares(squares(follows=False)).row("chefer@gt", "squares").estimates
    assert looks["dae"].high < 25
    assert looks["excess_dae"].high < -10
    assert looks["eta_squared"].value > 0.9
    assert blind["dae"].value > 50
    assert blind["eta_squared"].value < looks["eta_squared"].value
    assert looks["same_peak"].value < 0.3 < blind["same_peak"].value
    few = score_squares(squares(follows=True)[:16]).row("chefer@gt", "squares")
    assert "eta_squared" not in few.estimates  # one picture an angle: all would be explained
    assert sum(few.excluded.values()) == 16


@pytest.fixture(scope="module")
def real(shared_data):
    folder = shared_data / "coco_tiny_val"
    pairs = coco_pairs(folder / "instances.json", folder / "images").pairs
    by_target = {}
    for pair in pairs:
        by_target.setdefault((pair.picture.digest, pair.target), []).append(pair)
    chosen = {}  # of each picture two questions about one target
    for (digest, _), own in by_target.items():
        if len(own) > 1 and len(find_edits(own[:2], "relocation", PlacingOptions())[0]) >= 4:
            chosen.setdefault(digest, own[:2])
    return [pair for own in list(chosen.values())[:3] for pair in own]


def measured(folder, name, plan, **options):
    engine = LocalEngine(
        AttributionMeasurer(open_model(name), MapOptions(["chefer", "gradcam", "attention-rollout"], TARGETS))
    )
    info = RunInfo(
        instrument="compass",
        model=name,
        identity=engine.identity,
        settings=plan.as_settings(),
        theodolite="0",
    )
    run = Run.start(folder, info)
    run.plan(plan.items())
    measure(run, engine, MeasureOptions(**options))
    return run


def test_a_plan_holds_every_edit_once_and_names_the_original_picture(real):
    some = real[:2]
    plan = plan_controls(some, [PROMPTS["A"]], n_squares=3)
    items = list(plan.items())
    n_items = len(some) + len(plan.edits) + 3
    assert len(items) == n_items == len({item.id for item in items}) == len({item.name for item in items})
    originals = {pair.picture.digest for pair in some}
    for item in items:
        if item.truth.condition == "squares":
            continue
        assert item.cluster in originals
        if item.truth.condition == "plain":
            assert item.meta["targets"] == ["option:0", "option:1", "option:2", "option:3"]
        else:
            assert "targets" not in item.meta
            assert item.truth.condition == f"{item.meta['control']}/{item.meta['probe']}"
    again = plan_controls(real[:1], [PROMPTS["A"]], n_squares=3).items()
    assert {item.id for item in again} <= {item.id for item in items}
    alone = plan_controls(some, [PROMPTS["A"]], controls=["swap-roles"])
    assert not alone.squares
    assert all("targets" not in item.meta for item in alone.items())
    assert len(list(plan_controls(some, [PROMPTS["A"]], controls=[]).items())) == len(some)
    with pytest.raises(UsageError, match="need a model"):
        plan_controls(real, [PROMPTS["A"]], controls=["centres"])
    with pytest.raises(UsageError, match="different ids"):
        plan_controls([real[0], real[0]], [PROMPTS["A"]])


@pytest.mark.slow
@pytest.mark.parametrize("family", ["llava", "qwen2_vl"])
def test_every_control_from_end_to_end(tmp_path, tiny, real, family):
    plan = plan_controls(real, [PROMPTS["A"]], n_squares=4)
    name = f"hf:{tiny(family)}?batch_size=4"
    with measured(tmp_path / "run", name, plan, limit=9) as run:
        assert run.tally().answered == 9
    with measured(tmp_path / "run", name, plan) as run:  # goes on where it stopped
        tally = run.tally()
        assert (tally.answered, tally.failed) == (len(plan.pairs) + len(plan.edits) + 4, 0)
        by_condition = {}
        for each in read_samples(run):
            by_condition.setdefault(each.meta.get("control", "plain"), []).append(each)
        found = score_controls(run, n_centres=5)
        tables = controls_tables(run, projections=("paper", "sound"), n_centres=5)
    assert set(by_condition) == {"plain", *MEASURED} - {"prompt-direction"}
    assert {key for key in by_condition["plain"][0].maps if key.startswith("chefer")} == {
        *(f"chefer@option:{i}" for i in range(4)),
        "chefer@gt",
        "chefer@pred",
    }
    assert {key for key in by_condition["relocation"][0].maps if key.startswith("chefer")} == {
        "chefer@gt",
        "chefer@pred",
    }
    assert [score.control for score in found.scores] == list(CONTROLS)
    assert not found.unscored
    assert [row.control for row in rows_of(tables[0])] == [report.control for report in plan.reports]
    assert len(tables) == 1 + 2 * len(CONTROLS)
    for score in found.scores:
        assert {row.projection for row in score.rows} == {"paper", "sound"}
        for row in score.rows:
            assert set(row.estimates) <= set(COLUMNS)
            assert set(row.tests) <= set(TESTS)
            assert row.estimates or row.excluded
    relocation = found.score("relocation")
    boxes = [
        row for row in relocation.rows if row.method.startswith("box-only@") and row.condition == "probes"
    ]
    assert boxes
    assert all(row.estimates["dae"].value < 30 for row in boxes)


def test_maps_of_options_are_those_of_gt_and_pred(tmp_path, tiny_llava, real):
    name = f"hf:{tiny_llava}?batch_size=4"
    both = {}
    for controls in (["prompt-direction"], ["swap-roles"]):
        plan = plan_controls(real[:3], [PROMPTS["A"]], controls=controls)
        with measured(tmp_path / controls[0], name, plan) as run:
            both[controls[0]] = [each for each in read_samples(run) if each.condition == "plain"]
    for one, other in zip(both["prompt-direction"], both["swap-roles"], strict=True):
        for key in ("chefer@gt", "chefer@pred"):
            np.testing.assert_allclose(one.maps[key].values, other.maps[key].values, rtol=1e-4, atol=1e-8)


def test_commands(tmp_path, tiny_qwen2_vl, real, capsys):
    pairs = tmp_path / "pairs"
    write_pairs(real[:6], pairs)
    run = ["compass", "run", "--data", str(pairs), "--model", f"hf:{tiny_qwen2_vl}?batch_size=4"]
    run += [
        "--out",
        str(tmp_path / "run"),
        "--methods",
        "chefer",
        "--controls",
        "swap-roles,prompt-direction",
    ]
    assert main([*run, "--json"]) == 0
    tables = {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}
    for name in ("prompt_direction", "centres", "swap_roles"):
        assert f"compass.control_{name}_sound" in tables
    assert {"compass.edits", "compass.framework_paper"} <= tables.keys()
    unscored = {row["control"]: row["reason"] for row in tables["compass.controls_unscored"]["rows"]}
    assert "measure them with `theodolite compass run --controls`" in unscored["relocation"]
    assert main(run) == 0
    capsys.readouterr()
    score = ["compass", "score", str(tmp_path / "run"), "--tables", "controls"]
    score += ["--controls", "centres", "--centres", "3"]
    assert main(score) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "centres, paper projection" in out
    assert "centres, sound projection" in out
    assert re.search(r"uniform-map@\d+(–\d+)? background", out)
    assert "Table 11" not in out  # the paper has no such model
    assert main([*score, "--methods", "chafer"]) == 2
    assert "no maps of chafer" in capsys.readouterr().err.replace("\n", " ")
    assert main([*run[:-1], "magic"]) == 2
    sheets = ["compass", "figures", "--data", str(pairs), "--out", str(tmp_path / "sheets")]
    assert main([*sheets, "--size", "1", "--edits", "relocation,swap-places", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["sheets"]) == len(list((tmp_path / "sheets").iterdir())) == 2
