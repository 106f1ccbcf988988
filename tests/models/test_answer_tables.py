"""Recorded answers in any table: found by picture and words, by id, or by words, and never guessed."""

import csv
import json
import zipfile
from xml.sax.saxutils import escape

import numpy as np
import pytest
from PIL import Image

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Request
from theodolite.models import open_model
from theodolite.models.replay import is_log

WHERE = "Where is the cup?"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for i in range(4):
        Image.fromarray(np.full((8, 8, 3), 40 * i, np.uint8)).save(folder / f"COCO_val2014_{i + 1:012d}.png")
    return [Picture.from_path(path) for path in sorted(folder.iterdir())]


def table(tmp_path, rows, name="answers.jsonl"):
    path = tmp_path / name
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def said(model, *requests):
    return [response.text or response.reason for response in model.generate(requests)]


@pytest.mark.parametrize("file", ["a.jsonl", "a.json", "a.csv"])
@pytest.mark.parametrize(
    ("picture", "answer"), [("image", "prediction"), ("image_path", "response"), ("filename", "answer"), ("imageId", "pred")]
)  # fmt: skip
def test_the_same_words_are_found_by_the_name_of_the_picture(tmp_path, pictures, file, picture, answer):
    rows = [
        {picture: f"x/{each.path.name}", "question": WHERE, answer: word, "ground_truth": "left"}
        for each, word in zip(pictures, ("left", "right", "above", "below"), strict=True)
    ]
    model = open_model(f"replay:{table(tmp_path, rows, file)}")
    requests = [Request.ask(each, f"{WHERE}\nAnswer with one of: left, right.") for each in pictures]
    assert said(model, *requests) == ["left", "right", "above", "below"]
    assert said(model, Request.ask(pictures[0], "Who?")) == [
        f"{model.name} has no answer to this request: 'Who?'"
    ]


def test_pictures_are_found_by_number(tmp_path, pictures):
    rows = [{"image_id": i + 1, "question": WHERE, "answer": str(i)} for i in range(4)]
    model = open_model(f"replay:{table(tmp_path, rows)}")
    assert said(model, *(Request.ask(each, WHERE) for each in pictures)) == ["0", "1", "2", "3"]


def test_a_picture_alone_is_enough_if_it_has_one_answer(tmp_path, pictures):
    rows = [{"image": each.path.name, "output": str(i)} for i, each in enumerate(pictures)]
    model = open_model(f"replay:{table(tmp_path, rows)}")
    assert said(model, Request.ask(pictures[2], WHERE)) == ["2"]


def test_ids_and_words_find_answers_without_pictures(tmp_path, pictures):
    rows = [
        {"question_id": 7, "prompt": WHERE, "text": "left"},
        {"question_id": 8, "prompt": "Who is there?", "text": "nobody"},
    ]
    model = open_model(f"replay:{table(tmp_path, rows)}")
    assert said(model, Request.ask(pictures[0], WHERE, ref="7")) == ["left"]
    assert said(model, Request.ask(pictures[1], "Who is there?")) == ["nobody"]


def test_fields_can_be_named_and_rows_chosen(tmp_path, pictures):
    rows = [
        {"bild": each.path.name, "frage": WHERE, "said": f"{kind}-{i}", "kind": kind, "why": "Because."}
        for i, each in enumerate(pictures)
        for kind in ("short", "long talk")
    ]
    path = table(tmp_path, rows)
    names = "picture=bild&question=frage&answer=said&reasoning=why"
    short, long = (open_model(f"replay:{path}?{names}&kind={kind}") for kind in ("short", "long talk"))
    assert said(short, Request.ask(pictures[1], WHERE)) == ["short-1"]
    assert said(long, Request.ask(pictures[1], WHERE)) == ["long talk-1"]
    assert long.generate([Request.ask(pictures[1], WHERE)])[0].reasoning == "Because."
    assert short.identity != long.identity
    both = open_model(f"replay:{path}?{names}")
    assert "2 records" in said(both, Request.ask(pictures[1], WHERE))[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("answer=nothing", "has no field 'nothing'; it has: image, question, answer, kind"),
        ("colour=red", "has no field 'colour'"),
        ("kind=medium", r"no row .* has kind=medium; there are: short, long"),
        ("answer=kind&question=image&picture=kind", None),
    ],
)
def test_wrong_fields_and_values_are_told_with_those_that_exist(tmp_path, options, message):
    rows = [
        {"image": "1.png", "question": WHERE, "answer": "left", "kind": kind} for kind in ("short", "long")
    ]
    path = table(tmp_path, rows)
    if message is None:
        open_model(f"replay:{path}?{options}")
        return
    with pytest.raises(UsageError, match=message):
        open_model(f"replay:{path}?{options}")


