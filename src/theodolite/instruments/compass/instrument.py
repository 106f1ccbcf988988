"""The compass behind the `Instrument` type."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from theodolite.attribution.hiding import FILLS, Fill
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, dump, told_problems
from theodolite.core.options import (
    DATA,
    FIGURES,
    IMAGES,
    RUNS,
    Option,
    Options,
    Seed,
    declared,
    limit_of,
    out_of,
    size_of,
)
from theodolite.core.scores import OWN_SPLIT, Capability, ItemScore, Signature
from theodolite.core.tables import Column, Table
from theodolite.core.types import Item
from theodolite.instruments.compass.experiments.controls.plan import EDITS, MEASURED
from theodolite.instruments.compass.experiments.faithfulness.plan import FaithfulnessOptions
from theodolite.instruments.compass.measure import (
    TARGETS,
    AttributionMeasurer,
    ConditionsMeasurer,
    MapOptions,
)
from theodolite.instruments.compass.questions import PROMPTS
from theodolite.instruments.compass.tables import CompassScore, ScoreSettings, score_run
from theodolite.instruments.instrument import (
    Instrument,
    Messages,
    Outcome,
    Reference,
    RunOptions,
    RunPlan,
    Study,
    UserData,
    Verb,
    named_runs,
)
from theodolite.pairs.outcomes import with_repeats
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.core.drawing import Drawing
    from theodolite.geometry.directions import Vocabulary
    from theodolite.instruments.compass.data.pairs import Pair, Selection
    from theodolite.instruments.compass.questions import EditsOf, Prompt
    from theodolite.instruments.instrument import View

__all__ = [
    "VERBS",
    "CompassRun",
    "plan_hidden",
    "plan_pairs",
]


# What can be done with the compass: make and import pairs, run, score, audit, figures.


METHODS = Option("Relevance methods, or all; see `theodolite list methods`.", can_be_empty=False)
MIN_PLACES = Option("Leave out pairs with room in fewer directions.", least=1, most=4)
DIRECTIONS = Option("The four directions, or the diagonals too.", metavar="4|8")
OF = Option("", name="of", metavar="RUN")


# Pairs: drawn, or from annotations.


@dataclass(frozen=True, kw_only=True)
class MakePairs(Options):
    """What `theodolite compass make` takes."""

    out: Annotated[Path, out_of()]
    world: Annotated[
        Literal["squares", "things"],
        Option("Coloured squares at many angles, or everyday things that the twins know."),
    ] = "squares"
    size: Annotated[int | None, size_of("pairs", " Default: 160 squares or 24 things.")] = None
    directions: Annotated[
        int | None, DIRECTIONS.but(help="Squares: the four directions, or the diagonals too.")
    ] = None
    angles: Annotated[
        int | None,
        Option("Squares: number of angles, from 0°. Default: 16, or 8 for eight directions.", least=1),
    ] = None
    split: Annotated[
        Literal["free", "aligned", "crossed"] | None,
        Option("Things: agreement with the twins' shortcut.", metavar="free|aligned|crossed"),
    ] = None
    seed: Seed = 0


def make_pairs(options: MakePairs, messages: Messages) -> Outcome:  # noqa: ARG001 - it is quick
    """Draw pairs: coloured squares at sixteen angles, or everyday things in four directions."""
    from theodolite.instruments.compass.data.drawn import SquaresPlan, coloured_squares, relation_pairs
    from theodolite.instruments.compass.data.pairs import Sieve

    if options.world == "squares":
        _refuse(options, ("split",), "--world squares")
        directions = options.directions or 4
        plan = SquaresPlan(n_angles=options.angles or (16 if directions == 4 else 8))
        vocabulary = _vocabulary(directions)
        selection = coloured_squares(options.size or 160, seed=options.seed, plan=plan, vocabulary=vocabulary)
        return _written(selection, options.out, None)
    _refuse(options, ("directions", "angles"), "--world things")
    split, n = options.split or "free", options.size or 24
    sieve = Sieve("drawn", {"split": split})
    sieve.candidates = n
    pairs = relation_pairs(n, seed=options.seed, split=split)
    return _written(sieve.finish(pairs, n=None, seed=options.seed), options.out, None)


_ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "min_area": ("coco", "gqa"),
    "max_area": ("coco", "gqa"),
    "area": ("coco",),
    "min_distance": ("coco", "gqa"),
    "min_margin": ("coco", "gqa"),
    "annotations": ("vsr", "whatsup"),
    "names": ("vsr", "whatsup"),
    "boxes": ("vsr", "whatsup"),
    "agree": ("vsr", "whatsup"),
}
"""The options that do not apply to every format."""


@dataclass(frozen=True, kw_only=True)
class ImportPairs(Options):
    """What `theodolite compass import` takes."""

    format: Annotated[
        Literal["coco", "gqa", "vsr", "whatsup"],
        Option("COCO instances, scene graphs of GQA (VG-Spatial), or captions of VSR or WhatsUp."),
    ]
    data: Annotated[
        tuple[Path, ...],
        DATA.but(
            help="COCO instances (may be repeated), scene graphs, or captions.",
            repeats=True,
            can_be_empty=False,
        ),
    ]
    images: Annotated[Path | None, IMAGES.but(help="The folder with the pictures.")] = None
    out: Annotated[Path | None, out_of("Where to write. Without it, VSR is only audited.")] = None
    annotations: Annotated[
        tuple[Path, ...],
        Option("VSR, WhatsUp: COCO instances with the boxes; may be repeated.", metavar="FILE", repeats=True),
    ] = ()
    size: Annotated[int | None, size_of("pairs", " Balanced over directions. Default: all.")] = None
    seed: Seed = 0
    directions: Annotated[int, DIRECTIONS] = 4
    min_area: Annotated[float, Option("Minimum area of an object, as a fraction of the picture.")] = 0.01
    max_area: Annotated[float, Option("Maximum area of an object, as a fraction of the picture.")] = 0.5
    area: Annotated[Literal["box", "mask"], Option("COCO: take areas from boxes or masks.")] = "box"
    min_distance: Annotated[
        float, Option("Minimum distance of the centres, as a fraction of the diagonal.")
    ] = 0.15
    min_margin: Annotated[
        float, Option("Minimum angle to the next direction, in degrees, beyond that to the nearest.")
    ] = 0.0
    names: Annotated[Literal["exact", "substring"], Option("VSR, WhatsUp: how names match categories.")] = (
        "exact"
    )
    boxes: Annotated[
        Literal["unique", "largest"], Option("VSR, WhatsUp: which box to use if a name has several.")
    ] = "unique"
    agree: Annotated[
        bool, Option("VSR, WhatsUp: require that the boxes agree with the direction in the caption.")
    ] = True
    copy: Annotated[
        bool, Option("Copy the pictures to the pairs, or refer to them relative to --images.")
    ] = True


def import_pairs(options: ImportPairs, messages: Messages) -> Outcome:  # noqa: ARG001 - it is quick
    """Make pairs from COCO instances, GQA, VSR or WhatsUp, and show how many are lost in each step."""
    from theodolite.instruments.compass.data.coco import MatchPolicy, coco_pairs
    from theodolite.instruments.compass.data.gqa import gqa_pairs
    from theodolite.instruments.compass.data.pairs import PairFilters
    from theodolite.instruments.compass.data.vsr import vsr_audit, vsr_pairs
    from theodolite.instruments.compass.data.whatsup import whatsup_pairs

    form, data, vocabulary = options.format, options.data, _vocabulary(options.directions)
    _refuse(options, [name for name, forms in _ONLY_FOR.items() if form not in forms], f"--format {form}")
    if form != "coco" and len(data) > 1:
        raise UsageError(f"--format {form} takes one --data")
    policy = MatchPolicy(options.names, options.boxes, options.agree)
    audit: list[Table] = []
    if form == "vsr":
        audit = vsr_audit(
            data[0], list(options.annotations) or None, policy=policy, vocabulary=vocabulary
        ).tables()
        if options.out is None:
            return Outcome(audit)
        if not options.annotations or options.images is None:
            raise UsageError(
                "pairs from VSR need --annotations and --images; without --out only the audit is shown"
            )
    if options.out is None or options.images is None:
        raise UsageError(f"--format {form} needs --images and --out")
    images = options.images
    filters = PairFilters(
        options.min_area, options.max_area, options.area, options.min_distance, options.min_margin
    )
    how: dict[str, Any] = {"n": options.size, "seed": options.seed, "vocabulary": vocabulary}
    if form == "coco":
        selection = coco_pairs(list(data), images, filters=filters, **how)
    elif form == "gqa":
        selection = gqa_pairs(data[0], images, filters=filters, **how)
    elif form == "vsr":
        selection = vsr_pairs(data[0], list(options.annotations), images, policy=policy, **how)
    else:
        selection = whatsup_pairs(
            data[0], images, annotations=list(options.annotations) or None, policy=policy, **how
        )
    return _written(selection, options.out, None if options.copy else images, before=audit)


def _refuse(options: Options, fields: Iterable[str], why: str) -> None:
    """Refuse options that do not apply."""
    for option in declared(type(options)):
        if option.field in set(fields) and getattr(options, option.field) != option.default:
            raise UsageError(f"{option.name} does not apply to {why}")


def _vocabulary(directions: int) -> Vocabulary:
    from theodolite.geometry.directions import VOCABULARIES

    if directions not in VOCABULARIES:
        raise UsageError(f"--directions is {' or '.join(map(str, VOCABULARIES))}, not {directions}")
    return VOCABULARIES[directions]


def _written(
    selection: Selection, folder: Path, images: Path | None, before: Sequence[Table] = ()
) -> Outcome:
    """Write the pairs, and show how they were selected."""
    from theodolite.instruments.compass.data.pairs import write_pairs

    path = write_pairs(selection.pairs, folder, images=images)
    report = selection.report
    more = f"; read them with --images {images}" if images else ""
    return Outcome(
        [*before, report.table()],
        {"pairs": str(path), "report": dump(report)},
        notes=[f"wrote {report.kept} pairs to {path}{more}"],
    )


def _usable_pairs(path: Path, images: Path | None) -> tuple[list[Pair], list[str]]:
    """Read a pair file. Return its pairs, and notes on broken lines."""
    from theodolite.instruments.compass.data.pairs import read_pairs

    problems: list[Problem] = []
    pairs = read_pairs(path, images=images, problems=problems)
    return pairs, list(told_problems(problems))


def _asked_pairs(
    data: Path, images: Path | None, prompt: str
) -> tuple[list[Pair], tuple[Prompt, ...], list[str]]:
    """Return the pairs of a file, the prompts to ask with, and notes on the pairs."""
    from theodolite.instruments.compass.data.pairs import pair_cautions
    from theodolite.instruments.compass.questions import check_offered, default_prompt, find_prompts

    pairs, notes = _usable_pairs(data, images)
    prompts = find_prompts(prompt) if prompt else (default_prompt(pairs),)
    check_offered(pairs, prompts)
    return pairs, prompts, [*notes, *_cautions(pair_cautions(pairs))]


def _cautions(cautions: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which pairs have words that do not fit their boxes."""
    return [
        f"caution: {len(ids)} × {reason} ({', '.join(ids[:3])}"
        + (f" and {len(ids) - 3} more)" if len(ids) > 3 else ")")
        for reason, ids in cautions.items()
    ]


