"""Learned shortcuts: clues are what they say, leaks are found, and the preset sound has none; released is as the public generator."""

from dataclasses import replace

import grid_plain
import numpy as np
import pytest

from theodolite.instruments.grid.data.audit import (
    _p_above,
    audit,
    audit_tables,
    broken_promises,
    clues,
    learned_shortcuts,
    least_gain,
    promise_of,
    promise_table,
)
from theodolite.instruments.grid.data.batch import GUARANTEES, bag_of_words, dropped_anchor, look
from theodolite.instruments.grid.data.files import (
    Dataset,
    DatasetPlan,
    make_dataset,
    read_dataset,
    write_dataset,
)
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS, BUCKETS, bucket_index
from theodolite.instruments.grid.data.recipe import PAPER, RELEASED, SOUND


def named(scenes):
    return {clue.name: clue.values for clue in clues(scenes)}


def learned(scenes):
    return {each.name: each for each in learned_shortcuts(scenes)}


@pytest.mark.parametrize("preset", ["paper", "sound", "released"])
def test_clues_are_what_a_plain_reading_counts(preset):
    scenes = generate("M-F0-D2", 30, density="dense", preset=preset, seed=1)
    found = named(scenes)
    for row in range(len(scenes)):
        objects, text = grid_plain.objects_of(scenes, row), scenes.text(row)
        assert str(found["look-alikes"][row, 0]) == grid_plain.answer(objects, text, relations_count=False)
        for k in range(2):
            assert str(found[f"without anchor {k + 1}"][row, 0]) == grid_plain.answer(objects, text, drop=k)
    colour = scenes.questions.targets[:, 0] // 5
    painted = np.array([[(c - 1) // 4 + 1 if c else 0 for c in row] for row in scenes.cells.tolist()])
    assert (found["objects of the target's colour"][:, 0] == (painted == colour[:, None]).sum(axis=1)).all()
    region = look(scenes.world, scenes.cells, scenes.questions).region(0)
    assert (found["target by colour"][:, 0] == ((painted == colour[:, None]) & region).sum(axis=1)).all()


def test_an_anchor_by_half_its_description_is_found_only_if_it_is_the_only_one():
    scenes = generate("M-F0-D1", 200, density="dense", preset="released", seed=2)
    found = named(scenes)["anchor 1 by colour"][:, 0]
    colour = scenes.questions.anchors[:, 0] // 5
    painted = np.where(scenes.cells > 0, (scenes.cells.astype(int) - 1) // 4 + 1, 0)
    is_only = (painted == colour[:, None]).sum(axis=1) == 1
    assert 0 < is_only.sum() < len(scenes)
    assert (found[is_only] == scenes.answer[is_only]).all()
    assert (found[~is_only] == named(scenes)["without anchor 1"][~is_only, 0]).all()


def test_existence_leaks_through_the_number_of_look_alikes_and_it_is_not_reduced_first():
    """A bag of words says yes to all of these scenes, and so tells nothing; the number of look-alikes tells much."""
    scenes = generate("M-F1-D1", 2000, density="dense", seed=1)
    found = learned(scenes)["look-alikes"]
    assert (bag_of_words(scenes.world, scenes.cells, scenes.questions) == scenes.world.yes).all()
    assert found.gain.low > 0.15
    assert found.bits.low > 0.1
    assert found.accuracy.value == pytest.approx(found.base.value + found.gain.value)
    assert found in broken_promises(learned_shortcuts(scenes))


def test_a_shortcut_names_what_it_is_held_against():
    found = learned(generate("CMP-F0-D2", 400, density="dense", preset="paper", seed=1))
    assert found["look-alikes"].baseline == "the best constant answer"
    assert found["without anchor 1"].baseline == "the best map from the other group's count"
    assert found["without anchor 1"].base.value > found["look-alikes"].base.value
    sound = learned(generate("CMP-F0-D2", 2000, density="dense", preset="sound", seed=1))["without anchor 1"]
    assert sound.gain.high < 0.03
    assert sound.above_constant.low > 0.2
    assert sound.above_constant.value > sound.gain.value
    promise = promise_of(BUCKETS[bucket_index("CMP-F0-D2")], 17, SOUND, "pure")
    assert "more than 3 points above the best constant answer" in promise.sentence


def test_the_order_of_the_scenes_hides_no_leak():
    """Yes and no in turn: the halves are not every other scene, or the map would know one answer and be tried on the other."""
    scenes = generate("M-F1-D3", 600, density="sparse", preset="paper", seed=1)
    yes, no = (np.flatnonzero((scenes.answer == scenes.world.yes) == is_yes) for is_yes in (True, False))
    n = min(len(yes), len(no))
    scenes = scenes.take(np.stack([yes[:n], no[:n]], axis=1).ravel())
    found = learned_shortcuts(scenes)
    assert max(each.gain.value for each in found) > 0.3
    assert len(broken_promises(found)) > len(found) // 2


def test_few_scenes_of_sound_raise_no_alarm():
    for seed in range(20):
        assert not broken_promises(learned_shortcuts(generate("M-F1-D1", 30, preset="sound", seed=seed)))
    assert learned_shortcuts(generate("M-F1-D1", 3, seed=1)) == []


@pytest.mark.parametrize("density", ["sparse", "dense"])
@pytest.mark.parametrize("key", BUCKET_KEYS)
def test_sound_keeps_its_promise(key, density):
    scenes = generate(key, 2000, preset="sound", density=density, seed=9)
    promise = promise_of(BUCKETS[bucket_index(key)], SOUND.objects(density), SOUND, "pure")
    covered = [each for each in learned_shortcuts(scenes) if each.family in promise.covers]
    assert len(covered) >= 3
    assert not broken_promises(covered)
    assert np.mean([each.gain.value for each in covered]) < 0.03


@pytest.mark.parametrize("key", ["M-F1-D1", "M-F1-D2", "M-F0-D3"])
def test_half_a_target_without_an_anchor_is_measured_and_promised_only_of_one_anchor(key):
    """Colours and shapes are balanced outside the valid region as a whole, so with one anchor in its only C_k."""
    scenes = generate(key, 2000, preset="sound", density="sparse", seed=11)
    bucket = BUCKETS[bucket_index(key)]
    promise = promise_of(bucket, SOUND.objects("sparse"), SOUND, "pure")
    found = [each for each in learned_shortcuts(scenes) if each.family == "half, dropped"]
    assert len(found) == 4 * bucket.n_anchors
    is_kept = bucket.n_anchors == 1
    assert (not broken_promises(found)) == is_kept
    assert ("half, dropped" in promise.covers) == is_kept
    assert promise.sentence.endswith("target without an anchor can give the answer away.") != is_kept
    region = look(scenes.world, scenes.cells, scenes.questions).region(0, drop=0)
    painted = np.where(scenes.cells > 0, (scenes.cells.astype(int) - 1) // 4 + 1, 0)
    is_seen = (painted == scenes.questions.targets[:, :1] // 5) & region
    assert (named(scenes)["target by colour without anchor 1"][:, 0] == is_seen.sum(axis=1)).all()


def test_the_audit_names_what_is_known_to_pay(tmp_path):
    plan = DatasetPlan("pure", 20, 0, SOUND, densities=("sparse",), buckets=("M-F0-D1", "M-F0-D2"))
    data = read_dataset(write_dataset(make_dataset(plan), tmp_path / "data", pictures=False, table=False))
    tables = {table.name: table for table in audit_tables([audit(data, n_permutations=9)])}
    notes = tables["grid.shortcuts_overall"].notes
    assert "data: not promised, and known to pay: “half, dropped” in M-F0-D2." in notes


def test_counts_are_the_same_for_every_answer_in_sound():
    """Except for repeated and opposite directions, every incomplete count has one distribution, whatever the answer."""
    scenes = generate("M-F0-D2", 4000, preset="sound", density="sparse", seed=3)
    ways = scenes.questions.directions[:, :2].astype(int)
    is_free = ((ways <= 2).sum(axis=1) == 1) & look(scenes.world, scenes.cells, scenes.questions).region(
        0
    ).any(axis=1)
    scenes = scenes.take(is_free)
    found = named(scenes)
    assert set(np.unique(scenes.answer)) == {0, 1, 2}
    for name in ("look-alikes", "without anchor 1", "without anchor 2", "anchor 1 by shape"):
        assert len(np.unique(found[name], axis=0)) == 1, name


def test_sound_has_repeated_directions_shared_attributes_empty_regions_and_zeros():
    scenes = generate("M-F0-D2", 3000, preset="sound", seed=4)
    ways = scenes.questions.directions[:, :2]
    assert 0.01 < (ways[:, 0] == ways[:, 1]).mean() < 0.04
    kinds = np.stack([scenes.questions.targets[:, 0], *scenes.questions.anchors[:, :2].T], axis=1).astype(int)
    shared = [len(set(row // 5)) < 3 or len(set(row % 5)) < 3 for row in kinds]
    assert np.mean(shared) > 0.5
    empty = ~look(scenes.world, scenes.cells, scenes.questions).region(0).any(axis=1)
    assert 0.004 < empty.mean() < 0.03
    assert (scenes.answer[empty] == 0).all()
    assert (scenes.answer == 0).mean() > 0.3


def test_released_has_what_the_public_generator_has():
    """Shares measured on 2,000 scenes of the public generator: an anchor that may be dropped, and a right bag of words."""
    for key, density, dropped, bag in (
        ("M-F0-D2", "dense", 0.27, 0.015),
        ("M-F0-D2", "sparse", 0.48, 0.16),
        ("M-F0-D3", "dense", 0.65, 0.0),
        ("M-F0-D3", "sparse", 0.87, 0.16),
    ):
        scenes = generate(key, 3000, density=density, preset="released", seed=1)
        how = scenes.world, scenes.cells, scenes.questions
        n_anchors = BUCKETS[int(scenes.bucket[0])].n_anchors
        right = [dropped_anchor(*how, k=k) == scenes.answer for k in range(n_anchors)]
        assert np.any(right, axis=0).mean() == pytest.approx(dropped, abs=0.04)
        assert (bag_of_words(*how) == scenes.answer).mean() == pytest.approx(bag, abs=0.03)
    existence = generate("SO-F1-D1", 2000, density="dense", preset="released", seed=1)
    assert existence.objects.mean() == pytest.approx(15.1, abs=0.25)
    plain = generate("A-F0-D1", 2000, density="dense", preset="released", seed=1)
    assert set(np.unique(plain.objects)) == {17, 18}


def test_every_bucket_has_one_sentence():
    for recipe in (PAPER, SOUND, RELEASED):
        for mode in ("pure", "spur"):
            plan = DatasetPlan(mode, 1, 0, recipe)
            sentences = [row[0] for row in promise_table(plan).rows]
            assert len(set(sentences)) == len(sentences)
            listed = " ".join(str(row[1]) for row in promise_table(plan).rows)
            assert all(key in listed for key in BUCKET_KEYS)
            assert all(sentence.endswith(".") for sentence in sentences)


def test_a_broken_promise_fails_the_audit(tmp_path):
    """Scenes of the paper that say they are sound."""
    plan = DatasetPlan("pure", 400, 0, SOUND, densities=("dense",), buckets=("M-F1-D1",))
    kept = make_dataset(plan)
    told = audit(
        read_dataset(write_dataset(kept, tmp_path / "kept", pictures=False, table=False)), n_permutations=9
    )
    assert told.is_kept
    leaking = Dataset(plan, generate("M-F1-D1", 400, density=17, preset="paper", seed=0), kept.density)
    told = audit(
        read_dataset(write_dataset(leaking, tmp_path / "leak", pictures=False, table=False)), n_permutations=9
    )
    assert [fault.check for fault in told.faults] == ["no learned shortcut pays, as promised"]
    assert told.faults[0].count == 400
    assert "the best constant answer 5" in told.faults[0].example
    tables = {table.name: table for table in audit_tables([told], clues=True)}
    least = round(100 * least_gain(200, len(told.buckets[0].learned)))
    note = tables["grid.shortcuts_overall"].notes[1]
    assert "in 1 of 1 buckets" in note
    assert f"a gain below {least} points cannot be told" in note
    assert len(tables["grid.clues"].rows) == len(told.buckets[0].learned)


def test_too_few_scenes_are_not_called_clean(tmp_path):
    plan = DatasetPlan("pure", 6, 0, PAPER, densities=("dense",), buckets=("M-F1-D1", "M-F0-D2"))
    data = read_dataset(write_dataset(make_dataset(plan), tmp_path / "data", pictures=False, table=False))
    tables = {table.name: table for table in audit_tables([audit(data, n_permutations=9)])}
    (note,) = (each for each in tables["grid.shortcuts_overall"].notes if "learned shortcut" in each)
    assert note == "data: too few scenes of each bucket to tell whether a learned shortcut pays."


@pytest.mark.parametrize("n", [25, 200])
def test_the_least_gain_is_found_and_one_scene_less_is_not(n):
    """Against tests of shortcuts that do not pay."""
    (some,) = (each for each in learned_shortcuts(generate("M-F1-D1", 40, seed=1)) if each.name == "objects")
    right = round(n * least_gain(n, 100))
    found = []
    for hits in (right, right - 1):
        difference = (np.arange(n) < hits).astype(float)
        tested = [replace(some, p_value=_p_above(difference)), *[replace(some, p_value=1.0)] * 99]
        found.append(len(broken_promises(tested)))
    assert found == [1, 0]


def test_released_does_not_keep_theorem_1_and_the_audit_says_so(tmp_path):
    plan = DatasetPlan("pure", 60, 0, RELEASED, densities=("dense",), buckets=("M-F0-D3",))
    told = audit(
        read_dataset(write_dataset(make_dataset(plan), tmp_path / "data", pictures=False, table=False)),
        n_permutations=9,
    )
    assert "Theorem 1 holds as guaranteed" in {fault.check for fault in told.faults}
    assert told.buckets[0].levels[GUARANTEES[2]] > 20
    assert told.buckets[0].promise.sentence.startswith("Nothing: Theorem 1 is claimed, but")


def test_replaced_recipes_keep_their_law():
    assert replace(SOUND, max_answer=1).law == "balanced"
    assert set(np.unique(generate("M-F0-D1", 200, preset=replace(SOUND, max_answer=1), seed=0).answer)) == {
        0,
        1,
    }
