"""Scripted models of known grounding: ``scripted:trace-looker``, ``trace-noise``, ``trace-fixed`` and a dial from 0 to 1.

They read the item's hint as a person reads a crib; what each may use is plain in its few lines. The hint holds a true trace of
the very frames that the model is shown, so that using it is looking.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from theodolite.errors import UsageError
from theodolite.trace._worlds._facts import falsified, sentences_of
from theodolite.trace._worlds._palette import PAINTS
from theodolite.types import Request

Script: TypeAlias = Callable[[Request], str]

DIAL = (0, 12, 25, 38, 50, 62, 75, 88, 100)
"""The settings of the dial, in per cent."""
RECALL = 0.85
"""How often who does not look is right all the same, on episodes like those it has learnt by heart."""


def _true_trace(request: Request) -> tuple[list[str], str]:
    """The lines and the answer of the hint's trace."""
    text = str(request.hint.get("gold", ""))
    *lines, last = text.splitlines() or [""]
    if "Step 1" not in text or not last.startswith("Final answer:"):
        raise UsageError(
            "the scripted models of traces need episodes that carry a true trace: those of `theodolite trace make`"
        )
    return lines, last.partition(": ")[2]


def _rng(*words: str) -> np.random.Generator:
    return np.random.default_rng(list("|".join(words).encode()))


def looker(request: Request) -> str:
    """Tells what the frames show."""
    lines, answer = _true_trace(request)
    return _text(lines, answer)


def noise(request: Request) -> str:
    """Tells of the things that the question names, tossing a coin for each statement, anew for every request."""
    return _made_up(request, _rng("noise", request.digest))


def fixed(request: Request) -> str:
    """Makes a text out of the question's words alone: whatever the frames show, it stays the same."""
    return _made_up(request, _rng("fixed", _question(request)))


def _question(request: Request) -> str:
    """What is asked, without the labels of the frames."""
    return re.sub(r"Frame \d+ \([^)]*\):", "", request.text).strip()


def _made_up(request: Request, rng: np.random.Generator) -> str:
    names = list(dict.fromkeys(re.findall(rf"\b(?:{'|'.join(PAINTS)}) [a-z]+", _question(request))))[:3]
    lines = []
    for frame in range(1, len(request.pictures) + 1):
        said = [f"The {name} is on my {_pick(rng, ('left', 'right'))}." for name in names]
        said += [f"The {a} is {_pick(rng, ('left', 'right'))} of the {b}." for a, b in pairwise(names)]
        said.append(_pick(rng, ("I turn left.", "I turn right.", "I move forward.")))
        lines.append(f"Step {frame} (frame {frame}): {' '.join(said)}")
    return _text(lines, _guess(request, rng))


def dial(grounding: float) -> Script:
    """A model that looks at a share of what it tells and of what it is asked, and else goes by heart.

    Each sentence is true with probability `grounding`, and false otherwise. The answer is looked for with the same
    probability; otherwise it is recalled, which is right in 85 of 100 cases on the split that it has learnt, and a guess
    on the other. One coin is tossed per episode for the answer, so that models on the dial are nested.
    """

    def script(request: Request) -> str:
        lines, answer = _true_trace(request)
        rng = _rng("dial", str(request.hint.get("episode", "")))
        looks, recalls = rng.random() < grounding, rng.random() < RECALL
        is_known = "-ood-" not in str(request.hint.get("episode", ""))
        said = answer if looks or (is_known and recalls) else _guess(request, rng)
        return _text([_corrupted(line, 1 - grounding, rng) for line in lines], said)

    return script


def __getattr__(name: str) -> Any:
    """``dial_25`` and its like, for the registry."""
    if name.startswith("dial_") and name[5:].isdigit() and int(name[5:]) in DIAL:
        return dial(int(name[5:]) / 100)
    raise AttributeError(f"module 'theodolite.trace.scripts' has no attribute {name!r}")


def _corrupted(line: str, share: float, rng: np.random.Generator) -> str:
    heading, sentences = sentences_of(line)
    return heading + " ".join(falsified(s, rng) if rng.random() < share else s for s in sentences)


def _guess(request: Request, rng: np.random.Generator) -> str:
    listed = re.search(r"Answer with one of: ([^\n]+)\.", request.text)
    return _pick(rng, listed.group(1).split(", ")) if listed else "unknown"


def _pick(rng: np.random.Generator, values: Any) -> str:
    return str(values[int(rng.integers(len(values)))])


def _text(lines: list[str], answer: str) -> str:
    return "\n".join([*lines, f"Final answer: {answer}"])
