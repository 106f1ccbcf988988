"""Rows of ask: each question in each setting, with the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from theodolite.answers.items import is_right
from theodolite.core.scores import ItemScore
from theodolite.core.views import ItemRow
from theodolite.instruments.ask.answered import read_in_words
from theodolite.instruments.instrument import Place
from theodolite.instruments.rows import common, rounded, values_by_item, verdict
from theodolite.runs import Run

__all__ = ["ask_rows"]


def ask_rows(run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
    """Yield a row for every question and setting. The scores of a question are in its row with the picture."""
    values = values_by_item(scores)
    for result in run.results():
        meta = result.item.meta
        answer = read_in_words(result.item, result.record)
        question, setting = str(meta["question"]), str(meta["setting"])
        condition = "plain" if setting == "picture" else setting
        split = str(run.info.settings.get("split") or "")
        golds = (meta["gold"], *cast("Sequence[str]", meta.get("others") or ()))
        right = any(is_right(answer, str(gold)) for gold in golds) if answer.is_read else None
        yield ItemRow(
            id=result.item.name,
            instrument="ask",
            model=run.info.model,
            split=split,
            cluster=str(meta["cluster"]),
            condition=condition,
            kind=str(meta.get("group") or ""),
            question=result.item.request.text,
            read_as=str(answer.value) if answer.is_read else "",
            gold=str(meta["gold"]),
            correct=verdict(right, condition),
            values=rounded(values.get((question, split), {})) if condition == "plain" else {},
            **common(result, place, answer=answer),
        )
