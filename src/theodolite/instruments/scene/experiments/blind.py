"""QA and SGC with and without the picture (CRISP, Table 2), and what can be scored without looking."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.scores import column
from theodolite.core.tables import Alternative, Column, Table
from theodolite.instruments.scene.data.files import Layer, SceneQuestion
from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions, chance_agreement
from theodolite.instruments.scene.formulas.mra import MraComparison, Value, agreement, score_values
from theodolite.instruments.scene.formulas.sgc import GraphScore, score_graph
from theodolite.instruments.scene.results import AnswerResult, SceneResults
from theodolite.worlds.scene_graph import PAIRS, Edge, Node, Predicate, StarGraph

# QA of one setting, and the same questions in two settings.


FloatArray = NDArray[np.float64]
_PERMUTATIONS = 1999


@dataclass(frozen=True, slots=True, eq=False)
class QuestionScores:
    """The scores of questions in one setting."""

    questions: tuple[SceneQuestion, ...]
    values: FloatArray

    def mean(self) -> stats.Estimate | None:
        """Return the macro mean over groups."""
        return macro_mean(self.questions, self.values)

    def layer(self, layer: Layer | None) -> QuestionScores:
        """Return the atomic or the compositional questions; all for None."""
        keep = [i for i, question in enumerate(self.questions) if layer is None or question.layer == layer]
        return QuestionScores(tuple(self.questions[i] for i in keep), self.values[keep])


def macro_mean(questions: Sequence[SceneQuestion], values: FloatArray) -> stats.Estimate | None:
    """Return the mean over groups of questions, clustered by scene."""
    scenes, groups = [q.scene for q in questions], [q.group_name for q in questions]
    return stats.clustered_mean(values, scenes, groups=groups)


def question_scores(
    rows: Mapping[str, AnswerResult],
    *,
    comparison: MraComparison = "<",
    without_graph: Sequence[SceneQuestion] = (),
) -> QuestionScores:
    """Return the scores of all measured questions of a setting; refused and unreadable answers score 0.

    Args:
        rows: Rows of one setting, by question.
        comparison: How MRA compares numbers.
        without_graph: Questions that could not be asked since there was no graph; they score 0 too.
    """
    measured = [row for row in rows.values() if row.is_measured]
    questions = (*(row.question for row in measured), *without_graph)
    values = [*(row.answer.value for row in measured), *(None for _ in without_graph)]
    return QuestionScores(questions, score_values(questions, values, comparison=comparison))


@dataclass(frozen=True, slots=True, eq=False)
class PairedScores:
    """The scores of the same questions in two settings."""

    questions: tuple[SceneQuestion, ...]
    first: FloatArray
    second: FloatArray

    @property
    def scenes(self) -> list[str]:
        """Of the questions: the clusters."""
        return [question.scene for question in self.questions]

    @property
    def groups(self) -> list[str]:
        """Of the questions."""
        return [question.group_name for question in self.questions]

    def layer(self, layer: Layer | None) -> PairedScores:
        """Return the atomic or the compositional questions; all for None."""
        keep = [i for i, question in enumerate(self.questions) if layer is None or question.layer == layer]
        return PairedScores(tuple(self.questions[i] for i in keep), self.first[keep], self.second[keep])

    def gain(self) -> stats.Estimate | None:
        """Return the macro mean of second − first."""
        return stats.clustered_difference(self.second, self.first, self.scenes, groups=self.groups)

    def test(self, seed: int, *, alternative: Alternative = "two-sided") -> stats.HypothesisTest | None:
        """Test whether second − first is zero, by flipping signs scene by scene; None without questions.

        Differences are weighted so that the statistic is their macro mean.
        """
        if not self.questions:
            return None
        _, codes, counts = np.unique(np.asarray(self.groups), return_inverse=True, return_counts=True)
        weights = len(self.questions) / (counts.size * counts[codes])
        return stats.sign_flip_test(
            (self.second - self.first) * weights,
            clusters=self.scenes,
            alternative=alternative,
            n_permutations=_PERMUTATIONS,
            seed=seed,
        )


def paired_scores(
    first: Mapping[str, AnswerResult], second: Mapping[str, AnswerResult], *, comparison: MraComparison = "<"
) -> PairedScores:
    """Return the questions that were measured in both settings.

    Args:
        first: Answers in one setting, by question.
        second: Answers in the other.
        comparison: How MRA compares numbers.
    """
    keys = [
        key for key, row in first.items() if row.is_measured and key in second and second[key].is_measured
    ]
    questions = tuple(first[key].question for key in keys)
    sides = [
        score_values(questions, [rows[key].answer.value for key in keys], comparison=comparison)
        for rows in (first, second)
    ]
    return PairedScores(questions, *sides)


# Baselines: what can be scored without looking at any picture, fitted to the data set itself; and levels above them.
#
# The prior answer to a choice is the letter that is right most often for its kind; to a number, the median of the right numbers
# of its kind. The prior graph has the median size and distances, and for each pair of words what is most often true. Both are
# fitted by domain on one half of the scenes and scored on the other half, in both directions, so that no scene is used for both.


_Cell = tuple[str, str, int]
_LEAST_ROOM = 0.02
"""There is no level if the baseline is closer to 1 than this."""


def qa_prior(questions: Sequence[SceneQuestion], *, comparison: MraComparison = "<") -> FloatArray:
    """Return the score of the prior answer to each question."""
    half = _halves([question.scene for question in questions])
    letters: defaultdict[tuple[int, _Cell], Counter[str]] = defaultdict(Counter)
    lengths: defaultdict[tuple[int, _Cell], list[float]] = defaultdict(list)
    for question in questions:
        key = (half[question.scene], _cell(question))
        if question.form == "choice":
            letters[key][question.gold] += 1
        else:
            lengths[key].append(question.gold_number)
    answers: list[Value] = []
    for question in questions:
        other = (1 - half[question.scene], _cell(question))
        if question.form == "number":
            answers.append(median(lengths[other]) if lengths[other] else None)
        else:
            answers.append(max(question.letters, key=letters[other].__getitem__))
    return score_values(questions, answers, comparison=comparison)


def _halves(scenes: Sequence[str]) -> dict[str, int]:
    return {scene: i % 2 for i, scene in enumerate(sorted(set(scenes)))}


def _cell(question: SceneQuestion) -> _Cell:
    return question.domain, question.kind, len(question.options)


def graph_prior(true: Mapping[str, StarGraph], domains: Mapping[str, str]) -> dict[str, GraphScore]:
    """Return the scores of the prior graph, by scene.

    Args:
        true: The true graph of each scene.
        domains: Domains of the scenes.
    """
    half = _halves(list(true))
    members: defaultdict[tuple[int, str], list[StarGraph]] = defaultdict(list)
    for scene, graph in true.items():
        members[half[scene], domains[scene]].append(graph)
    typical = {key: _Typical.of(graphs) for key, graphs in members.items()}
    nothing = _Typical.of(())
    return {
        scene: score_graph(typical.get((1 - half[scene], domains[scene]), nothing).in_shape_of(graph), graph)
        for scene, graph in true.items()
    }


@dataclass(frozen=True, slots=True)
class _Typical:
    """The typical content of graphs."""

    node: Node
    distance_m: float | None
    words: frozenset[Predicate]

    @classmethod
    def of(cls, graphs: Sequence[StarGraph]) -> _Typical:
        nodes = [node for graph in graphs for node in graph.nodes]
        edges = [edge for graph in graphs for edge in graph.edges]
        words: set[Predicate] = set()
        for pair in PAIRS:
            states = Counter(edge.relation & frozenset(pair) for edge in edges)
            if states:
                words |= states.most_common(1)[0][0]
        return cls(
            Node(
                0,
                distance_m=_median([node.distance_m for node in nodes]),
                width_m=_median([node.width_m for node in nodes]),
                length_m=_median([node.length_m for node in nodes]),
                height_m=_median([node.height_m for node in nodes]),
            ),
            _median([edge.distance_m for edge in edges]),
            frozenset(words),
        )

    def in_shape_of(self, graph: StarGraph) -> StarGraph:
        return StarGraph(
            graph.centre,
            tuple(replace(self.node, id=node.id) for node in graph.nodes),
            tuple(Edge(edge.to, distance_m=self.distance_m, relation=self.words) for edge in graph.edges),
        )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def level(
    values: FloatArray, baseline: FloatArray, scenes: Sequence[str], groups: Sequence[str] | None = None
) -> stats.Estimate | None:
    """Return the level of scores between a baseline and 1: (x̄ − b̄) / (1 − b̄), of macro means over groups.

    0 is the baseline's score, 1 the best possible. The interval is that of x̄; b̄ is taken as fixed.

    Args:
        values: The scores x, from 0 to 1.
        baseline: The baseline's scores b of the same items.
        scenes: The clusters.
        groups: Groups of a macro mean.

    Returns:
        None without items, or if the baseline is nearly 1.

    >>> print(level(np.full(30, 0.6), np.full(30, 0.2), [str(i) for i in range(30)]))
    0.500 [0.279, 0.693] (n=30)
    """
    mean, fixed = (stats.clustered_mean(part, scenes, groups=groups) for part in (values, baseline))
    if mean is None or fixed is None or 1 - fixed.value < _LEAST_ROOM:
        return None
    value, low, high = ((end - fixed.value) / (1 - fixed.value) for end in (mean.value, mean.low, mean.high))
    return replace(mean, value=value, low=low, high=high, method=f"{mean.method}; the baseline is fixed")


# The blind test: QA and SGC with and without the picture (CRISP, Table 2), and what changes without it or with another one.


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
    """Compute Table 2 of one run; None if nothing was measured blind."""
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
    blind_answers, base_answers = ([side[key].answer.value for key in keys] for side in (blind, base))
    same = agreement(questions, blind_answers, base_answers, comparison=options.comparison)
    chance = chance_agreement(
        questions, blind_answers, base_answers, comparison=options.comparison, seed=options.seed
    )
    scenes, groups = [q.scene for q in questions], [q.group_name for q in questions]
    return macro_mean(questions, same), level(same, chance, scenes, groups)


def _gap(pair: PairedScores, sgc_drops: Mapping[str, float]) -> stats.Estimate | None:
    """Return the macro mean of QA drops minus the mean of SGC drops, on the scenes that have both, clustered by scene.

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
    """Return, by question with a readable answer in the base setting, 1 if the answer in another setting differs or is missing."""
    base, other = results.answers("base"), results.answers(setting)
    return {
        key: float(not (other[key].answer.is_read and other[key].answer.value == row.answer.value))
        for key, row in base.items()
        if row.is_measured and row.answer.is_read and key in other and other[key].is_measured
    }


def changed_graphs(results: SceneResults, setting: str) -> dict[str, float]:
    """Return, by scene, 1 − SGC of the graph given in another setting, with the graph of the base setting as the true one."""
    graphs, changed = results.measured_graphs("base"), results.measured_graphs(setting)
    return {
        scene: 1 - score_graph(changed[scene].reading, row.reading.graph).sgc
        for scene, row in graphs.items()
        if row.reading.graph is not None and scene in changed
    }


def blind_table(blind: BlindTest) -> Table:
    """Return Table 2."""
    return Table.of(
        "scene.blind",
        "Table 2: without the picture",
        [
            Column("what", "without the picture"),
            Column("score", "score", "share"),
            Column("drop", "drop in points", "points"),
            column("scene.refused"),
        ],
        [
            ["QA", blind.qa, blind.qa_drop, blind.refused],
            ["QA of answered questions", blind.qa_of_answered, None, None],
            ["SGC", blind.sgc, blind.sgc_drop, blind.refused_graphs],
            ["drop of QA − drop of SGC", None, blind.gap, None],
            ["same answer as with the picture", blind.same_answer, None, None],
        ],
    )
