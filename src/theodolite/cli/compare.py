"""``theodolite compare``: compare two models, or two runs of one model, on the same items."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.cli.options import one_command
from theodolite.cli.output import note, out, print_json, print_table, show
from theodolite.core.files import dump
from theodolite.core.options import Option, Options, Seed, out_of
from theodolite.diagnose.api import looking_words
from theodolite.diagnose.compare import Compared, differences_table, looking_changes_table
from theodolite.diagnose.compare import compare as compare_sides
from theodolite.diagnose.record import InstrumentOfModel, Interval
from theodolite.report.html.write import write_comparison

_MOST = 30
LOWER = 1
"""Exit status if followed pairs fell."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Options):
    """What `theodolite compare` takes."""

    first: Annotated[
        str,
        Option(
            "A diagnosis or a run; FOLDER#MODEL selects one of several models.", metavar="A", is_argument=True
        ),
    ]
    second: Annotated[str, Option("The other one.", metavar="B", is_argument=True)]
    out: Annotated[Path | None, out_of("Also write the comparison as an HTML page into this folder.")] = None
    all: Annotated[bool, Option("Show every metric, also those that do not differ.")] = False
    fail_if_lower: Annotated[
        bool,
        Option("Exit with status 1 if B surely looks less than A, and if there are no pairs to compare."),
    ] = False
    seed: Seed = 0


def compare(options: CompareOptions, json: bool) -> None:
    """Compare two diagnoses or two runs, paired by item, with corrected p-values."""
    compared = compare_sides(options.first, options.second, seed=options.seed)
    page = None
    if options.out is not None:
        page = write_comparison(
            compared.comparisons,
            metrics=compared.metrics,
            out=options.out,
            notes=list(compared.notes),
            verdicts=compared.verdicts,
            looking=compared.looking,
        )
    if json:
        print_json(_as_json(compared, page))
    else:
        _show(compared, every=options.all)
        if page is not None:
            out.print(f"Page: {page}", soft_wrap=True)
    if options.fail_if_lower:
        _exit_if_lower(compared)


def _as_json(compared: Compared, page: Path | None) -> dict[str, Any]:
    return {
        "first": compared.first,
        "second": compared.second,
        "page": str(page) if page else None,
        "notes": list(compared.notes),
        "verdicts": [
            {
                "instrument": row.instrument,
                "first": _verdict_json(row.first),
                "second": _verdict_json(row.second),
            }
            for row in compared.verdicts
        ],
        "looking": [{**asdict(change), "is_lower": change.is_lower} for change in compared.looking],
        "comparisons": [comparison.model_dump(mode="json") for comparison in compared.comparisons],
    }


def _exit_if_lower(compared: Compared) -> None:
    """Exit with status 1 if the second looks less, or if that cannot be determined."""
    lower = [change for change in compared.looking if change.is_lower]
    for change in lower:
        note(
            f"lower: looking of {compared.second} is {100 * change.second:.0f} % on {change.n} pairs ({change.label}), of "
            f"{compared.first} {100 * change.first:.0f} %"
        )
    if not compared.looking:
        note(
            "there are no pairs to compare: measure both sides on the same data, with the same seed and size"
        )
    if lower or not compared.looking:
        raise typer.Exit(LOWER)
    note("no instrument shows less looking")


def _verdict_json(view: InstrumentOfModel | None) -> dict[str, Any] | None:
    """Return the verdict of one side for JSON."""
    if view is None:
        return None
    looking = view.looking[0].looking if view.looking else None
    return {
        "standing": view.verdict.standing,
        "looking": dump(looking, Interval) if looking else None,
    }


def _show_verdicts(compared: Compared) -> None:
    if not compared.verdicts:
        return

    def words(view: InstrumentOfModel | None) -> str:
        if view is None:
            return "–"
        looking = looking_words(view.looking[0]) if view.looking else ""
        return f"{view.verdict.standing} {looking}".rstrip()

    print_table(
        ["instrument", compared.first, compared.second],
        [[row.instrument, words(row.first), words(row.second)] for row in compared.verdicts],
        title="Does it look?",
    )
    out.print()


def _show(compared: Compared, *, every: bool) -> None:
    _show_verdicts(compared)
    if compared.looking:
        show([looking_changes_table(compared.looking, compared.first, compared.second)], json=False)
        out.print()
    measured = [comparison for comparison in compared.comparisons if comparison.difference is not None]
    different = [
        comparison for comparison in measured if comparison.p_holm is not None and comparison.p_holm < 0.05
    ]
    shown = (
        compared.comparisons
        if every
        else sorted(different, key=lambda comparison: comparison.p_holm or 0.0)[:_MOST]
    )
    if shown:
        show([differences_table(compared, shown)], json=False)
    note(
        f"{len(different)} of {len(measured)} metrics differ with a p below 0.05, corrected over all of them"
        + ("" if every or len(different) <= _MOST else f"; {_MOST} are shown, --all shows every one")
    )


app = one_command("compare", CompareOptions, compare)
