"""``theodolite compare``: compare two models, or two runs of one model, on the same items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import print_table, show
from theodolite.diagnose.compare import Compared, differences_table
from theodolite.diagnose.compare import compare as compare_sides
from theodolite.diagnose.record import InstrumentOfModel
from theodolite.diagnose.result import position_words
from theodolite.report.html.write import write_comparison

_MOST = 30


def compare(
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="A diagnosis or a run; FOLDER#MODEL selects one of several models."),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Also write the comparison as an HTML page into this folder."
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every metric, also those that do not differ.")
    ] = False,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Compare two diagnoses or two runs, paired by item, with corrected p-values."""
    found = compare_sides(first, second, seed=seed)
    page = None
    if folder is not None:
        page = write_comparison(
            found.comparisons,
            metrics=found.metrics,
            out=folder,
            notes=list(found.notes),
            positions=found.positions,
        )
    if json:
        print_json(
            {
                "first": found.first,
                "second": found.second,
                "page": str(page) if page else None,
                "notes": list(found.notes),
                "positions": [
                    {
                        "instrument": row.instrument,
                        "first": _position_json(row.first),
                        "second": _position_json(row.second),
                    }
                    for row in found.positions
                ],
                "comparisons": [each.model_dump(mode="json") for each in found.comparisons],
            }
        )
        return
    _show(found, every=every)
    if page is not None:
        out.print(f"Page: {page}", soft_wrap=True)


def _position_json(view: InstrumentOfModel | None) -> dict[str, Any] | None:
    """Return the verdict and position of one side for JSON."""
    if view is None:
        return None
    position = view.position.model_dump(mode="json") if view.position else None
    return {"standing": view.verdict.standing, "position": position}


def _show_positions(found: Compared) -> None:
    if not found.positions:
        return

    def words(view: InstrumentOfModel | None) -> str:
        if view is None:
            return "–"
        place, standing = position_words(view), view.verdict.standing
        return place if place == standing else f"{place} {standing}"

    print_table(
        ["instrument", found.first, found.second],
        [[row.instrument, words(row.first), words(row.second)] for row in found.positions],
        title="Position: 0 like the shortcut twin, 1 like the grounded twin",
    )
    out.print()


def _show(found: Compared, *, every: bool) -> None:
    _show_positions(found)
    measured = [each for each in found.comparisons if each.difference is not None]
    different = [each for each in measured if each.p_holm is not None and each.p_holm < 0.05]
    shown = found.comparisons if every else sorted(different, key=lambda each: each.p_holm or 0.0)[:_MOST]
    show([differences_table(found, shown)], json=False)
    note(
        f"{len(different)} of {len(measured)} metrics differ with a corrected p below 0.05"
        + ("" if every or len(different) <= _MOST else f"; {_MOST} are shown, --all shows every one")
    )
