"""``theodolite scene export``: data sets and runs in other people's formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.core.errors import UsageError
from theodolite.core.types import Item
from theodolite.instruments.scene.data.files import SceneData, read_data
from theodolite.instruments.scene.interop.crisp import write_crisp, write_crisp_answers
from theodolite.instruments.scene.interop.inspect_log import write_inspect
from theodolite.instruments.scene.interop.lmms_eval import write_lmms_eval
from theodolite.instruments.scene.interop.vlmevalkit import write_vlmevalkit
from theodolite.instruments.scene.questions import Settings, plan_scenes
from theodolite.runs import Run

NewFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")]
"""Of commands that write files and are no runs: nothing goes on there."""
FORMATS = ("crisp", "lmms-eval", "vlmevalkit", "inspect")


def export(
    source: Annotated[Path, typer.Argument(metavar="RUN_OR_DIR", help="A run, or a data set of scenes.")],
    folder: NewFolder,
    to: Annotated[str, typer.Option("--to", metavar="|".join(FORMATS), help="The format.")],
    na: Annotated[
        bool, typer.Option("--na", help="Of crisp: call questions for a number NA, not NAQ.")
    ] = False,
    json: o.AsJson = False,
) -> None:
    """Write a data set or a run for CRISP-Bench, lmms-eval, VLMEvalKit or inspect_ai."""
    if to not in FORMATS:
        raise UsageError(f"--to takes {', '.join(FORMATS)}, not {to!r}")
    is_run = (source / "run.json").exists()
    if is_run:
        with Run.open(source) as run:
            written = _export_run(run, folder, to)
    else:
        written = _export_data(read_data(source), folder, to, numeric_type="NA" if na else "NAQ")
    if json:
        print_json({"to": to, "folder": str(folder), "written": written})
        return
    for name, n in written.items():
        note(f"{n:>7} {name}")
    note(f"wrote {to} into {folder}")


def _export_run(run: Run, folder: Path, to: str) -> dict[str, int]:
    if run.info.instrument != "scene":
        raise UsageError(f"{run.folder} is a run of {run.info.instrument!r}, not of 'scene'")
    if to == "crisp":
        graphs, answers = write_crisp_answers(run, folder)
        return {"graphs": graphs, "answers": answers}
    if to == "inspect":
        return {path.name: n for path, n in write_inspect(run, folder).items()}
    return _export_items([result.item for result in run.results()], folder, to)


def _export_data(data: SceneData, folder: Path, to: str, *, numeric_type: Any) -> dict[str, int]:
    if to == "crisp":
        write_crisp(data, folder, numeric_type=numeric_type)
        return {"scenes": len(data.scenes), "questions": len(data.questions)}
    if to == "inspect":
        raise UsageError(
            "inspect_ai logs hold answers: export a run (`theodolite scene run` makes one), not a data set"
        )
    if all(scene.marked for scene in data.scenes.values()):
        settings = Settings(qa=("base", "blind", "true graph", "true graph alone"))
    else:
        note("this data set has no pictures: only what is asked without one is exported")
        settings = Settings(qa=("blind", "true graph alone"), graph=("blind",))
    return _export_items(list(plan_scenes(data, settings)), folder, to)


def _export_items(items: Sequence[Item], folder: Path, to: str) -> dict[str, int]:
    if to == "vlmevalkit":
        return write_vlmevalkit(items, folder)
    return dict.fromkeys(write_lmms_eval(items, folder), 1)
