"""From a model's text to its steps and its answer. What cannot be read is said so, never guessed.

Needs the standard library only. Numbered steps, bullets, frame headings, thinking tags, JSON and plain prose are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

STEP_READER = "steps/1"
"""Name and version, stored beside what was read."""

MOST_STEPS = 2000
"""More steps are cut off, and said to be."""

_THINK = re.compile(r"<(think|thinking|reasoning|thought)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_ANSWER_TAG = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
_ANSWER_LINE = re.compile(
    r"(?:^|\n|(?<=[.!?])\s)[ \t*#>]*(?:the\s+)?(?:final\s+answer|answer|conclusion)(?:\s+is)?[ \t*]*[:：][ \t*]*(.*?)(?=\n\s*\n|\n[ \t*#>]*(?:step|frame)\b|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_ANSWER_PHRASE = re.compile(
    r"the\s+(?:final\s+|correct\s+|right\s+)?answer\s+is:?\s+(.+?)(?:[.\n]|\Z)",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"(?mi)^[ \t>*#_]*(?:"
    r"(?P<step>(?:step|observation|thought)\s*#?\d+)"
    r"|(?P<frame>(?:at\s+|in\s+)?frames?\s*#?\d+(?:\s*(?:-|–|to|and)\s*\d+)?)"
    r"|(?P<clock>\[?\d{1,2}:\d{2}(?:\.\d+)?\]?|\[?\(?\d+(?:\.\d+)?\s*s(?:ec(?:onds?)?)?\)?\]?(?=\s*[:\-–]))"
    r"|(?P<number>\d{1,4}[.)](?=\s))"
    r"|(?P<bullet>[-*•‣](?=\s))"
    r")"
)
_TAGS = re.compile(
    r"</?(?:look|step|observe|observation|see|belief|state|think|thinking|reasoning)[^>]{0,80}>",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"”')]*\s+(?=[\"“(A-Z0-9])|\n+")


_HEADING = re.compile(
    r"^\W*(?:(?:at|in)\s+)?(?:frames?\s*#?\d+(?:\s*(?:-|–|to|and)\s*\d+)?|\d{1,2}:\d{2}(?:\.\d+)?|\d+(?:\.\d+)?\s*s)\W*[:\]]\s*",
    re.IGNORECASE,
)


def heading_end(step: str) -> int:
    """Where a step's own words begin, after a heading that only names its frame or time.

    >>> heading_end("(frame 2): It stops."), heading_end("It stops.")
    (11, 0)
    """
    match = _HEADING.match(step)
    return match.end() if match else 0


@dataclass(frozen=True, slots=True)
class ReadText:
    """What was read out of a model's text."""

    steps: tuple[str, ...]
    answer: str
    has_steps: bool
    """Whether reasoning was written; if not, the bare answer stands as the only step."""
    problems: tuple[str, ...] = ()


def read_steps(text: str, *, reasoning: str = "") -> ReadText:
    r"""Splits a model's text into steps and answer.

    Args:
        text: as the model wrote it.
        reasoning: thinking that came apart from the text.

    >>> read = read_steps("Step 1 (frame 1): A red ball rolls.\nStep 2 (frame 2): It stops.\nFinal answer: red")
    >>> read.steps, read.answer
    (('(frame 1): A red ball rolls.', '(frame 2): It stops.'), 'red')
    >>> read_steps("Left.").has_steps
    False
    """
    parsed = _read_json(text)
    if parsed is not None:
        return _limited(parsed.steps, parsed.answer, has_steps=parsed.has_steps)
    thoughts = [reasoning, *(match.group(2) for match in _THINK.finditer(text))]
    rest = _THINK.sub(" ", text)
    answer, rest = _split_answer(rest)
    body = "\n".join(part for part in (*thoughts, rest) if part.strip())
    if not answer and any(part.strip() for part in thoughts):
        answer, body = rest.strip(), "\n".join(part for part in thoughts if part.strip())
    steps = _split_steps(body)
    if answer and not steps:
        return _limited([answer], answer, has_steps=False)
    if not answer and len(steps) <= 1 and not _MARK.search(body) and len(body.split()) <= 8:
        bare = body.strip()
        return _limited([bare] if bare else [], bare.rstrip("."), has_steps=False)
    if not answer:
        said = _ANSWER_PHRASE.search(body)
        answer = said.group(1).strip() if said else ""
    return _limited(steps, answer, has_steps=bool(steps))


