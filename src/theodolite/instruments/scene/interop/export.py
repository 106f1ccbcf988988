"""Exports a data set or a run to other tools: CRISP-Bench, lmms-eval, VLMEvalKit, inspect_ai."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.types import Item
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.interop.crisp import write_crisp
from theodolite.instruments.scene.interop.crisp_logs import write_crisp_run
from theodolite.instruments.scene.interop.crisp_questions import NumericType
from theodolite.instruments.scene.interop.inspect_log import write_inspect
from theodolite.instruments.scene.interop.lmms_eval import write_lmms_eval
from theodolite.instruments.scene.interop.vlmevalkit import write_vlmevalkit
from theodolite.instruments.scene.questions import Settings, plan_scenes
from theodolite.instruments.scene.reading.results import RUN_KINDS
from theodolite.runs import Run

FORMATS = ("crisp", "crisp-na", "lmms-eval", "vlmevalkit", "inspect")
"""``crisp-na`` calls questions for a number NA, as CRISP-Bench's task code does; ``crisp`` NAQ, as its generator."""
_NUMERIC_TYPE: Mapping[str, NumericType] = {"crisp": "NAQ", "crisp-na": "NA"}


def export_run(run: Run, folder: Path, to: str) -> dict[str, int]:
    """Writes a run.

    Args:
        run: Measured.
        folder: Where to write.
        to: One of `FORMATS`.

    Returns:
        How many entries were written, by name.
    """
    if run.info.instrument not in RUN_KINDS:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of scene")
    if to in _NUMERIC_TYPE:
        graphs, answers = write_crisp_run(run, folder, numeric_type=_NUMERIC_TYPE[to])
        return {"graphs": graphs, "answers": answers}
    if to == "inspect":
        return {path.name: n for path, n in write_inspect(run, folder).items()}
    return _export_items([result.item for result in run.results()], folder, to)


def export_data(data: SceneData, folder: Path, to: str) -> dict[str, int]:
    """Writes a data set; of one without pictures only what is asked without them.

    Args:
        data: The data set.
        folder: Where to write.
        to: One of `FORMATS` except ``inspect``, whose logs hold answers.

    Returns:
        How many entries were written, by name.
    """
    if to in _NUMERIC_TYPE:
        write_crisp(data, folder, numeric_type=_NUMERIC_TYPE[to])
        return {"scenes": len(data.scenes), "questions": len(data.questions)}
    if to == "inspect":
        raise UsageError(
            "inspect_ai logs hold answers: export a run (`theodolite scene run` makes one), not a data set"
        )
    if all(scene.marked for scene in data.scenes.values()):
        settings = Settings(qa=("base", "blind", "true graph", "true graph alone"))
    else:
        settings = Settings(qa=("blind", "true graph alone"), graph=("blind",))
    return _export_items(list(plan_scenes(data, settings)), folder, to)


def _export_items(items: Sequence[Item], folder: Path, to: str) -> dict[str, int]:
    if to == "vlmevalkit":
        return write_vlmevalkit(items, folder)
    if to == "lmms-eval":
        return write_lmms_eval(items, folder)
    raise UsageError(f"scenes are exported to {', '.join(FORMATS)}, not {to!r}")
