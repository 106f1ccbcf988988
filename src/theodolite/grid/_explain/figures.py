"""The figures of explained runs: per bucket, per explainer, per split, and between the two models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.grid._explain.stored import WORD_ROLES, ExplainedRun, MapRow

MEASURES: dict[str, Callable[[MapRow], float | None]] = {
    "rma": lambda row: row.truth.rma if row.truth else None,
    "normalised rma": lambda row: row.truth.normalised if row.truth else None,
    "rra": lambda row: row.truth.rra if row.truth else None,
    "auc": lambda row: row.truth.auc if row.truth else None,
    "iou": lambda row: row.truth.iou if row.truth else None,
    "iou (paper)": lambda row: row.truth.iou_paper if row.truth else None,
    "pixel rma": lambda row: row.pixel.rma if row.pixel else None,
    "pixel iou": lambda row: row.pixel.iou if row.pixel else None,
    "pixel iou (paper)": lambda row: row.pixel.iou_paper if row.pixel else None,
    "area": lambda row: row.truth.area if row.truth else None,
    "adversarial mass": lambda row: row.mass.get("adversarial"),
    "other mass": lambda row: row.mass.get("other"),
    "background mass": lambda row: row.mass.get("background"),
    "target mass": lambda row: row.mass.get("targets"),
    "anchor mass": lambda row: row.mass.get("anchors"),
}
"""What is measured of a map, by name; all against anchors and targets unless they say otherwise."""


def _word_share(role: str) -> Callable[[MapRow], float | None]:
    return lambda row: row.words.get(role)


TEXT_MEASURES = {f"{role} words": _word_share(role) for role in WORD_ROLES}
"""Shares of the words' relevance, by name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of one explainer on some scenes of one run."""

    scenario: str
    model: str
    mode: str
    explainer: str
    measure: str
    group: str
    """What the scenes have in common: a bucket and density, an answer, right or wrong, or all."""
    estimate: stats.Estimate | None
    """The mean with its interval; None where fewer than two scenes have the figure."""
    mean: float | None
    std: float | None
    n: int
    """Scenes that have the figure."""
    no_relevance: int
    """Scenes whose map is zero everywhere."""
    no_truth: int
    """Scenes in which nothing is asked for."""
    not_measured: int


def cell(
    run: ExplainedRun,
    rows: Sequence[MapRow],
    measure: str,
    group: str,
    *,
    seed: int = 0,
    resamples: int = 1000,
) -> Cell:
    """The mean of one measure over rows of one explainer; each row is a scene of its own."""
    read = (MEASURES | TEXT_MEASURES)[measure]
    values = [value for row in rows if (value := read(row)) is not None]
    statuses = [row.status for row in rows]
    estimate = (
        stats.bootstrap(values, n_resamples=resamples, interval="percentile", seed=seed)
        if len(values) > 1
        else None
    )
    return Cell(
        run.scenario,
        run.model,
        run.mode,
        rows[0].explainer,
        measure,
        group,
        estimate,
        float(np.mean(values)) if values else None,
        float(np.std(values)) if values else None,
        len(values),
        statuses.count("no relevance"),
        statuses.count("no truth"),
        statuses.count("not measured"),
    )


def by(rows: Iterable[MapRow], key: Callable[[MapRow], str]) -> dict[tuple[str, str], list[MapRow]]:
    """Rows by explainer and by a key, in order of first appearance; rows with an empty key are left out."""
    found: defaultdict[tuple[str, str], list[MapRow]] = defaultdict(list)
    for row in rows:
        if name := key(row):
            found[row.explainer, name].append(row)
    return dict(found)


def tables(run: ExplainedRun, *, seed: int = 0) -> dict[str, list[Cell]]:
    """All means of one run: by bucket and density, over all scenes, by answer and by correctness, and of words."""
    measures = [name for name in MEASURES if any(MEASURES[name](row) is not None for row in run.rows)]
    splits: dict[str, tuple[Callable[[MapRow], str], list[str]]] = {
        "buckets": (lambda row: f"{row.bucket.key} {row.density}", [m for m in measures if m in _BY_BUCKET]),
        "all": (lambda _: "all", measures),
        "answer": (
            lambda row: row.gold if row.gold in {"yes", "no"} else "",
            ["rma", "normalised rma", "iou"],
        ),
        "correctness": (lambda row: "right" if row.is_right else "wrong", ["rma", "adversarial mass"]),
        "form": (lambda row: f"form {row.bucket.form}", ["rma", "normalised rma"]),
        "words": (lambda _: "all", list(TEXT_MEASURES)),
        "words, relational": (
            lambda row: "relational" if row.bucket.is_relational else "",
            list(TEXT_MEASURES),
        ),
    }
    return {
        name: [
            cell(run, rows, measure, group, seed=seed)
            for (_, group), rows in by(run.rows, key).items()
            for measure in wanted
        ]
        for name, (key, wanted) in splits.items()
    }


