"""Existing traces, from a file or a run: judged by one or several verifiers, or only split into claims."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from theodolite.answers import guarded
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem
from theodolite.core.scores import ItemScore
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.claims.extractors import EXTRACTOR, open_extractor
from theodolite.instruments.trace.claims.language import sentence_spans
from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.types import Trace, Verifier
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.data.traces import read_traces
from theodolite.instruments.trace.experiments.agreement import (
    agreement_table,
    noise_table,
    verifier_agreement,
)
from theodolite.instruments.trace.experiments.calibration import Calibration
from theodolite.instruments.trace.experiments.grounding import (
    TraceGroup,
    claims_table,
    extracted_by,
    main_tables,
    pooled_table,
)
from theodolite.instruments.trace.formulas.refutable import known_of
from theodolite.instruments.trace.formulas.tcs import Transition, transitions
from theodolite.instruments.trace.score import (
    INSTRUMENT,
    TraceScoreOptions,
    judged_run,
    of_trace,
    refutable_of,
)
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, judge
from theodolite.runs import Run
from theodolite.worlds.episodes import Episode

BY_VERIFIER = (Column("verifier", "verifier"),)
VERIFY_TABLES = ("steps", "claims", "pooled")
"""Tables of `verify_tables` beyond the main ones."""


@dataclass(frozen=True, slots=True)
class LoadedTraces:
    """Traces with their claims, and the episodes that they are about."""

    traces: list[Trace]
    episodes: dict[str, Episode]
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What of the sources was not used."""


def load_traces(
    source: Path,
    data: Path | None = None,
    *,
    extractor: str = EXTRACTOR,
    limit: int | None = None,
    needs_episodes: bool = True,
) -> LoadedTraces:
    """Load traces with their claims.

    Args:
        source: A JSONL file of traces, or a run: of a run, the unedited episodes in the first prompt style are used.
        data: The episodes. A run knows where they are.
        extractor: Finds the claims.
        limit: Use only the first traces.
        needs_episodes: False to load a file without its episodes: then steps have no frames.

    Raises:
        UsageError: The source does not exist, or it is a file and no episodes are given.
    """
    if not source.exists():
        raise UsageError(f"{source} does not exist; give a JSONL file of traces, or a run")
    if source.is_dir():
        with Run.open(source) as run:
            read = judged_run(run, data, extractor)
        first, *others = read.styles or [""]
        own = [t.trace for t in read.own(first) if t.trace is not None]
        left = f"only the first prompt style of {source}, {first}, is used; `trace export` writes all {len(others) + 1}"
        return LoadedTraces(own[:limit], dict(read.episodes), list(read.problems), [left] if others else [])
    if data is None and not needs_episodes:
        traces, problems = read_traces(source)
        return LoadedTraces(traces[:limit], {}, [*problems, *_own_problems(traces[:limit])])
    if data is None:
        raise UsageError(f"{source} is a file of traces: name the episodes with --data")
    episode_set = read_episodes(data)
    episodes = {episode.id: episode for episode in episode_set.episodes}
    traces, problems = read_traces(source, episodes)
    claimed = with_claims(traces[:limit], extractor=open_extractor(extractor))
    return LoadedTraces(claimed, episodes, [*episode_set.problems, *problems, *_own_problems(claimed)])


def _own_problems(traces: Sequence[Trace]) -> list[Problem]:
    return [Problem(trace.episode, problem) for trace in traces for problem in trace.problems]


def export_traces(run: Run, path: Path, data: Path | None = None) -> int:
    """Write the answers of a run about its unedited episodes as a file of traces: one JSON object per line, unchanged.

    Returns:
        The number of traces.

    Raises:
        UsageError: The run is not a run of traces, nothing was answered, or the file exists or cannot be written.
    """
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    if path.exists():
        raise UsageError(f"{path} exists already; give another file, or remove it")
    episode_set = read_episodes(data or Path(str(run.info.settings["data"])))
    unedited = {episode.id for episode in episode_set.episodes if episode.edit is None}
    lines = []
    for result in run.results():
        meta, record = result.item.meta, result.record
        is_plain = (meta.get("wording") or "original") == "original" and str(meta["episode"]) in unedited
        if not is_plain or record is None or not record.response.is_answered:
            continue
        line = {"episode": meta["episode"], "style": meta["style"], "model": run.info.model}
        line["text"] = record.response.text
        if record.response.reasoning:
            line["reasoning"] = record.response.reasoning
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    if not lines:
        raise UsageError(f"{run.folder} has no answer about an unedited episode")
    try:
        path.write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return len(lines)


