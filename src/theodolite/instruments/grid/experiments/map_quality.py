"""How good are the maps of explainers? RMA, IoU and mass by bucket and over all scenes (the paper's Tables 5 to 8).

Every measure of every map is an item score ``grid.<measure>:<explainer>``; all means are of these. Masses on anchors, on
look-alikes and on words are of scenes whose question has a relation; the mass on look-alikes also needs a scene that has
some. `METRICS` are those that a diagnosis reports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.scores import ItemScore, Metric
from theodolite.core.tables import Unit
from theodolite.instruments.grid.data.masks import MaskName
from theodolite.instruments.grid.experiments.explained import ExplainedRun, SceneMap
from theodolite.instruments.grid.formulas.maps import MapScore

EXPLAINERS = (
    "dime",
    "multishap",
    "multiviz",
    "pixelshap-shapley",
    "removal",
    "alike-removal",
    "interacting-words",
    "relevance:chefer",
    "relevance:contrastive-grad-act",
)
"""The explainers of a diagnosis: the four published families, and ours."""
_PUBLISHED = {"dime", "multishap", "multiviz", "pixelshap-shapley"}
SPLITS = {"spur": "aligned", "pure": "crossed"}
"""The split of a diagnosis by mode: a bag of words is right on spurious scenes, and misled on pure ones."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of one map."""

    name: str
    value: Callable[[SceneMap], float | None]
    applies: Callable[[SceneMap], bool] = lambda _: True
    """False where a map cannot have it."""
    higher: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    unit: Unit = "share"


def _of_truth(read: Callable[[MapScore], float]) -> Callable[[SceneMap], float | None]:
    return lambda each: read(each.truth) if each.truth else None


def _of_pixels(name: str, read: Callable[[MapScore], float]) -> Measure:
    return Measure(
        name,
        lambda each: read(each.pixel) if each.pixel else None,
        applies=lambda each: each.pixel is not None,
    )


def _mass(name: str, part: MaskName, **how: object) -> Measure:
    return Measure(name, lambda each: each.mass.get(part), **how)  # type: ignore[arg-type]


def _words(role: str) -> Measure:
    return Measure(
        f"{role} words",
        lambda each: (each.words or {}).get(role),
        applies=lambda each: each.words is not None and each.bucket.is_relational,
    )


def _is_relational(each: SceneMap) -> bool:
    return each.bucket.is_relational


MEASURES: Mapping[str, Measure] = {
    "rma": Measure("RMA", _of_truth(lambda s: s.rma)),
    "area": Measure("area", _of_truth(lambda s: s.area)),
    "normalised_rma": Measure("normalised RMA", _of_truth(lambda s: s.normalised_rma), bounds=None),
    "rra": Measure("RRA", _of_truth(lambda s: s.rra)),
    "map_auc": Measure("AUC", _of_truth(lambda s: s.auc)),
    "iou": Measure("IoU", _of_truth(lambda s: s.iou)),
    "iou_paper": Measure("IoU (paper)", _of_truth(lambda s: s.iou_paper)),
    "pixel_rma": _of_pixels("pixel RMA", lambda s: s.rma),
    "pixel_iou": _of_pixels("pixel IoU", lambda s: s.iou),
    "pixel_iou_paper": _of_pixels("pixel IoU (paper)", lambda s: s.iou_paper),
    "adversarial_mass": _mass(
        "mass on look-alikes",
        "adversarial",
        applies=lambda each: each.bucket.is_relational and each.has_look_alike,
        higher=False,
    ),
    "anchor_mass": _mass("mass on anchors", "anchors", applies=_is_relational),
    "target_mass": _mass("mass on targets", "targets"),
    "other_mass": _mass("mass on other objects", "other"),
    "background_mass": _mass("mass on background", "background"),
    "direction_words": _words("direction"),
    "target_words": _words("target"),
    "anchor_words": _words("anchor"),
    "other_words": _words("other"),
    "interacting_words": Measure(
        "interacting words",
        lambda each: each.scalars.get("interacting_words"),
        applies=lambda each: each.explainer == "interacting-words" and each.bucket.is_relational,
        bounds=None,
        unit="number",
    ),
}
"""What is measured of a map, by kind; against anchors and targets unless the name says otherwise."""


def needs_gradients(explainer: str) -> bool:
    """True if one of `EXPLAINERS` differentiates the model.

    >>> [name for name in EXPLAINERS if needs_gradients(name)]
    ['multiviz', 'relevance:chefer', 'relevance:contrastive-grad-act']
    """
    return explainer == "multiviz" or explainer.startswith("relevance:")


def map_metric(kind: str, explainer: str) -> Metric:
    """The metric of one measure of one explainer; interacting words have one explainer, which is not in the key."""
    measure = MEASURES[kind]
    is_ours = kind == "interacting_words"
    return Metric(
        f"grid.{kind}" if is_ours else f"grid.{kind}:{explainer}",
        measure.name if is_ours else f"{measure.name} ({explainer})",
        measure.higher,
        "paper" if explainer in _PUBLISHED else "ours",
        "gradients" if needs_gradients(explainer) else "choices",
        measure.bounds,
        measure.unit,
    )


