import json

import pytest

from theodolite.cli.main import main
from theodolite.geometry.directions import EIGHT
from theodolite.instruments.ask.data.questions import read_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import read_pairs


@pytest.fixture
def coco(shared_data):
    return [
        "compass",
        "import",
        "--format",
        "coco",
        "--data",
        str(shared_data / "coco_tiny_val/instances.json"),
        "--images",
        str(shared_data / "coco_tiny_val/images"),
    ]


def words(capsys):
    captured = capsys.readouterr()
    return " ".join(captured.out.split()), " ".join(captured.err.split())


def test_coco_pairs_are_written_with_their_pictures(coco, tmp_path, capsys):
    assert main([*coco, "--out", str(tmp_path / "pairs")]) == 0
    out, err = words(capsys)
    assert "candidates 15348" in out
    assert "left out: too near each other 40" in out
    assert "kept 178 66 left, 66 right, 23 above, 23 below; on 35 pictures" in out
    assert "wrote 178 pairs" in err
    pairs = read_pairs(tmp_path / "pairs")
    assert len(pairs) == 178
    assert len(list((tmp_path / "pairs" / "pictures").iterdir())) == 35
    assert main(["compass", "audit", str(tmp_path / "pairs")]) == 0
    assert "178 pairs on 35 pictures" in words(capsys)[0]


