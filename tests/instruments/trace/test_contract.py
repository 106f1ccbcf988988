"""Episodes, claims and verdicts: what they promise, and how they travel through files."""

import json
import subprocess
import sys

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.trace.claims.types import Claim, Mention, Verdict
from theodolite.instruments.trace.data.dataset import EpisodeManifest, read_episodes, write_episodes
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.worlds.episodes import (
    ASPECTS,
    Action,
    Episode,
    EpisodeEdit,
    Frame,
    FrameObject,
    Pose,
    Relation,
)


def small_episode(picture=None):
    ball = FrameObject(
        "b1",
        "ball",
        Box(1, 2, 11, 12),
        attributes={"colour": "red"},
        states={"moving": True},
        position_m=(1, 2, 0),
    )
    hidden = FrameObject("c1", "cup", is_visible=False)
    frames = (
        Frame(0.0, picture, (60, 40), (ball, hidden), (Relation("b1", "on", "c1"),), Pose(0, 0)),
        Frame(0.5, picture, (60, 40), (ball,), pose=Pose(0, 1, heading_deg=90), number=7),
    )
    return Episode(
        "e1",
        "What moves?",
        frames,
        answer="ball",
        options=("ball", "cup"),
        actions=(Action("roll", "b1", ("c1",), 0.0, 0.4, "rolls"),),
        known={"objects": "complete", "actions": "partial"},
        vocabulary={"objects": ("ball", "cup")},
        world="video",
        split="ood",
        difficulty={"objects": 2.0},
        cluster="clip-1",
        edit=EpisodeEdit("e0", "position", 0.5, ("b1",)),
        meta={"seed": 3},
    )


def test_episodes_survive_the_disk(tmp_path, picture):
    first = small_episode(Picture.from_bytes(picture.read()))
    write_episodes([first], tmp_path / "set", manifest=EpisodeManifest(n_episodes=0, world="video", seed=4))
    back = read_episodes(tmp_path / "set")
    assert back.episodes == (first,)
    assert back.problems == ()
    assert (back.manifest.n_episodes, back.manifest.seed) == (1, 4)
    assert len(list((tmp_path / "set" / "frames").iterdir())) == 1  # shared by both frames
    assert np.array_equal(back.episodes[0].frames[1].picture.pixels(), picture.pixels())


def test_a_plain_file_of_ones_own(tmp_path, picture):
    (tmp_path / "a.png").write_bytes(picture.read())
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "x", "task": "what?", "frames": ["a.png", {"picture": "a.png"}]}\n')
    episode = read_episodes(file).episodes[0]
    assert [frame.time_s for frame in episode.frames] == [0.0, 1.0]
    assert [frame.size_px for frame in episode.frames] == [picture.size] * 2
    assert episode.known == {}
    assert episode.unit == "x"


def test_what_is_listed_without_a_word_on_knowledge_is_known_in_part(tmp_path, picture):
    (tmp_path / "a.png").write_bytes(picture.read())
    ball = {"id": "b", "category": "ball", "attributes": {"colour": "blue"}}
    bare = {"id": "bare", "task": "?", "frames": [{"picture": "a.png", "objects": [ball]}]}
    full = bare | {
        "id": "full",
        "frames": [
            {
                "objects": [ball | {"box": [1, 2, 3, 4], "states": {"moving": True}}],
                "relations": [{"subject": "b", "predicate": "on", "object": "ego"}],
                "pose": {"x_m": 0, "y_m": 0},
            }
        ],
        "actions": [{"verb": "roll", "subject": "b"}],
    }
    told = bare | {"id": "told", "known": {"objects": "complete"}}
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, (bare, full, told, bare | {"id": "nothing", "known": {}}))))
    found = read_episodes(file).episodes
    assert [episode.known for episode in found] == [
        {"objects": "partial", "attributes": "partial"},
        dict.fromkeys(ASPECTS, "partial"),
        {"objects": "complete"},
        {},
    ]
    written = read_episodes(write_episodes(found, tmp_path / "set")).episodes
    assert [episode.known for episode in written] == [episode.known for episode in found]
    claims = [
        Claim("entity", Mention("ball", ("blue",))),
        Claim("entity", Mention("dog")),
        Claim("attribute", Mention("ball"), "red"),
    ]
    verdicts = open_verifier("annotation").verify(claims, found[0])
    assert [v.label if v.reason is None else v.reason for v in verdicts] == [
        "supported",
        "low recall",
        "unsupported",
    ]


