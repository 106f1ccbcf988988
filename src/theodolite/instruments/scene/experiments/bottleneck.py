"""Does it see wrongly, or reason wrongly? The lost points of QA, divided among their causes by interventions.

Each question has three scores: b with the picture, d derived from the model's own graph, t with the true graph in the prompt.
What the solver loses even with the true graph is the graph's fault, not the model's, and is added to d and t. With E the macro
mean over groups, the lost points E[1 − b] are the sum of what the true graph mends, E[t − b], and what it does not, E[1 − t]:

=============  ==========================  ========================================================================
use            E[τ (d − b)]                of what the true graph mends, as much as its own graph would mend too
perception     the rest of E[t − b]        it can reason, but its own graph has not the answer
reasoning      E[δ (1 − t)]                its own graph has the answer, but even the true graph does not mend it
both           the rest of E[1 − t]        neither better eyes nor better reasoning alone would help: half to each of the two
=============  ==========================  ========================================================================

τ and δ are t and d without luck. Of k options a guess is right with chance g = 1/k (of a length: as often as the answer to
another question of its kind), so τ = t − (1 − t) g/(1 − g), and δ = (d − g)/(1 − g): both are zero for guesses, on average, and 1
for answers that are right. Luck in b needs nothing: it cancels in the differences. If wrong answers repeat with the true graph,
they are no guesses, and only the share that does not repeat is corrected.

Two parts are taken out before:

- *no answer*: the answer with the picture is refused or cannot be read
- *prior*: the answer with the picture, without it, and with the true graph are one and the same wrong answer. Guesses agree by
  chance in c = 1/k · 1/(k − 1) of such cases. If a share s of the unmended points is of this kind, the prior gets (s − c)/(1 − c)

All parts add up to the lost points. Beside them: *consistent and wrong*, the share of lost points where the model gives the very
answer that its own wrong graph implies, again beyond chance (1/(k − 1)). It says how a fault of perception shows, so it is part of
no sum.

Use is a balance: what its own graph has and the answers miss, less what the answers have and its graph misses. So two looks that are
equally bad, and err independently, are a fault of perception. Intervals: percentile bootstrap over scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table, listed
from theodolite.instruments.scene.data.files import Layer
from theodolite.instruments.scene.experiments.blind import paired_scores
from theodolite.instruments.scene.formulas.derived_qa import DerivedCases, ScoreOptions, chance_agreement
from theodolite.instruments.scene.formulas.mra import Value, agreement
from theodolite.instruments.scene.results import SceneResults

FloatArray = NDArray[np.float64]

Cause: TypeAlias = Literal["perception", "reasoning", "use", "prior", "no answer"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
MEANINGS: Mapping[Cause, str] = {
    "perception": "the true graph would mend it, the model's own would not",
    "reasoning": "the true graph does not mend it",
    "use": "its own graph would mend it",
    "prior": "the same wrong answer without the picture and with the true graph",
    "no answer": "refused or unreadable",
}
CONSISTENT = "consistent and wrong"

MAIN = 0.5
"""A cause is the main one if the whole interval of its share lies above this."""
PART = 0.1
"""A cause takes part if the whole interval of its share lies above this."""
LITTLE = 0.05
"""There is nothing to divide unless the whole interval of the lost points lies above five points."""
_RIGHT = 1 - 1e-9
_MOST_LUCK = 0.5
"""A guessed length is never taken to be right more often."""
_LOST = "lost"


@dataclass(frozen=True, slots=True)
class BottleneckPart:
    """What one cause costs."""

    points: stats.Estimate
    """Of QA."""
    share: stats.Estimate | None
    """Of the lost points; None if none are lost."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """Where the lost points of a run come from."""

    lost: stats.Estimate
    """1 − QA, on the questions that have all scores."""
    parts: Mapping[Cause, BottleneckPart]
    """Without the prior if nothing was asked without the picture. The values add up to `lost`, the shares to 1."""
    consistent: stats.Estimate | None
    """Share of the lost points that are consistent and wrong; None if none are lost."""
    base: stats.Estimate | None
    """QA with the picture."""
    derived: stats.Estimate | None
    """The score of what the model's own graph implies."""
    true: stats.Estimate | None
    """QA with the true graph in the prompt."""
    ceiling: stats.Estimate | None
    """The score of what the true graph implies."""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The main cause, or else all that take part, the largest share first; empty if little is lost."""
        return self._above(MAIN) or self._above(PART)

    def _above(self, least: float) -> tuple[Cause, ...]:
        shares = {cause: part.share for cause, part in self.parts.items() if part.share is not None}
        order = sorted(shares, key=lambda cause: -shares[cause].value)
        return tuple(cause for cause in order if self.lost.low > LITTLE and shares[cause].low > least)

    @property
    def is_consistent(self) -> bool:
        """True if more than half of the lost points are consistent and wrong."""
        return self.consistent is not None and self.consistent.low > MAIN

    @property
    def name(self) -> str:
        """The verdict in a few words."""
        if not self.lost.low > LITTLE:
            return "little is lost"
        words = listed(self.causes) or "not settled"
        if len(self.causes) == 1 and not self._above(MAIN):
            words += " in part"
        return (
            f"{words}: {CONSISTENT}" if self.is_consistent and self.causes[:1] == ("perception",) else words
        )

    @property
    def sentence(self) -> str:
        """The verdict with its numbers."""
        if not self.lost.low > LITTLE:
            return f"Little is lost: {_points(self.lost)} of QA."
        order = sorted(self.parts, key=lambda cause: -self.parts[cause].points.value)
        shares = [f"{cause} {_share(self.parts[cause].share)}" for cause in order]
        told = f"Of {_points(self.lost)} lost: {', '.join(shares)}."
        return f"{told} {_share(self.consistent)} are {CONSISTENT}." if self.consistent else told


def _points(estimate: stats.Estimate) -> str:
    return f"{100 * estimate.value:.1f} points"


def _share(share: stats.Estimate | None) -> str:
    if share is None:
        return "0 %"
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def bottlenecks(
    results: SceneResults, options: ScoreOptions, cases: DerivedCases
) -> Mapping[Layer | None, Bottleneck]:
    """Divide the lost points of a run: of all questions (None), of the atomic and of the compositional ones.

    Args:
        results: Results of a run.
        options: How to score.
        cases: The questions with their derived answers.

    Returns:
        Nothing without the model's graphs, the true graph in the prompt, or two scenes.
    """
    true, blind = results.answers("true graph"), results.answers("blind")
    sides = (true, blind) if blind else (true,)
    has_all = np.array(
        [
            all((row := side.get(case.question.id)) is not None and row.is_measured for side in sides)
            for case in cases.cases
        ],
        bool,
    )
    asked = cases.where(cases.has_graph & has_all)
    found: dict[Layer | None, Bottleneck] = {}
    layers: tuple[Layer | None, ...] = (None, "atomic", "compositional")
    for layer in layers:
        part = asked.where(np.array([layer in {None, case.question.layer} for case in asked.cases], bool))
        if len(set(part.scenes)) > 1:
            divided = _bottleneck(results, options, part)
            found |= {layer: divided} if divided is not None else {}
    return found


def _bottleneck(results: SceneResults, options: ScoreOptions, part: DerivedCases) -> Bottleneck | None:
    base, true, blind = (results.answers(setting) for setting in ("base", "true graph", "blind"))
    questions = [case.question for case in part.cases]
    how, seed = options.comparison, options.seed
    pair = paired_scores({q.id: base[q.id] for q in questions}, true, comparison=how)
    spare = 1 - part.ceiling
    direct: list[Value] = [base[q.id].answer.value for q in questions]
    with_truth: list[Value] = [true[q.id].answer.value for q in questions]
    derived: list[Value] = [case.derived.value for case in part.cases]
    golds: list[Value] = [q.gold_number if q.form == "number" else q.gold for q in questions]
    k = np.array([len(q.options) if q.form == "choice" else np.inf for q in questions])

    def is_same(values: list[Value]) -> FloatArray:
        return (agreement(questions, values, direct, comparison=how) >= _RIGHT).astype(float)

    def luck(values: list[Value]) -> FloatArray:
        lengths = chance_agreement(questions, values, golds, comparison=how, seed=seed)
        return np.where(np.isinf(k), np.minimum(lengths, _MOST_LUCK), 1 / k)

    repeats = is_same(with_truth)
    is_blind_too = np.zeros(len(questions))
    if blind:
        is_blind_too = is_same([blind[q.id].answer.value for q in questions])
    rows = _Rows(
        is_read=np.array([base[q.id].answer.is_read for q in questions], float),
        base=pair.first,
        true=np.minimum(1.0, pair.second + spare),
        derived=np.minimum(1.0, part.derived + spare),
        luck_of_true=luck(with_truth),
        luck_of_derived=luck(derived),
        repeats=repeats,
        is_prior=repeats * is_blind_too,
        is_consistent=is_same(derived),
        options=k,
    )
    tables = rows.by_scene(part.scenes, part.groups)
    names = [*CAUSES] if blind else [cause for cause in CAUSES if cause != "prior"]

    def estimate(what: str, *, is_share: bool) -> stats.Estimate | None:
        def statistic(*parts: FloatArray) -> FloatArray:
            divided = _divided(dict(zip(tables, parts[:-1], strict=True)), parts[-1])
            with np.errstate(invalid="ignore", divide="ignore"):
                return divided[what] / divided[_LOST] if is_share else divided[what]

        try:
            return stats.bootstrap(
                tuple(tables.values()),
                stats.BatchStatistic(statistic, form="weights"),
                bounds=stats.SHARE,
                interval="percentile",
                seed=seed,
            )
        except UsageError:  # in too many resamples no point is lost
            return None

    def mean(values: FloatArray) -> stats.Estimate | None:
        return stats.clustered_mean(values, part.scenes, groups=part.groups)

    lost = mean(1 - rows.base)
    points = {cause: estimate(cause, is_share=False) for cause in names}
    if lost is None:
        return None
    parts = {
        cause: BottleneckPart(value, estimate(cause, is_share=True))
        for cause, value in points.items()
        if value is not None
    }
    return Bottleneck(
        lost,
        parts,
        estimate(CONSISTENT, is_share=True),
        base=mean(pair.first),
        derived=mean(part.derived),
        true=mean(pair.second),
        ceiling=mean(part.ceiling),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The numbers of each question."""

    is_read: FloatArray
    base: FloatArray
    true: FloatArray
    derived: FloatArray
    luck_of_true: FloatArray
    luck_of_derived: FloatArray
    repeats: FloatArray
    """1 if the answer with the true graph is the one with the picture."""
    is_prior: FloatArray
    """1 if the answer without the picture is the same, too."""
    is_consistent: FloatArray
    """1 if the model's own graph implies the answer."""
    options: FloatArray
    """Infinitely many for a number."""

    def by_scene(self, scenes: Sequence[str], groups: Sequence[str]) -> Mapping[str, FloatArray]:
        """Return the sums that `_divided` takes, by name, each of shape (scenes, groups)."""
        lost = (1 - self.base) * self.is_read
        unmended = lost * (1 - self.true)
        implied_wrong = lost * (1 - self.derived)
        gain = self.derived - self.base
        odds = self.luck_of_true / (1 - self.luck_of_true)
        knows = (self.derived - self.luck_of_derived) / (1 - self.luck_of_derived)
        columns = {
            "count": np.ones_like(lost),
            "lost": 1 - self.base,
            "read lost": lost,
            "unmended": unmended,
            "repeated": unmended * self.repeats,
            "repeated by chance": unmended / (self.options - 1),
            "prior": unmended * self.is_prior,
            "prior by chance": unmended / (self.options * (self.options - 1)),
            "implied wrong": implied_wrong,
            "consistent": implied_wrong * self.is_consistent,
            "consistent by chance": implied_wrong / (self.options - 1),
        }
        for name, weight in (("", self.is_read), (" of prior", unmended * self.is_prior)):
            columns |= {
                f"mended{name}": weight * (self.true - self.base),
                f"not mended{name}": weight * (1 - self.true),
                f"known{name}": weight * (1 - self.true) * knows,
                f"used{name}": weight * self.true * gain,
                f"used by luck{name}": weight * (1 - self.true) * odds * gain,
            }
        _, scene = np.unique(scenes, return_inverse=True)
        _, group = np.unique(groups, return_inverse=True)
        tables = {}
        for name, values in columns.items():
            tables[name] = np.zeros((scene.max() + 1, group.max() + 1))
            np.add.at(tables[name], (scene, group), values)
        return tables


