"""``compass run`` and ``overlay`` at the command line: what is written, and what is refused before a model works."""

import json
from types import SimpleNamespace

import pytest

from theodolite.cli.compass_faithfulness_tables import _show_composites
from theodolite.cli.main import main
from theodolite.instruments.compass.data.pair_files import write_pairs
from theodolite.instruments.compass.data.squares import coloured_squares
from theodolite.instruments.compass.experiments.composites import composite_scores
from theodolite.runs import Run


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    write_pairs(coloured_squares(4, seed=2).pairs, folder)
    return folder


@pytest.fixture(scope="module")
def swept(tmp_path_factory, tiny, pairs):
    """Four pairs with prompt A and one of one's own; the run, and what the command printed."""
    folder = tmp_path_factory.mktemp("compass")
    own = {"name": "brief", "template": "{tgt} from {ref}: 1 left, 2 right, 3 above, 4 below?"}
    (folder / "mine.jsonl").write_text(json.dumps(own), "utf-8")
    words = ["compass", "run", "--data", pairs, "--model", f"hf:{tiny('qwen2_vl')}", "--json"]
    words += ["--methods", "attention-rollout,gradient-norm", "--prompt", f"A,{folder / 'mine.jsonl'}"]
    return folder / "run", [str(word) for word in (*words, "--out", folder / "run")]


def test_a_sweep_over_ones_own_prompts_runs_and_says_so_in_json(swept, capsys):
    folder, words = swept
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["planned"], said["answered"], said["prompts"]) == (8, 8, ["A", "brief"])
    assert said["run"] == str(folder)
    with Run.open(folder) as run:
        assert [each["name"] for each in run.info.settings["own_prompts"]] == ["brief"]
        assert run.info.settings["prompt"] == "A,brief"
    moved = folder.parent / "moved.jsonl"
    moved.write_bytes((folder.parent / "mine.jsonl").read_bytes())
    same = [word.replace("mine.jsonl", "moved.jsonl") for word in words]
    assert main(same) == 0  # the same sweep, nothing asked again
    assert json.loads(capsys.readouterr().out)["answered"] == 8
    assert main(["compass", "score", str(folder), "--json", "--show", "prompts"]) == 0
    score = json.loads(capsys.readouterr().out)
    assert {row["prompt"] for row in score["prompts"]} == {"A", "brief"}


def test_every_further_table_stands_beside_the_uniform_map(swept, capsys):
    folder, words = swept
    assert main(words) == 0
    capsys.readouterr()
    assert main(["compass", "score", str(folder), "--projection", "paper", "--show", "targets,readouts"]) == 0
    tables = capsys.readouterr().out.split("whose logit is explained")[1]
    targets, readouts = tables.split("peak against circular mean")
    assert targets.count("− uniform") == 2
    assert readouts.count("− uniform") == 1


def test_a_pair_asked_twice_must_be_named_by_its_item(swept, capsys, tmp_path):
    folder, words = swept
    assert main(words) == 0
    with Run.open(folder) as run:
        first = next(iter(run.results())).item
    ask = [
        "compass",
        "overlay",
        str(folder),
        "--method",
        "attention-rollout",
        "--out",
        str(tmp_path / "o.png"),
    ]
    assert main([*ask, str(first.meta["pair"])]) == 2
    assert "was asked 2 times" in " ".join(capsys.readouterr().err.split())
    assert main([*ask, first.id]) == 0


def test_faithfulness_takes_map_names_as_they_are_shown_and_one_prompt(swept, capsys, tmp_path):
    folder, words = swept
    assert main(words) == 0
    capsys.readouterr()
    hide = ["compass", "faithfulness", str(folder), "--maps", "attention-rollout", "--fills", "grey"]
    hide += ["--random-orders", "1", "--out", str(tmp_path / "hidden"), "--json"]
    assert main(hide) == 0
    score = json.loads(capsys.readouterr().out)
    assert score["excluded"]["another prompt"] == 4
    assert max(row["n_pairs"] for row in score["methods"]) <= 4


def test_controls_are_shown_under_one_projection_and_beside_no_other_models_figures(swept, capsys):
    folder, words = swept
    assert main(words) == 0
    capsys.readouterr()
    score = ["compass", "controls", "score", str(folder), "--controls", "centres", "--centres", "3"]
    assert main([*score, "--projection", "sound"]) == 0
    table = capsys.readouterr().out
    assert "(sound projection)" in table
    assert "(paper projection)" not in table
    assert "reported in the paper" not in table  # the paper has another model
    assert main([*score, "--projection", "mine"]) == 2


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--targets", "gold", "no target 'gold'"),
        ("--targets", "option:x", "no target 'option:x'"),
        ("--methods", "chefr", "did you mean 'chefer'"),
        ("--prompt", "D", "no prompt 'D'"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_a_run_begins(
    pairs, capsys, tmp_path, option, value, words
):
    out = tmp_path / "run"
    command = ["compass", "run", "--data", str(pairs), "--model", "hf:nowhere", "--out", str(out)]
    assert main([*command, option, value]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_a_direction_against_its_boxes_is_told(pairs, capsys):
    row = json.loads((pairs / "pairs.jsonl").read_text("utf-8").splitlines()[0])
    row["direction"] = {"left": "right", "right": "left", "above": "below", "below": "above"}[
        row["direction"]
    ]
    (pairs / "wrong.jsonl").write_text(json.dumps(row), "utf-8")
    assert main(["data", "check", str(pairs / "wrong.jsonl"), "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["cautions"].values()) == [[row["id"]]]
    assert main(["data", "check", str(pairs / "pairs.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cautions"] == {}


@pytest.mark.parametrize(("model", "beside"), [("hf:Qwen/Qwen2-VL-7B-Instruct", True), ("hf:mine", False)])
def test_composites_show_every_maps_value_and_the_papers_only_for_its_model(model, beside, capsys):
    found = composite_scores(
        ["chefer@gt", "rollout", "gradcam@gt"],
        edge_accuracy=[0.6, 0.4, 0.3],
        mdf=[1.5, -1.0, 3.0],
        auc=[0.6, 0.5, 0.4],
    )
    _show_composites(SimpleNamespace(model=model, composites=found))
    table = capsys.readouterr().out
    assert "0.857" in table  # 2 · 1.5 · 0.6 / 2.1
    row = next(line for line in table.splitlines() if line.startswith("harmonic"))
    assert row.split()[2] == "–"  # undefined below zero
    assert ("CREG, A.1" in table) == beside
