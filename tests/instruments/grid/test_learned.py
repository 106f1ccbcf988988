"""What is learned with one thing left out: views hide it, leaks are found, and the preset sound has none; released is as the public generator."""

from dataclasses import replace

import grid_plain
import numpy as np
import pytest

from theodolite.instruments.grid.data import audit as audits
from theodolite.instruments.grid.data.audit import audit, audit_tables, promise_of, promise_table
from theodolite.instruments.grid.data.balanced import balance_of
from theodolite.instruments.grid.data.batch import (
    GUARANTEES,
    answer,
    bag_of_words,
    dropped_anchor,
    find_anchors,
    swap_directions,
    with_cells,
    with_questions,
)
from theodolite.instruments.grid.data.files import (
    Dataset,
    DatasetPlan,
    make_dataset,
    read_dataset,
    write_dataset,
)
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.ignorance import (
    FAMILIES,
    _known,
    _p_above,
    broken_promises,
    chance_above,
    ignorances,
    learned_shortcuts,
    least_gain,
    view,
)
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS, BUCKETS, bucket_index
from theodolite.instruments.grid.data.recipe import PAPER, RELEASED, SOUND
from theodolite.instruments.grid.data.world import GridShape, kind_code

RELATIONAL = [bucket.key for bucket in BUCKETS if bucket.is_relational]


def bucket_of(key):
    return BUCKETS[bucket_index(key)]


def ignorance_of(key, name):
    return next(each for each in ignorances(bucket_of(key)) if each.name == name)


# Views.


@pytest.mark.parametrize("preset", ["paper", "sound", "released"])
def test_known_parts_are_what_a_plain_reading_counts(preset):
    """Of all objects, those with every known part are as many as a reader counts who drops that anchor."""
    scenes = generate("M-F0-D2", 30, density="dense", preset=preset, seed=1)
    positions, _ = find_anchors(scenes.cells, scenes.questions)
    for k in range(2):
        code, size = _known(scenes, ignorance_of("M-F0-D2", f"anchor {k + 1}"), 0, positions)
        assert size == 8
        for row in range(len(scenes)):
            objects, text = grid_plain.objects_of(scenes, row), scenes.text(row)
            counted = ((code[row] == size - 1) & (scenes.cells[row] > 0)).sum()
            assert str(counted) == grid_plain.answer(objects, text, drop=k)


@pytest.mark.parametrize("key", ["SO-F0-D1", "M-F0-D1", "M-F1-D3", "CMP-F0-D2"])
def test_a_view_does_not_depend_on_what_it_leaves_out(key):
    """Another colour, shape, direction or anchor in the question, and the observer sees the same."""
    scenes = generate(key, 40, density="dense", preset="sound", seed=2)
    asked = scenes.questions
    for ignorance in ignorances(bucket_of(key)):
        targets, anchors, directions = (
            part.copy() for part in (asked.targets, asked.anchors, asked.directions)
        )
        side, k = ignorance.side, ignorance.anchor
        if ignorance.family in {"half target", "word", "target", "group"}:
            colour, shape = np.divmod(targets[:, side], 5)
            other_colour, other_shape = np.where(colour, colour % 4 + 1, 0), np.where(shape, shape % 4 + 1, 0)
            targets[:, side] = kind_code(
                colour if ignorance.half == "shape" else other_colour,
                shape if ignorance.half == "colour" else other_shape,
            )
        elif ignorance.family == "direction":
            directions[:, k] = directions[:, k] % 4 + 1
        else:
            continue
        turned = with_questions(
            scenes, replace(asked, targets=targets, anchors=anchors, directions=directions)
        )
        assert (turned.words != scenes.words).any(axis=1).all()
        assert (view(turned, ignorance) == view(scenes, ignorance)).all(), ignorance.name


