"""Numerical stability of relevance maps: precisions, attention implementations, and batches against single requests.

Every pair is explained under five conditions, for the true answer:

    float64, float32, bfloat16   one request at a time, fast attention
    eager                        float32, attention written out
    batch                        float32, several requests together, padded

float32 and bfloat16 are compared with float64; eager attention and batches with float32. A comparison gives, over the
pairs, the median correlation ρ of the two maps and the mean change of DAE (paper's projection). ``size`` is the median
ratio of the maps' sums in bfloat16 and in float64: far above 1 for a quantity that is zero up to rounding.

A verdict is given for each method and layer. Two conditions agree if ρ ≥ 0.99 and DAE changes by at most 5° on average:

    rounding noise               ρ < 0.9 in float32, in any of its three comparisons
    rounding noise in bfloat16   ρ < 0.5 in bfloat16, or a size above 10 or below 0.1
    unsteady                     not all of float32's three agree
    needs float32                bfloat16 does not agree
    stable                       all agree
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from theodolite.attribution import LAYERS, Method, RelevanceMap, attribute, checkpoint_of, find_methods
from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import Item
from theodolite.instruments.compass.formulas.projection import project_batch
from theodolite.instruments.compass.questions import gold_index
from theodolite.models import ModelName, open_model

_NOISE, _BFLOAT16_NOISE, _AGREES = 0.9, 0.5, 0.99
_SAME_DAE = 5.0
_LARGEST_SIZE = 10.0

_NOTE = (
    "ρ: median correlation of two maps; ΔDAE: mean change of the error. bf16 and fp32 are compared with float64, eager "
    "attention and a batch with float32. Size: the map's sum in bfloat16 over that in float64."
)

Maps = list[dict[str, RelevanceMap]]
"""For each item, its maps by the name of the method."""


@dataclass(frozen=True, slots=True)
class MapComparison:
    """Two conditions whose maps are compared."""

    name: str
    """The condition that is compared."""
    title: str
    reference: str
    """The condition that it is compared with."""


COMPARISONS = (
    MapComparison("bfloat16", "bf16", "float64"),
    MapComparison("float32", "fp32", "float64"),
    MapComparison("eager", "eager", "float32"),
    MapComparison("batch", "batch", "float32"),
)


@dataclass(frozen=True, slots=True)
class _Opened:
    """How the model is opened, and the batch size of each condition; None: the model's own."""

    dtype: str
    attention: str
    conditions: Mapping[str, int | None]


_OPENED = (
    _Opened("float64", "sdpa", {"float64": 1}),
    _Opened("float32", "sdpa", {"float32": 1, "batch": None}),
    _Opened("float32", "eager", {"eager": 1}),
    _Opened("bfloat16", "sdpa", {"bfloat16": 1}),
)


