"""What the CREG paper reports, shown beside our numbers for the same model and data. Never a threshold to pass.

Tables 1 and 2 and section 4.2 (framework comparison), the smaller tables (all of Qwen2-VL-7B), the controls of section 5.1,
and the composites of A.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

_QWEN_7B = "Qwen2-VL-7B"


@dataclass(frozen=True, slots=True)
class PublishedDirection:
    """DAE and EA of one method in a paper."""

    source: str
    """Paper and table."""
    data: str
    n: int
    dae: float
    """In degrees."""
    edge_accuracy: float

    def __str__(self) -> str:
        return f"{self.dae:g}° / {100 * self.edge_accuracy:.1f} % ({self.source}, {self.data}, n={self.n})"


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of a smaller table."""

    source: str
    data: str
    n: int
    values: Mapping[str, float]
    """By the names of our columns."""

    def __str__(self) -> str:
        values = ", ".join(f"{name} {value:g}" for name, value in self.values.items())
        return f"{values} ({self.source}, {self.data}, n={self.n})"


@dataclass(frozen=True, slots=True)
class PublishedControl:
    """The paper's numbers for one condition of a control."""

    source: str
    condition: str
    values: Mapping[str, float]
    """By the names of our columns."""
    model: str = _QWEN_7B


_DATA = {"coco-pairs": ("COCO-Pairs", 300), "gqa": ("VG-Spatial", 296), "vsr": ("VSR", 240)}
"""Our source of pairs to the paper's name of it, and its sample size."""

_MODELS = (
    (re.compile(r"qwen2-vl-7b", re.IGNORECASE), _QWEN_7B),
    (re.compile(r"qwen2-vl-2b", re.IGNORECASE), "Qwen2-VL-2B"),
    (re.compile(r"llava-(1\.5|v1\.5)-7b", re.IGNORECASE), "LLaVA-1.5-7B"),
    (re.compile(r"phi-3\.5-vision", re.IGNORECASE), "Phi-3.5-Vision"),
)

_PRED, _GT, _NONE = "pred", "gt", ""

_Entry = tuple[str, str, str, Mapping[str, tuple[float, float]]]

_DIRECTIONS: Mapping[str, tuple[_Entry, ...]] = {
    _QWEN_7B: (
        ("chefer", _GT, "Table 1", {"vsr": (58.4, 0.512), "coco-pairs": (47.9, 0.633), "gqa": (46.6, 0.693)}),
        ("chefer", _PRED, "section 4.2", {"coco-pairs": (48.4, 0.623)}),
        (
            "contrastive-grad-act",
            _PRED,
            "Table 1",
            {"vsr": (64.8, 0.458), "coco-pairs": (55.5, 0.553), "gqa": (53.4, 0.628)},
        ),
        (
            "contrastive-grad-act",
            _GT,
            "Table 1",
            {"vsr": (68.3, 0.438), "coco-pairs": (57.1, 0.523), "gqa": (50.9, 0.645)},
        ),
        (
            "attention-rollout",
            _NONE,
            "Table 1",
            {"vsr": (75.3, 0.383), "coco-pairs": (76.0, 0.367), "gqa": (72.0, 0.419)},
        ),
        (
            "grad-act",
            _GT,
            "Table 1",
            {"vsr": (86.9, 0.292), "coco-pairs": (78.2, 0.373), "gqa": (72.2, 0.416)},
        ),
        ("integrated-gradients", _GT, "Table 1", {"vsr": (85.9, 0.317), "coco-pairs": (67.2, 0.417)}),
        (
            "gradient-norm",
            _GT,
            "Table 1",
            {"vsr": (86.3, 0.300), "coco-pairs": (76.4, 0.377), "gqa": (74.2, 0.409)},
        ),
        (
            "gradcam",
            _GT,
            "Table 1",
            {"vsr": (96.8, 0.196), "coco-pairs": (84.9, 0.310), "gqa": (82.6, 0.382)},
        ),
    ),
    "LLaVA-1.5-7B": (
        ("gradcam", _GT, "Table 2", {"coco-pairs": (66.7, 0.427), "gqa": (67.2, 0.399)}),
        ("chefer", _GT, "Table 2", {"coco-pairs": (67.5, 0.437)}),
        (
            "contrastive-grad-act",
            _PRED,
            "Table 2",
            {"vsr": (80.1, 0.275), "coco-pairs": (69.8, 0.423), "gqa": (59.9, 0.470)},
        ),
        ("attention-rollout", _NONE, "Table 2", {"coco-pairs": (72.7, 0.383), "gqa": (62.6, 0.459)}),
    ),
    "Qwen2-VL-2B": (
        ("contrastive-grad-act", _PRED, "Table 2", {"vsr": (71.9, 0.429), "coco-pairs": (63.8, 0.503)}),
    ),
}
_SUBSET = {("integrated-gradients", "coco-pairs"): 60}
"""Numbers from fewer samples."""


