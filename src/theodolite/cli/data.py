"""``theodolite data``: make pairs of objects, from annotations or drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, notes
from theodolite.cli.output import show
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, told_problems
from theodolite.core.tables import Column, Table

if TYPE_CHECKING:
    from theodolite.instruments.compass.data.instances import MatchPolicy
    from theodolite.instruments.compass.data.pairs import Pair
    from theodolite.instruments.compass.data.selection import Selection
    from theodolite.instruments.compass.questions import Prompt
    from theodolite.pairs.directions import Vocabulary

app = typer.Typer(
    no_args_is_help=True, help="Make pairs of objects for the compass, from annotations or drawn."
)

Annotations = Annotated[
    list[Path],
    typer.Option("--annotations", metavar="FILE", help="COCO instances; may be repeated."),
]
MaybeAnnotations = Annotated[
    list[Path] | None,
    typer.Option("--annotations", metavar="FILE", help="COCO instances; may be repeated."),
]
MaybeImages = Annotated[
    Path | None, typer.Option("--images", metavar="DIR", help="The folder with the pictures.")
]
Captions = Annotated[Path, typer.Option("--data", metavar="PATH", help="The captions.")]
MaybeSize = Annotated[
    int | None,
    typer.Option("--size", min=1, help="Sample size, balanced over directions. Default: all pairs."),
]
Copy = Annotated[
    bool, typer.Option(help="Copy the pictures to the pairs, or refer to them relative to --images.")
]
MinArea = Annotated[
    float, typer.Option("--min-area", help="Minimum area of an object, as a fraction of the picture.")
]
MaxArea = Annotated[
    float, typer.Option("--max-area", help="Maximum area of an object, as a fraction of the picture.")
]
MinDistance = Annotated[
    float,
    typer.Option("--min-distance", help="Minimum distance of the centres, as a fraction of the diagonal."),
]
MinMargin = Annotated[
    float,
    typer.Option(
        "--min-margin", help="Minimum angle to the next direction, in degrees, beyond that to the nearest."
    ),
]
Directions = Annotated[
    int, typer.Option("--directions", metavar="4|8", help="The four directions, or the diagonals too.")
]
NamesOption = Annotated[
    str, typer.Option("--names", metavar="exact|substring", help="How names match categories.")
]
BoxesOption = Annotated[
    str,
    typer.Option("--boxes", metavar="unique|largest", help="Which box to use if a name has several."),
]
Agree = Annotated[bool, typer.Option(help="Require that the boxes agree with the direction in the caption.")]


@app.command("coco-pairs")
def coco_pairs_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    annotations: Annotations,
    images: o.Images,
    folder: o.Folder,
    size: MaybeSize = None,
    seed: o.Seed = 0,
    directions: Directions = 4,
    min_area: MinArea = 0.01,
    max_area: MaxArea = 0.5,
    area: Annotated[
        str, typer.Option("--area", metavar="box|mask", help="Take areas from boxes or masks.")
    ] = "box",
    min_distance: MinDistance = 0.15,
    min_margin: MinMargin = 0.0,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Make pairs from COCO instances, or any file in that format."""
    from theodolite.instruments.compass.data.coco import coco_pairs
    from theodolite.instruments.compass.data.selection import PairFilters

    chosen = cast("Any", o.one_of(area, ("box", "mask"), "--area"))
    filters = PairFilters(min_area, max_area, chosen, min_distance, min_margin)
    selection = coco_pairs(
        annotations, images, n=size, seed=seed, filters=filters, vocabulary=_vocabulary(directions)
    )
    _finish(selection, folder, None if copy else images, json=json)


