"""Scripted models of known grounding: ``scripted:trace-looker``, ``trace-noise``, ``trace-fixed`` and a dial from 0 to 1.

They read the item's hint, which holds a true trace of the frames shown to the model: using the hint simulates looking.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise, zip_longest
from typing import Any, TypeAlias, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Request
from theodolite.instruments.trace.claims.extractors import answer_of
from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.types import Step, Trace
from theodolite.worlds.facts import falsified, sentences_of
from theodolite.worlds.palette import PAINTS

Script: TypeAlias = Callable[[Request], str]

DIAL = (0, 12, 25, 38, 50, 62, 75, 88, 100)
"""The settings of the dial, in per cent."""
RECALL = 0.85
"""How often who does not look is right all the same, on episodes like those it has learnt by heart."""


def _true_trace(request: Request) -> tuple[list[str], str]:
    """Return the lines and the answer of the hint's true trace."""
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
    """Describe what the frames show."""
    lines, answer = _true_trace(request)
    return _text(lines, answer)


def noise(request: Request) -> str:
    """Describe the objects that the question names, choosing each statement at random, anew for every request."""
    return _made_up(request, _rng("noise", request.digest))


def fixed(request: Request) -> str:
    """Write a text from the words of the question alone, whatever the frames show."""
    return _made_up(request, _rng("fixed", _question(request)))


def _question(request: Request) -> str:
    """Return the question, without the labels of the frames."""
    return re.sub(r"Frame \d+ \([^)]*\):", "", request.text).strip()


def _made_up(request: Request, rng: np.random.Generator) -> str:
    names = list(dict.fromkeys(re.findall(rf"\b(?:{'|'.join(PAINTS)}) [a-z]+", _question(request))))[:3]
    lines = []
    for frame in range(1, len(request.pictures) + 1):
        sentences = [f"The {name} is on my {_pick(rng, ('left', 'right'))}." for name in names]
        sentences += [f"The {a} is {_pick(rng, ('left', 'right'))} of the {b}." for a, b in pairwise(names)]
        sentences.append(_pick(rng, ("I turn left.", "I turn right.", "I move forward.")))
        lines.append(f"Step {frame} (frame {frame}): {' '.join(sentences)}")
    return _text(lines, _guess(request, rng))


def dial(grounding: float) -> Script:
    """Return a model that uses the frames for a share of its sentences and answers, and otherwise a learnt prior.

    Each sentence is taken from the frames with probability `grounding`, and is then true; otherwise it is recalled, and false.
    The answer is taken from the frames with the same probability; otherwise it is recalled, which is right in 85 of 100 cases on
    the split that the model has learnt, and a guess on the other. Recalled sentences do not change when the frames are edited.
    One random number is drawn for each sentence of an episode and one for its answer, so that models on the dial are nested.
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
        described = [
            _half_seen(seen, known if _is_within(known, last) else "", grounding, f"{base}|{number}")
            for number, (seen, known) in enumerate(zip_longest(lines, learnt, fillvalue=""))
        ]
        return _text([line for line in described if line], answer if looks else by_heart)

    return script


def _is_within(line: str, last: int) -> bool:
    """Return whether a line is about a frame up to the last one."""
    _, *frames = re.findall(r"\d+", line.partition(": ")[0]) or [""]
    return all(int(frame) <= last for frame in frames)


def _half_seen(seen: str, known: str, grounding: float, name: str) -> str:
    """Return a line of which some sentences are true of the frames, and the others are recalled, which makes them false."""
    heading = sentences_of(seen or known)[0]
    shown, learnt = (sentences_of(line)[1] if line else [] for line in (seen, known))
    sentences = []
    for index in range(max(len(shown), len(learnt))):
        rng = _rng("dial", name, str(index))
        looks = rng.random() < grounding
        if looks and index < len(shown):
            sentences.append(shown[index])
        elif not looks and index < len(learnt):
            sentences.append(falsified(learnt[index], rng))
    return heading + " ".join(sentences) if sentences else ""


def __getattr__(name: str) -> Any:
    """Return ``dial_25`` and the like, for the registry."""
    if name.startswith("dial_") and name[5:].isdigit() and int(name[5:]) in DIAL:
        return dial(int(name[5:]) / 100)
    raise AttributeError(f"module 'theodolite.instruments.trace.scripts' has no attribute {name!r}")


def extractor(request: Request) -> str:
    """Extract the claims of a trace as our rules do."""
    steps = tuple(Step(text) for text in cast("list[str]", request.hint.get("steps", [])))
    (found,) = with_claims([Trace("", steps)])
    claims = [
        (index, claim) for index, step in enumerate(found.steps) for claim in step.claims if not claim.is_part
    ]
    return answer_of([(i, c) for i, c in claims if c.kind != "unread"], [step.text for step in steps])


def judge(request: Request) -> str:
    """Judge a claim by the annotation; where it is silent, say that the claim is supported and its opposite is not."""
    return str(request.hint.get("gold", "cannot tell"))


def yes(_: Request) -> str:
    """Call every claim supported."""
    return "supported"


def _guess(request: Request, rng: np.random.Generator) -> str:
    listed = re.search(r"Answer with one of: ([^\n]+)\.", request.text)
    return _pick(rng, listed.group(1).split(", ")) if listed else "unknown"


def _pick(rng: np.random.Generator, values: Any) -> str:
    return str(values[int(rng.integers(len(values)))])


def _text(lines: list[str], answer: str) -> str:
    return "\n".join([*lines, f"Final answer: {answer}"])
