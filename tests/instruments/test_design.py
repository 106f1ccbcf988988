"""The pairs that every instrument plans, as runs of a model that cannot see: what cues cannot explain, by design."""

from collections import defaultdict

import pytest

from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.ask.instrument import ASK
from theodolite.instruments.ask.questions import plan_questions
from theodolite.instruments.compass.instrument import COMPASS
from theodolite.instruments.grid.instrument import GRID
from theodolite.instruments.instrument import Study, pairs_of_runs
from theodolite.instruments.scene.instrument import SCENE
from theodolite.instruments.trace.instrument import TRACE
from theodolite.models import ask_measurer, open_model
from theodolite.pairs import reading_of
from theodolite.pairs.balance import design_of
from theodolite.pairs.outcomes import IN_KIND
from theodolite.pairs.reading import quads_of
from theodolite.runs import Run, RunSettings, measure_run

MODEL = "scripted:constant?text=1"


KINDS = {"compass", "grid-behaviour", "scene-pairs", "trace", "trace-pairs"}
"""The kinds of run that have pairs."""


def measured(folder, plan):
    settings = RunSettings(plan.kind, MODEL, 0, plan.settings)
    measure_run(folder, settings, plan.items, ask_measurer(open_model(MODEL)))
    return folder


@pytest.fixture(scope="module", params=[COMPASS, GRID, SCENE, TRACE], ids=lambda each: each.name)
def study(request, tmp_path_factory):
    """An instrument, and its runs with pairs at the smallest size."""
    instrument, home = request.param, tmp_path_factory.mktemp(request.param.name)
    if instrument is TRACE:
        request.getfixturevalue("put_stories")(home / "data", "quick")
    plans = instrument.plan(Study(home / "data", size="quick"), "text")
    return instrument, [measured(home / plan.name, plan) for plan in plans if plan.kind in KINDS]


@pytest.fixture(scope="module")
def relevant(study):
    return [pair for pair in pairs_of_runs(*study) if pair.edit.is_relevant]


def test_both_pictures_are_asked_a_question_with_exchanged_answers(study, relevant):
    asked = relevant
    if study[0] is TRACE:
        # Only where one thing is placed relative to another do the worlds of the twins have a second question.
        runs = [folder for folder in study[1] if "pairs" in folder.name]
        asked = [
            pair for pair in pairs_of_runs(TRACE, runs) if pair.edit.is_relevant and pair.relation == "side"
        ]
        asked = [pair for pair in asked if {pair.gold, pair.edited_gold} == {"left", "right"}]
    design = design_of(asked)
    assert len(asked) >= 4
    assert design.share_with_exchanged_roles == 1
    assert design.share_in_both_orders == 1
    assert 2 * len(list(quads_of(asked))) == len(asked)
    reading = reading_of(asked)
    if study[0] is TRACE:
        assert reading is None  # of too few episodes
    else:
        assert (reading.standing, reading.questions.value, reading.all_right.value) == ("neither", 0, 0)


def test_every_edit_has_a_neutral_one_of_its_kind(study, relevant):
    neutral = {pair.edit.name for pair in pairs_of_runs(*study) if not pair.edit.is_relevant}
    assert {IN_KIND[pair.edit.name].name for pair in relevant} <= neutral


def test_both_pictures_of_a_pair_have_the_same_options_in_the_same_order(study):
    for folder in study[1]:
        with Run.open(folder) as run:
            items = {result.item.name: result.item for result in run.results()}
        for item in items.values():
            if item.truth.edit and item.truth.base in items:
                before = items[item.truth.base]
                assert (item.options, item.request.text) == (before.options, before.request.text)


def test_no_edits_form_a_cycle(relevant):
    """Where a became b and b became c, c never becomes a without as many pairs the other way round."""
    counts = defaultdict(int)
    for pair in relevant:
        counts[str(pair.gold), str(pair.edited_gold)] += 1
    if design_of(relevant).share_with_exchanged_roles == 1:
        assert all(counts[second, first] == n for (first, second), n in list(counts.items()))


def test_questions_of_the_user_that_place_two_things_are_asked_with_the_things_exchanged(tmp_path):
    questions = list(make_squares(24))
    settings = RunSettings("ask", MODEL, 0, {"data": "squares"})
    measure_run(tmp_path, settings, lambda _: plan_questions(questions), ask_measurer(open_model(MODEL)))
    mirrored = [pair for pair in pairs_of_runs(ASK, [tmp_path]) if pair.edit.name == "mirror"]
    assert len(mirrored) == 24, "twelve are about left and right"
    design = design_of(mirrored)
    assert (design.share_with_exchanged_roles, design.share_in_both_orders) == (1, 1)
