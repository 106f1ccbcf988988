"""Pairs of scenes: what each edit keeps, and that strategies which use only that follow none of them."""

import json
import shutil
from collections import Counter

import numpy as np
import pytest

from theodolite.core.files import check
from theodolite.core.scores import OWN_SPLIT
from theodolite.instruments.instrument import Study, UserData, item_rows, pairs_of_runs
from theodolite.instruments.scene.data.files import SceneQuestion, is_aligned, scene_shortcut
from theodolite.instruments.scene.data.make import BEFORE, EDITS, read_pairs, right_option
from theodolite.instruments.scene.data.small_rooms import room_pairs, scene_data
from theodolite.instruments.scene.formulas.solver import solve
from theodolite.instruments.scene.instrument import SCENE
from theodolite.instruments.scene.questions import pairs_plan, question_of
from theodolite.models import ask_measurer, open_model
from theodolite.models.scripted import ScriptedModel
from theodolite.pairs import judge_looking
from theodolite.pairs.outcomes import (
    AGAIN,
    EXCHANGE,
    EXCHANGE_MARKS,
    IN_KIND,
    LIGHT,
    MOVE_OBJECT,
    OTHER_CAMERA,
    WALLS,
)
from theodolite.runs import Run, RunSettings, measure_run
from theodolite.worlds.marks import Radii, place_marks

