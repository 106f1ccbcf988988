"""The request for a diagnosis: models, instruments, sample size, data and folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from theodolite.core.errors import StorageError, UsageError
from theodolite.diagnose.separation import Twins
from theodolite.instruments.instrument import Instrument, Study, UserData
from theodolite.models import VisionLanguageModel
from theodolite.runs import EngineOptions, Tally, slug

__all__ = ["SIZES", "DiagnosisRequest", "Progress", "check_folder", "find_size"]

Progress = Callable[[str, str, "Tally | str"], None]
"""Called with the model, the instrument, and its progress: a tally, or a word for another step, such as ``scoring``.

Every model and instrument is announced as ``waiting`` before the first is measured."""

RUNS, DATA, CACHE = "runs", "data", "cache"
SIZES = ("quick", "standard", "large")
_FEWEST = 6


@dataclass(frozen=True, slots=True)
class DiagnosisRequest:
    """A request for a diagnosis."""

    models: tuple[str, ...]
    folder: Path
    instruments: tuple[Instrument, ...]
    size: str | int = "standard"
    """A size from `find_size`; a number is one of pairs."""
    seed: int = 0
    data: tuple[UserData, ...] = ()
    options: EngineOptions = field(default_factory=EngineOptions)
    twins: Twins = field(default_factory=Twins)
    progress: Progress = lambda *_: None
    given: Mapping[str, VisionLanguageModel] = field(default_factory=dict)
    """Models in memory, by name. The others are opened by name."""

    def __post_init__(self) -> None:
        if self.given and self.options.engine != "local":
            raise UsageError(
                f"{next(iter(self.given))} is in memory and cannot be sent to workers; name a checkpoint, as hf:PATH"
            )
        asked = {each.name for each in self.instruments}
        unused = next((own for own in self.data if own.instrument not in asked), None)
        if unused is not None:
            raise UsageError(
                f"{unused.path} is for {unused.instrument}, which is not in --instruments; add it, or leave out the data"
            )

    def study(self, instrument: Instrument) -> Study:
        """Return the part of the request for one instrument."""
        own = next((each for each in self.data if each.instrument == instrument.name), None)
        size = self.size if isinstance(self.size, str) else instrument.size_for(self.size)
        return Study(self.folder / DATA, size, self.seed, data=own)

    def run_folder(self, model: str, name: str) -> Path:
        """Return the folder of a run."""
        return self.folder / RUNS / slug(model) / name

    def described(self) -> dict[str, str]:
        """Describe the items of each instrument in words."""
        return {each.name: each.describe(self.study(each)) for each in self.instruments}

    def settings(self) -> dict[str, object]:
        """Return the settings that are stored in the diagnosis."""
        pictures = [own.images for own in self.data if own.images is not None]
        return {
            "models": list(self.models),
            "instruments": [each.name for each in self.instruments],
            "size": self.size,
            "seed": self.seed,
            "data": {own.instrument: str(own.path) for own in self.data},
            **({"images": str(pictures[0])} if pictures else {}),
            "engine": self.options.engine,
        }


def find_size(given: str | int) -> str | int:
    """Parse a size: a name, or a number of pairs.

    Raises:
        UsageError: If there is no such size.

    >>> find_size("quick"), find_size("40"), find_size(6)
    ('quick', 40, 6)
    """
    if given in SIZES:
        return given
    number = int(given) if str(given).isdecimal() else 0
    if number < _FEWEST:
        raise UsageError(
            f"there is no size {given!r}; choose {', '.join(SIZES)}, or a whole number of pairs, at least {_FEWEST}"
        )
    return number


def check_folder(folder: Path) -> None:
    """Check that a diagnosis can be written to the folder, before anything is measured.

    Raises:
        StorageError: If it cannot.
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
