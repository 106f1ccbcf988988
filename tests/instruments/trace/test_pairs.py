"""Pairs of episodes: who tells what the frames show follows all of them, who makes it up from the question none."""

from dataclasses import replace

import pytest
from made_worlds import edits, made
from trace_world import make_episode

from theodolite.instruments.instrument import item_rows, pairs_of_runs
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.data.stories import write_pairs
from theodolite.instruments.trace.instrument import TRACE
from theodolite.instruments.trace.questions import plan_pairs, plan_traces
from theodolite.models import ask_measurer, open_model
from theodolite.runs import Run, RunSettings, measure_run
from theodolite.worlds.episodes import EpisodeEdit


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
    return pairs_of_runs(TRACE, [tmp_path / "run"])


def test_every_pair_names_the_fact_that_was_edited_and_what_was_shown(tmp_path, data):
    found = pairs_of(tmp_path, data, "scripted:trace-looker")
    by_id = {episode.id: episode for episode in data[1]}
    for pair in found:
        before, after = (by_id[name.partition("/")[0]] for name in pair.shown)
        assert after.edit.base == before.id
        assert pair.relation == before.meta["kind"] == after.meta["kind"]
        assert pair.edit.is_relevant == (before.answer != after.answer) == (after.edit.family != "irrelevant")
        assert pair.item == before.id
    assert len({pair.relation for pair in found}) > 1
    assert {pair.outcome for pair in found if pair.edit.is_relevant} == {"followed"}
    assert {pair.outcome for pair in found if not pair.edit.is_relevant} == {"kept"}


def test_answers_from_the_words_of_the_question_follow_no_pair(tmp_path, data):
    found = pairs_of(tmp_path, data, "scripted:trace-fixed")
    relevant = [pair.outcome for pair in found if pair.edit.is_relevant]
    assert len(relevant) >= 5
    assert "followed" not in relevant


def test_an_edit_that_changes_the_words_of_the_prompt_is_no_pair(tmp_path):
    """Prompts name the times of the frames: who reads only those must not follow."""
    base, other = make_episode(1), make_episode(1, move=1.0)
    assert base.answer != other.answer
    same = replace(other, id="same", edit=EpisodeEdit(base.id, "position", 0.5))
    frames = tuple(replace(frame, time_s=frame.time_s + 1) for frame in other.frames)
    late = replace(same, id="late", frames=frames)
    write_episodes([base, same, late], tmp_path / "data")
    found = pairs_of(tmp_path, (tmp_path / "data", [base, same, late]), "scripted:trace-looker")
    assert [pair.shown for pair in found] == [(f"{base.id}/structured", "same/structured")]


def test_a_study_has_further_pairs_that_change_no_score(tmp_path):
    """Each is an episode and one edit with another answer, asked in the same words about as many frames."""
    write_pairs(tmp_path / "data", "crossed", 2, 3)
    episodes = read_episodes(tmp_path / "data").episodes
    name, about = "scripted:trace-looker", {"data": str(tmp_path / "data"), "split": "crossed"}
    settings = RunSettings("trace-pairs", name, 0, about)
    measure_run(tmp_path / "run", settings, lambda _: plan_pairs(episodes), ask_measurer(open_model(name)))
    found = pairs_of_runs(TRACE, [tmp_path / "run"])
    assert len(found) >= 2
    assert {(pair.outcome, pair.split) for pair in found} == {("followed", "crossed")}
    assert len({pair.cluster for pair in found}) == len(found)
    with Run.open(tmp_path / "run") as run:
        items = {result.item.name: result.item for result in run.results()}
        rows = list(item_rows(TRACE, run, lambda picture: picture.digest, []))
        assert (TRACE.score(run), TRACE.tables(run)) == ([], [])
    assert len(rows) == len(items) == 2 * len(found)
    assert not any(item.truth.is_plain for item in items.values())
    for before, after in (pair.shown for pair in found):
        assert items[before].request.text == items[after].request.text
        assert items[before].request.digest != items[after].request.digest
