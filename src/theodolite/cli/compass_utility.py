"""``theodolite compass utility``: does a compass tell right answers from wrong ones, and can it answer itself?"""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.compass_cells import NOTHING, degrees, share
from theodolite.cli.compass_details import show_published
from theodolite.cli.compass_figures import save_risk_coverage
from theodolite.cli.compass_score import Figures, Methods, NegativeRelevance, PromptName, one_of, words
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import p_value, percent, points, print_table
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.utility import RerankRow
from theodolite.instruments.compass.experiments.utility_score import (
    UtilityScore,
    UtilitySettings,
    score_utility,
    utility_curves,
)
from theodolite.instruments.compass.samples import read_samples
from theodolite.instruments.compass.score_records import PROJECTIONS
from theodolite.runs import Run


def utility(  # noqa: PLR0913, PLR0917 - one parameter per option
    run: o.RunFolder,
    projection: Annotated[
        str, typer.Option("--projection", metavar="paper|sound", help="How maps become directions.")
    ] = "paper",
    coverage: Annotated[
        str, typer.Option("--coverage", metavar="LIST", help="Shares of the answers to keep.")
    ] = "0.7",
    readout: Annotated[
        str, typer.Option("--readout", metavar="peak|mean", help="Which direction stands for a compass.")
    ] = "peak",
    methods: Methods = "all",
    prompt: PromptName = "",
    negative: NegativeRelevance = "error",
    figures: Figures = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Diagnosis, selective prediction and re-ranking from a run's stored maps; no model is called."""
    settings = UtilitySettings(
        projection=one_of(projection, tuple(PROJECTIONS), "--projection"),
        coverages=tuple(_number(word, "--coverage") for word in words(coverage)),
        readout=one_of(readout, ("peak", "mean"), "--readout"),
        methods=() if methods == "all" else tuple(words(methods)),
        prompt=prompt,
        negative=one_of(negative, ("error", "absolute", "positive"), "--negative"),
        seed=seed,
    )
    with Run.open(run, writable=True) as opened:
        result = score_utility(opened, settings)
        if figures is not None:
            curves = utility_curves(read_samples(opened), settings)
            save_risk_coverage(curves, figures, at=settings.coverages[0])
    print_json(result.as_json()) if json else _show(result, settings)


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option} takes numbers, not {text!r}") from None


def _show(result: UtilityScore, settings: UtilitySettings) -> None:
    title = (
        f"{result.model} · prompt {result.prompt} · {result.n} pairs on {result.n_pictures} pictures · "
        f"answers right {percent(result.accuracy)} · {settings.projection} projection"
    )
    print_table(
        ["method", "for", "AUC", "− uniform map's", "DAE right", "DAE wrong", "wrong − right"],
        [
            [
                row.method,
                row.target,
                share(row.auc),
                share(row.excess_auc, signed=True),
                degrees(row.correct_dae),
                degrees(row.incorrect_dae),
                degrees(row.gap, signed=True),
            ]
            for row in result.diagnosis
        ],
        title=f"{title}\ndoes a small error go with a right answer?",
    )
    show_published(result.published["diagnosis"])
    out.print()
    _show_selective(result)
    out.print()
    _show_rerank(result.rerank, "the compass as the answer, σ without the target's box")
    if result.rerank_as_published:
        out.print()
        _show_rerank(result.rerank_as_published, "the same with the paper's σ, which is made from that box")
    show_published(result.published["rerank"])
    out.print(
        "upper bound: maps made for the true answer. EA: what CREG reports as re-ranking accuracy. "
        "p: signs flipped picture by picture, Holm over the rows that answer.",
        style="dim",
    )
    for reason, count in result.left_out.items():
        note(f"left out of the score: {count} × {reason}")


def _show_selective(result: UtilityScore) -> None:
    coverages = list(result.selective[0].accuracy_at)
    print_table(
        [
            "confidence",
            "source",
            "right of all",
            *(f"right at {float(c):.0%}" for c in coverages),
            "AURC",
            "E-AURC",
            "n",
        ],
        [
            [
                row.score,
                row.source,
                percent(row.accuracy),
                *(percent(row.accuracy_at[c]) for c in coverages),
                share(row.aurc),
                share(row.excess_aurc),
                str(row.n),
            ]
            for row in result.selective
        ],
        title="answering only where one is sure (lower AURC is better)",
    )
    show_published(result.published["selective"])


def _show_rerank(rows: tuple[RerankRow, ...], title: str) -> None:
    print_table(
        ["method", "for", "role", "right", "− model", "p", "p (Holm)", "− uniform map", "EA", "n"],
        [
            [
                row.method,
                row.target,
                row.role,
                percent(row.accuracy),
                points(row.gain) if row.gain is not None else NOTHING,
                p_value(row.gain.p_value) if row.gain and row.gain.p_value is not None else NOTHING,
                p_value(row.p_holm) if row.p_holm is not None else NOTHING,
                points(row.excess) if row.excess is not None else NOTHING,
                share(row.edge_accuracy),
                str(row.n),
            ]
            for row in rows
        ],
        title=title,
    )
