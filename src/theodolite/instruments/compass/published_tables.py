"""The paper's smaller tables, row by row, to be shown beside one's own where model and data are the same. Never a bar.

All of them are of Qwen2-VL-7B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from theodolite.instruments.compass.published import data_name, known_model

Table: TypeAlias = Literal["diagnosis", "selective", "rerank", "ablations", "prompts"]

_MODEL = "Qwen2-VL-7B"


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of a table of the paper."""

    source: str
    data: str
    n: int
    figures: Mapping[str, float]
    """By the names of our own fields."""

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value:g}" for name, value in self.figures.items())
        return f"{figures} ({self.source}, {self.data}, n={self.n})"


_Rows: TypeAlias = Mapping[str, Mapping[str, float]]


def _diagnosis(*rows: tuple[str, float, float, float]) -> _Rows:
    return {name: {"AUC": auc, "right": right, "wrong": wrong} for name, auc, right, wrong in rows}


def _errors(*rows: tuple[str, float, float]) -> _Rows:
    return {name: {"DAE": dae, "EA": edge} for name, dae, edge in rows}


_TABLES: Mapping[tuple[Table, str], tuple[str, int, _Rows]] = {
    ("diagnosis", "coco-pairs"): (
        "CREG, section 4.5",
        300,
        _diagnosis(
            ("chefer@gt", 0.620, 35.5, 56.4),
            ("contrastive-grad-act@pred", 0.575, 46.6, 61.7),
            ("attention-rollout", 0.541, 70.8, 79.6),
            ("gradcam@gt", 0.476, 87.8, 82.9),
        ),
    ),
    ("diagnosis", "vsr"): (
        "CREG, section 4.5",
        240,
        _diagnosis(
            ("chefer@gt", 0.652, 47.7, 72.0),
            ("attention-rollout", 0.629, 65.2, 88.0),
            ("contrastive-grad-act@pred", 0.530, 63.2, 66.8),
        ),
    ),
    ("selective", "coco-pairs"): (
        "CREG, Table 14",
        300,
        {
            "negative entropy": {"at 70 %": 0.429, "E-AURC": 0.244},
            "max probability": {"at 70 %": 0.424, "E-AURC": 0.249},
            "margin": {"at 70 %": 0.429, "E-AURC": 0.254},
            "chefer@gt DAE": {"at 70 %": 0.476, "E-AURC": 0.294},
            "contrastive-grad-act@pred DAE": {"at 70 %": 0.467, "E-AURC": 0.337},
            "random": {"at 70 %": 0.419, "E-AURC": 0.360},
        },
    ),
    ("rerank", "coco-pairs"): (
        "CREG, section 4.5",
        300,
        {
            "contrastive-grad-act@pred": {"EA": 0.553, "model": 0.413},
            "chefer@gt": {"EA": 0.633, "model": 0.413},
        },
    ),
    ("rerank", "vsr"): (
        "CREG, section 4.5",
        240,
        {"contrastive-grad-act@pred": {"EA": 0.458, "model": 0.558}},
    ),
    ("ablations", "vsr"): (
        "CREG, Table 6",
        60,
        _errors(
            ("default", 61.8, 0.483),
            ("K = 4", 60.9, 0.517),
            ("single layer (−2)", 64.4, 0.467),
            ("no rival", 82.3, 0.333),
        ),
    ),
    ("prompts", "vsr"): (
        "CREG, Table 9",
        30,
        {
            "A": {"accuracy": 0.567, "DAE": 57.9},
            "B": {"accuracy": 0.367, "DAE": 64.3},
            "C": {"accuracy": 0.533, "DAE": 62.9},
        },
    ),
}
"""Our table and source of pairs -> where the paper has it, its number of samples, and its rows by the names of ours.

The table of prompts and that of ablations are of ``contrastive-grad-act@pred``, the paper's own signal."""


def published_row(model: str, source: str, table: Table, row: str) -> PublishedRow | None:
    """What the paper reports in one row; None where it reports nothing of the kind.

    Args:
        model: our name of it.
        source: of the pairs, such as ``coco-pairs``.
        table: ours.
        row: its name in our table.

    >>> print(published_row("hf:Qwen/Qwen2-VL-7B-Instruct", "vsr", "ablations", "K = 4"))
    DAE 60.9, EA 0.517 (CREG, Table 6, VSR, n=60)
    """
    found = _TABLES.get((table, source))
    if found is None or known_model(model) != _MODEL or row not in found[2]:
        return None
    place, n, rows = found
    return PublishedRow(place, data_name(source), n, rows[row])


def published_rows(
    model: str, sources: tuple[str, ...], table: Table, rows: tuple[str, ...]
) -> dict[str, PublishedRow]:
    """What the paper reports of some rows, where all pairs come from one source."""
    if len(sources) != 1:
        return {}
    found = {row: published_row(model, sources[0], table, row) for row in rows}
    return {row: each for row, each in found.items() if each is not None}
