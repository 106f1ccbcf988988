"""Finds the frames that a step is about: by number, by time, by words of order, else by its position among the steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theodolite.instruments.trace.claims.types import Alignment, Step
from theodolite.instruments.trace.data.episode import Episode

_FRAMES = re.compile(
    r"\bframes?\s*(?:no\.?|number|#)?\s*(\d+)(?:\s*(-|–|—|to|through|and|&)\s*(?:frame\s*)?#?(\d+))?",
    re.IGNORECASE,
)
_ORDINALS = {
    word: i
    for i, word in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    )
}
_ORDINAL_FRAME = re.compile(
    rf"\b({'|'.join(_ORDINALS)}|last|final)\s+(?:few\s+)?(?:frame|image|picture)s?\b", re.IGNORECASE
)
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):(\d{2}(?:\.\d+)?)(?![\d:])")
_SECONDS = re.compile(
    r"\b(?:(?:from|between)\s+)?(\d+(?:\.\d+)?)\s*(?:s|sec|secs|seconds?)?\s*(?:-|–|to|and|until)\s*(\d+(?:\.\d+)?)\s*(?:s|sec|secs|seconds?)\b"
    r"|\b(\d+(?:\.\d+)?)\s*(?:s|sec|secs|seconds?)\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(throughout|in (?:all|every|each) (?:of the )?frames?|the (?:whole|entire) (?:time|video|clip|sequence)|at all times|always)\b",
    re.IGNORECASE,
)
_START = re.compile(
    r"^\W*(?:(?:at|in) the (?:very )?(?:beginning|start|outset)|initially|to begin with|at first|first(?:ly)?)\b|\bat the (?:beginning|start)\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"^\W*(?:(?:at|in) the (?:very )?end|finally|lastly|in conclusion|ultimately|eventually)\b|\bat the end\b",
    re.IGNORECASE,
)
_MIDDLE = re.compile(r"\b(?:halfway|midway|in the middle of the (?:video|clip|sequence))\b", re.IGNORECASE)
_NEXT = re.compile(
    r"^\W*(?:then|next|after (?:that|this|which)|afterwards?|subsequently|later|now|following (?:that|this))\b",
    re.IGNORECASE,
)


MOST_CHARACTERS = 4000
"""The longest step that is read, about 650 words. Longer ones are cut, which is reported: parsing time is quadratic."""
_MOST_DIGITS = 10
"""Of a frame number that are read."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """The frames of one step, and how they were found."""

    frames: tuple[int, ...]
    how: Alignment
    problem: str = ""


def align(texts: Sequence[str], episode: Episode) -> list[Aligned]:
    """Finds the frames of each step, in order.

    A frame number is preferred to a time, a time to a word of order, and that to the position. *Then* means the frame after
    those of the previous step. By position, step i of n takes the frames from ⌊iF/n⌋ to ⌈(i+1)F/n⌉ − 1 of F.

    >>> from theodolite.instruments.trace.data.episode import Episode, Frame
    >>> episode = Episode("e", "?", tuple(Frame(float(t)) for t in range(6)))
    >>> [a.frames for a in align(["In frame 2 it falls.", "Then it rolls.", "At 4 s it stops.", "At the end it is gone."], episode)]
    [(1,), (2,), (4,), (5,)]
    """
    found: list[Aligned] = []
    for place, text in enumerate(texts):
        before = found[-1].frames if found else ()
        found.append(_align(text, episode, place=place, of=len(texts), before=before))
    return found


def align_steps(texts: Sequence[str], episode: Episode) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Steps with their frames, and the problems found.

    >>> from theodolite.instruments.trace.data.episode import Episode, Frame
    >>> steps, problems = align_steps(["A cup. " * 1000], Episode("e", "?", (Frame(0.0),)))
    >>> len(steps[0].text), problems
    (4000, ('step 1: 7000 characters; only the first 4000 are read',))
    """
    kept = [text[:MOST_CHARACTERS] for text in texts]
    aligned = align(kept, episode)
    steps = tuple(Step(text, a.frames, a.how) for text, a in zip(kept, aligned, strict=True))
    problems = []
    for number, (text, found) in enumerate(zip(texts, aligned, strict=True), 1):
        if len(text) > MOST_CHARACTERS:
            problems.append(
                f"step {number}: {len(text)} characters; only the first {MOST_CHARACTERS} are read"
            )
        if found.problem:
            problems.append(f"step {number}: {found.problem}")
    return steps, tuple(problems)


