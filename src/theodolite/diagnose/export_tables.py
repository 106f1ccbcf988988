"""Export rows as Parquet: as a plain table, and as a data set with pictures for Hugging Face `datasets`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from theodolite.core.errors import StorageError
from theodolite.core.views import ItemRow

_PLAIN = (
    "id",
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
    "correct",
    "status",
    "reason",
)
_CARD = """---
configs:
{configs}
---
# {title}

Items measured by Theodolite, one per row: the pictures as the model saw them, the question, the raw answer, and the value of every
metric as JSON.
"""


def write_item_table(rows: Iterable[ItemRow], path: Path) -> dict[str, int]:
    """Write rows as one Parquet file, with metrics as columns and overlays as JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = list(rows)
    keys = sorted({key for row in found for key in row.values})
    columns: dict[str, Any] = {name: [getattr(row, name) for row in found] for name in _PLAIN}
    columns["pictures"] = [row.pictures for row in found]
    columns |= {key: [row.values.get(key) for row in found] for key in keys}
    columns["drawn"] = [_drawn(row) for row in found]
    types = {key: pa.float64() for key in keys} | {"correct": pa.bool_(), "pictures": pa.list_(pa.string())}
    table = pa.table(
        {name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()}
    )
    _write(lambda: pq.write_table(table, path), path)
    return {path.name: len(found)}


def write_dataset(
    rows: Iterable[ItemRow], folder: Path, *, read: Callable[[str], bytes], title: str
) -> dict[str, int]:
    """Write a folder that `datasets.load_dataset` opens, with one configuration per instrument.

    Args:
        rows: The rows, with pictures by name.
        folder: The folder to write into.
        read: Function that returns the bytes of a picture.
        title: Title of the data card.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    by_instrument: dict[str, list[ItemRow]] = {}
    for row in rows:
        by_instrument.setdefault(row.instrument, []).append(row)
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    written = {}
    for name, found in by_instrument.items():
        columns: dict[str, Any] = {
            key: pa.array(
                [getattr(row, key) for row in found], pa.bool_() if key == "correct" else pa.string()
            )
            for key in _PLAIN
        }
        columns["values"] = pa.array([json.dumps(row.values) for row in found], pa.string())
        columns["drawn"] = pa.array([_drawn(row) for row in found], pa.string())
        columns["images"] = pa.array(
            [[{"bytes": read(picture), "path": None} for picture in row.pictures] for row in found],
            pa.list_(image),
        )
        table = pa.table(columns).replace_schema_metadata({"huggingface": json.dumps(_features(columns))})
        path = folder / "data" / f"{name}.parquet"
        _write(lambda table=table, path=path: pq.write_table(table, path), path)  # type: ignore[misc]
        written[path.name] = len(found)
    configs = "\n".join(f"- config_name: {name}\n  data_files: data/{name}.parquet" for name in by_instrument)
    card = folder / "README.md"
    _write(lambda: card.write_text(_CARD.format(configs=configs, title=title), encoding="utf-8"), card)
    return written


def _features(columns: Iterable[str]) -> dict[str, Any]:
    """Return the metadata that tells `datasets` which columns are pictures."""
    features: dict[str, Any] = {name: {"dtype": "string", "_type": "Value"} for name in columns}
    features["correct"] = {"dtype": "bool", "_type": "Value"}
    features["images"] = {"feature": {"_type": "Image"}, "_type": "List"}
    return {"info": {"features": features}}


def _drawn(row: ItemRow) -> str:
    view = row.overlay or row.cells or row.plan or row.steps
    return "" if view is None else view.model_dump_json(exclude_defaults=True)


def _write(write: Callable[[], Any], path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
