"""`Instrument`: the base class with data, questions, measuring, scores, tables and pairs.

The diagnosis, the report and the command line use instruments only through this class and the registry. To add one,
subclass `Instrument`, implement `metrics`, `plan` and `score`, and register an instance under the kind ``instrument``.
Everything else has a default.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar, cast

from theodolite.answers import Answer
from theodolite.answers.grading import answers_right, golds_of, read_item
from theodolite.core.errors import ContractError, UsageError
from theodolite.core.files import lines_of, parse_json
from theodolite.core.options import DATA, RUN, Options
from theodolite.core.registry import registry
from theodolite.core.scores import (
    SPLITS,
    Capability,
    ItemScore,
    Metric,
    Signature,
    headlines,
    metrics_of,
)
from theodolite.core.tables import Column, Table
from theodolite.core.types import Item, Picture
from theodolite.core.views import UNSEEN, ItemRow, RowStatus
from theodolite.models import VisionLanguageModel, open_model
from theodolite.pairs import AnsweredPair, Standing
from theodolite.pairs.outcomes import answered_pairs, repeated_pairs, split_of
from theodolite.runs import Cost, Measurer, MeasurerFactory, Price, Result, Run, read_info

__all__ = [
    "Instrument",
    "Messages",
    "Outcome",
    "Place",
    "PlannedCost",
    "RecordedModel",
    "Reference",
    "RunOptions",
    "RunPlan",
    "ScoreRun",
    "Study",
    "UserData",
    "Values",
    "Verb",
    "View",
    "check_distinct",
    "common",
    "find_instruments",
    "first_keys",
    "has_file",
    "in_text",
    "instrument_of_run",
    "instruments",
    "item_rows",
    "made",
    "metric_table",
    "named_runs",
    "pairs_of_runs",
    "rounded",
    "score_runs",
    "values_by_item",
    "verdict",
]


# What can be done with an instrument: make, import, run, score, audit, figures, each with its options.


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
class PlannedCost:
    """What a verb would take."""

    costs: Mapping[str, Mapping[str, Cost]]
    """By model and by what it is asked for."""
    price: Price | None = None


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
    plan: PlannedCost | None = None
    """Given if only that was asked for."""


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


# Functions for the rows of runs, shared by all instruments.


Values = Mapping[tuple[str, str], Mapping[str, float]]
"""By item and split, the value of each metric."""

View: TypeAlias = Callable[[Result], "Mapping[str, Any] | None"]
"""Function that returns further fields of an item's row. None leaves the item out."""


def values_by_item(scores: Sequence[ItemScore]) -> Values:
    """Collect the values of every item."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for score in scores:
        if score.value is not None:
            found.setdefault((score.item, score.split), {})[score.metric] = score.value
    return found


def common(result: Result, place: Place, *, answer: Answer | None = None, unread: str = "") -> dict[str, Any]:
    """Return the fields that all rows have: answer, status, reason and pictures.

    Args:
        result: An item with its record.
        place: Function that stores a picture and returns its name.
        answer: The answer, if the item asks for one.
        unread: Why something other than an answer, such as a graph, could not be read.
    """
    record = result.record
    status: RowStatus = "pending"
    text, reason = "", ""
    if record is not None:
        response = record.response
        status, text, reason = response.status, response.text, response.reason
        if status == "answered" and answer is not None and not answer.is_read:
            status, reason = cast("RowStatus", answer.status), answer.reason
        elif status == "answered" and unread:
            status, reason = "unreadable", unread
    pictures = [place(picture) for picture in result.item.request.pictures if not picture.is_absent]
    return {"answer": text, "status": status, "reason": reason, "pictures": pictures}


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Round values to six digits, for display."""
    return {key: float(f"{value:.6g}") for key, value in values.items()}


def verdict(is_right: bool | None, condition: str) -> bool | None:  # noqa: FBT001 - the value itself
    """Return `is_right`, or None if the picture does not show what the question asks for.

    >>> verdict(True, "plain"), verdict(False, "blank")
    (True, None)
    """
    return None if condition in UNSEEN else is_right


