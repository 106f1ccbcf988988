"""What the compass reads off each pair, one number at a time: published angles, evidence, and whether answers follow pictures.

Metrics of the maps (``gradients``), by method:

dae_paper, dae_sound        DAE of the peak, under the paper's projection and under ours, in degrees
ea_paper, ea_sound          1 where DAE ≤ 45°, else 0
excess_paper, excess_sound  DAE of the uniform map − DAE: what the map knows beyond the layout, in degrees
image_share                 relevance on image tokens / relevance on all tokens, before anything is normalised
target_share, reference_share   the same on one object's box

Metrics of options' log-probabilities (``choices``), with p the distribution over the options and margin m = log p(said) −
log p(the next best):

occlusion         max over 4 × 4 parts of |m − m_part| / max(|m|, 0.001), m_part the margin of the same option with the part hidden
target_effect     (m − m_hidden) / max(|m|, 0.001), with the target's box hidden; reference_effect likewise
mirror_shift      ½ Σ |p − p_mirrored|: total variation distance between the answers to the picture and to its mirror image
blank_shift       the same for the blank picture

Metrics of answers alone (``text``): right (the answer is the true one), mirror_follows (to the mirror image the opposite is
said), mirror_changes and blank_changes (something else is said).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.scores import Capability, ItemScore, Metric, Origin, covers
from theodolite.core.types import Item, Message, Record
from theodolite.core.wording import without_thinking
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.compass.edited import PARTS, blank, hidden, mirrored, part_box, turned_boxes
from theodolite.instruments.compass.formulas.project_samples import project_samples
from theodolite.instruments.compass.formulas.projected import Projected
from theodolite.instruments.compass.formulas.projection_options import PAPER, SOUND
from theodolite.instruments.compass.measure import AttributionMeasurer
from theodolite.instruments.compass.prompts import PROMPTS, Prompt
from theodolite.instruments.compass.questions import PLAIN, pair_item
from theodolite.instruments.compass.samples import INSTRUMENT, read_samples
from theodolite.models import VisionLanguageModel, ask_measurer, open_model
from theodolite.runs import Measurer, MeasurerFactory, Result, Reuse, Run
from theodolite.stats import SHARE

__all__ = [
    "METHODS",
    "METRICS",
    "ReadingMeasurer",
    "plan_readings",
    "read_option",
    "readings",
    "readings_factory",
    "shown_item",
]

METHODS = (
    "chefer",
    "chefer-normalised",
    "contrastive-grad-act",
    "contrastive-grad-act-sound",
    "attention-rollout",
    "grad-act",
    "grad-act-absolute",
    "gradient-norm",
    "gradcam",
)
"""The methods that are read: all published ones that one backward pass serves. Integrated gradients cost fifty."""

_TARGET = "gt"
_MIRRORED, _BLANK, _TARGET_HIDDEN, _REFERENCE_HIDDEN, _PART = (
    "mirrored",
    "blank",
    "target hidden",
    "reference hidden",
    "part hidden",
)
_LEAST_MARGIN = 1e-3
"""In nats: below it, options are as good as tied, and a ratio to the margin would say nothing."""

_OF_ANSWERS: tuple[tuple[str, str, Capability], ...] = (
    ("right", "answer is right", "text"),
    ("mirror_follows", "answer follows the mirrored picture", "text"),
    ("mirror_changes", "answer changes with the mirrored picture", "text"),
    ("blank_changes", "answer changes with a blank picture", "text"),
    ("mirror_shift", "shift of the answer, mirrored picture", "choices"),
    ("blank_shift", "shift of the answer, blank picture", "choices"),
    ("occlusion", "largest occlusion effect over the margin", "choices"),
    ("target_effect", "effect of hiding the target", "choices"),
    ("reference_effect", "effect of hiding the reference", "choices"),
)
_UNBOUNDED = {"occlusion", "target_effect", "reference_effect"}
_DEGREES: Mapping[str, tuple[float, float]] = {"dae": (0.0, 180.0), "excess": (-180.0, 180.0)}
_OF_MAPS: tuple[tuple[str, str, Origin], ...] = (
    ("dae_paper", "DAE", "paper"),
    ("dae_sound", "DAE, sound projection", "sound"),
    ("ea_paper", "EA", "paper"),
    ("ea_sound", "EA, sound projection", "sound"),
    ("excess_paper", "DAE below the uniform map's", "ours"),
    ("excess_sound", "DAE below the uniform map's, sound", "ours"),
    ("image_share", "relevance on the image", "ours"),
    ("target_share", "relevance on the target", "ours"),
    ("reference_share", "relevance on the reference", "ours"),
)
METRICS: tuple[Metric, ...] = (
    *(
        Metric(
            f"compass.{key}",
            name,
            higher_is_grounded=True,
            origin="ours",
            needs=needs,
            bounds=None if key in _UNBOUNDED else SHARE,
            unit="number" if key in _UNBOUNDED else "share",
        )
        for key, name, needs in _OF_ANSWERS
    ),
    *(
        Metric(
            f"compass.{key}:{method}",
            f"{name} ({method})",
            higher_is_grounded=not key.startswith("dae"),
            origin=origin,
            needs="gradients",
            bounds=_DEGREES.get(key.partition("_")[0], SHARE),
            unit="degrees" if key.partition("_")[0] in _DEGREES else "share",
        )
        for method in METHODS
        for key, name, origin in _OF_MAPS
    ),
)


def plan_readings(
    pairs: Sequence[Pair], prompt: Prompt = PROMPTS["A"], *, gives: Capability = "gradients", split: str = ""
) -> Iterator[Item]:
    """Each pair as it is, mirrored and blank; with log-probabilities also with each part and each object hidden.

    Args:
        pairs: with directions left, right, above and below.
        prompt: how they are asked.
        gives: what the model gives; what it does not is not planned.
        split: of the twins' data.
    """
    for pair in pairs:
        conditions = [PLAIN, _MIRRORED, _BLANK]
        if covers(gives, "choices"):
            conditions += [_TARGET_HIDDEN, _REFERENCE_HIDDEN]
            conditions += [f"{_PART} {part}" for part in range(PARTS**2)]
        meta = {"split": split, "cluster": pair.picture.digest, "shortcut": pair.meta.get("shortcut", "")}
        for condition in conditions:
            asked = turned_boxes(pair) if condition == _MIRRORED else pair
            yield pair_item(asked, prompt, condition=condition, meta=meta)


def shown_item(item: Item) -> Item:
    """What is put to the model: the picture of an item, changed as its condition says.

    Items name the picture as it is, so that a run keeps one picture a pair and not twenty-one.
    """
    condition = str(item.meta["condition"])
    if condition == PLAIN:
        return item
    pair = _pair_of(item)
    if condition == _MIRRORED:
        shown = mirrored(pair)
    elif condition == _BLANK:
        shown = blank(pair)
    elif condition.startswith(_PART):
        shown = hidden(pair, part_box(pair.size_px, int(condition.rpartition(" ")[2])))
    elif condition in {_TARGET_HIDDEN, _REFERENCE_HIDDEN}:
        shown = hidden(pair, (pair.target if condition == _TARGET_HIDDEN else pair.reference).box)
    else:
        return item  # of a control, whose own picture is the changed one
    words = item.request.text
    return replace(item, request=replace(item.request, messages=(Message.user(shown.picture, words),)))


def _pair_of(item: Item) -> Pair:
    meta = cast("Mapping[str, Any]", item.meta)
    target, reference = (
        Region(meta[role]["name"], Box(*meta[role]["box"])) for role in ("target", "reference")
    )
    size = (int(meta["size"][0]), int(meta["size"][1]))
    direction = meta["directions"][int(meta["gold"])]
    return Pair(str(meta["pair"]), item.request.pictures[0], size, reference, target, direction)


def readings_factory(
    model: str, *, gives: Capability = "gradients", methods: Sequence[str] = METHODS
) -> MeasurerFactory:
    """Opens the model and measures a plan of `plan_readings` with it, wherever the factory is called."""
    return partial(_open_measurer, model, gives, tuple(methods))


def _open_measurer(model: str, gives: Capability, methods: tuple[str, ...]) -> ReadingMeasurer:
    return ReadingMeasurer(open_model(model), gives, methods)


class ReadingMeasurer:
    """Pairs as they are get their relevance maps, all others only their answer."""

    reuse: Reuse = "never"

    def __init__(
        self, model: VisionLanguageModel, gives: Capability, methods: Sequence[str] = METHODS
    ) -> None:
        self.model = model
        self._asking = ask_measurer(model, "choose" if covers(gives, "choices") else "write")
        self._whole: Measurer = self._asking
        if gives == "gradients":
            self._whole = AttributionMeasurer(model, methods, [_TARGET])
        self.identity = f"{self._whole.identity}|readings"
        self.batch_size = model.batch_size * 4

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """One record per item, in order."""
        found: dict[str, Record] = {}
        for measurer, is_plain in ((self._whole, True), (self._asking, False)):
            some = [item for item in items if (item.meta["condition"] == PLAIN) == is_plain]
            for start in range(0, len(some), measurer.batch_size):
                part = some[start : start + measurer.batch_size]
                records = measurer.measure([shown_item(item) for item in part])
                pairs = zip(part, records, strict=True)
                found |= {item.id: replace(record, item_id=item.id) for item, record in pairs}
        return [found[item.id] for item in items]

    def close(self) -> None:
        """Drops the model."""
        self.model.close()


def readings(run: Run) -> list[ItemScore]:
    """Every metric of every pair that a run holds. No model is called.

    A pair that failed, or a map without relevance, gives no reading: how many there are of each metric is what `n` says.

    Raises:
        UsageError: the run is another instrument's.
    """
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    pairs: dict[tuple[str, str], dict[str, Result]] = {}
    has_maps = False
    for result in run.results():
        meta = result.item.meta
        if result.record is not None and result.record.response.is_answered:
            pairs.setdefault((str(meta["pair"]), str(meta["prompt"])), {})[str(meta["condition"])] = result
            has_maps |= bool(result.record.values)
    found = [reading for rows in pairs.values() if PLAIN in rows for reading in _behaviour(rows)]
    return [*found, *_of_maps(run)] if has_maps else found


def _behaviour(rows: Mapping[str, Result]) -> Iterator[ItemScore]:
    plain = rows[PLAIN]
    meta = cast("Mapping[str, Any]", plain.item.meta)
    name = f"{meta['pair']}/{meta['prompt']}"

    def reading(key: str, value: float) -> ItemScore:
        return ItemScore(
            name, f"compass.{key}", float(value), str(meta["cluster"]), str(meta.get("split") or "")
        )

    said = {condition: _said(result) for condition, result in rows.items()}
    before = said[PLAIN]
    if before is None:
        return
    yield reading("right", before == plain.item.options[int(meta["gold"])])
    if (after := said.get(_MIRRORED)) is not None:
        gold = int(cast("int", rows[_MIRRORED].item.meta["gold"]))
        yield reading("mirror_follows", after == plain.item.options[gold])
        yield reading("mirror_changes", after != before)
    if (after := said.get(_BLANK)) is not None:
        yield reading("blank_changes", after != before)
    chosen = {
        condition: values
        for condition, row in rows.items()
        if (values := _log_probabilities(row)) is not None
    }
    if PLAIN in chosen:
        yield from (reading(key, value) for key, value in _shifts(chosen))


def _shifts(chosen: Mapping[str, NDArray[np.float64]]) -> Iterator[tuple[str, float]]:
    whole = chosen[PLAIN]
    best = int(whole.argmax())
    margin = _margin(whole, best)
    scale = max(abs(margin), _LEAST_MARGIN)
    for key, condition in (("mirror_shift", _MIRRORED), ("blank_shift", _BLANK)):
        if condition in chosen:
            yield key, 0.5 * float(np.abs(_softmax(whole) - _softmax(chosen[condition])).sum())
    for key, condition in (("target_effect", _TARGET_HIDDEN), ("reference_effect", _REFERENCE_HIDDEN)):
        if condition in chosen:
            yield key, (margin - _margin(chosen[condition], best)) / scale
    effects = [
        abs(margin - _margin(values, best)) / scale
        for condition, values in chosen.items()
        if condition.startswith(_PART)
    ]
    if len(effects) == PARTS**2:
        yield "occlusion", max(effects)


def _margin(log_probabilities: NDArray[np.float64], option: int) -> float:
    others = np.delete(log_probabilities, option)
    return float(log_probabilities[option] - others.max())


def _softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum())


def _said(result: Result) -> str | None:
    record = cast("Record", result.record)
    if record.choice is not None:
        return record.choice.best
    directions = cast("Sequence[str]", result.item.meta["directions"])
    return read_option(record.response.text, dict(zip(result.item.options, directions, strict=True)))


def read_option(text: str, options: Mapping[str, str]) -> str | None:
    """The one option that a text names, by its token or by its direction; None where it names none or several.

    >>> offered = {"1": "left", "2": "right", "3": "above", "4": "below"}
    >>> read_option("1) to the left", offered), read_option("It is above.", offered), read_option("1 or 2", offered)
    ('1', '3', None)
    """
    words = set(re.findall(r"\w+", without_thinking(text).casefold()))
    named = [token for token, name in options.items() if {token.casefold(), name.casefold()} & words]
    return named[0] if len(named) == 1 else None


def _log_probabilities(result: Result) -> NDArray[np.float64] | None:
    choice = cast("Record", result.record).choice
    if choice is None or not np.isfinite(choice.log_probabilities).all():
        return None
    return np.asarray(choice.log_probabilities, np.float64)


def _of_maps(run: Run) -> Iterator[ItemScore]:
    samples = (sample for sample in read_samples(run) if sample.condition == PLAIN)
    projected = project_samples(samples, {"paper": PAPER, "sound": SOUND}, seed=0)
    for key in projected.keys:
        method, _, target = key.partition("@")
        if method in METHODS and target in {"", _TARGET}:
            yield from _of_method(projected, key, method)


def _of_method(projected: Projected, key: str, method: str) -> Iterator[ItemScore]:
    """The readings of one method on every pair that has a compass, or relevance to share out."""
    columns: dict[str, tuple[NDArray[Any], NDArray[np.bool_]]] = {}
    for name, readings_of in projected.readings.items():
        if key in readings_of:
            each = readings_of[key]
            columns[f"dae_{name}"] = each.dae_deg, each.is_kept
            columns[f"ea_{name}"] = each.is_hit(), each.is_kept
            columns[f"excess_{name}"] = each.uniform_dae_deg - each.dae_deg, each.is_kept
    shares = projected.shares[key]
    with_text = shares.is_kept & shares.has_text
    for name, values in (("image", shares.image), ("target", shares.target), ("reference", shares.reference)):
        columns[f"{name}_share"] = values, with_text
    for name, (values, is_there) in columns.items():
        for place in np.flatnonzero(is_there):
            sample = projected.samples[place]
            yield ItemScore(
                f"{sample.id}/{sample.prompt}",
                f"compass.{name}:{method}",
                float(values[place]),
                sample.cluster,
                str(sample.meta.get("split") or ""),
            )
