"""Prompts, steps and frames."""

import json
import time

import pytest

from theodolite.answers import AnswerFormat
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.language import open_parser
from theodolite.instruments.trace.claims.reading import (
    MOST_CHARACTERS,
    align,
    align_steps,
    no_trace,
    read_trace,
    with_claims,
)
from theodolite.instruments.trace.claims.steps import MOST_STEPS, final_answer, heading_end, read_steps
from theodolite.instruments.trace.data.traces import read_traces
from theodolite.instruments.trace.experiments.alignment import alignment_accuracy
from theodolite.instruments.trace.questions import STYLES, trace_prompt
from theodolite.worlds.episodes import Episode, Frame


def frames(n, step=1.0, **more):
    return Episode("e", "?", tuple(Frame(i * step, **more) for i in range(n)))


def test_every_style_keeps_task_and_options():
    texts = {style: trace_prompt("What falls?", style=style, options=("cup", "book")) for style in STYLES}
    assert len(set(texts.values())) == len(STYLES)
    assert all("What falls?" in text and "cup, book" in text for text in texts.values())
    assert texts["natural"] == "What falls?\nAnswer with one of: cup, book."
    assert "no explanations" in texts["lite"]
    with pytest.raises(UsageError, match="there are structured"):
        trace_prompt("?", style="poetic")


@pytest.mark.parametrize(
    ("text", "steps", "answer"),
    [
        (
            "Step 1: A cup falls.\nStep 2: It breaks.\nFinal answer: cup",
            ["A cup falls.", "It breaks."],
            "cup",
        ),
        (
            "**Step 1**: A cup falls.\n**Step 2:** It breaks.\n\n**Final Answer:** cup",
            ["A cup falls.", "It breaks."],
            "cup",
        ),
        (
            "1. A cup falls.\n2. It breaks. It was blue.\nAnswer: cup",
            ["A cup falls.", "It breaks. It was blue."],
            "cup",
        ),
        ("- A cup falls.\n- It breaks.\n<answer>cup</answer>", ["A cup falls.", "It breaks."], "cup"),
        (
            "Frame 1: A cup.\nFrame 2: Shards.\nFinal answer: cup",
            ["Frame 1: A cup.", "Frame 2: Shards."],
            "cup",
        ),
        (
            "Let me look:\nStep 1 (frame 3): A cup falls. It breaks.\nFinal answer: cup",
            ["(frame 3): A cup falls. It breaks."],
            "cup",
        ),
        (
            "A table. A man.\n**Step 1:** A cup falls.\n\nIt was blue.",
            ["A table.", "A man.", "A cup falls.", "It was blue."],
            "",
        ),
        ("<think>A cup falls. It breaks.</think>cup", ["A cup falls.", "It breaks."], "cup"),
        ("<think>A cup falls. It breaks.", ["A cup falls.", "It breaks."], ""),
        (
            "A cup falls. Then it breaks. So the answer is the cup.",
            ["A cup falls.", "Then it breaks.", "So the answer is the cup."],
            "the cup",
        ),
        ("Let me look at each frame:\n1. A cup falls.\n2. It breaks.", ["A cup falls.", "It breaks."], ""),
        (
            "Step 1: <look>A cup falls.</look>\nStep 2: It breaks.\nSo \\boxed{cup}",
            ["A cup falls.", "It breaks. So"],
            "cup",
        ),
        (
            '```json\n{"steps": ["A cup falls.", {"frame": 2, "text": "It breaks."}], "answer": "cup"}\n```',
            ["A cup falls.", "Frame 2: It breaks."],
            "cup",
        ),
    ],
)
def test_steps_and_answer_of_many_forms(text, steps, answer):
    read = read_steps(text)
    assert (list(read.steps), read.has_steps) == (steps, True)
    trace = read_trace(text, frames(3))
    assert (trace.answer, bool(trace.unread)) == (answer, not answer)


def test_reasoning_that_came_apart_from_the_answer():
    trace = read_trace("cup", frames(3), reasoning="A cup falls. It breaks.")
    assert ([step.text for step in trace.steps], trace.answer) == (["A cup falls.", "It breaks."], "cup")


