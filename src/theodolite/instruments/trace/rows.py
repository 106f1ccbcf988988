"""Rows of traces: every step with its claims and the verdict on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, cast

from theodolite.core.views import ClaimView, ItemRow, StepsView, StepView
from theodolite.instruments.instrument import Place
from theodolite.instruments.rows import Values, common, rounded, verdict
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.formulas.sgr import step_grounding
from theodolite.instruments.trace.verifiers.judging import JudgedStep, JudgedTrace, judge, open_verifier
from theodolite.runs import Result, Run, Tally

VERIFIER = "annotation"


Judged: TypeAlias = list[tuple[Result, Episode, JudgedTrace | None]]
"""Results with their episode and, if they were answered, their judged trace."""


def judged_traces(run: Run) -> Judged:
    """Every result of a run with its judged trace. Rows and signatures both need them, and parsing takes long."""
    return _judged(run.folder, run.tally())


@lru_cache(maxsize=8)
def _judged(folder: Path, _: Tally) -> Judged:
    with Run.open(folder) as run:
        return _judge(run)


def _judge(run: Run) -> Judged:
    episodes = {e.id: e for e in read_episodes(Path(str(run.info.settings["data"]))).episodes}
    results = [r for r in run.results() if str(r.item.meta["episode"]) in episodes]
    answered = [r for r in results if r.record is not None and r.record.response.is_answered]
    read = [
        read_trace(
            r.record.response.text,  # type: ignore[union-attr]  # answered
            episodes[str(r.item.meta["episode"])],
            style=str(r.item.meta["style"]),
            reasoning=r.record.response.reasoning,  # type: ignore[union-attr]
        )
        for r in answered
    ]
    judged = judge(with_claims(read), episodes, open_verifier(VERIFIER))
    by_item = {id(result): trace for result, trace in zip(answered, judged, strict=True)}
    return [(r, episodes[str(r.item.meta["episode"])], by_item.get(id(r))) for r in results]


def trace_rows(run: Run, place: Place, values: Values) -> Iterator[ItemRow]:
    """Every trace of a run."""
    split = str(run.info.settings.get("split") or "")
    for result, episode, judged in judged_traces(run):
        meta = cast("Mapping[str, Any]", result.item.meta)
        condition = _condition(meta, episode)
        answer = judged.trace.answer if judged is not None else ""
        yield ItemRow(
            id=result.item.name,
            instrument="trace",
            model=run.info.model,
            split=split,
            cluster=episode.unit,
            condition=condition,
            kind=episode.world,
            question=episode.task,
            read_as=answer,
            gold=episode.answer,
            correct=verdict(None if judged is None else judged.is_correct, condition),
            values=rounded(values.get((episode.id, split), {})) if condition == "plain" else {},
            steps=_view(judged, episode),
            **common(result, place, is_read=judged is not None and bool(answer)),
        )


def _condition(meta: Mapping[str, Any], episode: Episode) -> str:
    if episode.edit is not None:
        return f"{episode.edit.family} edit"
    return "plain" if meta["wording"] == "original" else str(meta["wording"])


def _view(judged: JudgedTrace | None, episode: Episode) -> StepsView | None:
    if judged is None:
        return None
    return StepsView(steps=[_step(step) for step in judged.steps], world=episode.world)


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
    grounding = step_grounding(judged)
    return StepView(
        text=judged.step.text, frames=list(judged.step.frames), claims=claims, grounding=grounding
    )
