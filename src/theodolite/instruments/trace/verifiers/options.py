"""What stands after a verifier's name: ``PATH?threshold=0.5&recall=FILE``."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from theodolite.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class VerifierOptions:
    """A target, and settings by name."""

    target: str
    settings: dict[str, str]

    @classmethod
    def read(cls, text: str, name: str, allowed: tuple[str, ...]) -> VerifierOptions:
        """Splits the text and refuses settings that the verifier does not have."""
        target, _, rest = text.partition("?")
        settings = dict(parse_qsl(rest, keep_blank_values=True))
        unknown = sorted(set(settings) - set(allowed))
        if unknown:
            raise UsageError(
                f"the verifier {name!r} has no option {unknown[0]!r}; it has {', '.join(allowed) or 'none'}"
            )
        return cls(target, settings)

    def number(self, name: str, default: float, *, low: float = 0.0, high: float = 1.0) -> float:
        """A setting that is a number within bounds."""
        try:
            value = float(self.settings.get(name, default))
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise UsageError(f"{name} lies in [{low:g}, {high:g}], got {self.settings.get(name)!r}")
        return value
