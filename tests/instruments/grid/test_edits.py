"""Edits and their metrics: on the symbolic models, whose reasoning is exact, every value is known beforehand."""

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.scores import by_metric, metrics_of
from theodolite.instruments.grid.data.batch import edited_scenes
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, write_dataset
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.experiments.map_quality import EXPLAINERS, needs_gradients
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.instrument import GRID
from theodolite.instruments.grid.measure import explain_factory
from theodolite.instruments.grid.questions import (
    EDITS_RUN,
    EXPLAIN_RUN,
    ExplainPlan,
    plan_edits,
    plan_explanations,
)
from theodolite.instruments.grid.score import item_scores
from theodolite.models import ask_factory, ask_measurer
from theodolite.models.scripted import ScriptedModel
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure
from theodolite.stats import score_mean

DEPTH_1 = [bucket.key for bucket in BUCKETS if bucket.depth == 1 and bucket.is_relational]


def scenes_of(mode, n=6, seed=3):
    return generate(DEPTH_1, n, mode=mode, density="sparse", seed=seed)


def values_of(run):
    scored = [each for each in item_scores(run) if each.is_scored]
    return {key: np.array([each.value for each in rows]) for key, rows in by_metric(scored).items()}


def measured(folder, instrument, model, items, factory, settings=None):
    measurer = factory()
    info = RunInfo(
        instrument=instrument,
        model=model,
        identity=measurer.identity,
        settings=settings or {},
        seed=0,
        theodolite="0",
    )
    run = Run.start(folder, info)
    run.plan(items, whole=True)
    measure(run, LocalEngine(measurer), MeasureOptions())
    measurer.close()
    return run


def plain_counts(scenes, i):
    """By hand: how many look like the first target anywhere, and in the direction of the anchor."""
    from theodolite.instruments.grid.data.batch import regions_of, scene_objects

    valid = regions_of(scenes).valid[i, 0]
    wanted = [o for o in scene_objects(scenes, i) if o.role in {"target_1", "adversarial"}]
    return len(wanted), sum(bool(valid[o.cell]) for o in wanted)


@pytest.mark.parametrize("mode", ["spur", "pure"])
def test_edits_have_their_known_effect_on_the_answer(mode):
    scenes = scenes_of(mode)
    found = {changed.kind: changed for changed in edited_scenes(scenes, seed=1)}
    for kind in ("plain", "swapped", "decoyed", "cleared"):
        changed = found[kind]
        assert len(changed.rows) == len(changed.scenes) > 10, kind
        before = scenes.answer[changed.rows]
        if kind == "swapped":
            assert (changed.scenes.answer != before).all()
            assert (changed.scenes.cells == scenes.cells[changed.rows]).all()
        else:
            assert (changed.scenes.answer == before).all()
    decoyed = found["decoyed"]
    for i, row in enumerate(decoyed.rows):
        anywhere, inside = plain_counts(decoyed.scenes, i)
        assert inside == plain_counts(scenes, int(row))[1]
        assert anywhere > inside, "a decoy is there, and the question does not look at it"
        old, new = scenes.cells[row], decoyed.scenes.cells[i]
        assert (new[old > 0] == old[old > 0]).all(), "decoys go into empty cells"


