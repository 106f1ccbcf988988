"""The check of sources finds every broken promise, and our own sources keep theirs."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fuzz.formats.scene import scene_formats
from theodolite.core.errors import ContractError, UsageError
from theodolite.core.files import Problem
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import Candidate, SourceView, View
from theodolite.testing import check_source

UPRIGHT = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
"""Axes of a box that looks ahead: length along z, width along −x, height along −y."""


@pytest.fixture
def room(tmp_path):
    folder = tmp_path / "room"
    folder.mkdir()
    Image.new("RGB", (80, 60)).save(folder / "a.png")
    (folder / "a.json").write_text(json.dumps({"cups": [1.0, 2.0]}))
    return folder


def sound(path, **changes):
    """A source that keeps every promise, with some fields of its views and objects replaced."""
    files = sorted(Path(path).glob("*.json"))
    if not files:
        raise UsageError(f"{path} has no *.json")
    for file in files:
        try:
            places = [float(x) for x in json.loads(file.read_bytes())["cups"]]
        except (ValueError, TypeError, KeyError) as error:
            yield Problem(file.name, str(error))
            continue
        cups = [
            Candidate(
                "cup", Cuboid(SE3(UPRIGHT, np.array([x - 1.5, 0.0, 4.0])), 0.2, 0.2, 0.4), visibility=1.0
            )
            for x in places
        ]
        camera = PinholeCamera(80.0, 80.0, 40.0, 30.0, 80, 60)
        view = View(file.stem, "indoor", camera, (0.0, -1.0, 0.0), 1.0, "room")
        view = replace(view, **{name: value for name, value in changes.items() if hasattr(view, name)})
        own = {name: value for name, value in changes.items() if hasattr(cups[0], name)} if cups else {}
        yield SourceView(view, tuple(replace(cup, **own) for cup in cups), file.with_suffix(".png"))


def test_a_sound_source_passes(room):
    assert check_source(sound, room).problems == ()


@pytest.mark.parametrize("number", range(5))
def test_our_own_sources_pass(number, tmp_path):
    sample = scene_formats(tmp_path / "made")[number]
    for name, content in sample.files.items():
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_bytes(content)
    assert check_source(sample.name, tmp_path / "data").name == f"scene-{sample.name}"


def careless(path):
    for file in Path(path).glob("*.json"):
        (found,) = sound(file.parent)
        assert isinstance(json.loads(file.read_text())["cups"], list)
        yield found


def lying(path):
    """Different each time."""
    lying.calls += 1
    return sound(path, id=f"a{lying.calls}")


lying.calls = 0


def writing(path):
    yield from sound(path)
    (Path(path) / "a.json").write_text('{"cups": [1.5, 2.5]}')


LYING_BOX = Cuboid(SE3(np.eye(3), np.array([0.0, 0.0, 4.0])), 0.2, 0.2, 0.4)
BEHIND = Cuboid(SE3(UPRIGHT, np.array([0.0, 0.0, -4.0])), 0.2, 0.2, 0.4)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (lambda path: [1 for _ in sound(path)], "it gives int; only SourceView and Problem are read"),
        (lambda path: [each for each in sound(path) if not each], "it gives no view of the sample"),
        (lambda path: [*sound(path), *sound(path)], "the id 'a' is given to 2 views"),
        (lambda path: sound(path, domain="moon"), "the domain of a is 'moon', not indoor or outdoor"),
        (lambda path: sound(path, up_cam=(0.0, -2.0, 0.0)), "not a direction of length 1"),
        (lambda path: sound(path, source=""), "a does not say its source"),
        (
            lambda path: sound(path, camera=PinholeCamera(80.0, 80.0, 40.0, 30.0, 90, 60)),
            "the camera of a is 90×60 pixels, and its picture 80×60",
        ),
        (lambda path: sound(path, category=""), "an object in a has no category"),
        (lambda path: sound(path, visibility=3.0), "cup in a has the visibility 3.0"),
        (lambda path: sound(path, cuboid_cam=LYING_BOX), "cup in a is not upright"),
        (lambda path: sound(path, cuboid_cam=BEHIND), "no object lies in its picture"),
        (lying, "the same files give other views the second time"),
        (writing, "it changed the files that it reads"),
        (careless, "survives broken files: with a.json empty it raised"),
        (careless, "for an empty folder it gave no error"),
    ],
)
def test_each_broken_promise_is_found(source, told, room):
    with pytest.raises(ContractError, match="does not fulfil the source contract") as error:
        check_source(source, room)
    assert re.search(told, str(error.value)), str(error.value)


def test_the_sample_itself_is_left_alone(room):
    before = {file.name: file.read_bytes() for file in room.iterdir()}
    check_source(sound, room)
    assert {file.name: file.read_bytes() for file in room.iterdir()} == before


@pytest.mark.parametrize(
    ("source", "data", "told"),
    [
        ("kitti", "missing", "pass a small sample"),
        ("coco-pairs", "room", "gives pairs, not scenes"),
        ("kity", "room", "did you mean 'scene-kitti'"),
    ],
)
def test_wrong_names_and_samples_are_refused(source, data, told, room):
    with pytest.raises(UsageError, match=told):
        check_source(source, room.parent / data)


def test_what_is_no_source_is_refused(room):
    with pytest.raises(ContractError, match="it is not a function that takes a path"):
        check_source(5, room)