def _divided(tables: Mapping[str, FloatArray], weights: FloatArray) -> dict[str, FloatArray]:
    """Return the points of each cause, of what is consistent and wrong, and all lost points, for every row of weights."""
    count = weights @ tables["count"]
    with np.errstate(divide="ignore"):
        share = np.where(count > 0, 1 / count, 0.0) / (count > 0).sum(axis=1, keepdims=True)
    mean = {name: ((weights @ table) * share).sum(axis=1) for name, table in tables.items()}
    unmended = mean["unmended"]
    prior = _beyond_chance(mean["prior"], unmended, mean["prior by chance"])
    with np.errstate(invalid="ignore", divide="ignore"):
        removed = np.where(mean["prior"] > 0, prior / mean["prior"], 0.0)
    mended, not_mended, known, used, lucky = (
        mean[name] - removed * mean[f"{name} of prior"]
        for name in ("mended", "not mended", "known", "used", "used by luck")
    )
    repeated = _beyond_chance(mean["repeated"] - prior, unmended - prior, mean["repeated by chance"])
    with np.errstate(invalid="ignore", divide="ignore"):
        guessed = np.where(unmended > prior, 1 - repeated / (unmended - prior), 1.0)
    left = mended + not_mended
    mended = np.clip(mended, 0.0, left)
    use = np.clip(used - guessed * lucky, 0.0, mended)
    reasoning = np.clip(known, 0.0, left - mended)
    both = left - mended - reasoning
    return {
        "perception": mended - use + both / 2,
        "reasoning": reasoning + both / 2,
        "use": use,
        "prior": np.maximum(mean["read lost"] - left, 0.0),
        "no answer": mean["lost"] - mean["read lost"],
        CONSISTENT: _beyond_chance(mean["consistent"], mean["implied wrong"], mean["consistent by chance"]),
        _LOST: mean["lost"],
    }


