"""``theodolite grid make``, ``audit`` and ``figures`` from the command line."""

import json

import pytest

from theodolite.cli.main import main
from theodolite.instruments.grid.data.files import read_dataset

SMALL = ["--buckets", "M-F0-D2,CMP-F0-D3", "--size", "4"]


def words(capsys):
    captured = capsys.readouterr()
    return " ".join(captured.out.split()), " ".join(captured.err.split())


def test_make_and_audit(tmp_path, capsys):
    pure, spur = str(tmp_path / "pure"), str(tmp_path / "spur")
    assert main(["grid", "make", *SMALL, "--out", pure]) == 0
    out, err = words(capsys)
    assert "CMP-F0-D3 with 7 objects" in out
    assert "wrote 16 pure scenes" in err
    assert len(list((tmp_path / "pure" / "pictures").iterdir())) == 16
    assert main(["grid", "make", *SMALL, "--variant", "spur", "--no-pictures", "--json", "--out", spur]) == 0
    assert json.loads(capsys.readouterr().out)["scenes"] == 16
    assert main(["grid", "audit", pure, spur, "--permutations", "9"]) == 0
    out, err = words(capsys)
    assert "pure: 16 pure scenes, preset paper" in out
    assert "spur: 16 spur scenes" in out
    assert "16.4 %" in out
    assert "36.1 %" in out
    assert out.count("every check passed") == 2
    assert "Answers agree, and no scene is in two splits." in out


def test_the_audit_as_json_has_the_papers_numbers_beside(tmp_path, capsys):
    folder = str(tmp_path / "pure")
    assert (
        main(["grid", "make", *SMALL, "--density", "dense", "--no-pictures", "--json", "--out", folder]) == 0
    )
    capsys.readouterr()
    assert main(["grid", "audit", folder, "--permutations", "9", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_kept"] is True
    tables = {table["name"]: table["rows"] for table in found["tables"]}
    paper = {(row["shortcut"], row["bucket"]): row["paper"] for row in tables["grid.shortcuts_overall"]}
    assert paper["bag of words", "all"] == 0.3607
    assert paper["without anchor 2", "M-F0-D2 dense"] == 0.1687
    first = tables["grid.shortcuts"][0]
    assert first["bag_of_words"]["value"] == 0
    assert first["bag_of_words"]["n"] == 4


def test_a_failed_check_fails_the_command(tmp_path, capsys):
    folder = tmp_path / "pure"
    assert main(["grid", "make", *SMALL, "--no-pictures", "--out", str(folder)]) == 0
    lines = (folder / "metadata.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["answer"] = "17"
    (folder / "metadata.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    capsys.readouterr()
    assert main(["grid", "audit", str(folder), "--permutations", "9"]) == 1
    out, _ = words(capsys)
    assert "the answer is what the evaluator says 1 M-F0-D2-sparse-00000: 17, not" in out
    assert "every check passed" not in out
    assert main(["grid", "audit", str(folder), "--permutations", "9", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["is_kept"] is False


@pytest.mark.parametrize("preset", ["sound", "released"])
def test_other_presets_are_made_and_audited(preset, tmp_path, capsys):
    folder = str(tmp_path / preset)
    given = [
        "--preset",
        preset,
        "--buckets",
        "SO-F1-D1",
        "--size",
        "100",
        "--density",
        "dense",
        "--no-pictures",
    ]
    assert main(["grid", "make", *given, "--out", folder]) == 0
    out, _ = words(capsys)
    assert f"What the preset {preset} promises" in out
    told = main(["grid", "audit", folder, "--permutations", "9", "--tables", "ignorances"])
    out, _ = words(capsys)
    assert "Every ignorance" in out
    assert told == (preset == "released")  # which breaks Theorem 1


def test_every_parameter_reaches_the_recipe(tmp_path, capsys):
    more = [
        "--rows",
        "6",
        "--columns",
        "7",
        "--cell-px",
        "16",
        "--boost",
        "0.2",
        "--overload",
        "0.9",
        "--margin",
        "2",
    ]
    more += [
        "--max-answer",
        "4",
        "--density",
        "0.5,20",
        "--preset",
        "paper",
        "--seed",
        "9",
        "--split",
        "test",
    ]
    assert (
        main(["grid", "make", "--buckets", "M-F0-D1", "--size", "2", *more, "--out", str(tmp_path / "a")])
        == 0
    )
    plan = read_dataset(tmp_path / "a").plan
    assert (plan.recipe.world.rows, plan.recipe.world.columns, plan.recipe.world.cell_px) == (6, 7, 16)
    assert (plan.recipe.boost, plan.recipe.overload, plan.recipe.margin, plan.recipe.max_answer) == (
        0.2,
        0.9,
        2,
        4,
    )
    assert (plan.recipe.name, plan.seed, plan.split, plan.densities) == ("paper", 9, "test", (0.5, 20))
    assert (
        main(
            [
                "grid",
                "make",
                "--buckets",
                "A-F0-D1",
                "--size",
                "1",
                "--density",
                "25",
                "--out",
                str(tmp_path / "b"),
            ]
        )
        == 0
    )
    assert read_dataset(tmp_path / "b").plan.recipe.world.answers[-3:] == ("25", "yes", "no")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--buckets", "M-F0-D9"], "there is no bucket"),
        (["--density", "many"], "a density is"),
        (["--density", "26"], "26 objects do not fit a grid of 5×5"),
        (["--rows", "2", "--columns", "2", "--density", "4"], "grid of 2×2"),
        (["--preset", "best"], "--preset takes paper, sound or released"),
        (["--variant", "odd"], "pure or spur"),
        (["--split", "dev"], "--split takes train, validation or test"),
        (["--margin", "9"], "margin"),
        (["--cell-px", "4"], "at least 8 pixels"),
    ],
)
def test_bad_input_is_told_in_one_sentence(arguments, message, tmp_path, capsys):
    assert main(["grid", "make", "--size", "2", *arguments, "--out", str(tmp_path / "a")]) == 2
    assert message in words(capsys)[1]


def test_what_is_no_data_set_is_told(tmp_path, capsys):
    assert main(["grid", "audit", str(tmp_path)]) == 2
    assert "not a data set of the grid" in words(capsys)[1]


def test_models_are_listed(capsys):
    assert main(["list", "models"]) == 0
    assert "grid:symbolic-pure" in words(capsys)[0]


def test_the_help_of_every_command_is_there(capsys):
    for name in ("make", "audit", "figures", "accuracy", "explain", "score"):
        assert main(["grid", name, "--help"]) == 0
    assert "certify" not in capsys.readouterr().out
