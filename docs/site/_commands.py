"""The reference of commands, read off the program: every noun a page, every command its usage, arguments and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer.main

from theodolite.cli.main import HEADINGS, app
from theodolite.core.registry import registry

_KINDS = {int: "integer", float: "number", Path: "path", str: "text"}


def program() -> Any:
    """Return the whole program as click sees it."""
    return typer.main.get_command(app)


def below(command: Any) -> dict[str, Any]:
    """Return the visible commands of a group by name, in order; empty for a command that runs."""
    if not hasattr(command, "list_commands"):
        return {}
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: each for name, each in found.items() if not each.hidden}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be run, with its words."""
    for name, each in below(command).items():
        if below(each):
            yield from commands(each, (*path, name))
        else:
            yield (*path, name), each


def command_pages() -> dict[str, str]:
    """Path -> page: one for each noun, and the list of all."""
    whole = program()
    pages = {f"cli/{name}.md": _noun(name, each) for name, each in below(whole).items()}
    return {"cli/index.md": _index(whole), **pages}


def command_names() -> list[str]:
    """Return the nouns, each with a page."""
    return list(below(program()))


def _link(words: tuple[str, ...]) -> str:
    """To a command on its noun's page."""
    return f"{words[0]}.md#{'-'.join(words)}" if len(words) > 1 else f"{words[0]}.md"


def _index(whole: Any) -> str:
    lines = [
        "# Commands",
        "",
        "An option means the same in every command: `--model`, `--data`, `--images`, `--out`, `--seed`, `--size`, `--limit`,",
        "`--plan`, `--json`. Tables go to standard output, progress and notes to standard error. A command that was",
        "interrupted resumes where it stopped when it is given again.",
        "",
        f"{_sentence(whole.epilog or '')}",
        "",
        "This reference is made from the program.",
        "",
    ]
    headings = dict.fromkeys((*HEADINGS, *(entry.group for entry in registry().entries("command"))))
    groups = {entry.name: entry.group for entry in registry().entries("command")}
    found = list(commands(whole))
    for heading in headings:
        lines += [f"## {heading.capitalize()}", "", "| command | what it does |", "| --- | --- |"]
        lines += [
            f"| [`theodolite {' '.join(words)}`]({_link(words)}) | {_first(command)} |"
            for words, command in found
            if groups.get(words[0], "instruments") == heading
        ]
        lines.append("")
    lines += ["## Options of the program", "", *_options(whole)]
    return "\n".join(lines) + "\n"


def _noun(name: str, command: Any) -> str:
    lines = [f"# theodolite {name}", ""]
    if not below(command):
        return "\n".join([*lines, *_body((name,), command)]) + "\n"
    lines += [_sentence(command.help or command.short_help or ""), ""]
    for words, each in commands(command, (name,)):
        lines += [f"## `{' '.join(words)}`", "", *_body(words, each)]
    return "\n".join(lines) + "\n"


def _body(words: tuple[str, ...], command: Any) -> list[str]:
    arguments = [
        p for p in command.params if p.param_type_name == "argument" and not getattr(p, "hidden", False)
    ]
    named = "".join(f" {_argument(p)}" for p in arguments)
    required = "".join(f" {p.opts[0]} {_takes(p)}" for p in _shown(command) if p.required)
    lines = [
        _sentence(command.help or ""),
        "",
        "```text",
        f"theodolite {' '.join(words)}{named}{required}",
        "```",
        "",
    ]
    if arguments:
        lines += ["| argument | |", "| --- | --- |"]
        lines += [f"| `{_argument(p)}` | {_cell(getattr(p, 'help', '') or '')} |" for p in arguments]
        lines.append("")
    return [*lines, *_options(command), ""]


def _shown(command: Any) -> list[Any]:
    return [
        p
        for p in command.params
        if p.param_type_name == "option" and not p.hidden and "--help" not in p.opts and p.opts[0] != "-h"
    ]


def _options(command: Any) -> list[str]:
    options = _shown(command)
    if not options:
        return []
    lines = ["| option | takes | default | |", "| --- | --- | --- | --- |"]
    for p in options:
        names = " ".join(f"`{name}`" for name in (*p.opts, *p.secondary_opts))
        takes = f"`{_takes(p)}`".replace("|", "\\|") if _takes(p) else ""
        lines.append(f"| {names} | {takes} | {_default(p)} | {_cell(p.help or '')} |")
    return lines


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    name = name.strip("[]").removesuffix("...").removesuffix("…")
    shown = name if parameter.required else f"[{name}]"
    return f"{shown} …" if parameter.nargs == -1 else shown


def _takes(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False):
        return ""
    if parameter.metavar:
        return str(parameter.metavar)
    least, most = parameter.min, parameter.max
    name = _KINDS.get(parameter.type_descriptor.annotation, "text")
    if least is not None and most is not None:
        return f"{name} from {least:g} to {most:g}"
    return f"{name} ≥ {least:g}" if least is not None else name


def _default(parameter: Any) -> str:
    if parameter.required:
        return "*required*"
    value = parameter.default
    if value is None or value in {"", ()} or callable(value):
        return ""
    if getattr(parameter, "is_flag", False):
        return "" if value is False else "`on`"
    if isinstance(value, list | tuple):
        return " ".join(f"`{each}`" for each in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _cell(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _sentence(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split())


def _first(command: Any) -> str:
    """Return the first sentence of a command's help."""
    text = _cell(command.help or "")
    return text.partition(". ")[0].rstrip(".") + ("." if text else "")