# Run: ask about pairs, or hide sectors of the pictures of a run.


@dataclass(frozen=True, kw_only=True)
class CompassRun(RunOptions):
    """What a run measures."""

    data: Annotated[
        Path | None, DATA.but(help="Your own pairs. Default: as in a diagnosis.", stored="always")
    ] = None
    images: Annotated[Path | None, IMAGES] = None
    methods: Annotated[tuple[str, ...], METHODS.but(stored="always")] = ("all",)
    targets: Annotated[
        tuple[str, ...],
        Option("Options whose logit is explained: gt, pred, option:0 …", can_be_empty=False, stored="always"),
    ] = TARGETS
    prompt: Annotated[
        str,
        Option(
            f"Prompts: {', '.join(PROMPTS)} or all (Table 9), or your own JSON Lines file with name, template "
            "(with {tgt} and {ref}) and options (token to direction). Default: A, or A8 if a pair is diagonal.",
            metavar="LIST",
        ),
    ] = ""
    mask_sinks: Annotated[
        float | None,
        Option(
            "Set the relevance of attention sinks to 0 in every map: of tokens with massive activations, TAU times "
            "their root mean square (20 in Kang et al. 2025).",
            metavar="TAU",
            stored="if given",
        ),
    ] = None
    pairs: Annotated[
        bool,
        Option(
            "Also ask after edits with a known answer (mirror, exchange, move, light …), for followed pairs beside DAE.",
            stored="if given",
        ),
    ] = False
    controls: Annotated[
        tuple[str, ...], Option(f"Also measure controls: {', '.join(MEASURED)}, or all.", known=MEASURED)
    ] = ()
    squares: Annotated[int, Option("Number of pictures of coloured squares, for that control.", least=2)] = (
        160
    )
    min_places: Annotated[int, MIN_PLACES] = 2
    of: Annotated[
        Path | None,
        OF.but(
            help="In place of --data: hide sectors of the pictures of this run, and ask again (faithfulness)."
        ),
    ] = None
    maps: Annotated[
        tuple[str, ...],
        Option("With --of: maps as method@target; or paper (those of Table 3), or all.", can_be_empty=False),
    ] = ("paper",)
    orders: Annotated[
        Literal["paper", "sound"], Option("With --of: the projection for orders and peaks.")
    ] = "paper"
    fills: Annotated[
        tuple[Fill, ...],
        Option("With --of: what replaces hidden sectors; curves use the first.", can_be_empty=False),
    ] = FILLS
    random_orders: Annotated[int, Option("With --of: number of random orders per pair.", least=1)] = 4
    spare_reference: Annotated[bool, Option("With --of: keep the box of the reference visible.")] = False
    tables: Annotated[tuple[Literal["curves"], ...], Option("With --of: more tables: curves.")] = ()
    figures: Annotated[
        Path | None, FIGURES.but(help="With --of: also draw the figures into this folder.")
    ] = None

    @property
    def source(self) -> Path | None:
        """The pairs, or the run."""
        return self.of or self.data

    @property
    def takes_size(self) -> bool:
        """True if sectors are hidden: for a sample of the pairs."""
        return self.of is not None

    def default_model(self) -> str:
        """Return the model of the run whose pictures are used."""
        if self.of is None:
            return ""
        with Run.open(self.of) as run:
            return run.info.model


