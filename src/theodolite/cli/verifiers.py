"""``theodolite verifiers``: who can judge the claims of a trace."""

from __future__ import annotations

from dataclasses import asdict

import typer

from theodolite.cli import options as o
from theodolite.cli.output import print_json, print_table
from theodolite.core.registry import registry

app = typer.Typer(no_args_is_help=True, help="The verifiers of claims.")


@app.callback()
def verifiers() -> None:
    """The verifiers of claims."""


@app.command("list")
def list_verifiers(json: o.AsJson = False) -> None:
    """List the verifiers: what each judges by, and what it needs."""
    entries = registry().entries("verifier")
    if json:
        print_json([asdict(entry) | {"is_available": entry.is_available} for entry in entries])
        return
    print_table(
        ["name", "judges by", "written", "needs", "from"],
        [
            [
                entry.name,
                entry.summary,
                entry.example or entry.name,
                "" if entry.is_available else f"pip install 'theodolite[{entry.extra}]'",
                entry.origin,
            ]
            for entry in entries
        ],
    )
