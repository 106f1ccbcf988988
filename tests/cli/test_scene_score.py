"""``theodolite scene score`` and ``solver``, and the exports of scenes, from the outside."""

import json
import shutil

import pytest
from scene_worlds import ask, box_world

from theodolite.cli.main import main
from theodolite.instruments.scene.data.files import Manifest, write_data
from theodolite.instruments.scene.experiments.curves import CURVE_LEVELS
from theodolite.instruments.scene.score import EXTRA_TABLES
from theodolite.runs import Run, RunInfo


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
    assert main(["scene", "score", str(run), "--tables", "all"]) == 0
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
        "S_camera",
        "Examples of each quadrant",
        "Readings of the definitions",
        "Groups of questions",
    ):
        assert words in said, words


def test_score_as_json_is_what_the_run_keeps(run, capsys):
    assert main(["scene", "score", str(run), "--json", "--mra", "<=", "--solver", "upstream"]) == 0
    score = json.loads(capsys.readouterr().out)
    table = score["tables"][0]
    assert "MRA <=, solver upstream" in table["title"]
    assert table["rows"][0]["qa"]["value"] == 1
    assert json.loads((run / "scores.json").read_text())["tables"] == score["tables"]


def test_figures_are_drawn_beside_another_run(run, world, measured, tmp_path, capsys):
    assert (
        main(["scene", "score", str(run), "--figures", str(tmp_path / "f"), "--beside", str(measured)]) == 0
    )
    names = {path.name for path in (tmp_path / "f").iterdir()}
    assert names >= {"radar.png", "qa_sgc.png", "qa_consistency.png", "interventions.png"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--solver", "guess"], "--solver takes fused, geometric or upstream"),
        (["--mra", "=="], "--mra takes"),
        (["--mode", "thinking"], "no question and no graph in the mode 'thinking'"),
        (["--tables", "everything"], "--tables takes some of groups"),
    ],
)
def test_what_score_does_not_know_is_said(run, words, message, capsys):
    assert main(["scene", "score", str(run), *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_the_help_names_every_extra_table(capsys):
    assert main(["scene", "score", "--help"]) == 0
    shown = "".join(capsys.readouterr().out.replace("│", " ").split())
    assert ",".join(EXTRA_TABLES) in shown


def test_a_run_of_another_instrument_is_refused(tmp_path, capsys):
    with Run.start(tmp_path / "r", RunInfo(instrument="ask", model="m", identity="m", theodolite="test")):
        pass
    assert main(["scene", "score", str(tmp_path / "r")]) == 2
    assert "not of scene" in " ".join(capsys.readouterr().err.split())


def test_solver_shows_both_ceilings(world, capsys):
    assert main(["scene", "audit", str(world.folder), "--json"]) == 0
    tables = {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}
    fused, geometric, upstream = (
        {row["group"]: row for row in tables[f"scene.ceiling_{name}"]["rows"]}
        for name in ("fused", "geometric", "upstream")
    )
    assert fused["macro mean"]["overall"]["value"] > upstream["macro mean"]["overall"]["value"]
    assert geometric["macro mean"]["overall"]["value"] > upstream["macro mean"]["overall"]["value"]
    assert geometric["ranking (choice)"]["indoor"]["value"] == 1
    assert all("0 of" in note for note in tables["scene.ceiling_geometric"]["notes"])
    for noise in ("words", "lengths", "words_and_lengths"):
        rows = [r for r in tables[f"scene.curve_{noise}"]["rows"] if r["competency"] == "macro mean"]
        assert [row["noise"] for row in rows] == list(CURVE_LEVELS)
        quality = [row["quality"]["value"] for row in rows]
        assert quality[0] == 1
        assert quality == sorted(quality, reverse=True)
        assert {row["better"] for row in rows} <= {"geometric", "upstream"}


@pytest.mark.parametrize("to", ["crisp", "crisp-na"])
@pytest.mark.parametrize("what", ["run", "data"])
def test_runs_and_data_sets_are_exported_for_crisp(world, run, what, to, tmp_path):
    source = run if what == "run" else world.folder
    assert main(["export", str(source), "--to", to, "--out", str(tmp_path / "out")]) == 0
    assert any((tmp_path / "out").iterdir())
