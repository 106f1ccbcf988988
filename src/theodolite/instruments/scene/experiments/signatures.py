"""Nine signatures: what the figures of a run say about the model, each with its numbers, its test and its interval.

Levels put a score on a scale from 0 (what is had without looking: the prior answer, the prior graph, chance agreement) to 1
(all that can be had: 1, or the solver's ceiling). *High* means that the whole interval lies above ½, *low* that it lies below.
A difference counts if its whole interval lies beyond five points; a share if its whole interval lies beyond a tenth. All
intervals draw whole scenes, and all differences are paired.

=============================  ========================================================================================
structural alignment           QA, SGC and self-consistency are high, and hold: QA drops without the picture, and not with
                               the model's own graph
semantic shortcut              QA is above the prior; self-consistency or SGC is low; QA is above what its own graph gives
perception–reasoning           the graph is better than the prior graph, and answers derived from it are better than the
disconnect                     model's own
modality trust bias            QA drops when the model's own graph is put into the prompt
cognitive scaffold             compositional QA rises when the model's own graph is put into the prompt
semantic–geometric gap         the picture raises QA but not SGC, which stays at the level of the prior graph
language prior                 QA without the picture is the same within five points, and so are the answers
refusal                        the model declines, in any setting
format failure                 answers cannot be read, or graphs are no JSON or lack parts, in any setting
=============================  ========================================================================================

The five points, the half and the tenth are conventions of this program, not of the paper, which gives none. Signatures name
behaviour, not its cause; several may hold at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from theodolite import stats
from theodolite.core.signatures import Condition, Signature, SignatureKind, judge_signature

MATTERS = 0.05
"""Five points: what a difference must exceed with confidence."""
HALF = 0.5
SHARE = 0.1
"""What the share of refused or unreadable answers must exceed with confidence."""

_CRISP = "CRISP, section 6"
_KINDS = (
    SignatureKind(
        "structural alignment",
        "Repeat on scenes of one's own: alignment that holds only on drawn scenes is not yet alignment "
        "(`theodolite scene build`).",
        "",
        _CRISP,
    ),
    SignatureKind(
        "semantic shortcut",
        "Put the true scene graph beside the picture: if answers then become right, reasoning was there and lacked "
        "perception (`theodolite scene run --settings base,true-graph`).",
        "A larger vision encoder, to refine metric perception; or training that supervises where the model looks.",
        f"{_CRISP}; GridVQA-X, appendix A.2",
    ),
    SignatureKind(
        "perception–reasoning disconnect",
        "Answer the questions from the model's own graphs with a solver: what the solver gets right and the model does not "
        "was seen and not used (`theodolite scene score`).",
        "Another alignment between vision encoder and language model, so that what is seen is used.",
        _CRISP,
    ),
    SignatureKind(
        "modality trust bias",
        "Put its own graph beside the picture again, with graded noise: the more it follows the noise, the less it looks "
        "(`theodolite scene run --settings noisy-graph`).",
        "A stronger language backbone that resolves conflicts between text and picture.",
        _CRISP,
    ),
    SignatureKind(
        "cognitive scaffold",
        "Give another scene's graph in the place of its own: a scaffold helps by its content, not by its form.",
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
        "Show the picture of another scene: an answer that stays was never about the picture (`theodolite ask run`).",
        "Enforce consistency between answers and perceived structure in training, and balance the answers of the data.",
        f"{_CRISP}; GridVQA-X, appendix B.1",
    ),
    SignatureKind(
        "refusal",
        "Read some of the refused answers in the item browser: a refusal is no failure to see.",
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
class Evidence:
    """The figures that signatures are read from; None where a run did not measure one."""

    qa_level: stats.Estimate | None = None
    sgc_level: stats.Estimate | None = None
    consistency_level: stats.Estimate | None = None
    qa_over_prior: stats.Estimate | None = None
    sgc_over_prior: stats.Estimate | None = None
    base_over_derived: stats.Estimate | None = None
    """Of derivable questions: QA minus QA derived from the model's own graph."""
    base_over_derived_test: stats.HypothesisTest | None = None
    derived_over_base_test: stats.HypothesisTest | None = None
    consistency_test: stats.HypothesisTest | None = None
    """Whether agreement exceeds chance."""
    predicted_gain: stats.Estimate | None = None
    predicted_drop_test: stats.HypothesisTest | None = None
    compositional_gain: stats.Estimate | None = None
    compositional_test: stats.HypothesisTest | None = None
    atomic_gain: stats.Estimate | None = None
    true_gain: stats.Estimate | None = None
    """Of the true graph beside the picture, over base: the paper's check of a shortcut."""
    qa_drop: stats.Estimate | None = None
    qa_drop_test: stats.HypothesisTest | None = None
    sgc_drop: stats.Estimate | None = None
    gap: stats.Estimate | None = None
    same_blind_level: stats.Estimate | None = None
    refused: Mapping[str, stats.Estimate] | None = None
    """Share of declined answers, by task and setting."""
    unreadable: Mapping[str, stats.Estimate] | None = None
    """Share of answers that cannot be read, and of graphs that are invalid or lack parts, by task and setting."""


