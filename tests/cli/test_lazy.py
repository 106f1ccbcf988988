"""Commands are loaded when they are called: help and lists stay quick, and a plug-in's instrument gets commands."""

import json
import os
import subprocess
import sys

import pytest
from typer.main import get_command

from theodolite.cli.main import app, main
from theodolite.core.registry import Entry, registry
from theodolite.core.tables import Table
from theodolite.runs import Run
from toy_instrument import TOY, Toy, registered

PROGRAM = {f"theodolite.cli.{name}" for name in ("main", "options", "output")}
HEAVY = {"torch", "transformers", "scipy", "pydantic", "matplotlib", "PIL", "numpy", "openai", "pyarrow"}


def loaded_by(*words, **environment):
    """The modules that a command loads."""
    script = (
        "import sys\nfrom theodolite.cli.main import main\n"
        f"try:\n    main({list(words)!r})\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout, set(done.stderr.split())


@pytest.mark.parametrize("words", [["--help"], ["-h"], []])
def test_help_loads_no_command(words):
    shown, loaded = loaded_by(*words)
    assert "Run every instrument on a model" in " ".join(shown.split())
    assert {name for name in loaded if name.startswith("theodolite.cli.")} <= PROGRAM
    assert not {name for name in loaded if name.startswith("theodolite.instruments")}
    assert not loaded & (HEAVY | {"rich.progress", "theodolite.core.tables"})


def test_a_list_loads_no_instrument():
    shown, loaded = loaded_by("list")
    assert "compass" in shown
    assert not {name for name in loaded if name.startswith(("theodolite.instruments", "theodolite.models"))}


def test_completing_a_command_loads_no_command():
    asked = {"COMP_WORDS": "theodolite ", "COMP_CWORD": "1", "_THEODOLITE_COMPLETE": "complete_bash"}
    shown, loaded = loaded_by(**asked)
    known = (*registry().entries("command"), *registry().entries("instrument"))
    assert set(shown.split()) == {entry.name for entry in known}
    assert {name for name in loaded if name.startswith("theodolite.cli.")} <= PROGRAM


def test_help_names_every_command_under_its_heading(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f" {heading} ") for heading in ("Everyday", "Instruments", "Advanced")]
    assert places == sorted(places)
    for entry in registry().entries("command"):
        assert f" {entry.name} " in shown
        assert entry.summary.split()[0] in shown


@pytest.mark.parametrize("name", [entry.name for entry in registry().entries("command")])
def test_every_command_is_there_and_has_help(name, capsys):
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"theodolite {name}" in " ".join(shown.split())
    assert "--install-completion" not in shown


def test_an_unknown_command_is_refused(capsys):
    assert main(["compas"]) == 2
    told = capsys.readouterr().err
    assert "compas" in told
    assert "Traceback" not in told


def test_a_command_of_a_plug_in_is_listed_and_called(capsys, monkeypatch):
    entry = Entry("command", "hello", f"{__name__}:hello", "Says hello.", group="greetings", origin="lab")
    monkeypatch.setitem(registry()._entries, ("command", "hello"), entry)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[hello.__module__])
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "Greetings" in shown
    assert "Says hello." in shown
    assert main(["hello", "world"]) == 0
    assert capsys.readouterr().out == "hello world\n"


def hello(name: str) -> None:
    """Says hello."""
    print(f"hello {name}")  # noqa: T201 - what the command does


def test_a_broken_plug_in_breaks_its_own_command_alone(capsys, monkeypatch):
    entry = Entry("command", "broken", "no_such_module:app", "Is broken.", origin="lab")
    monkeypatch.setitem(registry()._entries, ("command", "broken"), entry)
    assert main(["--help"]) == 0
    assert "Is broken." in capsys.readouterr().out
    assert main(["broken"]) == 2
    assert "no_such_module" in capsys.readouterr().err
    assert main(["list", "models"]) == 0


@pytest.fixture
def toy():
    with registered(TOY):
        yield


def run(folder, *more, model="scripted:oracle"):
    return main(["toy", "run", "--model", model, "--size", "6", "--out", str(folder), *more])


