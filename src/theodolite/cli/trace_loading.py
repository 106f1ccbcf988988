"""What the commands of ``theodolite trace`` share: their options, and reading data, traces and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.types import Trace, Verifier
from theodolite.instruments.trace.data.dataset import Problem, read_episodes
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.data.traces import read_traces
from theodolite.instruments.trace.formulas.sgr import HANDLINGS, Handling
from theodolite.instruments.trace.score import ScoreOptions
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, judge, open_verifier
from theodolite.instruments.trace.verifiers.noise import NoisyVerifier

Traces = Annotated[Path, typer.Option("--traces", metavar="FILE", help="Traces in a JSONL file.")]
VerifierName = Annotated[
    str,
    typer.Option(
        "--verifier", metavar="NAME", help="Who judges, such as annotation; see `theodolite list verifiers`."
    ),
]
HandlingName = Annotated[
    str,
    typer.Option(
        "--unverifiable", metavar="|".join(HANDLINGS), help="What a claim that cannot be judged counts."
    ),
]
Granularity = Annotated[
    str,
    typer.Option(
        "--claims",
        metavar="whole|every",
        help="Count the largest claims only (the paper), or every small one.",
    ),
]
Hedges = Annotated[
    str,
    typer.Option(
        "--guesses", metavar="abstract|stated", help="Guesses cannot be judged, or are judged as if stated."
    ),
]
Tau = Annotated[
    float,
    typer.Option(
        "--tau",
        min=-1,
        max=1,
        help="Above this likeness two beliefs are the same (TCS, equation 2); `trace calibrate` finds it.",
    ),
]


def options_of(verifier: str, handling: str, granularity: str, hedges: str, seed: int) -> ScoreOptions:
    """Checks the words and makes the options."""
    for name, value, allowed in (
        ("--unverifiable", handling, get_args(Handling)),
        ("--claims", granularity, ("whole", "every")),
        ("--guesses", hedges, ("abstract", "stated")),
    ):
        if value not in allowed:
            raise UsageError(f"{name} takes {' or '.join(allowed)}, not {value!r}")
    return ScoreOptions(
        verifier,
        cast("Handling", handling),
        "every" if granularity == "every" else "whole",
        "as stated" if hedges == "stated" else "abstract",
        seed=seed,
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """Episodes and traces read, claims extracted, verdicts given, and what was wrong on the way."""

    judged: list[JudgedTrace]
    traces: list[Trace]
    episodes: dict[str, Episode]
    problems: list[Problem]
    verifier: Verifier


def load_judged(data: Path, traces: Path, options: ScoreOptions, noise: float = 0.0) -> Loaded:
    """Does all of that."""
    verifier: Verifier = open_verifier(options.verifier)
    episode_set = read_episodes(data)
    episodes = {episode.id: episode for episode in episode_set.episodes}
    read, problems = read_traces(traces, episodes)
    claimed = with_claims(read)
    if noise:
        verifier = NoisyVerifier(verifier, noise, options.seed)
    judged = judge(claimed, episodes, verifier, hedges=options.hedges)
    told = [
        *episode_set.problems,
        *problems,
        *(Problem(trace.episode, problem) for trace in claimed for problem in trace.problems),
        *(Problem(trace.trace.episode, trace.failure) for trace in judged if trace.failure),
    ]
    return Loaded(judged, claimed, episodes, told, verifier)
