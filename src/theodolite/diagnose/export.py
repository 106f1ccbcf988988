"""Runs and diagnoses in other people's formats: inspect_ai logs, lmms-eval tasks, Parquet, Hugging Face data sets.

What lmms-eval logs of an exported task comes back as a model: ``theodolite diagnose --model replay:LOGS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Picture
from theodolite.core.views import ItemRow
from theodolite.diagnose.browse import browse
from theodolite.diagnose.export_lmms import write_tasks
from theodolite.diagnose.export_tables import write_dataset, write_item_table
from theodolite.diagnose.items import read_items
from theodolite.diagnose.record import DIAGNOSIS_FILE
from theodolite.runs import (
    InspectSample,
    InspectScore,
    InspectTask,
    Result,
    Run,
    export_run,
    find_runs,
    read_info,
    slug,
    write_inspect_log,
)

__all__ = ["FORMATS", "Format", "export"]

Format: TypeAlias = Literal["inspect", "lmms-eval", "parquet", "datasets"]
FORMATS: tuple[Format, ...] = get_args(Format)


def export(source: str | Path, out: str | Path, *, to: str) -> dict[str, int]:
    """Writes a run, several runs or a diagnosis.

    Args:
        source: a run, a folder of runs, or a diagnosis.
        out: the folder to write into.
        to: one of `FORMATS`.

    Returns:
        What was written, with the number of rows or samples of each.

    Raises:
        UsageError: there is nothing to export, or no such format.
    """
    if to not in FORMATS:
        raise UsageError(f"--to takes {', '.join(FORMATS)}, not {to!r}")
    source, target = Path(source), Path(out)
    runs = find_runs(source)
    if not runs:
        raise UsageError(
            f"there is neither a run nor a diagnosis in {source}; `theodolite diagnose` makes one"
        )
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; --out names a folder: choose another")
    writers: Mapping[str, Callable[[Path, list[Path], Path], dict[str, int]]] = {
        "inspect": _inspect,
        "lmms-eval": _lmms_eval,
        "parquet": _parquet,
        "datasets": _datasets,
    }
    return writers[to](source, runs, target)


def _name(source: Path, run: Path) -> str:
    """A run's name among its fellows: its own, or the model's before it where there are several."""
    info = read_info(run)
    own = run.name if run != source else info.instrument
    return f"{slug(info.model)}-{own}"


def _parquet(source: Path, runs: list[Path], target: Path) -> dict[str, int]:
    target.mkdir(parents=True, exist_ok=True)
    written = {}
    for folder in runs:
        path = target / f"{_name(source, folder)}.parquet"
        with Run.open(folder) as run:
            written[path.name] = export_run(run, path, kind="parquet")
    if (source / DIAGNOSIS_FILE).is_file():
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
            if run.info.instrument == "scene":
                from theodolite.instruments.scene.interop.inspect_log import write_inspect

                logs = write_inspect(run, target / _name(source, folder))
                written |= {path.relative_to(target).as_posix(): n for path, n in logs.items()}
                continue
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
    """The measured items of a run that are shown to people, with whether each is right and what it reads."""
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
    scenes: list[Item] = []
    others: list[tuple[str, Item, dict[str, Any]]] = []
    first = read_info(runs[0]).model
    for folder in runs:
        if read_info(folder).model != first:
            continue  # the items are the same for every model
        with Run.open(folder) as run:
            kind = run.info.instrument
            for result in run.results():
                if kind.startswith("scene"):
                    scenes.append(result.item)
                else:
                    document = _document(kind, result)
                    if document is not None:
                        others.append((folder.name, *document))
    written: dict[str, int] = {}
    if scenes:
        from theodolite.instruments.scene.interop.lmms_eval import write_lmms_eval

        names = write_lmms_eval(list({item.name: item for item in scenes}.values()), target)
        data = target / "data"
        written |= {name: len((data / f"{name}.jsonl").read_text().splitlines()) for name in names}
    return written | write_tasks(others, target)


def _document(kind: str, result: Result) -> tuple[Item, dict[str, Any]] | None:
    """An item as it is shown, with what scoring its answer needs; None for what only a white box can do."""
    meta = result.item.meta
    if kind == "compass":
        from theodolite.instruments.compass.metrics import shown_item

        options = dict(zip(result.item.options, meta["directions"], strict=True))  # type: ignore[arg-type]
        gold = result.item.options[int(str(meta["gold"]))]
        return shown_item(result.item), {"gold": gold, "options": options, "reader": "option"}
    if kind in {"grid", "grid-behaviour", "grid-anchors"}:
        return result.item, {"gold": str(meta["gold"]), "reader": "number"}
    if kind == "trace":
        return result.item, {"gold": str(meta["gold"]), "reader": "trace"}
    return None