def known_model(name: str) -> str | None:
    """Return the paper's name of a model, given ours; None if the paper has no such model.

    >>> known_model("hf:Qwen/Qwen2-VL-7B-Instruct?dtype=bfloat16")
    'Qwen2-VL-7B'
    """
    for pattern, known in _MODELS:
        if pattern.search(name.partition("?")[0].replace("_", "-")):
            return known
    return None


def published_directions(
    model: str, source: str, *, method: str, target: str
) -> tuple[PublishedDirection, ...]:
    """Return the paper's numbers for a model on one source of pairs; empty if there are none.

    Args:
        model: Our name of the model.
        source: Source of the pairs, such as ``coco-pairs``.
        method: Our name of the method.
        target: Whose logit was explained.

    >>> published_directions("hf:Qwen/Qwen2-VL-7B-Instruct", "coco-pairs", method="chefer", target="gt")[0].dae
    47.9
    """
    paper_model = known_model(model)
    if paper_model is None or source not in _DATA:
        return ()
    data, n = _DATA[source]
    return tuple(
        PublishedDirection(f"CREG, {location}", data, _SUBSET.get((method, source), n), *values[source])
        for name, whose, location, values in _DIRECTIONS.get(paper_model, ())
        if (name, whose) == (method, target) and source in values
    )


PaperTable: TypeAlias = Literal["diagnosis", "selective", "rerank", "ablations", "prompts"]
_Rows: TypeAlias = Mapping[str, Mapping[str, float]]


def _diagnosis(*rows: tuple[str, float, float, float]) -> _Rows:
    return {name: {"AUC": auc, "right": right, "wrong": wrong} for name, auc, right, wrong in rows}


def _errors(*rows: tuple[str, float, float]) -> _Rows:
    return {name: {"DAE": dae, "EA": edge} for name, dae, edge in rows}


