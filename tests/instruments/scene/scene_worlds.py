"""Scenes of boxes for tests of scoring: places and sizes drawn at random, one blank picture, no furniture."""

import math
from dataclasses import replace

import numpy as np
from PIL import Image

from theodolite.core.types import Record, Response
from theodolite.geometry import Box, PinholeCamera
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.data.make import make_questions
from theodolite.instruments.scene.experiments.noise import noisy_graphs
from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions
from theodolite.instruments.scene.questions import Settings, plan_scenes, plan_with_graphs
from theodolite.instruments.scene.results import read_results, read_run
from theodolite.instruments.scene.score import SceneScore
from theodolite.models import ask_measurer, open_model
from theodolite.runs import LocalEngine, Result, Run, RunInfo, measure
from theodolite.worlds.scene_graph import SceneGraph, SceneObject

CAMERA = PinholeCamera.from_field_of_view(70, (1600, 900))


def box_scene(domain, rng, name):
    """Boxes on the ground in front of a camera at eye height, some of them on one another indoors."""
    n = int(rng.integers(2, 13))
    near, far = (1.2, 4.5) if domain == "indoor" else (6.0, 45.0)
    camera_height = float(rng.uniform(1.2, 1.7))
    tilt = math.radians(float(rng.uniform(0, 20) if domain == "indoor" else rng.uniform(-2, 3)))
    up = np.array([0.0, -math.cos(tilt), -math.sin(tilt)])
    forward = np.array([0.0, -math.sin(tilt), math.cos(tilt)])
    forward -= (forward @ up) * up
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, up)
    things = []
    for mark in range(1, n + 1):
        if domain == "indoor":
            size = np.sort(rng.uniform(0.2, 1.4, 2))[::-1]
            height = float(rng.uniform(0.15, 1.6))
            base = float(rng.choice([0.0, 0.0, 0.0, 0.75]))
        else:
            size = (
                np.array([rng.uniform(3.5, 10), rng.uniform(1.6, 2.6)])
                if rng.random() < 0.6
                else np.array([0.8, 0.6])
            )
            height, base = float(rng.uniform(1.3, 3.2)), 0.0
        depth = float(rng.uniform(near, far))
        side = float(rng.uniform(-0.6, 0.6)) * depth
        level = base + height / 2 - camera_height
        centre = side * right + depth * forward + level * up
        things.append(
            SceneObject(
                mark,
                "box",
                tuple(map(float, centre)),
                (1.0, 0.0, 0.0, 0.0),
                float(size[0]),
                float(size[1]),
                height,
                Box(10, 10, 90, 90),
            )
        )
    return SceneGraph(
        name, domain, tuple(things), CAMERA, tuple(map(float, up)), camera_height_m=camera_height
    )


def box_world(n, *, seed=0, domains=("indoor", "outdoor"), folder=None):
    """A data set of n scenes per domain with their questions; with a folder, each scene has the same blank picture."""
    rng = np.random.default_rng(seed)
    scenes = [box_scene(domain, rng, f"{domain}-{i:04d}") for i in range(n) for domain in domains]
    if folder is not None:
        Image.new("RGB", (32, 18), "grey").save(folder / "blank.png")
        scenes = [replace(scene, picture="blank.png", marked="blank.png") for scene in scenes]
    made = make_questions(scenes, seed=seed)
    return SceneData({scene.id: scene for scene in scenes}, made.questions, folder)


def answered(items, script):
    """The results that a function from requests to answers gives, without a run on disk."""
    results = []
    for item in items:
        said = script(item.request)
        response = said if isinstance(said, Response) else Response("answered", text=said)
        results.append(Result(len(results) + 1, item, Record(item.id, response)))
    return results


def asked(data, script, *, settings=None, noise=(), model="script"):
    """Everything that `theodolite scene run` would ask, in memory: the rows that scoring reads."""
    settings = settings or Settings()
    results = answered(plan_scenes(data, settings), script)
    if "predicted graph" in settings.qa:
        rows = read_results(results, model=model)
        graphs = {s: r.reading.graph for s, r in rows.graphs["base"].items() if r.reading.graph is not None}
        results += answered(plan_with_graphs(data, graphs, mode=settings.mode), script)
    for level in noise:
        noisy = noisy_graphs({scene.id: scene.star() for scene in data.scenes.values()}, level)
        more = plan_with_graphs(data, noisy, setting="noisy graph", mode=settings.mode, noise=level)
        results += answered(more, script)
    return read_results(results, model=model, asked_for=settings.qa)


def scored(results, **options):
    """The score of results that were read."""
    return SceneScore(results, ScoreOptions(**options))


def rows_of(table):
    """The rows of a table, by what stands in their first cell, as cells by column."""
    names = [column.name for column in table.columns]
    return {row[0]: dict(zip(names, row, strict=True)) for row in table.rows}


def ask(data, folder, script, *, settings=None, noise=(), seed=0):
    """Runs a scripted model over a data set, through a run on disk; returns the run's folder."""
    settings = settings or Settings()
    info = RunInfo(
        instrument="scene",
        model=f"scripted:{script}",
        identity=f"scripted:{script}",
        settings={"settings": list(settings.qa)},
        seed=seed,
        theodolite="test",
    )
    model = open_model(f"scripted:{script}")
    with Run.start(folder, info) as run:
        run.plan(plan_scenes(data, settings))
        measure(run, LocalEngine(ask_measurer(model), workers=64))
        rows = read_run(run)
        if "predicted graph" in settings.qa:
            graphs = {
                s: r.reading.graph for s, r in rows.graphs["base"].items() if r.reading.graph is not None
            }
            run.plan(plan_with_graphs(data, graphs, mode=settings.mode))
        for level in noise:
            true = {scene.id: scene.star() for scene in data.scenes.values()}
            noisy = noisy_graphs(true, level, seed=seed)
            run.plan(plan_with_graphs(data, noisy, setting="noisy graph", mode=settings.mode, noise=level))
        measure(run, LocalEngine(ask_measurer(model), workers=64))
    return folder
