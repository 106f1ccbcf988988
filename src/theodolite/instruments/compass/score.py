"""From a run to its score: which samples count, under which projections, and every table of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.estimates import share_figure
from theodolite.instruments.compass.experiments.ablations import (
    ABLATIONS,
    DEFAULT,
    PAPERS_OWN,
    SampleSplit,
    ablation_keys,
    ablation_table,
    choose_on_development,
    default_key,
    split_samples,
)
from theodolite.instruments.compass.experiments.comparisons import (
    PromptFigures,
    answer_split,
    class_table,
    prompt_table,
    readout_agreement,
    target_control,
)
from theodolite.instruments.compass.experiments.framework import Row, framework_table
from theodolite.instruments.compass.formulas.project_samples import project_samples
from theodolite.instruments.compass.formulas.projected import RANDOM_MAP, Projected
from theodolite.instruments.compass.formulas.projection_options import ProjectionOptions
from theodolite.instruments.compass.published import published_figures
from theodolite.instruments.compass.published_tables import published_rows
from theodolite.instruments.compass.questions import PLAIN
from theodolite.instruments.compass.samples import INSTRUMENT, Sample, read_samples
from theodolite.instruments.compass.score_records import PROJECTIONS, Comparisons, CompassScore, ScoreSettings
from theodolite.runs import Run


def score_run(run: Run, settings: ScoreSettings | None = None) -> CompassScore:
    """Scores a compass run from its stored maps, and keeps the figures in the run. Never calls a model.

    Args:
        run: of ``compass``, opened for writing.
        settings: projections, prompt, development split and the rest.
    """
    settings = settings or ScoreSettings()
    score = score_samples(read_samples(run), settings, model=run.info.model)
    score = replace(score, left_out={**unread_items(run), **score.left_out})
    keep_figures(run, "score", score.as_json())
    return score


def unread_items(run: Run) -> dict[str, int]:
    """Planned items that `read_samples` does not give, by reason."""
    tally = run.tally()
    waiting = tally.planned - tally.answered - tally.refused - tally.failed
    counts = {"not measured yet": waiting, "failed": tally.failed, "refused": tally.refused}
    return {reason: count for reason, count in counts.items() if count}


def keep_figures(run: Run, name: str, figures: Any) -> None:
    """Keeps figures in the run's ``scores.json`` under a name, beside those of other commands."""
    run.write_scores({**(run.scores() or {}), "instrument": INSTRUMENT, name: figures})


def score_samples(
    samples: Iterable[Sample], settings: ScoreSettings | None = None, *, model: str = ""
) -> CompassScore:
    """Scores samples; see `score_run`.

    Args:
        samples: read once, one at a time.
        settings: projections, prompt, development split and the rest.
        model: its name, to find what the paper reports of it.
    """
    settings = settings or ScoreSettings()
    left_out: Counter[str] = Counter()
    everything, ablated = _project(plain_samples(samples, settings.methods, left_out), settings)
    split = (
        split_samples(everything.samples, settings.development, seed=settings.seed)
        if settings.development
        else None
    )
    prompts = _prompts(everything, settings, split)
    prompt = settings.prompt or _best_prompt(everything, prompts, by_accuracy=split is not None)
    of_prompt = everything.select(lambda sample: sample.prompt == prompt)
    left_out["another prompt"] = len(everything.samples) - len(of_prompt.samples)
    reported = of_prompt
    if split is not None:
        reported = of_prompt.select(lambda sample: sample.id in split.reported)
        left_out["a development picture"] = len(of_prompt.samples) - len(reported.samples)
    return _score(reported, settings, model, prompt, _Found(left_out, prompts, of_prompt, split, ablated))


@dataclass(frozen=True, slots=True)
class _Found:
    """What is known before the tables are made."""

    left_out: Counter[str]
    prompts: tuple[PromptFigures, ...]
    of_prompt: Projected
    """With the development pairs."""
    split: SampleSplit | None
    ablated: str
    """The map that was projected under every ablation; empty if none was."""


def _score(
    reported: Projected, settings: ScoreSettings, model: str, prompt: str, found: _Found
) -> CompassScore:
    seed = settings.seed
    sources = tuple(dict.fromkeys(str(sample.meta.get("source", "")) for sample in reported.samples))

    def published(method: str, target: str) -> Sequence[Any]:
        return [each for s in sources for each in published_figures(model, s, method=method, target=target)]

    tables = {
        name: framework_table(reported, name, seed=seed, published=published) for name in settings.projections
    }
    development = None
    if found.split is not None:
        development = choose_on_development(
            found.of_prompt, found.ablated, found.split, criterion=settings.criterion, seed=seed
        )
    ablations = ablation_table(reported, found.ablated, seed=seed) if found.ablated else ()
    return CompassScore(
        model=model,
        sources=sources,
        prompt=prompt,
        n=len(reported.samples),
        n_pictures=len(set(reported.clusters.tolist())),
        accuracy=share_figure(reported.is_correct, reported.clusters.tolist(), seed=seed),
        chance=sum(1 / len(sample.directions) for sample in reported.samples) / len(reported.samples),
        left_out={reason: count for reason, count in found.left_out.items() if count},
        projections={name: asdict(PROJECTIONS[name]) for name in settings.projections},
        tables=tables,
        comparisons={name: _comparisons(reported, name, settings) for name in settings.projections},
        prompts=found.prompts,
        ablated=found.ablated,
        ablations=ablations,
        development=development,
        published={
            "ablations": published_rows(model, sources, "ablations", tuple(row.name for row in ablations))
            if found.ablated == PAPERS_OWN
            else {},
            "prompts": published_rows(
                model, sources, "prompts", tuple(dict.fromkeys(row.prompt for row in found.prompts))
            ),
        },
        caveats=_caveats(next(iter(tables.values()))),
        warnings=tuple(_warnings(tables, reported)),
    )