@app.command("gqa")
def gqa_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    scene_graphs: Annotated[
        Path, typer.Option("--scene-graphs", metavar="FILE", help="The scene graphs of GQA.")
    ],
    images: o.Images,
    folder: o.Folder,
    size: MaybeSize = None,
    seed: o.Seed = 0,
    directions: Directions = 4,
    min_area: MinArea = 0.01,
    max_area: MaxArea = 0.5,
    min_distance: MinDistance = 0.15,
    min_margin: MinMargin = 0.0,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Make pairs from GQA scene graphs (VG-Spatial)."""
    from theodolite.instruments.compass.data.gqa import gqa_pairs
    from theodolite.instruments.compass.data.selection import PairFilters

    filters = PairFilters(min_area, max_area, "box", min_distance, min_margin)
    selection = gqa_pairs(
        scene_graphs, images, n=size, seed=seed, filters=filters, vocabulary=_vocabulary(directions)
    )
    _finish(selection, folder, None if copy else images, json=json)


@app.command("vsr")
def vsr_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    captions: Captions,
    annotations: MaybeAnnotations = None,
    images: MaybeImages = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where to write. Default: only show the audit."),
    ] = None,
    size: MaybeSize = None,
    seed: o.Seed = 0,
    directions: Directions = 4,
    names: NamesOption = "exact",
    boxes: BoxesOption = "unique",
    agree: Agree = True,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Match true VSR captions to COCO boxes, and show how many are lost in each step."""
    from theodolite.instruments.compass.data.vsr import vsr_audit, vsr_pairs

    policy, vocabulary = _policy(names, boxes, agree), _vocabulary(directions)
    audit = vsr_audit(captions, annotations or None, policy=policy, vocabulary=vocabulary).tables()
    if folder is None:
        show(audit, json=json)
        return
    if not annotations or images is None:
        raise UsageError(
            "pairs from VSR need --annotations and --images; without --out only the audit is shown"
        )
    selection = vsr_pairs(
        captions, annotations, images, n=size, seed=seed, policy=policy, vocabulary=vocabulary
    )
    _finish(selection, folder, None if copy else images, json=json, before=audit)


