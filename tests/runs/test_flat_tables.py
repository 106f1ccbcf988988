import csv
import json

import pyarrow.parquet as pq
import pytest

from plans import Counting, items
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.types import Choice, Item, Record, Request, Response
from theodolite.runs import LocalEngine, MeasureOptions, Parsed, Run, export_run, flat_tables, measure


@pytest.fixture
def run(tmp_path, info):
    class Choosing(Counting):
        def measure(self, items):
            return [
                Record(
                    item.id,
                    Response("answered", text='=2+2,"q"\nü'),
                    Choice(("a", "b"), (-1.0, -2.0)),
                    {"score": 0.5},
                )
                for item in items
            ]

    with Run.start(tmp_path / "run", info) as run:
        run.plan([*items(3), Item("odd", Request.ask("?"), meta={"gold": 7, "box": [1, 2]})])
        measure(run, LocalEngine(Choosing()), MeasureOptions(limit=3))
        run.write_parsed([Parsed(next(run.results()).item.id, "p/1", "parsed", {"x": 1})])
        yield run


def rows_of(kind, path):
    if kind == "parquet":
        return pq.read_table(path).to_pylist()
    if kind == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_every_item_is_a_row_with_its_answer(run, tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    assert export_run(run, path, kind=kind) == 4
    rows = rows_of(kind, path)
    assert [row["name"] for row in rows] == ["item-0", "item-1", "item-2", "odd"]
    assert [row["status"] for row in rows] == ["answered"] * 3 + ["pending"]
    assert rows[0]["text"] == '=2+2,"q"\nü'
    assert float(rows[0]["values.score"]) == 0.5
    assert json.loads(rows[0]["log_probabilities"]) == {"a": -1.0, "b": -2.0}
    assert json.loads(rows[0]["parsed.p/1.value"]) == {"x": 1}
    assert [str(row["meta.gold"]) for row in rows] == ["0", "1", "2", "7"]
    assert json.loads(rows[3]["meta.box"]) == [1, 2]
    assert not rows[3].get("text")


def test_a_place_that_cannot_be_written_is_named(run, tmp_path):
    for kind in ("parquet", "csv", "jsonl"):
        with pytest.raises(StorageError, match="nowhere"):
            export_run(run, tmp_path / "nowhere" / "x", kind=kind)


@pytest.mark.parametrize("name", ["measured.sqlite", "run.json", "scores.json", "lock", "pictures/x.png"])
@pytest.mark.parametrize("linked", [False, True])
def test_an_export_never_overwrites_the_run(run, tmp_path, name, linked):
    folder = run.folder
    if linked:
        folder = tmp_path / "link"
        folder.symlink_to(run.folder)
    before = sorted((path, path.read_bytes()) for path in run.folder.iterdir() if path.is_file())
    with pytest.raises(UsageError, match="a file of the run itself"):
        export_run(run, folder / name, kind="jsonl")
    assert sorted((path, path.read_bytes()) for path in run.folder.iterdir() if path.is_file()) == before


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_an_export_that_fails_leaves_the_old_file(run, tmp_path, monkeypatch, kind):
    path = tmp_path / "out"
    path.write_text("old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(flat_tables, "_write_json_lines" if kind == "jsonl" else "_write_table", full)
    with pytest.raises(StorageError, match="No space left"):
        export_run(run, path, kind=kind)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
