"""``theodolite data``: public data sets by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from theodolite.cli.options import Group, command
from theodolite.cli.output import note, out, print_json, step_progress
from theodolite.core.files import dump
from theodolite.core.options import Option, Options, out_of
from theodolite.instruments.ask.data.public import PublicData, find_public, get_public, public_data

app = typer.Typer(
    no_args_is_help=True, help="Public data sets: list them, and get one by its name.", cls=Group
)


@dataclass(frozen=True, kw_only=True)
class CatalogueOptions(Options):
    """What `theodolite data list` takes."""


def list_data(options: CatalogueOptions, json: bool) -> None:  # noqa: ARG001 - it takes none
    """List the public data sets that can be fetched: what they ask, their size, licence and source."""
    if json:
        print_json([dump(each, exclude_defaults=True) for each in public_data()])
        return
    for each in public_data():
        out.print(Text(each.name, style="bold"), Text(each.about), soft_wrap=True)
        out.print(Text(f"    {_terms(each)}", style="dim"), soft_wrap=True)
        out.print(Text(f"    {each.page}", style="dim"), soft_wrap=True)


def _terms(data: PublicData) -> str:
    size = (
        f"{data.megabytes:,} MB"
        if data.megabytes
        else "by hand"
        if data.by_hand
        else "size told when fetched"
    )
    return "; ".join((size, f"licence: {data.licence}", *(["needs a login"] if data.needs_login else [])))


@dataclass(frozen=True, kw_only=True)
class GetOptions(Options):
    """What `theodolite data get` takes."""

    name: Annotated[
        str, Option("The data set; see `theodolite data list`.", metavar="NAME", is_argument=True)
    ]
    out: Annotated[Path | None, out_of("Where to write. Default: a folder of that name.")] = None


def get_data(options: GetOptions, json: bool) -> None:
    """Fetch a public data set, and say how to diagnose it. The same command goes on where it stopped."""
    data = find_public(options.name)
    folder = options.out or Path(data.name)
    with step_progress() as progress:
        source = get_public(data, folder, progress)
    if json:
        print_json({"folder": str(folder), "command": data.commands(folder), **dump(source)})
        return
    made = f": {source.questions:,} questions" if source.questions else ""
    note(f"{data.title} is in {folder}{made}")
    for reason, n in source.left_out.items():
        note(f"  left out: {n} × {reason}")
    note(f"licence: {data.licence}; cite {data.cite}")
    if data.note and not data.by_hand:
        note(data.note.format(folder=folder))
    out.print(Text(data.commands(folder)), soft_wrap=True)


command(app, "list", CatalogueOptions, list_data)
command(app, "get", GetOptions, get_data)