def test_an_ignored_anchor_may_stand_anywhere():
    """Moved to an empty cell, it changes only which cells are taken: the sum over them, not the known parts."""
    scenes = generate("M-F0-D2", 40, density="sparse", preset="sound", seed=3)
    cells = scenes.cells.copy()
    for row in range(len(scenes)):
        place = int(np.flatnonzero(scenes.roles[row] == 1)[0])
        empty = int(np.flatnonzero(cells[row] == 0)[row % 5])
        cells[row, empty], cells[row, place] = cells[row, place], 0
    moved, ignorance = with_cells(scenes, cells), ignorance_of("M-F0-D2", "anchor 1")
    assert (moved.answer != scenes.answer).any()
    seen = [view(each, ignorance)[:, scenes.cells.shape[1] :] for each in (scenes, moved)]
    differing = (seen[0] != seen[1]).any(axis=0).nonzero()[0]
    positions, _ = find_anchors(cells, moved.questions)
    _, size = _known(moved, ignorance, 0, positions)
    told = (
        1 + 4 + 4 + 4 + 4 + 2
    )  # objects; colour, shape; a direction; the other anchor's direction and place
    assert set(differing) <= set(range(told, told + size))
    assert (abs(seen[0] - seen[1]).sum(axis=1) <= 2).all()  # the anchor itself is an object too


# The law.


@pytest.mark.parametrize("density", ["sparse", "dense"])
@pytest.mark.parametrize("key", [key for key in RELATIONAL if not key.startswith("CMP")])
def test_the_same_picture_has_the_other_answer_for_an_unread_word(key, density):
    """Another direction, or the group's other colour or shape: y targets become m − y."""
    scenes = generate(key, 60, density=density, preset="sound", seed=4)
    bucket, asked = bucket_of(key), scenes.questions
    most = balance_of(bucket, SOUND.objects(density), SOUND).most
    for k in range(bucket.n_anchors) if bucket.n_anchors < 3 else ():
        turned = swap_directions(scenes, k=k)
        if bucket.is_count:
            assert (turned.answer == most - scenes.answer).all()
        else:
            assert (turned.answer != scenes.answer).all()
    naming = bucket.type.naming
    colour, shape = np.divmod(asked.targets[:, 0], 5)
    for half, of in (("colour", colour), ("shape", shape)):
        if not getattr(naming, f"has_{half}"):
            continue
        answers = []
        for value in range(1, 5):
            new = (
                kind_code(np.full_like(colour, value), shape)
                if half == "colour"
                else kind_code(colour, np.full_like(shape, value))
            )
            targets = asked.targets.copy()
            targets[:, 0] = new
            found = answer(scenes.world, scenes.cells, replace(asked, targets=targets))
            answers.append(np.where(of == value, 255, found))
        wanted = most - scenes.answer if bucket.is_count else 2 * scenes.world.yes + 1 - scenes.answer
        assert (np.stack(answers) == wanted).any(axis=0).all()


@pytest.mark.parametrize("key", ["SO-F0-D2", "M-F0-D1", "M-F0-D2"])
def test_counts_that_leave_one_thing_out_are_the_same_for_every_answer(key):
    scenes = generate(key, 300, preset="sound", density="sparse", seed=5)
    bucket = bucket_of(key)
    answers = sorted({scenes.answer_text(row) for row in range(300)})
    assert answers == [str(y) for y in range(balance_of(bucket, 14, SOUND).most + 1)]
    for drop in range(bucket.n_anchors):
        seen = {y: [] for y in answers}
        for row in range(300):
            counted = grid_plain.answer(grid_plain.objects_of(scenes, row), scenes.text(row), drop=drop)
            seen[scenes.answer_text(row)].append(int(counted))
        if bucket.names_whole:  # no filler looks like a target
            assert len({count for counts in seen.values() for count in counts}) == 1
        means = [np.mean(counts) for counts in seen.values()]
        assert max(means) - min(means) < 0.35


def test_one_direction_of_three_holds_for_all_units_and_opposite_ones_never_meet():
    for key, most in (("M-F0-D2", 2), ("M-F0-D3", 3), ("CMP-F0-D3", 2)):
        ways = generate(key, 200, preset="sound", density="dense", seed=6).questions.directions.astype(int)
        ways = ways[:, :most]
        assert (np.diff(np.sort(ways, axis=1), axis=1) > 0).all()
        on_columns = (ways <= 2).sum(axis=1)
        assert set(on_columns) == ({1} if most == 2 else {1, 2})