def read_signatures(evidence: Evidence) -> tuple[Signature, ...]:
    """All nine."""
    e = evidence
    trust = _judge(
        "modality trust bias",
        [_beyond("QA with its own graph minus base", e.predicted_gain, -1)],
        e.predicted_drop_test,
    )
    return (
        _alignment(e),
        _shortcut(e),
        _judge(
            "perception–reasoning disconnect",
            [
                _beyond("SGC over the prior graph", e.sgc_over_prior, 1),
                _beyond("base QA minus derived QA", e.base_over_derived, -1),
            ],
            e.derived_over_base_test,
        ),
        trust,
        _judge(
            "cognitive scaffold",
            [_beyond("compositional QA with its own graph minus base", e.compositional_gain, 1)],
            e.compositional_test,
            also={"atomic QA with its own graph minus base": e.atomic_gain},
        ),
        _gap(e),
        _judge(
            "language prior",
            [
                Condition(
                    "drop of QA without the picture",
                    e.qa_drop,
                    lambda x: x.lies_within(-MATTERS, MATTERS),
                    "within five points",
                ),
                _level("level of agreement with the blind answers", e.same_blind_level, is_high=True),
            ],
            None,
        ),
        _share("refusal", e.refused, "declined"),
        _share("format failure", e.unreadable, "unreadable or incomplete"),
    )


def _gap(e: Evidence) -> Signature:
    return _judge(
        "semantic–geometric gap",
        [
            _beyond("drop of QA without the picture", e.qa_drop, 1),
            Condition(
                "drop of SGC without the picture",
                e.sgc_drop,
                lambda x: x.high < MATTERS,
                "within five points",
            ),
            Condition(
                "SGC over the prior graph",
                e.sgc_over_prior,
                lambda x: x.low > -MATTERS,
                "no lower than five points below it",
            ),
        ],
        e.qa_drop_test,
        also={"drop of QA minus drop of SGC": e.gap},
    )


def _alignment(e: Evidence) -> Signature:
    conditions = [
        _level("level of QA", e.qa_level, is_high=True),
        _level("level of SGC", e.sgc_level, is_high=True),
        _level("level of self-consistency", e.consistency_level, is_high=True),
    ]
    if e.qa_drop is not None:
        conditions.append(_beyond("drop of QA without the picture", e.qa_drop, 1))
    if e.predicted_gain is not None:
        conditions.append(
            Condition(
                "QA with its own graph minus base",
                e.predicted_gain,
                lambda x: x.high >= -MATTERS,
                "no proven drop of more than five points",
            )
        )
    return _judge("structural alignment", conditions, e.consistency_test)


def _shortcut(e: Evidence) -> Signature:
    """Low is enough in one of the two: the paper writes "low SGC/consistency"."""
    levels = {"level of SGC": e.sgc_level, "level of self-consistency": e.consistency_level}
    measured = {label: level for label, level in levels.items() if level is not None}
    lowest = min(measured, key=lambda label: measured[label].high, default="level of self-consistency")
    return _judge(
        "semantic shortcut",
        [
            _beyond("QA over the prior answer", e.qa_over_prior, 1),
            _level(lowest, levels[lowest], is_high=False),
            _beyond("base QA minus derived QA", e.base_over_derived, 1),
        ],
        e.base_over_derived_test,
        also={**levels, "QA with the true graph minus base": e.true_gain},
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
    found = judge_signature(KINDS[name], conditions, test=test)
    more = {label: estimate for label, estimate in (also or {}).items() if estimate is not None}
    return replace(found, numbers={**found.numbers, **more})


def _share(name: str, shares: Mapping[str, stats.Estimate] | None, words: str) -> Signature:
    """Raised if the share exceeds a tenth with confidence in any setting; the worst setting is named."""
    if not shares:
        return Signature(KINDS[name], "not measured", "not measured: no answers")
    over = {label: share for label, share in shares.items() if share.low > SHARE}
    worst = max(shares, key=lambda label: shares[label].low)
    most = shares[worst]
    said = f"{words} in {worst}: {most.value:.2f} [{most.low:.2f}, {most.high:.2f}]"
    if len(over) > 1:
        said += f", and in {len(over) - 1} more settings"
    return Signature(KINDS[name], "raised" if over else "not raised", said, dict(shares))
