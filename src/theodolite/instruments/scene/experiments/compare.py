"""Several models in one table: the paper's Tables 1 and 2 with one row per model, and paired differences from the first.

Table 1 has the paper's columns by the paper's reading (the rules of the public solver), and beside them what is sound: agreement
and derived answers on solvable questions only, and the ceiling. Differences are of the same questions or scenes, clustered by
scene.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.scene.data.twin_rooms import unlearnt

if TYPE_CHECKING:
    from theodolite.instruments.scene.score import SceneScore

_COMPARED = {
    "qa": ("QA", "scene.accuracy"),
    "sgc": ("SGC", "scene.sgc"),
    "consistency": ("consistency", "scene.consistency"),
    "derived": ("derived QA", "scene.derived"),
}


def check_alike(scores: Mapping[str, SceneScore]) -> None:
    """Refuses runs on different questions: their numbers cannot be compared.

    Raises:
        UsageError: The questions differ, in number, wording or gold.
    """
    (first, one), *others = scores.items()
    asked = one.results.questions
    for name, score in others:
        there = score.results.questions
        differing = sum(asked.get(key) != there.get(key) for key in asked.keys() | there.keys())
        if differing:
            raise UsageError(
                f"{first} and {name} were asked different questions ({differing} of {len(asked.keys() | there.keys())} "
                "differ); compare runs on the same data set, with the same --scene and --limit"
            )


def compare_tables(scores: Mapping[str, SceneScore]) -> list[Table]:
    """Tables 1 and 2 of all models, and their differences from the first.

    Args:
        scores: By the name to show, on the same questions.
    """
    check_alike(scores)
    return [_main_table(scores), _differences_table(scores), _blind_table(scores)]


def _main_table(scores: Mapping[str, SceneScore]) -> Table:
    rows: list[list[Cell]] = []
    for name, score in scores.items():
        paper = type(score)(score.results, replace(score.options, solver="upstream"))
        theirs = [paper.mean(key) for key in ("qa", "sgc", "s_est", "s_rel", "consistency")]
        ours = [score.mean(key) for key in ("consistency_solvable", "derived_solvable", "ceiling")]
        rows.append([name, *theirs, *ours])
    return Table.of(
        "scene.models",
        "Table 1: the paper's columns, and what is sound beside them",
        [
            Column("model", "model"),
            Column("qa", "QA", "share", "scene.accuracy"),
            Column("sgc", "SGC", "share", "scene.sgc"),
            Column("s_est", "S_est", "share", "scene.s_est"),
            Column("s_rel", "S_rel", "share", "scene.s_rel"),
            Column("con", "Con. (paper)", "share", "scene.consistency"),
            Column("consistency_solvable", "consistency, solvable", "share", "scene.consistency_solvable"),
            Column("derived_solvable", "derived QA, solvable", "share", "scene.derived_solvable"),
            Column("ceiling", "solver ceiling", "share", "scene.ceiling"),
        ],
        rows,
        [told for score in scores.values() for told in unlearnt(score.model, score.results.domains)],
    )


def _differences_table(scores: Mapping[str, SceneScore]) -> Table:
    (first, reference), *others = scores.items()
    rows: list[list[Cell]] = [
        [
            name,
            *(stats.score_difference(score.metric(key), score.scores, reference.scores) for key in _COMPARED),
        ]
        for name, score in others
    ]
    return Table.of(
        "scene.differences",
        f"Differences from {first}, paired",
        [
            Column("model", "model"),
            *(Column(key, label, "points", definition) for key, (label, definition) in _COMPARED.items()),
        ],
        rows,
    )


def _blind_table(scores: Mapping[str, SceneScore]) -> Table:
    rows: list[list[Cell]] = []
    for name, score in scores.items():
        blind = score.blind
        if blind is None:
            rows.append([name, None, None, None, None, None])
        else:
            rows.append([name, blind.qa, blind.qa_drop, blind.sgc, blind.sgc_drop, blind.refused])
    return Table.of(
        "scene.models_blind",
        "Table 2: without the picture",
        [
            Column("model", "model"),
            Column("qa", "QA", "share", "scene.accuracy"),
            Column("qa_drop", "drop of QA", "points"),
            Column("sgc", "SGC", "share", "scene.sgc"),
            Column("sgc_drop", "drop of SGC", "points"),
            Column("refused", "refused", "share", "scene.refused"),
        ],
        rows,
    )
