"""A command group that imports the module of a command only when the command is called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
import typer.core
import typer.main

from theodolite.core.registry import Entry, registry

__all__ = ["LazyGroup"]


class LazyGroup(typer.core.TyperGroup):
    """The commands in the registry. An instrument without its own command gets a generic one."""

    _is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """List all commands, by heading."""
        return [entry.name for entry in _commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Load a command. For help and completion, return a placeholder with its summary instead."""
        entry = next((each for each in _commands() if each.name == cmd_name), None)
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


def _commands() -> list[Entry]:
    found = list(registry().entries("command"))
    known = {entry.name for entry in found}
    generic = [entry for entry in registry().entries("instrument") if entry.name not in known]
    headings = list(dict.fromkeys(entry.group for entry in found))
    named = [*found, *(_in_instruments(entry) for entry in generic)]
    return sorted(named, key=lambda entry: headings.index(entry.group))


def _in_instruments(entry: Entry) -> Entry:
    from dataclasses import replace

    return replace(entry, group="instruments")


def _loaded(entry: Entry) -> Any:
    if entry.kind == "instrument":
        from theodolite.cli.generic import instrument_app

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
