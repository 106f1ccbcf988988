"""The reference of commands, read off the program: every noun a page, every command its usage, arguments and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from theodolite.cli.main import app

_KINDS = {int: "integer", float: "number", Path: "path", str: "text"}


def program() -> Any:
    """The whole program as click has it."""
    return typer.main.get_command(app)


def is_group(command: Any) -> bool:
    """Whether it has commands below it."""
    return bool(getattr(command, "commands", None))


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be run, with its words."""
    for name, below in command.commands.items():
        if below.hidden:
            continue
        if is_group(below):
            yield from commands(below, (*path, name))
        else:
            yield (*path, name), below


def command_pages() -> dict[str, str]:
    """Path -> page: one for each noun, and the list of all."""
    whole = program()
    pages = {"cli/index.md": _index(whole)}
    for name, below in whole.commands.items():
        if not below.hidden:
            pages[f"cli/{name}.md"] = _noun(name, below)
    return pages


def command_nav() -> list[Any]:
    """What stands below *Commands*."""
    return [
        "cli/index.md",
        *({name: f"cli/{name}.md"} for name, c in program().commands.items() if not c.hidden),
    ]


def anchor(words: tuple[str, ...]) -> str:
    """Of a command on its noun's page."""
    return "-".join(words)


def _index(whole: Any) -> str:
    lines = [
        "# Commands",
        "",
        "Nouns and verbs; the same words mean the same everywhere: `--model`, `--data`, `--out`, `--seed`, `--n`, `--limit`,",
        "`--json`. Tables and figures go to standard output, progress and remarks to standard error. A command that was",
        "interrupted goes on where it stopped when it is given again.",
        "",
        f"{_sentence(whole.epilog or '')}",
        "",
        "This reference is made from the program when the site is built.",
        "",
        "| command | what it does |",
        "| --- | --- |",
    ]
    for words, command in commands(whole):
        link = f"{words[0]}.md#{anchor(words)}"
        lines.append(f"| [`theodolite {' '.join(words)}`]({link}) | {_first(command)} |")
    lines += ["", "## Of all commands", "", *_options(whole)]
    return "\n".join(lines) + "\n"


def _noun(name: str, command: Any) -> str:
    lines = [f"# theodolite {name} {{ #{anchor((name,))} }}", ""]
    if not is_group(command):
        return "\n".join([*lines, *_body((name,), command)]) + "\n"
    lines += [_sentence(command.help or command.short_help or ""), ""]
    for words, below in commands(command, (name,)):
        lines += [f"## `{' '.join(words)}` {{ #{anchor(words)} }}", "", *_body(words, below)]
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
        takes = f"`{_takes(p)}`" if _takes(p) else ""
        lines.append(f"| {names} | {takes} | {_default(p)} | {_cell(p.help or '')} |")
    return lines


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    name = name.strip("[]").removesuffix("...")
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
        return "*needed*"
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
    """The first sentence of a command's help."""
    text = _cell(command.help or "")
    return text.partition(". ")[0].rstrip(".") + ("." if text else "")