def _align(text: str, episode: Episode, *, place: int, of: int, before: tuple[int, ...]) -> Aligned:
    n = len(episode.frames)
    problem = ""
    by_number, wrong = _by_number(text, episode)
    if by_number:
        return Aligned(by_number, "index", wrong)
    problem = wrong
    by_time, late = _by_time(text, episode)
    if by_time:
        return Aligned(by_time, "time", problem or late)
    problem = problem or late
    if _WHOLE.search(text):
        return Aligned(tuple(range(n)), "whole", problem)
    by_order = _by_order(text, n, before)
    if by_order:
        return Aligned(by_order, "order", problem)
    first = place * n // of
    last = max(first, -(-(place + 1) * n // of) - 1)
    return Aligned(tuple(range(min(first, n - 1), min(last, n - 1) + 1)), "position", problem)


def _by_number(text: str, episode: Episode) -> tuple[tuple[int, ...], str]:
    """Frames named by number: counted from 1, or by the data set's own numbers if there are fewer frames."""
    n = len(episode.frames)
    own = {frame.number: place for place, frame in enumerate(episode.frames) if frame.number is not None}
    found: set[int] = set()
    wrong = ""
    for match in _FRAMES.finditer(text):
        first, joint, last = match.groups()
        ends = [int(end[:_MOST_DIGITS]) for end in (first, last) if end]
        is_range = joint not in {"and", "&"}
        if all(1 <= end <= n for end in ends):
            found.update(range(min(ends) - 1, max(ends)) if is_range else (end - 1 for end in ends))
        elif all(end in own for end in ends):
            places = [own[end] for end in ends]
            found.update(range(min(places), max(places) + 1) if is_range else places)
        else:
            wrong = f"names frame {max(ends)}, but there are {n}"
    for match in _ORDINAL_FRAME.finditer(text):
        word = match.group(1).casefold()
        place = n - 1 if word in {"last", "final"} else _ORDINALS[word]
        if place < n:
            found.add(place)
        else:
            wrong = f"names the {word} frame, but there are {n}"
    return tuple(sorted(found)), wrong


def _by_time(text: str, episode: Episode) -> tuple[tuple[int, ...], str]:
    """Frames that cover a timestamp. A frame covers the time until the next one."""
    spans: list[tuple[float, float]] = []
    for match in _CLOCK.finditer(text):
        at = 60 * int(match.group(1)) + float(match.group(2))
        spans.append((at, at))
    for match in _SECONDS.finditer(text):
        start, end, single = match.groups()
        spans.append((float(single), float(single)) if single else (float(start), float(end)))
    first, last = episode.frames[0].time_s, episode.frames[-1].time_s
    step = (last - first) / max(1, len(episode.frames) - 1)
    slack = 0.05 * step  # a written time is rounded: 0.33 s means the frame at 1/3 s
    inside = [(a, b) for a, b in spans if first - step <= a <= last + 2 * step]
    frames = {
        i
        for a, b in inside
        for i, frame in enumerate(episode.frames)
        if frame.time_s <= max(b, first) + slack and episode.until_s(i) > a + slack
    }
    late = (
        f"names {max(a for a, _ in spans):g} s, but the last frame is at {last:g} s"
        if spans and not inside
        else ""
    )
    return tuple(sorted(frames)), late


def _by_order(text: str, n: int, before: tuple[int, ...]) -> tuple[int, ...]:
    if _END.search(text):
        return (n - 1,)
    if _START.search(text):
        return (0,)
    if _MIDDLE.search(text):
        return (n // 2,)
    if _NEXT.search(text) and before:
        return (min(max(before) + 1, n - 1),)
    return ()
