"""What a verifier is worth: its verdicts on true claims, and on the same claims made false, about the same episodes.

sensitivity     of the true claims that it judges, the share that it supports
specificity     of the false claims that it judges, the share that it refutes
informedness    sensitivity + specificity − 1: 0 for a coin
judged          the share of claims that it judges at all

A verifier that supports too readily makes SGR too high, one that refutes too readily too low. `corrected` undoes both
(Rogan and Gladen), as far as the errors on the claims of a trace are those on the claims of the annotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from theodolite import stats
from theodolite.core.files import Problem
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.claims.types import Label, Verifier
from theodolite.instruments.trace.formulas.refutable import (
    NOT_DRAWN,
    SWAPS,
    Known,
    Swap,
    gap_claims,
    known_of,
)
from theodolite.instruments.trace.score import mean_over
from theodolite.instruments.trace.verifiers.panel import REFERENCE, Member
from theodolite.stats import misclassified
from theodolite.worlds.episodes import Episode

_Row: TypeAlias = tuple[Swap, bool, Label, str]
"""What was exchanged, whether the claim is true, the verdict, and the cluster."""

Fault: TypeAlias = Literal["", "judges nothing", "supports nothing", "refutes nothing", "may be a coin"]
"""Why the verdicts of a verifier mean nothing; empty if they do."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How often a verifier is right about claims of known truth."""

    sensitivity: stats.Estimate | None
    specificity: stats.Estimate | None
    judged_true: stats.Estimate | None
    judged_false: stats.Estimate | None
    n_true: int
    n_false: int

    @classmethod
    def of(cls, rows: Iterable[_Row]) -> Rates:
        """Compute the rates from verdicts."""
        sides: dict[bool, list[tuple[Label, str]]] = {True: [], False: []}
        for _, is_true, label, unit in rows:
            sides[is_true].append((label, unit))
        return cls(
            _share(sides[True], "supported"),
            _share(sides[False], "unsupported"),
            _judged(sides[True]),
            _judged(sides[False]),
            len(sides[True]),
            len(sides[False]),
        )

    @property
    def informedness(self) -> stats.Estimate | None:
        """Sensitivity + specificity − 1; None if one of them is not known."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return misclassified.informedness(self.sensitivity, self.specificity)

    @property
    def fault(self) -> Fault:
        """Why its verdicts mean nothing."""
        if self.sensitivity is None and self.specificity is None:
            return "judges nothing"
        if self.specificity is None or self.specificity.value == 0:
            return "refutes nothing"
        if self.sensitivity is None or self.sensitivity.value == 0:
            return "supports nothing"
        gain = self.informedness
        return "may be a coin" if gain is not None and gain.low <= 0 else ""

    def corrected(self, observed: stats.Estimate | None) -> stats.Estimate | None:
        """Return a share of supported claims without the errors of the verifier; None if they are not known, or those of a coin."""
        if observed is None or self.sensitivity is None or self.specificity is None:
            return None
        return misclassified.corrected_share(observed, self.sensitivity, self.specificity)


def _share(rows: Sequence[tuple[Label, str]], right: Label) -> stats.Estimate | None:
    return mean_over([(float(label == right), unit) for label, unit in rows if label != "unverifiable"])


def _judged(rows: Sequence[tuple[Label, str]]) -> stats.Estimate | None:
    return mean_over([(float(label != "unverifiable"), unit) for label, unit in rows])


@dataclass(frozen=True, slots=True)
class Calibration:
    """The verdicts of one verifier on claims of known truth."""

    verifier: str
    rows: tuple[_Row, ...]
    n_episodes: int
    problems: tuple[Problem, ...] = ()
    gaps: stats.Estimate | None = None
    """Of the things that are not listed at a frame but just before and after it, the share that is refuted there."""

    @classmethod
    def of(cls, verifier: str, known: Mapping[str, Known], episodes: Mapping[str, Episode]) -> Calibration:
        """Collect the verdicts on some episodes."""
        tried = {name: found for name, found in known.items() if name in episodes and found != NOT_DRAWN}
        rows = tuple(
            (each.swap, each.is_true, label, episodes[name].unit)
            for name, found in tried.items()
            if not isinstance(found, str)
            for each, label in found
        )
        failed = (Problem(n, f"{verifier}: {why}") for n, why in tried.items() if isinstance(why, str))
        return cls(verifier, rows, len(tried), tuple(failed))

    @property
    def rates(self) -> Rates:
        """The rates over all claims."""
        return Rates.of(self.rows)

    @property
    def fault(self) -> Fault:
        """Why its verdicts mean nothing."""
        return self.fault_of(self.rates)

    def fault_of(self, rates: Rates) -> Fault:
        """Return the fault of some of its rates. The annotation, from which the claims are made, is no coin, however few they are."""
        is_reference = self.verifier == REFERENCE
        return "" if rates.fault == "may be a coin" and is_reference else rates.fault

    def rates_by_kind(self) -> dict[Swap, Rates]:
        """Return the rates of each kind of claim."""
        present = [swap for swap in SWAPS if any(row[0] == swap for row in self.rows)]
        return {swap: Rates.of(row for row in self.rows if row[0] == swap) for swap in present}


def calibrate(verifier: Verifier, episodes: Sequence[Episode]) -> Calibration:
    """Try a verifier on claims of known truth about episodes. Edits are left out."""
    found = Calibration.of(verifier.name, known_of(episodes, verifier), {e.id: e for e in episodes})
    return (
        replace(found, gaps=_refuted_gaps(verifier, episodes))
        if verifier.name.startswith(REFERENCE)
        else found
    )


def _refuted_gaps(verifier: Verifier, episodes: Sequence[Episode]) -> stats.Estimate | None:
    rows = [
        (float(verdict.label == "unsupported"), episode.unit)
        for episode in episodes
        if episode.edit is None
        for verdict in verifier.verify(gap_claims(episode), episode)
    ]
    return mean_over(rows)


def calibration_table(calibrations: Sequence[Calibration]) -> Table:
    """Return the table of what verifiers are worth: for each, one row per kind of claim and one for all."""
    several = [Column("verifier", "verifier")] if len(calibrations) > 1 else []
    columns = [
        *several,
        Column("kind", "claims about the"),
        column("trace.sensitivity"),
        column("trace.specificity"),
        column("trace.informedness"),
        column("trace.judged", "judged_true", "judged, of true claims"),
        column("trace.judged", "judged_false", "of false ones"),
        Column("n_true", "true claims", "count"),
        Column("n_false", "false claims", "count"),
        Column("fault", "fault"),
    ]
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for found in calibrations:
        head = [found.verifier] if several else []
        rows += [
            [*head, kind, *_cells(rates), found.fault_of(rates)]
            for kind, rates in found.rates_by_kind().items()
        ]
        rows.append([*head, "any of these", *_cells(found.rates), found.fault])
    first = calibrations[0]
    lacking = [swap for swap in SWAPS if swap not in first.rates_by_kind()]
    if lacking:
        notes.append(
            f"the annotation gives no claims about the {', '.join(lacking)}; what is said of these is not tried"
        )
    if any(found.verifier.startswith("informed-judge") for found in calibrations):
        notes.append(
            "an informed judge is told the annotation, from which these claims are made: its rates are upper bounds"
        )
    if any(found.verifier == REFERENCE for found in calibrations):
        notes.append(
            "the claims are made from the annotation: by itself it errs only where a word is wider or narrower"
        )
    notes += [
        f"{found.verifier}: of {found.gaps.n_items} things that a frame does not list though those before and after do, "
        f"{found.gaps.value:.0%} are refuted there; most of these refutations are false"
        for found in calibrations
        if found.gaps is not None and found.gaps.value > 0
    ]
    who = first.verifier if len(calibrations) == 1 else f"{len(calibrations)} verifiers"
    title = f"What {who} can tell, by claims of known truth about {first.n_episodes} episodes"
    return Table.of("trace.calibration", title, columns, rows, notes)


def _cells(rates: Rates) -> list[Cell]:
    return [
        rates.sensitivity,
        rates.specificity,
        rates.informedness,
        rates.judged_true,
        rates.judged_false,
        rates.n_true,
        rates.n_false,
    ]


def fault_table(calibrations: Sequence[Calibration]) -> Table:
    """Return a table of the verifiers whose verdicts mean nothing; without rows if there are none."""
    columns = [
        Column("verifier", "verifier"),
        Column("fault", "fault"),
        column("trace.sensitivity"),
        column("trace.specificity"),
        column("trace.informedness"),
    ]
    rows: list[list[Cell]] = [
        [found.verifier, found.fault, rates.sensitivity, rates.specificity, rates.informedness]
        for found in {found.verifier: found for found in calibrations if found.rows}.values()
        if found.fault
        for rates in [found.rates]
    ]
    title = "Its verdicts are not evidence: the numbers below say nothing about the model"
    return Table.of("trace.fault", title, columns, rows)


def members_of(calibrations: Sequence[Calibration]) -> list[Member]:
    """Return verifiers as the members of a panel."""

    def n(found: Calibration, label: Label, *, is_true: bool) -> int:
        return sum(row[1] == is_true and row[2] == label for row in found.rows)

    return [
        Member(
            found.verifier,
            n(found, "supported", is_true=True),
            n(found, "unsupported", is_true=True),
            n(found, "supported", is_true=False),
            n(found, "unsupported", is_true=False),
            found.fault,
        )
        for found in calibrations
    ]
