"""Samples as one table (Parquet, CSV or JSON lines), and with their pictures as a data set for Hugging Face `datasets`.

Every item has one row. Columns: what `ItemRow` shows of it, the whole prompt, the id by which it is found again, how the answer
was given, one column per metric, and the item's metadata as JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from theodolite.core.errors import StorageError
from theodolite.diagnose.export.samples import Sample, SampledRun

__all__ = ["TableFormat", "write_dataset", "write_table"]

TableFormat: TypeAlias = Literal["parquet", "csv", "jsonl"]

_SHOWN = (
    *(
        "instrument",
        "model",
        "split",
        "cluster",
        "condition",
        "kind",
        "question",
        "answer",
        "read_as",
        "gold",
    ),
    *("correct", "status", "reason"),
)
_GIVEN = ("reasoning", "finish", "prompt_tokens", "completion_tokens", "seconds", "attempts")
_CARD = """---
configs:
{configs}
---
# Items measured by Theodolite

One item per row: the pictures as the model saw them, the question, the raw answer, the condition, and the value of every
metric.
"""


def write_table(runs: Iterable[SampledRun], path: Path, *, kind: TableFormat) -> dict[str, int]:
    """Write the items of all runs as one file, with pictures by their digest.

    Returns:
        The number of rows.
    """
    rows = [_row(run, sample) for run in runs for sample in run.samples]

    def write() -> None:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            _write_rows(rows, draft, kind)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    _guarded(write, path)
    return {path.name: len(rows)}


def _write_rows(rows: list[dict[str, Any]], path: Path, kind: TableFormat) -> None:
    if kind == "jsonl":
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows),
            encoding="utf-8",
        )
        return
    import pyarrow as pa
    from pyarrow import csv, parquet

    flat = rows if kind == "parquet" else [{**row, "pictures": json.dumps(row["pictures"])} for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    table = pa.table({name: pa.array([row.get(name) for row in flat]) for name in names})
    (parquet.write_table if kind == "parquet" else csv.write_csv)(table, path)


def write_dataset(runs: Iterable[SampledRun], folder: Path) -> dict[str, int]:
    """Write a folder that `datasets.load_dataset` opens, with one configuration per instrument and embedded pictures.

    Returns:
        The number of rows of each configuration's file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    by_instrument: dict[str, list[tuple[SampledRun, Sample]]] = {}
    for run in runs:
        by_instrument.setdefault(run.instrument.name, []).extend((run, sample) for sample in run.samples)
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    written = {}
    for name, found in by_instrument.items():
        rows = [_row(run, sample) for run, sample in found]
        columns = {key: pa.array([row.get(key) for row in rows]) for key in _names(rows)}
        columns["images"] = pa.array(
            [
                [{"bytes": picture.read(), "path": None} for picture in sample.item.request.pictures]
                for _, sample in found
            ],
            pa.list_(image),
        )
        table = pa.table(columns)
        table = table.replace_schema_metadata({"huggingface": json.dumps(_features(table.schema))})
        path = folder / "data" / f"{name}.parquet"
        _guarded(lambda table=table, path=path: pq.write_table(table, path), path)  # type: ignore[misc]
        written[path.name] = len(rows)
    configs = "\n".join(f"- config_name: {name}\n  data_files: data/{name}.parquet" for name in by_instrument)
    card = folder / "README.md"
    _guarded(lambda: card.write_text(_CARD.format(configs=configs), encoding="utf-8"), card)
    return written


def _names(rows: list[dict[str, Any]]) -> Iterator[str]:
    return iter(dict.fromkeys(name for row in rows for name in row))


def _row(run: SampledRun, sample: Sample) -> dict[str, Any]:
    response = sample.record.response if sample.record is not None else None
    choice = sample.record.choice if sample.record is not None else None
    odds = dict(zip(choice.options, choice.log_probabilities, strict=True)) if choice is not None else None
    return {
        "id": sample.id,
        "run": run.name,
        **{name: getattr(sample.row, name) for name in _SHOWN},
        "prompt": sample.item.request.text,
        "pictures": [picture.digest for picture in sample.item.request.pictures],
        "pairs": json.dumps([link.to_json() for link in sample.pairs]),
        "score": sample.grade.value if sample.grade is not None else None,
        **{name: getattr(response, name, None) for name in _GIVEN},
        "log_probabilities": json.dumps(odds) if odds is not None else None,
        **sample.row.values,
        "drawn": _drawn(sample),
        "meta": json.dumps(sample.item.meta, ensure_ascii=False),
    }


def _features(schema: Any) -> dict[str, Any]:
    """Return the metadata that tells `datasets` which columns are pictures."""
    features: dict[str, Any] = {field.name: {"dtype": str(field.type), "_type": "Value"} for field in schema}
    features |= {
        field.name: {"dtype": "float64", "_type": "Value"} for field in schema if str(field.type) == "double"
    }
    features["pictures"] = {"feature": {"dtype": "string", "_type": "Value"}, "_type": "List"}
    features["images"] = {"feature": {"_type": "Image"}, "_type": "List"}
    return {"info": {"features": features}}


def _drawn(sample: Sample) -> str:
    row = sample.row
    view = row.overlay or row.cells or row.plan or row.steps
    return "" if view is None else view.model_dump_json(exclude_defaults=True)


def _guarded(write: Callable[[], Any], path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
