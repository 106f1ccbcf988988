"""True traces whose steps say in different ways when they are: to find out how often alignment finds their frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import read_trace
from theodolite.instruments.trace.claims.types import Trace
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.data.worlds.facts import facts_at
from theodolite.instruments.trace.experiments.alignment import AlignmentScore, alignment_accuracy

Cue: TypeAlias = Literal["frame number", "time", "words of order", "place, every frame", "place, some frames"]
"""What tells when a step is: *Frame 3: …*; *At 1.8 s, …*; *First*, *Then*, *Finally*; nothing but its place among the steps, where
each frame has a step; the same where only half of the frames have one."""

CUES: tuple[Cue, ...] = get_args(Cue)


@dataclass(frozen=True, slots=True)
class CueScore:
    """How well steps with one kind of cue are aligned."""

    cue: Cue
    score: AlignmentScore
    n_steps: int


def telling(episode: Episode, cue: Cue, *, rng: np.random.Generator) -> tuple[Trace, list[tuple[int, ...]]]:
    """A true trace of an episode with one kind of cue, as it is read back, and the frames that its steps were written of.

    With numbers and times, as with some frames, half of the frames have a step; words of order and bare places take all.
    """
    told = [f for f in range(len(episode.frames)) if facts_at(episode, f)]
    if cue in {"frame number", "time", "place, some frames"}:
        chosen = rng.permutation(len(told))[
            : max(2, len(told) // 2)
        ]  # a single line would be no list of steps
        told = [told[int(i)] for i in sorted(chosen)]
    elif cue == "words of order":
        told = list(range(len(episode.frames)))  # *then* means the next frame, so none is left out
    lines = [_line(episode, cue, frame, i, len(told)) for i, frame in enumerate(told)]
    text = "\n".join([*lines, f"Final answer: {episode.answer}"])
    return read_trace(text, episode), [(frame,) for frame in told]


def _line(episode: Episode, cue: Cue, frame: int, place: int, of: int) -> str:
    said = " ".join(facts_at(episode, frame)) or "Nothing changes."
    match cue:
        case "frame number":
            return f"Step {place + 1}: Frame {frame + 1}: {said}"
        case "time":
            return f"Step {place + 1}: At {episode.frames[frame].time_s:g} s, {said}"
        case "words of order":
            word = "First" if place == 0 else "Finally" if place == of - 1 else ("Then", "Next")[place % 2]
            return f"Step {place + 1}: {word}, {said}"
        case _:
            return f"Step {place + 1}: {said}"


def score_alignment(episodes: Sequence[Episode], *, seed: int = 0) -> list[CueScore]:
    """How often steps are given the frames that they were written of, cue by cue.

    Args:
        episodes: of the embedded worlds, whose facts can be told; edited ones are left out.
        seed: of the frames that are told, and of the bootstrap.

    Raises:
        UsageError: there is nothing to tell of any of them.
    """
    known = [e for e in episodes if e.edit is None and any(facts_at(e, f) for f in range(len(e.frames)))]
    if not known:
        raise UsageError(
            "none of these episodes has facts to tell; `theodolite trace make` makes some that have"
        )
    found = []
    for cue in CUES:
        pairs = [
            telling(episode, cue, rng=np.random.default_rng([seed, CUES.index(cue), i]))
            for i, episode in enumerate(known)
        ]
        traces, truth = [trace for trace, _ in pairs], [right for _, right in pairs]
        score = alignment_accuracy(traces, truth, seed=seed)
        found.append(CueScore(cue, score, sum(len(steps) for steps in truth)))
    return found
