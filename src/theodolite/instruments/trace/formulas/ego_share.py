"""How much of what is said is about one's own movements, and how much of that can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.instruments.trace.estimates import mean_estimate
from theodolite.instruments.trace.verifiers.judging import Granularity, JudgedTrace


@dataclass(frozen=True, slots=True)
class EgoMotion:
    """*I turn left*, *I move forward*: their share, and how many of them have a verdict."""

    n_claims: int
    of_steps: stats.Estimate | None
    """Share of steps with such a claim; None without steps."""
    of_claims: stats.Estimate | None
    """Share of claims that are such."""
    verifiable: stats.Estimate | None
    """Share of such claims that are supported or unsupported; None if there are none."""


def ego_motion(
    traces: Sequence[JudgedTrace], *, granularity: Granularity = "whole", seed: int = 0
) -> EgoMotion:
    """Counts the claims of the kind ``ego-motion``; intervals are clustered by the traces' units."""
    judged = [trace for trace in traces if not trace.failure]
    steps = [(step.counted(granularity), trace.unit) for trace in judged for step in trace.steps]
    is_ego = [(any(claim.kind == "ego-motion" for claim, _ in pairs), unit) for pairs, unit in steps]
    claims = [
        (claim.kind == "ego-motion", verdict, unit) for pairs, unit in steps for claim, verdict in pairs
    ]
    told = [(verdict.label != "unverifiable", unit) for ego, verdict, unit in claims if ego]

    def share(rows: Sequence[tuple[bool, str]]) -> stats.Estimate | None:
        return mean_estimate([float(x) for x, _ in rows], [unit for _, unit in rows], seed=seed)

    return EgoMotion(len(told), share(is_ego), share([(ego, unit) for ego, _, unit in claims]), share(told))