def plan_pairs(study: Study, options: CompassRun, data: Path) -> RunPlan:
    """Plan a run of the user's pairs, with relevance maps and controls."""
    from theodolite.attribution import check_targets, find_methods
    from theodolite.instruments.compass.experiments.controls.plan import plan_controls
    from theodolite.instruments.compass.questions import prompt_settings
    from theodolite.pairs.pictures.objects import PlacingOptions

    check_targets(options.targets)
    find_methods(options.methods)
    pairs, prompts, notes = _asked_pairs(data, options.images, options.prompt)
    planned = plan_controls(
        pairs,
        prompts,
        controls=options.controls,
        n_squares=options.squares,
        seed=study.seed,
        placing=PlacingOptions(min_places=options.min_places),
        has_pairs=options.pairs,
    )
    asked = options.stored() | prompt_settings(options.prompt or prompts[0].name, prompts)
    if options.controls:
        asked |= {"min_places": options.min_places, **planned.as_settings()}
    scoring = ScoreSettings(tables=("controls",) if options.controls else (), seed=study.seed)
    maps = MapOptions(options.methods, options.targets, options.mask_sinks)
    return RunPlan(
        "",
        "compass",
        asked,
        lambda _: planned.items(),
        partial(ConditionsMeasurer, gives="gradients", maps=maps)
        if options.pairs
        else partial(AttributionMeasurer, maps=maps),
        seed=study.seed if options.controls else 0,
        notes=tuple(notes),
        tables=lambda run: score_run(run, scoring).tables,
    )


