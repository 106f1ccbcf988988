"""One's own data: which instrument they are for, told by what lies there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast, get_args

from theodolite.diagnose.record import InstrumentName
from theodolite.errors import UsageError

_MARKS: dict[InstrumentName, str] = {
    "compass": "pairs.jsonl",
    "grid": "dataset.json",
    "scene": "questions.jsonl",
    "trace": "episodes.jsonl",
}
"""The file by which a data set of each instrument is known."""
_MAKERS = (
    "pairs of `theodolite data`, grids of `theodolite grid make`, scenes of `theodolite scene make` or `build`, episodes of "
    "`theodolite trace make`"
)


def find_own_data(given: Iterable[str | Path]) -> dict[InstrumentName, Path]:
    """Data sets by instrument.

    Args:
        given: folders or files as they are, or ``instrument=path`` where it must be said.

    Raises:
        UsageError: one is not there, is of no known kind, or two are of the same.
    """
    found: dict[InstrumentName, Path] = {}
    for text in given:
        name, equals, rest = str(text).partition("=")
        if equals and name in get_args(InstrumentName):
            instrument, path = cast("InstrumentName", name), Path(rest)
            _check(path)
        else:
            path = Path(text)
            _check(path)
            instrument = _kind(path)
        if instrument in found:
            raise UsageError(
                f"--data names two data sets for {instrument}: {found[instrument]} and {path}; diagnose them one by one"
            )
        found[instrument] = path
    return found


def _check(path: Path) -> None:
    if not path.exists():
        raise UsageError(f"there is nothing at {path}; --data takes {_MAKERS}")


def _kind(path: Path) -> InstrumentName:
    """The instrument that a data set is for."""
    names = {path.name} if path.is_file() else {each.name for each in path.iterdir()}
    kinds = [instrument for instrument, mark in _MARKS.items() if mark in names]
    if len(kinds) == 1:
        return kinds[0]
    if path.is_file() and path.suffix == ".jsonl":
        return "compass"
    raise UsageError(
        f"{path} is no data set that an instrument knows; --data takes {_MAKERS}, and `instrument=PATH` says which it is"
    )
