"""Every number that the program reports, defined once.

Each instrument has a ``definitions.toml`` in its folder; so have the twins and the diagnosis, and a plug-in may bring its
own beside its instrument. The documentation's page of definitions is made from them, with an anchor for each key, and the
report links its numbers there. An entry:

[instrument.metric]  the key; the anchor in the documentation is the same word
name, title          as tables call it, and in full
unit                 share, points, degrees, bits, nats, ratio, correlation, number
grounded             higher, lower or neither: which way a model that looks lies, other things being equal
reading              paper: as published; sound: without the published defect; ours: nothing like it is published
formula, meaning     in plain text; one sentence
function             ``module:function`` that computes it, below ``theodolite``
source               where a published definition stands
beside               keys of the other readings of the same thing
caution              when not to trust it
fields               which fields of which records hold it
called               by which names tables of named numbers call it
metrics              which item metrics it defines, without their method

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
"""Which way a model that looks lies, other things being equal."""
Reading: TypeAlias = Literal["paper", "sound", "ours"]
"""As published; ours where the published one can mislead; or ours alone."""

_CHOICES = {"unit": Unit, "grounded": Direction, "reading": Reading}
_NEEDED = ("name", "title", "unit", "grounded", "reading", "formula", "meaning")
_LISTS = ("beside", "fields", "called", "metrics")


@dataclass(frozen=True, slots=True)
class Definition:
    """One figure."""

    key: str
    """``instrument.metric``."""
    name: str
    """As tables call it."""
    title: str
    """In full."""
    unit: Unit
    grounded: Direction
    reading: Reading
    formula: str
    """In plain text."""
    meaning: str
    """One sentence."""
    source: str = ""
    """Where a published definition stands."""
    caution: str = ""
    """When not to trust it."""
    beside: tuple[str, ...] = ()
    """Keys of other readings of the same thing; each of them names this one in turn."""
    fields: tuple[str, ...] = ()
    """``Class.field`` of the instrument's records that hold it."""
    called: tuple[str, ...] = ()
    """Names by which tables of named figures call it."""
    function: str = ""
    """``module:function`` that computes it, below ``theodolite``."""
    metrics: tuple[str, ...] = ()
    """Kinds of metrics of single items that it defines: ``dae_paper`` of ``compass.dae_paper:chefer``."""

    @property
    def instrument(self) -> str:
        """The first half of the key."""
        return self.key.partition(".")[0]

    @property
    def anchor(self) -> str:
        """Of the documentation's page of definitions."""
        return self.key


@cache
def definitions() -> Mapping[str, Definition]:
    """All definitions by key, in the order in which instruments tell them."""
    packages = [
        *(entry.target.partition(":")[0].rpartition(".")[0] for entry in registry().entries("instrument")),
        "theodolite.twins",
        "theodolite.diagnose",
    ]
    texts = [found for package in packages if (found := _text(package))]
    return MappingProxyType(read_definitions("\n".join(texts)))


def _text(package: str) -> str:
    """The definitions that lie in a package; empty if it has none."""
    if not package:
        return ""
    file = files(package).joinpath("definitions.toml")
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def definition(key: str) -> Definition:
    """One definition.

    Raises:
        UsageError: there is none of that key; the message names the nearest one.
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
    """The definition behind a metric of single items, whatever method or explainer it was read by.

    Args:
        metric: its key, ``instrument.kind`` or ``instrument.kind:method``; a definition's own key will do.

    Raises:
        UsageError: it is not defined.

    >>> definition_of("compass.dae_paper:chefer").key, definition_of("compass.dae").key
    ('compass.dae', 'compass.dae')
    >>> definition_of("ask.accuracy:blind").key
    'ask.accuracy'
    """
    kind = metric.partition(":")[0]
    found = _by_metric().get(kind)
    return found if found is not None else definition(kind if kind in definitions() else metric)


def read_definitions(text: str) -> dict[str, Definition]:
    """Definitions out of a TOML text of the form that ``definitions.toml`` describes.

    Raises:
        UsageError: one lacks something, says something unknown, or points at a key that is not there.
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
                raise UsageError(f"the definition of {key} stands beside {other!r}, which is not defined")
            if key not in beside[other]:
                beside[other].append(key)
    return {key: replace(each, beside=tuple(beside[key])) for key, each in found.items()}


def _definition(key: str, entry: Mapping[str, Any]) -> Definition:
    lacking = [name for name in _NEEDED if not entry.get(name)]
    if lacking:
        raise UsageError(f"the definition of {key} lacks its {lacking[0]}")
    known = set(Definition.__dataclass_fields__) - {"key"}
    unknown = [name for name in entry if name not in known]
    if unknown:
        raise UsageError(f"the definition of {key} has an unknown entry {unknown[0]!r}")
    for name, choice in _CHOICES.items():
        if entry[name] not in get_args(choice):
            raise UsageError(
                f"the {name} of {key} is one of {', '.join(get_args(choice))}, not {entry[name]!r}"
            )
    if entry["reading"] == "paper" and not entry.get("source"):
        raise UsageError(f"the definition of {key} is a paper's, but does not say its source")
    lists = {name: tuple(entry.get(name, ())) for name in _LISTS}
    return Definition(key, **{**entry, **lists})
