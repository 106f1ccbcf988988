"""What is asked of a model: how much, and in which runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.core.scores import Need
from theodolite.diagnose.background_data import Makers
from theodolite.diagnose.record import InstrumentName
from theodolite.diagnose.user_data import OwnData
from theodolite.twins.parts import Part

INSTRUMENTS: tuple[InstrumentName, ...] = get_args(InstrumentName)
ALIGNED = "aligned"
"""The split that signatures of scenes are read on: being right there needs no looking."""
SPLITS = (ALIGNED, "crossed")
OWN_SPLIT = "own data"
"""The split of items that are not the twins': they have figures, and no position."""

SizeName: TypeAlias = Literal["quick", "standard", "large"]


@dataclass(frozen=True, slots=True)
class Size:
    """How many units of each instrument are asked about, in each of the two splits."""

    name: SizeName
    pairs: int
    """Pictures of the compass."""
    grids: int
    """Scenes of each relational bucket of the grid at each of two densities."""
    rooms: int
    per_group: int
    """Questions of each of nine groups, over all rooms."""
    episodes: int
    """Of each of three worlds."""
    deep: int = 2
    """Grids of each of eight buckets with several anchors."""
    explained: int = 0
    """Grids of each of six buckets that are explained."""
    budget: int = 300
    """Model calls for each of them, all explainers together."""


SIZES: Mapping[str, Size] = {
    size.name: size
    for size in (
        Size("quick", pairs=14, grids=2, rooms=14, per_group=14, episodes=4),
        Size("standard", pairs=24, grids=2, rooms=18, per_group=18, episodes=7, explained=2, budget=110),
        Size("large", pairs=200, grids=15, rooms=120, per_group=120, episodes=40, deep=12, explained=10),
    )
}


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that decides what is asked."""

    home: Path
    """Where made data go."""
    size: Size
    seed: int = 0
    own: tuple[OwnData, ...] = ()
    """One's own data, one set for an instrument at most."""
    makers: Makers = field(default_factory=Makers, compare=False, repr=False)
    """What is making data meanwhile."""

    def own_data(self, instrument: InstrumentName) -> OwnData | None:
        """One's own data for an instrument."""
        return next((own for own in self.own if own.instrument == instrument), None)

    def folder(self, name: str) -> Path:
        """A place for made data. Its name says all that decides what is in it."""
        return self.home / f"{name}-{self.size.name}-{self.seed}"


def find_size(name: str) -> Size:
    """A size by name.

    Raises:
        UsageError: there is none.
    """
    if name not in SIZES:
        raise UsageError(f"there is no size {name!r}; there are {', '.join(SIZES)}")
    return SIZES[name]


def find_instruments(names: Iterable[str]) -> tuple[InstrumentName, ...]:
    """Instruments by name, in their own order.

    >>> find_instruments(["trace", "grid"])
    ('grid', 'trace')
    """
    asked = list(names)
    unknown = [name for name in asked if name not in INSTRUMENTS]
    if unknown or not asked:
        raise UsageError(
            f"instruments are some of {', '.join(INSTRUMENTS)}, not {', '.join(map(repr, unknown)) or 'none'}"
        )
    return tuple(name for name in INSTRUMENTS if name in asked)


Parts: TypeAlias = Callable[[Study, Need], Iterable[Part]]
"""The runs of one instrument, of a model that gives so much."""
