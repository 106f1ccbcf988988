"""Ablation: the pipeline without some of its parts, one at a time and in pairs, against the whole pipeline.

Source: step grounding, section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace, Verdict, Verifier
from theodolite.instruments.trace.formulas.sgr import Counting, trace_sgr
from theodolite.instruments.trace.score import difference_over, mean_over
from theodolite.instruments.trace.verifiers.judging import JudgedStep, JudgedTrace, judge, unverifiable
from theodolite.worlds.episodes import Episode

Component: TypeAlias = Literal[
    "alignment", "coreference", "negation", "synonyms", "guesses", "recall", "third verdict", "whole claims"
]
"""A part of the pipeline, and the effect of removing it.

| part | without it |
| --- | --- |
| alignment | every step is about all frames |
| coreference | *it* and *they* are not resolved |
| negation | *there is no cup* is read as *there is a cup* |
| synonyms | a noun or verb that is not a label of the episode is out of vocabulary |
| guesses | *might be holding* is judged as *is holding* |
| recall | what a detector of low recall did not find is refuted |
| third verdict | unverifiable claims are unsupported |
| whole claims | the parts of a claim count as claims |
"""

COMPONENTS: tuple[Component, ...] = get_args(Component)
_OF_TEXT: tuple[Component, ...] = ("alignment", "coreference", "negation")
"""Parts that change the claims; the others change the verdicts."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """The pipeline without some of its parts."""

    without: tuple[Component, ...]
    """Empty for the whole pipeline."""
    sgr: stats.Estimate | None
    shift: stats.Estimate | None
    """SGR without these parts − SGR of the whole pipeline, over the same traces."""
    r: stats.Estimate | None
    """Pearson's r of the traces' SGR with that of the whole pipeline; None if either does not vary."""
    rho: stats.Estimate | None
    """Spearman's ρ of the same."""
    n_traces: int
    """Traces with both SGRs."""
    n_changed: int
    """Traces whose SGR changes or disappears."""


def ablate(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    pairs: bool = True,
    seed: int = 0,
) -> tuple[list[Ablation], list[Problem]]:
    """Measure traces with the whole pipeline, without each part, and without each pair of parts.

    Traces that could not be judged are problems.

    Args:
        traces: Traces with their claims.
        episodes: Episodes by id.
        verifier: Judges the claims.
        pairs: Whether to remove pairs of parts too.
        seed: Seed of the bootstrap of correlations.
    """
    judged: dict[tuple[Component, ...], list[JudgedTrace]] = {}
    sizes = (0, 1, 2) if pairs else (0, 1)
    rows: list[Ablation] = []
    base: list[JudgedTrace] = []
    for without in (chosen for size in sizes for chosen in combinations(COMPONENTS, size)):
        text = tuple(part for part in without if part in _OF_TEXT)
        if text not in judged:
            rewritten = [_rewritten(trace, episodes.get(trace.episode), text) for trace in traces]
            judged[text] = judge(rewritten, episodes, verifier, hedges="as stated")
        here = [_revised(trace, episodes.get(trace.trace.episode), without) for trace in judged[text]]
        base = base or here
        rows.append(_compared(without, base, here, seed))
    if not any(row.sgr for row in rows):
        raise UsageError(
            "none of these traces has a claim that can be judged, so there is nothing to compare"
        )
    return rows, [Problem(t.trace.episode, f"{verifier.name}: {t.failure}") for t in base if t.failure]


def across_models(
    runs: Sequence[Sequence[Ablation]],
) -> list[tuple[stats.Estimate | None, stats.Estimate | None]]:
    """Return for each ablation r and ρ over models of its SGR with that of the whole pipeline; None below three models.

    Args:
        runs: The rows of `ablate` for each model.
    """
    correlations: list[tuple[stats.Estimate | None, stats.Estimate | None]] = []
    for index in range(len(runs[0])):
        rows = [
            (run[0].sgr.value, here.value, str(i))
            for i, run in enumerate(runs)
            if run[0].sgr is not None and (here := run[index].sgr) is not None
        ]
        correlations.append(_correlations(rows, seed=0))
    return correlations


def _compared(
    without: tuple[Component, ...], base: Sequence[JudgedTrace], here: Sequence[JudgedTrace], seed: int
) -> Ablation:
    full = [_rate(trace, ()) for trace in base]
    part = [_rate(trace, without) for trace in here]
    both = [
        (a, b, trace.unit)
        for a, b, trace in zip(full, part, base, strict=True)
        if a is not None and b is not None
    ]
    r, rho = _correlations(both, seed)
    return Ablation(
        without,
        mean_over([(_rate(trace, without), trace.unit) for trace in here if not trace.failure]),
        difference_over([(b, a, t.unit) for a, b, t in zip(full, part, base, strict=True)])
        if without
        else None,
        r,
        rho,
        len(both),
        sum(a != b for a, b in zip(full, part, strict=True)),
    )


def _rate(trace: JudgedTrace, without: tuple[Component, ...]) -> float | None:
    return trace_sgr(trace, Counting(granularity="every" if "whole claims" in without else "whole"))


