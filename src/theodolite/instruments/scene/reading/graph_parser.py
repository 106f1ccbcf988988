"""Reading a scene graph out of free text: every departure from what was asked for is counted, none is fatal.

Accepted: ids as numbers or text ("3", "object 3"); relations as a list of words, one string, or a table of flags; sizes as a
table, a list in the order width, length, height, or a string; lengths with units; objects and edges as lists or as tables by
id; an edge written the other way round (its words are turned). A number that is missing, NaN, infinite, zero or negative
becomes None and is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from theodolite.instruments.scene.data.graph import Edge, Node, StarGraph
from theodolite.instruments.scene.data.relations import PAIRS, opposite
from theodolite.instruments.scene.reading.graph_fields import (
    Trouble,
    first,
    length_of,
    mark_of,
    relation_of,
    size_of,
)
from theodolite.instruments.scene.reading.graph_text import EDGES, NODES, find_json
from theodolite.instruments.scene.reading.spoken import REFUSAL, spoken

GRAPH_PARSER = "scene-graph/1"
"""The name and version that is stored beside each reading."""

GraphStatus: TypeAlias = Literal["parsed", "repaired", "unparsed", "refused"]
_LACKS: tuple[Trouble, ...] = (
    "missing node",
    "missing edge",
    "missing number",
    "missing relation",
    "impossible number",
)
_ID_KEYS = ("id", "object_id", "node_id", "local_id", "mark", "label", "object", "name")
_TO_KEYS = ("to", "target", "object", "to_id", "id", "node", "dst")
_FROM_KEYS = ("from", "source", "subject", "from_id", "src", "center", "centre")
_CAMERA_KEYS = (
    "dist_to_cam",
    "distance_to_camera",
    "dist_to_camera",
    "distance_to_cam",
    "cam_distance",
    "distance",
    "depth",
)
_DISTANCE_KEYS = ("distance", "dist", "distance_m", "metric_distance")
_RELATION_KEYS = (
    "relation",
    "relations",
    "relationship",
    "predicate",
    "predicates",
    "direction",
    "directions",
)


@dataclass(frozen=True, slots=True)
class GraphReading:
    """What was read: a graph, or why not; and everything about it that is not as it was asked for."""

    status: GraphStatus
    """``parsed``: valid JSON; ``repaired``: only after mending."""
    graph: StarGraph | None = None
    troubles: Mapping[Trouble, int] = field(default_factory=dict)
    wordless: frozenset[int] = frozenset()
    """Objects whose edge has no relation at all, which is not the same as an empty one."""
    reason: str = ""

    @property
    def is_read(self) -> bool:
        """Whether there is a graph to score."""
        return self.graph is not None

    @property
    def is_complete(self) -> bool:
        """Whether no node, edge, number or relation is missing."""
        return self.is_read and not any(self.troubles.get(kind) for kind in _LACKS)


def parse_graph(text: str, centre: int, marks: Collection[int]) -> GraphReading:
    """Reads the star graph that a model gave for these marks.

    >>> said = '{"objects": [{"id": "1", "dist_to_cam": "3.2 m", "size": [1, 2, 1]}], "edges": []}'
    >>> reading = parse_graph(said, 1, {1, 2})
    >>> reading.graph.nodes[0].distance_m, reading.troubles["missing node"]
    (3.2, 1)
    """
    said = spoken(text)
    value, found = find_json(said.text)
    if found == "none":
        if said.is_unfinished:
            return GraphReading("unparsed", reason="the model was still thinking")
        if REFUSAL.search(said.text):
            return GraphReading("refused", reason="declines to answer")
        return GraphReading("unparsed", reason="no graph found" if said.text else "empty")
    return read_graph(value, centre, marks, status="parsed" if found == "json" else "repaired")


def read_graph(
    value: Any, centre: int, marks: Collection[int], *, status: GraphStatus = "parsed"
) -> GraphReading:
    """Reads a graph from decoded JSON, as `parse_graph` does from text."""
    troubles: Counter[Trouble] = Counter()
    table = _table(value)
    nodes = _nodes(_entries(table, NODES, troubles), set(marks), troubles)
    wordless: set[int] = set()
    edges = _edges(_entries(table, EDGES, troubles), centre, set(marks), (troubles, wordless))
    if not nodes and not edges:
        return GraphReading("unparsed", troubles=troubles, reason="the JSON holds none of the objects")
    troubles["missing node"] += len(set(marks) - nodes.keys())
    troubles["missing edge"] += len(set(marks) - {centre} - edges.keys())
    graph = StarGraph(
        centre, tuple(nodes[mark] for mark in sorted(nodes)), tuple(edges[mark] for mark in sorted(edges))
    )
    return GraphReading(status, graph, +troubles, frozenset(wordless))


def _table(value: Any) -> Mapping[str, Any]:
    """The table that holds objects and edges, however deep it is wrapped; a bare list is taken for the objects."""
    if isinstance(value, list):
        inner = [
            entry for entry in value if isinstance(entry, dict) and first(entry, (*NODES, *EDGES)) is not None
        ]
        return _table(inner[-1]) if inner else {"objects": value}
    if not isinstance(value, dict):
        return {}
    table = {str(k).lower(): v for k, v in value.items()}
    if any(key in table for key in (*NODES, *EDGES)):
        return table
    inner = [v for v in table.values() if isinstance(v, dict)]
    return next((t for t in map(_table, inner) if t), {})


def _entries(
    table: Mapping[str, Any], names: tuple[str, ...], troubles: Counter[Trouble]
) -> Iterator[dict[str, Any]]:
    """The entries of a list, or of a table by id, with small keys; what is no entry is counted."""
    found = first(table, names)
    if isinstance(found, dict):
        listed = [{"id": k, "to": k, **v} if isinstance(v, dict) else v for k, v in found.items()]
    else:
        listed = found if isinstance(found, list) else []
    if found is not None and not isinstance(found, list | dict):
        troubles["unreadable entry"] += 1
    for entry in listed:
        if isinstance(entry, dict):
            yield {str(k).lower(): v for k, v in entry.items()}
        else:
            troubles["unreadable entry"] += 1


def _nodes(entries: Iterator[dict[str, Any]], marks: set[int], troubles: Counter[Trouble]) -> dict[int, Node]:
    nodes: dict[int, Node] = {}
    for entry in entries:
        mark = mark_of(first(entry, _ID_KEYS))
        if mark is None:
            troubles["unreadable entry"] += 1
        elif mark not in marks:
            troubles["extra node"] += 1
        elif mark in nodes:
            troubles["repeated entry"] += 1
        else:
            width, length, height = size_of(entry, troubles)
            far = length_of(first(entry, _CAMERA_KEYS), troubles)
            nodes[mark] = Node(mark, distance_m=far, width_m=width, length_m=length, height_m=height)
    return nodes


def _edges(
    entries: Iterator[dict[str, Any]],
    centre: int,
    marks: set[int],
    notes: tuple[Counter[Trouble], set[int]],
) -> dict[int, Edge]:
    troubles, wordless = notes
    edges: dict[int, Edge] = {}
    for entry in entries:
        start, end = mark_of(first(entry, _FROM_KEYS)), mark_of(first(entry, _TO_KEYS))
        start = centre if start is None else start
        said = first(entry, _RELATION_KEYS)
        words = relation_of(said, troubles)
        if end == centre and start != centre:
            troubles["reversed edge"] += 1
            start, end, words = centre, start, opposite(words)
        if end is None:
            troubles["unreadable entry"] += 1
        elif start != centre or end not in marks or end == centre:
            troubles["extra edge"] += 1
        elif end in edges:
            troubles["repeated entry"] += 1
        else:
            if said is None:
                troubles["missing relation"] += 1
                wordless.add(end)
            troubles["contradictory edge"] += any(set(pair) <= words for pair in PAIRS)
            edges[end] = Edge(
                end, distance_m=length_of(first(entry, _DISTANCE_KEYS), troubles), relation=words
            )
    return edges