def plan_hidden(study: Study, options: CompassRun, source: Path) -> RunPlan:
    """Plan a run that hides sectors of the pictures of another run with maps, and asks again."""
    from theodolite.instruments.compass.experiments.faithfulness import plan as hiding
    from theodolite.instruments.compass.experiments.faithfulness.score import paper_maps

    with Run.open(source) as run:
        named = options.maps == ("paper",)
        maps = paper_maps(run) if named else () if options.maps == ("all",) else options.maps
        chosen = FaithfulnessOptions(
            maps,
            options.orders,
            options.fills,
            options.random_orders,
            n_pairs=study.size if isinstance(study.size, int) else None,
            spare_reference=options.spare_reference,
            seed=study.seed,
        )
        planned = hiding.plan_faithfulness(run, chosen)
        return RunPlan(
            "",
            hiding.RUN_KIND,
            hiding.faithfulness_settings(run, chosen),
            lambda _: planned.items,
            hiding.HidingMeasurer,
            tables=partial(
                _faithfulness,
                source=source,
                seed=study.seed,
                with_curves=bool(options.tables),
                figures=options.figures,
            ),
        )


def _faithfulness(
    hidden: Run, *, source: Path, seed: int, with_curves: bool, figures: Path | None
) -> Sequence[Table]:
    """Score a run that hid sectors of the pictures of `source`, and draw the figures if a folder is given."""
    from theodolite.instruments.compass.experiments.faithfulness.score import score_faithfulness
    from theodolite.instruments.compass.figures.plots import faithfulness_figures

    with Run.open(source) as maps:
        score = score_faithfulness(maps, hidden, seed=seed, with_curves=with_curves)
    if figures is not None:
        for name, drawing in faithfulness_figures(score.curves).items():
            drawing.save(figures / name)
    return score.tables


