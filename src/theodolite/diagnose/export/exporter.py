"""Samples as one table (Parquet, CSV or JSON lines), and with their pictures as a data set for Hugging Face `datasets`.

Every item has one row. Columns: the fields of `ItemRow`, the whole prompt, the id by which a replay finds the item, how
the answer was given, one column per metric, and the item's metadata as JSON.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import whole_file
from theodolite.core.harmless import for_cell
from theodolite.diagnose.export.inspect_log import write_inspect_log
from theodolite.diagnose.export.lmms_eval import write_tasks
from theodolite.diagnose.export.samples import Sample, SampledRun, plan_runs, read_samples, without_answers
from theodolite.diagnose.export.vlmevalkit import write_tsv_files
from theodolite.instruments.instrument import instrument_of_run, instruments
from theodolite.runs import find_runs, read_info, slug
from theodolite.runs.store import meta_of

__all__ = [
    "FORMATS",
    "Format",
    "TableFormat",
    "export",
    "write_dataset",
    "write_table",
]


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

    with _guarded(path), whole_file(path) as draft:
        _write_rows(rows, draft, kind)
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

    flat = rows if kind == "parquet" else [_cells(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    table = pa.table({name: pa.array([row.get(name) for row in flat]) for name in names})
    (parquet.write_table if kind == "parquet" else csv.write_csv)(table, path)


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as a spreadsheet may show it."""
    flat = {**row, "pictures": json.dumps(row["pictures"])}
    return {for_cell(name): for_cell(cell) if isinstance(cell, str) else cell for name, cell in flat.items()}


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
    for name, members in by_instrument.items():
        rows = [_row(run, sample) for run, sample in members]
        columns = {key: pa.array([row.get(key) for row in rows]) for key in _names(rows)}
        columns["images"] = pa.array(
            [
                [{"bytes": picture.read(), "path": None} for picture in sample.item.request.pictures]
                for _, sample in members
            ],
            pa.list_(image),
        )
        table = pa.table(columns)
        table = table.replace_schema_metadata({"huggingface": json.dumps(_features(table.schema))})
        path = folder / "data" / f"{name}.parquet"
        with _guarded(path), whole_file(path) as draft:
            pq.write_table(table, draft)
        written[path.name] = len(rows)
    configs = "\n".join(f"- config_name: {name}\n  data_files: data/{name}.parquet" for name in by_instrument)
    card = folder / "README.md"
    with _guarded(card), whole_file(card) as draft:
        draft.write_text(_CARD.format(configs=configs), encoding="utf-8")
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
        "meta": json.dumps(meta_of(sample.item), ensure_ascii=False),
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


