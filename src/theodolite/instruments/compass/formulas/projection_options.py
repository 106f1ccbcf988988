"""The choices of the projection: the paper's, ours, and everything in between."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError

Bins: TypeAlias = Literal["edge", "centre"]
"""``edge``: the first sector begins at 0°, so a cardinal direction is an edge (what the paper's numbers point to).
``centre``: the first sector is centred on 0°."""

Weight: TypeAlias = Literal["paper", "diagonal", "none"]
"""The Gaussian exp(-ρ²/2σ²). ``paper``: σ is a multiple of d_AB, which needs the target's box. ``diagonal``: σ is a share of
the picture's diagonal and does not depend on the target. ``none``: all distances count alike."""

Negative: TypeAlias = Literal["error", "absolute", "positive"]
"""Relevance below zero: raise an error, take its absolute value, or set it to zero."""

Tokens: TypeAlias = Literal["centre", "area"]
"""``centre``: a token counts as a whole in the sector where its centre is. ``area``: it counts in every sector by its area
there. Sectors contain different numbers of centres: on a grid of 16 × 16 the peak of a broad symmetric lobe can be off by 25
degrees more than the half sector that binning costs; by area, by at most one."""

PAPER_SIGMA = 0.6 * 2.0
"""σ over d_AB (A.11 of the paper: 0.6 · r_max, r_max = 2.0 · d_AB)."""


@dataclass(frozen=True, slots=True)
class ProjectionOptions:
    """All choices of the projection. The defaults are the paper's (`PAPER`); `SOUND` is ours."""

    sectors: int = 8
    """K, at least 3."""
    bins: Bins = "edge"
    weight: Weight = "paper"
    distance_factor: float = PAPER_SIGMA
    """σ over d_AB, for ``weight="paper"``."""
    diagonal_share: float = 0.35
    """σ over the picture's diagonal, for ``weight="diagonal"``. On 178 pairs of real COCO pictures the paper's σ has the
    median 0.344 of the diagonal."""
    negative: Negative = "error"
    leave_out_reference: bool = False
    """Leave out relevance on the reference's own box (of each token, what the box covers): a model that looks at A should not
    be penalised for the sectors into which A's own tokens fall."""
    by_area: bool = False
    """Weight tokens by their area, for maps that hold a density and not an amount per token."""
    tokens: Tokens = "centre"

    def __post_init__(self) -> None:
        if not isinstance(self.sectors, Integral) or self.sectors < 3:
            raise UsageError(f"a compass needs at least 3 sectors, not {self.sectors}")
        for name in ("distance_factor", "diagonal_share"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise UsageError(f"{name} must be above zero, not {getattr(self, name)}")
        for name, known in (("bins", Bins), ("weight", Weight), ("negative", Negative), ("tokens", Tokens)):
            if getattr(self, name) not in get_args(known):
                raise UsageError(
                    f"{name} must be one of {', '.join(get_args(known))}, not {getattr(self, name)!r}"
                )

    @property
    def first_edge(self) -> float:
        """Start of the first sector, in sector widths: 0, or half a width before 0°."""
        return 0.0 if self.bins == "edge" else -0.5


PAPER = ProjectionOptions()
"""Equations 1 and 2 as they stand: 8 sectors from 0°, σ = 1.2 · d_AB, every token at its centre."""

SOUND = ProjectionOptions(weight="diagonal", leave_out_reference=True, tokens="area")
"""Leaves out the reference's own box, takes a σ that does not depend on the target, and counts tokens by area."""

PROJECTIONS: Mapping[str, ProjectionOptions] = {"paper": PAPER, "sound": SOUND}
"""The two projections of every table."""


@dataclass(frozen=True, slots=True)
class ProjectionChanges:
    """Choices that replace those of every projection. None leaves each projection its own."""

    sectors: int | None = None
    bins: Bins | None = None
    sigma: str | None = None
    """As `read_sigma` reads it."""
    leave_out_reference: bool | None = None

    def of(self, options: ProjectionOptions) -> ProjectionOptions:
        """A projection with these choices."""
        chosen = {
            "sectors": self.sectors,
            "bins": self.bins,
            "leave_out_reference": self.leave_out_reference,
            **({} if self.sigma is None else read_sigma(self.sigma)),
        }
        return replace(options, **{name: value for name, value in chosen.items() if value is not None})

    @property
    def words(self) -> str:
        """The choices in words; empty if there is none.

        >>> ProjectionChanges(sectors=4, sigma="35%").words
        'K = 4, σ = 0.35 of the diagonal'
        """
        found = [] if self.sectors is None else [f"K = {self.sectors}"]
        if self.bins is not None:
            found.append("sectors from 0°" if self.bins == "edge" else "sectors centred on 0°")
        if self.sigma is not None:
            of = self.of(PAPER)
            sigmas = {"paper": f"σ = {of.distance_factor:g} d_AB", "none": "no distance weight"}
            found.append(sigmas.get(of.weight, f"σ = {of.diagonal_share:g} of the diagonal"))
        if self.leave_out_reference is not None:
            found.append(f"A's own tokens {'left out' if self.leave_out_reference else 'counted'}")
        return ", ".join(found)


def read_sigma(text: str) -> dict[str, Any]:
    """The options that a σ stands for: a multiple of d_AB, a percentage of the picture's diagonal, or ``none``.

    Raises:
        UsageError: It is none of these.

    >>> read_sigma("1.2"), read_sigma("35%")
    ({'weight': 'paper', 'distance_factor': 1.2}, {'weight': 'diagonal', 'diagonal_share': 0.35})
    """
    if text == "none":
        return {"weight": "none"}
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UsageError(
            f"σ is a multiple of the distance from A to B such as {PAPER_SIGMA:g}, a percentage of the diagonal such as 35%, "
            f"or none; not {text!r:.40}"
        )
    if text.endswith("%"):
        return {"weight": "diagonal", "diagonal_share": value / 100}
    return {"weight": "paper", "distance_factor": value}
