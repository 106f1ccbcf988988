"""A verifier with a known error rate, to test how robust a result is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import content_hash
from theodolite.instruments.trace.claims.types import Claim, Verdict, Verifier
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.verifiers.judging import negated


@dataclass(frozen=True, slots=True)
class NoisyVerifier:
    """Flips each verdict, except unverifiable ones, with a given probability.

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
        """As the inner verifier."""
        return bool(getattr(self.inner, "judges_typed", False))

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """The inner verdicts, some of them flipped."""
        return [
            self._disturbed(c, v, episode)
            for c, v in zip(claims, self.inner.verify(claims, episode), strict=True)
        ]

    def _disturbed(self, claim: Claim, verdict: Verdict, episode: Episode) -> Verdict:
        key = content_hash([self.seed, episode.id, str(claim), list(claim.frames), list(claim.span)])
        is_wrong = np.random.default_rng(int(key[:16], 16)).random() < self.rate
        return negated(verdict) if is_wrong else verdict
