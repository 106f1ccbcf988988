"""How much of VSR can be given boxes, and whether what is left is like the rest (Table 10 and A.1 of the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.instruments.compass.data.directions import CARDINAL
from theodolite.instruments.compass.data.instances import Instances
from theodolite.instruments.compass.data.matching import DEGENERATE
from theodolite.instruments.compass.data.selection import Filter

if TYPE_CHECKING:
    from theodolite.instruments.compass.data.vsr import Outcome


@dataclass(frozen=True, slots=True)
class SplitAudit:
    """The row of one split; counts that need annotations are None without them."""

    split: str
    captions: int
    positives: int
    """True captions."""
    directional: int
    """Of these, whose relation says one of the four directions."""
    categories: int | None
    """Positives whose two names are categories."""
    annotated: int | None
    """Directional positives whose picture is in the annotations."""
    matched: int | None
    """Directional positives for which both boxes were found, by the policy."""
    valid: int | None
    """Of these, with boxes that are not empty, not outside the picture, and not of the same centre."""
    agreeing: int | None
    """Of these, whose boxes do not speak against the words; all of them if the policy does not ask."""

    @property
    def coverage(self) -> float | None:
        """Matched over positives."""
        return None if self.matched is None or not self.positives else self.matched / self.positives

    @property
    def validity(self) -> float | None:
        """Valid over matched."""
        return None if not self.matched or self.valid is None else self.valid / self.matched


@dataclass(frozen=True, slots=True)
class VsrAudit:
    """All splits, and whether the kept subset is like the whole."""

    splits: tuple[SplitAudit, ...]
    directions: dict[str, int]
    """Directional positives by direction."""
    kept_directions: dict[str, int]
    area_known: float | None
    """Mean share of the picture of all objects that a positive names, where its picture is annotated."""
    area_kept: float | None
    """The same of the objects of kept pairs."""

    @property
    def summary(self) -> str:
        """Where captions are lost, in a sentence."""
        positives = sum(row.positives for row in self.splits)
        directional = sum(row.directional for row in self.splits)
        words = f"of {positives} true captions {directional} say one of the four directions"
        if self.splits[0].categories is None:
            return f"{words}; give annotations to find their boxes"
        named = sum(row.categories or 0 for row in self.splits)
        return f"{words}, and {named} name two categories: what else is lost is lost to boxes, not to names"

    def as_json(self) -> dict[str, Any]:
        """The audit as plain JSON, with coverage and validity."""
        rows = [{**asdict(row), "coverage": row.coverage, "validity": row.validity} for row in self.splits]
        return {**asdict(self), "splits": rows}


def audit_outcomes(
    outcomes: Sequence[Outcome], instances: Instances | None, kept: AbstractSet[str]
) -> VsrAudit:
    """Counts what became of the captions.

    Args:
        outcomes: of all captions.
        instances: the annotations; None if there are none.
        kept: the ids of the captions that became pairs, as ``<split>-<line number>``.
    """
    splits = tuple(
        _split(name, [each for each in outcomes if each.split == name], instances)
        for name in dict.fromkeys(each.split for each in outcomes)
    )
    directional = [each for each in outcomes if each.is_true and each.direction is not None]
    chosen = [each for each in directional if f"{each.split}-{each.number:05d}" in kept]
    known = _areas_known(outcomes, instances)
    areas = [
        area
        for each in chosen
        if each.match is not None
        for area in (each.match.reference.box_area, each.match.target.box_area)
    ]
    return VsrAudit(
        splits=splits,
        directions=_balance(directional),
        kept_directions=_balance(chosen),
        area_known=float(np.mean(known)) if known else None,
        area_kept=float(np.mean(areas)) if areas else None,
    )


def _split(name: str, rows: Sequence[Outcome], instances: Instances | None) -> SplitAudit:
    positives = [each for each in rows if each.is_true]
    directional = [each for each in positives if each.direction is not None]
    pictures = instances.by_file_name() if instances is not None else {}
    has_boxes = instances is not None
    agreeing = [each for each in directional if each.fault is None]
    valid = [each for each in directional if each.fault in {None, Filter.AGAINST}]
    matched = [each for each in directional if each.fault in {None, Filter.AGAINST, *DEGENERATE}]
    return SplitAudit(
        split=name,
        captions=len(rows),
        positives=len(positives),
        directional=len(directional),
        categories=sum(each.has_categories for each in positives) if has_boxes else None,
        annotated=sum(each.image in pictures for each in directional) if has_boxes else None,
        matched=len(matched) if has_boxes else None,
        valid=len(valid) if has_boxes else None,
        agreeing=len(agreeing) if has_boxes else None,
    )


def _balance(rows: Sequence[Outcome]) -> dict[str, int]:
    counts = Counter(each.direction for each in rows)
    return {name: counts[name] for name in CARDINAL.names}


def _areas_known(outcomes: Sequence[Outcome], instances: Instances | None) -> list[float]:
    pictures = instances.by_file_name() if instances is not None else {}
    return [
        found.box_area
        for each in outcomes
        if each.is_true and each.image in pictures
        for found in pictures[each.image].instances
        if found.name in each.names and not found.is_crowd
    ]
