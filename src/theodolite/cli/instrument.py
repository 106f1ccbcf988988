"""The commands of every instrument, ``theodolite NAME make | import | run | score | audit | figures``, made from its verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from theodolite.cli.options import Group, command
from theodolite.cli.output import (
    err,
    note,
    notes,
    out,
    print_json,
    print_table,
    progress_bar,
    show,
    step_progress,
)
from theodolite.core.errors import UsageError
from theodolite.core.options import (
    CACHE,
    MODEL,
    RESUMED_FOLDER,
    WORKERS,
    Option,
    Options,
    PlanChoice,
    Seed,
    limit_of,
    named_size_of,
)
from theodolite.core.tables import Column, Table, duration
from theodolite.core.types import Item
from theodolite.diagnose.api import make_request, plan_diagnosis
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.instruments.instrument import (
    Instrument,
    Messages,
    Outcome,
    RunOptions,
    RunPlan,
    Study,
    Verb,
    find_instruments,
)
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
    measure_run,
    plan_cost,
    planned_items,
    slug,
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


# What commands that measure have in common: engine and price, the plan that they print, and their exit status.


SOME_FAILED = 1
"""Exit status if items failed."""


_CENT = 0.005
"""Prices below this would be rounded to nothing."""


@dataclass(frozen=True, kw_only=True)
class EngineChoice(Options):
    """Where and how the model runs."""

    engine: Annotated[Literal["local", "ray"], Option("Where the model runs.")] = "local"
    workers: Annotated[int | None, WORKERS] = None
    ray_address: Annotated[
        str | None, Option("A running Ray cluster. Default: a local one is started.", metavar="ADDRESS")
    ] = None

    def engine_options(self, cache: Path | None = None) -> EngineOptions:
        """Convert them to the options of an engine."""
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
    """Build the table of reasons why items have no answer in a recording."""
    failed = [
        result.record.response.reason for run in runs for result in run.results() if result.record is not None
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
    """Estimate what a run would cost, and show a status meanwhile."""
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
    """Map each reason why a cost is not known to the models and instruments concerned."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for model, kind, cost in parts:
        if cost.why_not:
            by_reason.setdefault(cost.why_not, {}).setdefault(model, []).append(kind)
    return {
        reason: "; ".join(f"{model} {', '.join(kinds)}".strip() for model, kinds in where.items())
        for reason, where in by_reason.items()
    }


def _cost_json(cost: Cost, price: Price | None) -> dict[str, Any]:
    return {**asdict(cost), **({"usd": cost.usd(price)} if price else {})}


def _cost_cells(cost: Cost, price: Price | None) -> list[str]:
    """Format requests, pictures, tokens, time and price. What is not known is a dash."""
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
    """Format the sum like `_cost_cells`. If some parts are unknown, tokens are an upper and the price a lower bound."""
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


VERBS = ("make", "import", "run", "score", "audit", "figures")
"""The order of the common verbs in the help; others follow."""
_FAILED_CHECK = 1


def instrument_app(name: str) -> typer.Typer:
    """Build the commands of an instrument."""
    instrument = find_instruments([name])[0]
    app = typer.Typer(no_args_is_help=True, help=instrument.question, cls=Group)
    verbs = instrument.verbs()
    others = [name for name in verbs if name not in VERBS]
    for verb in (*(name for name in VERBS if name == "run" or name in verbs), *others):
        if verb == "run":
            _add_run(app, instrument)
        else:
            _add_verb(app, verb, verbs[verb])
    return app


def _add_verb(app: typer.Typer, name: str, verb: Verb[Any]) -> None:
    def act(options: Options, json: bool) -> None:
        with step_progress() as progress:
            outcome = verb.act(options, _Terminal(progress))
        print_outcome(outcome, json=json)

    command(app, name, verb.options, act, help=verb.help)


def print_outcome(outcome: Outcome, *, json: bool) -> None:
    """Print the outcome of a verb, or what it would take. Exit with status 1 if a check failed."""
    if outcome.plan is not None:
        show_costs(outcome.plan.costs, outcome.plan.price, json=json, tables=outcome.tables)
        notes(outcome.notes)
        return
    show(outcome.tables, json=json, **outcome.values)
    notes(outcome.notes)
    if not outcome.is_good:
        raise typer.Exit(_FAILED_CHECK)


