"""``theodolite view``: runs and diagnoses in the browser, while they are made."""

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
            help="What may be read: folders of runs and diagnoses, and of the data and pictures that they name.",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 0,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the browser too, where there is one.")
    ] = True,
    json: o.AsJson = False,
) -> None:
    """Serve runs and diagnoses to this machine's browser, read-only; pages of a run that goes on fill in by themselves."""
    with Viewer(folders or [Path()], port=port) as viewer:
        if json:
            print_json({"url": viewer.url, "folders": [str(folder) for folder in viewer.roots.folders]})
            out.file.flush()
        else:
            out.print(viewer.url)
            note("this machine alone can reach it; Ctrl-C ends it")
        if browser and not json:
            webbrowser.open(viewer.url)
        try:
            viewer.serve()
        except KeyboardInterrupt:
            note("stopped")
