"""Nine signatures: patterns of behaviour in the numbers of a run, each with its numbers and tests.

Levels put a score on a scale from 0 (a baseline that does not look: the prior answer, the prior graph, chance agreement) to 1.
*High* means that the whole interval lies above ½, *low* that it lies below. A difference counts if its whole interval lies
beyond five points, a share if its whole interval lies beyond a tenth. All intervals are clustered by scene, and all differences
are paired. A signature whose numbers were not all measured is *not measured*.

=============================  ========================================================================================
structural alignment           QA, SGC and self-consistency are high; QA drops without the picture, and not with the model's
                               own graph
semantic shortcut              QA is above the prior; self-consistency or SGC is low; QA is above what its own graph implies
perception–reasoning           the graph is better than the prior graph, and answers derived from it are better than the
disconnect                     model's own
modality trust bias            QA drops when the model's own graph is put into the prompt
cognitive scaffold             compositional QA rises when the model's own graph is put into the prompt
semantic–geometric gap         the picture raises QA but not SGC, which stays at the level of the prior graph
language prior                 QA without the picture is equivalent to QA with it (within five points, 90 % interval), and
                               more than half of the answers are the same
refusal                        the model refuses, in some setting
format failure                 answers cannot be read, or graphs are invalid or incomplete, in some setting
=============================  ========================================================================================

The five points, the half and the tenth are conventions of this program; the paper gives none. Several signatures may hold at
once.

`judge_as_in_paper` judges six of them as the paper has them (sections 4.2 and 6): by raw scores of all questions, derived by the
public solver, with the scores without the picture as the floor. So QA that rises with the picture while SGC does not is a
semantic–geometric gap there even if the graphs are worse than the prior graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from theodolite import stats
from theodolite.core.scores import Condition, Signature, SignatureKind, judge_signature
from theodolite.core.tables import Column, Table
from theodolite.instruments.scene.experiments.blind import (
    BlindTest,
    PairedScores,
    graph_prior,
    level,
    paired_scores,
    qa_prior,
)
from theodolite.instruments.scene.formulas.derived_qa import DerivedCases, ScoreOptions
from theodolite.instruments.scene.results import SceneResults

MATTERS = 0.05
"""Five points: what a difference must exceed."""
HALF = 0.5
SHARE = 0.1
"""What the share of refused or unreadable answers must exceed."""

_CRISP = "CRISP, section 6"
_KINDS = (
    SignatureKind(
        "structural alignment",
        "Repeat on scenes of your own: alignment that holds only on drawn scenes is not yet alignment "
        "(`theodolite scene import`).",
        "",
        _CRISP,
    ),
    SignatureKind(
        "semantic shortcut",
        "Put the true scene graph beside the picture: if answers become right, the model can reason but does not perceive "
        "(`theodolite scene run --settings base,true-graph`).",
        "A larger vision encoder, to refine metric perception; or training that supervises where the model looks.",
        f"{_CRISP}; GridVQA-X, appendix A.2",
    ),
    SignatureKind(
        "perception–reasoning disconnect",
        "Answer the questions from the model's own graphs with a solver: what the solver gets right and the model does not "
        "was perceived but not used (`theodolite scene score`).",
        "Better alignment between vision encoder and language model, so that what is perceived is used.",
        _CRISP,
    ),
    SignatureKind(
        "modality trust bias",
        "Put a graph with graded noise beside the picture: the more the model follows the noise, the less it looks "
        "(`theodolite scene run --settings noisy-graph`).",
        "A stronger language model that resolves conflicts between text and picture.",
        _CRISP,
    ),
    SignatureKind(
        "cognitive scaffold",
        "Give another scene's graph instead of its own: a scaffold helps by its content, not by its form.",
        "Let the model write the graph before it answers compositional questions.",
        "CRISP, section 5.3",
    ),
    SignatureKind(
        "semantic–geometric gap",
        "Score estimates and relations of the graphs separately (`theodolite scene score`): the gap lies in the estimates.",
        "",
        "CRISP, section 1",
    ),
    SignatureKind(
        "language prior",
        "Show the picture of another scene: an answer that stays the same was never about the picture (`theodolite ask run`).",
        "Enforce consistency between answers and perceived structure in training, and balance the answers of the data.",
        f"{_CRISP}; GridVQA-X, appendix B.1",
    ),
    SignatureKind(
        "refusal",
        "Read some of the refused answers in the item browser: a refusal is not a failure to see.",
        "",
        "CRISP, section 4.2",
    ),
    SignatureKind(
        "format failure",
        "Read some of the unreadable answers in the item browser; ask again with more tokens.",
        "",
        "CRISP, section 4.2",
    ),
)
KINDS = {kind.name: kind for kind in _KINDS}
SIGNATURES = tuple(KINDS)


@dataclass(frozen=True, slots=True)
class SignatureNumbers:
    """The numbers that signatures are judged by; None if not measured."""

    qa_level: stats.Estimate | None = None
    sgc_level: stats.Estimate | None = None
    consistency_level: stats.Estimate | None = None
    """On solvable questions, above chance agreement."""
    qa_over_prior: stats.Estimate | None = None
    sgc_over_prior: stats.Estimate | None = None
    base_over_derived: stats.Estimate | None = None
    """QA minus derived QA, on solvable questions."""
    base_over_derived_test: stats.HypothesisTest | None = None
    derived_over_base_test: stats.HypothesisTest | None = None
    consistency_test: stats.HypothesisTest | None = None
    """Whether agreement exceeds chance."""
    predicted_gain: stats.Estimate | None = None
    """Of the model's own graph beside the picture, over base."""
    predicted_drop_test: stats.HypothesisTest | None = None
    compositional_gain: stats.Estimate | None = None
    compositional_test: stats.HypothesisTest | None = None
    atomic_gain: stats.Estimate | None = None
    true_gain: stats.Estimate | None = None
    """Of the true graph beside the picture, over base: the paper's check of a shortcut."""
    qa_drop: stats.Estimate | None = None
    qa_drop_test: stats.HypothesisTest | None = None
    equivalence: stats.Equivalence | None = None
    """Of QA with and without the picture."""
    sgc_drop: stats.Estimate | None = None
    gap: stats.Estimate | None = None
    same_blind: stats.Estimate | None = None
    same_blind_level: stats.Estimate | None = None
    """Above chance agreement: None for a model that always answers the same."""
    refused: Mapping[str, stats.Estimate] | None = None
    """Share of refused answers, by task and setting."""
    unreadable: Mapping[str, stats.Estimate] | None = None
    """Share of answers that cannot be read, and of graphs that are invalid or incomplete, by task and setting."""


