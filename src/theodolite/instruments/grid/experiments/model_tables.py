"""Several models on the same scenes: accuracies beside the paper's Tables 3 and 4, and paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from theodolite.core.scores import ItemScore
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.data.imported import IMPORTED
from theodolite.instruments.grid.data.recipe import PAPER, RELEASED
from theodolite.instruments.grid.experiments.accuracy import ACCURACY, accuracy_scores
from theodolite.instruments.grid.published import paper_accuracies
from theodolite.runs import Run
from theodolite.stats import holm, mcnemar, score_difference, score_mean

_PAPER_PRESETS = (PAPER.name, RELEASED.name, IMPORTED)
"""The kinds of scenes that the paper's numbers stand beside."""


def model_tables(runs: Sequence[Run]) -> list[Table]:
    """The accuracy of every model by bucket and density, and the difference of every two; none for fewer than two runs."""
    if len(runs) < 2:
        return []
    scores = [
        [score for score in accuracy_scores(run) if score.metric == ACCURACY.key and score.value is not None]
        for run in runs
    ]
    names = [run.info.model for run in runs]
    if len(set(names)) < len(names):  # one model on several data sets, or twice
        names = [run.folder.name for run in runs]
    paper = paper_accuracies() if all(map(_is_of_paper, runs)) else {}
    return [_accuracies(names, scores, paper), _differences(names, scores)]


def _is_of_paper(run: Run) -> bool:
    """True if all scenes are of a kind that the paper has; runs of older versions do not say."""
    return all(
        result.item.meta.get("mode") == "pure" and result.item.meta.get("preset") in _PAPER_PRESETS
        for result in run.results()
    )


def _accuracies(
    names: Sequence[str], scores: Sequence[Sequence[ItemScore]], paper: Mapping[str, Mapping[str, float]]
) -> Table:
    groups = list(dict.fromkeys(score.group for some in scores for score in some))
    paper = {name: known for name, known in paper.items() if any(group in known for group in groups)}
    shared = [group for group in groups if all(group in known for known in paper.values())]
    rows: list[list[Cell]] = []
    for group in groups:
        ours: list[Cell] = [score_mean(ACCURACY, [s for s in some if s.group == group]) for some in scores]
        rows.append([group, *ours, *(known.get(group) for known in paper.values())])
    last: list[Cell] = ["mean over these" if shared == groups else "mean over those of the paper"]
    last += [score_mean(ACCURACY, [s for s in some if s.group in shared]) for some in scores]
    last += [float(np.mean([known[group] for group in shared])) for known in paper.values()]
    columns = [
        Column("bucket", "bucket"),
        *(Column(f"model_{i + 1}", name, "share", ACCURACY.key) for i, name in enumerate(names)),
        *(Column(f"paper_{name}", f"{name} (paper)", "share", ACCURACY.key) for name in paper),
    ]
    notes = [
        "Paper: Tables 3 and 4, pure scenes of its own generator, 50 questions each; 2 points are one question."
        if paper
        else f"The paper's Tables 3 and 4 are shown only beside pure scenes of {', '.join(_PAPER_PRESETS)}."
    ]
    return Table.of("grid.accuracy_models", "Accuracy of several models", columns, [*rows, last], notes)


def _differences(names: Sequence[str], scores: Sequence[Sequence[ItemScore]]) -> Table:
    rows: list[list[Cell]] = []
    tested: list[tuple[list[Cell], float]] = []
    for i, j in combinations(range(len(names)), 2):
        first, second = (
            {score.item: score.value for score in scores[k] if score.value is not None} for k in (i, j)
        )
        shared = [(first[item], value) for item, value in second.items() if item in first]
        if not shared:
            rows.append([names[i], names[j], 0, None, None])
            continue
        difference = score_difference(ACCURACY, scores[i], scores[j])
        rows.append([names[i], names[j], len(shared), difference, None])
        tested.append((rows[-1], mcnemar(*np.transpose(shared)).p_value))
    for (row, _), p in zip(tested, holm([p for _, p in tested]) if tested else [], strict=True):
        row[-1] = float(p)
    columns = [
        Column("first", "model"),
        Column("second", "other model"),
        Column("n", "scenes of both", "count"),
        Column("difference", "difference", "points", ACCURACY.key),
        Column("p", "p", "p"),
    ]
    notes = [
        "Paired by scene; p by McNemar's test (mid-p), Holm-adjusted over all pairs of models with common scenes."
    ]
    return Table.of("grid.accuracy_differences", "Differences of accuracy", columns, rows, notes)
