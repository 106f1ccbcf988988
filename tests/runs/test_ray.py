"""On a real local Ray cluster."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from plans import Counting, items, pictured
from theodolite.core.errors import ModelError, UsageError
from theodolite.core.types import Record, Response
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.models import ask_factory
from theodolite.runs import LocalEngine, Run, measure

ray = pytest.importorskip("ray")
from theodolite.runs import RayEngine  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


class Suicidal(Counting):
    """Dies by SIGKILL over items whose name is listed in a file: once if told so, else every time."""

    def __init__(self, folder, *, once):
        super().__init__(batch_size=3)
        self.folder, self.once = folder, once

    def measure(self, items):
        for item in items:
            mark = self.folder / item.name
            if mark.exists():
                if self.once:
                    mark.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return [Record(item.id, Response("answered", text=f"answer to {item.name}")) for item in items]


def texts(run):
    return {result.item.name: result.record.response.text for result in run.results()}


def test_ray_gives_what_local_gives(tmp_path, info):
    planned = [*items(20), *pictured(6)]
    found = []
    for name, engine in (
        ("local", LocalEngine(ask_factory("scripted:echo")())),
        ("ray", RayEngine(ask_factory("scripted:echo?batch_size=4"), workers=2)),
    ):
        with Run.start(tmp_path / name, info) as run:
            run.plan(planned)
            tally = measure(run, engine)
            assert (tally.answered, tally.failed) == (26, 0)
            found.append(texts(run))
        engine.close()
    assert found[0] == found[1]


def test_a_killed_worker_costs_only_what_it_had_in_hand(tmp_path, info):
    (tmp_path / "item-7").touch()
    engine = RayEngine(partial(Suicidal, tmp_path, once=True), workers=2)
    try:
        with Run.start(tmp_path / "run", info) as run:
            run.plan(items(30))
            tally = measure(run, engine)
            assert (tally.answered, tally.failed) == (30, 0)
            assert texts(run)["item-7"] == "answer to item-7"
    finally:
        engine.close()


def test_an_item_that_kills_its_workers_is_told_and_the_rest_is_measured(tmp_path, info):
    (tmp_path / "item-4").touch()
    engine = RayEngine(partial(Suicidal, tmp_path, once=False), workers=2)
    try:
        with Run.start(tmp_path / "run", info) as run:
            run.plan(items(12))
            tally = measure(run, engine)
            assert (tally.answered, tally.failed) == (11, 1)
            (killer,) = (r for r in run.results() if r.record.response.status == "failed")
            assert killer.item.name == "item-4"
            assert "died" in killer.record.response.reason
    finally:
        engine.close()


def test_a_model_that_cannot_be_opened_is_told():
    with pytest.raises(UsageError, match="scripted behaviour"):
        RayEngine(ask_factory("scripted:nobody"), workers=1)
    with pytest.raises(ModelError, match="no checkpoint folder"):
        RayEngine(ask_factory("hf:./nowhere"), workers=1)


def test_a_cluster_that_is_not_there_is_told():
    with pytest.raises(UsageError, match="cannot reach the Ray cluster"):
        RayEngine(ask_factory("scripted:echo"), workers=1, address="127.0.0.1:1")


def test_more_workers_than_the_cluster_can_place_are_refused():
    n = os.cpu_count() + 1
    with pytest.raises(UsageError, match=f"--workers {n} needs as many CPUs"):
        RayEngine(ask_factory("scripted:echo"), workers=n)
    assert not ray.is_initialized()


def test_a_worker_without_a_place_gets_no_work(tmp_path, info):
    """Somebody else holds all processors but one: the run goes on with one worker, and a second joins once it can."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        address = ray.get_runtime_context().gcs_address
        holder = ray.remote(num_cpus=1)(Counting).remote()
        ray.get(holder.__ray_ready__.remote())
        script = "import sys\nfrom theodolite.cli.main import main\nsys.exit(main(sys.argv[1:]))"
        questions = tmp_path / "squares"
        write_questions(make_squares(4), questions)
        words = ["ask", "run", "--data", str(questions), "--model", "scripted:looker", "--engine", "ray"]
        words += ["--workers", "2", "--ray-address", address, "--out", str(tmp_path / "run")]
        done = subprocess.run(
            [sys.executable, "-c", script, *words], timeout=120, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    finally:
        ray.shutdown()
    with Run.open(tmp_path / "run") as run:
        tally = run.tally()
        assert tally.answered == tally.planned > 0
