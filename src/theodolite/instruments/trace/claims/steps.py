"""From the text of a model to its steps, its final answer, and the grade of the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from theodolite.answers import (
    Answer,
    AnswerFormat,
    cut_note,
    guarded,
    json_values,
    normal_form,
    outer_layers,
    read_answer,
)
from theodolite.answers.grading import Grade, format_from_json
from theodolite.answers.reading import with_note

__all__ = [
    "final_answer",
    "grade",
    "is_right_answer",
]


# From the text of a model to its steps: numbered, bulleted, under frame headings, in JSON, or plain sentences.
#
# Thoughts, tags, answers and JSON are found by `theodolite.answers`; here the rest is split into steps. The final answer is
# read by `theodolite.instruments.trace.claims.reading`.


STEP_READER = "steps/2"
"""Name and version, stored beside what was read."""

MOST_STEPS = 2000
"""Further steps are not read, which is reported."""

_MARK = re.compile(
    r"(?mi)^[ \t>*#_]*(?:"
    r"(?P<step>(?:step|observation|thought)\s*#?\d+)"
    r"|(?P<frame>(?:at\s+|in\s+)?frames?\s*#?\d+(?:\s*(?:-|–|to|and)\s*\d+)?)"
    r"|(?P<clock>\[?\d{1,2}:\d{2}(?:\.\d+)?\]?|\[?\(?\d+(?:\.\d+)?\s*s(?:ec(?:onds?)?)?\)?\]?(?=\s*[:\-–]))"
    r"|(?P<number>\d{1,4}[.)](?=\s))"
    r"|(?P<bullet>[-*•‣](?=\s))"
    r")"
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"”')]*\s+(?=[\"“(A-Z0-9])|\n+")
_FENCE = re.compile(r"(?m)^[ \t]*```\w*[ \t]*$")
_ANSWER = re.compile(r"(?:the\s+)?(?:final\s+)?answer\s*[:：]", re.IGNORECASE)
_OPENING = re.compile(r"(?i)(let('s| me| us)|sure|okay|here (is|are)|i will)\b")
_HEADING = re.compile(
    r"^\W*(?:(?:at|in)\s+)?(?:frames?\s*#?\d+(?:\s*(?:-|–|to|and)\s*\d+)?|\d{1,2}:\d{2}(?:\.\d+)?|\d+(?:\.\d+)?\s*s)\W*[:\]]\s*",
    re.IGNORECASE,
)
_TEXT_FIELDS = ("text", "observation", "claim", "description", "thought")
_LABEL = 2
"""A string of at most this many words in a list is a label, not a step."""
_BARE_WORDS = 8
"""A text of at most this many words without any mark is a bare answer."""


@dataclass(frozen=True, slots=True)
class StepTexts:
    """The steps of a text."""

    steps: tuple[str, ...]
    has_steps: bool
    """True if reasoning was written; if not, the bare answer stands as the only step."""
    is_answer_apart: bool = False
    """True if the visible text is the answer alone, because the reasoning was given as thoughts or not at all."""
    is_json: bool = False
    """True if they were listed in JSON."""
    problems: tuple[str, ...] = ()


def read_steps(text: str, *, reasoning: str = "") -> StepTexts:
    r"""Split a text into steps.

    Args:
        text: The text of the model.
        reasoning: Reasoning that was returned apart from the text.

    >>> read_steps("Step 1 (frame 1): A red ball rolls.\nStep 2 (frame 2): It stops.\nFinal answer: red").steps
    ('(frame 1): A red ball rolls.', '(frame 2): It stops.')
    >>> read_steps("Left.").has_steps
    False
    """
    listed = json_steps(text)
    if listed is not None:
        return replace(_limited(listed, has_steps=bool(listed)), is_json=True)
    layers = outer_layers(f"<think>{reasoning}</think>{text}" if reasoning.strip() else text)
    is_announced = bool(layers.tagged or layers.line)
    is_apart = bool(layers.thoughts) and not is_announced
    body = "\n".join(layers.thoughts if is_apart else (*layers.thoughts, layers.body))
    steps = _split(body)
    is_bare = not is_announced and not layers.thoughts and len(steps) <= 1 and not _MARK.search(body)
    if not steps or (is_bare and len(body.split()) <= _BARE_WORDS):
        bare = (layers.tagged or layers.line or layers.visible).strip()
        return _limited([bare] if bare else [], has_steps=False, is_answer_apart=True)
    return _limited(steps, has_steps=True, is_answer_apart=is_apart)


def heading_end(step: str) -> int:
    """Return where the words of a step begin, after a heading that only names its frame or time.

    >>> heading_end("(frame 2): It stops."), heading_end("It stops.")
    (11, 0)
    """
    match = _HEADING.match(step)
    return match.end() if match else 0


def _limited(steps: Sequence[str], *, has_steps: bool, is_answer_apart: bool = False) -> StepTexts:
    kept = tuple(steps[:MOST_STEPS])
    problems = []
    if len(steps) > MOST_STEPS:
        problems.append(f"{len(steps)} steps were written; only the first {MOST_STEPS} are read")
    if not kept:
        problems.append("no text that could be read as a step")
    return StepTexts(kept, has_steps, is_answer_apart, problems=tuple(problems))


def _split(text: str) -> list[str]:
    r"""Split at marks that open a line, if there are at least two; else into sentences.

    A single numbered step is one step, up to the end of its paragraph:

    >>> _split("Step 1 (frame 3): The ball stops. It is red.\nSo it was pushed.")
    ['(frame 3): The ball stops. It is red.', 'So it was pushed.']
    """
    text = _FENCE.sub("", text)
    marks = _marks(text)
    if len(marks) >= 2:
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        parts = [text[: marks[0].start()]] if _says_something(text[: marks[0].start()]) else []
        parts += [text[_begin(mark) : end] for mark, end in zip(marks, ends, strict=True)]
    elif marks:
        before = text[: marks[0].start()]
        first, _, after = text[marks[0].end() :].lstrip().partition("\n")
        parts = [
            *(_SENTENCE.split(before) if _says_something(before) else ()),
            first,
            *_SENTENCE.split(after),
        ]
    else:
        parts = _SENTENCE.split(text)
    cleaned = (_clean(part) for part in parts)
    return [part for part in cleaned if any(c.isalpha() for c in part) and not _ANSWER.match(part)]


def _marks(text: str) -> list[re.Match[str]]:
    """Return the marks of the highest rank that occurs twice: steps, then frames and times, then numbers, then bullets."""
    marks = list(_MARK.finditer(text))
    for kinds in (("step",), ("frame", "clock"), ("number",), ("bullet",)):
        ranked = [m for m in marks if m.lastgroup in kinds]
        if len(ranked) >= 2:
            return ranked
        if ranked and kinds == ("step",):
            return [*ranked, *(m for m in marks if m.start() > ranked[0].start())][:2]
    return []


def _begin(mark: re.Match[str]) -> int:
    """Return the beginning of a step: frame and time headings stay in it, because they name its frames; numbering is dropped."""
    return mark.start(mark.lastgroup or 0) if mark.lastgroup in {"frame", "clock"} else mark.end()


def _clean(part: str) -> str:
    return " ".join(re.sub(r"(\*\*|__|`)", "", part).split()).lstrip(" :.-–*)#")


def _says_something(text: str) -> bool:
    """Return False for an opening line such as *Let me go through the frames:*, which is not a step."""
    plain = _clean(text)
    return bool(plain) and not plain.endswith(":") and not _OPENING.match(plain)


def json_steps(text: str) -> list[str] | None:
    """Return the steps of ``{"steps": […]}``, or of a text that is a list of them; None if it is neither.

    >>> json_steps('[{"frame": 1, "observation": "A ball rolls."}, "Then it stops."]')
    ['Frame 1: A ball rolls.', 'Then it stops.']
    >>> json_steps('["ball", "cup"]') is None
    True
    """
    is_list = _FENCE.sub("", text).strip()[:1] == "["
    for json_value in json_values(text) if is_list or ("steps" in text and "{" in text) else ():
        value = json_value.value
        listed = value.get("steps") if isinstance(value, dict) else value if is_list else None
        if isinstance(listed, list):
            steps = [step for step in map(_json_step, listed) if step]
            are_labels = any(isinstance(each, str) and len(each.split()) <= _LABEL for each in listed)
            if isinstance(value, dict) or (steps and not are_labels):
                return steps
    return None


def _json_step(step: object) -> str:
    if isinstance(step, str):
        return _clean(step)
    if not isinstance(step, dict):
        return ""
    sentence = next((_clean(str(step[key])) for key in _TEXT_FIELDS if step.get(key) is not None), "")
    heading = f"Frame {step['frame']}: " if step.get("frame") is not None else ""
    return heading + sentence if sentence else ""


# The final answer of a trace, and its score.


_TAGGED = "in an answer tag"
_MERELY_NAMED = frozenset({"the only one named", "in the last sentence", "the whole text"})
"""Where `theodolite.answers` found an answer that is neither tagged, announced nor concluded, and does not open the text."""


def is_right_answer(answer: str, gold: str, *, has_options: bool) -> bool | None:
    """Return True if an answer is the right one; None if there is no right answer.

    The answer to an open question is right if it contains the words of the right answer.

    >>> is_right_answer("The **cup** falls.", "cup", has_options=False), is_right_answer("", "cup", has_options=False)
    (True, False)
    """
    if not gold:
        return None
    normal, right = normal_form(answer), normal_form(gold)
    return normal == right if has_options else f" {right} " in f" {normal} "


def grade(text: str, rubric: Mapping[str, Any], *, is_cut_off: bool = False, reasoning: str = "") -> Grade:
    """Return the final answer of a trace and its score (`theodolite.answers.grading`)."""
    expected = format_from_json(rubric["format"])
    answer = final_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning)
    text_read = str(answer.value) if answer.is_read else ""
    golds = [is_right_answer(text_read, gold, has_options=bool(expected.options)) for gold in rubric["golds"]]
    return Grade(answer, float(any(golds)) if golds else None)


def final_answer(
    text: str, expected: AnswerFormat, *, is_cut_off: bool = False, reasoning: str = ""
) -> Answer:
    r"""Return the final answer of a trace, as `theodolite.answers` reads it.

    Steps often name options, so if the text has steps, an option that is merely named is not an answer. Steps
    in JSON need an answer field.

    >>> sides = AnswerFormat.choice(("left", "right"), style="word")
    >>> final_answer("Step 1: A cup is left of a box. Step 2: It is gone.", sides).status
    'unreadable'
    >>> final_answer("Step 1: A cup is left of a box.\nFinal answer: nowhere", sides).status
    'none of these'
    """
    answer = guarded(
        lambda text, reasoning: _final_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning),
        text,
        reasoning,
        unread=lambda why: Answer("unreadable", reason=why),
    )
    return with_note(answer, cut_note(text, reasoning))


def _final_answer(text: str, expected: AnswerFormat, *, is_cut_off: bool, reasoning: str) -> Answer:
    answer = read_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning)
    read = read_steps(text, reasoning=reasoning)
    is_weak = answer.reason in _MERELY_NAMED or (read.is_json and not answer.reason.startswith(_TAGGED))
    if answer.is_read and not (is_weak and read.has_steps and not read.is_answer_apart):
        return answer
    layers = outer_layers(text)
    announced = layers.tagged or layers.line
    if announced and expected.options and (answer.is_read or answer.status in {"unreadable", "ambiguous"}):
        answer = read_answer(announced, expected, is_cut_off=is_cut_off)
        if answer.status == "unreadable":
            return Answer("none of these", reason=f"announces {announced!r:.60}, which is not an option")
        return answer
    is_from_steps = answer.is_read or answer.reason.startswith("names several")
    return Answer("unreadable", reason="announces no answer") if is_from_steps else answer
