"""Eight directions: what words and boxes make of a pair, the prompt, edits, and octant accuracy on diagonal truths."""

import json
from dataclasses import replace

import numpy as np
import pytest

from theodolite.answers import read_answer
from theodolite.answers.grading import format_of
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry.directions import CARDINAL, EIGHT, opposite
from theodolite.instruments.compass.data.coco import MatchPolicy, coco_pairs, load_pairs
from theodolite.instruments.compass.data.drawn import SquaresPlan, coloured_squares, mirrored
from theodolite.instruments.compass.data.gqa import gqa_pairs
from theodolite.instruments.compass.data.pairs import Region, write_pairs
from theodolite.instruments.compass.data.vsr import vsr_audit, vsr_pairs
from theodolite.instruments.compass.data.whatsup import whatsup_pairs
from theodolite.instruments.compass.experiments.controls.plan import EDITS, find_edits, plan_controls
from theodolite.instruments.compass.questions import (
    PROMPTS,
    check_offered,
    default_prompt,
    directions_of,
    edit_of,
    gold_index,
    pair_item,
    plan_conditions,
    shown_item,
)
from theodolite.instruments.instrument import UserData
from theodolite.pairs.pictures.objects import PlacingOptions

SIZE = 200
BOXES = {"dog": (20, 20), "cat": (120, 120), "car": (20, 130)}
"""The cat is below right of the dog (315°), the car below it; corners of squares of 40 px."""


@pytest.fixture
def files(tmp_path):
    """One picture with three objects, as COCO instances, GQA scene graphs, VSR and WhatsUp captions."""
    (tmp_path / "images").mkdir()
    picture = Picture.from_array(np.full((SIZE, SIZE, 3), 90, np.uint8))
    (tmp_path / "images" / "1.jpg").write_bytes(picture.read())
    instances = {
        "images": [{"id": 1, "file_name": "1.jpg", "width": SIZE, "height": SIZE}],
        "annotations": [
            {"id": i, "image_id": 1, "category_id": i, "bbox": [*at, 40, 40], "area": 1600, "iscrowd": 0}
            for i, at in enumerate(BOXES.values())
        ],
        "categories": [{"id": i, "name": name} for i, name in enumerate(BOXES)],
    }
    said = [
        ("cat", "right of", "dog"),
        ("cat", "below", "dog"),
        ("car", "below", "dog"),
        ("dog", "below", "cat"),
    ]
    vsr = [
        {"image": "1.jpg", "caption": f"The {b} is {how} the {a}.", "relation": how, "label": 1}
        for b, how, a in said
    ]
    whatsup = [
        {"image_path": "1.jpg", "caption_options": [f"A photo of a {b} {how} a {a}"]} for b, how, a in said
    ]
    words = {"right of": "to the right of", "below": "below"}
    objects = {
        name: {
            "name": name, "x": x, "y": y, "w": 40, "h": 40,
            "relations": [{"name": words[how], "object": a} for b, how, a in said if b == name],
        }
        for name, (x, y) in BOXES.items()
    }  # fmt: skip
    graphs = {"1": {"width": SIZE, "height": SIZE, "objects": objects}}
    for name, value in (("coco.json", instances), ("gqa.json", graphs), ("whatsup.json", whatsup)):
        (tmp_path / name).write_text(json.dumps(value))
    (tmp_path / "vsr.jsonl").write_text("\n".join(map(json.dumps, vsr)))
    return tmp_path


def triples(selection):
    return [(pair.target.name, pair.direction, pair.reference.name) for pair in selection.pairs]


AGREED = [("cat", "below right", "dog"), ("cat", "below right", "dog"), ("car", "below", "dog")]
"""Right of and below are both true of what is below right; the dog is not below the cat."""


def test_boxes_say_which_diagonal_words_mean(files):
    images, boxes = files / "images", files / "coco.json"
    made = coco_pairs(boxes, images, vocabulary=EIGHT)
    assert set(triples(made)) >= {("cat", "below right", "dog"), ("dog", "above left", "cat")}
    for selection in (
        vsr_pairs(files / "vsr.jsonl", boxes, images, vocabulary=EIGHT),
        whatsup_pairs(files / "whatsup.json", images, annotations=boxes, vocabulary=EIGHT),
    ):
        assert triples(selection) == AGREED
        assert selection.report.excluded == {"words that do not agree with the boxes": 1}
        assert selection.report.parameters["directions"] == dict(EIGHT.angles_deg)
        assert selection.report.directions["below right"] == 2
    graphs = gqa_pairs(files / "gqa.json", images, vocabulary=EIGHT)
    assert sorted(triples(graphs)) == sorted(set(AGREED)), "two relations of one pair are one question"
    assert graphs.report.excluded == {"words that do not agree with the boxes": 1, "written twice": 1}
    loose = vsr_pairs(files / "vsr.jsonl", boxes, images, policy=MatchPolicy(agree=False), vocabulary=EIGHT)
    assert triples(loose) == [*AGREED, ("dog", "below", "cat")], "the caption's word, where it may contradict"
    audit = vsr_audit(files / "vsr.jsonl", boxes, vocabulary=EIGHT)
    assert (audit.kept_directions["below right"], audit.kept_directions["below"]) == (2, 1)
    assert all(
        pair.direction in CARDINAL.names for pair in vsr_pairs(files / "vsr.jsonl", boxes, images).pairs
    )


