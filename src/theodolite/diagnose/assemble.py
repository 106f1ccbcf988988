"""Build the document of a diagnosis from scores. Pure: no model is called, no run is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from theodolite.core.scores import ItemScore, Metric
from theodolite.core.signatures import Signature
from theodolite.core.splits import ALIGNED
from theodolite.diagnose.comparing import compare_all
from theodolite.diagnose.pairs_table import looking_form, pair_forms
from theodolite.diagnose.position import Calibration, Twins
from theodolite.diagnose.record import (
    Comparison,
    Counts,
    Diagnosis,
    Figure,
    InstrumentForm,
    InstrumentOfModel,
    LeftOut,
    MetricForm,
    ModelForm,
    OpenQuestion,
    ReferenceForm,
    SignatureForm,
    Standing,
    Status,
    TestResult,
    Verdict,
)
from theodolite.diagnose.sample_size import open_comparison, open_position
from theodolite.diagnose.table import Column, ScoreTable
from theodolite.diagnose.verdict import (
    Placed,
    instrument_verdict,
    is_outside,
    metric_results,
    model_verdict,
    place_model,
    place_of,
    why_guessing,
    why_lost,
)
from theodolite.instruments.instrument import Instrument, Reference
from theodolite.pairs import AnsweredPair

CAVEATS = (
    "Signatures name behaviour, not its cause. They do not prove a mechanism.",
    "A position lies between two small models of known reasoning, on the same drawn pictures. It says nothing about photographs.",
    "The thresholds at ¼, ½ and ¾, at five points and at one tenth are conventions of this program.",
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
    signatures: tuple[Signature, ...] = ()
    pairs: tuple[AnsweredPair, ...] = ()
    chance: float | None = None
    """The accuracy of a random choice on the aligned split. None if there are no options to choose from."""


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

    form: InstrumentForm
    signatures: list[SignatureForm]
    open_questions: list[OpenQuestion]
    comparisons: list[Comparison]


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
    placing = [
        each.form for each, instrument in zip(parts, instruments, strict=True) if not instrument.needs_data
    ]
    return Diagnosis(
        theodolite=question.version,
        created=datetime.now(UTC),
        seed=question.seed,
        size=question.size,
        data=dict(question.data),
        models=[_model(subject, placing, measured) for subject in subjects],
        metrics=[_metric(metric, each.name) for each in instruments for metric in each.metrics],
        instruments=[each.form for each in parts],
        signatures=[signature for each in parts for signature in each.signatures],
        open_questions=[found for each in parts for found in each.open_questions],
        comparisons=[found for each in parts for found in each.comparisons],
        references=[ReferenceForm(**asdict(each)) for each in question.references],
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
    models = [each.model for each in measured]
    own = {each.model: each.scores for each in measured if each.scores}
    table = ScoreTable.of({**{twin: calibration.get(twin, ()) for twin in twins}, **own}, instrument.metrics)
    results, calibrations = metric_results(table, instrument.metrics, models, twins=twins, seed=seed)
    placed = {each.model: _placed(each, table, calibrations, question) for each in measured}
    chosen = [c for c in sorted(table.columns) if calibrations[c].is_calibrated or c[0].endswith(".right")]
    comparisons = compare_all(table, list(own), columns=chosen, seed=seed)
    form = InstrumentForm(
        name=instrument.name,
        question=instrument.question,
        models=[_view(each, placed[each.model]) for each in measured],
        metrics=results,
    )
    return _InstrumentPart(
        form,
        [_signature(found, each) for each in measured for found in each.signatures],
        _open(placed, comparisons, instrument.name),
        comparisons,
    )


def _placed(
    measured: Measured, table: ScoreTable, calibrations: Mapping[Column, Calibration], question: Question
) -> Placed:
    why = why_lost(measured.counts)
    if why or not measured.scores:
        return Placed(measured.model, None, (), why)
    placed = place_model(table, measured.model, calibrations, twins=question.twins, seed=question.seed)
    right = table.mean(measured.model, (f"{measured.instrument}.right", ALIGNED))
    why = why_guessing(right, measured.chance)
    return replace(placed, why_not=why) if why and placed.position else placed


def _open(placed: Mapping[str, Placed], comparisons: Sequence[Comparison], name: str) -> list[OpenQuestion]:
    found = [open_position(each, name) for each in placed.values()]
    found += [open_comparison(each) for each in comparisons]
    return [each for each in found if each is not None]


def _signature(found: Signature, each: Measured) -> SignatureForm:
    return SignatureForm(
        name=found.name,
        instrument=each.instrument,
        model=each.model,
        standing=found.standing,
        because=found.because,
        numbers={label: Figure.of(estimate) for label, estimate in found.numbers.items()},
        test=None if found.test is None else TestResult.of(found.test, found.name),
        confirming_test=found.kind.confirming_test,
        remedy=found.kind.remedy,
        remedy_source=found.kind.source,
    )


def _view(measured: Measured, placed: Placed) -> InstrumentOfModel:
    where = placed.position
    if measured.scores:
        verdict = instrument_verdict(placed)
    else:
        words = measured.because or "no answer could be read"
        verdict = Verdict(standing="no verdict", sentence=f"Not measured: {words.rstrip('.')}.")
    return InstrumentOfModel(
        model=measured.model,
        status=measured.status,
        because=measured.because,
        counts=measured.counts,
        position=Figure.of(where) if where else None,
        place=place_of(where) if where else None,
        is_outside=is_outside(where) if where else False,
        verdict=verdict,
        rests_on=[f"{key}@{split}" for key, split in placed.rests_on],
        pairs=pair_forms(measured.pairs),
        looking=looking_form(measured.pairs, measured.chance),
        runs=list(measured.runs),
        seconds=measured.seconds,
    )


def _model(subject: Subject, placing: Sequence[InstrumentForm], measured: Sequence[Measured]) -> ModelForm:
    """Describe one model. Its verdict rests on the instruments that place models between the twins."""
    standings: dict[str, Standing] = {
        form.name: view.verdict.standing
        for form in placing
        for view in form.models
        if view.model == subject.name
    }
    own = [each for each in measured if each.model == subject.name]
    return ModelForm(
        name=subject.name,
        identity=subject.identity,
        is_twin=subject.is_twin,
        is_recorded=subject.is_recorded,
        capabilities=list(subject.capabilities),
        left_out=list(subject.left_out),
        verdict=model_verdict(standings),
        calls=sum(
            each.counts.planned - each.counts.pending - each.counts.failed for each in own if each.counts
        ),
        seconds=sum(each.seconds for each in own),
    )


def _metric(metric: Metric, instrument: str) -> MetricForm:
    return MetricForm(
        key=metric.key,
        name=metric.name,
        instrument=instrument,
        higher_is_grounded=metric.higher_is_grounded,
        origin=metric.origin,
        needs=metric.needs,
    )


def _cautions(measured: Sequence[Measured]) -> list[str]:
    """Return caveats about instruments that lost more than a tenth of their answers."""
    found = []
    for each in measured:
        if each.counts is None or not each.counts.planned:
            continue
        asked = each.counts.planned
        for count, word in (
            (each.counts.failed, "failed"),
            (each.counts.refused, "were refused"),
            (each.counts.cut_off, "were cut off"),
            (each.counts.ambiguous, "were ambiguous"),
            (each.counts.none_of_these, "chose none of the options"),
            (each.counts.unreadable, "could not be read"),
            (each.counts.pending, "were not asked"),
        ):
            if count > asked / 10:
                found.append(
                    f"{each.instrument}, {each.model}: {count} of {asked} answers {word}; the numbers rest on the others."
                )
    return found
