"""Scenes keep their promises, over many seeds: labels, uniqueness, Theorem 1, the shortcut, the splits."""

import subprocess
import sys
from dataclasses import replace

import grid_plain
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import GUARANTEES, ROLES, hash_scenes, split_of
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import (
    BUCKET_KEYS,
    BUCKETS,
    PHRASES,
    VOCABULARY,
    character_spans,
    read_questions,
)
from theodolite.instruments.grid.data.recipe import PAPER, PRESETS, SOUND, guarantee_of
from theodolite.instruments.grid.data.world import GridShape

KEYS = st.sampled_from(BUCKET_KEYS)
DENSITIES = st.sampled_from(["sparse", "dense"])
ROOMY = replace(PAPER, name="roomy", sparse=0.5)
"""The paper's law with enough objects for every guarantee that is logically possible."""
LAWFUL = st.sampled_from([PAPER, ROOMY])
SEEDS = st.integers(0, 2**32)
WORLDS = st.sampled_from([GridShape(), GridShape(6, 4), GridShape(7, 7), GridShape(4, 8)])


def bucket_of(key):
    return BUCKETS[BUCKET_KEYS.index(key)]


def plain_answers(batch, **how):
    return [
        grid_plain.answer(grid_plain.objects_of(batch, row), batch.text(row), **how)
        for row in range(len(batch))
    ]


def said(batch):
    return [batch.answer_text(row) for row in range(len(batch))]


@settings(max_examples=150, deadline=None)
@given(
    key=KEYS,
    mode=st.sampled_from(["pure", "spur"]),
    density=DENSITIES,
    preset=st.sampled_from(sorted(PRESETS)),
    seed=SEEDS,
)
def test_every_answer_is_what_a_plain_reading_of_the_sentence_gives(key, mode, density, preset, seed):
    batch = generate(key, 8, mode=mode, density=density, preset=preset, seed=seed)
    assert said(batch) == plain_answers(batch)
    if preset != "released":  # which takes some away, and adds one to some
        assert (batch.objects == PRESETS[preset].objects(density)).all()


@settings(max_examples=60, deadline=None)
@given(key=KEYS, world=WORLDS, margin=st.sampled_from([1, 2]), seed=SEEDS)
def test_answers_hold_on_other_grids_and_margins(key, world, margin, seed):
    recipe = replace(ROOMY, world=world, margin=margin if min(world.rows, world.columns) > 5 else 1)
    batch = generate(key, 6, preset=recipe, seed=seed)
    assert said(batch) == plain_answers(batch)


@settings(max_examples=100, deadline=None)
@given(key=KEYS, density=DENSITIES, preset=LAWFUL, seed=SEEDS)
def test_theorem_1_where_the_guarantee_is_full(key, density, preset, seed):
    """Whoever drops any one relation, or all of them, counts too many; existence answered no turns to yes."""
    bucket = bucket_of(key)
    batch = generate(key, 8, density=density, preset=preset, seed=seed)
    levels = [GUARANTEES[g] for g in batch.guarantee]
    promised = guarantee_of(bucket, int(batch.objects[0]))
    for row in range(len(batch)):
        group = {"1": "1"}.get(said(batch)[row], "more") if bucket.is_count else said(batch)[row]
        assert levels[row] == promised.by_answer.get(group, promised.level)
        if levels[row] != "full":
            continue
        objects, text, truth = grid_plain.objects_of(batch, row), batch.text(row), said(batch)[row]
        dropped = [grid_plain.answer(objects, text, drop=k) for k in range(bucket.n_anchors)]
        if (
            bucket.is_comparison
        ):  # only one group's anchors can mislead: the smaller one's for a yes, else the first's
            misled = (
                dropped[bucket.anchors_per_side :] if truth == "yes" else dropped[: bucket.anchors_per_side]
            )
            assert truth not in misled
        else:
            assert truth not in dropped
            assert grid_plain.answer(objects, text, relations_count=False) != truth


@settings(max_examples=60, deadline=None)
@given(key=KEYS, density=DENSITIES, preset=st.sampled_from(sorted(PRESETS)), seed=SEEDS)
def test_a_bag_of_words_is_always_right_in_spurious_scenes(key, density, preset, seed):
    batch = generate(key, 8, mode="spur", density=density, preset=preset, seed=seed)
    assert said(batch) == plain_answers(batch, relations_count=False)


def test_twelve_objects_guarantee_all_that_logic_allows():
    for density in ("sparse", "dense"):
        for bucket in BUCKETS:
            promised = guarantee_of(bucket, ROOMY.objects(density))
            assert set(promised.by_answer.values() or [promised.level]) <= {"full", "impossible", "none"}
            if promised.level == "impossible" or "impossible" in promised.by_answer.values():
                assert bucket.form == 1


