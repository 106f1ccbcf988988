"""Every cell of the table of faults: each fault is a real one, in a process of its own."""

import json
import os
import shutil
import signal
import subprocess
import time
from importlib import import_module
from pathlib import Path

import pytest
from faults_table import CELLS, COMMANDS, FAULTS, as_markdown, commands_of
from kills import finished_items, killed_after, start

from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.instrument import instruments
from theodolite.runs import Run, find_runs

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
SLOW = "scripted:looker?delay=0.15&batch_size=2"
QUICK = "scripted:looker"
MAKES = {
    "scene": ["scene", "make", "--indoor", "2", "--outdoor", "1", "--no-render"],
    "trace": ["trace", "make", "--size", "1"],
    "grid": ["grid", "make", "--buckets", "M-F0-D2", "--size", "8"],
}
NINE_YEARS_S = 9 * 365 * 86_400.0


@pytest.fixture(scope="module")
def squares(tmp_path_factory):
    folder = tmp_path_factory.mktemp("squares") / "data"
    write_questions(make_squares(4), folder)
    for name in ("diagnose", "instrument", "runs"):
        import_module(f"theodolite.cli.{name}")  # before the processes are forked
    instruments()
    return folder


class Program:
    """The program in processes of its own, and what it printed."""

    def __init__(self, squares, folder):
        self.squares, self.folder, self.log = squares, folder, folder / "log"

    def words(self, command, out, model=QUICK):
        asking = {
            "run": ["ask", "run", "--data", str(self.squares), "--model", model],
            "diagnose": [
                *("diagnose", "--data", str(self.squares), "--instruments", "ask", "--size", "6"),
                *("--model", model),
            ],
            **MAKES,
        }
        return [*asking[command], "--out", str(out)]

    def start(self, words, before=lambda: None):
        self.log.write_text("")
        return start(words, self.log, before)

    def run(self, words, before=lambda: None):
        status = killed_after(self.start(words, before), 280)
        told = self.log.read_text()
        assert "Traceback" not in told, told
        assert "internal error" not in told, told
        return status, " ".join(told.split())

    def ended(self, pid):
        return killed_after(pid, 280)


