"""``diagnosis.json``: the results of a diagnosis with their intervals, as one validated document.

Every list that differs by model has the name of the model in its entries. A number that could not be computed is None,
with a reason next to it, never NaN.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, PlainSerializer, field_serializer
from pydantic.dataclasses import dataclass

from theodolite.core.errors import UsageError
from theodolite.core.files import check, read_json
from theodolite.core.scores import Capability, Origin, SignatureStanding
from theodolite.core.tables import Estimate, HypothesisTest, short_name, short_names, upper_first
from theodolite.core.types import fields_of
from theodolite.core.views import Stored
from theodolite.instruments.instrument import Reference
from theodolite.pairs import Looking, Outcome, Reading, Standing
from theodolite.pairs.outcomes import SHARES
from theodolite.runs import write_atomically

__all__ = [
    "short_name",
    "short_names",
    "with_short_names",
]


SCHEMA_VERSION = 4
"""Version of ``diagnosis.json`` and ``items.jsonl``. Newer versions are not read."""
DIAGNOSIS_FILE = "diagnosis.json"

Status: TypeAlias = Literal["measured", "partly measured", "left out", "failed"]
"""*partly measured*: some metrics could not be computed; *left out*: the model or the settings did not allow it;
*failed*: it was measured, but gave no score."""
Source: TypeAlias = Literal["own", "drawn"]
"""The user's own data, or the pictures that the instrument makes."""


def _without_p(estimate: Estimate) -> dict[str, Any]:
    """Drop the p-value: a diagnosis states p-values only in its tests."""
    fields = asdict(estimate)
    del fields["p_value"]
    return fields


Interval: TypeAlias = Annotated[Estimate, PlainSerializer(_without_p)]
"""A number with its interval; `n` counts clusters: pictures, scenes or episodes."""


class TestResult(Stored):
    """A significance test."""

    __test__ = False  # not a test for pytest

    name: str
    """What was tested, in words."""
    statistic: float
    p_value: float = Field(ge=0, le=1)
    n: int
    method: str

    @classmethod
    def of(cls, test: HypothesisTest, name: str) -> TestResult:
        """Convert a test."""
        return cls(name=name, statistic=test.statistic, p_value=test.p_value, n=test.n, method=test.method)


class MetricEntry(Stored):
    """A metric. Its formula is in the definitions, under the same key."""

    key: str
    """``<instrument>.<name>``."""
    name: str
    instrument: str
    higher_is_grounded: bool
    origin: Origin
    needs: Capability


class LeftOut(Stored):
    """Something that was not measured, and why."""

    instrument: str
    what: str
    why: str
    remedy: str = ""
    """What would make it possible. Empty if nothing would."""


class Verdict(Stored):
    """The verdict on a model, over all instruments or by one of them."""

    standing: Standing
    sentence: str
    """The verdict in words, with the numbers it rests on."""


class ModelResult(Stored):
    """One model that was diagnosed."""

    name: str
    """The name as given, such as ``hf:Qwen/Qwen3-VL-2B`` or ``pocket:grounded``."""
    identity: str
    """Distinguishes models of the same name, such as by a hash of the weights."""
    is_twin: bool = False
    """True if it is one of the two twins, models of known reasoning."""
    is_recorded: bool = False
    """True if its answers were recorded before and are only scored here."""
    capabilities: list[str]
    """Some of ``text``, ``choices``, ``gradients``."""
    left_out: list[LeftOut] = Field(default_factory=list)
    verdict: Verdict
    calls: int
    """Number of answers received, over all instruments."""
    seconds: float
    """Time spent waiting for it."""


class ModelMean(Stored):
    """The mean of one metric on one model."""

    model: str
    figure: Interval | None
    why_not: str = ""
    """Why there is no mean."""


class MetricResult(Stored):
    """One metric on one split: its mean on every model, and on both twins for orientation.

    The twins do not place other models: a metric depends on the architecture too. The verdict rests on pairs.
    """

    key: str
    split: str
    """``aligned``: the shortcut gives the right answer; ``crossed``: it contradicts the picture; ``free``: as drawn."""
    grounded: Interval | None
    """g: the mean of the grounded twin on the same items."""
    shortcut: Interval | None
    """s: the mean of the shortcut twin."""
    separation: Interval | None
    """AUC of the items of the grounded twin against those of the shortcut twin, in the direction of the metric; 1 is perfect,
    ½ is chance."""
    separates: bool
    """True if it separates the twins."""
    why_not: str = ""
    """Why it does not."""
    models: list[ModelMean]


