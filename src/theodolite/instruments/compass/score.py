"""Metrics of the compass, and their values on every pair of a run. No model is called.

Metrics of maps (they need gradients), by method; maps explain the true answer's logit:

dae_paper, dae_sound            DAE of the peak under the paper's projection and under ours, in degrees
ea_paper, ea_sound              1 if DAE ≤ 45°, else 0
excess_paper, excess_sound      DAE of the uniform map − DAE: what the map knows beyond the layout, in degrees
image_share                     relevance on image tokens / relevance on all tokens, before anything is normalised
target_share, reference_share   the same on one object's box

Metrics of the options' log-probabilities (`formulas.evidence_share`):

mirror_shift, blank_shift         shift of the answer when the picture is mirrored, or blank
target_effect, reference_effect   loss of margin when an object is hidden
occlusion                         largest loss of margin over 4 × 4 hidden parts

Metrics of answers (text is enough):

right                             1 if the answer is right
mirror_follows                    1 if the mirror image is answered with the opposite direction
mirror_changes, blank_changes     1 if the answer changes

A pair whose answer is refused, cut off, ambiguous or unreadable, and a map without a direction, have no value but a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.answers import READER, Answer
from theodolite.answers.grading import read_item
from theodolite.attribution import RelevanceMap
from theodolite.core.scores import (
    Condition,
    ItemScore,
    Metric,
    Signature,
    SignatureKind,
    judge_signature,
    metric_of,
    metrics_of,
)
from theodolite.core.views import HeatMap, Overlay
from theodolite.instruments.compass.data.drawn import PARTS
from theodolite.instruments.compass.formulas.dae import DegenerateError
from theodolite.instruments.compass.formulas.evidence_share import answer_shift, hiding_effect, occlusion
from theodolite.instruments.compass.formulas.projected import (
    ProjectedRun,
    project_samples,
    reason_of,
)
from theodolite.instruments.compass.formulas.projection import PROJECTIONS, SOUND, project
from theodolite.instruments.compass.measure import METHODS, Sample, check_kind, read_samples, split_key
from theodolite.instruments.compass.questions import (
    BLANK,
    MIRRORED,
    PART_HIDDEN,
    PLAIN,
    REFERENCE_HIDDEN,
    TARGET_HIDDEN,
)
from theodolite.runs import Parsed, Result, Run
from theodolite.stats import score_mean

__all__ = [
    "compass_signatures",
]

_OF_MAPS = (
    "dae_paper",
    "dae_sound",
    "ea_paper",
    "ea_sound",
    "excess_paper",
    "excess_sound",
    "image_share",
    "target_share",
    "reference_share",
)
"""The metrics that every map has."""


def map_metric(kind: str, key: str) -> Metric:
    """Return the metric of a kind, such as ``dae_paper``, for a map ``method@target`` or a baseline.

    >>> map_metric("dae_paper", "chefer@gt").key, map_metric("dae_paper", "chefer@pred").key
    ('compass.dae_paper:chefer', 'compass.dae_paper:chefer@pred')
    """
    method, target = split_key(key)
    return metric_of(f"compass.{kind}:{method if target in {'', 'gt'} else key}")


def item_scores(run: Run) -> list[ItemScore]:
    """Compute every metric of every pair of a run; a score without a value says why. Items are ``<pair>/<prompt>``.

    Raises:
        UsageError: If the run is another instrument's.
    """
    plain, scores = answer_scores(run)
    if not any(_has_maps(result) for result in plain):
        return scores
    samples = (sample for sample in read_samples(run) if sample.condition == PLAIN)
    projected = project_samples(samples, PROJECTIONS, seed=0)
    for key in projected.keys:
        method, target = split_key(key)
        if method in METHODS and target in {"", "gt"}:
            scores += map_scores(projected, key)
            scores += [
                _score(result, map_metric(kind, key).key, None, _status(result) or "no relevance map")
                for result in plain
                if not _has_maps(result)
                for kind in _OF_MAPS
            ]
    return scores


def _has_maps(result: Result) -> bool:
    record = result.record
    return record is not None and record.response.is_answered and "logits" in record.values


def answer_scores(run: Run) -> tuple[list[Result], list[ItemScore]]:
    """Return the plain item of every pair, and the scores of the answers under all conditions.

    The parsed answers are stored beside their text if the run is open for writing.
    """
    asked = _by_pair(run)
    answered = [
        result
        for results in asked
        for result in results.values()
        if result.record is not None and result.record.response.is_answered
    ]
    read = ((result, read_item(result.item, result.record)) for result in answered)
    run.write_parsed(Parsed(result.item.id, READER, a.status, a.value) for result, a in read)
    return [results[PLAIN] for results in asked], [
        score for results in asked for score in _scores_of_pair(results)
    ]


def _by_pair(run: Run) -> list[dict[str, Result]]:
    """Return the results of every pair and prompt, by condition; a control's edits have separate tables."""
    check_kind(run)
    pairs: dict[str, dict[str, Result]] = {}
    for result in run.results():
        item = result.item
        if "control" not in item.meta:
            pairs.setdefault(item.subject, {})[item.truth.condition] = result
    return [results for results in pairs.values() if PLAIN in results]