SMALL_TABLES: Mapping[tuple[PaperTable, str], tuple[str, int, _Rows]] = {
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
"""Our table and source of pairs to its place in the paper, its sample size, and its rows by our names.

Prompts and ablations are of ``contrastive-grad-act@pred``, the paper's own method."""


def published_rows(
    model: str, sources: tuple[str, ...], table: PaperTable, rows: tuple[str, ...]
) -> dict[str, PublishedRow]:
    """Return the paper's numbers in some rows of a table; empty unless all pairs come from one source in the paper.

    Args:
        model: Our name of the model.
        sources: Sources of the pairs, such as ``coco-pairs``.
        table: Our table.
        rows: Their names in our table.

    >>> print(published_rows("hf:Qwen/Qwen2-VL-7B-Instruct", ("vsr",), "ablations", ("K = 4",))["K = 4"])
    DAE 60.9, EA 0.517 (CREG, Table 6, VSR, n=60)
    """
    if len(sources) != 1 or known_model(model) != _QWEN_7B or (table, sources[0]) not in SMALL_TABLES:
        return {}
    location, n, values = SMALL_TABLES[table, sources[0]]
    data = _DATA[sources[0]][0]
    return {row: PublishedRow(location, data, n, values[row]) for row in rows if row in values}


def published_notes(
    model: str, sources: tuple[str, ...], table: PaperTable, rows: tuple[str, ...]
) -> list[str]:
    """Return `published_rows` as sentences below a table.

    Args:
        model: Our name of the model.
        sources: Sources of the pairs.
        table: Our table.
        rows: Their names in our table.
    """
    return [f"reported: {name}: {row}" for name, row in published_rows(model, sources, table, rows).items()]


_QWEN = "CREG, Qwen2-VL-7B, contrastive Grad×Act"
_PHI = "Phi-3.5-Vision"


def _centres(table: str, **rows: tuple[float, float | None]) -> tuple[PublishedControl, ...]:
    return tuple(
        PublishedControl(table, name, {"dae": dae} if delta is None else {"dae": dae, "centre_delta": delta})
        for name, (dae, delta) in rows.items()
    )


PUBLISHED_CONTROLS: Mapping[str, tuple[PublishedControl, ...]] = {
    "centres": (
        *_centres(
            f"{_QWEN}, COCO-Pairs, Table 11",
            true=(55.5, None),
            random=(53.6, -1.9),
            background=(48.4, -7.0),
            target=(22.5, -33.0),
        ),
        *_centres(
            f"{_QWEN}, VG-Spatial, Table 11",
            true=(53.4, None),
            random=(51.1, -2.3),
            background=(50.3, -3.1),
            target=(22.5, -30.9),
        ),
    ),
    "reference-swap": tuple(
        PublishedControl(
            f"CREG, Qwen2-VL-7B, {method}, COCO-Pairs, Table 7",
            "both",
            {"peak_shift": shift, "divergence": divergence},
        )
        for method, shift, divergence in (
            ("contrastive Grad×Act (pred)", 0.660, 0.082),
            ("attention rollout", 0.660, 0.108),
            ("GradCAM", 0.580, 0.311),
            ("box-only", 0.680, 0.339),
            ("random", 0.940, 0.172),
        )
    ),
    "prompt-direction": (
        PublishedControl(
            f"{_QWEN}, section 5.1", "probes", {"prompt_tracking": 0.246, "opposite_divergence": 0.004}
        ),
    ),
    "fix-b-move-a": (
        PublishedControl(
            f"{_QWEN}, section 5.1",
            "probes",
            {"divergence": 0.145, "peak_accuracy": 0.398, "peak_accuracy_correct": 0.466},
        ),
    ),
    "swap-roles": (PublishedControl(f"{_QWEN}, section 5.1", "swapped", {"reversal": 0.515}),),
    "relocation": (
        PublishedControl(
            f"{_QWEN}, Table 15", "probes", {"dae": 73.1, "peak_accuracy": 0.45, "divergence": 0.061}
        ),
        PublishedControl("CREG, box-only, Table 15 (Qwen2-VL-7B)", "probes", {"dae": 23.3}),
        PublishedControl(f"{_QWEN}, Table 15", "false reference", {"dae": 22.5}),
        PublishedControl(
            "CREG, Phi-3.5-Vision, contrastive Grad×Act, Table 15",
            "probes",
            {"dae": 84.9, "peak_accuracy": 0.25, "divergence": 0.057},
            _PHI,
        ),
        PublishedControl("CREG, box-only, Table 15 (Phi-3.5-Vision)", "probes", {"dae": 24.7}, _PHI),
    ),
    "variance": (
        PublishedControl(
            f"{_QWEN}, section 5.1", "direction", {"eta_squared": 0.013, "within_image_share": 0.495}
        ),
        PublishedControl(
            f"{_QWEN}, section 5.1", "location", {"eta_squared": 0.069, "within_image_share": 0.505}
        ),
    ),
    "squares": (
        PublishedControl(f"{_QWEN}, A.16", "squares", {"dae": 81.6}),
        PublishedControl(f"{_QWEN}, A.16", "false reference", {"dae": 22.5}),
    ),
}
"""By control."""

PUBLISHED_RHO: Mapping[str, float] = {"EA": 1.0, "harmonic": 0.8, "DFS": 0.0, "geometric": 0.0, "MDF": -0.4}
"""Spearman's ρ of each composite with the AUC, over the paper's four methods (A.1)."""


def published_correlations(model: str) -> Mapping[str, float]:
    """Return `PUBLISHED_RHO` for the model of the paper; empty for any other.

    >>> published_correlations("hf:Qwen/Qwen2-VL-7B-Instruct")["EA"], published_correlations("hf:mine")
    (1.0, {})
    """
    return PUBLISHED_RHO if known_model(model) == _QWEN_7B else {}
