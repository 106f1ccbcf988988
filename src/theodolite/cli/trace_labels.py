"""``theodolite trace annotate | calibrate | agree| noise``."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import percent, print_table
from theodolite.cli.trace_loading import Traces, VerifierName, load_judged, options_of
from theodolite.cli.trace_tables import counted_traces, number, show_problems
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.types import Trace
from theodolite.instruments.trace.data.dataset import Problem, read_episodes
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.data.traces import read_traces
from theodolite.instruments.trace.experiments.agreement import noise_sweep, verifier_agreement
from theodolite.instruments.trace.experiments.annotate import export_labels, score_labels
from theodolite.instruments.trace.formulas.tcs import calibrate_tau
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, judge, open_verifier

app = typer.Typer()
annotate = typer.Typer(
    no_args_is_help=True, help="Labels by people: write what to judge, compare what two of them wrote."
)
app.add_typer(annotate, name="annotate")


@annotate.command("export")
def annotate_export(
    data: o.Data,
    traces: Traces,
    file: Annotated[Path, typer.Option("--out", metavar="FILE", help="The label file to write.")],
    n: Annotated[int, typer.Option("--n", min=1, help="How many steps.")] = 120,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Write the claims of some steps for people to label."""
    loaded = load_judged(data, traces, options_of("annotation", "exclude", "whole", "abstract", seed))
    written = export_labels(loaded.judged, loaded.episodes, file, n_steps=n, seed=seed)
    if json:
        print_json({"labels": str(file), "claims": written, "problems": _plain(loaded.problems)})
        return
    note(f"wrote {written} claims to {file}")
    show_problems(loaded.problems)


@annotate.command("score")
def annotate_score(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE [FILE]", help="The filled-in files of one or two people.")
    ],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="PATH", help="The episodes, to compare with a verifier.")
    ] = None,
    traces: Annotated[
        Path | None, typer.Option("--traces", metavar="FILE", help="The traces, likewise.")
    ] = None,
    verifier: VerifierName = "annotation",
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Compare the labels of two people with each other, and with the verifier: κ, SGR and HR."""
    if (data is None) != (traces is None):
        raise UsageError("--data and --traces go together: the verifier judges the traces by the episodes")
    judged: list[JudgedTrace] = []
    problems: list[Problem] = []
    if data is not None and traces is not None:
        loaded = load_judged(data, traces, options_of(verifier, "exclude", "whole", "abstract", seed))
        judged, problems = loaded.judged, loaded.problems
    result = score_labels(files, judged=judged, seed=seed)
    result = replace(result, problems=(*problems, *result.problems))
    if json:
        print_json(asdict(result))
        return
    print_table(
        ["by", "SGR", "HR", "unverifiable", "same label as the verifier", "κ with it", "labels"],
        [
            [
                p.name,
                percent(p.sgr),
                percent(p.hr),
                percent(p.unverifiable),
                percent(p.agreement),
                number(p.against_verifier),
                str(p.n_labels),
            ]
            for p in result.people
        ],
    )
    if len(files) == 2:
        out.print(
            Text(
                f"between them: κ {number(result.kappa)}, same label {percent(result.agreement)}, {result.n_shared} claims"
            )
        )
    show_problems(result.problems)


@app.command("calibrate")
def calibrate(
    pairs: Annotated[
        Path, typer.Argument(metavar="FILE", help='JSONL: {"first": …, "second": …, "same": true}.')
    ],
    json: o.AsJson = False,
) -> None:
    """Choose τ, the similarity above which two beliefs are the same, on labelled pairs."""
    result = calibrate_tau(_read_pairs(pairs))
    if json:
        print_json(asdict(result))
        return
    print_table(
        ["τ", "accuracy (leave one out)", "accuracy at τ = 0.8", "same", "changed"],
        [
            [
                f"{result.tau:.3f}",
                percent(result.accuracy),
                percent(result.accuracy_at_paper),
                str(result.n_same),
                str(result.n_changed),
            ]
        ],
    )


def _read_pairs(file: Path) -> list[tuple[str, str, bool]]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from error
    rows = []
    for number_, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json_text.loads(line)
            first, second, same = row["first"], row["second"], row["same"]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f'{file}, line {number_}: needs "first", "second" and "same" ({error})'
            ) from None
        if not isinstance(same, bool):
            raise UsageError(f'{file}, line {number_}: "same" is true or false, not {same!r}')
        rows.append((str(first), str(second), same))
    return rows


def _plain(problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [asdict(problem) for problem in problems]


def _read(data: Path, traces: Path) -> tuple[list[Trace], dict[str, Episode], list[Problem]]:
    """Traces without claims yet, the episodes by id, and what was wrong with either."""
    found = read_episodes(data)
    episodes = {episode.id: episode for episode in found.episodes}
    read, problems = read_traces(traces, episodes)
    odd = [Problem(trace.episode, problem) for trace in read for problem in trace.problems]
    return read, episodes, [*found.problems, *problems, *odd]


@app.command("agree")
def agree(
    data: o.Data,
    traces: Traces,
    verifiers: Annotated[
        str, typer.Option("--verifiers", metavar="LIST", help="At least two, separated by commas.")
    ],
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """How far verifiers agree: same labels and κ over claims, ρ over traces."""
    opened = [open_verifier(v.strip()) for v in verifiers.split(",")]
    read, episodes, problems = _read(data, traces)
    found = verifier_agreement(with_claims(read), episodes, opened, seed=seed)
    problems = list(dict.fromkeys([*problems, *(failure for a in found for failure in a.failures)]))
    if json:
        print_json({"agreements": [asdict(a) for a in found], "problems": _plain(problems)})
        return
    print_table(
        [
            "first",
            "second",
            "same label",
            "κ, three labels",
            "κ, both judged",
            "ρ of SGR",
            "claims",
            "both judged",
        ],
        [
            [
                a.first,
                a.second,
                percent(a.same),
                number(a.kappa),
                number(a.kappa_judged),
                number(a.rho),
                str(a.n_claims),
                str(a.n_both_judged),
            ]
            for a in found
        ],
    )
    show_problems(problems)


@app.command("noise")
def noise(
    data: o.Data,
    traces: Traces,
    rates: Annotated[
        str, typer.Option("--rates", metavar="LIST", help="Shares of verdicts to turn round.")
    ] = "0,0.02,0.05,0.08,0.1",
    verifier: VerifierName = "annotation",
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """What a verifier's errors would do to the figures."""
    try:
        shares = [float(word) for word in rates.split(",")]
    except ValueError:
        raise UsageError(f"--rates takes numbers separated by commas, not {rates!r}") from None
    judge_by = open_verifier(verifier)
    read, episodes, problems = _read(data, traces)
    claimed = with_claims(read)
    found = noise_sweep(claimed, episodes, judge_by, rates=shares, seed=seed)
    if any(g.n_failed for _, g in found):
        judged = judge(claimed, episodes, judge_by)
        problems += [Problem(t.trace.episode, t.failure) for t in judged if t.failure]
    if json:
        rows = [{"rate": rate, **asdict(g)} for rate, g in found]
        print_json({"rates": rows, "problems": _plain(problems)})
        return
    print_table(
        ["errors", "SGR", "HR", "traces"],
        [[f"{rate:.0%}", percent(g.sgr), percent(g.hr), counted_traces(g)] for rate, g in found],
    )
    show_problems(problems)
