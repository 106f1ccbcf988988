"""Metrics of scenes, on scripted models whose fault is known, and against plain means."""

import json
from dataclasses import replace
from statistics import mean

import numpy as np
import pytest
from PIL import Image
from scene_worlds import box_world

from theodolite.core.errors import UsageError
from theodolite.core.scores import by_metric
from theodolite.core.types import Picture, Record, Response
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.formulas.sgc import score_answer, score_graph
from theodolite.instruments.scene.metrics import METRICS, PICTURES, plan_pictures, readings
from theodolite.instruments.scene.questions import Settings, plan_scenes
from theodolite.instruments.scene.results import read_rows
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure


class Scripted:
    """Answers requests by a function of them."""

    reuse, batch_size, identity = "never", 64, "scripted"

    def __init__(self, script):
        self.script = script

    def measure(self, items):
        said = [self.script(item.request) for item in items]
        return [
            Record(item.id, each if isinstance(each, Response) else Response("answered", text=each))
            for item, each in zip(items, said, strict=True)
        ]

    def close(self):
        pass


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Six scenes, each with a picture of its own colour, so that a script can tell which one it is shown."""
    folder = tmp_path_factory.mktemp("metrics")
    data = box_world(6, seed=4, domains=("indoor",), folder=folder)
    scenes = {}
    for i, (name, scene) in enumerate(data.scenes.items()):
        Image.new("RGB", (32, 18), (20 + 30 * i, 40, 200 - 30 * i)).save(folder / f"{name}.png")
        n = len(scene.objects)
        scenes[name] = replace(scene, picture=f"{name}.png", marked=f"{name}.png")
        assert n >= 2
    return replace(data, scenes=scenes, folder=folder)


def run_of(folder, script, items, instrument="scene"):
    info = RunInfo(
        instrument=instrument,
        model="m",
        identity="scripted",
        settings={"split": "aligned", "settings": ["base", "blind"]},
        seed=0,
        theodolite="0",
    )
    run = Run.start(folder, info)
    run.plan(items, whole=True)
    measure(run, LocalEngine(Scripted(script)), MeasureOptions())
    return run


def values_of(run):
    return {key: {each.item: each.value for each in rows} for key, rows in by_metric(readings(run)).items()}


BOTH = Settings(qa=("base", "blind"), graph=("base", "blind"))


@pytest.fixture(scope="module")
def found(world, tmp_path_factory):
    """The readings of every scripted model."""
    folder = tmp_path_factory.mktemp("runs")
    got = {}
    for name in ("oracle", "blind_prior", "shortcut", "disconnected"):
        with run_of(folder / name, getattr(scripts, name), plan_scenes(world, BOTH)) as run:
            got[name] = values_of(run)
    return got


def test_every_scene_has_every_metric_once(found, world):
    own = {metric.key for metric in METRICS if "other_" not in metric.key}
    for values in found.values():
        assert set(values) == own
        for key in ("scene.qa", "scene.sgc", "scene.blind_changes", "scene.blind_graph_change"):
            assert set(values[key]) == set(world.scenes)


def test_one_who_sees_everything_is_right_and_one_who_never_looks_never_changes(found):
    oracle, blind = found["oracle"], found["blind_prior"]
    assert min(oracle["scene.qa"].values()) == max(oracle["scene.qa"].values()) == 1
    assert min(oracle["scene.sgc"].values()) > 0.99
    for key in ("qa_drop", "sgc_drop", "blind_changes", "blind_graph_change"):
        assert all(value == pytest.approx(0) for value in blind[f"scene.{key}"].values()), key
        assert mean(oracle[f"scene.{key}"].values()) > 0.3, key


def test_right_answers_with_a_random_graph_are_not_borne_out_by_it(found):
    oracle, shortcut = found["oracle"], found["shortcut"]
    assert mean(shortcut["scene.qa"].values()) == 1
    assert mean(shortcut["scene.consistency"].values()) < 0.7 < mean(oracle["scene.consistency"].values())
    assert mean(shortcut["scene.direct_over_derived"].values()) > 0.3
    assert mean(oracle["scene.direct_over_derived"].values()) == pytest.approx(0, abs=0.02)


def test_scores_are_plain_means_over_the_scenes_questions(world, tmp_path):
    with run_of(tmp_path / "run", scripts.disconnected, plan_scenes(world, BOTH)) as run:
        values, rows = values_of(run), read_rows(run)
    for scene in world.scenes:
        sides = [
            mean(score_answer(r.answer, r.question) for r in rows.of(s).values() if r.question.scene == scene)
            for s in ("base", "blind")
        ]
        assert values["scene.qa"][scene] == pytest.approx(sides[0])
        assert values["scene.qa_drop"][scene] == pytest.approx(sides[0] - sides[1])
        base, blind = rows.graphs["base"][scene], rows.graphs["blind"][scene]
        assert values["scene.sgc"][scene] == pytest.approx(base.score.sgc)
        likeness = score_graph(blind.reading, base.reading.graph).sgc
        assert values["scene.blind_graph_change"][scene] == pytest.approx(1 - likeness)
        pairs = [
            (row.answer.value, rows.of("blind")[key].answer.value)
            for key, row in rows.of("base").items()
            if row.question.scene == scene
        ]
        assert values["scene.blind_changes"][scene] == pytest.approx(mean(a != b for a, b in pairs))


def test_another_picture_changes_what_a_looker_says_and_nothing_else(world, tmp_path):
    """Pictures go to scenes with as many marks, never to their own."""
    sized = [len(scene.objects) for scene in world.scenes.values()]
    exchangeable = {
        name for name, scene in world.scenes.items() if sum(size == len(scene.objects) for size in sized) > 1
    }
    if not exchangeable:
        same = next(iter(world.scenes.values()))
        pytest.fail(f"the world needs two scenes of one size, such as {len(same.objects)} marks")
    owner = {Picture.from_path(world.folder / s.marked).digest: name for name, s in world.scenes.items()}

    def looker(request):
        shown = owner[request.pictures[0].digest]
        if request.hint["task"] == "graph":
            return json.dumps(world.scenes[shown].star().as_json())
        return "A" if shown == request.hint["scene"] else "B"

    items = list(plan_pictures(world, seed=1))
    other = [item for item in items if item.meta["setting"] == "other picture"]
    assert {str(item.meta["scene"]) for item in other} == exchangeable
    for item in other:
        shown = owner[item.request.pictures[0].digest]
        own = str(item.meta["scene"])
        assert shown != own
        assert len(world.scenes[shown].objects) == len(world.scenes[own].objects)
    with run_of(tmp_path / "looker", looker, items, PICTURES) as run:
        seen = values_of(run)
    with run_of(tmp_path / "blind", scripts.blind_prior, items, PICTURES) as run:
        unseen = values_of(run)
    assert set(seen["scene.other_graph_change"]) == exchangeable
    for scene in exchangeable:
        assert seen["scene.other_graph_change"][scene] > 0.02
        assert unseen["scene.other_graph_change"][scene] == pytest.approx(0)
        assert unseen["scene.other_changes"][scene] == 0
    choices = {q.scene for q in world.questions if q.form == "choice"} & exchangeable
    assert all(seen["scene.other_changes"][scene] > 0 for scene in choices)


def test_refusals_without_a_picture_are_changes_and_never_lost(world, tmp_path):
    def declines_blindly(request):
        return scripts.refuser(request) if request.hint["setting"] == "blind" else scripts.oracle(request)

    with run_of(tmp_path / "run", declines_blindly, plan_scenes(world, BOTH)) as run:
        values = values_of(run)
    assert set(values["scene.blind_changes"].values()) == {1.0}
    assert set(values["scene.blind_graph_change"].values()) == {1.0}
    assert np.allclose(list(values["scene.qa_drop"].values()), list(values["scene.qa"].values()))


def test_readings_carry_their_split_and_cluster(world, tmp_path):
    with run_of(tmp_path / "run", scripts.oracle, plan_scenes(world, BOTH)) as run:
        every = readings(run)
    assert {each.split for each in every} == {"aligned"}
    assert all(each.cluster == each.item for each in every)


def test_another_instruments_run_is_refused(tmp_path):
    with (
        run_of(tmp_path / "run", scripts.oracle, (), "trace") as run,
        pytest.raises(UsageError, match="trace"),
    ):
        readings(run)
