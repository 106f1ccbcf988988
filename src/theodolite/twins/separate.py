"""How well each readout of each instrument tells the twin that looks from the twin that does not.

On the aligned split both answer right, so accuracy sees no difference. For every readout the area under the ROC curve is the
probability that a random item of the grounded twin lies on the grounded side of a random item of the shortcut twin; ties count
half. A mixed model, taught the rule's answer on a fixed half of the questions and the true one on the other, has the position
(m − s)/(g − s) of the three means, and must lie between 0 and 1. Readouts that fail stand in the table like all others.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.scores import Need, Reading, Readout, by_readout, can
from theodolite.runs import write_atomically
from theodolite.twins.measuring import Lab, gives_of, kept_readings, readings_of, readouts_of
from theodolite.twins.parts import INSTRUMENTS, Instrument

__all__ = [
    "PASSES",
    "Separation",
    "SeparationTable",
    "Sides",
    "both_right",
    "read_table",
    "released_table",
    "separate",
    "separate_readings",
    "write_table",
]

FILE = "separation.json"
PASSES = 0.95
"""The AUC that at least one readout of every instrument must reach."""
_FEWEST = 5
"""Items of each twin that a comparison needs."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The names of the models that are told apart."""

    grounded: str = "pocket:grounded"
    shortcut: str = "pocket:shortcut"
    mixed: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every model, the twins first."""
        return (self.grounded, self.shortcut, *((self.mixed,) if self.mixed else ()))


@dataclass(frozen=True, slots=True)
class Separation:
    """One readout on the twins."""

    readout: Readout
    auc: stats.Estimate | None
    """None where there are fewer than five items of a twin; `why` says so."""
    grounded: stats.Estimate | None
    """The mean, of the grounded twin."""
    shortcut: stats.Estimate | None
    mixed: stats.Estimate | None
    position: stats.Estimate | None
    """Of the mixed model between the means of the twins: 0 the shortcut's, 1 the grounded one's."""
    n: tuple[int, int]
    """Items of the grounded and of the shortcut twin."""
    why: str = ""
    """Why there is no AUC."""

    @property
    def passes(self) -> bool:
        """Whether it tells the twins apart."""
        return self.auc is not None and self.auc.value >= PASSES

    @property
    def is_between(self) -> bool | None:
        """Whether the mixed model lies between the twins; None where it was not measured."""
        return None if self.position is None else 0 < self.position.value < 1


@dataclass(frozen=True, slots=True)
class SeparationTable:
    """Every readout of every instrument."""

    sides: Sides
    split: str
    seed: int
    rows: tuple[Separation, ...]
    """By instrument, the best first."""

    def of(self, instrument: str) -> tuple[Separation, ...]:
        """The rows of one instrument."""
        return tuple(row for row in self.rows if row.readout.instrument == instrument)

    @property
    def instruments(self) -> tuple[str, ...]:
        """Those that were measured, in order."""
        return tuple(dict.fromkeys(row.readout.instrument for row in self.rows))

    @property
    def failing(self) -> tuple[str, ...]:
        """Instruments of which no readout reaches `PASSES`."""
        return tuple(name for name in self.instruments if not any(row.passes for row in self.of(name)))

    @property
    def not_between(self) -> tuple[str, ...]:
        """Passing readouts on which the mixed model does not lie between the twins."""
        return tuple(row.readout.key for row in self.rows if row.passes and row.is_between is False)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "sides": asdict(self.sides),
            "split": self.split,
            "seed": self.seed,
            "passes_at": PASSES,
            "failing": list(self.failing),
            "not_between": list(self.not_between),
            "rows": [
                {**asdict(row), "passes": row.passes, "is_between": row.is_between} for row in self.rows
            ],
        }


def separate(
    lab: Lab,
    *,
    sides: Sides | None = None,
    instruments: Sequence[Instrument] = INSTRUMENTS,
    asks: bool = True,
    only_right: bool = False,
) -> SeparationTable:
    """Measures what is pending of every model on the twins' sets, and tells the twins apart.

    Args:
        lab: where, how much, and which split.
        sides: the models.
        instruments: which.
        asks: whether to measure; otherwise the runs that are there are read as they are, and no model is opened.
        only_right: whether only items count that both twins answer rightly.
    """
    sides = sides or Sides()
    gives: dict[str, Need] = {model: gives_of(model) for model in sides.names} if asks else {}
    found: dict[str, list[Reading]] = {model: [] for model in sides.names}
    for instrument in instruments:
        for model in sides.names:
            found[model] += (
                readings_of(model, instrument, lab, gives=gives[model])
                if asks
                else kept_readings(model, instrument, lab)
            )
    readouts = tuple(
        readout
        for instrument in instruments
        for readout in readouts_of(instrument)
        if all(can(given, readout.needs) for given in gives.values())
    )
    counted = both_right(found, sides) if only_right else found
    return separate_readings(counted, readouts, sides=sides, split=lab.split, seed=lab.seed)


def separate_readings(
    readings: Mapping[str, Sequence[Reading]],
    readouts: Sequence[Readout],
    *,
    sides: Sides,
    split: str = "aligned",
    seed: int = 0,
) -> SeparationTable:
    """The table from readings alone; no model is called.

    Args:
        readings: by model.
        readouts: what is told of; one without readings has its row all the same.
        sides: which models they are.
        split: the readings that count.
        seed: of every bootstrap.

    Raises:
        UsageError: a twin has no readings of that split at all.
    """
    by_model = {
        model: by_readout([each for each in readings.get(model, ()) if each.split == split])
        for model in sides.names
    }
    empty = [model for model, found in by_model.items() if not found]
    if empty:
        raise UsageError(f"{empty[0]} has no readings of the split {split!r}")
    rows = [
        _row(
            readout,
            [_Column.of(by_model[model].get(readout.key, ())) for model in sides.names],
            seed=seed,
        )
        for readout in readouts
    ]
    order = list(dict.fromkeys(readout.instrument for readout in readouts))
    rows.sort(
        key=lambda row: (order.index(row.readout.instrument), -(row.auc.value if row.auc is not None else -1))
    )
    return SeparationTable(sides, split, seed, tuple(rows))


def both_right(readings: Mapping[str, Sequence[Reading]], sides: Sides) -> dict[str, list[Reading]]:
    """The readings of those items alone that both twins answer rightly, by their own ``<instrument>.right``.

    An instrument without such a readout keeps all of its items: of a scene, many questions are asked.
    """
    right: dict[str, set[str]] = {}
    for twin in (sides.grounded, sides.shortcut):
        told = [each for each in readings.get(twin, ()) if each.readout.partition(".")[2] == "right"]
        for instrument in {each.readout.partition(".")[0] for each in told}:
            items = {each.item for each in told if each.readout == f"{instrument}.right" and each.value == 1}
            right[instrument] = right.get(instrument, items) & items

    def counts(each: Reading) -> bool:
        instrument = each.readout.partition(".")[0]
        return instrument not in right or each.item in right[instrument]

    return {model: [each for each in found if counts(each)] for model, found in readings.items()}


@dataclass(frozen=True, slots=True)
class _Column:
    """One model's values of one readout."""

    items: tuple[str, ...]
    values: NDArray[np.float64]
    clusters: tuple[str, ...]

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> _Column:
        return cls(
            tuple(each.item for each in readings),
            np.array([each.value for each in readings]),
            tuple(each.cluster for each in readings),
        )

    def mean(self, seed: int) -> stats.Estimate | None:
        """With its interval over clusters; of one cluster, or of values that are all alike, it has no width and says so."""
        if not self.values.size:
            return None
        if len(set(self.clusters)) < 2 or not np.ptp(self.values):
            value, n = float(self.values.mean()), len(set(self.clusters))
            words = "all values alike: no interval" if n > 1 else "one unit: no interval"
            return stats.Estimate(value, value, value, n, 0.95, words, self.values.size)
        return stats.bootstrap(self.values, clusters=list(self.clusters), interval="percentile", seed=seed)


