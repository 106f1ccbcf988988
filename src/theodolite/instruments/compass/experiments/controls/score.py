"""All controls that a run's stored maps allow. Never calls a model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.controls.centres import centre_control
from theodolite.instruments.compass.experiments.controls.edits import (
    MOVE_A,
    RELOCATION,
    SWAP_PLACES,
    SWAP_ROLES,
    TRANSLATION,
)
from theodolite.instruments.compass.experiments.controls.families import score_family
from theodolite.instruments.compass.experiments.controls.plan import PROMPT_DIRECTION, SQUARES, is_plain
from theodolite.instruments.compass.experiments.controls.prompt_direction import (
    has_option_maps,
    prompt_direction,
)
from theodolite.instruments.compass.experiments.controls.reference_swap import reference_swap
from theodolite.instruments.compass.experiments.controls.results import ControlScore, NothingToScoreError
from theodolite.instruments.compass.experiments.controls.squares import score_squares
from theodolite.instruments.compass.experiments.controls.swaps import score_swap
from theodolite.instruments.compass.experiments.controls.variance import variance_control
from theodolite.instruments.compass.published import known_model
from theodolite.instruments.compass.samples import Sample, read_samples
from theodolite.runs import Run, write_atomically

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
"""Every control, in the order they are told."""
FILE_NAME = "controls.json"


@dataclass(frozen=True, slots=True)
class ControlScores:
    """The controls of a run."""

    model: str
    scores: tuple[ControlScore, ...]
    unscored: Mapping[str, str]
    """Control -> why it has no score."""
    edits: tuple[Mapping[str, Any], ...]
    """What could be edited and what could not, as the run was planned."""
    failed: int
    """Items without an answer."""
    pending: int
    """Items not yet measured."""

    def score(self, control: str) -> ControlScore:
        """The score of one control.

        Raises:
            UsageError: it has none; the message says why.
        """
        for each in self.scores:
            if each.control == control:
                return each
        raise UsageError(f"{control} was not scored: {self.unscored.get(control, 'it was not asked for')}")

    def as_json(self) -> dict[str, Any]:
        """The scores as plain JSON."""
        return {
            "instrument": "compass controls",
            "model": self.model,
            "scores": [score.as_json() for score in self.scores],
            "unscored": dict(self.unscored),
            "edits": list(self.edits),
            "failed": self.failed,
            "pending": self.pending,
        }


def score_controls(
    run: Run,
    *,
    controls: Sequence[str] = CONTROLS,
    methods: Sequence[str] = (),
    n_centres: int = 100,
    seed: int = 0,
) -> ControlScores:
    """Scores a run's controls from its stored maps, and keeps them beside the run as ``controls.json``.

    Args:
        run: a compass run, plain or with controls.
        controls: some of `CONTROLS`; those the run has nothing for are named with the reason.
        methods: which relevance methods; all if none is named.
        n_centres: random centres per sample.
        seed: of centres, random maps and bootstrap.
    """
    unknown = [name for name in controls if name not in CONTROLS]
    if unknown or not controls:
        raise UsageError(f"there are the controls {', '.join(CONTROLS)}; got {', '.join(controls) or 'none'}")
    samples = list(read_samples(run))
    _check_methods(samples, methods)
    parts = _Parts(samples, tuple(methods), seed)
    scores: list[ControlScore] = []
    unscored: dict[str, str] = {}
    for name in CONTROLS:
        if name not in controls:
            continue
        try:
            scores.append(_for_model(_scorers(parts, n_centres)[name](), run.info.model))
        except NothingToScoreError as error:
            unscored[name] = str(error)
    tally = run.tally()
    result = ControlScores(
        run.info.model,
        tuple(scores),
        unscored,
        tuple(run.info.settings.get("edits", ())),
        tally.failed + tally.refused,
        tally.planned - tally.finished - tally.failed,
    )
    text = json.dumps(result.as_json(), indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(run.folder / FILE_NAME, text + "\n")
    return result


def _for_model(score: ControlScore, model: str) -> ControlScore:
    """The score beside the paper's figures of the same model, and no other's."""
    known = known_model(model)
    return replace(score, published=tuple(each for each in score.published if each.model == known))


def _check_methods(samples: Sequence[Sample], methods: Sequence[str]) -> None:
    names = dict.fromkeys(key.partition("@")[0] for sample in samples for key in sample.maps)
    unknown = [method for method in methods if method not in names]
    if unknown:
        raise UsageError(f"the run has no maps of {unknown[0]!r}; it has {', '.join(names) or 'none at all'}")


class _Parts:
    """A run's samples by control."""

    def __init__(self, samples: Sequence[Sample], methods: tuple[str, ...], seed: int) -> None:
        self.plain = [sample for sample in samples if is_plain(sample.condition)]
        self.how: dict[str, Any] = {"methods": methods, "seed": seed}
        self._edited: dict[str, list[Sample]] = {}
        for sample in samples:
            if "control" in sample.meta:
                self._edited.setdefault(str(sample.meta["control"]), []).append(sample)

    def edited(self, control: str) -> list[Sample]:
        """The samples of a control that needs its own."""
        found = self._edited.get(control, [])
        if not found:
            raise NothingToScoreError(
                "the run holds none of its edits; measure them with `theodolite compass controls run`"
            )
        return found

    def as_they_are(self) -> list[Sample]:
        """The samples of unchanged pictures."""
        if not self.plain:
            raise NothingToScoreError("the run holds no picture as it is")
        return self.plain

    def with_options(self) -> list[Sample]:
        """Those measured for every option."""
        found = [sample for sample in self.as_they_are() if has_option_maps(sample)]
        if not found:
            options = ",".join(f"option:{i}" for i in range(len(self.plain[0].directions)))
            raise NothingToScoreError(
                f"the run holds no maps for every option; measure with --targets {options}"
            )
        return found

    def squares(self) -> list[Sample]:
        """The coloured squares: of a control, or of a run on nothing else."""
        own = [sample for sample in self.plain if sample.meta.get("source") == SQUARES]
        return own or self.edited(SQUARES)

    def repeated(self) -> list[Sample]:
        """The unchanged pictures, if some target has two references."""
        groups = Counter((s.cluster, s.prompt, s.target.name, s.target.box) for s in self.as_they_are())
        if max(groups.values()) < 2:
            raise NothingToScoreError("no target of the run has two references in one picture")
        return self.plain


def _scorers(parts: _Parts, n_centres: int) -> dict[str, Callable[[], ControlScore]]:
    def family(name: str) -> Callable[[], ControlScore]:
        return lambda: score_family(name, parts.edited(name), parts.plain, **parts.how)

    def swap(name: str) -> Callable[[], ControlScore]:
        return lambda: score_swap(name, parts.edited(name), parts.as_they_are(), **parts.how)

    return {
        PROMPT_DIRECTION: lambda: prompt_direction(parts.with_options(), **parts.how),
        CENTRES: lambda: centre_control(parts.as_they_are(), n_centres=n_centres, **parts.how),
        REFERENCE_SWAP: lambda: reference_swap(parts.repeated(), **parts.how),
        MOVE_A: family(MOVE_A),
        TRANSLATION: family(TRANSLATION),
        VARIANCE: lambda: variance_control(parts.edited(MOVE_A), parts.edited(TRANSLATION), **parts.how),
        SWAP_ROLES: swap(SWAP_ROLES),
        SWAP_PLACES: swap(SWAP_PLACES),
        RELOCATION: family(RELOCATION),
        SQUARES: lambda: score_squares(parts.squares(), **parts.how),
    }
