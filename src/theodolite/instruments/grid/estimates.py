"""The figures of explained runs: per bucket, per explainer, per split, and between the two models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.instruments.grid.stored import WORD_ROLES, ExplainedRun, MapRow

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


SPLITS = ("buckets", "all", "answer", "correctness", "form", "words", "words, relational")
"""How the scenes of a run are put together; the figures of ``buckets`` need no scenes but each bucket's own."""


def tables(run: ExplainedRun, *, splits: Sequence[str] = SPLITS, seed: int = 0) -> dict[str, list[Cell]]:
    """All means of one run: by bucket and density, over all scenes, by answer and by correctness, and of words."""
    measures = [name for name in MEASURES if any(MEASURES[name](row) is not None for row in run.rows)]
    known: dict[str, tuple[Callable[[MapRow], str], list[str]]] = {
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
        for name, (key, wanted) in ((name, known[name]) for name in splits)
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


FEWEST = 5
"""Maps on each side that a comparison needs; with fewer, too many resamples would hold none of one side."""


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
        if min(sum(row.bucket.form == form for row in rows) for form in (0, 1)) >= FEWEST:
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
