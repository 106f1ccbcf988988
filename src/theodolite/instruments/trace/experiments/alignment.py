"""How often steps are given the right frames, where the right ones are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.instruments.trace.claims.types import Alignment, Trace
from theodolite.instruments.trace.estimates import mean_estimate


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """The accuracy of alignment."""

    exact: stats.Estimate | None
    """Share of steps with exactly the right frames."""
    overlap: stats.Estimate | None
    """Share of steps with at least one right frame, and none that is off by more than one."""
    covers: stats.Estimate | None
    """Share of steps whose frames hold all the right ones, perhaps with others."""
    by_method: dict[Alignment, stats.Estimate | None]
    """Exact, by how the frames were found."""


def alignment_accuracy(
    traces: Sequence[Trace], truth: Sequence[Sequence[Sequence[int]]], *, seed: int = 0
) -> AlignmentScore:
    """Compares the frames of steps with those they were written of.

    Args:
        traces: aligned.
        truth: for each trace, for each of its steps, the right frames.
        seed: of the bootstrap; intervals are clustered by episode.
    """
    rows = [
        (set(step.frames), set(right), step.alignment, trace.episode)
        for trace, steps in zip(traces, truth, strict=True)
        for step, right in zip(trace.steps, steps, strict=True)
    ]
    exact = [(float(found == right), how, unit) for found, right, how, unit in rows]
    near = [(float(_near(found, right)), unit) for found, right, _, unit in rows]
    held = [(float(right <= found), unit) for found, right, _, unit in rows]
    methods = dict.fromkeys(how for _, how, _ in exact)
    return AlignmentScore(
        mean_estimate([x for x, *_ in exact], [u for *_, u in exact], seed=seed),
        mean_estimate([x for x, _ in near], [u for _, u in near], seed=seed),
        mean_estimate([x for x, _ in held], [u for _, u in held], seed=seed),
        {
            how: mean_estimate(
                [x for x, h, _ in exact if h == how], [u for _, h, u in exact if h == how], seed=seed
            )
            for how in methods
        },
    )


def _near(found: set[int], right: set[int]) -> bool:
    return bool(found & right) and all(min(abs(f - r) for r in right) <= 1 for f in found)