class _Terminal(Messages):
    """Messages on standard error, and a bar for the current step."""

    def __init__(self, progress: Callable[[str, int, int | None], None]) -> None:
        self._progress = progress

    def note(self, text: str) -> None:
        note(text)

    def write_labels(self, rows: Sequence[Mapping[str, Any]], path: Path) -> Mapping[str, str]:
        from theodolite.report.html.parts import write_label_page

        return write_label_page(rows, path)

    def progress(self, step: str, done: int, total: int | None = None) -> None:
        self._progress(step, done, total)


# Run: measure, score and print.


@dataclass(frozen=True, kw_only=True)
class RunControl(EngineChoice, PlanChoice):
    """The options of every run, whichever the instrument."""

    model: Annotated[
        tuple[str, ...], MODEL.but(help=f"{MODEL.help} Several are compared.", repeats=True)
    ] = ()
    out: Annotated[Path | None, RESUMED_FOLDER] = None
    size: Annotated[str | None, named_size_of("pairs; default: standard, or all of --data")] = None
    seed: Seed = 0
    limit: Annotated[int | None, limit_of()] = None
    # --cache and --prompts are for single runs: a diagnosis keeps a cache of its own.
    cache: Annotated[Path | None, CACHE] = None
    prompts: Annotated[bool, Option("With --plan: print every prompt.")] = False


def _add_run(app: typer.Typer, instrument: Instrument) -> None:
    own = instrument.run_options
    both: Any = dataclass(frozen=True, kw_only=True)(type("Run", (own, RunControl), {}))

    def act(options: Any, json: bool) -> None:
        _run(instrument, options, own(**options.part(own)), json=json)

    text = f"{instrument.run_help} The same command resumes where it stopped."
    command(app, "run", both, act, help=text)


def _run(instrument: Instrument, control: RunControl, own: RunOptions, *, json: bool) -> None:
    """Measure and score every model, or show what that would take."""
    named = control.model or tuple(filter(None, [own.default_model()]))
    preview = Preview.of(control.plan, control.price)
    if preview is None and control.prompts:
        raise UsageError("--prompts needs --plan")
    if preview is None and (control.out is None or not named):
        raise UsageError("--model and --out are needed, except with --plan")
    if len(set(named)) < len(named):
        raise UsageError("a model is named twice; give each once")
    unused = [name for name in own.given() if name != "--data"]
    if own.source is None and unused:
        raise UsageError(f"{unused[0]} needs --data: without it, a run is that of a diagnosis")
    with TemporaryDirectory() as scratch:
        folder = control.out or Path(scratch)
        planner = _Planner(
            instrument, control, own, Path(scratch) if preview else folder, preview is not None
        )
        if preview is not None:
            _show_plans(planner, named, preview, json=json)
            return
        folders = {model: folder if len(named) == 1 else folder / slug(model) for model in named}
        done = [_measure(planner, model, place) for model, place in folders.items()]
    _show(instrument, folder, done, json=json)


@dataclass(frozen=True)
class _Planner:
    """Plan the runs of one instrument as its options say, or as in a diagnosis."""

    instrument: Instrument
    control: RunControl
    own: RunOptions
    folder: Path
    is_preview: bool

    @property
    def takes_options(self) -> bool:
        """True if the instrument plans a run by its own options."""
        return self.own.source is not None and type(self.own) is not RunOptions

    def request(self, models: Sequence[str]) -> DiagnosisRequest:
        """Return the request of a diagnosis with this instrument alone."""
        name = self.instrument.name
        sets = [f"{name}={self.own.data}"] if self.own.data is not None else ()
        return make_request(
            tuple(models),
            data=sets,
            size=self.control.size or "standard",
            instruments=name,
            out=self.folder,
            seed=self.control.seed,
            options=self.control.engine_options(self.control.cache),
        )

    def plans(self, model: str, folder: Path) -> list[RunPlan]:
        """Plan the runs of a model."""
        from theodolite.twins.workspace import model_capability

        if not self.takes_options:
            study = self.request([model]).study(self.instrument)
            return list(self.instrument.plan(study, model_capability(model)))
        size = self.control.size
        if size is not None and not (self.own.takes_size and size.isdecimal() and int(size)):
            raise UsageError("--size does not apply to this --data; --limit N uses the first N items")
        study = Study(
            folder,
            int(size) if size else "standard",
            self.control.seed,
            options=self.own,
            model=model,
            is_preview=self.is_preview,
        )
        return list(self.instrument.plan(study, "gradients"))

    def settings(self, plan: RunPlan, model: str) -> RunSettings:
        """Return what identifies a run."""
        seed = self.control.seed if plan.seed is None else plan.seed
        return RunSettings(plan.kind, model, seed, plan.settings)


