"""Check that an instrument fulfils its contract."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from theodolite.core.errors import TheodoliteError, UsageError
from theodolite.core.scores import CAPABILITIES, Capability, ItemScore, Metric, Signature, covers
from theodolite.core.tables import Table
from theodolite.core.types import Item, Picture, Request, Response, canonical_json
from theodolite.core.views import ItemRow
from theodolite.instruments.instrument import (
    Instrument,
    RunPlan,
    Study,
    UserData,
    find_instruments,
    item_rows,
    score_runs,
)
from theodolite.models import VisionLanguageModel, open_model
from theodolite.models.scripted import ScriptedModel, ScriptedOptions, guesser, rambler, refuser
from theodolite.pairs import AnsweredPair
from theodolite.runs import Run, RunSettings, describe, measure_run
from theodolite.testing.findings import Findings, Remark, examine, not_a
from theodolite.testing.tiny import tiny_checkpoint

_SIZE = 4
_FEW = 2
"""Items of each run that a checkpoint is asked: with gradients, one item can take a minute."""


def check_instrument(instrument: str | Instrument, data: str | Path | None = None) -> Findings:
    """Check an instrument against its contract, with few items, on models that answer, ramble, refuse and fail.

    Args:
        instrument: The instrument, or its name.
        data: A small data set, for an instrument without data of its own.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.
        UsageError: If it needs data and none are given.
    """
    tested = find_instruments([instrument])[0] if isinstance(instrument, str) else instrument
    if not isinstance(tested, Instrument):
        raise not_a("instrument", tested, "it is not a theodolite.instruments.instrument.Instrument")
    own = tested.find_data(Path(data), None) if data is not None else None
    if own is None and (tested.needs_data or data is not None):
        takes = tested.takes or "it takes none"
        raise UsageError(f"{tested.name} needs data that it can read, with --data: {takes}")
    with tempfile.TemporaryDirectory() as folder:
        return examine("instrument", tested.name, _Trial(tested, Path(folder), own, []), _CHECKS)


@dataclass(frozen=True, slots=True)
class _Measured:
    """The runs of one model, with their scores."""

    title: str
    gives: Capability
    folders: list[Path]
    scores: list[ItemScore]


@dataclass(frozen=True, slots=True)
class _Trial:
    """An instrument, its data, and a folder for its runs."""

    instrument: Instrument
    folder: Path
    data: UserData | None
    measured: list[_Measured]

    def plans(self, gives: Capability, place: str = "data") -> list[RunPlan]:
        """Return the plans of a small study, with its data in a folder of that name."""
        return list(self.instrument.plan(Study(self.folder / place, _SIZE, 0, data=self.data), gives))

    def runs(self) -> list[_Measured]:
        """Return the runs of all models. They are measured once."""
        if not self.measured:
            models: list[tuple[VisionLanguageModel, Capability, str]] = [
                (_ANSWERING, "choices", "a model that answers"),
                (ScriptedModel("scripted:mixed", _mixed), "text", "a model that rambles, refuses and fails"),
            ]
            if any(metric.needs == "gradients" for metric in self.instrument.metrics):
                white = open_model(f"hf:{tiny_checkpoint(self.folder / 'checkpoint')}")
                models.append((white, "gradients", "a tiny checkpoint"))
            for model, gives, title in models:
                folders = self.measure(model, gives, limit=_FEW if gives == "gradients" else None)
                self.measured.append(_Measured(title, gives, folders, score_runs(self.instrument, folders)))
        return self.measured

    def measure(
        self, model: VisionLanguageModel, gives: Capability, *, place: str = "data", limit: int | None = None
    ) -> list[Path]:
        """Measure the runs of a model into a new folder."""
        folder, folders = Path(tempfile.mkdtemp(dir=self.folder)), []
        for plan in self.plans(gives, place):
            settings = RunSettings(plan.kind, model.name, 0, plan.settings)
            measure_run(folder / plan.name, settings, plan.items, plan.measurer(model), limit=limit)
            folders.append(folder / plan.name)
        return folders


def _answering(request: Request, options: ScriptedOptions) -> str:
    """Answer with a number, yes or no, or one of the options, whichever is asked for."""
    text, draw = request.text.casefold(), int(request.digest[:8], 16)
    if "how many" in text or "number" in text:
        return str(draw % 5)
    return ("yes", "no")[draw % 2] if "yes or no" in text else guesser(request, options)


def _mixed(request: Request, options: ScriptedOptions) -> str | Response:
    """Answer one request in four; ramble, refuse or fail on the others."""
    behaviours = (_answering, rambler, refuser, _failing)
    return behaviours[int(request.digest[:8], 16) % len(behaviours)](request, options)


def _failing(_: Request, __: ScriptedOptions) -> Response:
    return Response.failed("this model fails on purpose")


_ANSWERING = ScriptedModel("scripted:answering", _answering)


def _is_described(trial: _Trial) -> Iterator[str]:
    instrument = trial.instrument
    if not instrument.question.strip().endswith("?"):
        yield f"its question is {instrument.question!r}, which does not end with a question mark"
    if not instrument.run_kinds or instrument.run_kinds[0] != instrument.name:
        yield f"run_kinds is {instrument.run_kinds}; its own name, {instrument.name!r}, comes first"
    metrics = instrument.metrics
    if not metrics or not all(isinstance(metric, Metric) for metric in metrics):
        yield "metrics is empty, or has something else than a Metric"
        return
    counts = Counter(metric.key for metric in metrics)
    yield from (f"the metric {key} is there {n} times" for key, n in counts.items() if n > 1)
    for metric in metrics:
        if metric.instrument != instrument.name:
            yield f"the key of the metric {metric.key} does not begin with {instrument.name!r} and a dot"
        if metric.bounds is not None and not metric.bounds[0] < metric.bounds[1]:
            yield f"the bounds of {metric.key} are {metric.bounds}"


def _plans_runs(trial: _Trial) -> Iterator[str]:
    for gives in CAPABILITIES:
        plans = trial.plans(gives)
        if not plans and any(covers(gives, metric.needs) for metric in trial.instrument.metrics):
            yield f"there is no run for a model that gives {gives}, though a metric needs no more"
        counts = Counter(plan.name for plan in plans)
        yield from (f"{n} runs of one plan are called {name!r}" for name, n in counts.items() if n > 1)
        for plan in plans:
            if plan.kind not in trial.instrument.run_kinds:
                yield f"the run {plan.name!r} is of the kind {plan.kind!r}, which run_kinds does not name"
            if not callable(plan.factory("scripted:guesser")):
                yield f"factory(NAME) of {plan.name!r} is not a function that opens the measurer"
            try:
                canonical_json(dict(plan.settings))
            except (TypeError, ValueError) as error:
                yield f"the settings of {plan.name!r} cannot be written as JSON: {error}"


def _plans_the_same_items_again(trial: _Trial) -> Iterator[str]:
    first, second = (
        [_items(folder) for folder in trial.measure(_ANSWERING, "choices", place=place, limit=1)]
        for place in ("data", "again")
    )
    if not any(first):
        yield "its plan has no items"
    if [[item.id for item in items] for items in first] != [[item.id for item in items] for items in second]:
        yield "the same study and seed give other items the second time"
    for items in first:
        counts = Counter(item.name for item in items)
        yield from (f"{n} items of one run are called {name!r}" for name, n in counts.items() if n > 1)


def _items(folder: Path) -> list[Item]:
    with Run.open(folder) as run:
        return [result.item for result in run.results()]


def _scores_every_item(trial: _Trial) -> Iterator[str]:
    known = {metric.key: metric for metric in trial.instrument.metrics}
    for run in trial.runs():
        given: Sequence[object] = run.scores
        wrong = {type(score).__name__ for score in given if not isinstance(score, ItemScore)}
        if wrong:
            yield f"of {run.title}, it gives {', '.join(sorted(wrong))}; scores are of the type ItemScore"
            continue
        if not run.scores:
            yield f"{run.title} gets no item score, not even one without a value and with a reason"
        yield from (f"of {run.title}, {fault}" for fault in dict.fromkeys(_score_faults(run.scores, known)))
        if score_runs(trial.instrument, run.folders) != run.scores:
            yield f"the scores of {run.title} are others the second time"


def _score_faults(scores: Sequence[ItemScore], known: dict[str, Metric]) -> Iterator[str]:
    rows = Counter((score.item, score.metric, score.split, score.group) for score in scores)
    yield from (f"{row[0]} has {n} scores of {row[1]}" for row, n in rows.items() if n > 1)
    for score in scores:
        if score.metric not in known:
            yield f"there is a score of {score.metric}, which is none of its metrics"
            continue
        bounds = known[score.metric].bounds
        if score.value is not None and bounds and not bounds[0] <= score.value <= bounds[1]:
            yield f"{score.metric} is {score.value:g} for {score.item}, which is outside {bounds}"
        if not score.cluster:
            yield f"the score of {score.metric} for {score.item} names no cluster"


def _drops_no_item_silently(trial: _Trial) -> Iterator[str]:
    """Yield a fault if an item with scores when answered has none, with a reason, when not answered."""
    texts = {metric.key for metric in trial.instrument.metrics if metric.needs == "text"}
    answered, mixed = (
        {(score.metric, score.item) for score in run.scores if score.metric in texts}
        for run in trial.runs()[:2]
    )
    lost = {item for _, item in answered} - {item for _, item in mixed}
    if lost:
        yield f"{len(lost)} unanswered items have no score, not even one without a value and with a reason"
    missing = Counter(metric for metric, item in answered - mixed if item not in lost)
    for metric, n in sorted(missing.items()):
        yield Remark(
            f"{n} unanswered items have no score of {metric}, which they have when answered; give it a reason, "
            "unless it does not apply to them"
        )


def _shows_tables_rows_and_pairs(trial: _Trial) -> Iterator[str]:
    instrument = trial.instrument
    for measured in trial.runs():
        for folder in measured.folders:
            with Run.open(folder) as run:
                rows = partial(item_rows, instrument, run, _place, measured.scores)
                for kind, give in (
                    (Table, partial(instrument.tables, run)),
                    (ItemRow, rows),
                    (AnsweredPair, partial(instrument.pairs, run)),
                ):
                    for fault in _given_faults(kind, give):
                        yield f"{give.func.__name__} of {measured.title} {fault}"


def _given_faults(kind: type, give: Callable[[], Iterable[object]]) -> Iterator[str]:
    try:
        given = list(give())
    except Exception as error:  # noqa: BLE001 - any exception is reported
        yield f"raised {describe(error)}"
        return
    if any(not isinstance(value, kind) for value in given):
        yield f"has something else than {kind.__name__}"


def _place(picture: Picture) -> str:
    return picture.digest


def _judges_signatures(trial: _Trial) -> Iterator[str]:
    for run in trial.runs():
        scored = [score for score in run.scores if score.is_scored]
        for signature in trial.instrument.signatures(run.folders, scored, seed=0) if scored else ():
            if not isinstance(signature, Signature):
                yield f"of {run.title}, there is a {type(signature).__name__}, not a Signature"


def _leaves_foreign_data_to_others(trial: _Trial) -> Iterator[str]:
    folder = trial.folder / "foreign"
    folder.mkdir()
    (folder / "notes.json").write_text('{"unknown": [1, 2]}', encoding="utf-8")
    for path in (folder, folder / "notes.json", folder / "missing"):
        try:
            data = trial.instrument.find_data(path, None)
        except TheodoliteError:
            continue
        if data is not None:
            yield f"find_data takes {path.name!r}, which it cannot read"


_CHECKS: tuple[Callable[[_Trial], Iterator[str]], ...] = (
    _is_described,
    _plans_runs,
    _plans_the_same_items_again,
    _scores_every_item,
    _drops_no_item_silently,
    _shows_tables_rows_and_pairs,
    _judges_signatures,
    _leaves_foreign_data_to_others,
)
