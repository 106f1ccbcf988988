"""``theodolite check``: check that a model plug-in keeps the contract."""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.core.errors import ContractError
from theodolite.testing import check_model


def check(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The name of the model.")],
    json: o.AsJson = False,
) -> None:
    """Check that a model keeps the contract: order, batches, determinism, bad pictures, log-probabilities."""
    try:
        check_model(model)
    except ContractError as error:
        if not json:
            raise
        print_json({"model": model, "keeps_contract": False, "problem": str(error)})
        raise typer.Exit(2) from None
    if json:
        print_json({"model": model, "keeps_contract": True, "problem": None})
    else:
        note(f"{model} keeps the model contract")
