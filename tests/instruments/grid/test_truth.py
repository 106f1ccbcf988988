"""Pictures, masks and interventions: the ground truth is what the question needs, and nothing else touches the answer."""

from dataclasses import replace
from itertools import product

import grid_plain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import (
    GUARANTEES,
    PARTS,
    ROLES,
    cell_mask,
    harmless_contents,
    phrase_spans,
    pixel_mask,
    regions_of,
    remove_roles,
    safe_changes,
    scene_objects,
    swap_directions,
    with_cells,
    word_roles,
)
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS
from theodolite.instruments.grid.data.recipe import SOUND
from theodolite.instruments.grid.data.world import GridShape, read_cells, render

EVERY = generate(BUCKET_KEYS, 6, preset="sound", density="sparse", seed=11)


def edited(one, contents):
    """do(o → o′): one scene with other contents of some cells."""
    cells = one.cells.copy()
    for cell, class_id in contents.items():
        cells[0, cell] = class_id
    return with_cells(one, cells)


def test_a_picture_is_its_tiles_and_reads_back():
    pictures = render(EVERY.world, EVERY.cells)
    for row in range(0, len(EVERY), 7):
        assert (read_cells(EVERY.world, pictures[row]) == EVERY.cells[row]).all()
        for thing in scene_objects(EVERY, row):
            left, top, right, bottom = thing.box_px
            tile = pictures[row, top:bottom, left:right]
            assert tile.shape == (64, 64, 3)
            assert (tile != 255).any()
            assert (tile[:4] == 255).all()
            assert (tile[:, :4] == 255).all()


def test_sixteen_tiles_differ_and_other_sizes_read_back():
    world = GridShape(4, 4, cell_px=24)
    pictures = render(world, np.arange(1, 17, dtype=np.uint8)[None])
    assert (
        len(
            {
                pictures[0, r : r + 24, c : c + 24].tobytes()
                for r in range(0, 96, 24)
                for c in range(0, 96, 24)
            }
        )
        == 16
    )
    assert (read_cells(world, pictures[0]) == np.arange(1, 17)).all()


def test_pictures_of_grids_that_are_not_square_read_back():
    scenes = generate("M-F0-D1", 5, preset=replace(SOUND, world=GridShape(4, 7, cell_px=32)), seed=0)
    pictures = render(scenes.world, scenes.cells)
    assert pictures.shape == (5, 128, 224, 3)
    for row in range(5):
        assert (read_cells(scenes.world, pictures[row]) == scenes.cells[row]).all()
        for cell in range(28):
            left, top, right, bottom = scenes.world.box_px(cell)
            assert (pictures[row, top:bottom, left:right] != 255).any() == (scenes.cells[row, cell] > 0)


def test_render_reuses_memory_and_refuses_other_shapes():
    out = np.zeros((2, 320, 320, 3), np.uint8)
    assert render(EVERY.world, EVERY.cells[:2], out=out) is out
    assert (out == render(EVERY.world, EVERY.cells[:2])).all()
    with pytest.raises(UsageError, match="contiguous uint8"):
        render(EVERY.world, EVERY.cells[:3], out=out)
    with pytest.raises(UsageError, match="25 cells"):
        render(EVERY.world, np.zeros((1, 24), np.uint8))
    with pytest.raises(UsageError, match="320×320"):
        read_cells(EVERY.world, np.zeros((64, 64, 3), np.uint8))
    with pytest.raises(UsageError, match="none of the sixteen"):
        read_cells(EVERY.world, np.zeros((320, 320, 3), np.uint8))


def test_masks_partition_every_picture():
    some = EVERY.take(slice(0, None, 5))
    assert (sum(cell_mask(some, part).astype(int) for part in PARTS) == 1).all()
    assert (sum(pixel_mask(some, part).astype(int) for part in PARTS) == 1).all()
    assert (cell_mask(some, "truth") == (cell_mask(some, "anchors") | cell_mask(some, "targets"))).all()
    with pytest.raises(UsageError, match="there is no mask"):
        cell_mask(some, "everything")


