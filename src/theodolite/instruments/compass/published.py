"""What the paper reports, to be shown beside one's own figures where model and data are the same. Never a bar.

CREG, Table 1 (Qwen2-VL-7B), Table 2 (the other models) and the target-mode control of section 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One figure pair of a paper."""

    source: str
    """Paper and table."""
    data: str
    n: int
    dae_deg: float
    edge_accuracy: float


_DATA = {"coco-pairs": ("COCO-Pairs", 300), "gqa": ("VG-Spatial", 296), "vsr": ("VSR", 240)}
"""Our source of pairs -> the paper's name of it, and its number of samples."""

_MODELS = (
    (re.compile(r"qwen2-vl-7b", re.IGNORECASE), "Qwen2-VL-7B"),
    (re.compile(r"qwen2-vl-2b", re.IGNORECASE), "Qwen2-VL-2B"),
    (re.compile(r"llava-(1\.5|v1\.5)-7b", re.IGNORECASE), "LLaVA-1.5-7B"),
    (re.compile(r"phi-3\.5-vision", re.IGNORECASE), "Phi-3.5-Vision"),
)

_PRED, _GT, _NONE = "pred", "gt", ""

_Entry = tuple[str, str, str, Mapping[str, tuple[float, float]]]

_FIGURES: Mapping[str, tuple[_Entry, ...]] = {
    "Qwen2-VL-7B": (
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
"""Figures that rest on fewer samples."""


def known_model(name: str) -> str | None:
    """The paper's name of a model, by ours; None if the paper has no such model.

    >>> known_model("hf:Qwen/Qwen2-VL-7B-Instruct?dtype=bfloat16")
    'Qwen2-VL-7B'
    """
    for pattern, known in _MODELS:
        if pattern.search(name.partition("?")[0].replace("_", "-")):
            return known
    return None


def data_name(source: str) -> str:
    """The paper's name of one of our sources."""
    return _DATA[source][0]


def published_figures(model: str, source: str, *, method: str, target: str) -> tuple[Published, ...]:
    """What the paper reports of a model on one source of pairs; empty where it reports nothing.

    Args:
        model: our name of it.
        source: of the pairs, such as ``coco-pairs``.
        method: ours.
        target: whose logit was explained.

    >>> published_figures("hf:Qwen/Qwen2-VL-7B-Instruct", "coco-pairs", method="chefer", target="gt")[0].dae_deg
    47.9
    """
    known = known_model(model)
    if known is None or source not in _DATA:
        return ()
    data, n = _DATA[source]
    return tuple(
        Published(f"CREG, {place}", data, _SUBSET.get((method, source), n), *figures[source])
        for name, whose, place, figures in _FIGURES.get(known, ())
        if (name, whose) == (method, target) and source in figures
    )
