"""How the compass's figures look in a table: value and interval, short."""

from __future__ import annotations

from collections.abc import Mapping

from theodolite.stats import Estimate

NOTHING = "–"


def degrees(figure: Estimate | None, *, signed: bool = False) -> str:
    """An angle with its interval in whole degrees.

    >>> degrees(Estimate(55.52, 50.1, 61.4, n=300, level=0.95, method="BCa"))
    '55.5 [50, 61]'
    """
    if figure is None:
        return NOTHING
    if signed:
        return f"{figure.value:+.1f} [{figure.low:+.0f}, {figure.high:+.0f}]"
    return f"{figure.value:.1f} [{figure.low:.0f}, {figure.high:.0f}]"


def share(figure: Estimate | None, *, signed: bool = False) -> str:
    """A share between 0 and 1 with its interval, without leading zeros.

    >>> share(Estimate(0.553, 0.5, 0.61, n=300, level=0.95, method="percentile"))
    '.553 [.50, .61]'
    """
    if figure is None:
        return NOTHING
    sign = "+" if signed else ""
    value, low, high = f"{figure.value:{sign}.3f}", f"{figure.low:{sign}.2f}", f"{figure.high:{sign}.2f}"
    return f"{_bare(value)} [{_bare(low)}, {_bare(high)}]"


def hundredths(figure: Estimate | None) -> str:
    """A share in whole per cent, without its interval, for narrow columns."""
    return NOTHING if figure is None else f"{100 * figure.value:.0f}"


def counts(found: Mapping[str, int]) -> str:
    """Counts with their reasons."""
    return "; ".join(f"{count} × {reason}" for reason, count in found.items()) or "none"


def _bare(text: str) -> str:
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text
