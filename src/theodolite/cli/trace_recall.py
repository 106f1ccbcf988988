"""``theodolite trace recall``: how often a detector finds what is there, class by class."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.output import percent, print_table
from theodolite.cli.trace_tables import show_problems
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.verifiers.detection import open_detector
from theodolite.instruments.trace.verifiers.recall import calibrate_recall, write_recall

app = typer.Typer()


@app.command("recall")
def recall(
    data: o.Data,
    detector: Annotated[
        str, typer.Option("--detector", metavar="PATH", help="An ONNX file, or a Hugging Face checkpoint.")
    ],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write the recall.")],
    threshold: Annotated[float, typer.Option("--threshold", min=0, max=1, help="The least score.")] = 0.4,
    json: o.AsJson = False,
) -> None:
    """Measure a detector's recall on annotated episodes, so that `not found` refutes only what it would have found."""
    episodes = read_episodes(data)
    measured = calibrate_recall(open_detector(detector), episodes.episodes, threshold=threshold)
    found, problems = measured.classes, (*episodes.problems, *measured.problems)
    if not found:
        show_problems(problems)
        raise UsageError(f"{data} has no picture with an annotated box that the detector has a label for")
    try:
        write_recall(found, out_file, detector=detector, threshold=threshold)
    except OSError as error:
        raise UsageError(f"cannot write {out_file}: {error.strerror}") from error
    if json:
        print_json(
            {
                "detector": detector,
                "threshold": threshold,
                "classes": {k: asdict(v) for k, v in found.items()},
                "problems": [asdict(problem) for problem in problems],
            }
        )
        return
    rows = [
        [name, percent(r.anywhere), percent(r.recall), percent(r.located), str(r.recall.n)]
        for name, r in found.items()
    ]
    print_table(
        ["class", "found anywhere", "found (IoU ≥ 0.1)", "placed (IoU ≥ 0.5)", "boxes"],
        rows,
        title=f"{detector} at {threshold:g}",
    )
    show_problems(problems)
    note(f"use it as --verifier 'detector:{detector}?threshold={threshold:g}&recall={out_file}'")
