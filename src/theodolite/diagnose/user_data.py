"""The user's own data sets, and the instrument that each one is for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.instruments.instrument import UserData, instruments
from theodolite.models.tables import SUFFIXES, fields_of, naming, read_rows, split_options

__all__ = ["find_user_data"]

_LONGEST = 300


def find_user_data(
    given: Iterable[str | Path], images: Path | None = None, wanted: Collection[str] = ()
) -> tuple[UserData, ...]:
    """Find the instruments of each data set. There can be one data set per instrument.

    Args:
        given: Files or folders. ``instrument=path`` names the instrument; ``annotations@folder`` names the folder of
            the pictures if it is another one.
        images: The folder of the pictures, for all data sets that do not name their own.
        wanted: The instruments that are used. Of several that can read a data set, the others are left out. Default: all.

    Raises:
        UsageError: If one does not exist, if no instrument can read it, or if two are for the same instrument.
    """
    found: dict[str, UserData] = {}
    for text in given:
        name, equals, rest = str(text).partition("=")
        is_named = bool(equals) and name in {each.name for each in instruments()}
        known = _find(rest if is_named else str(text), name if is_named else "", images)
        for own in [each for each in known if not wanted or each.instrument in wanted] or known:
            if own.instrument in found:
                raise UsageError(
                    f"--data has two data sets for {own.instrument}: {found[own.instrument].path} and {own.path}; "
                    "diagnose them one at a time"
                )
            found[own.instrument] = own
    return tuple(found.values())


def _find(text: str, named: str, images: Path | None) -> list[UserData]:
    """Return the data set for every instrument that can read it, or for the named one."""
    path = Path(text)
    file, _ = split_options(path)
    if not file.exists() and "@" in text:
        first, _, second = text.rpartition("@")
        path, images = Path(first), Path(second)
        file, _ = split_options(path)
    if not file.exists():
        raise UsageError(f"{file} does not exist; {_takes()}")
    if images is not None and not images.is_dir():
        raise UsageError(
            f"there is no folder of pictures {images}; --images takes the folder of the pictures"
        )
    if path.is_dir() and (path / "run.json").is_file():
        raise UsageError(
            f"{path} is a run, not a data set; to diagnose its answers, use --model replay:{path}"
        )
    known = [own for each in instruments() if (own := each.find_data(path, images)) is not None]
    if not known and (fields := _fields(path)):
        raise UsageError(
            f"no instrument can read {path}{fields}; questions need a picture, a question and an answer: {naming(path)}"
        )
    if not known:
        raise UsageError(f"no instrument can read the data set {path}; {_takes()}")
    wanted = [each for each in known if named in {"", each.instrument}]
    if not wanted:
        raise UsageError(f"{path} is for {known[0].instrument}, not for {named}; remove {named}=")
    return wanted


def _fields(path: Path) -> str:
    """The fields of a table that fits nothing, in words."""
    if path.suffix not in SUFFIXES or not path.is_file():
        return ""
    try:
        return f", which has the fields {', '.join(fields_of(read_rows(path, [])))[:_LONGEST]}"
    except UsageError as error:
        return f" ({error})"


def _takes() -> str:
    taken = "; ".join(f"{each.takes} ({each.name})" for each in instruments() if each.takes)
    return f"--data takes {taken}"
