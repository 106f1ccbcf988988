"""The outer layers of a model's text: thoughts, answer tags, boxes, role lines and control tokens.

Tags are recognised by name, in any bracket style, closed or not. A closing tag without an opening one ends a block that began
in the prompt. An answer tag ends thoughts that were never closed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from theodolite.answers.announcements import announced
from theodolite.answers.plain import simple, without_marks, word_set
from theodolite.answers.words import Words

_Role: TypeAlias = Literal["thought", "answer", "field", "markup", "control", "text"]
_NAMES: dict[_Role, str] = {
    "thought": "think thinking thought thoughts reason reasons reasoning rsn rationale reflection reflect scratchpad analysis "
    "analyze cot plan planning explanation caption summary monologue innermonologue",
    "answer": "answer answers ans finalanswer final result conclusion choice option solution output prediction decision",
    "field": "obj object refobj refobject box bbox point quad image img video",
    "markup": "b i u p em strong code span div ul ol li sub sup center pre",
    "control": "br hr s eos bos unk pad endofturn endoftext imend",
}
_ROLES = {name: role for role, names in _NAMES.items() for name in word_set(names)}
"""What tags are for, by name without marks. A field names or places a thing and is no part of the answer."""
_TAG = re.compile(
    r"<(?P<bar>\|)?(?P<slash>/)?(?P<name>[A-Za-z][\w.-]{0,40})(?:\s[^<>\n]{0,80})?(?(bar)\|)\s?/?>"
)
_OTHER_BRACKETS = re.compile(r"◁(/?\w{1,20})▷|\[(/?(?:THINK|ANSWER))\]|\[/?INST\]")
_OTHER_NAMES = {
    "<|im_start|>": "\n",
    "<start_of_turn>": "\n",
    "<|begin_of_box|>": "<answer>",
    "<|end_of_box|>": "</answer>",
    "<|begin_of_thought|>": "<think>",
    "<|end_of_thought|>": "</think>",
    "<|start|>assistant": "",
    "<|channel|>analysis<|message|>": "<think>",
    "<|channel|>final<|message|>": "</think>",
}
_TURN = re.compile(
    r"^[ \t#*]*(?P<role>assistant|user|human|system|question|model)[ \t*]*(?::[ \t*]*|$)"
    r"|\b(?P<inline>(?-i:USER|ASSISTANT|HUMAN)):\s?",
    re.MULTILINE | re.IGNORECASE,
)
_ANSWER_LINE = re.compile(
    r"^[ \t*#>_]*+(?:the )?(?:final )?(?:answer|conclusion)(?: is)?[ \t*_]*+[:：][ \t*_]*+\n{0,2}(?P<said>[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_OWN_ROLES = frozenset({"", "assistant", "model"})
_WORD = re.compile(r"[^\W_]")
_BESIDE = re.compile(r"[\s,;/.]*(?:or|and)?\s*")


@dataclass(frozen=True, slots=True)
class Layers:
    """A model's text, layer by layer.

    Attributes:
        visible: What was said: no thoughts, tags, role lines or control tokens. Mark-up stays.
        thoughts: The contents of reasoning tags.
        tagged: The content of the last answer tag or box; None if there is none.
        line: What the last line of the form "Answer: …" says, if nothing is tagged.
        body: The visible text without tagged answers or that line.
        is_unfinished: True if the text ends while the model is still thinking.
        is_closed: True if the answer tag or box was closed.
    """

    visible: str
    thoughts: tuple[str, ...] = ()
    tagged: str | None = None
    line: str = ""
    body: str = ""
    is_unfinished: bool = False
    is_closed: bool = False

    @property
    def answer(self) -> str:
        """The tagged answer, the answer line, or what a sentence announces; empty if there is none."""
        if self.tagged or self.line:
            return self.tagged or self.line
        words = Words(without_marks(simple(self.visible)))
        said = (
            words.text[words.tokens[first].start : words.tokens[end - 1].end]
            for first, end in announced(words)
        )
        return next(said, "").strip(" .")


class _Tag(NamedTuple):
    role: _Role
    name: str
    is_close: bool
    start: int
    end: int


@dataclass(slots=True)
class _Block:
    """The content of an answer tag, and what was said between it and the one before."""

    gap: str
    parts: list[str] = field(default_factory=list)
    is_closed: bool = False


def outer_layers(text: str) -> Layers:
    r"""Takes a text apart.

    >>> layers = outer_layers("<think>maybe A</think>It moved <ans>closer</ans>.")
    >>> layers.tagged, layers.thoughts, layers.visible
    ('closer', ('maybe A',), 'It moved closer.')
    >>> layers = outer_layers("Step 1: A cup falls.\nFinal answer: cup")
    >>> layers.body, layers.answer
    ('Step 1: A cup falls.', 'cup')
    >>> outer_layers("<rsn>The cup is").is_unfinished, outer_layers("so B</think>A").visible
    (True, 'A')
    """
    text = _own_turn(_uniform(text))
    shown, thoughts, is_open = _without_thoughts(text)
    visible, body, blocks = _said(shown)
    line, body = ("", body) if blocks else _answer_line(body)
    has_words = _WORD.search(visible) is not None
    if not blocks and not has_words:
        blocks = _said(text)[2]
    answers = [(block, content) for block in blocks if (content := "".join(block.parts).strip())]
    first = len(answers) - 1
    while first > 0 and _BESIDE.fullmatch(answers[first][0].gap[:40]):
        first -= 1
    return Layers(
        visible.strip(),
        thoughts,
        "\n".join(content for _, content in answers[first:]) if blocks else None,
        line,
        body.strip(),
        is_unfinished=is_open and not has_words and not blocks,
        is_closed=bool(answers) and answers[-1][0].is_closed,
    )


def _answer_line(text: str) -> tuple[str, str]:
    """What the last answer line says, and the text without it."""
    found = list(_ANSWER_LINE.finditer(text))
    if not found:
        return "", text
    return found[-1]["said"].strip(" \t*_`"), text[: found[-1].start()] + text[found[-1].end() :]


def _uniform(text: str) -> str:
    """The text with all tags and boxes written as ``<name>`` and ``</name>``."""
    if "[" in text or "◁" in text:
        text = _OTHER_BRACKETS.sub(lambda match: f"<{name}>" if (name := match[1] or match[2]) else "", text)
    for old, new in _OTHER_NAMES.items():
        text = text.replace(old, new)
    if "boxed" not in text:
        return text
    pieces: list[str] = []
    opened: list[int | None] = []
    place = 0
    for match in re.finditer(r"(\\f?boxed\s?)?\{|\}", text):
        if match.group() != "}":
            pieces += [text[place : match.start()], match.group()]
            opened.append(len(pieces) - 1 if match[1] else None)
            place = match.end()
        elif opened and (box := opened.pop()) is not None:
            pieces[box] = "<answer>"
            pieces += [text[place : match.start()], "</answer>"]
            place = match.end()
    return "".join(pieces) + text[place:]


def _own_turn(text: str) -> str:
    """The model's own turn, where the text repeats the prompt or goes on with a dialogue."""
    marks = list(_TURN.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)]
    turns = [("", text[: ends[0]])]
    turns += [
        ((mark["role"] or mark["inline"]).lower(), text[mark.end() : end])
        for mark, end in zip(marks, ends[1:], strict=True)
    ]
    turns = [turn for turn in turns if turn[1].strip()]
    own = [i for i, (role, _) in enumerate(turns) if role in _OWN_ROLES]
    if not marks or not own:
        return text
    last = next((i for i in range(own[0], len(turns)) if turns[i][0] not in _OWN_ROLES), len(turns))
    return "\n".join(said for _, said in turns[own[0] : last])