# Score.


@dataclass(frozen=True, kw_only=True)
class ScoreCompass(ScoreSettings):
    """What `theodolite compass score` takes."""

    runs: Annotated[tuple[Path, ...], RUNS]
    of: Annotated[
        Path | None, OF.but(help="For a run that hid sectors: the run with the maps that it was made from.")
    ] = None
    figures: Annotated[Path | None, FIGURES] = None


def score_compass(options: ScoreCompass, messages: Messages) -> Outcome:
    """Score a run from its stored answers and maps, or compare several in one table (Tables 2 and 15). No model is called."""
    first, figures = options.runs[0], options.figures
    if options.of is not None:
        with Run.open(first, writable=True) as hidden:
            tables = _faithfulness(
                hidden,
                source=options.of,
                seed=options.seed,
                with_curves="curves" in options.tables,
                figures=figures,
            )
            values = {"run": str(first), "instrument": hidden.info.instrument, "model": hidden.info.model}
        return Outcome(tables, values)
    if options.tables == ("curves",):
        raise UsageError(
            "the table curves is of a run that hid sectors: name the run with the maps, --of RUN"
        )
    wanted = {*options.tables, *(["classes"] if figures is not None else [])} - {"curves"}
    options = replace(options, tables=tuple(wanted))
    if len(options.runs) > 1:
        alone = {"--figures", "--tables", "--development", "--ablate", "--controls"} & set(options.given())
        if alone:
            raise UsageError(
                "figures, further tables, --development, --ablate and --controls are of one run: give a single one"
            )
        tables = _several(options.runs, options)
        return Outcome(tables, {"runs": [str(run) for run in options.runs], "instrument": "compass"})
    with Run.open(first, writable=True) as run:
        score = score_run(run, options)
    if figures is not None:
        for name, drawing in _score_figures(score, options).items():
            messages.note(f"wrote {drawing.save(figures / name)}")
    return Outcome(score.tables, {"run": str(first), "instrument": "compass", "model": score.model})


def _several(runs: Sequence[Path], settings: ScoreSettings) -> list[Table]:
    """Compare runs of several models, or on several data sets."""
    from theodolite.instruments.compass.tables import ModelRun, model_tables, read_model_run

    read: list[ModelRun] = []
    for name, folder in named_runs(runs):
        with Run.open(folder) as opened:
            run = read_model_run(opened, opened.info.model, settings)
        taken = {(known.model, known.data) for known in read}
        read.append(run if (run.model, run.data) not in taken else replace(run, model=name))
    return model_tables(read, settings)


def _score_figures(score: CompassScore, settings: ScoreSettings) -> dict[str, Drawing]:
    from theodolite.instruments.compass.figures.plots import score_figures

    return score_figures(
        score.tables,
        score.curves,
        model=score.model,
        sources=score.sources,
        chance=score.chance,
        coverage=settings.coverages[0],
    )


# Audit and figures.


@dataclass(frozen=True, kw_only=True)
class AuditPairs(Options):
    """What `theodolite compass audit` takes."""

    data: Annotated[Path, DATA.but(help="A pair file or its folder.", metavar="PAIRS", is_argument=True)]
    images: Annotated[Path | None, IMAGES] = None
    model: Annotated[
        str,
        Option(
            "Compare the maps of this model in bfloat16, float32 and float64, with eager attention, and in a batch: one "
            "verdict per method. Its own dtype and attention are replaced, and it is opened four times.",
            metavar="MODEL",
            completion="model",
        ),
    ] = ""
    methods: Annotated[tuple[str, ...], METHODS.but(help=f"With --model: {METHODS.help}")] = ("all",)
    prompt: Annotated[
        str,
        Option("With --model: the prompt to ask. Default: A, or A8 if a pair is diagonal.", metavar="NAME"),
    ] = ""
    limit: Annotated[int, limit_of("pairs, with --model")] = 16


