"""``theodolite export``: export runs, diagnoses and data in the formats of other tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from theodolite.cli.options import one_command
from theodolite.cli.output import note, print_json
from theodolite.core.options import Option, Options, out_of
from theodolite.diagnose.export.exporter import FORMATS
from theodolite.diagnose.export.exporter import export as write


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Options):
    """What `theodolite export` takes."""

    source: Annotated[
        Path,
        Option("A run, a folder of runs, a diagnosis, or a data set.", metavar="SOURCE", is_argument=True),
    ]
    to: Annotated[str, Option("The format.", metavar="|".join(FORMATS))]
    out: Annotated[Path, out_of()]


def export(options: ExportOptions, json: bool) -> None:
    """Export runs, diagnoses or data for other tools."""
    written = write(options.source, options.out, to=options.to)
    if json:
        print_json({"to": options.to, "folder": str(options.out), "written": written})
        return
    for name, n in written.items():
        note(f"{n:>7} {name}")
    note(f"wrote {options.to} into {options.out}")


app = one_command("export", ExportOptions, export)
