"""Reading a scene graph from a model's text. Every departure from the requested form is counted; none is fatal.

The JSON is found by `theodolite.answers.json_values`: fenced or not, repaired if broken, the last complete graph first. Objects
and edges may stand in one value, in two, or one by one; in strings that hold JSON; with typographic quotes; beside comments. Within
them are accepted: ids as numbers or text ("3", "object 3"); relations as a list of words, one string or a table of flags; sizes
as a table, a list in the order width, length, height, or a string; lengths with units; objects and edges as lists or as tables
by id; an edge written in the opposite direction (its words are inverted). A number that is missing, NaN, infinite, zero or
negative becomes None and is counted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from theodolite.answers import (
    AnswerFormat,
    JsonValue,
    cut_note,
    guarded,
    json_values,
    outer_layers,
    quantities,
    read_answer,
)
from theodolite.answers.options import axes_of
from theodolite.answers.text import simple
from theodolite.core.errors import UsageError
from theodolite.worlds.scene_graph import PAIRS, Edge, Node, Predicate, Relation, StarGraph, opposite

GRAPH_READER = "scene-graph/4"
"""Name and version of the reader, stored beside every graph."""

GraphStatus: TypeAlias = Literal["valid", "repaired", "partial", "refused", "cut off", "unreadable"]
"""``valid``: valid JSON. ``repaired``: JSON after repair. ``partial``: no object or no edge, whatever the JSON. The others: no graph."""
Problem: TypeAlias = Literal[
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
_GAPS: tuple[Problem, ...] = (
    "missing node",
    "missing edge",
    "missing number",
    "missing relation",
    "impossible number",
)
"""Problems that make a graph incomplete."""

_NODES = ("objects", "nodes", "object_list", "entities")
_EDGES = ("edges", "relations", "relationships", "links")
_IDS = ("id", "object_id", "node_id", "local_id", "mark", "label", "object", "name")
_TARGETS = ("to", "target", "object", "to_id", "id", "node", "dst")
_SOURCES = ("from", "source", "subject", "from_id", "src", "center", "centre")
_ONLY_TARGETS = ("to", "target", "to_id", "dst")
"""Keys that only edges have."""
_CAMERA_DISTANCES = (
    "dist_to_cam",
    "distance_to_camera",
    "dist_to_camera",
    "distance_to_cam",
    "cam_distance",
    "distance",
    "depth",
)
_DISTANCES = ("distance", "dist", "distance_m", "metric_distance")
_RELATIONS = ("relation", "relations", "relationship", "predicate", "predicates", "direction", "directions")
_SIZES = ("size", "dimensions", "dims", "extent")
_SIDES = (("w", "width"), ("l", "length", "depth", "d"), ("h", "height"))
_WORDS: Mapping[str, Predicate] = {
    "left": "left",
    "right": "right",
    "front": "in front of",
    "near": "in front of",
    "back": "behind",
    "far": "behind",
    "up": "up",
    "down": "down",
}
"""The words of a graph, by the directions of `theodolite.answers.options`."""
_BESIDE = frozenset(
    {"center", "centre", "central", "object", "camera", "than", "with", "respect", "relative"}
)
"""Words beside a direction that do not change it: "to the left of the center object"."""
_NEUTRAL = frozenset(
    {"", "none", "null", "same", "same level", "level", "aligned", "nothing", "neither", "n/a", "na"}
)
_LARGEST_MARK = 10**9


@dataclass(frozen=True, slots=True)
class GraphReading:
    """A graph, or why there is none, and every departure from the requested form."""

    status: GraphStatus
    graph: StarGraph | None = None
    problems: Mapping[Problem, int] = field(default_factory=dict)
    wordless: frozenset[int] = frozenset()
    """Objects whose edge has no relation at all, which is not the same as an empty one."""
    reason: str = ""

    @property
    def is_read(self) -> bool:
        """True if there is a graph to score."""
        return self.graph is not None

    @property
    def is_complete(self) -> bool:
        """True if no node, edge, number or relation is missing."""
        return self.is_read and not any(self.problems.get(kind) for kind in _GAPS)


def parse_graph(text: str, centre: int, marks: Collection[int], *, is_cut_off: bool = False) -> GraphReading:
    """Read the star graph that a model gave.

    Args:
        text: The model's text.
        centre: The mark of the centre object.
        marks: All marks.
        is_cut_off: True if generation stopped at the token limit.

    Returns:
        Never raises (`theodolite.answers.text`); the time is linear in the length of the text.

    >>> said = '{"objects": [{"id": "1", "dist_to_cam": "3.2 m", "size": [1, 2, 1]}], "edges": []}'
    >>> reading = parse_graph(said, 1, {1, 2})
    >>> reading.graph.nodes[0].distance_m, reading.problems["missing node"]
    (3.2, 1)
    """
    reading = guarded(
        lambda text: _parse(text, centre, marks, is_cut_off=is_cut_off),
        text,
        unread=lambda why: GraphReading("unreadable", reason=why),
    )
    return replace(reading, reason="; ".join(filter(None, (reading.reason, cut_note(text)))))


def _parse(text: str, centre: int, marks: Collection[int], *, is_cut_off: bool) -> GraphReading:
    visible = outer_layers(text).visible
    plain = simple(visible)
    found: list[tuple[dict[str, Any], GraphStatus]] = []
    for wording in dict.fromkeys((visible, plain, plain.replace('\\"', '"').replace("\\n", "\n"))):
        table, is_repaired = _gathered(json_values(wording))
        if table:
            found.append((table, "repaired" if is_repaired or wording != visible else "valid"))
        if table.keys() >= {"nodes", "edges"}:
            break
    for table, status in sorted(found, key=lambda entry: -len(entry[0]))[:1]:
        return read_graph(
            {"objects": table.get("nodes"), "edges": table.get("edges")}, centre, marks, status=status
        )
    answer = read_answer(text, AnswerFormat.text(), is_cut_off=is_cut_off)
    if answer.status in {"refused", "cut off"}:
        return GraphReading("refused" if answer.status == "refused" else "cut off", reason=answer.reason)
    return GraphReading("unreadable", reason="no graph found" if answer.is_read else answer.reason)


def read_graph(
    value: Any, centre: int, marks: Collection[int], *, status: GraphStatus = "valid"
) -> GraphReading:
    """Read a graph from decoded JSON, as `parse_graph` does from text.

    Args:
        value: Decoded JSON.
        centre: The mark of the centre object.
        marks: All marks.
        status: Whether the JSON was valid or repaired.
    """
    problems: Counter[Problem] = Counter()
    table = _table(value)
    nodes = _read_nodes(table.get("nodes"), set(marks), problems)
    wordless: set[int] = set()
    edges = _read_edges(table.get("edges"), centre, set(marks), (problems, wordless))
    if not nodes and not edges:
        return GraphReading(
            "unreadable", problems=problems, reason="the JSON describes none of the marked objects"
        )
    problems["missing node"] += len(set(marks) - nodes.keys())
    problems["missing edge"] += len(set(marks) - {centre} - edges.keys())
    graph = StarGraph(
        centre, tuple(nodes[mark] for mark in sorted(nodes)), tuple(edges[mark] for mark in sorted(edges))
    )
    is_partial = len(marks) > 1 and not (nodes and edges)
    return GraphReading("partial" if is_partial else status, graph, +problems, frozenset(wordless))


def _gathered(values: Sequence[JsonValue]) -> tuple[dict[str, Any], bool]:
    """Return the nodes and edges of the first value with both, else of several, and whether any of these was repaired."""
    tables = [(table, decoded) for decoded in values if (table := _table(decoded.value))]
    for table, decoded in tables:
        if table.keys() >= {"nodes", "edges"}:
            return table, decoded.is_repaired
    merged: dict[str, Any] = {}
    is_repaired = False
    for table, decoded in tables:
        if not table.keys() <= merged.keys():
            merged, is_repaired = table | merged, is_repaired or decoded.is_repaired
    singles = [d.value for d in values if isinstance(d.value, dict) and not _table(d.value)]
    for name, is_one in (("nodes", _is_node), ("edges", _is_edge)):
        ones = [single for single in singles if is_one(_lower(single))]
        if ones and name not in merged:
            merged[name], is_repaired = ones, True
    return merged, is_repaired


def _is_edge(entry: Mapping[str, Any]) -> bool:
    return _first(entry, _SOURCES) is not None and _first(entry, _ONLY_TARGETS) is not None


def _is_node(entry: Mapping[str, Any]) -> bool:
    has_id = _first(entry, _IDS) is not None
    return has_id and not _is_edge(entry) and _first(entry, (*_CAMERA_DISTANCES, *_SIZES)) is not None


def _unquoted(value: Any) -> Any:
    """Return the value that a string holds as JSON; any other value as it is."""
    if isinstance(value, str) and ("{" in value or "[" in value):
        return next((decoded.value for decoded in json_values(value)), value)
    return value


def _table(value: Any) -> dict[str, Any]:
    """Return the nodes and edges in a value, however deeply wrapped. Empty if none.

    A list of entries from an object to another counts as edges, of other entries with ids as nodes.
    """
    value = _unquoted(value)
    if isinstance(value, list):
        tables = [entry for entry in value if isinstance(entry, dict)]
        inner = [table for table in map(_table, tables) if table]
        if inner:
            return inner[-1]
        if tables and all(_is_edge(_lower(entry)) for entry in tables):
            return {"edges": value}
        return {"nodes": value} if any(_first(_lower(entry), _IDS) is not None for entry in tables) else {}
    if not isinstance(value, dict):
        return {}
    entries = _lower(value)
    parts = {"nodes": _unquoted(_first(entries, _NODES)), "edges": _unquoted(_first(entries, _EDGES))}
    if any(name in entries for name in (*_NODES, *_EDGES)) and not _is_edge(entries):
        return {name: part for name, part in parts.items() if part is not None}
    return next((nested for nested in map(_table, entries.values()) if nested), {})


def _lower(table: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key).lower(): value for key, value in table.items()}


def _first(table: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((table[name] for name in names if table.get(name) is not None), None)


def _entries(value: Any, problems: Counter[Problem]) -> Iterator[dict[str, Any]]:
    """Yield the entries of a list, or of a table by id; anything else is counted."""
    if isinstance(value, dict):
        listed = [{"id": key, "to": key, **v} if isinstance(v, dict) else v for key, v in value.items()]
    else:
        listed = value if isinstance(value, list) else []
    if value is not None and not isinstance(value, list | dict):
        problems["unreadable entry"] += 1
    for entry in listed:
        if isinstance(entry, dict):
            yield _lower(entry)
        else:
            problems["unreadable entry"] += 1


def _read_nodes(value: Any, marks: set[int], problems: Counter[Problem]) -> dict[int, Node]:
    nodes: dict[int, Node] = {}
    for entry in _entries(value, problems):
        mark = _mark(_first(entry, _IDS))
        if mark is None:
            problems["unreadable entry"] += 1
        elif mark not in marks:
            problems["extra node"] += 1
        elif mark in nodes:
            problems["repeated entry"] += 1
        else:
            width, length, height = _size(entry, problems)
            far = _length(_first(entry, _CAMERA_DISTANCES), problems)
            nodes[mark] = Node(mark, distance_m=far, width_m=width, length_m=length, height_m=height)
    return nodes


def _read_edges(
    value: Any, centre: int, marks: set[int], notes: tuple[Counter[Problem], set[int]]
) -> dict[int, Edge]:
    problems, wordless = notes
    edges: dict[int, Edge] = {}
    for entry in _entries(value, problems):
        start, end = _mark(_first(entry, _SOURCES)), _mark(_first(entry, _TARGETS))
        start = centre if start is None else start
        stated = _first(entry, _RELATIONS)
        words = _relation(stated, problems)
        if end == centre and start != centre:
            problems["reversed edge"] += 1
            start, end, words = centre, start, opposite(words)
        if end is None:
            problems["unreadable entry"] += 1
        elif start != centre or end not in marks or end == centre:
            problems["extra edge"] += 1
        elif end in edges:
            problems["repeated entry"] += 1
        else:
            if stated is None:
                problems["missing relation"] += 1
                wordless.add(end)
            problems["contradictory edge"] += any(set(pair) <= words for pair in PAIRS)
            edges[end] = Edge(end, distance_m=_length(_first(entry, _DISTANCES), problems), relation=words)
    return edges


def _mark(value: Any) -> int | None:
    """Return an id: 3, 3.0, "3", "object 3", "#3", "<3>"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if abs(value) < _LARGEST_MARK and value == int(value) else None
    if isinstance(value, str):
        digits = re.findall(r"\d{1,9}", value[:80])
        return (
            int(digits[0]) if len(digits) == 1 or (digits and value.strip().startswith(digits[0])) else None
        )
    return None