def audit_pairs(options: AuditPairs, messages: Messages) -> Outcome:
    """Check your own pair file, line by line; or with --model, whether its maps depend on precision, attention or batch."""
    if options.model:
        return _audit_maps(options, messages)
    from theodolite.instruments.compass.data.pairs import pair_cautions, read_pairs

    problems: list[Problem] = []
    pairs = read_pairs(options.data, images=options.images, problems=problems)
    directions = Counter(sorted(pair.direction for pair in pairs))
    pictures = len({pair.picture.digest for pair in pairs})
    cautions = pair_cautions(pairs)
    table = Table.of(
        "data.check",
        f"{len(pairs)} pairs on {pictures} pictures",
        [Column("direction", "direction"), Column("pairs", "pairs", "count")],
        list(directions.items()),
    )
    wrong = list(map(str, problems))
    values = {"pairs": len(pairs), "pictures": pictures, "cautions": cautions, "problems": wrong}
    return Outcome([table], values, notes=[*_cautions(cautions), *wrong], is_good=not problems)


def _audit_maps(options: AuditPairs, messages: Messages) -> Outcome:
    """Compare the maps of a model under several conditions."""
    from theodolite.instruments.compass.experiments.stability import measure_stability, stability_table
    from theodolite.instruments.compass.questions import pair_item

    pairs, (prompt, *_), notes = _asked_pairs(options.data, options.images, options.prompt)
    messages.notes(notes)
    items = [pair_item(pair, prompt) for pair in pairs[: options.limit]]
    methods, maps = measure_stability(
        options.model,
        items,
        methods=options.methods,
        progress=lambda done, total: messages.progress("conditions", done, total),
    )
    table = stability_table(options.model, items, methods, maps)
    return Outcome([table], {"instrument": "compass", "model": options.model})


@dataclass(frozen=True, kw_only=True)
class DrawCompass(Options):
    """What `theodolite compass figures` takes."""

    run: Annotated[
        Path | None, Option("A run with maps, to draw single pairs.", metavar="[RUN]", is_argument=True)
    ] = None
    items: Annotated[
        tuple[str, ...],
        Option(
            "The id of a pair or item, or its number in the run, from 1; several make rows.",
            metavar="ITEM…",
            is_argument=True,
        ),
    ] = ()
    out: Annotated[Path, out_of("The file, PNG, SVG or PDF; for sheets, a folder.", metavar="PATH")]
    method: Annotated[str, Option("The relevance method.", metavar="NAME")] = "chefer"
    target: Annotated[str, Option("The option whose logit is explained.", metavar="gt|pred")] = "gt"
    projection: Annotated[Literal["paper", "sound"], Option("How the map is turned into a direction.")] = (
        "paper"
    )
    figure: Annotated[Literal["overlay", "heat", "polar", "row"], Option("What to draw.")] = "overlay"
    data: Annotated[
        Path | None, DATA.but(help="In place of a run: pairs, to draw sheets of their edits.")
    ] = None
    images: Annotated[Path | None, IMAGES] = None
    edits: Annotated[
        tuple[str, ...],
        Option(f"With --data: some of {', '.join(EDITS)}, or all.", known=EDITS, can_be_empty=False),
    ] = EDITS
    size: Annotated[int, size_of("pairs per edit, with --data")] = 12
    min_places: Annotated[int, MIN_PLACES] = 2
    seed: Seed = 0


def draw_compass(options: DrawCompass, messages: Messages) -> Outcome:
    """Draw the compass of a pair on its picture: wedges, and arrows for the peak and the true direction.

    With --data, draw sheets of edited pictures, to check them by eye.
    """
    if (options.run is None) == (options.data is None):
        raise UsageError("give a run and its items, or --data with pairs")
    if options.data is not None:
        return _edit_sheets(options, options.data, messages)
    from theodolite.instruments.compass.figures.overlay import (
        FIGURES as DRAWN,
    )
    from theodolite.instruments.compass.figures.overlay import (
        compass_rows,
        facts_of,
        find_sample,
        view_of,
    )
    from theodolite.instruments.compass.measure import read_samples

    items, figure = options.items, options.figure
    if not items or (len(items) > 1 and figure != "row"):
        raise UsageError(
            f"several items need --figure row; got {len(items)} items" if items else "name an item"
        )
    with Run.open(cast("Path", options.run)) as run:
        samples = list(read_samples(run))
    chosen = [find_sample(samples, item) for item in items]
    views = [
        view_of(sample, method=options.method, target=options.target, projection=options.projection)
        for sample in chosen
    ]
    path = (compass_rows(views) if figure == "row" else DRAWN[figure](views[0])).save(options.out)
    pairs = [facts_of(*pair) for pair in zip(chosen, views, strict=True)]
    return Outcome(values={"figure": str(path), "pairs": pairs}, notes=[f"wrote {path}"])


