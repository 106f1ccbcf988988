"""The graphs of one setting: how many can be read, how many are complete, how good they are, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.core.definitions import column
from theodolite.core.tables import Column, Table
from theodolite.instruments.scene.formulas.layout import triangles
from theodolite.instruments.scene.reading.results import GraphResult

_PARTS: tuple[tuple[str, str, str, Callable[[GraphResult], float | None]], ...] = (
    ("size", "S_size", "scene.s_est", lambda row: row.score.estimates.size),
    ("camera", "S_camera", "scene.s_est", lambda row: row.score.estimates.camera),
    ("distance", "S_dist", "scene.s_est", lambda row: row.score.estimates.distance),
    ("s_est", "S_est", "scene.s_est", lambda row: row.score.s_est),
    ("s_rel", "S_rel", "scene.s_rel", lambda row: row.score.s_rel),
    ("stated", "S_rel, stated", "scene.s_rel_stated", lambda row: row.score.relations.stated),
    (
        "sgc_of_read",
        "SGC of read graphs",
        "scene.sgc_of_read",
        lambda row: row.score.sgc if row.reading.is_read else None,
    ),
)
"""Name, title, definition and value of the parts of SGC."""


@dataclass(frozen=True, slots=True)
class GraphOverview:
    """The graphs of one setting."""

    setting: str
    asked: int
    """Answered or refused."""
    pending: int
    failed: int
    refused: int
    unreadable: int
    """Answered, but without a graph: unreadable or cut off."""
    valid: stats.Estimate | None
    """Share that is valid JSON."""
    readable: stats.Estimate | None
    """Share that is JSON as it stands or after repair."""
    complete: stats.Estimate | None
    """Share with every node, edge, number and relation that was asked for."""
    contradictions: stats.Estimate | None
    """Share of impossible triangles camera–centre–object, among those whose sides are given."""
    parts: Mapping[str, stats.Estimate | None]
    """The parts of SGC."""
    problems: Mapping[str, int]
    """Missing, extra, contradictory, unreadable … entries of all graphs."""


def graph_overview(setting: str, rows: Sequence[GraphResult]) -> GraphOverview:
    """The overview of one setting."""
    measured = [row for row in rows if row.is_measured]
    problems: Counter[str] = Counter()
    for row in measured:
        problems.update({str(kind): n for kind, n in row.reading.problems.items()})
    checks = [(row.scene, *triangles(row.reading.graph)) for row in measured if row.reading.graph is not None]
    impossible = [
        (scene, is_impossible)
        for scene, n, n_impossible in checks
        for is_impossible in [1.0] * n_impossible + [0.0] * (n - n_impossible)
    ]
    statuses = Counter(row.status for row in rows)
    found = Counter(row.reading.status for row in measured)
    return GraphOverview(
        setting,
        asked=len(measured),
        pending=statuses["pending"],
        failed=statuses["failed"],
        refused=found["refused"],
        unreadable=found["unreadable"] + found["cut off"],
        valid=_mean(measured, lambda row: row.reading.status == "valid"),
        readable=_mean(measured, lambda row: row.reading.is_read),
        complete=_mean(measured, lambda row: row.reading.is_complete),
        contradictions=stats.clustered_mean(
            [value for _, value in impossible], [scene for scene, _ in impossible]
        ),
        parts={name: _mean(measured, value) for name, _, _, value in _PARTS},
        problems=dict(problems.most_common()),
    )


def _mean(rows: Sequence[GraphResult], value: Callable[[GraphResult], float | None]) -> stats.Estimate | None:
    kept = [(float(found), row.scene) for row in rows if (found := value(row)) is not None]
    return stats.clustered_mean([found for found, _ in kept], [scene for _, scene in kept])


def graphs_table(overviews: Sequence[GraphOverview]) -> Table:
    """How many graphs can be used."""
    return Table.of(
        "scene.graphs",
        "Graphs",
        [
            Column("setting", "setting"),
            Column("asked", "asked", "count"),
            column("scene.graph_valid", "valid", "valid JSON"),
            column("scene.graph_valid", "readable", "readable"),
            column("scene.graph_valid", "complete", "complete"),
            column("scene.graph_contradicts", "contradictions"),
            Column("refused", "refused", "count"),
            Column("unreadable", "unreadable", "count"),
            Column("failed", "failed", "count"),
            Column("pending", "pending", "count"),
        ],
        [
            [
                each.setting,
                each.asked,
                each.valid,
                each.readable,
                each.complete,
                each.contradictions,
                each.refused,
                each.unreadable,
                each.failed,
                each.pending,
            ]
            for each in overviews
        ],
    )


def parts_table(overviews: Sequence[GraphOverview]) -> Table:
    """The parts of SGC."""
    return Table.of(
        "scene.graph_parts",
        "Parts of SGC",
        [
            Column("setting", "graphs"),
            *(column(key, name, title) for name, title, key, _ in _PARTS),
        ],
        [[each.setting, *(each.parts[name] for name, *_ in _PARTS)] for each in overviews],
    )


def problems_table(overviews: Sequence[GraphOverview]) -> Table:
    """What is wrong with the graphs, counted."""
    kinds = sorted({kind for each in overviews for kind in each.problems})
    return Table.of(
        "scene.graph_problems",
        "Problems in the graphs",
        [Column("problem", "problem"), *(Column(each.setting, each.setting, "count") for each in overviews)],
        [[kind, *(each.problems.get(kind, 0) for each in overviews)] for kind in kinds],
    )