def measure_stability(
    model: str,
    items: Sequence[Item],
    *,
    methods: Sequence[str] = ("all",),
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[tuple[Method, ...], dict[str, Maps]]:
    """Explain items under every condition. The model is opened four times, one after another.

    Args:
        model: Name of a white-box model. Its own options ``dtype`` and ``attention`` are replaced.
        items: Plain pairs, at least two, so that there is a batch.
        methods: Names of methods, or ``all``. Those of a single layer are measured at each of the last four.
        progress: Called with the number of conditions done, and of all.

    Returns:
        The methods, one for each layer, and the maps by condition.
    """
    if len(items) < 2:
        raise UsageError(f"stability compares batches, so it needs at least two pairs, not {len(items)}")
    name = ModelName.parse(model)
    chosen = tuple(
        layered for method in find_methods(methods) for layered in (method, *method.at_layers(LAYERS[1:]))
    )
    total = sum(len(opened.conditions) for opened in _OPENED)
    maps: dict[str, Maps] = {}
    for opened in _OPENED:
        current = open_model(name.with_options(dtype=opened.dtype, attention=opened.attention))
        checkpoint_of(current)  # raises if the model is a black box
        for condition, batch_size in opened.conditions.items():
            explained = attribute(
                current,
                [item.request for item in items],
                [item.options for item in items],
                methods=chosen,
                targets=["gt"],
                gold=[gold_index(item) for item in items],
                batch_size=batch_size,
            )
            maps[condition] = [{relevance.method: relevance for relevance in row.maps} for row in explained]
            progress(len(maps), total)
        current.close()
    return chosen, maps


def stability_table(
    model: str, items: Sequence[Item], methods: Sequence[Method], maps: Mapping[str, Maps]
) -> Table:
    """Build the table of a measurement: for each method and layer the comparisons, and a verdict.

    Args:
        model: The model's name, for the title.
        items: The items that were measured.
        methods: The methods, one for each layer.
        maps: From `measure_stability`.
    """
    rows: list[list[Cell]] = []
    for method in methods:
        own = {condition: [row[method.name] for row in per_item] for condition, per_item in maps.items()}
        errors = {condition: _errors(items, some) for condition, some in own.items()}
        agreement, change = {}, {}
        for comparison in COMPARISONS:
            agreement[comparison.name] = float(
                np.median(
                    [
                        correlation(a, b)
                        for a, b in zip(own[comparison.reference], own[comparison.name], strict=True)
                    ]
                )
            )
            change[comparison.name] = float(
                np.nanmean(np.abs(errors[comparison.name] - errors[comparison.reference]))
            )
        sums = {
            name: np.array([relevance.values.sum(dtype=np.float64) for relevance in own[name]])
            for name in own
        }
        size = float(np.median(sums["bfloat16"] / np.maximum(sums["float64"], 1e-300)))
        rows.append(
            [
                method.name.partition(" ")[0],
                _layers(method),
                *(agreement[comparison.name] for comparison in COMPARISONS),
                *(change[comparison.name] for comparison in COMPARISONS),
                size,
                verdict(agreement, change, size),
            ]
        )
    return Table.of(
        "compass.stability",
        f"{model} · numerical stability of maps@gt · {len(items)} pairs",
        [
            Column("method", "method"),
            Column("layer", "layer"),
            *(
                Column(f"rho_{comparison.name}", f"ρ {comparison.title}", "correlation")
                for comparison in COMPARISONS
            ),
            *(
                Column(f"dae_{comparison.name}", f"ΔDAE {comparison.title}", "degrees")
                for comparison in COMPARISONS
            ),
            Column("size", "size", "number"),
            Column("verdict", "verdict"),
        ],
        rows,
        [_NOTE],
    )


def correlation(one: RelevanceMap, other: RelevanceMap) -> float:
    """Return Pearson's correlation of two maps; 1 if they are equal up to a factor, 0 if only one is constant."""
    left, right = (relevance.values.astype(np.float64) for relevance in (one, other))
    left, right = (values / max(values.max(), 1e-300) for values in (left, right))
    if np.allclose(left, right, rtol=0, atol=1e-12):
        return 1.0
    left, right = left - left.mean(), right - right.mean()
    length = np.linalg.norm(left) * np.linalg.norm(right)
    return float(left @ right / length) if length > 0 else 0.0


def verdict(agreement: Mapping[str, float], change: Mapping[str, float], size: float = 1.0) -> str:
    """Return the verdict on a method.

    Args:
        agreement: The correlation of each comparison, by its name.
        change: The change of DAE in degrees.
        size: The sum of the map in bfloat16 over that in float64.

    >>> agreement = {"bfloat16": 0.98, "float32": 1.0, "eager": 1.0, "batch": 1.0}
    >>> verdict(agreement, dict.fromkeys(agreement, 0.0))
    'needs float32'
    """
    in_float32 = [comparison.name for comparison in COMPARISONS if comparison.name != "bfloat16"]
    agrees = {name: agreement[name] >= _AGREES and change[name] <= _SAME_DAE for name in agreement}
    if min(agreement[name] for name in in_float32) < _NOISE:
        return "rounding noise"
    if agreement["bfloat16"] < _BFLOAT16_NOISE or not 1 / _LARGEST_SIZE <= size <= _LARGEST_SIZE:
        return "rounding noise in bfloat16"
    if not all(agrees[name] for name in in_float32):
        return "unsteady"
    return "stable" if agrees["bfloat16"] else "needs float32"


def _errors(items: Sequence[Item], maps: Sequence[RelevanceMap]) -> Any:
    """Return DAE of each item's map; NaN where there is no direction."""
    errors = np.full(len(items), np.nan)
    metas = [cast("Mapping[str, Any]", item.meta) for item in items]
    compass = project_batch(
        maps,
        references=[meta["reference"]["box"] for meta in metas],
        targets=[meta["target"]["box"] for meta in metas],
    )
    errors[compass.is_kept] = compass.kept().error_deg()
    return errors


def _layers(method: Method) -> str:
    if method.scores_on == "features":
        return "vision features"
    if not method.layers:
        return "all"
    first, last = (str(layer).replace("-", "−") for layer in (method.layers[0], method.layers[-1]))
    return first if len(method.layers) == 1 else f"{first} to {last}"
