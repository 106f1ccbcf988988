"""A twin that is asked about rooms which it never learnt: the command says so, and so does every table of the run."""

from dataclasses import replace

import pytest
from scene_worlds import asked, box_world, scored

from theodolite.cli.main import main
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.data.files import Manifest, read_data, write_data
from theodolite.instruments.scene.questions import Settings
from theodolite.instruments.scene.score import compare_tables, qa_table
from theodolite.report.tables import as_html, as_markdown

BLIND = Settings(qa=("blind",), graph=("blind",))


@pytest.fixture(scope="module")
def world():
    return box_world(2, seed=1)


def test_every_page_of_such_a_run_says_it_and_names_the_command(world):
    score = scored(asked(world, scripts.oracle, settings=BLIND, model="pocket:grounded"))
    for table in (qa_table(score), compare_tables({"a": score, "b": score})[0]):
        for page in (as_markdown(table), as_html(table)):
            assert "has learnt only small rooms" in page
            assert "theodolite scene make --small" in page
    other = scored(asked(world, scripts.oracle, settings=BLIND, model="openai:x@y"))
    assert not qa_table(other).notes


def test_small_rooms_are_known(world):
    names = {name: f"pocket-0-{i:05d}" for i, name in enumerate(world.scenes)}
    known = replace(
        world,
        scenes={names[scene.id]: replace(scene, id=names[scene.id]) for scene in world.scenes.values()},
        questions=tuple(replace(q, scene=names[q.scene]) for q in world.questions),
    )
    assert not qa_table(scored(asked(known, scripts.oracle, settings=BLIND, model="pocket:grounded"))).notes


def test_the_command_says_it_before_asking(world, tmp_path, capsys):
    folder = write_data(tmp_path, world.scenes.values(), world.questions, Manifest())
    told = ["scene", "run", "--data", str(folder), "--plan", "--settings", "blind"]
    assert main([*told, "--model", "pocket:grounded"]) == 0
    assert "has learnt only small rooms" in capsys.readouterr().err
    assert main(told) == 0
    assert "has learnt only small rooms" not in capsys.readouterr().err


def test_the_command_that_it_names_makes_such_rooms(tmp_path):
    assert main(["scene", "make", "--small", "1", "--out", str(tmp_path / "rooms")]) == 0
    data = read_data(tmp_path / "rooms")
    assert list(data.scenes) == ["pocket-0-00000"]
    assert data.picture("pocket-0-00000") is not None
    assert main(["scene", "make", "--small", "1", "--no-render", "--out", str(tmp_path / "b")]) != 0
