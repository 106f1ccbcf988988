"""The program: wires the nouns together, and turns errors into one sentence and an exit status."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer
from rich.text import Text

from theodolite import __version__
from theodolite.cli import (
    ask as _ask,
)
from theodolite.cli import (
    compare as _compare,
)
from theodolite.cli import (
    compass as _compass,
)
from theodolite.cli import (
    data as _data,
)
from theodolite.cli import (
    diagnose as _diagnose,
)
from theodolite.cli import (
    explainers as _explainers,
)
from theodolite.cli import (
    export as _export,
)
from theodolite.cli import (
    grid as _grid,
)
from theodolite.cli import (
    methods as _methods,
)
from theodolite.cli import (
    models as _models,
)
from theodolite.cli import (
    pocket as _pocket,
)
from theodolite.cli import (
    report as _report,
)
from theodolite.cli import (
    runs as _runs,
)
from theodolite.cli import (
    scene as _scene,
)
from theodolite.cli import (
    trace as _trace,
)
from theodolite.cli import (
    verifiers as _verifiers,
)
from theodolite.cli import (
    view as _view,
)
from theodolite.cli.completion import complete_in_bash
from theodolite.cli.output import err, out
from theodolite.core.errors import TheodoliteError

DONE, WRONG, BUG, INTERRUPTED = 0, 2, 70, 130

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 done, 1 done but some items failed, 2 something was wrong, 130 interrupted (go on with the same command).",
)
app.command("compare")(_compare.compare)
app.command("diagnose")(_diagnose.diagnose_command)
app.command("export")(_export.export)
app.add_typer(_ask.app, name="ask")
app.add_typer(_compass.app, name="compass")
app.add_typer(_data.app, name="data")
app.add_typer(_explainers.app, name="explainers")
app.add_typer(_grid.app, name="grid")
app.add_typer(_methods.app, name="methods")
app.add_typer(_models.app, name="models")
app.add_typer(_pocket.app, name="pocket")
app.add_typer(_runs.app, name="runs")
app.add_typer(_scene.app, name="scene")
app.add_typer(_trace.app, name="trace")
app.add_typer(_verifiers.app, name="verifiers")
app.command("report")(_report.report)
app.command("view")(_view.view)


def _show_version(value: bool) -> None:
    if value:
        out.print(f"theodolite {__version__}")
        raise typer.Exit


@app.callback()
def theodolite(
    _verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the traceback of an error.")
    ] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Tells whether a vision-language model really looks at the picture when it answers."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the program.

    Returns:
        The exit status.
    """
    try:
        complete_in_bash(lambda: app(args=arguments, prog_name="theodolite"))
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else DONE
        if status == INTERRUPTED:
            err.print("\nstopped; the same command goes on from here")
        return status
    except Exception as error:  # noqa: BLE001 - every way out has its sentence and its status
        words = sys.argv[1:] if arguments is None else arguments
        if "-v" in words or "--verbose" in words:
            traceback.print_exception(error)
        if isinstance(error, TheodoliteError):
            err.print(Text(f"error: {error}"), soft_wrap=True)
            return WRONG
        err.print(
            Text(f"internal error: {type(error).__name__}: {error} (`theodolite -v …` shows where)"),
            soft_wrap=True,
        )
        return BUG
    return DONE
