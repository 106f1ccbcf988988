"""Several models and data sets in one table: Table 2, and Table 15 where the target was moved in the pictures.

Numbers of one row are of one model, and columns of one data set. Models are compared on the pairs that they share, with the
interval over their pictures; the p-values of all comparisons in a table are corrected together (Holm).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from theodolite import stats
from theodolite.core.scores import ItemScore, by_metric
from theodolite.core.tables import Cell, Column, Table, Unit
from theodolite.instruments.compass.experiments.ablations import default_key
from theodolite.instruments.compass.experiments.controls.edits import RELOCATION
from theodolite.instruments.compass.experiments.controls.families import (
    FALSE_REFERENCE,
    PROBES,
    score_family,
)
from theodolite.instruments.compass.experiments.controls.results import ControlScore
from theodolite.instruments.compass.experiments.framework import METHOD, TARGET, negated, reported
from theodolite.instruments.compass.formulas.baselines import BOX_ONLY
from theodolite.instruments.compass.formulas.projected import ProjectedRun
from theodolite.instruments.compass.formulas.projecting import project_samples
from theodolite.instruments.compass.formulas.projection_options import PROJECTIONS
from theodolite.instruments.compass.measure import read_samples, shown_key, split_key
from theodolite.instruments.compass.score import map_metric, map_scores
from theodolite.instruments.compass.tables import (
    ScoreSettings,
    plain_pairs,
    run_notes,
    with_changes,
    with_methods,
)
from theodolite.runs import Run

_MODEL = Column("model", "model")
_PROMPT = Column("prompt", "prompt")
_KINDS: tuple[tuple[str, str, Unit, str], ...] = (
    ("dae", "DAE", "degrees", "compass.dae"),
    ("excess", "− uniform", "degrees", "compass.excess_dae"),
    ("ea", "EA", "share", "compass.ea"),
)


@dataclass(frozen=True, slots=True)
class ModelRun:
    """One run: a model on a data set."""

    model: str
    """The name to show."""
    name: str
    """The model's own name, to find what the paper reports; empty if the projections are not the published ones."""
    plain: ProjectedRun
    moved: ProjectedRun | None = None
    """The probes of the control relocation, if they were measured."""
    relocation: ControlScore | None = None
    notes: tuple[str, ...] = ()
    """What must be known about the run."""

    @property
    def prompt(self) -> str:
        """How the pairs were asked."""
        return self.plain.samples[0].prompt

    @property
    def data(self) -> str:
        """Where the pairs come from."""
        return " + ".join(self.plain.sources) or "pairs"


def read_model_run(run: Run, model: str, settings: ScoreSettings) -> ModelRun:
    """Projects the plain pairs of a run, and the probes of relocation if it holds any.

    Args:
        run: A compass run with relevance maps.
        model: The name to show.
        settings: Projections, prompt, methods and seed.
    """
    samples = list(read_samples(run))
    plain = plain_pairs(samples, settings)
    name = "" if settings.changed else run.info.model
    found = ModelRun(model, name, plain, notes=tuple(run_notes(run)))
    probes = [s for s in samples if s.meta.get("control") == RELOCATION and s.prompt == found.prompt]
    if not probes:
        return found
    # A pair has several probes, so each needs an id of its own.
    named = [replace(each, id=f"{each.id}/{each.condition}") for each in probes]
    moved = project_samples(
        (with_methods(each, settings.methods) for each in named),
        {each: PROJECTIONS[each] for each in settings.projections},  # controls keep their own
        seed=settings.seed,
        negative=settings.negative,
    )
    control = score_family(RELOCATION, probes, (), methods=settings.methods, seed=settings.seed)
    return replace(found, moved=moved, relocation=control)


