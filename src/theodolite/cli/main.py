"""The program: old spellings of commands, the lazy command group, completion, and the entry point."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Annotated, Any

import typer
import typer.core
import typer.main
from rich.text import Text

from theodolite import __version__
from theodolite.cli.options import Group
from theodolite.cli.output import err, note, out
from theodolite.core import files
from theodolite.core.errors import DamageWarning, TheodoliteError, UsageError
from theodolite.core.registry import Entry, registry

__all__ = [
    "TABLE",
    "LazyGroup",
    "OldSpelling",
    "renewed",
]


# Old spellings of commands, which work for one more release and say so: one table, old words to new words.


_FLAGS = frozenset(
    f"--{name}"
    for name in (
        *(
            "json",
            "plan",
            "prompts",
            "score-only",
            "spare-reference",
            "pairs",
            "singles",
            "paraphrase",
        ),
        *("claims", "paper", "released", "redraw", "truth", "help"),
        *("copy", "no-copy", "agree", "no-agree", "render", "no-render", "balance", "no-balance"),
        *("pictures", "no-pictures"),
    )
) | {"-h"}
"""The options of old commands that take no value. All others do, but for the flags of a single command: `OldSpelling.flags`."""


@dataclass(frozen=True, slots=True)
class OldSpelling:
    """An old command and its current spelling."""

    old: str
    new: str
    """With further words, if the new command needs them."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that have another name, alone or with their value; with an empty name, their values are arguments now, and flags
    are left out."""
    arguments: str = ""
    """The option that takes what were arguments."""
    having: str = ""
    """Only with this option, or with this option and value."""
    flags: frozenset[str] = frozenset()
    """Options that take no value here, but do elsewhere."""
    gone: str = ""
    """Why there is no such command any more."""


TABLE = (
    OldSpelling(
        "data squares",
        "ask make",
        {"--questions": ""},
        having="--questions",
        flags=frozenset({"--questions"}),
    ),
    OldSpelling("data squares", "compass make --world squares"),
    OldSpelling("data drawn", "compass make --world things"),
    OldSpelling("data coco-pairs", "compass import --format coco", {"--annotations": "--data"}),
    OldSpelling("data gqa", "compass import --format gqa", {"--scene-graphs": "--data"}),
    OldSpelling("data vsr", "compass import --format vsr"),
    OldSpelling("data whatsup", "compass import --format whatsup"),
    OldSpelling("data check", "compass audit"),
    OldSpelling("compass stability", "compass audit", {"--data": ""}),
    OldSpelling("compass overlay", "compass figures"),
    OldSpelling("compass edits", "compass figures", {"--controls": "--edits"}),
    OldSpelling(
        "compass faithfulness",
        "compass score",
        {"--out": "", "--score-only": ""},
        "--of",
        having="--score-only",
    ),
    OldSpelling("compass faithfulness", "compass run", {"--projection": "--orders"}, "--of"),
    OldSpelling(
        "compass score",
        "compass score",
        {"--projection both": "--projection all"},
        having="--projection both",
    ),
    OldSpelling("grid make", "grid make", {"--mode": "--variant"}, having="--mode"),
    OldSpelling("grid import", "grid import", {"--mode": "--variant"}, having="--mode"),
    OldSpelling("grid accuracy", "grid run"),
    OldSpelling("scene build", "scene import", {"--source": "--format"}),
    OldSpelling("scene solver", "scene audit"),
    OldSpelling("trace perturb", "trace make", {"--data": "--of"}),
    OldSpelling("trace relevance", "trace run --relevance"),
    OldSpelling("trace audit", "trace audit", {"--data": ""}, having="--data"),
    OldSpelling("trace verify", "trace verify", {"--traces": ""}, having="--traces"),
    OldSpelling("trace ablate", "trace verify --ablate", {"--pairs": "--pairs", "--singles": "--no-pairs"}),
    OldSpelling("trace recall", "trace calibrate"),
    OldSpelling(
        "trace score",
        "trace score",
        {"--tables refutation": "--tables calibration"},
        having="--tables refutation",
    ),
    OldSpelling("grid explain", "grid run", having="--explainers"),
    OldSpelling("grid explain", "grid run --explainers all"),
    OldSpelling("twins certify", "twins certificate", {"--released": ""}, having="--released"),
    OldSpelling(
        "twins certify",
        "",
        gone="certificates are now made by `python -m train certify`, in a clone of the repository; `theodolite twins "
        "certificate` shows those of the shipped models",
    ),
)
"""The first row that fits counts."""


def renewed(words: Sequence[str]) -> tuple[list[str], str]:
    """Translate the words of a command to the current spelling. Also return a notice if they were old.

    Raises:
        UsageError: If the command was removed.

    >>> renewed(["data", "check", "pairs"])
    (['compass', 'audit', 'pairs'], '`theodolite data check` is an old spelling, which the next release drops; write `theodolite compass audit pairs`')
    >>> renewed(["compass", "audit", "pairs"])
    (['compass', 'audit', 'pairs'], '')
    """
    start = 1 if words[:1] in (["-v"], ["--verbose"]) else 0
    rest = list(words[start:])
    for row in TABLE:
        old = row.old.split()
        if rest[: len(old)] == old and _has(row.having, rest):
            if row.gone:
                raise UsageError(row.gone)
            new = [*row.new.split(), *_rewritten(rest[len(old) :], row)]
            notice = (
                f"`theodolite {row.old}` is an old spelling, which the next release drops; write "
                f"`theodolite {shlex.join(new)}`"
            )
            return [*words[:start], *new], notice
    return list(words), ""


def _has(option: str, words: Sequence[str]) -> bool:
    """Return True if an option, or an option with its value, is among the words."""
    return (
        not option
        or any(word.partition("=")[0] == option for word in words)
        or (" " in option and f" {option} " in f" {' '.join(words)} ")
    )


def _rewritten(words: Sequence[str], row: OldSpelling) -> list[str]:
    """Rename options, and turn options into arguments or the reverse."""
    arguments: list[str] = []
    options: list[str] = []
    left = list(words)
    while left:
        word, equals, value = left.pop(0).partition("=")
        if not word.startswith("-"):
            word = f"{word}{equals}{value}"
            (options if row.arguments else arguments).extend(filter(None, (row.arguments, word)))
            continue
        name = row.options.get(word, word)
        if word in _FLAGS | row.flags:
            options += [name] if name else []
            continue
        if not equals:
            value = left.pop(0) if left else ""
        if f"{word} {value}" in row.options:
            options += row.options[f"{word} {value}"].split()
            continue
        (options if name else arguments).extend([name, value] if name else [value])
    return [*arguments, *options]


INSTRUMENTS = "instruments"


class LazyGroup(Group):
    """The commands in the registry. An instrument without its own command gets a generic one."""

    _is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """List all commands, by heading."""
        return [entry.name for entry in _commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Load a command. For help and completion, return a placeholder with its summary instead."""
        entry = next((command for command in _commands() if command.name == cmd_name), None)
        if entry is None:
            return None
        if self._is_listing:
            return typer.core.TyperCommand(
                cmd_name, help=entry.summary, rich_help_panel=f"{entry.group or 'other'}".capitalize()
            )
        return _loaded(entry)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without loading any command."""
        with self._listing():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a command without loading any command."""
        with self._listing():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listing(self) -> Iterator[None]:
        self._is_listing = True
        try:
            yield
        finally:
            self._is_listing = False


