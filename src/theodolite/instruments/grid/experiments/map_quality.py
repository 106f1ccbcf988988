"""How good are the maps of explainers? RMA, IoU and mass by bucket and over all scenes (the paper's Tables 5 to 8).

Every measure of every map is an item score ``grid.<measure>:<explainer>``; all means are of these. Masses on anchors, on
look-alikes and on words are of scenes whose question has a relation; the mass on look-alikes also needs a scene that has
some. A diagnosis reports those of `metrics_of`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.scores import ItemScore, Metric, column, definition, metric_of, metrics_of
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.data.batch import MaskName
from theodolite.instruments.grid.experiments.explained import FEWEST, ExplainedRun, SceneMap
from theodolite.instruments.grid.formulas.maps import MapScore
from theodolite.instruments.grid.published import (
    PRINTED_EXPLAINERS,
    RMA,
    SOURCE,
    TABLES,
    TABLES_SOURCE,
    paper_tables,
)
from theodolite.instruments.grid.questions import SPLITS

EXPLAINERS = definition("grid.anchor_mass").variants
"""The explainers of a diagnosis: the four published families, and ours."""


@dataclass(frozen=True, slots=True)
class MapMeasure:
    """How a metric is read from one map."""

    value: Callable[[SceneMap], float | None]
    applies: Callable[[SceneMap], bool] = lambda _: True
    """False where a map cannot have it."""


def _of_truth(read: Callable[[MapScore], float]) -> MapMeasure:
    return MapMeasure(lambda scene_map: read(scene_map.truth) if scene_map.truth else None)


def _of_pixels(read: Callable[[MapScore], float]) -> MapMeasure:
    return MapMeasure(
        lambda scene_map: read(scene_map.pixel) if scene_map.pixel else None,
        applies=lambda scene_map: scene_map.pixel is not None,
    )


def _mass(part: MaskName, applies: Callable[[SceneMap], bool] = lambda _: True) -> MapMeasure:
    return MapMeasure(lambda scene_map: scene_map.mass.get(part), applies)


def _words(role: str) -> MapMeasure:
    return MapMeasure(
        lambda scene_map: (scene_map.words or {}).get(role),
        applies=lambda scene_map: scene_map.words is not None and scene_map.bucket.is_relational,
    )


def _is_relational(scene_map: SceneMap) -> bool:
    return scene_map.bucket.is_relational


MEASURES: Mapping[str, MapMeasure] = {
    "rma": _of_truth(lambda s: s.rma),
    "area": _of_truth(lambda s: s.area),
    "normalised_rma": _of_truth(lambda s: s.normalised_rma),
    "rra": _of_truth(lambda s: s.rra),
    "map_auc": _of_truth(lambda s: s.auc),
    "iou": _of_truth(lambda s: s.iou),
    "iou_paper": _of_truth(lambda s: s.iou_paper),
    "pixel_rma": _of_pixels(lambda s: s.rma),
    "pixel_iou": _of_pixels(lambda s: s.iou),
    "pixel_iou_paper": _of_pixels(lambda s: s.iou_paper),
    "adversarial_mass": _mass(
        "adversarial", applies=lambda scored: scored.bucket.is_relational and scored.has_look_alike
    ),
    "anchor_mass": _mass("anchors", applies=_is_relational),
    "target_mass": _mass("targets"),
    "other_mass": _mass("other"),
    "background_mass": _mass("background"),
    "direction_words": _words("direction"),
    "target_words": _words("target"),
    "anchor_words": _words("anchor"),
    "other_words": _words("other"),
    "interacting_words": MapMeasure(
        lambda scored: scored.scalars.get("interacting_words"),
        applies=lambda scored: scored.explainer == "interacting-words" and scored.bucket.is_relational,
    ),
}
"""How each metric of maps is read; against anchors and targets unless its definition says otherwise."""


def needs_gradients(explainer: str) -> bool:
    """Return True if one of `EXPLAINERS` differentiates the model.

    >>> [name for name in EXPLAINERS if needs_gradients(name)]
    ['multiviz', 'relevance:chefer', 'relevance:contrastive-grad-act']
    """
    return explainer in definition("grid.anchor_mass").needs_gradients


def map_metric(kind: str, explainer: str) -> Metric:
    """Return a metric of maps for one explainer; interacting words have one explainer, which is not in the key."""
    return metric_of(f"grid.{kind}" if kind == "interacting_words" else f"grid.{kind}:{explainer}")


def _metrics_of(explainer: str) -> set[str]:
    """Return the keys of an explainer's metrics in a diagnosis."""
    own = MEASURES if explainer == "interacting-words" else set(MEASURES) - {"interacting_words"}
    known = {metric.key for metric in metrics_of("grid")}
    return known & {map_metric(kind, explainer).key for kind in own}


