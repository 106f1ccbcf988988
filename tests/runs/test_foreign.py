"""Run folders and caches that somebody else has made or tampered with: refused by name, and nothing of theirs runs."""

import json
import shutil
import sqlite3
from dataclasses import replace

import pytest

from plans import Counting, forge, items
from theodolite.cli.main import main
from theodolite.core.errors import StorageError
from theodolite.core.types import Choice, Record, Response
from theodolite.runs import AnswerCache, LocalEngine, MeasureOptions, Parsed, Run, measure
from theodolite.runs.store import checksum

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


@pytest.fixture
def folder(tmp_path, info):
    class Choosing(Counting):
        def measure(self, items):
            return [replace(r, choice=Choice(("a", "b"), (-1.0, -2.0))) for r in super().measure(items)]

    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(3))
        measure(run, LocalEngine(Choosing()))
        run.write_parsed([Parsed(next(run.results()).item.id, "p/1", "parsed", 1)])
    return tmp_path / "run"


def tamper(folder, *statements):
    with sqlite3.connect(folder / "measured.sqlite") as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def put(folder, table, column, value):
    """Writes a value, as SQL writes it, into the second row, with a checksum that fits."""
    forge(folder, f"UPDATE {table} SET {column} = {value} WHERE seq = 2")  # noqa: S608


def read_all(folder):
    with Run.open(folder) as run:
        run.store.sessions()
        return list(run.results())


DEEP = "[" * 100_000

DAMAGE = {
    "request": ["{}", "[]", "5", "{", DEEP, '{"messages": [{"role": "user", "content": [5]}]}'],
    "options": ["{}", "[5]", "nothing"],
    "meta": ["[]", "5", "{"],
    "name": ["another"],
}


@pytest.mark.parametrize(("column", "value"), [(c, v) for c, values in DAMAGE.items() for v in values])
def test_a_damaged_item_is_named_with_its_file_and_row(folder, column, value):
    put(folder, "items", column, f"'{value}'")
    with pytest.raises(StorageError, match=r"measured\.sqlite: the item in row 2"):
        read_all(folder)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "'weird'"),
        ("text", "x'00ff'"),
        ("seconds", "'long'"),
        ("attempts", "'many'"),
        ("choice", "'{}'"),
        ("choice", "'[1]'"),
        ("choice", '\'{"a": "b"}\''),
        ("choice", "'{\"a\": NaN}'"),
        ('"values"', "'[]'"),
        ('"values"', "'{'"),
    ],
)
def test_a_damaged_record_is_named_with_its_file_and_row(folder, column, value):
    put(folder, "records", column, value)
    with pytest.raises(StorageError, match=r"measured\.sqlite: the record in row 2"):
        read_all(folder)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE sessions SET session = '{}'", "a session entry"),
        ("UPDATE sessions SET session = 'x'", "a session entry"),
        ("UPDATE parsed SET value = '{'", "a reading in row 1"),
    ],
)
def test_damaged_notes_and_readings_are_named(folder, statement, what, capsys):
    forge(folder, statement)
    with pytest.raises(StorageError, match=what):
        read_all(folder)
    assert main(["runs", "show", str(folder)]) == 2
    assert what in capsys.readouterr().err


@pytest.mark.parametrize(
    "statements",
    [
        ("ALTER TABLE items RENAME TO old", f"CREATE VIEW items AS {ENDLESS}"),
        ("CREATE TRIGGER t AFTER INSERT ON sessions BEGIN UPDATE records SET text = 'forged'; END",),
        ("CREATE TABLE more (x)",),
        ("DROP TABLE arrays",),
        ("CREATE INDEX i ON records (text)",),
    ],
)
def test_a_file_with_other_things_in_it_is_refused_unread(folder, info, statements, capsys):
    tamper(folder, *statements)
    for attempt in (lambda: Run.open(folder), lambda: Run.start(folder, info)):
        with pytest.raises(StorageError, match="does not have Theodolite's schema"):
            attempt()
    assert main(["runs", "list", str(folder.parent), "--json"]) == 0  # listed with its problem, at once
    assert "does not have Theodolite's schema" in json.loads(capsys.readouterr().out)[0]["problem"]


def test_a_killed_run_can_be_read_where_nothing_can_be_written(tmp_path, info):
    """Its answers lie in the write-ahead log; a file that may not change is read without one."""
    from test_trouble import without_privilege

    run = Run.start(tmp_path / "run", info)
    run.plan(items(5))
    measure(run, LocalEngine(Counting()))
    killed = tmp_path / "killed"
    shutil.copytree(tmp_path / "run", killed, ignore=shutil.ignore_patterns("*-shm"))
    run.__exit__()
    assert (killed / "measured.sqlite-wal").stat().st_size
    for path in killed.iterdir():
        path.chmod(0o444)
    killed.chmod(0o555)
    script = (
        "import sys\nfrom theodolite.runs import Run\n"
        "with Run.open(sys.argv[1]) as run:\n    print(len([r for r in run.results() if r.record]))"
    )
    done = without_privilege(script, killed)
    assert done.stdout.strip() == "5", done.stderr


@pytest.mark.parametrize(
    "answer", ["{}", "[]", "{", '{"text": 5, "reasoning": "", "finish": "", "tokens": [0, 0]}']
)
def test_a_damaged_answer_of_the_cache_is_named(tmp_path, answer):
    with AnswerCache(tmp_path) as cache:
        cache.put("k", Record("", Response("answered", text="left")))
        assert cache.get("k").response.text == "left"
        cache._db.execute("UPDATE answers SET answer = ?, sum = ?", (answer, checksum(("k", answer))))
        with pytest.raises(StorageError, match=r"answers\.sqlite: the answer of the key k"):
            cache.get("k")


def test_a_cache_with_other_things_in_it_is_refused(tmp_path):
    AnswerCache(tmp_path).__exit__()
    AnswerCache(tmp_path).__exit__()
    with sqlite3.connect(tmp_path / "answers.sqlite") as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END")
    db.close()
    with pytest.raises(StorageError, match="not an answer cache"):
        AnswerCache(tmp_path)


def test_half_a_surrogate_pair_does_not_stop_a_run_with_a_cache(tmp_path, info):
    class Odd(Counting):
        def measure(self, items):
            return [Record(item.id, Response("answered", text="half \ud83d pair")) for item in items]

    with Run.start(tmp_path / "run", info) as run, AnswerCache(tmp_path / "cache") as cache:
        run.plan(items(2))
        assert measure(run, LocalEngine(Odd()), MeasureOptions(cache=cache)).answered == 2
