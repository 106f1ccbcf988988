import io
import json
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.files import allow_outside
from theodolite.core.types import Picture
from theodolite.instruments.ask.data.questions import (
    Questions,
    draw_questions,
    load_questions,
    read_questions,
    write_questions,
)
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.models import PAINTS

ROW = {"id": "q", "question": "Where?", "answer": "left", "options": ["left", "right"], "picture": "a.png"}


@pytest.fixture
def folder(tmp_path, picture):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.png").write_bytes(picture.read())
    return tmp_path / "data"


def write(folder, *rows):
    path = folder / "questions.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_questions_survive_a_round_trip(tmp_path):
    made = list(make_squares(9, seed=4))
    assert read_questions(write_questions(made, tmp_path)) == read_questions(tmp_path)
    for one, other in zip(made, read_questions(tmp_path), strict=True):
        assert (one.id, one.prompt, one.answer, one.options, one.group) == (
            other.id, other.prompt, other.answer, other.options, other.group
        )  # fmt: skip
        assert np.array_equal(one.pictures[0].pixels(), other.pictures[0].pixels())


def test_only_looking_can_answer():
    """For every pair of colours all four answers are equally frequent."""
    questions = list(make_squares(4 * 30 * 2))
    counts = Counter((q.question, q.answer) for q in questions)
    assert set(counts.values()) == {2}
    assert len(counts) == 30 * 4


def test_the_squares_are_where_the_answer_says():
    for question in make_squares(200, seed=8):
        words = [word for word in question.question.split() if word in PAINTS]
        centres = []
        for word in words:
            rows, columns = np.nonzero((question.pictures[0].pixels() == PAINTS[word]).all(axis=2))
            assert len(rows) == 40 * 40, "a square is hidden or cut"
            centres.append((columns.mean(), rows.mean()))
        (tx, ty), (rx, ry) = centres
        horizontal = abs(tx - rx) > abs(ty - ry)
        assert question.answer == (
            ("right" if tx > rx else "left") if horizontal else ("below" if ty > ry else "above")
        )


def test_the_same_seed_makes_the_same_squares():
    one, same, other = ([q.pictures[0].digest for q in make_squares(5, seed=s)] for s in (1, 1, 2))
    assert one == same != other
    assert [q.pictures[0].digest for q in make_squares(9, seed=1)][:5] == one


def test_plain_files_are_read_with_numbers_and_without_options(folder):
    write(folder, {**ROW, "id": 7, "answer": 3, "options": []}, "", {**ROW, "picture": ["a.png", "a.png"]})
    first, second = read_questions(folder)
    assert (first.id, first.answer, first.prompt) == ("7", "3", "Where?")
    assert len(second.pictures) == 2
    assert second.prompt == "Where?\nAnswer with one of: left, right."


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**ROW, "answer": "up"}, "answer not among the options"),
        ({k: v for k, v in ROW.items() if k != "picture"}, "no picture named"),
        ({k: v for k, v in ROW.items() if k != "answer"}, "no answer"),
        ({**ROW, "picture": "b.png"}, "picture not found"),
        ({**ROW, "picture": "x" * 5000}, "picture not found"),
        ({**ROW, "picture": "../secret.png"}, "picture outside the folder of the file (name its folder with --images, or add --allow-outside)"),
        ({**ROW, "question": ""}, "no question"),
        ({**ROW, "answer": "word " * 13, "options": []}, "answer of more than 12 words"),
        *(
            ({**ROW, "options": options}, "options not distinct")
            for options in (["left", "left"], ["left", ""], ["left", "Left."], ["left", " "])
        ),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_used_are_counted_by_reason(folder, row, reason):
    (folder.parent / "secret.png").write_bytes((folder / "a.png").read_bytes())
    loaded = load_questions(write(folder, {**ROW, "id": "good", "question": "Where else?"}, row))
    assert [question.id for question in loaded.questions] == ["good"]
    assert loaded.unused == {reason: 1}
    with pytest.raises(UsageError, match=rf"the only row .*: {re.escape(reason)} \(1\)"):
        load_questions(write(folder, row))


