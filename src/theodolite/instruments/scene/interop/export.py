"""Exports a data set or a run to CRISP-Bench."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.interop.crisp import write_crisp
from theodolite.instruments.scene.interop.crisp_logs import write_crisp_run
from theodolite.instruments.scene.interop.crisp_questions import NumericType
from theodolite.runs import Run

NUMERIC_TYPE: Mapping[str, NumericType] = {"crisp": "NAQ", "crisp-na": "NA"}
"""By format: ``crisp-na`` calls questions for a number NA, as CRISP-Bench's task code does; ``crisp`` NAQ, as its generator."""


def export_run(run: Run, folder: Path, to: str) -> dict[str, int]:
    """Writes the graphs and answers of a run, as logs that CRISP-Bench's scorers read. Returns how many."""
    graphs, answers = write_crisp_run(run, folder, numeric_type=NUMERIC_TYPE[to])
    return {"graphs": graphs, "answers": answers}


def export_data(data: SceneData, folder: Path, to: str) -> dict[str, int]:
    """Writes a data set. Returns the number of scenes and questions."""
    write_crisp(data, folder, numeric_type=NUMERIC_TYPE[to])
    return {"scenes": len(data.scenes), "questions": len(data.questions)}
