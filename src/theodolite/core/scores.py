"""Metrics, their values on items, signatures and definitions: the common form of every instrument's numbers."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.core.tables import Column, Estimate, HypothesisTest, Unit

__all__ = [
    "ALIGNED",
    "CAPABILITIES",
    "CROSSED",
    "LESSON_SEEDS",
    "OWN_SPLIT",
    "SPLITS",
    "Average",
    "Capability",
    "Condition",
    "Definition",
    "Direction",
    "ItemScore",
    "Metric",
    "Origin",
    "Signature",
    "SignatureKind",
    "SignatureStanding",
    "Split",
    "by_metric",
    "check_split",
    "column",
    "covers",
    "definition",
    "definitions",
    "difference_unit",
    "find_definition",
    "headlines",
    "judge_signature",
    "metric_of",
    "metrics_of",
    "read_definitions",
]

# Splits of drawn data, by whether a known shortcut gives the right answer.
#
# *Aligned*: the shortcut's answer is the true one, so accuracy cannot tell who looks. *Crossed*: the shortcut contradicts
# the picture. *Free*: as drawn.


Split: TypeAlias = Literal["aligned", "crossed", "free"]
ALIGNED: Split = "aligned"
CROSSED: Split = "crossed"
SPLITS: tuple[Split, ...] = (ALIGNED, CROSSED)
"""The splits of a diagnosis."""
OWN_SPLIT = "own data"
"""The split of the user's own items."""
LESSON_SEEDS = 1_000_000
"""Training data have seeds below it, these sets above."""


def check_split(split: str) -> None:
    """Raise a `UsageError` for an unknown split."""
    if split not in get_args(Split):
        raise UsageError(f"the split is {', '.join(get_args(Split))}, not {split!r}")


# Metrics, and their values on single items: the one form in which every instrument scores a run.
#
# A stored run is scored item by item. A row names the item, the metric, the split and the cluster, and holds the value or
# the reason why there is none. Tables, intervals, the diagnosis and exports all aggregate these rows, so a stored run has
# one number under one name. Rows are computed from stored answers; no model is called.


Origin: TypeAlias = Literal["paper", "sound", "ours"]
"""``paper``: as published. ``sound``: the published idea without its defect. ``ours``: not in any of the four papers."""

Capability: TypeAlias = Literal["text", "choices", "gradients"]
"""What a model gives: text answers, log-probabilities of options, or gradients and attention. Each includes the ones before."""
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)

Average: TypeAlias = Literal["items", "groups"]
"""``items``: the mean over items. ``groups``: the macro mean, over groups of items."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that an instrument computes for an item.

    >>> Metric("compass.mirrored", "answer follows the mirrored picture", True, "ours", "text").instrument
    'compass'
    """

    key: str
    """``<instrument>.<name>``, with ``:<method>`` where several methods give it: ``compass.dae_paper:chefer``."""
    name: str
    """As tables and figures show it."""
    higher_is_grounded: bool
    """True if a model that looks should score higher."""
    origin: Origin
    needs: Capability
    bounds: tuple[float, float] | None = (0.0, 1.0)
    """The least and the largest possible value; None if there are none."""
    unit: Unit = "share"
    average: Average = "items"

    def __post_init__(self) -> None:
        if not all(self.key.partition(".")[::2]):
            raise UsageError(f"a metric's key is <instrument>.<name>, not {self.key!r}")
        if self.needs not in CAPABILITIES or self.origin not in get_args(Origin):
            raise UsageError(f"the metric {self.key} has the origin {self.origin!r}, needs {self.needs!r}")

    @property
    def instrument(self) -> str:
        """The part of the key before the first dot."""
        return self.key.partition(".")[0]

    @property
    def kind(self) -> str:
        """The key without its method: the key of the definition.

        >>> Metric("compass.dae_paper:chefer", "DAE", False, "paper", "gradients").kind
        'compass.dae_paper'
        """
        return self.key.partition(":")[0]

    def towards_grounded(self, value: float) -> float:
        """Return the value, negated if lower is grounded."""
        return value if self.higher_is_grounded else -value


@dataclass(frozen=True, slots=True)
class ItemScore:
    """The value of one metric on one item.

    >>> ItemScore("pair-1", "compass.right", None, "picture-1", reason="refused").is_scored
    False
    """

    item: str
    """The pair, question, scene or episode: the same in runs of other models on the same data."""
    metric: str
    """The metric's key."""
    value: float | None
    cluster: str
    """The picture, scene or episode that the item shares with others."""
    split: str = ""
    """``aligned``, ``crossed`` or ``free`` for drawn data; empty otherwise."""
    group: str = ""
    """The group of a macro mean: the kind of question, say."""
    reason: str = ""
    """Why there is no value: refused, unreadable, failed …"""

    def __post_init__(self) -> None:
        if self.value is None and not self.reason:
            raise UsageError(f"an item score without a value needs a reason ({self.metric} of {self.item})")
        if self.value is not None and not math.isfinite(self.value):
            raise UsageError(
                f"an item score is a finite number, not {self.value} ({self.metric} of {self.item})"
            )

    @property
    def is_scored(self) -> bool:
        """True if there is a value."""
        return self.value is not None


