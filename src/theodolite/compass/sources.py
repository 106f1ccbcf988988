"""Where pairs come from. Each function gives a `Selection`: the pairs, and a report of what fell to which filter."""

from __future__ import annotations

from theodolite.compass._selection import PairFilters, Selection, SelectionReport
from theodolite.compass._sources.coco import coco_pairs
from theodolite.compass._sources.gqa import GQA_RELATIONS, gqa_pairs
from theodolite.compass._sources.matching import MatchPolicy
from theodolite.compass._sources.squares import SquaresPlan, coloured_squares
from theodolite.compass._sources.vsr import VSR_RELATIONS, vsr_audit, vsr_pairs
from theodolite.compass._sources.vsr_audit import SplitAudit, VsrAudit
from theodolite.compass._sources.whatsup import WHATSUP_RELATIONS, whatsup_pairs

__all__ = [
    "GQA_RELATIONS",
    "VSR_RELATIONS",
    "WHATSUP_RELATIONS",
    "MatchPolicy",
    "PairFilters",
    "Selection",
    "SelectionReport",
    "SplitAudit",
    "SquaresPlan",
    "VsrAudit",
    "coco_pairs",
    "coloured_squares",
    "gqa_pairs",
    "vsr_audit",
    "vsr_pairs",
    "whatsup_pairs",
]
