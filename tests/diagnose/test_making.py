"""Stories drawn in the background are the ones that would be drawn at once."""

from theodolite.diagnose._making import Makers, making, write_stories
from theodolite.trace import read_episodes


def test_a_set_made_beside_is_the_set_made_here(tmp_path):
    with making([(tmp_path / "beside", "aligned", 1, 3)]) as makers:
        write_stories(tmp_path / "here", "aligned", 1, 3)
        makers.wait(tmp_path / "beside")
    beside, here = (read_episodes(tmp_path / name).episodes for name in ("beside", "here"))
    assert [e.id for e in beside] == [e.id for e in here]
    assert [f.picture.digest for e in beside for f in e.frames] == [
        f.picture.digest for e in here for f in e.frames
    ]
    assert any(e.edit is not None for e in here)
    assert all(len(e.frames) == 4 for e in here)


def test_what_fails_beside_does_no_harm(tmp_path):
    makers = Makers()
    makers.start(tmp_path / "x", "sideways", 1, 0)
    makers.wait(tmp_path / "x")
    assert not (tmp_path / "x").exists()
    makers.wait(tmp_path / "never started")


def test_leaving_ends_what_is_at_work(tmp_path):
    with making([(tmp_path / "x", "aligned", 500, 0)]) as makers:
        process = makers._at_work[tmp_path / "x"]
    assert process.poll() is not None
    assert not (tmp_path / "x").exists()
