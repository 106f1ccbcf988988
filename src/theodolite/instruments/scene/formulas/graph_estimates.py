"""What became of the graphs of one setting: their scores, how many could be read, and everything that was wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.instruments.scene.data.graph import Domain
from theodolite.instruments.scene.estimates import Drawn
from theodolite.instruments.scene.formulas.layout import triangles
from theodolite.instruments.scene.formulas.sgc import GraphScore
from theodolite.instruments.scene.results import GraphRow
from theodolite.instruments.scene.settings import GraphSetting


@dataclass(frozen=True, slots=True)
class GraphParts:
    """The scores of graphs, meaned over scenes. What was not given or not readable scores 0."""

    sgc: stats.Estimate | None
    estimate: stats.Estimate | None
    relation: stats.Estimate | None
    size: stats.Estimate | None
    distance_to_camera: stats.Estimate | None
    distance: stats.Estimate | None
    stated: stats.Estimate | None
    """S_rel where truth says a word; the sound reading beside S_rel."""
    sgc_of_read: stats.Estimate | None
    """SGC over those graphs alone that could be read."""


@dataclass(frozen=True, slots=True)
class GraphFigures:
    """The graphs of one setting."""

    setting: GraphSetting
    asked: int
    pending: int
    failed: int
    refused: int
    unreadable: int
    parts: GraphParts
    valid_json: stats.Estimate | None
    """Share that is JSON as it stands."""
    readable: stats.Estimate | None
    """Share that is JSON, or was after mending."""
    complete: stats.Estimate | None
    """Share that has every node, edge, number and relation that was asked for."""
    contradicts_itself: stats.Estimate | None
    """Share of triangles camera–centre–object that cannot exist (triangle inequality), of those whose sides are given."""
    troubles: Mapping[str, int]
    """Missing, extra, contradictory, unreadable … entries, counted over all graphs."""


def graph_figures(rows: Sequence[GraphRow], drawn: Drawn) -> GraphFigures:
    """The figures of one setting, or of one domain of it."""
    measured = [row for row in rows if row.is_measured]
    scenes = [row.scene for row in measured]
    troubles: Counter[str] = Counter()
    for row in measured:
        troubles.update({str(kind): n for kind, n in row.reading.troubles.items()})
    checks = [(row.scene, *triangles(row.reading.graph)) for row in measured if row.reading.graph is not None]
    broken = [
        (scene, flag) for scene, n, n_broken in checks for flag in [1] * n_broken + [0] * (n - n_broken)
    ]
    statuses = Counter(row.status for row in rows)
    return GraphFigures(
        setting=rows[0].setting,
        asked=len(measured),
        pending=statuses["pending"],
        failed=statuses["failed"],
        refused=sum(row.reading.status == "refused" for row in measured),
        unreadable=sum(row.reading.status == "unparsed" for row in measured),
        parts=_parts(measured, drawn),
        valid_json=drawn.mean([row.reading.status == "parsed" for row in measured], scenes),
        readable=drawn.mean([row.reading.is_read for row in measured], scenes),
        complete=drawn.mean([row.reading.is_complete for row in measured], scenes),
        contradicts_itself=drawn.mean([flag for _, flag in broken], [scene for scene, _ in broken]),
        troubles=dict(troubles.most_common()),
    )


def graph_scores(rows: Mapping[str, GraphRow]) -> dict[str, GraphScore]:
    """The scores of each measured graph, by scene."""
    return {scene: row.score for scene, row in rows.items() if row.is_measured}


def _parts(rows: Sequence[GraphRow], drawn: Drawn) -> GraphParts:
    scores = [row.score for row in rows]
    scenes = [row.scene for row in rows]
    stated = [(s.stated, scene) for s, scene in zip(scores, scenes, strict=True) if s.stated is not None]
    read = [(s.sgc, row.scene) for s, row in zip(scores, rows, strict=True) if row.reading.is_read]
    return GraphParts(
        sgc=drawn.mean([s.sgc for s in scores], scenes),
        estimate=drawn.mean([s.estimate for s in scores], scenes),
        relation=drawn.mean([s.relation for s in scores], scenes),
        size=drawn.mean([s.size for s in scores], scenes),
        distance_to_camera=drawn.mean([s.distance_to_camera for s in scores], scenes),
        distance=drawn.mean([s.distance for s in scores], scenes),
        stated=drawn.mean([value for value, _ in stated], [scene for _, scene in stated]),
        sgc_of_read=drawn.mean([value for value, _ in read], [scene for _, scene in read]),
    )


def of_domain(rows: Mapping[str, GraphRow], domain: Domain | None) -> list[GraphRow]:
    """The rows of a domain, or all."""
    return [row for row in rows.values() if domain is None or row.domain == domain]