@pytest.fixture
def program(squares, tmp_path):
    return Program(squares, tmp_path)


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a file system of some size."""
    mounted = []

    def mount(options):
        place = tmp_path / f"disk-{len(mounted)}"
        place.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", str(place)], check=True)


def answered(out):
    return len(finished_items(out))


def wait_for(pid, is_reached):
    """Wait until a process has come so far."""
    while not is_reached():
        time.sleep(0.002)
        assert os.waitpid(pid, os.WNOHANG) == (0, 0), "it ended too early"


def runs_in(out):
    return find_runs(out) if out.exists() else []


def has_answers(out, n=3):
    for path in runs_in(out):
        with Run.open(path) as run:
            if run.tally().answered >= n:
                return True
    return False


def makes(fault):
    return [pytest.param(name, id=f"{fault}-{name}") for name in MAKES]


def asking(fault):
    return [command for command in commands_of(fault) if command in {"run", "diagnose"}]


def measured(program, out, model=QUICK):
    status, told = program.run(program.words("run", out, model))
    assert status == 0, told
    return finished_items(out)


def test_the_table_of_the_documentation_is_the_tested_one():
    page = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")
    assert as_markdown() in page
    assert set(CELLS) == {(fault, command) for fault in FAULTS for command in COMMANDS}
    for fault in FAULTS:
        assert f"test_{fault.replace('-', '_')}" in Path(__file__).read_text(encoding="utf-8")


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", asking("kill"))
def test_kill_and_test_stop_of_what_asks(program, tmp_path, command, sent):
    out = tmp_path / "out"
    words = program.words(command, out, SLOW)
    pid = program.start(words)
    wait_for(pid, lambda: has_answers(out))
    os.kill(pid, sent)
    status = program.ended(pid)
    kept = finished_items(out)
    assert len(kept) >= 3
    if sent != signal.SIGKILL:
        assert status == {signal.SIGINT: 130, signal.SIGTERM: 143}[sent]
        assert "run the same command again to resume" in program.log.read_text()
    assert program.run(words)[0] == 0
    whole = tmp_path / "whole"
    assert program.run(program.words(command, whole, SLOW))[0] == 0
    now = finished_items(out)
    assert now == finished_items(whole)
    assert all(now[key][-1] == said for key, (*_, said) in kept.items())


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", makes("kill"))
def test_kill_and_test_stop_of_what_makes(program, tmp_path, name, sent):
    out = tmp_path / "place" / "out"
    words = program.words(name, out)

    def deadly():
        Path.rename = lambda *_: signal.raise_signal(sent)  # all is written, and nothing is in its place

    status = program.ended(program.start(words, deadly))
    assert not out.exists()
    if sent != signal.SIGKILL:
        assert status == {signal.SIGINT: 130, signal.SIGTERM: 143}[sent]
        assert not list(out.parent.iterdir())
    assert program.run(words)[0] == 0
    assert out.is_dir()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_kill_and_test_stop_of_score(program, tmp_path, sent, monkeypatch):
    """At the worst moment: while the new file is being written."""
    out = tmp_path / "out"
    measured(program, out)
    before = (out / "scores.json").read_bytes()

    def deadly():
        os.fsync = lambda _: signal.raise_signal(sent)

    pid = program.start(["ask", "score", str(out)], deadly)
    assert program.ended(pid) in {None, -signal.SIGKILL, 130, 143}
    assert (out / "scores.json").read_bytes() == before
    assert program.run(["ask", "score", str(out)])[0] == 0


@pytest.mark.parametrize("command", asking("full"))
def test_full_disk_of_what_asks(program, small_disk, command):
    disk = small_disk("size=1500k")
    out, ballast = disk / "out", disk / "ballast"
    words = program.words(command, out, SLOW)
    pid = program.start(words)
    wait_for(pid, lambda: has_answers(out))
    fill(ballast)
    assert program.ended(pid) == 2
    told = program.log.read_text()
    assert "is full" in told or "No space left" in told
    ballast.unlink()
    kept = answered(out)
    assert kept >= 3
    assert program.run(words)[0] == 0
    assert answered(out) >= kept


@pytest.mark.parametrize("name", makes("full"))
def test_full_disk_of_what_makes(program, small_disk, name):
    disk = small_disk("size=12k")
    status, told = program.run(program.words(name, disk / "out"))
    assert status == 2
    assert "No space left" in told
    assert not list(disk.iterdir())


def test_full_disk_of_score(program, small_disk):
    out = small_disk("size=1500k") / "out"
    before = measured(program, out)
    fill(out.parent / "ballast")
    status, told = program.run(["ask", "score", str(out)])
    assert status == 2
    assert "is full" in told
    assert finished_items(out) == before


def fill(path):
    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(b"0" * 4096)


@pytest.mark.parametrize("command", [*asking("read-only"), *MAKES])
def test_read_only_folder(program, small_disk, command):
    out = small_disk("size=100k,ro") / "out"
    status, told = program.run(program.words(command, out))
    assert status == 2
    assert "Read-only file system" in told
    assert not out.exists()


def test_read_only_folder_of_score(program, small_disk):
    out = small_disk("size=1500k") / "out"
    before = measured(program, out)
    subprocess.run(["mount", "-o", "remount,ro", str(out.parent)], check=True)
    status, told = program.run(["ask", "score", str(out)])
    assert status == 2
    assert "cannot" in told
    assert finished_items(out) == before


@pytest.mark.parametrize("command", asking("two"))
def test_two_processes_of_what_asks(program, tmp_path, command):
    out = tmp_path / "out"
    words = program.words(command, out, SLOW)
    first = program.start(words)
    wait_for(first, lambda: has_answers(out, 1))
    status, told = program.run(words)
    assert status == 2
    assert f"another process (pid {first})" in told
    assert program.run(["runs", "list", str(out)])[0] == 0
    assert program.ended(first) == 0


@pytest.mark.parametrize("name", makes("two"))
def test_two_processes_of_what_makes(program, tmp_path, name):
    out = tmp_path / "out"
    words = program.words(name, out)
    both = [program.start(words), program.start(words)]
    assert sorted(program.ended(pid) for pid in both) == [0, 2]
    assert out.is_dir()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]


def test_two_processes_of_score(program, tmp_path):
    out = tmp_path / "out"
    pid = program.start(program.words("run", out, SLOW))
    wait_for(pid, lambda: has_answers(out))
    assert program.run(["ask", "score", str(out)])[0] == 0
    assert program.ended(pid) == 0
    assert answered(out) == len(measured(program, tmp_path / "whole"))


def jumping_clock():
    """The time of day goes nine years back or forth at every look."""
    base, state = time.time, [1]

    def look():
        state[0] = -state[0]
        return base() + state[0] * NINE_YEARS_S

    time.time = look


@pytest.mark.parametrize("command", asking("clock"))
def test_clock_of_what_asks(program, tmp_path, command):
    for out, before in (("still", lambda: None), ("jumping", jumping_clock)):
        assert program.run(program.words(command, tmp_path / out), before)[0] == 0
    assert finished_items(tmp_path / "still") == finished_items(tmp_path / "jumping")
    for path in runs_in(tmp_path / "jumping"):
        with Run.open(path) as run:
            assert all(0 <= result.record.response.seconds < 600 for result in run.results())


@pytest.mark.parametrize("command", [*makes("clock"), "score"])
def test_clock_of_what_makes_and_scores(program, tmp_path, command):
    out = tmp_path / "out"
    if command == "score":
        measured(program, out)
    words = ["ask", "score", str(out)] if command == "score" else program.words(command, out)
    assert program.run(words, jumping_clock)[0] == 0


@pytest.mark.parametrize("command", asking("worker"))
def test_worker_of_what_asks(program, tmp_path, command):
    """A Ray worker is killed while it answers. That an item kills each worker is tested with the engine."""
    pytest.importorskip("ray")
    out = tmp_path / "out"
    words = [*program.words(command, out, SLOW), "--engine", "ray", "--workers", "2"]
    process = subprocess.Popen(
        [os.sys.executable, "-m", "theodolite", *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    while not has_answers(out, 1):
        time.sleep(0.05)
        assert process.poll() is None, process.stderr.read()
    rows = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    workers = [row.split()[0] for row in rows.splitlines() if "ray::_Worker" in row]
    os.kill(int(workers[0]), signal.SIGKILL)
    assert process.wait(240) == 0
    process.stderr.close()
    assert {key[1] for key in finished_items(out)} >= {
        key[1] for key in measured(program, tmp_path / "whole", SLOW)
    }


def test_worker_of_what_makes(program, tmp_path):
    """The scenes are drawn by processes; one of them is killed."""
    out = tmp_path / "out"
    words = ["scene", "make", "--indoor", "6", "--outdoor", "6", "--workers", "2", "--out", str(out)]
    pid = program.start(words)
    while not (children := _workers_of(pid)):
        time.sleep(0.01)
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    os.kill(children[0], signal.SIGKILL)
    assert program.ended(pid) == 2
    assert "a worker process was killed by signal 9 (SIGKILL)" in " ".join(program.log.read_text().split())
    assert not out.exists()
    assert not _workers_of(pid)


def _workers_of(pid):
    rows = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    found = [row.split(None, 3) for row in rows.splitlines()]
    return [
        int(row[0]) for row in found if row[1] == str(pid) and "spawn_main" in row[3] and "Z" not in row[2]
    ]


@pytest.mark.parametrize("command", asking("reply"))
def test_reply(program, tmp_path, command, fault_server):
    """One of the questions gets a reply that is no completion."""
    lines = (program.squares / "questions.jsonl").read_text().splitlines()
    strange = {**json.loads(lines[0]), "question": "fault:deep is it left or right?", "id": "strange"}
    data = tmp_path / "data"
    data.mkdir()
    shutil.copytree(program.squares / "pictures", data / "pictures")
    (data / "questions.jsonl").write_text("\n".join([*lines, json.dumps(strange)]))
    program.squares = data
    model = f"openai:some-model@{fault_server.url}?retries=0&timeout=20"
    status, told = program.run(program.words(command, tmp_path / "out", model))
    assert status == 1, told
    assert "failed" in told
    statuses = {}
    for path in runs_in(tmp_path / "out"):
        with Run.open(path) as run:
            for result in run.results():
                is_strange = "fault:" in str(result.item.request.messages)
                statuses.setdefault(is_strange, set()).add(result.record.response.status)
    assert statuses == {False: {"answered"}, True: {"failed"}}


@pytest.mark.parametrize("command", asking("damage"))
def test_damage_of_what_asks(program, tmp_path, command):
    out = tmp_path / "out"
    assert program.run(program.words(command, out))[0] == 0
    before = finished_items(out)
    flip_an_answer(out)
    status, told = program.run(program.words(command, out))
    assert status == 0
    assert "was damaged" in told
    assert finished_items(out) == before


def test_damage_of_score(program, tmp_path):
    out = tmp_path / "out"
    measured(program, out)
    flip_an_answer(out)
    status, told = program.run(["ask", "score", str(out)])
    assert status == 0
    assert "damaged and counts as missing" in told
    assert program.run(["runs", "verify", str(out)])[0] == 1


def flip_an_answer(out):
    """Flip one bit in an answer as it lies on the disk."""
    (path, *_) = runs_in(out)
    with Run.open(path) as run:
        text = next(r.record.response.text for r in run.results() if len(r.record.response.text) > 3)
    data = bytearray((path / "measured.sqlite").read_bytes())
    data[data.rindex(b"answered" + text.encode()) + 9] ^= 1
    (path / "measured.sqlite").write_bytes(data)
