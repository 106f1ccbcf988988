"""Verifiers by name, and traces with a verdict on every claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl

import numpy as np

from theodolite.answers import guarded
from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import open_part
from theodolite.core.types import content_hash
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.steps import is_right_answer
from theodolite.instruments.trace.claims.types import (
    NOT_UNDERSTOOD,
    Claim,
    Reason,
    Step,
    Trace,
    Verdict,
    Verifier,
)
from theodolite.worlds.episodes import Episode

Hedges: TypeAlias = Literal["abstract", "as stated"]
"""How hedged claims (*might be holding*) are judged: as unverifiable, because they are not observations; or as if stated."""

Granularity: TypeAlias = Literal["whole", "every"]
"""Which claims count. ``whole``: only the largest, so that *a person crosses the street* is one claim, as in the paper's
examples. ``every``: also the person and the street."""


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step with its verdicts, one per claim."""

    step: Step
    verdicts: tuple[Verdict, ...]

    def counted(self, granularity: Granularity = "whole") -> list[tuple[Claim, Verdict]]:
        """Return the claims that count, with their verdicts."""
        pairs = zip(self.step.claims, self.verdicts, strict=True)
        return [(claim, verdict) for claim, verdict in pairs if granularity == "every" or not claim.is_part]


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """A trace with its verdicts."""

    trace: Trace
    steps: tuple[JudgedStep, ...]
    unit: str
    """The cluster (scene, house, video) of its episode."""
    verifier: str
    is_correct: bool | None = None
    """Whether the answer is right; None if the episode has no right answer."""
    failure: str = ""
    """Why it could not be judged; then it has no steps."""


@dataclass(frozen=True, slots=True)
class VerifierOptions:
    """The part of a verifier's name after the colon: ``PATH?threshold=0.5&recall=FILE``."""

    target: str
    settings: dict[str, str]

    @classmethod
    def read(cls, text: str, name: str, allowed: tuple[str, ...]) -> VerifierOptions:
        """Parse the text after the colon. A setting that the verifier does not have raises a `UsageError`."""
        target, _, rest = text.partition("?")
        settings = dict(parse_qsl(rest, keep_blank_values=True))
        unknown = sorted(set(settings) - set(allowed))
        if unknown:
            raise UsageError(
                f"the verifier {name!r} has no option {unknown[0]!r}; it has {', '.join(allowed) or 'none'}"
            )
        return cls(target, settings)

    def number(self, name: str, default: float, *, low: float = 0.0, high: float = 1.0) -> float:
        """Return a numeric setting within bounds.

        Args:
            name: Name of the setting.
            default: Value if it is not set.
            low: Lower bound.
            high: Upper bound.
        """
        try:
            value = float(self.settings.get(name, default))
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise UsageError(f"{name} lies in [{low:g}, {high:g}], got {self.settings.get(name)!r}")
        return value


def open_verifier(name: str) -> Verifier:
    """Open a verifier by name: ``annotation``, or ``name:options``.

    Raises:
        UsageError: There is no such verifier.
    """
    return open_part("verifier", name, Verifier, "verify(claims, episode)")  # type: ignore[type-abstract]  # a protocol


def judge(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    hedges: Hedges = "abstract",
) -> list[JudgedTrace]:
    """Judge every claim of every trace.

    A trace whose episode is missing, or on which the verifier fails, has no steps and says why.

    Args:
        traces: Traces with their claims.
        episodes: Episodes by id.
        verifier: Judges the claims.
        hedges: How hedged claims are judged.
    """
    return [_judge(trace, episodes, verifier, hedges) for trace in traces]


def _judge(trace: Trace, episodes: Mapping[str, Episode], verifier: Verifier, hedges: Hedges) -> JudgedTrace:
    episode = episodes.get(trace.episode)
    if episode is None:
        failure = f"there is no episode {trace.episode!r}"
        return JudgedTrace(trace, (), trace.episode, verifier.name, failure=failure)
    is_correct = is_right_answer(trace.answer, episode.answer, has_options=bool(episode.options))
    if trace.failure:
        return JudgedTrace(trace, (), episode.unit, verifier.name, is_correct, trace.failure)

    def judged() -> JudgedTrace:
        verdicts = verdicts_on([step.claims for step in trace.steps], episode, verifier, hedges=hedges)
        steps = tuple(
            JudgedStep(step, step_verdicts) for step, step_verdicts in zip(trace.steps, verdicts, strict=True)
        )
        return JudgedTrace(trace, steps, episode.unit, verifier.name, is_correct)

    return guarded(  # a broken picture, or claims that the verifier cannot handle: only this trace fails
        judged, unread=lambda why: JudgedTrace(trace, (), episode.unit, verifier.name, failure=why)
    )