def model_tables(runs: Sequence[ModelRun], settings: ScoreSettings) -> list[Table]:
    """For each projection the models with their differences; then the same for relocated targets, if there are any."""
    tables: list[Table] = []
    seed = settings.seed
    for projection in settings.projections:
        scored = [_Scored.of(run, run.plain, projection) for run in runs]
        own = [
            _models_table(scored, projection),
            *_differences_table(scored, projection, seed, relocated=False),
        ]
        tables += [with_changes(table, settings) for table in own]
    for projection in settings.projections:
        moved = [_Scored.of(run, run.moved, projection) for run in runs if run.moved is not None]
        if moved:
            tables.append(_relocation_table(moved, projection))
            tables += _differences_table(moved, projection, seed, relocated=True)
    told = [f"{run.model} on {run.data}: {note}" for run in runs for note in run.notes]
    if settings.changed:
        told.append(f"Projections with {settings.changed}; relocated targets (Table 15) keep their own.")
    if not any(run.moved is not None for run in runs):
        told.append(
            "Table 15 needs targets that were moved: measure with `theodolite compass run --controls relocation`."
        )
    tables[0] = replace(tables[0], notes=(*tables[0].notes, *told))
    return tables


@dataclass(frozen=True, slots=True)
class _Scored:
    """One run under one projection, with its item scores by metric."""

    run: ModelRun
    projected: ProjectedRun
    scores: Mapping[str, list[ItemScore]]

    @classmethod
    def of(cls, run: ModelRun, projected: ProjectedRun, projection: str) -> _Scored:
        wanted = {f"{kind}_{projection}" for kind, *_ in _KINDS}
        found = (score for key in projected.keys for score in map_scores(projected, key))
        # Drawn pairs of other pictures may have the same id.
        named = (replace(s, item=f"{s.cluster}/{s.item}") for s in found if _kind(s.metric) in wanted)
        return cls(run, projected, by_metric(named))

    @property
    def pairs(self) -> set[str]:
        """Every pair with its prompt, as the scores name it."""
        return {score.item for some in self.scores.values() for score in some}

    def mean(self, kind: str, key: str) -> stats.Estimate | None:
        metric = map_metric(kind, key)
        found = stats.score_mean(metric, self.scores.get(metric.key, ()))
        return negated(found) if found is not None and kind.startswith("excess") else found


def _kind(metric: str) -> str:
    return metric.removeprefix("compass.").partition(":")[0]


def _models_table(runs: Sequence[_Scored], projection: str) -> Table:
    """Table 2: one row per model and map, and the numbers of each data set beside each other."""
    sets = list(dict.fromkeys(each.run.data for each in runs))
    models = list(dict.fromkeys(each.run.model for each in runs))
    rows: list[list[Cell]] = []
    for model in models:
        own = {each.run.data: each for each in runs if each.run.model == model}
        for key in dict.fromkeys(key for each in own.values() for key in each.projected.keys):
            prompts = dict.fromkeys(each.run.prompt for each in own.values())
            row: list[Cell] = [model, ", ".join(prompts), *split_key(key)]
            told = []
            for name in sets:
                each = own.get(name)
                has = each is not None and key in each.projected.grids
                row += [each.mean(f"{k}_{projection}", key) if has and each else None for k, *_ in _KINDS]
                row.append(len(each.projected.angles[projection][key].kept) if has and each else None)
                told += [reported(each.projected, key, each.run.name)] if has and each else []
            rows.append([*row, "; ".join(filter(None, told))])
    columns = [_MODEL, _PROMPT, METHOD, TARGET]
    for place, name in enumerate(sets):
        columns += [
            Column(f"{kind}_{place}", f"{name}: {title}", unit, definition, signed=kind == "excess")
            for kind, title, unit, definition in _KINDS
        ]
        columns.append(Column(f"n_{place}", "n", "count"))
    columns.append(Column("reported", "reported"))
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table.of(
        f"compass.models_{projection}",
        f"Models and data sets (Table 2), {projection} projection",
        columns,
        rows,
        ["− uniform: minus the uniform map of the same grid on the same pairs."],
    )