def _edit_sheets(options: DrawCompass, data: Path, messages: Messages) -> Outcome:
    """Write sheets of edited pictures."""
    from theodolite.instruments.compass.experiments.controls.score import edits_table
    from theodolite.instruments.compass.figures.overlay import write_sheets
    from theodolite.pairs.pictures.objects import PlacingOptions

    pairs, notes = _usable_pairs(data, options.images)
    messages.notes(notes)
    reports, written = write_sheets(
        pairs,
        options.edits,
        options.out,
        size=options.size,
        placing=PlacingOptions(min_places=options.min_places),
        seed=options.seed,
    )
    return Outcome(
        [edits_table(reports)],
        {"sheets": [str(path) for path in written]},
        notes=[f"wrote {len(written)} sheets into {options.out}"],
    )


VERBS: Mapping[str, Verb[Any]] = {
    "make": Verb(MakePairs, make_pairs),
    "import": Verb(ImportPairs, import_pairs),
    "score": Verb(ScoreCompass, score_compass),
    "audit": Verb(AuditPairs, audit_pairs),
    "figures": Verb(DrawCompass, draw_compass),
}


_PAIRS: Mapping[str, int] = {"quick": 22, "standard": 24, "large": 200}
"""Drawn pictures of each split, by size."""
_QUICK_MAPS = 4
"""Pairs of each split with relevance maps in a quick study: enough to show, and the slowest part."""
_QUICK_HIDDEN = 10
"""Pairs with hidden parts in a quick study, at 18 answers each."""
_CREG_MODEL, _CREG_DATA = "Qwen2-VL-7B", "coco-pairs"


