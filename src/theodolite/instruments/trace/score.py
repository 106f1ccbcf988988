"""Scores a run of traces: reads the stored answers, judges them, and gives every figure. Never calls a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.extract import EXTRACTOR
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.steps import STEP_READER
from theodolite.instruments.trace.claims.types import Trace, Verifier
from theodolite.instruments.trace.data.dataset import Problem, read_episodes
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.experiments.counterfactual import (
    INVERSIONS,
    RandomLabels,
    counterfactual,
    random_trace,
)
from theodolite.instruments.trace.experiments.robustness import (
    CounterCausal,
    Verbosity,
    counter_causal,
    verbosity,
)
from theodolite.instruments.trace.experiments.sensitivity import ConditionScore, Reference, condition_scores
from theodolite.instruments.trace.formulas.sgr import Grounding, Handling, grounding, paired, trace_sgr
from theodolite.instruments.trace.formulas.tcs import TAU, Consistency, consistency_of
from theodolite.instruments.trace.formulas.vrs import (
    EditedPair,
    Reliance,
    SensitivityCell,
    edited_pair,
    reliance,
    sensitivity,
)
from theodolite.instruments.trace.questions import without_pictures
from theodolite.instruments.trace.verifiers.judging import (
    Granularity,
    Hedges,
    JudgedTrace,
    judge,
    open_verifier,
)
from theodolite.runs import Parsed, Result, Run


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """How traces are judged and counted."""

    verifier: str = "annotation"
    handling: Handling = "exclude"
    granularity: Granularity = "whole"
    hedges: Hedges = "abstract"
    tau: float = TAU
    seed: int = 0
    also_by: tuple[str, ...] = ()
    """Further verifiers, for the robustness table."""


@dataclass(frozen=True, slots=True)
class Control:
    """A set of traces that should score badly, against the real ones."""

    name: str
    sgr: stats.Estimate | None
    fall: stats.Estimate | None
    """SGR of the real traces minus that of these, over the same episodes."""


@dataclass(frozen=True, slots=True)
class Group:
    """The traces of one prompt style on one split."""

    style: str
    split: str
    grounding: Grounding
    consistency: Consistency | None
    seconds: float | None
    """Mean time of an answer."""


@dataclass(frozen=True, slots=True)
class TraceScore:
    """Everything that a run tells."""

    model: str
    verifier: str
    parser: str
    groups: tuple[Group, ...]
    controls: tuple[Control, ...]
    """Of the first style, in distribution."""
    reliance: Reliance | None
    """None where the data hold no edited episodes."""
    sensitivity: tuple[SensitivityCell, ...]
    counter_causal: CounterCausal | None
    """None without tasks after another lead-in."""
    verbosity: Verbosity
    conditions: tuple[ConditionScore, ...]
    """SGR of the first style, in distribution, measured in other ways."""
    refused: int
    failed: int
    pending: int
    problems: tuple[Problem, ...]
    """What was wrong with data and traces, item by item."""

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON."""
        return {"instrument": "trace", "step_reader": STEP_READER, "extractor": EXTRACTOR, **asdict(self)}


def score_traces(
    run: Run, *, data: str | Path | None = None, options: ScoreOptions | None = None
) -> TraceScore:
    """Reads, judges and measures the answers of a run; keeps readings and scores in it.

    Args:
        run: opened for writing.
        data: the episodes, if they are no longer where the run found them.
        options: how to judge and count.
    """
    options = options or ScoreOptions()
    if run.info.instrument != "trace":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of trace")
    episode_set = read_episodes(Path(data or str(run.info.settings["data"])))
    episodes = {episode.id: episode for episode in episode_set.episodes}
    verifier = open_verifier(options.verifier)
    results = list(run.results())
    answered, problems = _answered(results, episodes)
    claimed = with_claims([trace for _, trace in answered])
    asked = [(result, trace) for (result, _), trace in zip(answered, claimed, strict=True)]
    run.write_parsed(
        Parsed(
            result.item.id, STEP_READER, "parsed" if not trace.is_lower_bound else "no steps", trace.answer
        )
        for result, trace in asked
    )
    score, failures = _score(run.info.model, asked, episodes, verifier, options)
    asked_about = {str(result.item.meta["episode"]) for result in results}
    problems += [
        Problem(episode.id, "has no picture, so no model was asked about it")
        for episode in without_pictures(episode_set.episodes)
        if episode.id not in asked_about
    ]
    statuses = [result.record.response.status if result.record else "pending" for result in results]
    final = TraceScore(
        **score,
        refused=statuses.count("refused"),
        failed=statuses.count("failed"),
        pending=statuses.count("pending"),
        problems=(*episode_set.problems, *problems, *failures),
    )
    run.write_scores(final.as_json())
    return final


