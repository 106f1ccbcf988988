"""A model that never sees a picture and only counts its requests; and originals that are encoded like their edits."""

import io
import json
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from PIL import Image

from theodolite.cli.main import main
from theodolite.core.registry import Entry, registry
from theodolite.core.types import Picture
from theodolite.instruments.ask.data.questions import Question, write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.ask.questions import plan_questions
from theodolite.instruments.ask.score import answered_pairs, read_rows
from theodolite.pairs import judge_looking
from theodolite.runs import Run
from theodolite.runs.store import Store

CALLS = count()
N = 80


def alternating(request):
    """Answers left, right, left … by the order of its calls."""
    return ("left", "right")[next(CALLS) % 2]


@pytest.fixture
def blind(monkeypatch):
    """The name of the model, as if a plug-in had registered it."""
    entry = Entry(
        "behaviour",
        "alternating",
        f"{__name__}:alternating",
        "answers by the order of its calls",
        origin="tests",
    )
    monkeypatch.setitem(registry()._entries, ("behaviour", "alternating"), entry)
    monkeypatch.setitem(globals(), "CALLS", count())
    return "scripted:alternating"


@pytest.fixture(scope="module")
def all_left(tmp_path_factory):
    """Every right answer is left, so that originals come with one answer and mirrored pictures with the other."""
    questions = [question for question in make_squares(4 * N) if question.answer == "left"]
    named = [replace(question, options=("left", "right")) for question in questions]
    return write_questions(named, tmp_path_factory.mktemp("left") / "data")


def run_it(folder, model, data, *more):
    words = ["--data", str(data), "--model", model, "--settings", "picture,mirror", "--out", str(folder)]
    assert main(["ask", "run", *words, *more]) == 0
    with Run.open(folder) as run:
        return judge_looking(list(answered_pairs(read_rows(run))))


@pytest.mark.parametrize("more", [(), ("--workers", "1"), ("--seed", "7")])
def test_a_blind_model_that_alternates_its_answers_does_not_look(tmp_path, blind, all_left, more, capsys):
    found = run_it(tmp_path, blind, all_left, *more)
    assert found.n_relevant == N
    assert not found.is_proven
    assert found.looking.low < 0 < found.looking.high
    assert min(found.followed.value, found.inverted.value) > 0.1
    assert not [gap for gap in found.not_excluded if "order of asking" in gap or "cache" in gap]
    capsys.readouterr()
    assert main(["ask", "score", str(tmp_path), "--json"]) == 0
    assert f"{found.standing}: " in capsys.readouterr().out


def test_asked_in_the_order_of_the_plan_it_would_seem_to_look(tmp_path, blind, all_left, monkeypatch):
    """What the shuffled order is for. The verdict names what is missing."""
    shuffled = Store.pending
    monkeypatch.setattr(
        Store, "pending", lambda *args, **how: sorted(shuffled(*args, **how), key=lambda each: each[0])
    )
    found = run_it(tmp_path, blind, all_left)
    assert found.followed.value == 1
    assert found.is_proven
    assert [gap for gap in found.not_excluded if "order of asking" in gap]


# Originals go through the same decoding and encoding as their edits.


@pytest.fixture
def photographs(tmp_path):
    """JPEG files with an orientation in their EXIF data, as cameras write them."""
    rng = np.random.default_rng(0)
    for i in range(3):
        exif = Image.Exif()
        exif[0x0112] = 6
        data = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (24, 40, 3), dtype=np.uint8)).save(data, "JPEG", exif=exif)
        (tmp_path / f"{i}.jpg").write_bytes(data.getvalue())
    about = (("plate", "left"), ("bowl", "right"), ("jug", "left"))
    return [
        Question(
            f"q{i}",
            f"Where is the cup relative to the {name}?",
            answer,
            (Picture.from_path(tmp_path / f"{i}.jpg"),),
            ("left", "right"),
        )
        for i, (name, answer) in enumerate(about)
    ]


@pytest.mark.parametrize("in_memory", [True, False])
def test_originals_and_edits_have_one_encoding(tmp_path, photographs, in_memory):
    folder = None if in_memory else tmp_path / "edited"
    items = {item.name: item for item in plan_questions(photographs, folder=folder)}
    shown = {name: item.request.pictures[0] for name, item in items.items() if item.request.pictures}
    settings = {"picture", "swapped", "mirror", "light", "exchanged", "exchanged-mirror"}
    assert {name.split("/")[1] for name in shown} == settings
    headers = set()
    for name, picture in shown.items():
        with Image.open(io.BytesIO(picture.read())) as image:
            headers.add((image.format, image.size, image.mode, len(image.getexif()), json.dumps(image.info)))
        assert picture.digest == picture.pixel_digest, name
    assert headers == {("PNG", (24, 40), "RGB", 0, "{}")}
    for question in photographs:
        original = question.pictures[0]
        plain = items[f"{question.id}/picture"]
        assert plain.request.pictures[0].digest == original.pixel_digest
        assert plain.cluster == original.digest
        assert np.array_equal(
            shown[f"{question.id}/mirror"].pixels()[:, ::-1], plain.request.pictures[0].pixels()
        )


def test_without_edits_files_are_sent_as_they_are(photographs):
    for item in plan_questions(photographs, settings=("picture", "blind", "swapped")):
        for picture in item.request.pictures:
            assert picture.media_type == "image/jpeg"