HEADINGS = ("everyday", INSTRUMENTS, "advanced")
"""The headings of the program's own commands, in order; those of plug-ins follow."""


def _commands() -> list[Entry]:
    entries = list(registry().entries("command"))
    known = {entry.name for entry in entries}
    entries += [
        replace(entry, group=INSTRUMENTS)
        for entry in registry().entries("instrument")
        if entry.name not in known
    ]
    headings = list(dict.fromkeys((*HEADINGS, *(entry.group for entry in entries))))
    return sorted(entries, key=lambda entry: headings.index(entry.group))


def _loaded(entry: Entry) -> Any:
    if entry.kind == "instrument":
        from theodolite.cli.instrument import instrument_app

        return _as_click(instrument_app(entry.name), entry)
    return _as_click(entry.load(), entry)


def _as_click(target: Any, entry: Entry) -> Any:
    if not isinstance(target, typer.Typer):
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(entry.name)(target)
        target = app
    target.pretty_exceptions_enable = False
    target._add_completion = False  # noqa: SLF001 - only the program itself completes
    command = typer.main.get_command(target)
    command.name = entry.name
    return command


# Complete words with a colon in bash, which splits ``scripted:lo`` into three words and replaces only the last.


_ASKED, _WORDS, _PLACE = "_THEODOLITE_COMPLETE", "COMP_WORDS", "COMP_CWORD"


