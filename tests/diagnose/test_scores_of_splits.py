"""Scores of several runs: what two splits measure on the same thing counts once."""

import known_models
import pytest

from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.running import run_diagnosis
from theodolite.diagnose.separation import Twins
from theodolite.instruments.instrument import find_instruments, score_runs
from theodolite.instruments.scene.score import GRAPH_METRICS

LOOKS, READS = "scripted:looks", "scripted:reads"


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    """A diagnosis of few rooms, and its folder."""
    folder = tmp_path_factory.mktemp("rooms")
    (scene,) = find_instruments(["scene"])
    with pytest.MonkeyPatch.context() as patch:
        known_models.put_in(patch)
        request = DiagnosisRequest((LOOKS, READS), folder, (scene,), 6, twins=Twins(LOOKS, READS))
        found = run_diagnosis(request)
    return scene, found, folder


def test_the_graph_of_a_room_counts_once_and_its_questions_in_either_split(rooms):
    scene, found, _ = rooms
    splits = {}
    for result in found.instrument("scene").metrics:
        splits.setdefault(result.key, []).append(result.split)
    assert set(splits) <= {metric.key for metric in scene.metrics}
    assert set(splits) >= GRAPH_METRICS
    assert all(splits[key] == ["aligned"] for key in GRAPH_METRICS)
    of_questions = set(splits) - GRAPH_METRICS
    assert of_questions
    assert all(splits[key] == ["aligned", "crossed"] for key in of_questions)


def test_nothing_is_lost_by_it(rooms):
    """A run of the other split alone has its graphs, and they are the very ones that were counted."""
    scene, found, folder = rooms
    runs = [folder / run for run in found.instrument("scene").models[0].runs]
    alone = [run for run in runs if "crossed" in run.name]
    other, every = (
        {(r.item, r.metric): r.value for r in score_runs(scene, folders) if r.metric in GRAPH_METRICS}
        for folders in (alone, runs)
    )
    assert other == every
    assert len(every) >= 4 * 5


def test_rooms_are_not_called_halved(rooms):
    _, found, _ = rooms
    assert found.data["scene"].startswith("6 drawn rooms, with questions")
    assert "half" not in found.data["scene"]