_REASONS = {
    "no relevance": "the map is zero everywhere",
    "no truth": "the question asks for nothing in the picture",
}


def map_scores(run: ExplainedRun) -> list[ItemScore]:
    """Score every measure of every map, or state why it has no value.

    Of a scene that failed or is pending, only the metrics of a diagnosis are listed.
    """
    split = SPLITS.get(run.mode, "")
    keys: dict[tuple[str, str], str] = {}
    scores = []
    for scene_map in run.maps:
        for kind, measure in MEASURES.items():
            if not measure.applies(scene_map):
                continue
            key = keys.get((kind, scene_map.explainer))
            if key is None:
                key = keys[kind, scene_map.explainer] = map_metric(kind, scene_map.explainer).key
            value = measure.value(scene_map)
            reason = "" if value is not None else _reason(scene_map)
            scores.append(
                ItemScore(scene_map.scene, key, value, scene_map.scene, split, scene_map.group, reason)
            )
    planned = {key for name in run.plan.explainers for key in _metrics_of(name)}
    for scene, reason in run.unmeasured.items():
        if not scene.startswith("cross/"):
            scores += [ItemScore(scene, key, None, scene, split, reason=reason) for key in sorted(planned)]
    return scores


def _reason(scene_map: SceneMap) -> str:
    if scene_map.status == "not measured":
        return f"not measured: {scene_map.reason}"
    return _REASONS.get(scene_map.status, "no relevance on any word")


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
    "bucket": (lambda scored: scored.group, _BUCKET_KINDS),
    "answer": (
        lambda scored: scored.gold if scored.gold in {"yes", "no"} else "",
        ("rma", "normalised_rma", "iou"),
    ),
    "correctness": (lambda scored: "right" if scored.is_right else "wrong", ("rma", "adversarial_mass")),
    "form": (lambda scored: f"form {scored.bucket.form}", ("rma", "normalised_rma")),
}


def map_means(run: ExplainedRun, scores: Sequence[ItemScore]) -> list[MapMean]:
    """Return the mean of every measure over all scenes, by bucket, by answer, by correctness and by form.

    Args:
        run: The run.
        scores: Its `map_scores`.
    """
    by_key: dict[str, dict[str, ItemScore]] = defaultdict(dict)
    for score in scores:
        by_key[score.metric][score.item] = score
    names = list(dict.fromkeys(scene_map.explainer for scene_map in run.maps))
    means = []
    for by, (key, kinds) in _GROUPINGS.items():
        groups: dict[str, dict[str, None]] = defaultdict(dict)
        for scene_map in run.maps:
            if group := key(scene_map):
                groups[group][scene_map.scene] = None
        for name in names:
            for kind in kinds:
                metric = map_metric(kind, name)
                if metric.key in by_key and (kind != "interacting_words" or name == "interacting-words"):
                    means += [
                        _mean(run, metric, name, kind, by, group, by_key[metric.key], scenes)
                        for group, scenes in groups.items()
                    ]
    return means


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


# Do an explainer's maps separate the model that evaluates from the one that counts words, on the same scenes?
#
# The AUC of the mass on look-alikes (higher for the bag of words) and of the share on direction words (higher for the
# evaluator), over relational scenes with look-alikes, clustered by scene; ½ means not at all.


