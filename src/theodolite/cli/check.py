"""``theodolite check``: check that a plug-in keeps its contract."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.core.registry import Kind
from theodolite.testing import CHECKED, BrokenContractError, check_plugin


def check(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The plug-in: openai:NAME@URL, chefer, annotation …"),
    ],
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help=f"If several have that name: {', '.join(CHECKED)}.")
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="PATH", help="A small sample of what a source or instrument reads."),
    ] = None,
    json: o.AsJson = False,
) -> None:
    """Check that a model, method, explainer, verifier, source or instrument keeps its contract.

    Of a server it also checks whether text and pictures reach the model.
    """
    if kind:
        o.one_of(kind, CHECKED, "--kind")
    try:
        found = check_plugin(name, kind=cast("Kind | None", kind or None), data=data)
    except BrokenContractError as error:
        if not json:
            for remark in error.findings.remarks:
                note(remark)
            raise
        found = error.findings
    if json:
        print_json(
            {
                "name": name,
                "kind": found.kind,
                "keeps_contract": not found.problems,
                "problems": found.problems,
                "remarks": found.remarks,
            }
        )
        raise typer.Exit(2 if found.problems else 0)
    for remark in found.remarks:
        note(remark)
    note(f"{name} keeps the {found.kind} contract")
