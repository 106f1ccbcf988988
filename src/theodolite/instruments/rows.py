"""Functions for the rows of runs, shared by all instruments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from theodolite.answers import Answer
from theodolite.answers.grading import answers_right, golds_of, read_item
from theodolite.core.scores import ItemScore
from theodolite.core.types import Item
from theodolite.core.views import UNSEEN, ItemRow, RowStatus
from theodolite.pairs.outcomes import split_of
from theodolite.runs import Result, Run

if TYPE_CHECKING:
    from theodolite.instruments.instrument import Place

__all__ = ["Values", "View", "common", "in_text", "item_rows", "rounded", "values_by_item", "verdict"]

Values = Mapping[tuple[str, str], Mapping[str, float]]
"""By item and split, the value of each metric."""

View: TypeAlias = Callable[[Result], "Mapping[str, Any] | None"]
"""Function that returns further fields of an item's row. None leaves the item out."""


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


def item_rows(
    instrument: str,
    run: Run,
    place: Place,
    scores: Sequence[ItemScore],
    *,
    view: View = lambda _: {},
    shown: Callable[[Item], Item] = lambda item: item,
) -> Iterator[ItemRow]:
    """Yield a row for every item, made from its truth. Scores stand in the plain row of their subject, or of their cluster.

    Args:
        instrument: The name of the instrument.
        run: A run, finished or not.
        place: Function that stores a picture and returns its name.
        scores: The scores of the run.
        view: Function that returns further fields of an item's row. None leaves the item out.
        shown: Function that returns an item with the picture that the model sees.
    """
    values = values_by_item(scores)
    scored = {score.item: score.split for score in scores}  # items of older runs may not say their split
    for result in run.results():
        fields = view(result)
        if fields is None:
            continue
        item, truth = result.item, result.item.truth
        split = split_of(run, item) or scored.get(item.name, "")
        answer = read_item(item, result.record)
        own = [values.get((key, split)) for key in (item.name, truth.subject or item.cluster)]
        is_right = answers_right(item, answer) if answer.is_read and truth.golds else None
        yield ItemRow(
            **{
                "id": item.name,
                "instrument": instrument,
                "model": run.info.model,
                "split": split,
                "cluster": item.cluster,
                "condition": truth.condition,
                "kind": truth.group,
                "question": item.request.text,
                "read_as": in_text(answer),
                "gold": next(iter(golds_of(item)), ""),
                "correct": verdict(is_right, truth.condition),
                "values": rounded(next(filter(None, own), {}) if truth.is_plain else own[0] or {}),
                **common(replace(result, item=shown(item)), place, answer=answer),
                **fields,
            }
        )


def in_text(answer: Answer) -> str:
    """Return the value of an answer as text; empty if there is none."""
    return str(answer.value).removesuffix(".0") if answer.is_read else ""
