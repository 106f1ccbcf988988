"""The blind test: QA and SGC with and without the picture (CRISP, Table 2), and what changes without it or with another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.tables import Column, Table
from theodolite.instruments.scene.experiments.baselines import level
from theodolite.instruments.scene.experiments.paired import (
    PairedScores,
    macro_mean,
    paired_scores,
    question_scores,
)
from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions
from theodolite.instruments.scene.formulas.mra import agreement
from theodolite.instruments.scene.formulas.self_consistency import chance_agreement
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.reading.results import AnswerResult, SceneResults

MARGIN = 0.05
"""QA without the picture is equivalent to QA with it if it differs by less than five points."""


@dataclass(frozen=True, slots=True)
class BlindTest:
    """QA and SGC without the picture. Drops are paired: with the picture minus without."""

    qa: stats.Estimate | None
    qa_drop: stats.Estimate | None
    equivalence: stats.Equivalence | None
    """Whether QA is the same without the picture, up to five points."""
    sgc: stats.Estimate | None
    sgc_drop: stats.Estimate | None
    gap: stats.Estimate | None
    """The semantic–geometric gap: the drop of QA minus the drop of SGC, on scenes that have both."""
    refused: stats.Estimate | None
    """Share of blind questions that are refused."""
    refused_graphs: stats.Estimate | None
    qa_of_answered: stats.Estimate | None
    """Blind QA over the questions that were not refused."""
    same_answer: stats.Estimate | None
    """Blind answers scored with the answers given with the picture as gold."""
    same_answer_level: stats.Estimate | None
    """The same between chance agreement and 1."""


def blind_test(results: SceneResults, options: ScoreOptions) -> BlindTest | None:
    """Table 2 of one run; None if nothing was measured blind."""
    base, blind = results.answers("base"), results.answers("blind")
    graphs, dark = (results.measured_graphs(setting) for setting in ("base", "blind"))
    if not blind and not dark:
        return None
    pair = paired_scores(base, blind, comparison=options.comparison)
    asked = [row for row in blind.values() if row.is_measured]
    answered = {key: row for key, row in blind.items() if row.answer.status != "refused"}
    shared = [scene for scene in graphs if scene in dark]
    drops = [graphs[scene].score.sgc - dark[scene].score.sgc for scene in shared]
    same, same_level = _same_answer(base, blind, options)
    return BlindTest(
        qa=question_scores(blind, comparison=options.comparison).mean(),
        qa_drop=stats.clustered_difference(pair.first, pair.second, pair.scenes, groups=pair.groups),
        equivalence=stats.equivalent(pair.first, pair.second, pair.scenes, margin=MARGIN, groups=pair.groups),
        sgc=stats.clustered_mean([row.score.sgc for row in dark.values()], list(dark)),
        sgc_drop=stats.clustered_difference(
            [graphs[scene].score.sgc for scene in shared], [dark[scene].score.sgc for scene in shared], shared
        ),
        gap=_gap(pair, dict(zip(shared, drops, strict=True))),
        refused=stats.clustered_mean(
            [row.answer.status == "refused" for row in asked], [row.question.scene for row in asked]
        ),
        refused_graphs=stats.clustered_mean(
            [row.reading.status == "refused" for row in dark.values()], list(dark)
        ),
        qa_of_answered=question_scores(answered, comparison=options.comparison).mean(),
        same_answer=same,
        same_answer_level=same_level,
    )


def _same_answer(
    base: Mapping[str, AnswerResult], blind: Mapping[str, AnswerResult], options: ScoreOptions
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    keys = [
        key for key, row in base.items() if row.answer.is_read and key in blind and blind[key].is_measured
    ]
    questions = [base[key].question for key in keys]
    said, seen = ([side[key].answer.value for key in keys] for side in (blind, base))
    same = agreement(questions, said, seen, comparison=options.comparison)
    chance = chance_agreement(questions, said, seen, comparison=options.comparison, seed=options.seed)
    scenes, groups = [q.scene for q in questions], [q.group_name for q in questions]
    return macro_mean(questions, same), level(same, chance, scenes, groups)


def _gap(pair: PairedScores, sgc_drops: Mapping[str, float]) -> stats.Estimate | None:
    """The macro mean of QA drops minus the mean of SGC drops, on the scenes that have both, clustered by scene.

    The SGC drops form a group of their own. With G groups of questions, values are scaled so that the mean over all G + 1
    groups is the difference of the two means.
    """
    keep = [i for i, question in enumerate(pair.questions) if question.scene in sgc_drops]
    kept = [pair.questions[i] for i in keep]
    scenes = list(dict.fromkeys(question.scene for question in kept))
    if not scenes:
        return None
    groups = [question.group_name for question in kept]
    n_groups = len(set(groups))
    qa = (pair.first - pair.second)[keep] * (n_groups + 1) / n_groups
    sgc = np.array([-sgc_drops[scene] for scene in scenes]) * (n_groups + 1)
    return stats.clustered_mean(
        np.concatenate([qa, sgc]),
        [*(question.scene for question in kept), *scenes],
        bounds=None,
        groups=[*groups, *["graph"] * len(scenes)],
    )


def changed_questions(results: SceneResults, setting: str) -> dict[str, float]:
    """By question with a readable answer in the base setting: 1 if the answer in another setting differs or is missing."""
    base, other = results.answers("base"), results.answers(setting)
    return {
        key: float(not (other[key].answer.is_read and other[key].answer.value == row.answer.value))
        for key, row in base.items()
        if row.is_measured and row.answer.is_read and key in other and other[key].is_measured
    }


def changed_graphs(results: SceneResults, setting: str) -> dict[str, float]:
    """By scene: 1 − SGC of the graph given in another setting, with the graph of the base setting as the true one."""
    graphs, changed = results.measured_graphs("base"), results.measured_graphs(setting)
    return {
        scene: 1 - score_graph(changed[scene].reading, row.reading.graph).sgc
        for scene, row in graphs.items()
        if row.reading.graph is not None and scene in changed
    }


def blind_table(blind: BlindTest) -> Table:
    """Table 2."""
    return Table.of(
        "scene.blind",
        "Table 2: without the picture",
        [
            Column("what", "without the picture"),
            Column("score", "score", "share"),
            Column("drop", "drop in points", "points"),
            Column("refused", "refused", "share", "scene.refused"),
        ],
        [
            ["QA", blind.qa, blind.qa_drop, blind.refused],
            ["QA of answered questions", blind.qa_of_answered, None, None],
            ["SGC", blind.sgc, blind.sgc_drop, blind.refused_graphs],
            ["drop of QA − drop of SGC", None, blind.gap, None],
            ["same answer as with the picture", blind.same_answer, None, None],
        ],
    )
