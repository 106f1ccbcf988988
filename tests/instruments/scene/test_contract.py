"""Graphs, questions and data sets: what the two halves of the instrument share."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from theodolite.answers import AnswerFormat, read_answer
from theodolite.core.errors import UsageError
from theodolite.core.files import check, dump
from theodolite.geometry import SE3, Box, PinholeCamera
from theodolite.instruments.scene.data.files import (
    Manifest,
    Option,
    SceneQuestion,
    read_data,
    write_data,
)
from theodolite.worlds.scene_graph import SceneGraph, SceneObject, Stand, relation

CAMERA = PinholeCamera.from_field_of_view(70, (800, 600))


def thing(mark, centre, size=(1.0, 1.0, 1.0), **more):
    return SceneObject(
        mark, "crate", tuple(map(float, centre)), (1.0, 0.0, 0.0, 0.0), *size, Box(1, 2, 60, 80), **more
    )


def scene(*things, up=(0.0, -1.0, 0.0), **more):
    return SceneGraph("s1", "indoor", tuple(things), CAMERA, up, **more)


def question(**changes):
    given = {
        "id": "s1-1",
        "scene": "s1",
        "domain": "indoor",
        "kind": "is left",
        "text": "Is object 1 left of object 2?",
        "objects": (1, 2),
        "gold": "A",
        "difficulty": "easy",
        "options": (Option("Yes", "yes"), Option("No", "no")),
    }
    return SceneQuestion(**given | changes)


@pytest.mark.parametrize(
    ("dx", "dz", "words"),
    [
        (0.2, 0.0, set()),
        (0.21, 0.0, {"right"}),
        (-0.21, 0.0, {"left"}),
        (0.0, 0.21, {"behind"}),
        (0.0, -0.21, {"in front of"}),
        (-3.0, 4.0, {"left", "behind"}),
    ],
)
def test_the_margin_of_each_horizontal_word(dx, dz, words):
    assert relation(Stand(dx, dz, 0, 1), Stand(0, 0, 0, 1)) == words


def test_flat_things_at_one_height_are_neither_up_nor_down():
    flat, other = Stand(1, 0, 0.0, 0.05), Stand(0, 0, 0.0, 0.05)
    assert relation(flat, other) == {"right"}


def test_a_lamp_on_a_table_is_up_and_the_floor_under_it_down():
    table = Stand(0, 0, 0.0, 0.75)
    assert relation(Stand(0, 0, 0.75, 1.2), table) == {"up"}
    assert relation(Stand(0, 0, -0.4, 0.0), table) == {"down"}
    assert relation(Stand(0, 0, 0.3, 1.2), table) == set()


def test_a_tilted_camera_still_measures_along_the_ground():
    # The camera looks 30° down. Two things stand on one vertical line: neither is in front of the other.
    down = np.radians(30)
    level_SE3_cam = np.array([[1, 0, 0], [0, -np.sin(down), np.cos(down)], [0, -np.cos(down), -np.sin(down)]])
    low, high = (level_SE3_cam.T @ np.array([0.5, 6.0, up]) for up in (-2.0, 1.5))
    graph = scene(thing(1, low), thing(2, high), up=tuple(level_SE3_cam.T @ np.array([0, 0, 1.0])))
    assert graph.relation(2, 1) == {"up"}
    assert np.allclose(graph.places_level_m, [[0.5, 6.0, -2.0], [0.5, 6.0, 1.5]])


def test_the_centre_is_near_the_centroid_and_large_among_equals():
    graph = scene(thing(1, (0, 0, 10)), thing(2, (-5, 0, 10)), thing(3, (5, 0, 10)))
    assert graph.centre == 1
    tied = scene(
        thing(1, (0.2, 0, 10)),
        thing(2, (-0.2, 0, 10), (2, 2, 2)),
        thing(3, (5, 0, 10)),
        thing(4, (-5, 0, 10)),
    )
    assert tied.centre == 2


def test_the_star_holds_every_object_and_an_edge_to_each_other_one():
    graph = scene(thing(1, (0, 0, 10)), thing(2, (-3, 0, 14)), thing(3, (4, 0, 7), (4.0, 2.0, 1.5)))
    star = graph.star()
    assert [node.id for node in star.nodes] == [1, 2, 3]
    assert star.as_json()["edges"] == [
        {"from": 1, "to": 2, "distance": 5.0, "relation": ["left", "behind"]},
        {"from": 1, "to": 3, "distance": 5.0, "relation": ["right", "in front of"]},
    ]
    assert star.as_json()["objects"][2] == {
        "id": 3,
        "dist_to_cam": 8.06,
        "size": {"w": 2.0, "l": 4.0, "h": 1.5},
    }
    assert star.node(9) is None
    assert star.edge(1) is None


def test_a_data_set_comes_back_as_it_was(tmp_path):
    graph = scene(
        thing(1, (0, 0, 10), visibility=0.9), thing(2, (-3, 0, 14), key="abc"), picture="pictures/s1.png"
    )
    asked = [question(), question(id="s1-2", kind="length", objects=(2,), options=(), gold="1.50")]
    write_data(tmp_path, [graph], asked, Manifest(made={"seed": 3}))
    data = read_data(tmp_path)
    assert data.scenes == {"s1": graph}
    assert list(data.questions) == asked
    assert (data.manifest.n_scenes, data.manifest.n_questions, data.manifest.made["seed"]) == (1, 2, 3)
    assert check(SceneQuestion, dump(asked[0], exclude_defaults=True)) == asked[0]


def test_a_wrong_data_set_is_refused_with_its_place(tmp_path):
    with pytest.raises(UsageError, match=r"no manifest\.json"):
        read_data(tmp_path)
    graph = scene(thing(1, (0, 0, 10)), thing(2, (-3, 0, 14)))
    write_data(tmp_path, [graph], [question(objects=(1, 7))], Manifest())
    with pytest.raises(UsageError, match="no object 7"):
        read_data(tmp_path)
    (tmp_path / "questions.jsonl").write_text('{"id": 3}\n')
    with pytest.raises(UsageError, match=r"questions\.jsonl, line 1"):
        read_data(tmp_path)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {},
            AnswerFormat(
                "choice",
                {"A": "Yes", "B": "No"},
                "letter",
                subject="object 1",
                object="object 2",
                claim="to the left of",
            ),
        ),
        (
            {"kind": "count within", "objects": (1,), "options": (Option("2", "2"), Option("3", "3"))},
            AnswerFormat.count({"A": "2", "B": "3"}, style="letter"),
        ),
        (
            {"kind": "length", "objects": (1,), "options": (), "gold": "1.50"},
            AnswerFormat.number("m"),
        ),
    ],
)
def test_a_question_says_what_form_of_answer_it_asks_for(changes, expected):
    assert question(**changes).format == expected


@pytest.mark.parametrize(
    ("changes", "text", "value"),
    [
        ({}, "No, it is on the right.", "B"),
        ({}, "**Answer: (a)**", "A"),
        (
            {
                "kind": "count beyond",
                "objects": (1,),
                "options": tuple(Option(f"{n}", f"{n}") for n in (2, 3, 4, 5)),
            },
            "I count three: objects 2, 5 and 7.",
            "B",
        ),
        (
            {
                "kind": "where after turning",
                "objects": (1, 2, 3),
                "options": tuple(
                    Option(s, s) for s in ("front left", "back left", "back right", "front right")
                ),
            },
            "front-right",
            "D",
        ),
        ({"kind": "height", "objects": (1,), "options": (), "gold": "1.50"}, "About 45 cm.", 0.45),
    ],
)
def test_answers_are_read_in_that_form(changes, text, value):
    assert read_answer(text, question(**changes).format).value == value


def test_bad_records_cannot_be_made():
    with pytest.raises(UsageError, match="numbered"):
        scene(thing(2, (0, 0, 10)), thing(1, (-3, 0, 14)))
    with pytest.raises(UsageError, match="letters"):
        question(gold="C")
    with pytest.raises(UsageError, match="above zero"):
        question(kind="length", options=(), gold="0.00")
    with pytest.raises(UsageError, match="above zero"):
        replace(thing(1, (0, 0, 3)), width_m=0.0)


def test_rotations_and_quaternions_agree():
    rng = np.random.default_rng(0)
    for wxyz in rng.normal(size=(50, 4)):
        motion = SE3.from_quaternion(wxyz, rng.normal(size=3))
        assert np.allclose(
            SE3.from_quaternion(motion.quaternion_wxyz, motion.translation_m).matrix, motion.matrix
        )
        assert np.allclose((motion @ motion.inverse()).matrix, np.eye(4))


def test_the_engine_needs_no_pydantic():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pydantic', 'typer', 'rich', 'torch', 'matplotlib']))\n"
        "from theodolite.worlds.scene_graph import SceneGraph; from theodolite.instruments.scene.data.files import SceneQuestion; from theodolite.worlds.scene_graph import relation\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