def test_decoys_are_the_same_for_the_same_seed_and_differ_for_another():
    scenes = scenes_of("spur")
    first, again, other = (edited_scenes(scenes, seed=seed)[2].scenes.cells for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_scenes_without_a_relation_are_refused():
    with pytest.raises(UsageError, match="relation"):
        edited_scenes(generate(["A-F0-D1"], 2, seed=0), seed=0)


@pytest.mark.parametrize("answering", ["choose", "write"])
def test_the_symbolic_models_have_the_scores_of_their_logic(tmp_path, answering):
    """On spurious scenes both are right everywhere; only metrics of the relation differ."""
    scenes = scenes_of("spur")
    items = list(plan_edits(scenes, [f"s{i}" for i in range(len(scenes))], split="aligned"))
    found = {}
    for logic in ("pure", "bow"):
        model = f"grid:symbolic-{logic}"
        with measured(tmp_path / logic, EDITS_RUN, model, items, ask_factory(model, answering)) as run:
            found[logic] = values_of(run)
            assert {each.split for each in item_scores(run)} == {"aligned"}
    pure, bow = found["pure"], found["bow"]
    for key in ("right", "clear_keeps"):
        assert (pure[f"grid.{key}"] == 1).all()
        assert (bow[f"grid.{key}"] == 1).all()
    for key in ("swap_changes", "swap_follows", "decoy_keeps"):
        assert (pure[f"grid.{key}"] == 1).all(), key
        assert (bow[f"grid.{key}"] == 0).all(), key
    assert np.array_equal(pure["grid.empty_changes"], bow["grid.empty_changes"])
    assert "grid.bag_of_words" not in pure, "on spurious scenes the bag of words is never wrong"
    assert ("grid.swap_shift" in pure) == (answering == "choose")
    if answering == "choose":
        assert (pure["grid.swap_shift"] > 0.9).all()
        assert (bow["grid.swap_shift"] < 1e-9).all()
        assert (bow["grid.decoy_shift"] > 0.9).all()
        assert 0 < len(pure["grid.heeds_relation"]) <= len(pure["grid.swap_shift"])
        assert (pure["grid.heeds_relation"] > 0.9).all()
        assert (bow["grid.heeds_relation"] < -0.9).all()


def test_on_pure_scenes_a_bag_of_words_is_found_where_it_is_wrong(tmp_path):
    scenes = scenes_of("pure")
    items = list(plan_edits(scenes, [f"s{i}" for i in range(len(scenes))]))
    for logic, share in (("pure", 0.0), ("bow", 1.0)):
        model = f"grid:symbolic-{logic}"
        with measured(tmp_path / logic, EDITS_RUN, model, items, ask_factory(model, "choose")) as run:
            values = values_of(run)["grid.bag_of_words"]
        assert len(values) > 10
        assert (values == share).all()


def test_maps_are_read_from_a_run_of_explanations(tmp_path):
    """Exact removal: a bag of words puts nothing on direction words and the anchor; an evaluator does."""
    plan = DatasetPlan("pure", 2, 0, densities=("sparse",), buckets=("M-F0-D1", "SO-F0-D1"))
    folder = write_dataset(make_dataset(plan), tmp_path / "data")
    explain = ExplainPlan(str(folder), ("removal",), budget=64)
    found = {}
    for logic in ("pure", "bow"):
        model = f"grid:symbolic-{logic}"
        items = list(plan_explanations(explain))
        factory = explain_factory(model, explain)
        with measured(tmp_path / logic, EXPLAIN_RUN, model, items, factory, explain.settings()) as run:
            found[logic] = values_of(run)
            assert {each.split for each in item_scores(run)} == {"crossed"}
    assert (found["bow"]["grid.direction_words:removal"] == 0).all()
    assert (found["pure"]["grid.direction_words:removal"] > 0).all()
    assert (found["bow"]["grid.anchor_mass:removal"] == 0).all()
    assert (found["pure"]["grid.anchor_mass:removal"] > 0).all()
    assert (
        found["pure"]["grid.adversarial_mass:removal"] < found["bow"]["grid.adversarial_mass:removal"]
    ).all()


def test_keys_stand_once_and_say_which_way_looking_lies():
    keys = {metric.key: metric for metric in metrics_of("grid")}
    assert len(keys) == len(metrics_of("grid"))
    assert not keys["grid.decoy_shift"].higher_is_grounded
    assert not keys["grid.adversarial_mass:dime"].higher_is_grounded
    assert keys["grid.swap_shift"].higher_is_grounded
    assert keys["grid.adversarial_mass:dime"].origin == "paper"


def test_which_explainers_differentiate_is_what_they_say_themselves():
    for explainer in find_explainers(EXPLAINERS):
        assert needs_gradients(explainer.name) == explainer.needs_gradients, explainer.name


def test_another_instruments_run_is_refused(tmp_path):
    with (
        measured(tmp_path / "run", "scene", "m", (), ask_factory("grid:symbolic-bow", "choose")) as run,
        pytest.raises(UsageError, match="scene"),
    ):
        item_scores(run)


def scripted(folder, kind, items, texts):
    """A run in which items get texts by name."""
    model = ScriptedModel("scripted:texts", lambda request, _: texts[request.ref])
    return measured(folder, kind, model.name, items, lambda: ask_measurer(model))


def test_an_answer_that_cannot_be_read_has_its_reason(tmp_path):
    scenes = scenes_of("spur", n=1)
    items = [
        item
        for item in plan_edits(scenes, [f"s{i}" for i in range(len(scenes))])
        if item.name.startswith("s0/")
    ]
    texts = {item.name: item.request.hint["gold"] for item in items}
    texts["s0/emptied"] = "I'm sorry, but I cannot see any objects in this picture."
    with scripted(tmp_path / "one", EDITS_RUN, items, texts) as run:
        found = {each.metric: each for each in item_scores(run)}
    assert found["grid.right"].value == 1
    assert (found["grid.empty_changes"].value, found["grid.empty_changes"].reason) == (None, "refused")
    texts["s0/plain"] = "What a lovely day."
    with scripted(tmp_path / "two", EDITS_RUN, items, texts) as run:
        found = {each.metric: each for each in item_scores(run)}
    assert {each.reason for each in found.values()} == {"unreadable"}
    assert found.pop("grid.right").value == 0
    assert all(each.value is None for each in found.values())


def test_tables_and_scores_give_the_same_number_for_every_metric(tmp_path):
    scenes = scenes_of("pure", n=2)
    items = list(plan_edits(scenes, [f"s{i}" for i in range(len(scenes))], split="crossed"))
    factory = ask_factory("grid:symbolic-bow", "choose")
    with measured(tmp_path, EDITS_RUN, "grid:symbolic-bow", items, factory) as run:
        scores, (table,) = GRID.score(run), GRID.tables(run)
    shown = {row[0]: row[2] for row in table.rows}
    known = [metric for metric in metrics_of("grid") if any(each.metric == metric.key for each in scores)]
    assert len(known) == len(shown) == 10
    for metric in known:
        assert shown[metric.name] == score_mean(metric, scores)