@app.command("whatsup")
def whatsup_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    captions: Captions,
    images: o.Images,
    folder: o.Folder,
    annotations: MaybeAnnotations = None,
    size: MaybeSize = None,
    seed: o.Seed = 0,
    directions: Directions = 4,
    names: NamesOption = "exact",
    boxes: BoxesOption = "unique",
    agree: Agree = True,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Match the true captions of WhatsUp to boxes, which WhatsUp itself does not have."""
    from theodolite.instruments.compass.data.whatsup import whatsup_pairs

    selection = whatsup_pairs(
        captions,
        images,
        annotations=annotations or None,
        n=size,
        seed=seed,
        policy=_policy(names, boxes, agree),
        vocabulary=_vocabulary(directions),
    )
    _finish(selection, folder, None if copy else images, json=json)


def _policy(names: str, boxes: str, agree: bool) -> MatchPolicy:
    from theodolite.instruments.compass.data.instances import MatchPolicy

    matching: Any = o.one_of(names, ("exact", "substring"), "--names")
    several: Any = o.one_of(boxes, ("unique", "largest"), "--boxes")
    return MatchPolicy(matching, several, agree)


def _vocabulary(directions: int) -> Vocabulary:
    from theodolite.pairs.directions import VOCABULARIES

    if directions not in VOCABULARIES:
        raise UsageError(f"--directions is {' or '.join(map(str, VOCABULARIES))}, not {directions}")
    return VOCABULARIES[directions]


@app.command("squares")
def squares_command(
    folder: o.Folder,
    size: o.Size = 160,
    seed: o.Seed = 0,
    directions: Directions = 4,
    angles: Annotated[
        int | None,
        typer.Option(
            "--angles", min=1, help="Number of angles, from 0°. Default: 16, or 8 for eight directions."
        ),
    ] = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Write questions for `theodolite ask` instead of pairs.")
    ] = False,
    json: o.AsJson = False,
) -> None:
    """Draw coloured squares: pairs at sixteen angles, or questions."""
    vocabulary = _vocabulary(directions)
    if questions:
        if directions != 4 or angles:
            raise UsageError("--directions and --angles are for pairs, not for --questions")
        from theodolite.instruments.ask.data.questions import write_questions
        from theodolite.instruments.ask.data.squares import make_squares

        written = write_questions(make_squares(size, seed=seed), folder)
        show([], json=json, questions=str(written), n=size)
        if not json:
            note(f"wrote {size} questions to {written}")
        return
    from theodolite.instruments.compass.data.squares import SquaresPlan, coloured_squares

    plan = SquaresPlan(n_angles=angles or {4: 16, 8: 8}[directions])
    selection = coloured_squares(size, seed=seed, plan=plan, vocabulary=vocabulary)
    _finish(selection, folder, None, json=json)


@app.command("drawn")
def drawn_command(
    folder: o.Folder,
    size: o.Size = 24,
    seed: o.Seed = 0,
    split: Annotated[
        str,
        typer.Option("--split", metavar="free|aligned|crossed", help="Agreement with the twins' shortcut."),
    ] = "free",
    json: o.AsJson = False,
) -> None:
    """Draw everyday things in four directions: pairs that the twins can answer."""
    from theodolite.instruments.compass.data.drawn import relation_pairs
    from theodolite.instruments.compass.data.selection import Sieve

    sieve = Sieve("drawn", {"split": split})
    sieve.candidates = size
    pairs = relation_pairs(size, seed=seed, split=cast("Any", split))
    _finish(sieve.finish(pairs, n=None, seed=seed), folder, None, json=json)


@app.command("check")
def check_command(
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", help="A pair file or its folder.")],
    images: o.MaybeImages = None,
    json: o.AsJson = False,
) -> None:
    """Check your own pair file, line by line."""
    from theodolite.instruments.compass.data.pair_files import read_pairs
    from theodolite.instruments.compass.data.pairs import pair_cautions

    problems: list[Problem] = []
    found = read_pairs(pairs, images=images, problems=problems)
    directions = Counter(sorted(pair.direction for pair in found))
    pictures = len({pair.picture.digest for pair in found})
    cautions = pair_cautions(found)
    table = Table.of(
        "data.check",
        f"{len(found)} pairs on {pictures} pictures",
        [Column("direction", "direction"), Column("pairs", "pairs", "count")],
        list(directions.items()),
    )
    wrong = list(map(str, problems))
    show([table], json=json, pairs=len(found), pictures=pictures, cautions=cautions, problems=wrong)
    if not json:
        note_cautions(cautions)
        notes(wrong)
    if problems:
        raise typer.Exit(1)


def usable_pairs(path: Path, images: Path | None) -> list[Pair]:
    """Read a pair file, and print a note about broken lines."""
    from theodolite.instruments.compass.data.pair_files import read_pairs

    problems: list[Problem] = []
    pairs = read_pairs(path, images=images, problems=problems)
    notes(told_problems(problems))
    return pairs


def asked_pairs(data: Path, images: Path | None, prompt: str) -> tuple[list[Pair], tuple[Prompt, ...]]:
    """The pairs of a file and the prompts to ask with; a note is printed about pairs to be careful with."""
    from theodolite.instruments.compass.data.pairs import pair_cautions
    from theodolite.instruments.compass.questions import check_offered, default_prompt, find_prompts

    pairs = usable_pairs(data, images)
    prompts = find_prompts(prompt) if prompt else (default_prompt(pairs),)
    check_offered(pairs, prompts)
    note_cautions(pair_cautions(pairs))
    return pairs, prompts


def note_cautions(cautions: Mapping[str, Sequence[str]]) -> None:
    """Print a note about pairs whose words do not fit their boxes."""
    for reason, ids in cautions.items():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        note(f"caution: {len(ids)} × {reason} ({', '.join(ids[:3])}{more})")


def _finish(
    selection: Selection,
    folder: Path,
    images: Path | None,
    *,
    json: bool,
    before: Sequence[Table] = (),
) -> None:
    """Write the pairs and show how they were selected."""
    from theodolite.instruments.compass.data.pair_files import write_pairs

    path = write_pairs(selection.pairs, folder, images=images)
    report = selection.report
    show([*before, report.table()], json=json, pairs=str(path), report=report.as_json())
    if not json:
        more = f"; read them with --images {images}" if images else ""
        note(f"wrote {report.kept} pairs to {path}{more}")
