"""The blind test: QA and SGC with and without the picture, and what the difference between the two drops says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.scene.estimates import Drawn, per_scene
from theodolite.instruments.scene.experiments.paired_settings import Paired, paired, qa_scores, share_of
from theodolite.instruments.scene.formulas.derived import agreement_of, chance_agreement, group_codes
from theodolite.instruments.scene.formulas.graph_estimates import graph_scores
from theodolite.instruments.scene.formulas.sgc import Comparison
from theodolite.instruments.scene.results import QaRow, SceneRows


@dataclass(frozen=True, slots=True)
class BlindTest:
    """QA and SGC with and without the picture. Drops are paired: with minus without."""

    qa: stats.Estimate | None
    qa_drop: stats.Estimate | None
    sgc: stats.Estimate | None
    sgc_drop: stats.Estimate | None
    gap: stats.Estimate | None
    """The semantic–geometric gap: the drop of QA minus the drop of SGC, scenes drawn together."""
    refused: stats.Estimate | None
    """Share of blind questions that are declined."""
    refused_graphs: stats.Estimate | None
    qa_of_answered: stats.Estimate | None
    """Blind QA over those questions alone that were not declined."""
    same_answer: stats.Estimate | None
    """Blind answers scored with the answers given with the picture as reference."""
    same_answer_level: stats.Estimate | None
    """The same on a scale from 0, what agreement comes of nothing, to 1."""


def blind_test(rows: SceneRows, drawn: Drawn, comparison: Comparison) -> BlindTest | None:
    """Table 2 of one run; None if it was not measured blind."""
    base, blind = rows.of("base"), rows.of("blind")
    graphs = {setting: graph_scores(rows.graphs.get(setting, {})) for setting in ("base", "blind")}
    if not blind and not graphs["blind"]:
        return None
    pair = paired(base, blind, comparison=comparison)
    shared = [scene for scene in graphs["base"] if scene in graphs["blind"]]
    drops = [graphs["base"][scene].sgc - graphs["blind"][scene].sgc for scene in shared]
    answered = {key: row for key, row in blind.items() if row.answer.status != "refused"}
    declined = [row for row in rows.graphs.get("blind", {}).values() if row.is_measured]
    agreement, level = _same_answer(base, blind, drawn, comparison)
    return BlindTest(
        qa=qa_scores(blind, comparison=comparison).macro(drawn),
        qa_drop=drawn.difference(pair.first, pair.second, pair.groups, pair.scenes),
        sgc=drawn.mean([score.sgc for score in graphs["blind"].values()], list(graphs["blind"])),
        sgc_drop=drawn.mean(drops, shared, low=-1.0),
        gap=_gap(pair, dict(zip(shared, drops, strict=True)), drawn),
        refused=share_of(blind, ("refused",), drawn),
        refused_graphs=drawn.mean(
            [row.reading.status == "refused" for row in declined], [row.scene for row in declined]
        ),
        qa_of_answered=qa_scores(answered, comparison=comparison).macro(drawn),
        same_answer=agreement,
        same_answer_level=level,
    )


def _same_answer(
    base: Mapping[str, QaRow], blind: Mapping[str, QaRow], drawn: Drawn, comparison: Comparison
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    keys = [
        key for key, row in base.items() if row.answer.is_read and key in blind and blind[key].is_measured
    ]
    questions = [base[key].question for key in keys]
    said, seen = ([side[key].answer.value for key in keys] for side in (blind, base))
    same = agreement_of(questions, said, seen, comparison=comparison)
    chance = chance_agreement(questions, said, seen, comparison=comparison, seed=drawn.seed)
    groups, scenes = group_codes(questions), [question.scene for question in questions]
    return (
        drawn.macro(same, groups, scenes),
        drawn.level_of(same, chance, np.ones(len(keys)), groups, scenes),
    )


def _gap(pair: Paired, sgc_drops: Mapping[str, float], drawn: Drawn) -> stats.Estimate | None:
    """Both drops on the same scenes: scenes without questions or without graphs are left out."""
    keep = [i for i, scene in enumerate(pair.scenes) if scene in sgc_drops]
    if not keep:
        return None
    scenes = [pair.scenes[i] for i in keep]
    sums, counts = per_scene([(pair.first - pair.second)[keep]], pair.groups[keep], scenes)
    drops = np.array([[sgc_drops[scene]] for scene in np.unique(np.asarray(scenes))])
    return drawn.combined((sums[0], counts, drops), _qa_minus_sgc, len(keep))


def _qa_minus_sgc(
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    drops: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    n = weights @ counts
    with np.errstate(invalid="ignore", divide="ignore"):
        qa = np.nanmean(np.where(n > 0, weights @ sums / n, np.nan), axis=1)
    return np.asarray(qa - (weights @ drops)[:, 0] / weights.sum(axis=1))
