"""Items of runs that were stored before items carried their truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from theodolite.answers.grading import format_from_json
from theodolite.core.truth import PLAIN, Truth
from theodolite.core.types import Item

_SETTINGS = {"picture": PLAIN}


def with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item with its truth, made from what its meta held."""
    meta = cast("dict[str, Any]", dict(item.meta))
    question, setting, edit = str(meta.pop("question")), str(meta.pop("setting")), str(meta.pop("edit", ""))
    form = meta.pop("format", None)
    meta.pop("options")
    truth = Truth(
        (str(meta.pop("gold")), *map(str, meta.pop("others", ()))),
        None if form is None else format_from_json(form),
        subject=question,
        cluster=str(meta.pop("cluster")),
        group=str(meta.pop("group", "")),
        condition=_SETTINGS.get(setting, setting),
        edit=edit,
        base=f"{question}/picture" if edit else "",
        repeats=str(meta.pop("repeats", "")),
    )
    return replace(item, meta=meta, truth=truth)
