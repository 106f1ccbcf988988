"""Rows as Markdown, and estimates as words."""

from __future__ import annotations

from collections.abc import Sequence

from theodolite.stats import Estimate

KEEP = "&nbsp;"
"""A space at which no line breaks."""


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [_line(columns), _line(["---"] * len(columns)), *(_line(row) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def percent(estimate: Estimate | None) -> str:
    """Return a share with its interval."""
    if estimate is None:
        return "–"
    return f"{100 * estimate.value:.1f}{KEEP}% [{100 * estimate.low:.1f},{KEEP}{100 * estimate.high:.1f}]"


def number(estimate: Estimate | None, digits: int = 2) -> str:
    """Return a figure with its interval."""
    if estimate is None:
        return "–"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f},{KEEP}{estimate.high:.{digits}f}]"
