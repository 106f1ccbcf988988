"""A run as one flat table, a row per item: Parquet, CSV or JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from theodolite.core.errors import StorageError, UsageError
from theodolite.runs.run import Run
from theodolite.runs.serialize import choice_to_json
from theodolite.runs.store import Result

ExportFormat: TypeAlias = Literal["parquet", "csv", "json"]


def export_run(run: Run, path: str | Path, *, kind: ExportFormat) -> int:
    """Writes every item with its answer, what parsers read in it and its meta data.

    Plain values of `meta` become columns ``meta.<name>``, anything nested is JSON text. An item that was never asked
    has the status ``pending``.

    Args:
        run: to read.
        path: the file to write, none of the run's own.
        kind: of file; ``json`` is one object per line.

    Returns:
        The number of rows.
    """
    path = Path(path)
    if run.owns(path):
        raise UsageError(f"{path} is a file of the run itself; choose another --out")
    rows = [_row(result) for result in run.results()]
    try:
        with _replacing(path) as beside:
            if kind == "json":
                _write_json_lines(rows, beside)
            else:
                _write_table(rows, beside, kind)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    return len(rows)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A place beside the file to write to; only a whole new file takes the old one's place."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    try:
        yield beside
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _row(result: Result) -> dict[str, Any]:
    item, record = result.item, result.record
    row: dict[str, Any] = {
        "seq": result.seq,
        "id": item.id,
        "name": item.name,
        "prompt": item.request.text,
        "pictures": json.dumps([str(picture.path) for picture in item.request.pictures]),
        "status": "pending",
    }
    if record is not None:
        r = record.response
        row |= {
            "status": r.status,
            "text": r.text,
            "reason": r.reason,
            "reasoning": r.reasoning,
            "finish": r.finish,
            "prompt_tokens": r.prompt_tokens,
            "completion_tokens": r.completion_tokens,
            "seconds": r.seconds,
            "attempts": r.attempts,
            "reused": record.reused,
            "log_probabilities": choice_to_json(record.choice),
        }
        row |= dict(_columns("values", record.values))
    for parsed in result.parsed:
        row[f"parsed.{parsed.parser}.status"] = parsed.status
        row[f"parsed.{parsed.parser}.value"] = json.dumps(parsed.value, ensure_ascii=False)
    return row | dict(_columns("meta", item.meta))


def _columns(prefix: str, values: Any) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        nested = isinstance(value, list | dict)
        yield f"{prefix}.{name}", json.dumps(value, ensure_ascii=False) if nested else value


def _write_json_lines(rows: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")


def _write_table(rows: list[dict[str, Any]], path: Path, kind: ExportFormat) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    table = pa.table(columns)
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        csv.write_csv(table, path)


def _column(values: list[Any]) -> Any:
    """An array of one type; values of several types (5 here, "five" there) all become text."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])