def test_two_answers_to_one_question_leave_it_out_and_a_repeated_row_counts_once(folder):
    rows = [ROW, {**ROW, "answer": "right"}, *[{**ROW, "question": "Who?"}] * 3]
    loaded = load_questions(write(folder, *rows))
    assert [question.question for question in loaded.questions] == ["Who?"]
    assert loaded.unused == {"two answers to one question": 2, "the same question again": 2}


def test_ids_that_several_questions_share_are_made_unique(folder):
    loaded = load_questions(write(folder, ROW, {**ROW, "question": "Who?"}, {**ROW, "question": "When?"}))
    assert [question.id for question in loaded.questions] == ["q", "q#2", "q#3"]
    assert loaded.unused == {}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "has no rows"),
        (["{broken"], "line 1: it is not JSON"),
        (["[1, 2]"], "line 1: it is not an object"),
    ],
)
def test_files_that_are_no_tables_are_refused(folder, rows, message):
    with pytest.raises(UsageError, match=message):
        read_questions(write(folder, *rows))


def test_a_broken_line_costs_itself(folder):
    loaded = load_questions(write(folder, ROW, "{broken", {**ROW, "id": "2", "question": "Who?"}, "[" * 5000))
    assert [question.id for question in loaded.questions] == ["q", "2"]
    ((reason, n),) = loaded.unused.items()
    assert n == 2
    assert "questions.jsonl, line 2: it is not JSON" in reason


