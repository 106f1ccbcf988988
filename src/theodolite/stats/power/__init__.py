"""How many items a study needs, and what a given number of items can show.

A design holds the effect that is looked for. `design.power(n)` is the chance to find it with n, and
`design.sample_size(power)` the smallest n that finds it with that chance. Two functions size a study by the
interval that is wanted in the place of a test.

>>> PairedProportionsDesign(gained=0.15, lost=0.05).sample_size(power=0.8)
155
"""

from theodolite.stats.power.designs import (
    AucDesign,
    CorrelationDesign,
    MeanDesign,
    PairedProportionsDesign,
    TwoProportionsDesign,
)
from theodolite.stats.power.precision import auc_sample_size, wilson_sample_size

__all__ = [
    "AucDesign",
    "CorrelationDesign",
    "MeanDesign",
    "PairedProportionsDesign",
    "TwoProportionsDesign",
    "auc_sample_size",
    "wilson_sample_size",
]
