"""The tables of map quality: the paper's Tables 5 to 8, all scenes by explainer, words, and every mean in one long table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from theodolite import stats
from theodolite.core.definitions import column, definition
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.experiments.map_quality import MapMean
from theodolite.instruments.grid.published import EXPLAINERS, RMA, SOURCE, TABLES, TABLES_SOURCE, paper_tables

_MASS = ("rma", "normalised_rma", "rra", "map_auc")
_OVERLAP = ("iou", "iou_paper", "adversarial_mass")
_WORDS = ("target_words", "anchor_words", "direction_words", "other_words")


def bucket_tables(found: Sequence[MapMean]) -> Iterator[Table]:
    """The paper's Tables 5 to 8: mean and standard deviation by bucket, of its explainers; of all if none of them is there."""
    numbers = {about: number for number, about in TABLES.items()}
    for scenario in dict.fromkeys(each.scenario for each in found):
        for kind in ("rma", "iou"):
            means = [
                each for each in found if (each.by, each.scenario, each.kind) == ("bucket", scenario, kind)
            ]
            there = dict.fromkeys(each.explainer for each in means)
            names = [name for name in EXPLAINERS if name in there] or list(there)
            if means:
                yield _bucket_table(scenario, kind, names, means, numbers.get((scenario, kind)))


def _bucket_table(
    scenario: str, kind: str, names: Sequence[str], means: Sequence[MapMean], number: int | None
) -> Table:
    ours = {(each.group, each.explainer): each for each in means}
    paper = {(each.group, each.explainer): each for each in paper_tables() if each.table == number}
    columns = [Column("bucket", "bucket")]
    for name in names:
        columns += [column(f"grid.{kind}", name, name), Column(f"{name}_sd", "sd", "share")]
        if number is not None and name in EXPLAINERS:
            columns += [
                column(f"grid.{kind}", f"{name}_paper", "paper"),
                Column(f"{name}_paper_sd", "sd", "share"),
            ]
    rows: list[list[Cell]] = []
    for group in dict.fromkeys(each.group for each in means):
        row: list[Cell] = [group]
        for name in names:
            mine = ours.get((group, name))
            row += [mine.mean, mine.std] if mine else [None, None]
            if number is not None and name in EXPLAINERS:
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
    """The main measures over all scenes, by scenario and explainer: mass and rank, then overlap and look-alikes."""
    means = _over_all_scenes(found)
    places = list(dict.fromkeys((scenario, explainer) for scenario, explainer, _ in means))
    mass: list[list[Cell]] = []
    overlap: list[list[Cell]] = []
    for scenario, explainer in places:
        some = {kind: means.get((scenario, explainer, kind)) for kind in (*_MASS, *_OVERLAP, "area")}
        rma, area = some["rma"], some["area"]
        counts = (rma.n, rma.without) if rma else (0, 0)
        shown = [each.mean if (each := some[kind]) else None for kind in _MASS]
        paper = RMA.get((explainer, scenario))
        mass.append([scenario, explainer, *shown, area.value if area else None, paper, *counts])
        shown = [each.mean if (each := some[kind]) else None for kind in _OVERLAP]
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
    """The share of the words' relevance by role, by scenario and explainer."""
    means = _over_all_scenes(found)
    rows: list[list[Cell]] = []
    for scenario, explainer in dict.fromkeys((s, e) for s, e, kind in means if kind in _WORDS):
        some = [means.get((scenario, explainer, kind)) for kind in _WORDS]
        n = max(each.n for each in some if each)
        rows.append([scenario, explainer, *(each.mean if each else None for each in some), n])
    columns = [
        *_place_columns(),
        *(column(f"grid.{kind}") for kind in _WORDS),
        Column("n", "scenes", "count"),
    ]
    return Table.of("grid.words", "Relevance of words, questions with a relation", columns, rows)


def _over_all_scenes(found: Sequence[MapMean]) -> dict[tuple[str, str, str], MapMean]:
    return {(each.scenario, each.explainer, each.kind): each for each in found if each.by == "all"}


def measures_table(found: Sequence[MapMean]) -> Table:
    """Every mean, one row each: for other programs."""
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
                each.scenario,
                each.by,
                each.group,
                each.explainer,
                each.kind,
                each.mean,
                each.std,
                each.n,
                each.without,
            ]
            for each in found
        ],
    )


# The paper's Tables 5 to 8 beside ours: do the same buckets score high?


_KINDS = {"rma": ("rma",), "iou": ("iou", "iou_paper", "pixel_iou_paper")}
"""Our measures beside each of the paper's."""
_FEWEST_BUCKETS = 10
"""Buckets that a correlation needs."""


def paper_table(means: Sequence[MapMean], *, seed: int = 0) -> Table:
    """Each column of the paper's tables beside ours: means, and Spearman's correlation over buckets."""
    ours = {
        (each.scenario, each.kind, each.explainer, each.group): each.value
        for each in means
        if each.by == "bucket"
    }
    rows: list[list[Cell]] = []
    for number, (scenario, measure) in TABLES.items():
        for explainer in EXPLAINERS:
            theirs = [c for c in paper_tables() if (c.table, c.explainer) == (number, explainer)]
            for kind in _KINDS[measure]:
                pairs = [
                    (value, cell.mean)
                    for cell in theirs
                    if (value := ours.get((scenario, kind, explainer, cell.group))) is not None
                ]
                if pairs:
                    place = (number, scenario, explainer, definition(f"grid.{kind}").name)
                    rows.append([*place, *_beside(pairs, seed), len(pairs)])
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
    """Both means and the correlation; None with too few buckets, or if one side does not vary."""
    mine, paper = ([pair[side] for pair in pairs] for side in (0, 1))
    is_enough = len(pairs) >= _FEWEST_BUCKETS and min(len(set(mine)), len(set(paper))) > 1
    likeness = stats.spearman(mine, paper, seed=seed) if is_enough else None
    return sum(mine) / len(mine), sum(paper) / len(paper), likeness
