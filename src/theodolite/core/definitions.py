"""The definition of every number that the program reports: its name, unit, direction, formula and source, in one place.

Each instrument has a file ``definitions.toml`` in its folder, and so have the twins and the diagnosis. A plug-in can have
one next to its instrument. Metrics (`metric_of`, `metrics_of`) and table columns (`column`) are made from it, the page of
definitions in the documentation is generated from it, and the report links its numbers to it. An entry:

[instrument.metric]  the key, also the anchor in the documentation
like                 key of another entry whose fields this one has where it states none of its own
name, title          the short name for columns, and the full name
label                the name in lists of metrics, if it is not the title
unit                 share, points, degrees, bits, nats, ratio, correlation, number; text for words
units                the units of columns that show another number of the same experiment, by the column's name
signed               true: shown with a sign. Points always are
grounded             higher, lower or neither: the direction of models that use the picture
reading              paper: as published; sound: without the published defect; ours: not published
formula, meaning     the formula in plain text; the meaning in a sentence
function             ``module:function`` that computes it, below ``theodolite``, or in ``train``
source               where it is published
beside               keys of other definitions of the same quantity
caution              when not to trust it

Metrics, which have a value for every item, also say:

needs                text, choices or gradients: the capability of a model that they need
needs_gradients      the variants that need gradients, if others do not
limits               the least and the largest possible value; ``"none"`` if there are none. Default: 0 to 1
average              items (default) or groups: how values are averaged
variants             the methods or settings that have it, as in ``compass.dae_paper:chefer``; or the key of another
                     metric that has them: metrics of shared variants are listed by variant
without              of shared variants those that do not have it
tables_only          true: in tables, but not in a diagnosis
headline             true: one of the three to six numbers to read first

>>> found = definition("compass.dae")
>>> found.name, found.unit, found.grounded
('DAE', 'degrees', 'lower')
>>> metric_of("compass.dae_paper:chefer").name, column("compass.dae").unit
('DAE (chefer)', 'degrees')
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.core.scores import CAPABILITIES, Average, Capability, Metric, Origin
from theodolite.core.tables import Column, Unit

__all__ = [
    "Definition",
    "Direction",
    "column",
    "definition",
    "definitions",
    "difference_unit",
    "find_definition",
    "headlines",
    "metric_of",
    "metrics_of",
    "read_definitions",
]


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
    each.name
    for each in fields(Definition)
    if each.default is MISSING and each.default_factory is MISSING and each.name != "key"
)
_KNOWN = {each.name for each in fields(Definition)} - {"key"}


@cache
def definitions() -> Mapping[str, Definition]:
    """Return all definitions by key, in the order of the files."""
    names = [entry.name for entry in registry().entries("instrument")]
    found = {key: each for name in (*names, *_ELSEWHERE) for key, each in _of(name).items()}
    return MappingProxyType(found)


_ELSEWHERE = {"twins": "theodolite.twins", "diagnose": "theodolite.diagnose"}
"""The packages beside the instruments that define numbers."""


@cache
def _of(name: str) -> Mapping[str, Definition]:
    """Read the definitions of one instrument. Empty if it has no file, or does not exist."""
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
    found = find_definition(key)
    if found is not None:
        return found
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
        UsageError: If it has no definition, or is no metric of items.

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

    Metrics that share their variants are ordered by variant: all of one method stand together.

    >>> [each.key for each in metrics_of("scene")][:2]
    ['scene.qa', 'scene.sgc']
    """
    own = (each for each in _of(instrument).values() if each.needs and not each.tables_only)
    families = [list(family) for _, family in groupby(own, lambda each: each.family or each.key)]
    return tuple(metric_of(key) for family in families for key in _keys_by_variant(family))


def _keys_by_variant(family: Sequence[Definition]) -> Iterator[str]:
    """Yield the keys of metrics that share their variants, or of one without any."""
    for variant in max((each.variants for each in family), key=len):
        yield from (f"{each.key}:{variant}" for each in family if variant in each.variants)
    yield from (each.key for each in family if not each.variants)


def headlines(instrument: str) -> tuple[Definition, ...]:
    """Return the three to six numbers of an instrument to read first."""
    return tuple(each for each in _of(instrument).values() if each.headline)


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
        title: A heading of its own, if the table shows the number more than once or in a context.
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
    found = {key: _definition(key, _complete(key, entries)) for key in entries}
    beside: dict[str, list[str]] = {key: list(each.beside) for key, each in found.items()}
    for key, each in found.items():
        for other in each.beside:
            _check_known(key, other, found)
            if key not in beside[other]:
                beside[other].append(key)
    return {key: replace(each, beside=tuple(beside[key])) for key, each in found.items()}


def _complete(key: str, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return an entry with the fields and the variants that it takes from others."""
    entry = _inherited(key, entries)
    if "variants" in entry:
        named = entry["variants"]
        entry["family"] = named if isinstance(named, str) else key
        _check_known(key, entry["family"], entries)
        absent = entry.pop("without", ())
        entry["variants"] = [each for each in entries[entry["family"]]["variants"] if each not in absent]
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