def item_rows(
    instrument: Instrument | None,
    run: Run,
    place: Place,
    scores: Sequence[ItemScore],
    results: Iterable[Result] | None = None,
) -> Iterator[ItemRow]:
    """Yield a row for every item, made from its truth. Scores stand in the plain row of their subject, or of their cluster.

    Args:
        instrument: Its `view` adds fields or leaves an item out. None: only what the items themselves say.
        run: A run, finished or not.
        place: Function that stores a picture and returns its name.
        scores: The scores of the run.
        results: The items with their records. Default: those of the run.
    """
    view: View = instrument.view(run) if instrument else lambda _: {}
    values = values_by_item(scores)
    scored = {score.item: score.split for score in scores}  # items of older runs may not say their split
    for result in run.results() if results is None else results:
        fields = view(result)
        if fields is None:
            continue
        item, truth = result.item, result.item.truth
        split = split_of(run, item) or scored.get(item.name, "")
        answer = read_item(item, result.record)
        own = [values.get((key, split)) for key in (item.name, truth.subject or item.cluster)]
        is_right = answers_right(item, answer) if answer.is_read and truth.golds else None
        shown = instrument.shown(item) if instrument else item
        yield ItemRow(
            **{
                "id": item.name,
                "instrument": instrument.name if instrument else run.info.instrument,
                "model": run.info.model,
                "split": split,
                "cluster": item.cluster,
                "condition": truth.condition,
                "kind": truth.group,
                "question": item.request.text,
                "read_as": in_text(answer),
                "gold": next(iter(golds_of(item)), ""),
                "correct": verdict(is_right, truth.condition),
                "values": rounded(next(filter(None, own), {}) if truth.is_plain else own[0] or {}),
                **common(replace(result, item=shown), place, answer=answer),
                **fields,
            }
        )


def in_text(answer: Answer) -> str:
    """Return the value of an answer as text; empty if there is none."""
    return str(answer.value).removesuffix(".0") if answer.is_read else ""


Place = Callable[[Picture], str]
"""Function that stores a picture for a row, and returns its name."""


@dataclass(frozen=True, slots=True)
class UserData:
    """A data set of the user, and the instrument it is for."""

    instrument: str
    form: str
    """The file format, one of those that the instrument reads."""
    path: Path
    images: Path | None = None
    """The folder with its pictures, if it is another one."""
    logs: tuple[Path, ...] = ()
    """Files with recorded answers."""
    may_lack_pictures: bool = False
    """True if only recorded answers are judged, for which the names of pictures will do."""

    @property
    def words(self) -> str:
        """A description, for the report."""
        return f"{self.path}" + (f" with the pictures in {self.images}" if self.images else "")


@dataclass(frozen=True, slots=True)
class Study:
    """The request of a diagnosis to an instrument."""

    folder: Path
    """The folder for generated data."""
    size: str | int = "standard"
    """``quick``, ``standard``, ``large``, or a number of items."""
    seed: int = 0
    splits: tuple[str, ...] = SPLITS
    data: UserData | None = None
    options: RunOptions | None = None
    """What a run asked for by its own options measures: one run, which takes its whole folder. None: as in a diagnosis."""
    model: str = ""
    """The name of the model, if it is known."""
    is_preview: bool = False
    """True if the run is planned only to show what it would take."""

    def place(self, name: str) -> Path:
        """Return the folder of one generated data set. Its name includes the size and the seed."""
        return self.folder / f"{name}-{self.size}-{self.seed}"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run of a study: its items, and how they are measured."""

    name: str
    """The name of its folder, below that of the model; empty if it is that folder itself."""
    kind: str
    """One of the instrument's `run_kinds`."""
    settings: Mapping[str, Any]
    items: Callable[[Run], Iterable[Item]]
    """Function that returns the items, given what the run already contains."""
    measurer: Callable[[VisionLanguageModel], Measurer]
    """Function that returns the measurer for an open model. It is pickled for workers in other processes."""
    factory: Callable[[str], MeasurerFactory] = None  # type: ignore[assignment] # filled in below
    """Function that returns the measurer factory for a model name. Default: open the model in the process that calls it,
    and call `measurer`."""
    calls: int = 1
    """Model calls for each item, at most."""
    more: int = 0
    """Items that are added once the first answers are known, at most."""
    seed: int | None = None
    """The seed that is stored. Default: that of the study."""
    notes: tuple[str, ...] = ()
    """What to know about it before it is measured."""
    tables: Callable[[Run], Sequence[Table]] | None = None
    """Function that returns the main tables of the run. Default: `Instrument.tables`."""
    preview: Callable[[], Sequence[Table]] = tuple
    """Function that returns tables about what is planned."""

    def __post_init__(self) -> None:
        """Fill in the default factory."""
        if cast("Any", self.factory) is None:
            object.__setattr__(self, "factory", partial(_measurer_factory, self.measurer))


def _measurer_factory(measurer: Callable[[VisionLanguageModel], Measurer], model: str) -> MeasurerFactory:
    return partial(_open_measurer, measurer, model)


def _open_measurer(measurer: Callable[[VisionLanguageModel], Measurer], model: str) -> Measurer:
    return measurer(open_model(model))


