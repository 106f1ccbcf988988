"""EA, edge accuracy (equation 7): the share of samples with DAE ≤ 45°. Octant accuracy (A.4): the share with DAE ≤ 22.5°.

Guessing a sector gives a quarter, or three eighths if sectors are centred on cardinal directions; on real pictures the
uniform map often gives more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

EDGE_DEG, OCTANT_DEG = 45.0, 22.5
_ROUNDING_DEG = 1e-9
"""An error of 45 degrees is within 45 degrees, whatever its last digit."""


def edge_hit(error_deg: ArrayLike) -> NDArray[np.bool_]:
    """True where an error is at most 45°; the mean is EA.

    >>> edge_hit([22.5, 45, 45.1]).tolist()
    [True, True, False]
    """
    return np.asarray(error_deg, np.float64) <= EDGE_DEG + _ROUNDING_DEG


def octant_hit(error_deg: ArrayLike) -> NDArray[np.bool_]:
    """True where an error is at most 22.5°; the mean is the octant accuracy.

    >>> octant_hit([22.5, 45]).tolist()
    [True, False]
    """
    return np.asarray(error_deg, np.float64) <= OCTANT_DEG + _ROUNDING_DEG
