"""The command line of `theodolite.core.options`: parameters from declared options, and commands from both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer
import typer.core

from theodolite.core.options import Declared, Options, declared
from theodolite.core.registry import Kind, registry

__all__ = ["AsJson", "Command", "Group", "command", "one_command"]

OptionsT = TypeVar("OptionsT", bound=Options)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


class _PlainFlags:
    """Show flags as flags in the help: typer writes ``<bool>`` behind them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters, flags without a type."""
        parameters: list[Any] = cast("Any", super()).get_params(ctx)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class Command(_PlainFlags, typer.core.TyperCommand):
    """A command whose help shows flags as flags."""


class Group(_PlainFlags, typer.core.TyperGroup):
    """A group of commands whose help shows flags as flags."""


def command(
    app: typer.Typer,
    name: str,
    options: type[OptionsT],
    act: Callable[[OptionsT, bool], None],
    *,
    help: str = "",  # noqa: A002
) -> None:
    """Add a command to an app.

    Args:
        app: The app.
        name: The name of the command.
        options: What it takes; ``--json`` is added.
        act: Called with the options, and whether to print JSON.
        help: The help text. Default: the docstring of `act`.
    """

    def call(**values: Any) -> None:
        as_json = values.pop("as_json")
        given = {key: value for key, value in values.items() if value is not None}
        act(options(**given), as_json)

    parameters = [
        *(_parameter(option) for option in declared(options)),
        inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson),
    ]
    cast("Any", call).__signature__ = inspect.Signature(parameters)
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    call.__doc__ = help or inspect.getdoc(act)
    app.command(name, cls=Command)(call)


def one_command(
    name: str,
    options: type[OptionsT],
    act: Callable[[OptionsT, bool], None],
    *,
    help: str = "",  # noqa: A002
) -> typer.Typer:
    """Create an app with a single command."""
    app = typer.Typer(add_completion=False)
    command(app, name, options, act, help=help)
    return app


def _parameter(option: Declared) -> inspect.Parameter:
    """Return the parameter of one option, as typer reads it."""
    value_type = str if option.is_comma_list else option.type
    default = option.default
    if option.is_list and not option.is_comma_list:
        value_type, default = list[value_type], list(default or ()) if default is not MISSING else default  # type: ignore[valid-type]
    if default is None or (isinstance(default, list) and not default):
        value_type, default = value_type | None, None
    elif option.is_comma_list and default is not MISSING:
        default = "all" if option.known and default == option.known else ",".join(map(str, default))
    return inspect.Parameter(
        option.field,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[value_type, _typer_option(option)],
    )


def _typer_option(option: Declared) -> Any:
    about = option.option
    if about.is_argument:
        return typer.Argument(metavar=option.name, help=about.help)
    name = option.name
    if option.is_flag and option.default is True:
        name = f"{name}/--no-{name.removeprefix('--')}"
    bounds: dict[str, Any] = {}
    if option.type in {int, float} and not option.is_list:
        bounds = {"min": about.least, "max": about.most}
    return typer.Option(
        name,
        metavar=_metavar(option),
        help=about.help,
        autocompletion=_completion(about.completion),
        **bounds,
    )


def _metavar(option: Declared) -> str | None:
    if option.is_flag:
        return None
    if option.option.metavar:
        return option.option.metavar
    if option.is_comma_list:
        return "LIST"
    if option.known:
        return "|".join(option.known)
    return {int: "N", float: "X", Path: "PATH"}.get(option.type, "TEXT")


def _completion(kind: str) -> Callable[[str], Iterator[str]] | None:
    """Return a function that completes the names of plug-ins of a kind."""
    if not kind:
        return None

    def complete(incomplete: str) -> Iterator[str]:
        for entry in registry().entries(cast("Kind", kind)):
            if entry.example.startswith(incomplete):
                yield entry.example
            elif f"{entry.name}:".startswith(incomplete):
                yield f"{entry.name}:"

    return complete
