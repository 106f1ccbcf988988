"""``theodolite export``: export runs, diagnoses and data in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.diagnose.export.exporter import FORMATS
from theodolite.diagnose.export.exporter import export as write


def export(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A run, a folder of runs, a diagnosis, or a data set.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="|".join(FORMATS), help="The format.")],
    folder: o.Folder,
    json: o.AsJson = False,
) -> None:
    """Export runs, diagnoses or data for other tools."""
    written = write(source, folder, to=to)
    if json:
        print_json({"to": to, "folder": str(folder), "written": written})
        return
    for name, n in written.items():
        note(f"{n:>7} {name}")
    note(f"wrote {to} into {folder}")