def signature_numbers(
    results: SceneResults, options: ScoreOptions, cases: DerivedCases, blind: BlindTest | None
) -> SignatureNumbers:
    """Compute the numbers that `judge_signatures` needs, as far as they were measured.

    Args:
        results: Results of a run.
        options: How to score.
        cases: The questions with their derived answers.
        blind: The test without the picture, if it was made.
    """
    prior = qa_prior([case.question for case in cases.cases], comparison=options.comparison)
    sure = cases.where(cases.is_solvable & cases.has_graph)
    questions = tuple(case.question for case in sure.cases)
    base = results.answers("base")
    own, true, dark = (
        paired_scores(base, results.answers(setting), comparison=options.comparison)
        for setting in ("predicted graph", "true graph", "blind")
    )
    derived = PairedScores(questions, sure.base, sure.derived)
    sgc_level, sgc_over_prior = _graph_levels(results)
    return SignatureNumbers(
        qa_level=level(cases.base, prior, cases.scenes, cases.groups),
        sgc_level=sgc_level,
        consistency_level=level(sure.consistency, sure.chance, sure.scenes, sure.groups),
        qa_over_prior=stats.clustered_difference(cases.base, prior, cases.scenes, groups=cases.groups),
        sgc_over_prior=sgc_over_prior,
        base_over_derived=PairedScores(questions, sure.derived, sure.base).gain(),
        base_over_derived_test=derived.test(options.seed, alternative="less"),
        derived_over_base_test=derived.test(options.seed, alternative="greater"),
        consistency_test=PairedScores(questions, sure.chance, sure.consistency).test(
            options.seed, alternative="greater"
        ),
        predicted_gain=own.gain(),
        predicted_drop_test=own.test(options.seed, alternative="less"),
        compositional_gain=own.layer("compositional").gain(),
        compositional_test=own.layer("compositional").test(options.seed, alternative="greater"),
        atomic_gain=own.layer("atomic").gain(),
        true_gain=true.gain(),
        qa_drop=blind.qa_drop if blind is not None else None,
        qa_drop_test=dark.test(options.seed, alternative="less"),
        equivalence=blind.equivalence if blind is not None else None,
        sgc_drop=blind.sgc_drop if blind is not None else None,
        gap=blind.gap if blind is not None else None,
        same_blind=blind.same_answer if blind is not None else None,
        same_blind_level=blind.same_answer_level if blind is not None else None,
        refused=_shares(results, is_refused=True),
        unreadable=_shares(results, is_refused=False),
    )


def _graph_levels(results: SceneResults) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    """Return the level of SGC between the prior graph and 1, and SGC minus the prior graph's."""
    graphs = results.graphs.get("base", {})
    prior = graph_prior({s: r.true for s, r in graphs.items()}, {s: r.domain for s, r in graphs.items()})
    scenes = list(results.measured_graphs("base"))
    values = np.array([graphs[scene].score.sgc for scene in scenes])
    baseline = np.array([prior[scene].sgc for scene in scenes])
    return level(values, baseline, scenes), stats.clustered_difference(values, baseline, scenes)