def _score(result: Result, key: str, value: float | None, reason: str = "") -> ItemScore:
    item = result.item
    return ItemScore(
        item.subject,
        key,
        None if value is None else float(value),
        item.cluster,
        item.truth.split,
        reason=reason,
    )


def _status(result: Result, answer: Answer | None = None) -> str:
    """Return why a result has no answer; empty if it has one."""
    if result.record is None:
        return "pending"
    status = result.record.response.status
    if status != "answered":
        return status
    return "" if answer is None or answer.is_read else answer.status


def _scores_of_pair(results: Mapping[str, Result]) -> Iterator[ItemScore]:
    plain = results[PLAIN]
    answers = {condition: read_item(result.item, result.record) for condition, result in results.items()}

    def score(key: str, condition: str, value: Callable[[], float]) -> ItemScore:
        """Return the value, if both answers could be read; else the reason."""
        for name in (PLAIN, condition):
            if not answers[name].is_read:
                reason = _status(results[name], answers[name])
                return _score(plain, f"compass.{key}", None, reason if name == PLAIN else f"{name}: {reason}")
        return _score(plain, f"compass.{key}", value())

    status = _status(plain, answers[PLAIN])
    right = (
        None
        if status in {"failed", "pending"}
        else float(not status and answers[PLAIN].value == _gold(plain))
    )
    yield _score(plain, "compass.right", right, status)
    if MIRRORED in answers:
        gold = _gold(results[MIRRORED])
        yield score("mirror_follows", MIRRORED, lambda: answers[MIRRORED].value == gold)
        yield score("mirror_changes", MIRRORED, lambda: answers[MIRRORED].value != answers[PLAIN].value)
    if BLANK in answers:
        yield score("blank_changes", BLANK, lambda: answers[BLANK].value != answers[PLAIN].value)
    yield from _effect_scores(results)


def _effect_scores(results: Mapping[str, Result]) -> Iterator[ItemScore]:
    """Yield the metrics of log-probabilities, where the model gives them."""
    chosen = {condition: _log_probabilities(result) for condition, result in results.items()}
    before = chosen[PLAIN]
    if before is None and TARGET_HIDDEN not in results:
        return  # planned for text answers

    def score(key: str, conditions: Sequence[str], value: Callable[..., float]) -> ItemScore:
        after = [chosen[condition] for condition in conditions]
        for name, values in zip((PLAIN, *conditions), (before, *after), strict=True):
            if values is None:
                reason = _status(results[name]) or "no log-probabilities"
                shown = reason if name == PLAIN else f"{name}: {reason}"
                return _score(results[PLAIN], f"compass.{key}", None, shown)
        return _score(results[PLAIN], f"compass.{key}", value(before, *after))

    for key, condition, value in (
        ("mirror_shift", MIRRORED, answer_shift),
        ("blank_shift", BLANK, answer_shift),
        ("target_effect", TARGET_HIDDEN, hiding_effect),
        ("reference_effect", REFERENCE_HIDDEN, hiding_effect),
    ):
        if condition in results:
            yield score(key, [condition], value)
    parts = [condition for condition in results if condition.startswith(PART_HIDDEN)]
    if len(parts) == PARTS**2:
        yield score("occlusion", parts, occlusion)