N_ROOMS = 40
RELEVANT = [edit.name for edit in (EXCHANGE, EXCHANGE_MARKS, MOVE_OBJECT, OTHER_CAMERA)]
IN_KIND_NAMES = [IN_KIND[name].name for name in RELEVANT]
NEUTRAL = [edit.name for edit in (WALLS, LIGHT)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return room_pairs(tmp_path_factory.mktemp("rooms") / "pairs", N_ROOMS, seed=5)


@pytest.fixture(scope="module")
def pairs(folder):
    return read_pairs(folder)


def asked(pairs, setting):
    """Each question after an edit, with the same one before."""
    before = {question.id: question for question in pairs[BEFORE].questions}
    return [(before[question.id], question) for question in pairs[setting].questions]


def test_there_are_enough_pairs_of_every_edit_and_most_kinds_of_question(pairs):
    assert set(pairs) == {BEFORE, *RELEVANT, *NEUTRAL, *IN_KIND_NAMES}
    counts = {setting: len(data.questions) for setting, data in pairs.items()}
    assert sum(counts[name] for name in RELEVANT) == counts[BEFORE] > 2 * 0.9 * N_ROOMS
    assert sum(counts[name] for name in IN_KIND_NAMES) > 0.4 * N_ROOMS
    assert min(counts[name] for name in NEUTRAL) >= 15
    assert min(counts[name] for name in RELEVANT if name != OTHER_CAMERA.name) >= 7
    assert counts[OTHER_CAMERA.name] >= 3
    kinds = Counter(q.kind for q in pairs[BEFORE].questions if not q.id.endswith("-turned"))
    assert len(kinds) >= 12
    assert max(kinds.values()) <= 5


def test_a_turned_question_has_the_two_answers_the_other_way_round(pairs):
    before = {question.id: question for question in pairs[BEFORE].questions}
    kinds = Counter()
    for setting in RELEVANT:
        after = {question.id: question for question in pairs[setting].questions}
        for name in (name for name in after if not name.endswith("-turned")):
            other = f"{name}-turned"
            asked = [right_option(side[key]) for key in (name, other) for side in (before, after)]
            assert asked[:2] == asked[:1:-1]
            assert before[name].text != before[other].text
            kinds[before[name].kind == before[other].kind] += 1
    assert kinds[True] >= kinds[False] / 2


def test_the_same_question_has_another_answer_after_a_relevant_edit(pairs):
    golds = Counter()
    for before, after in (each for setting in RELEVANT for each in asked(pairs, setting)):
        assert (before.text, before.options, before.objects) == (after.text, after.options, after.objects)
        assert before.form == "choice"
        assert before.gold != after.gold
        golds[before.gold, after.gold] += len(before.options) == 2
    assert min(golds["A", "B"], golds["B", "A"]) >= 3


@pytest.mark.parametrize("setting", [BEFORE, *RELEVANT, *NEUTRAL, *IN_KIND_NAMES])
def test_the_solver_finds_the_answers_in_the_graphs(pairs, setting):
    """It works on the star graph alone, so it may not know; where it knows, it agrees."""
    data = pairs[setting]
    found = [(solve(q, data.scenes[q.scene].star()), q.gold) for q in data.questions]
    known = [(answer.value, gold) for answer, gold in found if answer.is_solved]
    assert len(known) > 0.8 * len(found)
    assert sum(value != gold for value, gold in known) <= max(1, 0.1 * len(known))


@pytest.mark.parametrize("setting", [*NEUTRAL, *IN_KIND_NAMES])
def test_a_neutral_edit_changes_the_picture_and_not_the_answer(pairs, setting):
    for before, after in asked(pairs, setting):
        assert before == after
        old, new = (data.picture(before.scene).pixels() for data in (pairs[BEFORE], pairs[setting]))
        assert old.shape == new.shape
        assert (old != new).any()


def test_an_exchange_of_marks_keeps_the_picture_apart_from_the_marks(pairs):
    """So a strategy that does not read the marks answers both pictures alike."""
    for before, _ in asked(pairs, EXCHANGE_MARKS.name):
        old, new = (
            data.picture(before.scene).pixels() for data in (pairs[BEFORE], pairs[EXCHANGE_MARKS.name])
        )
        graph = pairs[BEFORE].scenes[before.scene]
        boxes = {thing.id: thing.box_px for thing in graph.objects}
        distances = {thing.id: thing.distance_m for thing in graph.objects}
        radii = Radii(0.042, 0.046, most_hidden=1.0)
        placed = place_marks(boxes, (old.shape[1], old.shape[0]), distances_m=distances, radii=radii)
        rows, columns = np.nonzero((old != new).any(axis=2))
        away = [np.hypot(columns - m.centre_px[0], rows - m.centre_px[1]) - m.radius_px for m in placed]
        assert np.min(away, axis=0).max() < 2
        assert len(rows) > 0


def test_an_exchange_of_places_keeps_the_objects_and_their_marks(pairs):
    for before, _ in asked(pairs, EXCHANGE.name):
        old, new = (data.scenes[before.scene] for data in (pairs[BEFORE], pairs[EXCHANGE.name]))
        for a, b in zip(old.objects, new.objects, strict=True):
            assert (a.id, a.category, a.size_lwh_m) == (b.id, b.category, b.size_lwh_m)
        moved = [a.id for a, b in zip(old.objects, new.objects, strict=True) if a.box_px != b.box_px]
        assert len(moved) == 2


def test_a_moved_object_is_the_only_one_that_moves(pairs):
    for before, _ in asked(pairs, MOVE_OBJECT.name):
        old, new = (data.scenes[before.scene] for data in (pairs[BEFORE], pairs[MOVE_OBJECT.name]))
        moved = [a.id for a, b in zip(old.objects, new.objects, strict=True) if a != b]
        assert len(moved) == 1
        assert old[moved[0]].size_lwh_m == new[moved[0]].size_lwh_m


def test_another_camera_keeps_the_room(pairs):
    """Sizes and distances between objects stay; what is seen from the camera changes."""
    for before, _ in asked(pairs, OTHER_CAMERA.name):
        old, new = (data.scenes[before.scene] for data in (pairs[BEFORE], pairs[OTHER_CAMERA.name]))
        assert new.camera_height_m == old.camera_height_m
        for a, b in zip(old.objects, new.objects, strict=True):
            assert (a.id, a.category, a.size_lwh_m) == (b.id, b.category, b.size_lwh_m)
            assert old.between_m(1, a.id) == pytest.approx(new.between_m(1, b.id), abs=1e-6)
            assert a.distance_m != b.distance_m
        assert before.competency in {"direction", "distance", "ranking", "counting"}


def measured(tmp_path, folder, model, split=""):
    plan = pairs_plan(folder, name="scene-pairs", split=split)
    settings = RunSettings(plan.kind, model.name, 0, plan.settings)
    place = tmp_path / model.name.replace(":", "-")
    measure_run(place, settings, plan.items, ask_measurer(model))
    return place


def by_rule(request, _):
    """From the wording and the numbers of the marks."""
    return scene_shortcut(check(SceneQuestion, request.hint["question"]))


def first_option(_, __):
    return "A"


def from_objects(request, _):
    """From the question, and which categories are in the scene."""
    words = f"{request.text} {request.hint['scene']}"
    return "AB"[sum(words.encode()) % 2]


@pytest.mark.parametrize("strategy", [by_rule, first_option, from_objects])
def test_a_strategy_that_uses_only_what_the_edits_keep_follows_no_pair(tmp_path, folder, strategy):
    run = measured(tmp_path, folder, ScriptedModel(f"scripted:{strategy.__name__}", strategy))
    found = pairs_of_runs(SCENE, [run])
    assert {pair.outcome for pair in found if pair.edit.is_relevant} == {"unmoved"}
    assert {pair.outcome for pair in found if not pair.edit.is_relevant} == {"kept"}
    assert judge_looking(found).standing == "does not look"


def test_a_model_that_sees_follows_all_of_them(tmp_path, folder):
    run = measured(tmp_path, folder, open_model("scripted:scene-oracle"))
    found = pairs_of_runs(SCENE, [run])
    assert {pair.outcome for pair in found if pair.edit.is_relevant} == {"followed"}
    assert {pair.outcome for pair in found if not pair.edit.is_relevant} == {"kept"}
    assert judge_looking(found).standing == "looks"
    assert {pair.split for pair in found} == {"aligned", "crossed"}
    assert len({pair.relation for pair in found}) >= 4


def test_refusals_are_answers_of_their_own_and_ramblings_are_lost(tmp_path, folder):
    for name, outcomes in (("scene-refuser", {"kept", "unmoved"}), ("scene-rambler", {"lost"})):
        run = measured(tmp_path, folder, open_model(f"scripted:{name}"))
        found = [pair for pair in pairs_of_runs(SCENE, [run]) if pair.edit != AGAIN]
        assert {pair.outcome for pair in found} == outcomes


def test_a_run_of_pairs_has_no_plain_item_and_no_score_but_a_row_for_each_item(tmp_path, folder):
    place = measured(tmp_path, folder, open_model("scripted:scene-oracle"))
    with Run.open(place) as run:
        items = [result.item for result in run.results()]
        assert not any(item.truth.is_plain for item in items)
        assert SCENE.score(run) == []
        rows = list(item_rows(SCENE, run, lambda picture: picture.digest, []))
        shown = {name for pair in SCENE.pairs(run) for name in pair.shown}
    assert [row.id for row in rows] == [item.name for item in items]
    assert shown == {row.id for row in rows}
    assert all(row.correct for row in rows)
    for item in items:
        if item.truth.condition == BEFORE:
            assert (item.truth.split == "aligned") == is_aligned(question_of(item))


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A data set of the user: marked pictures, and the same without marks."""
    folder = tmp_path_factory.mktemp("own") / "scenes"
    scene_data(folder, 5, seed=8)
    return folder


def own_plans(tmp_path, data):
    study = Study(tmp_path / "data", 6, splits=(), data=UserData("scene", "scenes", data))
    return {plan.name: plan for plan in SCENE.plan(study, "text")}


def test_marks_are_exchanged_on_the_users_own_pictures(tmp_path, own):
    plan = own_plans(tmp_path, own)["scene-pairs-own"]
    model = open_model("scripted:scene-oracle")
    run = tmp_path / "run"
    measure_run(run, RunSettings(plan.kind, model.name, 0, plan.settings), plan.items, ask_measurer(model))
    found = pairs_of_runs(SCENE, [run])
    assert {pair.split for pair in found} == {OWN_SPLIT}
    in_kind = IN_KIND[EXCHANGE_MARKS.name]
    assert (
        {EXCHANGE_MARKS, LIGHT} <= {pair.edit for pair in found} - {AGAIN} <= {EXCHANGE_MARKS, in_kind, LIGHT}
    )
    assert len({pair.cluster for pair in found}) == 5
    assert 10 < sum(pair.edit.is_relevant for pair in found) <= 30
    assert {pair.outcome for pair in found} == {"followed", "kept"}


def test_own_scenes_without_a_plain_picture_have_no_pairs(tmp_path, own):
    data = tmp_path / "scenes"
    shutil.copytree(own, data)
    shutil.rmtree(data / "pictures")
    assert "scene-pairs-own" not in own_plans(tmp_path, data)
    lines = (data / "scenes.jsonl").read_text().splitlines()
    without = [{k: v for k, v in json.loads(line).items() if k != "picture"} for line in lines]
    (data / "scenes.jsonl").write_text("\n".join(map(json.dumps, without)))
    assert "scene-pairs-own" not in own_plans(tmp_path / "again", data)


def test_every_edit_of_scenes_is_in_the_library():
    relevant = (EXCHANGE_MARKS, EXCHANGE, MOVE_OBJECT, OTHER_CAMERA)
    assert {edit for edit in EDITS.values() if edit.is_relevant} == set(relevant)
    assert set(EDITS.values()) == {*relevant, *(IN_KIND[edit.name] for edit in relevant), WALLS, LIGHT}
