"""Items of runs that were stored before items carried their truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from theodolite.core.files import check
from theodolite.core.types import Item
from theodolite.instruments.scene.data.pairs import BEFORE
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.instruments.scene.questions import graph_meta, graph_truth, qa_meta, qa_name, qa_truth
from theodolite.pairs.edits import EDITS


def with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item with its truth, made from what its meta held."""
    meta = cast("Mapping[str, Any]", item.meta)
    setting, mode = str(meta["setting"]), str(meta.get("mode", "direct"))
    if meta["task"] == "graph":
        new = graph_meta(meta["graph"], int(meta["centre"]), mode, str(meta["domain"]))
        return replace(item, meta=new, truth=graph_truth(str(meta["scene"]), setting))
    question = check(SceneQuestion, meta["question"])
    is_edited = setting in EDITS
    truth = replace(
        qa_truth(question, setting),
        split=str(meta.get("split", "")),
        edit=setting if is_edited else "",
        base=qa_name(question.id, BEFORE, mode) if is_edited else "",
        repeats=str(meta.get("repeats", "")),
    )
    return replace(item, meta=qa_meta(question, mode, meta.get("graph"), meta.get("noise")), truth=truth)
