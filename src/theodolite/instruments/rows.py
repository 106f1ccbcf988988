"""Functions for the rows of runs, shared by all instruments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from theodolite.answers import Answer
from theodolite.answers.items import is_right, read_record
from theodolite.core.scores import ItemScore
from theodolite.core.views import UNSEEN, ItemRow, RowStatus
from theodolite.runs import Result, Run

if TYPE_CHECKING:
    from theodolite.instruments.instrument import Place

__all__ = ["Values", "common", "plain_rows", "rounded", "values_by_item", "verdict"]

Values = Mapping[tuple[str, str], Mapping[str, float]]
"""By item and split, the value of each metric."""


def values_by_item(scores: Sequence[ItemScore]) -> Values:
    """Collect the values of every item."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for score in scores:
        if score.value is not None:
            found.setdefault((score.item, score.split), {})[score.metric] = score.value
    return found


def common(result: Result, place: Place, *, answer: Answer | None = None, unread: str = "") -> dict[str, Any]:
    """Return the fields that all rows have: answer, status, reason and pictures.

    Args:
        result: An item with its record.
        place: Function that stores a picture and returns its name.
        answer: The answer, if the item asks for one.
        unread: Why something other than an answer, such as a graph, could not be read.
    """
    record = result.record
    status: RowStatus = "pending"
    text, reason = "", ""
    if record is not None:
        response = record.response
        status, text, reason = response.status, response.text, response.reason
        if status == "answered" and answer is not None and not answer.is_read:
            status, reason = cast("RowStatus", answer.status), answer.reason
        elif status == "answered" and unread:
            status, reason = "unreadable", unread
    pictures = [place(picture) for picture in result.item.request.pictures]
    return {"answer": text, "status": status, "reason": reason, "pictures": pictures}


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Round values to six digits, for display."""
    return {key: float(f"{value:.6g}") for key, value in values.items()}


def verdict(is_right: bool | None, condition: str) -> bool | None:  # noqa: FBT001 - the value itself
    """Return `is_right`, or None if the picture does not show what the question asks for.

    >>> verdict(True, "plain"), verdict(False, "blank")
    (True, None)
    """
    return None if condition in UNSEEN else is_right


def plain_rows(instrument: str, run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
    """Yield rows with question, answer and outcome, without overlays.

    ``gold``, ``split``, ``cluster``, ``condition`` and ``kind`` are taken from the metadata of the items. Scores are shown
    in the row with the name of their item, else in the plain row of that cluster.
    """
    values = values_by_item(scores)
    for result in run.results():
        meta = result.item.meta
        answer = read_record(result.item, result.record)
        gold = "" if meta.get("gold") is None else str(meta["gold"])
        condition = str(meta.get("condition") or "plain")
        split = str(meta.get("split") or run.info.settings.get("split") or "")
        cluster = str(meta.get("cluster") or result.item.name)
        own = values.get((result.item.name, split))
        if own is None and condition == "plain":
            own = values.get((cluster, split))
        yield ItemRow(
            id=result.item.name,
            instrument=instrument,
            model=run.info.model,
            split=split,
            cluster=cluster,
            condition=condition,
            kind=str(meta.get("kind") or ""),
            question=result.item.request.text,
            read_as=_said(answer),
            gold=gold,
            correct=verdict(is_right(answer, gold) if answer.is_read and gold else None, condition),
            values=rounded(own or {}),
            **common(result, place, answer=answer),
        )


def _said(answer: Answer) -> str:
    return str(answer.value).removesuffix(".0") if answer.is_read else ""
