"""Which words a model's graphs use where the true graphs use others: a confusion matrix for each pair of opposite words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from theodolite.core.tables import Cell, Column, Table
from theodolite.worlds.scene_graph import PAIRS, Predicate, Relation, StarGraph

NEITHER, BOTH, NO_EDGE = "neither", "both", "no edge"
Pair = tuple[Predicate, Predicate]


@dataclass(frozen=True, slots=True)
class RelationConfusion:
    """One pair of opposite words over the edges of all true graphs."""

    pair: Pair
    counts: Mapping[tuple[str, str], int]
    """Edges by what is true and what was said: one of the two words, `NEITHER`, `BOTH` or, of what was said, `NO_EDGE`."""

    @property
    def true(self) -> tuple[str, ...]:
        """What is true of some edge, in order."""
        return tuple(word for word in (*self.pair, NEITHER, BOTH) if self.n(word))

    @property
    def said(self) -> tuple[str, ...]:
        """What may be said: always the words and neither, and what else was said of some edge."""
        more = [
            word for word in (BOTH, NO_EDGE) if any(self.counts.get((true, word), 0) for true in self.true)
        ]
        return (*self.pair, NEITHER, *more)

    def n(self, true: str) -> int:
        """Return the number of edges of which this is true."""
        return sum(count for (word, _), count in self.counts.items() if word == true)

    def share(self, true: str, said: str) -> float:
        """Return the share of the edges of which one is true that the model said the other of."""
        return self.counts.get((true, said), 0) / self.n(true) if self.n(true) else 0.0


def relation_confusions(
    graphs: Iterable[tuple[StarGraph, StarGraph | None]],
) -> tuple[RelationConfusion, ...]:
    """Return a matrix for each pair of words.

    Args:
        graphs: True graphs, each with the model's; None if it gave none.

    >>> from theodolite.worlds.scene_graph import Edge
    >>> true, said = (StarGraph(1, (), (Edge(2, 1.0, frozenset({word})),)) for word in ("left", "right"))
    >>> relation_confusions([(true, said)])[0].share("left", "right")
    1.0
    """
    counts: dict[Pair, Counter[tuple[str, str]]] = {pair: Counter() for pair in PAIRS}
    for true, said in graphs:
        edges = {edge.to: edge.relation for edge in said.edges} if said is not None else {}
        for edge in true.edges:
            for pair, counted in counts.items():
                answer = _word(edges[edge.to], pair) if edge.to in edges else NO_EDGE
                counted[_word(edge.relation, pair), answer] += 1
    return tuple(RelationConfusion(pair, dict(counted)) for pair, counted in counts.items() if counted)


def _word(relation: Relation, pair: Pair) -> str:
    words = [word for word in pair if word in relation]
    return words[0] if len(words) == 1 else BOTH if words else NEITHER


_ERRORS = (
    ("right", "right"),
    ("opposite", "the opposite"),
    ("no_word", "no word"),
    ("needless", "a word where none is true"),
    ("both", "both words"),
    ("no_edge", "no edge"),
)
"""Columns of the table; each edge counts in one of them."""


def relations_table(matrices: Iterable[RelationConfusion]) -> Table:
    """Return a row for each thing that is true, with the shares of what was said."""
    rows: list[list[Cell]] = []
    for matrix in matrices:
        for true in matrix.true:
            shares = dict.fromkeys((error for error, _ in _ERRORS), 0.0)
            for said in matrix.said:
                shares[_error(true, said)] += matrix.share(true, said)
            name = true if true in matrix.pair else f"{true}: {', '.join(matrix.pair)}"
            rows.append([name, matrix.n(true), *(shares[error] for error, _ in _ERRORS)])
    columns = [
        Column("true", "true"),
        Column("n", "edges", "count"),
        *(Column(n, t, "share") for n, t in _ERRORS),
    ]
    return Table.of("scene.relations", "Relations: what graphs say, by what is true", columns, rows)


def _error(true: str, said: str) -> str:
    if true == said:
        return "right"
    if said in {BOTH, NO_EDGE}:
        return said.replace(" ", "_")
    if said == NEITHER:
        return "no_word"
    return "needless" if true == NEITHER else "opposite"
