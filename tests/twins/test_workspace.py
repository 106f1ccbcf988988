"""The workspace of the twins: the same items as in a diagnosis, kept runs, and what a model gives."""

import re

import pytest

from theodolite.core.errors import UsageError
from theodolite.core.scores import covers
from theodolite.instruments.instrument import Study, find_instruments, instruments
from theodolite.runs import Run, RunInfo, find_runs
from theodolite.twins.workspace import Workspace, measured_scores, model_capability, stored_scores
from toy_instrument import TOY

FEW = 6


@pytest.fixture
def run(tmp_path):
    info = RunInfo(instrument="none", model="none", identity="none", settings={}, seed=0, theodolite="0")
    with Run.start(tmp_path / "run", info) as opened:
        yield opened


def shown(plans, run, split):
    """By run: what is asked of one split, by content."""
    found = {}
    for plan in plans:
        items = [item for item in plan.items(run) if (item.truth.split or split) == split]
        if plan.settings.get("split", split) == split:
            found[plan.name] = {item.request.digest for item in items}
    return found


@pytest.mark.parametrize("gives", ["text", "gradients"])
@pytest.mark.parametrize("name", ["compass", "grid", "scene"])
def test_a_diagnosis_asks_what_the_twins_are_asked(tmp_path, run, name, gives):
    (instrument,) = find_instruments([name])
    twins = shown(instrument.plan(Workspace(tmp_path / "lab", size=FEW).study, gives), run, "aligned")
    anyone = shown(instrument.plan(Study(tmp_path / "study", FEW), gives), run, "aligned")
    assert twins.keys() <= anyone.keys()
    for key, asked in twins.items():
        assert asked, key
        assert asked == anyone[key], key
    if name == "grid":
        assert ("grid-explained" in twins) == covers(gives, "choices")


def test_one_number_says_how_much_is_asked(tmp_path):
    for instrument in instruments():
        if not instrument.needs_data:
            few, many = (
                int(re.search(r"\d+", instrument.describe(Study(tmp_path, size)))[0]) for size in (12, 300)
            )
            assert few < many, instrument.name
    with pytest.raises(UsageError, match="at least 6"):
        Workspace(tmp_path, size=3)


def test_what_is_measured_is_kept_and_scored_again_without_the_model(tmp_path):
    told = []
    workspace = Workspace(tmp_path, size=FEW, seed=2, progress=lambda name, tally: told.append((name, tally)))
    found = measured_scores("scripted:oracle?batch_size=4", TOY, workspace, gives="text")
    assert {score.split for score in found} == {"aligned"}
    assert [score.value for score in found if score.metric == "toy.right"] == [1.0] * FEW
    assert told[-1][0] == "scripted:oracle?batch_size=4 toy"
    assert told[-1][1].answered == 3 * FEW
    assert find_runs(tmp_path / "runs") == [tmp_path / "runs" / "scripted-oracle" / "aligned" / "toy"]
    assert stored_scores("scripted:oracle", TOY, workspace) == found, "options make no other model of it"
    with pytest.raises(UsageError, match="no run of toy on the crossed split"):
        stored_scores("scripted:oracle", TOY, Workspace(tmp_path, "crossed", FEW))


def test_scores_without_a_value_are_left_out(tmp_path):
    found = measured_scores("scripted:refuser", TOY, Workspace(tmp_path, size=FEW), gives="text")
    assert found == []


def test_what_a_model_gives_is_found_out(tiny_llava):
    assert model_capability("grid:symbolic-pure") == "choices"
    assert model_capability("scripted:looker") in {"text", "choices"}
    assert model_capability(f"hf:{tiny_llava}") == "gradients"
