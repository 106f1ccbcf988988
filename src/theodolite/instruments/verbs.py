"""What can be done with an instrument: make, import, run, score, audit, figures, each with its options.

An instrument lists its verbs by name; the command line and Python use the same ones:

    find_instruments(["grid"])[0].verbs()["make"](out="grid", size=2)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from theodolite.core.errors import UsageError
from theodolite.core.options import DATA, RUN, Options
from theodolite.core.tables import Table
from theodolite.runs import Run

__all__ = ["Messages", "Outcome", "RunOptions", "ScoreRun", "Verb", "check_distinct", "named_runs"]

OptionsT = TypeVar("OptionsT", bound=Options)


class Messages:
    """What a verb says while it works. This one keeps silent; the command line prints to standard error."""

    def note(self, text: str) -> None:
        """Say something in one line."""

    def notes(self, texts: Iterable[str]) -> None:
        """Say several things."""
        for text in texts:
            self.note(text)

    def write_labels(self, rows: Sequence[Mapping[str, Any]], path: Path) -> Mapping[str, str]:
        """Write a page on which people label claims. Return pictures that cannot be shown, with the reason."""
        raise UsageError(
            f"{path}: a page is written by the command line alone; give a .jsonl file ({len(rows)} claims)"
        )

    def progress(self, step: str, done: int, total: int | None = None) -> None:
        """Say how far a step is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verb gives."""

    tables: Sequence[Table] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """Further values, such as the paths that were written; in JSON they stand beside the tables."""
    notes: Sequence[str] = ()
    """Said after the tables."""
    is_good: bool = True
    """False if a check failed; the exit status is then 1."""


@dataclass(frozen=True, slots=True)
class Verb(Generic[OptionsT]):
    """One thing that can be done with an instrument."""

    options: type[OptionsT]
    act: Callable[[OptionsT, Messages], Outcome]

    @property
    def help(self) -> str:
        """What it does, for the command line."""
        return inspect.getdoc(self.act) or ""

    def __call__(self, **options: Any) -> Outcome:
        """Do it, without a word."""
        return self.act(self.options(**options), Messages())


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """What a run of an instrument measures. Without data of its own, a run is that of a diagnosis."""

    data: Annotated[
        Path | None, DATA.but(help="Your own data, if the instrument takes any. Default: as in a diagnosis.")
    ] = None

    @property
    def source(self) -> Path | None:
        """What the run asks about; None as in a diagnosis."""
        return self.data

    @property
    def takes_size(self) -> bool:
        """True if a number as ``--size`` applies to the source."""
        return False

    def default_model(self) -> str:
        """Return the model if none is named; empty if one is needed."""
        return ""


@dataclass(frozen=True, kw_only=True)
class ScoreRun(Options):
    """The options of an instrument whose scores have none."""

    run: Annotated[Path, RUN]


def named_runs(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Name each run by its model, and by its folder as well if another run before it has the same model.

    Raises:
        UsageError: If a run is given twice.
    """
    check_distinct(folders)
    taken: set[str] = set()
    for folder in folders:
        with Run.open(folder) as opened:
            model = opened.info.model
        name = model if model not in taken else f"{model} ({folder.name})"
        taken.add(name)
        yield name, folder


def check_distinct(folders: Sequence[Path], what: str = "a run") -> None:
    """Check that no folder or file is given twice.

    Raises:
        UsageError: If one is.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError(f"{what} is given twice; give each one once")
