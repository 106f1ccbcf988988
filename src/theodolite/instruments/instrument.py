"""What an instrument is: data, questions, measuring, scores, tables and pairs behind one type.

The diagnosis, the report and the command line know instruments only through this type and the registry. To add one,
subclass `Instrument`, implement `metrics`, `plan` and `score`, and register an instance under the kind ``instrument``.
Everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import registry
from theodolite.core.scores import Capability, ItemScore, Metric
from theodolite.core.signatures import Signature
from theodolite.core.splits import ALIGNED, SPLITS
from theodolite.core.tables import Column, Table
from theodolite.core.types import Item, Picture
from theodolite.models import VisionLanguageModel
from theodolite.pairs import AnsweredPair
from theodolite.runs import Measurer, MeasurerFactory, Run
from theodolite.stats import score_mean

if TYPE_CHECKING:
    from theodolite.core.views import ItemRow

__all__ = [
    "Instrument",
    "Place",
    "RecordedModel",
    "Reference",
    "RunPlan",
    "Study",
    "UserData",
    "find_instruments",
    "instrument_of_run",
    "instruments",
    "made",
    "metric_table",
]

Place = Callable[[Picture], str]
"""Stores a picture where the reader of a row finds it, and returns its name there."""


@dataclass(frozen=True, slots=True)
class UserData:
    """A data set of the user's own, and the instrument it is for."""

    instrument: str
    form: str
    """Which of the instrument's file formats it is."""
    path: Path
    images: Path | None = None
    """The folder with its pictures, where they are kept apart."""
    logs: tuple[Path, ...] = ()
    """Files with answers that were recorded elsewhere."""

    @property
    def words(self) -> str:
        """What it is, for the report."""
        return f"{self.path}" + (f" with the pictures in {self.images}" if self.images else "")


