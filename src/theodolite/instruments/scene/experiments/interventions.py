"""Interventions: graphs in the prompt, graded noise, and base QA against derived QA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table
from theodolite.instruments.scene.data.files import Layer
from theodolite.instruments.scene.experiments.blind import PairedScores, paired_scores, question_scores
from theodolite.instruments.scene.formulas.derived_qa import DerivedCase, DerivedCases, ScoreOptions
from theodolite.instruments.scene.formulas.layout import triangles
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.formulas.solver import SolverName
from theodolite.instruments.scene.kinds import Form
from theodolite.instruments.scene.questions import QaSetting
from theodolite.instruments.scene.results import GraphResult, SceneResults

# The graphs of one setting: how many can be read, how many are complete, how good they are, and what is wrong with them.


_PARTS: tuple[tuple[str, str, str, Callable[[GraphResult], float | None]], ...] = (
    ("size", "S_size", "scene.s_est", lambda row: row.score.estimates.size),
    ("camera", "S_camera", "scene.s_est", lambda row: row.score.estimates.camera),
    ("distance", "S_dist", "scene.s_est", lambda row: row.score.estimates.distance),
    ("s_est", "S_est", "scene.s_est", lambda row: row.score.s_est),
    ("s_rel", "S_rel", "scene.s_rel", lambda row: row.score.s_rel),
    ("stated", "S_rel, stated", "scene.s_rel_stated", lambda row: row.score.relations.stated),
    (
        "sgc_of_read",
        "SGC of read graphs",
        "scene.sgc_of_read",
        lambda row: row.score.sgc if row.reading.is_read else None,
    ),
)
"""Name, title, definition and value of the parts of SGC."""


@dataclass(frozen=True, slots=True)
class GraphOverview:
    """The graphs of one setting."""

    setting: str
    asked: int
    """Answered or refused."""
    pending: int
    failed: int
    refused: int
    unreadable: int
    """Answered, but without a graph: unreadable or cut off."""
    valid: stats.Estimate | None
    """Share that is valid JSON."""
    readable: stats.Estimate | None
    """Share that is JSON as it stands or after repair."""
    complete: stats.Estimate | None
    """Share with every node, edge, number and relation that was asked for."""
    contradictions: stats.Estimate | None
    """Share of impossible triangles camera–centre–object, among those whose sides are given."""
    parts: Mapping[str, stats.Estimate | None]
    """The parts of SGC."""
    problems: Mapping[str, int]
    """Missing, extra, contradictory, unreadable … entries of all graphs."""


def graph_overview(setting: str, rows: Sequence[GraphResult]) -> GraphOverview:
    """Return the overview of one setting."""
    measured = [row for row in rows if row.is_measured]
    problems: Counter[str] = Counter()
    for row in measured:
        problems.update({str(kind): n for kind, n in row.reading.problems.items()})
    checks = [(row.scene, *triangles(row.reading.graph)) for row in measured if row.reading.graph is not None]
    impossible = [
        (scene, is_impossible)
        for scene, n, n_impossible in checks
        for is_impossible in [1.0] * n_impossible + [0.0] * (n - n_impossible)
    ]
    statuses = Counter(row.status for row in rows)
    readings = Counter(row.reading.status for row in measured)
    return GraphOverview(
        setting,
        asked=len(measured),
        pending=statuses["pending"],
        failed=statuses["failed"],
        refused=readings["refused"],
        unreadable=readings["unreadable"] + readings["cut off"],
        valid=_mean(measured, lambda row: row.reading.status == "valid"),
        readable=_mean(measured, lambda row: row.reading.is_read),
        complete=_mean(measured, lambda row: row.reading.is_complete),
        contradictions=stats.clustered_mean(
            [value for _, value in impossible], [scene for scene, _ in impossible]
        ),
        parts={name: _mean(measured, value) for name, _, _, value in _PARTS},
        problems=dict(problems.most_common()),
    )


def _mean(rows: Sequence[GraphResult], value: Callable[[GraphResult], float | None]) -> stats.Estimate | None:
    kept = [(float(measured), row.scene) for row in rows if (measured := value(row)) is not None]
    return stats.clustered_mean([measured for measured, _ in kept], [scene for _, scene in kept])


def graphs_table(overviews: Sequence[GraphOverview]) -> Table:
    """Return how many graphs can be used."""
    return Table.of(
        "scene.graphs",
        "Graphs",
        [
            Column("setting", "setting"),
            Column("asked", "asked", "count"),
            column("scene.graph_valid", "valid", "valid JSON"),
            column("scene.graph_valid", "readable", "readable"),
            column("scene.graph_valid", "complete", "complete"),
            column("scene.graph_contradicts", "contradictions"),
            Column("refused", "refused", "count"),
            Column("unreadable", "unreadable", "count"),
            Column("failed", "failed", "count"),
            Column("pending", "pending", "count"),
        ],
        [
            [
                overview.setting,
                overview.asked,
                overview.valid,
                overview.readable,
                overview.complete,
                overview.contradictions,
                overview.refused,
                overview.unreadable,
                overview.failed,
                overview.pending,
            ]
            for overview in overviews
        ],
    )


def parts_table(overviews: Sequence[GraphOverview]) -> Table:
    """Return the parts of SGC."""
    return Table.of(
        "scene.graph_parts",
        "Parts of SGC",
        [
            Column("setting", "graphs"),
            *(column(key, name, title) for name, title, key, _ in _PARTS),
        ],
        [[overview.setting, *(overview.parts[name] for name, *_ in _PARTS)] for overview in overviews],
    )


def problems_table(overviews: Sequence[GraphOverview]) -> Table:
    """Return the problems of the graphs, counted."""
    kinds = sorted({kind for overview in overviews for kind in overview.problems})
    return Table.of(
        "scene.graph_problems",
        "Problems in the graphs",
        [
            Column("problem", "problem"),
            *(Column(overview.setting, overview.setting, "count") for overview in overviews),
        ],
        [[kind, *(overview.problems.get(kind, 0) for overview in overviews)] for kind in kinds],
    )


# The dual intervention (CRISP, section 5): QA without a graph, with the model's own, with the true one, and with only that.


INTERVENTIONS: tuple[QaSetting, ...] = ("base", "predicted graph", "true graph", "true graph alone")
LAYERS: tuple[Layer | None, ...] = (None, "atomic", "compositional")


@dataclass(frozen=True, slots=True)
class Intervention:
    """QA in one setting, and against the base setting."""

    setting: QaSetting
    layer: Layer | None
    """None: all questions."""
    qa: stats.Estimate | None
    """Macro mean; questions that could not be asked because there was no graph score 0."""
    qa_of_asked: stats.Estimate | None
    """Without those."""
    gain: stats.Estimate | None
    """Over the base setting, paired, on questions measured in both."""
    test: stats.HypothesisTest | None
    """Whether the two differ."""
    without_graph: int


def interventions(results: SceneResults, options: ScoreOptions) -> tuple[Intervention, ...]:
    """Compare every measured setting with the base setting, overall and by layer."""
    base, missing = results.answers("base"), results.without_graph
    rows: list[Intervention] = []
    for setting in INTERVENTIONS:
        given = results.answers(setting)
        lost = missing if setting == "predicted graph" else []
        if not given and not lost:
            continue
        whole = question_scores(given, comparison=options.comparison, without_graph=lost)
        asked = question_scores(given, comparison=options.comparison)
        pair = paired_scores(base, given, comparison=options.comparison)
        for layer in LAYERS:
            is_base = setting == "base"
            part = pair.layer(layer)
            rows.append(
                Intervention(
                    setting,
                    layer,
                    qa=whole.layer(layer).mean(),
                    qa_of_asked=asked.layer(layer).mean(),
                    gain=None if is_base else part.gain(),
                    test=None if is_base else part.test(options.seed),
                    without_graph=sum(layer is None or question.layer == layer for question in lost),
                )
            )
    return tuple(rows)


def interventions_table(found: Sequence[Intervention]) -> Table:
    """Return a row for each setting and layer."""
    return Table.of(
        "scene.interventions",
        "Interventions: a graph in the prompt",
        [
            Column("setting", "setting"),
            Column("questions", "questions"),
            column("scene.qa"),
            column("scene.qa_of_asked"),
            column("scene.graph_gain", "gain"),
            Column("p", "p", "p"),
            Column("without_graph", "failed: no graph", "count"),
        ],
        [
            [
                intervention.setting,
                intervention.layer or "all",
                intervention.qa,
                intervention.qa_of_asked,
                intervention.gain,
                intervention.test.p_value if intervention.test is not None else None,
                intervention.without_graph,
            ]
            for intervention in found
        ],
    )


# The threshold experiment: QA with graphs of graded noise in the prompt, and the quality at which a graph begins to help.
#
# CRISP (section 5.2) assumes such a threshold. It is where the gain over base QA, as a line through the noise levels, crosses zero.


FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NoiseLevel:
    """QA with graphs of one noise level in the prompt."""

    noise: float
    quality: stats.Estimate | None
    """SGC of the noisy graphs against the true ones."""
    qa: stats.Estimate | None
    gain: stats.Estimate | None
    """Over the base setting, paired."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """How good a graph must be before it helps."""

    levels: tuple[NoiseLevel, ...]
    """From the least noise to the most."""
    crossing: stats.Estimate | None
    """The SGC at which QA with the graph equals QA without it."""
    because: str
    """Why there is no crossing; empty if there is one."""


def threshold(results: SceneResults, options: ScoreOptions) -> Threshold | None:
    """Run the threshold experiment of one run; None if no noisy graph was in a prompt."""
    base = results.answers("base")
    noisy = sorted(
        (noise, given)
        for (setting, noise), given in results.qa.items()
        if setting == "noisy graph" and noise is not None
    )
    levels, pairs, qualities = [], [], []
    for noise, given in noisy:
        quality = {
            row.question.scene: score_graph(row.graph, true).sgc
            for row in given.values()
            if row.graph is not None and (true := results.true_graph(row.question.scene)) is not None
        }
        pair = paired_scores(base, given, comparison=options.comparison)
        levels.append(
            NoiseLevel(
                noise,
                quality=stats.clustered_mean(list(quality.values()), list(quality)),
                qa=question_scores(given, comparison=options.comparison).mean(),
                gain=pair.gain(),
            )
        )
        pairs.append(pair)
        qualities.append(quality)
    if not levels:
        return None
    return Threshold(tuple(levels), *_crossing(pairs, qualities, options.seed))


def _crossing(
    pairs: Sequence[PairedScores], qualities: Sequence[Mapping[str, float]], seed: int
) -> tuple[stats.Estimate | None, str]:
    """Return the SGC at which the gain over base is zero, with a bootstrap interval over the scenes that every level has."""
    scenes = sorted(
        set.intersection(*(set(pair.scenes) & set(q) for pair, q in zip(pairs, qualities, strict=True)))
    )
    if len(pairs) < 2 or len(scenes) < 2:
        return None, "a crossing needs two noise levels and two scenes"
    parts: list[FloatArray] = []
    for pair, quality in zip(pairs, qualities, strict=True):
        parts += [*_by_scene(pair, scenes), np.array([[quality[scene]] for scene in scenes])]
    value = float(_crossings(*parts, np.ones((1, len(scenes))))[0])
    if np.isnan(value):
        gains = [float(np.mean(pair.second - pair.first)) for pair in pairs]
        side = (
            "helps at every level"
            if min(gains) > 0
            else "helps at no level"
            if max(gains) <= 0
            else "helps at some levels, in no order"
        )
        return None, f"no crossing between the measured levels: the graph {side}"
    try:
        statistic = stats.BatchStatistic(_crossings, form="weights")
        estimate = stats.bootstrap(
            tuple(parts), statistic, bounds=stats.SHARE, interval="percentile", seed=seed
        )
    except UsageError as error:
        return None, f"a crossing at an SGC of {100 * value:.1f} %, but without an interval: {error}"
    return estimate, ""


def _by_scene(pair: PairedScores, scenes: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return sums of gains and numbers of questions, each of shape (scenes, groups)."""
    index = {scene: i for i, scene in enumerate(scenes)}
    groups = {group: i for i, group in enumerate(dict.fromkeys(pair.groups))}
    sums, counts = np.zeros((2, len(scenes), len(groups)))
    for scene, group, gain in zip(pair.scenes, pair.groups, pair.second - pair.first, strict=True):
        if scene in index:
            sums[index[scene], groups[group]] += gain
            counts[index[scene], groups[group]] += 1
    return sums, counts