@contextmanager
def _guarded(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error


# Export runs, diagnoses and data sets: one way for all instruments and formats.


Format: TypeAlias = Literal[
    "inspect", "lmms-eval", "vlmevalkit", "datasets", "parquet", "csv", "jsonl", "crisp", "crisp-na"
]
FORMATS: tuple[Format, ...] = get_args(Format)
_QUESTIONS_ONLY = ("lmms-eval", "vlmevalkit")
"""Formats of questions, which need no answers."""


def export(source: str | Path, out: str | Path, *, to: str) -> dict[str, int]:
    """Export a run, several runs, a diagnosis or a data set.

    Args:
        source: A run, a folder of runs, a diagnosis, or a data set.
        out: The folder to write into.
        to: One of `FORMATS`.

    Returns:
        By file or task, the number of rows or samples written; by reason (``left out: …``), the number of those that
        were not.

    Raises:
        UsageError: If there is nothing to export, or if the format is unknown or not available for this source.
    """
    if to not in FORMATS:
        raise UsageError(f"--to takes {', '.join(FORMATS)}, not {to!r}")
    source, target = Path(source), Path(out)
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; --out must be a folder")
    if any((folder / "run.json").is_file() for folder in (target, *target.absolute().parents)):
        raise UsageError(f"{target} belongs to a run; choose another --out")
    runs = find_runs(source) if source.is_dir() else []
    if to not in _WRITERS:
        return _export_by_instrument(source, runs, target, to)
    if runs:
        left_out: Counter[str] = Counter()
        written = _WRITERS[to](_counted(_read(source, runs, to), to, left_out), target)
        return written | {reason: n for reason, n in left_out.items() if n}
    return _export_data(source, target, to)


def _read(source: Path, runs: Sequence[Path], to: str) -> Iterator[SampledRun]:
    """Read the runs that an instrument scores. Questions are those of the first model; all models have the same."""
    first = read_info(runs[0]).model
    chosen = [
        folder
        for folder in runs
        if instrument_of_run((info := read_info(folder)).instrument) is not None
        and (to not in _QUESTIONS_ONLY or info.model == first)
    ]
    if to in _QUESTIONS_ONLY:
        _check_labels(chosen)
    for folder in chosen:
        name = folder.name if folder != source else read_info(folder).instrument
        if to in _QUESTIONS_ONLY:
            with tempfile.TemporaryDirectory() as scratch:
                yield read_samples(without_answers(folder, Path(scratch) / "run"), name)
        else:
            yield read_samples(folder, name)


def _counted(runs: Iterator[SampledRun], to: str, left_out: Counter[str]) -> Iterator[SampledRun]:
    """Yield the runs, and count in `left_out` what the format leaves out."""
    for run in runs:
        if to not in _QUESTIONS_ONLY:
            left_out["left out: repeats"] += run.repeats
        if to == "inspect":
            left_out["left out: not asked yet"] += sum(sample.record is None for sample in run.samples)
        yield run


def _check_labels(runs: Sequence[Path]) -> None:
    """Raise an error for runs that would be written to the same files: of one model, in folders of the same name."""
    known: dict[str, Path] = {}
    for folder in runs:
        other = known.setdefault("".join(c if c.isalnum() else "_" for c in _label(folder)), folder)
        if other != folder:
            raise UsageError(
                f"{other} and {folder} are runs of one model with the same name; export them one by one"
            )


def _export_data(source: Path, target: Path, to: str) -> dict[str, int]:
    """Export the questions that a diagnosis would ask about a data set."""
    if not source.exists():
        raise UsageError(f"{source} does not exist; pass a run, a folder of runs, a diagnosis or a data set")
    data_sets = [
        own for instrument in instruments() if (own := instrument.find_data(source, None)) is not None
    ]
    if not data_sets:
        raise UsageError(
            f"there is neither a run nor a diagnosis nor a data set in {source}; `theodolite diagnose` makes a diagnosis"
        )
    if to not in _QUESTIONS_ONLY:
        task = (
            f"`inspect eval theodolite/pairs -T instrument={data_sets[0].instrument} -T data={source}` asks it"
            if to == "inspect"
            else "run it first"
        )
        raise UsageError(
            f"{to} holds answers, and {source} is a data set that nobody was asked about: {task}"
        )
    with tempfile.TemporaryDirectory() as scratch:
        planned = [
            folder
            for data in data_sets
            for instrument in instruments()
            if instrument.name == data.instrument
            for folder in plan_runs(instrument, Path(scratch), data=data)
        ]
        return _WRITERS[to]((read_samples(folder, folder.name) for folder in planned), target)


def _export_by_instrument(source: Path, runs: Sequence[Path], target: Path, to: str) -> dict[str, int]:
    """Export in a format that only some instruments support."""
    own = [instrument for instrument in instruments() if to in instrument.formats]
    names = ", ".join(instrument.name for instrument in own)
    written: dict[str, int] = {}
    chosen = {
        folder: instrument
        for folder in runs
        if (instrument := instrument_of_run(kind := read_info(folder).instrument)) is not None
        and instrument in own
        and kind in instrument.exported_kinds
    }
    _check_labels(list(chosen))
    for folder, instrument in chosen.items():
        subfolder = target / _label(folder) if len(runs) > 1 else target
        counts = instrument.export(folder, subfolder, to=to)
        written |= {(subfolder / name).relative_to(target).as_posix(): n for name, n in counts.items()}
    if runs and not written:
        raise UsageError(f"{to} is available only for runs of {names}; {source} has none")
    if runs:
        return written
    for instrument in own:
        if source.exists() and instrument.find_data(source, None) is not None:
            return instrument.export(source, target, to=to)
    raise UsageError(f"{to} is available only for runs and data sets of {names}; {source} is none")


def _label(folder: Path) -> str:
    return f"{slug(read_info(folder).model)}-{folder.name}"


def _inspect(runs: Iterator[SampledRun], target: Path) -> dict[str, int]:
    written: dict[str, int] = {}
    for run in runs:
        for task, samples in run.tasks.items():
            if any(sample.record is not None for sample in samples):
                path, n = write_inspect_log(target / run.label, run, task)
                written[path.relative_to(target).as_posix()] = n
    return written


def _table(kind: TableFormat) -> Callable[[Iterator[SampledRun], Path], dict[str, int]]:
    return lambda runs, target: write_table(runs, target / f"items.{kind}", kind=kind)


_WRITERS: Mapping[str, Callable[[Iterator[SampledRun], Path], dict[str, int]]] = {
    "inspect": _inspect,
    "lmms-eval": write_tasks,
    "vlmevalkit": write_tsv_files,
    "datasets": write_dataset,
    "parquet": _table("parquet"),
    "csv": _table("csv"),
    "jsonl": _table("jsonl"),
}