def test_two_groups_differ_by_at_most_one_and_the_first_tells_nothing():
    for key in ("CMP-F0-D1", "CMP-F0-D2", "CMP-F0-D3"):
        scenes = generate(key, 200, preset="sound", density="dense", seed=7)
        counts = np.array([[(scenes.roles[row] == role).sum() for role in (5, 6)] for row in range(200)])
        assert set((counts[:, 0] - counts[:, 1]).tolist()) == {0, 1}
        assert counts[:, 0].min() == 1
        assert set(counts[:, 0].tolist()) == set(range(1, balance_of(bucket_of(key), 17, SOUND).most + 1))


@pytest.mark.parametrize("objects", [13, 15, 16])
def test_other_numbers_of_objects_are_made(objects):
    for key in BUCKET_KEYS:
        scenes = generate(key, 4, preset="sound", density=objects, seed=8)
        assert (scenes.objects == objects).all()


def test_a_larger_grid_balances_more():
    roomy = replace(SOUND, world=GridShape(8, 8))
    for key, objects, most in (("M-F0-D2", 20, 2), ("SO-F0-D2", 14, 3), ("CMP-F0-D3", 30, 2)):
        balance = balance_of(bucket_of(key), objects, roomy)
        assert (balance.most, balance.has_halves) == (most, bucket_of(key).names_whole)
        assert (
            balance_of(bucket_of(key), 17, SOUND).most < most
            or not balance_of(bucket_of(key), 17, SOUND).has_halves
        )
        scenes = generate(key, 20, preset=roomy, density=objects, seed=8)
        told = [grid_plain.answer(grid_plain.objects_of(scenes, row), scenes.text(row)) for row in range(20)]
        assert told == [scenes.answer_text(row) for row in range(20)]


# Learning.


def found_in(scenes, recipe=None, families=FAMILIES):
    return learned_shortcuts(scenes, recipe, families=families)


def test_leaks_of_the_paper_are_found():
    found = found_in(
        generate("M-F1-D3", 400, density="sparse", preset="paper", seed=1), families=("anchor", "target")
    )
    assert {each.name for each in broken_promises(found)} == {
        "the target",
        "anchor 1",
        "anchor 2",
        "anchor 3",
    }


@pytest.mark.parametrize("leak", ["a taken corner", "no red objects", "a filler beside the anchor"])
def test_planted_leaks_are_found(leak):
    """By one who does not even know what is asked for."""
    scenes = generate("SO-F1-D1", 500, density="sparse", preset="sound", seed=2)
    cells, is_yes = scenes.cells.copy(), scenes.answer == scenes.world.yes
    if leak == "a taken corner":
        for row in np.flatnonzero(is_yes & (cells[:, 0] == 0)):
            free = np.flatnonzero(scenes.roles[row] == 8)
            if len(free):
                cells[row, 0], cells[row, free[0]] = cells[row, free[0]], 0
    elif leak == "no red objects":
        cells[is_yes[:, None] & (cells >= 1) & (cells <= 4)] += 4
    else:
        positions, _ = find_anchors(cells, scenes.questions)
        for row in np.flatnonzero(~is_yes):
            cells[row, cells[row] == 0] = 0
            near = [
                c
                for c in (positions[row, 0] - 5, positions[row, 0] + 5)
                if 0 <= c < 25 and scenes.roles[row, c] == 8
            ]
            cells[row, near] = 0
    changed = with_cells(scenes, cells)
    assert (changed.answer == scenes.answer).all()
    assert not broken_promises(found_in(scenes, families=("anchor",)))
    assert broken_promises(found_in(changed, families=("anchor",)))


@pytest.mark.parametrize("key", ["A-F1-D1", "SO-F1-D2", "M-F0-D2"])
def test_nothing_promised_is_broken_in_sound(key):
    """All buckets with 2,000 scenes: `bench.grid_presets`."""
    scenes = generate(key, 400, preset="sound", density="dense", seed=9)
    covers = promise_of(bucket_of(key), 17, SOUND, "pure").covers
    promised = found_in(scenes, SOUND, families=covers)
    assert len(promised) == 2 * sum(each.family in covers for each in ignorances(bucket_of(key)))
    assert not broken_promises(promised)
    assert np.mean([each.gain.value - each.chance_above for each in promised]) < 0.02


