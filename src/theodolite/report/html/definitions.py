"""The definitions that a page needs: every number links to one, and the page lists those that were linked to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from theodolite.core.errors import UsageError
from theodolite.report.definitions import Definition, definition_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One definition as a page lists it."""

    anchor: str
    title: str
    reading: str
    formula: str
    meaning: str
    source: str
    caution: str
    keys: tuple[str, ...]
    """Under which keys the page shows it: one per method, say."""


def anchor_of(key: str) -> str:
    """The id of a key's definition in a page.

    >>> anchor_of("compass.dae")
    'def-compass.dae'
    """
    return "def-" + re.sub(r"[^0-9A-Za-z._-]", "-", key)


class Glossary:
    """Which definitions a page has linked to, and under which keys."""

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        """Names are for keys that have no definition, such as a plug-in's."""
        self._names = dict(names or {})
        self._shown: dict[str, list[str]] = {}

    def anchor(self, key: str) -> str:
        """Where a key is defined; notes that it is shown."""
        found = find(key)
        home = found.key if found is not None else key
        keys = self._shown.setdefault(home, [])
        if key not in keys:
            keys.append(key)
        return anchor_of(home)

    def unit(self, key: str) -> str:
        """The unit of a key; ``number`` if nothing says."""
        found = find(key)
        return found.unit if found is not None else "number"

    def listed(self) -> list[Entry]:
        """What was linked to, by key."""
        return [self._entry(home, tuple(keys)) for home, keys in sorted(self._shown.items())]

    def _entry(self, home: str, keys: tuple[str, ...]) -> Entry:
        found = find(home)
        if found is None:
            name = self._names.get(home, home)
            return Entry(
                anchor_of(home), name, "ours", "", "Defined by the plug-in that gives it.", "", "", keys
            )
        return Entry(
            anchor_of(home),
            found.title,
            found.reading,
            found.formula,
            found.meaning,
            found.source,
            found.caution,
            keys,
        )


@cache
def find(key: str) -> Definition | None:
    """The definition behind a key, if there is one."""
    try:
        return definition_of(key)
    except UsageError:
        return None
