"""``theodolite explain``: one picture, a folder, a question file, a server, and the comparison of methods."""

import json
import re

import numpy as np
import pytest
from PIL import Image

from chat_server import Chat, serving
from theodolite.cli.main import main

FEW = ("--tries", "2", "--no-words")


def theodolite(*words):
    return main(list(map(str, words)))


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(2):
        pixels = np.random.default_rng(i).integers(0, 256, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"photo {i}.png")
    return folder


def test_a_picture_and_a_question_give_a_page_a_picture_and_numbers(photos, tiny_llava, tmp_path, capsys):
    out = tmp_path / "out"
    words = (photos / "photo 0.png", "What is there?", "--model", f"hf:{tiny_llava}?dtype=float32")
    assert theodolite("explain", *words, "--answer", "a red house", "--tries", "2", "--out", out) == 0
    printed = capsys.readouterr()
    assert "a red house" in printed.out
    assert "Is the map true?" in printed.out
    assert {path.name for path in out.iterdir()} == {
        "explanation.html",
        "explanation.json",
        "explanation.png",
        "maps.npz",
    }
    assert theodolite("explain", "picture", *words, "--answer", "a", *FEW, "--json", "--out", out) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"] == "a"
    assert found["tests"][0]["sentence"] == found["sentence"]
    assert found["read"] == 2 + 6 * 4


def test_a_folder_gives_an_index_and_what_fails_is_listed(photos, tiny_llava, tmp_path, capsys):
    (photos / "broken.png").write_bytes(b"no picture")
    out = tmp_path / "out"
    model = f"hf:{tiny_llava}?dtype=float32"
    assert (
        theodolite(
            "explain",
            photos,
            "What is there?",
            "--model",
            model,
            "--answer",
            "a",
            *FEW,
            "--out",
            out,
            "--json",
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert [each["answer"] for each in found["explanations"]] == ["a", "a"]
    index = (out / "index.html").read_text()
    assert "Not explained" in index
    assert "broken.png" in index
    for name in re.findall(r'(?:href|src)="([\w-]+\.(?:html|jpg))"', index):
        assert (out / name).is_file()


def test_the_questions_of_a_file_are_explained(photos, tiny_llava, tmp_path):
    rows = [{"picture": f"photo {i}.png", "question": "Is it red?", "answer": "yes"} for i in (0, 1)]
    (photos / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "out"
    model = f"hf:{tiny_llava}?dtype=float32"
    words = ("--data", photos / "questions.jsonl", "--limit", "1", "--model", model, "--answer", "no")
    assert theodolite("explain", *words, *FEW, "--out", out) == 0
    assert "The map " in (out / "index.html").read_text()


@pytest.mark.parametrize(("logprobs", "unit"), [("given", "nats"), ("left out", "share")])
def test_a_server_is_explained_by_its_words_or_their_probabilities(photos, tmp_path, capsys, logprobs, unit):
    chat = Chat(logprobs=logprobs)
    with serving(chat) as model:
        words = (photos / "photo 0.png", "What is there?", "--model", model.replace("retries=0", "retries=5"))
        assert theodolite("explain", *words, "--tries", "2", "--out", tmp_path / "out", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tests"][0]["method"] == "occlusion"
    assert found["tests"][0]["unit"] == unit
    assert found["read"] == len(chat.bodies)


def test_methods_are_compared_where_the_truth_is_known(capsys):
    words = ("--size", "2", "--tries", "2", "--method", "attnlrp,attention-rollout", "--json")
    assert theodolite("explain", "bench", *words) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    best = {row["method"]: row for row in table["rows"] if row["model"] == "pocket:grounded"}
    assert best["attnlrp"]["family"] == "llava"
    assert (
        best["attnlrp"]["separation"] == 1
    )  # hiding costs the model that looks something, the other nothing
    assert set(best) == {"attnlrp", "attention-rollout"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x.png", "What?"), "no model is given"),
        (("--model", "pocket:grounded"), "there is no picture and no question"),
        (("What?", "--model", "pocket:grounded"), "there is a picture or a question missing"),
        (("x.png", "", "--model", "pocket:grounded"), "the question is empty"),
        (("x.png", "What?", "--model", "pocket:grounded"), "cannot read the picture x.png"),
        (("x.png", "What?", "--model", "pocket:grounded", "--box", "1,2"), "--box takes four numbers"),
        (("x.png", "What?", "--model", "pocket:grounded", "--data", "q.jsonl"), "--data holds pictures"),
        ((".", "What?", "--model", "pocket:grounded"), "there is no picture in ."),
        (("bench", "--method", "magic"), "magic"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert theodolite("explain", *words) == 2
    said = capsys.readouterr().err
    assert message in " ".join(said.split())
