"""``theodolite compare``: two models, or one model twice, on the same items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import _options as o
from theodolite.cli._output import note, out, p_value, print_json, print_table
from theodolite.diagnose.compare import Compared
from theodolite.diagnose.compare import compare as compare_sides
from theodolite.diagnose.record import Comparison
from theodolite.report.html import write_comparison

_MOST = 30


def compare(
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="A diagnosis or a run; FOLDER#MODEL picks one of several models."),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the comparison as a page into this folder."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every readout, also those that do not differ.")
    ] = False,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Compare two diagnoses or two runs, paired by item, with corrected p-values."""
    found = compare_sides(first, second, seed=seed)
    page = None
    if folder is not None:
        page = write_comparison(
            found.comparisons, readouts=found.readouts, out=folder, notes=list(found.notes)
        )
    if json:
        print_json(
            {
                "first": found.first,
                "second": found.second,
                "page": str(page) if page else None,
                "notes": list(found.notes),
                "comparisons": [each.model_dump(mode="json") for each in found.comparisons],
            }
        )
        return
    _show(found, every=every)
    if page is not None:
        out.print(f"The page: {page}", soft_wrap=True)


def _show(found: Compared, *, every: bool) -> None:
    names = {readout.key: readout.name for readout in found.readouts}
    told = [each for each in found.comparisons if each.difference is not None]
    apart = [each for each in told if each.p_holm is not None and each.p_holm < 0.05]
    shown = found.comparisons if every else sorted(apart, key=lambda each: each.p_holm or 0.0)[:_MOST]
    print_table(
        ["readout", "split", "difference", "p", "p corrected"],
        [_row(each, names) for each in shown],
        title=f"{found.first} minus {found.second}",
    )
    note(
        f"{len(apart)} of {len(told)} readouts differ with a corrected p below 0.05"
        + ("" if every or len(apart) <= _MOST else f"; {_MOST} are shown, --all shows every one")
    )
    for line in found.notes:
        note(line)


def _row(each: Comparison, names: dict[str, str]) -> list[str]:
    name = f"{names[each.readout]} ({each.readout})"
    if each.difference is None:
        return [name, each.split, each.why_not, "", ""]
    d = each.difference
    n = f"n={d.n}"
    return [
        name,
        each.split,
        f"{d.value:+.3f} [{d.low:+.3f}, {d.high:+.3f}] ({n})",
        p_value(each.test.p_value) if each.test else "",
        p_value(each.p_holm) if each.p_holm is not None else "",
    ]
