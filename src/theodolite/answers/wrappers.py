"""What a model wraps its answer in: thinking, tags, boxes, fences, JSON."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from theodolite.answers.assertion import announced
from theodolite.answers.normalise import Words, simple, without_marks, word_set

# The outer layers of a model's text: thoughts, answer tags, boxes, role lines and control tokens.
#
# Tags are recognised by name, in any bracket style, closed or not. A closing tag without an opening one ends a block that began
# in the prompt. An answer tag ends thoughts that were never closed.


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
    visible, body, blocks = _without_tags(shown)
    line, body = ("", body) if blocks else _answer_line(body)
    has_words = _WORD.search(visible) is not None
    if not blocks and not has_words:
        blocks = _without_tags(text)[2]
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


def _without_tags(text: str) -> tuple[str, str, list[_Block]]:
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


# JSON in free text: fenced or not, with drafts, broken or cut off. Linear in the length of the text.
#
# Brackets are matched in one pass. Each outermost value that closes is decoded; what strict JSON does not allow is read by a
# tolerant parser (single quotes, missing quotes and commas, comments, escaped underscores, Python constants).


Json: TypeAlias = dict[str, Any] | list[Any]

_OPEN = r"""(?P<open>\{(?=\s{0,20}(?:["'{}]|//|[\w ]{1,40}:|$))|\[(?=\s{0,20}(?:["'{\[\]\d.-]|\w{1,40}[,\]]|$)))"""
"""A bracket that is followed by something that JSON may begin with."""
_OPENING = re.compile(_OPEN)
_BRACKET = re.compile(_OPEN + r"""|(?P<close>[}\]])|"(?:[^"\\\n]|\\.)*+"?""")
_ESCAPED = re.compile(r"\\([_\-*#\[\]{}.])")
_PIECE = re.compile(
    r"""(?P<comment>//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|\#[^\n]*+)|(?P<mark>[{}\[\]:,])"""
    r"""|"(?P<double>(?:[^"\\\n]|\\.)*+)(?P<closed>")?|'(?P<single>(?:[^'\\\n]|\\.|'(?!\s*+[,:}\]\n]))*+)(?P<ended>')?"""
    r"""|(?P<bare>[^\s{}\[\]:,"']+)"""
)
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "nan": math.nan, "infinity": math.inf}
_DEEPEST = 64
"""Values nested more deeply are left out."""
_LONGEST_INT = 18
"""Longer whole numbers become floats, which may be infinite, so that no later conversion fails."""


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value found in a text.

    Attributes:
        value: A table or a list.
        is_complete: True if its last bracket was closed.
        is_repaired: True if it is no valid JSON as it stands.
    """

    value: Json
    is_complete: bool = True
    is_repaired: bool = False


def json_values(text: str) -> list[JsonValue]:
    r"""The tables and lists in a text, the most likely answer first.

    The last complete value comes first, since drafts come before the final version; then a value that was cut off; then
    the complete parts of that value.

    >>> [found.value for found in json_values('Draft: {"a": 1} Final: ```json\n{"a": 2, "dist\\_to\\_cam": 3}\n```')]
    [{'a': 2, 'dist_to_cam': 3}, {'a': 1}]
    >>> json_values('{"id": 1, "size": [2, 3')
    [JsonValue(value={'id': 1, 'size': [2]}, is_complete=False, is_repaired=True)]
    """
    spans, unclosed = _spans(text)
    decoded = [(start, value) for start, end in reversed(spans) if (value := _decoded(text[start:end]))]
    found = [value for start, value in decoded if start < unclosed]
    if unclosed < len(text) and (cut := _Mender(text[unclosed:]).value) is not None:
        found.append(JsonValue(cut, is_complete=False, is_repaired=True))
    return found + [value for start, value in decoded if start > unclosed]


def _spans(text: str) -> tuple[list[tuple[int, int]], int]:
    """The outermost bracketed parts that close, and where one begins that never closes (else the text's length)."""
    opened: list[tuple[str, int, int]] = []
    closed: list[tuple[int, int]] = []
    deepest = place = 0
    while match := (_BRACKET if opened else _OPENING).search(text, place):
        mark, place = match.group(), match.end()
        if match["open"]:
            deepest = max(deepest, len(opened) + 1) if opened else 1
            opened.append(("}" if mark == "{" else "]", match.start(), len(closed)))
        elif match["close"] and opened[-1][0] == mark:
            _, start, inner = opened.pop()
            del closed[inner:]
            if deepest - len(opened) <= _DEEPEST:
                closed.append((start, match.end()))
    return closed, opened[0][1] if opened else len(text)


def _decoded(part: str) -> JsonValue | None:
    for candidate in dict.fromkeys((part, _ESCAPED.sub(r"\1", part))):
        try:
            return JsonValue(json.loads(candidate, parse_int=_whole), is_repaired=candidate != part)
        except (ValueError, RecursionError):
            continue
    value = _Mender(part).value
    return None if value is None else JsonValue(value, is_repaired=True)


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


class _Mender:
    """Reads broken JSON: what is missing is put in, what makes no sense is skipped."""

    def __init__(self, part: str) -> None:
        self.value: Json | None = None
        self._open: list[Json] = []
        self._keys: list[str | None] = []
        self._words: list[Any] = []
        self._too_deep = 0
        for match in _PIECE.finditer(_ESCAPED.sub(r"\1", part)):
            if match["mark"]:
                self._put_words()
                self._turn(match["mark"])
            elif not match["comment"]:
                self._add(match)
            if self.value is not None and not self._open:
                break

    def _add(self, match: re.Match[str]) -> None:
        """Adds a word or a string. One that ends with the text may have been cut off and is left out."""
        bare = match["bare"]
        if bare is None:
            self._put_words()
        if match.end() < len(match.string) or match["closed"] or match["ended"]:
            self._words.append(
                _bare_value(bare)
                if bare
                else re.sub(r"\\(.)", r"\1", match["double"] or match["single"] or "")
            )
        if bare is None:
            self._put_words()

    def _put_words(self) -> None:
        """Several bare words in a row are one string."""
        if self._words:
            self._put(self._words[0] if len(self._words) == 1 else " ".join(map(str, self._words)))
            self._words = []

    def _put(self, value: Any) -> None:
        container = self._open[-1] if self._open else None
        if isinstance(container, list):
            container.append(value)
        elif container is not None and self._keys[-1] is None:
            self._keys[-1] = "" if isinstance(value, dict | list) else str(value)
        elif container is not None:
            container[self._keys[-1] or ""], self._keys[-1] = value, None

    def _turn(self, mark: str) -> None:
        if mark in "{[" and (self._too_deep or len(self._open) >= _DEEPEST):
            self._too_deep += 1
        elif mark in "{[":
            new: Json = {} if mark == "{" else []
            self._put(new)
            self.value = new if self.value is None else self.value
            self._open.append(new)
            self._keys.append(None)
        elif mark in "}]" and self._too_deep:
            self._too_deep -= 1
        elif mark in "}]":
            self._open.pop()
            self._keys.pop()


def _bare_value(word: str) -> Any:
    if word.lower() in _CONSTANTS:
        return _CONSTANTS[word.lower()]
    try:
        return _whole(word) if word.lstrip("-").isdecimal() else float(word)
    except ValueError:
        return word
