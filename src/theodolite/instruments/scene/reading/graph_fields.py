"""The fields of a graph's entries: ids, lengths, sizes and relations, however they are written."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from theodolite.instruments.scene.data.relations import Predicate, Relation
from theodolite.instruments.scene.reading.numbers import quantities

Trouble: TypeAlias = Literal[
    "missing node",
    "missing edge",
    "missing number",
    "missing relation",
    "impossible number",
    "extra node",
    "extra edge",
    "repeated entry",
    "contradictory edge",
    "reversed edge",
    "unknown word",
    "unreadable entry",
]

_WORDS: Mapping[str, Predicate] = {
    **dict.fromkeys(("left", "to the left", "on the left", "left of", "to the left of", "on the left of"), "left"),
    **dict.fromkeys(
        ("right", "to the right", "on the right", "right of", "to the right of", "on the right of"), "right"
    ),
    **dict.fromkeys(
        ("in front of", "in front", "front", "front of", "ahead", "ahead of", "closer", "nearer", "before"), "in front of"
    ),
    **dict.fromkeys(("behind", "back", "at the back", "in back of", "rear", "farther", "further"), "behind"),
    **dict.fromkeys(("up", "above", "over", "on top", "on top of", "higher", "upper"), "up"),
    **dict.fromkeys(("down", "below", "under", "underneath", "beneath", "lower"), "down"),
}  # fmt: skip
_NEUTRAL = frozenset(
    {"", "none", "null", "same", "same level", "level", "aligned", "nothing", "neither", "n/a", "na"}
)
_SIZE_KEYS = {"w": ("w", "width"), "l": ("l", "length", "depth", "d"), "h": ("h", "height")}


def first(table: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The value of the first of these names that is there."""
    return next((table[name] for name in names if table.get(name) is not None), None)


def mark_of(value: Any) -> int | None:
    """An id: 3, 3.0, "3", "object 3", "#3", "<3>"."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return int(value) if math.isfinite(value) and value == int(value) else None
    if isinstance(value, str):
        found = re.findall(r"\d{1,9}", value)
        return int(found[0]) if len(found) == 1 or (found and value.strip().startswith(found[0])) else None
    return None


def length_of(value: Any, troubles: Counter[Trouble]) -> float | None:
    """Metres above zero; anything else is counted and becomes None."""
    number: float | None = None
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        number = None
    elif isinstance(value, int | float):
        number = float(value) if abs(value) < 1e12 or value != value else math.inf  # noqa: PLR0124 - NaN
    elif isinstance(value, str):
        found = quantities(value)
        number = found[0].value if len(found) == 1 else None
        if number is None and re.fullmatch(r"\W*(?:nan|[-+]?inf(?:inity)?)\W*", value, re.IGNORECASE):
            number = math.nan
    if number is None:
        troubles["missing number"] += 1
        return None
    if not math.isfinite(number) or number <= 0:
        troubles["impossible number"] += 1
        return None
    return number


def size_of(entry: Mapping[str, Any], troubles: Counter[Trouble]) -> tuple[float | None, ...]:
    """Width, length, height."""
    size = first(entry, ("size", "dimensions", "dims", "extent"))
    if isinstance(size, str):
        parts = re.split(r"\s*[x×*,;/]\s*", size.strip("[]() "))
        size = parts if len(parts) == 3 else [q.value for q in quantities(size)]
    if isinstance(size, list):
        values = size if len(size) == 3 else [None, None, None]
    else:
        source = {str(k).lower(): v for k, v in size.items()} if isinstance(size, dict) else entry
        values = [first(source, names) for names in _SIZE_KEYS.values()]
    return tuple(length_of(value, troubles) for value in values)


def relation_of(value: Any, troubles: Counter[Trouble]) -> Relation:
    """Words of a list, a string or a table of flags."""
    if isinstance(value, dict):
        said = [str(word) for word, flag in value.items() if _is_set(flag)]
    elif isinstance(value, list):
        said = [str(word) for word in value if not isinstance(word, dict)]
        said += [
            str(word) for table in value if isinstance(table, dict) for word, f in table.items() if _is_set(f)
        ]
    else:
        said = [value] if isinstance(value, str) else []
    words: set[Predicate] = set()
    for phrase in said:
        for part in re.split(r"\s*(?:[,;/|&+]|\band\b)\s*", phrase.lower().replace("_", " ").strip(" .")):
            word = _WORDS.get(part) or _WORDS.get(part.removeprefix("slightly ").removesuffix(" the center"))
            if word is not None:
                words.add(word)
            elif (pair := part.replace("-", " ").split()) and all(each in _WORDS for each in pair):
                words.update(_WORDS[each] for each in pair)
            elif part not in _NEUTRAL:
                troubles["unknown word"] += 1
    return frozenset(words)


def _is_set(flag: Any) -> bool:
    if isinstance(flag, str):
        return flag.strip().lower() in {"1", "true", "yes", "y", "1.0"}
    return isinstance(flag, int | float) and not math.isnan(flag) and flag != 0
