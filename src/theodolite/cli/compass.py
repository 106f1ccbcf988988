"""``theodolite compass``: is attribution organised by the queried direction, or by image layout?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from theodolite.cli import compass_pictures, compass_stability
from theodolite.cli import options as o
from theodolite.cli.compass_pictures import MinPlaces
from theodolite.cli.console import note
from theodolite.cli.data import asked_pairs
from theodolite.cli.output import show
from theodolite.cli.running import Preview, named_runs, run_and_show
from theodolite.core.errors import UsageError
from theodolite.core.tables import Table
from theodolite.instruments.compass.experiments.controls.plan import MEASURED
from theodolite.instruments.compass.experiments.controls.score import CONTROLS
from theodolite.instruments.compass.experiments.faithfulness.hiding import FILLS, Fill
from theodolite.instruments.compass.experiments.faithfulness.trials import FaithfulnessOptions
from theodolite.instruments.compass.formulas.projection_options import (
    PROJECTIONS,
    Bins,
    ProjectionChanges,
    read_sigma,
)
from theodolite.instruments.compass.instrument import COMPASS
from theodolite.instruments.compass.measure import TARGETS
from theodolite.instruments.compass.questions import PROMPTS
from theodolite.instruments.compass.tables import TABLES, CompassScore, ScoreSettings, score_run
from theodolite.runs import EngineOptions, Run, RunSettings

if TYPE_CHECKING:
    from theodolite.core.drawing import Drawing

app = typer.Typer(no_args_is_help=True, help=COMPASS.question)
app.command("overlay")(compass_pictures.overlay)
app.command("edits")(compass_pictures.edits)
app.command("stability")(compass_stability.stability)

Methods = Annotated[
    str,
    typer.Option(
        "--methods", metavar="LIST", help="Relevance methods, or all; see `theodolite list methods`."
    ),
]
ALL_TARGETS = ",".join(TARGETS)
ALL_FILLS = ",".join(FILLS)

Targets = Annotated[
    str,
    typer.Option("--targets", metavar="LIST", help="Options whose logit is explained: gt, pred, option:0 …"),
]
PromptNames = Annotated[
    str,
    typer.Option(
        "--prompt",
        metavar="LIST",
        help=f"Prompts: {', '.join(PROMPTS)} or all (Table 9), or your own JSON Lines file with name, template "
        "(with {tgt} and {ref}) and options (token to direction). Default: A, or A8 if a pair is diagonal.",
    ),
]
RunControls = Annotated[
    str,
    typer.Option("--controls", metavar="LIST", help=f"Also measure controls: {', '.join(MEASURED)}, or all."),
]
MaskSinks = Annotated[
    float | None,
    typer.Option(
        "--mask-sinks",
        metavar="TAU",
        help="Set the relevance of attention sinks to 0 in every map: of tokens with massive activations, TAU times "
        "their root mean square (20 in Kang et al. 2025).",
    ),
]
EditedPairs = Annotated[
    bool,
    typer.Option(
        "--pairs",
        help="Also ask after edits with a known answer (mirror, exchange, move, light …), for followed pairs beside DAE.",
    ),
]
Squares = Annotated[
    int, typer.Option("--squares", min=2, help="Number of pictures of coloured squares, for that control.")
]
Tables = Annotated[
    str, typer.Option("--tables", metavar="LIST", help=f"More tables: {', '.join(TABLES)}, or all.")
]
Projection = Annotated[
    str, typer.Option("--projection", metavar="paper|sound|both", help="How maps are turned into directions.")
]
PromptName = Annotated[str, typer.Option("--prompt", metavar="NAME", help="The prompt to report on.")]
Development = Annotated[
    int,
    typer.Option(
        "--development",
        min=0,
        metavar="N",
        help="Select prompt and projection on N pairs, and report results on other pictures.",
    ),
]
ChooseBy = Annotated[
    str,
    typer.Option(
        "--choose-by", metavar="excess|dae", help="The criterion to minimise on the development pairs."
    ),
]
Ablate = Annotated[str, typer.Option("--ablate", metavar="METHOD@TARGET", help="The map to ablate.")]
Negative = Annotated[
    str,
    typer.Option("--negative", metavar="error|absolute|positive", help="How to treat negative relevance."),
]
Sectors = Annotated[
    int | None,
    typer.Option("--sectors", min=3, metavar="K", help="Number of sectors. Default: 8 (CREG, A.11)."),
]
BinsName = Annotated[
    str,
    typer.Option(
        "--bins",
        metavar="edge|centre",
        help="Sectors that begin at 0°, or that are centred on it. Default: edge.",
    ),
]
Sigma = Annotated[
    str,
    typer.Option(
        "--sigma",
        metavar="X|P%|none",
        help="σ as a multiple of the distance from A to B, as a percentage of the diagonal, or none. "
        "Default: 1.2 (CREG, A.11) for the paper's projection, 35% for the sound one.",
    ),
]
ReferenceBox = Annotated[
    str,
    typer.Option(
        "--reference",
        metavar="count|leave-out",
        help="Relevance on A's own box. Default: count for the paper's projection, leave-out for the sound one.",
    ),
]
Coverage = Annotated[
    str, typer.Option("--coverage", metavar="LIST", help="Utility: fractions of the answers to keep.")
]
ReadoutName = Annotated[
    str,
    typer.Option("--readout", metavar="peak|mean", help="Utility: how the direction of a compass is read."),
]
ScoreControls = Annotated[
    str, typer.Option("--controls", metavar="LIST", help=f"Controls: some of {', '.join(CONTROLS)}, or all.")
]
Centres = Annotated[
    int, typer.Option("--centres", min=1, help="Controls: number of random centres per sample.")
]
Maps = Annotated[
    str,
    typer.Option(
        "--maps", metavar="LIST", help="Maps as method@target; or paper (those of Table 3), or all."
    ),
]
Orders = Annotated[
    str, typer.Option("--projection", metavar="paper|sound", help="The projection for orders and peaks.")
]
Fills = Annotated[
    str, typer.Option("--fills", metavar="LIST", help="What replaces hidden sectors; curves use the first.")
]
RandomOrders = Annotated[
    int, typer.Option("--random-orders", min=1, help="Number of random orders per pair.")
]
PairSample = Annotated[int | None, typer.Option("--size", min=1, help="Number of pairs. Default: all.")]
SpareReference = Annotated[
    bool, typer.Option("--spare-reference", help="Keep the box of the reference visible.")
]
ScoreOnly = Annotated[bool, typer.Option("--score-only", help="Only score the stored answers in DIR.")]
Curves = Annotated[str, typer.Option("--tables", metavar="LIST", help="More tables: curves.")]


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    data: o.Data,
    model: o.ModelName,
    folder: o.Out,
    methods: Methods = "all",
    targets: Targets = ALL_TARGETS,
    prompt: PromptNames = "",
    mask_sinks: MaskSinks = None,
    pairs: EditedPairs = False,
    controls: RunControls = "",
    n_squares: Squares = 160,
    min_places: MinPlaces = 2,
    images: o.MaybeImages = None,
    seed: o.Seed = 0,
    limit: o.Limit = None,
    plan: o.PlanOnly = False,
    price: o.Price = "",
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    json: o.AsJson = False,
) -> None:
    """Ask a white-box model about pairs, store every relevance map, and score. The same command resumes a run."""
    from theodolite.attribution import check_targets, find_methods
    from theodolite.instruments.compass.experiments.controls.plan import plan_controls
    from theodolite.instruments.compass.measure import attribution_factory, conditions_factory
    from theodolite.instruments.compass.questions import prompt_settings
    from theodolite.pairs.pictures.placing import PlacingOptions

    chosen, explained = _words(methods), _words(targets)
    check_targets(explained)
    find_methods(chosen)
    found, prompts = asked_pairs(data, images, prompt)
    planned = plan_controls(
        found,
        prompts,
        controls=o.some_of(controls, MEASURED, "--controls"),
        n_squares=n_squares,
        seed=seed,
        placing=PlacingOptions(min_places=min_places),
        has_pairs=pairs,
    )
    settings: dict[str, Any] = {"data": str(data.absolute()), "methods": chosen, "targets": explained}
    settings |= prompt_settings(prompt or prompts[0].name, prompts)
    settings |= {name: value for name, value in (("pairs", pairs), ("mask_sinks", mask_sinks)) if value}
    if controls:
        settings |= {"min_places": min_places, **planned.as_settings()}
    scoring = ScoreSettings(tables=("controls",) if controls else (), seed=seed)
    measurer = conditions_factory if pairs else attribution_factory
    run_and_show(
        folder,
        RunSettings("compass", model, seed if controls else 0, settings),
        lambda _: planned.items(),
        measurer(model, methods=chosen, targets=explained, mask_sinks=mask_sinks),
        options=EngineOptions(engine, workers, ray_address),
        limit=limit,
        tables=lambda run: score_run(run, scoring).tables,
        json=json,
        preview=Preview.of(plan, price),
    )


@app.command("score")
def score(  # noqa: PLR0913, PLR0917 - one parameter per option
    runs: o.RunFolders,
    tables: Tables = "",
    projection: Projection = "both",
    methods: Methods = "all",
    prompt: PromptName = "",
    development: Development = 0,
    choose_by: ChooseBy = "excess",
    ablate: Ablate = "",
    negative: Negative = "error",
    sectors: Sectors = None,
    bins: BinsName = "",
    sigma: Sigma = "",
    reference: ReferenceBox = "",
    coverage: Coverage = "0.7",
    readout: ReadoutName = "peak",
    controls: ScoreControls = "all",
    n_centres: Centres = 100,
    figures: o.Figures = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Score a run from its stored answers and maps, or compare several in one table (Tables 2 and 15). No model is called."""
    wanted = o.some_of(tables, TABLES, "--tables")
    projections = o.one_of(projection, (*PROJECTIONS, "both"), "--projection")
    settings = ScoreSettings(
        projections=tuple(PROJECTIONS) if projections == "both" else (projections,),
        tables=tuple(
            name for name in TABLES if name in wanted or (figures is not None and name == "classes")
        ),
        methods=() if methods == "all" else tuple(_words(methods)),
        prompt=prompt,
        ablated=ablate,
        development=development,
        criterion=cast("Any", o.one_of(choose_by, ("excess", "dae"), "--choose-by")),
        negative=cast("Any", o.one_of(negative, ("error", "absolute", "positive"), "--negative")),
        coverages=tuple(_number(word, "--coverage") for word in o.listed(coverage)),
        readout=cast("Any", o.one_of(readout, ("peak", "mean"), "--readout")),
        controls=o.some_of(controls, CONTROLS, "--controls"),
        n_centres=n_centres,
        changes=_changes(sectors, bins, sigma, reference),
        seed=seed,
    )
    if len(runs) > 1:
        if figures is not None or wanted or development or ablate or controls != "all":
            raise UsageError(
                "figures, further tables, --development, --ablate and --controls are of one run: give a single one"
            )
        show(_several(runs, settings), json=json, runs=[str(run) for run in runs], instrument="compass")
        return
    with Run.open(runs[0], writable=True) as opened:
        found = score_run(opened, settings)
    if figures is not None:
        _save(_score_figures(found, settings), figures)
    show(found.tables, json=json, run=str(runs[0]), instrument="compass", model=found.model)


