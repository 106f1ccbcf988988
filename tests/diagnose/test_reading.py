"""Readings of several runs: what two splits read off the same thing counts once."""

import known_models
import pytest
from theodolite.diagnose.reading import readings_of
from theodolite.diagnose.study import Size, Study

from theodolite.diagnose.position import Twins
from theodolite.diagnose.request import Order
from theodolite.diagnose.running import run_diagnosis
from theodolite.instruments.scene.metrics import GRAPH_METRICS, METRICS

TINY = Size("quick", pairs=6, grids=1, rooms=4, per_group=4, episodes=1)
LOOKS, READS = "scripted:looks", "scripted:reads"
OF_QUESTIONS = {metric.key for metric in METRICS} - GRAPH_METRICS


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    """A diagnosis of few rooms, and its folder."""
    folder = tmp_path_factory.mktemp("rooms")
    with pytest.MonkeyPatch.context() as patch:
        known_models.put_in(patch)
        study = Study(folder / "data", TINY)
        found = run_diagnosis(Order((LOOKS, READS), study, folder, ("scene",), twins=Twins(LOOKS, READS)))
    return found, folder


def test_the_graph_of_a_room_counts_once_and_its_questions_in_either_split(rooms):
    found, _ = rooms
    splits = {}
    for result in found.instrument("scene").metrics:
        splits.setdefault(result.key, []).append(result.split)
    assert set(splits) == GRAPH_METRICS | OF_QUESTIONS
    assert all(splits[key] == ["aligned"] for key in GRAPH_METRICS)
    assert all(splits[key] == ["aligned", "crossed"] for key in OF_QUESTIONS)


def test_nothing_is_lost_by_it(rooms):
    """A run of the other split alone has its graphs, and they are the very ones that were counted."""
    found, folder = rooms
    runs = [folder / run for run in found.instrument("scene").models[0].runs]
    alone = [run for run in runs if "crossed" in run.name]
    other, every = (
        {(r.item, r.metric): r.value for r in readings_of("scene", folders) if r.metric in GRAPH_METRICS}
        for folders in (alone, runs)
    )
    assert other == every
    assert len(every) >= 4 * 5


def test_rooms_are_not_called_halved(rooms):
    found, _ = rooms
    assert found.data["scene"].startswith("4 drawn rooms, with questions")
    assert "half" not in found.data["scene"]