def _shares(results: SceneResults, *, is_refused: bool) -> dict[str, stats.Estimate]:
    """Return the share of refused answers, or of other answers and graphs that cannot be used, by task and setting."""
    shares: dict[str, stats.Estimate | None] = {}
    for (setting, noise), given in results.qa.items():
        asked = [row for row in given.values() if row.is_measured]
        flags = [bool(row.missing) and (row.missing == "refused") == is_refused for row in asked]
        label = f"QA, {setting}" + (f" {noise:g}" if noise is not None else "")
        shares[label] = stats.clustered_mean(flags, [row.question.scene for row in asked])
    for graph_setting in results.graphs:
        graphs = results.measured_graphs(graph_setting).values()
        refused = [row.reading.status == "refused" for row in graphs]
        good = [row.reading.status == "valid" and row.reading.is_complete for row in graphs]
        flags = refused if is_refused else [not (a or b) for a, b in zip(refused, good, strict=True)]
        shares[f"graphs, {graph_setting}"] = stats.clustered_mean(flags, [row.scene for row in graphs])
    return {label: share for label, share in shares.items() if share is not None}


def judge_signatures(numbers: SignatureNumbers) -> tuple[Signature, ...]:
    """Judge all nine signatures."""
    n = numbers
    return (
        _alignment(n),
        _shortcut(n),
        _judge(
            "perception–reasoning disconnect",
            [
                _beyond("SGC over the prior graph", n.sgc_over_prior, 1),
                _beyond("base QA minus derived QA", n.base_over_derived, -1),
            ],
            n.derived_over_base_test,
        ),
        _judge(
            "modality trust bias",
            [_beyond("QA with its own graph minus base", n.predicted_gain, -1)],
            n.predicted_drop_test,
        ),
        _judge(
            "cognitive scaffold",
            [_beyond("compositional QA with its own graph minus base", n.compositional_gain, 1)],
            n.compositional_test,
            also={"atomic QA with its own graph minus base": n.atomic_gain},
        ),
        _gap(n),
        _judge(
            "language prior",
            [
                Condition(
                    "drop of QA without the picture, 90 % interval",
                    n.equivalence.estimate if n.equivalence is not None else None,
                    lambda _: n.equivalence is not None and n.equivalence.is_equivalent,
                    "within five points",
                ),
                _level("agreement with the blind answers", n.same_blind, is_high=True),
            ],
            None,
            also={"level of agreement with the blind answers": n.same_blind_level},
        ),
        _share("refusal", n.refused, "refused"),
        _share("format failure", n.unreadable, "unreadable or incomplete"),
    )


def _gap(n: SignatureNumbers) -> Signature:
    return _judge(
        "semantic–geometric gap",
        [
            _beyond("drop of QA without the picture", n.qa_drop, 1),
            Condition(
                "drop of SGC without the picture",
                n.sgc_drop,
                lambda x: x.high < MATTERS,
                "below five points",
            ),
            Condition(
                "SGC over the prior graph",
                n.sgc_over_prior,
                lambda x: x.low > -MATTERS,
                "above minus five points",
            ),
        ],
        n.qa_drop_test,
        also={"drop of QA minus drop of SGC": n.gap},
    )


def _alignment(n: SignatureNumbers) -> Signature:
    conditions = [
        _level("level of QA", n.qa_level, is_high=True),
        _level("level of SGC", n.sgc_level, is_high=True),
        _level("level of self-consistency", n.consistency_level, is_high=True),
        _beyond("drop of QA without the picture", n.qa_drop, 1),
        Condition(
            "QA with its own graph minus base",
            n.predicted_gain,
            lambda x: x.high >= -MATTERS,
            "no proven drop of more than five points",
        ),
    ]
    return _judge("structural alignment", conditions, n.consistency_test)


def _shortcut(n: SignatureNumbers) -> Signature:
    """Judge the semantic shortcut. One low level is enough: the paper writes "low SGC/consistency"."""
    levels = {"level of SGC": n.sgc_level, "level of self-consistency": n.consistency_level}
    measured = {label: estimate for label, estimate in levels.items() if estimate is not None}
    lowest = min(measured, key=lambda label: measured[label].high, default="level of self-consistency")
    return _judge(
        "semantic shortcut",
        [
            _beyond("QA over the prior answer", n.qa_over_prior, 1),
            _level(lowest, levels[lowest], is_high=False),
            _beyond("base QA minus derived QA", n.base_over_derived, 1),
        ],
        n.base_over_derived_test,
        also={**levels, "QA with the true graph minus base": n.true_gain},
    )


