"""``theodolite trace annotate | calibrate | agree | noise | train-parser``."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from theodolite.cli import _options as o
from theodolite.cli._output import note, out, percent, print_json, print_table
from theodolite.cli._trace_loading import Traces, VerifierName, load_judged, options_of
from theodolite.cli._trace_tables import number, show_problems
from theodolite.errors import UsageError
from theodolite.trace import (
    JudgedTrace,
    export_labels,
    open_verifier,
    read_episodes,
    read_traces,
    score_labels,
    with_claims,
)
from theodolite.trace.metrics import calibrate_tau, noise_sweep, verifier_agreement
from theodolite.trace.training import STEPS, train_parser

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
    print_json({"labels": str(file), "claims": written}) if json else note(
        f"wrote {written} claims to {file}"
    )
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
    judged: list[JudgedTrace] = []
    if data is not None and traces is not None:
        judged = load_judged(data, traces, options_of(verifier, "exclude", "whole", "abstract", seed)).judged
    result = score_labels(files, judged=judged, seed=seed)
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
    rows = []
    for number_, line in enumerate(pairs.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json_text.loads(line)
            rows.append((str(row["first"]), str(row["second"]), bool(row["same"])))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f'{pairs}, line {number_}: needs "first", "second" and "same" ({error})'
            ) from None
    result = calibrate_tau(rows)
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
    """How far verifiers agree: κ over claims, ρ over traces."""
    episodes = {episode.id: episode for episode in read_episodes(data).episodes}
    read, problems = read_traces(traces, episodes)
    found = verifier_agreement(
        with_claims(read), episodes, [open_verifier(v.strip()) for v in verifiers.split(",")], seed=seed
    )
    if json:
        print_json([asdict(a) for a in found])
        return
    print_table(
        ["first", "second", "κ, three labels", "κ, both judged", "ρ of SGR", "claims", "both judged"],
        [
            [
                a.first,
                a.second,
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
    episodes = {episode.id: episode for episode in read_episodes(data).episodes}
    read, problems = read_traces(traces, episodes)
    found = noise_sweep(with_claims(read), episodes, open_verifier(verifier), rates=shares, seed=seed)
    if json:
        print_json([{"rate": rate, **asdict(g)} for rate, g in found])
        return
    print_table(
        ["errors", "SGR", "HR"], [[f"{rate:.0%}", percent(g.sgr), percent(g.hr)] for rate, g in found]
    )
    show_problems(problems)


@app.command("train-parser")
def train_parser_command(
    data: o.Data,
    out_folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the pipeline goes.")],
    steps: Annotated[int, typer.Option("--steps", min=1, help="Of training.")] = STEPS,
    json: o.AsJson = False,
) -> None:
    """Train the small English parser anew, on UD English-EWT in spaCy's binary format."""
    result = train_parser(data, out_folder, steps=steps)
    print_json(asdict(result)) if json else note(f"wrote {out_folder}: {result}")