METRICS: tuple[Metric, ...] = (
    *(
        map_metric(kind, explainer)
        for explainer in EXPLAINERS
        for kind in ("direction_words", "anchor_mass", "adversarial_mass")
        if kind != "direction_words" or not explainer.startswith("relevance:")
    ),
    map_metric("interacting_words", "interacting-words"),
)
_METRICS_OF = {name: [metric for metric in METRICS if metric.key.endswith(f":{name}")] for name in EXPLAINERS}
_METRICS_OF["interacting-words"].append(METRICS[-1])

_REASONS = {
    "no relevance": "the map is zero everywhere",
    "no truth": "the question asks for nothing in the picture",
}


def map_scores(run: ExplainedRun) -> list[ItemScore]:
    """Every measure of every map, or the reason why it has none.

    Of a scene that failed or is pending, only the metrics of a diagnosis are listed.
    """
    split = SPLITS.get(run.mode, "")
    keys: dict[tuple[str, str], str] = {}
    found = []
    for each in run.maps:
        for kind, measure in MEASURES.items():
            if not measure.applies(each):
                continue
            key = keys.get((kind, each.explainer))
            if key is None:
                key = keys[kind, each.explainer] = map_metric(kind, each.explainer).key
            value = measure.value(each)
            reason = "" if value is not None else _reason(each)
            found.append(ItemScore(each.scene, key, value, each.scene, split, each.group, reason))
    planned = {metric.key for name in run.plan.explainers for metric in _METRICS_OF.get(name, ())}
    for scene, reason in run.unmeasured.items():
        if not scene.startswith("cross/"):
            found += [ItemScore(scene, key, None, scene, split, reason=reason) for key in sorted(planned)]
    return found


def _reason(each: SceneMap) -> str:
    if each.status == "not measured":
        return f"not measured: {each.reason}"
    return _REASONS.get(each.status, "no relevance on any word")


@dataclass(frozen=True, slots=True)
class MapMean:
    """The mean of one measure of one explainer over some scenes of one run."""

    scenario: str
    explainer: str
    kind: str
    """A key of `MEASURES`."""
    by: str
    """How scenes are grouped: ``all``, ``bucket``, ``answer``, ``correctness`` or ``form``."""
    group: str
    mean: stats.Estimate | float | None
    """A plain number if no interval can be given; None if no scene has a value."""
    std: float | None
    n: int
    """Scenes with a value."""
    without: int
    """Scenes without."""

    @property
    def value(self) -> float | None:
        """The mean without its interval."""
        return self.mean.value if isinstance(self.mean, stats.Estimate) else self.mean


_BUCKET_KINDS = (
    "rma",
    "normalised_rma",
    "area",
    "iou",
    "iou_paper",
    "adversarial_mass",
    "pixel_rma",
    "pixel_iou_paper",
)
_GROUPINGS: Mapping[str, tuple[Callable[[SceneMap], str], Iterable[str]]] = {
    "all": (lambda _: "all", MEASURES),
    "bucket": (lambda each: each.group, _BUCKET_KINDS),
    "answer": (
        lambda each: each.gold if each.gold in {"yes", "no"} else "",
        ("rma", "normalised_rma", "iou"),
    ),
    "correctness": (lambda each: "right" if each.is_right else "wrong", ("rma", "adversarial_mass")),
    "form": (lambda each: f"form {each.bucket.form}", ("rma", "normalised_rma")),
}


def map_means(run: ExplainedRun, scores: Sequence[ItemScore]) -> list[MapMean]:
    """The mean of every measure over all scenes, by bucket, by answer, by correctness and by form.

    Args:
        run: The run.
        scores: Its `map_scores`.
    """
    by_key: dict[str, dict[str, ItemScore]] = defaultdict(dict)
    for score in scores:
        by_key[score.metric][score.item] = score
    names = list(dict.fromkeys(each.explainer for each in run.maps))
    found = []
    for by, (key, kinds) in _GROUPINGS.items():
        groups: dict[str, dict[str, None]] = defaultdict(dict)
        for each in run.maps:
            if group := key(each):
                groups[group][each.scene] = None
        for name in names:
            for kind in kinds:
                metric = map_metric(kind, name)
                if metric.key in by_key and (kind != "interacting_words" or name == "interacting-words"):
                    found += [
                        _mean(run, metric, name, kind, by, group, by_key[metric.key], scenes)
                        for group, scenes in groups.items()
                    ]
    return found


def _mean(  # noqa: PLR0913, PLR0917 - one cell of a table
    run: ExplainedRun,
    metric: Metric,
    explainer: str,
    kind: str,
    by: str,
    group: str,
    scores: Mapping[str, ItemScore],
    scenes: Iterable[str],
) -> MapMean:
    some = [scores[scene] for scene in scenes if scene in scores]
    values = [score.value for score in some if score.value is not None]
    mean: stats.Estimate | float | None = stats.score_mean(metric, some)
    if mean is None and values:
        mean = float(np.mean(values))
    std = float(np.std(values)) if values else None
    return MapMean(run.scenario, explainer, kind, by, group, mean, std, len(values), len(some) - len(values))