def test_a_chance_line_is_reached_and_not_passed():
    """Of counts 0 to 5, who does not read the direction has y or 5 − y."""
    scenes = generate("SO-F0-D1", 800, preset="sound", density="dense", seed=10)
    found = found_in(scenes, SOUND, families=("direction",))
    assert found[0].chance_above == pytest.approx(1 / 2 - 1 / 6)
    assert max(each.gain.value for each in found) > 0.2
    assert not broken_promises(found)
    assert broken_promises(found_in(scenes, families=("direction",)))


def test_places_and_half_an_anchor_tell_and_nothing_is_promised_of_them():
    scenes = generate("M-F1-D1", 500, preset="sound", density="sparse", seed=11)
    found = found_in(scenes, SOUND, families=("places", "half anchor"))
    assert {each.chance_above for each in found} == {None}
    assert {each.family for each in broken_promises(found)} == {"places", "half anchor"}
    assert promise_of(bucket_of("M-F1-D1"), 14, SOUND, "pure").leaks == ("places", "half anchor")


def test_a_shortcut_names_what_it_is_held_against():
    scenes = generate("CMP-F0-D1", 400, density="dense", preset="sound", seed=1)
    found = {each.name: each for each in found_in(scenes, SOUND, families=("target", "group"))}
    assert found["the first group"].baseline == "the best constant answer"
    assert found["target 1"].baseline == "the best map from the other group's count"
    assert found["target 1"].base.value > found["target 2"].base.value + 0.05
    assert found["target 1"].above_constant.value > found["target 1"].gain.value
    assert found["the first group"].chance_above == pytest.approx(1 / 8)
    assert found["the second group"].chance_above == 0


def test_the_order_of_the_scenes_hides_no_leak():
    """Yes and no in turn: folds are not every other scene, or a learner would know one answer and be tried on the other."""
    scenes = generate("M-F1-D3", 300, density="sparse", preset="paper", seed=1)
    yes, no = (np.flatnonzero((scenes.answer == scenes.world.yes) == is_yes) for is_yes in (True, False))
    n = min(len(yes), len(no))
    scenes = scenes.take(np.stack([yes[:n], no[:n]], axis=1).ravel())
    assert max(each.gain.value for each in found_in(scenes, families=("target",))) > 0.2


def test_few_scenes_of_sound_raise_no_alarm():
    for seed in range(2):
        scenes = generate("M-F1-D1", 100, preset="sound", seed=seed)
        assert not broken_promises(found_in(scenes, families=("half target", "target", "anchor")))
    assert found_in(generate("M-F1-D1", 99, seed=1)) == []


@pytest.mark.parametrize("n", [25, 200])
def test_the_least_gain_is_found_and_one_scene_less_is_not(n):
    """Against tests of shortcuts that do not pay."""
    some = found_in(generate("M-F1-D1", 120, seed=1), families=("target",))[0]
    right = round(n * least_gain(n, 100))
    found = []
    for hits in (right, right - 1):
        difference = (np.arange(n) < hits).astype(float)
        tested = [replace(some, p_value=_p_above(difference)), *[replace(some, p_value=1.0)] * 99]
        found.append(len(broken_promises(tested)))
    assert found == [1, 0]


# Audits and promises.


def stored(tmp_path, n, recipe, keys, density="dense"):
    plan = DatasetPlan("pure", n, 0, recipe, densities=(density,), buckets=keys)
    return read_dataset(write_dataset(make_dataset(plan), tmp_path / "data", pictures=False, table=False))


def notes_of(data, **how):
    tables = {table.name: table for table in audit_tables([audit(data, n_permutations=9)], **how)}
    return tables, tables["grid.shortcuts_overall"].notes


