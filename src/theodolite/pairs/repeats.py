"""The same request made again: how often a model's answer changes by itself.

The share of changed answers lowers the bound on what a strategy can follow without using what was edited
(`theodolite.pairs.outcomes`). Texts are compared, not what is read in them: equal texts are read alike, so the share of
changed answers is at most this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from theodolite.answers import Answer
from theodolite.core.types import REPEATS, Item, content_hash
from theodolite.models.replay import is_log
from theodolite.pairs.edits import AGAIN
from theodolite.pairs.outcomes import AnsweredPair
from theodolite.runs import Result, Run

__all__ = ["MOST_REPEATS", "repeated_pairs", "with_repeats"]

MOST_REPEATS = 24
"""Requests that are made twice in a run. If none of their answers changes, the bound falls from ¼ to 7 %."""


def with_repeats(
    items: Iterable[Item], is_plain: Callable[[Item], bool], *, model: str = "", most: int = MOST_REPEATS
) -> Iterator[Item]:
    """Yield items, then the first plain ones once more.

    Args:
        items: The items of a run.
        is_plain: True for an item with its own picture, as it is.
        model: The name of the model. A log has one answer to each request, so nothing is repeated.
        most: Number of items that are repeated.
    """
    plain: list[Item] = []
    for item in items:
        if len(plain) < most and is_plain(item):
            plain.append(item)
        yield item
    if not (model.startswith("replay:") and is_log(model)):
        yield from map(_repeat, plain)


def _repeat(item: Item) -> Item:
    # A seed does not affect greedy decoding, but makes it another request, which no cache answers.
    request = replace(
        item.request, seed=1, recall="content", ref=item.request.ref and f"{item.request.ref}/again"
    )
    return replace(item, name=f"{item.name}/again", request=request, meta={**item.meta, REPEATS: item.name})


def repeated_pairs(run: Run) -> Iterator[AnsweredPair]:
    """Yield the first and the second answer to each repeated request of a run."""
    for first, second in run.repeats():
        meta = first.item.meta
        yield AnsweredPair(
            first.item.name,
            AGAIN,
            str(meta.get("cluster") or first.item.name),
            _text(first),
            _text(second),
            gold="",
            edited_gold="",
            split=str(meta.get("split") or run.info.settings.get("split") or ""),
            shown=(first.item.name, second.item.name),
        )


def _text(result: Result) -> Answer:
    response = result.record.response if result.record is not None else None
    if response is None or response.status != "answered":
        return Answer("unreadable", reason="there is no answer")
    return Answer("value", content_hash(response.text))  # compared to the letter
