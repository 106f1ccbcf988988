"""One's own videos as episodes, and those that are broken."""

import importlib.util
import json
import sys

import numpy as np
import pytest
from PIL import Image

from theodolite.cli.main import main
from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.data.sources.videos import read_videos

GREYS = (10, 60, 110, 160, 210)


def shot(grey, size=(32, 24)):
    return Image.new("RGB", size, (grey, grey, grey))


def write_clip(path, greys=GREYS, each_ms=200):
    first, *rest = [shot(grey) for grey in greys]
    first.save(path, save_all=True, append_images=rest, duration=each_ms, lossless=True)
    return path


def write_lines(folder, *rows):
    file = folder / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def greys(episode):
    return [int(frame.picture.pixels().mean()) for frame in episode.frames]


@pytest.mark.parametrize("ending", ["webp", "gif", "png"])
def test_moments_are_evenly_spread_or_those_that_are_listed(tmp_path, ending):
    write_clip(tmp_path / f"a.{ending}")
    listed = [{"time_s": 0.0}, {"time_s": 0.2, "objects": [{"id": "c", "category": "cup"}]}, {"time_s": 1.0}]
    file = write_lines(
        tmp_path,
        {"id": "spread", "video": f"a.{ending}", "task": "?", "answer": "x", "options": ["x", "y"]},
        {"id": "listed", "video": f"a.{ending}", "task": "?", "frames": listed},
    )
    spread, chosen = read_videos(file, tmp_path / "kept", n_frames=5).episodes
    assert greys(spread) == list(GREYS)
    assert [frame.time_s for frame in spread.frames] == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])
    assert (spread.answer, spread.options) == ("x", ("x", "y"))
    assert greys(chosen) == [GREYS[0], GREYS[1], GREYS[-1]]
    assert [t.category for t in chosen.frames[1].objects] == ["cup"]
    assert chosen.frames[0].size_px == (32, 24)


def test_what_is_wrong_is_told_line_by_line_and_the_others_are_read(tmp_path, capsys):
    whole = write_clip(tmp_path / "a.webp").read_bytes()
    (tmp_path / "half.webp").write_bytes(whole[: len(whole) // 2])
    write_clip(tmp_path / "a.gif")
    file = write_lines(
        tmp_path,
        {"id": "good", "video": "a.webp", "task": "?"},
        {"id": "half", "video": "half.webp", "task": "?"},
        {"id": "gone", "video": "gone.webp", "task": "?"},
        {"id": "late", "video": "a.webp", "task": "?", "frames": [{"time_s": 3.0}]},
        {"id": "timeless", "video": "a.webp", "task": "?", "frames": [{"objects": []}]},
        {"id": "mixed", "video": "a.webp", "task": "?", "frames": [{"time_s": 0.4}, {"time_s": 0.1}]},
        {"id": "outside", "video": "../a.webp", "task": "?"},
        {"id": "none", "task": "?"},
        {"id": "good", "video": "a.gif", "task": "?"},
        {"id": "second", "video": "a.gif", "task": "?"},
        {"id": "odd", "video": "a.gif", "task": "?", "frames": 7},
    )
    line = ["trace", "import", "--format", "videos", "--data", str(file), "--out", str(tmp_path / "out")]
    assert main([*line, "--frames", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    contents, problems = (table["rows"] for table in told["tables"])
    assert (contents[0]["episodes"], contents[0]["frames_with_a_picture"]) == (2, 6)
    reasons = {p["where"].rpartition(" ")[2]: p["reason"] for p in problems}
    wanted = {
        "2": "half.webp is broken", "3": "no video gone.webp", "4": "wanted at 3 s", "5": "time_s", "6": "order",
        "7": "outside", "8": "names no video", "9": "occurs twice", "11": "time_s",
    }  # fmt: skip
    assert set(reasons) == set(wanted)
    assert all(word in reasons[number] for number, word in wanted.items())
    found = read_episodes(tmp_path / "out")
    assert [e.id for e in found.episodes] == ["good", "second"]
    assert not found.problems
    assert greys(found.episodes[0]) == [GREYS[0], GREYS[2], GREYS[4]]


def test_other_formats_need_the_extra_and_say_so(tmp_path, monkeypatch):
    (tmp_path / "a.mp4").write_bytes(b"\0\0\0\x18ftypmp42")
    file = write_lines(tmp_path, {"id": "a", "video": "a.mp4", "task": "?"})
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"av>=14"):
        read_videos(file, tmp_path / "kept")


def test_a_file_without_any_usable_video_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no usable video: there is no video"):
        read_videos(write_lines(tmp_path, {"id": "a", "video": "a.webp", "task": "?"}), tmp_path / "kept")


@pytest.mark.skipif(importlib.util.find_spec("av") is None, reason="PyAV is not installed")
def test_an_mp4_is_read_frame_by_frame_and_a_broken_one_is_told(tmp_path):
    import av

    with av.open(str(tmp_path / "a.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for grey in GREYS:
            plain = np.full((48, 64, 3), grey, np.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(plain, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    whole = (tmp_path / "a.mp4").read_bytes()
    (tmp_path / "half.mp4").write_bytes(whole[: len(whole) // 3])
    (tmp_path / "text.mp4").write_text("no video at all")
    rows = [{"id": name, "video": f"{name}.mp4", "task": "?"} for name in ("a", "half", "text")]
    found = read_videos(write_lines(tmp_path, *rows), tmp_path / "kept", n_frames=5)
    assert [e.id for e in found.episodes] == ["a"]
    assert greys(found.episodes[0]) == pytest.approx(GREYS, abs=8)
    assert all("is broken" in p.reason for p in found.problems), found.problems
    assert len(found.problems) == 2
