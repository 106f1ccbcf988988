"""Full disks, read-only folders, foreign and damaged files, two processes, newer versions: named, and nothing lost."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zlib

import pytest

from plans import Counting, forge, items
from theodolite.core.errors import DamageWarning, StorageError, UsageError
from theodolite.runs import LocalEngine, Run, describe, measure, read_info
from theodolite.runs.run import sealed


def answered(folder):
    with Run.open(folder) as run:
        return run.tally().answered


def without_privilege(script, *arguments):
    """Runs a script that file permissions bind, also where the tests run as the superuser, who is above them."""
    bound = [
        "setpriv",
        "--bounding-set=-dac_override,-dac_read_search",
        "--inh-caps=-dac_override,-dac_read_search",
    ]
    command = [*(bound if os.getuid() == 0 else []), sys.executable, "-c", script, *map(str, arguments)]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no setpriv here to give up the superuser's privileges with")


def test_a_full_disk_is_named_and_what_was_done_stays(tmp_path, info):
    class Filling(Counting):
        def measure(self, items):
            records = super().measure(items)
            if len(self.asked) > 40:
                # SQLite itself reports the file as full, as it does when the disk is.
                pages = run.store._db.execute("PRAGMA page_count").fetchone()[0]
                run.store._db.execute(f"PRAGMA max_page_count={pages}")
            return records

    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(400))
        with pytest.raises(StorageError, match=r"the disk that holds .*measured.sqlite is full"):
            measure(run, LocalEngine(Filling()))
    before = answered(tmp_path / "run")
    assert before >= 40
    with Run.start(tmp_path / "run", info) as run:
        assert measure(run, LocalEngine(Counting())).answered == 400


def test_a_really_full_disk_is_named(tmp_path, info):
    """The same on a small file system of its own, where that can be had."""
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with Run.start(mount / "run", info) as run, pytest.raises(StorageError, match="is full"):
            run.plan(items(500))
            measure(run, LocalEngine(Counting()))
        before = answered(mount / "run")
        subprocess.run(["mount", "-o", "remount,size=20m", str(mount)], check=True)
        with Run.start(mount / "run", info) as run:
            run.plan(items(500))
            assert run.tally().answered == before
            assert measure(run, LocalEngine(Counting())).answered == 500
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_a_read_only_folder_is_named(tmp_path, info):
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    script = (
        "import sys\nfrom theodolite.runs import Run, RunInfo\n"
        "info = RunInfo(instrument='x', model='x', identity='x', theodolite='0')\n"
        "try:\n    Run.start(sys.argv[1], info)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    for target in (folder, folder / "new"):
        done = without_privilege(script, target)
        assert done.stdout.startswith("StorageError cannot"), done
        assert str(target) in done.stdout


def test_a_finished_run_can_be_read_where_nothing_can_be_written(tmp_path, info):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(5))
        measure(run, LocalEngine(Counting()))
    for path in (tmp_path / "run").iterdir():
        path.chmod(0o444)
    (tmp_path / "run").chmod(0o555)
    script = "import sys\nfrom theodolite.runs import Run\nwith Run.open(sys.argv[1]) as run:\n    print(len(list(run.results())))"
    done = without_privilege(script, tmp_path / "run")
    assert done.stdout.strip() == "5", done.stderr


def test_a_file_that_is_no_database_is_named(tmp_path, info):
    Run.start(tmp_path / "run", info).__exit__()
    (tmp_path / "run" / "measured.sqlite").write_bytes(b"this is not a database" * 100)
    with pytest.raises(StorageError, match=r"measured.sqlite is not a SQLite file"):
        Run.open(tmp_path / "run")
    with pytest.raises(StorageError, match=r"measured.sqlite is not a SQLite file"):
        Run.start(tmp_path / "run", info)


def test_somebody_elses_database_is_named_and_left_alone(tmp_path, info):
    Run.start(tmp_path / "run", info).__exit__()
    path = tmp_path / "run" / "measured.sqlite"
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE letters (text)")
        db.execute("INSERT INTO letters VALUES ('dear')")
    db.close()
    with pytest.raises(StorageError, match="not from Theodolite"):
        Run.start(tmp_path / "run", info)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT * FROM letters").fetchall() == [("dear",)]
    db.close()


def test_a_damaged_database_is_named(tmp_path, info):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(2000))
    path = tmp_path / "run" / "measured.sqlite"
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StorageError, match=r"measured\.sqlite"), Run.open(tmp_path / "run") as run:
        list(run.results())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema_version": 1}', '{"instrument": 5}'])
def test_a_damaged_run_json_is_named(tmp_path, info, content):
    Run.start(tmp_path / "run", info).__exit__()
    (tmp_path / "run" / "run.json").write_text(content)
    with pytest.raises(StorageError, match=r"run\.json"):
        Run.open(tmp_path / "run")


def test_a_lost_store_is_named(tmp_path, info):
    Run.start(tmp_path / "run", info).__exit__()
    (tmp_path / "run" / "measured.sqlite").unlink()
    with pytest.raises(StorageError, match="answers of the run are lost"):
        Run.start(tmp_path / "run", info)


def test_a_run_of_a_newer_version_is_left_alone(tmp_path, info):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(3))
    path = tmp_path / "run" / "run.json"
    original = path.read_text()
    path.write_text(sealed({**json.loads(original), "schema_version": 99, "strange": 1}))
    with pytest.raises(StorageError, match=r"run\.json was written by a newer Theodolite \(format 99"):
        Run.start(tmp_path / "run", info)
    path.write_text(original)
    with sqlite3.connect(tmp_path / "run" / "measured.sqlite") as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StorageError, match=r"measured\.sqlite was written by a newer Theodolite"):
        Run.start(tmp_path / "run", info)


def test_two_processes_on_one_run(tmp_path, info):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(3))
        script = (
            "import sys\nfrom theodolite.runs import Run, read_info\nfrom pathlib import Path\n"
            "try:\n    Run.start(sys.argv[1], read_info(Path(sys.argv[1])))\n"
            "except Exception as error:\n    print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "run")], capture_output=True, text=True, check=True
        )
        assert f"another process (pid {os.getpid()}) is measuring into" in done.stdout
        assert measure(run, LocalEngine(Counting())).answered == 3
    Run.start(tmp_path / "run", info).__exit__()  # free again


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path, info):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match=r"thesis\.tex"):
        Run.start(tmp_path, info)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_way_is_named(tmp_path, info):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(StorageError, match="cannot create the run folder"):
        Run.start(tmp_path / "run", info)


def test_a_run_killed_before_it_was_described_is_begun_again(tmp_path, info):
    Run.start(tmp_path / "run", info).__exit__()
    (tmp_path / "run" / "run.json").unlink()
    with Run.start(tmp_path / "run", info) as run:
        assert run.plan(items(2)) == 2


def test_a_moved_run_is_read_with_its_pictures(tmp_path, info):
    from plans import pictured

    with Run.start(tmp_path / "run", info) as run:
        run.plan(pictured(2))
    shutil.move(tmp_path / "run", tmp_path / "elsewhere")
    with Run.open(tmp_path / "elsewhere") as run:
        assert all(result.item.request.pictures[0].size == (4, 4) for result in run.results())


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [
        ("<f8", "[2]", zlib.compress(bytes(1 << 22))),  # a bomb: far more than the shape says
        ("<f8", "[3]", zlib.compress(bytes(16))),
        ("<f8", "[1099511627776]", zlib.compress(bytes(16))),
        ("<f8", "[-1]", zlib.compress(bytes(16))),
        ("<f8", "{}", zlib.compress(b"")),
        ("O", "[2]", zlib.compress(bytes(16))),
        ("nonsense", "[2]", zlib.compress(bytes(16))),
        ("<f8", "[2]", zlib.compress(bytes(16))[:-5]),
        ("<f8", "[2]", b"not zlib"),
    ],
)
def test_a_foreign_array_is_refused(tmp_path, info, dtype, shape, data):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(1))
        measure(run, LocalEngine(Counting()))
    array = ("INSERT INTO arrays SELECT seq, 'map', ?, ?, ?, x'' FROM records", (dtype, shape, data))
    forge(tmp_path / "run", array, """UPDATE records SET arrays = '["map"]'""")
    with (
        Run.open(tmp_path / "run") as run,
        pytest.raises(StorageError, match="damaged or was not written by"),
    ):
        list(run.results(arrays=True))


def measured(folder, info, n=6):
    with Run.start(folder, info) as run:
        run.plan(items(n))
        measure(run, LocalEngine(Counting()))
        return run.tally()


def test_a_run_file_that_is_gone_is_written_again_from_its_copy(tmp_path, info):
    measured(tmp_path, info)
    (tmp_path / "run.json").unlink()
    with pytest.warns(DamageWarning, match=r"written again from its copy in measured\.sqlite"):
        assert measured(tmp_path, info).answered == 6
    assert read_info(tmp_path).model == info.model


def test_answers_whose_run_file_is_gone_with_its_copy_are_kept(tmp_path, info):
    measured(tmp_path, info)
    (tmp_path / "run.json").rename(tmp_path / ".kept")
    forge(tmp_path, "DELETE FROM info")
    before = (tmp_path / "measured.sqlite").read_bytes()
    with pytest.raises(StorageError, match=r"6 items.*run\.json is missing"):
        Run.start(tmp_path, info)
    assert (tmp_path / "measured.sqlite").read_bytes() == before
    (tmp_path / ".kept").rename(tmp_path / "run.json")
    assert measured(tmp_path, info).answered == 6


def test_answers_that_only_the_write_ahead_log_holds_are_kept_too(tmp_path, info):
    run = Run.start(tmp_path / "run", info)
    run.plan(items(6))
    killed = shutil.copytree(tmp_path / "run", tmp_path / "killed")
    run.__exit__()
    (killed / "run.json").unlink()
    with pytest.warns(DamageWarning, match="its copy"), Run.start(killed, info) as run:
        assert run.tally().planned == 6


@pytest.mark.parametrize("stage", ["nothing", "an empty file", "a header", "tables"])
def test_a_store_whose_making_was_cut_short_is_made_again(tmp_path, info, stage):
    path = tmp_path / "measured.sqlite"
    if stage == "an empty file":
        path.touch()
    if stage == "a header":
        sqlite3.connect(path).execute("PRAGMA journal_mode=WAL")
    if stage == "tables":
        Run.start(tmp_path, info).__exit__()
        (tmp_path / "run.json").unlink()
    assert measured(tmp_path, info).answered == 6


@pytest.mark.parametrize("name", ["measured.sqlite.backup", "measured.sqlite-old"])
def test_a_stranger_s_file_of_a_like_name_is_not_touched(tmp_path, info, name):
    (tmp_path / name).write_text("precious")
    with pytest.raises(UsageError, match="not empty"):
        Run.start(tmp_path, info)
    assert (tmp_path / name).read_text() == "precious"


def test_a_stranger_s_database_is_not_touched(tmp_path, info):
    with sqlite3.connect(tmp_path / "measured.sqlite") as db:
        db.execute("CREATE TABLE precious (x)")
    before = (tmp_path / "measured.sqlite").read_bytes()
    with pytest.raises(StorageError, match="not from Theodolite"):
        Run.start(tmp_path, info)
    assert (tmp_path / "measured.sqlite").read_bytes() == before


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "pipe"])
def test_a_lock_that_leads_elsewhere_destroys_nothing(tmp_path, info, kind):
    (tmp_path / "run").mkdir()
    precious, lock = tmp_path / "precious", tmp_path / "run" / "lock"
    precious.write_text("precious")
    if kind == "symbolic link":
        lock.symlink_to(precious)
    elif kind == "hard link":
        lock.hardlink_to(precious)
    else:
        os.mkfifo(lock)
    with pytest.raises(StorageError, match="lock"):
        Run.start(tmp_path / "run", info)
    assert precious.read_text() == "precious"


def test_a_link_in_the_place_of_a_file_to_come_destroys_nothing(tmp_path, info):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / f".run.json.{os.getpid()}").symlink_to(precious)
    Run.start(tmp_path / "run", info).__exit__()
    assert precious.read_text() == "precious"
    assert not (tmp_path / "run" / "run.json").is_symlink()


def test_reasons_hold_no_memory_address():
    told = describe(ValueError(f"cannot read {object()!r}"))
    assert told == "ValueError: cannot read <object object at 0x…>"
