"""Explained runs, scored: end to end on the symbolic models, from the command to every table."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from theodolite.cli.main import main
from theodolite.core.scores import by_metric, definitions, metrics_of
from theodolite.core.tables import Table
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, write_dataset
from theodolite.instruments.grid.data.question_types import BUCKETS as ALL_BUCKETS
from theodolite.instruments.grid.data.recipe import GridRecipe
from theodolite.instruments.grid.data.world import GridShape
from theodolite.instruments.grid.experiments.depth import (
    LEAST_POOL,
    SynergyValue,
    equal_answers,
    interactions,
    matrix_blocks,
    share_intervals,
    synergy_values,
)
from theodolite.instruments.grid.experiments.explained import CrossMatrix, read_explained
from theodolite.instruments.grid.experiments.map_quality import MEASURES, map_metric, map_scores
from theodolite.instruments.grid.explainers.emap import project_pool
from theodolite.instruments.grid.instrument import GRID
from theodolite.instruments.grid.published import paper_tables
from theodolite.instruments.grid.score import (
    TABLE_NAMES,
    explain_tables,
    item_scores,
    score_explanations,
)
from theodolite.runs import Run
from theodolite.stats import Estimate, score_mean

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
            [
                "grid",
                "run",
                "--explainers",
                "all",
                "--model",
                f"grid:symbolic-{model}",
                *arguments,
                "--out",
                str(home / name),
            ]
        )
        assert status == 0
    return home


@pytest.fixture(scope="module")
def explained(runs):
    found = {}
    for name in "pcs":
        with Run.open(runs / name) as run:
            found[name] = read_explained(run)
    return found


@pytest.fixture(scope="module")
def tables(runs):
    folders = [str(runs / name) for name in "pcs"]
    assert main(["grid", "score", *folders, "--tables", "all", "--json"]) == 0
    with Run.open(runs / "p") as run:
        return {table.name: rows_of(table) for table in run.tables()}


def rows_of(table: Table):
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def find(rows, **wanted):
    (found,) = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return found


def measure(tables, **wanted):
    return find(tables["grid.measures"], **wanted)


def value(cell):
    return cell.value if isinstance(cell, Estimate) else cell


def test_the_three_scenarios_are_named(tables):
    runs = tables["grid.runs"]
    assert [run["scenario"] for run in runs] == ["pure", "cross", "spurious"]
    assert [run["right"] for run in runs][::2] == [24, 24]
    assert runs[1]["right"] < 24


def test_oracles_and_baselines_score_as_they_must(tables):
    for scenario in ("pure", "cross", "spurious"):
        oracle = measure(tables, scenario=scenario, by="all", explainer="oracle", measure="rma")
        assert value(oracle["mean"]) == 1
        uniform = measure(tables, scenario=scenario, by="all", explainer="uniform", measure="normalised_rma")
        assert value(uniform["mean"]) == pytest.approx(0, abs=1e-6)
    place = {"scenario": "pure", "by": "bucket", "group": "M-F0-D2 sparse", "explainer": "uniform"}
    row, area = (measure(tables, **place, measure=kind) for kind in ("rma", "area"))
    assert row["mean"].value == pytest.approx(area["mean"].value)
    assert row["n"] == 6
    assert row["mean"].low < row["mean"].value < row["mean"].high


def test_the_best_explainer_separates_the_models_and_what_uses_no_model_does_not(tables):
    found = {(s["explainer"], s["measure"]): s for s in tables["grid.separation"]}
    best = found["alike-removal", "mass on look-alikes"]
    assert best["auc"].value == 1
    assert best["auc"].low > 0.8
    assert (best["n_pure"], best["left_out"]) == (
        18,
        0,
    )  # the six scenes without a relation are not among them
    assert found["oracle", "mass on look-alikes"]["auc"].value == 0.5
    assert found["pixelshap-shapley", "direction words"]["auc"].value > 0.9


def test_what_cannot_be_measured_or_scored_is_counted(tables):
    costs = {(c["scenario"], c["explainer"]): c for c in tables["grid.cost"]}
    assert costs["pure", "multiviz"]["not_measured"] == 24
    assert "paired network" in costs["pure", "multiviz"]["reason"]
    assert costs["cross", "removal"]["no_relevance"] > 0
    assert costs["cross", "alike-removal"]["no_relevance"] == 0
    assert all(c["most"] <= 1500 for c in costs.values())


def test_gains_depth_and_interaction_are_there(tables, explained):
    gains = {(g["scenario"], g["difference"], g["explainer"]) for g in tables["grid.gains"]}
    assert ("pure", "multimodal gain", "dime") in gains
    assert ("pure", "form 0 minus form 1", "oracle") in gains
    pure = find(
        tables["grid.depth"], scalar="interacting words", adjustment="plain", scenario="pure", kind="M-F0"
    )
    assert pure["depth_2"] > pure["depth_1"]
    cross = find(tables["grid.interaction"], scenario="pure", bucket="M-F0-D1 sparse")
    assert 0 < cross["emap_interaction_share"] <= 1
    assert "pid_convex_synergy" not in cross  # six scenes are too few
    for each in interactions(explained["p"]):
        assert each.n < 20
        assert "at least 20 scenes" in each.missing["pid-convex"]


def test_shares_have_the_interval_of_the_jackknife_over_scenes(explained):
    run = explained["p"]
    cross = next(each for each in run.crosses if each.bucket.key == "M-F0-D2")
    n = len(cross.rows)

    def share(kept):
        part = replace(cross, rows=cross.rows[kept], logits=cross.logits[np.ix_(kept, kept)])
        return project_pool(run.pool(part)).local_shares(weight=1.0).mean()

    left_out = [share(np.delete(np.arange(n), i)) for i in range(n)]
    error = np.sqrt((n - 1) / n * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    low, high = share_intervals(run, cross)["intershap"]
    middle = share(np.arange(n))
    assert (low, high) == pytest.approx(
        (max(middle - 2.5706 * error, 0), min(middle + 2.5706 * error, 1)), abs=1e-4
    )
    assert share_intervals(run, replace(cross, rows=cross.rows[:3], logits=cross.logits[:3, :3])) == {}


def test_each_check_of_depth_is_adjusted_three_ways_and_counts_what_it_leaves_out(tables):
    found = {
        each["adjustment"]: each
        for each in tables["grid.depth"]
        if (each["scenario"], each["scalar"], each["kind"]) == ("pure", "interacting words", "M-F0")
    }
    assert list(found) == ["plain", "by entropy", "equal answers"]
    assert 0 < found["equal answers"]["n"] < found["plain"]["n"]
    assert all(each["n"] + each["left_out"] == 12 for each in found.values())


def test_a_cross_matrix_is_one_unit_and_a_small_one_is_not_used(tables, explained):
    """Six scenes a bucket: no scalar of a matrix has a value, however many scenes there are."""
    assert not [
        each for each in tables["grid.depth"] if each["scalar"] in {"emap, intershap", "intershap, once"}
    ]
    values, missing = synergy_values(explained["p"])
    assert {each.scalar for each in values} == {"interacting words", "dime share"}
    assert missing["emap, intershap", "M-F0", "sparse"] == 2


def test_matrices_are_cut_along_the_diagonal_and_share_no_scene():
    n = 2 * LEAST_POOL + 3
    logits = np.arange(n * n * 2.0).reshape(n, n, 2)
    cross = CrossMatrix(ALL_BUCKETS[0], "sparse", 10 + np.arange(n), logits)
    blocks = matrix_blocks(cross)
    assert [len(block.rows) for block in blocks] == [LEAST_POOL + 2, LEAST_POOL + 1]
    assert np.concatenate([block.rows for block in blocks]).tolist() == cross.rows.tolist()
    second = len(blocks[0].rows)
    assert (blocks[1].logits == logits[second:, second:]).all()
    assert len(matrix_blocks(replace(cross, rows=cross.rows[:3], logits=logits[:3, :3]))) == 1


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
    assert by_depth[1] == counts[0] & counts[1] & counts[2]  # as many as possible
    means = [np.mean([row.value for row in rows if row.depth == depth]) for depth in (1, 2, 3)]
    assert means == sorted(means)
    assert len({np.mean([row.value for row in kept if row.depth == depth]) for depth in (1, 2, 3)}) == 1


def test_scores_and_tables_give_the_same_number_for_every_metric(runs, explained):
    with Run.open(runs / "p") as run:
        scores = by_metric(item_scores(run))
        made = {table.name: rows_of(table) for table in GRID.tables(run)}
    (measures,) = [
        table
        for table in explain_tables(score_explanations([explained["p"]]), ["measures"])
        if "measures" in table.name
    ]
    shown = {
        map_metric(row["measure"], row["explainer"]).key: row
        for row in rows_of(measures)
        if row["by"] == "all"
    }
    known = {metric.key: metric for metric in metrics_of("grid")}
    assert len(scores) > 15
    for key, some in scores.items():
        assert score_mean(known[key], some) == (
            shown[key]["mean"] if isinstance(shown[key]["mean"], Estimate) else None
        ), key
        assert shown[key]["n"] == sum(score.is_scored for score in some)
    overlap = find(made["grid.overlap"], explainer="dime")
    metric = known["grid.adversarial_mass:dime"]
    assert overlap["adversarial_mass"] == score_mean(metric, scores[metric.key])


def test_every_map_without_a_value_has_its_reason(explained):
    scores = [score for score in map_scores(explained["c"]) if score.value is None]
    reasons = {score.metric.partition(":")[2]: score.reason for score in scores}
    assert "paired network" in reasons["multiviz"]
    assert reasons["removal"] == "the map is zero everywhere"
    pending = replace(explained["c"], maps=(), unmeasured={"scene-1": "failed", "cross/x": "pending"})
    found = map_scores(pending)
    assert {(score.item, score.reason) for score in found} == {("scene-1", "failed")}
    assert "grid.interacting_words" in {score.metric for score in found}


def test_masses_on_anchors_and_look_alikes_are_of_scenes_that_have_them(explained):
    scores = by_metric(map_scores(explained["s"]))
    assert "grid.adversarial_mass:oracle" not in scores  # spurious scenes have no look-alike
    assert len(scores["grid.anchor_mass:oracle"]) == 18
    assert len(scores["grid.rma:oracle"]) == 24
    assert set(MEASURES) >= {key.partition(".")[2].partition(":")[0] for key in scores}


def test_a_run_resumes_where_it_stopped(runs, capsys):
    given = ["--data", str(runs / "pure"), "--explainers", "removal", "--out", str(runs / "again"), "--json"]
    arguments = ["grid", "run", "--explainers", "all", "--model", "grid:symbolic-pure", *given]
    assert main([*arguments, "--plan"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["requests"] == 24
    assert main([*arguments, "--limit", "5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tally"]["answered"] == 5
    assert next(t for t in found["tables"] if t["name"] == "grid.runs")["rows"][0]["pending"] == 19
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["tally"]["answered"] == 24


def test_buckets_explained_apart_give_the_same_as_all_together(runs, explained, capsys):
    given = ["--data", str(runs / "pure"), "--explainers", EXPLAINERS, "--budget", "1500", "--json"]
    chosen = ["--buckets", "M-F0-D2", "--density", "sparse", "--out", str(runs / "part")]
    assert main(["grid", "run", "--explainers", "all", "--model", "grid:symbolic-pure", *given, *chosen]) == 0
    assert json.loads(capsys.readouterr().out)["tally"]["planned"] == 7  # six scenes and their cross matrix
    with Run.open(runs / "part") as part:
        mine = read_explained(part)
    whole = explained["p"]
    assert mine.plan.buckets == ("M-F0-D2",)
    assert mine.maps == tuple(each for each in whole.maps if each.bucket.key == "M-F0-D2")
    apart, together = interactions(mine, pid=()), interactions(whole, pid=())
    assert apart == [each for each in together if each.bucket == "M-F0-D2"]
    assert score_explanations([whole], together) == score_explanations([whole], pid=())


def test_tables_are_printed_and_wrong_runs_refused(runs, capsys, tmp_path):
    assert main(["grid", "score", str(runs / "p"), str(runs / "c")]) == 0
    shown = capsys.readouterr().out
    for words in (
        "Table 5",
        "Table 6",
        "separate the two models",
        "Additive fallacy",
        "Cost",
        "Beside the paper",
    ):
        assert words in shown
    assert main(["grid", "score", str(runs / "p"), "--tables", "measures", "--json"]) == 0
    names = [table["name"] for table in json.loads(capsys.readouterr().out)["tables"]]
    assert {"grid.runs", "grid.cost", "grid.measures"} <= set(names)
    assert main(["grid", "score", str(runs / "p"), "--tables", "nonsense"]) == 2
    assert "takes some of measures" in capsys.readouterr().err
    changed = tmp_path / "data"
    shutil.copytree(runs / "pure", changed)
    arguments = ["--data", str(changed), "--explainers", "uniform", "--out", str(tmp_path / "run")]
    assert main(["grid", "run", "--explainers", "all", "--model", "grid:symbolic-pure", *arguments]) == 0
    lines = (changed / "metadata.jsonl").read_text().splitlines()
    (changed / "metadata.jsonl").write_text("\n".join(lines[::-1]) + "\n")
    assert main(["grid", "score", str(tmp_path / "run")]) == 2
    assert "data have changed" in capsys.readouterr().err


def test_the_papers_tables_are_whole_and_beside_ours(tables):
    cells = paper_tables()
    assert len(cells) == 4 * 3 * 38
    places = {(c.table, c.explainer, c.bucket, c.density): (c.mean, c.std) for c in cells}
    assert len(places) == len(cells)
    assert places[5, "dime", "CMP-F0-D3", "dense"] == pytest.approx((0.382, 0.076))
    assert places[6, "multiviz", "M-F1-D3", "sparse"] == pytest.approx((0.042, 0.025))
    assert places[7, "multishap", "SO-F1-D2", "sparse"] == pytest.approx((0.713, 0.143))
    assert places[8, "multishap", "A-F1-D1", "dense"] == pytest.approx((0.390, 0.206))
    rows = [row for row in tables["grid.rma_pure"] if row["dime"] is not None]
    for row in rows:
        bucket, density = row["bucket"].split()
        assert (row["dime_paper"], row["dime_paper_sd"]) == places[5, "dime", bucket, density]
    beside = find(tables["grid.paper"], table=5, explainer="dime", measure="RMA")
    assert beside["n"] == len(rows)
    assert beside["ours"] == pytest.approx(np.mean([value(row["dime"]) for row in rows]))
    assert beside["paper"] == pytest.approx(np.mean([row["dime_paper"] for row in rows]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fill", "purple"], "white, grey or black"),
        (["--words", "drop"], "mask or delete"),
        (["--output", "guess"], "answer, log-odds or expected"),
        (["--players", "some"], "objects or all"),
        (["--explainers", "nonsense"], "nonsense"),
        (["--buckets", "M-F0-D1,M-F0-D3"], "bucket 'M-F0-D3'; there are: A-F0-D1, M-F0-D1"),
        (["--density", "dense"], "density 'dense'; there are: sparse"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_measured(options, words, runs, capsys, tmp_path):
    given = ["--data", str(runs / "pure"), "--model", "grid:symbolic-pure", "--out", str(tmp_path / "run")]
    assert (
        main(
            ["grid", "run", *(() if "--explainers" in options else ("--explainers", "all")), *given, *options]
        )
        == 2
    )
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("side", "most", "words"), [(6, 30, "answers"), (9, 17, "8 cells wide")])
def test_a_model_that_does_not_fit_the_data_is_refused_at_once(side, most, words, capsys, tmp_path):
    recipe = GridRecipe(world=GridShape(side, side, max_count=most))
    plan = DatasetPlan("pure", 1, 0, densities=(9,), buckets=("M-F1-D1",), recipe=recipe)
    write_dataset(make_dataset(plan), tmp_path / "data", pictures=False)
    given = ["--data", str(tmp_path / "data"), "--model", "grid:pure", "--out", str(tmp_path / "run")]
    assert main(["grid", "run", "--explainers", "all", *given, "--explainers", "removal"]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_explainers_are_listed(capsys):
    assert main(["list", "explainers", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert listed["dime"]["scope"] == "local"
    assert listed["emap"]["scope"] == "global"
    assert listed["oracle"]["needs"] == "the truth"


def test_too_few_maps_give_means_and_no_auc(runs, tmp_path, capsys):
    for name, model in (("p", "pure"), ("c", "bow")):
        given = ["--data", str(runs / "pure"), "--explainers", "alike-removal", "--size", "1"]
        arguments = ["--model", f"grid:symbolic-{model}", *given, "--out", str(tmp_path / name)]
        assert main(["grid", "run", *arguments]) == 0
    capsys.readouterr()
    assert main(["grid", "score", str(tmp_path / "p"), str(tmp_path / "c"), "--json"]) == 0
    found = {table["name"]: table["rows"] for table in json.loads(capsys.readouterr().out)["tables"]}
    first = found["grid.separation"][0]
    assert first["auc"] is None
    assert first["n_pure"] == 3
    assert first["spur"] > first["pure"]


def test_every_column_links_to_a_definition(explained):
    score = score_explanations(list(explained.values()))
    keys = {
        column.key for table in explain_tables(score, TABLE_NAMES) for column in table.columns if column.key
    }
    assert len(keys) > 12
    assert keys <= set(definitions())
