"""The result of a benchmark."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """A measured value and its limit."""

    what: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def is_met(self) -> bool:
        """True if the value is within its limit. A result without a limit is informative only."""
        above = self.at_most is not None and self.value > self.at_most
        below = self.at_least is not None and self.value < self.at_least
        return not above and not below

    def __str__(self) -> str:
        limit = ""
        if self.at_most is not None:
            limit = f"limit ≤ {self.at_most:g}"
        if self.at_least is not None:
            limit = f"limit ≥ {self.at_least:g}"
        verdict = ("ok" if self.is_met else "MISSED") if limit else ""
        return f"{self.what:52} {self.value:10.3f} {self.unit:8} {limit:14} {verdict}"
