"""What a benchmark yields."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value and the bar it should meet."""

    what: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def is_met(self) -> bool:
        """Whether the value keeps to its bar; a figure without one is for information."""
        above = self.at_most is not None and self.value > self.at_most
        below = self.at_least is not None and self.value < self.at_least
        return not above and not below

    def __str__(self) -> str:
        bar = ""
        if self.at_most is not None:
            bar = f"bar ≤ {self.at_most:g}"
        if self.at_least is not None:
            bar = f"bar ≥ {self.at_least:g}"
        verdict = ("ok" if self.is_met else "MISSED") if bar else ""
        return f"{self.what:52} {self.value:10.3f} {self.unit:8} {bar:12} {verdict}"
