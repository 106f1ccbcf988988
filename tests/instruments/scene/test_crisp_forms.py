"""A frozen sample of CRISP-Bench's forms: what its published files and its logs look like, and what becomes of them."""

import json

import pytest
from PIL import Image
from scene_worlds import box_world

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.crisp import (
    WITHOUT_PICTURE,
    build_crisp,
    read_crisp,
    write_marks,
    write_question,
    write_scene,
)
from theodolite.instruments.scene.data.files import read_data
from theodolite.instruments.scene.formulas.solver import Solver

SHOWN = "data/processed/nuscenes/annotated_image/images_with_bbox/frame7.jpg"


def thing(node, mark, category, place, size):
    x, y, z = place
    return {
        "node_id": node,
        "local_id": mark,
        "attributes": {
            "category_name": category,
            "caption": None,
            "translation": {"x": x, "y": y, "z_cam": z, "z_world": 1.5 - y},
            "size": dict(zip("wlh", size, strict=True)),
        },
    }


def edge(start, end, distance, *words):
    names = ("left", "right", "in front of", "behind", "up", "down")
    return {
        "from": start,
        "to": end,
        "distance": distance,
        "angle": 0.0,
        "relation": {name: int(name in words) for name in names},
    }


SCENE = {
    "image": "samples/CAM_FRONT/frame7.jpg",
    "image_with_2dbox": SHOWN,
    "sample_data_token": "frame7",
    "camera_channel": "CAM_FRONT",
    "ego": {"translation": [0.0, 0.0, 0.0], "rotation": [1.0, 0.0, 0.0, 0.0]},
    "objects": [
        thing("n-van", 1, "vehicle.van", (-3.0, 0.5, 12.0), (2.0, 5.0, 2.2)),
        thing("n-car", 2, "vehicle.car", (0.0, 0.7, 15.0), (1.8, 4.4, 1.5)),
        thing("n-man", 3, "human.pedestrian.adult", (4.0, 0.6, 21.0), (0.6, 0.7, 1.8)),
    ],
    "edges": [
        edge("n-car", "n-van", 4.2474, "left", "in front of"),
        # the edge to the man is left out, as beyond their largest distance
        edge("ego", "n-van", 12.3794, "left", "in front of"),
        edge("ego", "n-car", 15.0163, "in front of"),
        edge("ego", "n-man", 21.3860, "right", "in front of"),
    ],
}
MARKS = {
    "dataset": "nuscenes",
    "sample_data_token": "frame7",
    "camera_channel": "CAM_FRONT",
    "source_image": "samples/CAM_FRONT/frame7.jpg",
    "image_size": {"width": 1600, "height": 900},
    "marks": [
        {"node_id": "n-van", "local_id": 1, "bbox_xyxy": [300, 380, 520, 560], "render": {"radius": 27}},
        {"node_id": "n-car", "local_id": 2, "bbox_xyxy": [700, 400, 900, 520], "render": {"radius": 18}},
        {"node_id": "n-man", "local_id": 3, "bbox_xyxy": [1010, 400, 1060, 500], "render": {"radius": 15}},
    ],
}


def line(number, category, kind, said, gold):
    return {
        "id": f"frame7_{number}",
        "image": SHOWN,
        "conversations": [{"from": "human", "value": said}, {"from": "gpt", "value": gold}],
        "meta": {"category": category, "difficulty": "easy", "type": kind},
    }


QUESTIONS = [
    line(0, "direction", "MCQ", "From the camera's viewpoint, is object 1 to the left of object 2?\n"
         "Options:\nA: Yes\nB: No", "A"),
    line(1, "direction", "MCQ", "From the camera's viewpoint, which best describes the relative position of object 1 to "
         "object 2?\nOptions:\nA: upper-left of object 2\nB: in front-left of object 2\nC: behind object 2\n"
         "D: in front and below object 2", "B"),
    line(2, "distance", "NA", "What is the distance (in meters) between object 2 and object 1?", "4.25"),
    line(3, "ranking", "MCQ", "Rank the following objects by height (tallest to shortest): object 1, object 2, object 3.\n"
         "Options:\nA: object 1-object 2-object 3\nB: object 1-object 3-object 2\nC: object 2-object 1-object 3\n"
         "D: object 3-object 2-object 1", "B"),
    line(4, "size", "NAQ", "Estimate the width (in meters) of object 3.", "0.6"),
]  # fmt: skip


def publish(root, *, marked=False, plain=False):
    """The layout of the published files; returns the folder to build from."""
    processed = root / "data" / "processed"
    files = {
        "combined/scene_graph/combined_scene_graph.jsonl": [SCENE],
        "combined/QA_pairs/qa_data.jsonl": QUESTIONS,
        "nuscenes/QA_pairs/qa_data.jsonl": QUESTIONS[:1],
        "nuscenes/annotated_image/marks.jsonl": [MARKS],
    }
    for name, rows in files.items():
        path = processed / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, is_there in ((SHOWN, marked), ("data/raw/nuscenes/samples/CAM_FRONT/frame7.jpg", plain)):
        if is_there:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (1600, 900), "grey").save(root / name)
    return root / "data"