def _limited(steps: Sequence[str], answer: str, *, has_steps: bool) -> ReadText:
    kept = tuple(steps[:MOST_STEPS])
    problems = []
    if len(steps) > MOST_STEPS:
        problems.append(f"{len(steps)} steps were written; only the first {MOST_STEPS} are read")
    if not kept:
        problems.append("no text that could be read as a step")
    return ReadText(kept, answer, has_steps, tuple(problems))


def _split_answer(text: str) -> tuple[str, str]:
    """The announced answer, and the text without it. The last announcement counts."""
    for pattern in (_ANSWER_TAG, _BOXED):
        found = list(pattern.finditer(text))
        if found:
            return found[-1].group(1).strip(), pattern.sub(" ", text)
    found = list(_ANSWER_LINE.finditer(text))
    if not found:
        return "", text
    last = found[-1]
    lines = [line for line in last.group(1).strip(" *\n").splitlines() if line.strip()]
    answer = lines[0].strip(" *_`") if lines else ""
    return answer, text[: last.start()] + "\n" + "\n".join(lines[1:]) + text[last.end() :]


def _split_steps(text: str) -> list[str]:
    r"""At marks that open a line, if there are at least two; else sentence by sentence.

    A single numbered step is one step, up to the end of its paragraph:

    >>> _split_steps("Step 1 (frame 3): The ball stops. It is red.\nSo it was pushed.")
    ['(frame 3): The ball stops. It is red.', 'So it was pushed.']
    """
    marks = _marks(text)
    if len(marks) >= 2:
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        parts = [text[: marks[0].start()]] if _says_something(text[: marks[0].start()]) else []
        parts += [text[_begin(mark) : end] for mark, end in zip(marks, ends, strict=True)]
    elif marks:
        before = text[: marks[0].start()]
        told, _, after = text[marks[0].end() :].lstrip().partition("\n")
        parts = [*(_SENTENCE.split(before) if _says_something(before) else ()), told, *_SENTENCE.split(after)]
    else:
        parts = _SENTENCE.split(text)
    cleaned = (_clean(part) for part in parts)
    return [part for part in cleaned if any(c.isalpha() for c in part)]


def _marks(text: str) -> list[re.Match[str]]:
    """The marks of the highest rank that occurs twice: steps, then frames and times, then numbers, then bullets."""
    found = list(_MARK.finditer(text))
    for kinds in (("step",), ("frame", "clock"), ("number",), ("bullet",)):
        ranked = [m for m in found if m.lastgroup in kinds]
        if len(ranked) >= 2 or (ranked and kinds == ("step",)):
            return (
                ranked
                if len(ranked) >= 2
                else [*ranked, *[m for m in found if m.start() > ranked[0].start()]][:2]
            )
    return []


def _begin(mark: re.Match[str]) -> int:
    """Frame and time headings stay in the step, where they say which frames are meant; numbering goes."""
    return mark.start(mark.lastgroup or 0) if mark.lastgroup in {"frame", "clock"} else mark.end()


def _clean(part: str) -> str:
    plain = _TAGS.sub(" ", part)
    plain = re.sub(r"(\*\*|__|`)", "", plain)
    return " ".join(plain.split()).lstrip(" :.-–*)#")


def _says_something(text: str) -> bool:
    """An opening line such as *Let me go through the frames:* is no step."""
    plain = _clean(text)
    return (
        bool(plain)
        and not plain.endswith(":")
        and not re.match(r"(?i)(let('s| me| us)|sure|okay|here (is|are)|i will)\b", plain)
    )


def _read_json(text: str) -> ReadText | None:
    """``{"steps": […], "answer": …}``, alone or in a code fence."""
    inside = text[text.find("{") : text.rfind("}") + 1] if "{" in text else ""
    if "steps" not in inside:
        return None
    try:
        data = json.loads(inside)
    except (ValueError, RecursionError):  # no JSON, or nested beyond all reason
        return None
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        return None
    steps = [_json_step(step) for step in data["steps"]]
    answers = [data[key] for key in ("answer", "final_answer") if data.get(key) is not None]
    return ReadText(tuple(s for s in steps if s), str(answers[0]) if answers else "", has_steps=any(steps))


def _json_step(step: object) -> str:
    if isinstance(step, str):
        return _clean(step)
    if isinstance(step, dict):
        said = next(
            (
                str(step[key])
                for key in ("text", "observation", "claim", "description", "thought")
                if step.get(key) is not None
            ),
            "",
        )
        frame = f"Frame {step['frame']}: " if step.get("frame") is not None else ""
        return frame + _clean(said) if said else ""
    return ""
