"""Pairs of episodes: who tells what the frames show follows all of them, who makes it up from the question none."""

import pytest
from made_worlds import edits, made

from theodolite.instruments.trace.data.dataset import write_episodes
from theodolite.instruments.trace.instrument import TRACE
from theodolite.instruments.trace.questions import plan_traces
from theodolite.models import ask_measurer, open_model
from theodolite.runs import RunSettings, measure_run


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("episodes")
    episodes = [episode for world in ("navigation", "video") for episode in (*made(world), *edits(world))]
    write_episodes(episodes, folder)
    return folder, episodes


def pairs_of(tmp_path, data, name):
    folder, episodes = data
    settings = RunSettings("trace", name, 0, {"data": str(folder), "split": "free"})
    measure_run(tmp_path / "run", settings, lambda _: plan_traces(episodes), ask_measurer(open_model(name)))
    return TRACE.pairs_all([tmp_path / "run"])


def test_every_pair_names_the_family_of_its_edit_and_what_was_shown(tmp_path, data):
    found = pairs_of(tmp_path, data, "scripted:trace-looker")
    by_id = {episode.id: episode for episode in data[1]}
    for pair in found:
        before, after = (by_id[name.partition("/")[0]] for name in pair.shown)
        assert after.edit.base == before.id
        assert pair.relation == after.edit.family
        assert pair.edit.is_relevant == (before.answer != after.answer) == (pair.relation != "irrelevant")
        assert pair.item == pair.shown[0]
    assert {"position", "temporal", "irrelevant"} <= {pair.relation for pair in found}
    assert {pair.outcome for pair in found if pair.edit.is_relevant} == {"followed"}
    assert {pair.outcome for pair in found if not pair.edit.is_relevant} == {"kept"}


def test_answers_from_the_words_of_the_question_follow_no_pair(tmp_path, data):
    found = pairs_of(tmp_path, data, "scripted:trace-fixed")
    relevant = [pair.outcome for pair in found if pair.edit.is_relevant]
    assert len(relevant) >= 5
    assert "followed" not in relevant


def test_the_size_that_gives_more_pairs():
    assert TRACE.scaled_size(50, 1.0) == 50
    assert TRACE.scaled_size("quick", 2.0) == 67