def _correlations(
    rows: Sequence[tuple[float, float, str]], seed: int
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    x, y, units = [a for a, *_ in rows], [b for _, b, _ in rows], [u for *_, u in rows]
    if len(set(units)) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    clusters = None if len(set(units)) == len(units) else units
    try:
        return (
            stats.pearson(x, y, clusters=clusters, seed=seed),
            stats.spearman(x, y, clusters=clusters, seed=seed),
        )
    except UsageError:  # too few clusters vary for an interval
        return None, None


def _rewritten(trace: Trace, episode: Episode | None, without: tuple[Component, ...]) -> Trace:
    """Return the claims of a trace without some parts of the pipeline."""
    if episode is None or not without:
        return trace
    everything = tuple(range(len(episode.frames)))

    def claim_of(claim: Claim, step: Step) -> Claim:
        if "alignment" in without:
            claim = replace(claim, frames=everything)
        if "negation" in without:
            claim = replace(claim, is_negated=False)
        if "coreference" in without:
            target = claim.object and _as_written(claim.object, step.text)
            claim = replace(claim, subject=_as_written(claim.subject, step.text), object=target)
        return claim

    steps = tuple(
        replace(step, claims=tuple(claim_of(claim, step) for claim in step.claims)) for step in trace.steps
    )
    return replace(trace, steps=steps)


def _as_written(mention: Mention, text: str) -> Mention:
    """Return a mention with its pronoun restored, if it replaced one."""
    written = text[slice(*mention.span)].casefold() if mention.span is not None else ""
    return replace(mention, head=written, attributes=()) if written in words.PRONOUNS else mention


def _revised(trace: JudgedTrace, episode: Episode | None, without: tuple[Component, ...]) -> JudgedTrace:
    """Return the verdicts on a trace without some parts of the pipeline."""
    if episode is None:
        return trace
    rules = list(_rules(episode, without))

    def verdict_of(claim: Claim, verdict: Verdict) -> Verdict:
        for rule in rules:
            verdict = rule(claim, verdict)
        return verdict

    steps = tuple(
        JudgedStep(
            step.step,
            tuple(verdict_of(c, v) for c, v in zip(step.step.claims, step.verdicts, strict=True)),
        )
        for step in trace.steps
    )
    return replace(trace, steps=steps)


def _rules(episode: Episode, without: tuple[Component, ...]) -> Iterator[Callable[[Claim, Verdict], Verdict]]:
    """Yield the functions that change verdicts, in order."""
    nouns = {thing.category for frame in episode.frames for thing in frame.objects}
    nouns |= set(episode.vocabulary.get("objects", ()))
    verbs = {action.verb for action in episode.actions} | set(episode.vocabulary.get("actions", ()))

    def by_label(claim: Claim, verdict: Verdict) -> Verdict:
        heads = {m.head for m in (claim.subject, claim.object) if m is not None}
        odd = heads - nouns - words.FIRST_PERSON - words.PRONOUNS
        if claim.kind == "action" and claim.predicate not in verbs:
            odd.add(claim.predicate)
        return unverifiable("out of vocabulary", f"no label reads {min(odd)}") if odd else verdict

    def by_guess(claim: Claim, verdict: Verdict) -> Verdict:
        return unverifiable("abstract", f"only guessed: {claim.hedge}") if claim.hedge else verdict

    def not_found(claim: Claim, verdict: Verdict) -> Verdict:
        refuted = "supported" if claim.is_negated else "unsupported"
        return Verdict(refuted) if verdict.reason == "low recall" else verdict  # type: ignore[arg-type]  # a label

    def silence(_: Claim, verdict: Verdict) -> Verdict:
        return Verdict("unsupported") if verdict.label == "unverifiable" else verdict

    if "synonyms" in without:
        yield by_label
    if "recall" in without:
        yield not_found
    if "guesses" not in without:
        yield by_guess
    if "third verdict" in without:
        yield silence


def ablation_table(
    rows: Sequence[Ablation],
    models: Sequence[tuple[stats.Estimate | None, stats.Estimate | None]] = (),
    *,
    title: str = "Without parts of the pipeline",
) -> Table:
    """Return a table with one row per ablation.

    Args:
        rows: Rows of `ablate`.
        models: The correlations of `across_models`, if there are several models.
        title: Title of the table.
    """
    key = "trace.ablation"
    columns = [
        Column("without", "without"),
        column(key, "sgr", "SGR"),
        column(key, "shift", "shift in points"),
        column(key, "r", "r of traces"),
        column(key, "rho", "ρ of traces"),
        Column("changed", "traces changed", "count"),
        Column("traces", "traces", "count"),
    ]
    if models:
        columns += [
            column(key, "models_r", "r of models"),
            column(key, "models_rho", "ρ of models"),
        ]
    cells: list[list[Cell]] = [
        [
            " + ".join(row.without) or "nothing",
            row.sgr,
            row.shift,
            row.r,
            row.rho,
            row.n_changed,
            row.n_traces,
        ]
        for row in rows
    ]
    for row_cells, both in zip(cells, models, strict=False):
        row_cells.extend(both)
    idle = [row.without[0] for row in rows if len(row.without) == 1 and not row.n_changed]
    notes = [f"No trace changes without {', '.join(idle)}."] if idle else []
    if any(row.r is None for row in rows):
        notes.append("Without r and ρ: the SGR of the traces does not vary, or too few traces have one.")
    return Table.of("trace.ablation", title, columns, cells, notes)
