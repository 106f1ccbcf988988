"""Items of runs that were stored before items carried their truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from theodolite.core.truth import PLAIN, Truth
from theodolite.core.types import Item
from theodolite.instruments.grid.data.edits import EMPTIED, PICTURE_EDITS
from theodolite.instruments.grid.data.question_types import NUMBERS, YES_OR_NO
from theodolite.instruments.grid.questions import EXPLAINED


def with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item with its truth, made from what its meta held."""
    meta = cast("dict[str, Any]", dict(item.meta))
    gold = str(meta.pop("gold"))
    meta.pop("format", None)
    condition = str(meta.pop("condition", EXPLAINED if "kind" in meta else PLAIN))
    scene, edit = str(meta.pop("scene", "")), PICTURE_EDITS.get(condition)
    truth = Truth(
        () if condition == EMPTIED else (gold,),
        (NUMBERS if gold.isdigit() else YES_OR_NO).format,
        subject=scene,
        split=str(meta.pop("split", "")),
        group=str(meta.pop("bucket", "")),
        relation=str(meta.pop("relation", "")),
        condition=condition,
        edit=edit.name if edit else "",
        base=f"{scene}/{PLAIN}" if edit else "",
        repeats=str(meta.pop("repeats", "")),
    )
    return replace(item, meta=meta, truth=truth)
