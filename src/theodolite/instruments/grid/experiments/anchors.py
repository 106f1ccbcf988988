"""Questions with several anchors: which of them does a model ignore?

A question of depth two or three restricts its targets by two or three anchors. A model that ignores anchor k gives the
answer without it, which on pure scenes is wrong.

deep_right         1 if the answer is right
dropped_anchor_k   1 if the answer is the one without anchor k, where that is wrong; k from 1
deep_bag_of_words  1 if the answer is the one without any anchor, where that is wrong
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from theodolite.core.scores import ItemScore, Metric
from theodolite.instruments.grid.experiments.accuracy import read_answers
from theodolite.instruments.grid.questions import MOST_DROPPED
from theodolite.runs import Run


def _metric(key: str, name: str, *, higher: bool) -> Metric:
    return Metric(f"grid.{key}", name, higher, "ours", "text")


METRICS: tuple[Metric, ...] = (
    _metric("deep_right", "answer is right, several anchors", higher=True),
    *(
        _metric(f"dropped_anchor_{k}", f"answer without anchor {k}, where it is wrong", higher=False)
        for k in range(1, MOST_DROPPED + 1)
    ),
    _metric("deep_bag_of_words", "answer of a bag of words, several anchors", higher=False),
)


def anchor_scores(run: Run) -> list[ItemScore]:
    """Every metric of every scene; without a value where the answer could not be read."""
    found: list[ItemScore] = []
    for each in read_answers(run):
        scene, split = str(each.meta["scene"]), str(each.meta["split"])
        for key, is_true in _values(each.said, each.meta):
            value = None if each.reason else float(is_true)
            found.append(ItemScore(scene, f"grid.{key}", value, scene, split, reason=each.reason))
    return found


def _values(said: str | None, meta: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    gold = meta["gold"]
    yield "deep_right", said == gold
    for k, answer in enumerate(meta["dropped"], 1):
        if answer is not None and answer != gold:
            yield f"dropped_anchor_{k}", said == answer
    if meta["bag_of_words"] != gold:
        yield "deep_bag_of_words", said == meta["bag_of_words"]
