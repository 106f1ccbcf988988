"""The common part of all ``run`` commands: measure, score and print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import typer

from theodolite.cli.console import err, note, notes, print_json
from theodolite.cli.output import print_table, progress_bar, show
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.core.types import Item
from theodolite.models.replay import recording_notes, unmatched
from theodolite.runs import (
    Cost,
    EngineOptions,
    Measurer,
    MeasurerFactory,
    Plan,
    Price,
    Run,
    RunSettings,
    Tally,
    duration,
    measure_run,
    plan_cost,
    slug,
)

__all__ = [
    "SOME_FAILED",
    "Preview",
    "exit_if_failed",
    "measure_with_bar",
    "named_runs",
    "preview_cost",
    "run_and_show",
    "run_folders",
    "show_costs",
    "unmatched_table",
]

SOME_FAILED = 1
"""Exit status if items failed."""


_CENT = 0.005
"""Prices below this would be rounded to nothing."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What ``--plan`` shows of a run."""

    price: Price | None = None
    calls: int = 1
    """Model calls for each item, at most."""
    more: int = 0
    """Items that are added once the first answers are known, at most."""
    tables: Sequence[Table] = ()
    """Further tables."""

    @classmethod
    def of(cls, plan: bool, price: str, **rest: Any) -> Preview | None:
        """Read the options ``--plan`` and ``--price``. None if there is no plan to show.

        Raises:
            UsageError: If the price cannot be read, or is given without ``--plan``.
        """
        if price and not plan:
            raise UsageError("--price is for --plan")
        return cls(Price.parse(price) if price else None, **rest) if plan else None


def run_and_show(  # noqa: PLR0913 - all settings of a run
    folder: Path,
    settings: RunSettings,
    plan: Plan | Iterable[Item],
    source: Measurer | MeasurerFactory | None,
    *,
    options: EngineOptions,
    limit: int | None = None,
    tables: Callable[[Run], Iterable[Table]],
    json: bool = False,
    preview: Preview | None = None,
) -> None:
    """Measure a run, score it, and print its main tables. Exit with status 1 if items failed.

    With a `preview`, only print what the run would take: a few items are asked, and nothing is kept.

    The JSON is ``{"run", "instrument", "model", "tally", "tables"}`` for every instrument.
    """
    if preview is not None:
        cost = preview_cost(settings, plan, source, options=options, limit=limit, preview=preview)
        show_costs({settings.model: {settings.kind: cost}}, preview.price, json=json, tables=preview.tables)
        return
    if source is None:
        raise UsageError("no model is named")
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


def preview_cost(
    settings: RunSettings,
    plan: Plan | Iterable[Item],
    source: Measurer | MeasurerFactory | None,
    *,
    options: EngineOptions,
    limit: int | None,
    preview: Preview,
) -> Cost:
    """Find out what a run would take, and show that it is being found out."""
    with err.status("asking a few items to find out how long it takes"):
        return plan_cost(
            plan, source, settings, options=options, calls=preview.calls, more=preview.more, limit=limit
        )


def show_costs(
    costs: Mapping[str, Mapping[str, Cost]], price: Price | None, *, json: bool, tables: Sequence[Table] = ()
) -> None:
    """Print the costs of plans, by model and instrument.

    The JSON is ``{"plan": {total}, "parts": [one object for each model and instrument]}``, and the tables if there are any.
    """
    parts = [(model, kind, cost) for model, some in costs.items() for kind, cost in some.items()]
    total = sum((cost for _, _, cost in parts), Cost())
    if json:
        more = {
            "plan": _cost_json(total, price),
            "parts": [
                {"model": model, "instrument": kind, **_cost_json(cost, price)} for model, kind, cost in parts
            ],
        }
        print_json(more) if not tables else show(tables, json=True, **more)
        return
    rows = [[model, kind, *_cost_cells(cost, price)] for model, kind, cost in parts]
    rows += (
        [["total", "", *_total_cells([cost for *_, cost in parts], total, price)]] if len(parts) > 1 else []
    )
    heads = ["requests", "pictures", "tokens in", "tokens out", "time", *(["cost"] if price else [])]
    show(tables, json=False)
    print_table(["model", "instrument", *heads], rows, title="Plan")
    for reason, where in _reasons(parts).items():
        note(f"{where}: time and tokens are not known: {reason}")
    if total.timed:
        note(
            f"time and tokens are those of {total.timed} {'request that was' if total.timed == 1 else 'requests that were'} asked for "
            "this, evenly over the plan"
        )
    if total.calls > total.requests:
        note(f"{total.calls:,} model calls at most: some items need several")


def _reasons(parts: Sequence[tuple[str, str, Cost]]) -> dict[str, str]:
    """By reason why something is not known, the model and its instruments."""
    found: dict[str, dict[str, list[str]]] = {}
    for model, kind, cost in parts:
        if cost.why_not:
            found.setdefault(cost.why_not, {}).setdefault(model, []).append(kind)
    return {
        reason: "; ".join(f"{model} {', '.join(kinds)}".strip() for model, kinds in where.items())
        for reason, where in found.items()
    }


def _cost_json(cost: Cost, price: Price | None) -> dict[str, Any]:
    return {**asdict(cost), **({"usd": cost.usd(price)} if price else {})}


def _cost_cells(cost: Cost, price: Price | None) -> list[str]:
    """Requests, pictures, tokens, time and price in words; what is not known is a dash."""
    tokens_in = f"{cost.prompt_tokens:,}" if cost.prompt_tokens is not None else "–"
    longest = f"at most {cost.longest_answers_tokens:,}"
    tokens_out = f"{cost.answer_tokens:,}" if cost.answer_tokens is not None else longest
    time = duration(cost.seconds) if cost.seconds is not None else "–"
    cells = [f"{cost.requests:,}", f"{cost.pictures:,}", tokens_in, tokens_out, time]
    if price is None:
        return cells
    usd = cost.usd(price)
    return [*cells, "–" if usd is None else _dollars(usd)]


def _total_cells(parts: Sequence[Cost], total: Cost, price: Price | None) -> list[str]:
    """As `_cost_cells` of the sum. Where some parts are not known, tokens are at most, and the price at least that of the others."""
    longest = (
        cost.longest_answers_tokens if cost.answer_tokens is None else cost.answer_tokens for cost in parts
    )
    cells = _cost_cells(replace(total, longest_answers_tokens=sum(longest)), price)
    known = [usd for cost in parts if price and (usd := cost.usd(price)) is not None]
    return (
        [*cells[:-1], f"at least {_dollars(sum(known))}"] if price and 0 < len(known) < len(parts) else cells
    )


def _dollars(usd: float) -> str:
    """Format a price.

    >>> _dollars(1234.5), _dollars(0.004), _dollars(0.0)
    ('$1,234.50', '< $0.01', '$0.00')
    """
    return "< $0.01" if 0 < usd < _CENT else f"${usd:,.2f}"


def exit_if_failed(tally: Tally, folder: Path) -> None:
    """Print a note and exit with status 1 if items failed."""
    if tally.failed:
        note(
            f"{tally.failed} of {tally.planned} items failed; `theodolite runs show {folder}` shows why, "
            "and the same command asks them again"
        )
        raise typer.Exit(SOME_FAILED)
