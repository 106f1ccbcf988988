"""The program. It turns errors into a one-line message and an exit status."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer
from rich.text import Text

from theodolite import __version__
from theodolite.cli.completion import complete_in_bash
from theodolite.cli.console import err, note, out
from theodolite.cli.lazy import LazyGroup
from theodolite.core.errors import DamageWarning, TheodoliteError

DONE, WRONG, BUG, INTERRUPTED, TERMINATED = 0, 2, 70, 130, 143

app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 done, 1 done but some items failed, 2 wrong input, 130 interrupted, 143 terminated (the same command resumes).",
)


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
    """Measure whether a vision-language model uses the picture when it answers."""


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit status."""
    with termination_as_interrupt() as was_terminated, warnings.catch_warnings():
        warnings.simplefilter("always", DamageWarning)
        show = warnings.showwarning
        warnings.showwarning = lambda message, category, *rest, **more: (
            note(f"warning: {message}")
            if issubclass(category, DamageWarning)
            else show(message, category, *rest, **more)
        )
        status = _run(arguments)
    if status == INTERRUPTED:
        err.print("\nstopped; run the same command again to resume")
        return TERMINATED if was_terminated() else INTERRUPTED
    return status


def _run(arguments: list[str] | None) -> int:
    try:
        complete_in_bash(lambda: app(args=arguments, prog_name="theodolite"))
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else DONE
    except Exception as error:  # noqa: BLE001 - every error gets a message and a status
        words = sys.argv[1:] if arguments is None else arguments
        if "-v" in words or "--verbose" in words:
            traceback.print_exception(error)
        if isinstance(error, TheodoliteError):
            err.print(Text(f"error: {error}"), soft_wrap=True)
            return WRONG
        err.print(
            Text(f"internal error: {type(error).__name__}: {error} (`theodolite -v …` shows the traceback)"),
            soft_wrap=True,
        )
        return BUG
    return DONE


@contextmanager
def termination_as_interrupt() -> Iterator[Callable[[], bool]]:
    """Context manager: SIGTERM does what Ctrl-C does. Yields a function that tells if one was received."""
    received = False

    def interrupt(_: int, frame: FrameType | None) -> None:
        nonlocal received
        received = True
        handler = signal.getsignal(signal.SIGINT)  # of the event loop, while one runs
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as in the background of a shell
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: received
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield lambda: received
    finally:
        signal.signal(signal.SIGTERM, before)
