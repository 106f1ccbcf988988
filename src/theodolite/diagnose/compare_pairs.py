"""Whether one model follows fewer pairs than another: the same pairs, compared one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from theodolite import stats
from theodolite.core.tables import Column, Table
from theodolite.diagnose.looking import by_source
from theodolite.diagnose.separation import MIN_CLUSTERS
from theodolite.diagnose.verdict import label_of
from theodolite.instruments.instrument import find_instruments
from theodolite.pairs import AnsweredPair

__all__ = ["FollowedChange", "compare_followed", "followed_summary", "followed_table"]

_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class FollowedChange:
    """The share of followed pairs on both sides, on the relevant pairs that both have."""

    label: str
    """The instrument, or ``your data (…)``."""
    n: int
    """Number of pairs."""
    first: float
    second: float
    difference: stats.Estimate
    """First minus second, as for all metrics."""
    p_value: float
    p_holm: float = 1.0
    """Corrected over all labels."""

    @property
    def is_lower(self) -> bool:
        """True if the second surely follows fewer pairs."""
        return self.difference.value > 0 and self.p_holm < _LEVEL


def compare_followed(
    first: Mapping[str, Sequence[Path]], second: Mapping[str, Sequence[Path]], *, seed: int
) -> tuple[FollowedChange, ...]:
    """Compare the followed pairs of two models, by instrument and kind of pictures.

    Args:
        first: The run folders of one model, by instrument.
        second: Those of the other.
        seed: Seed of the test.
    """
    found = []
    for name in (name for name in first if name in second):
        (instrument,) = find_instruments([name])
        one, other = (by_source(instrument.pairs_all(list(runs[name]))) for runs in (first, second))
        for source in one:
            change = _compare(label_of(name, source), one[source], other.get(source, []), seed)
            found += [change] if change else []
    corrected = stats.holm([each.p_value for each in found]).tolist() if found else []
    return tuple(replace(each, p_holm=p) for each, p in zip(found, corrected, strict=True))


def _compare(
    label: str, one: Iterable[AnsweredPair], other: Iterable[AnsweredPair], seed: int
) -> FollowedChange | None:
    """Compare the pairs that both sides have. None if they are too few."""
    mine, theirs = _relevant(one), _relevant(other)
    shared = [key for key in mine if key in theirs]
    clusters = [mine[key].cluster for key in shared]
    if len(set(clusters)) < MIN_CLUSTERS:
        return None
    before, after = ([float(side[key].outcome == "followed") for key in shared] for side in (mine, theirs))
    difference = stats.clustered_difference(before, after, clusters)
    if difference is None:
        return None
    test = stats.sign_flip_test(before, after, clusters=clusters, seed=seed)
    n = len(shared)
    return FollowedChange(label, n, sum(before) / n, sum(after) / n, difference, test.p_value)


def _relevant(pairs: Iterable[AnsweredPair]) -> dict[tuple[str, str, tuple[str, ...]], AnsweredPair]:
    """The relevant pairs by item, edit and the two items shown: an item may be paired with several other pictures."""
    return {(pair.item, pair.edit.name, tuple(pair.shown)): pair for pair in pairs if pair.edit.is_relevant}


def followed_summary(changes: Sequence[FollowedChange], first: str = "", second: str = "") -> str:
    """One sentence for the top of a page; empty if there are no pairs to compare."""
    if not changes:
        return ""
    differ = [each for each in changes if each.p_holm < _LEVEL]
    if not differ:
        return "The models do not surely differ in the pairs that they follow. "
    told = ", ".join(
        f"{100 * each.first:.0f} and {100 * each.second:.0f} % ({each.label})" for each in differ
    )
    return f"Followed pairs of {first} and {second}: {told}. "


def followed_table(changes: Sequence[FollowedChange], first: str, second: str) -> Table:
    """Build the table of followed pairs on both sides."""
    return Table.of(
        "compare.followed",
        "Followed pairs",
        [
            Column("pictures", "measured on"),
            Column("first", first, "share", "diagnose.followed"),
            Column("second", second, "share", "diagnose.followed"),
            Column("difference", f"{first} minus {second}", "number", signed=True),
            Column("n", "pairs", "count"),
            Column("p_holm", "p corrected", "p"),
        ],
        [[each.label, each.first, each.second, each.difference, each.n, each.p_holm] for each in changes],
    )
