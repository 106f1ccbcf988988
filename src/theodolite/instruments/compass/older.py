"""Items of runs that were stored before items carried their truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from theodolite.answers.grading import format_from_json
from theodolite.core.truth import AnswerFormat, Truth
from theodolite.core.types import Item
from theodolite.instruments.compass.questions import PLAIN, direction_format, edit_of


def with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item of a run of pairs with its truth, made from what its meta held."""
    meta = cast("dict[str, Any]", dict(item.meta))
    directions, form = meta.pop("directions"), meta.pop("format", None)
    if form is None:
        names = {role: str(meta[role]["name"]) for role in ("target", "reference")}
        expected = direction_format(dict(zip(item.options, directions, strict=True)), **names)
    else:
        expected = format_from_json(form)
    condition, gold = str(meta.pop("condition")), str(directions[int(meta.pop("gold"))])
    subject = f"{meta['pair']}/{meta['prompt']}"
    edit = edit_of(condition, gold)
    truth = Truth(
        (gold,),
        expected,
        subject=subject,
        cluster=str(meta.pop("cluster")),
        split=str(meta.pop("split", "")),
        group=str(meta.pop("group", "")),
        relation=gold,
        condition=condition,
        edit=edit.name if edit is not None else "",
        base=f"{subject}/{PLAIN}" if edit is not None else "",
        repeats=str(meta.pop("repeats", "")),
    )
    return replace(item, meta=meta, truth=truth)


def hidden_with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item with hidden sectors, of a run of the deletion tests, with its truth."""
    meta = cast("dict[str, Any]", dict(item.meta))
    gold, cluster = item.options[int(meta.pop("gold"))], str(meta.pop("cluster"))
    condition = item.name.rpartition("/")[2]
    truth = Truth((gold,), AnswerFormat.choice(list(item.options)), cluster=cluster, condition=condition)
    return replace(item, meta=meta, truth=truth)
