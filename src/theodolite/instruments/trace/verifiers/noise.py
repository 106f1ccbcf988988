"""A verifier with errors of known frequency, to see how far a finding survives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import content_hash
from theodolite.instruments.trace.claims.types import Claim, Label, Verdict, Verifier
from theodolite.instruments.trace.data.episode import Episode

_OTHER: dict[Label, Label] = {"supported": "unsupported", "unsupported": "supported"}


@dataclass(frozen=True, slots=True)
class NoisyVerifier:
    """Turns each verdict that can be judged into its contrary with a given probability.

    The draw depends on the seed, the episode and the claim alone, so the same claim errs the same way every time.
    """

    inner: Verifier
    rate: float
    """In [0, 1]."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise UsageError(f"a rate of errors lies between 0 and 1, got {self.rate}")

    @property
    def name(self) -> str:
        """Says how noisy it is."""
        return f"{self.inner.name} with {self.rate:.0%} errors"

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """The inner verdicts, some of them wrong."""
        return [
            self._disturbed(c, v, episode)
            for c, v in zip(claims, self.inner.verify(claims, episode), strict=True)
        ]

    def _disturbed(self, claim: Claim, verdict: Verdict, episode: Episode) -> Verdict:
        if verdict.label not in _OTHER:
            return verdict
        key = content_hash([self.seed, episode.id, str(claim), list(claim.frames), list(claim.span)])
        is_wrong = np.random.default_rng(int(key[:16], 16)).random() < self.rate
        return replace(verdict, label=_OTHER[verdict.label], evidence="disturbed") if is_wrong else verdict
