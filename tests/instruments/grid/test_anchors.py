"""Which anchor is ignored: models that ignore one on purpose are found by its metric, and by no other."""

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.scores import by_metric
from theodolite.instruments.grid.data.batch import dropped_anchor
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.experiments.accuracy import anchor_scores
from theodolite.instruments.grid.questions import ANCHOR_BUCKETS, ANCHORS_RUN, plan_anchors
from theodolite.models import ask_measurer
from theodolite.models.scripted import ScriptedModel
from theodolite.runs import LocalEngine, Run, RunInfo, measure


@pytest.fixture(scope="module")
def scenes():
    return generate(ANCHOR_BUCKETS, 6, mode="pure", density=9, seed=4, split="test")


def run_of(folder, scenes, answer_of):
    """A run of a model that answers the i-th scene by a function of its number."""
    names = [f"s{i}" for i in range(len(scenes))]
    items = list(plan_anchors(scenes, names))
    said = {item.request.ref: answer_of(i) for i, item in enumerate(items)}
    model = ScriptedModel("scripted:forgetful", lambda request, _: said[request.ref])
    engine = LocalEngine(ask_measurer(model))
    info = RunInfo(instrument=ANCHORS_RUN, model=model.name, identity=engine.identity, theodolite="0")
    with Run.start(folder, info) as run:
        run.plan(items, whole=True)
        measure(run, engine)
        return {key: [r.value for r in found] for key, found in by_metric(anchor_scores(run)).items()}


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_model_that_ignores_an_anchor_is_found(tmp_path, scenes, k):
    forgotten = dropped_anchor(scenes.world, scenes.cells, scenes.questions, k=k)
    found = run_of(tmp_path, scenes, lambda i: scenes.world.answers[int(forgotten[i])])
    assert np.mean(found[f"grid.dropped_anchor_{k + 1}"]) == 1
    for other in {0, 1, 2} - {k}:
        assert np.mean(found[f"grid.dropped_anchor_{other + 1}"]) < 0.7


def test_a_model_that_uses_all_of_them_is_right_and_ignores_none(tmp_path, scenes):
    found = run_of(tmp_path, scenes, scenes.answer_text)
    assert np.mean(found["grid.deep_right"]) == 1
    for key in (
        "grid.dropped_anchor_1",
        "grid.dropped_anchor_2",
        "grid.dropped_anchor_3",
        "grid.deep_bag_of_words",
    ):
        assert np.mean(found[key]) == 0
    assert {
        f"grid.{name}"
        for name in (
            "deep_right",
            "dropped_anchor_1",
            "dropped_anchor_2",
            "dropped_anchor_3",
            "deep_bag_of_words",
        )
    } == set(found)


def test_only_scenes_where_ignoring_is_wrong_count(tmp_path, scenes):
    found = run_of(tmp_path, scenes, scenes.answer_text)
    for k in range(3):
        said = dropped_anchor(scenes.world, scenes.cells, scenes.questions, k=k)
        depths = np.array([int(scenes.bucket_key(i)[-1]) for i in range(len(scenes))])
        wrong = int(((said != scenes.answer) & (depths > k)).sum())
        assert len(found[f"grid.dropped_anchor_{k + 1}"]) == wrong


def test_questions_with_one_anchor_are_refused():
    with pytest.raises(UsageError, match="several anchors"):
        list(plan_anchors(generate(("M-F0-D1",), 2, mode="pure", density=9, seed=0), ["a", "b"]))


def test_an_answer_that_cannot_be_read_has_its_reason(tmp_path, scenes):
    few = scenes.take(slice(0, 2))
    names = ["s0", "s1"]
    items = list(plan_anchors(few, names))
    model = ScriptedModel("scripted:refuser", lambda *_: "I'm sorry, I cannot answer that.")
    engine = LocalEngine(ask_measurer(model))
    info = RunInfo(instrument=ANCHORS_RUN, model=model.name, identity=engine.identity, theodolite="0")
    with Run.start(tmp_path, info) as run:
        run.plan(items, whole=True)
        measure(run, engine)
        scores = anchor_scores(run)
    assert {(each.value, each.reason) for each in scores} == {(None, "refused")}
    assert {each.item for each in scores} == set(names)
