"""``kill -9`` at random moments over all commands that ask a model, each resumed until it is done.

    python tests/runs/kills.py [KILLS] [SEED]

Each command runs once without interruption. Then it is started, killed and started again, until it is done; what is
found must be what the undisturbed run found: nothing lost, doubled or different. Processes are forked from one that has
loaded the program, so that the kills hit its work and not its loading.
"""

import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

from theodolite.cli.main import main
from theodolite.runs import Run, find_runs, verify_run

LOADED = (
    *(f"theodolite.cli.{name}" for name in ("instrument", "diagnose", "runs", "export", "report")),
    *(
        "torch",
        "transformers",
        "safetensors.torch",
        "theodolite.models.huggingface",
        "theodolite.models.pocket",
    ),
    "theodolite.models.scripted",
)
SLOW = "scripted:looker?delay=0.02&batch_size=2"


def make_data(folder):
    """Tiny data for every command."""
    sys.path.append(str(Path(__file__).parents[1] / "instruments" / "trace"))
    from trace_world import make_episode

    from theodolite.instruments.ask.data.questions import write_questions
    from theodolite.instruments.ask.data.squares import make_squares
    from theodolite.instruments.compass.data.drawn import coloured_squares
    from theodolite.instruments.compass.data.pairs import write_pairs
    from theodolite.instruments.trace.data.dataset import write_episodes

    write_questions(make_squares(6), folder / "squares")
    write_pairs(coloured_squares(4, seed=2).pairs, folder / "pairs")
    write_episodes([make_episode(seed) for seed in range(12)], folder / "episodes")
    assert (
        main(["scene", "make", "--indoor", "1", "--outdoor", "1", "--seed", "3", "--out", f"{folder}/scenes"])
        == 0
    )
    assert (
        main(["grid", "make", "--buckets", "M-F0-D2,CMP-F0-D3", "--size", "6", "--out", f"{folder}/grids"])
        == 0
    )


def commands(data):
    """The words of every command, but for where it writes."""
    return {
        "ask run": ["ask", "run", "--data", f"{data}/squares", "--model", SLOW],
        "compass run": [
            *("compass", "run", "--data", f"{data}/pairs", "--model", "pocket:grounded"),
            *("--methods", "attention-rollout,gradient-norm", "--workers", "1"),
        ],
        "grid accuracy": ["grid", "run", "--data", f"{data}/grids", "--model", SLOW],
        "grid explain": [
            *(
                "grid",
                "run",
                "--explainers",
                "all",
                "--data",
                f"{data}/grids",
                "--model",
                "grid:pure",
                "--budget",
                "16",
            ),
            *("--explainers", "dime,multishap", "--workers", "2"),
        ],
        "scene run": ["scene", "run", "--data", f"{data}/scenes", "--model", SLOW],
        "trace run": ["trace", "run", "--data", f"{data}/episodes", "--model", SLOW],
        "diagnose": [
            *("diagnose", "--data", f"{data}/squares", "--instruments", "ask", "--size", "6"),
            *("--model", SLOW, "--model", "scripted:oracle?delay=0.02&batch_size=2"),
        ],
    }


def start(words, log, before=lambda: None):
    """Fork a process that runs a command, and return its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
        before()
        with log.open("a") as file, redirect_stdout(file), redirect_stderr(file):
            from theodolite.cli import output

            output.out.file = output.err.file = file
            status = main(words)
    finally:
        os._exit(status)


def killed_after(pid, seconds):
    """Kill a process after some time. Return its exit status if it ended before that, else None."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return None if status == -signal.SIGKILL else status


def finished_items(folder):
    """What was answered, by run and item; each item at most once, and nothing damaged."""
    found = {}
    for path in find_runs(folder) if folder.exists() else []:
        assert not verify_run(path), (path, verify_run(path))
        with Run.open(path) as run:
            for result in run.results(arrays=True):
                assert (path.relative_to(folder), result.item.id) not in found
                found[path.relative_to(folder), result.item.id] = _content(result)
    return {key: content for key, content in found.items() if content[-1] is not None}