@dataclass(frozen=True, slots=True)
class Study:
    """What a diagnosis asks of an instrument."""

    folder: Path
    """Where made data go."""
    size: str | int = "standard"
    """``quick``, ``standard``, ``large``, or a number of items."""
    seed: int = 0
    splits: tuple[str, ...] = SPLITS
    data: UserData | None = None

    def place(self, name: str) -> Path:
        """The folder of one made data set. Its name says all that decides what is in it."""
        return self.folder / f"{name}-{self.size}-{self.seed}"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run of a study: what is asked, and what measures it."""

    name: str
    """The folder below the model's own."""
    kind: str
    """One of the instrument's `run_kinds`."""
    settings: Mapping[str, Any]
    items: Callable[[Run], Iterable[Item]]
    """The plan, given what the run holds already."""
    measurer: Callable[[VisionLanguageModel], Measurer]
    """What measures it, for a model that is open."""
    factory: Callable[[str], MeasurerFactory]
    """The same for workers elsewhere, for a model's name."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A number that a paper reports for a metric. Shown beside ours; other data and models, so never a bar."""

    metric: str
    value: float
    what: str
    source: str


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A model whose answers to user data were recorded elsewhere."""

    name: str
    identity: str
    write_run: Callable[[Path, int], Path]
    """Writes its answers as a run into a folder, with a seed, and returns the folder."""


class Instrument(ABC):
    """An instrument. Instances hold no state."""

    name: ClassVar[str]
    question: ClassVar[str]
    """What it answers, as a question."""
    run_kinds: ClassVar[tuple[str, ...]]
    """The kinds of run it scores, as ``run.json`` names them; its own name first."""
    takes: ClassVar[str] = ""
    """The user data it accepts, in words; empty if none."""
    formats: ClassVar[tuple[str, ...]] = ()
    """Export formats that it writes itself, by `export`."""
    needs_data: ClassVar[bool] = False
    """True if it has no data of its own: then a diagnosis includes it only where the user gives some."""
    makes_data_slowly: ClassVar[bool] = False
    """True if its data sets take so long to make that they should be made in the background."""

    @property
    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric, in the order of tables."""

    @abstractmethod
    def plan(self, study: Study, gives: Capability) -> Iterable[RunPlan]:
        """The runs of a study, for a model of that capability. Data that are not there yet are made."""

    @abstractmethod
    def score(self, run: Run) -> list[ItemScore]:
        """Every metric of every item that a run holds. Calls no model."""

    def score_all(self, folders: Sequence[Path]) -> list[ItemScore]:
        """The scores of several runs of one model."""
        found: list[ItemScore] = []
        for folder in folders:
            with Run.open(folder) as run:
                found += self.score(run)
        return found

    def tables(self, run: Run) -> list[Table]:
        """The main tables of a run: by default one row for each metric and split."""
        return [metric_table(self, self.score(run))]

    def pairs(self, run: Run) -> Iterable[AnsweredPair]:
        """Answers before and after edits with known truth; by default none."""
        return ()

    def rows(self, run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
        """What is shown of every item; by default question, answer and outcome."""
        from theodolite.instruments.rows import plain_rows

        return plain_rows(self.name, run, place, scores)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """The signatures of one model's runs; by default none."""
        return []

    def chance(self, folders: Sequence[Path]) -> float | None:
        """How often a blind choice is right on the aligned split: the mean of 1/options; None without options."""
        sizes: list[int] = []
        for folder in folders:
            with Run.open(folder) as run:
                sizes += [
                    len(result.item.options)
                    for result in run.results()
                    if result.item.options
                    and self.is_plain(result.item)
                    and result.item.meta.get("split") == ALIGNED
                ]
        return sum(1 / size for size in sizes) / len(sizes) if sizes else None

    def is_plain(self, item: Item) -> bool:
        """True if an item is asked as it is: unedited, with its own picture."""
        return item.meta.get("condition", "plain") == "plain"

    def shown(self, item: Item) -> Item:
        """The item as the model sees it, where a run stores an edit by name instead of the edited picture."""
        return item

    def export(self, source: Path, out: Path, *, to: str) -> dict[str, int]:
        """Writes a run or a data set in one of its `formats`; returns what was written, with the number of rows."""
        raise UsageError(f"{self.name} does not write {to}: {source}, {out}")

    def references(self) -> Iterable[Reference]:
        """What the papers report."""
        return ()

    def describe(self, study: Study) -> str:
        """What a study asks about, in words."""
        return study.data.words if study.data else "its own data"

    def make_data(self, study: Study) -> None:  # noqa: B027 - there may be nothing to make
        """Makes the data sets of a study that are not there yet; called in the background if `makes_data_slowly`."""

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """The user data at a path, if this instrument can use it."""
        return None

    def recorded_models(self, data: UserData) -> list[RecordedModel]:
        """Models whose answers lie beside user data."""
        return []


def metric_table(instrument: Instrument, scores: Sequence[ItemScore], *, title: str = "") -> Table:
    """The mean of every metric on every split."""
    splits = list(dict.fromkeys(score.split for score in scores))
    rows = []
    for metric in instrument.metrics:
        for split in splits:
            some = [score for score in scores if score.metric == metric.key and score.split == split]
            if some:
                estimate = score_mean(metric, some)
                unread = sum(score.value is None for score in some)
                rows.append([metric.name, split, estimate, len(some) - unread, unread])
    columns = [
        Column("metric", "metric"),
        Column("split", "split"),
        Column("value", "mean", "number"),
        Column("items", "items", "count"),
        Column("without", "no value", "count"),
    ]
    return Table.of(f"{instrument.name}.metrics", title or instrument.question, columns, rows)


def instruments() -> tuple[Instrument, ...]:
    """Every registered instrument, in the order of registration."""
    return tuple(_load(entry.name) for entry in registry().entries("instrument"))


def find_instruments(names: Iterable[str]) -> tuple[Instrument, ...]:
    """Instruments by name, in their registered order.

    Raises:
        UsageError: one is unknown, or none is named.

    >>> [each.name for each in find_instruments(["trace", "grid"])]
    ['grid', 'trace']
    """
    asked = list(names)
    known = [entry.name for entry in registry().entries("instrument")]
    unknown = [name for name in asked if name not in known]
    if unknown or not asked:
        raise UsageError(
            f"instruments are some of {', '.join(known)}, not {', '.join(map(repr, unknown)) or 'none'}"
        )
    return tuple(_load(name) for name in known if name in asked)


def instrument_of_run(kind: str) -> Instrument | None:
    """The instrument that scores runs of a kind; None if there is none."""
    return next((each for each in instruments() if kind in each.run_kinds), None)


def _load(name: str) -> Instrument:
    entry = registry().entry("instrument", name)
    found = entry.load()
    if not isinstance(found, Instrument):
        raise ContractError(f"the instrument {name!r} of {entry.origin} is not an Instrument: {entry.target}")
    if found.name != name:
        raise ContractError(f"the instrument {name!r} of {entry.origin} calls itself {found.name!r}")
    return found


def made(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder with its data, made if it is not there; a half-made one is made again.

    Raises:
        StorageError: there is no room for it.
    """
    import shutil

    from theodolite.core.errors import StorageError

    if folder.exists():
        return folder
    draft = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.parent.mkdir(parents=True, exist_ok=True)
        make(draft)
        draft.replace(folder)
    except OSError as error:
        raise StorageError(
            f"cannot make the data in {folder}: {error.strerror}; free some space or choose another --out"
        ) from error
    return folder
