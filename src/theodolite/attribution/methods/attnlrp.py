"""AttnLRP (Achtibat et al., ICML 2024): relevance of each token at the first language layer, propagated by rules.

    r_j = | Σ_d R_{j,d} |

The rules are described in `theodolite.attribution.rules`. Relevance has a sign: tokens may speak for or against the
answer. The compass needs a mass, so the absolute value is taken, as in equation 3 of CREG.
"""

from __future__ import annotations

from theodolite.attribution.method import Method, Need

ATTNLRP = Method(
    name="attnlrp",
    summary="relevance propagated through all layers by rules",
    paper="Achtibat et al., ICML 2024",
    needs=Need.RULES,
    score=lambda evidence, target: evidence.propagated[target].abs(),
)
