"""Signatures: patterns of behaviour, each with the numbers behind it. They name behaviour, not its cause.

A signature is *raised* if each of its conditions holds for the whole interval of its number, *not raised* if one fails,
and *not measured* if a number is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from theodolite.core.estimates import Estimate, HypothesisTest

__all__ = ["Condition", "Signature", "SignatureKind", "Standing", "judge_signature"]

Standing: TypeAlias = Literal["raised", "not raised", "not measured"]


@dataclass(frozen=True, slots=True)
class SignatureKind:
    """The description of a signature."""

    name: str
    confirming_test: str
    """The experiment that would confirm it."""
    remedy: str = ""
    """What the papers propose; empty if nothing. A hypothesis: none of them has shown that it helps."""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A number and the requirement on it."""

    label: str
    estimate: Estimate | None
    """None if it was not measured."""
    holds: Callable[[Estimate], bool]
    words: str
    """The requirement in words: "below a tenth"."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The result for one signature: raised or not, and why."""

    kind: SignatureKind
    standing: Standing
    because: str
    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    test: HypothesisTest | None = None
    """The significance test that belongs to it, where there is one."""

    @property
    def name(self) -> str:
        """The name of its kind."""
        return self.kind.name

    @property
    def is_raised(self) -> bool:
        """True if the run shows it."""
        return self.standing == "raised"


def judge_signature(
    kind: SignatureKind, conditions: Sequence[Condition], *, test: HypothesisTest | None = None
) -> Signature:
    """Return the signature, raised if every condition holds.

    >>> changed = Estimate(0.02, 0.0, 0.06, n=60, level=0.95, method="Wilson")
    >>> few = Condition("answers that change", changed, lambda x: x.high < 0.1, "below a tenth")
    >>> judge_signature(SignatureKind("language prior", "show another picture"), [few]).because
    'answers that change 0.02 [0.00, 0.06], which is below a tenth'
    """
    missing = [condition.label for condition in conditions if condition.estimate is None]
    measured = [(c, c.estimate) for c in conditions if c.estimate is not None]
    failing = [(c, e) for c, e in measured if not c.holds(e)]
    numbers = {condition.label: estimate for condition, estimate in measured}
    if missing:
        return Signature(kind, "not measured", f"not measured: {', '.join(missing)}", numbers, test)
    verb = "but should be" if failing else "which is"
    because = "; ".join(
        f"{c.label} {e.value:.2f} [{e.low:.2f}, {e.high:.2f}], {verb} {c.words}"
        for c, e in failing or measured
    )
    return Signature(kind, "not raised" if failing else "raised", because, numbers, test)
