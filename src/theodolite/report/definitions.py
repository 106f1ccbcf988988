"""The definition of every number that the program reports.

Each instrument has a file ``definitions.toml`` in its folder, and so have the twins and the diagnosis. A plug-in can have
one next to its instrument. The page of definitions in the documentation is generated from them, and the report links its
numbers to them. An entry:

[instrument.metric]  the key, also the anchor in the documentation
name, title          the short name in tables, and the full name
unit                 share, points, degrees, bits, nats, ratio, correlation, number
grounded             higher, lower or neither: the direction of models that use the picture
reading              paper: as published; sound: without the published defect; ours: not published
formula, meaning     the formula in plain text; the meaning in a sentence
function             ``module:function`` that computes it, below ``theodolite``
source               where it is published
beside               keys of other definitions of the same quantity
caution              when not to trust it
metrics              the item metrics it defines, without their method

>>> found = definition("compass.dae")
>>> found.name, found.unit, found.grounded, found.beside
('DAE', 'degrees', 'lower', ('compass.excess_dae', 'compass.mean_dae'))
>>> found.anchor
'compass.dae'
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.core.registry import registry

__all__ = [
    "Definition",
    "Direction",
    "Reading",
    "Unit",
    "definition",
    "definition_of",
    "definitions",
    "read_definitions",
]

Unit: TypeAlias = Literal[
    "share", "points", "degrees", "bits", "nats", "ratio", "correlation", "number", "count", "p"
]
Direction: TypeAlias = Literal["higher", "lower", "neither"]
"""The direction of models that use the picture."""
Reading: TypeAlias = Literal["paper", "sound", "ours"]
"""As published; the published idea without its defect; or not published."""

_CHOICES = {"unit": Unit, "grounded": Direction, "reading": Reading}
_NEEDED = ("name", "title", "unit", "grounded", "reading", "formula", "meaning")
_LISTS = ("beside", "metrics")


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of one number."""

    key: str
    """``instrument.metric``."""
    name: str
    """Short name, for tables."""
    title: str
    """Full name."""
    unit: Unit
    grounded: Direction
    reading: Reading
    formula: str
    """Formula in plain text."""
    meaning: str
    """One sentence."""
    source: str = ""
    """Where it is published."""
    caution: str = ""
    """When not to trust it."""
    beside: tuple[str, ...] = ()
    """Keys of other definitions of the same quantity. The relation is symmetric."""
    function: str = ""
    """``module:function`` that computes it, below ``theodolite``."""
    metrics: tuple[str, ...] = ()
    """The item metrics it defines, without their method: ``dae_paper`` for ``compass.dae_paper:chefer``."""

    @property
    def instrument(self) -> str:
        """The instrument, from the key."""
        return self.key.partition(".")[0]

    @property
    def anchor(self) -> str:
        """The anchor in the page of definitions."""
        return self.key


@cache
def definitions() -> Mapping[str, Definition]:
    """Return all definitions by key, in the order of the files."""
    packages = [
        *(entry.target.partition(":")[0].rpartition(".")[0] for entry in registry().entries("instrument")),
        "theodolite.twins",
        "theodolite.diagnose",
    ]
    texts = [found for package in packages if (found := _text(package))]
    return MappingProxyType(read_definitions("\n".join(texts)))


def _text(package: str) -> str:
    """Read the definitions of a package. Empty if it has none."""
    if not package:
        return ""
    file = files(package).joinpath("definitions.toml")
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def definition(key: str) -> Definition:
    """Return one definition.

    Raises:
        UsageError: If there is none with that key. The message suggests a similar one.
    """
    known = definitions()
    if key in known:
        return known[key]
    near = difflib.get_close_matches(key, known, n=1)
    advice = (
        f"did you mean {near[0]!r}?"
        if near
        else f"keys begin with {', '.join(sorted({d.instrument for d in known.values()}))}"
    )
    raise UsageError(f"there is no definition of {key!r}; {advice}")


@cache
def _by_metric() -> Mapping[str, Definition]:
    return {f"{each.instrument}.{kind}": each for each in definitions().values() for kind in each.metrics}


def definition_of(metric: str) -> Definition:
    """Return the definition of an item metric, for any method or explainer.

    Args:
        metric: A key, ``instrument.kind`` or ``instrument.kind:method``, or the key of a definition.

    Raises:
        UsageError: If it is not defined.

    >>> definition_of("compass.dae_paper:chefer").key, definition_of("compass.dae").key
    ('compass.dae', 'compass.dae')
    >>> definition_of("ask.accuracy:blind").key
    'ask.accuracy'
    """
    kind = metric.partition(":")[0]
    found = _by_metric().get(kind)
    return found if found is not None else definition(kind if kind in definitions() else metric)


def read_definitions(text: str) -> dict[str, Definition]:
    """Parse definitions from TOML.

    Raises:
        UsageError: If an entry is incomplete, has an unknown field, or refers to an unknown key.
    """
    found: dict[str, Definition] = {}
    for instrument, metrics in tomllib.loads(text).items():
        for metric, entry in metrics.items():
            key = f"{instrument}.{metric}"
            found[key] = _definition(key, entry)
    beside: dict[str, list[str]] = {key: list(each.beside) for key, each in found.items()}
    for key, each in found.items():
        for other in each.beside:
            if other not in found:
                raise UsageError(f"the definition of {key} refers to {other!r}, which is not defined")
            if key not in beside[other]:
                beside[other].append(key)
    return {key: replace(each, beside=tuple(beside[key])) for key, each in found.items()}


def _definition(key: str, entry: Mapping[str, Any]) -> Definition:
    missing = [name for name in _NEEDED if not entry.get(name)]
    if missing:
        raise UsageError(f"the definition of {key} has no {missing[0]}")
    known = set(Definition.__dataclass_fields__) - {"key"}
    unknown = [name for name in entry if name not in known]
    if unknown:
        raise UsageError(f"the definition of {key} has an unknown entry {unknown[0]!r}")
    for name, choice in _CHOICES.items():
        if entry[name] not in get_args(choice):
            raise UsageError(
                f"the {name} of {key} must be one of {', '.join(get_args(choice))}, not {entry[name]!r}"
            )
    if entry["reading"] == "paper" and not entry.get("source"):
        raise UsageError(f"the definition of {key} is from a paper, but has no source")
    lists = {name: tuple(entry.get(name, ())) for name in _LISTS}
    return Definition(key, **{**entry, **lists})