def by_metric(scores: Iterable[ItemScore]) -> Mapping[str, list[ItemScore]]:
    """Group scores by metric, in order.

    >>> list(by_metric([ItemScore("a", "grid.swap", 1.0, "a"), ItemScore("b", "grid.swap", 0.0, "b")]))
    ['grid.swap']
    """
    grouped: dict[str, list[ItemScore]] = {}
    for score in scores:
        grouped.setdefault(score.metric, []).append(score)
    return grouped


def covers(given: Capability, needed: Capability) -> bool:
    """Return True if the model's capability covers the metric's requirement.

    >>> covers("choices", "text"), covers("choices", "gradients")
    (True, False)
    """
    return CAPABILITIES.index(given) >= CAPABILITIES.index(needed)


# Signatures: patterns of behaviour, each with the numbers behind it. They name behaviour, not its cause.
#
# A signature is *raised* if each of its conditions holds for the whole interval of its number, *not raised* if one fails,
# and *not measured* if a number is missing.


SignatureStanding: TypeAlias = Literal["raised", "not raised", "not measured"]


@dataclass(frozen=True, slots=True)
class SignatureKind:
    """A kind of signature, with its remedy."""

    name: str
    confirming_test: str
    """The experiment that would confirm it."""
    remedy: str = ""
    """What the papers propose; empty if nothing. A hypothesis: none of them has shown that it helps."""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A number and the requirement on it."""

    label: str
    estimate: Estimate | None
    """None if it was not measured."""
    holds: Callable[[Estimate], bool]
    words: str
    """The requirement in words: "below a tenth"."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The result for one signature: raised or not, and why."""

    kind: SignatureKind
    standing: SignatureStanding
    because: str
    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    test: HypothesisTest | None = None
    """The significance test that belongs to it, where there is one."""

    @property
    def name(self) -> str:
        """The name of its kind."""
        return self.kind.name

    @property
    def is_raised(self) -> bool:
        """True if the run shows the signature."""
        return self.standing == "raised"


def judge_signature(
    kind: SignatureKind, conditions: Sequence[Condition], *, test: HypothesisTest | None = None
) -> Signature:
    """Return the signature, raised if every condition holds.

    >>> changed = Estimate(0.02, 0.0, 0.06, n=60, level=0.95, method="Wilson")
    >>> few = Condition("answers that change", changed, lambda x: x.high < 0.1, "below a tenth")
    >>> judge_signature(SignatureKind("language prior", "show another picture"), [few]).because
    'answers that change 0.02 [0.00, 0.06], which is below a tenth'
    """
    missing = [condition.label for condition in conditions if condition.estimate is None]
    measured = [(c, c.estimate) for c in conditions if c.estimate is not None]
    failing = [(c, e) for c, e in measured if not c.holds(e)]
    numbers = {condition.label: estimate for condition, estimate in measured}
    if missing:
        return Signature(kind, "not measured", f"not measured: {', '.join(missing)}", numbers, test)
    verb = "but should be" if failing else "which is"
    because = "; ".join(
        f"{c.label} {e.value:.2f} [{e.low:.2f}, {e.high:.2f}], {verb} {c.words}"
        for c, e in failing or measured
    )
    return Signature(kind, "not raised" if failing else "raised", because, numbers, test)


# The definition of every number that the program reports: its name, unit, direction, formula and source, in one place.


Direction: TypeAlias = Literal["higher", "lower", "neither"]
"""The direction of models that use the picture."""

