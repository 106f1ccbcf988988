"""From the text of a model to a trace: steps with their frames and claims, and the final answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from theodolite.answers import Answer, AnswerFormat, cut_note, guarded, outer_layers, read_answer
from theodolite.answers.reading import with_note
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.align import align_steps
from theodolite.instruments.trace.claims.extract import MOST_CLAIMS, extract_many
from theodolite.instruments.trace.claims.language import Parser, open_parser
from theodolite.instruments.trace.claims.steps import StepTexts, heading_end, read_steps
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
    answer = answer or final_answer(text, episode.format, reasoning=reasoning)
    empty = Trace(
        episode.id,
        (),
        str(answer.value) if answer.is_read else "",
        "" if answer.is_read else answer.status,
        style,
        model,
        is_lower_bound=True,
        problems=tuple(filter(None, [cut_note(text, reasoning)])),
    )
    return guarded(
        lambda text, reasoning: _with_steps(empty, read_steps(text, reasoning=reasoning), episode),
        text,
        reasoning,
        unread=lambda why: _failed(empty, why),
    )


def _with_steps(trace: Trace, read: StepTexts, episode: Episode) -> Trace:
    steps, problems = align_steps(read.steps, episode)
    told = (*trace.problems, *read.problems, *problems)
    return replace(trace, steps=steps, is_lower_bound=not read.has_steps, problems=told)


def _failed(trace: Trace, why: str) -> Trace:
    return replace(trace, steps=(), is_lower_bound=True, problems=(*trace.problems, why), failure=why)


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
    answer = guarded(
        lambda text, reasoning: _final_answer(text, expected, is_cut_off=is_cut_off, reasoning=reasoning),
        text,
        reasoning,
        unread=lambda why: Answer("unreadable", reason=why),
    )
    return with_note(answer, cut_note(text, reasoning))


def _final_answer(text: str, expected: AnswerFormat, *, is_cut_off: bool, reasoning: str) -> Answer:
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

    Frame headings are not parsed, pronouns are resolved, and every claim takes the frames of its step. A trace that cannot
    be parsed fails alone: those parsed together with it are tried again in halves.
    """
    parser = parser or open_parser()

    def halves(why: str) -> list[Trace]:
        if len(traces) < 2:
            return [_failed(trace, why) for trace in traces]
        half = len(traces) // 2
        return [*with_claims(traces[:half], parser=parser), *with_claims(traces[half:], parser=parser)]

    return guarded(lambda: _claimed(traces, parser), unread=halves)


def _claimed(traces: Sequence[Trace], parser: Parser) -> list[Trace]:
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
        full = [
            f"step {number}: only the first {MOST_CLAIMS} claims are read"
            for number, said in enumerate(claims, 1)
            if len(said) >= MOST_CLAIMS
        ]
        resolved = resolve_pronouns(claims)
        steps = tuple(_with_claims(step, said) for step, said in zip(trace.steps, resolved, strict=True))
        done.append(replace(trace, steps=steps, problems=(*trace.problems, *full)))
    return done


def _with_claims(step: Step, claims: Sequence[Claim]) -> Step:
    placed = [replace(claim, frames=step.frames) for claim in claims]
    parts = _Parts(placed)
    return replace(step, claims=tuple(replace(claim, is_part=parts.has(claim)) for claim in placed))


class _Parts:
    """Tells which claims of a step are contained in larger ones.

    An object is part of its action, of its place and of what is predicated of it with *is*. An adjective before a noun is
    part of the object that it describes. A bare *then* is part of the step's place in time.
    """

    def __init__(self, claims: Sequence[Claim]) -> None:
        larger = [
            c
            for c in claims
            if c.kind not in {"entity", "temporal"} and (c.kind not in _QUALITIES or _is_predicated(c))
        ]
        self._places = {m.span for c in larger for m in (c.subject, c.object) if m is not None}
        self._described = Counter(pair for c in claims for pair in _described(c))

    def has(self, claim: Claim) -> bool:
        """True if a larger claim contains it."""
        if claim.kind == "entity":
            return claim.subject.span is not None and claim.subject.span in self._places
        if claim.kind in _QUALITIES and not _is_predicated(claim):
            pair = (claim.subject.head, claim.predicate)
            return self._described[pair] > (pair in _described(claim))
        return claim.kind == "temporal" and claim.object is None


def _described(claim: Claim) -> set[tuple[str, str]]:
    """The nouns of a claim with each of their adjectives."""
    things = [m for m in (claim.subject, claim.object) if m is not None]
    return {(m.head, attribute) for m in things for attribute in m.attributes}


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
                if words.is_a(claim.subject.head, "person"):
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
