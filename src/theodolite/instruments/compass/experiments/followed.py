"""Answers that follow edits, beside compasses that point, on the same pictures.

A pair is followed if the answer is right before and after an edit that changes the right answer (`theodolite.pairs`): proof
that the answer depends on what was edited. DAE says where a map puts relevance. The tables ask whether the two go together: a
model that follows most pairs although no map points better than the uniform one uses the picture in a way that the maps do
not show, and a map that points no better on followed pairs does not say which answers rest on the picture.

The uniform map's gap stands beside each gap: followed pairs may merely have an easier layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.core.estimates import Estimate
from theodolite.core.tables import Cell, Column, Table, format_cell
from theodolite.instruments.compass.experiments.comparisons import answer_gap
from theodolite.instruments.compass.experiments.framework import EXCESS
from theodolite.instruments.compass.formulas.projected import ProjectedRun
from theodolite.instruments.compass.measure import shown_key
from theodolite.pairs import AnsweredPair, pair_shares

__all__ = ["FollowedRun", "followed_table", "pairs_table"]

_SHARES = ("followed", "moved", "unmoved", "lost", "kept")
_LEAST_PICTURES = 5
"""On each side of a gap: a bootstrap over fewer is not to be trusted."""
_MODEL = Column("model", "model")
_FOLLOWED = Column("followed", "followed", "share", "diagnose.followed")


@dataclass(frozen=True, slots=True)
class FollowedRun:
    """One model's answers before and after edits, and its maps of the pictures before them."""

    model: str
    projected: ProjectedRun
    pairs: tuple[AnsweredPair, ...]
    """Those about the samples of `projected`."""

    @classmethod
    def of(cls, model: str, projected: ProjectedRun, pairs: Sequence[AnsweredPair]) -> FollowedRun:
        """Leaves out pairs without a map of the picture before the edit."""
        known = {sample.name for sample in projected.samples}
        return cls(model, projected, tuple(pair for pair in pairs if pair.item in known))

    @property
    def relevant(self) -> tuple[AnsweredPair, ...]:
        """The pairs whose right answer changes."""
        return tuple(pair for pair in self.pairs if pair.edit.is_relevant)


def pairs_table(runs: Sequence[FollowedRun]) -> Table:
    """Outcomes of the pairs by edit, for each model."""
    rows: list[list[Cell]] = []
    for run in runs:
        edits = sorted(dict.fromkeys(pair.edit for pair in run.pairs), key=lambda edit: not edit.is_relevant)
        parts = [(edit.name, [pair for pair in run.pairs if pair.edit == edit]) for edit in edits]
        for name, some in [("all that change the answer", run.relevant), *parts]:
            shares = pair_shares(some)
            rows.append([run.model, name, len(some), *(getattr(shares, share) for share in _SHARES)])
    return Table.of(
        "compass.pairs",
        "Answers before and after edits",
        [
            _MODEL,
            Column("edit", "edit"),
            Column("pairs", "pairs", "count"),
            *(Column(share, share, "share", f"diagnose.{share}") for share in _SHARES),
        ],
        rows,
        [
            "A model that ignores what was edited follows no pair, or at most a quarter if it answers at random."
        ],
    )


def followed_table(runs: Sequence[FollowedRun], projection: str, *, seed: int) -> Table:
    """Followed pairs beside DAE, for each model and map.

    Args:
        runs: One per model.
        projection: One of their projections.
        seed: Seed of the bootstrap of gaps.
    """
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for run in runs:
        followed = pair_shares(run.relevant).followed
        own = {shown_key(key): _row(run, key, projection, seed) for key in run.projected.keys}
        rows += [[run.model, followed, name, *row] for name, row in own.items()]
        maps = {name: row[0] for name, row in own.items()}
        better = [name for name, excess in maps.items() if isinstance(excess, Estimate) and excess.high < 0]
        notes.append(
            f"{run.model}: {format_cell(followed, _FOLLOWED)} of {len(run.relevant)} pairs are followed; "
            f"{len(better)} of {len(maps)} maps point better than the uniform map on the same pictures"
            f"{': ' if better else ''}{', '.join(better)}."
        )
    return Table.of(
        f"compass.followed_{projection}",
        f"Followed pairs beside DAE, {projection} projection",
        [
            _MODEL,
            _FOLLOWED,
            Column("map", "map"),
            EXCESS,
            Column("followed_dae", "followed: DAE", "degrees", "compass.dae"),
            Column("other_dae", "not followed: DAE", "degrees", "compass.dae"),
            Column("gap", "not − followed", "degrees", "compass.followed_gap", signed=True),
            Column("uniform_gap", "uniform's", "degrees", "compass.followed_uniform_gap", signed=True),
            Column("n_followed", "n followed", "count"),
            Column("n_other", "n not", "count"),
        ],
        rows,
        [
            *notes,
            "DAE: of the map of the picture before the edit. Pairs whose answers cannot be read have no side.",
            f"Gaps need {_LEAST_PICTURES} pictures on each side; one that the uniform map has too is the layout's.",
        ],
    )


def _row(run: FollowedRun, key: str, projection: str, seed: int) -> list[Cell]:
    """The cells of one map: on the pictures with a relevant pair, and on followed and other pairs."""
    angles = run.projected.angles[projection][key]
    places = {sample.name: place for place, sample in enumerate(run.projected.samples)}
    asked = angles[sorted({places[pair.item] for pair in run.relevant})]
    read = [pair for pair in run.relevant if pair.outcome != "lost"]
    by_pair = angles[np.array([places[pair.item] for pair in read], int)]
    is_followed = np.array([pair.outcome == "followed" for pair in read], bool)[by_pair.is_kept]
    kept = by_pair.kept
    sides = kept[is_followed], kept[~is_followed]
    has_gap = min(len(np.unique(side.clusters)) for side in sides) >= _LEAST_PICTURES
    errors = (kept.error_deg, kept.uniform_error_deg)
    gaps = [answer_gap(x, is_followed, kept.clusters, seed=seed) if has_gap else None for x in errors]
    return [asked.kept.excess(), *(side.mean_error() for side in sides), *gaps, *map(len, sides)]