def test_published_files_become_a_data_set(tmp_path):
    data = build_crisp(tmp_path / "out", publish(tmp_path, marked=True))
    scene = data.scenes["frame7"]
    assert (scene.domain, scene.centre, scene.difficulty) == ("outdoor", 2, "easy")
    star = scene.star()  # as published, not as computed
    assert [(e.to, e.distance_m, e.relation) for e in star.edges] == [(1, 4.25, {"left", "in front of"})]
    assert [q.kind for q in data.questions] == [
        "is left", "position", "distance between", "rank by height", "width",
    ]  # fmt: skip
    for question in data.questions:
        assert str(Solver(star).solve(question).value) == question.gold
    assert data.picture("frame7") is not None
    assert not data.manifest.left_out
    again = read_data(tmp_path / "out")
    assert again.scenes == data.scenes
    assert again.questions == data.questions


@pytest.mark.parametrize(
    ("dataset", "domain"), [("nuscenes", "outdoor"), ("scannetpp", "indoor"), (None, "outdoor")]
)
def test_the_questions_say_of_which_data_set_a_scene_is(tmp_path, dataset, domain):
    """The graphs of the public files name none; without any name the distances decide."""
    scene = SCENE | {"image": "frame7.jpg", "image_with_2dbox": "marked/frame7.jpg"}
    rows = [
        row | {"image": "marked/frame7.jpg", "meta": row["meta"] | ({"dataset": dataset} if dataset else {})}
        for row in QUESTIONS
    ]
    for name, lines in (("graphs.jsonl", [scene]), ("qa.jsonl", rows)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    data = read_crisp(tmp_path / "graphs.jsonl", tmp_path / "qa.jsonl")
    assert data.scenes["frame7"].domain == domain
    assert data.scenes["frame7"].source == (dataset or "crisp")
    assert {question.domain for question in data.questions} == {domain}


def test_marks_are_drawn_on_plain_pictures(tmp_path):
    data = build_crisp(tmp_path / "out", publish(tmp_path, plain=True))
    with Image.open(tmp_path / "out" / data.scenes["frame7"].marked) as picture:
        assert len(picture.getcolors(1 << 20)) > 1
    assert data.scenes["frame7"].picture


def test_without_pictures_the_scenes_stay(tmp_path):
    data = build_crisp(tmp_path / "out", publish(tmp_path))
    assert data.manifest.left_out == {WITHOUT_PICTURE: 1}
    assert len(data.questions) == len(QUESTIONS)


def test_the_command_builds_them_and_refuses_what_does_not_apply(tmp_path, capsys):
    root = publish(tmp_path)
    told = ["scene", "import", "--format", "crisp", "--data", str(root), "--out", str(tmp_path / "out")]
    assert main([*told, "--questions", "2"]) == 0
    assert len(read_data(tmp_path / "out").questions) == 2
    assert main([*told[:-1], str(tmp_path / "b"), "--no-balance"]) != 0
    assert "--balance does not apply to --format crisp" in capsys.readouterr().err


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(UsageError, match="holds no scene graphs of CRISP-Bench"):
        build_crisp(tmp_path / "out", tmp_path)
    root = publish(tmp_path)
    (root / "processed" / "combined" / "QA_pairs" / "qa_data.jsonl").unlink()
    (root / "processed" / "scannetpp").mkdir()
    (root / "processed" / "scannetpp" / "qa_data.jsonl").write_text("")
    with pytest.raises(UsageError, match="several files of questions"):
        build_crisp(tmp_path / "out", root)


def keys(value):
    """The shape of a record: the names of its fields, at every depth."""
    if isinstance(value, dict):
        return {name: keys(each) for name, each in value.items()}
    return [keys(value[0])] if isinstance(value, list) and value and isinstance(value[0], dict) else None


def holds(whole, part):
    """True if a record has at least the fields of another."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(k in whole and holds(whole[k], v) for k, v in part.items())
    return not isinstance(part, list) or (isinstance(whole, list) and holds(whole[0], part[0]))


def test_what_is_written_has_their_fields():
    world = box_world(1, seed=3)
    scene = next(iter(world.scenes.values()))
    theirs = {key: value for key, value in SCENE.items() if key not in {"camera_channel", "ego"}}
    assert holds(keys(write_scene(scene)), keys({**theirs, "edges": SCENE["edges"][:1]}) | {"edges": None})
    assert holds(keys(write_marks(scene)), keys({k: v for k, v in MARKS.items() if k != "camera_channel"}))
    assert holds(keys(write_question(world.questions[0], "x.png", dataset="nuscenes")), keys(QUESTIONS[0]))