def test_roles_are_what_a_plain_reading_says():
    for row in range(len(EVERY)):
        text = EVERY.text(row)
        things = {thing.cell: thing for thing in scene_objects(EVERY, row)}
        objects = grid_plain.objects_of(EVERY, row)
        cells = [r * 5 + c for *_, r, c in objects]
        groups = grid_plain.groups_of(text)
        relations = [relation for group in groups for relation in group[1]]
        for cell, thing in zip(cells, objects, strict=True):
            anchors = [k for k, (_, phrase) in enumerate(relations) if grid_plain.fits(thing, phrase)]
            expected = "other"
            for i, (target, held) in enumerate(groups):
                if grid_plain.fits(thing, target):
                    named = [(d, next(o for o in objects if grid_plain.fits(o, p))) for d, p in held]
                    expected = (
                        f"target_{i + 1}"
                        if all(grid_plain.stands(thing, *a) for a in named)
                        else "adversarial"
                    )
            if anchors:
                expected = f"anchor_{anchors[0] + 1}"
            assert things[cell].role == expected
            assert things[cell].phrase == ("" if expected in {"other", "adversarial"} else expected)


def test_every_word_has_a_role_that_its_phrase_gives():
    roles = word_roles(EVERY)
    for row in range(len(EVERY)):
        spans = phrase_spans(EVERY, row)
        wanted = sum(len(EVERY.text(row)[slice(*span)].split()) for span in spans.values())
        content = [role for role in roles[row] if role in {"target", "anchor", "direction"}]
        assert len(content) == wanted
        assert (roles[row] != "").sum() == (EVERY.words[row] > 0).sum()


def plain_answer(batch, row):
    return grid_plain.answer(grid_plain.objects_of(batch, row), batch.text(row))


def test_equation_1_holds_exactly_under_its_side_condition():
    """Every distractor of every scene, repainted to every class and removed: safe changes never touch the answer."""
    batch = generate(["M-F0-D2", "SO-F1-D1", "CO-F0-D2", "CMP-F0-D2", "A-F0-D1"], 2, density=9, seed=3)
    safe = safe_changes(batch)
    touched = 0
    for row in range(len(batch)):
        one = batch.take(slice(row, row + 1))
        truth = plain_answer(one, 0)
        for cell, class_id in product(range(25), range(17)):
            changed = one.cells.copy()
            changed[0, cell] = class_id
            is_distractor = ROLES[one.roles[0, cell]] in {"adversarial", "other"}
            try:
                same = plain_answer(replace(one, cells=changed), 0) == truth
            except AssertionError:  # a second anchor: the question has no answer any more
                same = False
                if is_distractor:
                    with pytest.raises(UsageError, match="must be one object"):
                        edited(one, {cell: class_id})
            if safe[row, cell, class_id]:
                assert is_distractor
                assert same
            elif is_distractor:
                touched += not same
                if batch.bucket_key(row).startswith(("M-F0", "CO-F0", "A-F0")):
                    assert not same
        assert safe[row, np.isin(one.roles[0], [7, 8]), 0].all()
    assert touched > 20


@settings(max_examples=30, deadline=None)
@given(key=st.sampled_from(BUCKET_KEYS), seed=st.integers(0, 10**6))
def test_random_safe_changes_and_moves_keep_the_answer(key, seed):
    batch = generate(key, 12, density="sparse", preset="sound", seed=seed)
    rng = np.random.default_rng(seed)
    safe, harmless = safe_changes(batch), harmless_contents(batch)
    for row in range(len(batch)):
        one = batch.take(slice(row, row + 1))
        choices = np.argwhere(safe[row])
        if len(choices):
            cell, class_id = choices[rng.integers(len(choices))]
            assert edited(one, {cell: class_id}).answer[0] == one.answer[0]
        distractors = np.flatnonzero(np.isin(one.roles[0], [7, 8]))
        empty = np.flatnonzero(one.cells[0] == 0)
        if len(distractors) and len(empty):
            source, place = rng.choice(distractors), rng.choice(empty)
            moved = edited(one, {place: one.cells[0, source], source: 0})
            if harmless[row, place, one.cells[0, source]]:
                assert moved.answer[0] == one.answer[0]
            assert moved.answer_text(0) == plain_answer(moved, 0)