def joined(parts: Sequence[LoadedTraces]) -> LoadedTraces:
    """Join several sets of traces into one.

    Raises:
        UsageError: Two of the sets have different episodes with the same name.
    """
    episodes: dict[str, Episode] = {}
    for part in parts:
        odd = [
            name for name in episodes.keys() & part.episodes.keys() if episodes[name] != part.episodes[name]
        ]
        if odd:
            raise UsageError(f"there are different episodes named {min(odd)}; give runs on the same data")
        episodes |= part.episodes
    problems = list(dict.fromkeys(problem for part in parts for problem in part.problems))
    notes = [note for part in parts for note in part.notes]
    return LoadedTraces([trace for part in parts for trace in part.traces], episodes, problems, notes)


def verify_tables(
    loaded: LoadedTraces,
    verifiers: Sequence[Verifier],
    options: TraceScoreOptions,
    *,
    rates: Sequence[float] = (),
    extra: Sequence[str] = (),
) -> tuple[list[Table], list[Problem]]:
    """Return the tables of traces, and the problems. Traces of several models or prompt styles have a row each.

    Args:
        loaded: The traces.
        verifiers: With several, their agreement is shown too.
        options: How to judge and count.
        rates: Error rates of the first verifier, for the table of noise.
        extra: Some of `VERIFY_TABLES`.
    """
    groups, verdicts, problems = [], [], list(loaded.problems)
    apart, names = _told_apart(loaded.traces)
    heads = (*BY_VERIFIER, *apart)
    for verifier in verifiers:
        judged = judge(loaded.traces, loaded.episodes, verifier, hedges=options.hedges)
        verdicts.append(judged)
        for labels in dict.fromkeys(names):
            part = [trace for trace, name in zip(judged, names, strict=True) if name == labels]
            group, failed = trace_group(loaded, part, verifier, options, labels)
            groups.append(group)
            problems += failed
    tables = main_tables(
        groups, heads, title=f"Grounding of traces{extracted_by(options.extractor)}", tau=options.tau
    )
    if len(verifiers) > 1:
        tables.append(agreement_table(verifier_agreement(verdicts, seed=options.seed)))
    if rates:
        tables.append(
            noise_table(
                loaded.traces,
                loaded.episodes,
                verifiers[0],
                rates=rates,
                how=options.counting,
                hedges=options.hedges,
                seed=options.seed,
            )
        )
    if "steps" in extra:
        tables.append(_step_list(verdicts[0], apart, names))
    if "claims" in extra:
        tables.append(claims_table(groups, heads))
    if "pooled" in extra:
        tables.append(pooled_table(groups, heads, seed=options.seed))
    return tables, list(dict.fromkeys(problems))


def _told_apart(traces: Sequence[Trace]) -> tuple[list[Column], list[tuple[str, ...]]]:
    """Return the columns for model and prompt style, each only if there are several, and their values for each trace."""
    of = {"model": [trace.model for trace in traces], "style": [trace.style for trace in traces]}
    several = {name: values for name, values in of.items() if len(set(values)) > 1}
    columns = [Column(name, name) for name in several]
    return columns, [tuple(values[i] or "–" for values in several.values()) for i in range(len(traces))]


def trace_group(
    loaded: LoadedTraces,
    judged: Sequence[JudgedTrace],
    verifier: Verifier,
    options: TraceScoreOptions,
    labels: tuple[str, ...] = (),
) -> tuple[TraceGroup, list[Problem]]:
    """Return the item scores of judged traces, labelled by the verifier and `labels`, and the failures.

    Args:
        loaded: The traces with their episodes.
        judged: The same traces, judged.
        verifier: The verifier that judged them.
        options: How to judge and count.
        labels: Further labels of the group.
    """
    scores: list[ItemScore] = []
    moves: list[tuple[list[Transition], str]] = []
    problems = [
        Problem(j.trace.episode, f"{verifier.name}: {j.failure}")
        for j in judged
        if j.failure and j.failure not in j.trace.problems
    ]
    told = {
        j.trace.episode: loaded.episodes[j.trace.episode]
        for j in judged
        if j.trace.episode in loaded.episodes
    }
    known = known_of(list(told.values()), verifier)
    for name, verdicts in known.items():
        value, reason = refutable_of(verdicts)
        scores.append(ItemScore(name, "trace.refutable", value, told[name].unit, reason=reason))
    for number, trace in enumerate(judged):
        name, about = trace.trace.episode, told.get(trace.trace.episode)
        steps: list[Transition] | str = trace.failure
        if not trace.failure and about is not None:
            steps = guarded(partial(_moves, trace.trace, about, verifier, options), unread=str)
            if isinstance(steps, str):
                problems.append(Problem(name, f"{verifier.name}: {steps}"))
            else:
                moves.append((steps, trace.unit))
        scores += [
            ItemScore(f"{trace.trace.episode}#{number}", f"trace.{key}", value, trace.unit, reason=reason)
            for key, value, reason in of_trace(trace, steps, options.counting)
        ]
    calibration = Calibration.of(verifier.name, known, told)
    group = TraceGroup(
        (verifier.name, *labels), scores, judged, moves, options.counting, calibration=calibration
    )
    return group, problems


