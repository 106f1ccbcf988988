"""Measuring and scoring explanations, end to end on the symbolic twins, and the metrics against plain ones."""

import itertools
import json
import shutil
from collections import Counter

import numpy as np
import pytest

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
from theodolite.instruments.grid.data.files import write_dataset
from theodolite.instruments.grid.data.recipe import Recipe
from theodolite.instruments.grid.data.world import World
from theodolite.instruments.grid.experiments.depth import equal_answers
from theodolite.instruments.grid.formulas.maps import otsu, score_map
from theodolite.instruments.grid.formulas.synergy import SynergyValue
from theodolite.instruments.grid.score import join_scores, score_buckets, score_explained, score_run
from theodolite.instruments.grid.stored import read_explained
from theodolite.runs import Run
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
    assert (flat.rma, flat.normalised, flat.auc) == pytest.approx((0.24, 0, 0.5))
    assert flat.rra == pytest.approx(0.24)  # ties share
    assert flat.iou == 0  # nothing lies above the one value
    assert flat.iou_paper == pytest.approx(0.24)  # everything reaches it
    best = score_map(mask * 1.0, mask)
    assert (best.rma, best.normalised, best.rra, best.auc, best.iou) == (1, 1, 1, 1, 1)
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
    with pytest.raises(UsageError, match="16 places cannot be held against a mask of 25"):
        score_map(np.ones(16), np.ones(25, bool))
    with pytest.raises(UsageError, match="holds 0 of 25"):
        score_map(np.ones(25), np.zeros(25, bool))


BUCKETS = ("A-F0-D1", "M-F0-D1", "M-F0-D2", "M-F1-D1")
EXPLAINERS = "alike-removal,removal,pixelshap-shapley,dime,dime-unimodal,interacting-words,oracle,bow-oracle,uniform,multiviz,emap"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    home = tmp_path_factory.mktemp("explained")
    for mode in ("pure", "spur"):
        plan = DatasetPlan(mode, 6, 1, densities=("sparse",), buckets=BUCKETS)
        write_dataset(make_dataset(plan), home / mode, pictures=False)
    for name, model, mode in (("p", "pure", "pure"), ("c", "bow", "pure"), ("s", "bow", "spur")):
        arguments = ["--data", str(home / mode), "--explainers", EXPLAINERS, "--budget", "1500", "--json"]
        status = main(
            ["grid", "explain", "--model", f"grid:symbolic-{model}", *arguments, "--out", str(home / name)]
        )
        assert status == 0
    return home


@pytest.fixture(scope="module")
def scored(runs):
    assert main(["grid", "score", *(str(runs / name) for name in "pcs"), "--json"]) == 0
    with Run.open(runs / "p") as run:
        return run.scores()


def figure(scored, table, **wanted):
    (found,) = [c for c in scored["tables"][table] if all(c[key] == value for key, value in wanted.items())]
    return found


def test_the_three_scenarios_are_told(scored):
    assert [run["scenario"] for run in scored["runs"]] == ["pure", "cross", "spurious"]
    assert [run["right"] for run in scored["runs"]][::2] == [24, 24]
    assert scored["runs"][1]["right"] < 24


def test_oracles_and_floors_stand_where_they_must(scored):
    for scenario in ("pure", "cross", "spurious"):
        oracle = figure(scored, "all", scenario=scenario, explainer="oracle", measure="rma")
        assert oracle["mean"] == 1
        uniform = figure(scored, "all", scenario=scenario, explainer="uniform", measure="normalised rma")
        assert uniform["mean"] == pytest.approx(0, abs=1e-6)
    row = figure(
        scored, "buckets", scenario="pure", explainer="uniform", measure="rma", group="M-F0-D2 sparse"
    )
    area = figure(
        scored, "buckets", scenario="pure", explainer="uniform", measure="area", group="M-F0-D2 sparse"
    )
    assert row["mean"] == pytest.approx(area["mean"])
    assert row["n"] == 6
    assert row["estimate"]["low"] <= row["mean"] <= row["estimate"]["high"]


def test_the_passing_explainer_separates_the_models_and_what_reads_no_model_does_not(scored):
    found = {(s["explainer"], s["figure"]): s for s in scored["separations"]}
    best = found["alike-removal", "adversarial mass"]
    assert best["auc"]["value"] == 1
    assert best["auc"]["low"] > 0.8
    assert (best["n_pure"], best["left_out"]) == (
        18,
        0,
    )  # the six scenes without a relation are not among them
    assert found["oracle", "adversarial mass"]["auc"]["value"] == 0.5
    words = found["pixelshap-shapley", "direction words"]
    assert words["auc"]["value"] > 0.9