@dataclass(frozen=True)
class _Done:
    """A run that was measured."""

    model: str
    folder: Path
    kind: str
    tally: Tally
    tables: list[Table]


def _measure(planner: _Planner, model: str, folder: Path) -> list[_Done]:
    """Measure and score the runs of a model."""
    done = []
    for plan in planner.plans(model, folder):
        notes(plan.notes)
        run_folder, settings = folder / plan.name, planner.settings(plan, model)
        with progress_bar(f"{plan.kind} {model}", planner.control.limit) as bar:
            tally = measure_run(
                run_folder,
                settings,
                plan.items,
                plan.factory(model),
                options=planner.control.engine_options(planner.control.cache),
                limit=planner.control.limit,
                progress=bar,
            )
        with Run.open(run_folder, writable=True) as run:
            tables = list((plan.tables or planner.instrument.tables)(run)) if tally.finished else []
            if tally.failed and model.startswith("replay:"):
                tables.append(unmatched_table([run]))
            run.write_tables(tables)
        done.append(_Done(model, run_folder, plan.kind, tally, tables))
    return done


def _show(instrument: Instrument, folder: Path, done: Sequence[Sequence[_Done]], *, json: bool) -> None:
    """Print the tables of all models, and compare them if there are several."""
    runs = [run for some in done for run in some]
    tally = sum((run.tally for run in runs), Tally())
    tables = [table for run in runs for table in run.tables]
    kind = runs[0].kind if len({run.kind for run in runs}) == 1 else instrument.name
    if len(done) == 1:
        values = {"run": str(folder), "instrument": kind, "model": runs[0].model, "tally": asdict(tally)}
    else:
        tables += instrument.compare([run.folder for run in runs])
        values = {"runs": [str(run.folder) for run in runs], "instrument": kind}
    show(tables, json=json, **values)
    if not json:
        note(f"measured {tally.finished} of {tally.planned} items into {folder}")
        notes(line for some in done for line in recording_notes(some[0].model))
    for run in runs:
        exit_if_failed(run.tally, run.folder)


def _show_plans(planner: _Planner, models: Sequence[str], preview: Preview, *, json: bool) -> None:
    """Print what the runs would take, or every prompt."""
    if not planner.takes_options:
        if not models:
            raise UsageError("--model is needed")
        show_costs(plan_diagnosis(planner.request(models)), preview.price, json=json)
        return
    costs: dict[str, Mapping[str, Cost]] = {}
    tables: list[Table] = []
    for model in models or [""]:
        for plan in planner.plans(model, planner.folder):
            notes(plan.notes)
            settings = planner.settings(plan, model or "any model")
            if planner.control.prompts:
                show_prompts(islice(planned_items(plan.items, settings), planner.control.limit), json=json)
                return
            tables = list(plan.preview())
            cost = preview_cost(
                settings,
                plan.items,
                plan.factory(model) if model else None,
                options=planner.control.engine_options(planner.control.cache),
                limit=planner.control.limit,
                preview=Preview(preview.price, plan.calls, plan.more),
            )
            costs[settings.model] = {settings.kind: cost}
    show_costs(costs, preview.price, json=json, tables=tables)


def show_prompts(items: Iterator[Item], *, json: bool) -> None:
    """Print every prompt with its picture and the right answer."""
    shown = [
        {
            "name": item.name,
            "picture": next((str(picture.path) for picture in item.request.pictures), "no picture"),
            "prompt": item.request.text,
            "gold": str(item.request.hint.get("gold", "")),
        }
        for item in items
    ]
    if json:
        print_json({"items": shown})
        return
    for item in shown:
        gold = f"; gold: {item['gold']}" if item["gold"] and not item["gold"].startswith("{") else ""
        out.print(Text(f"{item['name']}  ({item['picture']}{gold})", style="bold"), soft_wrap=True)
        out.print(Text(item["prompt"]), soft_wrap=True)
        out.print()
