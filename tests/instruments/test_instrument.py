"""The contract of instruments: what they are found by, what each has, and a sixth one that goes through everything."""

import inspect
import json
from functools import partial

import known_models
import pytest

import theodolite
from theodolite.cli.main import main
from theodolite.core.errors import ContractError, StorageError, UsageError
from theodolite.core.registry import Entry, registry
from theodolite.core.scores import ItemScore
from theodolite.diagnose.api import browse
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.separation import Twins
from theodolite.instruments.instrument import (
    Instrument,
    Study,
    UserData,
    find_instruments,
    instrument_of_run,
    instruments,
    made,
    metric_table,
)
from theodolite.report.html.write import write_report
from theodolite.runs import Run
from theodolite.stats import score_mean
from toy_instrument import TOY, Toy, registered

FIVE = ["ask", "compass", "grid", "scene", "trace"]
LOOKS, READS = "scripted:looks", "scripted:reads"


def test_the_registry_knows_five_instruments():
    entries = registry().entries("instrument")
    assert [entry.name for entry in entries] == FIVE
    assert all(entry.summary and entry.origin == "theodolite" for entry in entries)
    assert [each.name for each in instruments()] == FIVE


@pytest.mark.parametrize("name", FIVE)
def test_every_instrument_says_what_it_is(name):
    (found,) = find_instruments([name])
    assert isinstance(found, Instrument)
    assert found.question.endswith("?")
    assert found.run_kinds[0] == name
    assert found.takes
    keys = [metric.key for metric in found.metrics]
    assert len(set(keys)) == len(keys) > 4
    assert {metric.instrument for metric in found.metrics} == {name}


def test_no_two_instruments_score_the_same_kind_of_run():
    kinds = [kind for each in instruments() for kind in each.run_kinds]
    assert len(set(kinds)) == len(kinds)
    for each in instruments():
        assert all(instrument_of_run(kind) is each for kind in each.run_kinds)
    assert instrument_of_run("sextant") is None


def test_instruments_are_found_in_their_own_order_each_once():
    assert [each.name for each in find_instruments(["trace", "ask", "grid", "trace"])] == [
        "ask",
        "grid",
        "trace",
    ]


@pytest.mark.parametrize("names", [[], ["sextant"], ["grid", "Grid"]])
def test_a_name_that_is_unknown_is_refused_with_those_that_are_known(names):
    with pytest.raises(UsageError, match="ask, compass, grid, scene, trace"):
        find_instruments(names)


@pytest.mark.parametrize(
    ("target", "name", "words"),
    [
        ("json:loads", "wrong", "is not an Instrument"),
        ("toy_instrument:TOY", "wrong", "calls itself 'toy'"),
        ("toy_instrument:NOBODY", "wrong", "does not exist"),
    ],
)
def test_what_is_no_instrument_is_told(monkeypatch, target, name, words):
    entry = Entry("instrument", name, target, "is wrong", origin="lab")
    monkeypatch.setitem(registry()._entries, ("instrument", name), entry)
    with pytest.raises(ContractError, match=words):
        find_instruments([name])


def test_an_instrument_must_have_metrics_a_plan_and_scores():
    with pytest.raises(TypeError, match="abstract"):
        type("Empty", (Instrument,), {"name": "empty"})()
    own = [name for name, value in vars(Toy).items() if callable(value)]
    assert own == ["plan", "score"]  # all the rest has a default


def test_a_table_of_metrics_has_a_row_for_each_metric_and_split():
    scores = [
        *(ItemScore(f"a{i}", "toy.right", float(i < 6), f"a{i}", "aligned") for i in range(8)),
        *(ItemScore(f"c{i}", "toy.right", 0.0, f"c{i}", "crossed") for i in range(4)),
        ItemScore("c4", "toy.right", None, "c4", "crossed", reason="refused"),
        ItemScore("c4", "toy.changes", None, "c4", "crossed", reason="refused"),
    ]
    table = metric_table(TOY, scores)
    assert (table.name, table.title) == ("toy.metrics", TOY.question)
    assert [row[:2] + row[3:] for row in table.rows] == [
        ("the count is right", "aligned", 8, 0),
        ("the count is right", "crossed", 4, 1),
        ("the count changes when the picture is blank", "crossed", 0, 1),
    ]
    assert table.rows[0][2] == score_mean(TOY.metrics[0], scores[:8])
    assert table.rows[2][2] is None


def test_a_study_keeps_its_data_apart_by_name_size_and_seed(tmp_path):
    places = {
        Study(tmp_path, size, seed).place(name)
        for size in ("quick", "large", 12)
        for seed in (0, 1)
        for name in ("grid-aligned", "grid-crossed")
    }
    assert len(places) == 12
    assert {place.parent for place in places} == {tmp_path}
    assert Study(tmp_path).splits == ("aligned", "crossed")


