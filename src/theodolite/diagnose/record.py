"""``diagnosis.json``: what a diagnosis found, with every figure's interval, as one checked document.

The document names models, never decides for them: every list that differs by model carries the model's name. Figures that
could not be had are None and stand beside a reason; nothing is NaN.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field, ValidationError

from theodolite.core.errors import StorageError, UsageError
from theodolite.core.estimates import Estimate, HypothesisTest
from theodolite.core.views import Form

SCHEMA_VERSION = 1
"""Of ``diagnosis.json`` and ``items.jsonl``. A reader refuses what is newer than itself."""
DIAGNOSIS_FILE = "diagnosis.json"

Origin: TypeAlias = Literal["paper", "sound", "ours"]
Status: TypeAlias = Literal["measured", "partly measured", "left out", "failed"]
"""*partly measured*: some metrics could be had and some could not; *left out*: the model or the user did not allow it;
*failed*: it was tried, and gave no figure."""
Place: TypeAlias = Literal["inside", "above", "below"]
"""Of a position: within [0, 1], above 1 or below 0."""
Standing: TypeAlias = Literal[
    "grounded", "between", "shortcut", "outside", "undecided", "mixed", "no verdict"
]
"""*grounded*: the whole interval lies above ¾; *shortcut*: below ¼; *between*: within (¼, ¾); *outside*: beyond 0 or 1, where
the twins do not bracket the model; *undecided*: the interval covers several of these; *no verdict*: too little data, too few
answers that can be read, or no metric tells the twins apart here. Of a model over all its instruments also *mixed*: they
disagree."""
SignatureStanding: TypeAlias = Literal["raised", "not raised", "not measured"]


class Figure(Form):
    """A number with its interval: `theodolite.stats.Estimate` in a file."""

    value: float
    low: float
    high: float
    n: int = Field(ge=1)
    """Independent units: pictures, scenes or episodes."""
    n_items: int = Field(ge=1)
    level: float = Field(gt=0, lt=1)
    method: str
    """How the interval was made."""

    @classmethod
    def of(cls, estimate: Estimate) -> Figure:
        """The form of an estimate."""
        e = estimate
        return cls(
            value=e.value, low=e.low, high=e.high, n=e.n, n_items=e.n_items, level=e.level, method=e.method
        )

    def estimate(self) -> Estimate:
        """The estimate again."""
        return Estimate(self.value, self.low, self.high, self.n, self.level, self.method, self.n_items)


class TestResult(Form):
    """A significance test."""

    __test__ = False  # not a test of pytest's

    name: str
    """What was tested, in words."""
    statistic: float
    p_value: float = Field(ge=0, le=1)
    n: int
    method: str

    @classmethod
    def of(cls, test: HypothesisTest, name: str) -> TestResult:
        """The form of a test."""
        return cls(name=name, statistic=test.statistic, p_value=test.p_value, n=test.n, method=test.method)


class MetricForm(Form):
    """What a metric is. Its formula stands in the definitions under the same key."""

    key: str
    """``<instrument>.<name>``."""
    name: str
    instrument: str
    higher_is_grounded: bool
    origin: Origin
    needs: Literal["text", "choices", "gradients"]


class LeftOut(Form):
    """Something that was not measured, and why."""

    instrument: str
    what: str
    why: str
    remedy: str = ""
    """What would make it measurable; empty if nothing would."""


class Verdict(Form):
    """One sentence about a model, or about one instrument's view of it."""

    standing: Standing
    sentence: str
    """For people: holds the figures it rests on."""


class ModelForm(Form):
    """One model that was diagnosed."""

    name: str
    """As it was written, such as ``hf:Qwen/Qwen3-VL-2B`` or ``pocket:grounded``."""
    identity: str
    """What tells it from another model of the same name."""
    is_twin: bool = False
    """True if it is one of the two models of known reasoning."""
    is_recorded: bool = False
    """True if its answers were recorded elsewhere."""
    capabilities: list[str]
    """Some of ``text``, ``choices``, ``gradients``."""
    left_out: list[LeftOut] = Field(default_factory=list)
    verdict: Verdict
    calls: int
    """Answers that were had from it, over all instruments."""
    seconds: float
    """Time spent waiting for it."""


class Calibrated(Form):
    """Where one model stands between the twins on one metric: (x − s)/(g − s)."""

    model: str
    figure: Figure | None
    """x: the model's own figure. None: it has no reading of this metric."""
    position: Figure | None
    """None where `why_not` says so."""
    place: Place | None = None
    is_outside: bool = False
    """Whether the whole interval of the position lies outside [0, 1]: the twins do not bracket this model."""
    why_not: str = ""


class MetricResult(Form):
    """One metric on one split: both twins, whether it tells them apart, and every model between them."""

    key: str
    split: str
    """``aligned``: the shortcut's answer is the true one; ``crossed``: it contradicts the picture; ``free``."""
    grounded: Figure | None
    """g: the figure of the grounded twin on the same items."""
    shortcut: Figure | None
    """s: of the shortcut twin."""
    separation: Figure | None
    """AUC of telling the grounded twin's items from the shortcut twin's; 1 is perfect, ½ is chance, and the metric's own
    direction is taken into account."""
    is_calibrated: bool
    """Whether it tells the twins apart well enough to place others between them."""
    why_not: str = ""
    models: list[Calibrated]


