"""From the text of a model to a trace: steps with their frames and claims, and the final answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theodolite.answers import Answer, AnswerFormat, outer_layers, read_answer
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.align import align_steps
from theodolite.instruments.trace.claims.extract import extract_many
from theodolite.instruments.trace.claims.language import Parser
from theodolite.instruments.trace.claims.steps import heading_end, read_steps
from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace
from theodolite.instruments.trace.data.episode import Episode

_QUALITIES = {"attribute", "state"}
_TAGGED = "in an answer tag"
_MERELY_NAMED = frozenset({"the only one named", "in the last sentence", "the whole text"})
"""Where `theodolite.answers` found an answer that is neither tagged, announced nor concluded, and does not open the text."""
_PERSONAL = frozenset({"he", "she", "him", "her", "they", "them", "who"})


def read_trace(
    text: str,
    episode: Episode,
    *,
    style: str = "",
    model: str = "",
    reasoning: str = "",
    answer: Answer | None = None,
) -> Trace:
    """Reads the steps, their frames and the answer. `with_claims` adds the claims.

    Args:
        text: As the model wrote it.
        episode: What it was asked about.
        style: Style of the prompt.
        model: Who wrote it.
        reasoning: Thoughts that were returned apart from the text.
        answer: The final answer, where it was read already.
    """
    read = read_steps(text, reasoning=reasoning)
    steps, problems = align_steps(read.steps, episode)
    answer = answer or final_answer(text, episode.format, reasoning=reasoning)
    return Trace(
        episode.id,
        steps,
        str(answer.value) if answer.is_read else "",
        "" if answer.is_read else answer.status,
        style,
        model,
        is_lower_bound=not read.has_steps,
        problems=(*read.problems, *problems),
    )


def final_answer(
    text: str, expected: AnswerFormat, *, is_cut_off: bool = False, reasoning: str = ""
) -> Answer:
    r"""The final answer of a trace, as `theodolite.answers` reads it.

    Steps name options all the time, so if the text holds steps, an option that is merely named in it is not an answer. Steps
    in JSON need an answer field.

    >>> sides = AnswerFormat.choice(("left", "right"), style="word")
    >>> final_answer("Step 1: A cup is left of a box. Step 2: It is gone.", sides).status
    'unreadable'
    >>> final_answer("Step 1: A cup is left of a box.\nFinal answer: nowhere", sides).status
    'none of these'
    """
    found = read_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning)
    read = read_steps(text, reasoning=reasoning)
    is_weak = found.reason in _MERELY_NAMED or (read.is_json and not found.reason.startswith(_TAGGED))
    if found.is_read and not (is_weak and read.has_steps and not read.is_answer_apart):
        return found
    layers = outer_layers(text)
    announced = layers.tagged or layers.line
    if announced and expected.options and (found.is_read or found.status in {"unreadable", "ambiguous"}):
        found = read_answer(announced, expected, is_cut_off=is_cut_off)
        if found.status == "unreadable":
            return Answer("none of these", reason=f"announces {announced!r:.60}, which is not an option")
        return found
    is_from_steps = found.is_read or found.reason.startswith("names several")
    return Answer("unreadable", reason="announces no answer") if is_from_steps else found


def with_claims(traces: Sequence[Trace], *, parser: Parser | None = None) -> list[Trace]:
    """The same traces with the claims of their steps, parsed together.

    Frame headings are not parsed, pronouns are resolved, and every claim takes the frames of its step.
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
    """True if a larger claim contains it.

    An object is part of its action, of its place and of what is predicated of it with *is*. An adjective before a noun is
    part of the object that it describes. A bare *then* is part of the step's place in time.
    """
    place = claim.subject.span
    if claim.kind == "entity":
        larger = [
            c
            for c in claims
            if c.kind not in {"entity", "temporal"} and (c.kind not in _QUALITIES or _is_predicated(c))
        ]
        return any(
            place is not None and place in {c.subject.span, c.object.span if c.object else None}
            for c in larger
        )
    if claim.kind in _QUALITIES and not _is_predicated(claim):
        things = [m for c in claims if c is not claim for m in (c.subject, c.object) if m is not None]
        return any(m.head == claim.subject.head and claim.predicate in m.attributes for m in things)
    return claim.kind == "temporal" and claim.object is None


def _is_predicated(claim: Claim) -> bool:
    """True if a quality follows its noun, as in *the ball is red*."""
    return (
        claim.anchor is not None
        and claim.subject.span is not None
        and claim.anchor[0] >= claim.subject.span[1]
    )


def resolve_pronouns(steps: Sequence[Sequence[Claim]]) -> list[tuple[Claim, ...]]:
    """The claims of successive steps, with pronouns replaced by what they refer to.

    *He*, *she* and *they* refer to the last person named, *they* also to the last thing if no person was named; *it* refers
    to the last thing that is not a person. A pronoun without a referent stays, and its claims are unclear.
    """
    person: Mention | None = None
    thing: Mention | None = None
    resolved: list[tuple[Claim, ...]] = []
    for claims in steps:
        done = []
        for claim in claims:
            subject = _referent(claim.subject, person, thing)
            target = claim.object if claim.object is None else _referent(claim.object, person, thing)
            done.append(replace(claim, subject=subject, object=target))
            if claim.kind == "entity":
                if claim.subject.head in words.SYNONYMS["person"]:
                    person = claim.subject
                else:
                    thing = claim.subject
        resolved.append(tuple(done))
    return resolved


def _referent(said: Mention, person: Mention | None, thing: Mention | None) -> Mention:
    meant = None
    if said.head in _PERSONAL:
        meant = person or (thing if said.head in {"they", "them"} else None)
    elif said.head == "it":
        meant = thing
    return said if meant is None else replace(said, head=meant.head, attributes=meant.attributes)