def complete_in_bash(run: Callable[[], object]) -> None:
    """Run the program. For completion in bash, join words that were split, and shorten the output to the last word.

    In all other cases nothing is changed.
    """
    if os.environ.get(_ASKED) != "complete_bash" or _WORDS not in os.environ:
        run()
        return
    text, index = os.environ[_WORDS], int(os.environ.get(_PLACE, "0"))
    words = text.split("\n") if "\n" in text else shlex.split(text)
    whole = joined([*words, ""][: index + 1] if index >= len(words) else words[: index + 1])
    os.environ[_WORDS], os.environ[_PLACE] = shlex.join(whole), str(len(whole) - 1)
    was_split = len(whole) <= index
    known = whole[-1].rpartition(":")[0] + ":" if was_split else ""
    output = io.StringIO()
    try:
        with redirect_stdout(output):
            run()
    finally:
        for line in output.getvalue().splitlines():
            print(line.removeprefix(known))  # noqa: T201 - the shell reads it


def joined(words: list[str]) -> list[str]:
    """Join words that bash has split at colons.

    >>> joined(["ask", "--model", "scripted", ":", "lo"]), joined(["--model", "hf", ":"])
    (['ask', '--model', 'scripted:lo'], ['--model', 'hf:'])
    """
    parts: list[str] = []
    for word in words:
        follows_colon = bool(parts) and parts[-1].endswith(":")
        if parts and (word.startswith(":") or follows_colon):
            parts[-1] += word
        else:
            parts.append(word)
    return parts


# The program. It turns errors into a one-line message and an exit status.


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
    context: typer.Context,
    _verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the traceback of an error.")
    ] = False,
    allow_outside: Annotated[
        bool,
        typer.Option(
            "--allow-outside",
            help="Let data name files outside of their folder, by absolute paths, by .. or through links.",
        ),
    ] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Measure whether a vision-language model uses the picture when it answers."""
    if allow_outside:
        context.with_resource(files.allow_outside())


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
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        words, notice = renewed(words)
        if notice:
            note(notice)
        complete_in_bash(lambda: app(args=_with_program_options_first(words), prog_name="theodolite"))
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else DONE
    except Exception as error:  # noqa: BLE001 - every error gets a message and a status
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


def _with_program_options_first(words: Sequence[str]) -> list[str]:
    """Move the options that hold for every command to the front, where the program takes them, wherever they stand.

    >>> _with_program_options_first(["ask", "run", "--allow-outside"])
    ['--allow-outside', 'ask', 'run']
    """
    return sorted(words, key=lambda word: word != "--allow-outside")


@contextmanager
def termination_as_interrupt() -> Iterator[Callable[[], bool]]:
    """Handle SIGTERM like Ctrl-C within the context. Yield a function that returns True once one was received."""
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