def eight_squares():
    return coloured_squares(16, seed=2, plan=SquaresPlan(n_angles=8), vocabulary=EIGHT).pairs


def test_squares_take_all_eight_directions_in_turn():
    pairs = eight_squares()
    assert [pair.direction for pair in pairs[:8]] == [EIGHT.nearest(45.0 * k).name for k in range(8)]
    assert all(EIGHT.nearest(pair.true_deg).distance_deg < 1 for pair in pairs)


def test_eight_options_are_offered_and_read():
    drawn = next(pair for pair in eight_squares() if pair.direction == "above left")
    pair = replace(
        drawn, target=Region("cup", drawn.target.box), reference=Region("table", drawn.reference.box)
    )
    prompt = default_prompt([pair])
    assert prompt.name == "A8"
    item = pair_item(pair, prompt)
    assert directions_of(item) == EIGHT.names
    assert item.options[gold_index(item)] == prompt.token_for("above left") == "6"
    assert "6) above and to the left" in item.request.text
    expected = format_of(item)
    for said in ("6", "6) above and to the left", "above left", "Upper left.", "It is to the left, above."):
        assert read_answer(said, expected).value == "6", said
    for said in (
        "above the table and to the left",
        "The cup is above the table and to its left.",
        "It is to the left of the table and above it.",
        "The table is below and to the right of the cup.",
    ):
        assert read_answer(said, expected).value == "6", said
    for said, value in (("above", "3"), ("to the left", "1"), ("bottom right", "8"), ("5 or 6", None)):
        assert read_answer(said, expected).value == value, said
    assert default_prompt([replace(pair, direction="left")]) == PROMPTS["A"]


def test_a_prompt_offers_the_right_answer_and_no_better_one():
    pairs = eight_squares()
    check_offered(pairs, [PROMPTS["A8"]])
    with pytest.raises(UsageError, match=r"'A' does not offer the right answer to 8 of 16 pairs"):
        check_offered(pairs, [PROMPTS["A"]])
    four = [pair for pair in pairs if pair.direction in CARDINAL.names]
    check_offered(four, [PROMPTS["A"]])
    with pytest.raises(UsageError, match="'A8' offers diagonals"):
        check_offered(four, [PROMPTS["A8"]])


@pytest.mark.parametrize("direction", EIGHT.names)
def test_mirroring_moves_boxes_and_answer_alike(direction):
    pair = next(pair for pair in eight_squares() if pair.direction == direction)
    turned = mirrored(pair)
    assert EIGHT.nearest(turned.true_deg).name == turned.direction != direction
    assert edit_of("mirrored", direction).name == (
        "upside down" if direction in {"above", "below"} else "mirror"
    )
    (item,) = [item for item in plan_conditions([pair], PROMPTS["A8"]) if item.truth.condition == "mirrored"]
    assert item.truth.golds[0] == turned.direction
    assert shown_item(item).request.pictures == (turned.picture,)
    assert mirrored(turned).direction == direction


def test_objects_moved_in_a_photograph_have_a_truth_of_eight():
    from theodolite.instruments.compass.questions import photograph_edits

    found = {
        (pair.id, edit.condition): (pair, edit.pair)
        for number, pair in enumerate(eight_squares()[:2])
        for edit in photograph_edits(pair, number, EIGHT)
        if "steps" in edit.how
    }
    assert {condition for _, condition in found} >= {"exchanged", "moved unasked"}
    for (_, condition), (before, after) in found.items():
        shown = EIGHT.between(after.reference.box, after.target.box).name
        asked = before.direction if condition == "moved unasked" else opposite(before.direction)
        assert after.direction == shown == asked


def test_controls_of_diagonal_pairs_keep_their_diagonals():
    pairs = eight_squares()
    for control in EDITS:
        edits, _ = find_edits(pairs, control, PlacingOptions())
        assert edits, control
        for edit in edits[:6]:
            made = edit.edited()
            assert made.direction == EIGHT.between(made.reference.box, made.target.box).name
    drawn = plan_controls(pairs, [PROMPTS["A8"]], controls=["squares"], n_squares=3).squares
    assert [pair.direction for pair in drawn][::2] == ["right", "above right"]


def test_a_diagnosis_asks_about_diagonals_if_a_pair_file_names_one(tmp_path):
    pairs = eight_squares()[:4]
    up = round(pairs[0].distance_px * np.tan(np.pi / 8))  # at 22.5°, between right and above right
    aside = replace(pairs[0].target, box=pairs[0].target.box.moved(0, -up))
    between = replace(pairs[0], id="between", target=aside)
    write_pairs([*pairs, between, replace(pairs[1], id="wrong", direction="below")], tmp_path)
    found = load_pairs(UserData("compass", "pairs", tmp_path), 10, 0)
    assert [pair.direction for pair in found.pairs] == ["right", "above right", "above", "above left"]
    assert found.vocabulary == EIGHT
    assert found.unused == {
        "too near a border between directions": 1,
        "words that do not agree with the boxes": 1,
    }
    assert {item.meta["prompt"] for item in plan_conditions(found.pairs, gives="text")} == {"A8"}
