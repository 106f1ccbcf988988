"""Other people's files: CRISP-Bench's own, lmms-eval task folders, VLMEvalKit's TSV, inspect_ai logs.

Answers that others have logged come in through the model ``replay:<log>``: `theodolite scene run --model replay:LOGS` asks the
log instead of a model.

- `read_crisp`, `write_crisp`: scene graphs, marks, questions (``NA`` and ``NAQ``), graph tasks
- `write_crisp_answers`, `write_graphs`: a model's answers and graphs, and any graphs by picture
- `write_lmms_eval`, `write_vlmevalkit`: the items of a plan or of a run
- `write_inspect`: a measured run
"""

from __future__ import annotations

from theodolite.scene._interop.crisp import read_crisp, write_crisp, write_crisp_answers, write_graphs
from theodolite.scene._interop.inspect_log import write_inspect
from theodolite.scene._interop.lmms_eval import write_lmms_eval
from theodolite.scene._interop.vlmevalkit import write_vlmevalkit

__all__ = [
    "read_crisp",
    "write_crisp",
    "write_crisp_answers",
    "write_graphs",
    "write_inspect",
    "write_lmms_eval",
    "write_vlmevalkit",
]