def _beyond(label: str, estimate: stats.Estimate | None, sign: int) -> Condition:
    if sign > 0:
        return Condition(label, estimate, lambda x: x.low > MATTERS, "above five points")
    return Condition(label, estimate, lambda x: x.high < -MATTERS, "below minus five points")


def _level(label: str, estimate: stats.Estimate | None, *, is_high: bool) -> Condition:
    if is_high:
        return Condition(label, estimate, lambda x: x.low > HALF, "above ½")
    return Condition(label, estimate, lambda x: x.high < HALF, "below ½")


def _judge(
    name: str,
    conditions: list[Condition],
    test: stats.HypothesisTest | None,
    *,
    also: Mapping[str, stats.Estimate | None] | None = None,
) -> Signature:
    signature = judge_signature(KINDS[name], conditions, test=test)
    more = {label: estimate for label, estimate in (also or {}).items() if estimate is not None}
    return replace(signature, numbers={**signature.numbers, **more})


def _share(name: str, shares: Mapping[str, stats.Estimate] | None, words: str) -> Signature:
    """Raise the signature if in any setting the whole interval of the share exceeds a tenth; the worst setting is named."""
    if not shares:
        return Signature(KINDS[name], "not measured", "not measured: no answers")
    over = {label: share for label, share in shares.items() if share.low > SHARE}
    worst = max(shares, key=lambda label: shares[label].low)
    most = shares[worst]
    sentence = f"{words} in {worst}: {most.value:.2f} [{most.low:.2f}, {most.high:.2f}]"
    if len(over) > 1:
        sentence += f", and in {len(over) - 1} more settings"
    return Signature(KINDS[name], "raised" if over else "not raised", sentence, dict(shares))


@dataclass(frozen=True, slots=True)
class PaperNumbers:
    """The numbers that the paper's own signatures are judged by; None if not measured."""

    qa: stats.Estimate | None = None
    sgc: stats.Estimate | None = None
    consistency: stats.Estimate | None = None
    base_over_derived: stats.Estimate | None = None
    """QA minus derived QA, on all questions."""
    qa_drop: stats.Estimate | None = None
    sgc_drop: stats.Estimate | None = None
    predicted_gain: stats.Estimate | None = None
    compositional_gain: stats.Estimate | None = None


def judge_as_in_paper(n: PaperNumbers) -> dict[str, Signature]:
    """Judge the signatures that the paper names, as it has them, by name."""
    high_sgc, high_consistency = (
        _level("SGC", n.sgc, is_high=True),
        _level("self-consistency", n.consistency, is_high=True),
    )
    either = {"SGC": n.sgc, "self-consistency": n.consistency}
    measured = {label: estimate for label, estimate in either.items() if estimate is not None}
    lowest = min(measured, key=lambda label: measured[label].high, default="self-consistency")
    sgc_stays = Condition(
        "drop of SGC without the picture", n.sgc_drop, lambda x: x.high < MATTERS, "below five points"
    )
    judged = (
        _judge("structural alignment", [_level("QA", n.qa, is_high=True), high_sgc, high_consistency], None),
        _judge(
            "semantic shortcut",
            [_level("QA", n.qa, is_high=True), _level(lowest, either[lowest], is_high=False)],
            None,
        ),
        _judge(
            "perception–reasoning disconnect",
            [
                _beyond("drop of SGC without the picture", n.sgc_drop, 1),
                _beyond("base QA minus derived QA", n.base_over_derived, -1),
            ],
            None,
        ),
        _judge(
            "modality trust bias",
            [_beyond("QA with its own graph minus base", n.predicted_gain, -1)],
            None,
        ),
        _judge(
            "cognitive scaffold",
            [_beyond("compositional QA with its own graph minus base", n.compositional_gain, 1)],
            None,
        ),
        _judge(
            "semantic–geometric gap",
            [_beyond("drop of QA without the picture", n.qa_drop, 1), sgc_stays],
            None,
        ),
    )
    return {signature.name: signature for signature in judged}


def signatures_table(signatures: Sequence[Signature], paper: Mapping[str, Signature] | None = None) -> Table:
    """Return which signatures were raised, and why; beside them, as the paper has them.

    Args:
        signatures: From `judge_signatures`.
        paper: From `judge_as_in_paper`.
    """
    beside = paper or {}
    return Table.of(
        "scene.signatures",
        "Signatures",
        [
            Column("standing", "standing"),
            Column("signature", "signature"),
            Column("p", "p", "p"),
            Column("because", "because"),
            Column("paper", "as in the paper"),
            Column("paper_because", "because (paper)"),
        ],
        [
            [
                signature.standing,
                signature.name,
                signature.test.p_value if signature.test is not None and signature.is_raised else None,
                signature.because,
                beside[signature.name].standing if signature.name in beside else None,
                beside[signature.name].because if signature.name in beside else None,
            ]
            for signature in signatures
        ],
    )
