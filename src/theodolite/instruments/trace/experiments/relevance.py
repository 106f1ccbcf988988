"""Attention and gradient baselines: how much of a white box's relevance lies on the frames when it answers.

With rᵢ ≥ 0 the relevance of the tokens of frame i and t that of the text, the share on frames is Σ rᵢ / (Σ rᵢ + t), and the
share of frame i among the frames is rᵢ / Σ rᵢ. In the paper these baselines are rival predictors of robustness, so `predict`
compares them with SGR. Source: step grounding, section 4.4.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.core.types import Item, Message, Request
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.measure import BASELINES
from theodolite.instruments.trace.questions import shown_frames
from theodolite.instruments.trace.score import mean_over
from theodolite.runs import Result, Run

INSTRUMENT = "trace relevance"


def plan_relevance(episodes: Sequence[Episode]) -> Iterator[Item]:
    """One item per unedited episode with pictures and options. Options are lettered, so that their first tokens differ.

    Raises:
        UsageError: There is no such episode.
    """
    asked = [
        episode
        for episode in episodes
        if episode.edit is None
        and 2 <= len(episode.options) <= len(string.ascii_uppercase)
        and any(frame.picture is not None for frame in episode.frames)
    ]
    if not asked:
        raise UsageError("none of the episodes has pictures and options, so there is nothing to attribute")
    for episode in asked:
        letters = tuple(string.ascii_uppercase[: len(episode.options)])
        lines = [f"{letter}. {option}" for letter, option in zip(letters, episode.options, strict=True)]
        text = "\n".join([episode.task, *lines, "Answer with the letter alone."])
        yield Item(
            f"{episode.id}/relevance",
            Request((Message.user(*shown_frames(episode), text),), max_tokens=1),
            letters,
            {"episode": episode.id, "cluster": episode.unit, "split": episode.split, "gold": episode.answer},
        )


def relevance_table(run: Run) -> Table:
    """The baselines of a run, in distribution; one row per baseline. No model is called."""
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    results = list(run.results())
    own = [result for result in results if result.item.meta["split"] == "in-distribution"]
    rows, n_none = [], 0
    for name, method in BASELINES.items():
        shares, n = frame_shares(own, method)
        n_none += n
        on_frames = mean_over([(share, unit) for share, _, unit in shares])
        largest = mean_over([(share, unit) for _, share, unit in shares])
        rows.append([name, method, on_frames, largest, len(shares)])
    columns = [
        Column("baseline", "baseline"),
        Column("method", "method"),
        Column("share", "share on the frames", "share", "trace.relevance"),
        Column("largest", "share of the largest frame", "share", "trace.relevance"),
        Column("episodes", "episodes", "count"),
    ]
    notes = []
    if n_none:
        notes.append(f"{n_none} times a method gave no relevance at all; these are left out of its mean")
    statuses = [r.record.response.status if r.record else "not asked yet" for r in results]
    counts = {word: statuses.count(word) for word in ("failed", "not asked yet")}
    if any(counts.values()):
        notes.append(", ".join(f"{count} {word}" for word, count in counts.items()))
    title = f"Relevance on the frames, {run.info.model}, in distribution"
    return Table.of("trace.relevance", title, columns, rows, notes)


def frame_shares(results: Sequence[Result], method: str) -> tuple[list[tuple[float, float, str]], int]:
    """By episode the share on frames, the share of the largest frame and the cluster; and how many have no relevance."""
    rows: list[tuple[float, float, str]] = []
    n_none = 0
    for result in results:
        if result.record is None or not result.record.response.is_answered:
            continue
        told: Any = result.record.values[method]
        frames, text = np.asarray(told["frames"], np.float64), float(told["text"])
        unit = str(result.item.meta["cluster"])
        if frames.sum() > 0:
            share = float(frames.sum() / (frames.sum() + text))
            rows.append((share, float(frames.max() / frames.sum()), unit))
        elif text > 0:
            rows.append((0.0, 1 / len(frames), unit))
        else:
            n_none += 1
    return rows, n_none
