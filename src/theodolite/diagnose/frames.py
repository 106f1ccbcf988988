"""The numbers of a diagnosis as rows, for pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.diagnose.pairs_table import lookings
from theodolite.diagnose.record import Diagnosis, Figure, LookingForm, PairsForm

if TYPE_CHECKING:
    from pandas import DataFrame

    from theodolite.core.views import ItemRow

__all__ = ["FrameName", "frame_rows", "to_frame"]

FrameName: TypeAlias = Literal["verdicts", "edits", "metrics", "items"]
_SHARES = ("followed", "moved", "unmoved", "lost", "kept")


def frame_rows(diagnosis: Diagnosis, items: Iterable[ItemRow], what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame.

    Args:
        diagnosis: The diagnosis.
        items: Its items, used for ``items`` alone.
        what: ``verdicts`` (a row for each model and kind of pictures), ``edits`` (for each edit), ``metrics`` (for each
            metric and split) or ``items`` (for each question that was asked).

    Raises:
        UsageError: If there is no such frame.
    """
    if what not in get_args(FrameName):
        raise UsageError(f"there is no frame {what!r}; there are {', '.join(get_args(FrameName))}")
    if what == "items":
        for row in items:
            yield {
                "model": row.model,
                "instrument": row.instrument,
                "item": row.id,
                "split": row.split,
                "condition": row.condition,
                "question": row.question,
                "answer": row.answer,
                "read_as": row.read_as,
                "gold": row.gold,
                "correct": row.correct,
                "status": row.status,
            }
    elif what == "metrics":
        yield from _metrics(diagnosis)
    else:
        for label, view, looking in lookings(diagnosis):
            common = {"model": view.model, "pictures": label}
            if what == "verdicts":
                shares = _shares(looking)
                yield {**common, "verdict": looking.standing, "pairs": looking.n_relevant, **shares}
            else:
                for form in looking.edits:
                    about = {"edit": form.name, "is_relevant": form.is_relevant, "pairs": form.n}
                    yield {**common, **about, **_shares(form)}


def _metrics(diagnosis: Diagnosis) -> Iterator[dict[str, Any]]:
    names = {metric.key: metric.name for metric in diagnosis.metrics}
    for instrument in diagnosis.instruments:
        for metric in instrument.metrics:
            for mean in metric.models:
                yield {
                    "model": mean.model,
                    "instrument": instrument.name,
                    "metric": metric.key,
                    "name": names.get(metric.key, metric.key),
                    "split": metric.split,
                    **_interval("mean", mean.figure),
                    "clusters": mean.figure.n if mean.figure else 0,
                    "why_not": mean.why_not,
                }


def _shares(form: LookingForm | PairsForm) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in _SHARES:
        figure = getattr(form, name)
        found |= _interval(name, figure) if name == "followed" else {name: figure.value if figure else None}
    return found


def _interval(name: str, figure: Figure | None) -> dict[str, float | None]:
    if figure is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}


def to_frame(rows: Iterable[dict[str, Any]]) -> DataFrame:
    """Build a DataFrame.

    Raises:
        MissingExtraError: If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", "to_pandas()") from None
    return pd.DataFrame.from_records(list(rows))