class Compass(Instrument):
    """Is attribution organised by the queried direction, or by image layout?"""

    name = "compass"
    question = "Does the answer come from the picture, and is the evidence where the question points?"
    run_kinds = ("compass",)
    run_options = CompassRun
    run_help = "Ask a model about pairs, store every relevance map, and score."
    takes = "a COCO instances file (or its folder) with its pictures, or a file of pairs made by `theodolite compass make` or `import`"

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Make and import pairs, score, audit, figures."""
        return VERBS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Plan drawn pairs of every split in one run, and the user's own in another."""
        from theodolite.instruments.compass.data.coco import load_pairs
        from theodolite.instruments.compass.data.drawn import relation_pairs
        from theodolite.instruments.compass.questions import drawn_edits, photograph_edits

        asked = study.options
        if isinstance(asked, CompassRun) and asked.source is not None:
            yield (plan_hidden if asked.of else plan_pairs)(study, asked, asked.source)
            return
        n = _size(study)
        drawn = {
            split: partial(relation_pairs, n, seed=study.seed, split=cast("Any", split))
            for split in study.splits
        }
        # Parts are hidden only where accuracy cannot show who looks.
        yield _run_plan(
            "compass",
            drawn,
            drawn_edits,
            gives=gives,
            settings={"n": n},
            whole=study.splits[:1],
            maps=_QUICK_MAPS if study.size == "quick" else None,
            hidden=_QUICK_HIDDEN if study.size == "quick" else None,
        )
        own = study.data
        if own is not None:
            settings: dict[str, Any] = {"data": str(own.path.absolute())}
            if own.form == "coco":
                settings |= {"images": str((own.images or Path()).absolute()), "n": 2 * n}
            pairs = {OWN_SPLIT: lambda: load_pairs(own, 2 * n, study.seed).pairs}
            yield _run_plan("compass-own", pairs, photograph_edits, gives=gives, settings=settings)

    def score(self, run: Run) -> list[ItemScore]:
        """Compute every metric of every pair."""
        from theodolite.instruments.compass.score import item_scores

        return item_scores(run)

    def tables(self, run: Run) -> list[Table]:
        """Build tables of answers, directions of relevance under both projections, and where relevance lies."""
        from theodolite.instruments.compass.tables import score_run

        return list(score_run(run).tables)

    def view(self, run: Run) -> View:
        """Return a view of boxes, relevance maps and shares by direction over the picture."""
        from theodolite.instruments.compass.score import view_of

        return view_of(run)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Return the signatures: layout-driven, and language prior."""
        from theodolite.instruments.compass.score import compass_signatures

        return compass_signatures(scores)

    def shown(self, item: Item) -> Item:
        """Return the item with its picture edited according to its condition."""
        from theodolite.instruments.compass.questions import shown_item

        return shown_item(item)

    def references(self) -> Iterator[Reference]:
        """Yield CREG's DAE and EA, by method."""
        from theodolite.instruments.compass.measure import METHODS
        from theodolite.instruments.compass.published import published_directions

        for method in METHODS:
            for target in ("gt", "pred", ""):
                published = published_directions(_CREG_MODEL, _CREG_DATA, method=method, target=target)
                row = next(iter(published), None)
                if row is None:
                    continue
                what = f"{_CREG_MODEL} on {row.data}, n={row.n}"
                for key, value in (("dae_paper", row.dae), ("ea_paper", row.edge_accuracy)):
                    yield Reference(f"compass.{key}:{method}", value, what, row.source)
                break

    def describe(self, study: Study) -> str:
        """Describe the pairs in words."""
        own = f"; and {study.data.words}" if study.data else ""
        return (
            f"{2 * _size(study)} drawn pictures of two to five things, half of them against the shortcut{own}"
        )

    def size_for(self, pairs: int) -> int:
        """Return the number of pictures of each of two splits; each has four relevant pairs: a reflection and a move, with both roles."""
        return max(2, math.ceil(pairs / 8))

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """Return a pair file, or COCO instances with their pictures."""
        from theodolite.instruments.compass.data.coco import find_pairs

        return find_pairs(path, images)

    def unused(self, study: Study) -> Mapping[str, int]:
        """Count by reason the pairs that are left out, and the edits of photographs that would not look right."""
        from theodolite.instruments.compass.data.coco import load_pairs
        from theodolite.instruments.compass.questions import unfit_edits

        if study.data is None:
            return {}
        loaded = load_pairs(study.data, 2 * _size(study), study.seed)
        unfit = Counter(reason for pair in loaded.pairs for reason in unfit_edits(pair, loaded.vocabulary))
        edits = {f"not exchanged or moved: {reason.value}": n for reason, n in unfit.most_common()}
        return {**loaded.unused, **edits}


COMPASS = Compass()


def _size(study: Study) -> int:
    return _PAIRS[study.size] if isinstance(study.size, str) else study.size


def _run_plan(  # noqa: PLR0913 - what a run of pairs is made of
    name: str,
    pairs: Mapping[str, Callable[[], Sequence[Pair]]],
    edits: EditsOf,
    *,
    gives: Capability,
    settings: Mapping[str, Any],
    whole: Iterable[str] | None = None,
    maps: int | None = None,
    hidden: int | None = None,
) -> RunPlan:
    """Plan a run of pairs by split; the pairs are made when the items are.

    Args:
        name: Name of the run.
        pairs: By split.
        edits: Function that returns the edits of a pair beyond mirroring.
        gives: The model's capability.
        settings: Settings of the run.
        whole: The splits in which parts are hidden too, at 18 answers per pair; all if not given.
        maps: How many pairs of each split get relevance maps; all if not given.
        hidden: Of how many pairs of these splits parts are hidden; of all if not given.
    """
    from theodolite.instruments.compass.questions import plan_conditions

    shown = set(pairs) if whole is None else set(whole)

    def conditions() -> Iterator[Item]:
        for split, make in pairs.items():
            some = gives if split in shown else "text"
            yield from plan_conditions(make(), gives=some, split=split, edits=edits, maps=maps, hidden=hidden)

    def plan(run: Run) -> Iterator[Item]:
        return with_repeats(conditions(), lambda item: item.truth.is_plain, model=run.info.model)

    return RunPlan(
        name,
        "compass",
        {**settings, "gives": gives},
        plan,
        partial(ConditionsMeasurer, gives=gives),
    )
