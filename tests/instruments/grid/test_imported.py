"""Published data are imported as they are: wording, answers and pictures; scenes are read from the pictures."""

import json
import math

import numpy as np
import pytest
from PIL import Image, ImageDraw

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.audit import audit
from theodolite.instruments.grid.data.files import import_published, read_dataset, write_dataset
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import (
    BUCKET_KEYS,
    question_words,
    read_questions,
    text_of,
    words_of,
)
from theodolite.instruments.grid.data.world import COLOUR_OF, COLOURS, SHAPE_OF, SHAPES
from theodolite.instruments.grid.questions import plan_accuracy, scenes_of


def drawn(cells, *, paints=COLOURS, lines=False):
    """A scene drawn by other means: plain paints, no anti-aliasing, a wider triangle, grid lines."""
    picture = Image.new("RGB", (320, 320), "white")
    pen = ImageDraw.Draw(picture)
    for at in range(64, 320, 64) if lines else ():
        pen.line([(at, 0), (at, 320)], fill="gray")
        pen.line([(0, at), (320, at)], fill="gray")
    for cell in np.flatnonzero(cells):
        x, y = cell % 5 * 64 + 7, cell // 5 * 64 + 7
        style = {"fill": paints[COLOUR_OF[cells[cell]] - 1], "outline": "black", "width": 2}
        shape = SHAPES[SHAPE_OF[cells[cell]] - 1]
        if shape == "circle":
            pen.ellipse([x, y, x + 50, y + 50], **style)
        elif shape == "square":
            pen.rectangle([x, y, x + 50, y + 50], **style)
        elif shape == "triangle":
            pen.polygon([(x + 25, y), (x, y + 50), (x + 50, y + 50)], **style)
        else:
            angles = [2 * math.pi * i / 5 - math.pi / 2 for i in range(5)]
            pen.polygon([(x + 25 + 25 * math.cos(a), y + 25 + 25 * math.sin(a)) for a in angles], **style)
    return picture


def said(text):
    """The wording of the paper: "the" before every anchor, and "that are" at depth three."""
    for way in ("left of", "right of", "above", "below"):
        text = text.replace(f"{way} ", f"{way} the ")
    return text.replace(" are ", " that are ") if text.count(",") == 2 and text.startswith("How") else text


def publish(folder, scenes, **style):
    """Scenes in the published files. As there, the lines name no object but those of the answer."""
    lines, grounding = [], []
    folder.mkdir(exist_ok=True)
    for row in range(len(scenes)):
        name = f"images/val/depth1/M/form0/g5_d07/{row:06d}.png"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        drawn(scenes.cells[row], **style).save(folder / name)
        answer = scenes.answer_text(row)
        lines.append(
            {
                "image_id": row + 1,
                "question": said(scenes.text(row)),
                "answer": int(answer) if answer.isdigit() else answer,
            }
        )
        grounding.append({"image": {"id": row + 1, "file_name": name}, "annotations": [], "sentence": {}})
    for stem, values in (("qa", lines), ("grounding", grounding)):
        (folder / f"{stem}_val.jsonl").write_text("".join(json.dumps(each) + "\n" for each in values))
    return folder


SCENES = generate(n=2, density="dense", seed=3)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("published"), SCENES)


def test_every_template_is_read_in_the_published_words():
    texts = [said(SCENES.text(row)) for row in range(len(SCENES))]
    assert sum("the" in text.split() for text in texts) == sum(SCENES.questions.anchors[:, 0] > 0)
    read = read_questions(np.stack([words_of(text) for text in texts]))
    assert (read.bucket == SCENES.bucket).all()
    assert (read.anchors == SCENES.questions.anchors).all()
    compared = "Are there more red circles that are left of the blue square than green circles that are above the red square?"
    assert text_of(words_of(compared)) == (
        "Are there more red circles left of blue square than green circles above red square?"
    )
    with pytest.raises(UsageError, match="no word 'nearest'"):
        words_of("How many red circles are nearest the blue square?")