def test_what_cannot_be_measured_or_scored_is_counted(scored):
    costs = {(c["scenario"], c["explainer"]): c for c in scored["costs"]}
    assert costs["pure", "multiviz"]["not_measured"] == 24
    assert "paired network" in next(iter(costs["pure", "multiviz"]["reasons"]))
    assert costs["cross", "removal"]["no_relevance"] > 0
    assert costs["cross", "alike-removal"]["no_relevance"] == 0
    assert all(c["calls_most"] <= 1500 for c in costs.values())


def test_gain_gap_depth_and_cross_figures_are_there(scored):
    gains = {(g["scenario"], g["name"], g["explainer"]) for g in scored["gaps"]}
    assert ("pure", "multimodal gain", "dime") in gains
    assert ("pure", "form 0 less form 1", "oracle") in gains
    depth = [d for d in scored["depths"] if d["scalar"] == "interacting words" and d["reading"] == "plain"]
    pure = next(d for d in depth if d["scenario"] == "pure" and d["kind"] == "M-F0")
    assert pure["means"]["2"] > pure["means"]["1"]
    cross = next(c for c in scored["crosses"] if c["scenario"] == "pure" and c["bucket"] == "M-F0-D1")
    assert 0 < cross["figures"]["emap interaction share"] <= 1
    assert "pid convex synergy" not in cross["figures"]  # six scenes are too few
    few = [cross for cross in scored["crosses"] if cross["n"] < 20]
    assert few
    assert all("at least 20 scenes" in cross["missing"]["pid convex"] for cross in few)


def test_each_check_of_depth_is_read_three_ways_and_counts_what_it_leaves_out(scored):
    readings = {}
    for each in scored["depths"]:
        if (each["scenario"], each["scalar"], each["kind"]) == ("pure", "interacting words", "M-F0"):
            readings[each["reading"]] = each
    assert list(readings) == ["plain", "by entropy", "equal answers"]
    equal = readings["equal answers"]
    assert len(set(equal["n"].values())) == 1
    assert 0 < sum(equal["n"].values()) < sum(readings["plain"]["n"].values())
    for each in readings.values():
        assert sum(each["n"].values()) + each["left_out"] == 12


def test_with_equal_answers_a_scalar_that_follows_the_answer_alone_does_not_move():
    rng = np.random.default_rng(4)
    rows = [
        SynergyValue("interacting words", "M-F0", depth, "sparse", float(said), int(said), 1.0)
        for depth in (1, 2, 3)
        for said in rng.integers(depth, 6, size=80)
    ]
    kept = equal_answers(rows)
    by_depth = {depth: Counter(row.said for row in kept if row.depth == depth) for depth in (1, 2, 3)}
    assert by_depth[1] == by_depth[2] == by_depth[3]
    assert set(by_depth[1]) == {3, 4, 5}
    counts = [Counter(row.said for row in rows if row.depth == depth) for depth in (1, 2, 3)]
    assert by_depth[1] == counts[0] & counts[1] & counts[2]  # as many as there can be
    means = [np.mean([row.value for row in rows if row.depth == depth]) for depth in (1, 2, 3)]
    assert means == sorted(means)
    assert len({np.mean([row.value for row in kept if row.depth == depth]) for depth in (1, 2, 3)}) == 1


def test_a_run_goes_on_where_it_stopped(runs, capsys):
    arguments = [
        "grid",
        "explain",
        "--model",
        "grid:symbolic-pure",
        "--data",
        str(runs / "pure"),
        "--explainers",
        "removal",
    ]
    arguments += ["--out", str(runs / "again"), "--json"]
    assert main([*arguments, "--limit", "5"]) == 0
    assert json.loads(capsys.readouterr().out)["finished"] == 5
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["finished"] == 24


def test_buckets_explained_apart_say_the_same_as_all_together(runs, capsys):
    given = ["--data", str(runs / "pure"), "--explainers", EXPLAINERS, "--budget", "1500", "--json"]
    chosen = ["--buckets", "M-F0-D2", "--density", "sparse", "--out", str(runs / "part")]
    assert main(["grid", "explain", "--model", "grid:symbolic-pure", *given, *chosen]) == 0
    assert json.loads(capsys.readouterr().out)["planned"] == 7  # six scenes and their cross matrix
    with Run.open(runs / "part") as part, Run.open(runs / "p") as whole:
        mine, all_of_them = (read_explained(run) for run in (part, whole))
    assert mine.plan.buckets == ("M-F0-D2",)
    assert mine.rows == tuple(row for row in all_of_them.rows if row.bucket.key == "M-F0-D2")
    apart, together = (score_buckets(run, pid=()) for run in (mine, all_of_them))
    assert apart.cells == tuple(cell for cell in together.cells if cell.group == "M-F0-D2 sparse")
    assert apart.crosses == tuple(cross for cross in together.crosses if cross.bucket == "M-F0-D2")
    assert join_scores([score_run(all_of_them, together)], ()) == score_explained([all_of_them], pid=())