def test_bad_lines_are_told_and_the_rest_is_read(tmp_path):
    good = {"id": "ok", "task": "t", "frames": [{}]}
    lines = [
        json.dumps(good),
        "not json",
        json.dumps(good | {"id": "no frames", "frames": []}),
        json.dumps(good | {"id": "gone", "frames": ["gone.png"]}),
        json.dumps(good | {"id": "out", "frames": ["../../etc/passwd"]}),
        json.dumps(good),
        json.dumps(
            good | {"id": "box", "frames": [{"objects": [{"id": "a", "category": "b", "box": [5, 5, 1, 9]}]}]}
        ),
        json.dumps(good | {"id": "word", "known": {"colours": "complete"}}),
        json.dumps(good | {"id": "back", "frames": [{"time_s": 2}, {"time_s": 1}]}),
    ]
    file = tmp_path / "e.jsonl"
    file.write_text("\n".join(lines))
    read = read_episodes(file)
    assert [e.id for e in read.episodes] == ["ok"]
    told = {p.where.rpartition(" ")[2]: p.reason for p in read.problems}
    assert set(told) == {"2", "3", "4", "5", "6", "7", "8", "9"}
    assert "outside" in told["5"]
    assert "twice" in told["6"]
    assert "backwards" in told["9"]


def test_a_file_without_any_episode_is_refused(tmp_path):
    file = tmp_path / "e.jsonl"
    file.write_text("{}\n")
    with pytest.raises(UsageError, match="no usable episode"):
        read_episodes(file)
    with pytest.raises(UsageError, match="cannot read"):
        read_episodes(tmp_path / "gone.jsonl")


def test_a_manifest_of_the_future_is_refused(tmp_path, picture):
    folder = write_episodes([small_episode(picture)], tmp_path / "set")
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 99'))
    with pytest.raises(UsageError, match="format 99"):
        read_episodes(folder)


def test_headings_and_bearings():
    start = Pose(0, 0, heading_deg=10)
    assert start.turn_to_deg(Pose(0, 0, heading_deg=340)) == -30
    assert start.turn_to_deg(Pose(0, 0, heading_deg=190)) == 180
    assert Pose(1, 1).bearing_deg((2, 2, 0)) == pytest.approx(45)
    assert Pose(1, 1).bearing_deg((0, 1, 0)) == pytest.approx(-90)


def test_actions_at_some_frames():
    frames = tuple(Frame(float(t)) for t in range(4))
    early, late = Action("sit", "p", (), 0, 0.9), Action("stand", "p", (), 2.2, 2.8)
    episode = Episode("e", "t", frames, actions=(early, late))
    assert episode.actions_at((0,)) == (early,)
    assert episode.actions_at((1,)) == ()
    assert episode.actions_at((2, 3)) == (late,)
    assert episode.actions_at(()) == (early, late)


def test_a_verdict_gives_its_reason_exactly_where_it_must():
    with pytest.raises(UsageError, match="reason"):
        Verdict("unverifiable")
    with pytest.raises(UsageError, match="reason"):
        Verdict("supported", "abstract")


def test_the_types_need_no_heavy_library():
    code = (
        "import sys\n"
        "for name in ('spacy', 'torch', 'scipy'): sys.modules[name] = None\n"
        "from theodolite.worlds.episodes import Episode, EGO, Pose; from theodolite.instruments.trace.claims.types import Claim, Verdict, Trace\n"
        "print(EGO)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "ego", done.stderr


def test_a_picture_is_named_by_its_content(tmp_path):
    pixels = np.zeros((4, 4, 3), np.uint8)
    frames = tuple(Frame(float(i), Picture.from_array(pixels + i)) for i in range(3))
    write_episodes([Episode("e", "t", frames)], tmp_path)
    assert len(list((tmp_path / "frames").iterdir())) == 3
