"""From a model's text to a trace: steps, their frames, their claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theodolite.instruments.trace.claims.align import align_steps
from theodolite.instruments.trace.claims.coreference import resolve_pronouns
from theodolite.instruments.trace.claims.extract import extract_many
from theodolite.instruments.trace.claims.language import Parser
from theodolite.instruments.trace.claims.steps import heading_end, read_steps
from theodolite.instruments.trace.claims.types import Claim, Step, Trace
from theodolite.instruments.trace.data.episode import Episode

_QUALITIES = {"attribute", "state"}


def read_trace(
    text: str, episode: Episode, *, style: str = "", model: str = "", reasoning: str = ""
) -> Trace:
    """Steps and answer out of a text, each step with its frames; claims are added by `with_claims`.

    Args:
        text: as the model wrote it.
        episode: what it was asked about.
        style: the prompt it was asked with.
        model: who wrote it.
        reasoning: thinking that came apart from the text.
    """
    read = read_steps(text, reasoning=reasoning)
    steps, problems = align_steps(read.steps, episode)
    return Trace(
        episode.id, steps, read.answer, style, model, not read.has_steps, (*read.problems, *problems)
    )


def with_claims(traces: Sequence[Trace], *, parser: Parser | None = None) -> list[Trace]:
    """The same traces with the claims of their steps, all parsed together.

    Frame headings are not parsed; pronouns are replaced by what they stand for; every claim takes its step's frames.
    """
    headed = [(step.text, heading_end(step.text)) for trace in traces for step in trace.steps]
    found = iter(extract_many([text[start:] for text, start in headed], parser=parser))
    starts = iter(start for _, start in headed)
    done = []
    for trace in traces:
        claims = [
            [claim.shifted(next_start) for claim in next(found)]
            for _ in trace.steps
            for next_start in [next(starts)]
        ]
        resolved = resolve_pronouns(claims)
        steps = tuple(_with_claims(step, said) for step, said in zip(trace.steps, resolved, strict=True))
        done.append(replace(trace, steps=steps))
    return done


def _with_claims(step: Step, claims: Sequence[Claim]) -> Step:
    placed = [replace(claim, frames=step.frames) for claim in claims]
    return replace(step, claims=tuple(replace(claim, is_part=_is_part(claim, placed)) for claim in placed))


def _is_part(claim: Claim, claims: Sequence[Claim]) -> bool:
    """Whether a larger claim holds it.

    A thing is part of what it does, of where it is and of what is said of it with *is*; an adjective before a noun is part
    of the thing that it describes; a bare *then* is part of the step's place in time.
    """
    place = claim.subject.span
    if claim.kind == "entity":
        larger = [
            c
            for c in claims
            if c.kind not in {"entity", "temporal"} and (c.kind not in _QUALITIES or _is_said(c))
        ]
        return any(
            place is not None and place in {c.subject.span, c.object.span if c.object else None}
            for c in larger
        )
    if claim.kind in _QUALITIES and not _is_said(claim):
        things = [m for c in claims if c is not claim for m in (c.subject, c.object) if m is not None]
        return any(m.head == claim.subject.head and claim.predicate in m.attributes for m in things)
    return claim.kind == "temporal" and claim.object is None


def _is_said(claim: Claim) -> bool:
    """Whether a quality is said with *is*, after its noun."""
    return (
        claim.anchor is not None
        and claim.subject.span is not None
        and claim.anchor[0] >= claim.subject.span[1]
    )
