"""Flipped bits: noticed or harmless, wherever they are; the next start keeps what is whole and asks the rest again."""

import itertools
import os
import random
import shutil
import sqlite3
import warnings
from dataclasses import replace

import numpy as np
import pytest

from plans import Counting, items, pictured, reseal
from theodolite.cli.main import main
from theodolite.core.errors import DamageWarning, StorageError, TheodoliteError
from theodolite.core.types import Choice, Record, Response
from theodolite.runs import AnswerCache, LocalEngine, MeasureOptions, Parsed, Run, measure, verify_run
from theodolite.runs.store import SCHEMA_VERSION

FIRST_PAGE = 4096
"""Bytes of the first page, which holds the header and the schema."""
MOST_FLIPS = 20_000
"""Of all bits of a small store, drawn by a seed; all of them take many minutes."""


class Varied(Counting):
    """Answers, refuses and fails, with choices and arrays."""

    def measure(self, items):
        return [
            self.record(int(item.name.split("-")[1]), record)
            for item, record in zip(items, super().measure(items), strict=True)
        ]

    def record(self, i, record):
        if i == 3:
            return replace(record, response=Response("refused", reason="no"))
        if i == 4:
            return replace(record, response=Response.failed("broken"))
        arrays = {"map": np.arange(6.0).reshape(2, 3) + i} if i % 2 else {}
        return replace(
            record, choice=Choice(("a", "b"), (-0.5, -1.0 - i)), values={"x": i / 3}, arrays=arrays
        )


PLAN = [*items(8), *(replace(item, name=f"seen-{i}") for i, item in enumerate(pictured(2), 8))]


@pytest.fixture
def small(tmp_path, info):
    folder = tmp_path / "run"
    with Run.start(folder, info) as run:
        run.plan(PLAN, whole=True)
        measure(run, LocalEngine(Varied()))
        run.write_parsed([Parsed(r.item.id, "p/1", "parsed", {"said": r.seq}) for r in run.results()])
        run.write_scores({"accuracy": 0.5})
    return folder


def read(folder):
    """Everything that a score can depend on."""
    with Run.open(folder) as run:
        results = [(r.seq, r.item, r.item.meta, _plain(r.record), r.parsed) for r in run.results(arrays=True)]
        return results, run.scores(), run.info


def _plain(record):
    if record is None:
        return None
    return replace(record, arrays={}), {name: array.tolist() for name, array in record.arrays.items()}


