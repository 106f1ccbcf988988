"""Signatures of traces.

temporal drift   the grounding of steps falls by more than five points from the first to the last quarter
language prior   at most a tenth of the answers change without the frames
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from theodolite import stats
from theodolite.core.scores import ItemScore
from theodolite.core.signatures import Condition, Signature, SignatureKind, judge_signature
from theodolite.instruments.trace.formulas.sgr import stage_sgr, step_grounding
from theodolite.instruments.trace.score import METRICS, difference_over
from theodolite.instruments.trace.verifiers.judged_runs import PAIRS, judged_run
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, open_verifier
from theodolite.runs import Run

POINTS = 0.05
FEW = 0.1

TEMPORAL_DRIFT = SignatureKind(
    "temporal drift",
    "Show the same frames in another order, or the late frames first: drift follows the number of the step, not the frame "
    "(`theodolite trace perturb`).",
    "Keep beliefs about the scene grounded as the task goes on; the paper does not say how.",
    "step grounding, sections 5.4, 7.1 and 8",
)
LANGUAGE_PRIOR = SignatureKind(
    "language prior",
    "Show the picture of another scene: an answer that stays the same was not about the picture (`theodolite ask run`).",
    "Enforce consistency between answers and perceived structure in training, and balance the answers of the data.",
    "CRISP, section 6; GridVQA-X, appendix B.1",
)


def trace_signatures(folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int) -> list[Signature]:
    """Temporal drift and language prior."""
    verifier = open_verifier("annotation")
    judged: list[JudgedTrace] = []
    for folder in folders:
        with Run.open(folder) as run:
            if run.info.instrument == PAIRS:
                continue
            read = judged_run(run)
        own = [read.judged(t, verifier) for t in read.own((read.styles or [""])[0])]
        judged += [trace for trace in own if trace is not None and not trace.failure]
    ends = [(stages["early"], stages["late"], t.unit) for t in judged for stages in [stage_sgr(t)]]
    drift = Condition(
        "SGR of the first quarter of the steps minus the last",
        difference_over(ends),
        lambda x: x.low > POINTS,
        "above five points",
    )
    unmoved = Condition(
        "answers that change without the frames",
        _mean("trace.blind_changes", scores),
        lambda x: x.high < FEW,
        "below a tenth",
    )
    return [
        judge_signature(TEMPORAL_DRIFT, [drift], test=_fall_test(judged, seed)),
        judge_signature(LANGUAGE_PRIOR, [unmoved]),
    ]


def _mean(key: str, scores: Sequence[ItemScore]) -> stats.Estimate | None:
    return stats.score_mean(next(metric for metric in METRICS if metric.key == key), scores)


def _fall_test(judged: Sequence[JudgedTrace], seed: int) -> stats.HypothesisTest | None:
    """Tests whether grounding falls from the first to the last step of a trace, by sign flips over clusters."""
    rows = [
        (first, last, trace.unit)
        for trace in judged
        if len(trace.steps) > 1
        and (first := step_grounding(trace.steps[0])) is not None
        and (last := step_grounding(trace.steps[-1])) is not None
    ]
    units = [unit for *_, unit in rows]
    if len(set(units)) < 2:
        return None
    return stats.sign_flip_test(
        [first for first, *_ in rows],
        [last for _, last, _ in rows],
        clusters=units,
        alternative="greater",
        seed=seed,
    )
