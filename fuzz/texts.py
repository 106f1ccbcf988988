"""Texts as models write them, by a small grammar or as recorded, and what they become by mutation."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Recorded answers of real models lie beside the checkout. Without them only the grammar is used."""
LONGEST = 200_000
_SLOT = re.compile(r"\$(\w+)")
_DEEPEST = 8

GRAMMAR: dict[str, tuple[str, ...]] = {
    "answer": (
        *("$value", "$value.", "**$value**", "($letter) $text", "$letter: $text", "$announce $value.", "$refusal", "$none"),
        *("$reason $announce $value.", "<think>$reason</think>$answer", "$reason</think>$answer", "<think>$reason"),
        *("$open$value$close", "$reason\n$open$value$close", "$value or $value?", "Not $text but $text.", "$list\n$answer"),
        *("$value. Wait, $answer", "assistant: $answer", "```\n$answer\n```", '{"answer": "$value"}', "$$\\boxed{$value}$$"),
        *("$graph", "$trace", "$answer\n$answer", "$text, because $reason", "A: $text\nB: $text\nC: $text\n$announce"),
    ),
    "value": ("$letter", "$text", "$number", "$number $unit", "$word", "yes", "no", "$count"),
    "letter": tuple("ABCDE01234"),
    "text": (
        *("to the left", "to the right", "above", "below", "front left", "behind and to the right", "object $count"),
        *("the $noun", "lamp", "potted plant", "the same", "object 3, object 1", "Clockwise rotation", "Took the phone/camera."),
    ),
    "number": ("$count", "$count.$count", ".5", "1/$count", "2½", "$count,$count", "1.5e$count", "$count ± 0.3", "3×10^{$count}"),
    "count": ("0", "1", "2", "3", "7", "12", "three", "twenty-five", "a dozen", "none", "②", "٣", "¾"),
    "unit": ("m", "cm", "metres", "feet", "ft 3 in", "mm", "°", "米", "m²", "s"),
    "word": ("left", "right", "up", "clockwise", "north", "red", "unknown", "both", "neither"),
    "noun": ("cup", "red ball", "man", "blue box", "door", "table", "remote control", "cat and the dog", "phone/camera"),
    "announce": ("The answer is", "Answer:", "Final answer:", "ANSWER:\n", "So the answer is", "I choose", "### Answer\n", "Therefore,"),
    "refusal": ("I'm sorry, I cannot see the image.", "There is no picture.", "As an AI language model, I can't tell."),
    "none": ("None of the provided options.", "Neither A nor B.", "N/A"),
    "open": ("<answer>", "<ans>", "[ANSWER]", "<|begin_of_box|>", "<final answer>", "<answer type='x'>"),
    "close": ("</answer>", "</ans>", "", "<|end_of_box|>", "</final>"),
    "reason": ("$sentence", "$sentence $reason", "$sentence\n$list", "Let me think. $sentence"),
    "list": ("1. $sentence\n2. $sentence", "- $sentence\n- $sentence", "* $text\n* $text", "Step 1: $sentence\nStep 2: $sentence"),
    "sentence": (
        *("The $noun is $text of the $noun.", "In frame $count, a $noun moves $word.", "If it is not $text, it may be $text."),
        *("There are $count ${noun}s on the $noun.", "At 0:0$count the man holding a $noun is standing near the $noun."),
        *("It is about $number $unit away, i.e. $number $unit.", "I turn $word and see no $noun.", "$noun > $noun = $number"),
        *("First, the $noun falls; then it rolls to the $noun, while the $noun and the $noun watch.", "Is it $text?"),
    ),
    "trace": (
        "Step 1 (frame 1): $sentence\nStep 2 (frame $count): $sentence\nFinal answer: $value",
        '{"steps": [{"frame": $count, "text": "$sentence"}, "$sentence"], "answer": "$value"}',
        "Frame 1: $sentence\nFrame 2-3: $sentence\n$announce $value",
        "[0:01] $sentence\n[0:02] $sentence\n$value",
    ),
    "graph": (
        '{"objects": [$node, $node], "edges": [$edge, $edge]}',
        '```json\n{"objects": {"1": $node, "2": $node}, "edges": [$edge]}\n```',
        '{"scene": {"nodes": [$node, $node, $node], "relationships": [$edge]}}',
        "{'objects': [$node], 'edges': [$edge",
        "[$node, $node, $node]",
    ),
    "node": (
        '{"id": $count, "dist_to_cam": $number, "size": [$number, $number, $number]}',
        '{"id": "object $count", "dist\\_to\\_cam": "$number $unit", "size": {"w": $number, "l": "$number", "h": null}}',
        '{"label": "$noun", "distance": NaN, "size": "$number x $number x $number"}',
    ),
    "edge": (
        '{"from": 1, "to": $count, "distance": $number, "relation": ["$word", "$text"]}',
        '{"source": $count, "target": 1, "dist": "$number m", "relation": {"left": true, "up": 0}}',
        '{"to": $count, "relation": "$text and $word"}',
    ),
}  # fmt: skip
PIECES: tuple[str, ...] = (
    *("×10^{99999}", '{"', '{"a":', "answer:\n", "not left ", "#", "{", "}", "[", "(", ")", "<", ">", "=", "*", "_", "'", '"', "\\"),
    *("1" * 400, '{"objects":[{"id":' + "9" * 400, "1e" + "9" * 50, "1e5000", "-0", "1/0", "5 ft 3 İn", "½", "²", "①", "Ⅷ", "٣", "𝟛"),
    *("<b>", "</b>", "<answer>", "</answer>", "<think>", "</think>", "<|im_start|>", "◁think▷", "[THINK]", "\\boxed{", "\\frac{1}{2}"),
    *("\u0301", "\u200b", "\u202e", "\u2066", "\ufeff", "\x00", "\x1b[31m", "\ud800", "\udfff", "ﷺ", "İ", "ſ", "ß", "Ǆ", "🏳️‍🌈", "क्ष"),
    *("```json\n", "//", "/*", "# ", "''s", "n't", "...", "; ", "\n\n", "\t", "\r", "\u2028", "\x85", " and ", " or ", "step 1: "),
    *("frame 99999999999999999999 ", "0:99 ", "1-", "http://a.b/c?d=e&", "a@b.c", "a/b/", "USER: ", "wait, ", "none of ", "INF", "NaN"),
    *("<script>alert(1)</script>", '" onmouseover="alert(1)', "{{7*7}}", "${x}", "%s", "__class__", "../../x", "'; DROP TABLE x; --"),
    *("true", "null", "None", "-1e400", '":', '",', "],", "},", "object 3", "0x1F", "1_000", "१२", "，", "：", "一二三"),
)  # fmt: skip