_CHOICES = {
    "unit": ("text", *(unit for unit in get_args(Unit) if unit)),
    "grounded": get_args(Direction),
    "reading": get_args(Origin),
    "needs": ("", *CAPABILITIES),
    "average": get_args(Average),
}
_SHARE = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of one number."""

    key: str
    """``instrument.metric``."""
    name: str
    """Short name, for columns."""
    title: str
    """Full name."""
    unit: Unit
    grounded: Direction
    reading: Origin
    formula: str
    """Formula in plain text."""
    meaning: str
    """One sentence."""
    label: str = ""
    """The name in lists of metrics. Default: the title."""
    units: Mapping[str, Unit] = field(default_factory=dict, hash=False)
    """The units of columns that show another number of the same experiment, by the column's name."""
    signed: bool = False
    """True if it is shown with a sign."""
    source: str = ""
    """Where it is published."""
    caution: str = ""
    """When not to trust it."""
    beside: tuple[str, ...] = ()
    """Keys of other definitions of the same quantity. The relation is symmetric."""
    function: str = ""
    """``module:function`` that computes it, below ``theodolite``, or in ``train``."""
    needs: Capability | Literal[""] = ""
    """What a metric of items needs of a model. Empty if it is no metric of items."""
    needs_gradients: tuple[str, ...] = ()
    """The variants that need gradients."""
    limits: tuple[float, float] | None = _SHARE
    """The least and the largest possible value; None if there are none."""
    average: Average = "items"
    variants: tuple[str, ...] = ()
    """The methods or settings that a diagnosis has of it."""
    family: str = ""
    """The key of the metric whose variants it shares; its own key if they are its own."""
    tables_only: bool = False
    headline: bool = False

    @property
    def instrument(self) -> str:
        """The instrument, from the key."""
        return self.key.partition(".")[0]

    @property
    def anchor(self) -> str:
        """The anchor in the page of definitions."""
        return self.key


_NEEDED = tuple(
    attribute.name
    for attribute in fields(Definition)
    if attribute.default is MISSING and attribute.default_factory is MISSING and attribute.name != "key"
)
_KNOWN = {attribute.name for attribute in fields(Definition)} - {"key"}


@cache
def definitions() -> Mapping[str, Definition]:
    """Return all definitions by key, in the order of the files."""
    names = [entry.name for entry in registry().entries("instrument")]
    by_key = {key: entry for name in (*names, *_ELSEWHERE) for key, entry in _of(name).items()}
    return MappingProxyType(by_key)


_ELSEWHERE = {"twins": "theodolite.twins", "diagnose": "theodolite.diagnose"}
"""The packages beside the instruments that define numbers."""


@cache
def _of(name: str) -> Mapping[str, Definition]:
    """Read the definitions of one instrument. Empty if it has no file or does not exist."""
    package = _ELSEWHERE.get(name, "")
    for entry in registry().entries("instrument"):
        if entry.name == name:
            package = entry.target.partition(":")[0].rpartition(".")[0]
    if not package:
        return {}
    file = files(package).joinpath("definitions.toml")
    return read_definitions(file.read_text(encoding="utf-8")) if file.is_file() else {}


def find_definition(key: str) -> Definition | None:
    """Return the definition of a number, for any method or setting. None if there is none.

    >>> find_definition("compass.dae_paper:chefer").key
    'compass.dae_paper'
    """
    return _of(key.partition(".")[0]).get(key.partition(":")[0])


def definition(key: str) -> Definition:
    """Return the definition of a number, for any method or setting.

    Args:
        key: ``instrument.metric`` or ``instrument.metric:variant``.

    Raises:
        UsageError: If there is none with that key. The message suggests a similar one.

    >>> definition("ask.accuracy:blind").key
    'ask.accuracy'
    """
    entry = find_definition(key)
    if entry is not None:
        return entry
    known = definitions()
    near = difflib.get_close_matches(key, known, n=1)
    advice = (
        f"did you mean {near[0]!r}?"
        if near
        else f"keys begin with {', '.join(sorted({d.instrument for d in known.values()}))}"
    )
    raise UsageError(f"there is no definition of {key!r}; {advice}")


# What is made of definitions: metrics and columns.


@cache
def metric_of(key: str) -> Metric:
    """Return a metric by its key, with its variant if it has several.

    Raises:
        UsageError: If it has no definition, or is not a metric of items.

    >>> metric_of("grid.anchor_mass:dime").name, metric_of("grid.right").bounds
    ('mass on anchors (dime)', (0.0, 1.0))
    """
    own, variant = definition(key), key.partition(":")[2]
    if not own.needs:
        raise UsageError(f"{key} is computed from whole runs; it has no value for an item")
    name = own.label or own.title
    return Metric(
        key,
        f"{name} ({variant})" if variant else name,
        higher_is_grounded=own.grounded != "lower",
        origin=own.reading,
        needs="gradients" if variant in own.needs_gradients else own.needs,
        bounds=own.limits,
        unit=own.unit,
        average=own.average,
    )


@cache
def metrics_of(instrument: str) -> tuple[Metric, ...]:
    """Return the metrics of a diagnosis, in the order of the file.

    Metrics that share their variants are ordered by variant, so that those of one method are adjacent.

    >>> [each.key for each in metrics_of("scene")][:2]
    ['scene.qa', 'scene.sgc']
    """
    own = (entry for entry in _of(instrument).values() if entry.needs and not entry.tables_only)
    families = [list(family) for _, family in groupby(own, lambda entry: entry.family or entry.key)]
    return tuple(metric_of(key) for family in families for key in _keys_by_variant(family))


