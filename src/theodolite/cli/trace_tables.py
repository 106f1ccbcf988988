"""What the commands of ``theodolite trace`` print."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.text import Text

from theodolite.cli.console import note, out
from theodolite.cli.output import p_value, percent, points, print_table
from theodolite.instruments.trace.claims.types import Claim
from theodolite.instruments.trace.data.dataset import Problem
from theodolite.instruments.trace.experiments.robustness import CounterCausal
from theodolite.instruments.trace.formulas.sgr import Grounding
from theodolite.instruments.trace.formulas.tcs import Consistency
from theodolite.instruments.trace.formulas.vrs import Reliance, SensitivityCell
from theodolite.instruments.trace.score import TraceScore
from theodolite.instruments.trace.verifiers.judging import JudgedTrace
from theodolite.stats import Estimate

_COLOURS = {"supported": "green", "unsupported": "red", "unverifiable": "yellow"}
_SHOWN_PROBLEMS = 10


def number(estimate: Estimate | None, digits: int = 2) -> str:
    """A figure with its interval, which a perfect correlation, say, does not have."""
    if estimate is None:
        return "–"
    if estimate.low == estimate.high:
        return f"{estimate.value:.{digits}f} (no interval)"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def counted_traces(group: Grounding) -> str:
    """How many traces there are, and how many of them failed."""
    return str(group.n_traces) + (f", {group.n_failed} failed" if group.n_failed else "")


def show_grounding(groups: Mapping[str, Grounding]) -> None:
    """SGR, HR, the profile and the gap, a row per group."""
    print_table(
        ["", "SGR", "HR", "unverifiable", "early", "late", "accuracy", "gap", "traces", "claims"],
        [
            [
                name + (" (lower bound)" if g.is_lower_bound else ""),
                percent(g.sgr),
                percent(g.hr),
                percent(g.unverifiable),
                percent(g.profile["early"]),
                percent(g.profile["late"]),
                percent(g.accuracy),
                "–" if g.gap is None else points(g.gap),
                counted_traces(g),
                str(g.n_claims),
            ]
            for name, g in groups.items()
        ],
    )
    print_table(
        [
            "",
            "SGR of the middle",
            "decline in points",
            "r of HR with 1 − SGR",
            "steps on ego-motion",
            "of these claims judged",
        ],
        [
            [
                name,
                percent(g.profile["middle"]),
                "–" if g.decline is None else points(g.decline),
                number(g.hr_against_sgr),
                percent(g.ego_motion.of_steps),
                f"{percent(g.ego_motion.verifiable)} of {g.ego_motion.n_claims}"
                if g.ego_motion.n_claims
                else "none made",
            ]
            for name, g in groups.items()
        ],
    )
    for name, g in groups.items():
        reasons = ", ".join(f"{reason} {count}" for reason, count in g.reasons.items() if count)
        if reasons:
            note(f"{name}: unverifiable because {reasons}")
        if g.n_unread:
            note(
                f"{name}: {g.n_unread} of {g.n_traces} traces have no answer that could be read; it is not right"
            )
        if g.n_without_steps:
            note(
                f"{name}: {g.n_without_steps} of {g.n_traces} traces have no steps; their SGR is a lower bound"
            )


def show_consistency(beliefs: Consistency) -> None:
    """Both forms of the temporal consistency score."""
    out.print()
    print_table(
        ["TCS, equation 2", "TCS, contradiction-aware", "steps that contradict the evidence", "transitions"],
        [
            [
                number(beliefs.tcs),
                number(beliefs.tcs_aware),
                percent(beliefs.contradictions),
                str(beliefs.n_transitions),
            ]
        ],
        title=f"beliefs, τ = {beliefs.tau:g}",
    )


def show_problems(problems: Sequence[Problem]) -> None:
    """What was wrong, item by item."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        note(f"{problem.where}: {problem.reason}")
    if len(problems) > _SHOWN_PROBLEMS:
        note(f"… and {len(problems) - _SHOWN_PROBLEMS} more problems (--json lists all)")


def show_steps(trace: JudgedTrace) -> None:
    """A trace step by step, its claims coloured by verdict."""
    right = {True: ", right", False: ", wrong", None: ""}[trace.is_correct]
    out.print(Text(f"{trace.trace.episode}: {trace.trace.answer!r}{right}", style="bold"))
    for step in trace.steps:
        text = Text("  " + step.step.text)
        for claim, verdict in step.counted():
            text.stylize(_COLOURS[verdict.label], claim.span[0] + 2, claim.span[1] + 2)
        frames = ", ".join(str(frame + 1) for frame in step.step.frames)
        out.print(Text(f"  frames {frames} (by {step.step.alignment})", style="dim"))
        out.print(text)
        for claim, verdict in step.counted():
            why = f" ({verdict.reason})" if verdict.reason else ""
            out.print(
                Text(f"      {verdict.label}{why}: {claim}", style=_COLOURS[verdict.label]),
                Text(f"– {verdict.evidence}"),
            )
    out.print()