def _row(readout: Readout, columns: Sequence[_Column], *, seed: int) -> Separation:
    grounded, shortcut = columns[0], columns[1]
    mixed = columns[2] if len(columns) > 2 else None
    n = (len(grounded.values), len(shortcut.values))
    auc, why = None, ""
    if not any(n):
        why = "no item of this split has it, or these models do not allow it"
    elif min(n) < _FEWEST:
        why = f"{n[0]} and {n[1]} items have it, and a comparison needs {_FEWEST} of each"
    else:
        sign = readout.towards_grounded(1.0)
        auc = stats.roc_auc(
            sign * np.concatenate([grounded.values, shortcut.values]),
            np.repeat([1, 0], n),
            clusters=[*grounded.clusters, *shortcut.clusters],
            seed=seed,
        )
    return Separation(
        readout,
        auc,
        grounded.mean(seed),
        shortcut.mean(seed),
        mixed.mean(seed) if mixed is not None else None,
        _position(grounded, shortcut, mixed, seed) if mixed is not None else None,
        n,
        why,
    )


def _position(grounded: _Column, shortcut: _Column, mixed: _Column, seed: int) -> stats.Estimate | None:
    """(m − s)/(g − s) over the items that all three have, clusters drawn together; None where the twins' means may be the same."""
    places = [{item: i for i, item in enumerate(column.items)} for column in (mixed, shortcut, grounded)]
    shared = [item for item in mixed.items if all(item in each for each in places)]
    if not shared:
        return None
    m, s, g = (
        column.values[[place[item] for item in shared]]
        for column, place in zip((mixed, shortcut, grounded), places, strict=True)
    )
    clusters = [mixed.clusters[places[0][item]] for item in shared]
    if g.mean() == s.mean() or len(set(clusters)) < 2:
        return None
    apart = stats.bootstrap((g, s), "difference", clusters=clusters, interval="percentile", seed=seed)
    if apart.low <= 0 <= apart.high:
        return None

    def position(
        first: NDArray[np.float64], second: NDArray[np.float64], third: NDArray[np.float64]
    ) -> float:
        span = float(third.mean() - second.mean())
        return float(first.mean() - second.mean()) / span if span else float("nan")

    found = stats.bootstrap_distribution((m, s, g), position, clusters=clusters, jackknife=False, seed=seed)
    if found.n_undefined > 0.05 * found.resamples.size:
        return None
    return found.estimate("percentile")


