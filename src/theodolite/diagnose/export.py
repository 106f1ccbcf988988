"""Export runs, diagnoses and data sets in the formats of other tools.

The samples that lmms-eval logs for an exported task can be diagnosed: ``theodolite diagnose --model replay:LOGS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.core.views import ItemRow
from theodolite.diagnose.browse import browse
from theodolite.diagnose.export_lmms import Document, write_tasks
from theodolite.diagnose.export_tables import write_dataset, write_item_table
from theodolite.diagnose.items import read_items
from theodolite.diagnose.record import DIAGNOSIS_FILE
from theodolite.instruments.instrument import Instrument, instrument_of_run, instruments
from theodolite.runs import (
    ExportFormat,
    InspectSample,
    InspectScore,
    InspectTask,
    Run,
    export_run,
    find_runs,
    read_info,
    slug,
    write_inspect_log,
)

__all__ = ["FORMATS", "Format", "export"]

Format: TypeAlias = Literal[
    "inspect", "lmms-eval", "vlmevalkit", "datasets", "parquet", "csv", "jsonl", "crisp", "crisp-na"
]
FORMATS: tuple[Format, ...] = get_args(Format)


def export(source: str | Path, out: str | Path, *, to: str) -> dict[str, int]:
    """Export a run, several runs, a diagnosis or a data set.

    Args:
        source: A run, a folder of runs, a diagnosis, or a data set of an instrument that exports this format.
        out: The folder to write into.
        to: One of `FORMATS`.

    Returns:
        By file or task, the number of rows or samples written.

    Raises:
        UsageError: If there is nothing to export, or if the format is unknown or not available for this source.
    """
    if to not in FORMATS:
        raise UsageError(f"--to takes {', '.join(FORMATS)}, not {to!r}")
    source, target = Path(source), Path(out)
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; --out must be a folder")
    runs = find_runs(source) if source.is_dir() else []
    if not runs:
        return _export_data(source, target, to)
    written: dict[str, int] = {}
    rest = []
    for folder in runs:
        kind = read_info(folder).instrument
        instrument = instrument_of_run(kind)
        if instrument is not None and to in instrument.formats and kind in instrument.exported_kinds:
            place = target / _name(source, folder) if len(runs) > 1 else target
            found = instrument.export(folder, place, to=to)
            written |= {(place / name).relative_to(target).as_posix(): n for name, n in found.items()}
        else:
            rest.append(folder)
    writer = _WRITERS.get(to)
    if rest and writer is None and not written:
        raise UsageError(f"{to} is available only for runs of {_writers_of(to)}; {source} has none")
    return written | (writer(source, rest, target) if rest and writer is not None else {})


def _export_data(source: Path, target: Path, to: str) -> dict[str, int]:
    """Export a data set with the instrument that can read it."""
    if not source.exists():
        raise UsageError(f"{source} does not exist; pass a run, a folder of runs, a diagnosis or a data set")
    own = [each for each in instruments() if to in each.formats]
    for instrument in own:
        if instrument.find_data(source, None) is not None:
            return instrument.export(source, target, to=to)
    hint = f"; {to} is also available for data sets of {_writers_of(to)}" if own else ""
    raise UsageError(
        f"there is neither a run nor a diagnosis in {source}{hint}; `theodolite diagnose` makes one"
    )


def _writers_of(to: str) -> str:
    return ", ".join(each.name for each in instruments() if to in each.formats) or "no instrument"


def _name(source: Path, run: Path) -> str:
    """Return a unique name for a run: the model and the name of the folder."""
    info = read_info(run)
    own = run.name if run != source else info.instrument
    return f"{slug(info.model)}-{own}"


def _flat(kind: ExportFormat, source: Path, runs: list[Path], target: Path) -> dict[str, int]:
    """Write one flat table per run, with a row per item; for a diagnosis as Parquet also its item rows."""
    target.mkdir(parents=True, exist_ok=True)
    written = {}
    for folder in runs:
        path = target / f"{_name(source, folder)}.{kind}"
        with Run.open(folder) as run:
            written[path.name] = export_run(run, path, kind=kind)
    if kind == "parquet" and (source / DIAGNOSIS_FILE).is_file():
        written |= write_item_table(read_items(source), target / "items.parquet")
    return written


def _datasets(source: Path, runs: list[Path], target: Path) -> dict[str, int]:
    pictures: dict[str, Picture] = {}

    def place(picture: Picture) -> str:
        pictures[picture.digest] = picture
        return picture.digest

    def rows() -> Iterator[ItemRow]:
        for folder in runs:
            with Run.open(folder) as run:
                yield from browse(run, place).rows

    return write_dataset(rows(), target, read=lambda name: pictures[name].read(), title=source.name)


def _inspect(source: Path, runs: list[Path], target: Path) -> dict[str, int]:
    written: dict[str, int] = {}
    for folder in runs:
        with Run.open(folder) as run:
            samples = list(_samples(run))
            if samples:
                task = InspectTask(
                    f"theodolite_{folder.name}".replace("-", "_").replace(" ", "_"),
                    f"theodolite {run.info.instrument}",
                    run.info.model,
                    run.info.created.isoformat(),
                    {"seed": run.info.seed},
                )
                path = write_inspect_log(target / _name(source, folder), task, samples)
                written[path.relative_to(target).as_posix()] = len(samples)
    return written


def _samples(run: Run) -> Iterator[InspectSample]:
    """Yield the measured items of a run that have a row, with their scores."""
    rows = {row.id: row for row in browse(run, lambda picture: picture.digest).rows}
    for result in run.results():
        row = rows.get(result.item.name)
        if row is None or result.record is None:
            continue
        scores = {key: InspectScore(value) for key, value in row.values.items()}
        if row.correct is not None:
            scores["accuracy"] = InspectScore(float(row.correct), row.read_as, row.status)
        meta = {"split": row.split, "condition": row.condition, "kind": row.kind, "cluster": row.cluster}
        yield InspectSample(result, scores, meta, row.gold)


def _lmms_eval(_: Path, runs: list[Path], target: Path) -> dict[str, int]:
    """Write one task per run of the first model. The items are the same for all models."""
    first = read_info(runs[0]).model
    documents: list[Document] = []
    for folder in runs:
        info = read_info(folder)
        instrument = instrument_of_run(info.instrument)
        if info.model == first and instrument is not None:
            documents += _documents(folder, instrument)
    return write_tasks(documents, target)


def _documents(folder: Path, instrument: Instrument) -> Iterator[Document]:
    with Run.open(folder) as run:
        rows = {row.id: row for row in instrument.rows(run, lambda picture: picture.digest, [])}
        for result in run.results():
            row = rows.get(result.item.name)
            if row is not None and result.item.request.pictures:
                yield Document(folder.name, instrument.shown(result.item), row.gold)


_WRITERS: Mapping[Format, Callable[[Path, list[Path], Path], dict[str, int]]] = {
    "inspect": _inspect,
    "lmms-eval": _lmms_eval,
    "datasets": _datasets,
    "parquet": lambda *given: _flat("parquet", *given),
    "csv": lambda *given: _flat("csv", *given),
    "jsonl": lambda *given: _flat("jsonl", *given),
}
