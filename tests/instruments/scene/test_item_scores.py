"""Item scores of scenes, on scripted models whose fault is known, and against plain means; tables aggregate the same rows."""

import json
from dataclasses import replace
from statistics import fmean as mean

import numpy as np
import pytest
from PIL import Image
from scene_worlds import box_world

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import dump
from theodolite.core.scores import by_metric, metrics_of
from theodolite.core.types import Picture, Record, Response, Truth
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.experiments.noise import scene_rng
from theodolite.instruments.scene.formulas.mra import score_value
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.instrument import SCENE
from theodolite.instruments.scene.kinds import GROUPS, group_name
from theodolite.instruments.scene.questions import (
    PICTURES,
    Settings,
    is_graph,
    plan_pictures,
    plan_scenes,
    plan_with_graphs,
    question_of,
    setting_of,
    with_truth,
)
from theodolite.instruments.scene.results import read_run
from theodolite.instruments.scene.score import GRAPH_METRICS, item_scores, score_run
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
    return {
        key: {each.item: each.value for each in rows} for key, rows in by_metric(item_scores(run)).items()
    }


BOTH = Settings(qa=("base", "blind"), graph=("base", "blind"))


@pytest.fixture(scope="module")
def found(world, tmp_path_factory):
    """The scores of every scripted model."""
    folder = tmp_path_factory.mktemp("runs")
    got = {}
    for name in ("oracle", "blind_prior", "shortcut", "disconnected"):
        with run_of(folder / name, getattr(scripts, name), plan_scenes(world, BOTH)) as run:
            got[name] = values_of(run)
    return got


def test_every_question_and_every_scene_has_every_metric_once(found, world):
    own = {metric.key for metric in metrics_of("scene") if "other_" not in metric.key}
    questions = {question.id for question in world.questions}
    for values in found.values():
        assert set(values) == own
        for key in own:
            assert set(values[key]) == (set(world.scenes) if key in GRAPH_METRICS else questions), key
            n = sum(value is not None for value in values[key].values())
            assert (0 < n < len(questions)) if "solvable" in key else n == len(values[key])


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


def test_scores_by_hand(world, tmp_path):
    with run_of(tmp_path / "run", scripts.disconnected, plan_scenes(world, BOTH)) as run:
        values, rows = values_of(run), read_run(run)
    for key, row in rows.answers("base").items():
        other = rows.answers("blind")[key]
        seen, unseen = (score_value(row.question, each.answer.value) for each in (row, other))
        assert values["scene.qa"][key] == pytest.approx(seen)
        assert values["scene.qa_drop"][key] == pytest.approx(seen - unseen)
        assert values["scene.blind_changes"][key] == (row.answer.value != other.answer.value)
    for scene in world.scenes:
        base, blind = rows.graphs["base"][scene], rows.graphs["blind"][scene]
        assert values["scene.sgc"][scene] == pytest.approx(base.score.sgc)
        likeness = score_graph(blind.reading, base.reading.graph).sgc
        assert values["scene.blind_graph_change"][scene] == pytest.approx(1 - likeness)


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
    other = [item for item in items if item.truth.condition == "other picture"]
    assert {item.cluster for item in other} == exchangeable
    for item in other:
        shown = owner[item.request.pictures[0].digest]
        own = item.cluster
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
    asked = {q.id: q for q in world.questions if q.scene in exchangeable}
    assert seen["scene.other_changes"] == {
        key: 1.0 if q.form == "choice" else None for key, q in asked.items()
    }
    assert set(unseen["scene.other_changes"]) == set(asked)
    assert set(unseen["scene.other_changes"].values()) == {0.0}


def test_refusals_without_a_picture_are_changes_and_never_lost(world, tmp_path):
    def declines_blindly(request):
        return scripts.refuser(request) if request.hint["setting"] == "blind" else scripts.oracle(request)

    with run_of(tmp_path / "run", declines_blindly, plan_scenes(world, BOTH)) as run:
        values = values_of(run)
    assert set(values["scene.blind_changes"].values()) == {1.0}
    assert set(values["scene.blind_graph_change"].values()) == {1.0}
    assert np.allclose(list(values["scene.qa_drop"].values()), list(values["scene.qa"].values()))


