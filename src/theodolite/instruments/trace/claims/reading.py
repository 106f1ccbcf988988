"""From the text of a model to a trace: steps with their frames and claims, and the final answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

from theodolite.answers import Answer, cut_note, guarded
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.align import align_steps
from theodolite.instruments.trace.claims.extract import MOST_CLAIMS, extract_many
from theodolite.instruments.trace.claims.gates import NO_TRACE, no_trace
from theodolite.instruments.trace.claims.grading import final_answer
from theodolite.instruments.trace.claims.language import LONGEST_SENTENCE, Parser, open_parser
from theodolite.instruments.trace.claims.steps import StepTexts, heading_end, read_steps
from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace
from theodolite.instruments.trace.data.episode import Episode

_GOVERNED = re.compile(
    r"\b(?:of|on|in|at|with|near|by|behind|under|against|beside)(?: [a-z-]+){0,3} $", re.IGNORECASE
)
_STOP = re.compile(r"[.!?;\n]")
_QUALITIES = {"attribute", "state"}
_MOST_KNOWN = 200
"""Earlier mentions that a pronoun may refer to."""
_REFLEXIVE = frozenset({"himself", "herself", "itself", "themselves"})
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
        lambda text, reasoning: _read_trace(empty, text, reasoning, episode),
        text,
        reasoning,
        unread=lambda why: _failed(empty, why),
    )


def _read_trace(trace: Trace, text: str, reasoning: str, episode: Episode) -> Trace:
    why = no_trace(f"{reasoning}\n{text}" if reasoning.strip() else text)
    if why:
        return _failed(trace, f"{NO_TRACE}: {why}")
    return _with_steps(trace, read_steps(text, reasoning=reasoning), episode)


def _with_steps(trace: Trace, read: StepTexts, episode: Episode) -> Trace:
    steps, problems = align_steps(read.steps, episode)
    told = (*trace.problems, *read.problems, *problems)
    return replace(trace, steps=steps, is_lower_bound=not read.has_steps, problems=told)


def _failed(trace: Trace, why: str) -> Trace:
    return replace(trace, steps=(), is_lower_bound=True, problems=(*trace.problems, why), failure=why)


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
        resolved = resolve_pronouns(claims, [step.text for step in trace.steps])
        steps = tuple(_with_claims(step, said) for step, said in zip(trace.steps, resolved, strict=True))
        done.append(replace(trace, steps=steps, problems=(*trace.problems, *full)))
    return done


def _with_claims(step: Step, claims: Sequence[Claim]) -> Step:
    parts = _Parts(claims, step.text)
    placed = (
        replace(claim, frames=step.frames, is_part=claim.is_part or parts.has(claim)) for claim in claims
    )
    return replace(step, claims=tuple(placed))


class _Parts:
    """Tells which claims of a step are contained in larger ones.

    An object is part of its action, of its place and of what is predicated of it with *is*, also where a pronoun of the same
    sentence stands for it: *a table with a cup on it*. An adjective before a noun is part of the object that it describes. A
    bare *then* is part of the step's place in time.
    """

    def __init__(self, claims: Sequence[Claim], text: str) -> None:
        larger = [
            c
            for c in claims
            if c.kind not in {"entity", "count", "temporal"}
            and (c.kind not in _QUALITIES or _is_predicated(c))
        ]
        self._places = {
            m.span
            for c in larger
            for m in (None if c.predicate == "have" else c.subject, c.object, c.other)
            if m is not None
        }
        self._described = Counter(pair for c in claims for pair in _described(c))
        self._text = text
        self._pronouns: dict[tuple[str, tuple[str, ...]], int] = {}
        for c in larger:
            for m in (c.subject, c.object):
                if m is not None and m.span is not None and text[slice(*m.span)].casefold() in words.PRONOUNS:
                    self._pronouns.setdefault((m.head, m.attributes), m.span[0])

    def has(self, claim: Claim) -> bool:
        """True if a larger claim contains it."""
        if claim.kind in {"entity", "count"}:
            return claim.subject.span in self._places - {None} or self._is_meant(claim.subject)
        if claim.kind in _QUALITIES and not _is_predicated(claim):
            pair = (claim.subject.head, claim.predicate)
            return self._described[pair] > (pair in _described(claim))
        return claim.kind == "temporal" and claim.object is None

    def _is_meant(self, said: Mention) -> bool:
        """True if the first pronoun that stands for an object is in the same sentence."""
        at = self._pronouns.get((said.head, said.attributes))
        end = said.span[1] if said.span is not None else 0
        is_near = at is not None and end < at < end + LONGEST_SENTENCE
        return is_near and _STOP.search(self._text, end, at or end) is None


def _described(claim: Claim) -> set[tuple[str, str]]:
    """The nouns of a claim with each of their adjectives."""
    things = [m for m in (claim.subject, claim.object, claim.other) if m is not None]
    return {(m.head, attribute) for m in things for attribute in m.attributes}


def _is_predicated(claim: Claim) -> bool:
    """True if a quality follows its noun, as in *the ball is red*."""
    return (
        claim.anchor is not None
        and claim.subject.span is not None
        and claim.anchor[0] >= claim.subject.span[1]
    )


def resolve_pronouns(steps: Sequence[Sequence[Claim]], texts: Sequence[str]) -> list[tuple[Claim, ...]]:
    """The claims of successive steps, with pronouns replaced by what they refer to.

    *He* and *she* refer to the last person named that fits, *they* also to the last thing if no person was named; *it* refers
    to the last thing that is not a person, preferably not one that only tells where something is. No pronoun refers to
    another argument of its own claim, except *himself*, *herself* and *itself*. A pronoun without a referent stays, and its
    claims are unclear.
    """
    known = _Known()
    resolved: list[tuple[Claim, ...]] = []
    for claims, text in zip(steps, texts, strict=True):
        grounds = {c.object.span for c in claims if _is_ground(c) and c.object is not None}
        grounds -= {
            c.subject.span for c in claims if c.kind in {"action", "spatial"} and c.predicate != "have"
        }
        for claim in claims:  # all that is named, before what refers to it
            is_thing = claim.kind == "entity" and claim.subject.head not in words.MATERIALS
            if is_thing and claim.subject.span is not None:
                span = claim.subject.span
                is_ground = span in grounds or _is_governed(text, span[0])
                known.add(claim.subject, is_ground=is_ground, is_plural=_is_plural(claim.subject, text))
        resolved.append(tuple(known.resolve(claim) for claim in claims))
        known.end_step()
    return resolved


def _is_governed(text: str, start: int) -> bool:
    """True for a noun after a preposition that only tells where or of what: *a bottle of orange juice*."""
    return _GOVERNED.search(text, max(0, start - 40), start) is not None


def _is_ground(claim: Claim) -> bool:
    """True if the object of a claim only tells where or what its subject is, or what it has."""
    return claim.kind in {"spatial", "identity", "comparison"} or claim.predicate == "have"


class _Known:
    """The persons and things named so far, in order."""

    def __init__(self) -> None:
        self._before: list[tuple[Mention, bool]] = []
        self._here: list[tuple[Mention, bool]] = []
        self._plurals: set[Mention] = set()
        self._actor: Mention | None = None
        self._open = 10**9
        """Where an *it* stands that refers to nothing in the text: later ones refer to the same."""

    def add(self, said: Mention, *, is_ground: bool, is_plural: bool) -> None:
        """Adds what a step names."""
        self._here.append((said, is_ground))
        if is_plural:
            self._plurals.add(said)

    def end_step(self) -> None:
        """Everything of this step comes before the next one."""
        self._before = (self._before + self._here)[-_MOST_KNOWN:]
        self._here = []
        self._open = 10**9

    def resolve(self, claim: Claim) -> Claim:
        """The claim with its pronouns resolved."""
        subject, target, other = claim.subject, claim.object, claim.other
        if subject.head == "it" and target is not None and target.head == "it" and self._actor is not None:
            subject = _with_name(subject, self._actor)
        else:
            beside = [m for m in (target, other) if m is not None]
            is_named = (
                claim.kind == "identity" and target is not None
            )  # *it is a small glove* may be the glove
            subject = self._referent(subject, beside, is_named=is_named)
        if target is not None:
            target = self._referent(target, [m for m in (subject, other) if m is not None], subject)
        if other is not None:
            other = self._referent(other, [m for m in (subject, target) if m is not None], subject)
        if claim.kind == "action" and subject.head not in words.PRONOUNS:
            self._actor = subject
        if subject is claim.subject and target is claim.object and other is claim.other:
            return claim
        return replace(claim, subject=subject, object=target, other=other)

    def _referent(
        self,
        said: Mention,
        beside: Sequence[Mention],
        actor: Mention | None = None,
        *,
        is_named: bool = False,
    ) -> Mention:
        if said.head in _REFLEXIVE:
            return said if actor is None else _with_name(said, actor)
        if said.head not in _PERSONAL | {"it"}:
            return said
        at = said.span[0] if said.span is not None else 10**9
        if said.head == "it" and at > self._open:
            return said
        taken = {m.span for m in beside if m.span is not None}
        alike = [] if is_named else beside
        chosen = self._last(
            at, lambda m: m.span not in taken and _fits(said.head, m) and not _is_alike(m, alike)
        )
        if chosen is None and said.head in {"they", "them"}:
            chosen = self._last(at, lambda m: m in self._plurals and not _is_alike(m, alike))
        if chosen is None and said.head == "it":
            self._open = min(self._open, at)
        return said if chosen is None else _with_name(said, chosen)

    def _last(self, at: int, fits: Callable[[Mention], bool]) -> Mention | None:
        """The last mention before a position that fits, preferably not one that only tells where something is."""
        earlier = ((m, low) for m, low in reversed(self._here) if m.span is not None and m.span[0] < at)
        found: Mention | None = None
        for said, is_ground in chain(earlier, reversed(self._before)):
            if (found is None or not is_ground) and fits(said):
                if not is_ground:
                    return said
                found = said
        return found


def _is_plural(said: Mention, text: str) -> bool:
    written = text[slice(*said.span)].casefold() if said.span is not None else ""
    return bool(said.quantity) or written != said.head.rpartition(" ")[2] or written.endswith("s")


def _is_alike(meant: Mention, beside: Sequence[Mention]) -> bool:
    """True if a mention may name what stands beside the pronoun: *car* and *red car*, but not *blue car* and *red car*."""
    return any(
        m.head == meant.head
        and (not m.attributes or not meant.attributes or m.attributes == meant.attributes)
        for m in beside
    )


def _with_name(said: Mention, meant: Mention) -> Mention:
    return replace(
        said, head=meant.head, attributes=meant.attributes, quantity=said.quantity or meant.quantity
    )


def _is_person(said: Mention) -> bool:
    return words.is_a(said.head, "person")


def _fits(pronoun: str, meant: Mention) -> bool:
    """True if a pronoun may refer to a mention: person or thing, and not of the other sex."""
    if pronoun == "it":
        return not _is_person(meant)
    other = {"he": "she", "him": "she", "she": "he", "her": "he"}.get(pronoun)
    return _is_person(meant) and (other is None or meant.head not in words.SEXES[other])