def _several(runs: Sequence[Path], settings: ScoreSettings) -> list[Table]:
    """Compare runs of several models, or on several data sets."""
    from theodolite.instruments.compass.model_tables import ModelRun, model_tables, read_model_run

    found: list[ModelRun] = []
    for name, place in named_runs(runs):
        with Run.open(place) as opened:
            each = read_model_run(opened, opened.info.model, settings)
        taken = {(known.model, known.data) for known in found}
        found.append(each if (each.model, each.data) not in taken else replace(each, model=name))
    return model_tables(found, settings)


@app.command("faithfulness")
def faithfulness(  # noqa: PLR0913, PLR0917 - one parameter per option
    run: o.RunFolder,
    folder: o.Out,
    model: o.ModelName = "",
    maps: Maps = "paper",
    projection: Orders = "paper",
    fills: Fills = ALL_FILLS,
    random_orders: RandomOrders = 4,
    size: PairSample = None,
    spare_reference: SpareReference = False,
    score_only: ScoreOnly = False,
    tables: Curves = "",
    figures: o.Figures = None,
    seed: o.Seed = 0,
    limit: o.Limit = None,
    plan: o.PlanOnly = False,
    price: o.Price = "",
    engine: o.Engine = "local",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    cache: o.Cache = None,
    json: o.AsJson = False,
) -> None:
    """Hide sectors of the pictures of a run, ask again, and score. The same command resumes a run.

    The default model is that of the run.
    """
    from theodolite.instruments.compass.experiments.faithfulness import measure as hiding
    from theodolite.instruments.compass.experiments.faithfulness.score import paper_maps

    with_curves = bool(o.some_of(tables, ("curves",), "--tables"))
    with Run.open(run) as source:
        if score_only:
            with Run.open(folder, writable=True) as hidden:
                found = _faithfulness(source, hidden, figures, seed=seed, with_curves=with_curves)
                name = hidden.info.model
            show(found, json=json, run=str(folder), instrument=hiding.RUN_KIND, model=name)
            return
        options = FaithfulnessOptions(
            paper_maps(source) if maps == "paper" else () if maps == "all" else tuple(_words(maps)),
            o.one_of(projection, tuple(PROJECTIONS), "--projection"),
            cast("tuple[Fill, ...]", tuple(_words(fills))),
            random_orders,
            n_pairs=size,
            spare_reference=spare_reference,
            seed=seed,
        )
        planned = hiding.plan_faithfulness(source, options)
        name = model or source.info.model
        run_and_show(
            folder,
            RunSettings(hiding.RUN_KIND, name, seed, hiding.faithfulness_settings(source, options)),
            planned.items,
            hiding.hiding_factory(name),
            options=EngineOptions(engine, workers, ray_address, cache),
            limit=limit,
            tables=lambda hidden: _faithfulness(source, hidden, figures, seed=seed, with_curves=with_curves),
            json=json,
            preview=Preview.of(plan, price),
        )


