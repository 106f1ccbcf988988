"""From a run to the utility of its compasses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.directions import EIGHT, Vocabulary
from theodolite.instruments.compass.estimates import share_figure
from theodolite.instruments.compass.experiments.confidence import (
    Confidence,
    Readout,
    compass_confidences,
    honest_options,
    logit_confidences,
    on_common_samples,
)
from theodolite.instruments.compass.experiments.framework import Figure, shown_key
from theodolite.instruments.compass.experiments.utility import (
    Diagnosis,
    RerankRow,
    SelectiveRow,
    diagnose_answers,
    rerank_answers,
    risk_coverage_curves,
    selective_table,
)
from theodolite.instruments.compass.formulas.project_samples import project_samples
from theodolite.instruments.compass.formulas.projected import Projected
from theodolite.instruments.compass.formulas.projection_options import Negative, ProjectionOptions
from theodolite.instruments.compass.published_tables import PublishedRow, published_rows
from theodolite.instruments.compass.samples import Sample, read_samples
from theodolite.instruments.compass.score import keep_figures, plain_samples, unread_items
from theodolite.instruments.compass.score_records import PROJECTIONS
from theodolite.runs import Run

HONEST = "honest"
NOT_RANKED = "a pair without a direction for every map, in selective prediction only"
"""Why a pair is not among those that the confidences rank."""


@dataclass(frozen=True, slots=True)
class UtilitySettings:
    """How the utility of a run is scored."""

    projection: str = "paper"
    """``paper`` or ``sound``; what must not know the target's box takes its σ from the picture's diagonal."""
    coverages: tuple[float, ...] = (0.7,)
    """Shares of answers to keep."""
    readout: Readout = "peak"
    methods: tuple[str, ...] = ()
    """Which methods; all if empty."""
    prompt: str = ""
    """Which prompt; the first if empty."""
    vocabulary: Vocabulary = EIGHT
    """The angles of the answers."""
    negative: Negative = "error"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.projection not in PROJECTIONS:
            raise UsageError(f"the projection is one of {', '.join(PROJECTIONS)}, not {self.projection!r}")
        if not self.coverages or not all(0 < coverage <= 1 for coverage in self.coverages):
            raise UsageError(f"coverages lie above 0 and not above 1, got {self.coverages}")

    @property
    def options(self) -> dict[str, ProjectionOptions]:
        """The projection, and the one that needs no target box."""
        own = PROJECTIONS[self.projection]
        return {self.projection: own, HONEST: honest_options(own)}


@dataclass(frozen=True, slots=True)
class UtilityScore:
    """What the compasses of a run are good for."""

    model: str
    prompt: str
    n: int
    n_pictures: int
    accuracy: Figure
    left_out: Mapping[str, int]
    projections: Mapping[str, Mapping[str, Any]]
    """The projection that was asked for, and ``honest``: the same with a σ that needs no target box."""
    readout: Readout
    diagnosis: tuple[Diagnosis, ...]
    selective: tuple[SelectiveRow, ...]
    rerank: tuple[RerankRow, ...]
    """Under the honest projection."""
    rerank_as_published: tuple[RerankRow, ...]
    """Under the projection that was asked for, if that is another: its σ is made from the target's box."""
    published: Mapping[str, Mapping[str, PublishedRow]] = field(default_factory=dict)
    """Table -> row -> what the paper reports of the same model and data."""

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON."""
        return asdict(self)


def score_utility(run: Run, settings: UtilitySettings | None = None) -> UtilityScore:
    """Scores the utility of a compass run from its stored maps, and keeps the figures in the run. Never calls a model.

    Args:
        run: of ``compass``, opened for writing.
        settings: projection, coverages and the rest.
    """
    score = utility_of_samples(read_samples(run), settings, model=run.info.model)
    score = replace(score, left_out={**unread_items(run), **score.left_out})
    keep_figures(run, "utility", score.as_json())
    return score


def utility_of_samples(
    samples: Iterable[Sample], settings: UtilitySettings | None = None, *, model: str = ""
) -> UtilityScore:
    """Scores the utility of samples; see `score_utility`."""
    settings = settings or UtilitySettings()
    left_out: Counter[str] = Counter()
    projected = _project(samples, settings, left_out)
    name, seed = settings.projection, settings.seed
    how: dict[str, Any] = {"readout": settings.readout, "vocabulary": settings.vocabulary, "seed": seed}
    diagnosis = diagnose_answers(projected, name, seed=seed)
    rerank = rerank_answers(projected, HONEST, **how)
    ranked = confidences(projected, settings)
    selective = selective_table(projected, ranked, coverages=settings.coverages, seed=seed)
    left_out[NOT_RANKED] = len(projected.samples) - int(ranked[0].where.sum())
    sources = tuple(dict.fromkeys(str(sample.meta.get("source", "")) for sample in projected.samples))
    keys = tuple(map(shown_key, projected.keys))
    is_other = settings.options[HONEST] != settings.options[name]
    return UtilityScore(
        model=model,
        prompt=projected.samples[0].prompt,
        n=len(projected.samples),
        n_pictures=len(set(projected.clusters.tolist())),
        accuracy=share_figure(projected.is_correct, projected.clusters.tolist(), seed=seed),
        left_out={reason: count for reason, count in left_out.items() if count},
        projections={key: asdict(options) for key, options in settings.options.items()},
        readout=settings.readout,
        diagnosis=diagnosis,
        selective=selective,
        rerank=rerank,
        rerank_as_published=rerank_answers(projected, name, **how) if is_other else (),
        published={
            "diagnosis": published_rows(model, sources, "diagnosis", keys),
            "selective": published_rows(model, sources, "selective", tuple(row.score for row in selective)),
            "rerank": published_rows(model, sources, "rerank", keys),
        },
    )


def utility_curves(
    samples: Iterable[Sample], settings: UtilitySettings | None = None
) -> dict[str, stats.RiskCoverage]:
    """The risk–coverage curve of every confidence, by the names of `UtilityScore.selective`, to draw."""
    settings = settings or UtilitySettings()
    projected = _project(samples, settings, Counter())
    return risk_coverage_curves(projected, confidences(projected, settings))


def _project(samples: Iterable[Sample], settings: UtilitySettings, left_out: Counter[str]) -> Projected:
    """The samples of one prompt under both projections; others are counted."""
    everything = project_samples(
        plain_samples(samples, settings.methods, left_out),
        settings.options,
        seed=settings.seed,
        negative=settings.negative,
    )
    prompt = settings.prompt or everything.samples[0].prompt
    projected = everything.select(lambda sample: sample.prompt == prompt)
    left_out["another prompt"] = len(everything.samples) - len(projected.samples)
    return projected


def confidences(projected: Projected, settings: UtilitySettings) -> tuple[Confidence, ...]:
    """Every confidence that selective prediction compares, all on the same samples."""
    return on_common_samples(
        (
            *logit_confidences(projected.samples),
            *compass_confidences(
                projected,
                projection=settings.projection,
                honest=HONEST,
                readout=settings.readout,
                vocabulary=settings.vocabulary,
            ),
        )
    )