def test_scenes_are_read_from_pictures_and_text_is_kept(published, tmp_path):
    found = import_published(published)
    assert not found.problems
    assert found.data.plan.mode == "pure"
    assert (found.data.scenes.cells == SCENES.cells).all()
    folder = write_dataset(found.data, tmp_path / "data", drawn=(p.read() for p in found.pictures))
    stored = read_dataset(folder)
    record = next(each for each in stored.records if each.bucket == "M-F0-D3")
    assert record.question.startswith("How many ")
    assert " that are " in record.question
    for phrase in record.phrases:
        first, last = phrase["characters"]
        assert record.question[first:last] == phrase["text"]
    assert {p["text"] for p in record.phrases if p["name"].startswith("direction")} <= {
        "left of",
        "right of",
        "above",
        "below",
    }
    assert (folder / record.file_name).read_bytes() == found.pictures[stored.records.index(record)].read()
    told = audit(stored, n_permutations=9)
    assert told.is_kept
    assert told.pictures_checked == len(SCENES)
    items = list(plan_accuracy(stored))
    assert record.question in next(item for item in items if item.name == record.id).request.text
    assert (scenes_of(stored).answer == SCENES.answer).all()


def test_grid_lines_and_other_paints_are_read(tmp_path):
    some = SCENES.take(slice(0, 38, 5))
    paints = ("#d01030", "#30a060", "#2050c0", "#e0d020")
    found = import_published(publish(tmp_path, some, paints=paints, lines=True))
    assert (found.data.scenes.cells == some.cells).all()


def test_a_published_answer_that_is_wrong_is_found(tmp_path):
    publish(tmp_path, SCENES.take(slice(0, 3)))
    path = tmp_path / "qa_val.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["answer"] = 1 + int(lines[1]["answer"])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = import_published(tmp_path)
    told = audit(read_dataset(write_dataset(found.data, tmp_path / "data", pictures=False)), n_permutations=9)
    assert [(f.check, f.count) for f in told.faults] == [("the answer is what the evaluator says", 1)]


def test_broken_lines_are_left_out_and_named(tmp_path):
    publish(tmp_path, SCENES.take(slice(0, 4)))
    path = tmp_path / "qa_val.jsonl"
    lines = path.read_text().splitlines()
    lines[0] = json.dumps({"image_id": 77, "question": "How many red circles?", "answer": 1})
    lines[1] = json.dumps({"image_id": 2, "question": "What colour is it?", "answer": "red"})
    lines += ["{", json.dumps({"file_name": "../x.png", "question": "How many red circles?", "answer": 1})]
    path.write_text("\n".join(lines))
    found = import_published(tmp_path)
    assert len(found.data) == 2
    reasons = [each.reason for each in found.problems]
    assert len(reasons) == 4
    assert any("image_id 77" in reason for reason in reasons)
    assert any("'what'" in reason for reason in reasons)
    assert any("lies outside" in reason for reason in reasons)


def test_a_folder_without_published_data_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"has no qa_\*\.jsonl"):
        import_published(tmp_path)


def test_spurious_data_are_recognised(tmp_path):
    some = generate(("M-F0-D1", "M-F0-D2"), 2, mode="spur", seed=1)
    assert import_published(publish(tmp_path, some)).data.plan.mode == "spur"
    assert set(BUCKET_KEYS) >= set(import_published(tmp_path).data.plan.buckets)


def test_every_command_takes_imported_data(tmp_path, capsys):
    some = generate(("M-F0-D1", "CMP-F0-D2", "M-F1-D3"), 1, density="dense", seed=2)
    publish(tmp_path / "published", some)
    data, run, explained = (str(tmp_path / name) for name in ("data", "run", "explained"))
    assert main(["grid", "import", str(tmp_path / "published"), "--out", data, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "folder": data,
        "scenes": 3,
        "problems": [],
        "tables": [],
    }
    assert main(["grid", "audit", data, "--permutations", "9", "--json"]) == 0
    capsys.readouterr()
    asked = ["--data", data, "--model", "grid:symbolic-pure", "--json"]
    assert main(["grid", "run", *asked, "--out", run]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [row["accuracy_dense"]["value"] for row in table["rows"]] == [1, 1, 1]
    assert (
        main(
            [
                "grid",
                "run",
                "--explainers",
                "all",
                *asked,
                "--explainers",
                "removal",
                "--budget",
                "100",
                "--out",
                explained,
            ]
        )
        == 0
    )
    assert main(["grid", "score", run, explained]) == 0


def test_paired_models_translate_published_questions():
    said = "How many red circles that are left of the blue square, above the red square, and below the green circle?"
    own = "How many red circles are left of blue square, above red square, and below green circle?"
    hint = " Answer with a number alone."
    assert (question_words(said + hint) == words_of(own)).all()
