"""Attention and gradient baselines: how much of a white box's relevance lies on the frames when it answers.

With rᵢ ≥ 0 the relevance of the tokens of picture i and t that of the text, the share on frames is Σ rᵢ / (Σ rᵢ + t), and the share
of frame i among the frames is rᵢ / Σ rᵢ. Read as the paper reads its baselines: a model that attends to its pictures should hold
out of distribution. Whether it does, `predict` says beside SGR.
"""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite import stats
from theodolite.attribution import Attribution, attribute, checkpoint_of
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Message, Picture, Record, Request, Response
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.estimates import mean_estimate
from theodolite.instruments.trace.prompts import frame_label
from theodolite.models import VisionLanguageModel, open_model
from theodolite.runs import MeasurerFactory, Result, Reuse, Run

INSTRUMENT = "trace relevance"
BASELINES = {
    "attention": "attention-rollout",
    "gradient": "grad-act-absolute",
    "attention × gradient": "chefer",
}
"""By the name of the predictor, the method that it is read from; all give relevance that is never negative."""


def plan_relevance(episodes: Sequence[Episode]) -> Iterator[Item]:
    """One item per unedited episode with pictures and at least two options, which are lettered so that their first tokens differ.

    Raises:
        UsageError: there is no such episode.
    """
    asked = [
        episode
        for episode in episodes
        if episode.edit is None
        and 2 <= len(episode.options) <= len(string.ascii_uppercase)
        and any(frame.picture is not None for frame in episode.frames)
    ]
    if not asked:
        raise UsageError("none of the episodes has pictures and options to choose from: nothing to attribute")
    for episode in asked:
        content: list[str | Picture] = []
        for index, frame in enumerate(episode.frames):
            if frame.picture is not None:
                content += [frame_label(index, frame.time_s), frame.picture]
        letters = tuple(string.ascii_uppercase[: len(episode.options)])
        lines = [f"{letter}. {option}" for letter, option in zip(letters, episode.options, strict=True)]
        content.append("\n".join([episode.task, *lines, "Answer with the letter alone."]))
        yield Item(
            f"{episode.id}/relevance",
            Request((Message.user(*content),), max_tokens=1),
            letters,
            {"episode": episode.id, "cluster": episode.unit, "split": episode.split, "gold": episode.answer},
        )


def relevance_factory(name: str) -> MeasurerFactory:
    """Opens the model and measures with it, wherever the factory is called."""
    return partial(_open_measurer, name)


def _open_measurer(name: str) -> RelevanceMeasurer:
    return RelevanceMeasurer(open_model(name))


class RelevanceMeasurer:
    """Items with frames and lettered options become records with the relevance of each frame and of the text."""

    reuse: Reuse = "never"

    def __init__(self, model: VisionLanguageModel) -> None:
        checkpoint_of(model)  # says at once if the model is a black box
        self.model = model
        self.batch_size = model.batch_size
        self.identity = f"{model.identity}|frames|{'+'.join(BASELINES.values())}"

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """One record per item; episodes with as many options as each other go together."""
        found: dict[str, Record] = {}
        by_size: dict[int, list[Item]] = defaultdict(list)
        for item in items:
            by_size[len(item.options)].append(item)
        for group in by_size.values():
            for item, each in zip(group, self._attributed(group), strict=True):
                found[item.id] = each if isinstance(each, Record) else _record(item, each)
        return [found[item.id] for item in items]

    def _attributed(self, items: Sequence[Item]) -> list[Attribution | Record]:
        """All at once; one by one if that fails, so that only those fail that must."""
        try:
            return [*self._attribute(items)]
        except UsageError as error:
            if len(items) == 1:
                return [Record(items[0].id, Response.failed(str(error)))]
        return [each for item in items for each in self._attributed([item])]

    def _attribute(self, items: Sequence[Item]) -> list[Attribution]:
        return attribute(
            self.model,
            [item.request for item in items],
            [item.options for item in items],
            methods=tuple(BASELINES.values()),
            targets=("pred",),
        )

    def close(self) -> None:
        """Drops the model."""
        self.model.close()


def _record(item: Item, found: Attribution) -> Record:
    values: dict[str, Any] = {}
    for method in BASELINES.values():
        maps = sorted((each for each in found if each.method == method), key=lambda each: each.picture)
        values[method] = {
            "frames": [float(each.values.sum(dtype=np.float64)) for each in maps],
            "text": maps[0].text_mass,
        }
    return Record(
        item.id, Response("answered", text=found.options[found.predicted], finish="choice"), values=values
    )


@dataclass(frozen=True, slots=True)
class Relevance:
    """A model's baselines on one world, in distribution."""

    model: str
    benchmark: str
    shares: dict[str, stats.Estimate | None]
    """By the name of the predictor: the mean share of relevance on frames."""
    largest_frame: dict[str, stats.Estimate | None]
    """The mean share of the frame that has most, among the frames: 1/n for an even spread over n."""
    n_without_relevance: int
    """Episodes for which a method gave none at all, neither on frames nor on text; left out of its mean."""
    failed: int
    pending: int


def score_relevance(run: Run, *, benchmark: str, seed: int = 0) -> Relevance:
    """The baselines of a run, from what it stored; keeps them in it. No model is called.

    Args:
        run: of `plan_relevance`, opened for writing.
        benchmark: the world's name.
        seed: of the bootstrap; intervals are clustered by the episodes' units.
    """
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    results = list(run.results())
    own = [r for r in results if r.item.meta["split"] == "in-distribution"]
    statuses = [r.record.response.status if r.record else "pending" for r in results]
    read = {name: _shares(own, method) for name, method in BASELINES.items()}
    final = Relevance(
        run.info.model,
        benchmark,
        {name: _mean(rows, 0, seed) for name, (rows, _) in read.items()},
        {name: _mean(rows, 1, seed) for name, (rows, _) in read.items()},
        sum(n for _, n in read.values()),
        statuses.count("failed"),
        statuses.count("pending"),
    )
    run.write_scores({"instrument": INSTRUMENT, **asdict(final)})
    return final


def _shares(results: Sequence[Result], method: str) -> tuple[list[tuple[float, float, str]], int]:
    """Share on frames, share of the largest frame and unit of every episode that has any relevance; how many have none."""
    rows: list[tuple[float, float, str]] = []
    n_none = 0
    for result in results:
        if result.record is None or not result.record.response.is_answered:
            continue
        told: Any = result.record.values[method]
        frames, text = np.asarray(told["frames"], np.float64), float(told["text"])
        if frames.sum() <= 0:
            n_none += frames.sum() + text <= 0
            if text > 0:
                rows.append((0.0, 1 / len(frames), str(result.item.meta["cluster"])))
            continue
        share = float(frames.sum() / (frames.sum() + text))
        rows.append((share, float(frames.max() / frames.sum()), str(result.item.meta["cluster"])))
    return rows, n_none


def _mean(rows: Sequence[tuple[float, float, str]], column: int, seed: int) -> stats.Estimate | None:
    return mean_estimate([float(row[column]) for row in rows], [row[2] for row in rows], seed=seed)