def _length(value: Any, problems: Counter[Problem]) -> float | None:
    """Return metres above zero; anything else is counted and becomes None."""
    number: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = math.inf if abs(value) > 1e12 else float(value)
    elif isinstance(value, str):
        lengths = quantities(value)
        number = lengths[0].to("m") if len(lengths) == 1 else None
        if number is None and re.fullmatch(r"\W*(?:nan|inf(?:inity)?)\W*", value, re.IGNORECASE):
            number = math.nan
    if number is None:
        problems["missing number"] += 1
        return None
    if not math.isfinite(number) or number <= 0:
        problems["impossible number"] += 1
        return None
    return number


def _size(entry: Mapping[str, Any], problems: Counter[Problem]) -> tuple[float | None, ...]:
    """Return width, length, height."""
    size = _first(entry, _SIZES)
    if isinstance(size, str):
        size = [part.strip() for part in re.split(r"[x×*,;/]", size.strip("[]() "))]
    if isinstance(size, list):
        values = size if len(size) == 3 else [None, None, None]
    else:
        source = _lower(size) if isinstance(size, dict) else entry
        values = [_first(source, names) for names in _SIDES]
    return tuple(_length(value, problems) for value in values)


def _relation(value: Any, problems: Counter[Problem]) -> Relation:
    """Return the words of a list, a string or a table of flags."""
    phrases: list[str] = []
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            phrases += [str(word) for word, flag in part.items() if _is_set(flag)]
        elif isinstance(value, list) or isinstance(part, str):
            phrases.append(str(part))
    words: set[Predicate] = set()
    for phrase in phrases:
        if phrase.strip().lower() in _NEUTRAL:
            continue
        for part in re.split(
            r"[,;/|&+]|\band\b", phrase.lower().replace("_", " ").replace("before", "front")
        ):
            tokens = re.findall(r"[^\W\d_]+", part)
            directions = {_WORDS[axis] for axis in axes_of(tokens, _BESIDE) if axis in _WORDS}
            words |= directions
            if not directions and " ".join(tokens) not in _NEUTRAL:
                problems["unknown word"] += 1
    return frozenset(words)


def _is_set(flag: Any) -> bool:
    if isinstance(flag, str):
        return flag.strip().lower() in {"1", "true", "yes", "y", "1.0"}
    is_nan = isinstance(flag, float) and math.isnan(flag)
    return isinstance(flag, int | float) and not is_nan and flag != 0


def star_from_json(value: Mapping[str, Any], centre: int | None = None) -> StarGraph:
    """Build a star graph from JSON: the inverse of `StarGraph.as_json`.

    Args:
        value: Objects and edges.
        centre: Its mark; taken from the edges if not given.
    """
    edges = value.get("edges") or ()
    if centre is None:
        centre = int(edges[0]["from"]) if edges else int(value["objects"][0]["id"])
    reading = read_graph(value, centre, {int(thing["id"]) for thing in value["objects"]})
    if reading.graph is None:
        raise UsageError(f"a stored graph cannot be read: {reading.reason}")
    return reading.graph