def show_score(score: TraceScore) -> None:
    """A run's whole score."""
    out.print(Text(f"{score.model}  judged by {score.verifier}, parsed by {score.parser}", style="bold"))
    show_grounding({f"{g.style}, {g.split}": g.grounding for g in score.groups})
    for group in score.groups:
        if group.consistency is not None and group.split == "in-distribution":
            show_consistency(group.consistency)
    if score.controls:
        out.print()
        print_table(
            ["control", "SGR", "fall in points"],
            [[c.name, percent(c.sgr), "–" if c.fall is None else points(c.fall)] for c in score.controls],
            title="traces that should score badly",
        )
    if score.reliance is not None:
        show_reliance(score.reliance, score.sensitivity)
    if score.counter_causal is not None:
        show_counter_causal(score.counter_causal)
    v = score.verbosity
    out.print()
    print_table(
        ["words per trace", "claims per step", "ρ(SGR, words)", f"SGR of {v.n_steps_of_short} steps"],
        [
            [
                number(v.words, 0),
                number(v.claims_per_step, 1),
                number(v.sgr_against_words),
                percent(v.sgr_of_short),
            ]
        ],
        title="verbosity",
    )
    if score.conditions:
        out.print()
        print_table(
            ["measured otherwise", "SGR", "seconds a sample"],
            [
                [c.name, percent(c.sgr), "–" if c.seconds is None else f"{c.seconds:.3g}"]
                for c in score.conditions
            ],
            title="the same traces, measured in other ways",
        )
    show_problems(score.problems)
    if score.refused or score.failed or score.pending:
        note(f"{score.refused} refused, {score.failed} failed, {score.pending} not asked yet")


def show_reliance(reliance: Reliance, cells: Sequence[SensitivityCell]) -> None:
    """VRS in both forms, and Table 3."""
    out.print()
    print_table(
        [
            "VRS, equation 4",
            "VRS, sound",
            "edited facts updated",
            "rightly",
            "unedited facts changed",
            "edits",
        ],
        [
            [
                number(reliance.vrs_paper),
                number(reliance.vrs_sound),
                percent(reliance.updated),
                percent(reliance.correctly_updated),
                percent(reliance.changed),
                str(reliance.n_pairs)
                + (f", {reliance.n_failed} failed" if reliance.n_failed else "")
                + (f", {reliance.n_without_base} without original" if reliance.n_without_base else ""),
            ]
        ],
        title="visual reliance",
    )
    out.print()
    print_table(
        ["edit", "judged against", "ΔSGR", "p", "ΔAcc", "p", "SGR falls by more, p", "n of ΔSGR, ΔAcc"],
        [
            [
                c.family,
                "the old truth (paper)" if c.reading == "paper" else "the new truth (sound)",
                "–" if c.delta_sgr is None else points(c.delta_sgr),
                _p(c.p_sgr),
                "–" if c.delta_accuracy is None else points(c.delta_accuracy),
                _p(c.p_accuracy),
                _p(c.p_sgr_falls_more),
                f"{c.n_sgr}, {c.n_accuracy}",
            ]
            for c in cells
        ],
        title="sensitivity (p by sign flips over units, Holm over all cells)",
    )

    if reliance.sweep:
        values = list(reliance.sweep.values())
        note(
            f"equation 4 with other ε and clip: {min(values):.2f} to {max(values):.2f}"
            f" over {len(values)} choices (--json lists all)"
        )


def show_counter_causal(control: CounterCausal) -> None:
    """The two-way control: pictures changed and words kept, and the reverse."""
    rows = (
        ("pictures, words kept", control.visual_sgr, control.visual_accuracy, control.n_visual),
        ("words, pictures kept", control.language_sgr, control.language_accuracy, control.n_language),
    )
    out.print()
    print_table(
        ["changed", "ΔSGR", "ΔAcc", "pairs"],
        [
            [name, *("–" if e is None else points(e) for e in (sgr, accuracy)), str(n)]
            for name, sgr, accuracy, n in rows
        ],
        title=f"two-way control (SGR falls more for pictures: p {_p(control.p_visual_falls_more)})",
    )


def _p(value: float | None) -> str:
    return "–" if value is None else p_value(value)


def show_claims(
    texts: Sequence[str],
    extract: Callable[[Sequence[str]], list[tuple[Claim, ...]]],
    split: Callable[[str], list[tuple[int, int]]],
    *,
    show: int,
) -> dict[str, Any]:
    """Counts the claims of texts, with the time it takes."""
    extract(texts[:1])
    started = time.perf_counter()
    found = extract(texts)
    seconds = time.perf_counter() - started
    claims = [claim for each in found for claim in each]
    n_sentences = sum(len(split(text)) for text in texts)
    hedged = sum(any(claim.hedge for claim in each) for each in found)
    for text, each in list(zip(texts, found, strict=True))[:show]:
        out.print(Text(text))
        for claim in each:
            out.print(Text(f"    {claim}"))
    return {
        "steps": len(texts),
        "sentences": n_sentences,
        "claims": len(claims),
        "claims per sentence": len(claims) / max(1, n_sentences),
        "hedged claims, share": sum(bool(claim.hedge) for claim in claims) / max(1, len(claims)),
        "steps with a hedge, share": hedged / max(1, len(texts)),
        "negated claims": sum(claim.is_negated for claim in claims),
        "sentences per second": n_sentences / max(seconds, 1e-9),
        **{
            f"{kind} claims": count for kind, count in sorted(Counter(claim.kind for claim in claims).items())
        },
    }