KINDS = {"adversarial_mass": 1, "direction_words": 0}
"""The measures, and the model for which each should be higher: 0 pure, 1 spur."""


@dataclass(frozen=True, slots=True)
class MapSeparation:
    """How well one measure of an explainer separates the two models."""

    explainer: str
    kind: str
    auc: stats.Estimate | None
    """None with fewer than five maps of a model."""
    pure: float | None
    """The mean of the model that evaluates."""
    spur: float | None
    """The mean of the model that counts words."""
    n_pure: int
    n_spur: int
    left_out: int
    """Maps without a value, of both models."""


def separate_maps(pure: ExplainedRun, spur: ExplainedRun, *, seed: int = 0) -> list[MapSeparation]:
    """Measure how well every explainer of both runs separates the two models.

    Args:
        pure: Run of the model that evaluates the question.
        spur: Run of the model that counts words, on the same scenes.
        seed: Seed of resampling.
    """
    known = {scored.explainer for scored in spur.maps}
    names = [name for name in dict.fromkeys(scored.explainer for scored in pure.maps) if name in known]
    separations = [_separate(pure, spur, name, kind, seed) for name in names for kind in KINDS]
    return [separation for separation in separations if separation is not None]


def _separate(
    pure: ExplainedRun, spur: ExplainedRun, explainer: str, kind: str, seed: int
) -> MapSeparation | None:
    maps = [
        (label, scored)
        for label, run in enumerate((pure, spur))
        for scored in run.maps
        if scored.explainer == explainer and scored.bucket.is_relational and scored.has_look_alike
    ]
    read = MEASURES[kind].value
    values = [(label, value, scored.scene) for label, scored in maps if (value := read(scored)) is not None]
    if not values:
        return None
    sides = [[value for label, value, _ in values if label == side] for side in (0, 1)]
    auc = None
    if min(map(len, sides)) >= FEWEST:
        auc = stats.roc_auc(
            [value for _, value, _ in values],
            [label == KINDS[kind] for label, _, _ in values],
            clusters=[scene for _, _, scene in values],
            seed=seed,
        )
    pure_mean, spur_mean = (float(np.mean(side)) if side else None for side in sides)
    n_pure, n_spur = map(len, sides)
    left_out = len(maps) - len(values)
    return MapSeparation(explainer, kind, auc, pure_mean, spur_mean, n_pure, n_spur, left_out)


def separation_table(found: Sequence[MapSeparation]) -> Table:
    """Return one row per explainer and measure."""
    return Table.of(
        "grid.separation",
        "Do the maps separate the two models, on the same scenes? AUC, clustered by scene; ½ means not at all",
        [
            Column("explainer", "explainer"),
            Column("measure", "measure"),
            Column("pure", "pure", "share"),
            Column("n_pure", "n, pure", "count"),
            Column("spur", "spur", "share"),
            Column("n_spur", "n, spur", "count"),
            column("grid.separation", "auc"),
            Column("left_out", "no value", "count"),
        ],
        [
            [
                separation.explainer,
                definition(f"grid.{separation.kind}").name,
                separation.pure,
                separation.n_pure,
                separation.spur,
                separation.n_spur,
                separation.auc,
                separation.left_out,
            ]
            for separation in found
        ],
    )


# The tables of map quality: the paper's Tables 5 to 8, all scenes by explainer, words, and every mean in one long table.


_MASS = ("rma", "normalised_rma", "rra", "map_auc")
_OVERLAP = ("iou", "iou_paper", "adversarial_mass")
_WORDS = ("target_words", "anchor_words", "direction_words", "other_words")


def bucket_tables(found: Sequence[MapMean]) -> Iterator[Table]:
    """Yield the paper's Tables 5 to 8: mean and standard deviation by bucket, for its explainers; for all if none of them was run."""
    numbers = {about: number for number, about in TABLES.items()}
    for scenario in dict.fromkeys(mean.scenario for mean in found):
        for kind in ("rma", "iou"):
            means = [
                mean for mean in found if (mean.by, mean.scenario, mean.kind) == ("bucket", scenario, kind)
            ]
            there = dict.fromkeys(mean.explainer for mean in means)
            names = [name for name in PRINTED_EXPLAINERS if name in there] or list(there)
            if means:
                yield _bucket_table(scenario, kind, names, means, numbers.get((scenario, kind)))


