"""Finding the JSON of a scene graph in free text, mending it where it is broken, and saying which of the two it took."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

Found: TypeAlias = Literal["json", "repaired", "none"]

_FENCE = re.compile(r"```[ \t]*[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_OPENS = re.compile(r"[{\[]")
_LONGEST = 200_000
"""Characters of an answer that are read; a graph of twelve objects has some three thousand."""
NODES = ("objects", "nodes", "object_list", "entities")
EDGES = ("edges", "relations", "relationships", "links")


def find_json(text: str) -> tuple[Any, Found]:
    r"""The value that looks most like a graph, and how it was had.

    In order: a fenced block, then whatever begins with a bracket, both read as they are; then the same, mended with
    `json_repair` (missing quotes and commas, an end that was cut off, comments).

    >>> find_json('Sure! ```json\n{"objects": [], "edges": []}\n```')
    ({'objects': [], 'edges': []}, 'json')
    >>> find_json('{"objects": [{"id": 1, "dist_to_cam": 3.2')[1]
    'repaired'
    """
    text = text[:_LONGEST]
    fenced = [block for block in _FENCE.findall(text) if _OPENS.search(block)]
    read = [value for part in [*fenced, text] for value in _decoded(part)]
    best = max(read, key=graph_likeness, default=None)
    if graph_likeness(best) > 0:
        return best, "json"
    for part in [*fenced, text]:
        match = _OPENS.search(part)
        if match is None:
            continue
        value = _repaired(part[match.start() :])
        if graph_likeness(value) > 0:
            return value, "repaired"
    return None, "none"


def graph_likeness(value: Any) -> int:
    """How many objects and edges a value seems to hold; 0 for what is no graph.

    >>> graph_likeness({"objects": [{"id": 1}], "edges": []}), graph_likeness([1, 2])
    (2, 0)
    """
    if isinstance(value, dict):
        inner = [v for k, v in value.items() if str(k).lower() in (*NODES, *EDGES)]
        if inner:
            return 1 + sum(len(part) for part in inner if isinstance(part, list | dict))
        return max((graph_likeness(v) for v in value.values() if isinstance(v, dict)), default=0)
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        nested = max(map(graph_likeness, value))
        return nested or (1 if any("id" in entry for entry in value) else 0)
    return 0


def _decoded(text: str) -> Iterator[Any]:
    """Every outermost value that strict JSON allows (and NaN, which Python's reader lets through).

    Behind a bracket that cannot be read, a bare list may be a part of something larger that is broken, so only a whole
    graph counts.
    """
    decoder = json.JSONDecoder()
    place, tries, is_broken = 0, 0, False
    while tries < 50 and (match := _OPENS.search(text, place)):
        tries += 1
        try:
            value, place = decoder.raw_decode(text, match.start())
            if not is_broken or isinstance(value, dict):
                yield value
        except (ValueError, RecursionError):
            place, is_broken = match.end(), True


def _repaired(text: str) -> Any:
    import json_repair

    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, KeyError, TypeError, AttributeError):
        return None  # what even the mender cannot read is no graph