def test_pictures_may_be_absolute_links_or_in_another_folder(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere" / "deep"
    elsewhere.mkdir(parents=True)
    (elsewhere / "b.png").write_bytes((folder / "a.png").read_bytes())
    (folder / "link.png").symlink_to(elsewhere / "b.png")
    outside = (str(elsewhere / "b.png"), "link.png", "../elsewhere/deep/b.png")
    for name in outside:
        with pytest.raises(UsageError, match=r"picture outside the folder of the file .*--allow-outside"):
            read_questions(write(folder, {**ROW, "picture": name}))
    for name, images in (
        (str(elsewhere / "b.png"), elsewhere),
        ("link.png", tmp_path / "elsewhere"),
        ("b.png", tmp_path / "elsewhere"),
        ("../elsewhere/deep/b.png", elsewhere),
        ("/gone/b.png", elsewhere),
        ("https://example.org/pictures/b.png?size=2", elsewhere),
    ):
        (question,) = read_questions(write(folder, {**ROW, "picture": name}), images)
        assert question.pictures[0].read() == (folder / "a.png").read_bytes()
    with allow_outside():
        for name in outside:
            (question,) = read_questions(write(folder, {**ROW, "picture": name, "id": name}))
            assert question.pictures[0].read() == (folder / "a.png").read_bytes()


def test_the_command_sends_no_picture_from_outside(folder, tmp_path, capsys):
    (tmp_path / "private.png").write_bytes((folder / "a.png").read_bytes())
    rows = [
        {**ROW, "picture": str(tmp_path / "private.png"), "id": name, "question": f"Where is the {name}?"}
        for name in ("cup", "pen")
    ]
    words = ["ask", "run", "--data", str(write(folder, *rows))]
    words += ["--model", "scripted:echo", "--out", str(tmp_path / "run")]
    assert main(words) == 2
    assert "--allow-outside" in capsys.readouterr().err
    assert main([*words, "--allow-outside"]) == 0


def test_a_missing_picture_of_all_rows_says_how_to_name_the_folder(folder):
    with pytest.raises(UsageError, match=r"name the folder of b.png with --images DIR"):
        read_questions(write(folder, {**ROW, "picture": "b.png"}))


def test_pictures_that_cannot_be_decoded_are_left_out_when_drawn(folder, picture):
    (folder / "broken.png").write_bytes(picture.read()[:200])
    (folder / "deep.tif").write_bytes(_tiff())
    rows = [
        {**ROW, "picture": name, "question": f"Where {name}?"} for name in ("a.png", "broken.png", "deep.tif")
    ]
    drawn = draw_questions(load_questions(write(folder, *rows)), 10, seed=0)
    assert [question.question for question in drawn.questions] == ["Where a.png?"]
    assert drawn.unused == {"picture cannot be decoded": 2}


def _tiff():
    file = io.BytesIO()
    Image.fromarray(np.zeros((8, 8), np.float32)).save(file, format="TIFF")
    return file.getvalue()


def test_questions_with_a_partner_are_drawn_first_and_together():
    squares = list(make_squares(40))
    alone = [replace(q, id=f"alone-{i}", question=f"{i}: {q.question}") for i, q in enumerate(squares)]
    drawn = draw_questions(Questions((*alone, *squares), {}), 20, seed=3)
    groups = Counter(question.question for question in drawn.questions)
    assert set(groups.values()) == {4}
    assert drawn.unused == {"not drawn (more with --size)": 60}
    again = draw_questions(Questions((*alone, *squares), {}), 20, seed=3)
    assert [q.id for q in again.questions] == [q.id for q in drawn.questions]


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="cannot read the questions"):
        read_questions(tmp_path / "nowhere.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"cannot read .*latin.jsonl"):
        read_questions(tmp_path / "latin.jsonl")


def test_real_pictures_are_read(shared_data):
    images = sorted((shared_data / "coco_tiny_val" / "images").glob("*.jpg"))
    from theodolite.core.types import Picture

    assert all(min(Picture.from_path(path).size) > 100 for path in images[:10])


def test_ids_of_any_kind_keep_their_pictures_apart_and_in_the_folder(tmp_path):
    ids = ["../../escaped", "/etc/x", "q", "q-1", "a/b", "", "ü", ".hidden", "x" * 300, "q.png"]
    made = [replace(q, id=name) for q, name in zip(make_squares(len(ids)), ids, strict=True)]
    made[2] = replace(made[2], pictures=(*made[2].pictures, *made[0].pictures))
    before = set(tmp_path.rglob("*"))
    write_questions([q for q in made if q.id], tmp_path / "deep" / "data")
    assert {path.relative_to(tmp_path).parts[0] for path in set(tmp_path.rglob("*")) - before} == {"deep"}
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"data"}
    found = {q.id: q for q in read_questions(tmp_path / "deep" / "data")}
    for one in made:
        if one.id:
            for mine, theirs in zip(one.pictures, found[one.id].pictures, strict=True):
                assert np.array_equal(mine.pixels(), theirs.pixels())


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_byte_order_mark_and_odd_line_separators_are_no_hindrance(folder, ending):
    rows = [{**ROW, "id": str(i), "question": f"{i} Where\u2028is\u0085it?"} for i in range(2)]
    text = "".join(json.dumps(row, ensure_ascii=False) + ending for row in rows)
    (folder / "questions.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [q.question for q in read_questions(folder)] == [row["question"] for row in rows]


def test_fields_of_other_names_are_named_and_rows_chosen(folder):
    path = folder / "mine.csv"
    path.write_text("photo,asked,right,part\na.png,Where is it?,left,test\na.png,Where else?,right,train\n")
    with pytest.raises(UsageError, match=r"the fields are photo, asked, right, part; .*\?picture=FIELD"):
        load_questions(path)
    named = folder / "mine.csv?picture=photo&question=asked&answer=right"
    assert [each.answer for each in read_questions(named)] == ["left", "right"]
    assert [each.answer for each in read_questions(f"{named}&part=test")] == ["left"]
    with pytest.raises(UsageError, match="has no field 'foto'; it has: photo, asked, right, part"):
        load_questions(folder / "mine.csv?picture=foto")
    with pytest.raises(UsageError, match=r"no row of .* has part=dev; there are: test, train"):
        load_questions(folder / "mine.csv?picture=photo&part=dev")


def test_several_right_options_of_a_row_are_all_right(tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(Picture.from_array(np.zeros((40, 40, 3), np.uint8)).read())
    row = {"picture": "a.png", "question": "Where is the cup?", "answer": ["left", "Above", "beside"]}
    (tmp_path / "q.jsonl").write_text(json.dumps({**row, "options": ["left", "right", "above"]}), "utf-8")
    (question,) = load_questions(tmp_path / "q.jsonl").questions
    assert (question.answer, question.others) == ("left", ("above",))
