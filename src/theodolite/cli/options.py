"""Options that mean the same in every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from theodolite.core.errors import UsageError
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
        help="The model, such as hf:PATH, openai:NAME@URL or pocket:grounded; see `theodolite list models`.",
        autocompletion=_complete_model,
    ),
]
Data = Annotated[Path, typer.Option("--data", metavar="PATH", help="The data set.")]
Images = Annotated[Path, typer.Option("--images", metavar="DIR", help="The folder with the pictures.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to write; a run that is there is resumed.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
RunFolders = Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The seed of every random draw.")]
Size = Annotated[int, typer.Option("--size", min=1, help="How many to make.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use only the first N items.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Say what would be asked, and stop.")]
Figures = Annotated[
    Path | None, typer.Option("--figures", metavar="DIR", help="Also draw the figures into this folder.")
]
Instruments = Annotated[
    str,
    typer.Option(
        "--instruments", metavar="LIST", help="Some instruments, separated by commas; see `theodolite list`."
    ),
]
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
Device = Annotated[str, typer.Option("--device", help="Where paired networks run, such as cuda.")]
Answer = Annotated[
    str,
    typer.Option("--answer", metavar="write|choose", help="In words, or by the options' log-probabilities."),
]


def listed(text: str) -> list[str]:
    """The words of a comma-separated list.

    >>> listed("a, b,,c")
    ['a', 'b', 'c']
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def some_of(text: str, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Some of a few words, in their own order; ``all`` for every one.

    Raises:
        UsageError: A word is unknown.
    """
    wanted = list(known) if text == "all" else listed(text)
    unknown = [word for word in wanted if word not in known]
    if unknown:
        raise UsageError(f"{option} takes some of {', '.join(known)}, or all; not {', '.join(unknown)}")
    return tuple(word for word in known if word in wanted)


def one_of(text: str, known: tuple[str, ...], option: str) -> str:
    """One of a few words.

    Raises:
        UsageError: It is none of them.
    """
    if text not in known:
        raise UsageError(f"{option} takes {', '.join(known[:-1])} or {known[-1]}, not {text!r}")
    return text
