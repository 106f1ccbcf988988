"""Options that are the same in every command."""

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
MaybeImages = Annotated[
    Path | None,
    typer.Option("--images", metavar="DIR", help="The folder with the pictures. Default: that of the data."),
]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to write; an existing run is resumed.")
]
NewFolder = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to write; must be new or empty.")
]
Folder = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")]
KeptFolder = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to write; existing results are kept.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
RunFolders = Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random draws.")]
Size = Annotated[int, typer.Option("--size", min=1, help="Number to make.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use only the first N items.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
PlanOnly = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="Show what a run would take (requests, pictures, tokens, time), and exit. A few items are asked to find out.",
    ),
]
Price = Annotated[
    str,
    typer.Option(
        "--price",
        metavar="USD[,USD]",
        help="With --plan: US dollars per million tokens, for all or for prompts and answers, to show the cost.",
    ),
]
Figures = Annotated[
    Path | None, typer.Option("--figures", metavar="DIR", help="Also draw the figures into this folder.")
]
Instruments = Annotated[
    str,
    typer.Option(
        "--instruments", metavar="LIST", help="Instruments, separated by commas; see `theodolite list`."
    ),
]
Engine = Annotated[str, typer.Option("--engine", metavar="local|ray", help="Where the model runs.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Number of items in a batch, requests in flight, Ray actors, or processes that draw pictures.",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", help="A running Ray cluster. Default: a local one is started."),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache", metavar="DIR", help="Reuse deterministic answers of other runs, stored in this folder."
    ),
]
Device = Annotated[str, typer.Option("--device", help="Device of paired networks, such as cuda.")]
Beside = Annotated[
    list[Path] | None,
    typer.Option("--beside", metavar="RUN", help="Another run to draw for comparison; may be repeated."),
]
MaxTokens = Annotated[
    int, typer.Option("--max-tokens", min=1, help="Maximum length of an answer, in tokens.")
]
Answer = Annotated[
    str,
    typer.Option(
        "--answer", metavar="write|choose", help="Answer in text, or by the log-probabilities of the options."
    ),
]


def listed(text: str) -> list[str]:
    """Split a comma-separated list.

    >>> listed("a, b,,c")
    ['a', 'b', 'c']
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def some_of(text: str, known: tuple[str, ...], option: str, *, can_be_empty: bool = True) -> tuple[str, ...]:
    """Parse a list of known words, or ``all``. The order is that of `known`.

    Raises:
        UsageError: If a word is unknown, or none is given and one is needed.
    """
    wanted = list(known) if text == "all" else listed(text)
    unknown = [word for word in wanted if word not in known]
    if unknown:
        raise UsageError(f"{option} takes some of {', '.join(known)}, or all; not {', '.join(unknown)}")
    if not wanted and not can_be_empty:
        raise UsageError(f"{option} needs at least one of {', '.join(known)}, or all")
    return tuple(word for word in known if word in wanted)


def one_of(text: str, known: tuple[str, ...], option: str) -> str:
    """Check that a word is a known one, and return it.

    Raises:
        UsageError: If it is not.
    """
    if text not in known:
        raise UsageError(f"{option} takes {', '.join(known[:-1])} or {known[-1]}, not {text!r}")
    return text