def noticed(folder, truth):
    """True if reading a damaged folder tells of it; else what is read must be the truth."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = read(folder)
        except TheodoliteError:
            return True
    if any(issubclass(each.category, DamageWarning) for each in told):
        assert [row for row in found[0] if row[3] is not None] == [
            row for row in found[0] if row[3] is not None and any(row[:4] == right[:4] for right in truth[0])
        ]
        return True
    assert found == truth
    return False


def flips(path, places):
    """Flips one bit after the other, and each back again."""
    with path.open("r+b", buffering=0) as file:
        for place, bit in places:
            byte = os.pread(file.fileno(), 1, place)[0]
            os.pwrite(file.fileno(), bytes([byte ^ 1 << bit]), place)
            yield place, bit
            os.pwrite(file.fileno(), bytes([byte]), place)


def used_bytes(path):
    return [i for i, byte in enumerate(path.read_bytes()) if byte]


@pytest.mark.parametrize("name", ["measured.sqlite", "run.json", "scores.json"])
def test_a_flipped_bit_is_noticed_or_harmless(small, name):
    truth, path, rng = read(small), small / name, random.Random(name)
    places = rng.sample(used_bytes(path), min(800, len(used_bytes(path)))) + rng.choices(
        range(path.stat().st_size), k=100
    )
    counts = [noticed(small, truth) for _ in flips(path, [(i, rng.randrange(8)) for i in places])]
    assert sum(counts) > len(counts) // 3  # the flips do hit what is read
    assert not noticed(small, truth)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_byte_of_a_store_and_every_bit_of_its_content(small):
    """A large part of: one bit of every byte; all bits of every byte in use."""
    truth, path, rng = read(small), small / "measured.sqlite", random.Random(1)
    used = set(used_bytes(path))
    places = [
        (i, bit)
        for i in range(path.stat().st_size)
        for bit in (range(8) if i in used else [rng.randrange(8)])
    ]
    places = rng.sample(places, min(len(places), MOST_FLIPS))
    for _ in flips(path, places):
        noticed(small, truth)


def test_what_a_killed_process_left_in_the_log_is_read_as_written_or_not_at_all(tmp_path, info):
    """SQLite ends the log at a damaged page, as after a power cut: later answers are missing and asked again."""
    run = Run.start(tmp_path / "run", info)
    run.plan(PLAN, whole=True)
    measure(run, LocalEngine(Varied(batch_size=1)))
    killed = shutil.copytree(tmp_path / "run", tmp_path / "killed", ignore=shutil.ignore_patterns("*-shm"))
    run.__exit__()
    truth, rng = read(killed)[0], random.Random(2)
    log = killed / "measured.sqlite-wal"
    (killed / "measured.sqlite-shm").unlink(missing_ok=True)
    whole = log.read_bytes()
    for place in rng.sample(range(len(whole)), 60):
        data = bytearray(whole)
        data[place] ^= 1 << rng.randrange(8)
        other = shutil.copytree(killed, tmp_path / "other")
        (other / log.name).write_bytes(data)
        try:
            found = read(other)[0]
        except StorageError:
            found = []
        by_name = {row[1].name: row for row in truth}
        assert all(row[3] is None or row[3] == by_name[row[1].name][3] for row in found)
        shutil.rmtree(other)


@pytest.mark.parametrize(
    ("damage", "n_asked"),
    [
        ("UPDATE records SET text = 'forged' WHERE seq = 2", 1),
        ("UPDATE items SET meta = '{}' WHERE seq = 3", 1),
        (
            "UPDATE items SET meta = '{}' WHERE seq IN (1, 5)",
            1,
        ),  # the one in row 5 has failed and is asked anyway
        ("UPDATE arrays SET data = x'00' WHERE seq = 2", 1),
        ("DELETE FROM arrays WHERE seq = 2", 1),
        ("UPDATE counts SET n = 7 WHERE name = 'records'", 0),
        ("DELETE FROM counts", 0),
        ("UPDATE sessions SET session = 'x'", 0),
        ("UPDATE parsed SET value = '9' WHERE seq = 1", 0),
    ],
)
def test_what_is_damaged_is_told_and_asked_again_and_nothing_else(small, info, damage, n_asked):
    truth = read(small)
    with sqlite3.connect(small / "measured.sqlite") as db:
        db.execute(damage)
    db.close()
    assert verify_run(small)
    again = Varied()
    with pytest.warns(DamageWarning, match="was damaged"):
        run = Run.start(small, info)
    with run:
        run.plan(PLAN, whole=True)
        measure(run, LocalEngine(again))
    assert len(set(again.asked) - {"item-4"}) == n_asked  # item-4 had failed
    assert not verify_run(small)
    assert [row[:3] for row in read(small)[0]] == [row[:3] for row in truth[0]]
    assert [_said(row) for row in read(small)[0]] == [_said(row) for row in truth[0]]


def _said(row):
    record, arrays = row[3]
    return record.response.status, record.response.text, record.choice, record.values, arrays


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("n", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_after_any_flipped_bit_the_same_command_ends_with_the_same_answers(small, info, tmp_path, n):
    """Or, if it is in the header or the schema at the start of the file, with one sentence that says what to do."""
    truth, rng = read(small), random.Random(3)
    whole = (small / "measured.sqlite").read_bytes()
    used = used_bytes(small / "measured.sqlite")
    first_page = [i for i in used if i < FIRST_PAGE]
    refused = []
    for place in [*rng.sample(used, n), *rng.sample(first_page, n // 2)]:
        if place in range(60, 64):  # the version number, which may be a newer Theodolite's
            continue
        other = shutil.copytree(small, tmp_path / "other")
        data = bytearray(whole)
        data[place] ^= 1 << rng.randrange(8)
        (other / "measured.sqlite").write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DamageWarning)
                with Run.start(other, info) as run:
                    run.plan(PLAN, whole=True)
                    measure(run, LocalEngine(Varied()))
        except StorageError as error:
            refused.append((place, str(error), (other / "measured.sqlite").read_bytes() == data))
        else:
            assert not verify_run(other), place
            assert [row[:3] for row in read(other)[0]] == [row[:3] for row in truth[0]], place
            assert [_said(row) for row in read(other)[0]] == [_said(row) for row in truth[0]], place
        shutil.rmtree(other)
    for place, message, is_as_it_was in refused:
        assert place < FIRST_PAGE, (place, message)
        assert "choose another --out" in message
        assert is_as_it_was, place


def test_a_damaged_page_costs_only_its_own_items(tmp_path, info):
    """Pages of rows in the middle of a large store are overwritten; all other answers are kept."""
    plan = items(400)
    with Run.start(tmp_path / "run", info) as run:
        run.plan(plan, whole=True)
        measure(run, LocalEngine(Counting()))
    path = tmp_path / "run" / "measured.sqlite"
    data = bytearray(path.read_bytes())
    n_pages = len(data) // FIRST_PAGE
    for page in (n_pages // 3, n_pages // 2):
        data[page * FIRST_PAGE : (page + 1) * FIRST_PAGE] = bytes(FIRST_PAGE)
    path.write_bytes(data)
    again = Counting()
    with pytest.warns(DamageWarning, match="was damaged"):
        run = Run.start(tmp_path / "run", info)
    with run:
        run.plan(plan, whole=True)
        measure(run, LocalEngine(again))
        assert [result.item.name for result in run.results()] == [item.name for item in plan]
    assert 0 < len(again.asked) < 100
    assert (tmp_path / "run" / "measured.sqlite.damaged").read_bytes() == data
    assert not verify_run(tmp_path / "run")


def test_a_damaged_schema_is_told_with_what_to_do(small, info, capsys):
    path = small / "measured.sqlite"
    damaged = path.read_bytes().replace(b"CREATE TABLE records", b"CREATE TABLE rekords")
    path.write_bytes(damaged)
    with pytest.raises(StorageError, match=r"restore a copy of it, or choose another --out$"):
        Run.start(small, info)
    assert path.read_bytes() == damaged
    assert main(["runs", "verify", str(small)]) == 1
    assert "restore a copy" in capsys.readouterr().out


def test_verify_tells_what_is_damaged_with_its_status(small, capsys):
    assert main(["runs", "verify", str(small)]) == 0
    assert "is whole" in capsys.readouterr().err
    picture = next((small / "pictures").iterdir())
    for path in (picture, small / "run.json", small / "scores.json"):
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"1", b"2") if path.suffix == ".json" else whole[:50])
        assert main(["runs", "verify", str(small)]) == 1
        assert path.name in capsys.readouterr().out
        path.write_bytes(whole)
    (small / "measured.sqlite").write_bytes(b"")
    assert main(["runs", "verify", str(small), "--json"]) == 1
    assert main(["runs", "verify", str(small.parent / "nowhere")]) == 2


def test_a_damaged_picture_is_written_again(small, info):
    picture = next((small / "pictures").iterdir())
    whole = picture.read_bytes()
    picture.write_bytes(whole[:50])
    with Run.start(small, info) as run, pytest.warns(DamageWarning, match="has been written again"):
        run.plan(PLAN, whole=True)
    assert picture.read_bytes() == whole


def test_a_damaged_run_file_is_written_again(small, info):
    whole = (small / "run.json").read_bytes()
    (small / "run.json").write_bytes(whole.replace(b'"seed": 0', b'"seed": 8'))
    with pytest.raises(StorageError, match="its checksum does not fit"):
        Run.open(small)
    with pytest.warns(DamageWarning, match="written again"):
        Run.start(small, info).__exit__()
    assert (small / "run.json").read_bytes() == whole


FORMAT_1 = """
CREATE TABLE items (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    request TEXT NOT NULL,
    options TEXT NOT NULL,
    meta TEXT NOT NULL
);
CREATE TABLE records (
    seq INTEGER PRIMARY KEY REFERENCES items (seq),
    status TEXT NOT NULL,
    text TEXT NOT NULL,
    reason TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    finish TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    attempts INTEGER NOT NULL,
    choice TEXT,
    "values" TEXT NOT NULL,
    reused INTEGER NOT NULL,
    key TEXT,
    at REAL NOT NULL
);
CREATE INDEX records_by_key ON records (key) WHERE key IS NOT NULL;
CREATE TABLE parsed (
    seq INTEGER NOT NULL REFERENCES items (seq),
    parser TEXT NOT NULL,
    status TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (seq, parser)
) WITHOUT ROWID;
CREATE TABLE arrays (
    seq INTEGER NOT NULL REFERENCES items (seq),
    name TEXT NOT NULL,
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (seq, name)
) WITHOUT ROWID;
CREATE TABLE sessions (started TEXT NOT NULL, session TEXT NOT NULL);
"""


def as_format_1(folder):
    """Rewrites a run as the first version wrote it: without checksums."""
    new = folder / "measured.sqlite"
    old = new.rename(folder / ".new")
    with sqlite3.connect(new) as db:
        db.executescript(f"PRAGMA application_id={0x7E0D0117}; PRAGMA user_version=1; {FORMAT_1}")
        db.execute("ATTACH ? AS new", (str(old),))
        for table in ("items", "records", "parsed", "arrays", "sessions"):
            columns = ", ".join(f'"{row[1]}"' for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO main.{table} SELECT {columns} FROM new.{table}")  # noqa: S608
    db.close()
    old.unlink()
    text = (folder / "run.json").read_text()
    lines = [line for line in text.splitlines() if "checksum" not in line]
    newest = f'"schema_version": {SCHEMA_VERSION}'
    (folder / "run.json").write_text("\n".join(lines).replace(newest, '"schema_version": 1'))


def test_a_run_of_the_first_format_is_read_and_converted_when_it_is_resumed(small, info):
    truth = read(small)
    as_format_1(small)
    before = (small / "measured.sqlite").read_bytes()
    assert read(small)[0] == truth[0]
    assert not verify_run(small)
    assert (small / "measured.sqlite").read_bytes() == before  # reading changes nothing
    again = Varied()
    with Run.start(small, info) as run:
        run.plan(PLAN, whole=True)
        measure(run, LocalEngine(again))
    assert set(again.asked) == {"item-4"}  # which had failed
    assert [_said(row) for row in read(small)[0]] == [_said(row) for row in truth[0]]
    with sqlite3.connect(small / "measured.sqlite") as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    db.close()
    assert not verify_run(small)


def test_a_run_of_the_first_format_is_converted_when_it_is_scored(small):
    truth = read(small)
    as_format_1(small)
    with Run.open(small, writable=True) as run:
        run.write_parsed([Parsed(r.item.id, "p/1", "parsed", {"said": r.seq}) for r in run.results()])
    assert read(small)[0] == truth[0]


@pytest.mark.parametrize(
    "statement",
    ["CREATE VIEW v AS SELECT 1", "CREATE TABLE more (x)", "DROP TABLE parsed", "PRAGMA user_version=0"],
)
def test_another_file_that_says_it_is_of_the_first_format_is_refused(small, info, statement):
    as_format_1(small)
    with sqlite3.connect(small / "measured.sqlite") as db:
        db.execute(statement)
    db.close()
    for attempt in (lambda: Run.open(small), lambda: Run.start(small, info)):
        with pytest.raises(StorageError, match="format"):
            attempt()


def as_format_2(folder):
    """Rewrites a run as the second version wrote it: without places, but with checksums."""
    with sqlite3.connect(folder / "measured.sqlite") as db:
        db.execute("UPDATE records SET place = NULL")
        reseal(db)
        db.executescript("ALTER TABLE records DROP COLUMN place; PRAGMA user_version=2;")
    db.close()
    lines = [line for line in (folder / "run.json").read_text().splitlines() if "checksum" not in line]
    newest = f'"schema_version": {SCHEMA_VERSION}'
    (folder / "run.json").write_text("\n".join(lines).replace(newest, '"schema_version": 2'))


def places(folder):
    with Run.open(folder) as run:
        return [result.record.place for result in run.results() if result.record is not None]


def test_a_run_of_the_second_format_is_read_without_places_and_resumed_with_them(small, info):
    truth = read(small)
    assert sorted(places(small)) == list(range(1, len(PLAN) + 1))
    as_format_2(small)
    before = (small / "measured.sqlite").read_bytes()
    assert read(small)[0] == truth[0]
    assert set(places(small)) == {None}
    assert not verify_run(small)
    assert (small / "measured.sqlite").read_bytes() == before  # reading changes nothing
    again = Varied()
    with Run.start(small, info) as run:
        run.plan(PLAN, whole=True)
        measure(run, LocalEngine(again))
        assert run.info.schema_version == SCHEMA_VERSION
    assert set(again.asked) == {"item-4"}  # which had failed
    assert sorted(places(small), key=str) == [1, *[None] * (len(PLAN) - 1)]
    assert [_said(row) for row in read(small)[0]] == [_said(row) for row in truth[0]]
    assert not verify_run(small)


@pytest.mark.parametrize("is_scored", [True, False])
def test_damage_of_the_second_format_is_not_lost_by_the_third(small, info, is_scored):
    as_format_2(small)
    with sqlite3.connect(small / "measured.sqlite") as db:
        db.execute("UPDATE records SET text = 'forged' WHERE seq = 2")
    db.close()
    assert [damage.what for damage in verify_run(small)] == ["the record of 'item-1' (row 2)"]
    with pytest.warns(DamageWarning, match="record in row 2 is damaged"):
        read(small)
    if is_scored:
        Run.open(small, writable=True).__exit__()
        assert [damage.what for damage in verify_run(small)] == ["the record of 'item-1' (row 2)"]
    again = Varied()
    with pytest.warns(DamageWarning, match="was damaged"):
        run = Run.start(small, info)
    with run:
        run.plan(PLAN, whole=True)
        measure(run, LocalEngine(again))
    assert set(again.asked) == {"item-1", "item-4"}
    assert not verify_run(small)


@pytest.mark.parametrize("statement", ["CREATE VIEW v AS SELECT 1", "DROP TABLE parsed"])
def test_another_file_that_says_it_is_of_the_second_format_is_refused(small, info, statement):
    as_format_2(small)
    with sqlite3.connect(small / "measured.sqlite") as db:
        db.execute(statement)
    db.close()
    before = (small / "measured.sqlite").read_bytes()
    for attempt in (lambda: Run.open(small), lambda: Run.start(small, info)):
        with pytest.raises(StorageError, match="does not have Theodolite's schema"):
            attempt()
    assert (small / "measured.sqlite").read_bytes() == before


def test_a_damaged_answer_of_the_cache_is_asked_again(tmp_path, info):
    for number, text in enumerate(["left", "left", "left"]):
        with AnswerCache(tmp_path / "cache") as cache:
            if number == 1:
                cache._db.execute("UPDATE answers SET answer = replace(answer, 'answer to', 'forged')")
            with Run.start(tmp_path / f"run-{number}", info) as run:
                run.plan(items(3))
                asked = Counting()
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    measure(run, LocalEngine(asked), MeasureOptions(cache=cache))
                assert all("answer to" in r.record.response.text for r in run.results()), text
        assert len(asked.asked) == (0 if number == 2 else 3)
        assert bool(told) == (number == 1)


def test_an_older_cache_is_converted(tmp_path):
    with AnswerCache(tmp_path) as cache:
        cache.put("k", Record("", Response("answered", text="left")))
        (answer,) = cache._db.execute("SELECT answer FROM answers").fetchone()
    (tmp_path / "answers.sqlite").unlink()
    with sqlite3.connect(tmp_path / "answers.sqlite") as db:
        db.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID")
        db.execute("INSERT INTO answers VALUES ('k', ?)", (answer,))
    db.close()
    for _ in range(2):
        with AnswerCache(tmp_path) as cache:
            assert cache.get("k").response.text == "left"


def test_what_cannot_be_stored_costs_only_its_own_item(tmp_path, info):
    """Whatever a model or a plug-in returns."""
    odd = {
        "item-1": {"response": Response("answered", text="x", prompt_tokens=1 << 80)},
        "item-2": {"response": Response("answered", text="x", seconds=float("nan"))},
        "item-3": {"arrays": {"map": np.array(["text"])}},
        "item-5": {"choice": Choice(("a\ud83d", "b"), (-1.0, -2.0))},
    }

    class Odd(Counting):
        def measure(self, items):
            return [
                replace(record, **odd.get(item.name, {}))
                for item, record in zip(items, super().measure(items), strict=True)
            ]

    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(8))
        tally = measure(run, LocalEngine(Odd()))
        assert (tally.answered, tally.failed) == (6, 2)
        failed = {r.item.name: r.record.response.reason for r in run.results() if r.record.response.reason}
    assert set(failed) == {"item-2", "item-3"}
    assert all("cannot be stored" in reason for reason in failed.values())


def test_order_is_kept_when_lost_items_are_planned_again(tmp_path, info):
    for lost in itertools.combinations(range(1, 6), 2):
        folder = tmp_path / str(lost)
        with Run.start(folder, info) as run:
            run.plan(items(5), whole=True)
        with sqlite3.connect(folder / "measured.sqlite") as db:
            db.execute(f"UPDATE items SET meta = '1' WHERE seq IN {lost}")  # noqa: S608
        db.close()
        with pytest.warns(DamageWarning):
            run = Run.start(folder, info)
        with run:
            run.plan(items(5), whole=True)
            assert [r.item.name for r in run.results()] == [f"item-{i}" for i in range(5)]
