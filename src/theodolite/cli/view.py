"""``theodolite view``: browse runs and diagnoses, also while they are measured."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from theodolite.cli.options import one_command
from theodolite.cli.output import note, out, print_json
from theodolite.core.options import Option, Options
from theodolite.report.viewer import Viewer


@dataclass(frozen=True, kw_only=True)
class ViewOptions(Options):
    """What `theodolite view` takes."""

    folders: Annotated[
        tuple[Path, ...],
        Option(
            "Folders of runs and diagnoses, and of their data and pictures. Nothing else is read.",
            metavar="DIR…",
            is_argument=True,
        ),
    ] = ()
    port: Annotated[int, Option("The port; 0 for any free one.", least=0, most=65535)] = 0
    open: Annotated[bool, Option("Open the browser, if there is one.")] = True


def view(options: ViewOptions, json: bool) -> None:
    """Serve runs and diagnoses to the browser of this machine, read-only. Pages of an active run update themselves."""
    with Viewer(options.folders or [Path()], port=options.port) as viewer:
        if json:
            print_json({"url": viewer.url, "folders": [str(folder) for folder in viewer.roots.folders]})
            out.file.flush()
        else:
            out.print(viewer.url)
            note("only this machine can reach it; stop with Ctrl-C")
        if options.open and not json:
            webbrowser.open(viewer.url)
        try:
            viewer.serve()
        except KeyboardInterrupt:
            note("stopped")


app = one_command("view", ViewOptions, view)