def _crossings(*parts: FloatArray) -> FloatArray:
    """Return one crossing per row of weights, the last argument; NaN where the gain does not change sign."""
    *tables, weights = parts
    gains, qualities = [], []
    for sums, counts, quality in zip(tables[0::3], tables[1::3], tables[2::3], strict=True):
        n = weights @ counts
        with np.errstate(invalid="ignore", divide="ignore"):
            gains.append(np.nanmean(np.where(n > 0, weights @ sums / n, np.nan), axis=1))
        qualities.append((weights @ quality)[:, 0] / weights.sum(axis=1))
    gain, quality = np.stack(gains, axis=1), np.stack(qualities, axis=1)  # (rows, levels)
    order = np.argsort(quality, axis=1)
    gain, quality = np.take_along_axis(gain, order, 1), np.take_along_axis(quality, order, 1)
    crossings = np.full(len(gain), np.nan)
    for i in range(gain.shape[1] - 1):  # from the worst graphs to the best: the last change to a gain counts
        below, above = gain[:, i], gain[:, i + 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            zero = quality[:, i] + (quality[:, i + 1] - quality[:, i]) * (-below) / (above - below)
        crossings = np.where((below < 0) & (above > 0), zero, crossings)
    return crossings


def threshold_table(found: Threshold) -> Table:
    """Return a row for each noise level, and the crossing."""
    crossing = found.crossing
    note = found.because
    if crossing is not None:
        note = f"A graph helps from an SGC of {100 * crossing.value:.1f} % [{100 * crossing.low:.1f}, {100 * crossing.high:.1f}]."
    return Table.of(
        "scene.threshold",
        "How good must a graph be to help?",
        [
            Column("noise", "noise", "number"),
            column("scene.sgc", "quality", "SGC of the graph"),
            column("scene.qa", title="QA with it"),
            column("scene.graph_gain", "gain"),
        ],
        [[level.noise, level.quality, level.qa, level.gain] for level in found.levels],
        [note],
    )


# Base QA against derived QA, question by question: where right and wrong answers come from.
#
# ========================  ==========================================================================================
# grounded success          both right
# shortcut success          the model is right, its graph implies otherwise
# disconnect failure        the model is wrong, its graph is right
# consistent hallucination  both wrong, and with the *same* answer (the public code counts any two wrong answers)
# other failure             both wrong, with different answers
# no derived answer         the graph implies no answer
# no direct answer          the model's answer is refused or cannot be read
# solver's own error        the derived answer is wrong, and so is the one that the solver derives from the *true* graph
# ========================  ==========================================================================================
#
# A choice is right if its letter is. A number is right if its MRA is 1, and two numbers are the same answer if the MRA of one
# with the other as gold is 1: they differ by less than 5 %.
#
# The last cell is the sound reading: a wrong derived answer counts against the model only if the solver is right with the true graph.
# So a model that is right in everything has no shortcut success, whatever the solver. In the paper's reading that cell is empty, and
# its questions count as shortcut success or as failures.


Cell: TypeAlias = Literal[
    "grounded success",
    "shortcut success",
    "disconnect failure",
    "consistent hallucination",
    "other failure",
    "no derived answer",
    "no direct answer",
    "solver's own error",
]
CELLS: tuple[Cell, ...] = get_args(Cell)
ConfusionReading: TypeAlias = Literal["sound", "paper"]
_RIGHT = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """The questions of one form, by cell."""

    form: Form
    counts: Mapping[Cell, int]
    shares: Mapping[Cell, stats.Estimate | None]
    """Of all questions of this form."""
    solver: SolverName
    reading: ConfusionReading = "sound"


@dataclass(frozen=True, slots=True)
class ExampleCase:
    """A question that illustrates a cell."""

    cell: Cell
    case: DerivedCase
    sgc: float
    """Of the scene's graph."""

    @property
    def title(self) -> str:
        """The question and its three answers."""
        question = self.case.question
        return (
            f"{self.cell}: {question.text}\ngold {question.gold}, answered {self.case.result.answer.value}, "
            f"its graph implies {self.case.derived.value}"
        )


def cells_of(cases: DerivedCases, reading: ConfusionReading = "sound") -> list[Cell]:
    """Return the cell of each question.

    Args:
        cases: The questions.
        reading: ``paper`` also counts what the solver gets wrong with the true graph against the model.
    """
    is_fair = (cases.ceiling >= _RIGHT) | (reading == "paper")
    scores = zip(cases.cases, cases.base, cases.derived, cases.consistency, is_fair, strict=True)
    return [_cell(*each) for each in scores]


def _cell(case: DerivedCase, base: float, derived: float, consistency: float, is_fair: bool) -> Cell:  # noqa: FBT001
    if not case.result.answer.is_read:
        return "no direct answer"
    if not case.derived.is_solved:
        return "no derived answer"
    if derived < _RIGHT and not is_fair:
        return "solver's own error"
    if base >= _RIGHT:
        return "grounded success" if derived >= _RIGHT else "shortcut success"
    if derived >= _RIGHT:
        return "disconnect failure"
    return "consistent hallucination" if consistency >= _RIGHT else "other failure"


def confusion_matrices(
    cases: DerivedCases, reading: ConfusionReading = "sound"
) -> tuple[ConfusionMatrix, ...]:
    """Return a matrix for choices and one for numbers, over questions about scenes whose graph was asked for."""
    matrices = []
    forms: tuple[Form, ...] = ("choice", "number")
    for form in forms:
        is_in = np.array([case.question.form == form for case in cases.cases], bool)
        part = cases.where(is_in & cases.has_graph)
        cells = cells_of(part, reading)
        if cells:
            shares = {
                cell: stats.clustered_mean([each == cell for each in cells], part.scenes) for cell in CELLS
            }
            counts = Counter(cells)
            table = {cell: counts[cell] for cell in CELLS}
            matrices.append(ConfusionMatrix(form, table, shares, cases.solver, reading))
    return tuple(matrices)


_EXAMPLES: tuple[tuple[Cell, bool], ...] = (
    ("grounded success", True),
    ("shortcut success", False),
    ("disconnect failure", True),
    ("consistent hallucination", False),
)
"""The four quadrants, and whether the best or the worst graph illustrates it best."""


def example_cases(cases: DerivedCases, sgc: Mapping[str, float], *, n: int = 3) -> tuple[ExampleCase, ...]:
    """Return the clearest cases of each quadrant, one per scene, choices before numbers, solvable questions only.

    Successes and disconnects are shown with the best graphs, shortcuts and hallucinations with the worst.

    Args:
        cases: To choose from.
        sgc: SGC of the scenes' graphs.
        n: The most cases of a quadrant.
    """
    cells, scenes = cells_of(cases), cases.scenes
    picked = []
    for cell, is_best in _EXAMPLES:
        rows = [i for i, other in enumerate(cells) if other == cell and cases.is_solvable[i]]
        rows.sort(
            key=lambda i: (
                cases.cases[i].question.form == "number",
                (-1 if is_best else 1) * sgc.get(scenes[i], 0.0),
                cases.cases[i].question.layer == "atomic",
                cases.cases[i].question.id,
            )
        )
        first = {scenes[i]: i for i in reversed(rows)}
        of_scene = [i for i in rows if first[scenes[i]] == i][:n]
        picked += [ExampleCase(cell, cases.cases[i], sgc.get(scenes[i], 0.0)) for i in of_scene]
    return tuple(picked)


def confusion_table(matrices: Sequence[ConfusionMatrix]) -> Table:
    """Return the shares of all cells, of matrices by one solver."""
    keys = {"sound": "scene.confusion", "paper": "scene.confusion_paper"}
    return Table.of(
        "scene.confusion",
        f"Base QA against derived QA; solver {matrices[0].solver}",
        [
            Column("cell", "cell"),
            *(
                column(
                    keys[m.reading],
                    m.form if m.reading == "sound" else f"{m.form}_paper",
                    f"{m.form}s" if m.reading == "sound" else f"{m.form}s, paper",
                )
                for m in matrices
            ),
        ],
        [[cell, *(matrix.shares[cell] for matrix in matrices)] for cell in CELLS],
    )


def cases_table(cases: Sequence[ExampleCase]) -> Table:
    """Return the examples of each quadrant."""
    return Table.of(
        "scene.cases",
        "Examples of each quadrant",
        [
            Column("cell", "cell"),
            Column("question", "question"),
            Column("text", "text"),
            Column("gold", "gold"),
            Column("direct", "answered"),
            Column("derived", "its graph implies"),
            column("scene.sgc"),
        ],
        [
            [
                case.cell,
                case.case.question.id,
                case.case.question.lines,
                case.case.question.gold,
                str(case.case.result.answer.value),
                str(case.case.derived.value),
                case.sgc,
            ]
            for case in cases
        ],
    )
