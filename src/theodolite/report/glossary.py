"""The definitions that a page links to and lists at its end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from theodolite.core.scores import find_definition
from theodolite.core.tables import Unit

__all__ = ["Glossary", "GlossaryEntry", "anchor_of"]


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """One definition in the list of a page."""

    anchor: str
    title: str
    reading: str
    formula: str
    meaning: str
    source: str
    caution: str
    keys: tuple[str, ...]
    """The keys under which the page shows it, such as one per method."""


def anchor_of(key: str) -> str:
    """Return the HTML id of a definition in a page.

    >>> anchor_of("compass.dae")
    'def-compass.dae'
    """
    return "def-" + re.sub(r"[^0-9A-Za-z._-]", "-", key)


class Glossary:
    """The definitions that a page links to, with the keys of the links."""

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        """Start empty. `names` are for keys without a definition, such as those of a plug-in."""
        self._names = dict(names or {})
        self._shown: dict[str, list[str]] = {}

    def anchor(self, key: str) -> str:
        """Return the HTML id of the definition of a key, and add it to the list."""
        definition = find_definition(key)
        home = definition.key if definition is not None else key
        keys = self._shown.setdefault(home, [])
        if key not in keys:
            keys.append(key)
        return anchor_of(home)

    def unit(self, key: str) -> Unit:
        """Return the unit of a key; ``number`` if it has no definition."""
        definition = find_definition(key)
        return (definition.unit or "number") if definition is not None else "number"

    def listed(self) -> list[GlossaryEntry]:
        """Return the definitions with links, by key."""
        return [self._entry(home, tuple(keys)) for home, keys in sorted(self._shown.items())]

    def _entry(self, home: str, keys: tuple[str, ...]) -> GlossaryEntry:
        definition = find_definition(home)
        if definition is None:
            name = self._names.get(home, home)
            return GlossaryEntry(
                anchor_of(home), name, "ours", "", "Defined by the plug-in that computes it.", "", "", keys
            )
        return GlossaryEntry(
            anchor_of(home),
            definition.title,
            definition.reading,
            definition.formula,
            definition.meaning,
            definition.source,
            definition.caution,
            keys,
        )
