"""Layers, JSON and numbers by themselves."""

import json
import math

import pytest

from theodolite.answers import READER, AnswerFormat, json_values, outer_layers, quantities, read_answer

GRAPH = {
    "objects": [{"id": 1, "dist_to_cam": 4.0}, {"id": 2, "dist_to_cam": 5.0}],
    "edges": [{"to": 1, "relation": ["left"]}],
}
PLAIN = json.dumps(GRAPH)


def test_the_reader_has_a_name_and_a_version():
    assert READER == "answers/4"


@pytest.mark.parametrize(
    ("text", "visible", "tagged", "is_unfinished"),
    [
        ("<think>hm</think>B", "B", None, False),
        ("hm</think>B", "B", None, False),
        ("<think>hm", "", None, True),
        ("<think>a</think><think>b</think>B", "B", None, False),
        ("<think><reasoning>a</reasoning>b</think>B", "B", None, False),
        ("<think>a</thinking>B", "B", None, False),
        ("<rsn>a <ans>1", "1", "1", False),
        ("It is <ans>left</ans>.", "It is left.", "left", False),
        ("<ans><answer>left</answer></ans>", "left", "left", False),
        ("0</ans>", "0", "0", False),
        ("<ans></ans>", "", "", False),
        ("<rsn>so <ans>1</ans></rsn>", "", "1", False),
        ("<obj>cup</obj> moved left", "moved left", None, False),
        ("<b>left</b>", "left", None, False),
        ("<left>", "left", None, False),
        ("a < b and c > d", "a < b and c > d", None, False),
        ("\\boxed{\\text{B}}", "\\text{B}", "\\text{B}", False),
        ("\\boxed{B", "\\boxed{B", None, False),
        ("USER: What? ASSISTANT: B</s>", "B", None, False),
        ("B\nUser: And?\nAssistant: C", "B", None, False),
    ],
)
def test_layers_come_apart(text, visible, tagged, is_unfinished):
    layers = outer_layers(text)
    assert (layers.visible, layers.tagged, layers.is_unfinished) == (visible, tagged, is_unfinished)


@pytest.mark.parametrize(
    ("text", "body", "answer"),
    [
        ("Step 1: A cup falls.\nFinal answer: cup", "Step 1: A cup falls.", "cup"),
        ("Step 1: A cup falls.\n\n**Final Answer:** cup", "Step 1: A cup falls.", "cup"),
        ("A cup falls.\n<answer>cup</answer>", "A cup falls.", "cup"),
        ("A cup falls. So \\boxed{cup}", "A cup falls. So", "cup"),
        ("It falls. So the answer is the cup.", "It falls. So the answer is the cup.", "the cup"),
        ("A cup falls.", "A cup falls.", ""),
    ],
)
def test_steps_and_answer_come_apart(text, body, answer):
    layers = outer_layers(text)
    assert (layers.body, layers.answer) == (body, answer)


def test_an_answer_in_reasoning_that_came_apart_is_read_if_it_is_tagged():
    expected = AnswerFormat.choice(["left", "right"], style="letter")
    assert read_answer("", expected, reasoning="Hm. <answer>B</answer>").value == "B"
    assert read_answer("", expected, reasoning="So it is B.").status == "unreadable"
    assert read_answer("A", expected, reasoning="<answer>B</answer>").value == "A"


@pytest.mark.parametrize(
    ("text", "is_complete", "is_repaired"),
    [
        (PLAIN, True, False),
        (f"```json\n{PLAIN}\n```", True, False),
        (f'He said "look: {PLAIN} as asked.', True, False),
        (f"Draft: {PLAIN.replace('4.0', '9.0')}\nFinal: {PLAIN}", True, False),
        (f"Use {{ to open a table. {PLAIN}", True, False),
        (PLAIN.replace("_", "\\_"), True, True),
        (PLAIN.replace('"', "'"), True, True),
        (PLAIN.replace("}, {", "} {"), True, True),
        (PLAIN.replace('"edges"', "edges"), True, True),
        (PLAIN.replace("}]", "},]"), True, True),
        (PLAIN.replace(', "edges"', ', // comment\n "edges"'), True, True),
        (PLAIN[:-1], False, True),
        (f"```json\n{PLAIN[:-2]}", False, True),
    ],
)
def test_json_is_found_and_mended(text, is_complete, is_repaired):
    found = json_values(text)[0]
    assert (found.value, found.is_complete, found.is_repaired) == (GRAPH, is_complete, is_repaired)


def test_json_that_was_cut_off_keeps_what_is_sure():
    found = json_values(PLAIN[: PLAIN.index("5.0") + 1])[0]
    assert found.value == {"objects": [{"id": 1, "dist_to_cam": 4.0}, {"id": 2}]}
    assert not found.is_complete


def test_json_of_any_size_is_harmless():
    assert json_values('{"objects":[{"id":' + "1" * 400 + "}]}")[0].value == {"objects": [{"id": math.inf}]}
    assert json_values('{"id": ' + "1" * 5000 + "}")[0].value == {"id": math.inf}
    assert json_values("{" * 450 + "}" * 450) == []
    assert json_values("no braces at all") == []


@pytest.mark.parametrize(
    ("text", "metres"),
    [
        ("1 1/2 m", [1.5]),
        ("2 500 mm", [2.5]),
        ("1.5 × 10^{3} mm and 2", [1.5, 2.0]),
        ("5 ft 3 in", [1.6002]),
        ("5 ft 3 İn", [1.524, 3.0]),
        ("object 3 in front", [3.0]),
        ("2nd, 3D, v1.2, 0:03, 3 m²", [3.0]),
        ("one hundred and twenty-five cm", [1.25]),
        ("1e" + "9" * 5000, []),
        ("1" * 400, []),
        ("1/0", []),
    ],
)
def test_quantities_are_found(text, metres):
    assert [found.to("m") for found in quantities(text)] == pytest.approx(metres)


def test_other_units_are_not_converted():
    assert quantities("45 degrees")[0].to("m") is None
    assert quantities("90°")[0].to("rad") == pytest.approx(math.pi / 2)
    assert quantities("3")[0].to("parsec") == 3.0