def _faithfulness(source: Run, hidden: Run, figures: Path | None, **how: Any) -> Iterable[Table]:
    """Score faithfulness, and draw the figures if a folder is given."""
    from theodolite.instruments.compass.experiments.faithfulness.score import score_faithfulness
    from theodolite.instruments.compass.figures.plots import faithfulness_figures

    found = score_faithfulness(source, hidden, **how)
    if figures is not None:
        _save(faithfulness_figures(found.curves), figures)
    return found.tables


def _score_figures(found: CompassScore, settings: ScoreSettings) -> dict[str, Drawing]:
    from theodolite.instruments.compass.figures.plots import score_figures

    return score_figures(
        found.tables,
        found.curves,
        model=found.model,
        sources=found.sources,
        chance=found.chance,
        coverage=settings.coverages[0],
    )


def _save(drawings: dict[str, Drawing], folder: Path) -> None:
    for name, drawing in drawings.items():
        note(f"wrote {drawing.save(folder / name)}")


def _words(text: str) -> list[str]:
    words = o.listed(text)
    if not words:
        raise UsageError("the list is empty; give at least one name, or all")
    return words


def _changes(sectors: int | None, bins: str, sigma: str, reference: str) -> ProjectionChanges:
    if sigma:
        read_sigma(sigma)
    treated = reference and o.one_of(reference, ("count", "leave-out"), "--reference")
    return ProjectionChanges(
        sectors,
        cast("Any", o.one_of(bins, get_args(Bins), "--bins") if bins else None),
        sigma or None,
        treated == "leave-out" if treated else None,
    )


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option} takes numbers, not {text!r}") from None
