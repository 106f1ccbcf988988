"""Questions with several anchors: which of them does a model forget?

A question of depth two or three restricts its targets by two or three anchors. Who forgets anchor k answers as if it were not
there; on pure scenes that is another answer than the right one. Metrics, one value a scene:

deep_right         the answer is the right one
dropped_anchor_k   the answer is what one says who forgets anchor k, where that is wrong; k from 1
deep_bag_of_words  the answer is what one says who forgets all of them, where that is wrong
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric
from theodolite.core.types import Item, Message, Picture, Request
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.evaluate import bag_of_words, dropped_anchor
from theodolite.instruments.grid.data.render import render
from theodolite.instruments.grid.data.world import ANCHOR_SIDE, BUCKETS
from theodolite.instruments.grid.experiments.accuracy import prompt_of, said_of
from theodolite.runs import Run

__all__ = ["BUCKET_KEYS", "INSTRUMENT", "METRICS", "plan_anchors", "readings"]

INSTRUMENT = "grid-anchors"
SPLIT = "free"
MOST = 3
"""Anchors that a question of one group of targets has at most."""
BUCKET_KEYS = tuple(
    bucket.key for bucket in BUCKETS if bucket.depth > 1 and bucket.is_relational and not bucket.is_comparison
)
"""Counting and existence at depth two and three."""

METRICS: tuple[Metric, ...] = (
    Metric(
        "grid.deep_right",
        "answer is right, several anchors",
        higher_is_grounded=True,
        origin="ours",
        needs="text",
    ),
    *(
        Metric(
            f"grid.dropped_anchor_{k}",
            f"answer of who forgets anchor {k}, where it is wrong",
            higher_is_grounded=False,
            origin="ours",
            needs="text",
        )
        for k in range(1, MOST + 1)
    ),
    Metric(
        "grid.deep_bag_of_words",
        "answer of a bag of words, several anchors",
        higher_is_grounded=False,
        origin="ours",
        needs="text",
    ),
)


def plan_anchors(
    scenes: SceneBatch, names: Sequence[str], *, split: str = SPLIT, max_tokens: int = 16
) -> Iterator[Item]:
    """One item a scene, with what every forgetful reader would say.

    Args:
        scenes: of buckets with two anchors or more.
        names: of the scenes, in order.
        split: of the twins' data.
        max_tokens: the longest answer.
    """
    shallow = [BUCKETS[int(b)].key for b in scenes.bucket if BUCKETS[int(b)].depth < 2]
    if shallow:
        raise UsageError(f"only questions with several anchors can lose one; {shallow[0]} has at most one")
    world, questions = scenes.world, scenes.questions
    pictures = render(world, scenes.cells)
    words = bag_of_words(world, scenes.cells, questions)
    without = [dropped_anchor(world, scenes.cells, questions, k=k) for k in range(MOST)]
    for i, name in enumerate(names):
        bucket = int(scenes.bucket[i])
        is_count = BUCKETS[bucket].is_count
        dropped = [world.answers[int(without[k][i])] if ANCHOR_SIDE[bucket, k] else None for k in range(MOST)]
        gold = scenes.answer_text(i)
        text = prompt_of(scenes.text(i), is_count=is_count)
        yield Item(
            name=f"{name}/anchors",
            request=Request(
                (Message.user(Picture.from_array(pictures[i]), text),),
                max_tokens=max_tokens,
                ref=f"{name}/anchors",
                hint={"gold": gold},
            ),
            options=world.answers[: world.max_count + 1] if is_count else world.answers[-2:],
            meta={
                "scene": name,
                "condition": "plain",
                "bucket": scenes.bucket_key(i),
                "gold": gold,
                "bag_of_words": world.answers[int(words[i])],
                "dropped": dropped,
                "split": split,
            },
        )


def readings(run: Run) -> list[ItemScore]:
    """Every metric of every scene that a run holds. No model is called.

    Raises:
        UsageError: the run is another instrument's.
    """
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    found: list[ItemScore] = []
    for result in run.results():
        record = result.record
        said = said_of(record) if record is not None and record.response.is_answered else None
        if said is None:
            continue
        meta = cast("Mapping[str, Any]", result.item.meta)
        for key, value in _values(said, meta):
            scene = str(meta["scene"])
            found.append(ItemScore(scene, f"grid.{key}", float(value), scene, str(meta["split"])))
    return found


def _values(said: str, meta: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    gold = meta["gold"]
    yield "deep_right", said == gold
    for k, answer in enumerate(meta["dropped"], 1):
        if answer is not None and answer != gold:
            yield f"dropped_anchor_{k}", said == answer
    if meta["bag_of_words"] != gold:
        yield "deep_bag_of_words", said == meta["bag_of_words"]
