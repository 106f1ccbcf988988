"""Records as rows of the store, and rows as records again. A run folder may come from anyone: what it claims is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.types import Record, Response, Status, canonical_json
from theodolite.runs.serialize import choice_from_json, choice_to_json

RECORD_COLUMNS = (
    "status, text, reason, reasoning, finish, prompt_tokens, completion_tokens, seconds, attempts, choice, "
    '"values", reused'
)
_KINDS: tuple[type | tuple[type, ...], ...] = (str, str, str, str, str, int, int, (int, float), int)
"""Of the columns that make a response."""


@contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Turns whatever goes wrong with reading one row into an error that names the file and the row."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, UsageError) as error:
        reason = " ".join(str(error).split())[:200]
        raise StorageError(
            f"{path}: {what} is damaged or foreign ({type(error).__name__}: {reason})"
        ) from error


def record_row(record: Record) -> tuple[Any, ...]:
    """A record as the values of `RECORD_COLUMNS`."""
    r = record.response
    return (
        r.status,
        storable(r.text),
        storable(r.reason),
        storable(r.reasoning),
        storable(r.finish),
        r.prompt_tokens,
        r.completion_tokens,
        r.seconds,
        r.attempts,
        choice_to_json(record.choice),
        canonical_json(record.values),
        int(record.reused),
    )


def record_from_row(item_id: str, row: Sequence[Any]) -> Record:
    """The record that `record_row` wrote."""
    *columns, choice, values, reused = row
    for value, kind in zip(columns, _KINDS, strict=True):
        if not isinstance(value, kind):
            raise TypeError(f"{value!r:.80} where another kind of value belongs")
    if columns[0] not in get_args(Status):
        raise ValueError(f"there is no status {columns[0]!r:.80}")
    return Record(
        item_id,
        Response(*columns),
        choice_from_json(choice),
        object_from_json(values),
        reused=bool(reused),
    )


def object_from_json(text: str) -> dict[str, Any]:
    """A JSON object."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{text[:80]!r} is no JSON object")
    return value


def storable(text: str) -> str:
    """Text that UTF-8 can hold: half a surrogate pair, which JSON can smuggle in, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
