"""Relevance methods for image tokens, all computed from one shared forward and backward pass."""

from __future__ import annotations

from theodolite.attribution.attribute import (
    AnswerAttribution,
    TokenShares,
    attribute,
    attribute_answer,
    capability_of,
    checkpoint_of,
    is_white_box,
)
from theodolite.attribution.captum import captum_method
from theodolite.attribution.evidence import LAYERS, Evidence
from theodolite.attribution.maps import Attribution, RelevanceMap, check_targets
from theodolite.attribution.method import Method, Need, find_methods
from theodolite.attribution.second_order import SecondOrder, second_order
from theodolite.attribution.written import Span, WrittenAnswer, score_answer

__all__ = [
    "LAYERS",
    "AnswerAttribution",
    "Attribution",
    "Evidence",
    "Method",
    "Need",
    "RelevanceMap",
    "SecondOrder",
    "Span",
    "TokenShares",
    "WrittenAnswer",
    "attribute",
    "attribute_answer",
    "capability_of",
    "captum_method",
    "check_targets",
    "checkpoint_of",
    "find_methods",
    "is_white_box",
    "score_answer",
    "second_order",
]