def test_removing_distractors_never_touches_the_answer_and_targets_always_do():
    assert (remove_roles(EVERY, ["adversarial", "other"]).answer == EVERY.answer).all()
    gone = remove_roles(EVERY, ["target_1", "target_2"])
    counted = np.array(
        [key.startswith(("M-F0", "SO-F0")) for key in map(EVERY.bucket_key, range(len(EVERY)))]
    )
    assert (gone.answer[counted] == 0).all()
    with pytest.raises(UsageError, match="cannot be removed"):
        remove_roles(EVERY, ["anchor_1"])


def test_swapping_directions_answers_the_swapped_sentence():
    relational = EVERY.take(
        np.array(
            [EVERY.roles[row].max() and "D1" not in EVERY.bucket_key(row) for row in range(len(EVERY))], bool
        )
    )
    turned = swap_directions(relational)
    opposite = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
    for row in range(len(turned)):
        assert turned.answer_text(row) == plain_answer(turned, row)
        before, after = (phrase_spans(b, row) for b in (relational, turned))
        for name in (name for name in before if name.startswith("direction")):
            old = relational.text(row)[slice(*before[name])]
            assert turned.text(row)[slice(*after[name])] == opposite[old]
    first = swap_directions(relational, k=0)
    assert (first.questions.directions[:, 1:] == relational.questions.directions[:, 1:]).all()
    with pytest.raises(UsageError, match="anchor 4"):
        swap_directions(EVERY, k=3)


def comparison(wanted):
    """The first comparison answered yes with at least `wanted` targets more in the first group."""
    scenes = generate("CMP-F0-D2", 300, seed=5)
    first, second = ((scenes.roles == role).sum(axis=1) for role in (5, 6))
    row = int(np.flatnonzero(first - second >= wanted)[0])
    return scenes.take(slice(row, row + 1))


def without(one, side, *, keep):
    """A comparison with only `keep` look-alikes of one group left; the others are removed."""
    phrase = grid_plain.groups_of(one.text(0))[side][0]
    alike = [
        r * 5 + c
        for *kind, r, c in grid_plain.objects_of(one, 0)
        if grid_plain.fits((*kind, r, c), phrase) and one.roles[0, r * 5 + c] == 7
    ]
    cells = one.cells.copy()
    cells[0, alike[keep:]] = 0
    return with_cells(one, cells)


def test_a_comparison_is_guaranteed_only_if_every_region_is_occupied_and_every_drop_misleads():
    one = comparison(2)
    assert GUARANTEES[one.guarantee[0]] == "full"
    empty = without(
        one, 0, keep=0
    )  # the larger group: dropping its anchor never misleads, but its region must be held
    assert GUARANTEES[empty.guarantee[0]] == "partial"
    weak = without(one, 1, keep=1)  # held, but one look-alike is not enough to turn a lead of two
    text = weak.text(0)
    assert grid_plain.answer(grid_plain.objects_of(weak, 0), text, drop=1) == "yes"
    assert GUARANTEES[weak.guarantee[0]] == "partial"


@pytest.mark.parametrize(
    "key", [key for key in BUCKET_KEYS if generate(key, 1, seed=0).questions.directions.any()]
)
@pytest.mark.parametrize("density", ["sparse", "dense"])
def test_no_confuser_region_is_empty_or_taken_up_by_anchors(key, density):
    """Even where there are too few objects to occupy all of them."""
    scenes = generate(key, 1500, density=density, seed=4)
    n_anchors = int((scenes.questions.directions[0] > 0).sum())
    regions = regions_of(scenes)
    has_room = ~np.isin(scenes.roles, [1, 2, 3, 4])[:, None]
    assert (regions.confusers[:, :n_anchors] & has_room).any(axis=2).all()
    assert not regions.confusers[:, n_anchors:].any()
    assert regions.valid.any(axis=2).all()


def test_a_count_beyond_the_answers_is_told_and_never_cut_off():
    one = generate("A-F0-D1", 1, seed=0)
    target = one.cells[0, np.argmax(one.roles[0] == 5)]
    with pytest.raises(UsageError, match="25 objects were counted, but the answers end at 17"):
        with_cells(one, np.full_like(one.cells, target))
