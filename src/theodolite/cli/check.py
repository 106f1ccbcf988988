"""``theodolite check``: check that a plug-in keeps its contract."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import typer

from theodolite.cli.options import one_command
from theodolite.cli.output import note, print_json
from theodolite.core.options import Option, Options
from theodolite.core.registry import Kind
from theodolite.testing import CHECKED, BrokenContractError, check_plugin


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Options):
    """What `theodolite check` takes."""

    name: Annotated[
        str, Option("The plug-in: openai:NAME@URL, chefer, annotation …", metavar="NAME", is_argument=True)
    ]
    kind: Annotated[
        str, Option(f"If several have that name: {', '.join(CHECKED)}.", metavar="KIND", known=CHECKED)
    ] = ""
    data: Annotated[Path | None, Option("A small sample of what a source or instrument reads.")] = None


def check(options: CheckOptions, json: bool) -> None:
    """Check that a model, method, explainer, extractor, verifier, source, edit or instrument keeps its contract.

    Of a server it also checks whether text and pictures reach the model.
    """
    name = options.name
    try:
        findings = check_plugin(name, kind=cast("Kind | None", options.kind or None), data=options.data)
    except BrokenContractError as error:
        if not json:
            for remark in error.findings.remarks:
                note(remark)
            raise
        findings = error.findings
    if json:
        print_json(
            {
                "name": name,
                "kind": findings.kind,
                "keeps_contract": not findings.problems,
                "problems": findings.problems,
                "remarks": findings.remarks,
            }
        )
        raise typer.Exit(2 if findings.problems else 0)
    for remark in findings.remarks:
        note(remark)
    note(f"{name} keeps the {findings.kind} contract")


app = one_command("check", CheckOptions, check)
