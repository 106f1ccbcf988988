"""From runs to the rows that people browse: what all instruments share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from theodolite.core.scores import ItemScore
from theodolite.core.views import UNSEEN, ItemRow, RowStatus
from theodolite.runs import Result, Run

if TYPE_CHECKING:
    from theodolite.instruments.instrument import Place

__all__ = ["Values", "common", "plain_rows", "rounded", "values_by_item", "verdict"]

Values = Mapping[tuple[str, str], Mapping[str, float]]
"""By item and split: the value of each metric."""


def values_by_item(scores: Sequence[ItemScore]) -> Values:
    """The values of every item."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for score in scores:
        if score.value is not None:
            found.setdefault((score.item, score.split), {})[score.metric] = score.value
    return found


def common(result: Result, place: Place, *, is_read: bool) -> dict[str, Any]:
    """The fields that every row takes from a result: answer, status, pictures."""
    record = result.record
    status: RowStatus = "pending"
    answer, reason = "", ""
    if record is not None:
        response = record.response
        status, answer, reason = response.status, response.text, response.reason
        if status == "answered" and not is_read:
            status, reason = "unreadable", "nothing in the answer could be read"
    pictures = [place(picture) for picture in result.item.request.pictures]
    return {"answer": answer, "status": status, "reason": reason, "pictures": pictures}


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Values to six digits: rows are for people."""
    return {key: float(f"{value:.6g}") for key, value in values.items()}


def verdict(is_right: bool | None, condition: str) -> bool | None:  # noqa: FBT001 - what is judged
    """Whether an answer is right; None if it could not be read, or if the picture does not show what is asked for.

    >>> verdict(True, "plain"), verdict(False, "blank")
    (True, None)
    """
    return None if condition in UNSEEN else is_right


def plain_rows(instrument: str, run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
    """Rows with question, answer and outcome, for instruments that draw nothing beside an item.

    ``gold``, ``split``, ``cluster``, ``condition`` and ``kind`` are taken from the items' meta, where they are there.
    """
    values = values_by_item(scores)
    for result in run.results():
        meta = result.item.meta
        said = _said(result)
        gold = str(meta.get("gold", "") or "")
        condition = str(meta.get("condition") or "plain")
        split = str(meta.get("split") or run.info.settings.get("split") or "")
        yield ItemRow(
            id=result.item.name,
            instrument=instrument,
            model=run.info.model,
            split=split,
            cluster=str(meta.get("cluster") or result.item.name),
            condition=condition,
            kind=str(meta.get("kind") or ""),
            question=result.item.request.text,
            read_as=said or "",
            gold=gold,
            correct=verdict(said == gold if said and gold else None, condition),
            values=rounded(values.get((result.item.name, split), {})),
            **common(result, place, is_read=True),
        )


def _said(result: Result) -> str:
    record = result.record
    if record is None or not record.response.is_answered:
        return ""
    return record.choice.best if record.choice is not None else record.response.text.strip()
