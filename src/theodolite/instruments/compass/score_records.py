"""How a run is scored, and what scoring gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.ablations import AblationRow, Criterion, DevelopmentChoice
from theodolite.instruments.compass.experiments.comparisons import (
    AnswerSplit,
    ClassFigures,
    PromptFigures,
    ReadoutAgreement,
    TargetControl,
)
from theodolite.instruments.compass.experiments.framework import THRESHOLDS, Figure, Row
from theodolite.instruments.compass.formulas.projection_options import (
    PAPER,
    SOUND,
    Negative,
    ProjectionOptions,
)
from theodolite.instruments.compass.published_tables import PublishedRow

PROJECTIONS: Mapping[str, ProjectionOptions] = {"paper": PAPER, "sound": SOUND}
SECTIONS = ("targets", "classes", "answers", "readouts", "ablations")
"""The tables beside the main one."""


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """How a run is scored."""

    projections: tuple[str, ...] = tuple(PROJECTIONS)
    """Which of `PROJECTIONS`."""
    methods: tuple[str, ...] = ()
    """Which methods; all if empty."""
    prompt: str = ""
    """Which prompt is reported; if empty, the only one, or the most accurate on the development pairs, or the first."""
    sections: tuple[str, ...] = SECTIONS
    """Which tables beside the main one; ``ablations`` projects every map again."""
    ablated: str = ""
    """The ``method@target`` whose ablations are shown; if empty, the paper's."""
    development: int = 0
    """Pairs to choose settings on; none of their pictures is reported on. 0: nothing is chosen."""
    criterion: Criterion = "excess"
    negative: Negative = "error"
    seed: int = 0
    """Of bootstraps, random controls and the development split."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.projections if name not in PROJECTIONS]
        if unknown or not self.projections:
            raise UsageError(
                f"projections are some of {', '.join(PROJECTIONS)}, not {', '.join(unknown) or 'none'}"
            )
        strange = [name for name in self.sections if name not in SECTIONS]
        if strange:
            raise UsageError(f"sections are some of {', '.join(SECTIONS)}, not {', '.join(strange)}")
        if self.development < 0:
            raise UsageError(f"a development split of {self.development} pairs cannot be had")


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The tables beside the main one, under one projection."""

    targets: tuple[TargetControl, ...] = ()
    classes: tuple[ClassFigures, ...] = ()
    answers: tuple[AnswerSplit, ...] = ()
    readouts: tuple[ReadoutAgreement, ...] = ()


@dataclass(frozen=True, slots=True)
class CompassScore:
    """Everything that scoring finds in a compass run."""

    model: str
    sources: tuple[str, ...]
    """Where the pairs come from."""
    prompt: str
    n: int
    """Samples reported on."""
    n_pictures: int
    accuracy: Figure
    """Of the model's answers."""
    chance: float
    """What guessing among the options would score."""
    left_out: Mapping[str, int]
    """Planned items that are not reported on, by reason; what a method leaves out stands in its row."""
    projections: Mapping[str, Mapping[str, Any]]
    """Projection -> its options."""
    tables: Mapping[str, tuple[Row, ...]]
    """Projection -> the framework comparison."""
    comparisons: Mapping[str, Comparisons]
    prompts: tuple[PromptFigures, ...] = ()
    """Of all prompts, on the development pairs if there are any."""
    ablated: str = ""
    ablations: tuple[AblationRow, ...] = ()
    development: DevelopmentChoice | None = None
    published: Mapping[str, Mapping[str, PublishedRow]] = field(default_factory=dict)
    """Table -> row -> what the paper reports of the same model and data; the main tables' rows hold theirs themselves."""
    thresholds: str = THRESHOLDS
    caveats: tuple[str, ...] = field(default=())
    """Why some methods' numbers may mean little."""
    warnings: tuple[str, ...] = field(default=())
    """What of this very run should not be read as it stands."""

    def beyond_layout(self, projection: str) -> tuple[Row, ...]:
        """The methods whose whole interval of the excess lies below zero: they point better than a uniform map."""
        return tuple(
            row
            for row in self.tables[projection]
            if row.kind == "method" and row.excess_dae is not None and row.excess_dae.high < 0
        )

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON."""
        return asdict(self)