@pytest.mark.parametrize(
    ("text", "is_cut_off", "status"),
    [
        ("Step 1: A cup is left of a box.\nStep 2: It is gone.", False, "unreadable"),
        ("Step 1: A cup is left of a box.\nFinal answer: nowhere", False, "none of these"),
        ("Step 1: A cup falls.\nStep 2: A box", True, "cut off"),
        ("<think>The cup is left of", True, "cut off"),
        ("I'm sorry, I cannot see any frame.", False, "refused"),
        ("Step 1: A cup.\nStep 2: A box.\nFinal answer: left or right", False, "ambiguous"),
    ],
)
def test_why_there_is_no_answer(text, is_cut_off, status):
    sides = AnswerFormat.choice(("left", "right"), style="word")
    assert final_answer(text, sides, is_cut_off=is_cut_off).status == status


@pytest.mark.parametrize("text", ["Left.", "Final answer: left", "left"])
def test_a_bare_answer_is_a_lower_bound(text):
    read = read_steps(text)
    assert not read.has_steps
    assert len(read.steps) == 1
    trace = read_trace(text, frames(2))
    assert trace.answer.casefold() == "left"
    assert trace.is_lower_bound


def test_nothing_and_far_too_much_are_told():
    assert read_steps("  \n ").problems == ("no text that could be read as a step",)
    many = "\n".join(f"Step {i}: A cup." for i in range(10_000))
    read = read_steps(many)
    assert len(read.steps) == MOST_STEPS
    assert "10000 steps" in read.problems[0]


@pytest.mark.parametrize(
    ("text", "expected", "how"),
    [
        ("(frame 3): It falls.", (2,), "index"),
        ("In frames 2-4 it falls.", (1, 2, 3), "index"),
        ("In frame 1 and frame 5 it is red.", (0, 4), "index"),
        ("In the third frame it falls.", (2,), "index"),
        ("The last frame shows a cup.", (7,), "index"),
        ("At 2.5 s it falls.", (5,), "time"),
        ("At 0:03 it falls.", (6,), "time"),
        ("Between 1 and 2 seconds it falls.", (2, 3, 4), "time"),
        ("At the end it is gone.", (7,), "order"),
        ("Initially, the cup is on the table.", (0,), "order"),
        ("The cup stays red throughout the video.", tuple(range(8)), "whole"),
    ],
)
def test_one_step_finds_its_frames(text, expected, how):
    found = align([text], frames(8, 0.5))[0]
    assert (found.frames, found.how) == (expected, how)


def test_then_moves_on_and_position_shares_out():
    texts = ["In frame 2 it falls.", "Then it rolls.", "Next, it stops."]
    assert [a.frames for a in align(texts, frames(8))] == [(1,), (2,), (3,)]
    assert [a.frames for a in align(["a", "b", "c", "d"], frames(8))] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [a.frames for a in align(["a"] * 5, frames(2))] == [(0,), (0,), (0, 1), (1,), (1,)]


def test_a_frame_past_the_end_is_told_and_the_step_kept():
    steps, problems = align_steps(["In frame 9 it falls.", "At 400 s it stops."], frames(3))
    assert problems == (
        "step 1: names frame 9, but there are 3",
        "step 2: names 400 s, but the last frame is at 2 s",
    )
    assert all(step.frames for step in steps)


def test_the_data_sets_own_frame_numbers():
    episode = Episode("e", "?", tuple(Frame(float(i), number=100 + 7 * i) for i in range(4)))
    assert align(["In frame 114 it falls."], episode)[0].frames == (2,)


def test_headings_are_not_parsed():
    assert heading_end("Frame 2: It stops.") == 9
    assert heading_end("0:03: It stops.") == 6
    assert heading_end("Frames show a cup: it stops.") == 0


def test_alignment_is_scored_against_the_truth():
    episode = frames(4)
    read = [read_trace("In frame 1 a.\nThen b.\nAt the end c.", episode)]
    score = alignment_accuracy(read, [[(0,), (1,), (2,)]])
    assert score.exact.value == pytest.approx(2 / 3)
    assert score.overlap.value == pytest.approx(2 / 3)
    assert score.by_method["index"].value == 1.0


def test_a_file_of_traces(tmp_path):
    file = tmp_path / "t.jsonl"
    rows = [
        {"episode": "e", "text": "Step 1: A cup.\nStep 2: A book.\nFinal answer: cup"},
        {"episode": "e", "steps": ["A cup.", {"text": "A book.", "frames": [2, 9]}], "answer": "cup"},
        {"episode": "gone", "text": "A cup."},
        {"episode": "e"},
        [1],
        {
            "question_id": "e",
            "targets": "The cup.",
            "object_descriptions": "A cup falls.",
            "raw_response": None,
        },
    ]
    file.write_text("\n".join([*map(json.dumps, rows), "{broken"]))
    found, problems = read_traces(file, {"e": frames(3)})
    assert [len(t.steps) for t in found] == [2, 2, 2]
    assert found[1].steps[1].frames == (1,)
    assert "names frame 9" in found[1].problems[0]
    assert found[2].model == "Video-LLaVA"
    reasons = [problem.reason for problem in problems]
    assert len(reasons) == 4
    assert "no episode 'gone'" in reasons[0]
    assert "neither 'text' nor 'steps'" in reasons[1]


