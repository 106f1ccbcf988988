"""``theodolite scene score``, ``solver`` and ``export``, from the outside."""

import json
import shutil

import pytest
from scene_worlds import ask, box_world

from theodolite.cli.main import main
from theodolite.instruments.scene.data.files import Manifest, write_data


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    data = box_world(8, seed=12, folder=folder)
    write_data(folder, data.scenes.values(), data.questions, Manifest())
    return data


@pytest.fixture(scope="module")
def measured(world, tmp_path_factory):
    return ask(world, tmp_path_factory.mktemp("runs") / "oracle", "scene-oracle")


@pytest.fixture
def run(measured, tmp_path):
    return shutil.copytree(measured, tmp_path / "run")


def test_score_prints_every_table(run, capsys):
    assert main(["scene", "score", str(run), "--details"]) == 0
    said = capsys.readouterr().out
    for words in (
        "Table 1",
        "overall",
        "indoor",
        "outdoor",
        "solver ceiling",
        "without looking",
        "Table 2",
        "valid JSON",
        "grounded success",
        "Interventions",
        "structural alignment",
        "S_dist_to_cam",
        "grounded success:",
    ):
        assert words in said, words


def test_score_as_json_is_what_the_run_keeps(run, capsys):
    assert main(["scene", "score", str(run), "--json", "--mra", "<=", "--solver", "upstream"]) == 0
    score = json.loads(capsys.readouterr().out)
    assert score["options"]["comparison"] == "<="
    assert score["options"]["solver"] == "upstream"
    assert score["table"][0]["qa"]["value"] == 1
    assert score["parsers"] == {"answers": "scene-answer/1", "graphs": "scene-graph/1"}
    assert json.loads((run / "scores.json").read_text()) == score


def test_figures_are_drawn_beside_another_run(run, world, measured, tmp_path, capsys):
    assert (
        main(["scene", "score", str(run), "--figures", str(tmp_path / "f"), "--beside", str(measured)]) == 0
    )
    names = {path.name for path in (tmp_path / "f").iterdir()}
    assert names >= {"radar.png", "qa_sgc.png", "qa_consistency.png", "interventions.png"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--solver", "guess"], "--solver takes geometric or upstream"),
        (["--mra", "=="], "--mra takes"),
        (["--mode", "thinking"], "no question and no graph in the mode 'thinking'"),
    ],
)
def test_what_score_does_not_know_is_said(run, words, message, capsys):
    assert main(["scene", "score", str(run), *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_run_of_another_instrument_is_refused(tmp_path, capsys):
    assert main(["ask", "make", "--n", "4", "--out", str(tmp_path / "q")]) == 0
    assert (
        main(
            [
                "ask",
                "run",
                "--data",
                str(tmp_path / "q"),
                "--model",
                "scripted:looker",
                "--out",
                str(tmp_path / "r"),
            ]
        )
        == 0
    )
    assert main(["scene", "score", str(tmp_path / "r")]) == 2
    assert "not of 'scene'" in " ".join(capsys.readouterr().err.split())


def test_solver_shows_both_ceilings(world, capsys):
    assert main(["scene", "solver", str(world.folder), "--json"]) == 0
    found = {(row["solver"], row["domain"]): row for row in json.loads(capsys.readouterr().out)}
    assert found["geometric", None]["macro"]["value"] > found["upstream", None]["macro"]["value"]
    assert found["geometric", "indoor"]["groups"]["ranking (choice)"]["value"] == 1
    assert found["geometric", None]["broken_triangles"] == 0
    assert main(["scene", "solver", str(world.folder)]) == 0
    assert "impossible triangles" in capsys.readouterr().out


@pytest.mark.parametrize("to", ["crisp", "lmms-eval", "vlmevalkit", "inspect"])
def test_a_run_is_exported(run, to, tmp_path, capsys):
    assert main(["scene", "export", str(run), "--to", to, "--out", str(tmp_path / "out"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["to"] == to
    assert said["written"]
    assert any((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("to", "status"), [("crisp", 0), ("lmms-eval", 0), ("vlmevalkit", 0), ("inspect", 2), ("xml", 2)]
)
def test_a_data_set_is_exported(world, to, status, tmp_path, capsys):
    assert main(["scene", "export", str(world.folder), "--to", to, "--out", str(tmp_path / "out")]) == status
    if status:
        assert "--to takes" in capsys.readouterr().err or to == "inspect"