def _bucket_table(
    scenario: str, kind: str, names: Sequence[str], means: Sequence[MapMean], number: int | None
) -> Table:
    ours = {(mean.group, mean.explainer): mean for mean in means}
    paper = {(mean.group, mean.explainer): mean for mean in paper_tables() if mean.table == number}
    columns = [Column("bucket", "bucket")]
    for name in names:
        columns += [column(f"grid.{kind}", name, name), Column(f"{name}_sd", "sd", "share")]
        if number is not None and name in PRINTED_EXPLAINERS:
            columns += [
                column(f"grid.{kind}", f"{name}_paper", "paper"),
                Column(f"{name}_paper_sd", "sd", "share"),
            ]
    rows: list[list[Cell]] = []
    for group in dict.fromkeys(mean.group for mean in means):
        row: list[Cell] = [group]
        for name in names:
            mine = ours.get((group, name))
            row += [mine.mean, mine.std] if mine else [None, None]
            if number is not None and name in PRINTED_EXPLAINERS:
                theirs = paper.get((group, name))
                row += [theirs.mean, theirs.std] if theirs else [None, None]
        rows.append(row)
    title = f"{definition(f'grid.{kind}').name} by bucket, {scenario}"
    notes = ["Other explainers: `--tables measures`."]
    if number is not None:
        title, notes = f"Table {number}: {title}", [f"Paper: {TABLES_SOURCE}.", *notes]
    return Table.of(f"grid.{kind}_{_slug(scenario)}", title, columns, rows, notes)


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in text.lower()).strip("_")


def overall_tables(found: Sequence[MapMean]) -> list[Table]:
    """Return the main measures over all scenes, by scenario and explainer: mass and rank, then overlap and look-alikes."""
    means = _over_all_scenes(found)
    pairs = list(dict.fromkeys((scenario, explainer) for scenario, explainer, _ in means))
    mass: list[list[Cell]] = []
    overlap: list[list[Cell]] = []
    for scenario, explainer in pairs:
        some = {kind: means.get((scenario, explainer, kind)) for kind in (*_MASS, *_OVERLAP, "area")}
        rma, area = some["rma"], some["area"]
        counts = (rma.n, rma.without) if rma else (0, 0)
        shown = [mean.mean if (mean := some[kind]) else None for kind in _MASS]
        paper = RMA.get((explainer, scenario))
        mass.append([scenario, explainer, *shown, area.value if area else None, paper, *counts])
        shown = [mean.mean if (mean := some[kind]) else None for kind in _OVERLAP]
        overlap.append([scenario, explainer, *shown])
    return [
        Table.of(
            "grid.explainers",
            "Maps of all scenes: mass and rank on anchors and targets",
            [
                *_place_columns(),
                *(column(f"grid.{kind}") for kind in _MASS),
                column("grid.area"),
                column("grid.rma", "paper", "RMA, paper"),
                Column("n", "scenes", "count"),
                Column("without", "no value", "count"),
            ],
            mass,
            [
                "No value: the map is zero everywhere or was not measured, or the question asks for nothing in the picture.",
                f"Paper: {SOURCE}.",
            ],
        ),
        Table.of(
            "grid.overlap",
            "Maps of all scenes: overlap with anchors and targets, and mass on look-alikes",
            [*_place_columns(), *(column(f"grid.{kind}") for kind in _OVERLAP)],
            overlap,
            ["Mass on look-alikes: of scenes with a relation and a look-alike."],
        ),
    ]


def _place_columns() -> list[Column]:
    return [Column("scenario", "scenario"), Column("explainer", "explainer")]