class Counts(Stored):
    """The number of items of one model and instrument, by outcome."""

    planned: int
    answered: int
    """Responses with text, whether or not an answer could be read in it."""
    refused: int = 0
    """Refused by the server, or in the text of the answer."""
    failed: int = 0
    pending: int = 0
    none_of_these: int = 0
    """Answered: the model says that no option fits."""
    cut_off: int = 0
    """Answered: the text ended at the token limit, before an answer."""
    ambiguous: int = 0
    """Answered: the text names several answers."""
    unreadable: int = 0
    """Answered: no answer was found in the text."""
    repeated: int = 0
    """Requests of these items that were made again, which are not counted above."""

    @property
    def lost(self) -> int:
        """Number of items without an answer to score."""
        return (
            self.refused + self.failed + self.none_of_these + self.cut_off + self.ambiguous + self.unreadable
        )


class PairsResult(Stored):
    """The outcomes of some pairs: of one edit, or of one relation."""

    name: str
    is_relevant: bool
    """True if the edit changes the right answer."""
    n: int
    looking: Interval | None = None
    """Followed minus inverted. None for neutral pairs."""
    p_value: float | None = None
    """Of the exact test that as many pairs are inverted as are followed."""
    followed: Interval | None = None
    """Share of the pairs with the right answer both times."""
    inverted: Interval | None = None
    """Share of the pairs in which each answer is right for the other picture."""
    moved: Interval | None = None
    """Share of the pairs with another answer that is neither."""
    unmoved: Interval | None = None
    """Share of the pairs with the same answer."""
    lost: Interval | None = None
    """Share of the pairs with an answer that could not be read."""
    kept: Interval | None = None
    """Under neutral edits: share of the pairs with the same answer."""
    keeps: list[str] = Field(default_factory=list)
    """What the edit does not change."""
    excludes: list[str] = Field(default_factory=list)
    """Strategies that cannot follow the edit."""


class ShownAnswer(Stored):
    """One side of an exhibit."""

    item: str
    """The id of its row in ``items.jsonl``."""
    answer: str
    """As given; untrusted."""
    read_as: str
    gold: str
    pictures: list[str]
    """Files, relative to the folder of the diagnosis."""


class PairExample(Stored):
    """A pair that is shown as an example: an exhibit."""

    edit: str
    is_relevant: bool
    outcome: Outcome
    why: str
    """The rule by which it was chosen."""
    question: str
    before: ShownAnswer
    after: ShownAnswer
    excludes: list[str] = Field(default_factory=list)


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class LookingResult(Looking):
    """The verdict on looking from the pairs of one source, by edit and by relation."""

    source: Source
    edits: list[PairsResult] = Field(default_factory=list)
    relations: list[PairsResult] = Field(default_factory=list)
    reading: Reading | None = None
    """Whether picture, question or both matter. None if no two pictures were asked two questions with exchanged answers."""
    exhibits: list[PairExample] = Field(default_factory=list)

    @field_serializer(*SHARES, "looking", "accuracy", "on_edits", "direction", "dependence", "refused")
    def _interval(self, estimate: Estimate | None) -> dict[str, Any] | None:
        return None if estimate is None else _without_p(estimate)

    @field_serializer("reading")
    def _reading(self, reading: Reading | None) -> dict[str, Any] | None:
        if reading is None:
            return None
        return {
            name: _without_p(value) if isinstance(value, Estimate) else value
            for name, value in fields_of(reading).items()
        }


class InstrumentOfModel(Stored):
    """The results of one instrument on one model."""

    model: str
    status: Status
    because: str = ""
    """Why it is not `measured`."""
    counts: Counts | None = None
    verdict: Verdict
    looking: list[LookingResult] = Field(default_factory=list)
    """The verdicts of its pairs: on the user's own data first, then on drawn pictures. Empty if there is no relevant pair."""
    unused: dict[str, int] = Field(default_factory=dict)
    """What of the user's own data was not used: the number of items, by reason."""
    runs: list[str] = Field(default_factory=list)
    """Run folders, relative to the diagnosis."""
    seconds: float = 0.0


class InstrumentResult(Stored):
    """One instrument: its question, its results on each model, and its metrics."""

    name: str
    question: str
    has_own_data_only: bool = False
    """True if it makes no data of its own, and was measured on the user's."""
    models: list[InstrumentOfModel]
    metrics: list[MetricResult]


class SignatureResult(Stored):
    """A pattern of behaviour, with the numbers it rests on. It names behaviour, not its cause."""

    name: str
    instrument: str
    model: str
    standing: SignatureStanding
    because: str
    numbers: dict[str, Interval]
    """The numbers it rests on, by label."""
    test: TestResult | None = None
    """Its significance test, if there is one."""
    confirming_test: str
    """An experiment that would confirm it."""
    remedy: str
    """What the papers propose. A hypothesis: it is not shown to help this model."""
    remedy_source: str


