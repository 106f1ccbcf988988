"""``theodolite trace calibrate-similarity``: a CLIP that compares sentences with frames."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.output import percent, print_table
from theodolite.cli.trace_tables import number
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.verifiers.similarity import SHIPPED as SHIPPED_CLIP
from theodolite.instruments.trace.verifiers.similarity_bounds import CALIBRATION
from theodolite.instruments.trace.verifiers.similarity_calibration import (
    SimilarityCalibration,
    calibrate_similarity,
    write_calibration,
)
from theodolite.instruments.trace.verifiers.similarity_card import card_text
from theodolite.instruments.trace.verifiers.similarity_clip import ClipLikeness

app = typer.Typer()


@app.command("calibrate-similarity")
def calibrate_similarity_command(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="PATH", help="Annotated episodes; may be repeated.")
    ],
    model: Annotated[
        str, typer.Option("--model", metavar="FOLDER", help="A CLIP checkpoint or hub id; by default ours.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help=f"A file, or a folder that {CALIBRATION} goes into; by default beside a checkpoint that is named.",
        ),
    ] = None,
    error: Annotated[
        float, typer.Option("--error", min=0, max=0.5, help="How often a bound may be wrong.")
    ] = 0.02,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Measure how well a CLIP tells true claims from false ones, and set the bounds of its verdicts.

    Without --model it measures the one that ships, and only shows what it finds unless --out says where to write it.
    """
    source = model or str(SHIPPED_CLIP)
    record = _training(Path(source))
    target = _target(model, out)
    sets = [read_episodes(path) for path in data]
    episodes = [episode for each in sets for episode in each.episodes]
    result = calibrate_similarity(ClipLikeness(source), episodes, error=error, seed=seed)
    try:
        if target is not None:
            write_calibration(result, target, model=Path(source).name, words=record.get("words", ()))
        if target is not None and record and out is None:
            told = card_text(
                result,
                record,
                size_bytes=(Path(source) / "model.safetensors").stat().st_size,
                data=_data_words([each.manifest for each in sets]),
            )
            target.with_name("README.md").write_text(told, encoding="utf-8")
    except OSError as why:
        raise UsageError(f"cannot write {target}: {why.strerror}") from why
    for each in sets:
        for problem in each.problems[:5]:
            note(f"{problem.where}: {problem.reason}")
    if json:
        print_json(asdict(result))
        return
    _show(result, source)
    if target is None:
        note("the calibration that ships is left as it is; --out PATH writes this one")
    elif out is not None:
        note(f"use it as --verifier 'similarity:{model}?calibration={target}'")


def _target(model: str, out: Path | None) -> Path | None:
    """Where the calibration goes; None where the model is that of the installed package and no place is named."""
    if out is None and not model:
        return None
    target = out or Path(model) / CALIBRATION
    if target.is_dir():
        target /= CALIBRATION
    if not target.parent.is_dir():
        raise UsageError(
            f"{target.parent} is no folder to write the calibration into; name a file with --out"
        )
    return target


def _training(folder: Path) -> dict[str, Any]:
    """What the training recorded, if it was done here."""
    try:
        return dict(json_text.loads((folder / "training.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _data_words(manifests: list[Any]) -> str:
    told = [f"`{m.source}`" if m.source else m.world for m in manifests if m is not None]
    return ", ".join(told) or "annotated episodes"


def _show(result: SimilarityCalibration, source: str) -> None:
    print_table(
        [
            "world",
            "claims",
            "AUC",
            "judged",
            "right, of those",
            "supported from",
            "unsupported up to",
            "true",
            "false",
        ],
        [
            [
                world or "–",
                form,
                number(k.auc, 3),
                percent(k.judged),
                percent(k.right),
                "–" if k.high is None else f"{k.high:.2g}",
                "–" if k.low is None else f"{k.low:.2g}",
                str(k.n_true),
                str(k.n_false),
            ]
            for world, told in result.by_world.items()
            for form, k in told.items()
        ],
        title=f"{source}, against the annotations of {result.n_units} episodes",
    )
    for where, why in result.left_out.items():
        note(f"{where}: not judged, {why}")
    if result.n_undecided:
        note(f"{result.n_undecided} claims are left out: the annotations are silent about them")
    if result.n_unread:
        note(f"pictures that cannot be read, left out: {result.n_unread}")
