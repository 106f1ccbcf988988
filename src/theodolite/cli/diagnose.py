"""``theodolite diagnose``: run all instruments on one or more models, and write a report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.text import Text

from theodolite.cli.instrument import (
    SOME_FAILED,
    EngineChoice,
    PlanChoice,
    Preview,
    show_costs,
    unmatched_table,
)
from theodolite.cli.options import one_command
from theodolite.cli.output import Bar, err, note, notes, out, print_json, print_table, progress_bars, show
from theodolite.core.errors import UsageError
from theodolite.core.options import IMAGES, INSTRUMENTS, KEPT_FOLDER, MODEL, Option, Seed, named_size_of
from theodolite.core.tables import duration, upper_first
from theodolite.diagnose.api import (
    CAPTION,
    DEFAULT_MODELS,
    Diagnosed,
    Overall,
    diagnose,
    make_request,
    plan_diagnosis,
    raised,
    verdict_rows,
)
from theodolite.diagnose.compare import lookings
from theodolite.diagnose.pair_verdicts import OUTCOMES, readability_table, tone_of
from theodolite.diagnose.record import (
    Diagnosis,
    OpenQuestion,
    PairExample,
    ShownAnswer,
    schema,
    with_short_names,
)
from theodolite.diagnose.request import given_models
from theodolite.models.replay import recording_notes
from theodolite.pairs import Standing
from theodolite.pairs.outcomes import NATURAL, what_was_done
from theodolite.report.html.write import write_report
from theodolite.report.summary import Summary, asked, example, summaries
from theodolite.runs import Run, Tally

_MOST_LINES = 4
"""Maximum number of lines of each list below the table. The report has all of them."""

_LINE_EVERY_S = 30.0
"""Seconds between progress lines if there is no terminal."""


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(EngineChoice, PlanChoice):
    """What `theodolite diagnose` takes."""

    model: Annotated[
        tuple[str, ...],
        MODEL.but(
            help="A model, such as hf:PATH or openai:NAME@URL; may be repeated. Default: three small bundled models: one looks, one ignores the picture, one does both.",
            repeats=True,
        ),
    ] = ()
    instruments: Annotated[tuple[str, ...], INSTRUMENTS] = ()
    quick: Annotated[bool, Option("Use fewer items: faster, with wider intervals.")] = False
    size: Annotated[str | int, named_size_of("pairs for each instrument (of questions, for your own)")] = (
        "standard"
    )
    data: Annotated[
        tuple[str, ...],
        Option(
            "Also use your own data: questions about pictures (JSONL, JSON or CSV in the usual layouts), COCO instances, pairs, "
            "grids, scenes, episodes or trace logs; may be repeated.",
            metavar="PATH",
            repeats=True,
        ),
    ] = ()
    images: Annotated[
        Path | None, IMAGES.but(help="The folder of the pictures of --data, if it is another one.")
    ] = None
    out: Annotated[Path, KEPT_FOLDER] = Path("report")
    seed: Seed = 0
    schema: Annotated[bool, Option("Print the JSON schema of diagnosis.json and exit.")] = False


def diagnose_command(options: DiagnoseOptions, json: bool) -> None:
    """Run every instrument on a model, and report whether and where it uses the picture.

    Without options: three small bundled models: one looks, one ignores the picture, one does both. The same command resumes where it stopped.
    """
    if options.schema:
        print_json(schema())
        return
    if options.quick and options.size != "standard":
        raise UsageError("--quick is --size quick; give one of them")
    given: dict[str, Any] = {
        "out": options.out,
        "size": "quick" if options.quick else options.size,
        "instruments": options.instruments,
        "data": options.data,
        "images": options.images,
        "seed": options.seed,
        "options": options.engine_options(),
    }
    models = list(options.model or DEFAULT_MODELS)
    if (preview := Preview.of(options.plan, options.price)) is not None:
        _show_plan(models, given, preview, json=json)
        return
    with progress_bars() as progress:
        diagnosed = diagnose(models, **given, progress=_Bars(progress))
        page = write_report(options.out, out=options.out)
    if json:
        print_json(diagnosed.diagnosis.model_dump(mode="json"))
    else:
        show_verdict(diagnosed, page)
        _show_recordings(diagnosed.diagnosis, options.out)
    _exit_if_failed(diagnosed.diagnosis, options.out)


def _show_plan(models: list[str], given: dict[str, Any], preview: Preview, *, json: bool) -> None:
    """Print what a diagnosis would take."""
    with given_models(models) as known, err.status("planning") as status:
        request = make_request(
            tuple(known),
            **given,
            progress=lambda model, instrument, _: status.update(f"planning: {model} {instrument}"),
        )
        costs = plan_diagnosis(request)
    show_costs(costs, preview.price, json=json)


def show_verdict(found: Diagnosed, page: Path | None = None) -> None:
    """Print the verdict, short enough for one screen."""
    diagnosis = with_short_names(found.diagnosis)
    models = [model.name for model in diagnosis.models]
    told = summaries(diagnosis)
    for summary in told:
        out.print(
            Text(f"{summary.name}: ", style="bold") + _standing(summary.standing) + Text(f". {summary.claim}")
        )
    out.print()
    rows: list[list[str | Text]] = [
        [label, *(_standing(standing) + Text(f"\n{words}" if words else "") for words, standing, _ in cells)]
        for label, cells in verdict_rows(diagnosis)
    ]
    print_table(["measured on", *models], rows, title="Does it look?")
    _show_example(told)
    out.print(Text(CAPTION, style="dim"))
    out.print()
    _list("without pairs", _without_pairs(diagnosis))
    for model in diagnosis.models:
        _show_strategies(model.name, diagnosis)
    _list("not used", _unused(diagnosis))
    unread = [row for row in readability_table(diagnosis).text_rows() if row[3] != "100.0 %"]
    _list("read", [f"{row[3]} of {row[2]} answers ({row[0]}, {row[1]})" for row in unread])
    _list("signature", [f"{s.name} ({s.model}, {s.instrument}): {s.because}" for s in raised(diagnosis)])
    _list(
        "left out",
        [f"{x.what} ({m.name}, {x.instrument}): {x.why}" for m in diagnosis.models for x in m.left_out],
    )
    looks = [question for question in diagnosis.open_questions if question.is_of_looking]
    _list("not settled", [_open(question) for question in looks])
    out.print(Text("Signatures name behaviour, not its cause.", style="dim"))
    if page is not None:
        out.print(Text(f"Full report: {page}"), soft_wrap=True)


def _show_example(told: Sequence[Summary]) -> None:
    """Print one pair with both answers."""
    chosen = example(told)
    if chosen is None:
        return
    summary, label, pair = chosen
    sides = [(what, side.read_as or side.answer, side.gold) for what, side in _sides(pair)]
    answers = "; ".join(
        f"{what}: {answer}" + ("" if answer == gold else f" (it is {gold})") for what, answer, gold in sides
    )
    words = f"{OUTCOMES[pair.outcome]}, as {pair.why.rpartition(', as ')[2]} of {label}"
    question = " ".join(asked(pair.question).split())
    out.print(
        Text("For example: ", style="bold")
        + Text(f"{question} {upper_first(answers)}. {upper_first(words)} ({summary.name}).")
    )


def _sides(pair: PairExample) -> tuple[tuple[str, ShownAnswer], tuple[str, ShownAnswer]]:
    is_edit = pair.edit != NATURAL.name
    first, second = ("before", what_was_done(pair.edit)) if is_edit else ("one picture", "another picture")
    return (first, pair.before), (second, pair.after)


def _show_strategies(model: str, diagnosis: Diagnosis) -> None:
    """Print the strategies that the pairs of a model exclude, and those that none of them excludes."""
    own = [looking for _, view, looking in lookings(diagnosis) if view.model == model and looking.is_proven]
    excluded = dict.fromkeys(name for looking in own for name in looking.excluded)
    left = dict.fromkeys(name for looking in own for name in looking.not_excluded if name not in excluded)
    if excluded:
        rest = f" Not excluded: {', '.join(left)}." if left else ""
        out.print(
            Text(f"{model} cannot be explained by: ", style="bold") + Text(f"{', '.join(excluded)}.{rest}")
        )


def _without_pairs(diagnosis: Diagnosis) -> list[str]:
    """Return the verdicts that rest on numbers other than pairs."""
    return [
        f"{view.model}, {instrument.name}: {view.verdict.sentence.removeprefix('Without pairs: ')}"
        for instrument in diagnosis.instruments
        for view in instrument.models
        if not view.looking and view.verdict.standing != "not measured"
    ]


def _unused(diagnosis: Diagnosis) -> list[str]:
    unused = {
        instrument.name: view.unused for instrument in diagnosis.instruments for view in instrument.models
    }
    return [f"{reason}: {n} ({name})" for name, some in unused.items() for reason, n in some.items()]


def _open(question: OpenQuestion) -> str:
    return f"{question.model}, {question.instrument}: {question.question} {question.settled_by}"


def _list(word: str, lines: list[str]) -> None:
    for line in lines[:_MOST_LINES]:
        out.print(Text(f"{word}: ", style="bold") + Text(line))
    if len(lines) > _MOST_LINES:
        out.print(Text(f"{word}: {len(lines) - _MOST_LINES} more in the report", style="dim"))


def _standing(standing: Standing) -> Text:
    return Text(standing, style=f"bold {tone.terminal}" if (tone := tone_of(standing)).terminal else "")


def _show_recordings(diagnosis: Diagnosis, folder: Path) -> None:
    """Print why items have no answer in a recording, and notes about the recording."""
    views = [view for instrument in diagnosis.instruments for view in instrument.models]
    for model in (model.name for model in diagnosis.models if model.name.startswith("replay:")):
        failed = [view for view in views if view.model == model and view.counts and view.counts.failed]
        if failed:
            with ExitStack() as stack:
                places = [folder / run for view in failed for run in view.runs]
                runs = [stack.enter_context(Run.open(place)) for place in places]
                show([unmatched_table(runs)], json=False)
        notes(recording_notes(model))


def _exit_if_failed(diagnosis: Diagnosis, folder: Path) -> None:
    failed = [
        view
        for instrument in diagnosis.instruments
        for view in instrument.models
        if view.counts and view.counts.failed
    ]
    if failed:
        n = sum(view.counts.failed for view in failed if view.counts)
        run = f"{folder}/{failed[0].runs[0]}" if failed[0].runs else folder
        note(
            f"{n} items failed; `theodolite runs show {run}` shows why, and the same command asks them again"
        )
        raise typer.Exit(SOME_FAILED)


class _Bars:
    """One bar for the whole diagnosis and a line for each finished step; lines alone if there is no terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._overall = Overall(lambda: time.monotonic())  # noqa: PLW0108 - looked up at each call
        self._bar = Bar(progress, "")
        self._last: dict[tuple[str, str], float] = {}
        """The time of the last line of a step."""

    def __call__(self, model: str, instrument: str, progress: Tally | str) -> None:
        self._overall(model, instrument, progress)
        if progress == "waiting":
            return
        if err.is_terminal:
            self._show(model, instrument, progress)
        elif isinstance(progress, str):
            self._say(model, instrument, progress)
        elif self._is_time((model, instrument)):
            note(self._overall.line())

    def _show(self, model: str, instrument: str, progress: Tally | str) -> None:
        """Update the bar; print a line above it when a step ends."""
        if progress in {"done", "left out"}:
            self._progress.console.print(Text(self._ended(model, instrument, str(progress)), style="dim"))
        self._bar.rename(f"{self._overall.place}  {model} {instrument}")
        if isinstance(progress, str):
            self._bar.say("" if progress == "done" else progress)
        else:
            self._bar(progress, left=self._overall.left)

    def _say(self, model: str, instrument: str, word: str) -> None:
        ended = word in {"done", "left out"}
        note(self._ended(model, instrument, word) if ended else self._overall.line())

    def _ended(self, model: str, instrument: str, word: str) -> str:
        tally = self._overall.tally_of(model, instrument)
        asked = f", {tally.planned} items" if tally else ""
        return f"{model} {instrument}: {word}{asked} ({duration(self._overall.spent(model, instrument))})"

    def _is_time(self, step: tuple[str, str]) -> bool:
        """Return True when asking begins, and then every half minute."""
        now = time.monotonic()
        if now - self._last.get(step, -_LINE_EVERY_S) < _LINE_EVERY_S:
            return False
        self._last[step] = now
        return True


app = one_command("diagnose", DiagnoseOptions, diagnose_command)