def _comparisons(projected: Projected, name: str, settings: ScoreSettings) -> Comparisons:
    keys, seed, wanted = projected.keys, settings.seed, settings.sections
    return Comparisons(
        target_control(projected, name, seed=seed) if "targets" in wanted else (),
        class_table(projected, name, keys=keys, seed=seed) if "classes" in wanted else (),
        answer_split(projected, name, keys=keys, seed=seed) if "answers" in wanted else (),
        readout_agreement(projected, name, keys=keys, seed=seed) if "readouts" in wanted else (),
    )


def plain_samples(
    samples: Iterable[Sample], methods: Sequence[str], left_out: Counter[str]
) -> Iterator[Sample]:
    """Samples as they are, with the chosen methods' maps; others are counted."""
    known: set[str] = set()
    for sample in samples:
        if sample.condition != PLAIN:
            left_out[f"condition {sample.condition}"] += 1
            continue
        known |= {each.method for each in sample.maps.values()}
        unknown = [method for method in methods if method not in known]
        if unknown:
            raise UsageError(
                f"the run holds no maps of {', '.join(unknown)}; it holds {', '.join(sorted(known))}"
            )
        chosen = {key: each for key, each in sample.maps.items() if not methods or each.method in methods}
        yield replace(sample, maps=chosen)


def _project(samples: Iterable[Sample], settings: ScoreSettings) -> tuple[Projected, str]:
    """All projections that the settings ask for, in one pass, and the map that was ablated."""
    ablated = ""
    wanted: dict[str, ProjectionOptions] = {name: PROJECTIONS[name] for name in settings.projections}
    only: dict[str, Sequence[str]] = {}
    if "ablations" in settings.sections or settings.development:
        waiting = iter(samples)
        first = next(waiting, None)
        if first is None:
            raise UsageError("there is no measured pair to score; `theodolite runs show` says why")
        ablated = settings.ablated or default_key(list(first.maps))
        if ablated not in first.maps:
            raise UsageError(f"there is no map {ablated!r} to ablate; there are {', '.join(first.maps)}")
        keys = ablation_keys(ablated)
        for name, options in ABLATIONS.items():
            wanted[name] = options
            only[name] = keys if name == DEFAULT else keys[:1]
        samples = _chain(first, waiting)
    read = project_samples(samples, wanted, seed=settings.seed, only=only, negative=settings.negative)
    return read, ablated


def _chain(first: Sample, rest: Iterator[Sample]) -> Iterator[Sample]:
    yield first
    yield from rest


def _prompts(
    projected: Projected, settings: ScoreSettings, split: SampleSplit | None
) -> tuple[PromptFigures, ...]:
    """The prompts' table, if there are several: on the development pairs, or else on all."""
    if len({sample.prompt for sample in projected.samples}) < 2:
        return ()
    if split is not None:
        projected = projected.select(lambda sample: sample.id in split.development)
    return prompt_table(projected, settings.projections[0], keys=projected.keys, seed=settings.seed)


def _best_prompt(projected: Projected, prompts: Sequence[PromptFigures], *, by_accuracy: bool) -> str:
    """The most accurate prompt, the earlier one on a tie; without development pairs the first, which nobody chose."""
    found = {row.prompt: row.accuracy.value for row in prompts if row.accuracy is not None}
    if by_accuracy and found:
        return max(found, key=lambda name: found[name])
    return projected.samples[0].prompt


def _caveats(rows: Sequence[Row]) -> tuple[str, ...]:
    found = []
    for method, caveat, variant in dict.fromkeys((r.method, r.caveat, r.sound_variant) for r in rows):
        if caveat:
            found.append(f"{method}: {caveat}" + (f" ({variant} is without that)" if variant else ""))
    silent = dict.fromkeys(
        r.method for r in rows if r.kind == "method" and r.evidence and r.evidence.of == "image alone"
    )
    if silent:
        found.append(
            f"{', '.join(silent)}: relevance on the text is not known, so shares are of the image alone"
        )
    return tuple(found)


def _warnings(tables: Mapping[str, tuple[Row, ...]], reported: Projected) -> Iterator[str]:
    if len(set(reported.clusters.tolist())) < 2:
        yield "all pairs are on one picture: no interval can be had, and so no figure is shown"
    for name, rows in tables.items():
        noise = next((row.excess_dae for row in rows if row.method == RANDOM_MAP), None)
        if noise is not None and noise.high < 0:
            yield (
                f"under the {name} projection a random map beats the uniform one by {-noise.value:.1f}° "
                f"[{-noise.high:.1f}, {-noise.low:.1f}]: hold methods against the random map's row, for so much of their "
                "excess may be the noise of a coarse grid"
            )
