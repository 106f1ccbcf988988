"""How a model is asked to reason in the open. Needs nothing but the standard library.

Every prompt numbers the frames from 1 and says when each was taken, so that steps can be matched with frames again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError

Style: TypeAlias = Literal["structured", "minimal", "neutral", "verbose", "natural", "lite"]
"""``structured``: numbered steps, each with its frame. ``minimal``, ``neutral``, ``verbose``: the same wish in few, plain
and many words. ``natural``: the bare question. ``lite``: what is believed at each frame, with no explanation (SGR-lite)."""

STYLES: tuple[Style, ...] = get_args(Style)

_WISHES: dict[Style, str] = {
    "structured": (
        "Work it out in numbered steps, in the order of the frames. Begin each step with 'Step <number> (frame <number>):' and"
        " say in one or two short sentences only what that frame shows: which things there are, what they look like, where"
        " they are, what happens. Then write 'Final answer:' and the answer."
    ),
    "minimal": "Think step by step, then write 'Final answer:' and the answer.",
    "neutral": (
        "Describe what you see in the frames, one step at a time, and say which frame each step is about. End with a line that"
        " begins with 'Final answer:'."
    ),
    "verbose": (
        "Reason as carefully and as fully as you can. Go through the frames one after the other. For each of them write a step"
        " that begins with 'Step <number> (frame <number>):' and describe all visible things with their colours, their"
        " number, their places relative to each other and to you, their states, what is happening, what has changed since the"
        " frame before, and what that means for the task. Check each observation against the frame before you write it down."
        " When every frame has been described, draw your conclusion and write it after the words 'Final answer:'."
    ),
    "natural": "",
    "lite": (
        "For each frame write one line 'Frame <number>:' followed by what you believe to be the case at that moment, as short"
        " statements separated by semicolons. Give no reasons and no explanations. Then write 'Final answer:' and the answer."
    ),
}


def trace_prompt(task: str, *, style: Style = "structured", options: Sequence[str] = ()) -> str:
    """What is asked after the frames have been shown.

    >>> print(trace_prompt("Which way did you turn?", style="natural", options=("left", "right")))
    Which way did you turn?
    Answer with one of: left, right.
    """
    if style not in STYLES:
        raise UsageError(f"there is no prompt style {style!r}; there are {', '.join(STYLES)}")
    choices = f"Answer with one of: {', '.join(options)}." if options else ""
    return "\n".join(part for part in (task, choices, _WISHES[style]) if part)


def frame_label(index: int, time_s: float) -> str:
    """What stands before a frame.

    >>> frame_label(0, 2.5)
    'Frame 1 (2.5 s):'
    """
    return f"Frame {index + 1} ({time_s:g} s):"
