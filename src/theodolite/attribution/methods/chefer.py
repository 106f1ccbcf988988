"""Gradient-weighted attention, propagated through all layers (Chefer, Gur and Wolf, ICCV 2021, rules 5 and 6).

    C_l = mean over heads of (A_l ∘ ∂z/∂A_l)⁺,   R ← R + C_l R from the first layer to the last,   relevance = last row of R − I

The CREG paper says "then cumulative rollout is computed as with standard attention rollout". This can also be read as
normalising the rows of C_l + I; that version is ``chefer-normalised``.
"""

from __future__ import annotations

from theodolite.attribution.method import Method, Need

CHEFER = Method(
    name="chefer",
    summary="gradient-weighted attention through all layers",
    paper="Chefer, Gur and Wolf, ICCV 2021",
    needs=Need.ATTENTION_GRADIENT,
    score=lambda evidence, target: evidence.flows[target],
)

CHEFER_NORMALISED = Method(
    name="chefer-normalised",
    summary="the same with the rows of every layer normalised, as in rollout",
    paper="Chefer, Gur and Wolf, ICCV 2021, as worded by CREG, A.11",
    needs=Need.ATTENTION_GRADIENT,
    score=lambda evidence, target: evidence.normalised_flows[target],
)