def test_scores_carry_their_split_cluster_and_group(world, tmp_path):
    with run_of(tmp_path / "run", scripts.oracle, plan_scenes(world, BOTH)) as run:
        every = item_scores(run)
    scene_of = {question.id: question.scene for question in world.questions}
    groups = {group_name(*group) for group in GROUPS}
    assert {each.split for each in every} == {"aligned"}
    for each in every:
        if each.metric in GRAPH_METRICS:
            assert (each.cluster, each.group) == (each.item, "")
        else:
            assert each.cluster == scene_of[each.item]
            assert each.group in groups


def sometimes(request):
    """Answers in every way that there is, by turns, and gives graphs in every state."""
    place = int(scene_rng(request.ref, 0).integers(1000))
    if request.hint["task"] == "graph":
        return (scripts.oracle(request), "I cannot see the picture.", "It is a room.")[place % 3]
    said = (
        scripts.oracle(request),
        scripts.blind_prior(request),
        "I'm sorry, I cannot see the image.",
        "It depends.",
        Response("answered", text="Let me think. Object 1 is", finish="length"),
        Response.failed("no connection"),
        Response("refused", reason="policy"),
    )
    return said[place % len(said)]


def test_what_is_missing_says_why(world, tmp_path):
    with run_of(tmp_path / "run", sometimes, plan_scenes(world, BOTH)) as run:
        scores, rows = by_metric(item_scores(run)), read_run(run)
    seen = set()
    for score in scores["scene.qa"]:
        row = rows.answers("base")[score.item]
        assert score.reason == row.missing
        assert (score.value is None) == (row.status == "failed")
        assert not score.reason or not score.value
        seen.add(score.reason)
    assert seen >= {"", "refused", "unreadable", "cut off", "failed"}
    reasons = {each.reason for each in scores["scene.derived"]}
    assert {"no graph: refused", "no graph: unreadable"} <= reasons
    assert {each.reason for each in scores["scene.sgc"]} == {"", "refused", "unreadable"}


def test_tables_and_the_instrument_agree_on_every_metric(world, tmp_path):
    with run_of(tmp_path / "run", sometimes, plan_scenes(world, BOTH)) as run:
        scores, score = SCENE.score(run), score_run(run)
        tables = {table.name: table for table in SCENE.tables(run)}
    means = {metric.key: stats.score_mean(metric, scores) for metric in metrics_of("scene")}
    for metric in metrics_of("scene"):
        if "other_" not in metric.key:
            assert score.mean(metric.key.removeprefix("scene.")) == means[metric.key] is not None
    (overall, *_) = tables["scene.qa"].rows
    for column, cell in zip(tables["scene.qa"].columns, overall, strict=True):
        if f"scene.{column.name}" in means:
            assert cell == means[f"scene.{column.name}"]
    blind = {row[0]: row for row in tables["scene.blind"].rows}
    for name, key in (("QA", "scene.qa_drop"), ("SGC", "scene.sgc_drop")):
        assert blind[name][2].value == pytest.approx(means[key].value)


def test_an_item_that_was_stored_without_its_truth_is_completed(world):
    graphs = {scene.id: scene.star() for scene in world.scenes.values()}
    noisy = plan_with_graphs(world, graphs, setting="noisy graph", noise=0.3)
    for item in [*plan_scenes(world, BOTH), *plan_pictures(world), *noisy]:
        about = {"mode": "direct", "domain": item.meta["domain"], "scene": item.cluster}
        about["setting"] = setting_of(item)
        if is_graph(item):
            about |= {"task": "graph", **item.meta["rubric"]}
        else:
            question = question_of(item)
            about |= {"task": "qa", "question": dump(question, exclude_defaults=True)}
            about |= {key: item.meta[key] for key in ("graph", "noise") if key in item.meta}
        new = with_truth(replace(item, meta=about, truth=Truth()), {})
        assert new.truth == item.truth
        assert new.meta == item.meta


def test_another_instruments_run_is_refused(tmp_path):
    with (
        run_of(tmp_path / "run", scripts.oracle, (), "trace") as run,
        pytest.raises(UsageError, match="trace"),
    ):
        item_scores(run)