def _beyond_chance(observed: FloatArray, possible: FloatArray, chance: FloatArray) -> FloatArray:
    """Return how many of the possible cases are of a kind of which `observed` were seen and `chance` expected of guesses."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(possible > chance, (observed - chance) / (possible - chance), 0.0)
    return np.asarray(np.clip(share, 0, 1) * possible)


def bottleneck_table(found: Mapping[Layer | None, Bottleneck]) -> Table:
    """Return what each cause costs, overall and by layer, with the verdict."""
    whole = found[None]
    layers: tuple[Layer, ...] = ("atomic", "compositional")

    def row(
        name: str, meaning: str, share: Callable[[Bottleneck], stats.Estimate | None], points: Cell
    ) -> list[Cell]:
        return [
            name,
            points,
            share(whole),
            *(share(found[layer]) if layer in found else None for layer in layers),
            meaning,
        ]

    def of(cause: Cause) -> Callable[[Bottleneck], stats.Estimate | None]:
        return lambda divided: divided.parts[cause].share if cause in divided.parts else None

    rows = [row(cause, MEANINGS[cause], of(cause), part.points) for cause, part in whole.parts.items()]
    consistent = "of these, the answer that its own wrong graph implies"
    rows.append(row(CONSISTENT, consistent, lambda divided: divided.consistent, None))
    told = {
        "with the picture": whole.base,
        "from its own graph": whole.derived,
        "with the true graph": whole.true,
        "from the true graph": whole.ceiling,
    }
    scores = ", ".join(f"{_share(estimate)} {name}" for name, estimate in told.items())
    return Table.of(
        "scene.bottleneck",
        f"Bottleneck: {whole.name}",
        [
            Column("cause", "cause"),
            column("scene.lost", "points"),
            column("scene.lost_share", "share"),
            *(column("scene.lost_share", layer, layer) for layer in layers),
            Column("meaning", "meaning"),
        ],
        rows,
        [whole.sentence, f"QA: {scores}."],
    )
