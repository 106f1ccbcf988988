"""Why a map has no direction. `project` raises a `DegenerateError`; `project_batch` leaves the map out and counts it."""

from __future__ import annotations

from enum import StrEnum

from theodolite.core.errors import UsageError


class Exclusion(StrEnum):
    """Why a projection was left out. The value is the reason in words."""

    NOT_FINITE = "the relevance is NaN or infinite"
    EMPTY_GRID = "no token of the grid has a place in the picture"
    REFERENCE_OUTSIDE = "no token sees any of the reference's box"
    TARGET_OUTSIDE = "no token sees any of the target's box"
    COINCIDENT = "reference and target have the same centre, so there is no direction between them"
    ZERO_MASS = "no relevance is left in any sector"
    NO_MEAN = "the sectors cancel, so there is no mean direction"


class DegenerateError(UsageError):
    """A sample has no direction; `reason` says why."""

    def __init__(self, reason: Exclusion, detail: str = "") -> None:
        super().__init__(f"{reason.value}{f': {detail}' if detail else ''}")
        self.reason = reason
        self._detail = detail

    def __reduce__(self) -> tuple[type[DegenerateError], tuple[Exclusion, str]]:
        """Supports pickling, so that it can pass between processes."""
        return DegenerateError, (self.reason, self._detail)