def _moves(
    trace: Trace, episode: Episode, verifier: Verifier, how: TraceScoreOptions
) -> list[Transition] | str:
    return transitions(trace, episode, verifier, tau=how.tau, embedder=how.sentence_model, hedges=how.hedges)


def _step_list(judged: Sequence[JudgedTrace], apart: list[Column], names: Sequence[tuple[str, ...]]) -> Table:
    """Return every claim of every step with its verdict."""
    columns = [
        Column("episode", "episode"),
        *apart,
        Column("answer", "answer"),
        Column("step", "step"),
        Column("frames", "frames"),
        Column("text", "text"),
        Column("claim", "claim"),
        Column("verdict", "verdict"),
        Column("evidence", "evidence"),
    ]
    rows: list[list[Cell]] = []
    for trace, name in zip(judged, names, strict=True):
        right = {True: " (right)", False: " (wrong)", None: ""}[trace.is_correct]
        answer = (trace.trace.answer or trace.trace.unread) + right
        for number, step in enumerate(trace.steps, 1):
            frames = f"{', '.join(str(f + 1) for f in step.step.frames)} (by {step.step.alignment})"
            head = [trace.trace.episode, *name, answer, str(number), frames, step.step.text]
            step_rows = [
                (str(claim), v.label + (f" ({v.reason})" if v.reason else ""), v.evidence)
                for claim, v in step.counted()
            ]
            for cells in step_rows or [("", "", "")]:
                rows.append([*head, *cells])
                head = [""] * len(head)
    return Table.of("trace.steps", "Traces step by step", columns, rows)


def claim_tables(
    traces: Sequence[Trace], *, extractor: str = EXTRACTOR, list_steps: bool = False
) -> tuple[list[Table], list[Problem]]:
    """Return counts of the claims of traces, with the speed of extraction, and optionally the claims of every step; and problems."""
    opened = open_extractor(extractor)
    with_claims(traces[:1], extractor=opened)
    started = time.perf_counter()
    read = with_claims([replace(trace, problems=()) for trace in traces], extractor=opened)
    steps = [step for trace in read for step in trace.steps]
    seconds = max(time.perf_counter() - started, 1e-9)
    texts, claims_by_step = [step.text for step in steps], [step.claims for step in steps]
    claims = [claim for step_claims in claims_by_step for claim in step_claims]
    n_sentences = sum(len(sentence_spans(text)) for text in texts)
    kinds = Counter(claim.kind for claim in claims)
    n_hedged = sum(any(claim.hedge for claim in step_claims) for step_claims in claims_by_step)
    columns = [
        Column("steps", "steps", "count"),
        Column("sentences", "sentences", "count"),
        Column("claims", "claims", "count"),
        Column("claims_per_sentence", "claims per sentence", "number"),
        Column("hedged", "hedged claims", "share"),
        Column("hedged_steps", "steps with a hedge", "share"),
        Column("negated", "negated claims", "count"),
        Column("sentences_per_second", "sentences per second", "number"),
        *(Column(kind.replace("-", "_"), f"{kind} claims", "count") for kind in sorted(kinds)),
    ]
    row: list[Cell] = [
        len(texts),
        n_sentences,
        len(claims),
        len(claims) / max(1, n_sentences),
        sum(bool(claim.hedge) for claim in claims) / max(1, len(claims)),
        n_hedged / max(1, len(texts)),
        sum(claim.is_negated for claim in claims),
        n_sentences / seconds,
        *(kinds[kind] for kind in sorted(kinds)),
    ]
    tables = [Table.of("trace.claim_counts", f"Claims, extracted by {opened.name}", columns, [row])]
    if list_steps:
        heads = [Column("text", "text"), Column("claim", "claim")]
        rows = [
            [text if i == 0 else "", str(claim)]
            for text, step_claims in zip(texts, claims_by_step, strict=True)
            for i, claim in enumerate(step_claims)
        ]
        tables.append(Table.of("trace.claim_list", "Claims by step", heads, rows))
    return tables, _own_problems(read)
