"""What commands that measure have in common: engine and price, the plan that they print, and their exit status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from theodolite.cli.output import err, note, print_json, print_table, show
from theodolite.core.errors import UsageError
from theodolite.core.options import WORKERS, Option, Options
from theodolite.core.tables import Column, Table
from theodolite.core.types import Item
from theodolite.core.words import duration
from theodolite.models.replay import unmatched
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
    plan_cost,
)

__all__ = [
    "SOME_FAILED",
    "EngineChoice",
    "PlanChoice",
    "Preview",
    "exit_if_failed",
    "preview_cost",
    "show_costs",
    "unmatched_table",
]

SOME_FAILED = 1
"""Exit status if items failed."""


_CENT = 0.005
"""Prices below this would be rounded to nothing."""


@dataclass(frozen=True, kw_only=True)
class PlanChoice(Options):
    """Whether to show only what a command would take."""

    plan: Annotated[
        bool,
        Option(
            "Show what a run would take (requests, pictures, tokens, time), and exit. A few items are asked to find out."
        ),
    ] = False
    price: Annotated[
        str,
        Option(
            "With --plan: US dollars per million tokens, for all or for prompts and answers, to show the cost.",
            metavar="USD[,USD]",
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class EngineChoice(Options):
    """Where and how the model runs."""

    engine: Annotated[Literal["local", "ray"], Option("Where the model runs.")] = "local"
    workers: Annotated[int | None, WORKERS] = None
    ray_address: Annotated[
        str | None, Option("A running Ray cluster. Default: a local one is started.", metavar="ADDRESS")
    ] = None

    def engine_options(self, cache: Path | None = None) -> EngineOptions:
        """Return them as the engine takes them."""
        return EngineOptions(self.engine, self.workers, self.ray_address, cache)


@dataclass(frozen=True, slots=True)
class Preview:
    """What ``--plan`` shows of a run."""

    price: Price | None = None
    calls: int = 1
    """Model calls for each item, at most."""
    more: int = 0
    """Items that are added once the first answers are known, at most."""

    @classmethod
    def of(cls, plan: bool, price: str) -> Preview | None:
        """Read the options ``--plan`` and ``--price``. None if there is no plan to show.

        Raises:
            UsageError: If the price cannot be read, or is given without ``--plan``.
        """
        if price and not plan:
            raise UsageError("--price is for --plan")
        return cls(Price.parse(price) if price else None) if plan else None


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