def verdicts_on(
    groups: Sequence[Sequence[Claim]], episode: Episode, verifier: Verifier, *, hedges: Hedges = "abstract"
) -> list[tuple[Verdict, ...]]:
    """Return the verdicts on groups of claims, in one call of the verifier.

    Args:
        groups: Groups of claims.
        episode: The evidence.
        verifier: Judges the claims.
        hedges: How hedged claims are judged.
    """
    flat = [claim for group in groups for claim in group]
    beyond = [_beyond(claim, verifier) for claim in flat]
    plain = [claim for claim, verdict in zip(flat, beyond, strict=True) if verdict is None]
    answers = list(verifier.verify(plain, episode))
    if len(answers) != len(plain):
        raise ContractError(
            f"the verifier {verifier.name!r} gave {len(answers)} verdicts on {len(plain)} claims"
        )
    judged_plain = iter(answers)
    verdicts = [verdict or next(judged_plain) for verdict in beyond]
    if hedges == "abstract":
        verdicts = [_unless_hedged(claim, verdict) for claim, verdict in zip(flat, verdicts, strict=True)]
    in_order = iter(verdicts)
    return [tuple(next(in_order) for _ in group) for group in groups]


def _beyond(claim: Claim, verifier: Verifier) -> Verdict | None:
    """Return the verdict on a claim that a verifier is not asked about; None for the others."""
    is_typed_verifier = bool(getattr(verifier, "judges_typed", False))
    if claim.kind == "unread" or claim.hedge == NOT_UNDERSTOOD:
        return unverifiable(NOT_UNDERSTOOD, "the clause was not understood")
    if is_typed(claim) and not is_typed_verifier:
        return unverifiable("complex", "beyond one fact at one frame")
    if claim.is_part and getattr(verifier, "costs_requests", False):
        return unverifiable("undecided", "a part of a larger claim, about which the judge is asked")
    return None


def is_typed(claim: Claim) -> bool:
    """Return True for claims beyond one fact at one frame: quantities, *remains*, comparisons, *between*, ranks, recipients.

    A verifier whose `judges_typed` is not True is never asked about such claims, since it would ignore the quantity and judge
    only the rest.
    """
    mentions = [m for m in (claim.subject, claim.object, claim.other) if m is not None]
    return (
        claim.kind in {"comparison", "identity"}
        or claim.other is not None
        or claim.is_lasting
        or (claim.kind == "count" and not claim.predicate.isdigit())
        or (claim.kind == "action" and claim.predicate == "have")
        or (claim.kind == "ego-motion" and claim.object is not None)
        or any(
            m.quantity or not all(a in words.ATTRIBUTES or a in words.STATES for a in m.attributes)
            for m in mentions
        )
    )


def _unless_hedged(claim: Claim, verdict: Verdict) -> Verdict:
    if not claim.hedge or claim.hedge == NOT_UNDERSTOOD:
        return verdict
    return replace(verdict, label="unverifiable", reason="abstract", evidence=f"only guessed: {claim.hedge}")


def unverifiable(reason: Reason, why: str) -> Verdict:
    """Return an unverifiable verdict."""
    return Verdict("unverifiable", reason, why)


def negated(verdict: Verdict) -> Verdict:
    """Return the verdict on the negation of a claim, from the verdict on the claim."""
    if verdict.label == "unverifiable":
        return verdict
    return replace(verdict, label="unsupported" if verdict.label == "supported" else "supported")


# A verifier with a known error rate, to test how robust a result is.


@dataclass(frozen=True, slots=True)
class NoisyVerifier:
    """A verifier that flips each verdict of another one, except unverifiable ones, with a given probability.

    The draw depends only on the seed, the episode and the claim, so a claim gets the same verdict every time.
    """

    inner: Verifier
    rate: float
    """In [0, 1]."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise UsageError(f"an error rate lies between 0 and 1, got {self.rate}")

    @property
    def name(self) -> str:
        """The name of the inner verifier with the error rate."""
        return f"{self.inner.name} with {self.rate:.0%} errors"

    @property
    def judges_typed(self) -> bool:
        """Whether the inner verifier judges typed claims."""
        return bool(getattr(self.inner, "judges_typed", False))

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return the inner verdicts, some of them flipped."""
        return [
            self._disturbed(c, v, episode)
            for c, v in zip(claims, self.inner.verify(claims, episode), strict=True)
        ]

    def _disturbed(self, claim: Claim, verdict: Verdict, episode: Episode) -> Verdict:
        key = content_hash([self.seed, episode.id, str(claim), list(claim.frames), list(claim.span)])
        is_wrong = np.random.default_rng(int(key[:16], 16)).random() < self.rate
        return negated(verdict) if is_wrong else verdict
