"""Export of a run as one flat table with a row per item: Parquet, CSV or JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from theodolite.core.errors import StorageError, UsageError
from theodolite.runs.results import Result
from theodolite.runs.run import Run
from theodolite.runs.serialize import choice_to_json

ExportFormat: TypeAlias = Literal["parquet", "csv", "jsonl"]


def export_run(run: Run, path: str | Path, *, kind: ExportFormat) -> int:
    """Write every item with its answer, what was read in it and its metadata.

    Scalar values of `meta` become columns ``meta.<name>``; nested values become JSON text. An item that was not asked
    has the status ``pending``.

    Args:
        run: The run to export.
        path: The file to write. Must not be a file of the run itself.
        kind: File format. ``jsonl`` has one object per line.

    Returns:
        The number of rows.
    """
    path = Path(path)
    if run.owns(path):
        raise UsageError(f"{path} is a file of the run itself; choose another --out")
    rows = [_row(result) for result in run.results()]
    try:
        with _replacing(path) as temporary:
            if kind == "jsonl":
                _write_json_lines(rows, temporary)
            else:
                _write_table(rows, temporary, kind)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    return len(rows)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to the file, which replaces the file only when complete."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
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
    """Build an array of one type. Values of mixed types, such as 5 and "five", all become text."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])