def words_table(found: Sequence[MapMean]) -> Table:
    """Return the share of the words' relevance by role, by scenario and explainer."""
    means = _over_all_scenes(found)
    rows: list[list[Cell]] = []
    for scenario, explainer in dict.fromkeys((s, e) for s, e, kind in means if kind in _WORDS):
        some = [means.get((scenario, explainer, kind)) for kind in _WORDS]
        n = max(mean.n for mean in some if mean)
        rows.append([scenario, explainer, *(mean.mean if mean else None for mean in some), n])
    columns = [
        *_place_columns(),
        *(column(f"grid.{kind}") for kind in _WORDS),
        Column("n", "scenes", "count"),
    ]
    return Table.of("grid.words", "Relevance of words, questions with a relation", columns, rows)


def _over_all_scenes(means: Sequence[MapMean]) -> dict[tuple[str, str, str], MapMean]:
    return {(mean.scenario, mean.explainer, mean.kind): mean for mean in means if mean.by == "all"}


def measures_table(found: Sequence[MapMean]) -> Table:
    """Return every mean, one row each, for use by other programs."""
    return Table.of(
        "grid.measures",
        "Every measure of every explainer, by bucket, answer, correctness and form",
        [
            Column("scenario", "scenario"),
            Column("by", "by"),
            Column("group", "group"),
            Column("explainer", "explainer"),
            Column("measure", "measure"),
            Column("mean", "mean", "number"),
            Column("sd", "sd", "number"),
            Column("n", "scenes", "count"),
            Column("without", "no value", "count"),
        ],
        [
            [
                mean.scenario,
                mean.by,
                mean.group,
                mean.explainer,
                mean.kind,
                mean.mean,
                mean.std,
                mean.n,
                mean.without,
            ]
            for mean in found
        ],
    )


# The paper's Tables 5 to 8 beside ours: do the same buckets score high?


_KINDS = {"rma": ("rma",), "iou": ("iou", "iou_paper", "pixel_iou_paper")}
"""Our measures beside each of the paper's."""
_FEWEST_BUCKETS = 10
"""Buckets that a correlation needs."""


def paper_table(means: Sequence[MapMean], *, seed: int = 0) -> Table:
    """Compare each column of the paper's tables with ours: means, and Spearman's correlation over buckets."""
    ours = {
        (mean.scenario, mean.kind, mean.explainer, mean.group): mean.value
        for mean in means
        if mean.by == "bucket"
    }
    rows: list[list[Cell]] = []
    for number, (scenario, measure) in TABLES.items():
        for explainer in PRINTED_EXPLAINERS:
            theirs = [c for c in paper_tables() if (c.table, c.explainer) == (number, explainer)]
            for kind in _KINDS[measure]:
                pairs = [
                    (value, cell.mean)
                    for cell in theirs
                    if (value := ours.get((scenario, kind, explainer, cell.group))) is not None
                ]
                if pairs:
                    labels = (number, scenario, explainer, definition(f"grid.{kind}").name)
                    rows.append([*labels, *_beside(pairs, seed), len(pairs)])
    return Table.of(
        "grid.paper",
        "Beside the paper: means over the buckets that both have, and Spearman's correlation over buckets",
        [
            Column("table", "table", "count"),
            Column("scenario", "scenario"),
            Column("explainer", "explainer"),
            Column("measure", "measure"),
            Column("ours", "ours", "share"),
            Column("paper", "paper", "share"),
            column("grid.likeness"),
            Column("n", "buckets", "count"),
        ],
        rows,
        [f"Paper: {TABLES_SOURCE}."],
    )


def _beside(pairs: Sequence[tuple[float, float]], seed: int) -> tuple[float, float, stats.Estimate | None]:
    """Return both means and the correlation; None with too few buckets, or if one side does not vary."""
    mine, paper = ([pair[side] for pair in pairs] for side in (0, 1))
    is_enough = len(pairs) >= _FEWEST_BUCKETS and min(len(set(mine)), len(set(paper))) > 1
    likeness = stats.spearman(mine, paper, seed=seed) if is_enough else None
    return sum(mine) / len(mine), sum(paper) / len(paper), likeness