def test_a_sample_may_only_point_at_its_pictures(coco, tmp_path, capsys, shared_data):
    more = ["--size", "40", "--seed", "3", "--min-margin", "10", "--no-copy", "--json"]
    assert main([*coco, "--out", str(tmp_path), *more]) == 0
    report = json.loads(capsys.readouterr().out)["report"]
    assert report["kept"] == 40
    assert set(report["directions"].values()) == {10}
    assert report["parameters"]["min_margin_deg"] == 10
    assert report["excluded"]["too near a border between directions"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.jsonl"]
    assert main(["compass", "audit", str(tmp_path)]) == 2
    images = str(shared_data / "coco_tiny_val/images")
    assert main(["compass", "audit", str(tmp_path), "--images", images, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["pairs"], said["cautions"]) == (40, {})
    assert said["tables"][0]["rows"] == [
        {"direction": name, "pairs": 10} for name in ("above", "below", "left", "right")
    ]


def test_the_audit_of_vsr(shared_data, tmp_path, capsys):
    captions = ["compass", "import", "--format", "vsr", "--data", str(shared_data / "vsr")]
    assert main(captions) == 0
    out, _ = words(capsys)
    assert "test 2195 1181 369" in out
    assert "dev 1097 564 187" in out
    assert "train 7680 3876 1183" in out
    assert "1739 name one of the four directions" in out
    assert main([*captions, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"][0]["rows"][0]["positives"] == 1181
    boxes = ["--annotations", str(shared_data / "coco_tiny_val/instances.json")]
    images = ["--images", str(shared_data / "coco_tiny_val/images")]
    assert main([*captions, "--out", str(tmp_path)]) == 2
    assert "need --annotations and --images" in words(capsys)[1]
    how = ["--boxes", "largest", "--no-agree", "--names", "substring"]
    assert main([*captions, *boxes, *images, *how, "--out", str(tmp_path / "pairs")]) == 0
    out, _ = words(capsys)
    assert "on 1 pictures" in out
    assert read_pairs(tmp_path / "pairs")[0].meta["caption"] == "The oven is under the sandwich."
    assert main([*captions, *boxes, *images, *how, "--out", str(tmp_path / "more"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["audit"]["splits"][0]["matched"] == 1


def test_scene_graphs_and_whatsup(tmp_path, capsys):
    (pair,) = coloured_squares(1).pairs
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.jpg").write_bytes(pair.picture.read())
    a, b = pair.reference.box, pair.target.box
    regions = {"blue": (a, []), "red": (b, [{"name": "to the right of", "object": "blue"}])}
    graph = {
        "1": {
            "width": 448,
            "height": 448,
            "objects": {
                name: {"name": name, "x": box.x0, "y": box.y0, "w": 60, "h": 60, "relations": relations}
                for name, (box, relations) in regions.items()
            },
        }
    }
    (tmp_path / "graphs.json").write_text(json.dumps(graph))
    images = ["--images", str(tmp_path / "images")]
    gqa = [
        "compass",
        "import",
        "--format",
        "gqa",
        "--data",
        str(tmp_path / "graphs.json"),
        *images,
        "--out",
        str(tmp_path / "gqa"),
    ]
    assert main([*gqa, "--min-area", "0.001"]) == 0
    assert "kept 1 0 left, 1 right" in words(capsys)[0]
    boxes = {
        "images": [{"id": 1, "file_name": "1.jpg", "width": 448, "height": 448}],
        "annotations": [
            {"image_id": 1, "category_id": i, "bbox": [box.x0, box.y0, 40, 40]}
            for i, box in enumerate((a, b))
        ],
        "categories": [{"id": 0, "name": "blue square"}, {"id": 1, "name": "red square"}],
    }
    (tmp_path / "boxes.json").write_text(json.dumps(boxes))
    items = [{"image_path": "1.jpg", "caption_options": ["A red square to the right of a blue square"]}]
    (tmp_path / "whatsup.json").write_text(json.dumps(items))
    whatsup = [
        "compass",
        "import",
        "--format",
        "whatsup",
        "--data",
        str(tmp_path / "whatsup.json"),
        *images,
        "--out",
        str(tmp_path / "w"),
    ]
    assert main(whatsup) == 2
    assert "have no boxes" in words(capsys)[1]
    assert main([*whatsup, "--annotations", str(tmp_path / "boxes.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["directions"]["right"] == 1


def test_a_check_opens_every_picture_and_knows_every_direction(tmp_path, capsys):
    assert main(["compass", "make", "--directions", "8", "--size", "8", "--out", str(tmp_path)]) == 0
    assert "1 above left, 1 above right, 1 below left, 1 below right; on 8 pictures" in words(capsys)[0]
    assert main(["compass", "audit", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert {row["direction"] for row in rows} == set(EIGHT.names)
    rows[0]["direction"] = "sideways"
    for row, keep in ((rows[1], 0.6), (rows[2], 0)):
        path = tmp_path / row["picture"]
        path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    capsys.readouterr()
    assert main(["compass", "audit", str(tmp_path), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["pairs"] == 5
    assert [problem.split(":")[0] for problem in said["problems"]] == [
        f"pairs.jsonl, line {n}" for n in (1, 2, 3)
    ]
    assert "'sideways' is no direction; there are left, right" in said["problems"][0]
    assert "cannot decode" in said["problems"][1]
    assert said["problems"][2].endswith("the file is empty")
    assert main(["compass", "make", "--directions", "6", "--out", str(tmp_path)]) == 2
    assert "--directions is 4 or 8, not 6" in words(capsys)[1]
    assert main(["compass", "make", "--directions", "8", "--questions", "--out", str(tmp_path)]) == 2


def test_squares_are_drawn(tmp_path, capsys):
    assert main(["compass", "make", "--size", "12", "--angles", "4", "--out", str(tmp_path)]) == 0
    assert "kept 12 3 left, 3 right, 3 above, 3 below; on 12 pictures" in words(capsys)[0]
    assert {pair.group for pair in read_pairs(tmp_path)} == {"0°", "90°", "180°", "270°"}


def test_squares_as_questions_are_the_file_that_ask_reads(tmp_path, capsys):
    words = ["ask", "make", "--size", "8", "--seed", "3", "--out", str(tmp_path), "--json"]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["questions"] == str(tmp_path / "questions.jsonl")
    questions = read_questions(tmp_path)
    assert [question.answer for question in questions] == ["left", "right", "above", "below"] * 2
    wanted = list(make_squares(8, seed=3))
    assert [question.pictures[0].pixels().tolist() for question in questions] == [
        question.pictures[0].pixels().tolist() for question in wanted
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["--size", "300"], "300 balanced pairs need 75 'above', and there are 23; take --size 92 at most"),
        (["--area", "hull"], "--area takes box or mask"),
        (["--min-area", "0.9"], "areas must satisfy"),
        (["--images", "/nowhere"], "there is no folder of pictures /nowhere"),
        (["--data", "/nowhere.json"], "cannot read the annotations /nowhere.json"),
    ],
)
def test_errors_are_one_sentence(coco, tmp_path, capsys, command, message):
    assert main([*coco, "--out", str(tmp_path / "out"), *command]) == 2
    _, err = words(capsys)
    assert err.startswith("error: ")
    assert message in err
    assert not (tmp_path / "out").exists()
