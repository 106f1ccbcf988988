"""Eight directions: what words and boxes make of a pair, the prompt, edits, and octant accuracy on diagonal truths."""

import json
from dataclasses import replace

import numpy as np
import pytest
from compass_samples import box_at, make_sample, planted

from theodolite.answers import read_answer
from theodolite.answers.items import format_of
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.instruments.compass.conditions import edit_of, plan_conditions, shown_item
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.edited import mirrored
from theodolite.instruments.compass.data.gqa import gqa_pairs
from theodolite.instruments.compass.data.instances import MatchPolicy
from theodolite.instruments.compass.data.squares import SquaresPlan, coloured_squares
from theodolite.instruments.compass.data.vsr import vsr_audit, vsr_pairs
from theodolite.instruments.compass.data.whatsup import whatsup_pairs
from theodolite.instruments.compass.experiments.controls.edits import EDITS, find_edits
from theodolite.instruments.compass.experiments.octants import octant_guess
from theodolite.instruments.compass.formulas.projection_options import PAPER, ProjectionChanges
from theodolite.instruments.compass.questions import PROMPTS, check_offered, default_prompt, pair_item
from theodolite.instruments.compass.tables import ScoreSettings, score_samples
from theodolite.pairs.directions import CARDINAL, EIGHT
from theodolite.pairs.pictures.placing import PlacingOptions

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
    pair = next(pair for pair in eight_squares() if pair.direction == "above left")
    prompt = default_prompt([pair])
    assert prompt.name == "A8"
    item = pair_item(pair, prompt)
    assert item.meta["directions"] == list(EIGHT.names)
    assert item.options[item.meta["gold"]] == prompt.token_for("above left") == "6"
    assert "6) above and to the left" in item.request.text
    expected = format_of(item)
    for said in ("6", "6) above and to the left", "above left", "Upper left.", "It is to the left, above."):
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
    (item,) = [
        item for item in plan_conditions([pair], PROMPTS["A8"]) if item.meta["condition"] == "mirrored"
    ]
    assert item.meta["directions"][item.meta["gold"]] == turned.direction
    assert shown_item(item).request.pictures == (turned.picture,)
    assert mirrored(turned).direction == direction


def test_objects_moved_in_a_photograph_have_a_truth_of_eight():
    from theodolite.instruments.compass.conditions import photograph_edits

    found = {
        (pair.id, edit.condition): (pair, edit.pair)
        for number, pair in enumerate(eight_squares()[:2])
        for edit in photograph_edits(pair, number, EIGHT)
        if "steps" in edit.how
    }
    assert {condition for _, condition in found} == {"exchanged", "target moved", "reference moved"}
    for before, after in found.values():
        assert (
            after.direction == EIGHT.between(after.reference.box, after.target.box).name != before.direction
        )


def test_controls_of_diagonal_pairs_keep_their_diagonals():
    pairs = eight_squares()
    for control in EDITS:
        edits, _ = find_edits(pairs, control, PlacingOptions())
        assert edits, control
        for edit in edits[:6]:
            made = edit.edited()
            assert made.direction == EIGHT.between(made.reference.box, made.target.box).name


def octant_samples():
    """Targets exactly in the eight directions; one map on the target, one opposite to it."""
    for number, (name, angle) in enumerate(EIGHT.angles_deg.items()):
        turn = np.deg2rad(angle)
        a = box_at(80, 60)
        b, away = (box_at(80 + way * 40 * np.cos(turn), 60 - way * 40 * np.sin(turn)) for way in (1, -1))
        maps = [planted(box, method=method, target="gt") for method, box in (("there", b), ("away", away))]
        made = make_sample(number, maps=maps, reference=a, target=b)
        yield replace(made, directions=EIGHT.names, gold=EIGHT.names.index(name), logits=np.eye(8)[0])


def test_octant_accuracy_on_diagonal_truths_beside_what_a_guess_has():
    def rows(**changes):
        settings = ScoreSettings(projections=("paper",), changes=ProjectionChanges(**changes))
        found = score_samples(list(octant_samples()), settings).table("octants_paper")
        return found, {row["method"]: row for row in found.as_json()["rows"]}

    table, found = rows()
    assert (found["there"]["n_diagonal"], found["there"]["n"]) == (4, 8)
    assert [found["there"][key]["value"] for key in ("octant", "diagonal", "cardinal")] == [1, 1, 1]
    assert [found["away"][key]["value"] for key in ("octant", "diagonal", "cardinal")] == [0, 0, 0]
    assert found["there"]["guess"] == 0.25, "sectors from 0° have two centres beside each direction"
    assert any("--bins centre" in note for note in table.notes)
    table, found = rows(bins="centre")
    assert found["there"]["guess"] == 0.125, "as A.4 has it"
    assert found["there"]["octant"]["value"] == 1
    assert "sectors centred on 0°" in table.title
    anywhere = np.linspace(0, 360, 720, endpoint=False) + 0.25
    assert octant_guess(anywhere, PAPER) == pytest.approx(0.125)


def test_octants_are_shown_for_diagonal_truths_or_if_asked_for():
    four = [sample for sample in octant_samples() if sample.direction in CARDINAL.names]
    with pytest.raises(KeyError):
        score_samples(four).table("octants_paper")
    assert score_samples(four, ScoreSettings(tables=("octants",))).table("octants_sound")
