"""``theodolite view``: browse runs and diagnoses, also while they are measured."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.report.viewer.view import Viewer


def view(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR…",
            help="Folders of runs and diagnoses, and of their data and pictures. Nothing else is read.",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for any free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the browser, if there is one.")
    ] = True,
    json: o.AsJson = False,
) -> None:
    """Serve runs and diagnoses to the browser of this machine, read-only. Pages of an active run update themselves."""
    with Viewer(folders or [Path()], port=port) as viewer:
        if json:
            print_json({"url": viewer.url, "folders": [str(folder) for folder in viewer.roots.folders]})
            out.file.flush()
        else:
            out.print(viewer.url)
            note("only this machine can reach it; stop with Ctrl-C")
        if browser and not json:
            webbrowser.open(viewer.url)
        try:
            viewer.serve()
        except KeyboardInterrupt:
            note("stopped")