def test_a_broken_promise_fails_the_audit(tmp_path):
    """Scenes of the paper that say they are sound."""
    plan = DatasetPlan("pure", 300, 0, SOUND, densities=("dense",), buckets=("SO-F1-D1",))
    kept = make_dataset(plan)
    leaking = Dataset(plan, generate("SO-F1-D1", 300, density=17, preset="paper", seed=0), kept.density)
    told = audit(
        read_dataset(write_dataset(leaking, tmp_path / "leak", pictures=False, table=False)), n_permutations=9
    )
    assert [fault.check for fault in told.faults] == ["no learned shortcut pays, as promised"]
    assert told.faults[0].count == 300
    assert "the best constant answer 5" in told.faults[0].example
    tables = {table.name: table for table in audit_tables([told], every=True)}
    least = round(100 * least_gain(300, len(told.buckets[0].learned)))
    note = tables["grid.shortcuts_overall"].notes[1]
    assert "in 1 of 1 buckets" in note
    assert f"a gain below {least} points cannot be told" in note
    assert "1,200 scenes of each bucket would show 5 points" in note
    assert len(tables["grid.ignorances"].rows) == len(told.buckets[0].learned)


def test_too_few_scenes_are_not_called_clean(tmp_path):
    _, notes = notes_of(stored(tmp_path, 6, PAPER, ("M-F1-D1", "M-F0-D2")))
    (note,) = (each for each in notes if "too few" in each)
    assert note.startswith(
        "data: too few scenes of each bucket (6) to learn from, so nothing could be seen; "
    )
    assert note.endswith("scenes of each bucket would show 5 points.")


def test_without_the_learners_nothing_is_called_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(audits, "can_learn", lambda: False)
    _, notes = notes_of(stored(tmp_path, 6, SOUND, ("M-F1-D1",)))
    assert any("no promise was tried: pip install" in note for note in notes)


def test_the_audit_names_what_is_not_promised(tmp_path):
    _, notes = notes_of(stored(tmp_path, 6, SOUND, ("SO-F0-D1", "M-F0-D2")))
    assert "data: not promised: “places” in SO-F0-D1, M-F0-D2; “half anchor” in M-F0-D2." in notes


def test_every_bucket_has_one_sentence():
    for recipe in (PAPER, SOUND, RELEASED):
        for mode in ("pure", "spur"):
            plan = DatasetPlan(mode, 1, 0, recipe)
            sentences = [row[0] for row in promise_table(plan).rows]
            assert len(set(sentences)) == len(sentences)
            listed = " ".join(str(row[1]) for row in promise_table(plan).rows)
            assert all(key in listed for key in BUCKET_KEYS)
            assert all(sentence.endswith(".") for sentence in sentences)


def test_a_promise_gives_its_chance_lines():
    sentence = promise_of(bucket_of("SO-F0-D2"), 17, SOUND, "pure").sentence
    assert "without a direction, at most 67%" in sentence
    assert "nothing of who leaves out an anchor, but knows all places" in sentence
    assert [
        chance_above(each, bucket_of("M-F0-D2"), 17, RELEASED) for each in ignorances(bucket_of("M-F0-D2"))
    ] == [None] * 15


def test_replaced_recipes_keep_their_law():
    assert replace(SOUND, max_answer=1).law == "balanced"
    assert set(np.unique(generate("M-F0-D1", 200, preset=replace(SOUND, max_answer=1), seed=0).answer)) == {
        0,
        1,
    }


# The public generator.


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


def test_released_does_not_keep_theorem_1_and_the_audit_says_so(tmp_path):
    plan = DatasetPlan("pure", 60, 0, RELEASED, densities=("dense",), buckets=("M-F0-D3",))
    told = audit(
        read_dataset(write_dataset(make_dataset(plan), tmp_path / "data", pictures=False, table=False)),
        n_permutations=9,
    )
    assert "Theorem 1 holds as guaranteed" in {fault.check for fault in told.faults}
    assert told.buckets[0].levels[GUARANTEES[2]] > 20
    assert told.buckets[0].promise.sentence.startswith("Nothing: Theorem 1 is claimed, but")