def _content(result):
    item, record = result.item, result.record
    if record is None or record.response.status == "failed":
        return item.name, None
    response = record.response
    arrays = {name: array.tobytes() for name, array in record.arrays.items()}
    said = (response.status, response.text, response.reason, response.finish, record.choice, record.values)
    return (
        item.name,
        item.meta,
        result.seq,
        [(each.parser, each.status, each.value) for each in result.parsed],
        (said, arrays),
    )


def outcome(folder):
    """Everything that a command leaves, but for times and places."""
    tables = {}
    for path in find_runs(folder):
        with Run.open(path) as run:
            tables[path.relative_to(folder)] = _timeless(run.scores(), str(folder))
    written = folder / "diagnosis.json"
    diagnosis = _timeless(json.loads(written.read_text()), str(folder)) if written.exists() else None
    return finished_items(folder), tables, diagnosis


def _timeless(value, folder):
    if isinstance(value, dict):
        times = {"created", "seconds", "started", "settings"}
        return {key: _timeless(each, folder) for key, each in value.items() if key not in times}
    if isinstance(value, list):
        return [_timeless(each, folder) for each in value]
    return value.replace(folder, "HERE") if isinstance(value, str) else value


class Target:
    """One command with its undisturbed outcome."""

    def __init__(self, name, words, folder):
        self.name, self.words, self.folder = name, words, folder / name.replace(" ", "-")
        self.folder.mkdir()
        self.log = self.folder / "log"
        began = time.monotonic()
        self.status = killed_after(self._start("whole"), 600)
        self.seconds = time.monotonic() - began
        assert (self.folder / "whole" / "run").exists(), self.log.read_text()
        self.truth = self.outcome("whole")
        assert self.status == 0, self.log.read_text()
        self.number = self.kills = self.rounds = 0
        self.spent = 0.0
        self.seen = {}

    def _start(self, out):
        (self.folder / out).mkdir(exist_ok=True)
        return start([*self.words, "--out", str(self.folder / out / "run")], self.log)

    def outcome(self, out):
        """What it leaves."""
        found = outcome(self.folder / out / "run")
        assert found[0]
        return found

    def strike(self, rng):
        """Start or resume it and kill it at a random moment. Once it is done, compare, and begin anew."""
        out, began = f"killed-{self.number}", time.monotonic()
        status = killed_after(self._start(out), rng.uniform(0, 1.2 * self.seconds))
        if status is None:
            self.kills += 1
            found = finished_items(self.folder / out / "run")
            lost = {key for key, content in self.seen.items() if found.get(key, [None])[-1] != content[-1]}
            assert not lost, (self.name, lost)
            self.seen = found
        else:
            self._compare(out, status)
        self.spent += time.monotonic() - began

    def finish(self):
        """Let it end, and compare."""
        self._compare(f"killed-{self.number}", killed_after(self._start(f"killed-{self.number}"), 600))

    def _compare(self, out, status):
        assert status == self.status, (self.name, status, self.log.read_text()[-2000:])
        found = outcome(self.folder / out / "run")
        for part, truth in zip(found, self.truth, strict=True):
            if isinstance(truth, dict):
                unlike = {key: (part.get(key), truth.get(key)) for key in part.keys() | truth.keys()}
                unlike = {key: pair for key, pair in unlike.items() if pair[0] != pair[1]}
                assert not unlike, (self.name, out, next(iter(unlike.items())))
            assert part == truth, (self.name, out)
        self.number, self.rounds, self.seen = self.number + 1, self.rounds + 1, {}


READING = {
    "score": ["ask", "score", "RUN"],
    "export csv": ["export", "RUN", "--to", "csv", "--out", "OUT"],
    "export vlmevalkit": ["export", "RUN", "--to", "vlmevalkit", "--out", "OUT"],
    "export datasets": ["export", "RUN", "--to", "datasets", "--out", "OUT"],
    "export inspect": ["export", "RUN", "--to", "inspect", "--out", "OUT"],
    "report": ["report", "RUN", "--out", "OUT"],
}
"""The words of commands that read a run."""
_TOLD_APART = {".csv", ".tsv", ".parquet"}
"""Endings of files with the same content each time. Others hold the time at which they were written."""


