"""Questions about objects with known boxes, asked again without the object."""

import json
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.types import Response
from theodolite.instruments.ask.data.questions import draw_questions, load_questions
from theodolite.instruments.ask.instrument import ASK
from theodolite.instruments.ask.questions import plan_questions
from theodolite.instruments.instrument import pairs_of_runs
from theodolite.models import ask_measurer
from theodolite.runs import Run
from theodolite.runs.engine import RunSettings, measure_run

SIZE = 96
COLOURS = {"ball": (220, 30, 30), "umbrella": (30, 200, 60), "scissors": (20, 40, 200)}


def coco(folder, things, *, crowd=False):
    """Pictures of coloured squares on a plain wall; `things` has the names in each picture."""
    names = list(COLOURS)
    images, annotations = [], []
    rng = np.random.default_rng(0)
    for number, shown in enumerate(things):
        pixels = np.full((SIZE, SIZE, 3), 180, np.uint8) + rng.integers(0, 6, (SIZE, SIZE, 1), np.uint8)
        for place, name in enumerate(shown):
            x, y = 8 + 30 * (place % 3), 8 + 44 * (place // 3)
            pixels[y : y + 16, x : x + 16] = COLOURS[name]
            annotations.append(
                {
                    "image_id": number,
                    "category_id": names.index(name),
                    "bbox": [x, y, 16, 16],
                    "area": 256,
                    "iscrowd": int(crowd and place == 0),
                }
            )
        Image.fromarray(pixels).save(folder / f"{number}.png")
        images.append({"id": number, "file_name": f"{number}.png", "width": SIZE, "height": SIZE})
    content = {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": i, "name": name} for i, name in enumerate(names)],
    }
    (folder / "instances.json").write_text(json.dumps(content))
    return folder / "instances.json"


THINGS = [
    *([["ball"], ["umbrella"], ["ball", "umbrella"], ["scissors"]] * 12),
    ["ball", "ball", "ball"],
    ["ball"] * 6,
]


class Seeing:
    """A model that answers by the colours in the picture, or by none."""

    name = identity = "seeing"
    batch_size = 64

    def __init__(self, *, is_blind=False):
        self._is_blind = is_blind
        self.lacks = {}

    def generate(self, requests):
        return [Response("answered", text=self._answer(request)) for request in requests]

    def _answer(self, request):
        name = next(name for name in COLOURS if name in request.text)
        seen = 0
        if request.pictures and not self._is_blind:
            pixels = request.pictures[0].pixels().astype(int)
            seen = round((pixels[..., list(COLOURS).index(name)] - pixels.mean(axis=2) > 40).sum() / 256)
        return str(seen) if "many" in request.text else "yes" if seen else "no"

    def close(self):
        pass


def run_of(folder, data, model):
    loaded = draw_questions(load_questions(data), 1000, 0)
    settings = RunSettings("ask", "seeing", 0, {})
    measure_run(folder, settings, lambda _: plan_questions(loaded.questions), ask_measurer(model, "write"))
    return Run.open(folder)


def test_each_object_is_asked_about_where_it_is_and_where_it_is_not(tmp_path):
    loaded = load_questions(coco(tmp_path, THINGS))
    asked = Counter((question.group, question.answer) for question in loaded.questions)
    assert asked["umbrella", "yes"] == asked["umbrella", "no"] == 24
    assert (asked["ball", "yes"], asked["ball", "3"]) == (24, 1)
    assert loaded.unused == {"more than 5 objects of a kind": 6}
    texts = {question.group: question.question for question in loaded.questions if question.answer == "yes"}
    assert texts["ball"].startswith("Is there a ball ")
    assert texts["umbrella"].startswith("Is there an umbrella ")
    assert texts["scissors"].startswith("Are there scissors ")


@pytest.mark.parametrize(
    ("is_blind", "outcome", "verdict"),
    [(False, "followed", "looks at least sometimes"), (True, "unmoved", "not settled")],
)
def test_a_model_that_sees_says_so_when_the_object_is_gone(tmp_path, is_blind, outcome, verdict):
    with run_of(tmp_path / "run", coco(tmp_path, THINGS), Seeing(is_blind=is_blind)) as run:
        pairs = pairs_of_runs(ASK, [run.folder])
        assert ASK.judge(run)[0] == verdict
    removed = Counter(pair.outcome for pair in pairs if pair.edit.name == "remove")
    assert removed == {outcome: 61}  # 60 that are alone, and one of three
    assert Counter(pair.outcome for pair in pairs if not pair.edit.is_relevant).keys() == {"kept"}


def test_a_removed_object_is_counted_down(tmp_path):
    with run_of(tmp_path / "run", coco(tmp_path, THINGS), Seeing()) as run:
        pairs = [pair for pair in ASK.pairs(run) if pair.gold == "3"]
    assert [(pair.edit.name, pair.edited_gold, pair.outcome) for pair in pairs if pair.edit.is_relevant] == [
        ("remove", "2", "followed")
    ]


def test_crowds_and_small_objects_are_left_out_and_told(tmp_path):
    data = coco(tmp_path, [["ball"], ["umbrella"]], crowd=True)
    with pytest.raises(UsageError, match=r"there is no object to ask about in .*: 2 × a crowd"):
        load_questions(data)


def test_one_command_asks_about_objects_and_directions(tmp_path, capsys):
    """COCO instances serve two instruments at once."""
    data = coco(tmp_path, [["ball", "umbrella"]] * 6)
    words = ["diagnose", "--model", "scripted:guesser", "--data", str(data), "--instruments", "ask,compass"]
    assert main([*words, "--quick", "--out", str(tmp_path / "report"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = {row["name"] for row in found["instruments"]}
    assert own == {"ask", "compass"}


def test_a_sheet_of_edits_is_drawn_and_every_refusal_is_counted(tmp_path, capsys):
    data = coco(tmp_path, [["ball"], ["ball", "umbrella"], ["ball", "ball"]])
    out = tmp_path / "sheets"
    assert main(["ask", "figures", "--data", str(data), "--out", str(out), "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    rows = {row["edit"]: row for row in table["rows"]}
    assert (rows["remove"]["tried"], rows["remove"]["accepted"]) == (3, 3), (
        "two balls are not alone of their kind"
    )
    assert rows["remove, neutral"]["accepted"] + rows["in place, neutral"]["accepted"] >= 3
    for row in table["rows"]:
        told = sum(int(part.split(" ×")[0]) for part in (row["refused"] or "").split("; ") if part)
        assert row["accepted"] + told == row["tried"]
    assert {"accepted.png", "neutral.png"} <= {path.name for path in out.iterdir()}
    with Image.open(out / "accepted.png") as sheet:
        assert min(sheet.size) > 200


def test_slivers_crowds_and_what_touches_stay_where_they_are(tmp_path):
    from theodolite.instruments.coco import read_instances
    from theodolite.pairs.pictures import Unfit

    data = coco(tmp_path, [["ball"]] * 5 + [["ball", "umbrella", "scissors"]])
    content = json.loads(data.read_text())
    content["annotations"][4]["bbox"] = [8, 8, 5, 16]
    content["annotations"][6]["bbox"] = [38, 8, 40, 16]  # the umbrella reaches into the scissors
    content["annotations"].append({"image_id": 0, "category_id": 1, "bbox": [2, 2, 60, 60], "iscrowd": 1})
    data.write_text(json.dumps(content))
    instances = read_instances(data)
    usual = instances.narrowness()
    reasons = [[each.unfit(thing, usual) for thing in each.instances] for each in instances.pictures]
    assert usual == {"ball": 1.0}, "of the others too few are known"
    assert reasons[0][0] == Unfit.CROWD
    assert reasons[1] == [None]
    assert reasons[4] == [Unfit.SLIVER]
    assert reasons[5][1:] == [Unfit.COVERED, Unfit.COVERED]
