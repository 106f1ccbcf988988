"""The common part of all ``run`` commands: measure, score and print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from theodolite.cli.console import note, notes, print_json
from theodolite.cli.output import progress_bar, show
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.core.types import Item
from theodolite.models.replay import recording_notes, unmatched
from theodolite.runs import (
    EngineOptions,
    Measurer,
    MeasurerFactory,
    Plan,
    Run,
    RunSettings,
    Tally,
    measure_run,
    slug,
)

__all__ = [
    "SOME_FAILED",
    "exit_if_failed",
    "measure_with_bar",
    "named_runs",
    "run_and_show",
    "run_folders",
    "show_plan",
    "unmatched_table",
]

SOME_FAILED = 1
"""Exit status if items failed."""


def run_and_show(  # noqa: PLR0913 - all settings of a run
    folder: Path,
    settings: RunSettings,
    plan: Plan | Iterable[Item],
    source: Measurer | MeasurerFactory,
    *,
    options: EngineOptions,
    limit: int | None = None,
    tables: Callable[[Run], Iterable[Table]],
    json: bool = False,
) -> None:
    """Measure a run, score it, and print its main tables. Exit with status 1 if items failed.

    The JSON is ``{"run", "instrument", "model", "tally", "tables"}`` for every instrument.
    """
    tally = measure_with_bar(folder, settings, plan, source, options=options, limit=limit)
    with Run.open(folder, writable=True) as run:
        found = list(tables(run)) if tally.finished else []
        if tally.failed and settings.model.startswith("replay:"):
            found.append(unmatched_table([run]))
        run.write_tables(found)
    show(
        found,
        json=json,
        run=str(folder),
        instrument=settings.kind,
        model=settings.model,
        tally=asdict(tally),
    )
    if not json:
        note(f"measured {tally.finished} of {tally.planned} items into {folder}")
        notes(recording_notes(settings.model))
    exit_if_failed(tally, folder)


def named_runs(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Name each run by its model, and by its folder as well if another run before it has the same model.

    Raises:
        UsageError: If a run is given twice.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("a run is given twice; give each one once")
    taken: set[str] = set()
    for folder in folders:
        with Run.open(folder) as opened:
            model = opened.info.model
        name = model if model not in taken else f"{model} ({folder.name})"
        taken.add(name)
        yield name, folder


def measure_with_bar(
    folder: Path,
    settings: RunSettings,
    plan: Plan | Iterable[Item],
    source: Measurer | MeasurerFactory,
    *,
    options: EngineOptions,
    limit: int | None = None,
) -> Tally:
    """Measure a run, and show how far it is."""
    items = plan if callable(plan) else list(plan)
    with progress_bar(f"{settings.kind} {settings.model}", limit) as bar:
        return measure_run(
            folder,
            settings,
            items if callable(items) else (lambda _: items),
            source,
            options=options,
            limit=limit,
            progress=bar,
        )


def run_folders(folder: Path, models: Sequence[str]) -> dict[str, Path]:
    """The folder of each model's run: `folder` itself for one model, folders in it for several.

    Raises:
        UsageError: If a model is named twice.
    """
    if len(models) == 1:
        return {models[0]: folder}
    found = {model: folder / slug(model) for model in models}
    if len(set(found.values())) < len(models):
        raise UsageError("a model is named twice; give each once")
    return found


def unmatched_table(runs: Iterable[Run]) -> Table:
    """Why items found no answer in a recording."""
    failed = [
        each.record.response.reason for run in runs for each in run.results() if each.record is not None
    ]
    return Table.of(
        "replay.unmatched",
        "Items without an answer in the recording",
        [Column("reason", "reason"), Column("n", "items", "count"), Column("example", "example")],
        [[kind, n, example] for kind, (n, example) in unmatched(filter(None, failed)).items()],
    )


def show_plan(items: Iterable[Item], *, json: bool, tables: Sequence[Table] = ()) -> None:
    """Print the size of a plan, for ``--plan``, and tables about it. Nothing is asked."""
    found = list(items)
    pictures = sum(len(item.request.pictures) for item in found)
    tokens = sum(item.request.max_tokens for item in found)
    counts = {"requests": len(found), "pictures": pictures, "longest_answers_tokens": tokens}
    if json:
        print_json({"plan": counts}) if not tables else show(tables, json=True, plan=counts)
        return
    show(tables, json=False)
    note(
        f"{len(found)} requests with {pictures} pictures, at most {tokens} tokens of answers; nothing was asked"
    )


def exit_if_failed(tally: Tally, folder: Path) -> None:
    """Print a note and exit with status 1 if items failed."""
    if tally.failed:
        note(
            f"{tally.failed} of {tally.planned} items failed; `theodolite runs show {folder}` shows why, "
            "and the same command asks them again"
        )
        raise typer.Exit(SOME_FAILED)
