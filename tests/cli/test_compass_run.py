"""``compass run`` and ``overlay`` at the command line: what is written, and what is refused before a model works."""

import json

import pytest

from theodolite.cli.main import main
from theodolite.cli.output import show
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import write_pairs
from theodolite.instruments.compass.experiments.faithfulness.score import composites_table
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
    assert (said["tally"]["planned"], said["tally"]["answered"]) == (8, 8)
    assert (said["run"], said["instrument"]) == (str(folder), "compass")
    assert [table["name"] for table in said["tables"]] == [
        "compass.answers",
        "compass.framework_paper",
        "compass.framework_sound",
        "compass.evidence",
    ]
    with Run.open(folder) as run:
        assert [each["name"] for each in run.info.settings["own_prompts"]] == ["brief"]
        assert run.info.settings["prompt"] == "A,brief"
    moved = folder.parent / "moved.jsonl"
    moved.write_bytes((folder.parent / "mine.jsonl").read_bytes())
    same = [word.replace("mine.jsonl", "moved.jsonl") for word in words]
    assert main(same) == 0  # the same sweep, nothing asked again
    assert json.loads(capsys.readouterr().out)["tally"]["answered"] == 8
    assert main(["compass", "score", str(folder), "--json", "--tables", "prompts"]) == 0
    table = json.loads(capsys.readouterr().out)["tables"][-1]
    assert {row["prompt"] for row in table["rows"]} == {"A", "brief"}


def test_masked_sinks_are_part_of_the_run_and_named_by_its_score(tiny, pairs, tmp_path, capsys):
    words = ["compass", "run", "--data", pairs, "--model", f"hf:{tiny('llava')}", "--out", tmp_path / "run"]
    words = [*map(str, words), "--methods", "attention-rollout", "--pairs"]  # edited pairs have no maps
    assert main([*words, "--mask-sinks", "20"]) == 0
    note = "Attention sinks (τ = 20) are masked in every map: 0.0 image tokens per item, in 0 of 4 items with maps."
    assert note in " ".join(capsys.readouterr().out.split())
    assert main(["compass", "score", str(tmp_path / "run"), "--json"]) == 0
    assert note in json.loads(capsys.readouterr().out)["tables"][0]["notes"]
    assert main(words) != 0  # the same folder does not take maps of another kind
    assert "use the same settings" in capsys.readouterr().err


def test_a_plan_says_what_would_be_asked_and_asks_nothing(pairs, tmp_path, capsys):
    words = ["compass", "run", "--data", pairs, "--model", "hf:nowhere", "--out", tmp_path / "run", "--plan"]
    assert main([*map(str, words), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["requests"] == 4
    assert main([*map(str, words), "--controls", "swap-roles,squares", "--squares", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["requests"] == 4 + 4 + 3
    assert not (tmp_path / "run").exists()


def test_every_further_table_stands_beside_the_uniform_map(swept, capsys):
    folder, words = swept
    assert main(words) == 0
    capsys.readouterr()
    assert (
        main(["compass", "score", str(folder), "--projection", "paper", "--tables", "targets,readouts"]) == 0
    )
    tables = capsys.readouterr().out.split("Whose logit is explained")[1]
    targets, readouts = tables.split("Peak against circular mean")
    assert targets.count("− uniform") == 2
    assert readouts.count("− uniform") == 1


def test_a_pair_asked_twice_must_be_named_by_its_item(swept, capsys, tmp_path):
    folder, words = swept
    assert main(words) == 0
    with Run.open(folder) as run:
        first = next(iter(run.results())).item
    ask = [
        "compass",
        "figures",
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
    tables = {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}
    assert "Left out: 4 pairs: another prompt." in tables["compass.hidden_sectors"]["notes"]
    assert max(row["n_pairs"] for row in tables["compass.masking"]["rows"]) <= 4


def test_controls_are_shown_under_one_projection_and_beside_no_other_models_numbers(swept, capsys):
    folder, words = swept
    assert main(words) == 0
    capsys.readouterr()
    score = [
        "compass",
        "score",
        str(folder),
        "--tables",
        "controls",
        "--controls",
        "centres",
        "--centres",
        "3",
    ]
    assert main([*score, "--projection", "sound"]) == 0
    table = capsys.readouterr().out
    assert "centres, sound projection" in table
    assert "paper projection" not in table
    assert "reported" not in table  # the paper has another model
    assert main([*score, "--projection", "mine"]) == 2


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--targets", "gold", "no target 'gold'"),
        ("--targets", "option:x", "no target 'option:x'"),
        ("--methods", "chefr", "did you mean 'chefer'"),
        ("--prompt", "D", "no prompt 'D'"),
        ("--mask-sinks", "0", "must be a finite number above 0, not 0"),
        ("--mask-sinks", "nan", "must be a finite number above 0, not nan"),
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
    assert main(["compass", "audit", str(pairs / "wrong.jsonl"), "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["cautions"].values()) == [[row["id"]]]
    assert main(["compass", "audit", str(pairs / "pairs.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cautions"] == {}


@pytest.mark.parametrize(("model", "beside"), [("hf:Qwen/Qwen2-VL-7B-Instruct", True), ("hf:mine", False)])
def test_composites_show_every_maps_value_and_the_papers_only_for_its_model(model, beside, capsys):
    names = ["chefer@gt", "rollout", "gradcam@gt"]
    ea, mdf, auc = (
        dict(zip(names, values, strict=True))
        for values in ([0.6, 0.4, 0.3], [1.5, -1.0, 3.0], [0.6, 0.5, 0.4])
    )
    show([composites_table(auc=auc, summaries={"EA": ea, "MDF": mdf}, model=model, seed=0)], json=False)
    table = capsys.readouterr().out
    assert "0.86" in table  # 2 · 1.5 · 0.6 / 2.1
    row = next(line for line in table.splitlines() if line.startswith("harmonic"))
    assert row.split()[2] == "–"  # undefined below zero
    assert ("CREG, A.1" in table) == beside