def expand(rng: random.Random, symbol: str = "answer", depth: int = 0) -> str:
    """Return a text of the grammar. At the greatest depth, the first and simplest form is used."""
    forms = GRAMMAR[symbol]
    form = forms[0] if depth > _DEEPEST else rng.choice(forms)
    return _SLOT.sub(
        lambda slot: expand(rng, slot[1], depth + 1) if slot[1] in GRAMMAR else slot[0], form
    ).replace("$$", "$")


@cache
def recorded() -> tuple[str, ...]:
    """Return the recorded texts of real models; empty if there are none."""
    if not DATA.is_dir():
        return ()
    texts = [row["text"] for row in _rows(DATA / "real_answers.jsonl")]
    for row in json.loads((DATA / "whatsup_llava15" / "results.json").read_text(encoding="utf-8")):
        texts += [str(row[key]) for key in ("answer", "scene_graph") if row.get(key)]
    for row in _rows(DATA / "star" / "video_llava_traces.jsonl"):
        texts += [row[key] for key in ("targets", "object_descriptions", "action_analysis") if row.get(key)]
    return tuple(dict.fromkeys(texts))


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def text(rng: random.Random) -> str:
    """Return one input: a text of the grammar, a recorded one or only hostile pieces; usually mutated."""
    kind = rng.random()
    if kind < 0.3 and recorded():
        sample = rng.choice(recorded())
    elif kind < 0.9:
        sample = expand(rng)
    else:
        sample = rng.choice(("", " ")).join(rng.choice(PIECES) for _ in range(rng.randint(0, 30)))
    while rng.random() < 0.6:
        sample = rng.choice(MUTATIONS)(rng, sample)
    return sample


def _places(rng: random.Random, sample: str) -> tuple[int, int]:
    first = rng.randint(0, len(sample))
    return first, min(len(sample), first + int(rng.expovariate(1 / 12)))


def _splice(rng: random.Random, sample: str) -> str:
    other = rng.choice(recorded()) if recorded() and rng.random() < 0.5 else expand(rng)
    return sample[: rng.randint(0, len(sample))] + other[rng.randint(0, len(other)) :]


def _duplicate(rng: random.Random, sample: str) -> str:
    first, end = _places(rng, sample)
    return sample[:end] + sample[first:end] * rng.randint(1, 4) + sample[end:]


def _delete(rng: random.Random, sample: str) -> str:
    first, end = _places(rng, sample)
    return sample[:first] + sample[end:]


def _swap(rng: random.Random, sample: str) -> str:
    """Replace a few characters by random ones."""
    chars = list(sample)
    for _ in range(min(len(chars), rng.randint(1, 5))):
        is_near = rng.random() < 0.5
        chars[rng.randrange(len(chars))] = chr(rng.randint(1, 0x2FF) if is_near else rng.randrange(0x110000))
    return "".join(chars)


def _insert(rng: random.Random, sample: str) -> str:
    position = rng.randint(0, len(sample))
    return sample[:position] + rng.choice(PIECES) + sample[position:]


def _repeat(rng: random.Random, sample: str) -> str:
    """Repeat a piece several times, occasionally up to the maximum length."""
    piece = rng.choice((*PIECES, sample[:40] or " ", expand(rng, "sentence")))
    times = LONGEST // len(piece) if rng.random() < 4e-4 else rng.randint(2, 60)
    position = rng.randint(0, len(sample))
    return (sample[:position] + piece * times + sample[position:])[:LONGEST]


def _cut(rng: random.Random, sample: str) -> str:
    return sample[: rng.randint(0, len(sample))]


def _wrap(rng: random.Random, sample: str) -> str:
    before, after = rng.choice(
        (
            ("{", "}"),
            ("[", "]"),
            ("<answer>", "</answer>"),
            ("<think>", "</think>"),
            ('{"a":', "}"),
            ("(", ")"),
        )
    )
    times = rng.choice((1, 1, 2, 3, 80))
    return before * times + sample + after * rng.choice((times, times, 0))


def _shuffle(rng: random.Random, sample: str) -> str:
    words = sample.split(" ")
    rng.shuffle(words)
    return " ".join(words)


MUTATIONS: Sequence[Callable[[random.Random, str], str]] = (
    _splice, _duplicate, _delete, _swap, _insert, _repeat, _cut, _wrap, _shuffle,
)  # fmt: skip
