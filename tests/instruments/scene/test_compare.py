"""Several runs in one table, and how many scenes a signature needs."""

import pytest
from scene_worlds import ask, asked, box_world, rows_of, scored

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.data.files import Manifest, write_data
from theodolite.instruments.scene.experiments.needs import needs_table, scenes_needed
from theodolite.instruments.scene.questions import Settings
from theodolite.instruments.scene.score import compare_tables
from theodolite.instruments.scene.signatures import SIGNATURES

SETTINGS = Settings(qa=("base", "blind"), graph=("base", "blind"))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return box_world(8, seed=2, folder=tmp_path_factory.mktemp("world"))


def test_models_stand_in_one_table_with_paired_differences(world):
    scores = {
        name: scored(asked(world, getattr(scripts, name), settings=SETTINGS, model=name))
        for name in ("oracle", "shortcut", "blind_prior")
    }
    models, differences, blind = map(rows_of, compare_tables(scores))
    assert list(models) == list(blind) == ["oracle", "shortcut", "blind_prior"]
    assert list(differences) == ["shortcut", "blind_prior"]
    first, other = scores["oracle"], scores["blind_prior"]
    found = differences["blind_prior"]["qa"]
    assert found.value == pytest.approx(other.mean("qa").value - first.mean("qa").value)
    assert found.high < 0
    assert differences["shortcut"]["sgc"].high < 0
    assert differences["shortcut"]["qa"].value == 0
    assert models["oracle"]["con"].value == scored(first.results, solver="upstream").mean("consistency").value
    assert blind["oracle"]["qa_drop"].value == first.blind.qa_drop.value


def test_runs_on_other_questions_are_refused(world):
    other = box_world(8, seed=3)
    here, there = (
        scored(asked(data, scripts.oracle, settings=Settings(qa=("blind",), graph=("blind",))))
        for data in (world, other)
    )
    with pytest.raises(UsageError, match="were asked different questions"):
        compare_tables({"a": here, "b": there})


def test_the_command_compares_runs_and_refuses_unlike_ones(world, tmp_path, capsys):
    few = box_world(2, seed=3, folder=tmp_path)
    plain = Settings(qa=("base",), graph=("base",))
    runs = [
        str(ask(few, tmp_path / name, f"scene-{name}", settings=plain)) for name in ("oracle", "shortcut")
    ]
    assert main(["scene", "score", *runs]) == 0
    assert "Differences from scripted:scene-oracle" in capsys.readouterr().out
    unlike = str(ask(box_world(2, seed=5, folder=tmp_path), tmp_path / "c", "scene-oracle", settings=plain))
    assert main(["scene", "score", runs[0], "--beside", unlike, "--figures", str(tmp_path / "f")]) != 0
    assert "different questions" in capsys.readouterr().err


def test_every_signature_says_how_many_scenes_it_needs(world):
    table = rows_of(needs_table(world.questions, {"base", "blind", "graphs"}))
    assert set(table) == set(SIGNATURES)
    assert (
        46 <= table["language prior"]["scenes"] <= 60
    )  # 46 scenes of equal size without a change exclude five points
    assert table["refusal"]["scenes"] < table["modality trust bias"]["scenes"]
    assert table["cognitive scaffold"]["scenes"] >= table["modality trust bias"]["scenes"]
    assert table["modality trust bias"]["here"] == "not measured: without predicted graph"
    assert table["semantic–geometric gap"]["here"].startswith("too few: 16")
    assert table["refusal"]["here"] == "enough: 16"


def test_the_number_it_needs_is_enough(tmp_path):
    n = scenes_needed(box_world(10, seed=6).questions, "language prior")
    world = box_world((n + 1) // 2, seed=7, folder=tmp_path)
    found = scored(asked(world, scripts.blind_prior, settings=SETTINGS)).signatures
    assert next(each for each in found if each.name == "language prior").is_raised


def test_the_plan_tells_it(tmp_path, capsys):
    world = box_world(2, seed=2, folder=tmp_path)
    folder = write_data(tmp_path, world.scenes.values(), world.questions, Manifest())
    assert main(["scene", "run", "--data", str(folder), "--plan", "--settings", "base,blind"]) == 0
    told = capsys.readouterr().out
    assert "Scenes that each signature needs" in told
    assert "not measured: without graphs" in told
