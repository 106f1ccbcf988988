"""Other people's files: what goes out comes back, and what others have written is understood or counted."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scene_worlds import ask, box_world

from theodolite.core.files import check
from theodolite.instruments.scene.data.crisp import (
    QuestionForm,
    QuestionScene,
    read_crisp,
    read_question,
    write_crisp,
    write_crisp_run,
    write_question,
)
from theodolite.instruments.scene.experiments.noise import noisy_graphs
from theodolite.instruments.scene.formulas.solver import Solver
from theodolite.instruments.scene.questions import Mode, Settings, is_graph, plan_scenes, plan_with_graphs
from theodolite.models import open_model
from theodolite.runs import Run


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return box_world(6, seed=9, folder=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def run_folder(world, tmp_path_factory):
    return ask(world, tmp_path_factory.mktemp("runs") / "run", "scene-trusting")


@pytest.mark.parametrize("numeric_type", ["NA", "NAQ"])
def test_a_data_set_comes_back_from_crisps_files(world, tmp_path, numeric_type):
    folder = write_crisp(world, tmp_path, numeric_type=numeric_type)
    types = {json.loads(line)["meta"]["type"] for line in (folder / "qa_data.jsonl").read_text().splitlines()}
    assert types == {"MCQ", numeric_type}
    back = read_crisp(folder / "scene_graph.jsonl", folder / "qa_data.jsonl", pictures=world.folder)
    assert back.scenes == world.scenes
    assert back.questions == world.questions
    assert not back.manifest.left_out


def test_graphs_are_in_their_form(world, tmp_path):
    folder = write_crisp(world, tmp_path)
    item = json.loads((folder / "scene_graph.jsonl").read_text().splitlines()[0])
    scene = world.scenes[item["sample_data_token"]]
    assert len(item["edges"]) == 2 * len(scene.objects) - 1  # the star, then one from the camera to each
    assert set(item["edges"][0]["relation"]) == {"left", "right", "in front of", "behind", "up", "down"}
    ego = [edge for edge in item["edges"] if edge["from"] == "ego"]
    assert all(edge["relation"]["in front of"] for edge in ego)
    task = json.loads((folder / "sgc_task.jsonl").read_text().splitlines()[0])
    gold = json.loads(task["conversations"][1]["value"])
    assert gold["objects"] == scene.star().as_json()["objects"]
    assert isinstance(gold["edges"][0]["relation"], dict)
    mark = json.loads((folder / "marks.jsonl").read_text().splitlines()[0])
    assert mark["marks"][0]["bbox_xyxy"] == [10, 10, 90, 90]
    assert mark["image_size"] == {"width": 1600, "height": 900}
    true = json.loads((folder / "gt_sg.json").read_text())
    assert [row["id"] for row in true[0]["objects"]] == [thing.id for thing in scene.objects]


def theirs(scene):
    """A scene with the fields of CRISP-Bench alone."""
    from theodolite.instruments.scene.data.crisp import write_scene

    item = write_scene(scene)
    for key in ("camera", "source", "dataset", "edges"):
        del item[key]
    for thing in item["objects"]:
        for key in ("rotation_cam", "visibility", "truncation", "key", "box_px"):
            del thing["attributes"][key]
    item["image_with_2dbox"] = f"out/{scene.id}.jpg"
    return item


def line(scene, number, text, gold, category, kind, options=()):
    shown = "".join(f"\n{letter}: {option}" for letter, option in options)
    value = text + (f"\nOptions:{shown}" if options else "")
    return {
        "id": f"{scene.id}_{number}",
        "image": f"out/{scene.id}.jpg",
        "conversations": [{"from": "human", "value": value}, {"from": "gpt", "value": gold}],
        "meta": {"category": category, "difficulty": "easy", "type": kind},
    }


def test_questions_of_others_are_understood(world, tmp_path):
    scene = max((s for s in world.scenes.values() if s.domain == "outdoor"), key=lambda s: len(s.objects))
    a = scene.centre
    b, c = [thing.id for thing in scene.objects if thing.id != a][:2]
    yes_no = (("A", "Yes"), ("B", "No"))
    sectors = tuple(
        zip(
            "ABCD",
            ("to your front-left", "directly behind you", "to your back-right", "directly to your right"),
            strict=True,
        )
    )
    lines = [
        line(scene, 0, f"Is object {b} to the left of object {a}, as the camera sees it?", "A", "direction", "MCQ", yes_no),
        line(scene, 1, f"Which describes the position of object {b} to object {a} best?", "B", "direction", "MCQ",
             (("A", f"in front-left of object {a}"), ("B", f"behind object {a}"), ("C", f"above object {a}"), ("D", f"right of object {a}"))),
        line(scene, 2, f"Which is larger in volume: object {b} or object {c}?", "A", "size", "MCQ", (("A", f"object {b}"), ("B", f"object {c}"))),
        line(scene, 3, f"Estimate the width (in meters) of object {b}.", "1.50", "size", "NA"),
        line(scene, 4, f"How far (in meters) is object {b} from the camera?", "9.10", "distance", "NAQ"),
        line(scene, 5, f"Which is closer to object {a}: object {b} or object {c}?", "B", "distance", "MCQ", (("A", f"object {b}"), ("B", f"object {c}"))),
        line(scene, 6, f"Rank by height (tallest to shortest): object {a}, object {b}, object {c}.", "A", "ranking", "MCQ",
             (("A", f"object {a}-object {b}-object {c}"), ("B", f"object {c}-object {b}-object {a}"))),
        line(scene, 7, f"How many marked objects are within 20 meters of object {a}?", "A", "counting", "MCQ", (("A", "2"), ("B", "3"))),
        line(scene, 8, f"How many objects are behind object {a}?", "A", "counting", "MCQ", (("A", "2"), ("B", "3"))),
        line(scene, 9, f"You stand at object {a} and face object {b}. Where is object {c}?", "A", "transformation", "MCQ", sectors),
        line(scene, 10, f"A new object A is placed in the left direction from object {a} at about 10 meters. "
             f"What is the horizontal distance (in meters) between A and object {b}?", "11.00", "deduction", "NAQ"),
    ]  # fmt: skip
    spoilt = [
        line(
            scene,
            20,
            f"Is object {b} behind object {a}?",
            "A",
            "direction",
            "MCQ",
            (("B", "No"), ("A", "Yes")),
        ),
        line(scene, 21, f"Estimate the width of object {b}.", "0.0", "size", "NAQ"),
        line(scene, 22, "Is it cosy?", "A", "mood", "MCQ", yes_no),
        line(scene, 23, "Is object 99 behind object 1?", "A", "direction", "MCQ", yes_no),
        {**line(scene, 24, "…", "A", "size", "MCQ", yes_no), "image": "out/elsewhere.jpg", "id": "other_1"},
    ]
    (tmp_path / "graphs.json").write_text(json.dumps([theirs(scene)]))
    (tmp_path / "qa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines + spoilt))
    back = read_crisp(tmp_path / "graphs.json", tmp_path / "qa.jsonl")
    assert [q.kind for q in back.questions] == [
        "is left", "position", "larger", "width", "distance to camera", "closer to object", "rank by height",
        "count within", "count in direction", "where after turning", "distance after placing",
    ]  # fmt: skip
    found = {q.kind: q for q in back.questions}
    assert found["closer to object"].objects == (a, b, c)
    assert [o.key for o in found["position"].options] == ["left+in front of", "behind", "up", "right"]
    assert [o.key for o in found["where after turning"].options] == [
        "front left",
        "back",
        "back right",
        "right",
    ]
    assert [o.key for o in found["rank by height"].options] == [f"{a}-{b}-{c}", f"{c}-{b}-{a}"]
    assert (found["count within"].distance_m, found["count in direction"].relation) == (20.0, "behind")
    placed = found["distance after placing"]
    assert (placed.objects, placed.relation, placed.distance_m) == ((a, b), "left", 10.0)
    assert sum(back.manifest.left_out.values()) == len(spoilt)
    assert any("out of order" in reason for reason in back.manifest.left_out)


def test_a_tilted_camera_is_found_from_heights(world, tmp_path):
    scene = max((s for s in world.scenes.values() if s.domain == "indoor"), key=lambda s: len(s.objects))
    (tmp_path / "graphs.json").write_text(json.dumps([theirs(scene)]))
    (tmp_path / "qa.jsonl").write_text("")
    back = read_crisp(tmp_path / "graphs.json", tmp_path / "qa.jsonl").scenes[scene.id]
    assert np.allclose(back.up_cam, scene.up_cam, atol=1e-6)
    assert back.domain == "indoor"
    assert back.star().edges == scene.star().edges


def test_every_kind_is_understood_in_their_own_wording(world):
    asked = {question.kind: question for question in world.questions}
    assert len(asked) >= 25
    for question in asked.values():
        row = write_question(question, "x.png", dataset="nuscenes")
        del row["meta"]["theodolite"]
        about = QuestionScene(question.scene, question.domain, question.difficulty)
        back = read_question(check(QuestionForm, row), about)
        assert (back.kind, back.objects) == (question.kind, question.objects)
        assert [option.key for option in back.options] == [option.key for option in question.options]
        assert (back.relation, back.distance_m) == (question.relation, question.distance_m)


def test_a_run_as_logs_that_their_scorers_read(world, run_folder, tmp_path):
    with Run.open(run_folder) as run:
        assert write_crisp_run(run, tmp_path) == (len(world.scenes), len(world.questions))
    names = sorted(path.name for path in tmp_path.glob("logs/*/*.jsonl"))
    assert all(re.fullmatch(r"\d{8}_\d{6}_samples_crisp_(qa|sgc)\.jsonl", name) for name in names)
    qa, sgc = (
        [json.loads(text) for text in next(tmp_path.glob(f"logs/*/*_{task}.jsonl")).read_text().splitlines()]
        for task in ("qa", "sgc")
    )
    docs = {row["id"]: row for row in map(json.loads, (tmp_path / "qa_data.jsonl").read_text().splitlines())}
    for row in qa:
        gold = docs[row["vsibench_score"]["id"]]["conversations"][1]["value"]
        assert row["target"] == gold
        assert row["filtered_resps"] == [gold] or float(row["filtered_resps"][0]) == float(gold)
    images = [row["sgc_score"]["image"] for row in sgc]
    assert len({Path(image).name for image in images}) == len(world.scenes)  # they find graphs by file name
    assert {row["image"] for row in docs.values()} <= set(images)
    assert all("null" not in row["filtered_resps"][0] for row in sgc)
    tasks = (tmp_path / "sgc_task.jsonl").read_text().splitlines()
    assert [json.loads(text)["image"] for text in tasks] == images


def test_what_cannot_be_read_is_empty_in_their_logs(world, tmp_path):
    few = replace(world, questions=world.questions[:3], scenes=dict(list(world.scenes.items())[:2]))
    for script in ("scene-rambler", "scene-refuser"):
        folder = ask(few, tmp_path / script, script, settings=Settings(qa=("base",), graph=("base",)))
        with Run.open(folder) as run:
            write_crisp_run(run, tmp_path / f"{script}-out")
        lines = [
            json.loads(text)
            for path in (tmp_path / f"{script}-out").glob("logs/*/*.jsonl")
            for text in path.read_text().splitlines()
        ]
        assert lines
        assert all(row["filtered_resps"] == [""] for row in lines)


def log_of(items, path):
    """A log of lmms-eval in which every sample says its own id, so that a mix-up shows."""
    rows = [
        {
            "doc_id": number,
            "input": item.request.text,
            "resps": [[item.request.ref]],
            "ref": item.request.ref,
            "pictures": len(item.request.pictures),
        }
        for number, item in enumerate(items)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_model(f"replay:{path}")


def test_equal_words_about_another_place_are_not_answered_from_a_log(world, tmp_path):
    items = [i for i in plan_scenes(world, Settings(qa=("base",), graph=())) if not is_graph(i)]
    by_text = {}
    for item in items:
        by_text.setdefault(item.request.text, []).append(item)
    first, second, *_ = next(same for same in by_text.values() if len({i.cluster for i in same}) > 1)
    model = log_of([first], tmp_path / "x_samples_y.jsonl")
    told, unknown = model.generate([first.request, second.request])
    assert told.text == first.request.ref
    assert unknown.status == "failed"
    assert log_of([first], tmp_path / "x_samples_y.jsonl").generate([second.request])[0].status == "failed"


def test_a_log_answers_only_about_the_graph_budget_and_picture_it_was_asked_with(world, tmp_path):
    stars = {scene.id: scene.star() for scene in world.scenes.values()}

    def asked(level, mode=None, setting="noisy graph", seed=0):
        graphs = noisy_graphs(stars, level, seed=seed)
        return next(iter(plan_with_graphs(world, graphs, setting=setting, mode=mode, noise=0.5)))

    recorded = asked(0.5)
    model = log_of([recorded], tmp_path / "x_samples_y.jsonl")
    others = [
        asked(0.5, seed=1),
        asked(0.1),
        asked(0.5, Mode("thinking", 64)),
        asked(0.5, setting="predicted graph"),
    ]
    assert [r.status for r in model.generate([i.request for i in others])] == ["failed"] * len(others)
    assert model.generate([recorded.request])[0].text == recorded.request.ref
    log = log_of([asked(0.5, Mode("thinking", 64))], tmp_path / "x_samples_z.jsonl")
    assert log.generate([asked(0.5, Mode("thinking", 65)).request])[0].status == "failed"


def test_solving_what_was_read_back_gives_the_same(world, tmp_path):
    folder = write_crisp(world, tmp_path)
    back = read_crisp(folder / "scene_graph.jsonl", folder / "qa_data.jsonl")
    for question in back.questions[:40]:
        derived = Solver(back.scenes[question.scene].star()).solve(question)
        original = Solver(world.scenes[question.scene].star()).solve(question)
        assert derived == original
