"""The outcomes of pairs as one bar: followed, moved, unmoved and lost, in percent of the pairs."""

from __future__ import annotations

from dataclasses import dataclass

from theodolite.diagnose.record import Figure, LookingForm, PairsForm
from theodolite.diagnose.verdict import outcome_words

__all__ = ["Segment", "ShareBar", "share_bar"]

_NARROW = 6.0
"""Segments narrower than this, in percent, have no number inside."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One outcome. Coordinates are in percent of the width."""

    outcome: str
    x: float
    width: float
    label: str
    """The share as a whole number, or nothing if it would not fit."""


@dataclass(frozen=True, slots=True)
class ShareBar:
    """The outcomes of some pairs."""

    segments: tuple[Segment, ...]
    low: float
    high: float
    """The ends of the interval of the followed share, in percent."""
    bound: float
    """The largest share without looking, in percent."""
    words: str
    """A text alternative."""


def share_bar(form: LookingForm | PairsForm, bound: float | None = None) -> ShareBar | None:
    """Place the outcomes of relevant pairs on a bar. None if there is no relevant pair.

    >>> from theodolite.diagnose.record import PairsForm
    >>> share_bar(PairsForm(name="light", is_relevant=False, n=3)) is None
    True
    """
    shares: list[tuple[str, Figure | None]] = [
        (name, getattr(form, name)) for name in ("followed", "moved", "unmoved", "lost")
    ]
    followed = form.followed
    if followed is None:
        return None
    x = 0.0
    segments = []
    for name, figure in shares:
        width = 100 * figure.value if figure is not None else 0.0
        if width > 0:
            segments.append(
                Segment(name, round(x, 3), round(width, 3), f"{width:.0f} %" if width >= _NARROW else "")
            )
        x += width
    limit = bound if bound is not None else form.bound if isinstance(form, LookingForm) else 0.25
    words = outcome_words(form)
    return ShareBar(
        tuple(segments),
        round(100 * followed.low, 3),
        round(100 * followed.high, 3),
        round(100 * limit, 3),
        words,
    )
