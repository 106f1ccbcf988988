"""Items of runs that were stored before items carried their truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from theodolite.answers.grading import format_from_json
from theodolite.core.errors import UsageError
from theodolite.core.truth import AnswerFormat, Truth
from theodolite.core.types import Item
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.questions import truth_of, with_edit
from theodolite.worlds.episodes import Episode


def with_truth(item: Item, settings: Mapping[str, Any]) -> Item:
    """Return an item with its truth, from its episode in the data of the run; without the data, from what its meta held."""
    meta = cast("dict[str, Any]", dict(item.meta))
    gold, cluster, form = meta.pop("gold", None), meta.pop("cluster", None), meta.pop("format", None)
    wording = str(meta.setdefault("wording", "original"))
    repeats = str(meta.pop("repeats", ""))
    episodes = _episodes(str(settings.get("data", "")))
    episode = episodes.get(str(meta["episode"]))
    if episode is None:
        truth = Truth(
            (str(gold),) if gold else (),
            None if form is None else format_from_json(form),
            subject=str(meta["episode"]),
            cluster=str(cluster or ""),
            grader="trace",
        )
    else:
        truth = truth_of(episode, wording)
        if wording == "original":
            truth = with_edit(replace(item, meta=meta, truth=truth), episode, episodes)
    split = "" if settings.get("split") else truth.split
    return replace(item, meta=meta, truth=replace(truth, split=split, repeats=repeats))


@lru_cache(maxsize=8)
def _episodes(folder: str) -> Mapping[str, Episode]:
    try:
        return {episode.id: episode for episode in read_episodes(folder).episodes} if folder else {}
    except UsageError:
        return {}


def relevance_with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item of a run of relevance on frames with its truth."""
    meta = cast("dict[str, Any]", dict(item.meta))
    truth = Truth(
        (str(meta.pop("gold")),),
        AnswerFormat.choice(list(item.options)),
        subject=str(meta["episode"]),
        cluster=str(meta.pop("cluster")),
        split=str(meta.pop("split")),
    )
    return replace(item, meta=meta, truth=truth)
