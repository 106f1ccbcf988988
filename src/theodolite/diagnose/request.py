"""What is to be diagnosed, and what the document says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from theodolite.core.errors import StorageError
from theodolite.diagnose.measuring import How
from theodolite.diagnose.position import Twins
from theodolite.diagnose.record import InstrumentName
from theodolite.diagnose.study import INSTRUMENTS, Study
from theodolite.runs import Tally
from theodolite.twins.measuring import slug

Tell = Callable[[str, InstrumentName, "Tally | str"], None]
"""Called with the model, the instrument, and how far it is: a tally, or a word for what else is going on."""

RUNS, DATA, CACHE = "runs", "data", "cache"
_HALF = ", half of them against the shortcut"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be diagnosed, how, and where it goes."""

    models: tuple[str, ...]
    study: Study
    folder: Path
    instruments: tuple[InstrumentName, ...] = INSTRUMENTS
    how: How = field(default_factory=How)
    twins: Twins = field(default_factory=Twins)
    tell: Tell = lambda *_: None

    def run_folder(self, model: str, part: str) -> Path:
        """Where a run lies."""
        return self.folder / RUNS / slug(model) / part


def data_words(order: Order) -> dict[str, str]:
    """What each instrument is asked about."""
    size = order.study.size
    own = {each.instrument: each.words for each in order.study.own}
    words = {
        "compass": f"{2 * size.pairs} drawn pictures of two to five things{_HALF}",
        "grid": f"{24 * size.grids} grids with a relation to heed{_HALF}",
        "scene": f"{size.rooms} drawn rooms, with questions that the shortcut answers rightly and others that it does not",
        "trace": f"{6 * size.episodes} drawn stories of four frames, with their edits{_HALF}",
    }
    return {name: words[name] + (f"; and {own[name]}" if name in own else "") for name in order.instruments}


def settings_of(order: Order) -> dict[str, object]:
    """What would be asked for again."""
    return {
        "models": list(order.models),
        "instruments": list(order.instruments),
        "size": order.study.size.name,
        "seed": order.study.seed,
        "data": {own.instrument: str(own.path) for own in order.study.own},
        "engine": order.how.engine,
    }


def check_folder(folder: Path) -> None:
    """Makes sure, before anything is measured, that a diagnosis can be written here.

    Raises:
        StorageError: it cannot.
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
