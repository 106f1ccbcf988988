"""Traces with a verdict on every claim: what all metrics are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import registry
from theodolite.instruments.trace.claims.types import Claim, Step, Trace, Verdict, Verifier
from theodolite.instruments.trace.data.episode import Episode

Hedges: TypeAlias = Literal["abstract", "as stated"]
"""What becomes of a guess (*might be holding*): no observation, so unverifiable; or judged like a plain statement."""

Granularity: TypeAlias = Literal["whole", "every"]
"""Which claims count. ``whole``: the largest only, so that *a person crosses the street* is one; this is how the paper's
own examples count. ``every``: also the person and the street."""


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step with its verdicts, one per claim."""

    step: Step
    verdicts: tuple[Verdict, ...]

    def counted(self, granularity: Granularity = "whole") -> list[tuple[Claim, Verdict]]:
        """The claims that count, with their verdicts."""
        pairs = zip(self.step.claims, self.verdicts, strict=True)
        return [(claim, verdict) for claim, verdict in pairs if granularity == "every" or not claim.is_part]


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """A trace with its verdicts."""

    trace: Trace
    steps: tuple[JudgedStep, ...]
    unit: str
    """The independent unit (scene, house, video) that its episode belongs to."""
    verifier: str
    is_correct: bool | None = None
    """Whether the answer is right; None where the episode has none."""
    failure: str = ""
    """Why it could not be judged; then it has no steps."""


def open_verifier(name: str) -> Verifier:
    """A verifier by name: ``annotation``, or ``name:options`` for one that takes some.

    Raises:
        UsageError: there is no such verifier.
    """
    kind, _, options = name.partition(":")
    target = registry().entry("verifier", kind).load()
    if not callable(target):
        raise ContractError(f"the verifier {kind!r} is not a function that takes options: {target!r}")
    verifier = target(options)
    if not isinstance(verifier, Verifier):
        raise ContractError(f"the verifier {kind!r} has no name, or no verify(claims, episode)")
    return verifier


def judge(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    hedges: Hedges = "abstract",
    is_right: Callable[[str, Episode], bool | None] | None = None,
) -> list[JudgedTrace]:
    """Verdicts on every claim of every trace.

    A trace whose episode is not there, or on which the verifier fails, comes back without steps and with the reason.

    Args:
        traces: with their claims.
        episodes: by id.
        verifier: who judges.
        hedges: what becomes of guesses.
        is_right: tells whether an answer is right; by default `is_right_answer`.
    """
    return [_judge(trace, episodes, verifier, hedges, is_right or is_right_answer) for trace in traces]


def _judge(
    trace: Trace,
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    hedges: Hedges,
    is_right: Callable[[str, Episode], bool | None],
) -> JudgedTrace:
    episode = episodes.get(trace.episode)
    if episode is None:
        return JudgedTrace(
            trace, (), trace.episode, verifier.name, failure=f"there is no episode {trace.episode!r}"
        )
    try:
        verdicts = verdicts_on([step.claims for step in trace.steps], episode, verifier, hedges=hedges)
    except UsageError as error:  # a broken picture, say: this trace fails, the others go on
        return JudgedTrace(trace, (), episode.unit, verifier.name, failure=str(error))
    steps = tuple(JudgedStep(step, said) for step, said in zip(trace.steps, verdicts, strict=True))
    return JudgedTrace(trace, steps, episode.unit, verifier.name, is_right(trace.answer, episode))


def verdicts_on(
    groups: Sequence[Sequence[Claim]], episode: Episode, verifier: Verifier, *, hedges: Hedges = "abstract"
) -> list[tuple[Verdict, ...]]:
    """Verdicts on groups of claims, asked for all at once."""
    flat = [claim for group in groups for claim in group]
    verdicts = list(verifier.verify(flat, episode))
    if len(verdicts) != len(flat):
        raise ContractError(
            f"the verifier {verifier.name!r} gave {len(verdicts)} verdicts on {len(flat)} claims"
        )
    if hedges == "abstract":
        verdicts = [_unless_guessed(claim, verdict) for claim, verdict in zip(flat, verdicts, strict=True)]
    each = iter(verdicts)
    return [tuple(next(each) for _ in group) for group in groups]


def _unless_guessed(claim: Claim, verdict: Verdict) -> Verdict:
    if not claim.hedge:
        return verdict
    return replace(verdict, label="unverifiable", reason="abstract", evidence=f"only guessed: {claim.hedge}")


def is_right_answer(answer: str, episode: Episode) -> bool | None:
    """Whether an answer is the episode's; None where the episode has none.

    >>> from theodolite.instruments.trace.data.episode import Episode, Frame
    >>> episode = Episode("e", "Which side?", (Frame(0.0),), answer="left", options=("left", "right"))
    >>> is_right_answer("**Left**, because …", episode), is_right_answer("left or right", episode)
    (True, False)
    """
    if not episode.answer:
        return None
    said, gold = _plain(answer), _plain(episode.answer)
    if said == gold:
        return True
    named = [option for option in map(_plain, episode.options) if f" {option} " in f" {said} "]
    if len(named) > 1:  # the longer name holds the shorter: "top left" is not also "left"
        named = [
            option for option in named if not any(option != other and option in other for other in named)
        ]
    if episode.options:
        return named == [gold]
    return f" {gold} " in f" {said} "


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() or c in "/'" else " " for c in text.casefold()).split())
