"""Does hiding what the compass points at change the answer? COS, deletion curves, MDF, DFS, masking, leakage.

A second run hides sectors of the pictures of a compass run (`plan_faithfulness`, measured with `hiding_factory`), and
`score_faithfulness` reads both. Each figure of the paper stands beside a sound one: a ratio of areas beside a paired
difference, steps counted beside steps by the share of the picture hidden, because sectors are not equally large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.composites import Composite
from theodolite.instruments.compass.experiments.faithfulness.effects import READINGS, Answers, beyond_area
from theodolite.instruments.compass.experiments.faithfulness.estimates import (
    PUBLISHED_RHO,
    Ratio,
    published_correlations,
)
from theodolite.instruments.compass.experiments.faithfulness.hiding import FILLS, Fill, Hiding
from theodolite.instruments.compass.experiments.faithfulness.measure import (
    INSTRUMENT,
    FaithfulnessPlan,
    HidingMeasurer,
    faithfulness_settings,
    hiding_factory,
    is_same_model,
    plan_faithfulness,
    shown_request,
    source_of,
)
from theodolite.instruments.compass.experiments.faithfulness.method_scores import (
    MethodScore,
    SectorScore,
    score_composites,
    score_map,
    score_sectors,
)
from theodolite.instruments.compass.experiments.faithfulness.rows import CurvePoint, measured_effects
from theodolite.instruments.compass.experiments.faithfulness.trials import (
    CONTROLS,
    PROJECTIONS,
    FaithfulnessOptions,
    Projection,
    Trial,
    Trials,
    make_trials,
)
from theodolite.instruments.compass.samples import read_samples
from theodolite.runs import Run

__all__ = [
    "CONTROLS",
    "FILLS",
    "INSTRUMENT",
    "PAPER_MAPS",
    "PROJECTIONS",
    "PUBLISHED_RHO",
    "Composite",
    "CurvePoint",
    "FaithfulnessOptions",
    "FaithfulnessPlan",
    "FaithfulnessScore",
    "Fill",
    "Hiding",
    "HidingMeasurer",
    "MethodScore",
    "Projection",
    "Ratio",
    "SectorScore",
    "Trial",
    "beyond_area",
    "faithfulness_settings",
    "hiding_factory",
    "paper_maps",
    "plan_faithfulness",
    "published_correlations",
    "score_faithfulness",
    "shown_request",
]

PAPER_MAPS = ("gradcam@gt", "contrastive-grad-act@pred", "chefer@gt", "attention-rollout@")
"""The methods of Table 3, with the target that the paper gives each."""


def paper_maps(run: Run) -> tuple[str, ...]:
    """Those of the paper's maps that a run holds.

    Raises:
        UsageError: it holds none of them.
    """
    held = {key for sample in read_samples(run) for key in sample.maps}
    found = tuple(key for key in PAPER_MAPS if key in held)
    if not found:
        raise UsageError(
            f"{run.folder} holds none of the paper's maps ({', '.join(PAPER_MAPS)}); it holds: "
            f"{', '.join(sorted(held)) or 'nothing'}; name some, or say all"
        )
    return found


@dataclass(frozen=True, slots=True)
class FaithfulnessScore:
    """Everything that hiding sectors says."""

    model: str
    """The model whose pictures were hidden."""
    maps_of: str
    """The model whose maps gave the orders."""
    is_same_model: bool
    options: FaithfulnessOptions
    n_pairs: int
    n_pictures: int
    excluded: Mapping[str, int]
    """Pairs without a direction, by reason."""
    calls: Mapping[str, int]
    """``planned``, ``answered``, ``refused``, ``failed``, ``pending``, and ``reused`` of those answered."""
    base_gap: float | None
    """Largest difference of an option's log-probability, whole picture, between the two runs; None if unknown."""
    empty_opposite: int
    """Pairs whose opposite sector holds nothing that the model sees: hiding it cannot matter."""
    shares: Mapping[str, float]
    """Mean share of what the model sees that lies in the ``true``, the ``opposite`` and an ``adjacent`` sector."""
    sectors: tuple[SectorScore, ...]
    methods: tuple[MethodScore, ...]
    composites: tuple[Composite, ...]

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON."""
        return {"instrument": INSTRUMENT, **asdict(self)}


def score_faithfulness(maps: Run, hidden: Run, *, seed: int = 0) -> FaithfulnessScore:
    """Scores a run that hid sectors, against the run that holds the maps. Never calls a model.

    Args:
        maps: the compass run.
        hidden: the run that hid sectors of its pictures; its scores are kept in it.
        seed: of bootstrap and permutations.

    Raises:
        UsageError: the runs do not belong together.
    """
    if hidden.info.instrument != INSTRUMENT:
        raise UsageError(f"{hidden.folder} is a run of {hidden.info.instrument}, not of {INSTRUMENT}")
    if hidden.info.settings.get("source") != source_of(maps):
        raise UsageError(
            f"{hidden.folder} hid sectors for the maps of another run than {maps.folder}; name that run, or measure again"
        )
    options = FaithfulnessOptions.from_settings(hidden.info.settings)
    found = make_trials(read_samples(maps), options)
    answers = Answers.read(hidden.results())
    effects = {
        reading: [measured_effects(answers, trial, options.fills, reading) for trial in found.trials]
        for reading in READINGS
    }
    sectors = tuple(
        score_sectors(found.trials, effects[reading], fill=fill, reading=reading, seed=seed)
        for fill in options.fills
        for reading in READINGS
    )
    methods = tuple(
        score_map(key, found.trials, effects, answers=answers, fill=options.fills[0], seed=seed)
        for key in found.keys
    )
    score = FaithfulnessScore(
        model=hidden.info.model,
        maps_of=maps.info.model,
        is_same_model=is_same_model(maps, hidden),
        options=options,
        n_pairs=len(found.trials),
        n_pictures=len({trial.cluster for trial in found.trials}),
        excluded=found.excluded,
        calls=_calls(hidden),
        base_gap=_base_gap(found, answers),
        empty_opposite=sum(bool(trial.shares[trial.opposite] == 0) for trial in found.trials),
        shares=_shares(found),
        sectors=sectors,
        methods=methods,
        composites=score_composites(methods, seed=seed),
    )
    hidden.write_scores(score.as_json())
    return score


def _calls(run: Run) -> dict[str, int]:
    tally = run.tally()
    return {
        "planned": tally.planned,
        "answered": tally.answered,
        "refused": tally.refused,
        "failed": tally.failed,
        "pending": tally.planned - tally.finished - tally.failed,
        "reused": tally.reused,
    }


def _base_gap(found: Trials, answers: Answers) -> float | None:
    gaps = [
        float(abs(values - trial.log_probabilities).max())
        for trial in found.trials
        if (values := answers.found.get((trial.item_id, "", frozenset()))) is not None
    ]
    return max(gaps, default=None)


def _shares(found: Trials) -> dict[str, float]:
    n = len(found.trials)
    if not n:
        return {}
    rows = [
        (trial.shares[trial.true], trial.shares[trial.opposite], trial.shares[list(trial.adjacent)].mean())
        for trial in found.trials
    ]
    return {
        name: float(sum(row[i] for row in rows) / n)
        for i, name in enumerate(("true", "opposite", "adjacent"))
    }
