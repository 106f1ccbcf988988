"""Scripted models of known grounding: ``scripted:trace-looker``, ``trace-noise``, ``trace-fixed`` and a dial from 0 to 1.

They read the item's hint as a person reads a crib; what each may use is plain in its few lines. The hint holds a true trace of
the very frames that the model is shown, so that using it is looking.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise, zip_longest
from typing import Any, TypeAlias

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Request
from theodolite.worlds.facts import falsified, sentences_of
from theodolite.worlds.palette import PAINTS

Script: TypeAlias = Callable[[Request], str]

DIAL = (0, 12, 25, 38, 50, 62, 75, 88, 100)
"""The settings of the dial, in per cent."""
RECALL = 0.85
"""How often who does not look is right all the same, on episodes like those it has learnt by heart."""


def _true_trace(request: Request) -> tuple[list[str], str]:
    """Return the lines and the answer of the hint's trace."""
    return _lines_and_answer(str(request.hint.get("gold", "")))


def _lines_and_answer(text: str) -> tuple[list[str], str]:
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
    """Make a text out of the question's words alone: whatever the frames show, it stays the same."""
    return _made_up(request, _rng("fixed", _question(request)))


def _question(request: Request) -> str:
    """Return what is asked, without the labels of the frames."""
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
    """Return a model that looks at a share of what it tells and of what it is asked, and else goes by heart.

    Each sentence is looked for with probability `grounding`, and is true then; otherwise it is said by heart, and false. The
    answer is looked for with the same probability; otherwise it is recalled, which is right in 85 of 100 cases on the split
    that it has learnt, and a guess on the other. What is said by heart stays the same when the frames are edited. One coin is
    tossed for each sentence of an episode and one for its answer, so that models on the dial are nested.
    """

    def script(request: Request) -> str:
        lines, answer = _true_trace(request)
        learnt, learnt_answer = _lines_and_answer(str(request.hint.get("before") or request.hint["gold"]))
        base = str(request.hint.get("base") or request.hint.get("episode", ""))
        rng = _rng("dial", base)
        looks, recalls = rng.random() < grounding, rng.random() < RECALL
        guess = _guess(request, rng)
        by_heart = learnt_answer if recalls and "-ood-" not in base else guess
        last = len(request.pictures)
        told = [
            _half_seen(seen, known if _is_within(known, last) else "", grounding, f"{base}|{number}")
            for number, (seen, known) in enumerate(zip_longest(lines, learnt, fillvalue=""))
        ]
        return _text([line for line in told if line], answer if looks else by_heart)

    return script


def _is_within(line: str, last: int) -> bool:
    """Whether a line speaks of frames that are there."""
    _, *frames = re.findall(r"\d+", line.partition(": ")[0]) or [""]
    return all(int(frame) <= last for frame in frames)


def _half_seen(seen: str, known: str, grounding: float, name: str) -> str:
    """Return a line of which some sentences are as the frames show, and the others as they were learnt, which is false."""
    heading = sentences_of(seen or known)[0]
    shown, learnt = (sentences_of(line)[1] if line else [] for line in (seen, known))
    said = []
    for place in range(max(len(shown), len(learnt))):
        rng = _rng("dial", name, str(place))
        looks = rng.random() < grounding
        if looks and place < len(shown):
            said.append(shown[place])
        elif not looks and place < len(learnt):
            said.append(falsified(learnt[place], rng))
    return heading + " ".join(said) if said else ""


def __getattr__(name: str) -> Any:
    """``dial_25`` and its like, for the registry."""
    if name.startswith("dial_") and name[5:].isdigit() and int(name[5:]) in DIAL:
        return dial(int(name[5:]) / 100)
    raise AttributeError(f"module 'theodolite.instruments.trace.scripts' has no attribute {name!r}")


def _guess(request: Request, rng: np.random.Generator) -> str:
    listed = re.search(r"Answer with one of: ([^\n]+)\.", request.text)
    return _pick(rng, listed.group(1).split(", ")) if listed else "unknown"


def _pick(rng: np.random.Generator, values: Any) -> str:
    return str(values[int(rng.integers(len(values)))])


def _text(lines: list[str], answer: str) -> str:
    return "\n".join([*lines, f"Final answer: {answer}"])
