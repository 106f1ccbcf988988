"""Clusters that change: two machines, each a network namespace of its own; a head, an agent and a driver that are killed."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.runs import Run

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

RAY = str(Path(sys.executable).with_name("ray"))
PROGRAM = (sys.executable, "-m", "theodolite")
SLOW = "scripted:looker?delay=0.05&batch_size=2"
HEAD, OTHER = "10.77.0.1", "10.77.0.2"
PORT = 6399


@pytest.fixture(autouse=True)
def _no_tokens(monkeypatch):
    """The machines have no files in common but those of the test."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")


class Machine:
    """A network namespace, and what runs in it."""

    def __init__(self, name, address, folder):
        self.name, self.address, self.folder = name, address, folder

    def start(self, *words):
        self.log = self.folder / f"{self.name}.log"
        with self.log.open("w") as log:
            return subprocess.Popen(["ip", "netns", "exec", self.name, *words], stdout=log, stderr=log)

    def join(self, cpus, head=""):
        where = [f"--address={head}:{PORT}"]
        if not head:
            where = [
                "--head",
                f"--port={PORT}",
                f"--temp-dir={self.folder / 'ray'}",
                "--include-dashboard=false",
            ]
        words = [f"--node-ip-address={self.address}", f"--num-cpus={cpus}", "--object-store-memory=100000000"]
        status = self.start(RAY, "start", *where, *words, "--disable-usage-stats").wait(120)
        assert status == 0, self.log.read_text()

    def processes(self, command=""):
        told = subprocess.run(
            ["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True
        ).stdout
        return [int(pid) for pid in told.split() if command in _command(pid)]

    def kill(self, command=""):
        for pid in self.processes(command):
            os.kill(pid, signal.SIGKILL)


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.fixture
def machines():
    """Two machines with a cable between them."""
    folder = Path(tempfile.mkdtemp(prefix="th"))  # the names of sockets below it have at most 107 letters
    names = f"th{os.getpid()}a", f"th{os.getpid()}b"
    commands = [
        f"ip netns add {names[0]}",
        f"ip netns add {names[1]}",
        f"ip link add {names[0]} netns {names[0]} type veth peer name {names[1]} netns {names[1]}",
        *(
            command
            for name, address in zip(names, (HEAD, OTHER), strict=True)
            for command in (
                f"ip -n {name} link set lo up",
                f"ip -n {name} addr add {address}/24 dev {name}",
                f"ip -n {name} link set {name} up",
            )
        ),
    ]
    found = [Machine(name, address, folder) for name, address in zip(names, (HEAD, OTHER), strict=True)]
    try:
        for command in commands:
            if subprocess.run(command.split(), capture_output=True, check=False).returncode:
                pytest.skip("no network namespaces can be made here")
        yield found
        for machine in found:
            machine.kill()
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def squares(tmp_path):
    write_questions(make_squares(24), tmp_path / "squares")
    return tmp_path / "squares"


def words(squares, out, *more):
    return [*PROGRAM, "ask", "run", "--data", str(squares), "--model", SLOW, "--out", str(out), *more]


def answers(out):
    with Run.open(out) as run:
        return {
            result.item.id: result.record and (result.record.response.status, result.record.response.text)
            for result in run.results(with_repeats=True)
        }


def wait_for_answers(process, out, n):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert process.poll() is None, "it ended too early"
        if (out / "run.json").exists() and sum(map(bool, answers(out).values())) >= n:
            return
        time.sleep(0.05)
    raise AssertionError("nothing is measured")


def test_machines_that_leave_and_join_change_no_answer(machines, squares, tmp_path):
    first, second = machines
    assert (
        subprocess.run(words(squares, tmp_path / "local"), capture_output=True, check=False).returncode == 0
    )
    first.join(1)
    second.join(2, HEAD)
    out = tmp_path / "run"
    process = first.start(
        *words(squares, out, "--engine", "ray", "--workers", "4", "--ray-address", f"{HEAD}:{PORT}")
    )
    wait_for_answers(process, out, 4)
    second.kill()
    wait_for_answers(process, out, 12)
    second.join(2, HEAD)
    assert process.wait(240) == 0
    assert answers(out) == answers(tmp_path / "local")


@pytest.mark.parametrize("killed", ["gcs_server", "raylet"])
def test_a_head_or_an_agent_that_is_gone_ends_with_a_sentence_and_the_run_goes_on(
    machines, squares, tmp_path, killed
):
    first, _ = machines
    first.join(2)
    out = tmp_path / "run"
    command = words(squares, out, "--engine", "ray", "--workers", "1", "--ray-address", f"{HEAD}:{PORT}")
    command[command.index(SLOW)] = "scripted:looker?delay=1.5&batch_size=1"
    with (tmp_path / "told").open("w") as told:
        process = subprocess.Popen(["ip", "netns", "exec", first.name, *command], stdout=told, stderr=told)
        wait_for_answers(process, out, 2)
        first.kill(killed)
        assert process.wait(200) == 2
    text = " ".join((tmp_path / "told").read_text().split())
    assert "error: the Ray cluster ended" in text or "If the Ray cluster ended, start it again" in text
    assert "the same command goes on" in text
    assert len(text) < 1000
    kept = answers(out)
    assert sum(map(bool, kept.values())) >= 2
    first.kill()
    assert (
        subprocess.run(
            [*words(squares, out)[:8], "scripted:looker", "--out", str(out)], capture_output=True, check=False
        ).returncode
        == 0
    )
    assert {name: kept[name] for name in kept if kept[name]}.items() <= answers(out).items()


def test_a_driver_that_is_killed_ends_with_a_sentence(squares, tmp_path):
    out = tmp_path / "run"
    with (tmp_path / "told").open("w") as told:
        process = subprocess.Popen(
            words(squares, out, "--engine", "ray", "--workers", "1"), stdout=told, stderr=told
        )
        wait_for_answers(process, out, 2)
        children = subprocess.run(
            ["pgrep", "-P", str(process.pid), "-f", "spawn_main"], capture_output=True, text=True, check=True
        )
        os.kill(int(children.stdout.split()[0]), signal.SIGKILL)
        assert process.wait(100) == 2
    assert "was killed by signal 9" in " ".join((tmp_path / "told").read_text().split())
    assert subprocess.run(words(squares, out), capture_output=True, check=False).returncode == 0
    assert all(answers(out).values())
