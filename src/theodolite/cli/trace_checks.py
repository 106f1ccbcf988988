"""``theodolite trace alignment | ablate``: how far the figures rest on each part of the pipeline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.output import percent, points, print_table
from theodolite.cli.trace_loading import VerifierName
from theodolite.cli.trace_tables import number, show_problems
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.types import Trace
from theodolite.instruments.trace.data.dataset import Problem, read_episodes
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.data.traces import read_traces
from theodolite.instruments.trace.experiments.ablation import Ablation, ablate, across_models
from theodolite.instruments.trace.experiments.alignment_fixtures import score_alignment
from theodolite.instruments.trace.experiments.sensitivity import Reference
from theodolite.instruments.trace.score import traces_of_run
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.runs import Run
from theodolite.stats import Estimate

app = typer.Typer()


@app.command("alignment")
def alignment(data: o.Data, seed: o.Seed = 0, json: o.AsJson = False) -> None:
    """How often steps find the frames they were written of, cue by cue, on episodes of the embedded worlds."""
    found = read_episodes(data)
    scores = score_alignment(found.episodes, seed=seed)
    if json:
        print_json(
            {"cues": [asdict(score) for score in scores], "problems": [asdict(p) for p in found.problems]}
        )
        return
    print_table(
        ["when is told by", "exactly right", "right one among them", "at most one off", "steps"],
        [
            [s.cue, percent(s.score.exact), percent(s.score.covers), percent(s.score.overlap), str(s.n_steps)]
            for s in scores
        ],
        title=f"alignment of true steps with their frames, {data}",
    )
    show_problems(found.problems)


@app.command("ablate")
def ablate_command(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]…", help="Runs, one per model; or give traces.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="PATH", help="The episodes; with --traces.")
    ] = None,
    traces: Annotated[
        Path | None, typer.Option("--traces", metavar="FILE", help="Traces in a JSONL file.")
    ] = None,
    verifier: VerifierName = "annotation",
    pairs: Annotated[bool, typer.Option("--pairs/--singles", help="Also take two parts away.")] = True,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Switch parts of the pipeline off, one by one and in pairs: SGR, and r and ρ with the whole pipeline."""
    if bool(runs) == (traces is not None) or (traces is not None and data is None):
        raise UsageError("give runs, or --traces with --data: exactly one of the two")
    if len({folder.resolve() for folder in runs or []}) < len(runs or []):
        raise UsageError("a run is named twice; give each once, one per model")
    by = Reference(open_verifier(verifier), seed=seed)
    problems: list[Problem] = []
    parts: list[tuple[list[Trace], dict[str, Episode]]] = []
    for folder in runs or []:
        with Run.open(folder) as run:
            read, episodes, wrong = traces_of_run(run)
        parts.append((read, episodes))
        problems += wrong
    if traces is not None and data is not None:
        episode_set = read_episodes(data)
        episodes = {episode.id: episode for episode in episode_set.episodes}
        read, wrong = read_traces(traces, episodes)
        parts.append((with_claims(read), episodes))
        problems += [*episode_set.problems, *wrong]
    pooled = ablate([t for read, _ in parts for t in read], _joined(parts), by, pairs=pairs)
    models = across_models([ablate(*part, by, pairs=pairs) for part in parts]) if len(parts) > 1 else []
    if json:
        rows: list[dict[str, object]] = [asdict(row) for row in pooled]
        for row, (r, rho) in zip(rows, models, strict=False):
            row["models"] = {"r": _plain(r), "rho": _plain(rho)}
        print_json({"verifier": verifier, "ablations": rows, "problems": [asdict(p) for p in problems]})
        return
    _show(pooled, models)
    show_problems(problems)


def _joined(parts: list[tuple[list[Trace], dict[str, Episode]]]) -> dict[str, Episode]:
    joined: dict[str, Episode] = {}
    for _, episodes in parts:
        odd = [name for name in joined.keys() & episodes.keys() if joined[name] != episodes[name]]
        if odd:
            raise UsageError(
                f"the runs have different episodes of the name {min(odd)}; give runs on the same data"
            )
        joined |= episodes
    return joined


def _plain(estimate: Estimate | None) -> dict[str, object] | None:
    return None if estimate is None else asdict(estimate)


def _show(rows: list[Ablation], models: list[tuple[Estimate | None, Estimate | None]]) -> None:
    idle = {row.without[0] for row in rows if len(row.without) == 1 and not row.n_changed}
    shown = [i for i, row in enumerate(rows) if len(row.without) < 2 or idle.isdisjoint(row.without)]
    heads = ["without", "SGR", "shift in points", "r over traces", "ρ over traces", "changed", "traces"]
    heads += ["r over models", "ρ over models"] if models else []
    cells = [
        [*_cells(rows[i]), *(number(estimate) for estimate in (models[i] if models else ()))] for i in shown
    ]
    print_table(heads, cells, title="the pipeline without some of its parts")
    if idle and len(shown) < len(rows):
        note(f"pairs with a part that changes nothing here ({', '.join(sorted(idle))}) are in --json only")
    if any(row.r is None for row in rows):
        note(
            "–: no correlation, because the SGR does not vary over the traces, or there are fewer than three"
        )


def _cells(row: Ablation) -> list[str]:
    is_same = bool(row.without) and not row.n_changed
    return [
        " and ".join(row.without) or "nothing: the whole pipeline",
        percent(row.sgr),
        "no trace changes" if is_same else "–" if row.shift is None else points(row.shift),
        number(row.r),
        number(row.rho),
        str(row.n_changed),
        str(row.n_traces),
    ]