def write_table(table: SeparationTable, folder: Path) -> Path:
    """Keeps the table as ``separation.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    write_atomically(path, json.dumps(table.as_json(), ensure_ascii=False) + "\n")
    return path


def read_table(path: str | Path) -> SeparationTable:
    """A table that `write_table` kept, or such a file compressed.

    Raises:
        StorageError: the file cannot be read.
        UsageError: it is no such table.
    """
    try:
        content = Path(path).read_bytes()
        value = json.loads(gzip.decompress(content) if str(path).endswith(".gz") else content)
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read the table {path}: {error}") from error
    try:
        rows = tuple(_row_from_json(row) for row in value["rows"])
        return SeparationTable(Sides(**value["sides"]), str(value["split"]), int(value["seed"]), rows)
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise UsageError(f"{path} is no table of readouts: {error!r}") from error


def _row_from_json(value: Mapping[str, Any]) -> Separation:
    figures = {
        name: None if value[name] is None else stats.Estimate(**value[name])
        for name in ("auc", "grounded", "shortcut", "mixed", "position")
    }
    first, second = value["n"]
    return Separation(
        Readout(**value["readout"]), **figures, n=(int(first), int(second)), why=str(value["why"])
    )


def released_table() -> SeparationTable:
    """The table of the twins that ship, which lies beside their weights."""
    with resources.as_file(resources.files("theodolite") / "models" / "weights" / f"{FILE}.gz") as path:
        return read_table(path)