def _tags(text: str) -> list[_Tag]:
    """All tags. One of an unknown name counts as mark-up if it is closed somewhere, else as text."""
    found = list(_TAG.finditer(text))
    names = [match["name"].lower().replace("_", "").replace("-", "") for match in found]
    closed = {name for name, match in zip(names, found, strict=True) if match["slash"]}
    tags = []
    for name, match in zip(names, found, strict=True):
        role = _ROLES.get(name, "control" if match["bar"] else "markup")
        if role == "markup" and name not in closed:
            role = "text"
        tags.append(_Tag(role, name, bool(match["slash"]), match.start(), match.end()))
    return tags


def _without_thoughts(text: str) -> tuple[str, tuple[str, ...], bool]:
    """The text outside thoughts, the thoughts, and whether the last one is still open."""
    tags = _tags(text)
    closings = {tag.name: tag.start for tag in tags if tag.role == "thought" and tag.is_close}
    spans: list[tuple[int, int, int]] = []
    opened: _Tag | None = None
    for tag in tags:
        if tag.role == "thought" and not tag.is_close:
            opened = opened or tag
        elif tag.role == "thought" and opened is None:
            spans = spans or [(0, tag.start, tag.end)]
        elif tag.role == "thought" and opened and closings.get(opened.name, 0) <= tag.start:
            spans.append((opened.start, tag.start, tag.end))
            opened = None
    if opened:
        answers = [
            tag.start
            for tag in tags
            if tag.role == "answer" and not tag.is_close and tag.start > opened.start
        ]
        end = answers[-1] if answers else len(text)
        spans.append((opened.start, end, end))
    shown = [
        text[before:start]
        for before, (start, _, _) in zip([0, *(span[2] for span in spans)], spans, strict=False)
    ]
    thoughts = [_TAG.sub(" ", text[start:end]).strip() for start, end, _ in spans]
    rest = text[spans[-1][2] :] if spans else text
    return (
        "\n".join([*shown, rest]),
        tuple(filter(None, thoughts)),
        bool(opened) and spans[-1][2] == len(text),
    )


def _said(text: str) -> tuple[str, str, list[_Block]]:
    """The text without tags and fields, the same without tagged answers, and the tagged answers."""
    visible: list[str] = []
    body: list[str] = []
    blocks: list[_Block] = []
    opened: list[_Block] = []
    fields = place = gap = 0
    for tag in [*_tags(text), _Tag("control", "", is_close=True, start=len(text), end=len(text))]:
        said = text[place : tag.start] + (
            text[tag.start : tag.end].strip("</>") if tag.role == "text" else ""
        )
        place = tag.end
        if not fields:
            visible.append(said)
            (opened[-1].parts if opened else body).append(said)
        if tag.role == "field":
            fields = max(0, fields + (-1 if tag.is_close else 1))
        elif tag.role == "answer":
            _turn_answer(tag, opened, blocks, "".join(body[gap:]))
            gap = len(body)
    return "".join(visible), "".join(body), blocks


def _turn_answer(tag: _Tag, opened: list[_Block], blocks: list[_Block], said: str) -> None:
    """Opens or closes an answer. One that only closes began on the last line."""
    if not tag.is_close:
        blocks.append(_Block(said))
        opened.append(blocks[-1])
    elif opened:
        opened.pop().is_closed = True
    elif not blocks:
        blocks.append(_Block("", [said.rstrip().rpartition("\n")[2]], is_closed=True))