_BY_BUCKET = {
    "rma",
    "normalised rma",
    "area",
    "iou",
    "iou (paper)",
    "adversarial mass",
    "pixel rma",
    "pixel iou (paper)",
}


_FEWEST = 5
"""Maps on each side that a comparison needs; with fewer, too many resamples would hold none of one side."""


@dataclass(frozen=True, slots=True)
class Separation:
    """How well a figure tells the two models apart, on scenes that both have seen."""

    explainer: str
    figure: str
    """``adversarial mass`` or ``direction words``."""
    auc: stats.Estimate | None
    """Of spur above pure for mass, of pure above spur for words; clustered by scene. None: fewer than five maps of a model."""
    pure: float | None
    spur: float | None
    n_pure: int
    n_spur: int
    left_out: int
    """Maps without relevance or not measured, of both models, on relational scenes."""


def separations(pure: ExplainedRun, spur: ExplainedRun, *, seed: int = 0) -> list[Separation]:
    """Twin separation on the same data; buckets without a relation are the same for both and are left out."""
    found = []
    names = [
        n for n in dict.fromkeys(r.explainer for r in pure.rows) if any(r.explainer == n for r in spur.rows)
    ]
    for name in names:
        sides = [
            [
                row
                for row in run.rows
                if row.explainer == name and row.bucket.is_relational and _has_confuser(row)
            ]
            for run in (pure, spur)
        ]
        for figure, read, positive in (
            ("adversarial mass", MEASURES["adversarial mass"], 1),
            ("direction words", TEXT_MEASURES["direction words"], 0),
        ):
            values, labels, scenes = [], [], []
            for label, rows in enumerate(sides):
                for row in rows:
                    if (value := read(row)) is not None:
                        values.append(value)
                        labels.append(label == positive)
                        scenes.append(row.scene)
            counts = [sum(labels), len(labels) - sum(labels)]
            if not values:
                continue
            by_label = {
                flag: [v for v, is_it in zip(values, labels, strict=True) if is_it == flag]
                for flag in (True, False)
            }
            spur_values, pure_values = (
                (by_label[True], by_label[False]) if positive else (by_label[False], by_label[True])
            )
            found.append(
                Separation(
                    name,
                    figure,
                    stats.roc_auc(values, labels, clusters=scenes, seed=seed)
                    if min(counts) >= _FEWEST
                    else None,
                    float(np.mean(pure_values)) if pure_values else None,
                    float(np.mean(spur_values)) if spur_values else None,
                    len(pure_values),
                    len(spur_values),
                    sum(map(len, sides)) - len(values),
                )
            )
    return found


def _has_confuser(row: MapRow) -> bool:
    return row.area.get("adversarial", 0.0) > 0 or row.status == "not measured"


@dataclass(frozen=True, slots=True)
class Gap:
    """A paired or matched difference of one run."""

    scenario: str
    name: str
    explainer: str
    estimate: stats.Estimate


def gaps(run: ExplainedRun, *, seed: int = 0) -> list[Gap]:
    """Multimodal gain (DIME's MI map less its UC map, RMA, scene by scene), and Form 0 less Form 1 at equal kind, depth, density."""
    found = []
    rma = {(row.explainer, row.scene): row.truth.rma for row in run.rows if row.truth}
    scenes = [scene for name, scene in rma if name == "dime" and ("dime-unimodal", scene) in rma]
    if len(scenes) > 1:
        pairs = [[rma[name, scene] for scene in scenes] for name in ("dime", "dime-unimodal")]
        gain = stats.bootstrap((pairs[0], pairs[1]), "difference", interval="percentile", seed=seed)
        found.append(Gap(run.scenario, "multimodal gain", "dime", gain))
    for name in dict.fromkeys(row.explainer for row in run.rows):
        scored = [row for row in run.rows if row.explainer == name and row.truth]
        places = {(row.bucket.qtype, row.bucket.depth, row.density, row.bucket.form) for row in scored}
        rows = [
            row
            for row in scored
            if (row.bucket.qtype, row.bucket.depth, row.density, 1 - row.bucket.form) in places
        ]
        if min(sum(row.bucket.form == form for row in rows) for form in (0, 1)) >= _FEWEST:
            values = [row.truth.rma for row in rows if row.truth]
            counts = [row.bucket.form == 0 for row in rows]
            gap = stats.bootstrap(
                (values, counts), _form_gap, interval="percentile", n_resamples=500, seed=seed
            )
            found.append(Gap(run.scenario, "form 0 less form 1", name, gap))
    return found


def _form_gap(values: np.ndarray, is_count: np.ndarray) -> float:
    is_count = is_count.astype(bool)
    if is_count.all() or not is_count.any():
        return float("nan")
    return float(values[is_count].mean() - values[~is_count].mean())