def test_an_instrument_without_commands_gets_run_and_score(toy, tmp_path, capsys):
    assert main(["--help"]) == 0
    assert TOY.question in " ".join(capsys.readouterr().out.split())
    assert sorted(get_command(app).get_command(None, "toy").commands) == ["run", "score"]
    assert run(tmp_path / "a", "--json") == 0
    value = json.loads(capsys.readouterr().out)
    assert {"run", "instrument", "model", "tally", "tables"} == set(value)
    assert (value["instrument"], value["model"]) == ("toy", "scripted:oracle")
    assert value["tally"]["answered"] == 2 * 3 * 6
    (table,) = map(Table.from_json, value["tables"])
    assert table.name == "toy.metrics"
    rows = {(row[0], row[1]): row for row in table.rows}
    assert rows["the count is right", "crossed"][2].value == 1
    assert main(["toy", "score", str(tmp_path / "a" / "toy"), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["tables"] == value["tables"]
    with Run.open(tmp_path / "a" / "toy") as opened:
        assert opened.tables() == [table]


def test_the_same_command_resumes_and_shows_a_table(toy, tmp_path, capsys):
    assert run(tmp_path / "a") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the count is right aligned" in shown
    assert run(tmp_path / "a") == 0
    assert " ".join(capsys.readouterr().out.split()) == shown


def test_failed_items_give_status_one(toy, tmp_path, capsys):
    assert run(tmp_path / "a", model="scripted:flaky?every=2") == 1
    assert f"theodolite runs show {tmp_path / 'a' / 'toy'}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--data", "{folder}"], "no instrument can read the data set"),
        (["--data", "{folder}/nowhere"], "nowhere does not exist"),
        (["--size", "huge"], "there is no size 'huge'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(toy, tmp_path, capsys, more, words):
    assert run(tmp_path / "a", *(word.format(folder=tmp_path) for word in more)) == 2
    assert words in capsys.readouterr().err


class Needy(Toy):
    name = "needy"
    takes = "a file of dots"
    needs_data = True


NEEDY = Needy()


def test_one_that_needs_data_says_so(tmp_path, capsys, monkeypatch):
    entry = Entry("instrument", "needy", f"{__name__}:NEEDY", "needs data", origin="tests")
    monkeypatch.setitem(registry()._entries, ("instrument", "needy"), entry)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[hello.__module__])
    assert main(["needy", "run", "--model", "scripted:oracle", "--out", str(tmp_path / "a")]) == 2
    assert "pass your own with --data: a file of dots" in capsys.readouterr().err


def test_a_run_without_data_is_that_of_a_diagnosis_for_several_models(tmp_path, capsys):
    words = ["grid", "run", "--model", "scripted:guesser", "--model", "scripted:looker", "--size", "quick"]
    assert main([*words, "--limit", "3", "--out", str(tmp_path / "a"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [path.removeprefix(f"{tmp_path}/a/") for path in found["runs"]] == [
        f"scripted-{name}/{run}" for name in ("guesser", "looker") for run in ("grid", "grid-anchors")
    ]
    assert main([*words, "--explainers", "removal", "--out", str(tmp_path / "b")]) == 2
    assert "--explainers needs --data" in capsys.readouterr().err


def test_size_is_a_number_for_ones_own_data_and_only_where_it_applies(tmp_path, capsys):
    data = str(tmp_path / "grids")
    made = ["--size", "3", "--buckets", "M-F0-D1", "--density", "sparse"]
    assert main(["grid", "make", *made, "--out", data]) == 0
    words = ["grid", "run", "--data", data, "--model", "grid:symbolic-pure", "--plan", "--json"]
    for more, n in (([], 3), (["--explainers", "removal", "--size", "2"], 2)):
        capsys.readouterr()
        assert main([*words, *more]) == 0
        assert json.loads(capsys.readouterr().out)["plan"]["requests"] == n
    for more in (["--size", "2"], ["--explainers", "removal", "--size", "quick"]):
        assert main([*words, *more]) == 2
        assert "--size does not apply" in capsys.readouterr().err
