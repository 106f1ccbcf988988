"""``theodolite models``: what can be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.output import note, print_json, print_table
from theodolite.core.errors import ContractError
from theodolite.core.registry import registry
from theodolite.models import behaviours
from theodolite.testing import check_model

app = typer.Typer(no_args_is_help=True, help="The models that can be asked.")


@app.command("list")
def list_models(json: o.AsJson = False) -> None:
    """List the kinds of models, how to write their names, and what they need."""
    entries = registry().entries("model")
    if json:
        print_json(
            [
                {
                    "scheme": e.name,
                    "example": e.example,
                    "summary": e.summary,
                    "origin": e.origin,
                    "extra": e.extra,
                    "available": e.is_available,
                    **({"behaviours": behaviours()} if e.name == "scripted" else {}),
                }
                for e in entries
            ]
        )
        return
    print_table(
        ["name", "what it is", "written as", "from", "needs"],
        [
            [f"{e.name}:", e.summary, e.example, e.origin, f"theodolite[{e.extra}]" if e.missing else "–"]
            for e in entries
        ],
    )
    print_table(["after scripted:", "what it does"], [[name, what] for name, what in behaviours().items()])


@app.command("check")
def check(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name.")], json: o.AsJson = False
) -> None:
    """Hold a model to the contract: order, batches, determinism, bad pictures, log-probabilities."""
    try:
        check_model(model)
    except ContractError as error:
        if not json:
            raise
        print_json({"model": model, "keeps_contract": False, "problem": str(error)})
        raise typer.Exit(2) from None
    print_json({"model": model, "keeps_contract": True, "problem": None}) if json else note(
        f"{model} keeps the model contract"
    )