def traces_of_run(
    run: Run, *, data: str | Path | None = None
) -> tuple[list[Trace], dict[str, Episode], list[Problem]]:
    """The answers to a run's unedited episodes in the first style, as traces with claims; the episodes; what was wrong."""
    if run.info.instrument != "trace":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of trace")
    found = read_episodes(Path(data or str(run.info.settings["data"])))
    episodes = {episode.id: episode for episode in found.episodes}
    answered, problems = _answered(list(run.results()), episodes)
    own = [
        trace
        for result, trace in answered
        if result.item.meta.get("wording") == "original" and episodes[trace.episode].edit is None
    ]
    first = [trace for trace in own if trace.style == own[0].style]
    return with_claims(first), episodes, [*found.problems, *problems]


def _answered(
    results: Sequence[Result], episodes: Mapping[str, Episode]
) -> tuple[list[tuple[Result, Trace]], list[Problem]]:
    found, problems = [], []
    for result in results:
        episode = episodes.get(str(result.item.meta["episode"]))
        if result.record is None or not result.record.response.is_answered:
            continue
        if episode is None:
            problems.append(Problem(result.item.name, "its episode is no longer in the data"))
            continue
        response = result.record.response
        style, model = str(result.item.meta["style"]), ""
        trace = read_trace(response.text, episode, style=style, model=model, reasoning=response.reasoning)
        problems.extend(Problem(result.item.name, problem) for problem in trace.problems)
        found.append((result, trace))
    return found, problems


def _score(
    model: str,
    asked: Sequence[tuple[Result, Trace]],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    options: ScoreOptions,
) -> tuple[dict[str, Any], list[Problem]]:
    """The figures, and the traces on which the verifier failed."""
    from theodolite.instruments.trace.claims.language import open_parser

    plain = [(r, t) for r, t in asked if r.item.meta.get("wording") == "original"]
    own = [(r, t) for r, t in plain if episodes[t.episode].edit is None]
    styles = list(dict.fromkeys(t.style for _, t in own))
    grouped = [
        _group(
            [(r, t) for r, t in own if t.style == style and episodes[t.episode].split == split],
            episodes,
            verifier,
            options,
        )
        for style in styles
        for split in ("in-distribution", "ood")
        if any(t.style == style and episodes[t.episode].split == split for _, t in own)
    ]
    first = [t for _, t in own if styles and t.style == styles[0]]
    judged = judge(first, episodes, verifier, hedges=options.hedges)
    pairs, lonely = _edited(plain, (styles or [""])[0], episodes, verifier, options.hedges)
    how: dict[str, Any] = {
        "handling": options.handling,
        "granularity": options.granularity,
        "seed": options.seed,
    }
    failures = [*lonely, *(problem for _, failed in grouped for problem in failed)]
    failures += [Problem(pair.after_new.trace.episode, pair.failure) for pair in pairs if pair.failure]
    figures = {
        "model": model,
        "verifier": verifier.name,
        "parser": open_parser().name,
        "groups": tuple(group for group, _ in grouped),
        "controls": tuple(controls(judged, episodes, verifier, options)),
        "reliance": reliance(pairs, n_without_base=len(lonely), **how) if pairs or lonely else None,
        "sensitivity": tuple(sensitivity(pairs, **how)) if pairs else (),
        "counter_causal": _two_way(asked, judged, pairs, episodes, verifier, options),
        "verbosity": verbosity(judged, **how),
        "conditions": tuple(_conditions(own, styles[:1], episodes, verifier, options)),
    }
    return figures, failures


