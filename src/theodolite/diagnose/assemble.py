"""Build the document of a diagnosis from scores. No model is called, no run is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from theodolite.core.scores import ItemScore, Metric, Signature
from theodolite.core.views import ItemRow
from theodolite.diagnose.compare import compare_models
from theodolite.diagnose.pair_verdicts import (
    by_source,
    instrument_verdict,
    label_of,
    looking_result,
    model_verdict,
    open_comparison,
    open_looking,
)
from theodolite.diagnose.record import (
    Comparison,
    Counts,
    Diagnosis,
    InstrumentOfModel,
    InstrumentResult,
    LeftOut,
    LookingResult,
    MetricEntry,
    ModelResult,
    OpenQuestion,
    SignatureResult,
    Source,
    Status,
    TestResult,
)
from theodolite.diagnose.separation import ScoreColumn, Twins, metric_results
from theodolite.instruments.instrument import Instrument, Reference
from theodolite.pairs import AnsweredPair, Standing
from theodolite.stats import Scores

CAVEATS = (
    "Signatures name behaviour, not its cause. They do not prove a mechanism.",
    "A verdict holds for the pictures and questions it was measured on. On drawn pictures it says little about photographs.",
    "The means of the twins are for orientation: these metrics depend on the architecture, so they cannot rank models.",
    "The thresholds of three quarters and one tenth are conventions of this program.",
    "A remedy is a hypothesis of the papers. None of them has shown that it helps.",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The scores of one model on one instrument."""

    model: str
    instrument: str
    status: Status
    because: str = ""
    counts: Counts | None = None
    runs: tuple[str, ...] = ()
    seconds: float = 0.0
    scores: tuple[ItemScore, ...] = ()
    unscored: Mapping[ScoreColumn, str] = field(default_factory=dict)
    """The metrics on splits without any score, each with the reason."""
    signatures: tuple[Signature, ...] = ()
    pairs: tuple[AnsweredPair, ...] = ()
    rows: tuple[ItemRow, ...] = ()
    judged: tuple[Standing, str] | None = None
    """A verdict by other means, with its reason, if there is no relevant pair."""
    unused: Mapping[str, int] = field(default_factory=dict)
    """What of the user's own data was not used, by reason."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model that is diagnosed."""

    name: str
    identity: str
    capabilities: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    is_twin: bool = False
    is_recorded: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What was requested."""

    seed: int
    size: str
    data: Mapping[str, str]
    version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    twins: Twins = field(default_factory=Twins)


@dataclass(frozen=True, slots=True)
class _InstrumentPart:
    """The part of the document about one instrument."""

    form: InstrumentResult
    signatures: list[SignatureResult]
    open_questions: list[OpenQuestion]


def assemble(
    question: Question,
    subjects: Sequence[Subject],
    instruments: Sequence[Instrument],
    measured: Sequence[Measured],
    calibration: Mapping[str, Mapping[str, Sequence[ItemScore]]],
) -> Diagnosis:
    """Build the document.

    Args:
        question: What was requested.
        subjects: The models, in order.
        instruments: The instruments, in order.
        measured: The scores, one entry for each model and instrument.
        calibration: By instrument and twin, the item scores of the twins on the same items.
    """
    parts = [
        _instrument(
            instrument,
            [each for each in measured if each.instrument == instrument.name],
            calibration.get(instrument.name, {}),
            question,
        )
        for instrument in instruments
    ]
    comparisons = _comparisons([part.form for part in parts], instruments, measured, question.seed)
    return Diagnosis(
        theodolite=question.version,
        created=datetime.now(UTC),
        seed=question.seed,
        size=question.size,
        data=dict(question.data),
        models=[_model(subject, [each.form for each in parts], measured) for subject in subjects],
        metrics=[_metric(metric, each.name) for each in instruments for metric in each.metrics],
        instruments=[each.form for each in parts],
        signatures=[signature for each in parts for signature in each.signatures],
        open_questions=[
            open_question for each in parts for open_question in _open_questions(each, comparisons)
        ],
        comparisons=comparisons,
        references=list(question.references),
        caveats=[*CAVEATS, *_cautions(measured)],
        settings=dict(question.settings),
    )


def _instrument(
    instrument: Instrument,
    measured: Sequence[Measured],
    calibration: Mapping[str, Sequence[ItemScore]],
    question: Question,
) -> _InstrumentPart:
    twins, seed = question.twins, question.seed
    models = [result.model for result in measured]
    own = {result.model: result.scores for result in measured if result.scores}
    scores = Scores({**{twin: calibration.get(twin, ()) for twin in twins}, **own}, instrument.metrics)
    unscored = {result.model: result.unscored for result in measured}
    results = metric_results(scores, instrument.metrics, models, unscored, twins=twins, seed=seed)
    views, open_questions = [], []
    for result in measured:
        view, questions = _view(instrument, result, seed)
        views.append(view)
        open_questions += questions
    form = InstrumentResult(
        name=instrument.name,
        question=instrument.question,
        has_own_data_only=instrument.needs_data,
        models=views,
        metrics=results,
    )
    return _InstrumentPart(
        form,
        [_signature(signature, result) for result in measured for signature in result.signatures],
        open_questions,
    )


def _open_questions(part: _InstrumentPart, comparisons: Sequence[Comparison]) -> Iterator[OpenQuestion]:
    yield from part.open_questions
    own = (comparison for comparison in comparisons if comparison.instrument == part.form.name)
    yield from filter(None, map(open_comparison, own))


def _comparisons(
    forms: Sequence[InstrumentResult],
    instruments: Sequence[Instrument],
    measured: Sequence[Measured],
    seed: int,
) -> list[Comparison]:
    """Compare every two models on the metrics that separate the twins, and on right answers: one family of tests."""
    scores: dict[str, list[ItemScore]] = {}
    for each in measured:
        scores.setdefault(each.model, []).extend(each.scores)
    shown = [
        (each.key, each.split)
        for form in forms
        for each in form.metrics
        if each.separates or each.key.endswith(".right")
    ]
    metrics = [metric for instrument in instruments for metric in instrument.metrics]
    return compare_models(Scores(scores, metrics), keys=shown, seed=seed)


def _signature(signature: Signature, measured: Measured) -> SignatureResult:
    return SignatureResult(
        name=signature.name,
        instrument=measured.instrument,
        model=measured.model,
        standing=signature.standing,
        because=signature.because,
        numbers=dict(signature.numbers),
        test=None if signature.test is None else TestResult.of(signature.test, signature.name),
        confirming_test=signature.kind.confirming_test,
        remedy=signature.kind.remedy,
        remedy_source=signature.kind.source,
    )


def _view(
    instrument: Instrument, measured: Measured, seed: int
) -> tuple[InstrumentOfModel, list[OpenQuestion]]:
    """Return the results of one instrument on one model, and the questions about verdicts that are still open."""
    rows = {row.id: row for row in measured.rows}
    lookings: list[LookingResult] = []
    open_questions = []
    for source, pairs in by_source(measured.pairs):
        looking = looking_result(source, pairs, rows=rows, seed=seed)
        lookings.append(looking)
        unsettled = open_looking(instrument, measured.model, looking)
        open_questions += [unsettled] if unsettled else []
    why_not = measured.because or "no answer was given before and after an edit that changes the right answer"
    view = InstrumentOfModel(
        model=measured.model,
        status=measured.status,
        because=measured.because,
        counts=measured.counts,
        verdict=instrument_verdict(lookings, measured.judged, why_not),
        looking=lookings,
        unused=dict(measured.unused),
        runs=list(measured.runs),
        seconds=measured.seconds,
    )
    return view, open_questions


def _model(subject: Subject, forms: Sequence[InstrumentResult], measured: Sequence[Measured]) -> ModelResult:
    """Describe one model. Its verdict rests on the pairs of all instruments, the user's own data first."""
    views = [(form, view) for form in forms for view in form.models if view.model == subject.name]
    verdicts: list[tuple[bool, str, Standing]] = []
    for form, view in views:
        verdicts += [
            (
                each.source == "own",
                label_of(form.name, each.source, is_natural=each.is_natural),
                each.standing,
            )
            for each in view.looking
        ]
        if not view.looking:
            source: Source = "own" if form.has_own_data_only else "drawn"
            verdicts.append((form.has_own_data_only, label_of(form.name, source), view.verdict.standing))
    verdicts.sort(key=lambda each: not each[0])
    standings = {label: standing for _, label, standing in verdicts}
    own = [each for each in measured if each.model == subject.name]
    return ModelResult(
        name=subject.name,
        identity=subject.identity,
        is_twin=subject.is_twin,
        is_recorded=subject.is_recorded,
        capabilities=list(subject.capabilities),
        left_out=list(subject.left_out),
        verdict=model_verdict(
            standings,
            own=[label for is_own, label, _ in verdicts if is_own],
        ),
        calls=sum(
            each.counts.planned - each.counts.pending - each.counts.failed + each.counts.repeated
            for each in own
            if each.counts
        ),
        seconds=sum(each.seconds for each in own),
    )


def _metric(metric: Metric, instrument: str) -> MetricEntry:
    return MetricEntry(
        key=metric.key,
        name=metric.name,
        instrument=instrument,
        higher_is_grounded=metric.higher_is_grounded,
        origin=metric.origin,
        needs=metric.needs,
    )


def _cautions(measured: Sequence[Measured]) -> list[str]:
    """Return caveats about instruments that lost more than a tenth of their answers."""
    cautions = []
    for result in measured:
        if result.counts is None or not result.counts.planned:
            continue
        asked = result.counts.planned
        for count, word in (
            (result.counts.failed, "failed"),
            (result.counts.refused, "were refused"),
            (result.counts.cut_off, "were cut off"),
            (result.counts.ambiguous, "were ambiguous"),
            (result.counts.none_of_these, "chose none of the options"),
            (result.counts.unreadable, "could not be read"),
            (result.counts.pending, "were not asked"),
        ):
            if count > asked / 10:
                cautions.append(
                    f"{result.instrument}, {result.model}: {count} of {asked} answers {word}; the numbers rest on the others."
                )
    return cautions
