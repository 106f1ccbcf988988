r"""InterSHAP: the share of interaction in each scene's output (Wenderoth et al. 2025).

From the cross matrix of `emap`: with v12 = F_ii, v1 = mean_j F_ij, v2 = mean_i F_ij and v0 = μ, the interaction
v12 + v0 − v1 − v2 of two modalities is R_ii.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from theodolite.instruments.grid.explainers.contract import Explainer
from theodolite.instruments.grid.explainers.emap import Projection, project_pool
from theodolite.instruments.grid.explainers.pool import Pool


def share_of_means(projection: Projection) -> float | None:
    """|mean R_ii| / (|mean a_i| + |mean b_i| + |mean R_ii|): the original code's number for a data set.

    Over its own background the means of a and b are 0, so this is 1 whenever it is defined.
    """
    parts = (np.diag(projection.residual), projection.rows, projection.columns)
    own, row, column = (abs(float(np.mean(part))) for part in parts)
    total = own + row + column
    return own / total if total > 1e-12 else None


def intershap(pool: Pool) -> Mapping[str, float]:
    """The mean local share, the later package's, and the share of means."""
    projection = project_pool(pool)
    found = {}
    for name, weight in (("local_share", 1.0), ("local_share_counted_once", 0.5)):
        shares = projection.local_shares(weight=weight)
        if not np.isnan(shares).all():
            found[name] = float(np.nanmean(shares))
    means = share_of_means(projection)
    return found if means is None else found | {"share_of_means": means}


INTERSHAP = Explainer(
    "intershap",
    "the share of interaction in each scene's own output, averaged",
    summarise=intershap,
    paper="Wenderoth et al. 2025, InterSHAP",
    caveat="the same number as EMAP's residual at the scene itself",
)
