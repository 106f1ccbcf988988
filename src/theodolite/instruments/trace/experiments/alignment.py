"""How often steps get the right frames, on synthetic traces whose frames are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table
from theodolite.instruments.trace.claims.reading import read_trace
from theodolite.instruments.trace.claims.types import Alignment, Trace
from theodolite.instruments.trace.score import mean_over
from theodolite.worlds.episodes import Episode
from theodolite.worlds.facts import facts_at

Cue: TypeAlias = Literal["frame number", "time", "words of order", "place, every frame", "place, some frames"]
"""What links a step to its frame: *Frame 3: …*; *At 1.8 s, …*; *First*, *Then*, *Finally*; only its position among the steps,
with one step per frame; the same with steps for half of the frames."""
CUES: tuple[Cue, ...] = get_args(Cue)


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """The accuracy of alignment."""

    exact: stats.Estimate | None
    """Share of steps with exactly the right frames."""
    overlap: stats.Estimate | None
    """Share of steps with a right frame and none that is off by more than one."""
    covers: stats.Estimate | None
    """Share of steps whose frames include all the right ones."""
    by_method: dict[Alignment, stats.Estimate | None]
    """Exact, by how the frames were found."""


def alignment_accuracy(traces: Sequence[Trace], truth: Sequence[Sequence[Sequence[int]]]) -> AlignmentScore:
    """Compare the frames of steps with the right ones, clustered by episode.

    Args:
        traces: Aligned traces.
        truth: The right frames of each step of each trace.
    """
    rows = [
        (set(step.frames), set(right), step.alignment, trace.episode)
        for trace, steps in zip(traces, truth, strict=True)
        for step, right in zip(trace.steps, steps, strict=True)
    ]
    methods = dict.fromkeys(how for _, _, how, _ in rows)
    return AlignmentScore(
        mean_over([(float(aligned == right), unit) for aligned, right, _, unit in rows]),
        mean_over([(float(_near(aligned, right)), unit) for aligned, right, _, unit in rows]),
        mean_over([(float(right <= aligned), unit) for aligned, right, _, unit in rows]),
        {
            method: mean_over([(float(f == r), unit) for f, r, how, unit in rows if how == method])
            for method in methods
        },
    )


def _near(aligned: set[int], right: set[int]) -> bool:
    return bool(aligned & right) and all(min(abs(f - r) for r in right) <= 1 for f in aligned)


def synthetic_trace(
    episode: Episode, cue: Cue, *, rng: np.random.Generator
) -> tuple[Trace, list[tuple[int, ...]]]:
    """Return a true trace of an episode with one kind of cue, parsed back from its text, and the right frames of its steps.

    With frame numbers, times and *some frames*, half of the frames have a step; with the other cues all of them.
    """
    shown = [f for f in range(len(episode.frames)) if facts_at(episode, f)]
    if cue in {"frame number", "time", "place, some frames"}:
        n = max(2, len(shown) // 2)  # a single line would not be a list of steps
        shown = [shown[int(i)] for i in sorted(rng.permutation(len(shown))[:n])]
    elif cue == "words of order":
        shown = list(range(len(episode.frames)))  # *then* means the next frame
    lines = [_line(episode, cue, frame, i, len(shown)) for i, frame in enumerate(shown)]
    text = "\n".join([*lines, f"Final answer: {episode.answer}"])
    return read_trace(text, episode), [(frame,) for frame in shown]


def _line(episode: Episode, cue: Cue, frame: int, number: int, of: int) -> str:
    sentences = " ".join(facts_at(episode, frame)) or "Nothing changes."
    match cue:
        case "frame number":
            return f"Step {number + 1}: Frame {frame + 1}: {sentences}"
        case "time":
            return f"Step {number + 1}: At {episode.frames[frame].time_s:g} s, {sentences}"
        case "words of order":
            word = "First" if number == 0 else "Finally" if number == of - 1 else ("Then", "Next")[number % 2]
            return f"Step {number + 1}: {word}, {sentences}"
        case _:
            return f"Step {number + 1}: {sentences}"


def score_alignment(episodes: Sequence[Episode], *, seed: int = 0) -> dict[Cue, AlignmentScore]:
    """Measure how often steps get the right frames, by cue.

    Args:
        episodes: Episodes of the embedded worlds; edits are left out.
        seed: Seed of the choice of frames that have a step.

    Raises:
        UsageError: No facts are known about any of the episodes.
    """
    known = [e for e in episodes if e.edit is None and any(facts_at(e, f) for f in range(len(e.frames)))]
    if not known:
        raise UsageError(
            "alignment is tested on episodes with known facts, such as those of `theodolite trace make`"
        )
    scores = {}
    for number, cue in enumerate(CUES):
        pairs = [
            synthetic_trace(episode, cue, rng=np.random.default_rng([seed, number, i]))
            for i, episode in enumerate(known)
        ]
        scores[cue] = alignment_accuracy([trace for trace, _ in pairs], [right for _, right in pairs])
    return scores


def alignment_table(scores: dict[Cue, AlignmentScore]) -> Table:
    """Return a table with one row per cue."""
    key = "trace.alignment"
    columns = [
        Column("cue", "cue"),
        column(key, "exact", "exactly right"),
        column(key, "covers", "right one included"),
        column(key, "overlap", "at most one off"),
        Column("steps", "steps", "count"),
    ]
    rows = [
        [cue, s.exact, s.covers, s.overlap, s.exact.n_items if s.exact is not None else 0]
        for cue, s in scores.items()
    ]
    return Table.of("trace.alignment", "Alignment of synthetic steps with their frames", columns, rows)
