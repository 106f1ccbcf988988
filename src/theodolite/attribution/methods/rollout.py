"""Attention rollout (Abnar and Zuidema, ACL 2020): R ← (mean over heads of A + I)/2 · R, read at the last row.

It knows no target: the same map explains every answer.
"""

from __future__ import annotations

from theodolite.attribution.method import Method
from theodolite.attribution.needs import Need

ROLLOUT = Method(
    name="attention-rollout",
    summary="attention multiplied through all layers; explains no answer in particular",
    paper="Abnar and Zuidema, ACL 2020",
    needs=Need.ATTENTION,
    score=lambda evidence, _: evidence.rollout(),
    has_target=False,
)
