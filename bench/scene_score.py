"""Time and memory of scoring a scene run of the paper's size, with all settings and intervals."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from bench.result import Result
from theodolite.geometry import Box, PinholeCamera
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.data.make import make_questions, thin_questions
from theodolite.instruments.scene.questions import Settings, plan_scenes, plan_with_graphs
from theodolite.instruments.scene.results import read_run
from theodolite.models import ask_measurer, open_model
from theodolite.runs import LocalEngine, Run, RunInfo, measure
from theodolite.worlds.scene_graph import SceneGraph, SceneObject

SCENES, QUESTIONS = 1_162, 9_839
MODEL = "scripted:scene-trusting"

_MEASURED = """
import sys, time
from theodolite.runs import Run
from theodolite.instruments.scene.score import score_run
from theodolite.instruments.scene.score import score_tables
started = time.perf_counter(), time.process_time()
with Run.open(sys.argv[1], writable=True) as run:
    score = score_run(run)
    run.write_tables(score_tables(score))
assert [s.name for s in score.signatures if s.is_raised] == ["modality trust bias"]
assert len(score.results.domains) == int(sys.argv[2]) and len(score.cases.cases) == int(sys.argv[3])
memory = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.perf_counter() - started[0], time.process_time() - started[1], memory)
"""


def run() -> Iterator[Result]:
    """Score scenes of boxes, answered by a scripted model in every setting, in a separate process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _answer(folder / "run", _data(folder))
        command = [sys.executable, "-c", _MEASURED, str(folder / "run"), str(SCENES), str(QUESTIONS)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    wall, cpu, memory = map(float, output)
    size = f"{SCENES:,} scenes, {QUESTIONS:,} questions"
    yield Result(f"score {size}, all settings", wall, "s", at_most=20)
    yield Result("the same, CPU time", cpu, "s")
    yield Result("its peak memory", memory / 1024, "MB", at_most=2048)


def _data(folder: Path) -> SceneData:
    rng = np.random.default_rng(0)
    Image.new("RGB", (32, 18), "grey").save(folder / "blank.png")
    scenes = [_scene(i, rng) for i in range(SCENES)]
    questions = thin_questions(make_questions(scenes).questions, QUESTIONS)
    return SceneData({scene.id: scene for scene in scenes}, questions, folder)


def _scene(number: int, rng: np.random.Generator) -> SceneGraph:
    """Draw boxes on level ground, between the near and far distance."""
    domain = ("indoor", "outdoor")[number % 2]
    near, far, size = (1.2, 4.5, 1.2) if domain == "indoor" else (6.0, 45.0, 5.0)
    things = []
    for mark in range(1, int(rng.integers(3, 13)) + 1):
        width, length = np.sort(rng.uniform(0.2, 1.0, 2)) * size
        height, depth = float(rng.uniform(0.2, 0.6) * size), float(rng.uniform(near, far))
        centre = (float(rng.uniform(-0.6, 0.6)) * depth, 1.5 - height / 2, depth)
        box = Box(10, 10, 90, 90)
        turned = (1.0, 0.0, 0.0, 0.0)
        things.append(SceneObject(mark, "box", centre, turned, float(length), float(width), height, box))
    camera = PinholeCamera.from_field_of_view(70, (1600, 900))
    scene = SceneGraph(f"{domain}-{number:05d}", domain, tuple(things), camera, (0.0, -1.0, 0.0), 1.5)
    return replace(scene, picture="blank.png", marked="blank.png")


def _answer(folder: Path, data: SceneData) -> None:
    """Measure the base and blind settings first, then those that need the model's own graphs."""
    settings = Settings()
    info = RunInfo(
        instrument="scene",
        model=MODEL,
        identity=MODEL,
        settings={"settings": list(settings.qa)},
        theodolite="bench",
    )
    engine = LocalEngine(ask_measurer(open_model(MODEL)), workers=256)
    with Run.start(folder, info) as opened:
        opened.plan(plan_scenes(data, settings))
        measure(opened, engine)
        rows = read_run(opened).graphs["base"]
        graphs = {scene: row.reading.graph for scene, row in rows.items() if row.reading.graph is not None}
        opened.plan(plan_with_graphs(data, graphs))
        measure(opened, engine)