class Counts(Form):
    """What became of the items of one model and instrument."""

    planned: int
    answered: int
    """Responses with text, whether or not an answer could be read in it."""
    refused: int = 0
    """Refused by the model's server, or in the answer's own words."""
    failed: int = 0
    pending: int = 0
    none_of_these: int = 0
    """Of the answered ones: the model says that no option fits."""
    cut_off: int = 0
    """Of the answered ones: ended at the token limit before an answer."""
    ambiguous: int = 0
    """Of the answered ones: names several answers."""
    unreadable: int = 0
    """Of the answered ones: no answer found."""

    @property
    def lost(self) -> int:
        """Items without an answer to score."""
        return (
            self.refused + self.failed + self.none_of_these + self.cut_off + self.ambiguous + self.unreadable
        )


class InstrumentOfModel(Form):
    """One instrument's view of one model."""

    model: str
    status: Status
    because: str = ""
    """Why it is not `measured`."""
    counts: Counts | None = None
    position: Figure | None = None
    """The median position over the calibrated metrics, with items resampled jointly."""
    place: Place | None = None
    is_outside: bool = False
    verdict: Verdict
    rests_on: list[str] = Field(default_factory=list)
    """The ``key@split`` of the metrics behind the position."""
    runs: list[str] = Field(default_factory=list)
    """Run folders, relative to the diagnosis."""
    seconds: float = 0.0


class InstrumentForm(Form):
    """One instrument: its question, what it found of each model, and its metrics."""

    name: str
    question: str
    models: list[InstrumentOfModel]
    metrics: list[MetricResult]


class SignatureForm(Form):
    """A pattern of behaviour, with the numbers that raised it. It names behaviour, never its cause."""

    name: str
    instrument: str
    model: str
    standing: SignatureStanding
    because: str
    numbers: dict[str, Figure]
    """The numbers it was read from, by label."""
    test: TestResult | None = None
    """The significance test that belongs to it, where there is one."""
    confirming_test: str
    """What would confirm it: an experiment, in words."""
    remedy: str
    """What the papers propose. A hypothesis: nobody has shown that it helps this model."""
    remedy_source: str


class OpenQuestion(Form):
    """Something the data do not settle, and how many units would."""

    model: str
    instrument: str
    question: str
    n_now: int
    n_needed: int | None
    """None: no number of items would settle it (the reason stands in `basis`)."""
    power: float
    """The chance to settle it with `n_needed`."""
    basis: str
    """What the calculation assumes."""


class Comparison(Form):
    """Two models on the same items."""

    first: str
    second: str
    instrument: str
    metric: str
    split: str
    difference: Figure | None
    """First minus second, paired by item, whole clusters resampled. None where `why_not` says so."""
    test: TestResult | None = None
    p_holm: float | None = None
    """The p of the test, corrected for all comparisons of this pair of models."""
    why_not: str = ""


class ReferenceForm(Form):
    """A number that a paper reports for this quantity. It is shown beside ours and is no bar: other data, other models."""

    metric: str
    value: float
    what: str
    source: str


class Diagnosis(Form):
    """The whole document."""

    schema_version: Literal[1] = 1
    theodolite: str
    created: datetime
    seed: int
    size: str
    """``quick``, ``standard``, ``large``, or a number of items."""
    data: dict[str, str]
    """By instrument: which items were measured, in words."""
    models: list[ModelForm]
    metrics: list[MetricForm]
    instruments: list[InstrumentForm]
    signatures: list[SignatureForm]
    open_questions: list[OpenQuestion]
    comparisons: list[Comparison]
    references: list[ReferenceForm] = Field(default_factory=list)
    caveats: list[str]
    settings: dict[str, Any] = Field(default_factory=dict)
    """What was asked: enough to ask it again."""

    def instrument(self, name: str) -> InstrumentForm:
        """The instrument of that name.

        Raises:
            UsageError: it is not in this diagnosis.
        """
        for instrument in self.instruments:
            if instrument.name == name:
                return instrument
        known = ", ".join(instrument.name for instrument in self.instruments)
        raise UsageError(f"this diagnosis has no instrument {name!r}; it has {known or 'none'}")

    def model(self, name: str) -> ModelForm:
        """The model of that name.

        Raises:
            UsageError: it is not in this diagnosis.
        """
        for model in self.models:
            if model.name == name:
                return model
        raise UsageError(
            f"this diagnosis has no model {name!r}; it has {', '.join(model.name for model in self.models)}"
        )


def schema() -> dict[str, Any]:
    """The JSON schema of ``diagnosis.json``."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Diagnosis.model_json_schema()}


def write_diagnosis(diagnosis: Diagnosis, folder: Path) -> Path:
    """Writes ``diagnosis.json`` into a folder, whole or not at all.

    Returns:
        The file.
    """
    path = folder / DIAGNOSIS_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")
        draft.write_text(diagnosis.model_dump_json(indent=1) + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror}; free some space or choose another --out"
        ) from error
    return path


def read_diagnosis(folder: str | Path) -> Diagnosis:
    """Reads ``diagnosis.json`` of a folder, or that file itself.

    Raises:
        UsageError: there is none, or it is not one that this version can read.
    """
    path = Path(folder)
    path = path / DIAGNOSIS_FILE if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}; `theodolite diagnose --out DIR` writes it"
        ) from error
    try:
        value = json.loads(text)
        version = value.get("schema_version") if isinstance(value, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise UsageError(
                f"{path} was made by a newer Theodolite (format {version}; this one knows {SCHEMA_VERSION}); "
                "upgrade: pip install -U theodolite"
            )
        return Diagnosis.model_validate(value)
    except (ValidationError, ValueError) as error:
        first = " ".join(str(error).split())[:200]
        raise UsageError(f"{path} is no diagnosis of Theodolite's: {first}") from error
