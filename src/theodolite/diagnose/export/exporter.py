"""Export runs, diagnoses and data sets: one way for all instruments and formats."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.diagnose.export.inspect_log import write_inspect_log
from theodolite.diagnose.export.lmms_eval import write_tasks
from theodolite.diagnose.export.samples import SampledRun, plan_runs, read_samples, without_answers
from theodolite.diagnose.export.tables import TableFormat, write_dataset, write_table
from theodolite.diagnose.export.vlmevalkit import write_tsv_files
from theodolite.instruments.instrument import instrument_of_run, instruments
from theodolite.runs import find_runs, read_info, slug

__all__ = ["FORMATS", "Format", "export"]

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
    if any((place / "run.json").is_file() for place in (target, *target.absolute().parents)):
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
    """Count what a format of answers leaves out."""
    for run in runs:
        if to not in _QUESTIONS_ONLY:
            left_out["left out: repeats"] += run.repeats
        if to == "inspect":
            left_out["left out: not asked yet"] += sum(sample.record is None for sample in run.samples)
        yield run


def _check_labels(runs: Sequence[Path]) -> None:
    """Refuse runs that would be written to the same files: those of one model whose folders have the same name."""
    known: dict[str, Path] = {}
    for folder in runs:
        other = known.setdefault("".join(c if c.isalnum() else "_" for c in _label(folder)), folder)
        if other != folder:
            raise UsageError(
                f"{other} and {folder} are runs of one model with the same name; export them one by one"
            )


def _export_data(source: Path, target: Path, to: str) -> dict[str, int]:
    """Export what a diagnosis would ask about a data set."""
    if not source.exists():
        raise UsageError(f"{source} does not exist; pass a run, a folder of runs, a diagnosis or a data set")
    found = [own for each in instruments() if (own := each.find_data(source, None)) is not None]
    if not found:
        raise UsageError(
            f"there is neither a run nor a diagnosis nor a data set in {source}; `theodolite diagnose` makes a diagnosis"
        )
    if to not in _QUESTIONS_ONLY:
        task = (
            f"`inspect eval theodolite/pairs -T instrument={found[0].instrument} -T data={source}` asks it"
            if to == "inspect"
            else "run it first"
        )
        raise UsageError(
            f"{to} holds answers, and {source} is a data set that nobody was asked about: {task}"
        )
    with tempfile.TemporaryDirectory() as scratch:
        planned = [
            folder
            for data in found
            for instrument in instruments()
            if instrument.name == data.instrument
            for folder in plan_runs(instrument, Path(scratch), data=data)
        ]
        return _WRITERS[to]((read_samples(folder, folder.name) for folder in planned), target)


def _export_by_instrument(source: Path, runs: Sequence[Path], target: Path, to: str) -> dict[str, int]:
    """Export in a format that only some instruments have."""
    own = [each for each in instruments() if to in each.formats]
    names = ", ".join(each.name for each in own)
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
        place = target / _label(folder) if len(runs) > 1 else target
        found = instrument.export(folder, place, to=to)
        written |= {(place / name).relative_to(target).as_posix(): n for name, n in found.items()}
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
