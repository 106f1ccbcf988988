"""Options that mean the same in every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from theodolite.core.registry import registry


def _complete_model(incomplete: str) -> Iterator[str]:
    for entry in registry().entries("model"):
        if entry.example.startswith(incomplete):
            yield entry.example
        elif f"{entry.name}:".startswith(incomplete):
            yield f"{entry.name}:"


ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="The model, such as scripted:looker, hf:PATH or openai:NAME@URL; see `theodolite models list`.",
        autocompletion=_complete_model,
    ),
]
Data = Annotated[Path, typer.Option("--data", metavar="PATH", help="The data to use.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to write; a run that is there goes on.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The seed of every random draw.")]
Number = Annotated[int, typer.Option("--n", min=1, help="How many to make.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Measure only the first so many items.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Engine = Annotated[str, typer.Option("--engine", metavar="local|ray", help="Where the model runs.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="Items in hand at once: a batch, requests in flight, or Ray actors."
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", help="A running Ray cluster; a local one is started if not given."),
]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Reuse deterministic answers of other runs, kept here."),
]