def test_rounded_times_find_their_frames():
    episode = frames(6, 1 / 3)
    texts = ["At 0.33 s it falls.", "At 0.67 s it rolls.", "At 1.6 s it stops."]
    assert [a.frames for a in align(texts, episode)] == [(1,), (2,), (4,)]


@pytest.mark.parametrize(
    "text",
    ["x" * 30_000, "a-b" * 10_000, "." * 30_000 + "x", "so" + "\n " * 20_000 + "x", "{" * 30_000 + "steps"],
)
def test_no_text_takes_long(text):
    episode = frames(2)
    with_claims([read_trace("A cup.", episode)])  # loads the parser
    begun = time.process_time()
    read = with_claims([read_trace(text, episode)])[0]
    assert time.process_time() - begun < 2.0
    assert all(len(step.text) <= MOST_CHARACTERS for step in read.steps)
    if text.startswith("a-b"):
        assert read.failure == "no trace: repeats itself"
    elif not text.startswith("so"):
        assert (
            read.problems[0] == f"step 1: {len(text)} characters; only the first {MOST_CHARACTERS} are read"
        )


def test_alternatives_stay_one_word():
    sentence = next(iter(open_parser().parse(["The cup/glass/bottle falls on the table."])))
    assert sentence.tokens[1].text == "cup/glass/bottle"


def test_a_frame_number_of_any_length_is_told():
    read = read_trace("Frame 1" + "0" * 5000 + ": It falls. Frame 2: It stops.", frames(3))
    assert any("names frame 1000000000, but there are 3" in problem for problem in read.problems)


def test_json_that_is_nested_or_says_nothing():
    deep = '{"steps": ' + "[" * 100_000 + "]" * 100_000 + "}"
    assert len(read_steps(deep).steps) == 1
    text = '{"steps": ["A cup.", {"frame": null, "text": null, "claim": "It falls."}], "answer": null}'
    assert read_steps(text).steps == ("A cup.", "It falls.")
    assert read_trace(text, frames(1)).unread
    assert read_trace('{"steps": ["A cup."], "answer": null, "final_answer": 3}', frames(1)).answer == "3"


def test_odd_lines_of_a_trace_file_are_told_in_plain_words(tmp_path):
    file = tmp_path / "t.jsonl"
    lines = [
        json.dumps({"episode": "e", "text": "A cup."}),
        '{"episode": "e", "steps": ' + "[" * 100_000 + "]" * 100_000 + "}",
        json.dumps({"episode": "e", "steps": [{"text": ""}]}),
    ]
    file.write_text("\n".join(lines), encoding="utf-8-sig")  # the mark must not cost the first line
    found, problems = read_traces(file, {"e": frames(3)})
    assert len(found) == 1
    reasons = {problem.where: problem.reason for problem in problems}
    assert reasons["t.jsonl, line 2"] == "it is nested too deeply"
    assert reasons["t.jsonl, line 3"].startswith("steps.0.text: ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I do not see a dog. There is a cup.\nFinal answer: a", ""),
        ("I'm sorry, I can't help with that.\nFinal answer: unknown", "refused"),
        ("Der Ball ist rot.", "not English"),
        ("Le ballon est rouge.", "not English"),
        ("Ball falls, die rolls, die stops.", ""),
        ("El Greco painting.", ""),
        ('["ball", "cup"]', "JSON without steps"),
        ('```json\n[{"frame": 1, "observation": "A ball rolls."}, {"observation": "It stops."}]\n```', ""),
    ],
)
def test_who_says_something_in_english_has_written_a_trace(text, why):
    assert no_trace(text) == why


def test_hidden_characters_do_not_hide_words():
    text = "Step 1: The c\u200bup is re\u00add.\u202e\nFinal answer: left"
    plain = "Step 1: The cup is red.\nFinal answer: left"
    episode = Episode("e", "?", (Frame(0.0),))
    assert with_claims([read_trace(text, episode)]) == with_claims([read_trace(plain, episode)])
