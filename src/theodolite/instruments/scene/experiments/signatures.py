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

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from theodolite import stats

MATTERS = 0.05
"""Five points: what a difference must exceed with confidence."""
HALF = 0.5
SHARE = 0.1
"""What the share of refused or unreadable answers must exceed with confidence."""

SignatureName: TypeAlias = Literal[
    "structural alignment",
    "semantic shortcut",
    "perception–reasoning disconnect",
    "modality trust bias",
    "cognitive scaffold",
    "semantic–geometric gap",
    "language prior",
    "refusal",
    "format failure",
]
SIGNATURES: tuple[SignatureName, ...] = get_args(SignatureName)
Standing: TypeAlias = Literal["raised", "not raised", "not measured"]


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


@dataclass(frozen=True, slots=True)
class Signature:
    """Whether a signature is there, and why."""

    name: SignatureName
    standing: Standing
    numbers: Mapping[str, stats.Estimate]
    test: stats.HypothesisTest | None
    """The confirming test, where there is one beside the intervals."""
    because: str

    @property
    def is_raised(self) -> bool:
        """Whether the run shows it."""
        return self.standing == "raised"


@dataclass(frozen=True, slots=True)
class _Condition:
    """One thing that must hold: a number, what is asked of it, and whether it does."""

    label: str
    estimate: stats.Estimate | None
    holds: Callable[[stats.Estimate], bool]
    words: str


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
                _Condition(
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
            _Condition(
                "drop of SGC without the picture",
                e.sgc_drop,
                lambda x: x.high < MATTERS,
                "within five points",
            ),
            _Condition(
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
            _Condition(
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


def _beyond(label: str, estimate: stats.Estimate | None, sign: int) -> _Condition:
    if sign > 0:
        return _Condition(label, estimate, lambda x: x.low > MATTERS, "above five points")
    return _Condition(label, estimate, lambda x: x.high < -MATTERS, "below minus five points")


def _level(label: str, estimate: stats.Estimate | None, *, is_high: bool) -> _Condition:
    if is_high:
        return _Condition(label, estimate, lambda x: x.low > HALF, "above ½")
    return _Condition(label, estimate, lambda x: x.high < HALF, "below ½")


def _judge(
    name: SignatureName,
    conditions: list[_Condition],
    test: stats.HypothesisTest | None,
    *,
    also: Mapping[str, stats.Estimate | None] | None = None,
) -> Signature:
    """Raised if every condition holds; not measured if one has no number."""
    numbers = {c.label: c.estimate for c in conditions if c.estimate is not None}
    numbers |= {label: found for label, found in (also or {}).items() if found is not None}
    lacking = [c.label for c in conditions if c.estimate is None]
    if lacking:
        return Signature(name, "not measured", numbers, test, f"not measured: {', '.join(lacking)}")
    failing = [c for c in conditions if c.estimate is not None and not c.holds(c.estimate)]
    said = "; ".join(
        f"{c.label} {_figure(c.estimate)}, {'but should be' if c in failing else 'which is'} {c.words}"
        for c in (failing or conditions)
        if c.estimate is not None
    )
    return Signature(name, "not raised" if failing else "raised", numbers, test, said)


def _figure(estimate: stats.Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def _share(name: SignatureName, shares: Mapping[str, stats.Estimate] | None, words: str) -> Signature:
    """Raised if the share exceeds a tenth with confidence in any setting; the worst setting is named."""
    if not shares:
        return Signature(name, "not measured", {}, None, "not measured: no answers")
    over = {label: share for label, share in shares.items() if share.low > SHARE}
    worst = max(shares, key=lambda label: shares[label].low)
    said = f"{words} in {worst}: {_figure(shares[worst])}"
    if len(over) > 1:
        said += f", and in {len(over) - 1} more settings"
    return Signature(name, "raised" if over else "not raised", dict(shares), None, said)
