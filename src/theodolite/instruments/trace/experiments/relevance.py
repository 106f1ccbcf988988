"""Measures the relevance of frames in a white-box model. Plain runs are measured by `theodolite.models.ask_factory`."""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from theodolite.attribution import Attribution, attribute, checkpoint_of
from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table
from theodolite.core.types import AnswerFormat, Item, Message, Record, Request, Response, Truth
from theodolite.instruments.trace.questions import shown_frames
from theodolite.instruments.trace.score import mean_over
from theodolite.models import VisionLanguageModel
from theodolite.runs import Result, Reuse, Run
from theodolite.worlds.episodes import Episode

BASELINES = {
    "attention": "attention-rollout",
    "gradient": "grad-act-absolute",
    "attention × gradient": "chefer",
}
"""Baseline -> the relevance method behind it. All of them give non-negative relevance."""


class RelevanceMeasurer:
    """A measurer of the relevance of each frame and of the text, for items with lettered options."""

    reuse: Reuse = "never"

    def __init__(self, model: VisionLanguageModel) -> None:
        checkpoint_of(model)  # raises for a black box
        self.model = model
        self.batch_size = model.batch_size
        self.identity = f"{model.identity}|frames|{'+'.join(BASELINES.values())}"

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """Return one record per item. Items with the same number of options are measured together."""
        records: dict[str, Record] = {}
        by_size: dict[int, list[Item]] = defaultdict(list)
        for item in items:
            by_size[len(item.options)].append(item)
        for group in by_size.values():
            for item, attributed in zip(group, self._attributed(group), strict=True):
                records[item.id] = attributed if isinstance(attributed, Record) else _record(item, attributed)
        return [records[item.id] for item in items]

    def _attributed(self, items: Sequence[Item]) -> list[Attribution | Record]:
        """Attribute all items at once, or one by one if that fails, so that only the items at fault fail."""
        try:
            return [*self._attribute(items)]
        except UsageError as error:
            if len(items) == 1:
                return [Record(items[0].id, Response.failed(str(error)))]
        return [attributed for item in items for attributed in self._attributed([item])]

    def _attribute(self, items: Sequence[Item]) -> list[Attribution]:
        return attribute(
            self.model,
            [item.request for item in items],
            [item.options for item in items],
            methods=tuple(BASELINES.values()),
            targets=("pred",),
        )

    def close(self) -> None:
        """Close the model."""
        self.model.close()


def _record(item: Item, attribution: Attribution) -> Record:
    values: dict[str, Any] = {}
    for method in BASELINES.values():
        maps = sorted(
            (relevance for relevance in attribution if relevance.method == method),
            key=lambda relevance: relevance.picture,
        )
        values[method] = {
            "frames": [float(relevance.values.sum(dtype=np.float64)) for relevance in maps],
            "text": maps[0].text_mass,
        }
    return Record(
        item.id,
        Response("answered", text=attribution.options[attribution.predicted], finish="choice"),
        values=values,
    )


# Attention and gradient baselines: how much of a white box's relevance lies on the frames when it answers.
#
# With rᵢ ≥ 0 the relevance of the tokens of frame i and t that of the text, the share on frames is Σ rᵢ / (Σ rᵢ + t), and the
# share of frame i among the frames is rᵢ / Σ rᵢ. In the paper these baselines are rival predictors of robustness, so `predict`
# compares them with SGR. Source: step grounding, section 4.4.


INSTRUMENT = "trace relevance"


def plan_relevance(episodes: Sequence[Episode]) -> Iterator[Item]:
    """Yield one item per unedited episode with pictures and options. Options are lettered, so that their first tokens differ.

    Raises:
        UsageError: No episode has pictures and options.
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
            {"episode": episode.id},
            Truth(
                (episode.answer,),
                AnswerFormat.choice(list(episode.options), style="letter"),
                subject=episode.id,
                cluster=episode.unit,
                split=episode.split,
            ),
        )


def relevance_table(run: Run) -> Table:
    """Return a table of the baselines of a run, in distribution, with one row per baseline. No model is called."""
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    results = list(run.results())
    own = [result for result in results if result.item.truth.split == "in-distribution"]
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
        column("trace.relevance", "share", "share on the frames"),
        column("trace.relevance", "largest", "share of the largest frame"),
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
    """Return the share on frames, that of the largest frame, and the cluster of each episode; and how many have no relevance."""
    rows: list[tuple[float, float, str]] = []
    n_none = 0
    for result in results:
        if result.record is None or not result.record.response.is_answered:
            continue
        relevance: Any = result.record.values[method]
        frames, text = np.asarray(relevance["frames"], np.float64), float(relevance["text"])
        unit = result.item.cluster
        if frames.sum() > 0:
            share = float(frames.sum() / (frames.sum() + text))
            rows.append((share, float(frames.max() / frames.sum()), unit))
        elif text > 0:
            rows.append((0.0, 1 / len(frames), unit))
        else:
            n_none += 1
    return rows, n_none