@dataclass(frozen=True, slots=True)
class Reference:
    """A number that a paper reports for a metric. It is for orientation only: data and models differ."""

    metric: str
    value: float
    what: str
    source: str


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A model whose answers to user data were recorded before."""

    name: str
    identity: str
    write_run: Callable[[Path, int], Path]
    """Function that writes its answers as a run into a folder, with a seed, and returns the folder."""


class Instrument(ABC):
    """An instrument. Instances hold no state."""

    name: ClassVar[str]
    question: ClassVar[str]
    """What it answers, as a question."""
    run_kinds: ClassVar[tuple[str, ...]]
    """The kinds of run it scores, as in ``run.json``; its own name first."""
    takes: ClassVar[str] = ""
    """A description of the user data it accepts. Empty if none."""
    formats: ClassVar[tuple[str, ...]] = ()
    """Export formats that its method `export` supports, for runs of the `exported_kinds`."""
    exported_kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of run that `export` takes. Runs of other kinds are exported as those of any instrument."""
    needs_data: ClassVar[bool] = False
    """True if it has no built-in data. A diagnosis then includes it only with user data."""
    run_options: ClassVar[type[RunOptions]] = RunOptions
    """What `theodolite NAME run` takes beside the options of every run. A study with such options has one plan."""
    run_help: ClassVar[str] = "Measure a model as in a diagnosis, and score it."
    """What `theodolite NAME run` does, in a sentence."""
    makes_data_slowly: ClassVar[bool] = False
    """True if its data sets take so long to make that they should be made in the background."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All metrics, in the order of tables. Default: those of its ``definitions.toml``."""
        return metrics_of(self.name)

    @property
    def shared_metrics(self) -> frozenset[str]:
        """Metrics of what all splits have in common. They count once, under the first split. Default: none."""
        return frozenset()

    @abstractmethod
    def plan(self, study: Study, gives: Capability) -> Iterable[RunPlan]:
        """Plan the runs of a study for a model of that capability. Missing data are made.

        A study with `run_options` has a single plan without a name. Its model is not opened before, so `gives` is what a
        white box gives, and the measurer refuses what the model does not give.
        """

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Return what can be done with the instrument beside ``run``, by name. Default: ``score``."""
        return {"score": Verb(ScoreRun, self._score_run)}

    def _score_run(self, options: ScoreRun, messages: Messages) -> Outcome:
        """Score a run from its stored answers. No model is called."""
        with Run.open(options.run, writable=True) as run:
            tables = self.tables(run)
            run.write_tables(tables)
            values = {"run": str(options.run), "instrument": self.name, "model": run.info.model}
        messages.note(f"scored {options.run}")
        return Outcome(tables, values)

    @abstractmethod
    def score(self, run: Run) -> list[ItemScore]:
        """Compute every metric of every item of a run. No model is called."""

    def tables(self, run: Run) -> list[Table]:
        """Build the main tables of a run. Default: one row for each metric and split."""
        return [metric_table(self, self.score(run))]

    def compare(self, folders: Sequence[Path]) -> list[Table]:
        """Build the tables that compare runs of several models on the same items. Default: the headline metrics."""
        return differences_of_runs(self, folders)

    def pairs(self, run: Run) -> Iterable[AnsweredPair]:
        """Return the answers before and after edits. Default: of all items that name an edit and the item before it."""
        return answered_pairs(run)

    def implied(self, run: Run) -> Iterable[Result]:
        """Return items that needed no request, since another item of the run makes the same one. Default: none."""
        return ()

    def judge(self, run: Run) -> tuple[Standing, str] | None:
        """Judge a run that has no relevant pair by other means, with the reason. Default: not."""
        return None

    def view(self, run: Run) -> View:
        """Return a function that gives further fields of an item's row, or None to leave it out. Default: none."""
        return lambda _: {}

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Evaluate the signatures on the runs of one model. Default: none."""
        return []

    def shown(self, item: Item) -> Item:
        """Return the item as the model sees it, for runs that store the name of an edit instead of the edited picture."""
        return item

    def export(self, source: Path, out: Path, *, to: str) -> dict[str, int]:
        """Write a run or a data set in one of the `formats`. Return the number of rows by file."""
        raise UsageError(f"{self.name} does not write {to}: {source}, {out}")

    def references(self) -> Iterable[Reference]:
        """Return numbers that papers report."""
        return ()

    def describe(self, study: Study) -> str:
        """Describe the items of a study in words."""
        return study.data.words if study.data else "built-in data"

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """Return the user data at a path if this instrument can read it, else None."""
        return None

    def unused(self, study: Study) -> Mapping[str, int]:
        """Count the items of user data that a study does not use, by reason. Default: none."""
        return {}

    def size_for(self, pairs: int) -> int:
        """Return the size of a study, as a number of items, that gives about the given number of relevant pairs. Default: the same."""
        return pairs

    def recorded_models(self, data: UserData) -> list[RecordedModel]:
        """Return the models whose answers are part of user data."""
        return []


def score_runs(instrument: Instrument, folders: Sequence[Path]) -> list[ItemScore]:
    """Score several runs of one model."""
    scores: list[ItemScore] = []
    for folder in folders:
        with Run.open(folder) as run:
            scores += instrument.score(run)
    if not instrument.shared_metrics:
        return scores
    first, *others = SPLITS
    once = {score.metric for score in scores if score.split == first} & instrument.shared_metrics
    return [score for score in scores if not (score.metric in once and score.split in others)]


def pairs_of_runs(instrument: Instrument, folders: Sequence[Path]) -> list[AnsweredPair]:
    """Return the pairs of several runs of one model, with the requests that were made again."""
    pairs: list[AnsweredPair] = []
    for folder in folders:
        with Run.open(folder) as run:
            pairs += (*instrument.pairs(run), *repeated_pairs(run))
    return pairs


_DIFFERENCES_NOTE = (
    "Paired by item; p by flipping the signs of whole clusters, corrected by Holm over all metrics, as `theodolite compare` "
    "does, which shows the others."
)


def differences_of_runs(instrument: Instrument, folders: Iterable[Path]) -> list[Table]:
    """Compare several models on the headline metrics, or on all if the instrument names none. Empty for one model."""
    from theodolite.stats import Scores  # takes a second to import

    by_model: dict[str, list[Path]] = {}
    for folder in folders:
        info = read_info(folder)
        if info.instrument in instrument.run_kinds:
            by_model.setdefault(info.model, []).append(folder)
    if len(by_model) < 2:
        return []
    scores = Scores(
        {model: score_runs(instrument, own) for model, own in by_model.items()}, instrument.metrics
    )
    chosen = {entry.key for entry in headlines(instrument.name)}
    columns = [
        Column("first", "model"),
        Column("second", "minus"),
        Column("metric", "metric"),
        Column("split", "split"),
        Column("difference", "difference", "number", signed=True),
        Column("n", "items of both", "count"),
        Column("p_holm", "p (Holm)", "p"),
    ]
    rows = [
        [
            *(difference.first, difference.second, difference.metric.name, difference.split),
            *(difference.estimate or difference.why_not, difference.n_items, difference.p_holm),
        ]
        for difference in scores.difference()
        if not chosen or difference.metric.kind in chosen
    ]
    return [Table.of(f"{instrument.name}.differences", "Differences", columns, rows, [_DIFFERENCES_NOTE])]


def metric_table(instrument: Instrument, scores: Sequence[ItemScore], *, title: str = "") -> Table:
    """Build a table with the mean of every metric on every split."""
    from theodolite.stats import score_mean  # takes a second to import

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
    """Return all registered instruments, in the order of registration."""
    return tuple(_load(entry.name) for entry in registry().entries("instrument"))


def find_instruments(names: Iterable[str]) -> tuple[Instrument, ...]:
    """Return instruments by name, in their registered order.

    Raises:
        UsageError: If a name is unknown, or if there is none.

    >>> [each.name for each in find_instruments(["trace", "grid"])]
    ['grid', 'trace']
    """
    asked = list(names)
    known = [entry.name for entry in registry().entries("instrument")]
    unknown = [name for name in asked if name not in known]
    if unknown or not asked:
        raise UsageError(
            f"the instruments are {', '.join(known)}; got {', '.join(map(repr, unknown)) or 'none'}"
        )
    return tuple(_load(name) for name in known if name in asked)


def instrument_of_run(kind: str) -> Instrument | None:
    """Return the instrument that scores runs of a kind, or None."""
    return next((instrument for instrument in instruments() if kind in instrument.run_kinds), None)


def _load(name: str) -> Instrument:
    entry = registry().entry("instrument", name)
    found = entry.load()
    if not isinstance(found, Instrument):
        raise ContractError(f"the instrument {name!r} of {entry.origin} is not an Instrument: {entry.target}")
    if found.name != name:
        raise ContractError(f"the instrument {name!r} of {entry.origin} calls itself {found.name!r}")
    return found


def made(folder: Path, make: Callable[[Path], object]) -> Path:
    """Make a data set if its folder does not exist, and return the folder. Interrupted data sets are made again.

    Raises:
        StorageError: If the data cannot be written.
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


# Inspect user files to find out their format.


def first_keys(path: Path) -> set[str]:
    """Return the keys of the first object in a JSONL file. Empty if there is none."""
    try:
        _, line = next(lines_of(path), ("", b""))
        value = parse_json(line)
    except (UsageError, ValueError):
        return set()
    return set(value) if isinstance(value, dict) else set()


def has_file(folder: Path, name: str) -> bool:
    """Return True if a folder has a file of that name that is not empty."""
    path = folder / name
    return path.is_file() and path.stat().st_size > 0
