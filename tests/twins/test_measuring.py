"""What is put to the twins when they are told apart is what a diagnosis puts to any model: the same items of the same sets."""

from itertools import islice

import pytest
from theodolite.diagnose.parts import PARTS
from theodolite.diagnose.study import Size, Study
from theodolite.twins.measuring import Lab, Sizes, metrics_of, parts_of, reader_of
from theodolite.twins.parts import INSTRUMENTS

from theodolite.core.errors import UsageError
from theodolite.core.scores import covers
from theodolite.instruments.instrument import made
from theodolite.runs import Run, RunInfo

SIZE = Size("quick", pairs=3, grids=1, rooms=3, per_group=50, episodes=1, deep=1, explained=1, budget=20)
SIZES = Sizes(pairs=3, grids=1, explained=1, budget=20, rooms=3, episodes=1)


@pytest.fixture
def run(tmp_path):
    info = RunInfo(instrument="none", model="none", identity="none", settings={}, seed=0, theodolite="0")
    with Run.start(tmp_path / "run", info) as opened:
        yield opened


def shown(parts, run, split):
    """By kind of run: what is asked of one split, by content."""
    found = {}
    for part in parts:
        items = [item for item in part.items(run) if item.meta.get("split", split) == split]
        found[part.kind, part.settings.get("split", split)] = {item.request.digest for item in items}
    return found


@pytest.mark.parametrize("gives", ["text", "gradients"])
@pytest.mark.parametrize("instrument", ["compass", "grid", "scene"])
def test_a_diagnosis_asks_what_the_twins_are_asked(tmp_path, run, instrument, gives):
    lab = Lab(tmp_path / "lab", sizes=SIZES)
    twins = shown(parts_of(instrument, lab, gives=gives), run, "aligned")
    anyone = shown(PARTS[instrument](Study(tmp_path / "study", SIZE), gives), run, "aligned")
    assert twins.keys() <= anyone.keys()
    for key, asked in twins.items():
        assert asked, key
        assert asked == anyone[key], key
    if instrument == "grid":
        assert (("grid-explain", "aligned") in twins) == covers(gives, "choices")


def test_every_instrument_has_metrics_and_a_reader():
    for name in INSTRUMENTS:
        assert all(metric.key.startswith(f"{name}.") for metric in metrics_of(name))
        assert reader_of(name).__module__ == f"theodolite.instruments.{name}.metrics"
    with pytest.raises(UsageError, match="there are compass, grid, scene, trace"):
        metrics_of("sextant")


def test_data_that_were_left_half_made_are_made_anew(tmp_path):
    def broken(folder):
        folder.mkdir()
        (folder / "half").write_text("")
        raise RuntimeError("no more power")

    with pytest.raises(RuntimeError, match="power"):
        made(tmp_path / "set", broken)
    assert not (tmp_path / "set").exists()
    made(tmp_path / "set", lambda folder: folder.mkdir() or (folder / "whole").write_text(""))
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["whole"]
    assert [path.name for path in islice(tmp_path.iterdir(), 5)] == ["set"]
