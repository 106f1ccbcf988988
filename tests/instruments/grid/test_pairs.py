"""Pairs of grids: what each edit of places keeps, and that strategies which use only that follow none of them."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from theodolite.instruments.grid.data.batch import (
    PICTURE_EDITS,
    answer,
    as_answer,
    bag_of_words,
    edited_scenes,
    join,
    look,
    majority,
    with_questions,
)
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.world import MATCHES
from theodolite.instruments.grid.instrument import GRID
from theodolite.instruments.instrument import Study, pairs_of_runs
from theodolite.models import open_model
from theodolite.pairs import judge_looking
from theodolite.runs import RunSettings, measure_run

RELATIONAL = [bucket.key for bucket in BUCKETS if bucket.is_relational]
RELEVANT = [kind for kind, edit in PICTURE_EDITS.items() if edit.is_relevant]


@pytest.fixture(scope="module", params=["spur", "pure"])
def scenes(request):
    return join([generate(RELATIONAL, 4, mode=request.param, density=d, seed=2) for d in ("sparse", "dense")])


@pytest.fixture(scope="module")
def edited(scenes):
    return {changed.kind: changed for changed in edited_scenes(scenes, seed=1)}


@pytest.mark.parametrize("kind", RELEVANT)
def test_the_objects_stay_two_cells_change_and_so_does_the_answer(scenes, edited, kind):
    changed = edited[kind]
    before = scenes.take(changed.rows)
    assert len(changed.rows) > len(scenes) / 4
    assert (np.sort(changed.scenes.cells) == np.sort(before.cells)).all()
    assert ((changed.scenes.cells != before.cells).sum(axis=1) == 2).all()
    assert (changed.scenes.words == before.words).all()
    assert (changed.scenes.answer == answer(before.world, changed.scenes.cells, before.questions)).all()
    assert (changed.scenes.answer != before.answer).all()


@pytest.mark.parametrize("kind", RELEVANT)
def test_a_turned_question_has_the_two_answers_the_other_way_round(scenes, edited, kind):
    changed = edited[kind]
    before = scenes.take(changed.rows)
    asked = [with_questions(side, changed.turned) for side in (before, changed.scenes)]
    told = [[side.answer_text(row) for row in range(len(side))] for side in (*asked, changed.scenes, before)]
    assert told[:2] == told[2:]


@pytest.mark.parametrize("kind", ["exchanged unasked", "moved unasked"])
def test_a_neutral_edit_of_places_keeps_the_answer(scenes, edited, kind):
    changed = edited[kind]
    before = scenes.take(changed.rows)
    assert len(changed.rows) > 0.9 * len(scenes)
    assert (np.sort(changed.scenes.cells) == np.sort(before.cells)).all()
    assert ((changed.scenes.cells != before.cells).sum(axis=1) == 2).all()
    assert (changed.scenes.answer == before.answer).all()


@pytest.mark.parametrize("kind", ["target moved", "anchor moved"])
def test_only_what_is_named_moves_and_into_an_empty_cell(scenes, edited, kind):
    changed = edited[kind]
    names = {"target moved": "targets", "anchor moved": "anchors"}
    for row, now in zip(changed.rows, changed.scenes.cells, strict=True):
        old = scenes.cells[row]
        assert min(old[old != now]) == 0
        (moved,) = old[(old != now) & (old > 0)]
        kinds = getattr(scenes.questions, names[kind])[row]
        assert MATCHES[kinds, moved].any()


def test_places_that_are_taken_stay_taken_in_an_exchange(scenes, edited):
    changed = edited["exchanged"]
    assert ((changed.scenes.cells > 0) == (scenes.cells[changed.rows] > 0)).all()


def test_the_same_seed_gives_the_same_edits_and_another_one_others(scenes, edited):
    for kind in RELEVANT:
        again, other = (
            next(each for each in edited_scenes(scenes, seed=seed) if each.kind == kind) for seed in (1, 2)
        )
        assert np.array_equal(again.scenes.cells, edited[kind].scenes.cells)
        assert not np.array_equal(other.scenes.cells, edited[kind].scenes.cells)


def reasoner(batch):
    return answer(batch.world, batch.cells, batch.questions)


def blind(batch):
    """From the words alone."""
    return as_answer(batch.world, batch.questions, (batch.words.sum(axis=1) % 3)[:, None] * [1, 0])


def words_counted(batch):
    return bag_of_words(batch.world, batch.cells, batch.questions)


def most_frequent(batch):
    return majority(batch.world, batch.cells, batch.questions)[0]


def target_alone(batch):
    """The look-alikes on the left for odd directions, on the right for even ones, wherever the anchor is."""
    column = np.arange(25) % 5
    half = np.where(batch.questions.directions[:, :1] % 2 == 1, column < 2, column > 2)
    alike = look(batch.world, batch.cells, batch.questions).alike
    counts = (alike & half[:, None]).sum(axis=2)
    return as_answer(batch.world, batch.questions, np.pad(counts, ((0, 0), (0, 2 - counts.shape[1]))))


def anchor_alone(batch):
    """The size of the anchor's region, whatever is in it."""
    region = look(batch.world, batch.cells, batch.questions).region(0)
    counts = np.minimum(region.sum(axis=1), batch.world.max_count)
    return as_answer(batch.world, batch.questions, counts[:, None] * [1, 0])


