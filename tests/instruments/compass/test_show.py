"""The whole way on real pictures: 80 COCO pictures, their pairs, every method through tiny checkpoints, the tables."""

import json
import shutil

import pytest

from theodolite.attribution import find_methods
from theodolite.cli.main import main
from theodolite.instruments.compass.formulas.baselines import BASELINES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REAL_SIZE = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
"""How Qwen2-VL's own image processor sizes pictures; that of the tiny checkpoint gives sixteen tokens or so."""


def tables_of(capsys, *words):
    """The tables that a command prints, as rows by column, by name."""
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    return {
        table["name"].removeprefix("compass."): table
        for table in json.loads(capsys.readouterr().out)["tables"]
    }


@pytest.fixture(scope="module")
def pairs(tmp_path_factory, shared_data):
    folder = tmp_path_factory.mktemp("show") / "pairs"
    real = shared_data / "coco_tiny_val"
    words = ["--data", real / "instances.json", "--images", real / "images", "--out", folder]
    assert main(["compass", "import", "--format", "coco", *map(str, words)]) == 0
    return folder


def test_there_are_178_pairs_on_35_pictures(pairs):
    rows = [json.loads(line) for line in (pairs / "pairs.jsonl").read_text().splitlines()]
    counts = {
        name: sum(row["direction"] == name for row in rows) for name in ("left", "right", "above", "below")
    }
    assert counts == {"left": 66, "right": 66, "above": 23, "below": 23}
    assert len({row["picture"] for row in rows}) == 35


@pytest.fixture(scope="module")
def all_pairs(pairs, tiny, tmp_path_factory):
    """All pairs, with the tokens that Qwen2-VL gives a picture, through one method."""
    folder = shutil.copytree(tiny("qwen2_vl"), tmp_path_factory.mktemp("real") / "qwen2_vl")
    settings = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps({**settings, "size": REAL_SIZE}))
    words = ["--data", pairs, "--model", f"hf:{folder}?batch_size=4", "--methods", "attention-rollout"]
    run = folder.parent / "run"
    assert main(["compass", "run", *map(str, words), "--out", str(run)]) == 0
    return run


def test_the_baselines_are_the_known_ones(all_pairs, capsys):
    score = tables_of(capsys, "compass", "score", all_pairs, "--tables", "labels")
    assert score["answers"]["title"].endswith("178 pairs on 35 pictures")
    assert score["answers"]["notes"] == ["Guessing: 25 %."]
    for name in ("paper", "sound"):
        rows = {row["method"]: row for row in score[f"framework_{name}"]["rows"]}
        labels = {row["method"]: row for row in score[f"labels_{name}"]["rows"]}
        oracle, box, sector, noise, uniform = (rows[baseline] for baseline in BASELINES)
        assert all(row["n"] == 178 and row["dae"]["n"] == 35 for row in rows.values())
        assert (oracle["dae"]["value"], oracle["edge_accuracy"]["value"]) == (0, 1)
        assert box["dae"]["value"] == pytest.approx(12, abs=1)
        assert box["edge_accuracy"]["value"] == 1
        assert sector["dae"]["low"] < 90 < sector["dae"]["high"]
        assert sector["edge_accuracy"]["low"] < 0.25 < sector["edge_accuracy"]["high"]
        for knows_nothing in (uniform, noise):
            assert knows_nothing["dae"]["value"] == pytest.approx(42, abs=2)
            assert knows_nothing["edge_accuracy"]["value"] == pytest.approx(0.66, abs=0.03)
        # a picture's mass lies where the target lies: all but what knows the boxes is level with nothing
        assert uniform["excess_dae"] is None
        assert abs(noise["excess_dae"]["value"]) < 3
        assert box["excess_dae"]["high"] < 0
        assert labels["box-only"]["aligned"]["value"] > 0.95


def test_the_layout_alone_answers_better_than_a_model_of_random_weights(all_pairs, capsys):
    """So a gain of re-ranking is not evidence that the map knows the answer; its excess over the uniform map would be."""
    found = tables_of(capsys, "compass", "score", all_pairs, "--tables", "utility", "--projection", "sound")
    rows = {row["method"]: row for row in found["rerank"]["rows"]}
    assert rows["uniform-map"]["gain"]["low"] > 0.02
    assert rows["attention-rollout"]["role"] == "answer"
    assert rows["attention-rollout"]["gain"]["value"] > 0.05
    assert rows["attention-rollout"]["excess"]["low"] < 0.02
    selective = {row["score"]: row for row in found["selective"]["rows"]}
    error = 1 - found["answers"]["rows"][0]["right"]["value"]
    assert selective["random"]["aurc"]["value"] == pytest.approx(error)


@pytest.mark.parametrize("family", ["llava", "qwen2_vl"])
def test_every_method_goes_all_the_way(pairs, tiny, tmp_path, capsys, family):
    words = [
        "--data",
        pairs,
        "--model",
        f"hf:{tiny(family)}?batch_size=4",
        "--out",
        tmp_path / "run",
        "--limit",
        24,
    ]
    assert main(["compass", "run", *map(str, words)]) == 0
    score = tables_of(capsys, "compass", "score", tmp_path / "run", "--tables", "all")
    assert f"Left out: {178 - 24} × not measured yet." in score["answers"]["notes"]
    resampled = {"gradcam-tokens"} if family == "qwen2_vl" else set()
    for name in ("paper", "sound"):
        rows, exclusions = score[f"framework_{name}"]["rows"], score[f"exclusions_{name}"]["rows"]
        for method in find_methods(["all"]):
            own = [row for row in rows if row["method"] == method.name]
            assert [row["target"] for row in own] == (["gt", "pred"] if method.has_target else [""])
            for row in own:
                same = {"method": row["method"], "target": row["target"]}
                (lost,) = [each for each in exclusions if same.items() <= each.items()]
                words = [] if lost["excluded"] == "none" else lost["excluded"].split("; ")
                assert row["n"] + sum(int(word.split()[0]) for word in words) == 24
                assert row["excess_dae"] is not None
                (share,) = [each for each in score["evidence"]["rows"] if same.items() <= each.items()]
                assert share["target_object"] is not None
                assert bool(row["caveat"]) == bool(method.caveat)
        assert {row["method"] for row in score[f"targets_{name}"]["rows"]} == resampled | {
            method.name for method in find_methods(["all"]) if method.has_target
        }
        assert sum(row["n"] for row in score[f"directions_{name}"]["rows"]) == 24
    changed = {row["configuration"] for row in score["ablations"]["rows"] if row["of"] == "method"}
    assert {"single layer (−2)", "no rival"} < changed
    # LLaVA sees the middle square only: what lies outside is left out, by name
    reasons = " ".join(row["excluded"] for row in score["exclusions_paper"]["rows"])
    assert ("no token sees any of the target's box" in reasons) == (family == "llava")
    assert {row["method"] for row in score["diagnosis"]["rows"]} == {
        "uniform-map",
        *resampled,
        *(method.name for method in find_methods(["all"])),
    }