def test_user_data_are_described(tmp_path):
    assert UserData("grid", "grids", tmp_path).words == str(tmp_path)
    own = UserData("compass", "coco", tmp_path / "a.json", tmp_path / "val")
    assert own.words == f"{tmp_path / 'a.json'} with the pictures in {tmp_path / 'val'}"
    assert TOY.describe(Study(tmp_path, data=own)) == own.words


def test_data_that_are_there_are_not_made_again(tmp_path):
    def make(folder):
        folder.mkdir()
        (folder / "whole").write_text("")

    assert made(tmp_path / "deep" / "set", make) == tmp_path / "deep" / "set"
    assert made(tmp_path / "deep" / "set", lambda _: pytest.fail("made again")).is_dir()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["set"]


def test_data_that_were_left_half_made_are_made_anew(tmp_path):
    def broken(folder):
        folder.mkdir()
        (folder / "half").write_text("")
        raise RuntimeError("no more power")

    with pytest.raises(RuntimeError, match="power"):
        made(tmp_path / "set", broken)
    assert not (tmp_path / "set").exists()
    made(tmp_path / "set", lambda folder: folder.mkdir() or (folder / "whole").write_text(""))
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["whole"]
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_no_room_for_data_is_told(tmp_path):
    def full(_):
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match=r"No space left on device; .*--out"):
        made(tmp_path / "set", full)


@pytest.fixture(scope="module")
def sixth(tmp_path_factory):
    """A diagnosis by an instrument that only this test knows, of two scripted models."""
    folder = tmp_path_factory.mktemp("sixth")
    with pytest.MonkeyPatch.context() as patch, registered(TOY):
        known_models.put_in(patch)
        request = partial(DiagnosisRequest, twins=Twins(LOOKS, READS))
        patch.setattr("theodolite.diagnose.api.DiagnosisRequest", request)
        found = theodolite.diagnose([LOOKS, READS], out=folder, instruments=["toy"], size="quick")
        write_report(folder)
        yield found, folder


def test_a_sixth_instrument_is_short():
    assert len(inspect.getsource(Toy).splitlines()) < 55


def test_a_sixth_instrument_goes_through_a_diagnosis(sixth):
    found, folder = sixth
    top, bottom = (found.view(model, "toy") for model in (LOOKS, READS))
    assert (top.looking[0].looking.value, bottom.looking[0].looking.value) == (1, 0)
    assert top.verdict.standing == found.diagnosis.model(LOOKS).verdict.standing
    assert top.verdict.standing in {"looks", "looks at least sometimes"}
    assert bottom.verdict.standing in {"does not look", "not settled"}
    rows = [row for row in found.items() if row.model == LOOKS and row.condition == "plain"]
    assert {row.correct for row in rows} == {True}
    assert all(row.values["toy.right"] == 1 for row in rows)
    assert all((folder / name).is_file() for row in rows for name in row.pictures)
    assert found.diagnosis.data == {"toy": "built-in data"}


def test_a_sixth_instrument_has_its_place_in_the_page(sixth):
    page = (sixth[1] / "index.html").read_text(encoding="utf-8")
    assert '<section id="toy"' in page
    assert TOY.question in page
    assert "the count changes when the picture is blank" in page
    assert 'id="def-toy.right"' in page


def test_a_sixth_instrument_is_listed_and_its_runs_are_browsed(sixth, capsys):
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["instruments"] == [*FIVE, "toy"]
    assert main(["list", "instruments"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert TOY.question in shown
    assert "from tests" in shown
    with Run.open(sixth[1] / sixth[0].view(LOOKS, "toy").runs[0]) as run:
        browsed = browse(run, lambda picture: picture.digest)
    assert {(figure.key, figure.split): figure.figure.value for figure in browsed.figures} == {
        (key, split): 1.0 for key in ("toy.right", "toy.changes") for split in ("aligned", "crossed")
    }
    assert not browsed.notes


def test_a_sixth_instrument_is_told_apart_by_the_twins(tmp_path, sixth, monkeypatch):
    from theodolite.twins.separate import Sides, separate
    from theodolite.twins.workspace import Workspace

    known_models.put_in(monkeypatch)
    table = separate(Workspace(tmp_path, size=13), sides=Sides(LOOKS, READS), chosen=[TOY])
    assert {row.metric.key: row.auc.value for row in table.rows} == {"toy.right": 1.0, "toy.changes": 1.0}
    assert table.failing == ()