class Reading(Target):
    """A command that reads a run: it is killed, and done again."""

    def __init__(self, name, run, folder):
        self.run = run
        self.answers = finished_items(run)
        super().__init__(name, READING[name], folder)

    def _start(self, out):
        (self.folder / out).mkdir(exist_ok=True)
        copy = self.folder / out / "run"
        if not copy.exists():
            shutil.copytree(self.run, copy)
        places = {"RUN": str(copy), "OUT": str(self.folder / out / "out")}
        return start([places.get(word, word) for word in self.words], self.log)

    def outcome(self, out):
        assert finished_items(self.folder / out / "run").keys() == self.answers.keys()
        return {**self._written(out), "scores": outcome(self.folder / out / "run")[1]}

    def _written(self, out):
        """Files under their final names. What a killed process left behind has a hidden one."""
        home = self.folder / out / "out"
        return {
            re.sub(r"\d{4}-\d\d-\d\dT[\d-]+", "TIME", path.relative_to(home).as_posix()): path.read_bytes()
            if path.suffix in _TOLD_APART
            else b""
            for path in home.rglob("*")
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(home).parts)
        }

    def strike(self, rng):
        """Kill it at a random moment: no file stands there in part, and the run is whole. Once it is done, begin anew."""
        out, began = f"killed-{self.number}", time.monotonic()
        status = killed_after(self._start(out), rng.uniform(0, 1.2 * self.seconds))
        if status is None:
            self.kills += 1
            assert finished_items(self.folder / out / "run").keys() == self.answers.keys()
            for name, content in self._written(out).items():
                assert content == self.truth[name], (self.name, name)
        else:
            self._compare(out, status)
        self.spent += time.monotonic() - began

    def _compare(self, out, status):
        assert status == 0, (self.name, status, self.log.read_text()[-2000:])
        assert self.outcome(out) == self.truth, (self.name, out)
        shutil.rmtree(self.folder / out)
        self.number, self.rounds = self.number + 1, self.rounds + 1


def run_kills(kills, seed, folder, *, only=None, report=lambda _: None):
    """Kill the commands in turn this many times in all. Return the targets, all resumed and compared."""
    for name in LOADED:
        import_module(name)
    rng = random.Random(seed)
    (folder / "data").mkdir()
    make_data(folder / "data")
    chosen = {
        name: words for name, words in commands(folder / "data").items() if only is None or name in only
    }
    targets = []
    for name, words in chosen.items():
        targets.append(Target(name, words, folder))
        report(f"{name}: {len(targets[-1].truth[0])} items, {targets[-1].seconds:.1f} s undisturbed")
    reading = [name for name in READING if only is None or name in only]
    if reading:
        run = folder / "to-read"
        pid = start(
            [
                "ask",
                "run",
                "--data",
                f"{folder}/data/squares",
                "--model",
                "scripted:looker",
                "--out",
                str(run),
            ],
            folder / "log",
        )
        assert killed_after(pid, 600) == 0, (folder / "log").read_text()
        targets += [Reading(name, run, folder) for name in reading]
    while (done := sum(target.kills for target in targets)) < kills:
        min(targets, key=lambda target: target.spent).strike(
            rng
        )  # equal time for all, so more kills for the quick
        if done % 10 == 0:
            report(f"{done} kills")
    for target in targets:
        target.finish()
        report(f"{target.name}: {target.kills} kills, {target.rounds} resumed runs like the undisturbed one")
    return targets


if __name__ == "__main__":
    n, random_seed = (int(word) for word in [*sys.argv[1:], *("200", "1")[len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as place:
        run_kills(n, random_seed, Path(place), report=lambda text: print(text, flush=True))  # noqa: T201
