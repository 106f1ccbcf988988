"""From pairs to items: what is asked, and all that scoring must know about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from theodolite.core.types import Item, Json, Message, Request
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.instruments.compass.prompts import Prompt

PLAIN = "plain"
"""The condition of a pair as it is."""


def plan_pairs(
    pairs: Iterable[Pair],
    prompts: Iterable[Prompt],
    *,
    condition: str = PLAIN,
    meta: Mapping[str, Json] | None = None,
) -> Iterator[Item]:
    """One item per pair and prompt.

    Args:
        pairs: the questions.
        prompts: how they are put.
        condition: what was done to the pairs, for controls; part of the items' names.
        meta: more to know about every item.
    """
    asked = list(prompts)
    for pair in pairs:
        for prompt in asked:
            yield pair_item(pair, prompt, condition=condition, meta=meta)


def pair_item(
    pair: Pair, prompt: Prompt, *, condition: str = PLAIN, meta: Mapping[str, Json] | None = None
) -> Item:
    """The item of one pair."""
    gold = prompt.token_for(pair.direction)
    return Item(
        name=f"{pair.id}/{prompt.name}/{condition}",
        request=Request(
            (Message.user(pair.picture, prompt.ask(pair)),),
            max_tokens=8,
            ref=pair.id if condition == PLAIN else f"{pair.id}/{condition}",
            hint={"gold": gold},
        ),
        options=prompt.tokens,
        meta={
            "pair": pair.id,
            "prompt": prompt.name,
            "condition": condition,
            "directions": list(prompt.options.values()),
            "gold": list(prompt.tokens).index(gold),
            "reference": {"name": pair.reference.name, "box": _corners(pair.reference.box)},
            "target": {"name": pair.target.name, "box": _corners(pair.target.box)},
            "others": [_corners(box) for box in pair.others],
            "size": list(pair.size_px),
            "cluster": pair.picture.digest,
            "group": pair.group,
            "source": pair.source,
            **(meta or {}),
        },
    )


def _corners(box: Box) -> list[float]:
    return [box.x0, box.y0, box.x1, box.y1]