def _group(
    rows: Sequence[tuple[Result, Trace]],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    options: ScoreOptions,
) -> tuple[Group, list[Problem]]:
    """The figures of some traces, and those of them on which the verifier failed."""
    traces = [trace for _, trace in rows]
    judged = judge(traces, episodes, verifier, hedges=options.hedges)
    times = [r.record.response.seconds for r, _ in rows if r.record is not None]
    beliefs = consistency_of(traces, episodes, verifier, tau=options.tau, seed=options.seed)
    failed = {
        trace.trace.episode: Problem(trace.trace.episode, trace.failure) for trace in judged if trace.failure
    }
    failed = {problem.where: problem for problem in beliefs.failures} | failed
    group = Group(
        traces[0].style,
        episodes[traces[0].episode].split,
        grounding(judged, handling=options.handling, granularity=options.granularity, seed=options.seed),
        beliefs,
        sum(times) / len(times) if times else None,
    )
    return group, list(failed.values())


def _conditions(
    rows: Sequence[tuple[Result, Trace]],
    styles: Sequence[str],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    options: ScoreOptions,
) -> list[ConditionScore]:
    chosen = [(r, t) for r, t in rows if t.style in styles and episodes[t.episode].split == "in-distribution"]
    if not chosen:
        return []
    times = [r.record.response.seconds for r, _ in chosen if r.record is not None]
    by = Reference(verifier, options.handling, options.granularity, options.hedges, options.seed)
    others = [open_verifier(name) for name in options.also_by]
    seconds = sum(times) / len(times) if times else None
    return condition_scores([t for _, t in chosen], episodes, by, others=others, seconds=seconds)


def controls(
    judged: Sequence[JudgedTrace], episodes: Mapping[str, Episode], verifier: Verifier, options: ScoreOptions
) -> list[Control]:
    """Counterfactual and random traces of the same episodes, judged the same way."""
    real = [
        trace
        for trace in judged
        if not trace.failure and episodes[trace.trace.episode].split == "in-distribution"
    ]
    labels = RandomLabels(list(episodes.values()))
    made: list[tuple[str, list[Trace]]] = [
        (
            inversion,
            [
                counterfactual(t.trace, inversion, episode=episodes[t.trace.episode], seed=options.seed)
                for t in real
            ],
        )
        for inversion in INVERSIONS
    ]
    made.append(
        ("random", [random_trace(episodes[t.trace.episode], labels, seed=options.seed) for t in real])
    )
    found = []
    for name, traces in made:
        false = judge(with_claims(traces), episodes, verifier, hedges=options.hedges)
        sgr = grounding(
            false, handling=options.handling, granularity=options.granularity, seed=options.seed
        ).sgr
        rates = [
            [trace_sgr(t, handling=options.handling, granularity=options.granularity) for t in side]
            for side in (real, false)
        ]
        found.append(Control(name, sgr, paired(real, rates[0], rates[1], seed=options.seed)))
    return found


def _edited(
    rows: Sequence[tuple[Result, Trace]],
    style: str,
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    hedges: Hedges,
) -> tuple[list[EditedPair], list[Problem]]:
    """Each edited episode's trace beside that of the episode it was made from; and those that lack it."""
    by_episode = {trace.episode: trace for _, trace in rows if trace.style == style}
    pairs, lonely = [], []
    for name, trace in by_episode.items():
        edit = episodes[name].edit
        if edit is None:
            continue
        if edit.base in by_episode:
            both = (episodes[edit.base], episodes[name])
            pairs.append(edited_pair(by_episode[edit.base], trace, both, verifier, hedges=hedges))
        else:
            why = f"is an edit of {edit.base}, of which there is no answer; it is in no figure of edits"
            lonely.append(Problem(name, why))
    return pairs, lonely


def _two_way(
    asked: Sequence[tuple[Result, Trace]],
    judged: Sequence[JudgedTrace],
    pairs: Sequence[EditedPair],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    options: ScoreOptions,
) -> CounterCausal | None:
    before = {trace.trace.episode: trace for trace in judged}
    other = [
        t
        for r, t in asked
        if r.item.meta.get("wording") == "paraphrased"
        and t.episode in before
        and t.style == before[t.episode].trace.style
    ]
    if not other:
        return None
    after = judge(other, episodes, verifier, hedges=options.hedges)
    visual = [(pair.before, pair.after_old) for pair in pairs if pair.edit.is_relevant and not pair.failure]
    return counter_causal(
        visual,
        [(before[t.trace.episode], t) for t in after],
        handling=options.handling,
        granularity=options.granularity,
        seed=options.seed,
    )
