"""MiniWorld as an extra: walks whose truth is that of the simulator. Skipped where it is not installed, or cannot draw."""

import importlib.util

import numpy as np
import pytest
from trace_world import group_of

from theodolite.cli.main import main
from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.data.dataset import audit_world
from theodolite.instruments.trace.experiments.grounding import ego_motion
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.worlds.stories import make_world


@pytest.fixture(scope="module")
def walks():
    if importlib.util.find_spec("miniworld") is None:  # importing it here would open a window
        pytest.skip("MiniWorld is not installed")
    try:
        return list(make_world("miniworld", 2, seed=1))
    except UsageError as error:
        pytest.skip(str(error))


def test_true_traces_are_supported_and_inverted_ones_are_not(walks):
    episodes = {e.id: e for e in walks}
    verifier = open_verifier("annotation")

    def scored(change):
        texts = [change(str(e.meta["oracle"])) for e in walks]
        claimed = with_claims([read_trace(t, e) for t, e in zip(texts, walks, strict=True)])
        return group_of(judge(claimed, episodes, verifier))

    own = scored(str)
    assert own.mean("sgr").value >= 0.98
    assert own.mean("hr").value <= 0.02
    assert ego_motion(own)[2].value == 1.0
    swap = {"left": "right", "right": "left"}
    turned = scored(
        lambda text: " ".join(
            swap.get(w.rstrip("."), w.rstrip(".")) + "." * w.endswith(".") for w in text.split(" ")
        )
    )
    assert turned.mean("sgr").value < own.mean("sgr").value - 0.1


def test_boxes_hold_the_pixels_of_their_thing(walks):
    """The hue under a box is the thing's own: a test of axes, boxes and visibility at once."""
    paints = {"red": 0, "green": 1, "blue": 2}
    n = 0
    for episode in walks:
        for frame in episode.frames:
            pixels = frame.picture.pixels().astype(float)
            for thing in frame.objects:
                colour = thing.attributes["colour"]
                if thing.box is None or colour not in paints or thing.box.width_px < 12:
                    continue
                part = pixels[int(thing.box.y0) : int(thing.box.y1), int(thing.box.x0) : int(thing.box.x1)]
                strength = part - part.mean(axis=2, keepdims=True)
                assert strength[..., paints[colour]].max() > 60  # others may stand before it, but it shows
                n += 1
    assert n >= 3


def test_what_lies_ahead_is_seen_and_what_lies_behind_is_not(walks):
    ahead, behind = [], []
    for episode in walks:
        for frame in episode.frames:
            for thing in frame.objects:
                bearing = abs(frame.pose.bearing_deg(thing.position_m))
                (ahead if bearing < 20 else behind if bearing > 70 else []).append(thing.is_visible)
    assert np.mean(ahead) > 0.8  # the rest stands behind something
    assert not any(behind)


def test_the_splits_share_nothing_and_answers_are_balanced(walks):
    failed = [check.name for check in audit_world(walks).checks if check.outcome == "failed"]
    assert failed == []
    again = next(iter(make_world("miniworld", 1, seed=1)))
    assert again.meta["oracle"] == walks[0].meta["oracle"]
    assert again.frames[0].picture.digest == walks[0].frames[0].picture.digest


def test_it_says_what_to_install(monkeypatch, tmp_path, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "miniworld" else found(name, *a)
    )
    with pytest.raises(MissingExtraError, match="miniworld"):
        make_world("miniworld", 1)
    assert main(["trace", "make", "--world", "miniworld", "--size", "1", "--out", str(tmp_path / "m")]) == 2
    assert "pip install" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