def test_paper_says_which_guarantees_seven_objects_cannot_keep():
    levels = {bucket.key: guarantee_of(bucket, 7).level for bucket in BUCKETS}
    assert levels["M-F0-D3"] == "partial"
    assert levels["CMP-F0-D3"] == "impossible"
    assert guarantee_of(bucket_of("M-F1-D2"), 7).by_answer == {"yes": "impossible", "no": "full"}
    assert levels["M-F0-D2"] == levels["CMP-F0-D2"] == "full"
    batch = generate("M-F0-D3", 2000, density="sparse", seed=0)
    one = batch.answer == 1
    assert (batch.guarantee[one] == GUARANTEES.index("full")).all()
    assert (batch.guarantee[~one] == GUARANTEES.index("partial")).all()


@pytest.mark.parametrize("key", [bucket.key for bucket in BUCKETS if bucket.is_relational])
def test_no_scene_falls_below_its_promise_at_any_number_of_objects(key):
    bucket = bucket_of(key)
    recipe = replace(PAPER, world=GridShape(max_count=25))
    for objects in range(bucket.n_anchors + 2, 26, 1 + bucket.n_anchors // 3):
        promised = guarantee_of(bucket, objects)
        batch = generate(key, 40, density=objects, preset=recipe, seed=objects)
        assert said(batch) == plain_answers(batch)
        for row in range(len(batch)):
            group = {"1": "1"}.get(said(batch)[row], "more") if bucket.is_count else said(batch)[row]
            wanted = promised.by_answer.get(group, promised.level)
            assert GUARANTEES.index(wanted) <= batch.guarantee[row]
            if wanted == "full":
                assert GUARANTEES[batch.guarantee[row]] == "full"


@pytest.mark.parametrize("key", BUCKET_KEYS)
@pytest.mark.parametrize("density", ["sparse", "dense"])
def test_modes_share_all_but_the_distractors(key, density):
    pure = generate(key, 300, mode="pure", density=density, seed=5)
    spur = generate(key, 300, mode="spur", density=density, seed=5)
    assert (pure.words == spur.words).all()
    assert (pure.answer == spur.answer).all()
    shared = np.isin(pure.roles, [i for i, role in enumerate(ROLES) if role.startswith(("anchor", "target"))])
    assert (pure.cells[shared] == spur.cells[shared]).all()
    assert (spur.roles != ROLES.index("adversarial")).all()
    if not bucket_of(key).is_relational:
        assert (pure.cells == spur.cells).all()


@pytest.mark.parametrize("mode", ["pure", "spur"])
def test_answers_are_balanced(mode):
    counted = generate("M-F0-D2", 6000, mode=mode, seed=2).answer
    shares = np.bincount(counted)[1:] / 6000
    assert len(shares) == 13
    assert abs(shares - 1 / 13).max() < 5 * np.sqrt(1 / 13 / 6000)
    for key in ("SO-F1-D1", "M-F1-D3", "CMP-F0-D2", "CMP-F0-D3"):
        batch = generate(key, 4000, mode=mode, seed=2)
        assert abs((batch.answer == batch.world.yes).mean() - 0.5) < 5 * np.sqrt(0.25 / 4000)


def test_one_largest_answer_gives_the_same_answers_at_every_depth():
    recipe = replace(ROOMY, max_answer=5)
    tops = [generate(f"M-F0-D{depth}", 500, preset=recipe, seed=1).answer for depth in (1, 2, 3)]
    assert [set(np.unique(each)) for each in tops] == [set(range(1, 6))] * 3


def test_a_comparisons_bag_of_words_knows_nothing():
    """Always wrong would be as telling as always right; it must be right half of the time whatever the truth."""
    from theodolite.instruments.grid.data.batch import bag_of_words
    from theodolite.stats import mutual_information

    for key in ("CMP-F0-D2", "CMP-F0-D3"):
        for density in ("sparse", "dense"):
            batch = generate(key, 3000, preset=ROOMY, density=density, seed=4)
            opinion = bag_of_words(batch.world, batch.cells, batch.questions)
            assert mutual_information(opinion, batch.answer, n_permutations=199, seed=0).corrected < 0.003
            for truth in (batch.world.yes, batch.world.yes + 1):
                said_yes = (opinion[batch.answer == truth] == batch.world.yes).mean()
                assert abs(said_yes - 0.5) < 5 * np.sqrt(0.25 / 1400)


def test_directions_are_drawn_without_replacement():
    for key, groups in (("M-F0-D3", [slice(0, 3)]), ("CMP-F0-D3", [slice(0, 2), slice(2, 4)])):
        batch = generate(key, 500, seed=0)
        for group in groups:
            ordered = np.sort(batch.questions.directions[:, group], axis=1)
            assert (np.diff(ordered.astype(int), axis=1) > 0).all()
            assert set(np.unique(ordered)) == {1, 2, 3, 4}


def test_the_margin_keeps_targets_and_look_alikes_clear():
    world = GridShape(8, 8)
    batch = generate("M-F0-D2", 300, preset=replace(ROOMY, world=world, margin=2), seed=0)
    row, column = np.divmod(np.arange(64), 8)
    alike = np.isin(batch.roles, [ROLES.index("target_1"), ROLES.index("adversarial")])
    for scene in range(len(batch)):
        for k in range(2):
            anchor = int(np.argmax(batch.roles[scene] == ROLES.index(f"anchor_{k + 1}")))
            sign, along = {1: (-1, column), 2: (1, column), 3: (-1, row), 4: (1, row)}[
                int(batch.questions.directions[scene, k])
            ]
            offset = sign * (along - along[anchor])[alike[scene]]
            assert ((offset >= 2) | (offset <= -1)).all()


@settings(max_examples=40, deadline=None)
@given(key=KEYS, seed=SEEDS)
def test_words_read_back_and_spans_name_their_phrases(key, seed):
    batch = generate(key, 4, seed=seed)
    read = read_questions(batch.words)
    for name in ("bucket", "targets", "anchors", "directions"):
        assert (getattr(read, name) == getattr(batch.questions, name)).all()
    for row in range(len(batch)):
        text = batch.text(row)
        spans = character_spans(batch.text(row), batch.spans[row])
        groups = grid_plain.groups_of(text)
        assert [text[slice(*spans[f"target_{i + 1}"])] for i in range(len(groups))] == [g[0] for g in groups]
        relations = [relation for group in groups for relation in group[1]]
        for k, (direction, anchor) in enumerate(relations):
            assert text[slice(*spans[f"direction_{k + 1}"])] == direction
            assert text[slice(*spans[f"anchor_{k + 1}"])] == anchor
            first, last = batch.spans[row, PHRASES.index(f"anchor_{k + 1}")]
            assert " ".join(VOCABULARY[w] for w in batch.words[row, first:last]) == anchor


def test_splits_cannot_overlap():
    batches = {
        split: generate("SO-F1-D1", 3000, density="sparse", seed=9, split=split)
        for split in ("train", "test")
    }
    hashes = {split: set(hash_scenes(b.cells, b.words).tolist()) for split, b in batches.items()}
    assert not hashes["train"] & hashes["test"]
    for split, batch in batches.items():
        assert (split_of(hash_scenes(batch.cells, batch.words)) == split).all()
        assert abs((batch.answer == batch.world.yes).mean() - 0.5) < 0.06
    free = generate("SO-F1-D1", 8000, density="sparse", seed=10)
    shares = [
        (split_of(hash_scenes(free.cells, free.words)) == split).mean() for split in ("test", "validation")
    ]
    assert shares == pytest.approx([1 / 16, 1 / 16], abs=0.015)


def test_the_hash_sees_every_cell_and_every_word():
    batch = generate("M-F0-D2", 1, seed=0)
    whole = hash_scenes(batch.cells, batch.words)
    seen = {int(whole[0])}
    for array in ("cells", "words"):
        for place in range(getattr(batch, array).shape[1]):
            changed = {"cells": batch.cells.copy(), "words": batch.words.copy()}
            changed[array][0, place] += 1
            seen.add(int(hash_scenes(**changed)[0]))
    assert len(seen) == 1 + 25 + 28


def test_the_same_seed_gives_the_same_scenes_and_another_does_not():
    first, again, other = (generate("M-F0-D3", 50, seed=seed) for seed in (3, 3, 4))
    assert (first.cells == again.cells).all()
    assert (first.words == again.words).all()
    assert (first.cells != other.cells).any()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"buckets": "M-F0-D4"}, "there is no bucket"),
        ({"density": 30}, "30 objects do not fit a grid of 5×5"),
        ({"density": 18}, "the answers end at 17; give the recipe a world with max_count=18"),
        ({"buckets": "M-F0-D3", "density": 4}, "too few"),
        (
            {
                "buckets": "M-F0-D3",
                "preset": replace(PAPER, world=GridShape(2, 2, max_count=4)),
                "density": 4,
            },
            "larger",
        ),
        ({"preset": "sound", "density": 5}, "too few or too many for M-F0-D2"),
        ({"mode": "mixed"}, "pure or spur"),
        ({"preset": "best"}, "there is no preset"),
        ({"split": "dev"}, "the split is"),
        ({"n": 0}, "at least one"),
        ({"seed": -1}, "seed"),
        ({"density": "crowded"}, "a density is"),
    ],
)
def test_bad_input_is_told(how, message):
    with pytest.raises(UsageError, match=message):
        generate(**{"buckets": "M-F0-D2", "n": 2, "seed": 0, **how})


def test_parameters_of_the_paper_are_refused_by_other_presets():
    with pytest.raises(UsageError, match="margin belongs to the preset paper; the preset sound"):
        replace(SOUND, margin=2)


def test_making_scenes_needs_numpy_only():
    code = (
        "import sys; from theodolite.instruments.grid.data.generate import generate; "
        "[generate('M-F0-D2', 2, preset=p, seed=0) for p in ('paper', 'sound', 'released')];"
        "print([m for m in ('torch', 'pydantic', 'scipy', 'PIL', 'matplotlib', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
