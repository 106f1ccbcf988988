"""Attention rollout (Abnar and Zuidema, ACL 2020): R ← (mean over heads of A + I)/2 · R, read at the last row.

It has no target: the same map explains every answer.
"""

from __future__ import annotations

from theodolite.attribution.method import Method, Need

ROLLOUT = Method(
    name="attention-rollout",
    summary="attention multiplied through all layers; does not depend on the answer",
    paper="Abnar and Zuidema, ACL 2020",
    needs=Need.ATTENTION,
    score=lambda evidence, target: evidence.rollout(target),
    has_target=False,
)