class OpenQuestion(Stored):
    """A question that the data do not decide, and the sample size that would."""

    model: str
    instrument: str
    question: str
    n_now: int
    n_needed: int | None
    """None if no feasible number would decide it, for the reason in `basis`."""
    unit: Literal["pictures", "clusters"] = "clusters"
    """What `n_now` and `n_needed` count."""
    size: int | None = None
    """The ``--size`` with that number. None for the user's own data, and for comparisons."""
    power: float
    """The probability to decide it with `n_needed`."""
    basis: str
    """What the calculation assumes."""

    @property
    def is_of_looking(self) -> bool:
        """True if it asks whether the model looks, not whether two models differ."""
        return self.question.startswith("Does it look")

    @property
    def settled_by(self) -> str:
        """What would settle it, as a sentence."""
        if self.n_needed is None:
            return f"{upper_first(self.basis)}."
        how = f": --size {self.size}" if self.size else ""
        return f"About {self.n_needed} {self.unit} would settle it, now there are {self.n_now}{how}."


class Comparison(Stored):
    """Two models on the same items."""

    first: str
    second: str
    instrument: str
    metric: str
    split: str
    difference: Interval | None
    """First minus second, paired by item, with an interval over clusters. None for the reason in `why_not`."""
    test: TestResult | None = None
    p_holm: float | None = None
    """The p-value of the test, corrected by Holm over all comparisons of the document."""
    why_not: str = ""


class Diagnosis(Stored):
    """The whole document."""

    schema_version: Literal[4] = 4
    theodolite: str
    created: datetime
    seed: int
    size: str
    """``quick``, ``standard``, ``large``, or a number of items."""
    data: dict[str, str]
    """By instrument, a description of the items."""
    models: list[ModelResult]
    metrics: list[MetricEntry]
    instruments: list[InstrumentResult]
    signatures: list[SignatureResult]
    open_questions: list[OpenQuestion]
    comparisons: list[Comparison]
    references: list[Reference] = Field(default_factory=list)
    caveats: list[str]
    settings: dict[str, Any] = Field(default_factory=dict)
    """The settings, enough to repeat the diagnosis."""

    def instrument(self, name: str) -> InstrumentResult:
        """Return the instrument of that name.

        Raises:
            UsageError: If it is not in this diagnosis.
        """
        for instrument in self.instruments:
            if instrument.name == name:
                return instrument
        known = ", ".join(instrument.name for instrument in self.instruments)
        raise UsageError(f"this diagnosis has no instrument {name!r}; it has {known or 'none'}")

    def model(self, name: str) -> ModelResult:
        """Return the model of that name.

        Raises:
            UsageError: If it is not in this diagnosis.
        """
        for model in self.models:
            if model.name == name:
                return model
        raise UsageError(
            f"this diagnosis has no model {name!r}; it has {', '.join(model.name for model in self.models)}"
        )


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``diagnosis.json``."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Diagnosis.model_json_schema()}


def write_diagnosis(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write ``diagnosis.json`` into a folder, atomically.

    Returns:
        The path of the file.
    """
    path = folder / DIAGNOSIS_FILE
    write_atomically(path, diagnosis.model_dump_json(indent=1) + "\n")
    return path


def read_diagnosis(folder: str | Path) -> Diagnosis:
    """Read ``diagnosis.json`` from a folder, or that file itself.

    Raises:
        UsageError: If there is none, or if this version cannot read it.
    """
    path = Path(folder)
    path = path / DIAGNOSIS_FILE if path.is_dir() else path
    if not path.exists():
        raise UsageError(
            f"cannot read {path}: there is no such file; `theodolite diagnose --out DIR` writes it"
        )
    value = read_json(path, "diagnosis")
    version = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise UsageError(
            f"{path} was made by a newer Theodolite (format {version}; this one reads {SCHEMA_VERSION}); "
            "upgrade Theodolite"
        )
    if isinstance(version, int) and version < SCHEMA_VERSION:
        raise UsageError(
            f"{path} was made by an older Theodolite (format {version}; this one reads {SCHEMA_VERSION}); repeat its "
            "`theodolite diagnose` with a new --out"
        )
    try:
        return check(Diagnosis, value)
    except UsageError as error:
        raise UsageError(f"{path} is not a diagnosis of Theodolite: {error}") from error


def with_short_names(diagnosis: Diagnosis) -> Diagnosis:
    """Return a copy with short names of models in all its texts, for tables in a terminal."""
    names = {
        long: short for long, short in short_names(m.name for m in diagnosis.models).items() if long != short
    }
    if not names:
        return diagnosis
    longest_first = sorted(names, key=len, reverse=True)

    def shortened(value: Any) -> Any:
        if isinstance(value, dict):
            return {shortened(key): shortened(item) for key, item in value.items()}
        if isinstance(value, list):
            return [shortened(item) for item in value]
        if isinstance(value, str):
            for name in longest_first:
                value = value.replace(name, names[name])
        return value

    return Diagnosis.model_validate(shortened(diagnosis.model_dump()))