def _keys_by_variant(family: Sequence[Definition]) -> Iterator[str]:
    """Yield the keys of metrics that share their variants, by variant, or of a metric without variants."""
    for variant in max((entry.variants for entry in family), key=len):
        yield from (f"{entry.key}:{variant}" for entry in family if variant in entry.variants)
    yield from (entry.key for entry in family if not entry.variants)


def headlines(instrument: str) -> tuple[Definition, ...]:
    """Return the three to six numbers of an instrument to read first."""
    return tuple(entry for entry in _of(instrument).values() if entry.headline)


def difference_unit(unit: Unit) -> Unit:
    """Return the unit of a difference: points for shares.

    >>> difference_unit("share"), difference_unit("degrees")
    ('points', 'degrees')
    """
    return "points" if unit == "share" else unit


def column(key: str, name: str = "", title: str = "", *, difference: bool = False) -> Column:
    """Return a column that shows a number, with the title, unit and sign of its definition.

    Args:
        key: The key of the number.
        name: The name in JSON. Default: the key without its instrument.
        title: A different heading, if the table shows the number more than once or in a context.
        difference: True for differences of the number.

    >>> column("compass.excess_dae")
    Column(name='excess_dae', title='− uniform', unit='degrees', key='compass.excess_dae', signed=True)
    """
    own, name = definition(key), name or key.partition(".")[2]
    unit = own.units.get(name, own.unit)
    return Column(
        name,
        title or (f"Δ {own.name}" if difference else own.name),
        difference_unit(unit) if difference else unit,
        own.key,
        signed=own.signed or (difference and unit not in {"share", "points"}),
    )


# Reading the files.


def read_definitions(text: str) -> dict[str, Definition]:
    """Parse definitions from TOML.

    Raises:
        UsageError: If an entry is incomplete, has an unknown field, or refers to an unknown key.
    """
    entries: dict[str, dict[str, Any]] = {
        f"{instrument}.{name}": entry
        for instrument, own in tomllib.loads(text).items()
        for name, entry in own.items()
    }
    by_key = {key: _definition(key, _complete(key, entries)) for key in entries}
    beside: dict[str, list[str]] = {key: list(entry.beside) for key, entry in by_key.items()}
    for key, entry in by_key.items():
        for other in entry.beside:
            _check_known(key, other, by_key)
            if key not in beside[other]:
                beside[other].append(key)
    return {key: replace(entry, beside=tuple(beside[key])) for key, entry in by_key.items()}


def _complete(key: str, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return an entry with the fields and variants that it inherits from others."""
    entry = _inherited(key, entries)
    if "variants" in entry:
        named = entry["variants"]
        entry["family"] = named if isinstance(named, str) else key
        _check_known(key, entry["family"], entries)
        absent = entry.pop("without", ())
        entry["variants"] = [
            variant for variant in entries[entry["family"]]["variants"] if variant not in absent
        ]
    return entry


def _inherited(key: str, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    entry = dict(entries[key])
    like = entry.pop("like", "")
    if not like:
        return entry
    _check_known(key, like, entries)
    base = _inherited(like, entries)
    return {name: value for name, value in base.items() if name not in {"headline", "beside"}} | entry


def _check_known(key: str, other: str, known: Iterable[str]) -> None:
    if other not in known:
        raise UsageError(f"the definition of {key} refers to {other!r}, which is not defined")


def _definition(key: str, entry: Mapping[str, Any]) -> Definition:
    missing = [name for name in _NEEDED if not entry.get(name)]
    if missing:
        raise UsageError(f"the definition of {key} has no {missing[0]}")
    unknown = [name for name in entry if name not in _KNOWN]
    if unknown:
        raise UsageError(f"the definition of {key} has an unknown entry {unknown[0]!r}")
    for name, choices in _CHOICES.items():
        if name in entry and entry[name] not in choices:
            raise UsageError(f"the {name} of {key} must be one of {', '.join(choices)}, not {entry[name]!r}")
    if entry["reading"] == "paper" and not entry.get("source"):
        raise UsageError(f"the definition of {key} is from a paper, but has no source")
    given: dict[str, Any] = {
        name: tuple(entry.get(name, ())) for name in ("beside", "variants", "needs_gradients")
    }
    limits = entry.get("limits", _SHARE)
    given["limits"] = None if limits == "none" else tuple(map(float, limits))
    given["unit"] = "" if entry["unit"] == "text" else entry["unit"]
    return Definition(key, **{**entry, **given})
