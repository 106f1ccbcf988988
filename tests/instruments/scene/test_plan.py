"""What a model is told, and what it is not told."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scene_made import strewn_scene, strewn_scenes

from theodolite.answers.grading import format_of, rubric_of_item
from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.files import (
    Manifest,
    SceneData,
    read_data,
    write_data,
)
from theodolite.instruments.scene.data.make import make_questions, make_scenes
from theodolite.instruments.scene.questions import (
    MODE_NAMES,
    WITHOUT_PICTURE,
    Mode,
    Settings,
    graph_prompt,
    graph_text,
    is_graph,
    plan_scenes,
    plan_with_graphs,
    qa_prompt,
    question_of,
    setting_of,
    true_graph,
)
from theodolite.worlds.scene_graph import PREDICATES
from theodolite.worlds.things import CATALOGUE


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "marked").mkdir()
    scenes = []
    for i, scene in enumerate(strewn_scenes(6, seed=2)):
        Image.fromarray(np.full((8, 8, 3), i, np.uint8)).save(folder / "marked" / f"{scene.id}.png")
        scenes.append(replace(scene, marked=f"marked/{scene.id}.png"))
    write_data(folder, scenes, make_questions(scenes).questions, Manifest())
    return read_data(folder)


def all_items(data):
    for name in MODE_NAMES:
        mode = Mode(name)
        yield from plan_scenes(data, Settings(mode=mode))
        stars = {scene.id: scene.star() for scene in data.scenes.values()}
        yield from plan_with_graphs(data, stars, mode=mode)
        yield from plan_with_graphs(data, stars, setting="noisy graph", mode=mode, noise=0.3)


def test_no_prompt_tells_a_category_a_box_or_the_camera(data):
    """Also not by a number: none of a box's pixels, of the camera's or of a coordinate stands in any prompt."""
    for item in all_items(data):
        scene = data.scenes[item.cluster]
        text = item.request.text
        assert "crate" not in text.lower()
        assert not re.search(
            r"pixel|focal|intrinsic|bounding|\bbox|\bpx\b|coordinate|field of view", text, re.IGNORECASE
        )
        told = {float(number) for number in re.findall(r"\d+\.\d+", text)}
        hidden = {scene.camera.fx_px, scene.camera.cx_px, scene.camera.cy_px}
        for thing in scene.objects:
            hidden |= {thing.box_px.x0, thing.box_px.y0, thing.box_px.x1, thing.box_px.y1}
        known = {round(value, 2) for value in hidden}
        true = {
            value
            for node in scene.star().nodes
            for value in (node.distance_m, node.width_m, node.length_m, node.height_m)
        }
        true |= {edge.distance_m for edge in scene.star().edges}
        assert not (told & known) - true
        if "graph" not in setting_of(item) and not is_graph(item):
            question = question_of(item)
            assert told <= ({question.distance_m} if question.distance_m else set())


def test_no_prompt_about_a_made_scene_names_a_thing_of_its_world():
    scenes = [made.graph for made in make_scenes(3, 3, seed=2).scenes]
    data = SceneData({scene.id: scene for scene in scenes}, make_questions(scenes).questions)
    words = re.compile(rf"\b({'|'.join(CATALOGUE)})s?\b", re.IGNORECASE)
    assert words.search("two Cars and a vase")
    n = 0
    for name in MODE_NAMES:
        settings = Settings(qa=("blind", "true graph alone"), graph=("blind",), mode=Mode(name))
        for item in plan_scenes(data, settings):
            assert not words.search(item.request.text), words.search(item.request.text)
            n += 1
    texts = [qa_prompt(q, 9) for q in data.questions] + [graph_prompt(scene) for scene in scenes]
    assert not any(map(words.search, texts))
    assert n > 100


def test_without_a_picture_no_prompt_claims_one(data):
    for item in all_items(data):
        is_shown = setting_of(item) not in WITHOUT_PICTURE
        assert len(item.request.pictures) == int(is_shown)
        if is_shown:
            assert item.request.text.startswith("The picture shows")
        else:
            assert "There is no picture of it" in item.request.text
            assert not re.search(
                r"shown in the (picture|image)|the picture shows|you are given", item.request.text.lower()
            )


def test_every_question_comes_once_in_every_setting(data):
    items = list(plan_scenes(data))
    assert len({item.name for item in items}) == len({item.id for item in items}) == len(items)
    first = [s for s in Settings().qa if s != "predicted graph"]
    assert len(items) == len(data.questions) * len(first) + 2 * len(data.scenes)
    stars = {scene.id: scene.star() for scene in list(data.scenes.values())[1:]}
    later = list(plan_with_graphs(data, stars))
    missing = next(iter(data.scenes))
    assert {item.cluster for item in later} == set(data.scenes) - {missing}
    assert len(later) == sum(q.scene != missing for q in data.questions)


def test_an_item_holds_all_that_scoring_needs(data):
    for item in plan_scenes(data):
        scene = data.scenes[item.cluster]
        if is_graph(item):
            assert item.meta["rubric"]["graph"] == scene.star().as_json()
            assert item.meta["rubric"]["centre"] == scene.centre
            assert true_graph(item) == scene.star()
            assert json.loads(item.request.hint["gold"]) == scene.star().as_json()
        else:
            question = question_of(item)
            assert question in data.questions
            assert rubric_of_item(item)["golds"] == [question.gold]
            assert rubric_of_item(item)["group"] == question.group_name
            assert format_of(item) == question.format
            assert item.request.hint["gold"] == question.gold
            assert ("graph" in item.meta) == ("graph" in setting_of(item))


def test_the_graph_prompt_asks_for_every_object_and_every_word():
    scene = strewn_scene("x", "indoor", 7, 1)
    text = graph_prompt(scene)
    assert "1, 2, 3, 4, 5, 6, 7" in text
    assert f"from object {scene.centre} to each" in text
    assert ", ".join(PREDICATES) in text


def test_modes_ask_for_reasoning_and_cap_it():
    scene = strewn_scene("x", "indoor", 7, 1)
    question = make_questions([scene]).questions[0]
    direct, steps, thinking = (
        qa_prompt(question, 7, mode=Mode(name, budget_tokens=300)) for name in MODE_NAMES
    )
    assert "only" in direct.rsplit("\n", 1)[1]
    assert "Answer: <" in steps
    assert "300 tokens" in thinking
    data = SceneData({"x": scene}, (question,), None)
    settings = Settings(qa=("blind",), graph=(), mode=Mode("thinking", budget_tokens=300))
    assert [item.request.max_tokens for item in plan_scenes(data, settings)] == [364]


def test_a_graph_in_a_prompt_is_the_graph():
    star = strewn_scene("x", "outdoor", 5, 1).star()
    assert json.loads(graph_text(star)) == star.as_json()


def test_without_pictures_only_blind_settings_can_be_planned():
    scene = strewn_scene("x", "indoor", 4, 1)
    data = SceneData({"x": scene}, make_questions([scene]).questions, Path())
    with pytest.raises(UsageError, match="no marked picture"):
        list(plan_scenes(data))
    items = list(plan_scenes(data, Settings(qa=("blind", "true graph alone"), graph=("blind",))))
    assert len(items) == 1 + 2 * len(data.questions)


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match="own graphs"):
        Settings(qa=("predicted graph",), graph=("blind",))
    with pytest.raises(UsageError, match="settings are some of"):
        Settings(qa=("sideways",))
    with pytest.raises(UsageError, match="no mode"):
        Mode("loud")


def test_settings_are_read_from_words():
    both = Settings.parse("base, graphs", Mode())
    assert (both.qa, both.graph) == (("base",), ("base", "blind"))
    own = Settings.parse("predicted-graph", Mode())
    assert (own.qa, own.graph) == (("base", "predicted graph"), ("base",))
    assert Settings.parse("all", Mode()) == Settings()
    for wrong in ("", "base,sideways"):
        with pytest.raises(UsageError, match="--settings takes all"):
            Settings.parse(wrong, Mode())
