"""What is to be diagnosed, how, and where the results go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from theodolite.core.errors import StorageError, UsageError
from theodolite.diagnose.position import Twins
from theodolite.instruments.instrument import Instrument, Study, UserData
from theodolite.runs import EngineOptions, Tally, slug

__all__ = ["SIZES", "DiagnosisRequest", "Tell", "check_folder", "find_size"]

Tell = Callable[[str, str, "Tally | str"], None]
"""Called with the model, the instrument, and how far it is: a tally, or a word for what else is going on."""

RUNS, DATA, CACHE = "runs", "data", "cache"
SIZES = ("quick", "standard", "large")
_FEWEST = 6


@dataclass(frozen=True, slots=True)
class DiagnosisRequest:
    """What is to be diagnosed, how, and where it goes."""

    models: tuple[str, ...]
    folder: Path
    instruments: tuple[Instrument, ...]
    size: str | int = "standard"
    """As `find_size` gives it."""
    seed: int = 0
    data: tuple[UserData, ...] = ()
    options: EngineOptions = field(default_factory=EngineOptions)
    twins: Twins = field(default_factory=Twins)
    tell: Tell = lambda *_: None

    def __post_init__(self) -> None:
        asked = {each.name for each in self.instruments}
        unused = next((own for own in self.data if own.instrument not in asked), None)
        if unused is not None:
            raise UsageError(
                f"{unused.path} is for {unused.instrument}, which --instruments does not name; add it, or leave the data out"
            )

    def study(self, instrument: Instrument) -> Study:
        """What is asked of one instrument."""
        own = next((each for each in self.data if each.instrument == instrument.name), None)
        return Study(self.folder / DATA, self.size, self.seed, data=own)

    def run_folder(self, model: str, name: str) -> Path:
        """Where a run lies."""
        return self.folder / RUNS / slug(model) / name

    def described(self) -> dict[str, str]:
        """What each instrument is asked about, in words."""
        return {each.name: each.describe(self.study(each)) for each in self.instruments}

    def settings(self) -> dict[str, object]:
        """What would be asked for again."""
        return {
            "models": list(self.models),
            "instruments": [each.name for each in self.instruments],
            "size": self.size,
            "seed": self.seed,
            "data": {own.instrument: str(own.path) for own in self.data},
            "engine": self.options.engine,
        }


def find_size(given: str | int) -> str | int:
    """A size by name, or as a number of items.

    Raises:
        UsageError: There is no such size.

    >>> find_size("quick"), find_size("40"), find_size(6)
    ('quick', 40, 6)
    """
    if given in SIZES:
        return given
    number = int(given) if str(given).isdecimal() else 0
    if number < _FEWEST:
        raise UsageError(
            f"there is no size {given!r}; there are {', '.join(SIZES)}, and any whole number of items from {_FEWEST} on"
        )
    return number


def check_folder(folder: Path) -> None:
    """Makes sure, before anything is measured, that a diagnosis can be written here.

    Raises:
        StorageError: It cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_bytes(b"0" * 4096)
        probe.unlink()
    except OSError as error:
        raise StorageError(
            f"cannot write into {folder}: {error.strerror}; choose another folder with --out"
        ) from error