def test_a_table_without_answers_or_without_a_way_to_find_them_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no field with answers of a model; name it, as in .*answer=FIELD"):
        open_model(f"replay:{table(tmp_path, [{'image': '1.png', 'question': WHERE}])}")
    with pytest.raises(UsageError, match="cannot be found again without a picture, a question or an id"):
        open_model(f"replay:{table(tmp_path, [{'answer': 'left'}])}")


def test_edited_pictures_get_no_recorded_answer(tmp_path, pictures):
    from dataclasses import replace

    rows = [{"image": pictures[0].path.name, "question": WHERE, "answer": "left"}]
    model = open_model(f"replay:{table(tmp_path, rows)}")
    request = replace(Request.ask(pictures[0], WHERE, ref="q"), recall="content")
    assert "original pictures" in said(model, request)[0]


def test_logs_are_told_from_runs(tmp_path):
    assert is_log(f"replay:{table(tmp_path, [{'answer': 'x', 'image': '1.png'}])}")
    assert not is_log("scripted:looker")


def test_embedded_pictures_of_a_parquet_file_are_compared(tmp_path, pictures):
    import pyarrow as pa
    from pyarrow import parquet

    rows = [
        {"image": {"bytes": each.read(), "path": None}, "question": WHERE, "prediction": word}
        for each, word in zip(pictures[:2], ("left", "right"), strict=True)
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "answers.parquet")
    model = open_model(f"replay:{tmp_path / 'answers.parquet'}")
    requests = [Request.ask(Picture.from_array(each.pixels()), WHERE) for each in pictures[:3]]
    found = model.generate(requests)
    assert [each.text for each in found] == ["left", "right", ""]
    assert "has these words, but not with these pictures" in found[2].reason


def workbook(path, rows):
    """A workbook as xlsxwriter writes it for VLMEvalKit: shared strings, numbers, and one sheet."""
    texts = []

    def cell(value, column, number):
        place = f"{chr(65 + column)}{number}"
        if isinstance(value, str):
            texts.append(value)
            return f'<c r="{place}" t="s"><v>{len(texts) - 1}</v></c>'
        return f'<c r="{place}"><v>{value}</v></c>'

    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    sheet = "".join(
        f'<row r="{n}">{"".join(cell(value, c, n) for c, value in enumerate(line))}</row>'
        for n, line in enumerate(lines, 1)
    )
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/worksheets/sheet1.xml", f"<worksheet {space}><sheetData>{sheet}</sheetData></worksheet>"
        )
        archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{shared}</sst>")
    return path


def test_result_files_of_vlmevalkit_are_found_in_their_folder(tmp_path, pictures):
    rows = [
        {"index": n, "question": WHERE, "A": "left", "B": "right", "answer": "A", "prediction": said}
        for n, said in enumerate(("A", "<b>right</b> & _x000D_so"))
    ]
    workbook(tmp_path / "model_data.xlsx", rows)
    workbook(tmp_path / "model_data_exact_matching_result.xlsx", [{**rows[0], "prediction": "judged"}])
    model = open_model(f"replay:{tmp_path}")
    requests = [Request.ask(pictures[n], f"{WHERE}\nA. left\nB. right", ref=str(n)) for n in range(2)]
    assert [each.text for each in model.generate(requests)] == ["A", "<b>right</b> & \rso"]


@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04", b"", b'<!DOCTYPE x [<!ENTITY a "b">]><worksheet>&a;</worksheet>', b"<worksheet"],
)
def test_a_broken_workbook_is_told(tmp_path, content):
    path = tmp_path / "x.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", content)
    if content.startswith(b"PK"):
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.xlsx"):
        open_model(f"replay:{path}")
