"""Question files as people have them: each layout gives the same questions about the same photographs."""

import base64
import csv
import io
import json

import numpy as np
import pytest
from PIL import Image

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.instruments.ask.data.questions import find_question_file, load_questions, natural_groups
from theodolite.instruments.ask.instrument import ASK

N = 20
SIDES = ("left", "right")
ASKED = "On which side is the cup?"


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Twenty pictures with the names of COCO's 2014 files."""
    folder = tmp_path_factory.mktemp("photographs") / "val2014"
    folder.mkdir()
    for i in range(N):
        pixels = np.random.default_rng(i).integers(0, 256, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name(i), quality=95)
    return folder


def name(i):
    return f"COCO_val2014_{100 + i:012d}.jpg"


def answer(i):
    return SIDES[i % 2]


def as_lines(rows):
    return {"mine.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}


def as_csv(rows, delimiter=","):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def plain(**names):
    """Rows with the given names for picture, question and answer."""
    return [
        {names.get("picture", "picture"): name(i), names.get("question", "question"): ASKED, names.get("answer", "answer"): answer(i)}
        for i in range(N)
    ]  # fmt: skip


def conversation(i, human, gpt, speaker, content):
    turns = [{speaker: human, content: f"<image>\n{ASKED}"}, {speaker: gpt, content: answer(i)}]
    return {"id": f"c{i}", "image": name(i), "conversations" if speaker == "from" else "messages": turns}


LAYOUTS = {
    "ours": as_lines(plain()),
    "image, label": as_lines(plain(picture="image", answer="label")),
    "image_path, prompt, ground_truth": {"a.json": json.dumps(plain(picture="image_path", question="prompt", answer="ground_truth"))},
    "filename, query, gt": {"a.json": json.dumps({"data": plain(picture="filename", question="query", answer="gt")})},
    "images, text, target": as_lines([{**row, "images": [row["images"]]} for row in plain(picture="images", question="text", answer="target")]),
    "answers": as_lines([{**row, "answers": [row["answers"], f"{row['answers']} side"]} for row in plain(answer="answers")]),
    "CSV": {"mine.csv": as_csv(plain(picture="Image Path", question="Question", answer="Answer"))},
    "CSV with semicolons": {"mine.csv": as_csv(plain(), ";")},
    "TSV": {"mine.tsv": as_csv(plain(picture="img"), "\t")},
    "links": as_lines([{**row, "image_link": f"http://images.example/{row['image_link']}"} for row in plain(picture="image_link")]),
    "LLaVA": {"a.json": json.dumps([conversation(i, "human", "gpt", "from", "value") for i in range(N)])},
    "messages": as_lines([conversation(i, "user", "assistant", "role", "content") for i in range(N)]),
    "VQAv2": {
        "v2_OpenEnded_mscoco_val2014_questions.json": json.dumps(
            {"data_subtype": "val2014", "questions": [{"image_id": 100 + i, "question": ASKED, "question_id": 1000 + i} for i in range(N)]}
        ),
        "v2_mscoco_val2014_annotations.json": json.dumps(
            {
                "annotations": [
                    {
                        "question_id": 1000 + i,
                        "image_id": 100 + i,
                        "multiple_choice_answer": answer(i),
                        "answers": [{"answer": word, "answer_id": k} for k, word in enumerate([answer(i)] * 6 + [f"{answer(i)} side"] * 3 + ["odd"])],
                    }
                    for i in range(N)
                ]
            }
        ),
    },
    "GQA": {"a.json": json.dumps({f"g{i}": {"imageId": str(100 + i), "question": ASKED, "answer": answer(i), "fullAnswer": "It is."} for i in range(N)})},
    "lmms-eval": as_lines([{"doc_id": i, "doc": {"question": ASKED, "image_id": 100 + i, "answer": answer(i)}, "target": answer(i), "filtered_resps": ["left"]} for i in range(N)]),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_found_and_read(tmp_path, photographs, layout):
    for file, text in LAYOUTS[layout].items():
        (tmp_path / file).write_text(text)
    path = tmp_path / next(iter(LAYOUTS[layout]))
    found = ASK.find_data(path, photographs)
    assert (found.instrument, found.path, found.images) == ("ask", path, photographs)
    loaded = load_questions(path, photographs)
    assert loaded.unused == {}
    assert [q.answer for q in loaded.questions] == [answer(i) for i in range(N)]
    assert {q.question for q in loaded.questions} == {ASKED}
    assert [q.pictures[0].path.name for q in loaded.questions] == [name(i) for i in range(N)]
    assert len({q.id for q in loaded.questions}) == N
    assert [len(group) for group in natural_groups(loaded.questions)] == [2] * (N // 2)
    others = {q.others for q in loaded.questions}
    assert others == ({("left side",), ("right side",)} if layout in {"VQAv2", "answers"} else {()})


def test_the_answers_of_two_files_are_joined_from_either_side(tmp_path, photographs):
    for file, text in LAYOUTS["VQAv2"].items():
        (tmp_path / file).write_text(text)
    first, second = (load_questions(tmp_path / file, photographs).questions for file in LAYOUTS["VQAv2"])
    assert first == second


def test_statements_are_asked_for_yes_or_no(tmp_path, photographs):
    """The layout of VSR."""
    rows = [
        {
            "image": name(i),
            "image_link": "http://x/y.jpg",
            "caption": "The cup is left of the plate.",
            "label": i % 2,
        }
        for i in range(N)
    ]
    (tmp_path / "vsr.jsonl").write_text(as_lines(rows)["mine.jsonl"])
    questions = load_questions(tmp_path / "vsr.jsonl", photographs).questions
    assert [q.answer for q in questions] == ["no", "yes"] * (N // 2)
    assert (
        questions[0].prompt
        == "Is this sentence true of the picture? The cup is left of the plate.\nAnswer yes or no."
    )
    assert questions[0].format.kind == "yes-no"


def test_of_captions_the_first_is_right_and_their_order_does_not_show_it(tmp_path, photographs):
    """The layout of What'sUp: the same four captions, with another one first for each picture."""
    captions = [f"A mug {place} a table" for place in ("on", "under", "to the left of", "to the right of")]
    rows = [
        {"image_path": f"data/{name(i)}", "caption_options": captions[i % 4 :] + captions[: i % 4]}
        for i in range(N)
    ]
    (tmp_path / "whatsup.json").write_text(json.dumps(rows))
    questions = load_questions(tmp_path / "whatsup.json", photographs).questions
    assert len({q.prompt for q in questions}) == 1
    assert [q.answer for q in questions] == [captions[i % 4] for i in range(N)]
    assert {q.options.index(q.answer) for q in questions} == {0, 1, 2, 3}
    assert questions[0].format.style == "letter"
    assert [len(group) for group in natural_groups(questions)] == [4] * (N // 4)


@pytest.mark.parametrize(
    "fields",
    [
        {"options": ["left", "right"], "answer": "left"},
        {"choices": ["left", "right"], "answer": 0},
        {"choices": ["left", "right"], "correct_choice_idx": 0},
        {"options": {"A": "left", "B": "right"}, "answer": "A"},
        {"A": "left", "B": "right", "C": "", "answer": "(A)"},
        {"option_a": "left", "option_b": "right", "answer": "a"},
        {"options": "['left', 'right']", "answer": "A. left"},
        {"options": "left|right", "answer": "LEFT"},
    ],
)
def test_options_come_in_many_forms(tmp_path, photographs, fields):
    row = {"image": name(0), "question": ASKED, **fields}
    (tmp_path / "mine.jsonl").write_text(json.dumps(row))
    (question,) = load_questions(tmp_path / "mine.jsonl", photographs).questions
    assert (question.options, question.answer) == (("left", "right"), "left")
    assert question.prompt == f"{ASKED}\nAnswer with one of: left, right."


@pytest.mark.parametrize(
    ("words", "style"),
    [
        ("Where is it? A :To the left, B: To the right", "letter"),
        ("Where is it?\n(A) To the left\n(B) To the right\nAnswer with the letter.", "letter"),
        ("Where is it? Your answer must be one of: To the left, or To the right.", "word"),
    ],
)
def test_options_in_the_words_of_the_question_are_not_listed_twice(tmp_path, photographs, words, style):
    row = {"image": name(0), "question": words, "answer": "Left"}
    (tmp_path / "mine.jsonl").write_text(json.dumps(row))
    (question,) = load_questions(tmp_path / "mine.jsonl", photographs).questions
    assert (question.prompt, question.answer, question.format.style) == (words, "To the left", style)


def test_conversations_of_several_turns_are_several_questions(tmp_path, photographs):
    turns = [
        {"from": "human", "value": "<image>\nIs there a cup?"},
        {"from": "gpt", "value": "Yes"},
        {"from": "human", "value": "Describe it."},
        {"from": "gpt", "value": "It is a cup of blue china on the left of a round table, half full of tea."},
    ]
    (tmp_path / "a.json").write_text(json.dumps([{"id": "c", "image": name(0), "conversations": turns}]))
    loaded = load_questions(tmp_path / "a.json", photographs)
    assert [(q.id, q.question, q.answer) for q in loaded.questions] == [("c#1", "Is there a cup?", "Yes")]
    assert loaded.unused == {"answer of more than 12 words": 1}


def test_pictures_may_be_encoded_in_the_file(tmp_path, picture):
    """The layout of VLMEvalKit."""
    coded = base64.b64encode(picture.read()).decode()
    row = {"index": "7", "image": coded, "question": ASKED, "A": "left", "B": "right", "answer": "A"}
    (tmp_path / "bench.tsv").write_text(as_csv([row], "\t"))
    (question,) = load_questions(tmp_path / "bench.tsv").questions
    assert (question.id, question.pictures) == ("7", (Picture.from_bytes(picture.read()),))


def test_a_turned_photograph_is_shown_upright_and_mirrored_upright(tmp_path):
    image = Image.fromarray(np.arange(24 * 32 * 3, dtype=np.uint32).reshape(24, 32, 3).astype(np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "turned.jpg", exif=exif)
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"image": "turned.jpg", "question": ASKED, "answer": "left"})
    )
    (question,) = load_questions(tmp_path / "q.jsonl").questions
    from theodolite.pairs.pictures import mirror

    pixels = question.pictures[0].pixels()
    assert pixels.shape == (32, 24, 3)
    assert np.array_equal(mirror(question.pictures[0]).pixels(), pixels[:, ::-1])


def test_two_pictures_of_one_name_are_told_apart_by_their_folder_or_not_at_all(tmp_path, picture):
    for folder in ("a", "b"):
        (tmp_path / "images" / folder).mkdir(parents=True)
        (tmp_path / "images" / folder / "1.png").write_bytes(picture.read())
    rows = [{"image": image, "question": f"{image}?", "answer": "left"} for image in ("x/a/1.png", "1.png")]
    (tmp_path / "q.jsonl").write_text(as_lines(rows)["mine.jsonl"])
    loaded = load_questions(tmp_path / "q.jsonl", tmp_path / "images")
    assert [q.pictures[0].path.parent.name for q in loaded.questions] == ["a"]
    assert loaded.unused == {"several pictures of that name": 1}


def test_what_fits_nothing_is_refused_with_its_fields(tmp_path):
    from theodolite.diagnose.request import find_user_data

    (tmp_path / "mine.json").write_text(json.dumps([{"foto": "1.png", "frage": "?", "antwort": "links"}]))
    with pytest.raises(
        UsageError, match=r"no instrument can read .*mine.json, which has the fields foto, frage, antwort"
    ):
        find_user_data([tmp_path / "mine.json"])
    assert find_question_file(tmp_path / "mine.json") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[[1]]",
        "[" * 10_000,
        '{"question": 3}',
        '[{"question": {"a": 1}, "image": [], "answer": []}]',
        "\x00",
    ],
)
def test_odd_files_are_never_a_crash(tmp_path, text):
    (tmp_path / "mine.json").write_text(text)
    assert find_question_file(tmp_path / "mine.json") is None
    with pytest.raises(UsageError):
        load_questions(tmp_path / "mine.json")


def test_a_lone_surrogate_is_replaced(tmp_path, picture):
    (tmp_path / "1.png").write_bytes(picture.read())
    (tmp_path / "mine.jsonl").write_text(
        '{"image": "1.png", "id": "\\ud800", "question": "\\ud83d\\ude00?", "answer": "left"}'
    )
    (question,) = load_questions(tmp_path / "mine.jsonl").questions
    assert (question.id, question.question) == ("?", "😀?")


def test_a_real_file_of_statements_without_its_pictures_says_how_to_name_them(shared_data):
    path = shared_data / "vsr" / "test.jsonl"
    with pytest.raises(UsageError, match=r"name the folder of 000000451431.jpg with --images DIR"):
        load_questions(path)
