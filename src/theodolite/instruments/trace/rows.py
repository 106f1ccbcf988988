"""Rows of traces: every step with its claims and the verdict on each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from theodolite.core.scores import ItemScore
from theodolite.core.views import ClaimView, ItemRow, StepsView, StepView
from theodolite.instruments.instrument import Place
from theodolite.instruments.rows import common, rounded, values_by_item, verdict
from theodolite.instruments.trace.formulas.sgr import step_grounding
from theodolite.instruments.trace.verifiers.judged_runs import RunTrace, judged_run
from theodolite.instruments.trace.verifiers.judging import JudgedStep, JudgedTrace, open_verifier
from theodolite.runs import Run

VERIFIER = "annotation"


def trace_rows(run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
    """Every item of a run. The values of an episode are in the row of its original wording in the first style."""
    values = values_by_item(scores)
    read, verifier = judged_run(run), open_verifier(VERIFIER)
    first = (read.styles or [""])[0]
    for trace in read.traces:
        episode, judged = trace.episode, read.judged(trace, verifier)
        condition, split = _condition(trace), read.split_of(trace.episode)
        has_values = trace.is_own and trace.style == first
        yield ItemRow(
            id=trace.result.item.name,
            instrument="trace",
            model=run.info.model,
            split=split,
            cluster=episode.unit,
            condition=condition,
            kind=episode.world,
            question=episode.task,
            read_as=str(trace.answer.value) if trace.answer.is_read else "",
            gold=episode.answer,
            correct=verdict(
                None if judged is None or not trace.answer.is_read else judged.is_correct, condition
            ),
            values=rounded(values.get((episode.id, split), {})) if has_values else {},
            steps=_view(judged, episode.world),
            **common(trace.result, place, answer=trace.answer),
        )


def _condition(trace: RunTrace) -> str:
    if trace.episode.edit is not None:
        return f"{trace.episode.edit.family} edit"
    return "plain" if trace.wording == "original" else trace.wording


def _view(judged: JudgedTrace | None, world: str) -> StepsView | None:
    return None if judged is None else StepsView(steps=[_step(step) for step in judged.steps], world=world)


def _step(judged: JudgedStep) -> StepView:
    claims = [
        ClaimView(
            text=str(claim).partition(": ")[2] or judged.step.text[slice(*claim.span)],
            verdict=verdict.label,
            reason=verdict.reason or "",
            evidence=verdict.evidence,
        )
        for claim, verdict in judged.counted()
    ]
    return StepView(
        text=judged.step.text,
        frames=list(judged.step.frames),
        claims=claims,
        grounding=step_grounding(judged),
    )