def places_taken(batch):
    """The number of objects in the right half of the picture, whatever they are."""
    counts = (batch.cells[:, np.arange(25) % 5 > 2] > 0).sum(axis=1)
    return as_answer(batch.world, batch.questions, counts[:, None] * [1, 0])


EXCLUDED = {
    **{(kind, strategy): None for kind in RELEVANT for strategy in (blind, words_counted, most_frequent)},
    ("exchanged", places_taken): "which places are taken",
    ("target moved", anchor_alone): "the place of the reference alone",
    ("anchor moved", target_alone): "the place of the target alone",
}


@pytest.mark.parametrize(("kind", "strategy"), list(EXCLUDED))
def test_a_strategy_that_uses_only_what_an_edit_keeps_follows_no_pair(scenes, edited, kind, strategy):
    told = EXCLUDED[kind, strategy]
    assert told is None or told in PICTURE_EDITS[kind].excludes
    assert _followed(scenes, edited[kind], strategy) == 0
    assert _followed(scenes, edited[kind], reasoner) == 1


def test_strategies_that_an_edit_leaves_can_follow_some(scenes, edited):
    """The other side of the proof: these edits change what the strategies use."""
    assert _followed(scenes, edited["anchor moved"], anchor_alone) > 0
    assert _followed(scenes, edited["target moved"], target_alone) > 0


def _followed(scenes, changed, strategy):
    before, after = scenes.take(changed.rows), changed.scenes
    return np.mean((strategy(before) == before.answer) & (strategy(after) == after.answer))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A quick study of both symbolic models; see `pairs_of`."""
    folder = tmp_path_factory.mktemp("grid")
    for logic in ("pure", "bow"):
        name = f"grid:symbolic-{logic}"
        (plan,) = [
            each for each in GRID.plan(Study(folder / "data", "quick"), "choices") if each.name == "grid"
        ]
        settings = RunSettings(plan.kind, name, 0, plan.settings)
        measure_run(folder / logic, settings, plan.items, plan.measurer(open_model(name)))
    return folder


def pairs_of(folder: Path):
    return pairs_of_runs(GRID, [folder])


def test_a_quick_study_settles_what_both_logics_do(folder):
    pure, bow = (pairs_of(folder / logic) for logic in ("pure", "bow"))
    relevant = [pair for pair in pure if pair.edit.is_relevant]
    assert len(relevant) >= 100
    assert len({pair.cluster for pair in relevant}) >= 45
    assert {pair.outcome for pair in relevant} == {"followed"}
    assert {pair.outcome for pair in pure if not pair.edit.is_relevant} == {"kept"}
    assert {pair.outcome for pair in bow if pair.edit.is_relevant} == {"unmoved"}
    assert {pair.outcome for pair in bow if not (pair.edit.is_relevant or pair.edit.misleads)} == {"kept"}
    assert judge_looking(pure).standing == "looks"
    assert judge_looking(bow).standing == "does not look"


def test_pairs_of_a_quick_study_go_both_ways_and_name_what_was_shown(folder):
    pairs = [pair for pair in pairs_of(folder / "pure") if pair.edit.is_relevant]
    ways = Counter((str(pair.gold), str(pair.edited_gold)) for pair in pairs)
    assert min(ways["yes", "no"], ways["no", "yes"]) >= 5
    counts = [(int(a), int(b)) for a, b in ways.elements() if a.isdigit()]
    assert sum(b > a for a, b in counts) >= 10
    assert sum(b < a for a, b in counts) >= 10
    assert {pair.relation for pair in pairs} == {"left of", "right of", "above", "below", "several"}
    for pair in pairs:
        assert pair.shown[0].startswith((f"{pair.item}/plain", f"{pair.item}/turned of "))
        assert pair.shown[1].startswith(f"{pair.item}/")
