"""All controls that a run's stored maps allow. No model is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.instruments.compass.experiments.controls.interventions import (
    centre_control,
    has_option_maps,
    prompt_direction,
    reference_swap,
    score_family,
    score_squares,
    score_swap,
)
from theodolite.instruments.compass.experiments.controls.plan import (
    MOVE_A,
    PROMPT_DIRECTION,
    RELOCATION,
    SQUARES,
    SWAP_PLACES,
    SWAP_ROLES,
    TRANSLATION,
)
from theodolite.instruments.compass.experiments.controls.results import ControlScore, NothingToScoreError
from theodolite.instruments.compass.experiments.controls.variance import variance_control
from theodolite.instruments.compass.measure import Sample, read_samples, split_key
from theodolite.instruments.compass.questions import PLAIN
from theodolite.runs import Run

CENTRES, REFERENCE_SWAP, VARIANCE = "centres", "reference-swap", "variance"
CONTROLS = (
    PROMPT_DIRECTION,
    CENTRES,
    REFERENCE_SWAP,
    MOVE_A,
    TRANSLATION,
    VARIANCE,
    SWAP_ROLES,
    SWAP_PLACES,
    RELOCATION,
    SQUARES,
)
"""Every control, in the order of tables."""


@dataclass(frozen=True, slots=True)
class ControlScores:
    """The controls of a run."""

    scores: tuple[ControlScore, ...]
    unscored: Mapping[str, str]
    """Control to the reason why it has no score."""

    def score(self, control: str) -> ControlScore:
        """The score of one control.

        Raises:
            UsageError: It has none.
        """
        for each in self.scores:
            if each.control == control:
                return each
        raise UsageError(f"{control} was not scored: {self.unscored.get(control, 'it was not asked for')}")


def score_controls(
    run: Run,
    *,
    controls: Sequence[str] = CONTROLS,
    methods: Sequence[str] = (),
    n_centres: int = 100,
    seed: int = 0,
) -> ControlScores:
    """Scores a run's controls from its stored maps.

    Args:
        run: A compass run, with edited pictures or without.
        controls: Some of `CONTROLS`.
        methods: Which methods; all if none is named.
        n_centres: Random centres per sample.
        seed: Seed of centres, random maps, tests and bootstraps.
    """
    unknown = [name for name in controls if name not in CONTROLS]
    if unknown or not controls:
        raise UsageError(f"controls are some of {', '.join(CONTROLS)}; got {', '.join(controls) or 'none'}")
    samples = list(read_samples(run))
    names = dict.fromkeys(split_key(key)[0] for sample in samples for key in sample.maps)
    missing = [method for method in methods if method not in names]
    if missing:
        raise UsageError(f"the run has no maps of {missing[0]!r}; it has {', '.join(names) or 'none at all'}")
    scorers = _scorers(_SamplesByControl(samples), {"methods": tuple(methods), "seed": seed}, n_centres)
    scores: list[ControlScore] = []
    unscored: dict[str, str] = {}
    for name in (name for name in CONTROLS if name in controls):
        try:
            scores.append(scorers[name]())
        except NothingToScoreError as error:
            unscored[name] = str(error)
    return ControlScores(tuple(scores), unscored)


def controls_tables(
    run: Run, *, projections: Sequence[str], controls: Sequence[str] = CONTROLS, **how: Any
) -> list[Table]:
    """The tables of a run's controls: which edits could be made, every control, and what could not be scored.

    Args:
        run: A compass run, with edited pictures or without.
        projections: Which of ``paper`` and ``sound``.
        controls: Some of `CONTROLS`.
        how: As for `score_controls`.
    """
    found = score_controls(run, controls=controls, **how)
    tables = [table for each in found.scores for table in each.tables(projections, model=run.info.model)]
    planned = run.info.settings.get("edits") or ()
    if planned:
        tables.insert(0, edits_table(planned))
    if found.unscored:
        tables.append(
            Table.of(
                "compass.controls_unscored",
                "Controls that could not be scored",
                [Column("control", "control"), Column("reason", "reason")],
                list(map(list, found.unscored.items())),
            )
        )
    return tables


def edits_table(reports: Sequence[Mapping[str, Any]]) -> Table:
    """How many edits of each control could be made."""
    return Table.of(
        "compass.edits",
        "Edits of the pictures",
        [
            Column("control", "edit"),
            Column("pairs", "pairs", "count"),
            Column("edits", "made", "count"),
            Column("cut_by_box", "cut out by box", "count"),
            Column("excluded", "not made"),
        ],
        [
            [
                report["control"],
                report["pairs"],
                report["edits"],
                report["cut_by_box"],
                "; ".join(f"{count} × {reason}" for reason, count in report["excluded"].items()),
            ]
            for report in reports
        ],
    )


class _SamplesByControl:
    """A run's samples by control."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.plain = [sample for sample in samples if sample.condition == PLAIN]
        self._edited: dict[str, list[Sample]] = {}
        for sample in samples:
            if "control" in sample.meta:
                self._edited.setdefault(str(sample.meta["control"]), []).append(sample)

    def edited(self, control: str) -> list[Sample]:
        """The samples of a control with edited pictures."""
        found = self._edited.get(control, [])
        if not found:
            raise NothingToScoreError(
                "the run holds none of its edits; measure them with `theodolite compass run --controls`"
            )
        return found

    def all_plain(self) -> list[Sample]:
        """The samples of unedited pictures."""
        if not self.plain:
            raise NothingToScoreError("the run holds no plain picture")
        return self.plain

    def with_options(self) -> list[Sample]:
        """Those measured for every option."""
        found = [sample for sample in self.all_plain() if has_option_maps(sample)]
        if not found:
            options = ",".join(f"option:{i}" for i in range(len(self.plain[0].directions)))
            raise NothingToScoreError(
                f"the run holds no maps for every option; measure with --targets {options}"
            )
        return found

    def squares(self) -> list[Sample]:
        """The coloured squares: those of a control, or a run on squares alone."""
        own = [sample for sample in self.plain if sample.meta.get("source") == SQUARES]
        return own or self.edited(SQUARES)


def _scorers(
    parts: _SamplesByControl, how: dict[str, Any], n_centres: int
) -> dict[str, Callable[[], ControlScore]]:
    def family(name: str) -> Callable[[], ControlScore]:
        return lambda: score_family(name, parts.edited(name), parts.plain, **how)

    def swap(name: str) -> Callable[[], ControlScore]:
        return lambda: score_swap(name, parts.edited(name), parts.all_plain(), **how)

    return {
        PROMPT_DIRECTION: lambda: prompt_direction(parts.with_options(), **how),
        CENTRES: lambda: centre_control(parts.all_plain(), n_centres=n_centres, **how),
        REFERENCE_SWAP: lambda: reference_swap(parts.all_plain(), **how),
        MOVE_A: family(MOVE_A),
        TRANSLATION: family(TRANSLATION),
        VARIANCE: lambda: variance_control(parts.edited(MOVE_A), parts.edited(TRANSLATION), **how),
        SWAP_ROLES: swap(SWAP_ROLES),
        SWAP_PLACES: swap(SWAP_PLACES),
        RELOCATION: family(RELOCATION),
        SQUARES: lambda: score_squares(parts.squares(), **how),
    }