def test_tables_are_printed_and_wrong_runs_refused(runs, capsys, tmp_path):
    assert main(["grid", "score", str(runs / "p"), str(runs / "c")]) == 0
    shown = capsys.readouterr().out
    for words in ("Table 5", "Table 6", "tell the two models apart", "Additive fallacy", "What it cost"):
        assert words in shown
    changed = tmp_path / "data"
    shutil.copytree(runs / "pure", changed)
    arguments = ["--data", str(changed), "--explainers", "uniform", "--out", str(tmp_path / "run")]
    assert main(["grid", "explain", "--model", "grid:symbolic-pure", *arguments]) == 0
    lines = (changed / "metadata.jsonl").read_text().splitlines()
    (changed / "metadata.jsonl").write_text("\n".join(lines[::-1]) + "\n")
    assert main(["grid", "score", str(tmp_path / "run")]) == 2
    assert "data have changed" in capsys.readouterr().err


def test_the_papers_tables_stand_whole_beside_ours(runs, capsys):
    assert main(["grid", "score", str(runs / "p"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cells = found["published"]["tables"]["cells"]
    assert len(cells) == 4 * 3 * 38
    places = {(c["table"], c["explainer"], c["bucket"], c["density"]): (c["mean"], c["std"]) for c in cells}
    assert len(places) == len(cells)
    assert places[5, "dime", "CMP-F0-D3", "dense"] == pytest.approx((0.382, 0.076))
    assert places[6, "multiviz", "M-F1-D3", "sparse"] == pytest.approx((0.042, 0.025))
    assert places[7, "multishap", "SO-F1-D2", "sparse"] == pytest.approx((0.713, 0.143))
    assert places[8, "multishap", "A-F1-D1", "dense"] == pytest.approx((0.390, 0.206))
    ours = [c for c in found["tables"]["buckets"] if (c["explainer"], c["measure"]) == ("dime", "rma")]
    (beside,) = (b for b in found["beside"] if (b["table"], b["explainer"]) == (5, "dime"))
    assert beside["n"] == sum(c["mean"] is not None for c in ours)
    assert beside["ours"] == pytest.approx(np.mean([c["mean"] for c in ours if c["mean"] is not None]))
    theirs = [places[5, "dime", *c["group"].split()][0] for c in ours if c["mean"] is not None]
    assert beside["paper"] == pytest.approx(np.mean(theirs))
    assert main(["grid", "score", str(runs / "p")]) == 0
    shown = capsys.readouterr().out
    assert "dime paper" in shown
    assert "Beside the paper" in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fill", "purple"], "white, grey, black"),
        (["--words", "drop"], "mask or delete"),
        (["--output", "guess"], "answer, log-odds, expected"),
        (["--players", "some"], "objects or all"),
        (["--explainers", "nonsense"], "nonsense"),
        (["--buckets", "M-F0-D1,M-F0-D3"], "bucket 'M-F0-D3'; there are: A-F0-D1, M-F0-D1"),
        (["--density", "dense"], "density 'dense'; there are: sparse"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_before_anything_is_measured(
    options, words, runs, capsys, tmp_path
):
    given = ["--data", str(runs / "pure"), "--model", "grid:symbolic-pure", "--out", str(tmp_path / "run")]
    assert main(["grid", "explain", *given, *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("side", "most", "words"), [(6, 30, "answers"), (9, 17, "8 cells wide")])
def test_a_model_that_does_not_fit_the_data_is_refused_at_once(side, most, words, capsys, tmp_path):
    plan = DatasetPlan(
        "pure",
        1,
        0,
        densities=(9,),
        buckets=("M-F1-D1",),
        recipe=Recipe(world=World(side, side, max_count=most)),
    )
    write_dataset(make_dataset(plan), tmp_path / "data", pictures=False)
    given = ["--data", str(tmp_path / "data"), "--model", "grid:pure", "--out", str(tmp_path / "run")]
    assert main(["grid", "explain", *given, "--explainers", "removal"]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_explainers_are_listed(capsys):
    assert main(["explainers", "list", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert listed["dime"]["scope"] == "local"
    assert listed["emap"]["scope"] == "global"
    assert listed["oracle"]["needs"] == "the truth"


def test_too_few_maps_give_means_and_no_interval(runs, tmp_path, capsys):
    for name, model in (("p", "pure"), ("c", "bow")):
        arguments = ["--data", str(runs / "pure"), "--explainers", "alike-removal", "--n", "1"]
        assert (
            main(
                [
                    "grid",
                    "explain",
                    "--model",
                    f"grid:symbolic-{model}",
                    *arguments,
                    "--out",
                    str(tmp_path / name),
                ]
            )
            == 0
        )
    capsys.readouterr()
    assert main(["grid", "score", str(tmp_path / "p"), str(tmp_path / "c"), "--json"]) == 0
    (found, *_) = json.loads(capsys.readouterr().out)["separations"]
    assert found["auc"] is None
    assert found["n_pure"] == 3
    assert found["spur"] > found["pure"]