def _differences_table(
    runs: Sequence[_Scored], projection: str, seed: int, *, relocated: bool
) -> list[Table]:
    """Every two models on one data set, map by map, over the pairs that they share; none for a single model."""
    rows: list[list[Cell]] = []
    notes = ["p: of − uniform, signs flipped by picture; Holm over all rows."]
    for name in dict.fromkeys(each.run.data for each in runs):
        own = [each for each in runs if each.run.data == name]
        for place, first in enumerate(own):
            for second in own[place + 1 :]:
                if first.pairs & second.pairs:
                    rows += _compared(name, first, second, projection, seed)
                else:
                    notes.append(_not_compared(first.run, second.run))
    apart = sorted({each.run.data for each in runs})
    alone = [name for name in apart if sum(each.run.data == name for each in runs) == 1]
    if alone and len(runs) > 1:
        notes.append(f"Only one model has {', '.join(alone)}, so there is nothing to compare it with.")
    tested = [row for row in rows if isinstance(row[-3], float)]
    if tested:
        for row, p in zip(tested, stats.holm([float(str(row[-3])) for row in tested]), strict=True):
            row[-2] = float(p)
    if len(runs) < 2:
        return []
    named = "model_differences" if not relocated else "model_differences_relocated"
    return [
        Table.of(
            f"compass.{named}_{projection}",
            f"Differences of models{' on relocated targets' * relocated}, paired, {projection} projection",
            [
                Column("data", "data"),
                _MODEL,
                Column("minus", "minus"),
                METHOD,
                TARGET,
                *(
                    Column(
                        kind,
                        f"Δ {title}",
                        "points" if unit == "share" else "degrees",
                        definition,
                        signed=True,
                    )
                    for kind, title, unit, definition in _KINDS
                ),
                Column("p", "p", "p"),
                Column("p_holm", "p (Holm)", "p"),
                Column("shared", "shared pairs", "count"),
            ],
            rows,
            notes,
        )
    ]


def _not_compared(first: ModelRun, second: ModelRun) -> str:
    if first.prompt == second.prompt:
        return f"{first.model} and {second.model} share no pair of {first.data}, so they are not compared."
    return (
        f"{first.model} was asked about {first.data} with prompt {first.prompt} and {second.model} with {second.prompt}, so "
        "they are not compared; `--prompt` names one that both were asked with."
    )


def _compared(name: str, first: _Scored, second: _Scored, projection: str, seed: int) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for key in (key for key in first.projected.keys if key in second.projected.grids):
        cells: list[Cell] = []
        for kind, *_ in _KINDS:
            metric = map_metric(f"{kind}_{projection}", key)
            sides = [each.scores.get(metric.key, ()) for each in (first, second)]
            found = stats.score_difference(metric, *sides)
            cells.append(negated(found) if found is not None and kind == "excess" else found)
            if kind == "excess":
                test = stats.score_difference_test(metric, *sides, seed=seed)
                shared = 0 if found is None else found.n_items
        p = None if test is None else test.p_value
        rows.append([name, first.run.model, second.run.model, *split_key(key), *cells, p, None, shared])
    return rows


def _relocation_table(runs: Sequence[_Scored], projection: str) -> Table:
    """Table 15: the paper's map where the target was moved to, beside the box and the false reference."""
    rows: list[list[Cell]] = []
    for each in runs:
        if each.run.relocation is None:
            continue
        key = default_key(list(each.projected.grids))
        box = each.projected.of_grid(BOX_ONLY, key)
        control = each.run.relocation
        own = control.row(key, PROBES, projection)
        rows.append(
            [
                each.run.model,
                each.run.data,
                each.run.prompt,
                shown_key(key),
                len(each.projected.angles[projection][key].kept),
                *(own.estimates.get(name) for name in ("dae", "excess_dae", "peak_accuracy")),
                own.tests["over_uniform"].p_value if "over_uniform" in own.tests else None,
                control.row(box, PROBES, projection).estimates.get("dae"),
                control.row(key, FALSE_REFERENCE, projection).estimates.get("dae"),
                own.estimates.get("divergence"),
            ]
        )
    return Table.of(
        f"compass.models_relocation_{projection}",
        f"Models on relocated targets (Table 15), {projection} projection",
        [
            _MODEL,
            Column("data", "data"),
            _PROMPT,
            Column("map", "map"),
            Column("n", "probes", "count"),
            Column("dae", "DAE", "degrees", "compass.dae"),
            Column("excess_dae", "− uniform", "degrees", "compass.excess_dae", signed=True),
            Column("peak_accuracy", "peak accuracy", "share", "compass.peak_accuracy"),
            Column("p", "p over uniform", "p"),
            Column("box_dae", "box-only: DAE", "degrees", "compass.dae"),
            Column("false_reference_dae", "false reference: DAE", "degrees", "compass.dae"),
            Column("divergence", "JSD", "bits", "compass.divergence"),
        ],
        rows,
    )