def _gold(result: Result) -> str:
    return result.item.truth.golds[0]


def _log_probabilities(result: Result) -> NDArray[np.float64] | None:
    choice = result.record.choice if result.record is not None else None
    if choice is None or not np.isfinite(choice.log_probabilities).all():
        return None
    return np.asarray(choice.log_probabilities, np.float64)


def map_scores(projected: ProjectedRun, key: str) -> Iterator[ItemScore]:
    """Yield the metrics of one map, or baseline, on every sample."""
    columns: dict[str, tuple[NDArray[Any], NDArray[np.bool_], list[str]]] = {}
    for name in PROJECTIONS:
        if key in projected.angles.get(name, {}):
            angles = projected.angles[name][key]
            kept, reasons = angles.is_kept, angles.reasons
            columns[f"dae_{name}"] = angles.error_deg, kept, reasons
            columns[f"ea_{name}"] = angles.edge_hits, kept, reasons
            columns[f"excess_{name}"] = -angles.excess_deg, kept, reasons
    if key in projected.shares:
        shares = projected.shares[key]
        reasons = [
            reason_of(code) if code else "the method gives no relevance on the text" for code in shares.codes
        ]
        parts = {"image": shares.image, "target": shares.target, "reference": shares.reference}
        for name, values in parts.items():
            columns[f"{name}_share"] = values, shares.is_kept & shares.has_text, reasons
    for kind, (values, is_there, reasons) in columns.items():
        name = map_metric(kind, key).key
        for index, sample in enumerate(projected.samples):
            yield ItemScore(
                f"{sample.id}/{sample.prompt}",
                name,
                float(values[index]) if is_there[index] else None,
                sample.cluster,
                sample.split,
                reason="" if is_there[index] else reasons[index],
            )


# Signatures of the compass.
#
# layout-driven    answers are right more often than by chance, but no method's map points 5° better than a uniform map
# language prior   at most a tenth of the answers change when the picture is blank


BEYOND_DEG = 5.0
"""A map follows the question if its error is smaller than the uniform map's by this much."""
FEW = 0.1
CHANCE = 0.25
"""Of four directions."""

LAYOUT_DRIVEN = SignatureKind(
    "layout-driven",
    "Change only the option whose logit is explained: a map that follows the question turns with it, one that follows the "
    "layout stays (`theodolite compass run --controls prompt-direction`).",
    "At test time, not in training: abstain where the compass points far from the answer, or answer by its peak.",
    "CREG, sections 4.5 and 5.1",
)
LANGUAGE_PRIOR = SignatureKind(
    "language prior",
    "Show the picture of another scene: an answer that stays was never about the picture (`theodolite ask run`).",
    "Enforce consistency between answers and perceived structure in training, and balance the answers of the data.",
    "CRISP, section 6; GridVQA-X, appendix B.1",
)


def compass_signatures(scores: Sequence[ItemScore]) -> list[Signature]:
    """Return the signatures layout-driven and language prior, over all splits together."""
    means = {
        metric.key: score_mean(metric, scores) for metric in metrics_of("compass") if _is_used(metric.key)
    }
    excess = {
        key: mean
        for key, mean in means.items()
        if key.startswith("compass.excess_sound:") and mean is not None
    }
    best = max(excess, key=lambda key: excess[key].high, default="")
    label = f"DAE below the uniform map's, best of {len(excess)} methods"
    if best:
        label += f" ({best.partition(':')[2]})"
    return [
        judge_signature(
            LAYOUT_DRIVEN,
            [
                Condition(
                    "answers that are right",
                    means["compass.right"],
                    lambda x: x.low > CHANCE,
                    "above chance",
                ),
                Condition(
                    label, excess.get(best), lambda x: x.high < BEYOND_DEG, f"less than {BEYOND_DEG:g}°"
                ),
            ],
        ),
        judge_signature(
            LANGUAGE_PRIOR,
            [
                Condition(
                    "answers that change with a blank picture",
                    means["compass.blank_changes"],
                    lambda x: x.high < FEW,
                    "below a tenth",
                )
            ],
        ),
    ]


def _is_used(key: str) -> bool:
    return key in {"compass.right", "compass.blank_changes"} or key.startswith("compass.excess_sound:")


# Rows of the compass: each item with both boxes on its picture, relevance maps and shares by direction.


SHOWN = ("chefer", "contrastive-grad-act-sound", "grad-act-absolute")
"""The methods whose maps are shown."""
_CELLS = 16
_CARDINAL = {"right": 0.0, "above": 90.0, "left": 180.0, "below": 270.0}


def view_of(run: Run) -> Callable[[Result], dict[str, Any] | None]:
    """Return a function from a result to the boxes and maps over its picture. Items with a hidden part are left out."""
    overlays = {sample.item_id: overlay(sample) for sample in read_samples(run)}

    def view(result: Result) -> dict[str, Any] | None:
        item = result.item
        if item.truth.condition.startswith(PART_HIDDEN):
            return None
        return {"overlay": overlays.get(item.id) or _boxes(cast("Mapping[str, Any]", item.meta))}

    return view


def overlay(sample: Sample) -> Overlay:
    """Return the overlay of the picture of a measured pair."""
    maps, sectors = [], {}
    for key, relevance in sample.maps.items():
        method = key.partition("@")[0]
        if method in SHOWN:
            maps.append(heat_map(relevance, method))
            masses = sector_masses(relevance, sample)
            if masses is not None:
                sectors[method] = masses
    return Overlay(
        target=sample.target.name,
        reference=sample.reference.name,
        target_px=_corners(sample.target.box),
        reference_px=_corners(sample.reference.box),
        size_px=sample.size_px,
        sectors=sectors,
        maps=maps,
    )


def heat_map(relevance: RelevanceMap, name: str) -> HeatMap:
    """Resample the map to a small grid over the whole picture, independent of tiles."""
    heat = relevance.grid.paint(relevance.values)
    height, width = heat.shape
    rows, columns = min(_CELLS, height), min(_CELLS, width)
    down = np.add.reduceat(heat, np.arange(rows) * height // rows, axis=0)
    small = np.add.reduceat(down, np.arange(columns) * width // columns, axis=1)
    largest = float(np.abs(small).max()) or 1.0
    values = (small / largest).round(3)
    return HeatMap(name=name, values=values.tolist(), place_px=(0.0, 0.0, float(width), float(height)))


def sector_masses(relevance: RelevanceMap, sample: Sample) -> dict[str, float] | None:
    """Return the share of the map's mass in each of the four directions from the reference; None if it has no direction."""
    try:
        compass = project(relevance, reference=sample.reference.box, target=sample.target.box, options=SOUND)
    except DegenerateError:
        return None
    names = list(_CARDINAL)
    angles = np.array(list(_CARDINAL.values()))
    gaps = np.abs((compass.centres_deg[:, None] - angles + 180.0) % 360.0 - 180.0)  # (sectors, 4)
    nearest = gaps.argmin(axis=1)
    masses = np.bincount(nearest, weights=compass.distribution.reshape(-1), minlength=4)
    return dict(zip(names, masses.round(4).tolist(), strict=True))


def _boxes(meta: Mapping[str, Any]) -> Overlay:
    return Overlay(
        target=str(meta["target"]["name"]),
        reference=str(meta["reference"]["name"]),
        target_px=tuple(meta["target"]["box"]),
        reference_px=tuple(meta["reference"]["box"]),
        size_px=tuple(meta["size"]),
    )


def _corners(box: Any) -> tuple[float, float, float, float]:
    return float(box.x0), float(box.y0), float(box.x1), float(box.y1)
